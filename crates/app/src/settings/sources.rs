//! The sources of settings and their precedence: option, environment, file, default.
//!
//! The text of a setting is taken from its first source, and clap parses it as [`Settings`] declares it. Clap does not read the
//! environment itself: it would take an empty variable for a value, repeat a secret in its messages, and name an option where a
//! variable is wrong.

use std::{
    collections::BTreeMap,
    error::Error as _,
    ffi::OsString,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgMatches, Args as _, Command, FromArgMatches as _,
    builder::ValueParser,
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};

use super::{Settings, error::SettingError};
use crate::toml_text::line_of;

/// The prefix of this program's environment variables.
const PREFIX: &str = "FORECOURT_";
/// The prefixes of the variables that Kubernetes injects for a service named `forecourt`, its address and that of each port, and of
/// those of this program's tests.
const PASSED_OVER: [&str; 3] = ["FORECOURT_SERVICE_", "FORECOURT_PORT", "FORECOURT_TEST_"];
/// Environment variables that look like settings and are not: `listen` takes a token and a signing secret from them.
pub(crate) const TOKEN_VARIABLE: &str = "FORECOURT_TOKEN";
pub(crate) const LISTEN_SECRET_VARIABLE: &str = "FORECOURT_LISTEN_SECRET";
/// The ending of the name of a setting whose value is the path of a file with the secret, which is how containers and service
/// managers pass one.
const IN_FILE: &str = "_FILE";
/// The maximum length of a file with a setting's value.
const MAX_VALUE_BYTES: u64 = 64 * 1024;

/// The values that options of the command line gave, by the setting's id.
pub(crate) type Options = BTreeMap<String, String>;

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

/// A setting as a source gives it.
struct Given {
    /// The value, or the path of the file that holds it.
    text: String,
    in_file: bool,
    /// The name of its source, for error messages.
    name: String,
    secret: bool,
}

/// The settings that a source gives, by their ids.
type Found = BTreeMap<String, Given>;

impl Settings {
    /// Reads and validates all settings.
    ///
    /// # Errors
    /// [`SettingError`] for the first that is unknown or malformed.
    pub(crate) fn load(sources: Sources) -> Result<Self, SettingError> {
        let declared = declared();
        // Later sources replace earlier ones.
        let mut found = match &sources.file {
            Some(file) => in_file(&declared, file)?,
            None => Found::new(),
        };
        found.extend(in_environment(&declared, sources.environment)?);
        found.extend(sources.options.into_iter().map(|(id, text)| {
            let name = format!("--{}", option_name(&id));
            let [in_file, secret] = [false; 2];
            (
                id,
                Given {
                    text,
                    in_file,
                    name,
                    secret,
                },
            )
        }));
        for given in found.values_mut().filter(|given| given.in_file) {
            given.text = value_in(Path::new(&given.text), &given.name)?;
            given.name = format!("the content of {}", given.name);
        }

        let command = Command::new("settings").args(declared.iter().map(|arg| {
            // What a process list must not show may well be an option of this list.
            arg.clone().long(option_name(arg.get_id().as_str())).env(None::<&str>)
        }));
        // An empty text leaves a setting out that needs no value.
        let needs_value = |id: &str| {
            declared
                .iter()
                .any(|arg| arg.get_id() == id && !arg.get_default_values().is_empty())
        };
        let words = found
            .iter()
            .filter(|(id, given)| !given.text.is_empty() || needs_value(id));
        let words = words.map(|(id, given)| format!("--{}={}", option_name(id), given.text));
        let settings = command
            .no_binary_name(true)
            .try_get_matches_from(words)
            .and_then(|matches| Self::from_arg_matches(&matches))
            .map_err(|error| refusal(&error, &found))?;
        settings.validate()?;
        Ok(settings)
    }
}

/// Returns true for an environment variable that looks like a setting and is none.
pub(crate) fn is_passed_over(variable: &str) -> bool {
    PASSED_OVER.iter().any(|prefix| variable.starts_with(prefix))
}

/// Returns every setting as it is declared, in the order of the help.
pub(crate) fn declared() -> Vec<Arg> {
    Settings::augment_args(Command::new("settings"))
        .get_arguments()
        .cloned()
        .collect()
}

fn option_name(id: &str) -> String {
    id.replace('_', "-")
}

