//! A lead's free-form detail.

use forecourt_kernel::{Person, bounds::MAX_LEAD_DATA_BYTES};
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::{Map, Value, value::RawValue};

use crate::ContactSuggestion;

/// The member that the server writes itself; a caller's is dropped.
pub(crate) const SUGGESTION: &str = "contact_suggestion";

/// A JSON object of a caller's own making, at most 64 KiB of text (decisions §5). Kept as the text that it is, since most
/// reads pass it on unread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeadData(Box<RawValue>);

impl LeadData {
    /// How long the object's text may be, in bytes.
    pub const MAX_BYTES: usize = MAX_LEAD_DATA_BYTES;

    /// The object with `changes` laid over it: a member of `changes` takes the place of the one of its name, and null
    /// removes it.
    ///
    /// # Errors
    /// [`DataTooLarge`] if the outcome is longer than [`Self::MAX_BYTES`].
    pub fn merged(&self, changes: Map<String, Value>) -> Result<Self, DataTooLarge> {
        let mut merged = self.clone();
        merged.merge(changes);
        if merged.is_too_large() {
            return Err(DataTooLarge);
        }
        Ok(merged)
    }

    /// Lays what a caller sent over the object, however long that makes it. What the server adds to the object when it is shown does
    /// not become a part of it, though a caller writes back what it has read.
    pub(crate) fn merge(&mut self, mut changes: Map<String, Value>) {
        changes.shift_remove(SUGGESTION);
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

    /// Whether its text is longer than callers may make it.
    pub(crate) fn is_too_large(&self) -> bool {
        self.as_str().len() > Self::MAX_BYTES
    }

    /// The object without a person, or `None` if they are not in it. What stands in their place may be longer than they were,
    /// and the object longer than callers may make it.
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

    /// The object as it is shown: with the contact that the sender seems to be.
    pub(crate) const fn shown_with(&self, suggestion: Option<ContactSuggestion>) -> ShownData<'_> {
        ShownData { data: self, suggestion }
    }

    /// The text that a member has; empty if it is none.
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

/// Two objects are equal if they say the same. How it is spelled, and in what order, does not matter: storage may keep
/// JSON in a spelling of its own.
impl PartialEq for LeadData {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() || self.members() == other.members()
    }
}

/// A lead's detail with what the server adds to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownData<'a> {
    data: &'a LeadData,
    suggestion: Option<ContactSuggestion>,
}

impl Serialize for ShownData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(suggestion) = self.suggestion else {
            return self.data.serialize(serializer);
        };
        let mut members = self.data.members();
        let suggestion = serde_json::to_value(suggestion).map_err(S::Error::custom)?;
        members.insert(SUGGESTION.to_owned(), suggestion);
        members.serialize(serializer)
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
