//! The event log, for integrators without a public endpoint.

use std::time::{Duration, Instant};

use harness::{Answer, Client, Engine, Shop, both_engines, next_second};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    what_happened_is_read_in_its_order
    the_log_is_read_part_by_part
    a_reader_can_begin_with_what_happens_from_now_on
    events_are_filtered_by_name_resource_record_and_time
    only_events_of_the_key_s_scopes_are_shown
    the_log_is_one_s_own
    what_failed_or_changed_nothing_is_not_logged
    a_waiting_request_is_answered_at_once
    a_request_that_waits_in_vain_is_answered_in_time
    a_waiting_request_receives_no_events_of_others
    a_waiting_request_receives_events_of_another_server
    a_stopping_server_answers_waiting_requests
    a_revoked_key_waits_for_nothing
    a_reader_that_follows_misses_nothing_and_sees_nothing_twice
}

const EVENTS: &str = "/2.0/events";
/// The wait of the requests here, so that a request that waits in vain takes longer.
const WAIT: Duration = Duration::from_secs(30);

/// A part of the log, and the position to continue from.
struct Part {
    items: Vec<Value>,
    next_cursor: Value,
    position: String,
}

#[tokio::test]
async fn one_may_wait_as_long_as_any_request_may_take() {
    let shop = Shop::open(Engine::Sqlite).await;
    let asked = Instant::now();
    let heard = read(&shop.api, "wait=30").await;
    assert!(asked.elapsed() >= WAIT, "{:?}", asked.elapsed());
    assert_eq!(heard.position, "0");
}

#[track_caller]
fn part(answer: &Answer) -> Part {
    let list = answer.list();
    let position = answer.json()["meta"]["position"].take();
    Part {
        items: list.items,
        next_cursor: list.pagination["next_cursor"].clone(),
        position: position.as_str().expect("a position is text").to_owned(),
    }
}

async fn read(client: &Client, query: &str) -> Part {
    part(&client.get(&format!("{EVENTS}?{query}")).await)
}

impl Part {
    fn column(&self, member: &str) -> Vec<Value> {
        self.items.iter().map(|item| item[member].clone()).collect()
    }

    /// Returns the names of the events.
    fn names(&self) -> Vec<&str> {
        self.items.iter().filter_map(|item| item["event"].as_str()).collect()
    }
}

async fn what_happened_is_read_in_its_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    let empty = read(&shop.api, "").await;
    assert_eq!(
        (empty.items.len(), &empty.next_cursor, empty.position.as_str()),
        (0, &Value::Null, "0")
    );

    let created = shop.lead(&json!({"name": "Ann"})).await;
    let path = format!("/2.0/leads/{}", created["id"]);
    let changed = shop.api.patch(&path, &json!({"name": "Bea"})).await.ok();
    let before = read(&shop.api, "").await;
    assert_eq!(before.column("data"), [created.clone(), changed]);
    shop.api.delete(&path).await.ok();
    let log = read(&shop.api, "").await;
    assert_eq!(log.names(), ["lead.created", "lead.updated", "lead.deleted"]);
    assert_eq!(log.column("sequence"), [1, 2, 3]);
    assert_eq!(log.column("id")[..2], before.column("id"));
    // A deleted lead's events say no more than which one it was.
    let gone = json!({"id": created["id"]});
    assert_eq!(log.column("data"), [gone.clone(), gone.clone(), gone]);
    assert_eq!((&log.next_cursor, log.position.as_str()), (&Value::Null, "3"));

    let mut first = before.items[0].clone();
    let id = first["id"].take();
    assert!(id.as_str().is_some_and(|id| id.starts_with("evt_")), "{id}");
    assert!(first["business"]["id"].as_i64().is_some_and(|id| id > 0));
    let expected = json!({
        "id": null, "sequence": 1, "event": "lead.created", "api_version": "2.0", "created": created["created"],
        "business": {"id": first["business"]["id"], "tag": "acme"}, "data": created,
    });
    assert_eq!(first, expected);
}

async fn the_log_is_read_part_by_part(engine: Engine) {
    let shop = Shop::open(engine).await;
    for number in 0..7 {
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
    }
    let answer = shop.api.get(&format!("{EVENTS}?per_page=3")).await;
    assert_eq!(answer.list().pagination, json!({"per_page": 3, "next_cursor": "3"}));
    assert_eq!(part(&answer).column("sequence"), [1, 2, 3]);
    let second = read(&shop.api, "per_page=3&cursor=3").await;
    assert_eq!(
        (second.column("sequence"), second.position.as_str()),
        (vec![json!(4), json!(5), json!(6)], "6")
    );
    let last = read(&shop.api, "per_page=3&cursor=6").await;
    assert_eq!(
        (last.column("sequence"), &last.next_cursor),
        (vec![json!(7)], &Value::Null)
    );
    // A last part that is full has nothing after it either.
    let last = read(&shop.api, "per_page=3&cursor=4").await;
    assert_eq!(
        (last.items.len(), &last.next_cursor, last.position.as_str()),
        (3, &Value::Null, "7")
    );
    let behind = read(&shop.api, "cursor=7").await;
    assert_eq!(
        (behind.items.len(), &behind.next_cursor, behind.position.as_str()),
        (0, &Value::Null, "7")
    );
    let walked = shop.api.walk(&format!("{EVENTS}?per_page=2")).await;
    assert!(
        walked
            .iter()
            .map(|event| &event["sequence"])
            .eq([1, 2, 3, 4, 5, 6, 7].iter())
    );
}

