//! Removes a person from the purchases from a deleted contact.

use forecourt_billing::{forget_person_in_document, redact_text};
use forecourt_kernel::{BusinessId, Person, StoreResult, Timestamp};
use serde_json::{Map, Value};

use crate::{Purchase, PurchaseContent, PurchaseStore};

/// Removes a person from a purchase, which the caller has locked: the link to the contact, and the person's traces in its texts.
/// Numbers, days, amounts and the frozen parties stay. If the purchase changes, its version and its time of change do too; no event
/// is recorded.
///
/// # Errors
/// If the store fails.
pub async fn forget_person_in_purchase(
    store: &mut dyn PurchaseStore,
    now: Timestamp,
    business: BusinessId,
    stored: Purchase,
    person: &Person,
) -> StoreResult<()> {
    let mut purchase = stored;
    if forget_person(&mut purchase.content, person) {
        store.save_purchase(business, &purchase.changed_at(now)).await?;
    }
    Ok(())
}

fn forget_person(content: &mut PurchaseContent, person: &Person) -> bool {
    let mut changed = false;
    if content.supplier == Some(person.contact()) {
        content.supplier = None;
        changed = true;
    }
    for line in &mut content.lines {
        changed |= redact_text(&mut line.description, person);
        if let Some(category) = &mut line.category {
            changed |= redact_text(category, person);
        }
    }
    for payment in &mut content.payments {
        changed |= redact_text(&mut payment.reference, person);
    }
    for credit in &mut content.credit_notes {
        changed |= redact_text(&mut credit.reason, person);
        changed |= redact_text(&mut credit.supplier_reference, person);
        for line in &mut credit.lines {
            changed |= redact_text(&mut line.description, person);
        }
    }
    changed |= redact_text(&mut content.supplier_invoice, person);
    redact_text(&mut content.notes, person) | changed
}

/// Removes a person from a purchase's representation in an event, the parties included. Returns `false` if nothing of them was in
/// it.
pub fn forget_person_in_purchase_event(purchase: &mut Map<String, Value>, person: &Person) -> bool {
    let mut changed = forget_person_in_document(purchase, person);
    for (list, texts) in [
        ("payments", &["reference"][..]),
        ("credit_notes", &["reason", "supplier_reference"]),
        ("lines", &["category"]),
    ] {
        let rows = purchase.get_mut(list).and_then(Value::as_array_mut);
        for row in rows.into_iter().flatten() {
            for text in texts {
                changed |= row.get_mut(*text).is_some_and(|text| person.redact_value(text));
            }
        }
    }
    let notes = purchase.get_mut("credit_notes").and_then(Value::as_array_mut);
    let lines = notes
        .into_iter()
        .flatten()
        .filter_map(|note| note.get_mut("lines")?.as_array_mut());
    for description in lines.flatten().filter_map(|line| line.get_mut("description")) {
        changed |= person.redact_value(description);
    }
    let invoice = purchase.get_mut("supplier_invoice");
    invoice.is_some_and(|invoice| person.redact_value(invoice)) | changed
}
