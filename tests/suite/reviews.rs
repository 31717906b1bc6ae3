//! Reviews: every sentence of the contract and of the decisions about them.

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Client, Engine, Received, Receiver, Shop, both_engines, today, url_query};
use serde_json::{Value, json};

both_engines! {
    a_review_of_nothing_has_every_default
    a_review_reads_as_it_was_written
    each_field_changes_alone
    null_resets_each_field
    a_rating_is_0_to_5_in_steps_of_a_half
    a_refused_change_changes_nothing
    what_is_read_only_is_not_written
    a_review_is_approved_and_taken_back
    each_filter_alone_and_with_others
    sources_are_searched_by_scope
    what_happens_to_a_review_is_reported
    a_webhook_receives_reviews
}

const REVIEWS: &str = "/2.0/reviews";
const SIMPLE: [&str; 8] = ["id", "rating", "name", "review", "source", "verified", "status", "date"];
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns a review with a value in every field that is not its default.
fn content() -> Value {
    json!({
        "rating": 4.5, "name": "Priya Shah", "review": "Found us the right car.\nDid not push. 🚗", "source": "Google",
        "verified": true, "status": "pending", "date": "2024-02-29",
    })
}

/// A query, and the names that it finds.
type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

async fn review(shop: &Shop, body: &Value) -> Value {
    shop.api.post(REVIEWS, body).await.created()
}

async fn path(shop: &Shop, body: &Value) -> String {
    format!("{REVIEWS}/{}", review(shop, body).await["id"])
}

#[track_caller]
fn has_members(record: &Value, expected: impl IntoIterator<Item = &'static str>) {
    let members: BTreeSet<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, expected.into_iter().collect());
}

fn full() -> impl Iterator<Item = &'static str> {
    SIMPLE.into_iter().chain(["version", "data"])
}

/// Returns the events so far, as `(name, data)`.
async fn recorded(client: &Client) -> Vec<(String, Value)> {
    let events = client.walk("/2.0/events").await.into_iter();
    events
        .map(|mut event| (event["event"].as_str().unwrap().to_owned(), event["data"].take()))
        .collect()
}

async fn a_review_of_nothing_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    for body in ["{}", ""] {
        let before = today(0);
        let answer = shop.api.request("POST", REVIEWS).body(body).send().await;
        let mut made = answer.created();
        let path = format!("{REVIEWS}/{}", made["id"]);
        assert_eq!(answer.header("Location"), Some(path.as_str()));
        assert_eq!(shop.api.get(&path).await.ok(), made);
        let (id, date) = (made["id"].take(), made["date"].take());
        assert!(id.as_i64().is_some_and(|id| id > 0), "{id}");
        assert!([before, today(0)].iter().any(|day| date == day.as_str()), "{date}");
        let expected = json!({
            "id": null, "rating": null, "name": "", "review": "", "source": "", "verified": false, "status": "approved",
            "date": null, "version": 1, "data": {},
        });
        assert_eq!(made, expected);
    }
}

async fn a_review_reads_as_it_was_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = review(&shop, &content()).await;
    for (member, value) in content().as_object().unwrap() {
        assert_eq!(&made[member], value, "{member}");
    }
    let path = format!("{REVIEWS}/{}", made["id"]);
    assert_eq!(shop.api.get(&path).await.ok(), made);
    assert_eq!(shop.api.list(&format!("{REVIEWS}?view=full")).await.items, [made]);
}

async fn each_field_changes_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    let mut expected = shop.api.get(&path).await.ok();
    let table = [
        ("rating", json!(0.5)),
        ("name", json!("Ann <b>Lee</b>")),
        ("review", json!("Never again.")),
        ("source", json!("Trustpilot")),
        ("verified", json!(false)),
        ("status", json!("approved")),
        ("date", json!("2026-01-31")),
        ("name", json!("")),
        ("review", json!("")),
        ("source", json!("")),
    ];
    for (number, (member, value)) in table.into_iter().enumerate() {
        let seen = shop.api.patch(&path, &json!({member: value})).await.ok();
        expected[member] = value;
        expected["version"] = json!(number + 2);
        assert_eq!(seen, expected, "{member}");
        assert_eq!(shop.api.get(&path).await.ok(), expected, "{member}");
    }
}

async fn null_resets_each_field(engine: Engine) {
    let shop = Shop::open(engine).await;
    let changed = path(&shop, &content()).await;
    for member in content().as_object().unwrap().keys() {
        let before = today(0);
        let blank = review(&shop, &json!({member: null})).await;
        shop.api.patch(&changed, &content()).await.ok();
        let seen = shop.api.patch(&changed, &json!({member: null})).await.ok();
        if member == "date" {
            let days = [before, today(0)];
            let is_today = |date: &Value| days.iter().any(|day| date == day.as_str());
            assert!(is_today(&blank["date"]) && is_today(&seen["date"]), "{blank} {seen}");
        } else {
            assert_eq!(seen[member], blank[member], "{member}");
            assert_ne!(seen[member], content()[member], "{member}");
        }
    }
}

