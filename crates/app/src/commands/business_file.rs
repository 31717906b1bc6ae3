//! Reads a business's file, and shows a business in the file's shape.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use forecourt_accounts::{Business, BusinessFile, InvalidBusinessFile, Legal, Plan, Settings, State};
use forecourt_kernel::Timestamp;
use forecourt_reference::Catalogue;
use serde::Serialize;

use crate::toml_text::line_of;

/// The reason why a business's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// It cannot be read.
    #[error("{file} cannot be read", file = .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its name does not show its format.
    #[error("{file} must end in .toml or .json", file = .0.display())]
    UnknownFormat(PathBuf),
    /// It does not have the shape of a business, at one place.
    #[error("{file}: {place}: {message}", file = .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The member's dot-path, or the line where that is unknown.
        place: String,
        /// The fault.
        message: String,
    },
    /// It has invalid values.
    #[error("{file}: {source}", file = .file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Every fault with its dot-path.
        #[source]
        source: InvalidBusinessFile,
    },
}

/// Reads the file, in the format that its extension names.
///
/// # Errors
/// [`FileError`].
pub(crate) fn read(file: &Path) -> Result<BusinessFile, FileError> {
    let parse = match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => from_toml,
        Some("json") => from_json,
        _ => return Err(FileError::UnknownFormat(file.to_owned())),
    };
    let text = fs::read_to_string(file).map_err(|source| FileError::Unreadable {
        file: file.to_owned(),
        source,
    })?;
    parse(&text).map_err(|(place, message)| FileError::Malformed {
        file: file.to_owned(),
        place,
        message,
    })
}

/// A fault, and its place.
type Fault = (String, String);

/// Reads a business from JSON.
pub(crate) fn from_json(text: &str) -> Result<BusinessFile, Fault> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let file = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let line = error.line();
        place_of(&path, line, without_position(&error))
    })?;
    deserializer
        .end()
        .map_err(|error| (format!("line {}", error.line()), error.to_string()))?;
    Ok(file)
}

/// Reads a business from TOML.
fn from_toml(text: &str) -> Result<BusinessFile, Fault> {
    let deserializer = toml::Deserializer::parse(text)
        .map_err(|error| place_of(".", line_of(text, &error), error.message().to_owned()))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        place_of(&path, line_of(text, &error), error.message().to_owned())
    })
}

/// Returns the path of a member, or the line if the fault is in none.
fn place_of(path: &str, line: usize, message: String) -> Fault {
    let place = match path {
        "." => format!("line {line}"),
        path => path.to_owned(),
    };
    (place, message)
}

/// Returns the message without the position that the parser appends: the path has the place.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map_or_else(|| text.clone(), str::to_owned)
}

/// A business in the shape of its file, with the fields that only storage has.
#[derive(Serialize)]
pub(crate) struct BusinessDocument<'a> {
    id: i64,
    tag: &'a str,
    name: &'a str,
    email: &'a str,
    country: &'a str,
    website: &'a str,
    verified: bool,
    state: State,
    plan: Plan,
    api_access: bool,
    settings: &'a Settings,
    #[serde(skip_serializing_if = "Legal::is_empty")]
    legal: &'a Legal,
    #[serde(flatten)]
    catalogue: &'a Catalogue,
    created: Timestamp,
    updated: Timestamp,
}

impl BusinessDocument<'_> {
    /// Returns the names of its state and its plan.
    pub(crate) fn state_and_plan(&self) -> [String; 2] {
        [name_of(self.state), name_of(self.plan)]
    }
}

