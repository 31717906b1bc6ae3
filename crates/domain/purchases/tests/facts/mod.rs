//! The business of the tests, with its contacts and its vehicle.

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{BilledContact, BilledVehicle, Party};
use forecourt_kernel::{BusinessId, ContactId, Money, ScopeSet, VehicleId};
use forecourt_purchases::testing::MemoryPurchaseStore;

/// Suppliers and a vehicle of the business.
pub(crate) const VALETERS: i64 = 7;
pub(crate) const QUAY: i64 = 8;
pub(crate) const FOCUS: i64 = 21;

pub(crate) fn by() -> Caller {
    Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all())
}

fn a_supplier(id: i64, name: &str, email: &str) -> BilledContact {
    BilledContact {
        id: ContactId::new(id),
        party: Party {
            name: name.to_owned(),
            ..Party::default()
        },
        email: email.to_owned(),
        nominal_sales: "4010".to_owned(),
        nominal_purchases: "5010".to_owned(),
    }
}

pub(crate) fn store() -> MemoryPurchaseStore {
    let ours = by().business_id();
    let focus = BilledVehicle {
        id: VehicleId::new(FOCUS),
        description: "2019 Ford Focus".to_owned(),
        registration: "AB19 CDE".to_owned(),
        vin: String::new(),
        make: "Ford".to_owned(),
        model: "Focus".to_owned(),
        mileage: None,
        price: Some(Money::from_minor(1_299_500)),
        is_price_net: false,
        carries_vat: false,
        stock_number: None,
        was_bought_with_vat: false,
        is_exchangeable: false,
    };
    MemoryPurchaseStore {
        contacts: vec![
            (ours, a_supplier(VALETERS, "Quay Valeting", "desk@quay.example")),
            (ours, a_supplier(QUAY, "Harbour Tyres", "")),
        ],
        vehicles: vec![(ours, focus)],
        ..MemoryPurchaseStore::default()
    }
}
