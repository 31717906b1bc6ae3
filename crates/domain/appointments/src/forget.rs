//! Removal of a deleted contact's personal data from appointments.

use forecourt_kernel::{BusinessId, EventName, Person, Timestamp};
use serde_json::{Map, Value};

use crate::{Appointment, AppointmentContent, AppointmentError, AppointmentStatus, AppointmentStore, service::save};

/// Removes a person whose contact is deleted from an appointment, which the caller has locked: the link, their name, email and
/// numbers, and every place where the texts name them. A coming appointment of theirs is cancelled, without a mail; a past one keeps
/// its times, type and vehicle. An appointment that this changes gets a new stamp and an event.
///
/// # Errors
/// [`AppointmentError::Store`].
pub async fn forget_person_in_appointment(
    store: &mut dyn AppointmentStore,
    now: Timestamp,
    business: BusinessId,
    stored: Appointment,
    person: &Person,
) -> Result<(), AppointmentError> {
    let mut content = stored.content.clone();
    let mut name = EventName::AppointmentUpdated;
    if content.contact == Some(person.contact()) {
        if content.status.takes_up() && content.start > now {
            content.status = AppointmentStatus::Cancelled;
            name = EventName::AppointmentCancelled;
        }
        content.contact = None;
        content.name.clear();
        content.email.clear();
        content.phone.clear();
    }
    let AppointmentContent {
        title,
        location,
        notes,
        cancel_reason,
        name: visitor,
        email,
        phone,
        ..
    } = &mut content;
    if person.is_named(visitor) {
        visitor.clear();
    }
    if person.has_email(email) {
        email.clear();
    }
    if person.has_number(phone) {
        phone.clear();
    }
    for text in [title, location, notes, cancel_reason] {
        person.redact(text);
    }
    if content == stored.content {
        return Ok(());
    }
    save(store, business, name, stored, content, now).await?;
    Ok(())
}

/// Removes a person whose contact is deleted from an appointment's representation in an event. Returns `false` if it does not name
/// the person.
pub fn forget_person_in_event(appointment: &mut Map<String, Value>, person: &Person) -> bool {
    let mut changed = false;
    let is_theirs = appointment.get("contact").and_then(Value::as_i64) == Some(person.contact().get());
    if is_theirs && let Some(contact) = appointment.get_mut("contact") {
        *contact = Value::Null;
        changed = true;
    }
    for (member, value) in appointment.iter_mut() {
        let own = |text: &str| match member.as_str() {
            "name" => is_theirs || person.is_named(text),
            "email" => is_theirs || person.has_email(text),
            "phone" => is_theirs || person.has_number(text),
            _ => false,
        };
        match value {
            Value::String(text) if own(text) => {
                changed |= !text.is_empty();
                text.clear();
            }
            Value::String(_) if matches!(member.as_str(), "title" | "location" | "notes" | "cancel_reason") => {
                changed |= person.redact_value(value);
            }
            _ => {}
        }
    }
    changed
}
