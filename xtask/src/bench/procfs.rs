//! Linux's data on processes: CPU time and memory.

use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::{Context as _, Error, Result};

/// Returns the seconds of CPU time of a process and all that it started, including those that have ended since.
pub(super) fn cpu_seconds(process: u32) -> Result<f64> {
    let read = || Stat::read(process).ok_or_else(|| Error::new(format!("process {process} cannot be read")));
    // A child that ends moves its time to its parent. If one does so meanwhile, it would be missed or counted twice.
    loop {
        let stat = read()?;
        let entries = fs::read_dir("/proc").context(|| "/proc cannot be read".to_owned())?;
        let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let children = processes.filter_map(Stat::read).filter(|child| child.parent == process);
        let children: f64 = children.map(|child| child.own).sum();
        if read()?.ended_children == stat.ended_children {
            return Ok(stat.own + stat.ended_children + children);
        }
    }
}

/// Seconds of CPU time, and the process that started this one.
#[derive(Debug, PartialEq)]
struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

impl Stat {
    fn read(process: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    fn parse(line: &str) -> Option<Self> {
        // USER_HZ is 100 on every machine that Rust's servers run on.
        const TICKS_PER_SECOND: f64 = 100.0;
        // The program's name is in brackets and may have any characters, including brackets. After it the fields count from the
        // third.
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let seconds = |field: usize| Some(fields.get(field - 3)?.parse::<f64>().ok()? / TICKS_PER_SECOND);
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: seconds(14)? + seconds(15)?,
            ended_children: seconds(16)? + seconds(17)?,
        })
    }
}

/// Returns the megabytes of memory that a process has for itself: all except pages that can be read again from files, such as a
/// database's mapped ones.
pub(super) fn memory(process: u32) -> Result<f64> {
    let file = format!("/proc/{process}/status");
    let status = fs::read_to_string(&file).context(|| format!("{file} cannot be read"))?;
    let kibibytes = |label| -> Option<f64> {
        let rest = status.lines().find_map(|line| line.strip_prefix(label))?;
        rest.trim().strip_suffix(" kB")?.parse().ok()
    };
    let own = kibibytes("RssAnon:").zip(kibibytes("RssShmem:"));
    let (anonymous, shared) = own.ok_or_else(|| Error::new(format!("{file} is not understood")))?;
    Ok((anonymous + shared) * 1024.0 / 1e6)
}

/// Does some work, and returns its result with the maximum memory of the process meanwhile.
pub(super) fn peak_memory<T>(process: u32, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    const INTERVAL: Duration = Duration::from_millis(100);
    thread::scope(|scope| {
        let (working, end) = mpsc::channel::<()>();
        let watcher = scope.spawn(move || {
            let mut peak = 0.0_f64;
            while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // The work itself fails and reports it if the process has ended.
                peak = peak.max(memory(process).unwrap_or_default());
            }
            peak
        });
        let result = work();
        drop(working);
        let peak = watcher.join().map_err(|_| Error::new("watching the memory panicked"))?;
        Ok((result?, peak))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let line = "7 (a) (b c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 20 5 20 0 9 0 100 1000 10 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.own, stat.ended_children), (1, 3.0, 0.25));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }
}
