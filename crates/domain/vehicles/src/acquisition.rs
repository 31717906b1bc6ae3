//! The acquisition of a vehicle (areas §10.5), and the costs on it that purchases bill (areas §10.4).

use forecourt_billing::{PurchaseId, PurchaseNumber};
use forecourt_kernel::{ContactId, Date, Money};
use serde::{Deserialize, Serialize};

use crate::{CostRow, CostRowId, Stock};

/// An acquisition that stands. Its serialised form is part of the vehicle's document: a new member needs `#[serde(default)]`, and no
/// member is ever renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Acquisition {
    /// The purchase of the vehicle.
    pub purchase: PurchaseId,
    /// `true` if it was bought with value added tax shown, so that it cannot be sold under the margin scheme.
    pub with_vat: bool,
}

/// The purchase of a vehicle, as the vehicle shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcquiredFrom {
    /// The purchase.
    pub purchase: PurchaseId,
    /// The number of the purchase.
    pub number: PurchaseNumber,
    /// The vehicle's number in the stock book.
    pub stock_number: i64,
    /// The day of the purchase.
    pub date: Date,
    /// The supplier, and its name.
    pub supplier: (ContactId, String),
    /// The supplier's number of its invoice; may be empty.
    pub supplier_invoice: String,
    /// The price without tax.
    pub net: Money,
    /// The tax on the price.
    pub vat: Money,
    /// The price with tax.
    pub gross: Money,
}

impl Stock {
    /// Shows a purchase of the vehicle, or none. The totals are computed from it later.
    pub(crate) fn set_purchase(&mut self, from: Option<&AcquiredFrom>) {
        let text = |shown: fn(&AcquiredFrom) -> String| from.map(shown).unwrap_or_default();
        self.purchase_date = from.map(|from| from.date);
        self.purchase_invoice = text(|from| from.number.to_string());
        self.purchase_supplier = text(|from| from.supplier.1.clone());
        self.purchase_supplier_id = from.map(|from| from.supplier.0);
        self.purchase_supplier_invoice = text(|from| from.supplier_invoice.clone());
        self.purchase_price = from.map(|from| from.net);
        self.purchase_price_vat = from.map(|from| from.vat);
        self.purchase_price_total = from.map(|from| from.gross);
    }
}

/// A cost on a vehicle that a line of a purchase bills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BilledCost {
    /// The purchase.
    pub purchase: PurchaseNumber,
    /// The number of the line.
    pub line: i64,
    /// The category, such as Valet or MOT.
    pub category: String,
    /// The supplier's name.
    pub supplier: String,
    /// The part of the cost without tax that is not credited.
    pub net: Money,
    /// The tax on it.
    pub vat: Money,
    /// The supplier's number of its invoice; may be empty.
    pub supplier_invoice: String,
    /// The day of the purchase.
    pub date: Date,
    /// `true` once the line is credited in full.
    pub is_credited: bool,
}

impl BilledCost {
    /// Returns the row that it has among the costs of the vehicle.
    pub(crate) fn row(self) -> CostRow {
        let id = self.id();
        let Self {
            purchase,
            line: _,
            category,
            supplier,
            net,
            vat,
            supplier_invoice,
            date,
            is_credited: _,
        } = self;
        CostRow {
            kind: category,
            supplier,
            cost: Some(net),
            vat: Some(vat),
            invoice: supplier_invoice,
            reference: purchase.to_string(),
            date: Some(date),
            id: Some(id),
            total: None,
        }
    }

    pub(crate) fn id(&self) -> CostRowId {
        CostRowId::Word(format!("{}-{}", self.purchase, self.line))
    }
}
