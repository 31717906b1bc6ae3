//! The record of an invoice.

use std::str::FromStr;

use forecourt_kernel::{
    ContactId, Currency, Date, Line, LongText, Money, SiteId, Timestamp, VehicleId, Version, bounds::MAX_LINE_CHARS,
};
use serde::{Deserialize, Serialize};

use crate::{CreditNumber, InvoiceNumber, InvoiceStatus, RaiseDeposit, VatRate, VatSplit};

forecourt_kernel::ids! {
    /// Identifies an invoice, uniquely across businesses.
    InvoiceId;
}

/// What an invoice is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum InvoiceKind {
    /// The deposit of a reservation.
    Deposit,
}

/// What a line of an invoice is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceLineKind))]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The deposit of a reservation.
    Deposit,
}

/// How an invoice is paid: the methods of a reservation (decisions §7) but No Payment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PaymentMethod {
    /// From bank to bank.
    #[serde(rename = "Bank Transfer")]
    BankTransfer,
    /// In notes and coins.
    Cash,
    /// By a credit or debit card.
    Card,
    /// By a cheque.
    Cheque,
    /// By a provider of finance.
    Finance,
}

impl PaymentMethod {
    /// Every method.
    pub const ALL: [Self; 5] = [Self::BankTransfer, Self::Cash, Self::Card, Self::Cheque, Self::Finance];

    /// The name that callers and storage use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BankTransfer => "Bank Transfer",
            Self::Cash => "Cash",
            Self::Card => "Card",
            Self::Cheque => "Cheque",
            Self::Finance => "Finance",
        }
    }
}

/// The text names no method of payment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of Bank Transfer, Cash, Card, Cheque, Finance")]
pub struct UnknownPaymentMethod;

impl FromStr for PaymentMethod {
    type Err = UnknownPaymentMethod;

    fn from_str(text: &str) -> Result<Self, UnknownPaymentMethod> {
        let mut all = Self::ALL.into_iter();
        all.find(|method| method.name() == text).ok_or(UnknownPaymentMethod)
    }
}

/// A line of an invoice. Always `net + vat == gross`, and `credited <= gross`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvoiceLine {
    /// Its number within the invoice, from 1.
    pub id: i64,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: LineKind,
    /// What it is for, in words; it names no person.
    pub description: Line,
    /// The vehicle that it is for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub vehicle: Option<VehicleId>,
    /// How many. The amounts are those of all together.
    pub quantity: i64,
    /// The amount without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The rate of value added tax, in percent.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "20.00"))]
    pub vat_rate: VatRate,
    /// The tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The amount with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// How much of the amount with tax is credited.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub credited: Money,
}

/// A payment of an invoice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoicePayment))]
pub struct Payment {
    /// Its number within the invoice, from 1.
    pub id: i64,
    /// The day of the payment.
    pub date: Date,
    /// How it was paid.
    pub method: PaymentMethod,
    /// How much was paid.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub amount: Money,
    /// What the payer or the terminal calls it; may be empty.
    pub reference: Line,
}

/// A credit note: it takes back an invoice or a part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreditNote {
    /// Its number, `CN-` and a running number of the business.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "CN-1"))]
    pub number: CreditNumber,
    /// The day that it was made, in UTC.
    pub date: Date,
    /// Why it was made.
    pub reason: Line,
    /// How much it takes back, with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
}

/// The sums of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceTotals))]
pub struct Totals {
    /// The lines without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// Their tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The lines with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// The payments.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub paid: Money,
    /// What is credited.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub credited: Money,
    /// What is still to be paid: gross less paid and credited, never below zero.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub due: Money,
}

/// What is kept of an invoice besides its identity, its number and its stamps.
///
/// Its serialised form is what storage keeps as one document: a new member needs `#[serde(default)]`, and none is ever
/// renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvoiceContent {
    /// The site that it is of; 0 is the main one.
    pub site: SiteId,
    /// Where it is in its life.
    pub status: InvoiceStatus,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: InvoiceKind,
    /// Who it is for; `None` once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The vehicle that it is for.
    pub vehicle: Option<VehicleId>,
    /// Its day.
    pub date: Date,
    /// The last day to pay it.
    pub due_date: Date,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// What it bills.
    pub lines: Vec<InvoiceLine>,
    /// What was paid of it, oldest first.
    pub payments: Vec<Payment>,
    /// What was taken back of it, oldest first.
    pub credit_notes: Vec<CreditNote>,
    /// What staff noted of it.
    pub notes: LongText,
}

/// An invoice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invoice {
    /// Its id, unique across businesses.
    pub id: InvoiceId,
    /// Its number, unique within the business; `None` until it is issued.
    pub number: Option<InvoiceNumber>,
    /// Which state of it this is.
    pub version: Version,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
    /// Everything else.
    pub content: InvoiceContent,
}

impl InvoiceContent {
    /// The draft of a deposit's invoice: one line of the amount paid, with the standard rate of the business's country inside
    /// it, or without tax (decisions §8). It is due on its day.
    pub(crate) fn deposit(command: &RaiseDeposit, currency: Currency, standard: VatRate) -> Self {
        let vat_rate = if command.vat_included { standard } else { VatRate::ZERO };
        let VatSplit { net, vat } = vat_rate.split(command.gross);
        let line = InvoiceLine {
            id: 1,
            kind: LineKind::Deposit,
            description: describe(&command.vehicle_description),
            vehicle: Some(command.vehicle),
            quantity: 1,
            net,
            vat_rate,
            vat,
            gross: command.gross,
            credited: Money::ZERO,
        };
        Self {
            site: command.site,
            status: InvoiceStatus::Draft,
            kind: InvoiceKind::Deposit,
            customer: Some(command.customer),
            vehicle: Some(command.vehicle),
            date: command.date,
            due_date: command.date,
            currency,
            lines: vec![line],
            payments: Vec::new(),
            credit_notes: Vec::new(),
            notes: LongText::default(),
        }
    }

    /// The sums of the lines, payments and credits.
    pub fn totals(&self) -> Totals {
        let lines = || self.lines.iter();
        let gross = sum(lines().map(|line| line.gross));
        let paid = sum(self.payments.iter().map(|payment| payment.amount));
        let credited = sum(lines().map(|line| line.credited));
        let due = sum([gross, negative(paid), negative(credited)]);
        Totals {
            net: sum(lines().map(|line| line.net)),
            vat: sum(lines().map(|line| line.vat)),
            gross,
            paid,
            credited,
            due: due.max(Money::ZERO),
        }
    }

    /// What can still be credited of all lines together.
    pub fn creditable(&self) -> Money {
        let lines = self.lines.iter();
        sum(lines.flat_map(|line| [line.gross, negative(line.credited)]))
    }
}

/// What the line of a deposit says, cut to the bound of a line: a vehicle's names may be longer together.
fn describe(vehicle: &str) -> Line {
    let text = format!("Deposit for {vehicle}");
    let text: String = text.trim_end().chars().filter(|char| *char != '\0').collect();
    Line::new(text.chars().take(MAX_LINE_CHARS).collect::<String>()).unwrap_or_default()
}

fn sum(amounts: impl IntoIterator<Item = Money>) -> Money {
    let minor = amounts.into_iter().map(Money::minor);
    Money::from_minor(minor.fold(0, i64::saturating_add))
}

const fn negative(amount: Money) -> Money {
    Money::from_minor(amount.minor().saturating_neg())
}
