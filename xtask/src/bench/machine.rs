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
    pub(super) cores: usize,
    pub(super) processor: String,
    /// In GiB.
    pub(super) memory: f64,
    pub(super) kernel: String,
    pub(super) rustc: String,
}

impl Machine {
    pub(super) fn look(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            cores: thread::available_parallelism().map_or(1, NonZero::get),
            processor: labelled("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            memory: memory().unwrap_or_default(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .unwrap_or_default()
                .trim()
                .to_owned(),
            rustc: process::output(workspace.command("rustc").arg("--version"))?
                .trim()
                .to_owned(),
        })
    }
}

/// How long the disk that has this folder takes to keep 4 KiB for good, in milliseconds: the least that a durable write can
/// take.
pub(super) fn sync_time(folder: &Path) -> Result<f64> {
    try_disk(&folder.join("sync")).context(|| format!("{} cannot be written", folder.display()))
}

/// Today, in UTC.
pub(super) fn date() -> Result<String> {
    Ok(process::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?
        .trim()
        .to_owned())
}

/// The value behind a label and a colon, in a file of such lines.
fn labelled(file: &str, label: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(label)?.trim_start().strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

fn memory() -> Option<f64> {
    let kilobytes: f64 = labelled("/proc/meminfo", "MemTotal")?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(kilobytes / 1024.0 / 1024.0)
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
        assert!(machine.cores > 0 && machine.memory > 0.0);
        assert!(machine.rustc.starts_with("rustc "), "{}", machine.rustc);
        assert_eq!(date().unwrap().len(), "2026-01-31".len());
    }

    #[test]
    fn the_disk_is_tried() {
        let folder = Scratch::new(&std::env::temp_dir(), "disk").unwrap();
        assert!(sync_time(folder.path()).unwrap() > 0.0);
    }
}
