//! The record of an invoice.

use forecourt_billing::{
    Agreement, AgreementDefaults, BillLine, CreditNumber, InvoiceId, InvoiceNumber, LineKind, NoteLine, OrderId,
    Payment, Totals, VatRate, VatScheme, VatSplit, cut, sum,
};
use forecourt_kernel::{Date, Line, LongText, Money, Timestamp, Version};
use serde::{Deserialize, Serialize};

use crate::{InvoiceStatus, RaiseDeposit};

/// The purpose of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum InvoiceKind {
    /// The deposit of a reservation.
    Deposit,
    /// A sale: it has a vehicle's line.
    Sale,
    /// The part of a sale that a finance provider pays.
    Finance,
    /// Anything else.
    General,
}

impl InvoiceKind {
    /// Every purpose.
    pub const ALL: [Self; 4] = [Self::Deposit, Self::Sale, Self::Finance, Self::General];

    /// Returns the name in records and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Sale => "sale",
            Self::Finance => "finance",
            Self::General => "general",
        }
    }
}

/// The error for a text that names no purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of deposit, sale, finance, general")]
pub struct UnknownInvoiceKind;

impl std::str::FromStr for InvoiceKind {
    type Err = UnknownInvoiceKind;

    fn from_str(text: &str) -> Result<Self, UnknownInvoiceKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or(UnknownInvoiceKind)
    }
}

/// A credit note. It takes back all or part of an invoice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(from = "StoredNote")]
pub struct CreditNote {
    /// Its number: `CN-` and a running number of the business.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "CN-1"))]
    pub number: CreditNumber,
    /// The day of the credit note.
    pub date: Date,
    /// The reason for the credit note.
    pub reason: Line,
    /// The amount that it takes back, without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The tax that it takes back.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The amount that it takes back, with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// The credited lines.
    pub lines: Vec<NoteLine>,
}

/// A credit note as storage has it: those that an earlier release wrote have only their amount with tax.
#[derive(Deserialize)]
struct StoredNote {
    number: CreditNumber,
    date: Date,
    reason: Line,
    #[serde(default)]
    net: Option<Money>,
    #[serde(default)]
    vat: Option<Money>,
    gross: Money,
    #[serde(default)]
    lines: Vec<NoteLine>,
}

impl From<StoredNote> for CreditNote {
    fn from(stored: StoredNote) -> Self {
        let StoredNote {
            number,
            date,
            reason,
            net,
            vat,
            gross,
            lines,
        } = stored;
        Self {
            number,
            date,
            reason,
            net: net.unwrap_or(gross),
            vat: vat.unwrap_or(Money::ZERO),
            gross,
            lines,
        }
    }
}

impl CreditNote {
    /// Makes a credit note of these lines.
    pub fn new(number: CreditNumber, date: Date, reason: Line, lines: Vec<NoteLine>) -> Self {
        Self {
            number,
            date,
            reason,
            net: sum(lines.iter().map(|line| line.net)),
            vat: sum(lines.iter().map(|line| line.vat)),
            gross: sum(lines.iter().map(|line| line.gross)),
            lines,
        }
    }
}

/// A payment of a finance invoice, and the payment of the customer's invoice that it made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ParentPayment {
    /// The number of the payment.
    pub payment: i64,
    /// The number of the parent's payment.
    pub parent: i64,
}

/// The content of an invoice: everything except its id, its number, its version and its timestamps.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvoiceContent {
    /// What the customer agreed to.
    #[serde(flatten)]
    pub agreement: Agreement,
    /// Its current state.
    pub status: InvoiceStatus,
    /// The purpose of the invoice.
    #[serde(rename = "type")]
    pub kind: InvoiceKind,
    /// The last day to pay it.
    pub due_date: Date,
    /// `true` if a caller chose the last day to pay, so that it does not move with the day of the invoice.
    #[serde(default)]
    pub is_due_date_chosen: bool,
    /// The payments, oldest first.
    pub payments: Vec<Payment>,
    /// The credit notes, oldest first.
    pub credit_notes: Vec<CreditNote>,
    /// The order that it was made of.
    #[serde(default)]
    pub order: Option<OrderId>,
    /// The customer's invoice, of a finance invoice.
    #[serde(default)]
    pub parent: Option<InvoiceId>,
    /// The payments of the parent that payments of this finance invoice made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_payments: Vec<ParentPayment>,
    /// The time of its issue.
    #[serde(default)]
    pub issued: Option<Timestamp>,
}

