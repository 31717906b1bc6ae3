//! The command line's options.

use super::{Engine, TASK};
use crate::error::{Error, Result};

/// The extent of the measurements.
pub(super) struct Options {
    pub(super) engines: Vec<Engine>,
    /// The number of leads that the first business has at the beginning.
    pub(super) leads: u32,
    /// The number of its vehicles, about half of which are listed.
    pub(super) vehicles: u32,
    /// The seconds of each run.
    pub(super) seconds: u32,
    /// The number of clients that send requests at once.
    pub(super) connections: u32,
    /// The number of runs of each workload against either side, in turn.
    pub(super) rounds: u32,
    /// The document that receives the report, relative to the workspace's root.
    pub(super) write: Option<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        Self::from_pairs(arguments).ok_or_else(|| Error::new(format!("usage: cargo xtask bench {}", TASK.usage)))
    }

    fn from_pairs(arguments: &[String]) -> Option<Self> {
        let mut options = Self {
            engines: vec![Engine::Sqlite, Engine::Postgres],
            leads: 100_000,
            vehicles: 100_000,
            seconds: 5,
            connections: 32,
            rounds: 3,
            write: None,
        };
        for pair in arguments.chunks(2) {
            let [option, value] = pair else { return None };
            let number = || value.parse().ok().filter(|number| *number > 0);
            match (option.as_str(), value.as_str()) {
                ("--engine", "both") => {}
                ("--engine", "sqlite") => options.engines = vec![Engine::Sqlite],
                ("--engine", "postgres") => options.engines = vec![Engine::Postgres],
                ("--leads", _) => options.leads = number()?,
                ("--vehicles", _) => options.vehicles = number()?,
                ("--seconds", _) => options.seconds = number()?,
                ("--connections", _) => options.connections = number()?,
                ("--rounds", _) => options.rounds = number()?,
                ("--write", file) => options.write = Some(file.to_owned()),
                _ => return None,
            }
        }
        Some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Options> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::from_pairs(&arguments)
    }

    #[test]
    fn options_take_the_place_of_defaults_and_nonsense_is_refused() {
        let options = parse("--engine sqlite --rounds 7 --write x").unwrap();
        assert_eq!((options.leads, options.rounds), (100_000, 7));
        for line in [
            "--leads",
            "--leads 0",
            "--leads many",
            "--engine oracle",
            "fast",
            "--fast 1",
        ] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
