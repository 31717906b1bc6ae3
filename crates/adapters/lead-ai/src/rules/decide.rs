//! Translates the model's reading of a conversation into the terms of a dealership: the stage of the sale, and the matter of a
//! sender who does not buy.

use forecourt_leads::JunkConfidence;
use forecourt_reference::LeadType;

use super::{junk::Verdict, model::Prediction, signal::Signal};

/// The facts of a conversation.
pub(super) struct Evidence<'a> {
    pub(super) types: &'a [LeadType],
    /// The enquiry is linked to a vehicle of the stock.
    pub(super) has_vehicle: bool,
    /// The form of a portal names a car.
    pub(super) form_names_car: bool,
    /// The signals of the sender's latest messages, in order.
    pub(super) latest: Vec<Signal>,
    /// The signals of their messages before.
    pub(super) earlier: Vec<Signal>,
    /// The latest messages ask something.
    pub(super) asks: bool,
    /// They say nothing, or only greet, thank or agree to nothing.
    pub(super) says_nothing: bool,
    /// The business wrote before them.
    pub(super) is_reply: bool,
    /// The verdict on the sender's last message.
    pub(super) junk: Option<Verdict>,
    /// The sender wrote nothing but junk.
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

    /// Returns `true` if the latest messages have one of these.
    pub(super) fn now(&self, signals: &[Signal]) -> bool {
        signals.iter().any(|signal| self.latest.contains(signal))
    }

    /// Returns `true` if any message of the sender has one of these.
    pub(super) fn ever(&self, signals: &[Signal]) -> bool {
        self.now(signals) || signals.iter().any(|signal| self.earlier.contains(signal))
    }

    /// Returns `true` if it is about one certain car.
    pub(super) fn is_specific(&self) -> bool {
        self.has_vehicle || self.form_names_car || self.ever(&[Signal::NamesCar])
    }
}

/// The stage of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The latest message is junk.
    Junk,
    /// The sender is not buying, or no longer, and writes about this instead.
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

/// The subjects of senders who do not buy.
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

/// The decision on a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) stage: Stage,
    pub(super) intent: LeadType,
}

/// Decides.
pub(super) fn decide(evidence: &Evidence<'_>, prediction: Prediction) -> Outcome {
    // A message that looks like junk but shows a wish to buy stays a buyer's.
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

/// Returns the subject of a sender who does not buy.
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
    /// Returns `true` if it came in through a form for reservations.
    pub(super) fn is_for_reservation(&self) -> bool {
        self.types.contains(&LeadType::Reservation)
    }

    /// Returns the purpose of the form through which it came, if it has a particular one.
    pub(super) fn expected(&self) -> Option<LeadType> {
        let mut types = self.types.iter().copied();
        types.find(|kind| !matches!(kind, LeadType::Email | LeadType::Other | LeadType::Phone))
    }

    /// Returns `true` if the latest messages have the first signal, and not the second one before it.
    fn comes_first(&self, first: Signal, second: Signal) -> bool {
        let said = self
            .latest
            .iter()
            .find(|signal| **signal == first || **signal == second);
        said == Some(&first)
    }
}
