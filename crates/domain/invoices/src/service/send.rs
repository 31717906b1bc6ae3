//! Mailing an invoice.

use forecourt_accounts::Business;
use forecourt_billing::{InvoiceId, OutgoingDocument, SendDocument};
use forecourt_kernel::Target;

use super::{read_invoice, show_invoice};
use crate::{InvoiceError, InvoiceReader, InvoiceStatus, TransitionError, bill_of_invoice};

/// Returns an invoice as it is mailed. Nothing changes.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`TransitionError::NotIssued`] of a draft or a
/// cancelled invoice, then [`InvoiceError::Invalid`] without an address; [`InvoiceError::Store`].
pub async fn prepare_invoice_mail(
    store: &mut dyn InvoiceReader,
    business: &Business,
    id: impl Into<Target<InvoiceId>>,
    request: &SendDocument,
) -> Result<OutgoingDocument, InvoiceError> {
    let Target { id, precondition } = id.into();
    let invoice = read_invoice(store, business.id, id).await?;
    precondition.check(invoice.version)?;
    if let InvoiceStatus::Draft | InvoiceStatus::Cancelled = invoice.content.status {
        return Err(TransitionError::NotIssued.into());
    }
    let invoice = show_invoice(store, business, &invoice).await?;
    let bill = bill_of_invoice(&invoice, business);
    let customer = invoice.content.agreement.customer;
    Ok(OutgoingDocument::address(store, business.id, bill, customer, request).await??)
}
