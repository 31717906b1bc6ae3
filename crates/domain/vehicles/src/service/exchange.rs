//! The part of a part exchange that concerns vehicles (areas §10.2, "Issuing a sale"). The crate of sales calls it.

use forecourt_accounts::Caller;
use forecourt_billing::PartExchange;
use forecourt_kernel::{Clock, VehicleId};
use forecourt_reference::StockType;

use super::appraise::stock_data;
use super::{accept_offer, draft_of, insert, validate_size};
use crate::values::WordOrEmpty;
use crate::{AcceptOffer, Data, Vehicle, VehicleDraft, VehicleError, VehicleStatus, VehicleStore};

/// Returns the vehicle in stock that a part exchange becomes, locked or new: that of an appraisal, which is accepted if it was not
/// yet, else a copy of the customer's vehicle, else one made of what the part exchange says. Records vehicle.created of a new one;
/// vehicle.updated of its appraisal follows.
///
/// # Errors
/// [`VehicleError::NotFound`], then those of [`accept_offer`]; [`VehicleError::Store`].
pub async fn take_in_exchange(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    exchange: &PartExchange,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let Some(id) = exchange.vehicle else {
        let mut data = Box::<Data>::default();
        exchange.make.as_str().clone_into(&mut data.vehicle.make);
        exchange.model.as_str().clone_into(&mut data.vehicle.model);
        data.vehicle.match_names();
        data.vehicle.mileage = exchange.mileage.and_then(|mileage| u32::try_from(mileage).ok());
        data.stock.vin = WordOrEmpty(exchange.vin.parse().ok());
        validate_size(&mut data)?;
        data.derive_values();
        let draft = VehicleDraft {
            registration: exchange.registration.parse().ok(),
            ..draft_of(StockType::InStock, data, business)
        };
        return insert(store, clock.now(), business, draft).await;
    };
    let given = store.lock_vehicle(business.id, id).await?;
    let given = given.ok_or(VehicleError::NotFound(id))?;
    if given.content.kind != StockType::Appraisal {
        let data = stock_data(store, business, &given.content.data).await?;
        let draft = VehicleDraft {
            country: given.content.country,
            registration: given.content.registration.clone(),
            owner: given.content.owner,
            ..draft_of(StockType::InStock, data, business)
        };
        return insert(store, clock.now(), business, draft).await;
    }
    if given.content.status != VehicleStatus::Accepted {
        let (_, stock) = accept_offer(store, clock, by, id, AcceptOffer::default()).await?;
        return Ok(stock);
    }
    let stock = &given.content.data.appraisal.confirm.stock_id;
    let stock = stock
        .parse()
        .map(VehicleId::new)
        .map_err(|_| VehicleError::NotFound(id))?;
    let locked = store.lock_vehicle(business.id, stock).await?;
    locked.ok_or(VehicleError::NotFound(stock))
}
