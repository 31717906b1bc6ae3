//! Removes a person from documents.

use forecourt_kernel::{BoundedText, Person};
use serde_json::{Map, Value};

use crate::Agreement;

/// Removes a person from an agreement: the links to the contact, and the person's traces in its texts. What was frozen at the issue
/// stays. Returns `false` if nothing of them was in it.
pub fn forget_person_in_agreement(agreement: &mut Agreement, person: &Person) -> bool {
    let contact = Some(person.contact());
    let mut changed = false;
    let links = [&mut agreement.customer, &mut agreement.finance.provider];
    let lenders = agreement.part_exchanges.iter_mut().map(|exchange| &mut exchange.lender);
    for link in links.into_iter().chain(lenders).filter(|link| **link == contact) {
        *link = None;
        changed = true;
    }
    for line in &mut agreement.lines {
        changed |= redact_text(&mut line.description, person);
    }
    for exchange in &mut agreement.part_exchanges {
        for text in [
            &mut exchange.registration,
            &mut exchange.vin,
            &mut exchange.make,
            &mut exchange.model,
        ] {
            changed |= redact_text(text, person);
        }
    }
    changed |= redact_text(&mut agreement.reference, person);
    changed |= redact_text(&mut agreement.terms, person);
    redact_text(&mut agreement.notes, person) | changed
}

/// Redacts a text. Returns `false` if nothing of the person was in it.
pub fn redact_text<const MAX: usize>(text: &mut BoundedText<MAX>, person: &Person) -> bool {
    let mut left = text.as_str().to_owned();
    let changed = person.redact(&mut left);
    if changed {
        *text = BoundedText::new(left).unwrap_or_default();
    }
    changed
}

/// The members of a document, and of the elements of its lists, that can hold a person's text.
const TEXTS: &[&str] = &["reference", "terms", "notes"];
const LIST_TEXTS: &[(&str, &[&str])] = &[
    ("lines", &["description"]),
    ("part_exchanges", &["registration", "vin", "make", "model"]),
];

/// Removes a person from a document's representation in an event: links, texts, and the party if it is theirs. Returns `false` if
/// nothing of them was in it.
pub fn forget_person_in_document(document: &mut Map<String, Value>, person: &Person) -> bool {
    let contact = person.contact().get();
    let is_theirs = |link: &Value| link.as_i64() == Some(contact);
    let mut changed = false;
    for (link, party) in [("customer", "bill_to"), ("supplier", "bill_from")] {
        if let Some(found) = document.get_mut(link).filter(|found| is_theirs(found)) {
            *found = Value::Null;
            if let Some(party) = document.get_mut(party) {
                *party = Value::Null;
            }
            changed = true;
        }
    }
    let provider = document
        .get_mut("finance")
        .and_then(|finance| finance.get_mut("provider"));
    if let Some(provider) = provider.filter(|provider| is_theirs(provider)) {
        *provider = Value::Null;
        changed = true;
    }
    let exchanges = document.get_mut("part_exchanges").and_then(Value::as_array_mut);
    for lender in exchanges
        .into_iter()
        .flatten()
        .filter_map(|exchange| exchange.get_mut("lender"))
    {
        if is_theirs(lender) {
            *lender = Value::Null;
            changed = true;
        }
    }
    for (list, texts) in LIST_TEXTS {
        let rows = document.get_mut(*list).and_then(Value::as_array_mut);
        for row in rows.into_iter().flatten() {
            for text in *texts {
                changed |= row.get_mut(*text).is_some_and(|text| person.redact_value(text));
            }
        }
    }
    for text in TEXTS {
        changed |= document.get_mut(*text).is_some_and(|text| person.redact_value(text));
    }
    changed
}
