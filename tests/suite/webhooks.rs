//! Webhook subscriptions: creation, reading, change and deletion.

use std::collections::BTreeSet;

use harness::{Answer, Engine, Shop, both_engines, next_second, now};
use serde_json::{Value, json};

both_engines! {
    a_webhook_is_created_with_its_secret
    the_secret_is_shown_by_creation_and_rotation_alone
    the_url_is_an_https_url
    events_are_a_star_or_known_names
    events_need_the_read_scopes_of_the_key
    scopes_default_to_what_the_events_take
    scopes_may_not_exceed_those_of_the_key
    explicit_scopes_let_some_event_through
    every_fault_is_reported_at_once
    only_the_supplied_fields_change
    a_change_that_changes_nothing_leaves_the_stamp
    changed_events_are_validated_by_the_scopes_of_the_creation
    a_change_is_validated_like_a_creation
    a_rotated_secret_is_another_one
    a_replay_shows_the_secret_again
    a_deleted_webhook_is_gone
    the_document_describes_every_event
}

const WEBHOOKS: &str = "/2.0/webhooks";
const URL: &str = "https://example.com/hook";

/// Creates a webhook from this body; missing members are filled in.
async fn webhook(shop: &Shop, mut body: Value) -> Value {
    for (name, value) in [("url", json!(URL)), ("events", json!("*"))] {
        if body.get(name).is_none() {
            body[name] = value;
        }
    }
    shop.api.post(WEBHOOKS, &body).await.created()
}

async fn webhook_path(shop: &Shop) -> String {
    format!("{WEBHOOKS}/{}", webhook(shop, json!({})).await["id"])
}

fn texts(array: &Value) -> BTreeSet<&str> {
    array.as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

/// Asserts the form of a secret.
#[track_caller]
fn is_secret(secret: &Value) {
    let secret = secret.as_str().expect("a secret is text");
    let random = secret.strip_prefix("whsec_").expect("a secret begins with whsec_");
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(random.len() == 44 && random.bytes().all(base64url), "{secret}");
}

async fn a_webhook_is_created_with_its_secret(engine: Engine) {
    let shop = Shop::open(engine).await;
    let before = now();
    let body = json!({"url": URL, "events": ["lead.created", "contact.deleted"], "description": "CRM"});
    let mut created = shop.api.post(WEBHOOKS, &body).await.created();
    let (id, secret) = (created["id"].take(), created["secret"].take());
    assert!(id.as_i64().is_some_and(|id| id > 0), "{id}");
    is_secret(&secret);
    let secret = secret.as_str().unwrap();
    let at = created["created"].as_i64().unwrap();
    assert!((before..=now()).contains(&at), "{at}");
    let expected = json!({
        "id": null,
        "url": URL,
        "description": "CRM",
        "events": ["lead.created", "contact.deleted"],
        "scopes": created["scopes"],
        "status": "active",
        "secret_hint": secret[secret.len() - 4..],
        "failure_count": 0,
        "last_status": null,
        "last_delivery_at": null,
        "created": at,
        "updated": at,
        "version": 1,
        "secret": null,
    });
    assert_eq!(created, expected);
    assert_eq!(texts(&created["scopes"]), ["contacts:read", "leads:read"].into());

    let mut read = shop.api.get(&format!("{WEBHOOKS}/{id}")).await.ok();
    assert_eq!(read["id"].take(), id);
    let mut expected = expected;
    expected.as_object_mut().unwrap().remove("secret");
    assert_eq!(read, expected);
}

async fn the_secret_is_shown_by_creation_and_rotation_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = webhook_path(&shop).await;
    let changed = shop.api.patch(&path, &json!({"description": "x"})).await.ok();
    let read = shop.api.get(&path).await.ok();
    let asked = shop.api.get(&format!("{path}?fields=id,secret&view=full")).await.ok();
    let listed = shop.api.list(WEBHOOKS).await.items.remove(0);
    for shown in [changed, read, asked, listed] {
        assert!(shown.get("secret").is_none(), "{shown}");
    }
    is_secret(&shop.api.post(&format!("{path}/secret/rotate"), &json!({})).await.ok()["secret"]);
}

