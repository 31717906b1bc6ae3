//! The part of a purchase that concerns its vehicles (areas §10.4, §10.5). The crate of sales calls it.

use forecourt_accounts::Business;
use forecourt_kernel::Clock;
use forecourt_reference::StockType;

use super::{save, validate_size};
use crate::{
    AcquiredFrom, Acquisition, BilledCost, CostRows, TransitionError, Vehicle, VehicleError, VehicleStatus,
    VehicleStore,
};

/// Checks that a vehicle can be acquired: it is in stock, to order or a courtesy vehicle, and is not acquired yet. One that is sold
/// can be acquired after the fact.
///
/// # Errors
/// [`VehicleError::AcquisitionNotAllowed`], then [`VehicleError::AlreadyAcquired`].
pub const fn validate_acquirable(vehicle: &Vehicle) -> Result<(), VehicleError> {
    if !matches!(
        vehicle.content.kind,
        StockType::InStock | StockType::ToOrder | StockType::Courtesy
    ) {
        return Err(VehicleError::AcquisitionNotAllowed);
    }
    match vehicle.content.acquisition {
        Some(_) => Err(VehicleError::AlreadyAcquired),
        None => Ok(()),
    }
}

/// Shows its purchase in a locked vehicle. Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::Invalid`] (`data`) if it would be too large; [`VehicleError::Store`].
pub async fn acquire_vehicle(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Vehicle,
    from: &AcquiredFrom,
) -> Result<Vehicle, VehicleError> {
    let mut content = stored.content.clone();
    content.acquisition = Some(Acquisition {
        purchase: from.purchase,
        with_vat: from.vat.minor() > 0,
    });
    content.stock_number = Some(from.stock_number);
    content.data.stock.set_purchase(Some(from));
    validate_size(&mut content.data)?;
    content.data.derive_values();
    save(store, clock.now(), business, stored, content).await
}

/// Checks that the acquisition of a vehicle can be undone, and returns it.
///
/// # Errors
/// [`VehicleError::Transition`] if it is sold, then [`VehicleError::NotAcquired`].
pub const fn validate_undo_acquisition(vehicle: &Vehicle) -> Result<Acquisition, VehicleError> {
    if matches!(vehicle.content.status, VehicleStatus::Sold | VehicleStatus::Complete) {
        return Err(VehicleError::Transition(TransitionError::TransitionInvalid));
    }
    match vehicle.content.acquisition {
        Some(acquisition) => Ok(acquisition),
        None => Err(VehicleError::NotAcquired),
    }
}

/// Empties what a locked vehicle shows of its purchase. Its number in the stock book is given up: another acquisition draws a new
/// one. Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn undo_acquisition(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Vehicle,
) -> Result<Vehicle, VehicleError> {
    let mut content = stored.content.clone();
    content.acquisition = None;
    content.stock_number = None;
    content.data.stock.set_purchase(None);
    content.data.derive_values();
    save(store, clock.now(), business, stored, content).await
}

/// Writes costs that purchases bill to a locked vehicle: the row of each is added, lowered, or removed once it is credited in full.
/// Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::CostsFull`], then [`VehicleError::Invalid`] (`data`) if it would be too large; [`VehicleError::Store`].
pub async fn bill_costs(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Vehicle,
    costs: Vec<BilledCost>,
) -> Result<Vehicle, VehicleError> {
    let mut content = stored.content.clone();
    let mut rows = std::mem::take(&mut content.data.stock.purchase_cost_data).0;
    for cost in costs {
        let id = cost.id().to_string();
        let known = rows
            .iter()
            .position(|row| row.id.as_ref().is_some_and(|known| known.to_string() == id));
        match (known, cost.is_credited) {
            (Some(at), true) => drop(rows.remove(at)),
            (Some(at), false) => rows[at] = cost.row(),
            (None, true) => {}
            (None, false) => rows.push(cost.row()),
        }
    }
    if rows.len() > CostRows::MAX {
        return Err(VehicleError::CostsFull);
    }
    content.data.stock.purchase_cost_data = CostRows::new(rows);
    validate_size(&mut content.data)?;
    content.data.derive_values();
    save(store, clock.now(), business, stored, content).await
}
