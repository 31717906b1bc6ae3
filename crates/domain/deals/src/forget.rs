//! Removes a person from the deals of a deleted contact (areas §10.12).

use forecourt_billing::redact_text;
use forecourt_kernel::{BusinessId, EventName, Line, LongText, Person, Timestamp};
use serde_json::{Map, Value};

use crate::{Deal, DealContent, DealError, DealStore, service::save, service::show_deal};

/// Removes a person whose contact is deleted from a deal, which the caller has locked. The deal of the person loses the link, its
/// texts, the finance's reference, the address of the delivery and the marks of part exchanges; stage and figures stay. Of another's
/// deal the links to the person go, and its texts are redacted. A deal that this changes gets a new version and an event.
///
/// # Errors
/// [`DealError::Store`].
pub async fn forget_person_in_deal(
    store: &mut dyn DealStore,
    now: Timestamp,
    business: BusinessId,
    stored: Deal,
    person: &Person,
) -> Result<(), DealError> {
    let stored = show_deal(store, business, stored).await?;
    let mut content = stored.content.clone();
    forget_person(&mut content, person);
    if content == stored.content {
        return Ok(());
    }
    save(store, business, EventName::DealUpdated, &stored, content, now).await?;
    Ok(())
}

fn forget_person(content: &mut DealContent, person: &Person) {
    let contact = Some(person.contact());
    let is_theirs = content.contact == contact;
    if is_theirs {
        content.contact = None;
        content.finance.reference = Line::default();
        content.delivery.address = LongText::default();
        content.delivery.notes = LongText::default();
        content.notes = LongText::default();
        for exchange in &mut content.part_exchanges {
            exchange.registration = Line::default();
            exchange.vin = Line::default();
        }
        for reason in reasons(content) {
            reason.note = LongText::default();
        }
    }
    if content.finance.provider == contact {
        content.finance.provider = None;
    }
    for exchange in &mut content.part_exchanges {
        if exchange.lender == contact {
            exchange.lender = None;
        }
        for text in [
            &mut exchange.registration,
            &mut exchange.vin,
            &mut exchange.make,
            &mut exchange.model,
        ] {
            redact_text(text, person);
        }
    }
    for line in &mut content.lines {
        redact_text(&mut line.description, person);
    }
    for text in [
        &mut content.provider,
        &mut content.external_id,
        &mut content.finance.reference,
    ] {
        redact_text(text, person);
    }
    for text in [
        &mut content.delivery.address,
        &mut content.delivery.notes,
        &mut content.notes,
    ] {
        redact_text(text, person);
    }
    for reason in reasons(content) {
        redact_text(&mut reason.note, person);
    }
}

/// Returns the reasons that were given in the course of a deal.
fn reasons(content: &mut DealContent) -> impl Iterator<Item = &mut crate::DealReason> {
    let given = content.history.iter_mut().filter_map(|entry| entry.reason.as_mut());
    content.reason.iter_mut().chain(given)
}

/// Removes a person whose contact is deleted from a deal's representation in an event. Returns `false` if nothing of them was in it.
pub fn forget_person_in_event(deal: &mut Map<String, Value>, person: &Person) -> bool {
    let contact = person.contact().get();
    let is_theirs = |link: &Value| link.as_i64() == Some(contact);
    let is_own = deal.get("contact").is_some_and(is_theirs);
    let mut changed = is_own;
    if let Some(link) = deal.get_mut("contact").filter(|_| is_own) {
        *link = Value::Null;
    }
    let mut text = |text: &mut Value, is_emptied: bool| match text {
        Value::String(held) if is_own && is_emptied => {
            changed |= !held.is_empty();
            held.clear();
        }
        text => changed |= person.redact_value(text),
    };
    for (member, is_emptied) in [("notes", true), ("provider", false), ("external_id", false)] {
        if let Some(found) = deal.get_mut(member) {
            text(found, is_emptied);
        }
    }
    for (object, members) in [
        ("finance", &["reference"][..]),
        ("delivery", &["address", "notes"]),
        ("reason", &["note"]),
    ] {
        for member in members {
            if let Some(found) = deal.get_mut(object).and_then(|object| object.get_mut(member)) {
                text(found, true);
            }
        }
    }
    for (list, members, is_emptied) in [
        ("lines", &["description"][..], false),
        ("part_exchanges", &["registration", "vin"], true),
        ("part_exchanges", &["make", "model"], false),
    ] {
        let rows = deal.get_mut(list).and_then(Value::as_array_mut);
        for row in rows.into_iter().flatten() {
            for member in members {
                if let Some(found) = row.get_mut(member) {
                    text(found, is_emptied);
                }
            }
        }
    }
    let entries = deal.get_mut("history").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        if let Some(note) = entry.get_mut("reason").and_then(|reason| reason.get_mut("note")) {
            text(note, true);
        }
    }
    let provider = deal.get_mut("finance").and_then(|finance| finance.get_mut("provider"));
    if let Some(provider) = provider.filter(|provider| is_theirs(provider)) {
        *provider = Value::Null;
        changed = true;
    }
    let exchanges = deal.get_mut("part_exchanges").and_then(Value::as_array_mut);
    for exchange in exchanges.into_iter().flatten() {
        if let Some(lender) = exchange.get_mut("lender").filter(|lender| is_theirs(lender)) {
            *lender = Value::Null;
            changed = true;
        }
    }
    changed
}