async fn the_url_is_an_https_url(engine: Engine) {
    let shop = Shop::open(engine).await;
    let long = |length: usize| format!("https://example.com/{}", "x".repeat(length - 20));
    let post = async |url: Value| shop.api.post(WEBHOOKS, &json!({"url": url, "events": "*"})).await;
    for good in [
        "https://example.com",
        "HTTPS://example.com/a?b=c#d",
        "https://example.com:8443/",
        // The target of a name is checked when a connection is opened.
        "https://127.0.0.1/",
        &long(512),
    ] {
        assert_eq!(post(json!(good)).await.created()["url"], good);
    }
    for bad in [
        json!("http://example.com"),
        json!("ftp://example.com"),
        json!("example.com"),
        json!("/hook"),
        json!("https://"),
        json!("https://user:password@example.com/"),
        json!("https://exa mple.com"),
        json!("javascript:alert(1)"),
        json!(""),
        json!(" "),
        json!("https://example.com/\u{0}"),
        json!(long(513)),
        json!(5),
        json!(["https://example.com"]),
        json!({}),
        Value::Null,
    ] {
        post(bad).await.invalid(&["url"]);
    }
    shop.api.post(WEBHOOKS, &json!({"events": "*"})).await.invalid(&["url"]);
}

async fn events_are_a_star_or_known_names(engine: Engine) {
    let shop = Shop::open(engine).await;
    let post = async |events: Value| shop.api.post(WEBHOOKS, &json!({"url": URL, "events": events})).await;
    assert_eq!(post(json!("*")).await.created()["events"], "*");
    let twice = json!(["lead.updated", "lead.created", "lead.updated"]);
    assert_eq!(
        post(twice).await.created()["events"],
        json!(["lead.updated", "lead.created"])
    );
    for bad in [
        json!([]),
        json!(""),
        json!("lead.created"),
        json!(["lead.exploded"]),
        json!(["lead.created", "lead.exploded"]),
        json!(["LEAD.CREATED"]),
        json!(["*"]),
        json!(["ping"]),
        json!([null]),
        json!([5]),
        json!({"lead.created": true}),
        json!(true),
        Value::Null,
    ] {
        post(bad).await.invalid(&["events"]);
    }
    shop.api.post(WEBHOOKS, &json!({"url": URL})).await.invalid(&["events"]);
}

async fn events_need_the_read_scopes_of_the_key(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("webhooks:write,leads:read").await;
    let post = async |events: Value| client.post(WEBHOOKS, &json!({"url": URL, "events": events})).await;
    post(json!(["lead.created"])).await.created();
    for events in [json!(["contact.created"]), json!(["lead.created", "vehicle.sold"])] {
        post(events).await.invalid(&["events"]);
    }
    assert_eq!(post(json!("*")).await.created()["scopes"], json!(["leads:read"]));
    // A webhook without any access is valid all the same.
    let client = shop.client("webhooks:write").await;
    let created = client
        .post(WEBHOOKS, &json!({"url": URL, "events": "*"}))
        .await
        .created();
    assert_eq!(created["scopes"], json!([]));
}

async fn scopes_default_to_what_the_events_take(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (events, scopes) in [
        (json!(["lead.created", "lead.deleted"]), vec!["leads:read"]),
        (
            json!(["vehicle.sold", "call.created"]),
            vec!["vehicles:read", "calls:read"],
        ),
        (
            json!("*"),
            vec![
                "vehicles:read",
                "contacts:read",
                "leads:read",
                "appointments:read",
                "invoices:read",
                "orders:read",
                "purchases:read",
                "deals:read",
                "calls:read",
                "vehicle-jobs:read",
                "reviews:read",
                "blogs:read",
            ],
        ),
    ] {
        let created = webhook(&shop, json!({"events": events})).await;
        assert_eq!(texts(&created["scopes"]), scopes.into_iter().collect(), "{events}");
    }
    let created = webhook(&shop, json!({"scopes": null, "events": ["lead.created"]})).await;
    assert_eq!(created["scopes"], json!(["leads:read"]));
}

async fn scopes_may_not_exceed_those_of_the_key(engine: Engine) {
    let shop = Shop::open(engine).await;
    let explicit = json!({"events": ["vehicle.sold"], "scopes": ["vehicles:read", "vehicle-pricing:read"]});
    let created = webhook(&shop, explicit).await;
    assert_eq!(
        texts(&created["scopes"]),
        ["vehicles:read", "vehicle-pricing:read"].into()
    );
    let client = shop.client("webhooks:write,vehicles:read").await;
    let post = async |scopes: Value| {
        let body = json!({"url": URL, "events": ["vehicle.sold"], "scopes": scopes});
        client.post(WEBHOOKS, &body).await
    };
    post(json!(["vehicles:read"])).await.created();
    post(json!(["vehicles:read", "vehicle-pricing:read"]))
        .await
        .invalid(&["scopes"]);
    for bad in [
        json!(["nonsense"]),
        json!("vehicles:read"),
        json!({}),
        json!(5),
        json!(["all"]),
    ] {
        post(bad).await.invalid(&["scopes"]);
    }
}

