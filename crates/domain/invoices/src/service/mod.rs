//! The use cases. None of them begins, commits or retries a transaction.

mod credit;
mod deposit;
mod draft;
mod finance;
mod issue;
mod pay;
mod retain;
mod send;

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{InvoiceId, Live, validate_shown_size};
use forecourt_kernel::{
    BoxError, BusinessId, EventName, NewEvent, Page, PageRequest, StoreError, StoreResult, Target, Timestamp,
};
use serde_json::Value;

pub use self::{
    credit::{credit_in_full, credit_invoice, transfer_deposit},
    deposit::raise_deposit,
    draft::{
        DraftInvoice, InvoicePatch, blank_agreement, cancel_invoice, draft_from_agreement, draft_from_order,
        draft_invoice, update_invoice, validate_changes, validate_new,
    },
    finance::create_finance_invoice,
    issue::{Numbered, Settlement, complete_issue, prepare_issue},
    pay::{pay_invoice, refund_invoice, reverse_part_exchange, reverse_payment},
    retain::{forget_former_party, set_cancel_until},
    send::prepare_invoice_mail,
};

use crate::{FullInvoice, Invoice, InvoiceError, InvoiceFilter, InvoiceReader, InvoiceStore};

/// Returns a page of the caller's invoices, newest first. In the full view each is shown with what is live of it.
///
/// # Errors
/// [`InvoiceError::Store`].
pub async fn list_invoices(
    store: &mut dyn InvoiceReader,
    by: &Caller,
    filter: &InvoiceFilter,
    page: &PageRequest,
    is_full: bool,
) -> Result<Page<Invoice>, InvoiceError> {
    let page = store.invoices(by.business_id(), filter, page).await?;
    if !is_full {
        return Ok(page);
    }
    let items = show_invoices(store, &by.business, &page.items).await?;
    Ok(Page { items, ..page })
}

/// Returns invoices with what is live of them, as they are shown.
///
/// # Errors
/// If the store fails.
pub async fn show_invoices(
    store: &mut dyn forecourt_billing::BillingReader,
    business: &Business,
    invoices: &[Invoice],
) -> StoreResult<Vec<Invoice>> {
    let agreements = invoices.iter().map(|invoice| &invoice.content.agreement);
    let live = Live::read(store, business, agreements).await?;
    Ok(invoices.iter().map(|invoice| filled(invoice, &live)).collect())
}

/// Returns one of the business's invoices as it is stored.
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

/// Returns an invoice with what is live of it, as it is shown.
///
/// # Errors
/// If the store fails.
pub async fn show_invoice(
    store: &mut dyn forecourt_billing::BillingReader,
    business: &Business,
    invoice: &Invoice,
) -> StoreResult<Invoice> {
    let live = Live::read(store, business, [&invoice.content.agreement]).await?;
    Ok(filled(invoice, &live))
}

/// Returns the invoice with everything filled in that it shows, at the version of that.
fn filled(invoice: &Invoice, live: &Live) -> Invoice {
    let mut filled = invoice.clone();
    filled.version = live.version_of(invoice.version, &invoice.content.agreement);
    filled.content.agreement = live.fill(&invoice.content.agreement);
    filled
}

/// Locks an invoice for a change.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`]; [`InvoiceError::Store`].
pub async fn lock_invoice(
    store: &mut dyn InvoiceStore,
    business: BusinessId,
    id: impl Into<Target<InvoiceId>>,
) -> Result<Invoice, InvoiceError> {
    let Target { id, precondition } = id.into();
    let stored = store.lock_invoice(business, id).await?;
    let stored = stored.ok_or(InvoiceError::NotFound(id))?;
    precondition.check(stored.version)?;
    Ok(stored)
}

/// A change of an invoice that is made in steps, each with its event.
pub(crate) struct Ledger<'a> {
    pub(crate) store: &'a mut dyn InvoiceStore,
    pub(crate) business: &'a Business,
    pub(crate) now: Timestamp,
}

impl Ledger<'_> {
    /// Stores a new draft and records its event. The draft must not be too large.
    pub(crate) async fn insert(&mut self, content: crate::InvoiceContent) -> Result<Invoice, InvoiceError> {
        let invoice = self.store.insert_invoice(self.business.id, content, self.now).await?;
        let shown = self.show(&invoice).await?;
        validate_shown_size("an invoice", &shown)?;
        self.record(EventName::InvoiceCreated, None, &invoice, shown).await?;
        Ok(invoice)
    }

    /// Stores an invoice that differs from `before`, and records the event.
    pub(crate) async fn save(
        &mut self,
        event: EventName,
        before: &Invoice,
        changed: Invoice,
    ) -> Result<Invoice, InvoiceError> {
        let invoice = changed.changed_at(self.now);
        self.store.save_invoice(self.business.id, &invoice).await?;
        let shown_before = self.show(before).await?;
        let shown = self.show(&invoice).await?;
        self.record(event, Some(&shown_before), &invoice, shown).await?;
        Ok(invoice)
    }

    /// Returns the invoice as callers see it.
    pub(crate) async fn show(&mut self, invoice: &Invoice) -> StoreResult<Value> {
        let invoice = show_invoice(self.store, self.business, invoice).await?;
        let shown = serde_json::to_value(FullInvoice::from(&invoice));
        shown.map_err(|failure| StoreError::Other(BoxError::from(failure)))
    }

    async fn record(
        &mut self,
        name: EventName,
        before: Option<&Value>,
        invoice: &Invoice,
        shown: Value,
    ) -> StoreResult<()> {
        let event = NewEvent::of_change(name, invoice.id.get(), before, shown, self.now);
        self.store.record(self.business.id, event).await
    }
}
