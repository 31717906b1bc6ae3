//! Drafts, and changes of invoices (areas §10.2).

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    Agreement, AgreementPatch, BillingReader, DealId, InvoiceId, OrderId, merge, validate_shown_size,
};
use forecourt_kernel::{
    Clock, Date, EventName, Field, InvalidValue, StoreResult, Target, Timestamp, ValidationErrors, VehicleId,
};

use super::{Ledger, lock_invoice};
use crate::{
    Invoice, InvoiceChanges, InvoiceContent, InvoiceError, InvoiceOwn, InvoiceStatus, InvoiceStore, Issue, NewInvoice,
    NewInvoiceOwn, Trigger, day, due_days, invoice::defaults, nested_payment, next, take,
};

/// A new invoice whose faults are known.
#[derive(Clone, Debug)]
pub struct DraftInvoice {
    patch: AgreementPatch,
    due_date: Option<forecourt_kernel::Date>,
    /// The issue, if it is issued at once.
    pub issue: Option<Issue>,
}

impl DraftInvoice {
    /// Returns the vehicles that its issue takes part with: those of the vehicle lines, and those given in part exchange.
    pub fn vehicles(&self) -> impl Iterator<Item = VehicleId> {
        self.patch.moved_vehicles()
    }

    /// Returns the deal that it belongs to.
    pub fn deal(&self) -> Option<DealId> {
        self.patch.deal()
    }
}

/// Reads a new invoice, and looks up what it names.
///
/// # Errors
/// [`InvoiceError::Invalid`]; [`InvoiceError::Store`].
pub async fn validate_new(
    store: &mut dyn BillingReader,
    business: &Business,
    now: Timestamp,
    body: NewInvoice,
) -> Result<DraftInvoice, InvoiceError> {
    let (common, own) = body.split();
    let is_customer_missing = matches!(common.customer, Field::Absent);
    let (patch, mut errors) = common.look_up(store, business, now).await?;
    if is_customer_missing {
        errors.add("customer", "is required");
    }
    let NewInvoiceOwn {
        due_date,
        issue,
        payment,
    } = own;
    let mut faults = InvalidValue::default();
    let due_date = day("due_date", due_date, now, &mut faults);
    let is_issued = take("issue", issue, &mut faults).unwrap_or_default();
    let payment = nested_payment(payment, now, &mut faults);
    if payment.is_some() && !is_issued {
        faults.add_within("payment", InvalidValue::here("needs issue"));
    }
    errors.extend(faults.into());
    let issue = is_issued.then_some(Issue {
        payment,
        ..Issue::default()
    });
    let draft = DraftInvoice { patch, due_date, issue };
    errors.into_result(draft).map_err(Into::into)
}

/// Drafts an invoice. Records invoice.created.
///
/// # Errors
/// [`InvoiceError::Invalid`]; [`InvoiceError::Store`].
pub async fn draft_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    draft: &DraftInvoice,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let now = clock.now();
    let defaults = defaults(business, now.date());
    let blank = Agreement::blank(business, &defaults);
    let agreement = draft.patch.apply(&blank, business, &defaults, "")?;
    let mut content = InvoiceContent::draft(agreement, due_days(business));
    if let Some(due_date) = draft.due_date {
        content.due_date = due_date;
        content.is_due_date_chosen = true;
    }
    validate_due_date(&content)?;
    Ledger { store, business, now }.insert(content).await
}

/// Returns an agreement without lines or customer, with the business's defaults for invoices.
pub fn blank_agreement(business: &Business, today: Date) -> Agreement {
    Agreement::blank(business, &defaults(business, today))
}

/// Drafts the invoice of an agreement that was made elsewhere. Records invoice.created.
///
/// # Errors
/// [`InvoiceError::Invalid`]; [`InvoiceError::Store`].
pub async fn draft_from_agreement(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    agreement: Agreement,
) -> Result<Invoice, InvoiceError> {
    let content = InvoiceContent::draft(agreement, due_days(business));
    let now = clock.now();
    Ledger { store, business, now }.insert(content).await
}

/// Drafts the invoice of an order, which it takes over. Records invoice.created.
///
/// # Errors
/// [`InvoiceError::Invalid`]; [`InvoiceError::Store`].
pub async fn draft_from_order(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    order: OrderId,
    agreement: Agreement,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let mut content = InvoiceContent::draft(agreement, due_days(business));
    content.order = Some(order);
    let now = clock.now();
    Ledger { store, business, now }.insert(content).await
}

/// Changes to an invoice whose faults are known.
#[derive(Clone, Debug)]
pub struct InvoicePatch {
    patch: AgreementPatch,
    due_date: Field<forecourt_kernel::Date>,
}