async fn a_rating_is_0_to_5_in_steps_of_a_half(engine: Engine) {
    let shop = Shop::open(engine).await;
    let changed = path(&shop, &json!({})).await;
    for rating in [
        "0", "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5", "5.0", "0.0", "45e-1",
    ] {
        let body = format!(r#"{{"rating":{rating}}}"#);
        let made = shop
            .api
            .request("POST", REVIEWS)
            .body(body.clone())
            .send()
            .await
            .created();
        let seen = shop.api.request("PATCH", &changed).body(body).send().await.ok();
        let expected: f64 = rating.parse().unwrap();
        assert_eq!(made["rating"].as_f64(), Some(expected), "{rating}");
        assert_eq!(seen["rating"].as_f64(), Some(expected), "{rating}");
    }
    for rating in [
        "-0.5",
        "-1",
        "5.5",
        "6",
        "50",
        "4.25",
        "4.4999",
        "0.1",
        "0.50000001",
        "1e300",
        "9223372036854775807",
        "\"4\"",
        "\"4.5\"",
        "true",
        "[4]",
        "{}",
        "\"\"",
    ] {
        let body = format!(r#"{{"rating":{rating}}}"#);
        let made = shop.api.request("POST", REVIEWS).body(body.clone()).send().await;
        made.invalid(&["rating"]);
        let changed = shop.api.request("PATCH", &changed).body(body).send().await;
        changed.invalid(&["rating"]);
    }
}

async fn a_refused_change_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    let before = shop.api.get(&path).await.ok();
    let body = json!({"name": "Bea", "status": "approved", "rating": 5.25});
    shop.api.patch(&path, &body).await.invalid(&["rating"]);
    assert_eq!(shop.api.get(&path).await.ok(), before);
    assert_eq!(recorded(&shop.api).await.len(), 1);
}

async fn what_is_read_only_is_not_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"id": 77, "version": 9, "data": {"reply": "Thanks"}, "nonsense": 1, "name": "Ann"});
    let made = review(&shop, &body).await;
    assert_eq!((&made["version"], &made["data"]), (&json!(1), &json!({})));
    has_members(&made, full());
    let path = format!("{REVIEWS}/{}", made["id"]);
    assert_eq!(shop.api.patch(&path, &body).await.ok(), made);
}

async fn a_review_is_approved_and_taken_back(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"status": "pending", "name": "Ann"})).await;
    for status in ["approved", "pending", "approved"] {
        assert_eq!(
            shop.api.patch(&path, &json!({"status": status})).await.ok()["status"],
            status
        );
        let listed = shop.api.list(&format!("{REVIEWS}?status={status}")).await;
        assert_eq!(listed.column("name"), ["Ann"], "{status}");
        let other = if status == "approved" { "pending" } else { "approved" };
        let listed = shop.api.list(&format!("{REVIEWS}?status={other}")).await;
        assert!(listed.items.is_empty(), "{other}");
    }
}

async fn shop_with_reviews(engine: Engine) -> Shop {
    let shop = Shop::open(engine).await;
    for body in [
        json!({"name": "1", "source": "Google", "verified": true}),
        json!({"name": "2", "source": "google reviews", "status": "pending"}),
        json!({"name": "3", "source": "Trustpilot", "status": "pending", "verified": true}),
        json!({"name": "4"}),
        json!({"name": "5", "source": "100_% Übel"}),
    ] {
        review(&shop, &body).await;
    }
    shop
}

/// Returns the names of the reviews that are found, oldest first.
async fn found(shop: &Shop, query: &[(&str, &str)]) -> Vec<Value> {
    let path = url_query(REVIEWS, query.iter().copied());
    let list = shop.api.list(&path).await;
    assert_eq!(list.pagination["total"], list.items.len(), "{path}");
    let mut names = list.column("name");
    names.reverse();
    names
}

