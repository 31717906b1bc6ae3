//! The vehicle data of a contact, for the response to a data subject's request.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, ContactId, Date, StoreResult, Timestamp, VehicleId};
use serde::Serialize;

use crate::{ReservationDetails, ReservationEnd, TestDrive, TestDriveId, Vehicle};

/// Reads the vehicles and test drives of a contact, page by page.
#[async_trait]
pub trait ContactVehicleReader: Send {
    /// Returns the first vehicles after `after` that the contact has offered, funded, supplied, reserved or bought, in the order
    /// of their ids. Deleted vehicles are included. The store decides how many; there are none only after the last.
    async fn contact_vehicles(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: VehicleId,
    ) -> StoreResult<Vec<Vehicle>>;

    /// Returns the contact's first test drives after `after`, with their signatures, in the order of their ids. The store decides
    /// how many; there are none only after the last.
    async fn contact_drives(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: TestDriveId,
    ) -> StoreResult<Vec<TestDrive>>;
}

/// A reservation of a contact, as its export shows it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ContactReservation<'a> {
    vehicle: VehicleId,
    #[serde(flatten)]
    reservation: ReservationDetails<'a>,
    /// Null for the current reservation.
    ended: Option<ReservationEnd>,
    ended_at: Option<Timestamp>,
}

/// Returns the reservations of a vehicle for the contact, the current one first.
pub fn contact_reservations(vehicle: &Vehicle, contact: ContactId) -> impl Iterator<Item = ContactReservation<'_>> {
    let reservations = &vehicle.content.reservation;
    let present = reservations.current.iter().map(|reservation| (reservation, None));
    let former = reservations.former.iter();
    let former = former.map(|former| (&former.reservation, Some((former.end, former.ended_at))));
    let own = present
        .chain(former)
        .filter(move |(reservation, _)| reservation.customer == Some(contact));
    own.map(|(reservation, end)| ContactReservation {
        vehicle: vehicle.id,
        reservation: ReservationDetails::new(reservation),
        ended: end.map(|(end, _)| end),
        ended_at: end.map(|(_, at)| at),
    })
}

/// A sale to a contact, as its export shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ContactSale {
    vehicle: VehicleId,
    customer: ContactId,
    price: Option<String>,
    date: Date,
    at: Timestamp,
}

/// Returns the sale of a vehicle, if the contact bought it.
pub fn contact_sale(vehicle: &Vehicle, contact: ContactId) -> Option<ContactSale> {
    let sale = vehicle.content.sale.as_ref()?;
    (sale.customer == Some(contact)).then(|| ContactSale {
        vehicle: vehicle.id,
        customer: contact,
        price: sale.price.map(|price| price.to_string()),
        date: sale.date,
        at: sale.at,
    })
}

/// Returns `true` if the contact has offered, reserved or bought the vehicle: its documents are then exported too.
pub fn is_customer(vehicle: &Vehicle, contact: ContactId) -> bool {
    let offered = vehicle.content.data.appraisal.details.customer_id.0;
    offered.is_some_and(|by| by.0 == contact) || vehicle.buyers().any(|buyer| buyer == contact)
}
