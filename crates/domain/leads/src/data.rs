//! A lead's free-form data.

use std::borrow::Cow;

use forecourt_kernel::{Person, VehicleId, bounds::MAX_LEAD_DATA_BYTES};
use serde::{Deserialize, Serialize, Serializer, de::IgnoredAny, ser::Error as _};
use serde_json::{Map, Value, value::RawValue};

use crate::{ContactSuggestion, JunkMark};

/// The member with the contact that the sender probably is.
pub(crate) const SUGGESTION: &str = "contact_suggestion";

/// The members that only the server writes. A caller's are dropped.
const READ_ONLY: [&str; 2] = [SUGGESTION, "junk"];

/// The member that the server adds if no caller has written it.
const VEHICLE: &str = "vehicle";

/// A JSON object with members of the caller's choice, at most 64 KiB of text (decisions §5). It is stored as text, since most
/// reads pass it on without parsing it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeadData(Box<RawValue>);

impl LeadData {
    /// The maximum length of the object's text, in bytes.
    pub const MAX_BYTES: usize = MAX_LEAD_DATA_BYTES;

    /// Merges `changes` into the object. A member of `changes` replaces the member with its name, and null removes it.
    ///
    /// # Errors
    /// [`DataTooLarge`] if the result is longer than [`Self::MAX_BYTES`].
    pub fn merged(&self, changes: Map<String, Value>) -> Result<Self, DataTooLarge> {
        let mut merged = self.clone();
        merged.merge(changes);
        if merged.is_too_large() {
            return Err(DataTooLarge);
        }
        Ok(merged)
    }

    /// Merges a caller's changes into the object, regardless of the length of the result. Members that the server adds when the
    /// object is shown do not become a part of it, even if a caller writes back what it has read.
    pub(crate) fn merge(&mut self, mut changes: Map<String, Value>) {
        for name in READ_ONLY {
            changes.shift_remove(name);
        }
        if changes.is_empty() {
            return;
        }
        let mut members = self.members();
        for (name, value) in changes {
            if value.is_null() {
                members.shift_remove(&name);
            } else {
                members.insert(name, value);
            }
        }
        self.0 = RawValue::from_string(Value::Object(members).to_string()).unwrap_or_default();
    }

    /// Returns `true` if the object's text is longer than callers may make it.
    pub(crate) fn is_too_large(&self) -> bool {
        self.as_str().len() > Self::MAX_BYTES
    }

    /// Returns the object without a person, or `None` if it does not contain the person. The replacements may be longer than the
    /// original texts, and so the object longer than callers may make it.
    pub(crate) fn redacted(&self, person: &Person) -> serde_json::Result<Option<Self>> {
        let mut object: Value = serde_json::from_str(self.as_str())?;
        if !person.redact_value(&mut object) {
            return Ok(None);
        }
        RawValue::from_string(object.to_string()).map(|text| Some(Self(text)))
    }

    /// The object's text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the object as it is shown, with the members that the server adds.
    pub(crate) const fn shown_with(&self, added: AddedData) -> ShownData<'_> {
        ShownData { data: self, added }
    }

    /// Removes the vehicle from `changes` if it is only the one that the server shows, because a caller may write back what it
    /// has read.
    pub(crate) fn leave_out_shown(&self, changes: &mut Map<String, Value>, vehicle: Option<VehicleId>) {
        let shown = vehicle.map_or(Value::Null, |vehicle| vehicle.get().into());
        if changes.get(VEHICLE) == Some(&shown) && !self.members().contains_key(VEHICLE) {
            changes.shift_remove(VEHICLE);
        }
    }

    /// Returns the text of a member; empty if it has none.
    pub(crate) fn text(&self, member: &str) -> String {
        match self.members().get(member) {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        }
    }

    fn members(&self) -> Map<String, Value> {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

/// The empty object.
impl Default for LeadData {
    fn default() -> Self {
        Self(RawValue::from_string("{}".to_owned()).unwrap_or_default())
    }
}

/// Objects are equal if their content is equal. Spelling and order do not matter, because storage may keep JSON in a spelling of
/// its own.
impl PartialEq for LeadData {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() || self.members() == other.members()
    }
}

