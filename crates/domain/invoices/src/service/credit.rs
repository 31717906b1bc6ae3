//! Credits in part and in full (areas §10.2).

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    InvoiceId, InvoiceNumber, NoteLine, Payment, PaymentKind, credit_lines, negative, next_payment_id, paid,
};
use forecourt_kernel::{Clock, EventName, Line, Money, Target, Timestamp};

use super::{Ledger, issue::reference, lock_invoice};
use crate::{Credit, CreditNote, Invoice, InvoiceError, InvoiceStatus, InvoiceStore, TransitionError, Trigger, next};

/// Credits a part of an invoice, or all that remains of it. An invoice that is credited in full takes its finance invoice with it.
/// Records invoice.credited, then invoice.paid if a credit in part left nothing due.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] if it is not issued, or
/// credited. Then [`InvoiceError::Invalid`], then [`InvoiceError::CapExceeded`]; [`InvoiceError::Store`].
pub async fn credit_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    command: Credit,
) -> Result<Invoice, InvoiceError> {
    let stored = lock_invoice(store, by.business_id(), id).await?;
    let (invoice, _) = credit(store, clock, &by.business, stored, command, None).await?;
    Ok(invoice)
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
    let stored = lock_invoice(store, business.id, id).await?;
    let command = Credit {
        reason,
        ..Credit::default()
    };
    credit(store, clock, business, stored, command, None).await
}

/// Credits the invoice of a deposit in full because it moves to the invoice of the sale, under `number`. Returns the payment that
/// the sale receives; `None` if nothing is paid on it. Records invoice.credited.
///
/// # Errors
/// As for [`credit_in_full`].
pub async fn transfer_deposit(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    deposit: InvoiceId,
    number: InvoiceNumber,
) -> Result<Option<Payment>, InvoiceError> {
    let stored = lock_invoice(store, business.id, deposit).await?;
    if !stored.content.is_live() {
        return Ok(None);
    }
    let amount = paid(&stored.content.payments);
    let first = stored.content.payments.first().cloned();
    let leaves = first.filter(|_| amount > Money::ZERO);
    let command = Credit {
        reason: forecourt_billing::cut(&format!("Transferred to {number}")),
        ..Credit::default()
    };
    let leaving = leaves.as_ref().map(|first| Payment {
        id: next_payment_id(&stored.content.payments),
        kind: PaymentKind::Transfer,
        amount: negative(amount),
        reference: reference(number),
        reverses: None,
        date: first.date,
        method: first.method,
    });
    let (credited, _) = credit(store, clock, business, stored, command, leaving).await?;
    Ok(leaves.map(|first| Payment {
        id: 0,
        kind: PaymentKind::Transfer,
        date: first.date,
        method: first.method,
        amount,
        reference: credited.number.map(reference).unwrap_or_default(),
        reverses: None,
    }))
}

/// Credits a locked invoice. `leaving` is a payment that leaves it with the credit.
async fn credit(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Invoice,
    command: Credit,
    leaving: Option<Payment>,
) -> Result<(Invoice, CreditNote), InvoiceError> {
    match stored.content.status {
        InvoiceStatus::Draft | InvoiceStatus::Cancelled => return Err(TransitionError::NotIssued.into()),
        InvoiceStatus::Credited => return Err(TransitionError::FullyCredited.into()),
        InvoiceStatus::Issued | InvoiceStatus::Paid => {}
    }
    let now: Timestamp = clock.now();
    let Credit { reason, date, lines } = command;
    let mut invoice = stored.clone();
    let content = &mut invoice.content;
    let noted: Vec<&NoteLine> = stored
        .content
        .credit_notes
        .iter()
        .flat_map(|note| &note.lines)
        .collect();
    let lines = credit_lines(&mut content.agreement.lines, &noted, lines.as_deref())?;
    let is_whole = match content.creditable() {
        Money::ZERO => {
            content.totals().gross != Money::ZERO
                || content
                    .agreement
                    .lines
                    .iter()
                    .all(|line| line.creditable() == Money::ZERO)
        }
        _ => false,
    };
    content.payments.extend(leaving);
    if is_whole {
        content.status = next(content.status, Trigger::Credit)?;
    }
    let mut ledger = Ledger { store, business, now };
    let number = ledger.store.next_credit_number(business.id).await?;
    let note = CreditNote::new(number, date.unwrap_or_else(|| now.date()), reason, lines);
    invoice.content.credit_notes.push(note.clone());
    let credited = ledger.save(EventName::InvoiceCredited, &stored, invoice).await?;
    if is_whole {
        credit_finance(&mut ledger, clock, &credited).await?;
        return Ok((credited, note));
    }
    if credited.content.status == InvoiceStatus::Issued && credited.content.totals().due <= Money::ZERO {
        let mut paid = credited.clone();
        paid.content.status = next(paid.content.status, Trigger::Pay)?;
        return Ok((ledger.save(EventName::InvoicePaid, &credited, paid).await?, note));
    }
    Ok((credited, note))
}

/// Credits the finance invoice of an invoice that was credited in full.
async fn credit_finance(ledger: &mut Ledger<'_>, clock: &dyn Clock, parent: &Invoice) -> Result<(), InvoiceError> {
    let Some(finance) = parent.content.agreement.finance.invoice else {
        return Ok(());
    };
    let Some(finance) = ledger.store.lock_invoice(ledger.business.id, finance).await? else {
        return Ok(());
    };
    if !finance.content.is_live() {
        return Ok(());
    }
    let reason = parent.content.credit_notes.last().map(|note| note.reason.clone());
    let command = Credit {
        reason: reason.unwrap_or_default(),
        ..Credit::default()
    };
    // It has no finance invoice of its own, so this goes no deeper.
    Box::pin(credit(ledger.store, clock, ledger.business, finance, command, None))
        .await
        .map(drop)
}
