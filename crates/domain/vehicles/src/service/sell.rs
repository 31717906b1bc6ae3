//! Selling a vehicle, handing it over, and undoing the sale (decisions §7, "Sale").

use forecourt_accounts::{Business, Caller};
use forecourt_invoices::{Invoice, InvoiceNumber, InvoiceStatus, read_invoice};
use forecourt_kernel::{Clock, EventName, Target, VehicleId};

use super::{lock, save, save_as, validate_amount, validate_customer, validate_day, validate_publish_limit};
use crate::channels::missing_for_publishing;
use crate::reservation::ReservationEnd;
use crate::status::next;
use crate::{Sale, SellVehicle, Trigger, Vehicle, VehicleDraft, VehicleError, VehicleProcessStore, VehicleStore};

/// Sells a vehicle. This ends its reservation, and the invoice of the deposit stays unchanged. Records vehicle.sold.
///
/// # Errors
/// [`VehicleError::Invalid`] if the business has no such contact (`customer`), the price is below 0, or the date is out of
/// bounds. Then [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::Transition`] unless it
/// is for sale or reserved; [`VehicleError::Store`].
pub async fn sell_vehicle(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: SellVehicle,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let now = clock.now();
    let SellVehicle { customer, price, date } = command;
    let date = date.unwrap_or_else(|| now.date());
    let mut errors = validate_customer(store, business, customer).await?;
    validate_amount("price", price, &mut errors);
    validate_day(date, now, &mut errors);
    errors.into_result(())?;

    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.status = next(content.kind, content.status, Trigger::Sell)?;
    content.reservation.end(ReservationEnd::Sold, None, now);
    content.sale = Some(Sale {
        customer,
        price,
        date,
        at: now,
        handed_over: None,
        invoice: None,
    });
    save_as(EventName::VehicleSold, store, now, business, stored, content).await
}

/// Completes the sale of a vehicle, which is handed over. Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::NotSold`], also if it is already
/// handed over; [`VehicleError::Store`].
pub async fn hand_over_vehicle(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, VehicleError> {
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.status = next(content.kind, content.status, Trigger::HandOver).map_err(|_| VehicleError::NotSold)?;
    let now = clock.now();
    if let Some(sale) = &mut content.sale {
        sale.handed_over = Some(now);
    }
    save(store, now, &by.business, stored, content).await
}

/// Undoes the sale of a vehicle, whether it is handed over or not. The vehicle is reserved again if it was sold out of a
/// reservation whose deposit has not been credited since. Otherwise it is for sale again. Its channels stay. Records
/// vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::SaleInvoiced`] while an invoice of the
/// sale stands, then [`VehicleError::NotSold`]. Then [`VehicleError::PublishIncomplete`] if it has lost fields that publishing needs since it was sold, then
/// [`VehicleError::PublishLimitReached`]; [`VehicleError::Store`].
pub async fn undo_sale(
    store: &mut dyn VehicleProcessStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let stored = lock(store, by, id).await?;
    if let Some(number) = live_sale_invoice(store, business, &stored).await? {
        return Err(VehicleError::SaleInvoiced(number));
    }
    let mut content = stored.content.clone();
    let was_reserved = stands_again(store, business, &content).await?;
    let trigger = if was_reserved {
        Trigger::UndoSaleOfReserved
    } else {
        Trigger::UndoSale
    };
    content.status = next(content.kind, content.status, trigger).map_err(|_| VehicleError::NotSold)?;
    let missing = missing_for_publishing(&content);
    if !missing.is_empty() {
        return Err(VehicleError::PublishIncomplete(missing));
    }
    validate_publish_limit(store, business).await?;
    content.sale = None;
    if was_reserved {
        content.reservation.restore();
    }
    save(store, clock.now(), business, stored, content).await
}

/// Returns the number of the invoice of a vehicle's sale, if it stands.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn live_sale_invoice(
    store: &mut dyn VehicleProcessStore,
    business: &Business,
    vehicle: &Vehicle,
) -> Result<Option<InvoiceNumber>, VehicleError> {
    let Some(invoice) = vehicle.content.sale.as_ref().and_then(|sale| sale.invoice) else {
        return Ok(None);
    };
    let invoice = store.invoice(business.id, invoice.id).await?;
    Ok(invoice.filter(Invoice::is_live_sale).and_then(|invoice| invoice.number))
}

/// Returns `true` if the sale ended a reservation that can be restored: its deposit was neither credited nor moved to the invoice
/// of the sale.
async fn stands_again(
    store: &mut dyn VehicleProcessStore,
    business: &Business,
    content: &VehicleDraft,
) -> Result<bool, VehicleError> {
    let former = content
        .sale
        .as_ref()
        .and_then(|sale| content.reservation.ended_by(sale));
    let Some(former) = former.filter(|_| content.sale.as_ref().is_some_and(|sale| sale.invoice.is_none())) else {
        return Ok(false);
    };
    match former.reservation.invoice {
        Some(invoice) => {
            let invoice = read_invoice(store, business.id, invoice.id).await?;
            Ok(invoice.content.status != InvoiceStatus::Credited)
        }
        None => Ok(true),
    }
}
