//! Removal of a deleted contact's personal data from leads.

use forecourt_accounts::Business;
use forecourt_kernel::{BoxError, ContactId, Person, StoreError, Timestamp};
use serde_json::{Map, Value};

use crate::{Lead, LeadDraft, LeadError, LeadMessage, LeadNote, LeadStore, data::SUGGESTION, service::save_if_changed};

/// Removes a person whose contact is deleted from a lead: the link, their name, email and numbers, and every place where its
/// texts name them. A lead that this changes gets a new stamp and an event.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn forget_person_in_lead(
    store: &mut dyn LeadStore,
    now: Timestamp,
    business: &Business,
    stored: Lead,
    person: &Person,
) -> Result<(), LeadError> {
    let content = forget_person(&stored, person)?;
    save_if_changed(store, now, business, stored, content).await?;
    Ok(())
}

/// Removes the suggestion of a deleted contact from a lead. Nothing else in the lead is the contact's, since it was never linked.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn forget_suggestion_in_lead(
    store: &mut dyn LeadStore,
    now: Timestamp,
    business: &Business,
    stored: Lead,
    contact: ContactId,
) -> Result<(), LeadError> {
    let mut content = stored.content.clone();
    content.suggestion = content.suggestion.filter(|suggestion| suggestion.contact != contact);
    save_if_changed(store, now, business, stored, content).await?;
    Ok(())
}

/// Removes the suggestion of a deleted contact from a lead's representation in an event. Returns `false` if it was not there.
pub fn forget_suggestion_in_event(lead: &mut Map<String, Value>, contact: ContactId) -> bool {
    match lead.get_mut("data") {
        Some(Value::Object(data))
            if data
                .get(SUGGESTION)
                .is_some_and(|suggested| suggested["contact"].as_i64() == Some(contact.get())) =>
        {
            data.shift_remove(SUGGESTION).is_some()
        }
        _ => false,
    }
}

/// Returns the lead's content without the person.
fn forget_person(lead: &Lead, person: &Person) -> Result<LeadDraft, StoreError> {
    let mut content = lead.content.clone();
    if content.contact == Some(person.contact()) {
        content.contact = None;
    }
    content.suggestion = content
        .suggestion
        .filter(|suggestion| suggestion.contact != person.contact());
    if person.is_named(&content.name) {
        content.name.clear();
    }
    if person.has_email(&content.email) {
        content.email.clear();
    }
    for number in [&mut content.phone, &mut content.mobile] {
        if person.has_number(number) {
            number.clear();
        }
    }
    let redacted = content.data.redacted(person);
    if let Some(data) = redacted.map_err(|error| StoreError::Other(BoxError::from(error)))? {
        content.data = data;
    }
    let ai = content.ai.iter_mut();
    let ai = ai.flat_map(|ai| [&mut ai.rating_reason, &mut ai.next_action]);
    for text in ai.chain([&mut content.summary]).flatten() {
        person.redact(text);
    }
    Ok(content)
}

/// Removes a person whose contact is deleted from a lead's representation in an event. Returns `false` if it does not name the
/// person.
pub fn forget_person_in_event(lead: &mut Map<String, Value>, person: &Person) -> bool {
    let mut changed = false;
    if let Some(contact) = lead.get_mut("contact")
        && contact.as_i64() == Some(person.contact().get())
    {
        *contact = Value::Null;
        changed = true;
    }
    changed |= forget_suggestion_in_event(lead, person.contact());
    for (member, value) in lead.iter_mut() {
        let own = |text: &str| match member.as_str() {
            "name" => person.is_named(text),
            "email" => person.has_email(text),
            "phone" | "mobile" => person.has_number(text),
            _ => false,
        };
        match value {
            Value::String(text) if own(text) => {
                text.clear();
                changed = true;
            }
            value if matches!(member.as_str(), "data" | "summary" | "ai") => changed |= person.redact_value(value),
            _ => {}
        }
    }
    changed
}

/// Removes a person whose contact is deleted from a message. Returns `false` if it does not name the person.
pub fn forget_person_in_message(message: &mut LeadMessage, person: &Person) -> bool {
    person.redact(&mut message.subject) | person.redact(&mut message.body)
}

/// Removes a person whose contact is deleted from a note. Returns `false` if it does not name the person.
pub fn forget_person_in_lead_note(note: &mut LeadNote, person: &Person) -> bool {
    person.redact(&mut note.note)
}
