//! The issue of a draft (areas §10.2). What it does to vehicles and deposits is up to the crate of sales.

use forecourt_accounts::Business;
use forecourt_billing::{
    InvoiceNumber, Live, Payment, PaymentKind, PaymentMethod, VatScheme, allowances, cut, next_payment_id, payment_of,
    validate_whole,
};
use forecourt_kernel::{Clock, EventName, Line, Money, StoreResult, Target, ValidationErrors};

use super::{Ledger, lock_invoice, pay::push};
use crate::{Invoice, InvoiceError, InvoiceId, InvoiceStore, Issue, Trigger, due_days, next};

/// A draft that is about to be issued, locked, with the issue's day and its last day to pay.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// The draft as it is stored.
    pub stored: Invoice,
    /// The draft as it will be issued, but for its number and payments.
    pub draft: Invoice,
}

/// What an issue takes over from other records.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// The payments that come from deposits. Their numbers are given anew.
    pub payments: Vec<Payment>,
}

/// Locks a draft and checks that it can be issued, apart from its vehicles.
///
/// # Errors
/// [`InvoiceError::NotFound`], then [`InvoiceError::VersionMismatch`], then [`InvoiceError::Transition`] unless it is a draft.
/// Then [`InvoiceError::Invalid`] for its customer, its lines and its days; [`InvoiceError::Store`].
pub async fn prepare_issue(
    store: &mut dyn InvoiceStore,
    business: &Business,
    id: impl Into<Target<InvoiceId>>,
    issue: &Issue,
) -> Result<Numbered, InvoiceError> {
    let stored = lock_invoice(store, business.id, id).await?;
    let mut draft = stored.clone();
    draft.content.status = next(draft.content.status, Trigger::Issue)?;
    let mut faults = ValidationErrors::new();
    let content = &mut draft.content;
    if let Some(date) = issue.date {
        content.agreement.date = date;
    }
    if let Some(due_date) = issue.due_date {
        content.due_date = due_date;
        content.is_due_date_chosen = true;
    } else if !content.is_due_date_chosen {
        content.due_date = content.agreement.date.days_later(due_days(business));
    }
    if content.due_date < content.agreement.date {
        faults.add("due_date", "must not be before the day of the invoice");
    }
    let agreement = &content.agreement;
    if agreement.lines.is_empty() {
        faults.add("lines", "must not be empty");
    }
    let vehicles: Vec<_> = agreement.vehicles().into_iter().collect();
    if !vehicles.is_empty() {
        let known = store.billed_vehicles(business.id, &vehicles).await?;
        for (at, line) in agreement.lines.iter().enumerate() {
            let vehicle = known.iter().find(|vehicle| Some(vehicle.id) == line.vehicle);
            if line.vat_scheme == VatScheme::Margin && vehicle.is_some_and(|vehicle| vehicle.was_bought_with_vat) {
                let message = "must not be margin: the vehicle was bought with VAT shown";
                faults.add(format!("lines.{at}.vat_scheme"), message);
            }
        }
    }
    faults.extend(validate_whole(agreement));
    freeze(store, business, &mut draft).await?;
    if draft.content.agreement.bill_to.is_none() {
        faults.add("customer", "names no contact of this business");
    }
    faults.into_result(Numbered { stored, draft }).map_err(Into::into)
}

/// Freezes what a draft shows of other records.
pub(super) async fn freeze(store: &mut dyn InvoiceStore, business: &Business, draft: &mut Invoice) -> StoreResult<()> {
    let live = Live::read(store, business, [&draft.content.agreement]).await?;
    draft.content.agreement = live.fill(&draft.content.agreement);
    Ok(())
}

/// Issues a prepared draft under a number. Records invoice.issued, then invoice.paid if nothing is due.
///
/// # Errors
/// [`InvoiceError::Invalid`] (`payment.amount`) if the payment is above what is due; [`InvoiceError::Store`].
pub async fn complete_issue(
    store: &mut dyn InvoiceStore,
    clock: &dyn Clock,
    business: &Business,
    prepared: Numbered,
    number: InvoiceNumber,
    settlement: Settlement,
    issue: &Issue,
) -> Result<Invoice, InvoiceError> {
    let now = clock.now();
    let Numbered { stored, draft } = prepared;
    let mut invoice = draft;
    invoice.number = Some(number);
    invoice.content.issued = Some(now);
    let payments = &mut invoice.content.payments;
    for payment in settlement.payments {
        payments.push(Payment {
            id: next_payment_id(payments),
            ..payment
        });
    }
    for exchange in &invoice.content.agreement.part_exchanges {
        payments.push(Payment {
            id: next_payment_id(payments),
            kind: PaymentKind::PartExchange,
            date: invoice.content.agreement.date,
            method: PaymentMethod::PartExchange,
            amount: exchange.allowance,
            reference: exchange.registration.clone(),
            reverses: None,
        });
    }
    debug_assert!(allowances(&invoice.content.agreement.part_exchanges) >= Money::ZERO);
    if let Some(payment) = &issue.payment {
        let due = invoice.content.totals().due;
        let payment = payment_of(payment, due, now).map_err(|error| match error {
            Some(message) => InvoiceError::Invalid(ValidationErrors::one("payment.amount", message)),
            None => InvoiceError::status(invoice.content.status),
        })?;
        push(&mut invoice, payment)
            .map_err(|_| InvoiceError::Invalid(ValidationErrors::one("payment", "is one too many")))?;
    }
    let mut ledger = Ledger { store, business, now };
    let issued = ledger.save(EventName::InvoiceIssued, &stored, invoice).await?;
    if issued.content.totals().due > Money::ZERO {
        return Ok(issued);
    }
    let mut invoice = issued.clone();
    invoice.content.status = next(invoice.content.status, Trigger::Pay)?;
    ledger.save(EventName::InvoicePaid, &issued, invoice).await
}

/// The reference of a transfer: the number of the other document.
pub(super) fn reference(number: InvoiceNumber) -> Line {
    cut(&number.to_string())
}
