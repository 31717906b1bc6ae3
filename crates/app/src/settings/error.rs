//! The reasons why the settings do not let the program start.

use std::{io, path::PathBuf};

/// A setting that is unknown, malformed, or in conflict with another one. Each is one line that names it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingError {
    /// A variable, or a key of the file, that looks like a setting and is not one.
    #[error("{0} is no setting that this version knows (forecourt serve --help lists them)")]
    Unknown(String),
    /// Two keys of the file are the same setting.
    #[error("{0} says again what another line of it has said")]
    SaidTwice(String),
    /// A setting is given both by its value and by a file that holds it.
    #[error("{value} and {file} are the same setting: give one of them")]
    BothForms {
        /// The name under which its value is given.
        value: String,
        /// The name under which the file is given.
        file: String,
    },
    /// A value that the setting does not accept.
    #[error("{name} {expected}{}", shown(.value.as_deref()))]
    Malformed {
        /// The variable, option or key that has the value.
        name: String,
        /// The requirement on the value; completes the sentence that begins with the name.
        expected: String,
        /// The value, unless it is a secret.
        value: Option<String>,
    },
    /// A setting that another one needs.
    #[error("{missing} must be set when {because}")]
    Missing {
        /// The variable of the setting that is missing.
        missing: &'static str,
        /// The setting that needs it, and its value.
        because: &'static str,
    },
    /// A file cannot be read.
    #[error("{name} {file} cannot be read", file = .file.display())]
    Unreadable {
        /// The source that names the file.
        name: String,
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("the settings file {file} is not valid TOML: line {line}: {message}", file = .file.display())]
    NotToml {
        /// The file.
        file: PathBuf,
        /// The line of the fault, counted from 1.
        line: usize,
        /// The fault.
        message: String,
    },
}

impl SettingError {
    /// A value that is not shown.
    pub(super) fn malformed(name: String, expected: impl Into<String>) -> Self {
        let (expected, value) = (expected.into(), None);
        Self::Malformed { name, expected, value }
    }
}

fn shown(value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!(", not {value:?}"))
}
