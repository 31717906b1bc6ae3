//! The units of systemd.

use std::fs;

use super::{Trial, missing, silently};
use crate::error::{Context as _, Result};
use crate::process;
use crate::task::Outcome;

const UNITS: [&str; 3] = [
    "forecourt.service",
    "forecourt-backup.service",
    "forecourt-backup.timer",
];

/// The highest exposure that is accepted, in tenths.
const MAX_EXPOSURE: &str = "15";

pub(super) fn check(trial: &Trial<'_>) -> Result<Outcome> {
    if let Some(what) = missing(&[("systemd-analyze", "systemd")]) {
        return Ok(Outcome::Skipped(what));
    }
    let scratch = trial.scratch()?;
    let program = trial.program(&scratch)?.path;
    for unit in UNITS {
        let source = trial.source("docs/deploy").join(unit);
        let text = fs::read_to_string(&source).context(|| format!("{} cannot be read", source.display()))?;
        // What it starts must exist; here it is installed elsewhere.
        let text = text.replace("/usr/bin/forecourt", &program.display().to_string());
        let copy = scratch.path().join(unit);
        fs::write(&copy, text).context(|| format!("{} cannot be written", copy.display()))?;
    }
    let analyze = || {
        let mut command = std::process::Command::new("systemd-analyze");
        command.current_dir(scratch.path());
        command
    };
    silently(
        analyze()
            .args(["verify", "--man=no"])
            .args(UNITS.map(|unit| format!("./{unit}"))),
    )?;
    for unit in UNITS.iter().filter(|unit| unit.ends_with(".service")) {
        let threshold = format!("--threshold={MAX_EXPOSURE}");
        let said = process::output(analyze().args(["security", "--offline=true", &threshold, &format!("./{unit}")]))?;
        eprintln!("{}", said.lines().last().unwrap_or_default().trim_start_matches("→ "));
    }
    Ok(Outcome::Passed)
}
