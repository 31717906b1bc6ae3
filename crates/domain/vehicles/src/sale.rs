//! The sale of a vehicle (decisions §7, "Sale").

use forecourt_invoices::InvoiceNumber;
use forecourt_kernel::{ContactId, Date, Money, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Vehicle, VehicleDraft};

/// A sale. Its serialised form is part of the vehicle's document: a new member needs `#[serde(default)]`, and none is ever
/// renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sale {
    /// The contact that bought the vehicle; `None` if none was given, or once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The price that was agreed on, in the currency of the business's country; `None` if none was given.
    pub price: Option<Money>,
    /// The day of the sale.
    pub date: Date,
    /// When it was recorded.
    pub at: Timestamp,
    /// When the vehicle was handed over to the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_over: Option<Timestamp>,
}

/// The sale of a vehicle, as `GET /2.0/vehicles/{id}/sale` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleSale))]
pub struct SaleView {
    /// Whether the vehicle is sold.
    sold: bool,
    /// The contact that bought it; null if none was given, and once it is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    customer: Option<ContactId>,
    /// The price that was agreed on; null if none was given.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "16950.00"))]
    price: Option<Money>,
    /// The day of the sale.
    #[cfg_attr(feature = "openapi", schema(required))]
    date: Option<Date>,
    /// When it was recorded, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    at: Option<Timestamp>,
    /// When the vehicle was handed over, epoch seconds; null before that.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    handed_over: Option<Timestamp>,
    /// The number of the deposit's invoice, if it was sold out of a reservation that has one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "INV-1"))]
    deposit_invoice: Option<InvoiceNumber>,
}

/// The sale of a vehicle, as the API shows it; all of it null if there is none.
pub fn read_sale(vehicle: &Vehicle) -> SaleView {
    let VehicleDraft { sale, reservation, .. } = &vehicle.content;
    let Some(sale) = sale else {
        return SaleView::default();
    };
    let Sale {
        customer,
        price,
        date,
        at,
        handed_over,
    } = sale;
    let ended = reservation.ended_by(sale);
    SaleView {
        sold: true,
        customer: *customer,
        price: *price,
        date: Some(*date),
        at: Some(*at),
        handed_over: *handed_over,
        deposit_invoice: ended
            .and_then(|former| former.reservation.invoice)
            .map(|invoice| invoice.number),
    }
}
