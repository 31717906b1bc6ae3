//! What a body must say beyond its shape.

use forecourt_accounts::Business;
use forecourt_kernel::{StaffId, Timestamp, ValidationErrors, bounds::MAX_TEXT_CHARS, quoted};
use forecourt_reference::TagResource;

use crate::{ContactFields, NewNote};

/// Validates the fields of a new contact. `found` holds the faults of reading the body, and is returned with those found here;
/// a field that is invalid already is not validated again.
pub fn validate_new_contact(
    fields: &ContactFields,
    business: &Business,
    now: Timestamp,
    found: ValidationErrors,
) -> ValidationErrors {
    let mut verdict = Verdict(found);
    if fields.name.is_none() {
        verdict.add("name", "is required");
    }
    let has_email = matches!(fields.email, Some(Some(_)));
    if fields.login == Some(true) && !has_email && !verdict.knows("email") {
        verdict.add("login", NEEDS_EMAIL);
    }
    validate_contact_change(fields, business, now, verdict.0)
}

/// Checks what a contact is to say from now on; `found` as for [`validate_new_contact`]. Whether a login lacks an email that
/// is not part of the change, [`update_contact`](crate::update_contact) checks.
pub fn validate_contact_change(
    fields: &ContactFields,
    business: &Business,
    now: Timestamp,
    found: ValidationErrors,
) -> ValidationErrors {
    let catalogue = &business.catalogue;
    let mut verdict = Verdict(found);
    if fields.site.is_some_and(|site| !catalogue.has_site(site)) {
        verdict.add("site", "names no site of this business");
    }
    if fields.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        verdict.add("name", "must not be empty");
    }
    if fields.dob.flatten().is_some_and(|dob| dob > now.date()) {
        verdict.add("dob", "must not be in the future");
    }
    let license = fields.license.as_ref().and_then(Option::as_ref);
    if let Some(user) = license.and_then(|license| license.checked_by.flatten()) {
        verdict.validate_staff("license.checked_by", user, business);
    }
    for choice in fields.tags.iter().flatten() {
        if catalogue.tag(TagResource::Contact, &choice.name).is_none() {
            // Each name that is none is a fault.
            verdict.0.add(
                "tag",
                format!("names {}, which is no tag of contacts", quoted(&choice.name)),
            );
        }
    }
    if fields.login == Some(true) && fields.email == Some(None) {
        verdict.add("login", NEEDS_EMAIL);
    }
    verdict.0
}

/// Checks a note; `found` as for [`validate_new_contact`].
pub fn validate_note(note: &NewNote, business: &Business, found: ValidationErrors) -> ValidationErrors {
    let mut verdict = Verdict(found);
    if note.note.trim().is_empty() {
        verdict.add("note", "must not be empty");
    }
    if note.note.chars().nth(MAX_TEXT_CHARS).is_some() {
        verdict.add("note", format!("must have at most {MAX_TEXT_CHARS} characters"));
    }
    if let Some(user) = note.user {
        verdict.validate_staff("user", user, business);
    }
    verdict.0
}

/// A contact without an email has no name to log in with (contract, "Contacts").
pub(crate) const NEEDS_EMAIL: &str = "needs an email";

struct Verdict(ValidationErrors);

impl Verdict {
    fn knows(&self, field: &str) -> bool {
        self.0.as_slice().iter().any(|error| error.field == field)
    }

    fn add(&mut self, field: &str, message: impl Into<String>) {
        if !self.knows(field) {
            self.0.add(field, message);
        }
    }

    fn validate_staff(&mut self, field: &str, user: StaffId, business: &Business) {
        if !business.catalogue.has_staff(user) {
            self.add(field, format!("names {user}, who is no staff user of this business"));
        }
    }
}
