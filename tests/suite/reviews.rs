//! Reviews: every sentence of the contract and of the decisions about them.

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Answer, Client, Engine, Received, Receiver, Shop, both_engines, today, url_query};
use serde_json::{Value, json};

both_engines! {
    a_review_of_nothing_has_every_default
    a_review_reads_as_it_was_written
    each_field_changes_alone
    null_resets_each_field
    a_rating_is_0_to_5_in_steps_of_a_half
    a_wrong_value_is_reported_by_its_field
    every_fault_is_reported_at_once
    a_refused_change_changes_nothing
    a_text_is_bounded
    what_is_read_only_is_not_written
    a_review_is_approved_and_taken_back
    lists_are_simple_and_single_reads_full
    fields_leave_only_what_is_named
    each_filter_alone_and_with_others
    sources_are_searched_by_scope
    a_bad_parameter_is_refused
    reviews_are_listed_newest_first_by_page_and_cursor
    a_deleted_review_is_gone
    an_unknown_review_is_not_found
    what_happens_to_a_review_is_reported
    a_webhook_receives_reviews
    reviews_are_one_s_own
    each_operation_needs_its_scope
    a_repeated_write_is_replayed
    a_read_has_an_etag_and_a_write_a_precondition
    unknown_members_are_refused_by_request
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

async fn a_wrong_value_is_reported_by_its_field(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let table = [
        ("name", vec![json!(1), json!(true), json!(["Ann"]), json!({})]),
        ("review", vec![json!(1), json!(false), json!([]), json!({"text": "x"})]),
        ("source", vec![json!(1), json!(["Google"])]),
        (
            "verified",
            vec![json!("true"), json!("Yes"), json!(1), json!(0), json!([])],
        ),
        (
            "status",
            vec![
                json!("Approved"),
                json!("published"),
                json!("rejected"),
                json!(""),
                json!(1),
                json!(true),
            ],
        ),
        (
            "date",
            vec![
                json!("2026-02-30"),
                json!("2023-02-29"),
                json!("2026-13-01"),
                json!("29/02/2024"),
                json!("2026-1-1"),
                json!("2026-01-01T00:00:00Z"),
                json!("today"),
                json!(1_700_000_000),
                json!(true),
            ],
        ),
    ];
    for (member, values) in table {
        for value in values {
            let body = json!({member: value});
            shop.api.post(REVIEWS, &body).await.invalid(&[member]);
            shop.api.patch(&path, &body).await.invalid(&[member]);
        }
    }
    for body in ["[]", "1", "\"x\"", "null"] {
        shop.api
            .request("POST", REVIEWS)
            .body(body)
            .send()
            .await
            .invalid(&["body"]);
    }
    let malformed = shop.api.request("POST", REVIEWS).body("{\"rating\":").send().await;
    malformed.refused(400, "json_invalid");
    assert_eq!(shop.api.list(REVIEWS).await.items.len(), 1);
}

async fn every_fault_is_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let body = json!({
        "rating": 4.2, "name": "é".repeat(256), "review": 1, "source": "x".repeat(33), "verified": "1", "status": "draft",
        "date": "soon",
    });
    let fields = ["rating", "name", "review", "source", "verified", "status", "date"];
    shop.api.post(REVIEWS, &body).await.invalid(&fields);
    shop.api.patch(&path, &body).await.invalid(&fields);
    // Faults of the body are reported before a missing record.
    let nobody = format!("{REVIEWS}/987654321");
    shop.api.patch(&nobody, &body).await.invalid(&fields);
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

async fn a_text_is_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    for (member, most) in [("source", 32), ("name", 255), ("review", 20_000)] {
        let longest = json!({member: "é".repeat(most)});
        assert_eq!(review(&shop, &longest).await[member], longest[member]);
        assert_eq!(shop.api.patch(&path, &longest).await.ok()[member], longest[member]);
        for bad in [
            "é".repeat(most + 1),
            "x".repeat(500_000),
            "a\0b".to_owned(),
            "\0".to_owned(),
        ] {
            let body = json!({member: bad});
            for answer in [shop.api.post(REVIEWS, &body).await, shop.api.patch(&path, &body).await] {
                answer.invalid(&[member]);
                assert!(answer.body.len() < 64 * 1024, "{} bytes", answer.body.len());
            }
        }
    }
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

async fn lists_are_simple_and_single_reads_full(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = review(&shop, &content()).await;
    let path = format!("{REVIEWS}/{}", made["id"]);
    has_members(&made, full());
    has_members(&shop.api.patch(&path, &json!({})).await.ok(), full());
    has_members(&shop.api.get(&path).await.ok(), full());
    has_members(&shop.api.get(&format!("{path}?view=full")).await.ok(), full());
    has_members(&shop.api.get(&format!("{path}?view=simple")).await.ok(), SIMPLE);
    has_members(&shop.api.list(REVIEWS).await.items[0], SIMPLE);
    has_members(&shop.api.list(&format!("{REVIEWS}?view=simple")).await.items[0], SIMPLE);
    has_members(&shop.api.list(&format!("{REVIEWS}?view=full")).await.items[0], full());
    let mut simple = made;
    simple
        .as_object_mut()
        .unwrap()
        .retain(|member, _| SIMPLE.contains(&member.as_str()));
    assert_eq!(shop.api.list(REVIEWS).await.items, [simple]);
}

async fn fields_leave_only_what_is_named(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    for (query, expected) in [
        ("fields=name,rating", json!({"name": "Priya Shah", "rating": 4.5})),
        ("fields=data,version&view=simple", json!({"data": {}, "version": 1})),
        ("fields=status,nonsense,data.nonsense", json!({"status": "pending"})),
    ] {
        let mut seen = shop.api.get(&format!("{path}?{query}")).await.ok();
        if query.contains("nonsense") {
            // An object may be there without the member that it lacks.
            seen.as_object_mut().unwrap().retain(|member, _| member != "data");
        } else {
            let listed = shop.api.list(&format!("{REVIEWS}?{query}")).await.items;
            assert_eq!(listed, std::slice::from_ref(&expected), "{query}");
        }
        assert_eq!(seen, expected, "{query}");
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

async fn a_bad_parameter_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let long = "x".repeat(256);
    let (wide, many) = (format!("%{}", "a".repeat(100)), "%a%b%c%d%".to_owned());
    for (name, value) in [
        ("status", "Approved"),
        ("status", "published"),
        ("status", "approved,pending"),
        ("status", "0"),
        ("verified", "2"),
        ("verified", "-1"),
        ("verified", "true"),
        ("verified", "Yes"),
        ("verified", "0.5"),
        ("source", &long),
        ("source", &wide),
        ("source", &many),
        ("source", "a\0b"),
        ("page", "0"),
        ("per_page", "0"),
        ("per_page", "501"),
        ("view", "tiny"),
        ("cursor", "x"),
        ("status[]", "approved"),
        ("verified[]", "1"),
        ("source[]", "Google"),
    ] {
        let answer = shop.api.get(&url_query(REVIEWS, [(name, value)])).await;
        answer.invalid(&[name.trim_end_matches("[]")]);
    }
    let all = format!("{REVIEWS}?status=x&verified=x&source=%25a&page=0&per_page=x&view=x");
    let fields = ["status", "verified", "source", "page", "per_page", "view"];
    shop.api.get(&all).await.invalid(&fields);
    for number in 0..2 {
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
    }
    let leads = shop.api.list("/2.0/leads?per_page=1").await;
    let foreign = leads.pagination["next_cursor"].as_str().unwrap();
    shop.api
        .get(&format!("{REVIEWS}?cursor={foreign}"))
        .await
        .invalid(&["cursor"]);
}

async fn reviews_are_listed_newest_first_by_page_and_cursor(engine: Engine) {
    let shop = Shop::open(engine).await;
    for number in 1..=5 {
        let status = if number % 2 == 0 { "pending" } else { "approved" };
        review(&shop, &json!({"name": format!("{number}"), "status": status})).await;
    }
    let list = shop.api.list(REVIEWS).await;
    assert_eq!(list.column("name"), ["5", "4", "3", "2", "1"]);
    let expected = json!({"page": 1, "per_page": 50, "total": 5, "total_pages": 1, "next_cursor": null});
    assert_eq!(list.pagination, expected);
    let second = shop.api.list(&format!("{REVIEWS}?per_page=2&page=2")).await;
    assert_eq!(second.column("name"), ["3", "2"]);
    assert_eq!(
        (&second.pagination["total"], &second.pagination["total_pages"]),
        (&json!(5), &json!(3))
    );
    let past = shop.api.list(&format!("{REVIEWS}?per_page=2&page=9")).await;
    assert!(past.items.is_empty());

    let first = shop.api.list(&format!("{REVIEWS}?per_page=2")).await;
    let cursor = first.pagination["next_cursor"].as_str().unwrap();
    let next = shop
        .api
        .list(&format!("{REVIEWS}?per_page=2&cursor={cursor}&page=7"))
        .await;
    assert_eq!(next.column("name"), ["3", "2"]);
    let expected = json!({"per_page": 2, "next_cursor": next.pagination["next_cursor"]});
    assert_eq!(next.pagination, expected);

    let walked = async |query: &str| {
        let reviews = shop.api.walk(&format!("{REVIEWS}?{query}")).await;
        reviews.iter().map(|review| review["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(walked("per_page=1").await, ["5", "4", "3", "2", "1"]);
    assert_eq!(walked("per_page=1&status=approved").await, ["5", "3", "1"]);
    assert_eq!(walked("per_page=2&view=full&verified=0").await.len(), 5);
}

async fn a_deleted_review_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = review(&shop, &json!({"name": "Ann"})).await;
    review(&shop, &json!({"name": "Bea"})).await;
    let path = format!("{REVIEWS}/{}", made["id"]);
    let answer = shop.api.request("DELETE", &path).body("{\"id\": 1}").send().await;
    assert_eq!(answer.ok(), json!({"id": made["id"], "deleted": true}));
    shop.api.get(&path).await.refused(404, "review_not_found");
    let patched = shop.api.patch(&path, &json!({"name": "Cleo"})).await;
    patched.refused(404, "review_not_found");
    shop.api.delete(&path).await.refused(404, "review_not_found");
    let list = shop.api.list(REVIEWS).await;
    assert_eq!(
        (list.column("name"), &list.pagination["total"]),
        (vec![json!("Bea")], &json!(1))
    );
    // There is no event of a deletion.
    let names: Vec<_> = recorded(&shop.api).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["review.created", "review.created"]);
}

async fn an_unknown_review_is_not_found(engine: Engine) {
    let shop = Shop::open(engine).await;
    for id in ["987654321", "0", "-1", "x", "1.5", "%20", "99999999999999999999", "%00"] {
        let path = format!("{REVIEWS}/{id}");
        shop.api.get(&path).await.refused(404, "review_not_found");
        let patched = shop.api.patch(&path, &json!({"name": "Ann"})).await;
        patched.refused(404, "review_not_found");
        shop.api.delete(&path).await.refused(404, "review_not_found");
    }
    let answer = shop.api.put(REVIEWS, &json!({})).await;
    answer.refused(405, "method_not_allowed");
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

async fn reviews_are_one_s_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let path = path(&shop, &content()).await;
    let before = shop.api.get(&path).await.ok();
    rival.get(&path).await.refused(404, "review_not_found");
    let patched = rival.patch(&path, &json!({"name": "Stolen"})).await;
    patched.refused(404, "review_not_found");
    rival.delete(&path).await.refused(404, "review_not_found");
    for query in [
        "",
        "?view=full",
        "?status=pending",
        "?source=google",
        "?source=%25google%25",
        "?verified=1",
    ] {
        let list = rival.list(&format!("{REVIEWS}{query}")).await;
        assert_eq!((list.items.len(), &list.pagination["total"]), (0, &json!(0)), "{query}");
    }
    assert!(recorded(&rival).await.is_empty());
    rival.post(REVIEWS, &json!({"name": "Theirs"})).await.created();
    assert_eq!(rival.list(REVIEWS).await.column("name"), ["Theirs"]);
    assert_eq!(shop.api.list(REVIEWS).await.column("name"), ["Priya Shah"]);
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn each_operation_needs_its_scope(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    let operations = [
        ("GET", REVIEWS, "reviews:read"),
        ("POST", REVIEWS, "reviews:write"),
        ("GET", &path, "reviews:read"),
        ("PATCH", &path, "reviews:write"),
        ("DELETE", &path, "reviews:delete"),
    ];
    let nothing = shop.client("none").await;
    for scope in ["reviews:read", "reviews:write", "reviews:delete", "blogs:read"] {
        let client = shop.client(scope).await;
        for (method, path, needed) in operations {
            // A body that is refused, so that a client that may write changes nothing.
            let send = async |client: &Client| client.request(method, path).body("[]").send().await;
            let lacks = |answer: Answer, code: &str| {
                assert_eq!(
                    answer.refused(403, code)["details"]["scope"],
                    needed,
                    "{method} with {scope}"
                );
            };
            lacks(send(&nothing).await, "scope_required");
            if needed != scope {
                lacks(send(&client).await, "scope_denied");
            } else if method != "DELETE" {
                assert_ne!(send(&client).await.status, 403, "{method} with {scope}");
            }
        }
    }
    shop.client("reviews:delete").await.delete(&path).await.ok();
}

async fn a_repeated_write_is_replayed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"name": "Ann"})).await;
    let requests = [
        ("create", "POST", REVIEWS, json!({"name": "Bea", "rating": 4.5})),
        ("refused", "POST", REVIEWS, json!({"rating": 4.2})),
        ("change", "PATCH", &path, json!({"name": "Cleo"})),
        ("delete", "DELETE", &path, json!({})),
    ];
    for (key, method, path, body) in requests {
        let send = async || shop.api.request(method, path).key(key).json(&body).send().await;
        let (first, again) = (send().await, send().await);
        assert_eq!((first.status, first.text()), (again.status, again.text()), "{key}");
        let replayed = [&first, &again].map(|answer| answer.header("X-Idempotent-Replay"));
        assert_eq!(replayed, [None, Some("true")], "{key}");
        assert_eq!(first.header("Location"), again.header("Location"), "{key}");
    }
    let other = shop
        .api
        .request("POST", REVIEWS)
        .key("create")
        .json(&json!({"name": "Dora"}));
    other.send().await.refused(422, "idempotency_key_reused");
    assert_eq!(shop.api.list(REVIEWS).await.column("name"), ["Bea"]);
    let names: Vec<_> = recorded(&shop.api).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["review.created", "review.created", "review.updated"]);
}

