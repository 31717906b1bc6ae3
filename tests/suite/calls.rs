//! Calls: every sentence of the decisions about them (§10.10).

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Engine, Receiver, Shop, both_engines, eventually, now, url_query};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    a_call_of_little_has_every_default
    a_call_reads_as_it_was_written
    each_fault_names_its_field
    a_call_is_matched_to_people
    a_call_moves_its_lead
    a_call_makes_a_lead
    a_call_reported_twice_is_one
    twenty_reports_at_once_make_one_call
    each_filter_alone
    a_webhook_receives_calls
    an_erased_contact_leaves_its_calls
    old_calls_are_deleted
}

const CALLS: &str = "/2.0/calls";
const CONTACTS: &str = "/2.0/contacts";
const LEADS: &str = "/2.0/leads";
const ANN: &str = "+447700900123";
const TIMEOUT: Duration = Duration::from_secs(60);
const DAY: i64 = 86_400;

/// Returns the body of a call that began a minute ago, from or to Ann.
fn a_call(direction: &str, more: &Value) -> Value {
    let party = if direction == "in" { "from" } else { "to" };
    let mut body = json!({"direction": direction, "started": now() - 60, party: ANN});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

async fn call(shop: &Shop, direction: &str, more: &Value) -> Value {
    shop.api.post(CALLS, &a_call(direction, more)).await.created()
}

async fn contact(shop: &Shop, body: &Value) -> Value {
    shop.api.post(CONTACTS, body).await.created()["id"].take()
}

async fn lead_status(shop: &Shop, lead: &Value) -> Value {
    shop.api.get(&format!("{LEADS}/{lead}")).await.ok()["status"]["name"].take()
}

/// Returns the names of the events so far.
async fn events(shop: &Shop) -> Vec<String> {
    let events = shop.api.walk("/2.0/events").await;
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap().to_owned())
        .collect()
}

async fn a_call_of_little_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let answer = shop.api.post(CALLS, &json!({"direction": "out", "started": 0})).await;
    let made = answer.created();
    let path = format!("{CALLS}/{}", made["id"]);
    assert_eq!(answer.header("Location"), Some(path.as_str()));
    let read = shop.api.get(&path).await;
    assert_eq!((read.ok(), read.header("ETag")), (made.clone(), Some("\"1\"")));
    let expected = json!({
        "id": made["id"], "site": 0, "direction": "out", "from": "", "to": "", "contact": null, "lead": null,
        "vehicle": null, "staff": null, "started": 0, "answered": null, "ended": null, "duration": 0,
        "outcome": "missed", "provider": "", "external_id": "", "tracking": "", "created": made["created"],
        "updated": made["created"], "version": 1, "recording_url": "", "transcript": "", "summary": "", "notes": "",
    });
    assert_eq!(made, expected);
    let full: BTreeSet<&String> = made.as_object().unwrap().keys().collect();
    let simple = shop.api.list(CALLS).await.items.remove(0);
    let simple: BTreeSet<&String> = simple.as_object().unwrap().keys().collect();
    let left: Vec<&str> = full.difference(&simple).map(|member| member.as_str()).collect();
    assert_eq!(left, ["notes", "recording_url", "summary", "transcript", "version"]);
    shop.api.delete(&path).await.ok();
    shop.api.get(&path).await.refused(404, "call_not_found");
    assert_eq!(events(&shop).await, ["call.created"], "a deletion has no event");
}

