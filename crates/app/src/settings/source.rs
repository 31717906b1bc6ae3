//! Where settings come from, and which source counts: option, environment, file, default.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::{
    error::SettingError,
    table::{Setting, TABLE},
    value::{Expected, Value},
};
use crate::toml_text::line_of;

/// What the environment variables of this program begin with.
const PREFIX: &str = "FORECOURT_";
/// What those begin with that belong to its tests.
const TEST_PREFIX: &str = "FORECOURT_TEST_";
/// What those begin with that Kubernetes injects next to a service named `forecourt`: its address, and that of each port.
const INJECTED: [&str; 2] = ["FORECOURT_SERVICE_", "FORECOURT_PORT"];
/// What looks like a setting and is not: the environment variable that `listen` takes a token from.
pub(crate) const TOKEN_VARIABLE: &str = "FORECOURT_TOKEN";

/// The values that options of the command line gave, by the setting's key.
pub(crate) type Options = BTreeMap<&'static str, String>;

/// What is said outside this program's defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The options of the command line.
    pub(crate) options: Options,
    /// The environment variables, also those that are not for this program.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The settings file, if there is one.
    pub(crate) file: Option<PathBuf>,
}

/// The texts that count, by the setting's key.
#[derive(Debug, Default)]
pub(super) struct Found(BTreeMap<&'static str, Given>);

/// A setting's text.
#[derive(Debug)]
struct Given {
    text: String,
    /// Who said it, as a complaint about it names it.
    name: String,
    secret: bool,
}

impl Found {
    /// Looks through all sources.
    pub(super) fn in_sources(sources: Sources) -> Result<Self, SettingError> {
        let mut found = Self::default();
        for setting in TABLE {
            if let Some(text) = setting.default {
                found.set(setting, setting.variable.to_owned(), text.to_owned());
            }
        }
        // What comes later takes the place of what came before.
        if let Some(file) = &sources.file {
            found.look_into_file(file)?;
        }
        found.look_into_environment(sources.environment)?;
        for (key, text) in sources.options {
            if let Some(setting) = Setting::by_key(key) {
                found.set(setting, format!("--{}", setting.option()), text);
            }
        }
        Ok(found)
    }

    /// The value of the setting of that key.
    pub(super) fn read<V: Value>(&self, key: &str) -> Result<V, SettingError> {
        let Some(Given { text, name, secret }) = self.0.get(key) else {
            // Only settings that may be left out have no default, and they read an empty text.
            return V::read("").map_err(|expected| malformed(key.to_owned(), expected, None));
        };
        V::read(text).map_err(|expected| malformed(name.clone(), expected, (!secret).then(|| text.clone())))
    }

    fn set(&mut self, setting: &'static Setting, name: String, text: String) {
        let secret = setting.secret;
        self.0.insert(setting.key, Given { text, name, secret });
    }

    /// An empty variable is as good as none: that is how files of container tools leave one out.
    fn look_into_environment(&mut self, variables: Vec<(OsString, OsString)>) -> Result<(), SettingError> {
        for (variable, text) in variables {
            let Some(variable) = variable.to_str() else { continue };
            let Some(setting) = Setting::by_variable(variable) else {
                let passed_over = INJECTED
                    .iter()
                    .chain(&[TEST_PREFIX])
                    .any(|prefix| variable.starts_with(prefix));
                if variable.starts_with(PREFIX) && !passed_over && variable != TOKEN_VARIABLE {
                    return Err(SettingError::UnknownVariable(variable.to_owned()));
                }
                continue;
            };
            let text = text
                .into_string()
                .map_err(|_| malformed(variable.to_owned(), Expected::new("must be UTF-8 text"), None))?;
            if !text.is_empty() {
                self.set(setting, variable.to_owned(), text);
            }
        }
        Ok(())
    }

    fn look_into_file(&mut self, file: &Path) -> Result<(), SettingError> {
        let text = fs::read_to_string(file).map_err(|source| SettingError::Unreadable {
            file: file.to_owned(),
            source,
        })?;
        let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| SettingError::NotToml {
            file: file.to_owned(),
            line: line_of(&text, &error),
            message: error.message().to_owned(),
        })?;
        let mut said = BTreeMap::new();
        for (key, value) in table {
            let Some(setting) = Setting::by_key(&key) else {
                return Err(SettingError::UnknownKey {
                    file: file.to_owned(),
                    key,
                });
            };
            if said.insert(setting.key, ()).is_some() {
                return Err(SettingError::SaidTwice {
                    file: file.to_owned(),
                    key,
                });
            }
            let name = format!("{key} in {}", file.display());
            let text = text_of(&value).ok_or_else(|| {
                malformed(
                    name.clone(),
                    Expected::new("must be text, a number, true, false or a list of those"),
                    None,
                )
            })?;
            self.set(setting, name, text);
        }
        Ok(())
    }
}

fn malformed(name: String, expected: Expected, value: Option<String>) -> SettingError {
    SettingError::Malformed { name, expected, value }
}

/// A TOML value as a variable would say it; a list is separated by commas.
fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(yes.to_string()),
        toml::Value::Array(items) => {
            let items: Option<Vec<_>> = items
                .iter()
                .map(|item| text_of(item).filter(|_| !item.is_array()))
                .collect();
            items.map(|items| items.join(","))
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}
