//! Issuing an invoice, and with it the sale of its vehicles (areas §10.2, "Issuing a sale").

use std::collections::{BTreeMap, BTreeSet};

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{Agreement, Payment, PaymentKind, sum};
use forecourt_deals::{self as deals, DealId};
use forecourt_invoices::{
    self as invoices, DraftInvoice, Invoice, InvoiceId, InvoiceKind, Issue, Numbered, Settlement,
};
use forecourt_kernel::{Clock, ContactId, Money, Target, VehicleId};
use forecourt_orders as orders;
use forecourt_vehicles::{
    self as vehicles, InvoicedSale, Reservation, SaleInvoice, TransitionError, Vehicle, VehicleError,
};

use crate::book::{draw_stock_numbers, keep_book};
use crate::deals::{adopt_invoice, lock_deals_of, lose_vehicle, step_issued};
use crate::exchange::take_part_exchanges;
use crate::{SaleError, SaleStore};

/// Drafts an invoice, and issues it if the caller wants that.
///
/// # Errors
/// [`SaleError`], as of [`issue_invoice`].
pub async fn create_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    draft: &DraftInvoice,
) -> Result<Invoice, SaleError> {
    if draft.issue.is_some() {
        // Before the counters, which a new draft locks.
        lock_all(store, &by.business, draft.vehicles(), draft.deal()).await?;
    }
    let invoice = invoices::draft_invoice(store, clock, by, draft).await?;
    match &draft.issue {
        // It is long, and most invoices are only drafted.
        Some(issue) => Box::pin(issue_invoice(store, clock, by, invoice.id, issue)).await,
        None => Ok(invoice),
    }
}

/// Issues a draft. An invoice of vehicles sells them: the deposits of the customer move to it, and the vehicles are sold.
///
/// # Errors
/// Those of [`invoices::prepare_issue`]. Then [`VehicleError::AlreadyReserved`] or [`VehicleError::Transition`] for the first
/// vehicle that cannot be sold to the customer. Then those of [`invoices::complete_issue`].
pub async fn issue_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    issue: &Issue,
) -> Result<Invoice, SaleError> {
    let business = &*by.business;
    let mut prepared = invoices::prepare_issue(store, business, id, issue).await?;
    let agreement = prepared.draft.content.agreement.clone();
    let mut sold = lock_billable(store, business, &agreement).await?;
    let named = agreement.deal.filter(|_| matters_to_deals(&prepared));
    let concerned = lock_deals_of(store, business.id, sold.iter().map(|vehicle| vehicle.id), named).await?;
    if let Some(customer) = agreement.customer {
        for vehicle in &sold {
            if let Some(deposit) = vehicles::reservation_of(vehicle, customer).and_then(|found| found.invoice) {
                store.lock_invoice(business.id, deposit.id).await?;
            }
        }
    }
    let own = concerned.iter().find(|deal| Some(deal.id) == named);
    let own = match own {
        Some(own) => adopt_invoice(store, clock, business.id, own, prepared.draft.id).await?,
        None => None,
    };
    let own = match own {
        Some(own) => Some(deals::freeze_deposit(store, business.id, own).await?),
        None => None,
    };
    draw_stock_numbers(store, business, &mut prepared.draft.content.agreement, &mut sold).await?;
    let number = store.next_invoice_number(business.id).await?;
    let mut settlement = Settlement::default();
    if let Some(customer) = agreement.customer {
        for vehicle in &sold {
            let deposit = move_deposit(store, clock, business, vehicle, customer, &prepared, number).await?;
            settlement.payments.extend(deposit);
        }
    }
    let order = prepared.draft.content.order;
    // invoice.issued shows the ids of what its part exchanges become, and comes before the events of that.
    store.hold_events();
    // It is long, and few sales have a part exchange.
    let taken = Box::pin(take_part_exchanges(store, clock, by, &mut prepared.draft, number)).await;
    let held = store.release_events();
    taken?;
    let invoice = invoices::complete_issue(store, clock, business, prepared, number, settlement, issue).await?;
    for (business, event) in held {
        store.record(business, event).await?;
    }
    if let Some(customer) = agreement.customer {
        for vehicle in sold {
            let of_vehicle = agreement.lines.iter().filter(|line| line.vehicle == Some(vehicle.id));
            let sale = InvoicedSale {
                customer,
                price: sum(of_vehicle.map(|line| line.gross)),
                date: agreement.date,
                invoice: SaleInvoice {
                    id: invoice.id,
                    number,
                    order,
                    deal: agreement.deal,
                },
            };
            vehicles::sell_by_invoice(store, clock, business, vehicle, sale).await?;
        }
    }
    if let Some(own) = &own {
        let paid = invoice.content.payments.last().filter(|_| issue.payment.is_some());
        let paid = paid.map(|payment| payment.amount);
        step_issued(store, clock, business.id, own, &invoice, paid).await?;
    }
    let others: Vec<_> = concerned.into_iter().filter(|deal| Some(deal.id) != named).collect();
    for vehicle in agreement.sold_vehicles() {
        if agreement.customer.is_some() {
            lose_vehicle(store, clock, business.id, &others, vehicle, agreement.customer).await?;
        }
    }
    keep_book(store, business, &invoice, |vehicle| {
        agreement.sold_vehicles().any(|sold| sold == vehicle)
    })
    .await?;
    Ok(invoice)
}

