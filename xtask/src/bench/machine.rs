//! The machine of the measurement, without which no figure has a meaning.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::thread;
use std::time::Instant;

use super::measure::median;

/// Returns cores, memory and kernel.
pub(super) fn hardware() -> String {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let processor = labelled("/proc/cpuinfo", "model name");
    let memory = labelled("/proc/meminfo", "MemTotal");
    let kibibytes: f64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let gibibytes = kibibytes / 1024.0 / 1024.0;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.trim();
    format!("{cores} cores of {processor}, {gibibytes:.0} GiB of memory, Linux {kernel}")
}

/// Returns the value after a label and a colon, in a file of such lines.
fn labelled(file: &str, label: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(label));
    let value = line.and_then(|line| line.split_once(':'));
    value.map_or("unknown", |(_, value)| value.trim()).to_owned()
}

/// Returns the milliseconds that the disk takes to store 4 KiB of this file durably: the minimum for a durable write.
pub(super) fn sync_milliseconds(file: &Path) -> io::Result<f64> {
    let page = [0xa5; 4096];
    let mut file = File::create(file)?;
    // The length does not change any more, as in a log whose space was allocated before.
    file.write_all(&page)?;
    file.sync_all()?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        file.rewind()?;
        file.write_all(&page)?;
        file.sync_data()?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}