/// An invoice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invoice {
    /// Its id, unique across businesses.
    pub id: InvoiceId,
    /// Its number, unique within the business; `None` until it is issued.
    pub number: Option<InvoiceNumber>,
    /// The version, raised with each change.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// Everything else.
    pub content: InvoiceContent,
}

impl InvoiceContent {
    /// Makes a draft of an agreement.
    pub fn draft(agreement: Agreement, due_days: u32) -> Self {
        let mut draft = Self {
            status: InvoiceStatus::Draft,
            kind: InvoiceKind::General,
            due_date: agreement.date.days_later(due_days),
            agreement,
            is_due_date_chosen: false,
            payments: Vec::new(),
            credit_notes: Vec::new(),
            order: None,
            parent: None,
            parent_payments: Vec::new(),
            issued: None,
        };
        draft.kind = draft.kind_of_lines();
        draft
    }

    /// Drafts the invoice of a deposit (decisions §8). It has one line of the amount, which includes tax at the standard rate or
    /// no tax, and it is due on its own day.
    pub(crate) fn deposit(command: &RaiseDeposit, blank: Agreement, standard: VatRate) -> Self {
        let (vat_scheme, vat_rate) = if command.vat_included {
            (VatScheme::Standard, standard)
        } else {
            (VatScheme::Outside, VatRate::ZERO)
        };
        let VatSplit { net, vat } = vat_rate.split(command.gross);
        let line = BillLine {
            id: 1,
            kind: LineKind::Deposit,
            product: None,
            vehicle: Some(command.vehicle),
            stock_number: None,
            description: describe(&command.vehicle_description),
            category: None,
            quantity: 1,
            net,
            vat_scheme,
            vat_rate,
            vat,
            gross: command.gross,
            credited: Money::ZERO,
            nominal: Line::default(),
        };
        let agreement = Agreement {
            site: command.site,
            customer: Some(command.customer),
            vehicle: Some(command.vehicle),
            date: command.date,
            lines: vec![line],
            terms: LongText::default(),
            ..blank
        };
        Self {
            kind: InvoiceKind::Deposit,
            ..Self::draft(agreement, 0)
        }
    }

    /// Returns the purpose that the lines give a caller's invoice.
    pub(crate) fn kind_of_lines(&self) -> InvoiceKind {
        match self.agreement.sold_vehicles().next() {
            Some(_) => InvoiceKind::Sale,
            None => InvoiceKind::General,
        }
    }

    /// Returns the sums of the lines, payments and credits.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.agreement.lines, &self.payments)
    }

    /// Returns the amount that is not yet credited.
    pub fn creditable(&self) -> Money {
        sum(self.agreement.lines.iter().map(BillLine::creditable))
    }

    /// Returns `true` if it stands: it is issued, and not credited in full.
    pub const fn is_live(&self) -> bool {
        matches!(self.status, InvoiceStatus::Issued | InvoiceStatus::Paid)
    }
}

impl Invoice {
    /// Returns `true` if it bills the sale of vehicles, and stands.
    pub fn is_live_sale(&self) -> bool {
        self.content.kind == InvoiceKind::Sale && self.content.is_live()
    }

    /// Returns the invoice with its version and time of change advanced.
    pub(crate) fn changed_at(self, now: Timestamp) -> Self {
        Self {
            version: self.version.next(),
            // If the clock was set back, the change is still not older than the record.
            updated: now.max(self.created),
            ..self
        }
    }
}

/// The defaults of an invoice on the day `today`.
pub(crate) fn defaults(business: &forecourt_accounts::Business, today: Date) -> AgreementDefaults {
    AgreementDefaults {
        today,
        terms: business_terms(business),
    }
}

fn business_terms(business: &forecourt_accounts::Business) -> LongText {
    LongText::new(business.settings.invoice_terms()).unwrap_or_default()
}

/// The number of days after which a business's invoices are due.
pub(crate) fn due_days(business: &forecourt_accounts::Business) -> u32 {
    business.settings.invoice_due_days()
}

/// Describes a deposit. The description is cut to the length of a line.
fn describe(vehicle: &str) -> Line {
    cut(format!("Deposit for {vehicle}").trim_end())
}
