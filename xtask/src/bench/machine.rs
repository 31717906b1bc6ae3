//! The machine that was measured on, without which no figure says anything.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use super::format::median;
use crate::error::{Context as _, Result};
use crate::process;
use crate::workspace::Workspace;

pub(super) struct Machine {
    /// Cores, memory and kernel.
    pub(super) hardware: String,
    pub(super) rustc: String,
}

impl Machine {
    pub(super) fn look(workspace: &Workspace) -> Result<Self> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let processor = labelled("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
        let memory = labelled("/proc/meminfo", "MemTotal").unwrap_or_default();
        let kilobytes: f64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Self {
            hardware: format!(
                "{cores} cores of {processor}, {:.0} GiB of memory, Linux {}",
                kilobytes / 1024.0 / 1024.0,
                kernel.trim()
            ),
            rustc: line(workspace.command("rustc").arg("--version"))?,
        })
    }
}

/// Today, in UTC.
pub(super) fn date() -> Result<String> {
    line(Command::new("date").args(["-u", "+%Y-%m-%d"]))
}

fn line(command: &mut Command) -> Result<String> {
    Ok(process::output(command)?.trim().to_owned())
}

/// The value behind a label and a colon, in a file of such lines.
fn labelled(file: &str, label: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(label)?.trim_start().strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

/// How long the disk that has this folder takes to keep 4 KiB for good, in milliseconds: the least that a durable write can
/// take.
pub(super) fn sync_time(folder: &Path) -> Result<f64> {
    try_disk(&folder.join("sync")).context(|| format!("{} cannot be written", folder.display()))
}

fn try_disk(file: &Path) -> io::Result<f64> {
    const TIMES: usize = 200;
    let page = [0xa5; 4096];
    let mut file = File::create(file)?;
    // As in a log whose room was made before: the length does not change any more.
    file.write_all(&page)?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let started = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&page)?;
        file.sync_data()?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_machine_is_described() {
        let machine = Machine::look(&Workspace::locate().unwrap()).unwrap();
        assert!(machine.hardware.contains(" cores of "), "{}", machine.hardware);
        assert!(machine.rustc.starts_with("rustc "), "{}", machine.rustc);
        assert_eq!(date().unwrap().len(), "2026-01-31".len());
        let folder = Scratch::new(&std::env::temp_dir(), "disk").unwrap();
        assert!(sync_time(folder.path()).unwrap() > 0.0);
    }
}
