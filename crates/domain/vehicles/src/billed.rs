//! A vehicle as documents see it (areas §10.1).

use forecourt_billing::BilledVehicle;
use forecourt_reference::StockType;

use crate::reservation::{carries_vat, words};
use crate::{Data, Vehicle, VehicleStatus};

impl From<&Vehicle> for BilledVehicle {
    fn from(vehicle: &Vehicle) -> Self {
        let Data {
            vehicle: identity,
            stock,
            ..
        } = &*vehicle.content.data;
        let text = |shown: Option<String>| shown.unwrap_or_default();
        let registration = text(vehicle.content.registration.as_ref().map(ToString::to_string));
        let vin = text(stock.vin.0.as_ref().map(ToString::to_string));
        Self {
            id: vehicle.id,
            description: line_description(vehicle, &registration, &vin),
            registration,
            vin,
            make: identity.make.clone(),
            model: identity.model.clone(),
            mileage: identity.mileage.map(i64::from),
            price: stock.price_website,
            is_price_net: words(&stock.vat_pricing).join(" ") == "ex vat",
            carries_vat: carries_vat(stock),
            stock_number: vehicle.content.stock_number,
            was_bought_with_vat: vehicle
                .content
                .acquisition
                .is_some_and(|acquisition| acquisition.with_vat),
            is_exchangeable: match vehicle.content.kind {
                StockType::Appraisal => {
                    matches!(
                        vehicle.content.status,
                        VehicleStatus::Appraised | VehicleStatus::Accepted
                    )
                }
                StockType::Customer => vehicle.content.status != VehicleStatus::Deleted,
                _ => false,
            },
        }
    }
}

/// Describes a vehicle for a line: year, make, model, derivative, registration, mileage and VIN, as far as they are known.
fn line_description(vehicle: &Vehicle, registration: &str, vin: &str) -> String {
    let Data {
        vehicle: identity,
        history,
        ..
    } = &*vehicle.content.data;
    let year = history.year.map(|year| year.get().to_string()).unwrap_or_default();
    let known = [
        &*year,
        &identity.make,
        &identity.model,
        &identity.derivative,
        registration,
    ];
    let known: Vec<_> = known
        .into_iter()
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    let mileage = identity.mileage.map(|mileage| format!("{mileage} miles"));
    let vin = (!vin.is_empty()).then(|| format!("VIN {vin}"));
    let parts: Vec<_> = [Some(known.join(" ")).filter(|known| !known.is_empty()), mileage, vin]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        return vehicle.tag.to_string();
    }
    parts.join(", ")
}
