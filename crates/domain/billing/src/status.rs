//! The states of invoices and purchases (decisions §8, "Invoice statuses"). The table [`MOVES`] lists the transitions.

use serde::{Deserialize, Serialize};

/// The state of an invoice or a purchase.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BillStatus {
    /// Not yet issued: it has no number.
    Draft,
    /// It has a number, and a part of it is still to be paid.
    Issued,
    /// It is fully paid.
    Paid,
    /// It was cancelled before it was issued.
    Cancelled,
    /// It is fully credited.
    Credited,
}

impl BillStatus {
    /// Every state, by id.
    pub const ALL: [Self; 5] = [Self::Draft, Self::Issued, Self::Paid, Self::Cancelled, Self::Credited];

    /// Returns the id, 0 to 4.
    pub const fn id(self) -> u8 {
        match self {
            Self::Draft => 0,
            Self::Issued => 1,
            Self::Paid => 2,
            Self::Cancelled => 3,
            Self::Credited => 4,
        }
    }

    /// Returns the name to compare.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Issued => "issued",
            Self::Paid => "paid",
            Self::Cancelled => "cancelled",
            Self::Credited => "credited",
        }
    }
}

/// The cause of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trigger {
    /// It gets its number.
    Issue,
    /// The last part of it is paid.
    Pay,
    /// It is cancelled.
    Cancel,
    /// The last part of it is credited.
    Credit,
    /// A payment is taken back, so that a part of it is to be paid again.
    Reopen,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 5] = [Self::Issue, Self::Pay, Self::Cancel, Self::Credit, Self::Reopen];
}

/// A transition, as a row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The state before.
    pub from: BillStatus,
    /// The cause.
    pub trigger: Trigger,
    /// The state after.
    pub to: BillStatus,
}

const fn on(trigger: Trigger, from: BillStatus, to: BillStatus) -> Move {
    Move { from, trigger, to }
}

/// Every transition. An invoice that has a number is credited instead of cancelled, so that no number is without a document.
pub const MOVES: &[Move] = &[
    on(Trigger::Issue, BillStatus::Draft, BillStatus::Issued),
    on(Trigger::Cancel, BillStatus::Draft, BillStatus::Cancelled),
    on(Trigger::Pay, BillStatus::Issued, BillStatus::Paid),
    on(Trigger::Credit, BillStatus::Issued, BillStatus::Credited),
    on(Trigger::Credit, BillStatus::Paid, BillStatus::Credited),
    on(Trigger::Reopen, BillStatus::Paid, BillStatus::Issued),
];

/// The reasons why an invoice cannot change its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransitionError {
    /// Payments, credits and mails need an issued invoice (`invoice_not_issued`).
    #[error("the document is not issued")]
    NotIssued,
    /// Nothing is left to pay or to credit (`invoice_fully_credited`).
    #[error("the document is fully credited")]
    FullyCredited,
    /// The current state does not allow it (`invoice_invalid_status`).
    #[error("the document is {}, which does not allow this", .0.name())]
    InvalidStatus(BillStatus),
}

/// Returns the state after `trigger` in the state `from`.
///
/// # Errors
/// If the table has no such transition. For a payment or a credit, [`TransitionError::NotIssued`] before the invoice is issued
/// and [`TransitionError::FullyCredited`] after all of it is credited; otherwise [`TransitionError::InvalidStatus`].
pub fn next(from: BillStatus, trigger: Trigger) -> Result<BillStatus, TransitionError> {
    let row = MOVES.iter().find(|row| row.from == from && row.trigger == trigger);
    row.map(|row| row.to).ok_or(match (trigger, from) {
        (Trigger::Pay | Trigger::Credit, BillStatus::Draft | BillStatus::Cancelled) => TransitionError::NotIssued,
        (Trigger::Pay | Trigger::Credit, BillStatus::Credited) => TransitionError::FullyCredited,
        _ => TransitionError::InvalidStatus(from),
    })
}

/// A state as callers name it in filters, by id or by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StatusChoice(pub BillStatus);

/// The error for a text that names no state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of draft, issued, paid, cancelled, credited, or its id, 0 to 4")]
pub struct UnknownBillStatus;

impl std::str::FromStr for StatusChoice {
    type Err = UnknownBillStatus;

    fn from_str(text: &str) -> Result<Self, UnknownBillStatus> {
        let found = BillStatus::ALL
            .into_iter()
            .find(|status| status.name() == text || status.id().to_string() == text);
        found.map(Self).ok_or(UnknownBillStatus)
    }
}
