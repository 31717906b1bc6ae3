//! Rules for request bodies beyond the types of their fields.

use forecourt_accounts::{Business, Rules};
use forecourt_kernel::{Field, OrEmpty, ValidationErrors, bounds::MAX_TEXT_CHARS};

use crate::{ContactChanges, NewNote};

/// Validates the fields of a new contact.
pub fn validate_new_contact(changes: &ContactChanges, rules: &Rules<'_>) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    if changes.name == Field::Absent {
        errors.add("name", "is required");
    }
    let lacks_email = changes.email == Field::Absent || clears_email(changes);
    if changes.login == Field::Value(true) && lacks_email {
        errors.add("login", NEEDS_EMAIL);
    }
    errors.extend(changes.faults(rules));
    errors
}

/// Validates the changed fields of a contact. [`update_contact`](crate::update_contact) checks for a login that lacks an email
/// outside of the change.
pub fn validate_contact_change(changes: &ContactChanges, rules: &Rules<'_>) -> ValidationErrors {
    let mut errors = changes.faults(rules);
    if changes.login == Field::Value(true) && clears_email(changes) {
        errors.add("login", NEEDS_EMAIL);
    }
    errors
}

fn clears_email(changes: &ContactChanges) -> bool {
    matches!(changes.email, Field::Null | Field::Value(OrEmpty(None)))
}

/// Validates a note. `found` has the faults from reading the body, and is returned with those found here. A field that is already
/// invalid is not validated again.
pub fn validate_note(note: &NewNote, business: &Business, mut found: ValidationErrors) -> ValidationErrors {
    let is_known = found.as_slice().iter().any(|error| error.field == "note");
    if note.note.trim().is_empty() && !is_known {
        found.add("note", "must not be empty");
    } else if note.note.chars().nth(MAX_TEXT_CHARS).is_some() {
        found.add("note", format!("must have at most {MAX_TEXT_CHARS} characters"));
    }
    if let Some(user) = note.user.filter(|user| !business.catalogue.has_staff(*user)) {
        found.add("user", format!("names {user}, who is no staff user of this business"));
    }
    found
}

/// A contact without an email has no login name (contract, "Contacts").
pub(crate) const NEEDS_EMAIL: &str = "needs an email";
