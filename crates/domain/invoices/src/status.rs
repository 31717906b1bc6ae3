//! The states of an invoice (decisions §8, "Invoice statuses"). The table [`MOVES`] lists the transitions.

use serde::{Deserialize, Serialize};

/// The state of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvoiceStatus {
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

impl InvoiceStatus {
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
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 4] = [Self::Issue, Self::Pay, Self::Cancel, Self::Credit];
}

/// A transition, as a row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The state before.
    pub from: InvoiceStatus,
    /// The cause.
    pub trigger: Trigger,
    /// The state after.
    pub to: InvoiceStatus,
}

const fn on(trigger: Trigger, from: InvoiceStatus, to: InvoiceStatus) -> Move {
    Move { from, trigger, to }
}

/// Every transition. An invoice that has a number is credited instead of cancelled, so that no number is without a document.
pub const MOVES: &[Move] = &[
    on(Trigger::Issue, InvoiceStatus::Draft, InvoiceStatus::Issued),
    on(Trigger::Cancel, InvoiceStatus::Draft, InvoiceStatus::Cancelled),
    on(Trigger::Pay, InvoiceStatus::Issued, InvoiceStatus::Paid),
    on(Trigger::Credit, InvoiceStatus::Issued, InvoiceStatus::Credited),
    on(Trigger::Credit, InvoiceStatus::Paid, InvoiceStatus::Credited),
];

/// The reasons why an invoice cannot change its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransitionError {
    /// Payments and credits need an issued invoice (`invoice_not_issued`).
    #[error("the invoice is not issued")]
    NotIssued,
    /// Nothing is left to pay or to credit (`invoice_fully_credited`).
    #[error("the invoice is fully credited")]
    FullyCredited,
    /// The table has no such transition from the current state.
    #[error("the invoice cannot go there from its current status")]
    TransitionInvalid,
}

/// Returns the state after `trigger` in the state `from`.
///
/// # Errors
/// If the table has no such transition. For a payment or a credit, [`TransitionError::NotIssued`] before the invoice is issued
/// and [`TransitionError::FullyCredited`] after all of it is credited; otherwise [`TransitionError::TransitionInvalid`].
pub fn next(from: InvoiceStatus, trigger: Trigger) -> Result<InvoiceStatus, TransitionError> {
    let row = MOVES.iter().find(|row| row.from == from && row.trigger == trigger);
    row.map(|row| row.to).ok_or(match (trigger, from) {
        (Trigger::Pay | Trigger::Credit, InvoiceStatus::Draft | InvoiceStatus::Cancelled) => TransitionError::NotIssued,
        (Trigger::Pay | Trigger::Credit, InvoiceStatus::Credited) => TransitionError::FullyCredited,
        _ => TransitionError::TransitionInvalid,
    })
}