async fn explicit_scopes_let_some_event_through(engine: Engine) {
    let shop = Shop::open(engine).await;
    let post = async |scopes: Value| {
        let body = json!({"url": URL, "events": "*", "scopes": scopes});
        shop.api.post(WEBHOOKS, &body).await
    };
    for none in [
        json!([]),
        json!(["webhooks:read"]),
        json!(["vehicle-pricing:read", "contact-notes:read"]),
    ] {
        post(none).await.invalid(&["events"]);
    }
    let some = json!(["webhooks:read", "leads:read"]);
    let scopes = post(some).await.created()["scopes"].clone();
    assert_eq!(texts(&scopes), ["leads:read", "webhooks:read"].into());
}

async fn every_fault_is_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("webhooks:write,leads:read").await;
    client.post(WEBHOOKS, &json!({})).await.invalid(&["url", "events"]);
    let body = json!({
        "url": "http://example.com", "events": ["contact.created"], "scopes": ["contacts:read"],
        "description": "x".repeat(129), "unknown": 1,
    });
    let answer = client.post(WEBHOOKS, &body).await;
    answer.invalid(&["url", "events", "scopes", "description"]);
    client.post(WEBHOOKS, &json!([])).await.invalid(&["body"]);
    let request = client.request("POST", WEBHOOKS).body("{");
    request.send().await.refused(400, "json_invalid");
    assert!(shop.api.list(WEBHOOKS).await.items.is_empty());
}

async fn only_the_supplied_fields_change(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut expected = webhook(&shop, json!({"description": "CRM", "events": ["lead.created"]})).await;
    expected.as_object_mut().unwrap().remove("secret");
    let path = format!("{WEBHOOKS}/{}", expected["id"]);
    for (member, value) in [
        ("url", json!("https://example.com/other")),
        ("events", json!(["lead.updated", "lead.deleted"])),
        ("events", json!("*")),
        ("status", json!("disabled")),
        ("status", json!("active")),
        ("description", json!("DMS")),
    ] {
        next_second().await;
        let changed = shop.api.patch(&path, &json!({member: value})).await.ok();
        assert!(changed["updated"].as_i64() > expected["updated"].as_i64(), "{member}");
        expected[member] = value;
        expected["updated"] = changed["updated"].clone();
        expected["version"] = json!(expected["version"].as_i64().unwrap() + 1);
        assert_eq!(changed, expected, "{member}");
        assert_eq!(shop.api.get(&path).await.ok(), expected, "{member}");
    }
    let cleared = shop.api.patch(&path, &json!({"description": null})).await.ok();
    assert_eq!(cleared["description"], "");
}

