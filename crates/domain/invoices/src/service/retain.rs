//! What becomes of an issued invoice afterwards: the end of its retention, and the right to cancel a distance sale.

use forecourt_accounts::Business;
use forecourt_billing::InvoiceId;
use forecourt_kernel::{Clock, Date, EventName};

use super::Ledger;
use crate::{Invoice, InvoiceError, InvoiceStore};

/// Blanks the party of an issued invoice whose contact was deleted, once tax law no longer asks for it (areas §10.0, "People").
/// The version rises; no event is recorded.
///
/// # Errors
/// [`InvoiceError::Store`].
pub async fn forget_former_party(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    id: InvoiceId,
    before: Date,
) -> Result<(), InvoiceError> {
    let Some(mut invoice) = store.lock_invoice(business.id, id).await? else {
        return Ok(());
    };
    let agreement = &mut invoice.content.agreement;
    if agreement.customer.is_some() || agreement.date >= before {
        return Ok(());
    }
    agreement.bill_to = None;
    store
        .save_invoice(business.id, &invoice.changed_at(clock.now()))
        .await?;
    Ok(())
}

/// Sets the last day on which a distance buyer can cancel: 14 days after the handover. Records invoice.updated.
///
/// # Errors
/// [`InvoiceError::Store`].
pub async fn set_cancel_until(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    id: InvoiceId,
    handover: Date,
) -> Result<(), InvoiceError> {
    const RIGHT_TO_CANCEL_DAYS: u32 = 14;
    let Some(stored) = store.lock_invoice(business.id, id).await? else {
        return Ok(());
    };
    let until = Some(handover.days_later(RIGHT_TO_CANCEL_DAYS));
    if !stored.content.agreement.distance || !stored.content.is_live() || stored.content.agreement.cancel_until == until
    {
        return Ok(());
    }
    let mut invoice: Invoice = stored.clone();
    invoice.content.agreement.cancel_until = until;
    let now = clock.now();
    Ledger { store, business, now }
        .save(EventName::InvoiceUpdated, &stored, invoice)
        .await?;
    Ok(())
}
