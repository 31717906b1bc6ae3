//! The part of an invoice that concerns its vehicles (areas §10.2). The crate of sales calls it.

use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Clock, ContactId, Date, EventName, Money, VehicleId};

use super::{save, save_as};
use crate::reservation::ReservationEnd;
use crate::status::next;
use crate::{
    Reservation, Sale, SaleInvoice, TransitionError, Trigger, Vehicle, VehicleError, VehicleStatus, VehicleStore,
};

/// Locks a vehicle against other writers until the transaction ends.
///
/// # Errors
/// [`VehicleError::NotFound`]; [`VehicleError::Store`].
pub async fn lock_vehicle(
    store: &mut dyn VehicleStore,
    business: BusinessId,
    id: VehicleId,
) -> Result<Vehicle, VehicleError> {
    store
        .lock_vehicle(business, id)
        .await?
        .ok_or(VehicleError::NotFound(id))
}

/// Checks that a vehicle can be billed to a customer: it is for sale, reserved for them, or sold to them or to nobody that is
/// named.
///
/// # Errors
/// [`VehicleError::AlreadyReserved`] if it is reserved for another; [`VehicleError::Transition`] otherwise.
pub fn validate_billable(vehicle: &Vehicle, customer: ContactId) -> Result<(), VehicleError> {
    let invalid = VehicleError::Transition(TransitionError::TransitionInvalid);
    match vehicle.content.status {
        VehicleStatus::ForSale => Ok(()),
        VehicleStatus::Reserved => match &vehicle.content.reservation.current {
            Some(current) if current.customer == Some(customer) => Ok(()),
            _ => Err(VehicleError::AlreadyReserved),
        },
        VehicleStatus::Sold | VehicleStatus::Complete => {
            let buyer = vehicle.content.sale.as_ref().and_then(|sale| sale.customer);
            match buyer {
                Some(buyer) if buyer != customer => Err(invalid),
                _ => Ok(()),
            }
        }
        _ => Err(invalid),
    }
}

/// Returns the reservation whose deposit counts towards a customer's invoice: the current one, or the one that the vehicle was sold
/// out of.
pub fn reservation_of(vehicle: &Vehicle, customer: ContactId) -> Option<&Reservation> {
    let reservations = &vehicle.content.reservation;
    let ended = vehicle
        .content
        .sale
        .as_ref()
        .and_then(|sale| reservations.ended_by(sale));
    let found = reservations
        .current
        .as_ref()
        .or(ended.map(|former| &former.reservation));
    found.filter(|reservation| reservation.customer == Some(customer))
}

/// The sale of a vehicle, as its invoice says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvoicedSale {
    /// The customer.
    pub customer: ContactId,
    /// The price: the sum of the vehicle's lines.
    pub price: Money,
    /// The day of the invoice.
    pub date: Date,
    /// The invoice.
    pub invoice: SaleInvoice,
}

/// Sells a locked vehicle by an invoice. Of one that was sold before, customer, price and date become the invoice's. Records
/// vehicle.sold, or vehicle.updated if a sale changed.
///
/// # Errors
/// [`VehicleError::Transition`]; [`VehicleError::Store`].
pub async fn sell_by_invoice(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Vehicle,
    sale: InvoicedSale,
) -> Result<Vehicle, VehicleError> {
    let now = clock.now();
    let InvoicedSale {
        customer,
        price,
        date,
        invoice,
    } = sale;
    let mut content = stored.content.clone();
    if let Some(sale) = content
        .sale
        .as_mut()
        .filter(|_| matches!(stored.content.status, VehicleStatus::Sold | VehicleStatus::Complete))
    {
        let differs = (sale.customer, sale.price, sale.date) != (Some(customer), Some(price), date);
        (sale.customer, sale.price, sale.date) = (Some(customer), Some(price), date);
        sale.invoice = Some(invoice);
        if differs {
            return save(store, now, business, stored, content).await;
        }
        // Nobody sees the invoice in the vehicle, so this is no change of it.
        let vehicle = Vehicle { content, ..stored };
        store.save_vehicle(business.id, &vehicle).await?;
        store.vehicle_changed(business, &vehicle, now).await?;
        return Ok(vehicle);
    }
    content.status = match stored.content.status {
        sold @ (VehicleStatus::Sold | VehicleStatus::Complete) => sold,
        status => next(content.kind, status, Trigger::Sell)?,
    };
    content.reservation.end(ReservationEnd::Sold, None, now);
    content.sale = Some(Sale {
        customer: Some(customer),
        price: Some(price),
        date,
        at: now,
        handed_over: None,
        invoice: Some(invoice),
    });
    save_as(EventName::VehicleSold, store, now, business, stored, content).await
}