/// Returns `true` unless a draft is the finance of another invoice, or a deposit: these are no invoices of a deal.
const fn matters_to_deals(prepared: &Numbered) -> bool {
    matches!(prepared.draft.content.kind, InvoiceKind::Sale | InvoiceKind::General)
}

/// Locks these vehicles in the order of their ids, then the open deals about them and `deal`.
pub(crate) async fn lock_all(
    store: &mut dyn SaleStore,
    business: &Business,
    ids: impl IntoIterator<Item = VehicleId>,
    deal: Option<DealId>,
) -> Result<(), SaleError> {
    let ids: BTreeSet<VehicleId> = ids.into_iter().collect();
    lock_vehicles(store, business, ids.iter().copied()).await?;
    lock_deals_of(store, business.id, ids, deal).await?;
    Ok(())
}

/// Locks these vehicles in the order of their ids.
pub(crate) async fn lock_vehicles(
    store: &mut dyn SaleStore,
    business: &Business,
    ids: impl IntoIterator<Item = VehicleId>,
) -> Result<(), SaleError> {
    let ids: BTreeSet<VehicleId> = ids.into_iter().collect();
    for id in ids {
        store.lock_vehicle(business.id, id).await?;
    }
    Ok(())
}

/// Locks the vehicles of an agreement by their ids, and returns those of the vehicle lines in the order of the lines.
///
/// # Errors
/// [`VehicleError::AlreadyReserved`] or [`VehicleError::Transition`] for the first one that cannot be billed to the customer.
pub(crate) async fn lock_billable(
    store: &mut dyn SaleStore,
    business: &Business,
    agreement: &Agreement,
) -> Result<Vec<Vehicle>, SaleError> {
    let mut locked = BTreeMap::new();
    for id in agreement.moved_vehicles() {
        locked.insert(id, store.lock_vehicle(business.id, id).await?);
    }
    let mut billable = Vec::with_capacity(locked.len());
    for id in agreement.sold_vehicles() {
        let invalid = VehicleError::Transition(TransitionError::TransitionInvalid);
        let (Some(Some(vehicle)), Some(customer)) = (locked.remove(&id), agreement.customer) else {
            return Err(invalid.into());
        };
        vehicles::validate_billable(&vehicle, customer)?;
        if vehicles::live_sale_invoice(store, business, &vehicle).await?.is_some() {
            return Err(invalid.into());
        }
        billable.push(vehicle);
    }
    Ok(billable)
}

/// Moves what a customer has paid for a vehicle to the invoice of the sale.
async fn move_deposit(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    vehicle: &Vehicle,
    customer: ContactId,
    prepared: &Numbered,
    number: invoices::InvoiceNumber,
) -> Result<Option<Payment>, SaleError> {
    let Some(reservation) = vehicles::reservation_of(vehicle, customer) else {
        return Ok(None);
    };
    let Reservation {
        method,
        deposit,
        transaction,
        date,
        invoice,
        ..
    } = reservation;
    if let Some(invoice) = invoice.filter(|invoice| invoice.id != prepared.draft.id) {
        return Ok(invoices::transfer_deposit(store, clock, business, invoice.id, number).await?);
    }
    // A deposit without an invoice of its own is counted once, by the first invoice of the sale.
    let was_billed = vehicle.content.sale.as_ref().is_some_and(|sale| sale.invoice.is_some());
    let recorded = method.payment().filter(|_| *deposit > Money::ZERO && !was_billed);
    Ok(recorded.map(|method| Payment {
        id: 0,
        kind: PaymentKind::Payment,
        date: date.date(),
        method,
        amount: *deposit,
        reference: transaction.clone(),
        reverses: None,
    }))
}

/// Cancels a draft. The order that it was made of is issued again.
///
/// # Errors
/// Those of [`invoices::cancel_invoice`].
pub async fn cancel_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
) -> Result<Invoice, SaleError> {
    let business = &*by.business;
    let invoice = invoices::cancel_invoice(store, clock, business, id).await?;
    if let Some(order) = invoice.content.order {
        orders::reopen_order(store, clock, business, order, invoice.id).await?;
    }
    Ok(invoice)
}
