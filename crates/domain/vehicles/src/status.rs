//! The states of a vehicle (contract, "States and transitions").
//!
//! The id of a state is the same for every stock type; its name is not. The table [`MOVES`] lists the transitions.

use std::str::FromStr;

use forecourt_reference::{StockType, UnknownValue};
use serde::{Deserialize, Serialize};

/// The state of a vehicle. Its stock type determines the possible states: [`VehicleStatus::of`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VehicleStatus {
    /// Not yet in use.
    Draft,
    /// Stock on offer.
    ForSale,
    /// Stock held for a customer.
    Reserved,
    /// Stock that is sold but not handed over.
    Sold,
    /// Stock that is sold and handed over.
    Complete,
    /// A customer's vehicle on the dealership's premises.
    OnSite,
    /// A courtesy vehicle that is lent or ready to be lent.
    InUse,
    /// A customer's or a courtesy vehicle that has left.
    Closed,
    /// An appraisal that waits for an offer.
    Added,
    /// An appraisal that has an offer.
    Appraised,
    /// An appraisal whose offer was accepted.
    Accepted,
    /// An appraisal whose offer was rejected.
    Rejected,
    /// Deleted: it answers 404, whatever its former state.
    Deleted,
}

impl VehicleStatus {
    /// Every state.
    pub const ALL: [Self; 13] = [
        Self::Draft,
        Self::ForSale,
        Self::Reserved,
        Self::Sold,
        Self::Complete,
        Self::OnSite,
        Self::InUse,
        Self::Closed,
        Self::Added,
        Self::Appraised,
        Self::Accepted,
        Self::Rejected,
        Self::Deleted,
    ];

    /// Returns the id, which does not depend on the stock type.
    pub const fn id(self) -> u8 {
        match self {
            Self::Draft | Self::Added => 1,
            Self::ForSale | Self::Reserved | Self::OnSite | Self::InUse | Self::Appraised => 2,
            Self::Sold | Self::Complete | Self::Closed | Self::Accepted => 3,
            Self::Rejected | Self::Deleted => 4,
        }
    }

    /// Returns the name to compare.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::ForSale => "for-sale",
            Self::Reserved => "reserved",
            Self::Sold => "sold",
            Self::Complete => "complete",
            Self::OnSite => "on-site",
            Self::InUse => "in use",
            Self::Closed => "closed",
            Self::Added => "added",
            Self::Appraised => "appraised",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the name to show.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::ForSale => "For Sale",
            Self::Reserved => "Reserved",
            Self::Sold => "Sold",
            Self::Complete => "Complete",
            Self::OnSite => "On Site",
            Self::InUse => "In Use",
            Self::Closed => "Closed",
            Self::Added => "Added",
            Self::Appraised => "Appraised",
            Self::Accepted => "Accepted",
            Self::Rejected => "Rejected",
            Self::Deleted => "Deleted",
        }
    }

    /// Returns the possible states of a vehicle of this stock type, beginning with the initial one.
    pub const fn of(kind: StockType) -> &'static [Self] {
        match kind {
            StockType::InStock | StockType::ToOrder => &[
                Self::Draft,
                Self::ForSale,
                Self::Reserved,
                Self::Sold,
                Self::Complete,
                Self::Deleted,
            ],
            StockType::Customer => &[Self::Draft, Self::OnSite, Self::Closed, Self::Deleted],
            StockType::Courtesy => &[Self::Draft, Self::InUse, Self::Closed, Self::Deleted],
            StockType::Appraisal => &[
                Self::Added,
                Self::Appraised,
                Self::Accepted,
                Self::Rejected,
                Self::Deleted,
            ],
        }
    }

    /// Returns the initial state of a vehicle of this stock type.
    pub const fn initial(kind: StockType) -> Self {
        match kind {
            StockType::Appraisal => Self::Added,
            _ => Self::Draft,
        }
    }

    /// Returns `true` if only the reservation or the sale leads to this state and away from it.
    pub const fn is_owned_by_process(self) -> bool {
        matches!(self, Self::Reserved | Self::Sold | Self::Complete)
    }

    /// Returns `true` if it counts towards the business's limit of vehicles for sale (decisions §7).
    pub const fn counts_as_for_sale(self) -> bool {
        matches!(self, Self::ForSale | Self::Reserved)
    }
}

/// The cause of a transition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trigger {
    /// It is published on a channel.
    Publish,
    /// A caller sets its state.
    Set(VehicleStatus),
    /// It is reserved for a customer.
    Reserve,
    /// Its reservation is cancelled.
    CancelReservation,
    /// It is sold.
    Sell,
    /// Its sale is undone.
    UndoSale,
    /// Its sale out of a reservation is undone, which restores the reservation.
    UndoSaleOfReserved,
    /// It is handed over to the buyer.
    HandOver,
    /// An offer is made for it.
    Offer,
    /// The offer for it is accepted.
    Accept,
    /// The offer for it is rejected.
    Reject,
    /// It is deleted.
    Delete,
}

