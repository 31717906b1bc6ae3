//! Removal of a deleted contact's personal data from calls.

use forecourt_kernel::{BusinessId, EventName, Person, Timestamp};
use serde_json::{Map, Value};

use crate::{
    Call, CallContent, CallError, CallStore,
    service::{changed_at, record},
};

/// Removes a person whose contact is deleted from a call, which the caller has locked. A call with the person loses contact,
/// lead, the person's number, recording and transcript; its other texts are redacted. `is_theirs` says that the call is known to
/// be with the person even if neither its contact nor a number shows it. In a call with somebody else only the texts are
/// redacted. A call that this changes gets a new version and an event.
///
/// # Errors
/// [`CallError::Store`].
pub async fn forget_person_in_call(
    store: &mut dyn CallStore,
    now: Timestamp,
    business: BusinessId,
    stored: Call,
    person: &Person,
    is_theirs: bool,
) -> Result<(), CallError> {
    let mut content = stored.content.clone();
    forget_person(&mut content, person, is_theirs);
    if content == stored.content {
        return Ok(());
    }
    let (version, updated) = changed_at(&stored, now);
    let call = Call {
        version,
        updated,
        content,
        ..stored.clone()
    };
    store.save_call(business, &call).await?;
    record(store, business, EventName::CallUpdated, &call, Some(&stored), now).await?;
    Ok(())
}

fn forget_person(content: &mut CallContent, person: &Person, is_theirs: bool) {
    let is_linked = content.contact == Some(person.contact());
    let is_theirs = is_theirs
        || is_linked
        || [&content.from, &content.to]
            .iter()
            .any(|number| person.has_number(number));
    for number in [&mut content.from, &mut content.to] {
        if person.has_number(number) {
            number.clear();
        }
    }
    if is_linked {
        content.contact = None;
        content.contact_sent = false;
    }
    if is_theirs {
        content.lead = None;
        content.lead_sent = false;
        content.lead_made = false;
        content.recording_url.clear();
        content.transcript.clear();
    }
    let CallContent {
        recording_url,
        transcript,
        summary,
        notes,
        provider,
        external_id,
        tracking,
        ..
    } = content;
    for text in [transcript, summary, notes, provider, external_id, tracking] {
        person.redact(text);
    }
    let mut redacted = recording_url.clone();
    if person.redact(&mut redacted) {
        // An address without one of its parts leads nowhere.
        recording_url.clear();
    }
}

/// Removes a person whose contact is deleted from a call's representation in an event. Returns `false` if it does not name the
/// person.
pub fn forget_person_in_event(call: &mut Map<String, Value>, person: &Person) -> bool {
    let mut changed = false;
    let mut is_theirs = false;
    if let Some(contact) = call.get_mut("contact")
        && contact.as_i64() == Some(person.contact().get())
    {
        *contact = Value::Null;
        is_theirs = true;
    }
    for member in ["from", "to"] {
        if let Some(Value::String(number)) = call.get_mut(member)
            && person.has_number(number)
        {
            number.clear();
            is_theirs = true;
        }
    }
    changed |= is_theirs;
    if is_theirs {
        if let Some(lead) = call.get_mut("lead") {
            *lead = Value::Null;
        }
        for member in ["recording_url", "transcript"] {
            if let Some(Value::String(text)) = call.get_mut(member) {
                text.clear();
            }
        }
    }
    for member in [
        "recording_url",
        "transcript",
        "summary",
        "notes",
        "provider",
        "external_id",
        "tracking",
    ] {
        changed |= call.get_mut(member).is_some_and(|text| person.redact_value(text));
    }
    changed
}