async fn each_filter_alone_and_with_others(engine: Engine) {
    let shop = shop_with_reviews(engine).await;
    let table: [Case; 19] = [
        (&[("status", "approved")], &["1", "4", "5"]),
        (&[("status", "pending")], &["2", "3"]),
        (&[("verified", "1")], &["1", "3"]),
        (&[("verified", "0")], &["2", "4", "5"]),
        (&[("source", "Google")], &["1"]),
        (&[("source", "GOOGLE REVIEWS")], &["2"]),
        (&[("source", "Goog")], &[]),
        (&[("source", "google%")], &["1", "2"]),
        (&[("source", "%PILOT")], &["3"]),
        (&[("source", "%o%g%l%")], &["1", "2"]),
        (&[("source", "100_%bel")], &["5"]),
        (&[("source", "%üBEL")], &["5"]),
        (&[("source", "g_ogle%")], &[]),
        // An empty filter is none.
        (
            &[("source", ""), ("status", ""), ("verified", "")],
            &["1", "2", "3", "4", "5"],
        ),
        (&[("source", "google%"), ("status", "pending")], &["2"]),
        (&[("verified", "1"), ("status", "pending")], &["3"]),
        (&[("verified", "1"), ("source", "%google%")], &["1"]),
        (&[("verified", "1"), ("source", "google reviews")], &[]),
        (&[("nonsense", "1"), ("name", "1")], &["1", "2", "3", "4", "5"]),
    ];
    for (query, expected) in table {
        assert_eq!(found(&shop, query).await, expected, "{query:?}");
    }
}

async fn sources_are_searched_by_scope(engine: Engine) {
    let shop = shop_with_reviews(engine).await;
    let reader = shop.client("reviews:read").await;
    for text in ["%google%", "%", "a%", "%oo"] {
        let answer = reader.get(&url_query(REVIEWS, [("source", text)])).await;
        let error = answer.refused(403, "scope_denied");
        assert_eq!(error["details"]["scope"], "search:wildcard", "{text}");
    }
    let exact = reader.list(&url_query(REVIEWS, [("source", "gOOgle")])).await;
    assert_eq!(exact.column("name"), ["1"]);
    let searcher = shop.client("reviews:read,search:wildcard").await;
    let list = searcher.list(&url_query(REVIEWS, [("source", "%google%")])).await;
    assert_eq!(list.column("name"), ["2", "1"]);
    for short in ["%", "%%", "oo%", "%o%o%", "%éü%"] {
        let answer = searcher.get(&url_query(REVIEWS, [("source", short)])).await;
        answer.invalid(&["source"]);
    }
}

async fn what_happens_to_a_review_is_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = review(&shop, &content()).await;
    let path = format!("{REVIEWS}/{}", made["id"]);
    let change = async |body: Value| shop.api.patch(&path, &body).await.ok();
    // None of these changes anything.
    for same in [
        json!({}),
        content(),
        json!({"rating": 4.5}),
        json!({"nonsense": 1}),
        json!({"data": {"a": 1}}),
    ] {
        assert_eq!(change(same.clone()).await, made, "{same}");
    }
    let approved = change(json!({"status": "approved"})).await;
    let whole = change(json!({"rating": 4})).await;
    assert_eq!(change(json!({"rating": 4.0, "status": null})).await, whole);
    shop.api.post(REVIEWS, &json!({"rating": 9})).await.invalid(&["rating"]);
    assert_eq!((&approved["version"], &whole["version"]), (&json!(2), &json!(3)));
    let expected = [
        ("review.created", made),
        ("review.updated", approved),
        ("review.updated", whole),
    ];
    let expected = expected.map(|(name, data)| (name.to_owned(), data));
    assert_eq!(recorded(&shop.api).await, expected);
    // Only callers who may read reviews receive it.
    let other = shop.client("webhooks:read,leads:read").await;
    assert!(recorded(&other).await.is_empty());
}

async fn a_webhook_receives_reviews(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 1)
    };
    let shop = Shop::open_with(engine, setup).await;
    let receiver = Receiver::start();
    let hook = json!({"url": receiver.url("/reviews"), "events": ["review.created", "review.updated"]});
    let hook = shop.api.post("/2.0/webhooks", &hook).await.created();
    assert_eq!(hook["scopes"], json!(["reviews:read"]));
    let made = review(&shop, &content()).await;
    let path = format!("{REVIEWS}/{}", made["id"]);
    shop.api.patch(&path, &content()).await.ok();
    let event = |received: &Received| (received.header("X-Service-Event").unwrap().to_owned(), received.json());
    let (name, body) = event(&receiver.wait_for(1, TIMEOUT)[0]);
    assert_eq!(
        (name.as_str(), &body["event"]),
        ("review.created", &json!("review.created"))
    );
    assert_eq!((&body["data"], &body["business"]["tag"]), (&made, &json!("acme")));

    // A burst of changes is delivered once, with the last state.
    for rating in [1.0, 2.0, 3.5] {
        shop.api.patch(&path, &json!({"rating": rating})).await.ok();
    }
    let last = shop.api.get(&path).await.ok();
    let received = receiver.wait_until(TIMEOUT, |received| {
        received.last().is_some_and(|received| received.json()["data"] == last)
    });
    assert!(
        received
            .iter()
            .all(|received| received.is_signed(hook["secret"].as_str().unwrap()))
    );
    let names: BTreeSet<String> = received[1..].iter().map(|received| event(received).0).collect();
    assert_eq!(names, ["review.updated".to_owned()].into());
}
