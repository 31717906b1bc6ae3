//! What Linux reports of processes.

use std::fs;
use std::process;

use crate::error::{Context as _, Error, Result};

/// A second of CPU time, in the unit of `/proc/PID/stat`: USER_HZ, which is 100 on every machine that Rust's servers run on.
const TICKS: f64 = 100.0;

/// Whose CPU time counts for a run.
#[derive(Clone, Copy)]
pub(super) enum Counted {
    /// A running process, with all its threads.
    Process(u32),
    /// A process with all that it started, also what has ended since.
    Family(u32),
    /// What we started and has ended since.
    Ended,
}

impl Counted {
    /// How many seconds of CPU time were used so far.
    pub(super) fn seconds(self) -> Result<f64> {
        let ticks = match self {
            Self::Process(id) => Stat::of(id)?.own,
            Self::Ended => Stat::of(process::id())?.ended_children,
            Self::Family(id) => family(id)?,
        };
        Ok(ticks / TICKS)
    }
}

/// A child that ends moves its time to its parent. Should one do so while we look, we would miss it or count it twice, and
/// so look again.
fn family(id: u32) -> Result<f64> {
    loop {
        let stat = Stat::of(id)?;
        let children = processes()?.into_iter().filter_map(|child| Stat::of(child).ok());
        let children: f64 = children.filter(|child| child.parent == id).map(|child| child.own).sum();
        if Stat::of(id)?.ended_children == stat.ended_children {
            return Ok(stat.own + stat.ended_children + children);
        }
    }
}

/// How many bytes of memory a process has for itself: all but what can be read again from files, as a database's mapped
/// pages can.
pub(super) fn memory(process: u32) -> Result<u64> {
    let file = format!("/proc/{process}/status");
    let status = fs::read_to_string(&file).context(|| format!("{file} cannot be read"))?;
    private_bytes(&status).ok_or_else(|| Error::new(format!("{file} is not understood")))
}

fn private_bytes(status: &str) -> Option<u64> {
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    Some((kilobytes("RssAnon")? + kilobytes("RssShmem")?) * 1024)
}

/// Ticks of CPU time, and the process that started this one.
#[derive(Debug, PartialEq)]
struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

impl Stat {
    fn of(process: u32) -> Result<Self> {
        let file = format!("/proc/{process}/stat");
        let line = fs::read_to_string(&file).context(|| format!("{file} cannot be read"))?;
        Self::parse(&line).ok_or_else(|| Error::new(format!("{file} is not understood")))
    }

    /// The program's name is in brackets and may hold anything, brackets too. Behind it the fields are counted from the
    /// third.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3);
        let ticks = |number| field(number)?.parse::<f64>().ok();
        Some(Self {
            parent: field(4)?.parse().ok()?,
            own: ticks(14)? + ticks(15)?,
            ended_children: ticks(16)? + ticks(17)?,
        })
    }
}

fn processes() -> Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context(|| "/proc cannot be read".to_owned())?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let line = "7 (a) (b c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 20 5 20 0 9 0 100 1000 10 0";
        let expected = Stat {
            parent: 1,
            own: 300.0,
            ended_children: 25.0,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn mapped_files_are_no_memory_of_ones_own() {
        let status =
            "Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t     100 kB\nRssFile:\t     790 kB\nRssShmem:\t      10 kB\n";
        assert_eq!(private_bytes(status), Some(110 * 1024));
        assert_eq!(private_bytes("RssAnon:\t 1 kB\n"), None);
    }

    #[test]
    fn the_work_of_a_child_that_ended_is_counted() {
        let (own, family) = (Counted::Process(process::id()), Counted::Family(process::id()));
        let before = (Counted::Ended.seconds().unwrap(), family.seconds().unwrap());
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";
        assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
        assert!(Counted::Ended.seconds().unwrap() > before.0);
        assert!(family.seconds().unwrap() > before.1);
        assert!(own.seconds().unwrap() >= 0.0);
        assert!(memory(process::id()).unwrap() > 0);
    }
}
