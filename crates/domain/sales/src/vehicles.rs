//! Sales of vehicles that are invoiced, undone, or handed over (areas §10.2, "The sale operations").

use forecourt_accounts::Caller;
use forecourt_billing::{Amount, LineChanges, SentKind};
use forecourt_files::FileName;
use forecourt_invoices::{self as invoices, Issue, NewInvoice};
use forecourt_kernel::{BoundedList, Clock, Field, Line, Target, ValidationErrors, VehicleId};
use forecourt_vehicles::{self as vehicles, SellVehicle, Vehicle, VehicleError};

use crate::book::keep_book;
use crate::deals::{complete_deals, lock_deals_of, lock_leads, lose_vehicle};
use crate::{SaleDeletionStore, SaleError, SaleStore, issue_invoice};

/// Sells a vehicle by an invoice of one line. It needs a customer, and a price if the vehicle has none.
///
/// # Errors
/// [`VehicleError::Invalid`] (`customer`, `price`). Then [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then
/// those of [`issue_invoice`].
pub async fn sell_with_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: SellVehicle,
) -> Result<Vehicle, SaleError> {
    let business = &*by.business;
    let target = id.into();
    let SellVehicle { customer, price, date } = command;
    let Some(customer) = customer else {
        return Err(VehicleError::Invalid(ValidationErrors::one("customer", "is required with create_invoice")).into());
    };
    let mut errors = vehicles::validate_customer(store, business, Some(customer)).await?;
    if price.is_some_and(|price| price.minor() > Amount::MAX_MINOR) {
        errors.add("price", "must be at most 99999999.99 with create_invoice");
    }
    errors.into_result(()).map_err(VehicleError::Invalid)?;
    let vehicle = vehicles::lock_vehicle(store, business.id, target.id).await?;
    target.precondition.check(vehicle.version).map_err(VehicleError::from)?;
    if price.or(vehicle.content.data.stock.price_website).is_none() {
        let errors = ValidationErrors::one("price", "is required: the vehicle has none");
        return Err(VehicleError::Invalid(errors).into());
    }

    let line = LineChanges {
        kind: Field::Value(SentKind::Vehicle),
        vehicle: Field::Value(target.id.get()),
        gross: price.map_or(Field::Absent, |price| Field::Value(Amount(price))),
        ..LineChanges::default()
    };
    let body = NewInvoice {
        customer: Field::Value(customer.get()),
        date: date.map_or(Field::Absent, Field::Value),
        lines: BoundedList::new(vec![line]).map_or(Field::Absent, Field::Value),
        ..NewInvoice::default()
    };
    let draft = invoices::validate_new(store, business, clock.now(), body).await?;
    // Before the counters, which a new draft locks.
    lock_deals_of(store, business.id, [target.id], None).await?;
    let invoice = invoices::draft_invoice(store, clock, by, &draft).await?;
    Box::pin(issue_invoice(store, clock, by, invoice.id, &Issue::default())).await?;
    Ok(vehicles::read_vehicle(store, by, target.id).await?)
}

/// Sells a vehicle without an invoice, as [`vehicles::sell_vehicle`] does. The deals of other contacts about it end.
///
/// # Errors
/// Those of [`vehicles::sell_vehicle`].
pub async fn sell_vehicle(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: SellVehicle,
) -> Result<Vehicle, SaleError> {
    let business = by.business_id();
    let target = id.into();
    store.lock_vehicle(business, target.id).await?;
    let concerned = lock_deals_of(store, business, [target.id], None).await?;
    let buyer = command.customer;
    let vehicle = vehicles::sell_vehicle(store, clock, by, target, command).await?;
    if buyer.is_some() {
        lose_vehicle(store, clock, business, &concerned, vehicle.id, buyer).await?;
    }
    Ok(vehicle)
}

/// Deletes a vehicle, as [`vehicles::delete_vehicle`] does. The deals about it end.
///
/// # Errors
/// Those of [`vehicles::delete_vehicle`].
pub async fn delete_vehicle(
    store: &mut dyn SaleDeletionStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vec<FileName>, SaleError> {
    let business = by.business_id();
    let target = id.into();
    store.lock_vehicle(business, target.id).await?;
    let concerned = lock_deals_of(store, business, [target.id], None).await?;
    let vehicle = target.id;
    let files = vehicles::delete_vehicle(store, clock, by, target).await?;
    lose_vehicle(store, clock, business, &concerned, vehicle, None).await?;
    Ok(files)
}

/// Undoes the sale of a vehicle. With `credit` the invoice of the sale is credited in full first.
///
/// # Errors
/// Those of [`vehicles::undo_sale`].
pub async fn undo_sale(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    credit: bool,
) -> Result<Vehicle, SaleError> {
    let business = &*by.business;
    let target = id.into();
    if credit {
        let vehicle = vehicles::lock_vehicle(store, business.id, target.id).await?;
        target.precondition.check(vehicle.version).map_err(VehicleError::from)?;
        let is_live = vehicles::live_sale_invoice(store, business, &vehicle).await?.is_some();
        let invoice = vehicle.content.sale.as_ref().and_then(|sale| sale.invoice);
        if let Some(invoice) = invoice.filter(|_| is_live) {
            let reason = Line::new("Sale undone").unwrap_or_default();
            let (credited, _) = invoices::credit_in_full(store, clock, business, invoice.id, reason).await?;
            keep_book(store, business, &credited, |_| false).await?;
        }
    }
    Ok(vehicles::undo_sale(store, clock, by, target).await?)
}

/// Hands a sold vehicle over, and completes the deals of its buyer about it. From then on a buyer at a distance has 14 days
/// to cancel, which the invoice shows.
///
/// # Errors
/// Those of [`vehicles::hand_over_vehicle`].
pub async fn hand_over(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, SaleError> {
    let business = by.business_id();
    let target = id.into();
    store.lock_vehicle(business, target.id).await?;
    let concerned = lock_deals_of(store, business, [target.id], None).await?;
    lock_leads(store, business, &concerned).await?;
    let vehicle = hand_over_locked(store, clock, by, target).await?;
    complete_deals(store, clock, by, &concerned, &vehicle).await?;
    Ok(vehicle)
}

/// Hands a sold vehicle over, without its deals.
pub(crate) async fn hand_over_locked(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, SaleError> {
    let vehicle = vehicles::hand_over_vehicle(store, clock, by, id).await?;
    if let Some(invoice) = vehicle.content.sale.as_ref().and_then(|sale| sale.invoice) {
        let day = clock.now().date();
        invoices::set_cancel_until(store, clock, &by.business, invoice.id, day).await?;
    }
    Ok(vehicle)
}
