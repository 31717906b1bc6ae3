//! Puts what the model says of a conversation into the terms of a dealership: where the sale stands, and what the sender
//! writes about if they do not buy.

use forecourt_leads::JunkConfidence;
use forecourt_reference::LeadType;

use super::{junk::Verdict, model::Prediction, signal::Signal};

/// What is known of a conversation.
pub(super) struct Evidence<'a> {
    pub(super) types: &'a [LeadType],
    /// Whether the enquiry is linked to a vehicle of the stock.
    pub(super) has_vehicle: bool,
    /// Whether the form of a portal names a car.
    pub(super) form_names_car: bool,
    /// What the sender's latest messages say, in order.
    pub(super) latest: Vec<Signal>,
    /// What their messages said before.
    pub(super) earlier: Vec<Signal>,
    /// Whether the latest messages ask something.
    pub(super) asks: bool,
    /// True if they say nothing, or only greet, thank or agree to nothing.
    pub(super) says_nothing: bool,
    /// Whether the business wrote before them.
    pub(super) is_reply: bool,
    /// The verdict on the sender's last message.
    pub(super) junk: Option<Verdict>,
    /// True if the sender wrote nothing but junk.
    pub(super) only_junk: bool,
}

impl Evidence<'_> {
    /// The signals of several messages in one list.
    pub(super) fn signals<'s>(messages: impl Iterator<Item = &'s Vec<Signal>>) -> Vec<Signal> {
        let mut all = Vec::new();
        for signal in messages.flatten() {
            if !all.contains(signal) {
                all.push(*signal);
            }
        }
        all
    }

    /// Whether the latest messages say one of these.
    pub(super) fn now(&self, signals: &[Signal]) -> bool {
        signals.iter().any(|signal| self.latest.contains(signal))
    }

    /// Whether any message of the sender says one of these.
    pub(super) fn ever(&self, signals: &[Signal]) -> bool {
        self.now(signals) || signals.iter().any(|signal| self.earlier.contains(signal))
    }

    /// Whether it is about one certain car.
    pub(super) fn is_specific(&self) -> bool {
        self.has_vehicle || self.form_names_car || self.ever(&[Signal::NamesCar])
    }
}

/// Where a conversation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The latest message is junk.
    Junk,
    /// The sender is not buying, or not any more: what it is about instead.
    NotBuying(Matter),
    /// Ready to transact.
    Ready,
    /// Asks about one certain car.
    Asking,
    /// Wants a car.
    Interested,
    /// Agreed to think about it.
    Thinking,
    /// Vague or early.
    Early,
    /// Says nothing that could be rated higher.
    Vague,
}

impl Stage {
    /// The rating.
    pub(super) const fn rating(self) -> u8 {
        match self {
            Self::Junk | Self::NotBuying(_) => 1,
            Self::Early | Self::Vague => 2,
            Self::Interested | Self::Thinking => 3,
            Self::Asking => 4,
            Self::Ready => 5,
        }
    }
}

/// What those write about who do not buy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Matter {
    BoughtElsewhere,
    Lost,
    StopContact,
    Job,
    Supplier,
    Complaint,
    Praise,
    Warranty,
    Admin,
    Parts,
    Service,
    /// None of these.
    Else,
}

/// What is made of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) stage: Stage,
    pub(super) intent: LeadType,
}

/// Decides.
pub(super) fn decide(evidence: &Evidence<'_>, prediction: Prediction) -> Outcome {
    // What is junk to all appearances, but speaks of buying, stays a buyer.
    let is_sure = evidence
        .junk
        .is_some_and(|junk| junk.confidence == JunkConfidence::High);
    if evidence.only_junk && (is_sure || prediction.rating < 3) {
        return Outcome {
            stage: Stage::Junk,
            intent: LeadType::Other,
        };
    }
    if evidence.says_nothing {
        return Outcome {
            stage: Stage::Vague,
            intent: evidence.expected().unwrap_or(LeadType::Email),
        };
    }
    let stage = match prediction.rating {
        5 => Stage::Ready,
        4 => Stage::Asking,
        3 if evidence.now(&[Signal::Thinks]) => Stage::Thinking,
        3 => Stage::Interested,
        2 if evidence.now(&[Signal::Early]) => Stage::Early,
        2 => Stage::Vague,
        _ => Stage::NotBuying(matter(evidence, prediction.intent)),
    };
    let is_call = evidence.types == [LeadType::Phone];
    let intent = match prediction.intent {
        LeadType::Email if is_call => LeadType::Phone,
        intent => intent,
    };
    Outcome { stage, intent }
}

/// What somebody who does not buy writes about.
fn matter(evidence: &Evidence<'_>, intent: LeadType) -> Matter {
    match intent {
        LeadType::Service => return Matter::Service,
        LeadType::Parts => return Matter::Parts,
        LeadType::Warranty => return Matter::Warranty,
        LeadType::Feedback if evidence.comes_first(Signal::Praise, Signal::Complaint) => return Matter::Praise,
        LeadType::Feedback => return Matter::Complaint,
        _ => {}
    }
    let about_a_sale = [
        (Signal::BoughtElsewhere, Matter::BoughtElsewhere),
        (Signal::StopContact, Matter::StopContact),
        (Signal::Lost, Matter::Lost),
    ];
    let about_the_business = [
        (Signal::Job, Matter::Job),
        (Signal::StopContact, Matter::StopContact),
        (Signal::Admin, Matter::Admin),
        (Signal::Supplier, Matter::Supplier),
        (Signal::BoughtElsewhere, Matter::BoughtElsewhere),
        (Signal::Lost, Matter::Lost),
    ];
    let in_a_sale = evidence.is_reply || evidence.has_vehicle;
    let matters = if in_a_sale {
        &about_a_sale[..]
    } else {
        &about_the_business
    };
    let found = matters.iter().find(|(signal, _)| evidence.now(&[*signal]));
    let otherwise = if in_a_sale { Matter::Lost } else { Matter::Else };
    found.map_or(otherwise, |(_, matter)| *matter)
}

impl Evidence<'_> {
    /// Whether it came in through a form for reservations.
    pub(super) fn is_for_reservation(&self) -> bool {
        self.types.contains(&LeadType::Reservation)
    }

    /// What the form is for through which it came, if it is for anything in particular.
    pub(super) fn expected(&self) -> Option<LeadType> {
        let mut types = self.types.iter().copied();
        types.find(|kind| !matches!(kind, LeadType::Email | LeadType::Other | LeadType::Phone))
    }

    /// Whether the latest messages say the first, and do not say the second before it.
    fn comes_first(&self, first: Signal, second: Signal) -> bool {
        let said = self
            .latest
            .iter()
            .find(|signal| **signal == first || **signal == second);
        said == Some(&first)
    }
}
