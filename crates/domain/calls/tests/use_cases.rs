//! Tests of the use cases, on the store in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_calls::testing::{MemoryStore, call_store_contract};
use forecourt_calls::{
    Call, CallChanges, CallError, CallId, CallOutcome, FullCall, NewCall, Reported, delete_call, forget_person_in_call,
    forget_person_in_event, report_call, update_call,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{
    BusinessId, Clock as _, ContactId, Country, LeadId, Person, PersonKeys, Precondition, ScopeSet, Target, Timestamp,
    Valid, ValidationErrors, Version,
};
use forecourt_leads::testing::KnownContact;
use forecourt_leads::{LeadDraft, LeadStatus, LeadStore as _};
use forecourt_reference::{Catalogue, LeadChannel, LeadType};
use serde_json::{Value, json};

/// 2026-03-01T12:00:00Z.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_366_400);
const ANN: &str = "+447700900123";
const DAY: i64 = 86_400;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

fn caller() -> Caller {
    let business = Business {
        country: Country::GB,
        ..Business::new(BusinessId::new(1), "acme", "Acme Cars")
    };
    Caller::of(business, ScopeSet::all())
}

fn ours() -> BusinessId {
    caller().business_id()
}

fn validated(body: Value) -> Result<Valid<NewCall>, ValidationErrors> {
    let by = caller();
    let rules = Rules {
        business: &by.business,
        now: NOW,
    };
    Valid::new(serde_json::from_value(body).unwrap(), |call: &NewCall| {
        call.faults(&rules)
    })
}

fn changes(body: Value) -> Valid<CallChanges> {
    let by = caller();
    let rules = Rules {
        business: &by.business,
        now: NOW,
    };
    Valid::new(serde_json::from_value(body).unwrap(), |call: &CallChanges| {
        call.all_faults(&rules)
    })
    .unwrap()
}

/// Returns the body of a call that began a minute ago.
fn a_call(direction: &str, more: Value) -> Value {
    let mut body = json!({"direction": direction, "started": NOW.epoch_seconds() - 60});
    let number = if direction == "in" { "from" } else { "to" };
    body[number] = json!(ANN);
    let Value::Object(more) = more else {
        return body;
    };
    for (name, value) in more {
        body[name] = value;
    }
    body
}

async fn reported(store: &mut MemoryStore, body: Value) -> Result<Reported, CallError> {
    let call = validated(body).unwrap();
    report_call(store, &clock(), &caller(), &Precondition::default(), call).await
}

async fn created(store: &mut MemoryStore, body: Value) -> Call {
    match reported(store, body).await.unwrap() {
        Reported::Created(call) => call,
        Reported::Known(call) => panic!("{call:?} was known"),
    }
}

async fn updated(store: &mut MemoryStore, call: &Call, body: Value) -> Call {
    let later = FixedClock::at(NOW.plus_seconds(5));
    update_call(store, &later, &caller(), call.id, changes(body))
        .await
        .unwrap()
}

fn known(store: &mut MemoryStore, id: i64, numbers: [&str; 2]) -> ContactId {
    let contact = KnownContact {
        id: ContactId::new(id),
        email: String::new(),
        numbers: numbers.map(str::to_owned),
    };
    store.leads.know_contact(ours(), contact);
    store.calls.know_name(ours(), ContactId::new(id), "Ann Lee");
    ContactId::new(id)
}

async fn lead(store: &mut MemoryStore, contact: Option<ContactId>, phone: &str, at: Timestamp) -> LeadId {
    let draft = LeadDraft {
        contact,
        phone: phone.to_owned(),
        ..LeadDraft::blank(&Catalogue::default())
    };
    store.insert_lead(ours(), draft, at).await.unwrap().id
}

fn status(store: &MemoryStore, lead: LeadId) -> LeadStatus {
    store.leads.get(lead).unwrap().content.status
}

fn events(store: &MemoryStore) -> Vec<&str> {
    store.events.iter().map(|(_, event)| event.name.as_str()).collect()
}

fn shown(call: &Call) -> Value {
    serde_json::to_value(FullCall::from(call)).unwrap()
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    call_store_contract(&mut MemoryStore::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[tokio::test]
async fn a_call_of_which_little_is_said_has_the_defaults() {
    let mut store = MemoryStore::default();
    let call = created(&mut store, json!({"direction": "in", "started": 0})).await;
    let expected = json!({
        "id": call.id, "site": 0, "direction": "in", "from": "", "to": "", "contact": null, "lead": null,
        "vehicle": null, "staff": null, "started": 0, "answered": null, "ended": null, "duration": 0,
        "outcome": "missed", "provider": "", "external_id": "", "tracking": "", "created": NOW, "updated": NOW,
        "version": 1, "recording_url": "", "transcript": "", "summary": "", "notes": "",
    });
    assert_eq!(shown(&call), expected);
    let [(_, event)] = store.events.as_slice() else {
        panic!("{:?}", store.events)
    };
    let mut data: Value = serde_json::from_str(&event.data).unwrap();
    let changed = data.as_object_mut().unwrap().remove("changed").unwrap();
    assert_eq!((event.name.as_str(), data), ("call.created", expected.clone()));
    let all: Vec<&String> = expected.as_object().unwrap().keys().collect();
    assert_eq!(changed, json!(all));
}

#[tokio::test]
async fn duration_and_outcome_follow_from_the_moments_until_they_are_sent() {
    let mut store = MemoryStore::default();
    let at = NOW.epoch_seconds() - 60;
    let call = created(&mut store, a_call("out", json!({}))).await;
    assert_eq!(call.content.actual_outcome(), CallOutcome::Missed);
    let call = updated(&mut store, &call, json!({"answered": at + 5, "ended": at + 35})).await;
    assert_eq!(
        (call.content.talk_seconds(), call.content.actual_outcome()),
        (30, CallOutcome::Answered)
    );
    let call = updated(&mut store, &call, json!({"duration": 7, "outcome": "voicemail"})).await;
    assert_eq!(
        (call.content.talk_seconds(), call.content.actual_outcome()),
        (7, CallOutcome::Voicemail)
    );
    let call = updated(
        &mut store,
        &call,
        json!({"duration": null, "outcome": null, "answered": null}),
    )
    .await;
    assert_eq!(
        (call.content.talk_seconds(), call.content.actual_outcome()),
        (0, CallOutcome::Missed)
    );
    let talked = created(&mut store, a_call("in", json!({"duration": 1}))).await;
    assert_eq!(talked.content.actual_outcome(), CallOutcome::Answered);
}

#[test]
fn every_fault_is_told() {
    let fields = |body: Value| -> Vec<String> {
        let errors = validated(body).err().unwrap_or_default();
        errors.as_slice().iter().map(|error| error.field.clone()).collect()
    };
    assert_eq!(fields(json!({})), ["direction", "started"]);
    assert_eq!(
        fields(json!({"direction": null, "started": null})),
        ["direction", "started"]
    );
    let wrong = json!({
        "direction": "inwards", "started": -1, "from": "abc", "duration": -1, "outcome": "lost", "staff": 9,
        "site": 77, "recording_url": "http://calls.example/1", "transcript": "x".repeat(20_001), "create_lead": 1,
    });
    assert_eq!(
        fields(wrong),
        [
            "direction",
            "started",
            "duration",
            "outcome",
            "transcript",
            "create_lead",
            "site",
            "from",
            "staff",
            "recording_url"
        ]
    );
    let at = NOW.epoch_seconds();
    for (more, field) in [
        (json!({"started": at + 2 * DAY}), "started"),
        (json!({"answered": at - 61}), "answered"),
        (json!({"ended": at - 61}), "ended"),
        (json!({"answered": at - 10, "ended": at - 11}), "ended"),
        (json!({"recording_url": "https:///x"}), "recording_url"),
        (json!({"recording_url": "https://a b"}), "recording_url"),
    ] {
        assert_eq!(fields(a_call("in", more.clone())), [field], "{more}");
    }
    let right =
        json!({"started": at + DAY / 2, "recording_url": "HTTPS://calls.example/1?x=y", "from": "07700 900123"});
    assert!(fields(a_call("in", right)).is_empty());
}

#[tokio::test]
async fn the_other_party_is_matched_to_the_only_contact_and_to_the_newest_lead() {
    let mut store = MemoryStore::default();
    let ann = known(&mut store, 17, ["", ANN]);
    known(&mut store, 18, ["+441132000000", ""]);
    let old = lead(&mut store, None, ANN, NOW.plus_seconds(-91 * DAY)).await;
    let of_contact = lead(&mut store, Some(ann), "", NOW.plus_seconds(-DAY)).await;
    let call = created(
        &mut store,
        a_call("in", json!({"to": "+441132000000", "outcome": "answered"})),
    )
    .await;
    assert_eq!((call.content.contact, call.content.lead), (Some(ann), Some(of_contact)));
    let newest = lead(&mut store, None, ANN, NOW).await;
    let call = created(&mut store, a_call("out", json!({"outcome": "busy"}))).await;
    assert_eq!((call.content.contact, call.content.lead), (Some(ann), Some(newest)));
    // With two there is none.
    known(&mut store, 19, [ANN, ""]);
    let call = created(&mut store, a_call("in", json!({}))).await;
    assert_eq!((call.content.contact, call.content.lead), (None, Some(newest)));
    let call = created(&mut store, a_call("in", json!({"from": ""}))).await;
    assert_eq!((call.content.contact, call.content.lead), (None, None));
    assert!(
        [old, of_contact]
            .iter()
            .all(|lead| status(&store, *lead) == LeadStatus::New)
    );
}

#[tokio::test]
async fn a_choice_stays_when_the_numbers_change_and_a_match_does_not() {
    let mut store = MemoryStore::default();
    let ann = known(&mut store, 17, ["", ANN]);
    let bob = known(&mut store, 18, ["", "+447700900188"]);
    let chosen = lead(&mut store, None, "", NOW).await;
    let call = created(&mut store, a_call("in", json!({"lead": chosen, "outcome": "answered"}))).await;
    assert_eq!((call.content.contact, call.content.lead), (Some(ann), Some(chosen)));
    let call = updated(&mut store, &call, json!({"from": "+447700900188"})).await;
    assert_eq!((call.content.contact, call.content.lead), (Some(bob), Some(chosen)));
    let call = updated(&mut store, &call, json!({"contact": ann})).await;
    let call = updated(&mut store, &call, json!({"from": "+447700900199"})).await;
    assert_eq!((call.content.contact, call.content.lead), (Some(ann), Some(chosen)));
    let call = updated(&mut store, &call, json!({"contact": null, "lead": null})).await;
    assert_eq!((call.content.contact, call.content.lead), (None, None));
    for field in ["contact", "lead", "vehicle"] {
        let refused = reported(&mut store, a_call("in", json!({field: 999}))).await;
        let Err(CallError::Invalid(errors)) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(errors.as_slice()[0].field, field);
    }
}

#[tokio::test]
async fn a_call_moves_its_lead_once_for_each_outcome() {
    let mut store = MemoryStore::default();
    let lead = lead(&mut store, None, ANN, NOW).await;
    let call = created(&mut store, a_call("in", json!({}))).await;
    assert_eq!(
        (events(&store), status(&store, lead)),
        (vec!["call.created", "lead.updated"], LeadStatus::NewMessage)
    );
    created(&mut store, a_call("out", json!({"outcome": "answered"}))).await;
    assert_eq!(status(&store, lead), LeadStatus::Replied);
    let call = updated(&mut store, &call, json!({"notes": "Rings again."})).await;
    assert_eq!(status(&store, lead), LeadStatus::Replied, "once for this outcome");
    let call = updated(&mut store, &call, json!({"outcome": "voicemail"})).await;
    assert_eq!(status(&store, lead), LeadStatus::NewMessage);
    created(&mut store, a_call("out", json!({"duration": 4}))).await;
    updated(&mut store, &call, json!({"outcome": "missed"})).await;
    assert_eq!(status(&store, lead), LeadStatus::Replied);
    for (direction, outcome) in [
        ("in", "answered"),
        ("in", "busy"),
        ("out", "missed"),
        ("out", "voicemail"),
    ] {
        created(&mut store, a_call(direction, json!({"outcome": outcome}))).await;
        assert_eq!(status(&store, lead), LeadStatus::Replied, "{direction} {outcome}");
    }
}

#[tokio::test]
async fn an_incoming_call_without_a_lead_makes_one() {
    let mut store = MemoryStore::default();
    let ann = known(&mut store, 17, ["", ANN]);
    let body = a_call("in", json!({"create_lead": true, "tracking": "spring"}));
    let call = created(&mut store, body.clone()).await;
    assert_eq!(events(&store), ["lead.created", "call.created"]);
    let made = store.leads.get(call.content.lead.unwrap()).unwrap().content.clone();
    assert_eq!(
        (made.channel, made.types),
        (LeadChannel::Phone, vec![LeadType::Callback])
    );
    assert_eq!(
        (made.name.as_str(), made.phone.as_str(), made.contact),
        ("Ann Lee", ANN, Some(ann))
    );
    assert_eq!(
        serde_json::from_str::<Value>(made.data.as_str()).unwrap(),
        json!({"source": "spring"})
    );
    assert_eq!(made.status, LeadStatus::New, "not moved by the call that made it");
    updated(&mut store, &call, json!({"outcome": "voicemail"})).await;
    assert_eq!(status(&store, call.content.lead.unwrap()), LeadStatus::New);
    // The next one has that lead.
    let next = created(&mut store, body).await;
    assert_eq!((next.content.lead, store.leads.all().count()), (call.content.lead, 1));
    assert_eq!(status(&store, next.content.lead.unwrap()), LeadStatus::NewMessage);
    let stranger = json!({"create_lead": true, "from": "+447700900144", "duration": 30});
    let stranger = created(&mut store, a_call("in", stranger)).await;
    let made = &store.leads.get(stranger.content.lead.unwrap()).unwrap().content;
    assert_eq!(
        (made.types.as_slice(), made.name.as_str()),
        (&[LeadType::Phone] as &[_], "")
    );
    let outgoing = json!({"create_lead": true, "to": "+447700900155"});
    assert_eq!(created(&mut store, a_call("out", outgoing)).await.content.lead, None);
}

#[tokio::test]
async fn a_call_that_is_reported_again_changes() {
    let mut store = MemoryStore::default();
    let name = json!({"provider": "board", "external_id": "1"});
    let call = created(&mut store, a_call("in", name.clone())).await;
    let Reported::Known(same) = reported(&mut store, a_call("in", name.clone())).await.unwrap() else {
        panic!("it is new")
    };
    assert_eq!((&same, store.events.len()), (&call, 1));
    let ended = json!({"provider": "board", "external_id": "1", "ended": NOW, "create_lead": true});
    let Reported::Known(changed) = reported(&mut store, a_call("in", ended)).await.unwrap() else {
        panic!("it is new")
    };
    assert_eq!(
        (changed.id, changed.version, changed.content.ended),
        (call.id, Version::new(2), Some(NOW))
    );
    assert_eq!(changed.content.lead, None);
    let data: Value = serde_json::from_str(&store.events.last().unwrap().1.data).unwrap();
    assert_eq!(data["changed"], json!(["ended", "updated", "version"]));
    let outdated = Precondition::one_of(vec![1]);
    let again = validated(a_call("in", name)).unwrap();
    let refused = report_call(&mut store, &clock(), &caller(), &outdated, again).await;
    assert!(matches!(refused, Err(CallError::VersionMismatch(_))));
    let early = json!({"provider": "board", "external_id": "1", "started": NOW.epoch_seconds() + 1});
    assert!(matches!(
        reported(&mut store, a_call("in", early)).await,
        Err(CallError::Invalid(_))
    ));
    // Another call cannot take its name.
    let other = created(&mut store, a_call("in", json!({}))).await;
    let taken = changes(json!({"provider": "board", "external_id": "1"}));
    let refused = update_call(&mut store, &clock(), &caller(), other.id, taken).await;
    assert!(matches!(refused, Err(CallError::Invalid(_))));
}

#[tokio::test]
async fn a_change_that_changes_nothing_leaves_no_trace() {
    let mut store = MemoryStore::default();
    let ann = known(&mut store, 17, ["", ANN]);
    let call = created(&mut store, a_call("in", json!({}))).await;
    let same = updated(
        &mut store,
        &call,
        json!({"outcome": "missed", "contact": ann, "duration": 0}),
    )
    .await;
    assert_eq!((shown(&same), store.events.len()), (shown(&call), 1));
    // Still it is known now that the contact was chosen.
    let moved = updated(&mut store, &call, json!({"from": ""})).await;
    assert_eq!(moved.content.contact, Some(ann));
}

#[tokio::test]
async fn absence_comes_before_versions_and_a_deletion_has_no_event() {
    let mut store = MemoryStore::default();
    let call = created(&mut store, a_call("in", json!({}))).await;
    let outdated = |id| Target {
        id,
        precondition: Precondition::one_of(vec![7]),
    };
    let absent = CallId::new(999);
    let refused = update_call(&mut store, &clock(), &caller(), outdated(absent), changes(json!({}))).await;
    assert!(matches!(refused, Err(CallError::NotFound(id)) if id == absent));
    let refused = delete_call(&mut store, &caller(), outdated(call.id)).await;
    assert!(matches!(refused, Err(CallError::VersionMismatch(_))));
    delete_call(&mut store, &caller(), call.id).await.unwrap();
    assert_eq!((store.calls.all().count(), store.events.len()), (0, 1));
}

#[tokio::test]
async fn a_person_is_forgotten() {
    let mut store = MemoryStore::default();
    let ann = known(&mut store, 17, ["", ANN]);
    let lead = lead(&mut store, Some(ann), "", NOW).await;
    let told = json!({
        "to": "+441132000000", "transcript": "Ann Lee spoke.", "notes": "Ann Lee rings again.",
        "summary": "Ann Lee asked.", "recording_url": "https://calls.example/1", "outcome": "answered",
    });
    let call = created(&mut store, a_call("in", told.clone())).await;
    assert_eq!(call.content.lead, Some(lead));
    let mut keys = PersonKeys::new(ann);
    keys.add_name("Ann Lee");
    keys.add_number(ANN);
    let person = Person::new(&keys).unwrap();
    forget_person_in_call(&mut store, clock().now(), ours(), call, &person, false)
        .await
        .unwrap();
    let left = shown(store.calls.all().next().unwrap());
    for (member, expected) in [
        ("contact", json!(null)),
        ("lead", json!(null)),
        ("from", json!("")),
        ("to", json!("+441132000000")),
        ("recording_url", json!("")),
        ("transcript", json!("")),
        ("summary", json!("… asked.")),
        ("notes", json!("… rings again.")),
        ("version", json!(2)),
    ] {
        assert_eq!(left[member], expected, "{member}");
    }
    let mut event: Value = serde_json::from_str(&store.events[0].1.data).unwrap();
    assert!(forget_person_in_event(event.as_object_mut().unwrap(), &person));
    assert!(!event.to_string().contains("Ann") && !event.to_string().contains(ANN));
    // A call with somebody else that names her keeps its recording.
    let other =
        json!({"from": "+447700900177", "transcript": "Ann Lee knows.", "recording_url": "https://calls.example/2"});
    let other = created(&mut store, a_call("in", other)).await;
    forget_person_in_call(&mut store, clock().now(), ours(), other, &person, false)
        .await
        .unwrap();
    let left = shown(store.calls.all().last().unwrap());
    assert_eq!(
        (&left["transcript"], &left["recording_url"]),
        (&json!("… knows."), &json!("https://calls.example/2"))
    );
}
