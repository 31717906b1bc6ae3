//! Why the settings do not let the program start.

use std::{io, path::PathBuf};

use super::value::Expected;

/// A setting that is unknown, malformed, or does not go with another one. Each is one line that names it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingError {
    /// An environment variable that looks like a setting and is none.
    #[error("{0} is no setting that this version knows (forecourt serve --help lists them)")]
    UnknownVariable(String),
    /// A key of the file that is no setting.
    #[error("{key:?} in {file} is no setting that this version knows (forecourt serve --help lists them)", file = .file.display())]
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
    },
    /// Two keys of the file are the same setting.
    #[error("{key:?} in {file} says again what another line of it has said", file = .file.display())]
    SaidTwice {
        /// The file.
        file: PathBuf,
        /// The second key.
        key: String,
    },
    /// A setting is given both by its value and by a file that holds it.
    #[error("{value} and {file} are the same setting: give one of them")]
    BothForms {
        /// What gives its value.
        value: String,
        /// What gives the file.
        file: String,
    },
    /// The file that holds a setting's value cannot be read.
    #[error("{name}: {file} cannot be read", file = .file.display())]
    UnreadableValue {
        /// What names the file.
        name: String,
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file that holds a setting's value holds no such value.
    #[error("{name}: {file} {fault}", file = .file.display())]
    NoValue {
        /// What names the file.
        name: String,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A value that the setting does not take.
    #[error("{name} {expected}{}", shown(.value.as_deref()))]
    Malformed {
        /// The variable, option or key that has the value.
        name: String,
        /// What the value must be.
        expected: Expected,
        /// The value, unless it is a secret.
        value: Option<String>,
    },
    /// A setting that another one needs.
    #[error("{missing} must be set when {because}")]
    Missing {
        /// The variable of the setting that is missing.
        missing: &'static str,
        /// The setting that needs it, and how it is set.
        because: &'static str,
    },
    /// The file cannot be read.
    #[error("the settings file {file} cannot be read", file = .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is no TOML.
    #[error("the settings file {file} is not valid TOML: line {line}: {message}", file = .file.display())]
    NotToml {
        /// The file.
        file: PathBuf,
        /// Where the fault was noticed, counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

fn shown(value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!(", not {value:?}"))
}
