//! The states of an invoice (decisions §8, "Invoice statuses"). What leads from one to another is the table [`MOVES`].

use serde::{Deserialize, Serialize};

/// Where an invoice is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvoiceStatus {
    /// Not yet sent to anybody: it has no number.
    Draft,
    /// It has a number, and something of it is still to be paid.
    Issued,
    /// All of it is paid.
    Paid,
    /// It was given up before it was issued.
    Cancelled,
    /// All of it is credited.
    Credited,
}

impl InvoiceStatus {
    /// Every state, by id.
    pub const ALL: [Self; 5] = [Self::Draft, Self::Issued, Self::Paid, Self::Cancelled, Self::Credited];

    /// The id: 0 to 4.
    pub const fn id(self) -> u8 {
        match self {
            Self::Draft => 0,
            Self::Issued => 1,
            Self::Paid => 2,
            Self::Cancelled => 3,
            Self::Credited => 4,
        }
    }

    /// The name to compare.
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

/// What moves an invoice from state to state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trigger {
    /// It gets its number.
    Issue,
    /// The last of it is paid.
    Pay,
    /// It is given up.
    Cancel,
    /// The last of it is credited.
    Credit,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 4] = [Self::Issue, Self::Pay, Self::Cancel, Self::Credit];
}

/// A row of the table of moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The state that it leads away from.
    pub from: InvoiceStatus,
    /// What causes it.
    pub trigger: Trigger,
    /// The state that it leads to.
    pub to: InvoiceStatus,
}

const fn on(trigger: Trigger, from: InvoiceStatus, to: InvoiceStatus) -> Move {
    Move { from, trigger, to }
}

/// Every move there is. An invoice that has a number is not cancelled but credited, so that no number is without a document.
pub const MOVES: &[Move] = &[
    on(Trigger::Issue, InvoiceStatus::Draft, InvoiceStatus::Issued),
    on(Trigger::Cancel, InvoiceStatus::Draft, InvoiceStatus::Cancelled),
    on(Trigger::Pay, InvoiceStatus::Issued, InvoiceStatus::Paid),
    on(Trigger::Credit, InvoiceStatus::Issued, InvoiceStatus::Credited),
    on(Trigger::Credit, InvoiceStatus::Paid, InvoiceStatus::Credited),
];

/// Why an invoice does not move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransitionError {
    /// What is paid or credited must have been issued (`invoice_not_issued`).
    #[error("the invoice is not issued")]
    NotIssued,
    /// Nothing of it is left to pay or to credit (`invoice_fully_credited`).
    #[error("the invoice is fully credited")]
    FullyCredited,
    /// Nothing leads there from where it is.
    #[error("the invoice cannot go there from its current status")]
    TransitionInvalid,
}

/// Where `trigger` moves an invoice from `from`.
///
/// # Errors
/// Where the table has no row: for a payment or a credit [`TransitionError::NotIssued`] before the invoice is issued and
/// [`TransitionError::FullyCredited`] after all of it is credited; else [`TransitionError::TransitionInvalid`].
pub fn next(from: InvoiceStatus, trigger: Trigger) -> Result<InvoiceStatus, TransitionError> {
    let row = MOVES.iter().find(|row| row.from == from && row.trigger == trigger);
    row.map(|row| row.to).ok_or(match (trigger, from) {
        (Trigger::Pay | Trigger::Credit, InvoiceStatus::Draft | InvoiceStatus::Cancelled) => TransitionError::NotIssued,
        (Trigger::Pay | Trigger::Credit, InvoiceStatus::Credited) => TransitionError::FullyCredited,
        _ => TransitionError::TransitionInvalid,
    })
}