/// Returns the name of the setting's variable.
fn variable(arg: &Arg) -> &str {
    arg.get_env().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns true if the setting may hold a secret.
fn is_secret(arg: &Arg) -> bool {
    arg.get_long().is_none()
}

/// Returns the options of all commands (`everywhere`), or those of `serve` alone. A text is validated with those of the other
/// sources, not here.
pub(crate) fn options(everywhere: bool) -> impl Iterator<Item = Arg> {
    let offered = move |arg: &Arg| !is_secret(arg) && arg.is_global_set() == everywhere;
    declared().into_iter().filter(offered).map(|arg| {
        let help = format!("{} [env: {}]", help(&arg), variable(&arg));
        let unset = arg.get_default_values().iter().all(|text| text.is_empty());
        arg.help(help)
            .env(None::<&str>)
            .hide_default_value(unset)
            .hide_possible_values(true)
            .value_parser(ValueParser::string())
    })
}

/// Returns the values of settings that the command line gives as options.
pub(crate) fn given(matches: &ArgMatches) -> Options {
    let below = matches.subcommand().map(|(_, below)| below);
    let levels = [Some(matches), below].into_iter().flatten();
    let declared = declared();
    let of_level = |matches: &ArgMatches| {
        let value = |arg: &Arg| {
            let id = arg.get_id().as_str();
            let text = matches.try_get_one::<String>(id).ok()??;
            let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
            is_given.then(|| (id.to_owned(), text.clone()))
        };
        declared.iter().filter_map(value).collect::<Vec<_>>()
    };
    levels.flat_map(of_level).collect()
}

/// Returns the help on the settings that are not options.
pub(crate) fn secrets_help() -> String {
    let mut text = "Settings by environment or file only:\n".to_owned();
    for arg in declared().iter().filter(|arg| is_secret(arg)) {
        let (variable, help) = (variable(arg), help(arg));
        text.push_str(&format!("  {variable} or {variable}{IN_FILE}\n          {help}"));
        for default in arg.get_default_values() {
            text.push_str(&format!(" [default: {}]", default.display()));
        }
        text.push('\n');
    }
    text
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns the setting that a variable names, and true if it names the file that holds the value.
fn by_variable<'a>(declared: &'a [Arg], name: &str) -> Option<(&'a Arg, bool)> {
    let named = |name: &str| declared.iter().find(|arg| variable(arg) == name);
    let in_file = || named(name.strip_suffix(IN_FILE)?).filter(|arg| is_secret(arg));
    named(name)
        .map(|arg| (arg, false))
        .or_else(|| in_file().map(|arg| (arg, true)))
}

/// Returns the setting that a key of a file names: its variable in lower case, with or without `forecourt_`, with hyphens or
/// underscores.
fn by_key<'a>(declared: &'a [Arg], key: &str) -> Option<(&'a Arg, bool)> {
    let key = key.replace('-', "_");
    let name = key.strip_prefix("forecourt_").unwrap_or(&key);
    if name.contains(|letter: char| letter.is_uppercase()) {
        return None;
    }
    let name = name.to_uppercase();
    by_variable(declared, &name).or_else(|| by_variable(declared, &format!("{PREFIX}{name}")))
}

/// Adds a setting to those of its source, which may give it in one form only.
fn add(found: &mut Found, (arg, in_file): (&Arg, bool), name: String, text: String) -> Result<(), SettingError> {
    let id = arg.get_id().to_string();
    let shown = name.clone();
    let given = Given {
        text,
        in_file,
        name,
        secret: is_secret(arg),
    };
    match found.insert(id, given) {
        Some(other) if other.in_file && !in_file => Err(SettingError::BothForms {
            value: shown,
            file: other.name,
        }),
        Some(other) if in_file && !other.in_file => Err(SettingError::BothForms {
            value: other.name,
            file: shown,
        }),
        _ => Ok(()),
    }
}

/// Returns the value in a file, without the line break at its end.
fn value_in(file: &Path, name: &str) -> Result<String, SettingError> {
    let fault = |fault| SettingError::malformed(format!("{name}: {}", file.display()), fault);
    let mut content = Vec::new();
    // The read is limited, since the file may be a device without an end.
    let read = fs::File::open(file).and_then(|file| file.take(MAX_VALUE_BYTES + 1).read_to_end(&mut content));
    let length = read.map_err(|source| unreadable(format!("{name}:"), file, source))?;
    if length as u64 > MAX_VALUE_BYTES {
        return Err(fault("is longer than any value"));
    }
    let text = String::from_utf8(content).map_err(|_| fault("is no UTF-8 text"))?;
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(fault("is empty")),
        value => Ok(value.to_owned()),
    }
}

fn unreadable(name: String, file: &Path, source: io::Error) -> SettingError {
    let file = file.to_owned();
    SettingError::Unreadable { name, file, source }
}

