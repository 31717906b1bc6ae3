//! The sale of a vehicle (decisions §7, "Sale").

use forecourt_billing::{DealId, InvoiceId, OrderId};
use forecourt_invoices::InvoiceNumber;
use forecourt_kernel::{ContactId, Date, Money, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Vehicle, VehicleDraft};

/// A sale. Its serialised form is part of the vehicle's document: a new member needs `#[serde(default)]`, and no member is ever
/// renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sale {
    /// The contact that bought the vehicle; `None` if none was given, or once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The agreed price, in the currency of the business's country; `None` if none was given.
    pub price: Option<Money>,
    /// The day of the sale.
    pub date: Date,
    /// The time at which it was recorded.
    pub at: Timestamp,
    /// The time at which the vehicle was handed over to the buyer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_over: Option<Timestamp>,
    /// The invoice that bills it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<SaleInvoice>,
}

/// The invoice of a sale.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SaleInvoice {
    /// Its id.
    pub id: InvoiceId,
    /// Its number, for display.
    pub number: InvoiceNumber,
    /// The order that it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderId>,
    /// The deal that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deal: Option<DealId>,
}

/// The sale of a vehicle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleSale))]
pub struct SaleView {
    /// `true` if the vehicle is sold.
    sold: bool,
    /// Contact that bought it; null if none was given, and once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    customer: Option<ContactId>,
    /// Agreed price; null if none was given.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "16950.00"))]
    price: Option<Money>,
    /// Day of the sale.
    #[cfg_attr(feature = "openapi", schema(required))]
    date: Option<Date>,
    /// Time at which the sale was recorded, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    at: Option<Timestamp>,
    /// Time at which the vehicle was handed over, epoch seconds; null before that.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    handed_over: Option<Timestamp>,
    /// Number of the deposit's invoice, if the sale ended a reservation that has one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "INV-1"))]
    deposit_invoice: Option<InvoiceNumber>,
    /// Id of the invoice that bills the sale.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    invoice: Option<InvoiceId>,
    /// Number of that invoice.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "INV-2"))]
    number: Option<InvoiceNumber>,
    /// Order that the invoice was made of.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    order: Option<OrderId>,
    /// Deal that it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    deal: Option<DealId>,
}

/// Returns the representation of a vehicle's sale; all of it is null if there is none.
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
        invoice,
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
        invoice: invoice.map(|invoice| invoice.id),
        number: invoice.map(|invoice| invoice.number),
        order: invoice.and_then(|invoice| invoice.order),
        deal: invoice.and_then(|invoice| invoice.deal),
    }
}
