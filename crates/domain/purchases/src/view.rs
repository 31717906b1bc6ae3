//! The representation of a purchase in the API and in webhooks (areas §10.4).

use forecourt_billing::{BillLine, BillStatus, LegalParty, Party, Payment, PurchaseId, PurchaseNumber, Totals};
use forecourt_kernel::{ContactId, Currency, Date, SiteId, Timestamp, Version, Viewed};
use serde::Serialize;

use crate::{LinkedJob, Purchase, PurchaseContent, PurchaseCredit, PurchaseKind};

/// A purchase in one of its views.
pub type PurchaseView<'a> = Viewed<SimplePurchase<'a>, FullPurchase<'a>>;

/// A purchase in the simple view. Amounts of money are written `"1234.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimplePurchase))]
pub struct SimplePurchase<'a> {
    /// Purchase id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: PurchaseId,
    /// The site of the purchase; 0 is the main one.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// `PUR-` and a running number of the business; null for a draft.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "PUR-1"))]
    number: Option<PurchaseNumber>,
    /// The current state.
    status: PurchaseStatusView,
    /// The purpose of the purchase.
    #[serde(rename = "type")]
    kind: PurchaseKind,
    /// The supplier; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    supplier: Option<ContactId>,
    /// The supplier's number of its invoice; may be empty.
    supplier_invoice: &'a str,
    /// The day of the purchase.
    date: Date,
    /// The last day to pay it.
    due_date: Date,
    /// The currency of all amounts.
    currency: Currency,
    /// The sums.
    totals: Totals,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// A purchase. Amounts of money are written `"1234.00"`, rates `"20.00"`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Purchase))]
pub struct FullPurchase<'a> {
    #[serde(flatten)]
    simple: SimplePurchase<'a>,
    /// The lines.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<BillLine>))]
    lines: &'a [BillLine],
    /// The payments, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Payment>))]
    payments: &'a [Payment],
    /// The credits, oldest first.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<PurchaseCredit>))]
    credit_notes: &'a [PurchaseCredit],
    /// The job that it is linked to.
    #[cfg_attr(feature = "openapi", schema(required))]
    vehicle_job: Option<LinkedJob>,
    /// The supplier: live in a draft, frozen at issue; null if it was deleted before.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Party>, required))]
    bill_from: Option<&'a Party>,
    /// The business: live in a draft, frozen at issue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LegalParty>, required))]
    bill_to: Option<&'a LegalParty>,
    /// Time of issue, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    issued: Option<Timestamp>,
    /// Notes of the staff.
    notes: &'a str,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

/// The state of a purchase.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurchaseStatusView {
    /// 0 draft, 1 issued, 2 paid, 3 cancelled, 4 credited.
    id: u8,
    /// The name to compare.
    name: &'static str,
}

impl From<BillStatus> for PurchaseStatusView {
    fn from(status: BillStatus) -> Self {
        Self {
            id: status.id(),
            name: status.name(),
        }
    }
}

impl<'a> From<&'a Purchase> for SimplePurchase<'a> {
    fn from(purchase: &'a Purchase) -> Self {
        let PurchaseContent {
            site,
            status,
            kind,
            supplier,
            supplier_invoice,
            date,
            due_date,
            currency,
            ..
        } = &purchase.content;
        Self {
            id: purchase.id,
            site: *site,
            number: purchase.number,
            status: (*status).into(),
            kind: *kind,
            supplier: *supplier,
            supplier_invoice,
            date: *date,
            due_date: *due_date,
            currency: *currency,
            totals: purchase.content.totals(),
            created: purchase.created,
            updated: purchase.updated,
        }
    }
}

/// Shows a purchase whose live parts are [filled in](crate::show_purchase).
impl<'a> From<&'a Purchase> for FullPurchase<'a> {
    fn from(purchase: &'a Purchase) -> Self {
        let PurchaseContent {
            lines,
            payments,
            credit_notes,
            vehicle_job,
            bill_from,
            bill_to,
            issued,
            notes,
            ..
        } = &purchase.content;
        Self {
            simple: purchase.into(),
            lines,
            payments,
            credit_notes,
            vehicle_job: *vehicle_job,
            bill_from: bill_from.as_ref(),
            bill_to: bill_to.as_ref(),
            issued: *issued,
            notes,
            version: purchase.version,
        }
    }
}

/// A made-up purchase for the documentation, as events show it.
#[cfg(feature = "openapi")]
pub fn example_purchase() -> serde_json::Value {
    use forecourt_accounts::Business;
    use forecourt_kernel::BusinessId;

    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let business = Business::new(BusinessId::new(1), "harbour", "Harbour Lane Cars");
    let purchase = Purchase {
        id: PurchaseId::new(77),
        number: None,
        version: Version::FIRST,
        created: at,
        updated: at,
        content: PurchaseContent {
            supplier: Some(ContactId::new(14)),
            bill_from: Some(Party {
                name: "Quay Valeting".into(),
                ..Party::default()
            }),
            bill_to: Some(forecourt_billing::legal_party(&business)),
            ..PurchaseContent::blank(&business, at.date())
        },
    };
    let mut shown = serde_json::to_value(FullPurchase::from(&purchase)).unwrap_or_default();
    forecourt_kernel::add_changed(None, &mut shown);
    shown
}