async fn a_read_has_an_etag_and_a_write_a_precondition(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    let tag = async |query: &str| {
        let answer = shop.api.get(&format!("{path}{query}")).await;
        answer.ok();
        answer.header("ETag").map(str::to_owned)
    };
    assert_eq!(tag("").await.as_deref(), Some("\"1\""));
    assert_eq!(tag("?view=simple").await.as_deref(), Some("\"1-simple\""));
    assert_eq!(tag("?fields=id").await, None);
    let known = async |tag: &str| shop.api.request("GET", &path).header("If-None-Match", tag).send().await;
    let unchanged = known("\"1\"").await;
    assert_eq!((unchanged.status, unchanged.text()), (304, ""));
    known("\"2\"").await.ok();

    let at = async |method: &str, path: &str, tag: &str, body: Value| {
        let request = shop.api.request(method, path).header("If-Match", tag);
        request.json(&body).send().await
    };
    let stale = |answer: Answer, version: i64| {
        let error = answer.refused(412, "precondition_failed");
        assert_eq!(error["details"]["version"], version);
    };
    stale(at("PATCH", &path, "\"2\"", json!({"name": "Ann"})).await, 1);
    stale(at("DELETE", &path, "\"2\"", json!({})).await, 1);
    assert_eq!(
        at("PATCH", &path, "\"1\"", json!({"name": "Ann"})).await.ok()["version"],
        2
    );
    assert_eq!(tag("").await.as_deref(), Some("\"2\""));
    assert_eq!(known("\"1\"").await.ok()["name"], "Ann");
    assert_eq!(
        at("PATCH", &path, "\"2-simple\"", json!({"name": "Ann"})).await.ok()["version"],
        2
    );
    assert_eq!(at("PATCH", &path, "*", json!({"name": "Bea"})).await.ok()["version"], 3);
    // A fault of the body and a missing record are reported before the precondition.
    at("PATCH", &path, "\"1\"", json!({"rating": 7}))
        .await
        .invalid(&["rating"]);
    let nobody = format!("{REVIEWS}/987654321");
    at("PATCH", &nobody, "\"1\"", json!({}))
        .await
        .refused(404, "review_not_found");
    at("DELETE", &path, "\"3\"", json!({})).await.ok();
}

async fn unknown_members_are_refused_by_request(engine: Engine) {
    let shop = Shop::open(engine).await;
    let strict = async |method: &str, path: &str, body: Value| {
        let request = shop.api.request(method, path).header("Prefer", "handling=strict");
        let request = if method == "GET" { request } else { request.json(&body) };
        request.send().await
    };
    let made = strict("POST", REVIEWS, content()).await;
    assert_eq!(made.header("Preference-Applied"), Some("handling=strict"));
    let path = format!("{REVIEWS}/{}", made.created()["id"]);
    let answer = strict("PATCH", &path, json!({"raiting": 5, "status": "draft"})).await;
    answer.invalid(&["raiting", "status"]);
    assert!(answer.text().contains("\\\"rating\\\""), "{}", answer.text());
    strict("GET", &format!("{REVIEWS}?stauts=pending"), json!({}))
        .await
        .invalid(&["stauts"]);
    strict("GET", &format!("{path}?fields=raiting"), json!({}))
        .await
        .invalid(&["fields"]);
    assert_eq!(shop.api.patch(&path, &json!({"raiting": 5})).await.ok()["version"], 1);
}
