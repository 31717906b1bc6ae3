//! The payments of a document (areas §10.1, "Payments").

use std::str::FromStr;

use forecourt_kernel::{Date, FromJson, InvalidValue, Line, Money, from_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sum;

/// The method of a payment.
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
    /// The allowance for a vehicle that is given in part exchange.
    #[serde(rename = "Part Exchange")]
    PartExchange,
    /// The part of a financed sale that the customer pays.
    Customer,
}

impl PaymentMethod {
    /// The methods that a caller can name: those of a reservation's deposit (decisions §7) except No Payment.
    pub const ALL: [Self; 5] = [Self::BankTransfer, Self::Cash, Self::Card, Self::Cheque, Self::Finance];

    /// Returns the name that callers and storage use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BankTransfer => "Bank Transfer",
            Self::Cash => "Cash",
            Self::Card => "Card",
            Self::Cheque => "Cheque",
            Self::Finance => "Finance",
            Self::PartExchange => "Part Exchange",
            Self::Customer => "Customer",
        }
    }
}

/// The error for a text that names no payment method of callers.
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

impl FromJson for PaymentMethod {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_line(value)
    }
}

/// The nature of a payment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PaymentKind {
    /// Money that came in.
    #[default]
    Payment,
    /// Money that was given back, below 0.
    Refund,
    /// A payment or refund that is taken back.
    Reversal,
    /// Money that came from, or went to, another invoice.
    Transfer,
    /// The allowance for a vehicle that is given in part exchange.
    PartExchange,
}

/// A payment of a document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoicePayment))]
pub struct Payment {
    /// Its number within the document, from 1.
    pub id: i64,
    /// The nature of the payment.
    #[serde(rename = "type", default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub kind: PaymentKind,
    /// The day of the payment.
    pub date: Date,
    /// The method of the payment.
    pub method: PaymentMethod,
    /// The amount that was paid; below 0 if it was given back.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub amount: Money,
    /// The payer's or the terminal's reference; may be empty.
    pub reference: Line,
    /// The number of the payment that it takes back; null for any other.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reverses: Option<i64>,
}

/// The maximum number of payments of a document.
pub const MAX_PAYMENTS: usize = 200;

/// The reasons why a payment cannot be reversed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReversalError {
    /// The document has no such payment (`payment_not_found`).
    #[error("the document has no such payment")]
    NotFound,
    /// It is a reversal, or it has one (`payment_reversed`).
    #[error("the payment is reversed already, or is a reversal")]
    Reversed,
    /// It was made by a process, or what is paid would fall below 0.
    #[error("the payment cannot be reversed")]
    NotReversible,
}

/// Returns the sum of the payments.
pub fn paid(payments: &[Payment]) -> Money {
    sum(payments.iter().map(|payment| payment.amount))
}

/// Returns the number of the next payment.
pub fn next_payment_id(payments: &[Payment]) -> i64 {
    payments.last().map_or(1, |last| last.id + 1)
}

/// Returns the payment that takes back the one with this id.
///
/// # Errors
/// [`ReversalError`].
pub fn reversal(payments: &[Payment], id: i64, date: Date, reference: Line) -> Result<Payment, ReversalError> {
    let found = payments.iter().find(|payment| payment.id == id);
    let reversed = found.ok_or(ReversalError::NotFound)?;
    let is_reversed = payments.iter().any(|payment| payment.reverses == Some(id));
    match reversed.kind {
        PaymentKind::Reversal => return Err(ReversalError::Reversed),
        _ if is_reversed => return Err(ReversalError::Reversed),
        PaymentKind::Transfer | PaymentKind::PartExchange => return Err(ReversalError::NotReversible),
        PaymentKind::Payment | PaymentKind::Refund => {}
    }
    let amount = Money::from_minor(-reversed.amount.minor());
    if sum([paid(payments), amount]) < Money::ZERO {
        return Err(ReversalError::NotReversible);
    }
    Ok(Payment {
        id: next_payment_id(payments),
        kind: PaymentKind::Reversal,
        date,
        method: reversed.method,
        amount,
        reference,
        reverses: Some(id),
    })
}