async fn a_reader_can_begin_with_what_happens_from_now_on(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "Before"})).await;
    let latest = read(&shop.api, "cursor=latest").await;
    assert_eq!(
        (latest.items.len(), &latest.next_cursor, latest.position.as_str()),
        (0, &Value::Null, "1")
    );
    shop.lead(&json!({"name": "After"})).await;
    let after = read(&shop.api, &format!("cursor={}", latest.position)).await;
    assert_eq!(after.items[0]["data"]["name"], "After");
    assert_eq!(after.items.len(), 1);
}

async fn events_are_filtered_by_name_resource_record_and_time(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (first, second) = (shop.lead_path("Ann").await, shop.lead_path("Bea").await);
    let at = shop.api.get(&second).await.ok()["created"].as_i64().unwrap();
    next_second().await;
    next_second().await;
    shop.api.patch(&first, &json!({"name": "Cat"})).await.ok();
    shop.api.delete(&first).await.ok();
    let id = first.rsplit('/').next().unwrap();
    let record = format!("resource=lead&record={id}");
    let until = format!("created[]=&created[]={at}");
    let since = format!("created[]={}&created[]=", at + 1);
    let never = format!("created[]={}&created[]=", at + 100_000);
    for (query, expected) in [
        ("event=lead.updated", vec![3]),
        ("event[]=lead.updated&event[]=lead.deleted", vec![3, 4]),
        ("event=lead.updated&event=lead.deleted", vec![3, 4]),
        ("event%5B%5D=lead.created&event%5B%5D=vehicle.sold", vec![1, 2]),
        ("resource=lead", vec![1, 2, 3, 4]),
        ("resource=vehicle", vec![]),
        ("resource=vehicle&event=lead.created", vec![]),
        (record.as_str(), vec![1, 3, 4]),
        ("resource=contact&record=1", vec![]),
        (until.as_str(), vec![1, 2]),
        (since.as_str(), vec![3, 4]),
        (never.as_str(), vec![]),
        ("event=lead.created&cursor=1", vec![2]),
    ] {
        let found = read(&shop.api, query).await;
        assert_eq!(found.column("sequence"), expected, "{query}");
        assert_eq!(found.next_cursor, Value::Null, "{query}");
        let part_by_part = if query.contains("cursor") {
            found.column("sequence")
        } else {
            let walked = shop.api.walk(&format!("{EVENTS}?per_page=1&{query}")).await;
            walked.iter().map(|event| event["sequence"].clone()).collect()
        };
        assert_eq!(part_by_part, expected, "{query}");
    }
}

async fn only_events_of_the_key_s_scopes_are_shown(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "Ann"})).await;
    for (scopes, count) in [
        ("webhooks:read,leads:read", 1),
        ("webhooks:read,contacts:read", 0),
        ("webhooks:read", 0),
    ] {
        let client = shop.client(scopes).await;
        for query in ["", "event=lead.created", "resource=lead"] {
            let log = read(&client, query).await;
            assert_eq!(log.items.len(), count, "{scopes} {query}");
            assert_eq!(
                (log.next_cursor, log.position.as_str()),
                (Value::Null, "1"),
                "{scopes} {query}"
            );
        }
    }
}

async fn the_log_is_one_s_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    shop.lead(&json!({"name": "Ann"})).await;
    assert!(read(&rival, "").await.items.is_empty());
    rival.post("/2.0/leads", &json!({"name": "Bea"})).await.created();
    let log = read(&rival, "").await;
    assert_eq!(log.column("sequence"), [1], "each business counts for itself");
    assert_eq!(log.items[0]["business"]["tag"], "rival");
    assert_eq!(log.items[0]["data"]["name"], "Bea");
}

async fn what_failed_or_changed_nothing_is_not_logged(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.api
        .post("/2.0/leads", &json!({"site": 99}))
        .await
        .invalid(&["site"]);
    let lead = shop.lead_path("Ann").await;
    shop.api.patch(&lead, &json!({"name": "Ann"})).await.ok();
    let faulty = shop
        .api
        .request("PATCH", &lead)
        .key("faulty")
        .json(&json!({"site": 99}));
    faulty.send().await.invalid(&["site"]);
    for _ in 0..3 {
        let request = shop
            .api
            .request("PATCH", &lead)
            .key("good")
            .json(&json!({"name": "Bea"}));
        request.send().await.ok();
    }
    assert_eq!(read(&shop.api, "").await.names(), ["lead.created", "lead.updated"]);
}

