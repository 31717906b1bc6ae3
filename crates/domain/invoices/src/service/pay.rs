//! Payments, reversals and refunds (areas §10.2).

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    InvoiceId, Payment, PaymentKind, PaymentMethod, add_payment, negative, next_payment_id, payment_of, reversal,
};
use forecourt_kernel::{Clock, EventName, Line, Money, Target, ValidationErrors};

use super::{Ledger, issue::reference, lock_invoice};
use crate::{
    Invoice, InvoiceContent, InvoiceError, InvoiceStatus, InvoiceStore, NewPayment, ParentPayment, Reversal,
    TransitionError, Trigger, next,
};

/// Records a payment. A payment of a finance invoice also pays its parent. Records invoice.updated, or invoice.paid if nothing is
/// left.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] if it is not issued,
/// credited, or nothing is due. Then [`InvoiceError::Invalid`] (`amount`, `payments`); [`InvoiceError::Store`].
pub async fn pay_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    payment: &NewPayment,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let now = clock.now();
    let (stored, parent) = lock_with_parent(store, by, id.into()).await?;
    let due = stored.content.totals().due;
    match stored.content.status {
        InvoiceStatus::Draft | InvoiceStatus::Cancelled => return Err(TransitionError::NotIssued.into()),
        InvoiceStatus::Credited => return Err(TransitionError::FullyCredited.into()),
        status if due <= Money::ZERO => return Err(InvoiceError::status(status)),
        InvoiceStatus::Issued | InvoiceStatus::Paid => {}
    }
    let payment = payment_of(payment, due, now).map_err(|error| match error {
        Some(message) => InvoiceError::Invalid(ValidationErrors::one("amount", message)),
        None => InvoiceError::status(stored.content.status),
    })?;
    let mut invoice = stored.clone();
    let (id, date, amount) = (next_payment_id(&invoice.content.payments), payment.date, payment.amount);
    push(&mut invoice, payment)?;
    let mut ledger = Ledger { store, business, now };
    if let Some(parent) = parent {
        let due = parent.content.totals().due;
        let paid = amount.min(due);
        if parent.content.is_live() && paid > Money::ZERO {
            let number = invoice.number.map(reference).unwrap_or_default();
            let mut changed = parent.clone();
            let mirrored = Payment {
                id: next_payment_id(&changed.content.payments),
                kind: PaymentKind::Payment,
                date,
                method: PaymentMethod::Finance,
                amount: paid,
                reference: number,
                reverses: None,
            };
            invoice.content.parent_payments.push(ParentPayment {
                payment: id,
                parent: mirrored.id,
            });
            push(&mut changed, mirrored)?;
            settle(&mut ledger, &stored, invoice).await?;
            settle(&mut ledger, &parent, changed).await?;
            return Ok(ledger.store.invoice(business.id, stored.id).await?.unwrap_or(stored));
        }
    }
    settle(&mut ledger, &stored, invoice).await
}

/// Stores an invoice with a new payment: it is paid if nothing is due any more.
async fn settle(ledger: &mut Ledger<'_>, before: &Invoice, changed: Invoice) -> Result<Invoice, InvoiceError> {
    let mut invoice = changed;
    if invoice.content.totals().due > Money::ZERO || invoice.content.status != InvoiceStatus::Issued {
        return ledger.save(EventName::InvoiceUpdated, before, invoice).await;
    }
    invoice.content.status = next(invoice.content.status, Trigger::Pay)?;
    ledger.save(EventName::InvoicePaid, before, invoice).await
}

/// Takes a payment or a refund back. A reversal on a finance invoice also takes back what it paid of its parent. Records
/// invoice.updated.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] if it is not issued. Then
/// [`InvoiceError::PaymentNotFound`], then [`InvoiceError::PaymentReversed`], then [`InvoiceError::Transition`] if a process made
/// the payment or less than nothing would be paid; [`InvoiceError::Store`].
pub async fn reverse_payment(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    payment: i64,
    command: &Reversal,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let now = clock.now();
    let (stored, parent) = lock_with_parent(store, by, id.into()).await?;
    let status = stored.content.status;
    if matches!(status, InvoiceStatus::Draft | InvoiceStatus::Cancelled) {
        return Err(TransitionError::NotIssued.into());
    }
    let date = command.date.unwrap_or_else(|| now.date());
    let taken_back = |invoice: &Invoice, payment: i64, reference: Line| {
        let taken_back = reversal(&invoice.content.payments, payment, date, reference);
        taken_back.map_err(|error| InvoiceError::reversal(error, payment, status))
    };
    let reversed = taken_back(&stored, payment, command.reference.clone())?;
    if let Some(finance) = stored.content.agreement.finance.invoice
        && let Some(finance) = store.invoice(business.id, finance).await?
        && finance
            .content
            .parent_payments
            .iter()
            .any(|mirrored| mirrored.parent == payment)
    {
        return Err(InvoiceError::status(status));
    }
    let mirrored = stored
        .content
        .parent_payments
        .iter()
        .find(|mirrored| mirrored.payment == payment);
    let mirrored = mirrored.map(|mirrored| mirrored.parent);
    let mut ledger = Ledger { store, business, now };
    let mut invoice = stored.clone();
    let number = invoice.number.map(reference).unwrap_or_default();
    push(&mut invoice, reversed)?;
    let invoice = reopen(&mut ledger, &stored, invoice).await?;
    if let (Some(parent), Some(mirrored)) = (parent, mirrored)
        && let Ok(reversed) = taken_back(&parent, mirrored, number)
    {
        let mut changed = parent.clone();
        push(&mut changed, reversed)?;
        reopen(&mut ledger, &parent, changed).await?;
    }
    Ok(invoice)
}

