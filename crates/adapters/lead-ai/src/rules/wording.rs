//! Writes summary, reason and next action. Every word is from this file, from the vehicles of the stock, or rebuilt from a
//! recognised day or sum: none is copied from the sender.

use forecourt_leads::{Assessment, MAX_SUMMARY_WORDS, Rating};
use forecourt_reference::LeadType;

use super::{
    decide::{Evidence, Matter, Outcome, Stage},
    facts::Budget,
    signal::Signal,
};

/// Makes of two words.
const TWO_WORDS: [&str; 5] = ["Land", "Alfa", "Aston", "Range", "Great"];
/// Makes that people leave out before a model, as they are long or implied by it.
const LEFT_OUT: [&str; 2] = ["Volkswagen", "Mercedes-Benz"];
/// The maximum length of a word of a vehicle's name.
const MAX_NAME_CHARS: usize = 16;

/// Writes the whole answer.
pub(super) fn write(
    evidence: &Evidence<'_>,
    outcome: Outcome,
    vehicles: &[String],
    day: Option<String>,
    budget: Option<Budget>,
) -> Assessment {
    Assessment {
        rating: Rating::new(outcome.stage.rating().into()),
        intent: Some(outcome.intent),
        summary: Some(summary(evidence, outcome, vehicles, day, budget)),
        reason: Some(reason(evidence, outcome).to_owned()),
        next_action: Some(next_action(evidence, outcome).to_owned()),
        junk: evidence.junk.is_some(),
        junk_confidence: evidence.junk.map(|junk| junk.confidence),
    }
}

fn summary(
    evidence: &Evidence<'_>,
    outcome: Outcome,
    vehicles: &[String],
    day: Option<String>,
    budget: Option<Budget>,
) -> String {
    let name = vehicles.first().and_then(|vehicle| short_name(vehicle));
    let the_car = name.map_or_else(
        || (if evidence.is_specific() { "the car" } else { "a car" }).to_owned(),
        |name| format!("the {name}"),
    );
    let main = match outcome.stage {
        Stage::Junk => {
            let what = evidence.junk.map_or("junk", |junk| junk.kind.words());
            return sentence(&[format!("Looks like {what}")]);
        }
        Stage::NotBuying(matter) => not_buying(evidence, matter, &the_car),
        Stage::Ready if outcome.intent == LeadType::Finance => format!("Wants to apply for finance on {the_car}"),
        Stage::Ready if !evidence.ever(&[Signal::Commits]) && evidence.now(&[Signal::Offers]) => {
            format!("Offers a price for {the_car} and can pay now")
        }
        Stage::Ready if outcome.intent != LeadType::Reservation => format!("Has the money ready for {the_car}"),
        Stage::Ready => format!("Wants to buy or reserve {the_car}"),
        Stage::Thinking => format!("Is thinking about {the_car} and will reply"),
        Stage::Early if outcome.intent == LeadType::Email => "Early stage; only looking for now".to_owned(),
        _ => wish(evidence, outcome, &the_car),
    };
    let mut parts = vec![main];
    if let Stage::NotBuying(matter) = outcome.stage {
        if matter == Matter::Service
            && let Some(day) = day
        {
            parts[0] = format!("{} {day}", parts[0]);
        }
        return sentence(&parts);
    }
    let with_day = matches!(
        outcome.intent,
        LeadType::TestDrive | LeadType::Reservation | LeadType::Callback
    ) || evidence.now(&[Signal::Viewing]);
    if with_day && let Some(day) = day {
        parts[0] = format!("{} {day}", parts[0]);
    }
    let extras = [
        (
            evidence.ever(&[Signal::PartExchange])
                && !matches!(outcome.intent, LeadType::PartExchange | LeadType::Valuation),
            "has part exchange",
        ),
        (
            evidence.ever(&[Signal::HasCash]) && parts[0].starts_with("Wants"),
            "cash buyer",
        ),
        (
            evidence.ever(&[Signal::Finance]) && outcome.intent != LeadType::Finance,
            "asks about finance",
        ),
        (
            evidence.ever(&[Signal::Delivery]) && !parts[0].contains("delivery"),
            "asks about delivery",
        ),
    ];
    parts.extend(
        extras
            .into_iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, words)| words.to_owned()),
    );
    if let Some(budget) = budget {
        parts.insert(1, budget.words());
    }
    sentence(&parts)
}

