//! The facts of other areas that a document is made of, and the port that reads them.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, ContactId, Money, StoreResult, VehicleId};

use crate::{DealId, Party, VatRate, VatScheme};

/// A contact that a document is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BilledContact {
    /// Its id.
    pub id: ContactId,
    /// Its name and address.
    pub party: Party,
    /// Its email address; may be empty.
    pub email: String,
    /// Nominal code of sales to it; may be empty.
    pub nominal_sales: String,
    /// Nominal code of purchases from it; may be empty.
    pub nominal_purchases: String,
}

/// A vehicle that a line is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BilledVehicle {
    /// Its id.
    pub id: VehicleId,
    /// A description for a line: year, make, model, derivative, registration, mileage and VIN, as far as they are known.
    pub description: String,
    /// Registration; may be empty.
    pub registration: String,
    /// VIN; may be empty.
    pub vin: String,
    /// Make; may be empty.
    pub make: String,
    /// Model; may be empty.
    pub model: String,
    /// Mileage, if it is known.
    pub mileage: Option<i64>,
    /// Advertised price.
    pub price: Option<Money>,
    /// `true` if the price does not include value added tax.
    pub is_price_net: bool,
    /// `true` if its sale carries value added tax.
    pub carries_vat: bool,
    /// Its number in the stock book, while it has one.
    pub stock_number: Option<i64>,
    /// `true` if it was acquired with value added tax shown, so that it cannot be sold under the margin scheme.
    pub was_bought_with_vat: bool,
    /// `true` if it can be given in part exchange: an appraisal with an offer, or a customer's vehicle.
    pub is_exchangeable: bool,
}

/// A product of the business's catalogue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its price with tax, if it has one.
    pub gross: Option<Money>,
    /// Its VAT scheme, if the file names one.
    pub vat_scheme: Option<VatScheme>,
    /// Its VAT rate, if the file names one.
    pub vat_rate: Option<VatRate>,
    /// Its nominal code; may be empty.
    pub nominal: String,
}

/// Reads what documents show of contacts and vehicles. Records that are deleted, or belong to another business, are left out.
#[async_trait]
pub trait BillingReader: Send {
    /// Returns the contacts among `ids`, in any order.
    async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>>;

    /// Returns the vehicles among `ids`, in any order.
    async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>>;

    /// Returns `true` if the business has the deal. A store without deals has none.
    async fn deal_exists(&mut self, _business: BusinessId, _deal: DealId) -> StoreResult<bool> {
        Ok(false)
    }
}