async fn a_call_reads_as_it_was_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let at = now() - 60;
    let body = json!({
        "from": "07700 900123", "to": "0113 200 0000", "answered": at + 5, "ended": at + 45, "provider": "board",
        "external_id": "17", "tracking": "spring", "recording_url": "https://calls.example/17", "transcript": "Hello. 🚗",
        "summary": "A greeting.", "notes": "Rings again.", "started": at,
    });
    let made = call(&shop, "in", &body).await;
    for (member, expected) in [
        ("from", json!(ANN)),
        ("to", json!("+441132000000")),
        ("duration", json!(40)),
        ("outcome", json!("answered")),
        ("external_id", json!("17")),
        ("transcript", json!("Hello. 🚗")),
        ("recording_url", json!("https://calls.example/17")),
    ] {
        assert_eq!(made[member], expected, "{member}");
    }
    let path = format!("{CALLS}/{}", made["id"]);
    let same = shop
        .api
        .patch(&path, &json!({"notes": "Rings again.", "nonsense": 1}))
        .await
        .ok();
    assert_eq!(same, made);
    let changed = shop
        .api
        .patch(&path, &json!({"outcome": "busy", "notes": null}))
        .await
        .ok();
    assert_eq!(
        (&changed["outcome"], &changed["notes"], &changed["version"]),
        (&json!("busy"), &json!(""), &json!(2))
    );
    let back = shop
        .api
        .patch(&path, &json!({"outcome": null, "answered": null}))
        .await
        .ok();
    assert_eq!((&back["outcome"], &back["duration"]), (&json!("missed"), &json!(0)));
    let log = shop.api.walk("/2.0/events").await;
    let changed = |place: usize| log[place]["data"]["changed"].clone();
    assert_eq!(changed(1), json!(["outcome", "updated", "version", "notes"]));
    let all: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(changed(0), json!(all));
}

async fn each_fault_names_its_field(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.api
        .post(CALLS, &json!({}))
        .await
        .invalid(&["direction", "started"]);
    let at = now() - 60;
    for (field, value) in [
        ("direction", json!("up")),
        ("direction", json!(null)),
        ("started", json!(null)),
        ("started", json!(at + 3 * DAY)),
        ("started", json!("now")),
        ("from", json!("abc")),
        ("to", json!(17)),
        ("site", json!(99)),
        ("staff", json!(99)),
        ("contact", json!(999)),
        ("lead", json!(999)),
        ("vehicle", json!(999)),
        ("answered", json!(at - 1)),
        ("ended", json!(at - 1)),
        ("duration", json!(-1)),
        ("outcome", json!("lost")),
        ("provider", json!("x".repeat(256))),
        ("recording_url", json!("http://calls.example/1")),
        ("transcript", json!("x".repeat(20_001))),
        ("create_lead", json!("yes")),
    ] {
        let body = a_call("in", &json!({"started": at, field: value}));
        shop.api.post(CALLS, &body).await.invalid(&[field]);
    }
    let made = call(&shop, "in", &json!({"started": at, "answered": at + 5})).await;
    let path = format!("{CALLS}/{}", made["id"]);
    for (body, field) in [
        (json!({"ended": at + 4}), "ended"),
        (json!({"started": at + 6}), "answered"),
        (json!({"lead": 999}), "lead"),
    ] {
        shop.api.patch(&path, &body).await.invalid(&[field]);
    }
    let rival = shop.rival().await;
    let foreign = rival.post(CONTACTS, &json!({"name": "Bea"})).await.created();
    shop.api
        .patch(&path, &json!({"contact": foreign["id"]}))
        .await
        .invalid(&["contact"]);
    rival.get(&path).await.refused(404, "call_not_found");
    assert_eq!(shop.api.get(&path).await.ok(), made);
}

async fn a_call_is_matched_to_people(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, &json!({"name": "Ann Lee", "mobile": ANN})).await;
    let bob = contact(&shop, &json!({"name": "Bob", "telephone": "+441632960188"})).await;
    let linked = shop
        .lead(&json!({"name": "Ann", "contact": ann, "notify": false}))
        .await;
    let made = call(&shop, "in", &json!({"outcome": "answered"})).await;
    assert_eq!((&made["contact"], &made["lead"]), (&ann, &linked["id"]));
    let newest = shop.lead(&json!({"name": "Ann", "mobile": ANN, "notify": false})).await;
    let outgoing = call(&shop, "out", &json!({"outcome": "busy"})).await;
    assert_eq!((&outgoing["contact"], &outgoing["lead"]), (&ann, &newest["id"]));
    for closed in [json!({"closed": true}), json!({"junk": true})] {
        let path = format!("{LEADS}/{}/status", newest["id"]);
        shop.api.patch(&path, &closed).await.ok();
        let made = call(&shop, "in", &json!({"outcome": "answered"})).await;
        assert_eq!(made["lead"], linked["id"], "{closed}");
    }
    // A match follows the numbers, a choice does not.
    let path = format!("{CALLS}/{}", made["id"]);
    let moved = shop.api.patch(&path, &json!({"from": "01632 960188"})).await.ok();
    assert_eq!((&moved["contact"], &moved["lead"]), (&bob, &json!(null)));
    shop.api
        .patch(&path, &json!({"contact": ann, "lead": linked["id"]}))
        .await
        .ok();
    let withheld = shop.api.patch(&path, &json!({"from": ""})).await.ok();
    assert_eq!((&withheld["contact"], &withheld["lead"]), (&ann, &linked["id"]));
    // With two contacts there is none.
    contact(&shop, &json!({"name": "Cy", "telephone": ANN})).await;
    assert_eq!(
        call(&shop, "in", &json!({"outcome": "answered"})).await["contact"],
        json!(null)
    );
}

