//! Removes a person from the invoices of a deleted contact.

use forecourt_kernel::{BoundedText, BusinessId, Person, Timestamp};
use serde_json::{Map, Value};

use crate::{Invoice, InvoiceContent, InvoiceError, InvoiceStore};

/// Removes a person from an invoice, which the caller has locked: the link to the contact, and the person's traces in its texts.
/// Numbers, days and amounts are financial records and stay. If the invoice changes, its version and its time of change do too;
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

/// Removes the person from an invoice's content. Returns `false` if nothing of them was in it.
fn forget_person(content: &mut InvoiceContent, person: &Person) -> bool {
    let mut changed = false;
    if content.customer == Some(person.contact()) {
        content.customer = None;
        changed = true;
    }
    let InvoiceContent {
        lines,
        payments,
        credit_notes,
        notes,
        ..
    } = content;
    let descriptions = lines.iter_mut().map(|line| &mut line.description);
    let references = payments.iter_mut().map(|payment| &mut payment.reference);
    let reasons = credit_notes.iter_mut().map(|note| &mut note.reason);
    for text in descriptions.chain(references).chain(reasons) {
        changed |= redact(text, person);
    }
    redact(notes, person) | changed
}

fn redact<const MAX: usize>(text: &mut BoundedText<MAX>, person: &Person) -> bool {
    let mut left = text.as_str().to_owned();
    let changed = person.redact(&mut left);
    if changed {
        *text = BoundedText::new(left).unwrap_or_default();
    }
    changed
}

/// Removes a person from an invoice's representation in an event. Returns `false` if nothing of them was in it.
pub fn forget_person_in_event(invoice: &mut Map<String, Value>, person: &Person) -> bool {
    let mut changed = false;
    if let Some(customer) = invoice.get_mut("customer")
        && customer.as_i64() == Some(person.contact().get())
    {
        *customer = Value::Null;
        changed = true;
    }
    for (list, text) in [
        ("lines", "description"),
        ("payments", "reference"),
        ("credit_notes", "reason"),
    ] {
        let rows = invoice.get_mut(list).and_then(Value::as_array_mut);
        for text in rows.into_iter().flatten().filter_map(|row| row.get_mut(text)) {
            changed |= person.redact_value(text);
        }
    }
    let notes = invoice.get_mut("notes");
    notes.is_some_and(|notes| person.redact_value(notes)) | changed
}
