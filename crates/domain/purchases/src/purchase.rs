//! The record of a purchase.

use std::str::FromStr;

use forecourt_accounts::Business;
use forecourt_billing::{
    BillLine, BillStatus, InvoiceId, LegalParty, NoteLine, Party, Payment, PurchaseCreditNumber, PurchaseId,
    PurchaseNumber, Totals, sum,
};
use forecourt_kernel::{ContactId, Currency, Date, Line, LongText, Money, SiteId, Timestamp, VehicleId, Version};
use serde::{Deserialize, Serialize};

/// The purpose of a purchase.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PurchaseKind {
    /// A vehicle for the stock.
    Acquisition,
    /// The finance that was owed on a vehicle taken in part exchange.
    Settlement,
    /// Anything else: costs on vehicles, and overheads.
    Cost,
}

impl PurchaseKind {
    /// Every purpose.
    pub const ALL: [Self; 3] = [Self::Acquisition, Self::Settlement, Self::Cost];

    /// Returns the name in records and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquisition => "acquisition",
            Self::Settlement => "settlement",
            Self::Cost => "cost",
        }
    }
}

/// The error for a text that names no purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of acquisition, settlement, cost")]
pub struct UnknownPurchaseKind;

impl FromStr for PurchaseKind {
    type Err = UnknownPurchaseKind;

    fn from_str(text: &str) -> Result<Self, UnknownPurchaseKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or(UnknownPurchaseKind)
    }
}

/// The credit of a purchase. It takes back all or part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurchaseCredit {
    /// Its number: `PCN-` and a running number of the business.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PCN-1"))]
    pub number: PurchaseCreditNumber,
    /// The supplier's reference; may be empty.
    pub supplier_reference: Line,
    /// The day of the credit.
    pub date: Date,
    /// The reason for the credit.
    pub reason: Line,
    /// The amount that it takes back, without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "50.00"))]
    pub net: Money,
    /// The tax that it takes back.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "10.00"))]
    pub vat: Money,
    /// The amount that it takes back, with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "60.00"))]
    pub gross: Money,
    /// The credited lines.
    pub lines: Vec<NoteLine>,
}

impl PurchaseCredit {
    pub(crate) fn new(
        number: PurchaseCreditNumber,
        supplier_reference: Line,
        date: Date,
        reason: Line,
        lines: Vec<NoteLine>,
    ) -> Self {
        Self {
            number,
            supplier_reference,
            date,
            reason,
            net: sum(lines.iter().map(|line| line.net)),
            vat: sum(lines.iter().map(|line| line.vat)),
            gross: sum(lines.iter().map(|line| line.gross)),
            lines,
        }
    }
}

/// The job of a vehicle that a purchase is linked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkedJob {
    /// The vehicle.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub vehicle: VehicleId,
    /// The id of the job.
    pub job: i64,
}

/// The sale that a purchase came from: a vehicle was taken in part exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PurchaseOrigin {
    /// The invoice of the sale.
    pub invoice: InvoiceId,
    /// The number of the part exchange in it.
    pub part_exchange: i64,
}

/// The content of a purchase: everything except its id, its number, its version and its timestamps.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PurchaseContent {
    /// The site of the purchase; 0 is the main one.
    pub site: SiteId,
    /// Its current state.
    pub status: BillStatus,
    /// The purpose of the purchase.
    #[serde(rename = "type")]
    pub kind: PurchaseKind,
    /// The supplier; `None` once the contact is deleted.
    pub supplier: Option<ContactId>,
    /// The supplier's number of its invoice; may be empty.
    pub supplier_invoice: Line,
    /// The day of the purchase.
    pub date: Date,
    /// The last day to pay it.
    pub due_date: Date,
    /// `true` if a caller chose the last day to pay, so that it does not move with the day of the purchase.
    pub is_due_date_chosen: bool,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// The lines.
    pub lines: Vec<BillLine>,
    /// The payments, oldest first.
    pub payments: Vec<Payment>,
    /// The credits, oldest first.
    pub credit_notes: Vec<PurchaseCredit>,
    /// The job that it is linked to.
    pub vehicle_job: Option<LinkedJob>,
    /// The supplier as the purchase was issued; `None` before that.
    pub bill_from: Option<Party>,
    /// The business as the purchase was issued; `None` before that.
    pub bill_to: Option<LegalParty>,
    /// Notes of the staff.
    pub notes: LongText,
    /// The sale that it came from.
    #[serde(default)]
    pub origin: Option<PurchaseOrigin>,
    /// The time of its issue.
    pub issued: Option<Timestamp>,
}

/// A purchase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Purchase {
    /// Its id, unique across businesses.
    pub id: PurchaseId,
    /// Its number, unique within the business; `None` until it is issued.
    pub number: Option<PurchaseNumber>,
    /// The version, raised with each change.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// Everything else.
    pub content: PurchaseContent,
}

impl PurchaseContent {
    /// Makes a draft without lines or supplier.
    pub fn blank(business: &Business, today: Date) -> Self {
        Self {
            site: SiteId::new(0),
            status: BillStatus::Draft,
            kind: PurchaseKind::Cost,
            supplier: None,
            supplier_invoice: Line::default(),
            date: today,
            due_date: today,
            is_due_date_chosen: false,
            currency: business.country.currency(),
            lines: Vec::new(),
            payments: Vec::new(),
            credit_notes: Vec::new(),
            vehicle_job: None,
            bill_from: None,
            bill_to: None,
            notes: LongText::default(),
            origin: None,
            issued: None,
        }
    }

    /// Returns the sums of the lines, payments and credits.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.lines, &self.payments)
    }

    /// Returns the amount that is not yet credited.
    pub fn creditable(&self) -> Money {
        sum(self.lines.iter().map(BillLine::creditable))
    }

    /// Returns `true` if it stands: it is issued, and not credited in full.
    pub const fn is_live(&self) -> bool {
        matches!(self.status, BillStatus::Issued | BillStatus::Paid)
    }
}

impl Purchase {
    /// Returns the purchase with its version and time of change advanced.
    pub(crate) fn changed_at(self, now: Timestamp) -> Self {
        Self {
            version: self.version.next(),
            // If the clock was set back, the change is still not older than the record.
            updated: now.max(self.created),
            ..self
        }
    }
}

/// Returns the form in which a supplier's numbers are compared: without case and blanks.
pub fn supplier_invoice_key(number: &str) -> String {
    number
        .chars()
        .filter(|char| !char.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}