impl Trigger {
    /// Every trigger except [`Trigger::Set`], which exists for each state, and [`Trigger::Delete`].
    pub const STEPS: [Self; 10] = [
        Self::Publish,
        Self::Reserve,
        Self::CancelReservation,
        Self::Sell,
        Self::UndoSale,
        Self::UndoSaleOfReserved,
        Self::HandOver,
        Self::Offer,
        Self::Accept,
        Self::Reject,
    ];
}

/// A transition, as a row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The stock types that have it.
    pub kinds: &'static [StockType],
    /// The state before.
    pub from: VehicleStatus,
    /// The cause.
    pub trigger: Trigger,
    /// The state after.
    pub to: VehicleStatus,
}

const STOCK: &[StockType] = &[StockType::InStock, StockType::ToOrder];
const CUSTOMER: &[StockType] = &[StockType::Customer];
const COURTESY: &[StockType] = &[StockType::Courtesy];
const APPRAISAL: &[StockType] = &[StockType::Appraisal];

const fn on(trigger: Trigger, kinds: &'static [StockType], from: VehicleStatus, to: VehicleStatus) -> Move {
    Move {
        kinds,
        from,
        trigger,
        to,
    }
}

const fn set(kinds: &'static [StockType], from: VehicleStatus, to: VehicleStatus) -> Move {
    on(Trigger::Set(to), kinds, from, to)
}

/// Every transition except deletion, which is possible from every state. Setting the present state again is not a transition.
pub const MOVES: &[Move] = &[
    on(Trigger::Publish, STOCK, VehicleStatus::Draft, VehicleStatus::ForSale),
    on(Trigger::Reserve, STOCK, VehicleStatus::ForSale, VehicleStatus::Reserved),
    on(
        Trigger::CancelReservation,
        STOCK,
        VehicleStatus::Reserved,
        VehicleStatus::ForSale,
    ),
    on(Trigger::Sell, STOCK, VehicleStatus::ForSale, VehicleStatus::Sold),
    on(Trigger::Sell, STOCK, VehicleStatus::Reserved, VehicleStatus::Sold),
    on(Trigger::HandOver, STOCK, VehicleStatus::Sold, VehicleStatus::Complete),
    on(Trigger::UndoSale, STOCK, VehicleStatus::Sold, VehicleStatus::ForSale),
    on(
        Trigger::UndoSale,
        STOCK,
        VehicleStatus::Complete,
        VehicleStatus::ForSale,
    ),
    on(
        Trigger::UndoSaleOfReserved,
        STOCK,
        VehicleStatus::Sold,
        VehicleStatus::Reserved,
    ),
    on(
        Trigger::UndoSaleOfReserved,
        STOCK,
        VehicleStatus::Complete,
        VehicleStatus::Reserved,
    ),
    on(
        Trigger::Offer,
        APPRAISAL,
        VehicleStatus::Added,
        VehicleStatus::Appraised,
    ),
    on(
        Trigger::Accept,
        APPRAISAL,
        VehicleStatus::Appraised,
        VehicleStatus::Accepted,
    ),
    on(
        Trigger::Reject,
        APPRAISAL,
        VehicleStatus::Appraised,
        VehicleStatus::Rejected,
    ),
    set(STOCK, VehicleStatus::ForSale, VehicleStatus::Draft),
    set(CUSTOMER, VehicleStatus::Draft, VehicleStatus::OnSite),
    set(CUSTOMER, VehicleStatus::OnSite, VehicleStatus::Draft),
    set(CUSTOMER, VehicleStatus::OnSite, VehicleStatus::Closed),
    set(CUSTOMER, VehicleStatus::Closed, VehicleStatus::OnSite),
    set(COURTESY, VehicleStatus::Draft, VehicleStatus::InUse),
    set(COURTESY, VehicleStatus::InUse, VehicleStatus::Draft),
    set(COURTESY, VehicleStatus::InUse, VehicleStatus::Closed),
    set(COURTESY, VehicleStatus::Closed, VehicleStatus::InUse),
];

/// The reasons why a vehicle cannot change its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransitionError {
    /// The state belongs to the reservation or the sale (`vehicle_status_process_required`).
    #[error("the status is owned by the reservation or the sale of the vehicle")]
    ProcessRequired,
    /// The table has no such transition from the current state (`vehicle_status_transition_invalid`).
    #[error("the vehicle cannot go there from its current status")]
    TransitionInvalid,
}

