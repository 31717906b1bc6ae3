//! The lines of the stock book.

use forecourt_billing::{InvoiceId, InvoiceNumber, PurchaseId, PurchaseNumber, VatScheme};
use forecourt_kernel::{Date, Money, VehicleId};
use serde::{Deserialize, Serialize};

/// The state of a vehicle in the stock book (areas §10.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StockStatus {
    /// It is not sold.
    InStock,
    /// It is sold.
    Sold,
    /// Its acquisition was undone.
    Returned,
    /// It was deleted while it was in stock.
    Removed,
}

impl StockStatus {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::InStock, Self::Sold, Self::Returned, Self::Removed];

    /// Returns the name in records and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InStock => "in_stock",
            Self::Sold => "sold",
            Self::Returned => "returned",
            Self::Removed => "removed",
        }
    }
}

/// The error for a text that names no state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of in_stock, sold, returned, removed")]
pub struct UnknownStockStatus;

impl std::str::FromStr for StockStatus {
    type Err = UnknownStockStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStockStatus> {
        let found = Self::ALL.into_iter().find(|status| status.name() == text);
        found.ok_or(UnknownStockStatus)
    }
}

/// A particular that an entry lacks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StockBookParticular))]
pub enum Particular {
    /// The purchase of the vehicle.
    #[serde(rename = "purchase")]
    Purchase,
    /// The name of its supplier.
    #[serde(rename = "purchase.supplier")]
    Supplier,
    /// The price that it was bought for.
    #[serde(rename = "purchase.price")]
    PurchasePrice,
    /// The number of the invoice that it was sold by.
    #[serde(rename = "sale.number")]
    SaleNumber,
    /// The name of the customer.
    #[serde(rename = "sale.customer")]
    Customer,
    /// Its registration mark.
    #[serde(rename = "vehicle.registration")]
    Registration,
}

impl Particular {
    /// Returns the name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Purchase => "purchase",
            Self::Supplier => "purchase.supplier",
            Self::PurchasePrice => "purchase.price",
            Self::SaleNumber => "sale.number",
            Self::Customer => "sale.customer",
            Self::Registration => "vehicle.registration",
        }
    }
}

/// The purchase of a vehicle, as the stock book keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StockPurchase {
    /// Its id.
    pub id: PurchaseId,
    /// Its number.
    pub number: Option<PurchaseNumber>,
    /// Its day.
    pub date: Date,
    /// The supplier's number of its invoice; may be empty.
    pub supplier_invoice: String,
    /// The supplier's name; empty once it is kept no longer.
    pub supplier: String,
    /// The scheme that it was bought under.
    pub vat_scheme: VatScheme,
    /// The price, tax included.
    pub price: Money,
    /// The tax that the purchase shows.
    pub vat: Money,
}

/// The sale of a vehicle, as the stock book keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StockSale {
    /// The id of its invoice; `None` for a sale without one.
    pub id: Option<InvoiceId>,
    /// The number of its invoice.
    pub number: Option<InvoiceNumber>,
    /// Its day.
    pub date: Date,
    /// The customer's name; empty once it is kept no longer.
    pub customer: String,
    /// The price less credits, tax included; `None` if a sale without an invoice names none.
    pub price: Option<Money>,
    /// The tax that the invoices show.
    pub vat: Money,
}

/// The content of an entry.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StockContent {
    /// The vehicle, which may be deleted.
    pub vehicle: VehicleId,
    /// Its registration mark; may be empty.
    pub registration: String,
    /// Its VIN; may be empty.
    pub vin: String,
    /// Its description.
    pub description: String,
    /// The scheme of the sale once it is sold, and of the purchase before.
    pub vat_scheme: VatScheme,
    /// Its state.
    pub status: StockStatus,
    /// Its purchase.
    pub purchase: Option<StockPurchase>,
    /// Its sale.
    pub sale: Option<StockSale>,
    /// The price of the sale less that of the purchase.
    pub margin: Option<Money>,
    /// The tax on the margin.
    pub vat_due: Option<Money>,
    /// The particulars that it lacks.
    pub missing: Vec<Particular>,
}

impl StockContent {
    /// Returns `true` if no particular is missing.
    pub const fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

/// An entry of the stock book.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StockEntry {
    /// Its number, unique within the business.
    pub number: i64,
    /// Everything else.
    pub content: StockContent,
}