async fn a_call_moves_its_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead(&json!({"name": "Ann", "phone": ANN, "notify": false})).await["id"].take();
    let missed = call(&shop, "in", &json!({})).await;
    assert_eq!(lead_status(&shop, &lead).await, "new_message");
    call(&shop, "out", &json!({"duration": 20})).await;
    assert_eq!(lead_status(&shop, &lead).await, "replied");
    let path = format!("{CALLS}/{}", missed["id"]);
    shop.api.patch(&path, &json!({"notes": "Rings again."})).await.ok();
    assert_eq!(lead_status(&shop, &lead).await, "replied", "once for this outcome");
    shop.api.patch(&path, &json!({"outcome": "voicemail"})).await.ok();
    assert_eq!(lead_status(&shop, &lead).await, "new_message");
    let expected = [
        "lead.created",
        "call.created",
        "lead.updated",
        "call.created",
        "lead.updated",
        "call.updated",
        "call.updated",
        "lead.updated",
    ];
    assert_eq!(events(&shop).await, expected);
}

async fn a_call_makes_a_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, &json!({"name": "Ann Lee", "mobile": ANN})).await;
    let made = call(&shop, "in", &json!({"create_lead": true, "tracking": "spring"})).await;
    assert_eq!(events(&shop).await, ["contact.created", "lead.created", "call.created"]);
    let lead = shop.api.get(&format!("{LEADS}/{}", made["lead"])).await.ok();
    for (member, expected) in [
        ("channel", json!("phone")),
        ("type", json!(["callback"])),
        ("contact", ann),
        ("name", json!("Ann Lee")),
        ("phone", json!(ANN)),
        ("status", json!({"id": 0, "name": "new"})),
    ] {
        assert_eq!(lead[member], expected, "{member}");
    }
    assert_eq!(lead["data"]["source"], "spring");
    let next = call(&shop, "in", &json!({"create_lead": true})).await;
    assert_eq!(next["lead"], made["lead"]);
    let talked = json!({"create_lead": true, "from": "+447700900144", "duration": 30});
    let talked = call(&shop, "in", &talked).await;
    let lead = shop.api.get(&format!("{LEADS}/{}", talked["lead"])).await.ok();
    assert_eq!(lead["type"], json!(["phone"]));
    let outgoing = call(&shop, "out", &json!({"create_lead": true, "to": "+447700900155"})).await;
    assert_eq!(outgoing["lead"], json!(null));
}

