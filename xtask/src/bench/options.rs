//! The command line's options.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

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
        let mut options = Self::default();
        for pair in arguments.chunks(2) {
            let [option, value] = pair else { return Err(usage()) };
            match option.as_str() {
                "--engine" => options.engines = engines(value)?,
                "--leads" => options.leads = number(value)?,
                "--vehicles" => options.vehicles = number(value)?,
                "--seconds" => options.seconds = number(value)?,
                "--connections" => options.connections = number(value)?,
                "--rounds" => options.rounds = number(value)?,
                "--write" => options.write = Some(value.into()),
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }

    /// The command that repeats this, but for the writing.
    pub(super) fn command(&self) -> String {
        let Self {
            engines,
            leads,
            vehicles,
            seconds,
            connections,
            rounds,
            write: _,
        } = self;
        let engine = match engines[..] {
            [Engine::Sqlite] => "sqlite",
            [Engine::Postgres] => "postgres",
            _ => "both",
        };
        format!(
            "cargo xtask bench --engine {engine} --leads {leads} --vehicles {vehicles} --seconds {seconds} --connections {connections} \
             --rounds {rounds}"
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

fn engines(value: &str) -> Result<Vec<Engine>> {
    match value {
        "sqlite" => Ok(vec![Engine::Sqlite]),
        "postgres" => Ok(vec![Engine::Postgres]),
        "both" => Ok(vec![Engine::Sqlite, Engine::Postgres]),
        _ => Err(usage()),
    }
}

fn number(value: &str) -> Result<NonZeroU32> {
    NonZeroU32::from_str(value).map_err(|_| usage())
}

fn usage() -> Error {
    Error::new(format!("usage: cargo xtask bench {}", TASK.usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn what_is_not_said_is_the_default() {
        let options = parse("--engine postgres --seconds 2 --write docs/x.md").unwrap();
        assert_eq!(options.engines, [Engine::Postgres]);
        assert_eq!(options.seconds.get(), 2);
        assert_eq!(options.write, Some("docs/x.md".into()));
        assert_eq!(options.leads, Options::default().leads);
    }

    #[test]
    fn the_command_says_everything_but_the_writing() {
        let options = parse("--engine sqlite --rounds 7 --write x").unwrap();
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
            assert!(
                parse(line)
                    .unwrap_err()
                    .to_string()
                    .contains("--engine sqlite|postgres|both"),
                "{line}"
            );
        }
    }
}
