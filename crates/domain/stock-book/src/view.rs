//! The representation of the stock book in the API, and as CSV (areas §10.6).

use forecourt_billing::{InvoiceId, InvoiceNumber, PurchaseId, PurchaseNumber, VatScheme};
use forecourt_kernel::{Date, Money, VehicleId};
use serde::Serialize;

use crate::{Particular, StockContent, StockEntry, StockPurchase, StockSale, StockStatus};

/// An entry of the stock book. Amounts of money are written `"1234.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StockBookEntry))]
pub struct StockEntryView<'a> {
    /// Running number of the business, from 1.
    number: i64,
    /// The vehicle, which may be deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    vehicle: VehicleId,
    /// Registration mark; may be empty.
    registration: &'a str,
    /// VIN; may be empty.
    vin: &'a str,
    /// Description of the vehicle.
    description: &'a str,
    /// The scheme of the sale once it is sold, and of the purchase before.
    vat_scheme: VatScheme,
    /// The current state.
    status: StockStatus,
    /// The purchase; null if the vehicle was not acquired.
    #[cfg_attr(feature = "openapi", schema(required))]
    purchase: Option<PurchaseView<'a>>,
    /// The sale; null while the vehicle is not sold.
    #[cfg_attr(feature = "openapi", schema(required))]
    sale: Option<SaleView<'a>>,
    /// The price of the sale less that of the purchase; null unless `vat_due` is known.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "2995.00"))]
    margin: Option<Money>,
    /// The tax on the margin; null unless the vehicle was bought and sold under the margin scheme, and nothing is missing.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "499.17"))]
    vat_due: Option<Money>,
    /// True if nothing is missing.
    complete: bool,
    /// The particulars that the margin scheme demands, and that the entry lacks.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Particular>, max_items = 6))]
    missing: &'a [Particular],
}

/// The purchase of a vehicle in the stock book.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StockBookPurchase))]
struct PurchaseView<'a> {
    /// Id of the purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: PurchaseId,
    /// Number of the purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "PUR-1"))]
    number: Option<PurchaseNumber>,
    /// Its day.
    date: Date,
    /// The supplier's number of its invoice; may be empty.
    supplier_invoice: &'a str,
    /// The supplier's name; empty once it is kept no longer.
    supplier: &'a str,
    /// The price, tax included.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "10000.00"))]
    price: Money,
    /// The tax that it shows.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    vat: Money,
}

/// The sale of a vehicle in the stock book.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StockBookSale))]
struct SaleView<'a> {
    /// Id of the invoice; null for a sale without one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    id: Option<InvoiceId>,
    /// Number of the invoice.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "INV-1"))]
    number: Option<InvoiceNumber>,
    /// Its day.
    date: Date,
    /// The customer's name; empty once it is kept no longer.
    customer: &'a str,
    /// The price less credits, tax included; null if a sale without an invoice has none.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "12995.00"))]
    price: Option<Money>,
    /// The tax that the invoices show.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    vat: Money,
}

impl<'a> From<&'a StockEntry> for StockEntryView<'a> {
    fn from(entry: &'a StockEntry) -> Self {
        let StockEntry { number, content } = entry;
        let StockContent {
            vehicle,
            registration,
            vin,
            description,
            vat_scheme,
            status,
            purchase,
            sale,
            margin,
            vat_due,
            missing,
        } = content;
        Self {
            number: *number,
            vehicle: *vehicle,
            registration,
            vin,
            description,
            vat_scheme: *vat_scheme,
            status: *status,
            purchase: purchase.as_ref().map(PurchaseView::from),
            sale: sale.as_ref().map(SaleView::from),
            margin: *margin,
            vat_due: *vat_due,
            complete: content.is_complete(),
            missing,
        }
    }
}

impl<'a> From<&'a StockPurchase> for PurchaseView<'a> {
    fn from(purchase: &'a StockPurchase) -> Self {
        let StockPurchase {
            id,
            number,
            date,
            supplier_invoice,
            supplier,
            vat_scheme: _,
            price,
            vat,
        } = purchase;
        Self {
            id: *id,
            number: *number,
            date: *date,
            supplier_invoice,
            supplier,
            price: *price,
            vat: *vat,
        }
    }
}

impl<'a> From<&'a StockSale> for SaleView<'a> {
    fn from(sale: &'a StockSale) -> Self {
        let StockSale {
            id,
            number,
            date,
            customer,
            price,
            vat,
        } = sale;
        Self {
            id: *id,
            number: *number,
            date: *date,
            customer,
            price: *price,
            vat: *vat,
        }
    }
}

/// The titles of the columns of the stock book as CSV: the paths of the members.
pub const CSV_HEADER: [&str; 24] = [
    "number",
    "vehicle",
    "registration",
    "vin",
    "description",
    "vat_scheme",
    "status",
    "purchase.id",
    "purchase.number",
    "purchase.date",
    "purchase.supplier_invoice",
    "purchase.supplier",
    "purchase.price",
    "purchase.vat",
    "sale.id",
    "sale.number",
    "sale.date",
    "sale.customer",
    "sale.price",
    "sale.vat",
    "margin",
    "vat_due",
    "complete",
    "missing",
];

/// Returns the cells of an entry, in the order of [`CSV_HEADER`]. What is null is empty.
pub fn csv_row(entry: &StockEntry) -> [String; 24] {
    fn text(value: Option<impl ToString>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let StockEntry { number, content } = entry;
    let (bought, sold) = (content.purchase.as_ref(), content.sale.as_ref());
    let missing: Vec<&str> = content.missing.iter().map(|missing| missing.name()).collect();
    [
        number.to_string(),
        content.vehicle.to_string(),
        content.registration.clone(),
        content.vin.clone(),
        content.description.clone(),
        content.vat_scheme.name().to_owned(),
        content.status.name().to_owned(),
        text(bought.map(|bought| bought.id)),
        text(bought.and_then(|bought| bought.number)),
        text(bought.map(|bought| bought.date)),
        text(bought.map(|bought| &bought.supplier_invoice)),
        text(bought.map(|bought| &bought.supplier)),
        text(bought.map(|bought| bought.price)),
        text(bought.map(|bought| bought.vat)),
        text(sold.and_then(|sold| sold.id)),
        text(sold.and_then(|sold| sold.number)),
        text(sold.map(|sold| sold.date)),
        text(sold.map(|sold| &sold.customer)),
        text(sold.and_then(|sold| sold.price)),
        text(sold.map(|sold| sold.vat)),
        text(content.margin),
        text(content.vat_due),
        content.is_complete().to_string(),
        missing.join(" "),
    ]
}