/// Reads changes, and looks up what they name.
///
/// # Errors
/// [`InvoiceError::Invalid`]; [`InvoiceError::Store`].
pub async fn validate_changes(
    store: &mut dyn BillingReader,
    business: &Business,
    now: Timestamp,
    body: InvoiceChanges,
) -> Result<InvoicePatch, InvoiceError> {
    let (common, own) = body.split();
    let (patch, mut errors) = common.look_up(store, business, now).await?;
    let InvoiceOwn { due_date } = own;
    let mut faults = InvalidValue::default();
    day("due_date", due_date.clone(), now, &mut faults);
    errors.extend(faults.into());
    errors.into_result(InvoicePatch { patch, due_date }).map_err(Into::into)
}

/// Changes an invoice: a draft in everything, an issued one in its notes, reference, last day to pay and salesperson, any other in
/// its notes. Records invoice.updated if anything changed.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] if its state keeps a
/// member from changing, then [`InvoiceError::Invalid`]; [`InvoiceError::Store`].
pub async fn update_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    changes: &InvoicePatch,
) -> Result<Invoice, InvoiceError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_invoice(store, business.id, id).await?;
    let status = stored.content.status;
    let nominal = nominal_of_customer(store, business, &stored, changes).await?;
    let defaults = defaults(business, stored.created.date());
    let applied = changes
        .patch
        .apply(&stored.content.agreement, business, &defaults, &nominal);
    let agreement = match applied {
        Err(_) if status != InvoiceStatus::Draft => return Err(InvoiceError::status(status)),
        applied => applied?,
    };
    let mut content = stored.content.clone();
    content.agreement = agreement;
    let is_chosen = content.is_due_date_chosen;
    merge(&changes.due_date, &mut content.is_due_date_chosen, false, |_| true);
    if let Field::Value(due_date) = changes.due_date {
        content.due_date = due_date;
    } else if !content.is_due_date_chosen && (status == InvoiceStatus::Draft || is_chosen) {
        content.due_date = content.agreement.date.days_later(due_days(business));
    }
    if status == InvoiceStatus::Draft {
        content.kind = content.kind_of_lines();
    } else if !only_allowed_changed(&stored.content, &content) {
        return Err(InvoiceError::status(status));
    }
    if content == stored.content {
        return Ok(stored);
    }
    validate_due_date(&content)?;
    let invoice = Invoice {
        content,
        ..stored.clone()
    };
    let mut ledger = Ledger { store, business, now };
    let shown = ledger.show(&invoice).await?;
    validate_shown_size("an invoice", &shown)?;
    ledger.save(EventName::InvoiceUpdated, &stored, invoice).await
}

/// Returns the nominal code of a stored customer for new lines; empty if it is not needed.
async fn nominal_of_customer(
    store: &mut dyn InvoiceStore,
    business: &Business,
    stored: &Invoice,
    changes: &InvoicePatch,
) -> StoreResult<String> {
    let Some(customer) = stored
        .content
        .agreement
        .customer
        .filter(|_| changes.patch.changes_lines())
    else {
        return Ok(String::new());
    };
    let found = store.billed_contacts(business.id, &[customer]).await?;
    Ok(found
        .into_iter()
        .next()
        .map(|contact| contact.nominal_sales)
        .unwrap_or_default())
}

/// Returns `true` if two contents of an invoice that is no draft differ only in what its state lets change.
fn only_allowed_changed(stored: &InvoiceContent, changed: &InvoiceContent) -> bool {
    let mut allowed = changed.clone();
    allowed.agreement.notes = stored.agreement.notes.clone();
    if stored.is_live() {
        allowed.agreement.reference = stored.agreement.reference.clone();
        allowed.agreement.salesperson = stored.agreement.salesperson;
        allowed.due_date = stored.due_date;
        allowed.is_due_date_chosen = stored.is_due_date_chosen;
    }
    // What was frozen or credited since is not the caller's.
    for (line, stored) in allowed.agreement.lines.iter_mut().zip(&stored.agreement.lines) {
        line.credited = stored.credited;
        line.stock_number = stored.stock_number;
    }
    for (exchange, stored) in allowed
        .agreement
        .part_exchanges
        .iter_mut()
        .zip(&stored.agreement.part_exchanges)
    {
        exchange.purchase = stored.purchase;
        exchange.settlement_purchase = stored.settlement_purchase;
        exchange.stock_vehicle = stored.stock_vehicle;
    }
    allowed == *stored
}

fn validate_due_date(content: &InvoiceContent) -> Result<(), InvoiceError> {
    if content.due_date < content.agreement.date {
        let message = "must not be before the day of the invoice";
        return Err(ValidationErrors::one("due_date", message).into());
    }
    Ok(())
}

/// Cancels a draft. Records invoice.cancelled.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] unless it is a draft;
/// [`InvoiceError::Store`].
pub async fn cancel_invoice(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    id: impl Into<Target<InvoiceId>>,
) -> Result<Invoice, InvoiceError> {
    let stored = lock_invoice(store, business.id, id).await?;
    let mut invoice = stored.clone();
    invoice.content.status = next(invoice.content.status, Trigger::Cancel)?;
    let now = clock.now();
    Ledger { store, business, now }
        .save(EventName::InvoiceCancelled, &stored, invoice)
        .await
}
