//! The record of an order.

use std::str::FromStr;

use forecourt_accounts::Business;
use forecourt_billing::{Agreement, AgreementDefaults, InvoiceId, OrderId, OrderNumber, allowances, negative, sum};
use forecourt_kernel::{Date, LongText, Money, Timestamp, Version};
use serde::{Deserialize, Serialize};

/// The state of an order (contract: 0 to 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderStatus {
    /// Not yet issued: it has no number.
    Draft,
    /// It has a number, and the customer can agree to it.
    Issued,
    /// It became an invoice.
    Converted,
    /// It was cancelled.
    Cancelled,
}

impl OrderStatus {
    /// Every state, by id.
    pub const ALL: [Self; 4] = [Self::Draft, Self::Issued, Self::Converted, Self::Cancelled];

    /// Returns the id, 0 to 3.
    pub const fn id(self) -> u8 {
        match self {
            Self::Draft => 0,
            Self::Issued => 1,
            Self::Converted => 2,
            Self::Cancelled => 3,
        }
    }

    /// Returns the name to compare.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Issued => "issued",
            Self::Converted => "converted",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A state as callers name it in filters, by id or by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OrderStatusChoice(pub OrderStatus);

/// The error for a text that names no state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of draft, issued, converted, cancelled, or its id, 0 to 3")]
pub struct UnknownOrderStatus;

impl FromStr for OrderStatusChoice {
    type Err = UnknownOrderStatus;

    fn from_str(text: &str) -> Result<Self, UnknownOrderStatus> {
        let found = OrderStatus::ALL
            .into_iter()
            .find(|status| status.name() == text || status.id().to_string() == text);
        found.map(Self).ok_or(UnknownOrderStatus)
    }
}

/// The content of an order: everything except its id, its number, its version and its timestamps.
///
/// Storage keeps its serialised form as one document: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OrderContent {
    /// What the customer agrees to.
    #[serde(flatten)]
    pub agreement: Agreement,
    /// Its current state.
    pub status: OrderStatus,
    /// The last day of the offer.
    pub valid_until: Option<Date>,
    /// The invoice that it became.
    pub invoice: Option<InvoiceId>,
    /// The time of its issue.
    pub issued: Option<Timestamp>,
    /// The amount that the customer had paid on deposits of its vehicles when it was issued; live in a draft.
    pub deposit: Money,
}

/// An order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Its id, unique across businesses.
    pub id: OrderId,
    /// Its number, unique within the business; `None` until it is issued.
    pub number: Option<OrderNumber>,
    /// The version, raised with each change.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// Everything else.
    pub content: OrderContent,
}

/// The sums of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OrderTotals))]
pub struct OrderTotals {
    /// The sum of the lines without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "12995.00"))]
    pub net: Money,
    /// The sum of their tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub vat: Money,
    /// The sum of the lines with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "12995.00"))]
    pub gross: Money,
    /// The allowances for part exchanges.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "4000.00"))]
    pub part_exchange: Money,
    /// The amount that the customer has paid on deposits of its vehicles.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "99.00"))]
    pub deposit: Money,
    /// The amount that is left to pay; it may be below 0.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "8896.00"))]
    pub payable: Money,
}

impl OrderContent {
    /// Makes a draft of an agreement.
    pub(crate) const fn draft(agreement: Agreement) -> Self {
        Self {
            agreement,
            status: OrderStatus::Draft,
            valid_until: None,
            invoice: None,
            issued: None,
            deposit: Money::ZERO,
        }
    }

    /// Returns the sums of the lines, part exchanges and deposits.
    pub fn totals(&self) -> OrderTotals {
        let lines = || self.agreement.lines.iter();
        let gross = self.agreement.gross();
        let part_exchange = allowances(&self.agreement.part_exchanges);
        OrderTotals {
            net: sum(lines().map(|line| line.net)),
            vat: sum(lines().map(|line| line.vat)),
            gross,
            part_exchange,
            deposit: self.deposit,
            payable: sum([gross, negative(part_exchange), negative(self.deposit)]),
        }
    }
}

impl Order {
    /// Returns the order with its version and time of change advanced.
    pub(crate) fn changed_at(self, now: Timestamp) -> Self {
        Self {
            version: self.version.next(),
            // If the clock was set back, the change is still not older than the record.
            updated: now.max(self.created),
            ..self
        }
    }
}

/// The defaults of an order on the day `today`.
pub(crate) fn defaults(business: &Business, today: Date) -> AgreementDefaults {
    AgreementDefaults {
        today,
        terms: terms(business),
    }
}

fn terms(business: &Business) -> LongText {
    LongText::new(business.settings.order_terms()).unwrap_or_default()
}
