//! The representation of a deal in the API and in webhooks (areas §10.12).

use forecourt_billing::{BillLine, DealId, InvoiceId, OrderId, PartExchange, VatRate};
use forecourt_kernel::{ContactId, LeadId, Money, SiteId, StaffId, Timestamp, VehicleId, Version, Viewed};
use forecourt_reference::LeadChannel;
use serde::Serialize;

use crate::stage::DealStageView;
use crate::{
    Deal, DealContent, DealFinance, DealReason, DealTotals, DealWarning, Delivery, FinanceStatus, FinanceType,
    HistoryEntry,
};

/// A deal in one of its views.
pub type DealView<'a> = Viewed<SimpleDeal, FullDeal<'a>>;

/// A deal in the simple view. Amounts of money are written `"1234.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimpleDeal {
    /// Deal id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: DealId,
    /// Site id; 0 is the main one.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// Deal reference number: 1, 2, 3 … within the business.
    reference: i64,
    /// The stage.
    stage: DealStageView,
    /// The customer; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
    /// The lead that it came of.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    lead: Option<LeadId>,
    /// The car.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    vehicle: Option<VehicleId>,
    /// The staff user who leads it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    staff: Option<StaffId>,
    /// The sums.
    totals: DealTotals,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// A deal. Amounts of money are written `"1234.00"`, rates `"9.90"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Deal))]
pub struct FullDeal<'a> {
    #[serde(flatten)]
    simple: SimpleDeal,
    /// The channel by which it came.
    source: LeadChannel,
    /// The system that knows the deal under `external_id`; may be empty.
    provider: &'a str,
    /// That system's id of the deal; may be empty.
    external_id: &'a str,
    /// The lines beside the car's.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<BillLine>))]
    lines: &'a [BillLine],
    /// The price of the car with tax; null if none is known.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "12995.00"))]
    price: Option<Money>,
    /// The cars given in part exchange.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PartExchange>))]
    part_exchanges: &'a [PartExchange],
    /// The finance. Its figures are an aid, and no regulated quotation.
    finance: DealFinanceView<'a>,
    /// The hand-over.
    #[cfg_attr(feature = "openapi", schema(value_type = Delivery))]
    delivery: &'a Delivery,
    /// True if it is agreed to at a distance.
    distance: bool,
    /// The last order that it became.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    order: Option<OrderId>,
    /// The last invoice that it became.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    invoice: Option<InvoiceId>,
    /// True if the deal made the car's present reservation.
    reservation: bool,
    /// The reason why it did not come about; null unless it is declined or fatal.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<DealReason>, required))]
    reason: Option<&'a DealReason>,
    /// The stages that it came to, newest first, at most 100.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<HistoryEntry>))]
    history: &'a [HistoryEntry],
    /// Notes of the staff.
    notes: &'a str,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

/// The finance of a deal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealFinance))]
pub struct DealFinanceView<'a> {
    /// Its kind.
    #[serde(rename = "type")]
    kind: FinanceType,
    /// Contact id of the provider.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    provider: Option<ContactId>,
    /// The amount lent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "6000.00"))]
    amount: Option<Money>,
    /// The amount paid at once.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    deposit: Option<Money>,
    /// The number of months.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    term: Option<u32>,
    /// The APR in percent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^\\d+\\.\\d{2}$", example = "9.90"))]
    apr: Option<VatRate>,
    /// Each monthly payment; computed for hire purchase and personal contract purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "150.92"))]
    monthly: Option<Money>,
    /// The payment at the end.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    final_payment: Option<Money>,
    /// A fee paid with the first instalment.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    admin_fee: Option<Money>,
    /// A fee paid with the last instalment.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "10.00"))]
    option_purchase_fee: Option<Money>,
    /// Everything that the customer pays; computed for hire purchase and personal contract purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "7754.16"))]
    total_payable: Option<Money>,
    /// Its state.
    status: FinanceStatus,
    /// The provider's reference; may be empty.
    reference: &'a str,
    /// True if the customer was told that the dealership gets a commission.
    commission_disclosed: bool,
    /// Warnings: codes of what the figures lack.
    warnings: Vec<DealWarning>,
}

impl From<&Deal> for SimpleDeal {
    fn from(deal: &Deal) -> Self {
        let content = &deal.content;
        Self {
            id: deal.id,
            site: content.site,
            reference: deal.reference,
            stage: content.stage.into(),
            contact: content.contact,
            lead: content.lead,
            vehicle: content.vehicle,
            staff: content.staff,
            totals: deal.totals(),
            created: deal.created,
            updated: deal.updated,
        }
    }
}

impl<'a> From<&'a Deal> for FullDeal<'a> {
    fn from(deal: &'a Deal) -> Self {
        // Every field is named, so that a new field does not compile until it has its place here or in the simple view.
        let DealContent {
            site: _,
            stage: _,
            contact: _,
            lead: _,
            vehicle: _,
            staff: _,
            source,
            provider,
            external_id,
            lines,
            price,
            price_sent: _,
            part_exchanges,
            finance,
            delivery,
            distance,
            deposit: _,
            order,
            invoice,
            reason,
            history,
            notes,
        } = &deal.content;
        Self {
            simple: deal.into(),
            source: *source,
            provider,
            external_id,
            lines,
            price: *price,
            part_exchanges,
            finance: finance_view(finance, deal.warnings()),
            delivery,
            distance: *distance,
            order: *order,
            invoice: *invoice,
            reservation: deal.around.is_reserved,
            reason: reason.as_ref(),
            history,
            notes,
            version: deal.version,
        }
    }
}

fn finance_view(finance: &DealFinance, warnings: Vec<DealWarning>) -> DealFinanceView<'_> {
    let (monthly, total_payable) = finance.figures();
    let DealFinance {
        kind,
        provider,
        amount,
        deposit,
        term,
        apr,
        monthly: _,
        final_payment,
        admin_fee,
        option_purchase_fee,
        total_payable: _,
        status,
        reference,
        commission_disclosed,
    } = finance;
    DealFinanceView {
        kind: *kind,
        provider: *provider,
        amount: *amount,
        deposit: *deposit,
        term: *term,
        apr: *apr,
        monthly,
        final_payment: *final_payment,
        admin_fee: *admin_fee,
        option_purchase_fee: *option_purchase_fee,
        total_payable,
        status: *status,
        reference,
        commission_disclosed: *commission_disclosed,
        warnings,
    }
}

/// A made-up deal for the documentation, as events show it.
#[cfg(feature = "openapi")]
pub fn example_deal() -> serde_json::Value {
    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let mut content = DealContent {
        contact: Some(ContactId::new(311)),
        vehicle: Some(VehicleId::new(87)),
        price: Some(Money::from_minor(1_299_500)),
        ..DealContent::blank(crate::DealStage::Begin)
    };
    content.enter(crate::DealStage::Begin, at, crate::MovedBy::Api, None);
    let deal = Deal {
        id: DealId::new(41),
        reference: 12,
        version: Version::FIRST,
        created: at,
        updated: at,
        content,
        around: crate::Surroundings::default(),
    };
    serde_json::to_value(FullDeal::from(&deal)).unwrap_or_default()
}
