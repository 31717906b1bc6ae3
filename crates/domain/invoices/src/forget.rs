//! Removes a person from the invoices of a deleted contact.

use forecourt_billing::{forget_person_in_agreement, forget_person_in_document, redact_text};
use forecourt_kernel::{BusinessId, Person, Timestamp};
use serde_json::{Map, Value};

use crate::{Invoice, InvoiceContent, InvoiceError, InvoiceStore};

/// Removes a person from an invoice, which the caller has locked: the link to the contact, and the person's traces in its texts.
/// Numbers, days, amounts and the frozen parties are financial records and stay. If the invoice changes, its version and its time of change do too;
/// no event is recorded.
///
/// # Errors
/// [`InvoiceError::Store`].
pub async fn forget_person_in_invoice(
    store: &mut dyn InvoiceStore,
    now: Timestamp,
    business: BusinessId,
    stored: Invoice,
    person: &Person,
) -> Result<(), InvoiceError> {
    let mut invoice = stored;
    if forget_person(&mut invoice.content, person) {
        store.save_invoice(business, &invoice.changed_at(now)).await?;
    }
    Ok(())
}

/// Removes the person from an invoice's content. The parties of an issued invoice stay, because tax law asks for them (areas §10.0,
/// "People"). Returns `false` if nothing of them was in it.
fn forget_person(content: &mut InvoiceContent, person: &Person) -> bool {
    let InvoiceContent {
        agreement,
        payments,
        credit_notes,
        ..
    } = content;
    let mut changed = forget_person_in_agreement(agreement, person);
    for payment in payments {
        changed |= redact_text(&mut payment.reference, person);
    }
    for note in credit_notes {
        changed |= redact_text(&mut note.reason, person);
        for line in &mut note.lines {
            changed |= redact_text(&mut line.description, person);
        }
    }
    changed
}

/// Removes a person from an invoice's representation in an event, the parties included. Returns `false` if nothing of them was in
/// it.
pub fn forget_person_in_event(invoice: &mut Map<String, Value>, person: &Person) -> bool {
    let mut changed = forget_person_in_document(invoice, person);
    for (list, text) in [("payments", "reference"), ("credit_notes", "reason")] {
        let rows = invoice.get_mut(list).and_then(Value::as_array_mut);
        for text in rows.into_iter().flatten().filter_map(|row| row.get_mut(text)) {
            changed |= person.redact_value(text);
        }
    }
    let notes = invoice.get_mut("credit_notes").and_then(Value::as_array_mut);
    let lines = notes
        .into_iter()
        .flatten()
        .filter_map(|note| note.get_mut("lines")?.as_array_mut());
    for description in lines.flatten().filter_map(|line| line.get_mut("description")) {
        changed |= person.redact_value(description);
    }
    changed
}