async fn a_call_reported_twice_is_one(engine: Engine) {
    let shop = Shop::open(engine).await;
    let named = |more: &Value| {
        let mut body = a_call(
            "in",
            &json!({"provider": "board", "external_id": "17", "started": 1_767_225_600}),
        );
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let made = shop.api.post(CALLS, &named(&json!({}))).await.created();
    let again = shop.api.post(CALLS, &named(&json!({}))).await;
    assert_eq!(
        (again.status, again.header("Location"), again.ok()),
        (200, None, made.clone())
    );
    let answered = json!({"answered": 1_767_225_605, "ended": 1_767_225_635, "create_lead": true});
    let changed = shop.api.post(CALLS, &named(&answered)).await.ok();
    let expected = [json!("answered"), json!(30), json!(2), json!(null)];
    assert_eq!(
        ["outcome", "duration", "version", "lead"].map(|member| changed[member].clone()),
        expected
    );
    let at = async |tag: &str, body: &Value| {
        let request = shop.api.request("POST", CALLS).header("If-Match", tag);
        request.json(body).send().await
    };
    let refused = at("\"1\"", &named(&json!({"notes": "x"}))).await;
    assert_eq!(refused.refused(412, "precondition_failed")["details"]["version"], 2);
    at("2", &named(&json!({}))).await.invalid(&["If-Match"]);
    assert_eq!(at("\"2\"", &named(&json!({"notes": "x"}))).await.ok()["notes"], "x");
    // It is judged as on creation.
    let partial = json!({"provider": "board", "external_id": "17", "notes": "y"});
    shop.api.post(CALLS, &partial).await.invalid(&["direction", "started"]);
    let other = named(&json!({"provider": "other"}));
    let other = shop.api.post(CALLS, &other).await.created();
    let path = format!("{CALLS}/{}", other["id"]);
    shop.api
        .patch(&path, &json!({"provider": "board"}))
        .await
        .invalid(&["external_id"]);
    let rival = shop.rival().await;
    rival.post(CALLS, &named(&json!({}))).await.created();
}

async fn twenty_reports_at_once_make_one_call(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = a_call(
        "in",
        &json!({"provider": "board", "external_id": "17", "started": 1_767_225_600}),
    );
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let mut reports = JoinSet::new();
    for client in [&shop.api, &other].into_iter().cycle().take(20) {
        let (client, body) = (client.clone(), body.clone());
        reports.spawn(async move { client.post(CALLS, &body).await });
    }
    let answers = reports.join_all().await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    let ids: BTreeSet<String> = answers
        .iter()
        .map(|answer| answer.json()["data"]["id"].to_string())
        .collect();
    assert_eq!((created, ids.len()), (1, 1));
    assert!(answers.iter().all(|answer| [200, 201].contains(&answer.status)));
    assert_eq!(events(&shop).await, ["call.created"]);
    assert_eq!(shop.api.list(CALLS).await.items.len(), 1);
}

async fn each_filter_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, &json!({"name": "Ann Lee", "mobile": ANN})).await;
    let lead = shop.lead(&json!({"name": "Ann", "phone": ANN, "notify": false})).await["id"].take();
    let first = json!({
        "to": "+441132000000", "outcome": "answered", "provider": "board", "external_id": "1", "tracking": "spring",
        "started": 1_767_225_600, "staff": 1,
    });
    let first = call(&shop, "in", &first).await;
    let second = call(&shop, "out", &json!({"to": "+447700900144", "from": "+441132000000"})).await;
    let (one, two) = (vec![first["id"].clone()], vec![second["id"].clone()]);
    let both = vec![second["id"].clone(), first["id"].clone()];
    let (ann, lead) = (ann.to_string(), lead.to_string());
    let cases: [(&str, &str, &Vec<Value>); 17] = [
        ("site", "0", &both),
        ("direction", "in", &one),
        ("direction", "out", &two),
        ("outcome", "missed", &two),
        ("contact", &ann, &one),
        ("lead", &lead, &one),
        ("staff", "1", &one),
        ("from", "0113 200 0000", &two),
        ("to", "0113 200 0000", &one),
        ("number", "0113 200 0000", &both),
        ("number", "07700 900144", &two),
        ("provider", "board", &one),
        ("external_id", "1", &one),
        ("tracking", "spring", &one),
        ("started", "1767225600", &one),
        ("created[]", "0", &both),
        ("updated[]", "0", &both),
    ];
    for (name, value, expected) in cases {
        let mut pairs = vec![(name, value)];
        if name.ends_with("[]") {
            pairs.push((name, ""));
        }
        let found = shop.api.list(&url_query(CALLS, pairs)).await;
        assert_eq!(&found.column("id"), expected, "{name}={value}");
    }
    assert_eq!(
        shop.api.list(&url_query(CALLS, [("vehicle", "1")])).await.items.len(),
        0
    );
    for (name, value) in [
        ("direction", "up"),
        ("outcome", "lost"),
        ("from", "abc"),
        ("started", "x"),
    ] {
        shop.api.get(&url_query(CALLS, [(name, value)])).await.invalid(&[name]);
    }
}