async fn a_waiting_request_is_answered_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut position = read(&shop.api, "cursor=latest").await.position;
    for number in 0..5 {
        let api = shop.api.clone();
        let waiting = tokio::spawn(async move { read(&api, &format!("cursor={position}&wait=30")).await });
        // It does not matter whether the lead comes before the wait begins or after.
        tokio::time::sleep(Duration::from_millis(number * 50)).await;
        let asked = Instant::now();
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
        let heard = waiting.await.unwrap();
        assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
        assert_eq!(heard.items.len(), 1);
        assert_eq!(heard.items[0]["data"]["name"], format!("Lead {number}"));
        position = heard.position;
    }
}

async fn a_request_that_waits_in_vain_is_answered_in_time(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "Ann"})).await;
    for query in [
        "cursor=latest&wait=2",
        "cursor=1&wait=2",
        "cursor=0&wait=2&resource=vehicle",
    ] {
        let asked = Instant::now();
        let heard = read(&shop.api, query).await;
        let took = asked.elapsed();
        assert!(took >= Duration::from_secs(2), "{query}: {took:?}");
        assert_eq!(
            (heard.items.len(), heard.next_cursor, heard.position.as_str()),
            (0, Value::Null, "1"),
            "{query}"
        );
    }
    // If there are events, no request waits.
    let asked = Instant::now();
    assert_eq!(read(&shop.api, "wait=30").await.items.len(), 1);
    assert!(asked.elapsed() < WAIT);
}

async fn a_waiting_request_receives_no_events_of_others(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let api = shop.api.clone();
    let waiting = tokio::spawn(async move { read(&api, "event=lead.deleted&wait=30").await });
    for _ in 0..20 {
        rival.post("/2.0/leads", &json!({"name": "Bea"})).await.created();
        shop.lead(&json!({"name": "Ann"})).await;
    }
    let lead = shop.lead_path("Gone").await;
    shop.api.delete(&lead).await.ok();
    let heard = waiting.await.unwrap();
    assert_eq!(heard.names(), ["lead.deleted"]);
    assert_eq!(heard.position, "22");
}

async fn a_waiting_request_receives_events_of_another_server(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let waiting = tokio::spawn(async move { read(&other, "cursor=latest&wait=30").await });
    let asked = Instant::now();
    // One of these comes after the waiting has begun.
    let mut number = 0;
    while !waiting.is_finished() {
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
        number += 1;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
    assert!(!waiting.await.unwrap().items.is_empty());
}

async fn a_stopping_server_answers_waiting_requests(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let mut waiting = JoinSet::new();
    for _ in 0..10 {
        let api = shop.api.clone();
        waiting.spawn(async move {
            let request = api.request("GET", &format!("{EVENTS}?cursor=latest&wait=30"));
            request.attempt().await
        });
    }
    // By then most of them are accepted; the others will not be.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let asked = Instant::now();
    let status = shop.server.terminate().await;
    assert!(status.success(), "{status}");
    assert!(asked.elapsed() < WAIT, "{:?}", asked.elapsed());
    let answers = waiting.join_all().await;
    let answered: Vec<&Answer> = answers.iter().flatten().collect();
    assert!(!answered.is_empty(), "{answers:?}");
    for answer in answered {
        let heard = part(answer);
        assert_eq!((heard.items.len(), heard.position.as_str()), (0, "0"));
    }
}

async fn a_revoked_key_waits_for_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let key = shop.business.key("webhooks:read,leads:read").await;
    let client = shop.server.client(&key.token);
    read(&client, "").await;
    let waiting = tokio::spawn(async move { client.get(&format!("{EVENTS}?cursor=latest&wait=12")).await });
    let revoked = shop.installation().run(["key", "revoke", &key.id]).await;
    revoked.succeeded();
    tokio::time::sleep(Duration::from_secs(6)).await;
    shop.lead(&json!({"name": "Secret"})).await;
    waiting.await.unwrap().refused(401, "authentication_revoked");
}

async fn a_reader_that_follows_misses_nothing_and_sees_nothing_twice(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let api = shop.api.clone();
        writers.spawn(async move {
            for number in 0..50 {
                let body = json!({"name": format!("{writer}-{number}"), "notify": false});
                api.post("/2.0/leads", &body).await.created();
            }
        });
    }
    let (mut seen, mut position) = (Vec::new(), "0".to_owned());
    while seen.len() < 400 {
        let heard = read(&shop.api, &format!("cursor={position}&wait=20&fields=sequence")).await;
        assert!(!heard.items.is_empty(), "{} of 400 events", seen.len());
        seen.extend(heard.items.iter().filter_map(|event| event["sequence"].as_i64()));
        position = heard.position;
    }
    writers.join_all().await;
    assert!(seen.into_iter().eq(1..=400));
    assert_eq!(position, "400");
}