/// Returns the state after `trigger` for a vehicle of this stock type in the state `from`.
///
/// # Errors
/// [`TransitionError::ProcessRequired`] if the present state or the state to set belongs to a process;
/// [`TransitionError::TransitionInvalid`] if the table has no such transition.
pub fn next(kind: StockType, from: VehicleStatus, trigger: Trigger) -> Result<VehicleStatus, TransitionError> {
    if trigger == Trigger::Delete {
        return Ok(VehicleStatus::Deleted);
    }
    if let Trigger::Set(wanted) = trigger {
        let process = |status: VehicleStatus| status.is_owned_by_process();
        // The offer and its decision set the states of an appraisal.
        let is_decided = kind == StockType::Appraisal
            && wanted != VehicleStatus::Deleted
            && (wanted, from) != (VehicleStatus::Added, VehicleStatus::Added);
        if process(wanted) || process(from) || is_decided {
            return Err(TransitionError::ProcessRequired);
        }
        if wanted == from {
            return Ok(from);
        }
    }
    let row = MOVES
        .iter()
        .find(|row| row.kinds.contains(&kind) && row.from == from && row.trigger == trigger);
    row.map(|row| row.to).ok_or(TransitionError::TransitionInvalid)
}

/// A state as callers name it, by id or by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StatusChoice {
    /// Every state with this id.
    Id(u8),
    /// The state with this name.
    Name(VehicleStatus),
}

impl StatusChoice {
    /// Returns `true` if the choice includes `status`.
    pub fn means(self, status: VehicleStatus) -> bool {
        match self {
            Self::Id(id) => status.id() == id,
            Self::Name(name) => status == name,
        }
    }

    /// Returns the chosen state for a vehicle of this stock type. If several have the id, it is the one that no process owns.
    pub fn resolve(self, kind: StockType) -> Option<VehicleStatus> {
        VehicleStatus::of(kind)
            .iter()
            .copied()
            .find(|&status| self.means(status))
    }
}

const NAMES: [&str; 13] = {
    let mut names = [""; 13];
    let mut at = 0;
    while at < names.len() {
        names[at] = VehicleStatus::ALL[at].name();
        at += 1;
    }
    names
};

/// Reads an id, 1 to 4, or a name.
impl FromStr for StatusChoice {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text.parse() {
            Ok(id @ 1..=4) => return Ok(Self::Id(id)),
            Ok(_) => return Err(UnknownValue(&["1", "2", "3", "4"])),
            Err(_) => {}
        }
        let found = VehicleStatus::ALL.into_iter().find(|status| status.name() == text);
        found.map(Self::Name).ok_or(UnknownValue(&NAMES))
    }
}

#[cfg(test)]
mod tests {
    use forecourt_reference::vehicle_statuses;

    use super::*;

    #[test]
    fn the_reference_list_shows_the_same_states() {
        for kind in StockType::ALL {
            for listed in vehicle_statuses(kind) {
                let status = VehicleStatus::of(kind)
                    .iter()
                    .find(|status| status.name() == listed.name);
                let shown = status.map(|status| (status.id(), status.label()));
                assert_eq!(shown, Some((listed.id, listed.label)), "{kind:?}");
            }
        }
    }

    #[test]
    fn every_move_stays_among_the_states_of_its_stock_types() {
        for row in MOVES {
            for &kind in row.kinds {
                let states = VehicleStatus::of(kind);
                assert!(states.contains(&row.from) && states.contains(&row.to), "{row:?}");
            }
        }
    }

    #[test]
    fn what_the_table_does_not_name_is_refused() {
        for kind in StockType::ALL {
            for &from in VehicleStatus::of(kind) {
                let triggers = VehicleStatus::ALL.map(Trigger::Set);
                for trigger in triggers.into_iter().chain(Trigger::STEPS) {
                    let rows: Vec<_> = MOVES
                        .iter()
                        .filter(|row| row.kinds.contains(&kind) && row.from == from && row.trigger == trigger)
                        .collect();
                    assert!(rows.len() <= 1, "one trigger leads to one state");
                    match (next(kind, from, trigger), trigger) {
                        (Ok(to), Trigger::Set(wanted)) if wanted == from => assert_eq!(to, from),
                        (Ok(to), _) => assert_eq!(rows.first().map(|row| row.to), Some(to)),
                        (Err(TransitionError::ProcessRequired), Trigger::Set(wanted)) => assert!(
                            wanted.is_owned_by_process() || from.is_owned_by_process() || kind == StockType::Appraisal
                        ),
                        (Err(_), _) => assert!(rows.is_empty()),
                    }
                }
            }
        }
    }

    #[test]
    fn a_state_is_named_by_id_or_by_name() {
        for status in VehicleStatus::ALL {
            assert_eq!(status.name().parse(), Ok(StatusChoice::Name(status)));
            assert!(StatusChoice::Id(status.id()).means(status));
        }
        for text in ["", "0", "5", "For Sale", "FOR-SALE", "-1"] {
            assert!(text.parse::<StatusChoice>().is_err(), "{text:?}");
        }
        assert_eq!(
            StatusChoice::Id(2).resolve(StockType::InStock),
            Some(VehicleStatus::ForSale)
        );
    }
}
