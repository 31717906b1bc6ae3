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

/// The purpose of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum InvoiceKind {
    /// The deposit of a reservation.
    Deposit,
}

/// The purpose of a line of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceLineKind))]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// The deposit of a reservation.
    Deposit,
}

/// The method of a payment: the methods of a reservation (decisions §7) except No Payment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PaymentMethod {
    /// A transfer from bank to bank.
    #[serde(rename = "Bank Transfer")]
    BankTransfer,
    /// Notes and coins.
    Cash,
    /// A credit or debit card.
    Card,
    /// A cheque.
    Cheque,
    /// A finance provider.
    Finance,
}

impl PaymentMethod {
    /// Every method.
    pub const ALL: [Self; 5] = [Self::BankTransfer, Self::Cash, Self::Card, Self::Cheque, Self::Finance];

    /// Returns the name that callers and storage use.
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

/// The error for a text that names no payment method.
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
    /// The purpose of the line.
    #[serde(rename = "type")]
    pub kind: LineKind,
    /// A description of the item; it names no person.
    pub description: Line,
    /// The vehicle that the line is for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub vehicle: Option<VehicleId>,
    /// The number of items. The amounts are for all of them together.
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
    /// The credited part of the amount with tax.
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
    /// The method of the payment.
    pub method: PaymentMethod,
    /// The amount that was paid.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub amount: Money,
    /// The payer's or the terminal's reference; may be empty.
    pub reference: Line,
}

/// A credit note. It takes back all or part of an invoice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreditNote {
    /// Its number: `CN-` and a running number of the business.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "CN-1"))]
    pub number: CreditNumber,
    /// The day of the credit note, in UTC.
    pub date: Date,
    /// The reason for the credit note.
    pub reason: Line,
    /// The amount that it takes back, with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
}

/// The sums of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceTotals))]
pub struct Totals {
    /// The sum of the lines without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The sum of their tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The sum of the lines with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// The sum of the payments.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub paid: Money,
    /// The amount that is credited.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub credited: Money,
    /// The amount still to be paid: gross less paid and credited, never below zero.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub due: Money,
}

/// The content of an invoice: everything except its id, its number, its version and its timestamps.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvoiceContent {
    /// The site of the invoice; 0 is the main one.
    pub site: SiteId,
    /// Its current state.
    pub status: InvoiceStatus,
    /// The purpose of the invoice.
    #[serde(rename = "type")]
    pub kind: InvoiceKind,
    /// The contact that is billed; `None` once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The vehicle that it is for.
    pub vehicle: Option<VehicleId>,
    /// The day of the invoice.
    pub date: Date,
    /// The last day to pay it.
    pub due_date: Date,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// The lines.
    pub lines: Vec<InvoiceLine>,
    /// The payments, oldest first.
    pub payments: Vec<Payment>,
    /// The credit notes, oldest first.
    pub credit_notes: Vec<CreditNote>,
    /// Notes of the staff.
    pub notes: LongText,
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
    /// Drafts the invoice of a deposit (decisions §8). It has one line of the amount, which includes tax at the standard rate or
    /// no tax, and it is due on its own day.
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

    /// Returns the sums of the lines, payments and credits.
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

    /// Returns the amount that can still be credited, of all lines together.
    pub fn creditable(&self) -> Money {
        let lines = self.lines.iter();
        sum(lines.flat_map(|line| [line.gross, negative(line.credited)]))
    }
}

/// Returns the description of a deposit's line. It is cut to the maximum length, because the names of a vehicle may be longer
/// together.
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