/// Returns the settings among environment variables. An empty one counts as missing, since files of container tools leave one
/// out in this way.
fn in_environment(declared: &[Arg], variables: Vec<(OsString, OsString)>) -> Result<Found, SettingError> {
    let mut found = Found::new();
    for (name, text) in variables {
        let Ok(name) = name.into_string() else { continue };
        let Some(setting) = by_variable(declared, &name) else {
            let is_ours = [TOKEN_VARIABLE, LISTEN_SECRET_VARIABLE].contains(&name.as_str());
            if name.starts_with(PREFIX) && !is_passed_over(&name) && !is_ours {
                return Err(SettingError::Unknown(name));
            }
            continue;
        };
        let Ok(text) = text.into_string() else {
            return Err(SettingError::malformed(name, "must be UTF-8 text"));
        };
        if !text.is_empty() {
            add(&mut found, setting, name, text)?;
        }
    }
    Ok(found)
}

fn in_file(declared: &[Arg], file: &Path) -> Result<Found, SettingError> {
    let text = fs::read_to_string(file).map_err(|source| unreadable("the settings file".to_owned(), file, source))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error: toml::de::Error| SettingError::NotToml {
        file: file.to_owned(),
        line: line_of(&text, &error),
        message: error.message().to_owned(),
    })?;
    let mut found = Found::new();
    for (key, value) in table {
        let place = format!("{key:?} in {}", file.display());
        let Some((arg, in_file)) = by_key(declared, &key) else {
            return Err(SettingError::Unknown(place));
        };
        if found
            .get(arg.get_id().as_str())
            .is_some_and(|given| given.in_file == in_file)
        {
            return Err(SettingError::SaidTwice(place));
        }
        let name = format!("{key} in {}", file.display());
        let Some(text) = text_of(&value) else {
            return Err(SettingError::malformed(
                name,
                "must be text, a number, true, false or a list of those",
            ));
        };
        add(&mut found, (arg, in_file), name, text)?;
    }
    Ok(found)
}

/// Converts a TOML value to the text that a variable would have; a list is separated by commas.
fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(yes.to_string()),
        toml::Value::Array(items) => {
            let item = |item: &toml::Value| text_of(item).filter(|_| !item.is_array());
            items
                .iter()
                .map(item)
                .collect::<Option<Vec<_>>>()
                .map(|items| items.join(","))
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

/// Returns clap's refusal of a text as one that names the source of the setting.
fn refusal(error: &clap::Error, found: &Found) -> SettingError {
    // Such as `--bind <ADDRESS>` and `--allow-unsafe-database[=<BOOL>]`.
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => option.trim_start_matches('-'),
        _ => "",
    };
    let option = option.split([' ', '[', '=']).next().unwrap_or_default();
    let expected = match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(requirement), _) => requirement.to_string(),
        (None, Some(ContextValue::Strings(values))) => match values.split_last() {
            Some((last, others)) => format!("must be {} or {last}", others.join(", ")),
            None => "has no valid value".to_owned(),
        },
        _ => "has no valid value".to_owned(),
    };
    let Some(given) = found.get(&option.replace('-', "_")) else {
        return SettingError::malformed(option.to_owned(), expected);
    };
    // If there is an @, a password may stand before it, even if the setting takes none.
    let is_shown = !given.secret && !given.text.contains('@');
    SettingError::Malformed {
        name: given.name.clone(),
        expected,
        value: is_shown.then(|| given.text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_one_pattern_and_are_unique() {
        let declared = declared();
        for (at, arg) in declared.iter().enumerate() {
            let id = arg.get_id().as_str();
            let prefix = if id == "database_url" { "" } else { PREFIX };
            assert_eq!(variable(arg), format!("{prefix}{}", id.to_uppercase()));
            assert!(declared[at + 1..].iter().all(|other| other.get_id() != arg.get_id()));
            let help = help(arg);
            assert!(
                !help.is_empty() && !help.ends_with('.') && !help.contains("  "),
                "{help}"
            );
        }
    }

    #[test]
    fn a_key_is_found_in_every_spelling() {
        let declared = declared();
        let found = |key| by_key(&declared, key).map(|(arg, in_file)| (arg.get_id().as_str(), in_file));
        for key in [
            "admin_bind",
            "admin-bind",
            "forecourt_admin_bind",
            "forecourt-admin-bind",
        ] {
            assert_eq!(found(key), Some(("admin_bind", false)), "{key}");
        }
        for key in ["smtp-url-file", "forecourt_smtp_url_file"] {
            assert_eq!(found(key), Some(("smtp_url", true)), "{key}");
        }
        assert_eq!(found("forecourt_database_url"), Some(("database_url", false)));
        assert_eq!(found("bind_file").or(found("ADMIN_BIND")).or(found("bnd")), None);
        assert!(by_variable(&declared, "DATABASE_URL_FILE").is_some());
        assert!(by_variable(&declared, "FORECOURT_BIND_FILE").is_none());
    }
}