async fn a_webhook_receives_calls(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 1)
    };
    let shop = Shop::open_with(engine, setup).await;
    let receiver = Receiver::start();
    let hook = json!({"url": receiver.url("/calls"), "events": ["call.created", "call.updated"]});
    let hook = shop.api.post("/2.0/webhooks", &hook).await.created();
    assert_eq!(hook["scopes"], json!(["calls:read"]));
    let made = call(&shop, "in", &json!({})).await;
    let path = format!("{CALLS}/{}", made["id"]);
    for notes in ["a", "b", "c"] {
        shop.api.patch(&path, &json!({"notes": notes})).await.ok();
    }
    let received = receiver.wait_until(TIMEOUT, |received| {
        received.iter().any(|received| received.json()["data"]["notes"] == "c")
    });
    let names: Vec<Value> = received
        .iter()
        .map(|received| received.json()["event"].take())
        .collect();
    assert_eq!(names[0], "call.created");
    // A burst is delivered once or twice, not once for each change.
    assert!(
        names.len() < 4 && names[1..].iter().all(|name| name == "call.updated"),
        "{names:?}"
    );
}

async fn an_erased_contact_leaves_its_calls(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, &json!({"name": "Ann Quill", "mobile": ANN})).await;
    let lead = shop
        .lead(&json!({"name": "Ann", "contact": ann, "notify": false}))
        .await;
    let told = json!({
        "to": "+441132000000", "transcript": "Ann Quill spoke.", "summary": "Ann Quill asked.", "outcome": "answered",
        "notes": "Ring Ann Quill.", "recording_url": "https://calls.example/1",
    });
    let linked = call(&shop, "in", &told).await;
    assert_eq!((&linked["contact"], &linked["lead"]), (&ann, &lead["id"]));
    // Her number is withheld, but the call is about her lead.
    let withheld = json!({"from": "", "lead": lead["id"], "transcript": "Hello.", "outcome": "answered"});
    let withheld = call(&shop, "in", &withheld).await;
    let other = json!({"from": "+447700900177", "transcript": "Ann Quill knows.", "outcome": "answered"});
    let other = call(&shop, "in", &other).await;
    shop.api.delete(&format!("{CONTACTS}/{ann}")).await.ok();
    let path = |call: &Value| format!("{CALLS}/{}", call["id"]);
    eventually("the calls are clean", TIMEOUT, async || {
        let other = shop.api.get(&path(&other)).await.ok();
        if other["transcript"] == "… knows." {
            Ok(())
        } else {
            Err(other)
        }
    })
    .await;
    let left = shop.api.get(&path(&linked)).await.ok();
    for (member, expected) in [
        ("contact", json!(null)),
        ("lead", json!(null)),
        ("from", json!("")),
        ("to", json!("+441132000000")),
        ("transcript", json!("")),
        ("recording_url", json!("")),
        ("summary", json!("… asked.")),
        ("notes", json!("Ring ….")),
        ("version", json!(2)),
    ] {
        assert_eq!(left[member], expected, "{member}");
    }
    let left = shop.api.get(&path(&withheld)).await.ok();
    assert_eq!((&left["lead"], &left["transcript"]), (&json!(null), &json!("")));
    eventually("no event names her", TIMEOUT, async || {
        let events = shop.api.walk("/2.0/events").await;
        let names = |event: &&Value| {
            let text = event.to_string();
            text.contains("Quill") || text.contains("7700900123")
        };
        match events.iter().find(names) {
            Some(event) => Err(event.clone()),
            None => Ok(()),
        }
    })
    .await;
}

async fn old_calls_are_deleted(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let old = call(&shop, "in", &json!({"started": now() - 40 * DAY})).await;
    let young = call(&shop, "in", &json!({"started": now() - 20 * DAY})).await;
    shop.business
        .change(json!({"settings": {"call_retention_days": 30}}))
        .await;
    shop.server.terminate().await;
    shop.server.restart().await;
    eventually("the old call is deleted", TIMEOUT, async || {
        let answer = shop.api.get(&format!("{CALLS}/{}", old["id"])).await;
        if answer.status == 404 {
            Ok(())
        } else {
            Err(answer.status)
        }
    })
    .await;
    shop.api.get(&format!("{CALLS}/{}", young["id"])).await.ok();
}