/// Joins the first part, and as many of the others as there is room for.
fn sentence(parts: &[String]) -> String {
    let mut text = String::new();
    let mut words = 0;
    for part in parts {
        let more = part.split_whitespace().count();
        if words > 0 && words + more > MAX_SUMMARY_WORDS {
            continue;
        }
        text.push_str(if words > 0 { "; " } else { "" });
        text.push_str(part);
        words += more;
    }
    // Only a day after a long name can make the first part too long.
    if words > MAX_SUMMARY_WORDS {
        text = text
            .split_whitespace()
            .take(MAX_SUMMARY_WORDS)
            .collect::<Vec<_>>()
            .join(" ");
    }
    text.push('.');
    text
}

fn not_buying(evidence: &Evidence<'_>, matter: Matter, the_car: &str) -> String {
    let plain = match matter {
        Matter::BoughtElsewhere => "Has bought a car elsewhere",
        Matter::Lost => return format!("Is no longer interested in {the_car}"),
        Matter::StopContact => "Asks not to be contacted any more",
        Matter::Job => "Asks about work at the dealership",
        Matter::Supplier => "Offers something to the business, or asks for its support",
        Matter::Complaint => "Complains and expects an answer",
        Matter::Praise => "Gives feedback on the team or the service",
        Matter::Warranty => "Reports a fault or asks about their own warranty",
        Matter::Admin => "Needs help with paperwork or another matter after a sale",
        Matter::Parts => "Asks for parts or accessories",
        Matter::Service if evidence.now(&[Signal::Lost]) => "Wants to change or cancel a workshop booking",
        Matter::Service => "Wants service, an MOT or repair work",
        Matter::Else => "Writes about something other than buying a car",
    };
    plain.to_owned()
}

fn wish(evidence: &Evidence<'_>, outcome: Outcome, the_car: &str) -> String {
    let Outcome { stage, intent } = outcome;
    match intent {
        LeadType::TestDrive => format!("Wants to test drive {the_car}"),
        LeadType::Finance if evidence.is_specific() => format!("Asks about finance on {the_car}"),
        LeadType::Finance => "Asks about finance for a car".to_owned(),
        LeadType::PartExchange if evidence.has_vehicle => format!("Offers a part exchange against {the_car}"),
        LeadType::PartExchange => "Has a car to part exchange".to_owned(),
        LeadType::Valuation => "Asks what their own car is worth".to_owned(),
        LeadType::Reservation => format!("Asks how to reserve {the_car}"),
        LeadType::Availability if evidence.is_specific() => format!("Asks whether {the_car} is still available"),
        LeadType::Availability => "Asks which cars are in stock".to_owned(),
        LeadType::Video => format!("Wants a video of {the_car}"),
        LeadType::Brochure => "Wants a brochure".to_owned(),
        LeadType::Warranty => format!("Asks what warranty {the_car} comes with"),
        LeadType::Callback | LeadType::Phone => format!("Wants a call about {the_car}"),
        _ if evidence.now(&[Signal::Viewing]) && evidence.is_specific() => format!("Wants to see {the_car}"),
        _ if evidence.ever(&[Signal::Motability]) => format!("Asks about {the_car} on Motability"),
        _ if evidence.now(&[Signal::Export]) => format!("Asks about exporting {the_car}"),
        _ if evidence.now(&[Signal::Delivery]) => format!("Asks about delivery of {the_car}"),
        _ if evidence.now(&[Signal::Trade]) => format!("Dealer; asks for the trade price of {the_car}"),
        _ if evidence.now(&[Signal::Photos]) => format!("Wants more photos of {the_car}"),
        _ if evidence.now(&[Signal::Price]) => format!("Asks about the price of {the_car}"),
        _ if evidence.is_specific() && (evidence.asks || evidence.now(&[Signal::Details])) => {
            format!("Asks about details of {the_car}")
        }
        _ if evidence.ever(&[Signal::Business]) => "Looks for a vehicle for their business".to_owned(),
        _ if evidence.is_specific() => format!("Is interested in {the_car}"),
        _ if stage == Stage::Interested => "Is looking for a car".to_owned(),
        _ if evidence.now(&[Signal::Hours]) => "Asks about opening hours or the way".to_owned(),
        _ => "General enquiry without details".to_owned(),
    }
}

