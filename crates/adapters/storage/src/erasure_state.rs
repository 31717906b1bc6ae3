//! The state of an erasure that is longer than one transaction. Its serialised form is stored, encrypted.

use forecourt_contacts::{Contact, ContactType};
use forecourt_kernel::{ContactId, PersonKeys};
use forecourt_reference::Taxonomy;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Added to the kind of a record that is linked to no contact, but was found to name one.
pub(crate) const FOUND: i32 = 100;

/// The state of an unfinished erasure.
#[derive(Serialize, Deserialize)]
pub(crate) struct Erasure {
    pub(crate) keys: PersonKeys,
    /// The contact's own events from this one on are emptied.
    pub(crate) emptied: i64,
    /// An unknown stage was written by an earlier version: then the records are gone through anew.
    #[serde(deserialize_with = "stage_or_start")]
    pub(crate) stage: Stage,
}

fn stage_or_start<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Stage, D::Error> {
    let stage = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(stage).unwrap_or(Stage::Clean(RecordRef::START)))
}

/// A record that named the contact. [`RecordRef::START`] comes before the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RecordRef {
    pub(crate) kind: i32,
    pub(crate) record: i64,
}

impl RecordRef {
    pub(crate) const START: Self = Self { kind: 0, record: 0 };
    /// Comes before the first record that is not linked.
    pub(crate) const FOUND: Self = Self { kind: FOUND, record: 0 };
}

/// The work to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// Learn the former names of the contact.
    Learn,
    /// Clean the records after this one.
    Clean(RecordRef),
    /// Go on to the record after this one, whose traces elsewhere are next.
    Next(RecordRef),
    /// Clean the texts attached to this record: of the nth kind, after that one.
    Attached(RecordRef, usize, i64),
    /// Clean this record's events after that number.
    Events(RecordRef, i64),
    /// Empty the stored answers about this record.
    Answers(RecordRef),
    /// Empty the stored answers that show the contact.
    OwnAnswers,
    /// Search the nth area's records after that one.
    Find(usize, i64),
    /// Clean the texts of the nth kind after that one.
    Texts(usize, i64),
    /// Clean the waiting mails after this one.
    Mails(i64),
    /// Forget the records that named the contact.
    Forget,
    /// Nothing.
    Done,
}

impl Erasure {
    /// The first state of the erasure of a contact.
    pub(crate) fn of(contact: &Contact) -> Self {
        let content = &contact.content;
        let mut keys = PersonKeys::new(contact.id);
        keys.add_name(&content.name);
        keys.add_email(&content.email);
        keys.add_number(&content.telephone);
        keys.add_number(&content.mobile);
        keys.add_identifier(&content.license.number);
        keys.add_identifier(&content.license.code);
        keys.add_identifier(&content.ni);
        let address = &content.address;
        for line in [&address.line1, &address.line2, &address.line3, &address.zip] {
            keys.add_address(line);
        }
        let is_person =
            |kind: &ContactType| matches!(kind, ContactType::Customer | ContactType::Staff | ContactType::Other);
        let is_make = Taxonomy::built_in().make(None, &content.name).is_some();
        if is_make || !content.types.iter().any(is_person) {
            keys.have_ambiguous_names();
        }
        Self {
            keys,
            emptied: i64::MAX,
            stage: Stage::Learn,
        }
    }

    pub(crate) const fn contact(&self) -> ContactId {
        self.keys.contact()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The form that databases contain. A name in here never changes.
    fn stored(stage: &Value) -> Value {
        json!({
            "keys": {
                "contact": 7, "names": ["ann lee"], "emails": ["ann@example.com"], "numbers": ["+447700900123"],
                "addresses": ["1 high street"], "identifiers": ["LEE99"], "ambiguous": true, "shared": ["ann lee"],
            },
            "emptied": 12,
            "stage": stage,
        })
    }

    #[test]
    fn a_state_is_stored_in_its_pinned_form() {
        let at = RecordRef { kind: 2, record: 9 };
        let place = json!({"kind": 2, "record": 9});
        for (stage, form) in [
            (Stage::Learn, json!("Learn")),
            (Stage::Clean(at), json!({"Clean": place})),
            (Stage::Next(at), json!({"Next": place})),
            (Stage::Attached(at, 1, 5), json!({"Attached": [place, 1, 5]})),
            (Stage::Events(at, 5), json!({"Events": [place, 5]})),
            (Stage::Answers(at), json!({"Answers": place})),
            (Stage::OwnAnswers, json!("OwnAnswers")),
            (Stage::Find(1, 5), json!({"Find": [1, 5]})),
            (Stage::Texts(1, 5), json!({"Texts": [1, 5]})),
            (Stage::Mails(5), json!({"Mails": 5})),
            (Stage::Forget, json!("Forget")),
            (Stage::Done, json!("Done")),
        ] {
            let state: Erasure = serde_json::from_value(stored(&form)).unwrap();
            assert_eq!((state.emptied, state.stage), (12, stage), "{form}");
            assert_eq!(serde_json::to_value(&state).unwrap(), stored(&form));
        }
    }

    #[test]
    fn an_unknown_stage_begins_anew() {
        let state: Erasure = serde_json::from_value(stored(&json!({"Former": 3}))).unwrap();
        assert_eq!(state.stage, Stage::Clean(RecordRef::START));
    }
}