async fn a_change_that_changes_nothing_leaves_the_stamp(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = webhook_path(&shop).await;
    let before = shop.api.get(&path).await.ok();
    next_second().await;
    for body in [
        json!({}),
        json!({"url": URL, "events": "*", "status": "active", "description": ""}),
        json!({"scopes": ["leads:read"], "secret": "whsec_mine", "failure_count": 7, "unknown": 1}),
    ] {
        assert_eq!(shop.api.patch(&path, &body).await.ok(), before, "{body}");
    }
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn changed_events_are_validated_by_the_scopes_of_the_creation(engine: Engine) {
    let shop = Shop::open(engine).await;
    let created = webhook(&shop, json!({"events": ["lead.created"]})).await;
    let path = format!("{WEBHOOKS}/{}", created["id"]);
    // The caller's key may read contacts; the webhook may not.
    for events in [json!(["contact.created"]), json!(["lead.updated", "contact.created"])] {
        shop.api
            .patch(&path, &json!({"events": events}))
            .await
            .invalid(&["events"]);
    }
    // A key that may not read leads cannot subscribe the webhook to other events of leads.
    let client = shop.client("webhooks:write").await;
    let change = json!({"events": ["lead.deleted"]});
    client.patch(&path, &change).await.refused(403, "scope_denied");
    let client = shop.client("webhooks:write,leads:read").await;
    let changed = client.patch(&path, &change).await.ok();
    assert_eq!(
        (&changed["events"], &changed["scopes"]),
        (&json!(["lead.deleted"]), &json!(["leads:read"]))
    );
}

async fn a_change_is_validated_like_a_creation(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = webhook_path(&shop).await;
    let before = shop.api.get(&path).await.ok();
    for (member, bad) in [
        ("url", json!("http://example.com")),
        ("url", Value::Null),
        ("url", json!(5)),
        ("events", json!([])),
        ("events", json!(["lead.exploded"])),
        ("events", Value::Null),
        ("status", json!("paused")),
        ("status", json!(true)),
        ("description", json!("x".repeat(129))),
    ] {
        shop.api.patch(&path, &json!({member: bad})).await.invalid(&[member]);
    }
    let all = json!({"url": "x", "events": 1, "status": "x", "description": 1});
    let answer = shop.api.patch(&path, &all).await;
    answer.invalid(&["url", "events", "status", "description"]);
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn a_rotated_secret_is_another_one(engine: Engine) {
    let shop = Shop::open(engine).await;
    let created = webhook(&shop, json!({})).await;
    let path = format!("{WEBHOOKS}/{}", created["id"]);
    let rotate = async || shop.api.post(&format!("{path}/secret/rotate"), &json!({})).await.ok();
    let (first, second) = (rotate().await, rotate().await);
    let secrets: BTreeSet<String> = [&created, &first, &second]
        .map(|shown| shown["secret"].to_string())
        .into();
    assert_eq!(secrets.len(), 3);
    is_secret(&second["secret"]);
    assert!(
        second["secret"]
            .as_str()
            .unwrap()
            .ends_with(second["secret_hint"].as_str().unwrap())
    );
    let mut shown = second;
    shown.as_object_mut().unwrap().remove("secret");
    assert_eq!(shop.api.get(&path).await.ok(), shown);
}

async fn a_replay_shows_the_secret_again(engine: Engine) {
    let shop = Shop::open(engine).await;
    let again = async |path: &str, key: &str, body: &Value| {
        let send = async || shop.api.request("POST", path).key(key).json(body).send().await;
        let (first, second): (Answer, Answer) = (send().await, send().await);
        assert_eq!(second.header("X-Idempotent-Replay"), Some("true"));
        assert_eq!((first.status, first.text()), (second.status, second.text()));
        let shown: Value = first.success(first.status);
        is_secret(&shown["secret"]);
        shown
    };
    let created = again(WEBHOOKS, "create", &json!({"url": URL, "events": "*"})).await;
    assert_eq!(shop.api.list(WEBHOOKS).await.items.len(), 1);
    let path = format!("{WEBHOOKS}/{}/secret/rotate", created["id"]);
    let rotated = again(&path, "rotate", &json!({})).await;
    assert_ne!(created["secret"], rotated["secret"]);
}

async fn a_deleted_webhook_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let created = webhook(&shop, json!({})).await;
    let path = format!("{WEBHOOKS}/{}", created["id"]);
    assert_eq!(
        shop.api.delete(&path).await.ok(),
        json!({"id": created["id"], "deleted": true})
    );
    assert!(shop.api.list(WEBHOOKS).await.items.is_empty());
    for (method, path) in [
        ("GET", path.clone()),
        ("PATCH", path.clone()),
        ("DELETE", path.clone()),
        ("POST", format!("{path}/ping")),
        ("POST", format!("{path}/secret/rotate")),
        ("POST", format!("{path}/deliveries/1/redeliver")),
    ] {
        let answer = shop.api.request(method, &path).send().await;
        answer.refused(404, "webhook_not_found");
    }
    let history = shop.api.list(&format!("{path}/deliveries")).await;
    assert!(history.items.is_empty());
}

async fn the_document_describes_every_event(engine: Engine) {
    let shop = Shop::open(engine).await;
    let document = shop.server.anonymous().get("/2.0/openapi.json").await.json();
    let described: BTreeSet<&str> = document["webhooks"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let listed = shop.api.get("/2.0/reference/webhook-events").await.ok();
    let names = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["event"].as_str());
    let expected: BTreeSet<&str> = names.chain(["ping"]).collect();
    assert_eq!(described, expected);
    for (name, item) in document["webhooks"].as_object().unwrap() {
        let content = &item["post"]["requestBody"]["content"]["application/json"];
        assert_eq!(content["example"]["event"], **name);
        assert!(content["schema"].is_object(), "{name}");
    }
}