/// Returns make and model, short enough for a sentence. Words that are no name, such as an engine or a number of doors, end it.
fn short_name(vehicle: &str) -> Option<String> {
    let mut words: Vec<&str> = vehicle
        .split_whitespace()
        .take_while(|word| is_name(word))
        .take(4)
        .collect();
    let two = words.first().is_some_and(|first| TWO_WORDS.contains(first));
    words.truncate(if two { 4 } else { 3 });
    if words.len() > 1 && words.first().is_some_and(|first| LEFT_OUT.contains(first)) {
        words.remove(0);
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// Returns `true` for letters, digits and hyphens. An engine size, a number of doors, or anything as long as a phone number is no
/// name.
fn is_name(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.chars().count() <= MAX_NAME_CHARS
        && word
            .chars()
            .all(|character| character.is_alphanumeric() || matches!(character, '-' | '!'))
        && word.chars().any(char::is_alphanumeric)
        && digits <= 4
        && !(word.ends_with("dr") && digits > 0)
}

fn reason(evidence: &Evidence<'_>, outcome: Outcome) -> &'static str {
    match outcome.stage {
        Stage::Junk => "The message has the marks of junk and no sign of an enquiry.",
        Stage::NotBuying(Matter::BoughtElsewhere) => "The sender says that they have bought a car elsewhere.",
        Stage::NotBuying(Matter::Lost) => "The latest message withdraws the interest.",
        Stage::NotBuying(Matter::StopContact) => "The sender asks to be left alone.",
        Stage::NotBuying(_) => "The message is about something other than buying a car.",
        Stage::Ready if evidence.is_for_reservation() => "The enquiry came in as a reservation.",
        Stage::Ready if outcome.intent == LeadType::Finance => "The sender wants the finance application to begin.",
        Stage::Ready if !evidence.ever(&[Signal::Commits]) => {
            "The sender has the money ready or makes an offer for the car."
        }
        Stage::Ready => "The sender wants to pay, reserve, buy or collect.",
        Stage::Asking => "The sender asks about one specific car.",
        Stage::Interested if evidence.is_specific() => "The sender names a car but asks nothing specific about it.",
        Stage::Interested => "The sender wants a car but names no specific one.",
        Stage::Thinking => "The sender was interested and wants time to think.",
        Stage::Early => "The sender says that it is early or that they are only looking.",
        Stage::Vague => "The message says little about buying a car.",
    }
}

fn next_action(evidence: &Evidence<'_>, outcome: Outcome) -> &'static str {
    match outcome.stage {
        Stage::Junk => "Check that it is junk; no reply is needed.",
        Stage::NotBuying(matter) => match matter {
            Matter::BoughtElsewhere | Matter::Lost => "Thank them and close the lead.",
            Matter::StopContact => "Stop contacting them, remove them from mailings and close the lead.",
            Matter::Job => "Pass it to the person who recruits.",
            Matter::Supplier => "Pass it to the person who buys for the business.",
            Matter::Complaint => "Pass it to a manager, who should call today.",
            Matter::Praise => "Thank them and ask for a review.",
            Matter::Warranty => "Pass it to the warranty or aftersales desk.",
            Matter::Admin => "Pass it to the office.",
            Matter::Parts => "Pass it to the parts desk.",
            Matter::Service => "Pass it to the service desk to book.",
            Matter::Else => "Read it and pass it to the right person.",
        },
        Stage::Ready if outcome.intent == LeadType::Finance => "Call now and begin the finance application.",
        Stage::Ready => "Call now, confirm the car is free and take the deposit.",
        Stage::Thinking => "Follow up in two days.",
        Stage::Early => "Send a short friendly reply and follow up later.",
        Stage::Vague if outcome.intent == LeadType::Valuation => {
            "Ask for registration, mileage and condition, and invite them in."
        }
        Stage::Vague => "Reply and ask what they are looking for.",
        Stage::Asking | Stage::Interested => match outcome.intent {
            LeadType::TestDrive => "Confirm a time for the test drive and check their driving licence.",
            LeadType::Finance => "Send a finance quote and ask for deposit, term and mileage.",
            LeadType::PartExchange | LeadType::Valuation => "Ask for the details of their car and make an offer.",
            LeadType::Reservation => "Explain how reservations work and offer to take the deposit.",
            LeadType::Availability => "Say whether it is available and offer a viewing.",
            LeadType::Video => "Record a video of the car and send it.",
            LeadType::Brochure => "Send the brochure and ask when they want to buy.",
            LeadType::Warranty => "Explain the warranty and offer a viewing.",
            LeadType::Callback | LeadType::Phone => "Call them back at the time that suits them.",
            _ if evidence.now(&[Signal::Viewing]) => "Confirm a time for the viewing.",
            _ if evidence.now(&[Signal::Price]) => "Answer with a price and offer a viewing.",
            _ if outcome.stage == Stage::Asking => "Answer the questions and offer a viewing.",
            _ => "Reply with matching cars and offer a viewing.",
        },
    }
}