/// Returns the name that a value has in the file.
fn name_of(value: impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

impl<'a> From<&'a Business> for BusinessDocument<'a> {
    fn from(business: &'a Business) -> Self {
        let Business {
            id,
            tag,
            name,
            email,
            country,
            website,
            verified,
            state,
            plan,
            api_access,
            settings,
            legal_details,
            catalogue,
            created,
            updated,
        } = business;
        Self {
            id: id.get(),
            tag,
            name,
            email,
            country: country.code(),
            website,
            verified: *verified,
            state: *state,
            plan: *plan,
            api_access: *api_access,
            settings,
            legal: legal_details,
            catalogue,
            created: *created,
            updated: *updated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(name);
        fs::write(&file, text).unwrap();
        (home, file)
    }

    fn refusal(name: &str, text: &str) -> String {
        let (_home, file) = write(name, text);
        let refusal = read(&file).unwrap_err().to_string();
        refusal.split_once(name).unwrap().1.to_owned()
    }

    #[test]
    fn both_formats_say_the_same() {
        let toml = "tag = 'acme'\nname = 'Acme'\nstate = 'frozen'\n[settings]\npublish_limit = 3\nreserve_deposit = '99.00'\n\
                    [settings.finance]\napr = '9.9'\nterm = 48\n[[staff]]\nid = 1\nname = 'Sam'\nrole = ['sales']\n\
                    [vehicle_options]\ncolour = ['Nardo Grey']";
        let json = r#"{"tag": "acme", "name": "Acme", "state": "frozen", "settings": {"publish_limit": 3, "reserve_deposit": "99.00",
                      "finance": {"apr": "9.9", "term": 48}}, "staff": [{"id": 1, "name": "Sam", "role": ["sales"]}],
                      "vehicle_options": {"colour": ["Nardo Grey"]}}"#;
        let (_one, toml) = write("acme.toml", toml);
        let (_other, json) = write("acme.json", json);
        assert_eq!(read(&toml).unwrap(), read(&json).unwrap());
    }

    #[test]
    fn a_wrong_member_is_reported_by_its_path() {
        let json = r#"{"tag": "acme", "name": "Acme", "staff": [{"id": 1, "name": "A"}, {"id": "x", "name": "B"}]}"#;
        assert!(
            refusal("a.json", json).starts_with(": staff[1].id: invalid type: string"),
            "{}",
            refusal("a.json", json)
        );
        let toml = "tag = 'acme'\nname = 'Acme'\n[[staff]]\nid = 1\nname = 'A'\n[[staff]]\nid = 'x'\nname = 'B'";
        assert!(
            refusal("a.toml", toml).starts_with(": staff[1].id: invalid type: string"),
            "{}",
            refusal("a.toml", toml)
        );
    }

    #[test]
    fn an_unknown_member_is_named() {
        for text in [
            r#"{"tag": "acme", "name": "Acme", "colour": "red"}"#,
            r#"{"tag": "acme", "name": "Acme", "settings": {"colour": 1}}"#,
        ] {
            assert!(
                refusal("a.json", text).contains("unknown field `colour`"),
                "{}",
                refusal("a.json", text)
            );
        }
        let text = "tag = 'acme'\nname = 'Acme'\n[settings]\ncolour = 1";
        assert!(
            refusal("a.toml", text).contains("unknown field `colour`"),
            "{}",
            refusal("a.toml", text)
        );
    }

    #[test]
    fn what_is_no_file_of_the_format_is_reported_with_the_line() {
        assert!(
            refusal("a.json", "{\n\"tag\": \n}").starts_with(": "),
            "{}",
            refusal("a.json", "{\n\"tag\": \n}")
        );
        assert!(refusal("a.json", r#"{"tag": "a", "name": "A"} x"#).contains("line 1"));
        assert!(refusal("a.toml", "tag = 'a'\nname = ").contains("line 2"));
        assert!(refusal("a.json", r#"{"tag": "a"}"#).contains("missing field `name`"));
        assert_eq!(refusal("a.yaml", ""), " must end in .toml or .json");
        let missing = read(Path::new("/not/there.json")).unwrap_err().to_string();
        assert_eq!(missing, "/not/there.json cannot be read");
    }

    #[test]
    fn a_stored_business_reads_back_as_its_file() {
        let business = crate::sample::testing::a_business();
        let mut document = serde_json::to_value(BusinessDocument::from(&business)).unwrap();
        let members = document.as_object_mut().unwrap();
        for name in ["id", "created", "updated", "location_ids"] {
            assert!(members.remove(name).is_some());
        }
        let file = from_json(&document.to_string()).unwrap();
        assert_eq!(file.apply(None, &[], business.created).unwrap(), business);
    }
}
