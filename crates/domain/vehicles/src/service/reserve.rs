//! Reserving a vehicle, and cancelling the reservation (contract, "States and transitions").

use forecourt_accounts::{Business, Caller};
use forecourt_invoices::{
    self as invoices, CreditNumber, InvoiceError, InvoiceId, RaiseDeposit, credit_in_full, raise_deposit, read_invoice,
};
use forecourt_kernel::{
    BoxError, Clock, EventName, Line, Money, SiteId, StoreError, Target, Timestamp, ValidationErrors, VehicleId,
};

use super::{lock, save, save_as, validate_amount, validate_customer, validate_day};
use crate::reservation::{DepositInvoice, Reservation, ReservationEnd, carries_vat};
use crate::status::next;
use crate::{ReservationDate, ReserveVehicle, Trigger, Vehicle, VehicleError, VehicleProcessStore};

/// Reserves a vehicle for a customer. Invoices the deposit if there is one, it is paid, and the caller requests an invoice.
///
/// The deposit is the given one, else the vehicle's `price_reserve`, else the business's `reserve_deposit`, else 0; without a
/// payment it is 0. Records the invoice's events, then vehicle.reserved.
///
/// # Errors
/// [`VehicleError::Invalid`] if the business has no such contact (`customer`), the deposit is below 0, or the date is out of
/// bounds. Then [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::AlreadyReserved`]. Then
/// [`VehicleError::ReserveInvalidStatus`] unless it is for sale, then [`VehicleError::Invalid`] (`deposit`) if the deposit is
/// above the price; [`VehicleError::Store`].
pub async fn reserve_vehicle(
    store: &mut dyn VehicleProcessStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: ReserveVehicle,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let now = clock.now();
    let ReserveVehicle {
        customer,
        method,
        deposit,
        date,
        transaction,
        create_invoice,
        made_by,
    } = command;
    let date = date.map_or_else(|| now.date().midnight(), ReservationDate::moment);
    let mut errors = validate_customer(store, business, Some(customer)).await?;
    validate_amount("deposit", deposit, &mut errors);
    validate_day(date.date(), now, &mut errors);
    errors.into_result(())?;

    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    if content.reservation.current.is_some() {
        return Err(VehicleError::AlreadyReserved);
    }
    content.status =
        next(content.kind, content.status, Trigger::Reserve).map_err(|_| VehicleError::ReserveInvalidStatus)?;
    let deposit = match method.payment() {
        None => Money::ZERO,
        Some(_) => deposit
            .or(content.data.stock.price_reserve)
            .or(business.settings.reserve_deposit)
            .unwrap_or(Money::ZERO),
    };
    if content.data.advertised_price().is_some_and(|price| deposit > price) {
        return Err(ValidationErrors::one("deposit", "must not be above the price of the vehicle").into());
    }
    let vat = carries_vat(&content.data.stock);
    let invoice = match method.payment() {
        Some(payment) if create_invoice && deposit > Money::ZERO => {
            let deposit = RaiseDeposit {
                // Vehicles have no site, so their invoices belong to the main one.
                site: SiteId::new(0),
                customer,
                vehicle: stored.id,
                vehicle_description: stored.description(),
                gross: deposit,
                vat_included: vat,
                method: Some(payment),
                reference: transaction.clone(),
                date: date.date(),
            };
            Some(invoice_deposit(store, clock, business, deposit).await?)
        }
        _ => None,
    };
    content.reservation.current = Some(Reservation {
        customer: Some(customer),
        method,
        deposit,
        transaction,
        date,
        reserved_at: now,
        vat,
        invoice,
        made_by,
    });
    save_as(EventName::VehicleReserved, store, now, business, stored, content).await
}

/// Cancels the reservation of a vehicle: it is for sale again, and the invoice of the deposit is credited.
///
/// Records the invoice's event, then vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::NotReserved`];
/// [`VehicleError::Store`].
pub async fn cancel_reservation(
    store: &mut dyn VehicleProcessStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, VehicleError> {
    let stored = lock(store, by, id).await?;
    cancel(store, clock, &by.business, stored).await
}

/// Cancels the reservation of a locked vehicle.
pub(super) async fn cancel(
    store: &mut dyn VehicleProcessStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Vehicle,
) -> Result<Vehicle, VehicleError> {
    let now: Timestamp = clock.now();
    let mut content = stored.content.clone();
    let Some(current) = &content.reservation.current else {
        return Err(VehicleError::NotReserved);
    };
    content.status =
        next(content.kind, content.status, Trigger::CancelReservation).map_err(|_| VehicleError::NotReserved)?;
    let credit_note = match current.invoice {
        Some(invoice) => credit(store, clock, business, invoice.id).await?,
        None => None,
    };
    content.reservation.end(ReservationEnd::Cancelled, credit_note, now);
    save(store, now, business, stored, content).await
}

async fn invoice_deposit(
    store: &mut dyn VehicleProcessStore,
    clock: &dyn Clock,
    business: &Business,
    deposit: RaiseDeposit,
) -> Result<DepositInvoice, VehicleError> {
    let invoice = raise_deposit(store, clock, business, deposit).await?;
    let unnumbered = || StoreError::Other(BoxError::from("an issued invoice has no number"));
    Ok(DepositInvoice {
        id: invoice.id,
        number: invoice.number.ok_or_else(unnumbered)?,
    })
}

/// Credits the rest of an invoice. If it was already fully credited, its last credit note becomes the reservation's.
async fn credit(
    store: &mut dyn VehicleProcessStore,
    clock: &dyn Clock,
    business: &Business,
    id: InvoiceId,
) -> Result<Option<CreditNumber>, VehicleError> {
    let reason = Line::new("Reservation cancelled").unwrap_or_default();
    match credit_in_full(store, clock, business, id, reason).await {
        Ok((_, note)) => Ok(Some(note.number)),
        Err(InvoiceError::Transition(invoices::TransitionError::FullyCredited)) => {
            let invoice = read_invoice(store, business.id, id).await?;
            Ok(invoice.content.credit_notes.last().map(|note| note.number))
        }
        Err(error) => Err(error.into()),
    }
}
