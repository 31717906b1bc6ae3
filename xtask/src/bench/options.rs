//! The command line's options.

use std::num::NonZeroU32;
use std::path::PathBuf;

use super::{Engine, TASK};
use crate::error::{Error, Result};

/// What is measured, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) engines: Vec<Engine>,
    /// How many leads the business has at the beginning.
    pub(super) leads: NonZeroU32,
    /// How many vehicles it has, about half of which are listed.
    pub(super) vehicles: NonZeroU32,
    /// How long each run takes.
    pub(super) seconds: NonZeroU32,
    /// How many clients ask at once.
    pub(super) connections: NonZeroU32,
    /// How often each workload is run against either side, in turn.
    pub(super) rounds: NonZeroU32,
    /// The document that the report goes into, seen from the workspace's root.
    pub(super) write: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        Self::default()
            .with(arguments)
            .ok_or_else(|| Error::new(format!("usage: cargo xtask bench {}", TASK.usage)))
    }

    fn with(mut self, arguments: &[String]) -> Option<Self> {
        for pair in arguments.chunks(2) {
            let [option, value] = pair else { return None };
            let number = || value.parse().ok();
            match (option.as_str(), value.as_str()) {
                ("--engine", "sqlite") => self.engines = vec![Engine::Sqlite],
                ("--engine", "postgres") => self.engines = vec![Engine::Postgres],
                ("--engine", "both") => self.engines = vec![Engine::Sqlite, Engine::Postgres],
                ("--leads", _) => self.leads = number()?,
                ("--vehicles", _) => self.vehicles = number()?,
                ("--seconds", _) => self.seconds = number()?,
                ("--connections", _) => self.connections = number()?,
                ("--rounds", _) => self.rounds = number()?,
                ("--write", _) => self.write = Some(value.into()),
                _ => return None,
            }
        }
        Some(self)
    }

    /// The command that repeats this, but for the writing.
    pub(super) fn command(&self) -> String {
        let engine = match self.engines[..] {
            [Engine::Sqlite] => "sqlite",
            [Engine::Postgres] => "postgres",
            _ => "both",
        };
        format!(
            "cargo xtask bench --engine {engine} --leads {} --vehicles {} --seconds {} --connections {} --rounds {}",
            self.leads, self.vehicles, self.seconds, self.connections, self.rounds
        )
    }
}

impl Default for Options {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            engines: vec![Engine::Sqlite, Engine::Postgres],
            leads: number(100_000),
            vehicles: number(100_000),
            seconds: number(5),
            connections: number(32),
            rounds: number(3),
            write: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn the_command_says_everything_but_the_writing() {
        let options = parse("--engine sqlite --rounds 7 --write x").unwrap();
        assert_eq!((options.leads.get(), options.rounds.get()), (100_000, 7));
        let again = parse(options.command().trim_start_matches("cargo xtask bench")).unwrap();
        assert_eq!(again, Options { write: None, ..options });
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--leads",
            "--leads 0",
            "--leads many",
            "--engine oracle",
            "fast",
            "--fast 1",
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains("--engine sqlite|postgres|both"), "{line}: {error}");
        }
    }
}
