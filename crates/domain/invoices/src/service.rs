//! The use cases. None of them begins, commits or retries a transaction.

use forecourt_accounts::Business;
use forecourt_kernel::{
    BoxError, BusinessId, Clock, EventName, Line, Money, NewEvent, StoreError, Timestamp, ValidationErrors,
};

use crate::{
    CreditNote, Invoice, InvoiceContent, InvoiceError, InvoiceId, InvoiceReader, InvoiceStore, InvoiceView, Payment,
    RaiseDeposit, TransitionError, Trigger, VatRate, next,
};

/// Returns one of the business's invoices.
///
/// # Errors
/// [`InvoiceError::NotFound`], [`InvoiceError::Store`].
pub async fn read_invoice(
    store: &mut dyn InvoiceReader,
    business: BusinessId,
    id: InvoiceId,
) -> Result<Invoice, InvoiceError> {
    let invoice = store.invoice(business, id).await?;
    invoice.ok_or(InvoiceError::NotFound(id))
}

/// Invoices the deposit of a reservation: drafts the invoice, issues it and, if a payment method is given, records the payment
/// (decisions §8).
///
/// It records invoice.created, then invoice.issued and, with a payment, invoice.paid. Each event shows the invoice as it was at
/// that moment: the draft without a number at version 1, the issued invoice at version 2, the paid one at version 3. The last of
/// them is returned.
///
/// # Errors
/// [`InvoiceError::Invalid`] (`deposit`) if the amount is not above 0; [`InvoiceError::Store`].
pub async fn raise_deposit(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    command: RaiseDeposit,
) -> Result<Invoice, InvoiceError> {
    if command.gross <= Money::ZERO {
        return Err(ValidationErrors::one("deposit", "must be above 0").into());
    }
    let now = clock.now();
    let country = business.country;
    let content = InvoiceContent::deposit(&command, country.currency(), VatRate::standard(country));
    let mut invoice = store.insert_invoice(business.id, content, now).await?;
    record(store, business.id, EventName::InvoiceCreated, &invoice, now).await?;

    let RaiseDeposit {
        method,
        gross,
        reference,
        date,
        ..
    } = command;
    let content = &mut invoice.content;
    content.status = next(content.status, Trigger::Issue)?;
    // The number's lock blocks the business's other invoices until the end of the transaction, so it comes late.
    invoice.number = Some(store.next_invoice_number(business.id).await?);
    let mut invoice = save(store, business.id, EventName::InvoiceIssued, invoice, now).await?;
    let Some(method) = method else {
        return Ok(invoice);
    };
    let content = &mut invoice.content;
    content.status = next(content.status, Trigger::Pay)?;
    content.payments.push(Payment {
        id: 1,
        date,
        method,
        amount: gross,
        reference,
    });
    save(store, business.id, EventName::InvoicePaid, invoice, now).await
}

/// Credits everything that is not yet credited of an invoice, with one credit note. Returns the changed invoice and the note.
/// Records invoice.credited.
///
/// # Errors
/// [`InvoiceError::NotFound`]; [`InvoiceError::Transition`] if the invoice is not issued, or fully credited already;
/// [`InvoiceError::Store`].
pub async fn credit_in_full(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    id: InvoiceId,
    reason: Line,
) -> Result<(Invoice, CreditNote), InvoiceError> {
    let stored = store.lock_invoice(business.id, id).await?;
    let mut invoice = stored.ok_or(InvoiceError::NotFound(id))?;
    let content = &mut invoice.content;
    content.status = next(content.status, Trigger::Credit)?;
    let gross = content.creditable();
    if gross <= Money::ZERO {
        return Err(TransitionError::FullyCredited.into());
    }
    for line in &mut content.lines {
        line.credited = line.gross;
    }
    let now = clock.now();
    let note = CreditNote {
        number: store.next_credit_number(business.id).await?,
        date: now.date(),
        reason,
        gross,
    };
    content.credit_notes.push(note.clone());
    let invoice = save(store, business.id, EventName::InvoiceCredited, invoice, now).await?;
    Ok((invoice, note))
}

/// Stores an invoice changed at `now`, and records the event.
async fn save(
    store: &mut dyn InvoiceStore,
    business: BusinessId,
    event: EventName,
    changed: Invoice,
    now: Timestamp,
) -> Result<Invoice, InvoiceError> {
    let invoice = changed.changed_at(now);
    store.save_invoice(business, &invoice).await?;
    record(store, business, event, &invoice, now).await?;
    Ok(invoice)
}

impl Invoice {
    /// Returns the invoice with its version and time of change advanced.
    pub(crate) fn changed_at(self, now: Timestamp) -> Self {
        Self {
            version: self.version.next(),
            // If the clock was set back, the change is still not older than the record.
            updated: now.max(self.created),
            ..self
        }
    }
}

async fn record(
    store: &mut dyn InvoiceStore,
    business: BusinessId,
    name: EventName,
    invoice: &Invoice,
    at: Timestamp,
) -> Result<(), StoreError> {
    let data = serde_json::to_string(&InvoiceView::from(invoice))
        .map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    let record = invoice.id.get();
    store.record(business, NewEvent { name, record, data, at }).await
}
