//! Orders that reserve vehicles, and become invoices (areas §10.3).

use std::collections::BTreeSet;

use forecourt_accounts::Caller;
use forecourt_billing::{Agreement, BillLine, SaleFinance};
use forecourt_invoices::{self as invoices, Invoice, Issue, NewPayment, PaymentChanges};
use forecourt_kernel::{Clock, Date, Field, InvalidValue, Line, LongText, Money, Target, Timestamp, ValidationErrors};
use forecourt_orders::{self as orders, Order, OrderError, OrderId, OrderIssue, OrderStatus};
use forecourt_vehicles::{self as vehicles, ReservationMaker, ReservationMethod, ReserveVehicle, VehicleStatus};
use serde::Deserialize;

use crate::{
    SaleError, SaleStore,
    deals::{adopt_invoice, lock_deals},
    issue::{lock_all, lock_billable},
    issue_invoice,
};

/// Issues an order, and reserves its vehicles for the customer if the caller wants that. Records vehicle.reserved of each, then
/// order.issued.
///
/// # Errors
/// Those of [`orders::prepare_order_issue`]. Then [`VehicleError::AlreadyReserved`](vehicles::VehicleError::AlreadyReserved) or
/// [`VehicleError::Transition`](vehicles::VehicleError::Transition) for the first vehicle that cannot be sold to the customer.
pub async fn issue_order(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<OrderId>>,
    issue: OrderIssue,
) -> Result<Order, SaleError> {
    let business = &*by.business;
    let prepared = orders::prepare_order_issue(store, business, id, issue).await?;
    let agreement = &prepared.1.content.agreement;
    let billable = lock_billable(store, business, agreement).await?;
    if let Some(customer) = agreement.customer.filter(|_| issue.reserve) {
        for vehicle in billable
            .iter()
            .filter(|vehicle| vehicle.content.status == VehicleStatus::ForSale)
        {
            let command = ReserveVehicle {
                customer,
                method: ReservationMethod::NoPayment,
                deposit: None,
                date: None,
                transaction: Line::default(),
                create_invoice: false,
                made_by: Some(ReservationMaker::Order(prepared.0.id)),
            };
            vehicles::reserve_vehicle(store, clock, by, vehicle.id, command).await?;
        }
    }
    Ok(orders::complete_order_issue(store, clock, business, prepared).await?)
}

/// Cancels an order, and frees the vehicles that it reserved. Records vehicle.updated of each, then order.cancelled.
///
/// # Errors
/// [`OrderError::NotFound`], then [`OrderError::VersionMismatch`], then [`OrderError::InvalidStatus`].
pub async fn cancel_order(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<OrderId>>,
) -> Result<Order, SaleError> {
    let business = &*by.business;
    let stored = orders::lock_order(store, business.id, id).await?;
    orders::check_cancel(&stored)?;
    let reserved: BTreeSet<_> = stored.content.agreement.sold_vehicles().collect();
    for vehicle in reserved {
        let Some(vehicle) = store.lock_vehicle(business.id, vehicle).await? else {
            continue;
        };
        let current = vehicle.content.reservation.current.as_ref();
        let maker = current.and_then(|current| current.made_by);
        if maker == Some(ReservationMaker::Order(stored.id)) {
            vehicles::cancel_reservation(store, clock, by, vehicle.id).await?;
        }
    }
    Ok(orders::cancel_order(store, clock, business, stored).await?)
}

/// The conversion of an order, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ConversionBody, example = json!({"issue": false})))]
pub struct ConversionChanges {
    /// True to issue the invoice at once.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub issue: Field<bool>,
    /// Day of the invoice; today by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// The payment at its issue; only with `issue`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PaymentChanges>))]
    pub payment: Field<PaymentChanges>,
}

/// The conversion of an order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conversion {
    /// `true` to issue the invoice at once.
    pub issue: bool,
    /// The day of the invoice; `None` for today.
    pub date: Option<Date>,
    /// The payment at its issue.
    pub payment: Option<NewPayment>,
}

impl ConversionChanges {
    /// Reads the conversion.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<Conversion, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let issue = invoices::take("issue", self.issue, &mut faults).unwrap_or_default();
        let date = invoices::day("date", self.date, now, &mut faults);
        let payment = invoices::nested_payment(self.payment, now, &mut faults);
        if payment.is_some() && !issue {
            faults.add_within("payment", InvalidValue::here("needs issue"));
        }
        ValidationErrors::from(faults).into_result(Conversion { issue, date, payment })
    }
}

/// Turns an issued order into an invoice, and issues that if the caller wants it. Records invoice.created and the events of its
/// issue, then order.converted.
///
/// # Errors
/// [`OrderError::NotFound`], then [`OrderError::VersionMismatch`], then [`OrderError::InvalidStatus`] unless it is issued. Then those
/// of [`issue_invoice`].
pub async fn convert_order(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<OrderId>>,
    conversion: Conversion,
) -> Result<Invoice, SaleError> {
    let business = &*by.business;
    let stored = orders::lock_order(store, business.id, id).await?;
    if stored.content.status != OrderStatus::Issued {
        return Err(OrderError::InvalidStatus(stored.content.status).into());
    }
    let named = stored.content.agreement.deal;
    if conversion.issue || named.is_some() {
        // Before the counters, which a new draft locks.
        lock_all(store, business, stored.content.agreement.moved_vehicles(), named).await?;
    }
    let Conversion { issue, date, payment } = conversion;
    let agreement = taken_over(&stored.content.agreement, date.unwrap_or_else(|| clock.now().date()));
    let mut invoice = invoices::draft_from_order(store, clock, by, stored.id, agreement).await?;
    for deal in lock_deals(store, business.id, named).await? {
        adopt_invoice(store, clock, business.id, &deal, invoice.id).await?;
    }
    if issue {
        let issue = Issue {
            payment,
            ..Issue::default()
        };
        invoice = Box::pin(issue_invoice(store, clock, by, invoice.id, &issue)).await?;
    }
    orders::convert_order(store, clock, business, stored, invoice.id).await?;
    Ok(invoice)
}

/// Returns what an invoice takes over from its order.
fn taken_over(agreement: &Agreement, date: Date) -> Agreement {
    let live = |line: &BillLine| BillLine {
        stock_number: None,
        credited: Money::ZERO,
        ..line.clone()
    };
    Agreement {
        date,
        lines: agreement.lines.iter().map(live).collect(),
        notes: LongText::default(),
        finance: SaleFinance {
            invoice: None,
            ..agreement.finance
        },
        cancel_until: None,
        bill_to: None,
        bill_from: None,
        ..agreement.clone()
    }
}
