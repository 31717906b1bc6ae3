//! The calls of the sample dealership's telephone system.

use forecourt_accounts::{Business, Rules};
use forecourt_calls::{CallDirection, CallError, CallOutcome, NewCall, load_call};
use forecourt_dealership::Session;
use forecourt_kernel::{BoxError, PageRequest, Position, StoreError, Timestamp, Valid, View};
use serde_json::{Value, json};

/// The number of calls.
const CALLS: usize = 40;
const SECONDS_PER_DAY: i64 = 86_400;
/// The switchboard's number.
const OURS: &str = "+441632960100";
/// The number of a stranger who calls now and then.
const STRANGER: &str = "+447700900999";
/// The outcomes, in the order in which calls take turns; most are answered.
const OUTCOMES: [CallOutcome; 10] = [
    CallOutcome::Answered,
    CallOutcome::Missed,
    CallOutcome::Answered,
    CallOutcome::Voicemail,
    CallOutcome::Answered,
    CallOutcome::Busy,
    CallOutcome::Answered,
    CallOutcome::Failed,
    CallOutcome::Answered,
    CallOutcome::Cancelled,
];
const TRACKING: [&str; 3] = ["main line", "spring-sale", "window-cards"];
const SUMMARIES: [&str; 4] = [
    "Asked if the car is still for sale.",
    "Agreed on a test drive.",
    "Wanted a price for a part exchange.",
    "Asked about monthly payments.",
];

/// Stores the calls, the newest of them of the last day. Most are from and to contacts and enquirers, by whose numbers they are
/// matched.
pub(super) async fn load(session: &mut dyn Session, business: &Business, now: Timestamp) -> Result<(), StoreError> {
    let numbers = numbers(session, business).await?;
    for place in 0..CALLS {
        let days_ago = i64::try_from(CALLS - place).unwrap_or_default();
        let started = now.plus_seconds(-days_ago * SECONDS_PER_DAY * 2 / 3);
        let is_known = place % 8 < 7;
        let number = numbers.get(place % numbers.len().max(1)).filter(|_| is_known);
        let number = number.map_or(STRANGER, String::as_str);
        let call = serde_json::from_value(call(place, number, started)).map_err(failed)?;
        let rules = Rules { business, now };
        let call = Valid::new(call, |call: &NewCall| call.faults(&rules)).map_err(failed)?;
        let loaded = load_call(session, business, call, started.plus_seconds(300)).await;
        loaded.map_err(|error| match error {
            CallError::Store(error) => error,
            error => failed(error),
        })?;
    }
    Ok(())
}

fn failed(error: impl Into<BoxError>) -> StoreError {
    StoreError::Other(error.into())
}

/// Returns the numbers of leads and of contacts in turn.
async fn numbers(session: &mut dyn Session, business: &Business) -> Result<Vec<String>, StoreError> {
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 50,
    };
    let leads = session.leads(business.id, &Default::default(), &page).await?;
    let contacts = session
        .contacts(business.id, &Default::default(), &page, View::Simple)
        .await?;
    let of_leads = leads
        .items
        .iter()
        .map(|lead| [&lead.content.mobile, &lead.content.phone]);
    let of_contacts = contacts
        .items
        .iter()
        .map(|contact| [&contact.content.mobile, &contact.content.telephone]);
    let first = |numbers: [&String; 2]| numbers.into_iter().find(|number| !number.is_empty()).cloned();
    let (of_leads, of_contacts) = (of_leads.filter_map(first), of_contacts.filter_map(first));
    Ok(of_leads.zip(of_contacts).flat_map(<[String; 2]>::from).collect())
}

/// Returns the body of a call.
fn call(place: usize, number: &str, started: Timestamp) -> Value {
    let outcome = OUTCOMES[place % OUTCOMES.len()];
    let direction = if place % 3 == 2 {
        CallDirection::Out
    } else {
        CallDirection::In
    };
    let (from, to) = match direction {
        CallDirection::In => (number, OURS),
        CallDirection::Out => (OURS, number),
    };
    let started = started.epoch_seconds();
    let seconds = i64::try_from(30 + place * 37 % 240).unwrap_or_default();
    let mut call = json!({
        "direction": direction, "from": from, "to": to, "started": started, "ended": started + 25, "outcome": outcome,
        "provider": "switchboard", "external_id": format!("call-{:04}", place + 1),
        "tracking": TRACKING[place % TRACKING.len()],
    });
    if outcome == CallOutcome::Answered {
        call["answered"] = json!(started + 8);
        call["ended"] = json!(started + 8 + seconds);
        call["summary"] = json!(SUMMARIES[place % SUMMARIES.len()]);
    }
    call
}
