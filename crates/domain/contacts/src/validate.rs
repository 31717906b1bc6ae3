//! What a body must say beyond its shape.

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

/// Validates the fields of a contact that change. Whether a login lacks an email that is not part of the change,
/// [`update_contact`](crate::update_contact) checks.
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

/// Validates a note. `found` holds the faults of reading the body, and is returned with those found here; a field that is invalid
/// already is not validated again.
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

/// A contact without an email has no name to log in with (contract, "Contacts").
pub(crate) const NEEDS_EMAIL: &str = "needs an email";
