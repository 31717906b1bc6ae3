//! The representation of an order in the API and in webhooks (areas §10.3).

use forecourt_billing::{
    Agreement, BillLine, DealId, InvoiceId, LegalParty, OrderId, OrderNumber, PartExchange, Party, SaleFinance,
};
use forecourt_kernel::{ContactId, Currency, Date, SiteId, StaffId, Timestamp, VehicleId, Version, Viewed};
use serde::Serialize;

use crate::{Order, OrderContent, OrderStatus, OrderTotals};

/// An order in one of its views.
pub type OrderView<'a> = Viewed<SimpleOrder, FullOrder<'a>>;

/// An order in the simple view. Amounts of money are written `"1234.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimpleOrder {
    /// Order id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: OrderId,
    /// The site of the order; 0 is the main one.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// `ORD-` and a running number of the business; null for a draft.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "ORD-1"))]
    number: Option<OrderNumber>,
    /// The current state.
    status: OrderStatusView,
    /// The customer; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    customer: Option<ContactId>,
    /// The vehicle of the first vehicle line.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// The day of the order.
    date: Date,
    /// The last day of the offer.
    #[cfg_attr(feature = "openapi", schema(required))]
    valid_until: Option<Date>,
    /// The currency of all amounts.
    currency: Currency,
    /// The sums.
    totals: OrderTotals,
    /// The invoice that it became.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    invoice: Option<InvoiceId>,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// An order. Amounts of money are written `"1234.00"`, rates `"20.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Order))]
pub struct FullOrder<'a> {
    #[serde(flatten)]
    simple: SimpleOrder,
    /// The customer's reference; may be empty.
    reference: &'a str,
    /// The deal that it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    deal: Option<DealId>,
    /// The customer: live in a draft, frozen at issue; null if it was deleted before.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Party>, required))]
    bill_to: Option<&'a Party>,
    /// The business: live in a draft, frozen at issue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LegalParty>, required))]
    bill_from: Option<&'a LegalParty>,
    /// The lines. Nothing of them is credited.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<OrderLine<'static>>))]
    lines: Vec<OrderLine<'a>>,
    /// The vehicles given in part exchange.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PartExchange>))]
    part_exchanges: &'a [PartExchange],
    /// The finance of the sale.
    finance: SaleFinance,
    /// Staff user id of the salesperson.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    salesperson: Option<StaffId>,
    /// True if it is agreed to at a distance.
    distance: bool,
    /// The last day on which a distance buyer can cancel.
    #[cfg_attr(feature = "openapi", schema(required))]
    cancel_until: Option<Date>,
    /// The terms.
    terms: &'a str,
    /// Notes of the staff.
    notes: &'a str,
    /// Time of the issue, epoch seconds; null before it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    issued: Option<Timestamp>,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

/// A line of an order.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OrderLine<'a> {
    /// Its number within the order, from 1.
    id: i64,
    /// The purpose of the line.
    #[serde(rename = "type")]
    kind: forecourt_billing::LineKind,
    /// Id of a product of the business's catalogue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required))]
    product: Option<&'a str>,
    /// The vehicle that the line is for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// The vehicle's number in the stock book, frozen at issue.
    #[cfg_attr(feature = "openapi", schema(required))]
    stock_number: Option<i64>,
    /// A description of the item.
    description: &'a str,
    /// The number of items. The amounts are for all of them together.
    quantity: i64,
    /// The amount without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "400.00"))]
    net: forecourt_kernel::Money,
    /// The VAT scheme.
    vat_scheme: forecourt_billing::VatScheme,
    /// The rate of value added tax, in percent.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "20.00"))]
    vat_rate: forecourt_billing::VatRate,
    /// The tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "80.00"))]
    vat: forecourt_kernel::Money,
    /// The amount with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "480.00"))]
    gross: forecourt_kernel::Money,
    /// Nominal code; may be empty.
    #[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 32))]
    nominal: &'a str,
}

impl<'a> From<&'a BillLine> for OrderLine<'a> {
    fn from(line: &'a BillLine) -> Self {
        Self {
            id: line.id,
            kind: line.kind,
            product: line.product.as_deref(),
            vehicle: line.vehicle,
            stock_number: line.stock_number,
            description: &line.description,
            quantity: line.quantity,
            net: line.net,
            vat_scheme: line.vat_scheme,
            vat_rate: line.vat_rate,
            vat: line.vat,
            gross: line.gross,
            nominal: &line.nominal,
        }
    }
}

/// The state of an order.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OrderStatusView {
    /// 0 draft, 1 issued, 2 converted, 3 cancelled.
    id: u8,
    /// The name to compare.
    name: &'static str,
}

impl OrderStatusView {
    /// Returns the representation of `status`.
    pub const fn new(status: OrderStatus) -> Self {
        Self {
            id: status.id(),
            name: status.name(),
        }
    }
}

impl From<&Order> for SimpleOrder {
    fn from(order: &Order) -> Self {
        let Order { content, .. } = order;
        let Agreement {
            site,
            customer,
            vehicle,
            date,
            currency,
            ..
        } = &content.agreement;
        Self {
            id: order.id,
            site: *site,
            number: order.number,
            status: OrderStatusView::new(content.status),
            customer: *customer,
            vehicle: *vehicle,
            date: *date,
            valid_until: content.valid_until,
            currency: *currency,
            totals: content.totals(),
            invoice: content.invoice,
            created: order.created,
            updated: order.updated,
        }
    }
}

/// Shows an order whose agreement is [filled](forecourt_billing::Live::fill).
impl<'a> From<&'a Order> for FullOrder<'a> {
    fn from(order: &'a Order) -> Self {
        let OrderContent { agreement, issued, .. } = &order.content;
        let Agreement {
            lines,
            notes,
            deal,
            part_exchanges,
            finance,
            reference,
            salesperson,
            distance,
            cancel_until,
            terms,
            bill_to,
            bill_from,
            ..
        } = agreement;
        Self {
            simple: order.into(),
            reference,
            deal: *deal,
            bill_to: bill_to.as_ref(),
            bill_from: bill_from.as_ref(),
            lines: lines.iter().map(OrderLine::from).collect(),
            part_exchanges,
            finance: *finance,
            salesperson: *salesperson,
            distance: *distance,
            cancel_until: *cancel_until,
            terms,
            notes,
            issued: *issued,
            version: order.version,
        }
    }
}

/// A made-up order for the documentation, as events show it.
#[cfg(feature = "openapi")]
pub fn example_order() -> serde_json::Value {
    use forecourt_accounts::Business;
    use forecourt_kernel::BusinessId;

    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let business = Business::new(BusinessId::new(1), "harbour", "Harbour Lane Cars");
    let blank = Agreement::blank(&business, &crate::order::defaults(&business, at.date()));
    let order = Order {
        id: OrderId::new(31),
        number: None,
        version: Version::FIRST,
        created: at,
        updated: at,
        content: OrderContent::draft(Agreement {
            customer: Some(ContactId::new(311)),
            bill_to: Some(Party {
                name: "Amelia Hart".into(),
                ..Party::default()
            }),
            bill_from: Some(forecourt_billing::legal_party(&business)),
            ..blank
        }),
    };
    serde_json::to_value(FullOrder::from(&order)).unwrap_or_default()
}