/// The members that the server adds to a lead's data when it is shown.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct AddedData {
    /// The vehicle that was associated first. It is left out if a caller has stored a member with that name.
    #[serde(skip_serializing_if = "Added::is_left_out")]
    pub(crate) vehicle: Added,
    /// The mark of a junk lead.
    pub(crate) junk: Option<JunkMark>,
    /// The contact that the sender probably is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contact_suggestion: Option<ContactSuggestion>,
}

/// A member that the server adds unless a caller has written it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Added {
    /// Left out.
    No,
    /// A vehicle, or null.
    Vehicle(Option<VehicleId>),
}

impl Added {
    const fn is_left_out(&self) -> bool {
        matches!(self, Self::No)
    }
}

/// The stored members with names that the server also writes.
#[derive(Deserialize)]
struct OwnMembers {
    vehicle: Option<IgnoredAny>,
    junk: Option<IgnoredAny>,
    contact_suggestion: Option<IgnoredAny>,
}

/// A lead's data with the members that the server adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownData<'a> {
    data: &'a LeadData,
    added: AddedData,
}

impl ShownData<'_> {
    /// Returns the object's text. The caller's members are passed on as they were sent.
    fn text(&self) -> serde_json::Result<String> {
        let stored = self.data.as_str();
        let own: OwnMembers = serde_json::from_str(stored)?;
        let mut added = self.added;
        if own.vehicle.is_some() {
            added.vehicle = Added::No;
        }
        let added = serde_json::to_string(&added)?;
        let mut stored = Cow::Borrowed(stored);
        // Stored by a release in which callers could write these members.
        if own.junk.is_some() || own.contact_suggestion.is_some() {
            let mut members = self.data.members();
            members.retain(|name, _| !READ_ONLY.contains(&name.as_str()));
            stored = Cow::Owned(Value::Object(members).to_string());
        }
        let (stored, added) = (members_of(&stored), members_of(&added));
        let comma = if stored.is_empty() || added.is_empty() { "" } else { "," };
        Ok(format!("{{{stored}{comma}{added}}}"))
    }
}

/// Returns the text between the braces of an object.
fn members_of(object: &str) -> &str {
    let object = object.trim();
    let object = object.strip_prefix('{').unwrap_or(object);
    object.strip_suffix('}').unwrap_or(object).trim()
}

impl Serialize for ShownData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text().map_err(S::Error::custom)?;
        RawValue::from_string(text)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

/// The object is longer than 64 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must have at most 64 KiB of JSON")]
pub struct DataTooLarge;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(members) = value else {
            unreachable!("the tests give objects")
        };
        members
    }

    #[test]
    fn top_level_members_are_merged_and_null_removes() {
        let first = LeadData::default()
            .merged(object(json!({"a": {"x": 1}, "b": 2})))
            .unwrap();
        let second = first
            .merged(object(json!({"a": {"y": 1}, "b": null, "c": 3, "none": null})))
            .unwrap();
        assert_eq!(second.as_str(), r#"{"a":{"y":1},"c":3}"#);
    }

    #[test]
    fn the_spelling_does_not_matter() {
        let read = |text: &str| serde_json::from_str::<LeadData>(text).unwrap();
        assert_eq!(
            read(r#"{"a": {"x": 1, "y": "\u00e9"}, "b": 2}"#),
            read(r#"{"b":2,"a":{"y":"é","x":1}}"#)
        );
        assert_ne!(read(r#"{"a": [1, 2]}"#), read(r#"{"a": [2, 1]}"#));
    }

    #[test]
    fn it_is_measured_as_a_whole() {
        let nearly = object(json!({"a": "x".repeat(LeadData::MAX_BYTES - 8)}));
        let full = LeadData::default().merged(nearly).unwrap();
        assert_eq!(full.as_str().len(), LeadData::MAX_BYTES);
        assert_eq!(full.merged(object(json!({"b": 1}))), Err(DataTooLarge));
    }
}
