//! The sources of settings and their precedence: option, environment, file, default.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{
    error::SettingError,
    table::{Form, Setting, TABLE},
    value::{Expected, Value},
};
use crate::toml_text::line_of;

/// The prefix of this program's environment variables.
const PREFIX: &str = "FORECOURT_";
/// The prefix of the variables of its tests.
const TEST_PREFIX: &str = "FORECOURT_TEST_";
/// The prefixes of the variables that Kubernetes injects for a service named `forecourt`: its address, and that of each port.
const INJECTED: [&str; 2] = ["FORECOURT_SERVICE_", "FORECOURT_PORT"];
/// Environment variables that look like settings and are not: `listen` takes a token and a signing secret from them.
pub(crate) const TOKEN_VARIABLE: &str = "FORECOURT_TOKEN";
pub(crate) const LISTEN_SECRET_VARIABLE: &str = "FORECOURT_LISTEN_SECRET";
/// The maximum length of a file with a setting's value.
const MAX_VALUE_BYTES: u64 = 64 * 1024;

/// The values that options of the command line gave, by the setting's key.
pub(crate) type Options = BTreeMap<&'static str, String>;

/// The inputs outside this program's defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The options of the command line.
    pub(crate) options: Options,
    /// The environment variables, including those for other programs.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The settings file, if there is one.
    pub(crate) file: Option<PathBuf>,
}

/// The texts that apply, by the setting's key.
#[derive(Default)]
pub(super) struct Found(OfSource);

/// A setting as a source gives it.
struct Given {
    form: Form,
    /// The value, or the path of the file that holds it.
    text: String,
    /// The name of its source, for error messages.
    name: String,
    secret: bool,
}

/// The settings that one source gives, by their keys.
type OfSource = BTreeMap<&'static str, Given>;

impl Found {
    /// Reads all sources.
    pub(super) fn in_sources(sources: Sources) -> Result<Self, SettingError> {
        let mut found = Self::default();
        for setting in TABLE {
            if let Some(text) = setting.default {
                let given = Given::value(setting, setting.variable.to_owned(), text.to_owned());
                found.0.insert(setting.key, given);
            }
        }
        // Later sources replace earlier ones.
        if let Some(file) = &sources.file {
            found.0.extend(in_file(file)?);
        }
        found.0.extend(in_environment(sources.environment)?);
        for (key, text) in sources.options {
            if let Some((setting, Form::Value)) = Setting::by_key(key) {
                let given = Given::value(setting, format!("--{}", setting.option()), text);
                found.0.insert(setting.key, given);
            }
        }
        Ok(found)
    }

    /// Returns the value of the setting with that key.
    pub(super) fn read<V: Value>(&self, key: &str) -> Result<V, SettingError> {
        let Some(given) = self.0.get(key) else {
            // Only optional settings have no default, and they accept an empty text.
            return V::read("").map_err(|expected| malformed(key.to_owned(), expected, None));
        };
        let Given {
            form,
            text,
            name,
            secret,
        } = given;
        match form {
            Form::Value => {
                // If there is an @, a password may stand before it, even if the setting takes none.
                let shown = || (!secret && !text.contains('@')).then(|| text.clone());
                V::read(text).map_err(|expected| malformed(name.clone(), expected, shown()))
            }
            Form::File => {
                let text = value_in(Path::new(text), name)?;
                V::read(&text).map_err(|expected| malformed(format!("the content of {name}"), expected, None))
            }
        }
    }
}

impl Given {
    fn value(setting: &Setting, name: String, text: String) -> Self {
        Self {
            form: Form::Value,
            text,
            name,
            secret: setting.secret,
        }
    }
}

/// Adds a setting to those of its source, which may give it in one form only.
fn add(
    source: &mut OfSource,
    setting: &'static Setting,
    form: Form,
    name: String,
    text: String,
) -> Result<(), SettingError> {
    let given = Given {
        form,
        ..Given::value(setting, name, text)
    };
    match source.insert(setting.key, given) {
        Some(other) if other.form != form => {
            let (one, other) = (source.remove(setting.key).map(|given| given.name), other.name);
            let one = one.unwrap_or_default();
            let (value, file) = if form == Form::Value {
                (one, other)
            } else {
                (other, one)
            };
            Err(SettingError::BothForms { value, file })
        }
        _ => Ok(()),
    }
}

/// Returns the value in a file, without the line break at its end.
fn value_in(file: &Path, name: &str) -> Result<String, SettingError> {
    let none = |fault| SettingError::NoValue {
        name: name.to_owned(),
        file: file.to_owned(),
        fault,
    };
    let mut content = Vec::new();
    // The read is limited, since the file may be a device without an end.
    let read = fs::File::open(file).and_then(|file| file.take(MAX_VALUE_BYTES + 1).read_to_end(&mut content));
    let unreadable = |source: io::Error| SettingError::UnreadableValue {
        name: name.to_owned(),
        file: file.to_owned(),
        source,
    };
    let length = read.map_err(unreadable)?;
    if length as u64 > MAX_VALUE_BYTES {
        return Err(none("is longer than any value"));
    }
    let text = String::from_utf8(content).map_err(|_| none("is no UTF-8 text"))?;
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(none("is empty")),
        value => Ok(value.to_owned()),
    }
}

/// Returns the settings among environment variables. An empty one counts as missing, since files of container tools leave one
/// out in this way.
fn in_environment(variables: Vec<(OsString, OsString)>) -> Result<OfSource, SettingError> {
    let mut found = OfSource::new();
    for (variable, text) in variables {
        let Some(variable) = variable.to_str() else { continue };
        let Some((setting, form)) = Setting::by_variable(variable) else {
            let passed_over = INJECTED
                .iter()
                .chain(&[TEST_PREFIX])
                .any(|prefix| variable.starts_with(prefix));
            let is_ours = [TOKEN_VARIABLE, LISTEN_SECRET_VARIABLE].contains(&variable);
            if variable.starts_with(PREFIX) && !passed_over && !is_ours {
                return Err(SettingError::UnknownVariable(variable.to_owned()));
            }
            continue;
        };
        let text = text
            .into_string()
            .map_err(|_| malformed(variable.to_owned(), Expected::new("must be UTF-8 text"), None))?;
        if !text.is_empty() {
            add(&mut found, setting, form, variable.to_owned(), text)?;
        }
    }
    Ok(found)
}

fn in_file(file: &Path) -> Result<OfSource, SettingError> {
    let text = fs::read_to_string(file).map_err(|source| SettingError::Unreadable {
        file: file.to_owned(),
        source,
    })?;
    let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| SettingError::NotToml {
        file: file.to_owned(),
        line: line_of(&text, &error),
        message: error.message().to_owned(),
    })?;
    let mut found = OfSource::new();
    for (key, value) in table {
        let Some((setting, form)) = Setting::by_key(&key) else {
            return Err(SettingError::UnknownKey {
                file: file.to_owned(),
                key,
            });
        };
        if found.get(setting.key).is_some_and(|given| given.form == form) {
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
        add(&mut found, setting, form, name, text)?;
    }
    Ok(found)
}

fn malformed(name: String, expected: Expected, value: Option<String>) -> SettingError {
    SettingError::Malformed { name, expected, value }
}

/// Converts a TOML value to the text that a variable would have; a list is separated by commas.
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