/// Takes back the payment of a part exchange whose acquisition is undone. Records invoice.updated, unless it was reversed before.
///
/// # Errors
/// [`InvoiceError::NotFound`]; [`InvoiceError::Invalid`] (`payments`); [`InvoiceError::Store`].
pub async fn reverse_part_exchange(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    id: InvoiceId,
    part_exchange: i64,
) -> Result<(), InvoiceError> {
    let stored = lock_invoice(store, business.id, id).await?;
    let InvoiceContent {
        agreement, payments, ..
    } = &stored.content;
    let mut exchanges = agreement.part_exchanges.iter();
    let place = exchanges.position(|exchange| exchange.id == part_exchange);
    // Each part exchange has one, in their order.
    let mut of_exchanges = payments
        .iter()
        .filter(|payment| payment.kind == PaymentKind::PartExchange);
    let Some(paid) = place.and_then(|place| of_exchanges.nth(place)) else {
        return Ok(());
    };
    if payments.iter().any(|payment| payment.reverses == Some(paid.id)) {
        return Ok(());
    }
    let now = clock.now();
    let reversed = Payment {
        id: 0,
        kind: PaymentKind::Reversal,
        date: now.date(),
        amount: negative(paid.amount),
        reverses: Some(paid.id),
        ..paid.clone()
    };
    let mut invoice = stored.clone();
    push(&mut invoice, reversed)?;
    let mut ledger = Ledger { store, business, now };
    reopen(&mut ledger, &stored, invoice).await?;
    Ok(())
}

/// Stores an invoice with less paid: it is issued again if something is due.
async fn reopen(ledger: &mut Ledger<'_>, before: &Invoice, changed: Invoice) -> Result<Invoice, InvoiceError> {
    let mut invoice = changed;
    if invoice.content.status == InvoiceStatus::Paid && invoice.content.totals().due > Money::ZERO {
        invoice.content.status = next(invoice.content.status, Trigger::Reopen)?;
    }
    ledger.save(EventName::InvoiceUpdated, before, invoice).await
}

/// Gives back what was paid too much. Records invoice.updated.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] if it is not issued or
/// nothing is to be given back. Then [`InvoiceError::Invalid`] (`amount`, `payments`); [`InvoiceError::Store`].
pub async fn refund_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    payment: &NewPayment,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_invoice(store, business.id, id).await?;
    let refund_due = stored.content.totals().refund_due;
    match stored.content.status {
        InvoiceStatus::Draft | InvoiceStatus::Cancelled => return Err(TransitionError::NotIssued.into()),
        status if refund_due <= Money::ZERO => return Err(InvoiceError::status(status)),
        _ => {}
    }
    let refund = payment_of(payment, refund_due, now).map_err(|error| match error {
        Some(message) => InvoiceError::Invalid(ValidationErrors::one("amount", message)),
        None => InvoiceError::status(stored.content.status),
    })?;
    let mut invoice = stored.clone();
    let refund = Payment {
        kind: PaymentKind::Refund,
        amount: negative(refund.amount),
        ..refund
    };
    push(&mut invoice, refund)?;
    let mut ledger = Ledger { store, business, now };
    ledger.save(EventName::InvoiceUpdated, &stored, invoice).await
}

/// Locks an invoice, and before it the invoice that it is the finance of, so that all callers lock them in the same order.
async fn lock_with_parent(
    store: &mut dyn InvoiceStore,
    by: &Caller,
    target: Target<InvoiceId>,
) -> Result<(Invoice, Option<Invoice>), InvoiceError> {
    let business = by.business_id();
    let seen = store.invoice(business, target.id).await?;
    let seen = seen.ok_or(InvoiceError::NotFound(target.id))?;
    let parent = match seen.content.parent {
        Some(parent) => store.lock_invoice(business, parent).await?,
        None => None,
    };
    let stored = lock_invoice(store, business, target).await?;
    Ok((stored, parent))
}

/// Adds a payment under the next number.
pub(super) fn push(invoice: &mut Invoice, payment: Payment) -> Result<(), InvoiceError> {
    Ok(add_payment(&mut invoice.content.payments, payment)?)
}
