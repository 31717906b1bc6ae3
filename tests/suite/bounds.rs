//! Bounds on the input of one caller (decisions §3, "Bounds"): beyond a bound the answer is a small 422 that names the field.

use harness::{Answer, Engine, Shop, both_engines, url_query};
use serde_json::json;

both_engines! {
    a_wildcard_filter_is_bounded
    names_companies_and_subjects_are_one_line
    a_lead_s_data_has_64_kib_at_most
    a_contact_has_64_kib_at_most
    a_body_is_nested_32_levels_at_most
    at_most_100_faults_are_reported
    a_refusal_is_small_whatever_was_sent
}

const LEADS: &str = "/2.0/leads";
const CONTACTS: &str = "/2.0/contacts";
const WEBHOOKS: &str = "/2.0/webhooks";

/// The maximum length of a small answer.
const SMALL: usize = 64 * 1024;

#[track_caller]
fn small(answer: &Answer, fields: &[&str]) {
    answer.invalid(fields);
    assert!(answer.body.len() <= SMALL, "{} bytes", answer.body.len());
}

async fn contact_path(shop: &Shop) -> String {
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    format!("{CONTACTS}/{}", contact["id"])
}

async fn a_wildcard_filter_is_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "a".repeat(255), "email": "ann@example.com"}))
        .await;
    for (path, filter) in [
        (LEADS, "name"),
        (LEADS, "email"),
        (CONTACTS, "email"),
        ("/2.0/vehicles", "make"),
        ("/2.0/vehicles", "model"),
    ] {
        for pattern in [
            "%a%b%c%d%".to_owned(),
            "%%%%%abc".to_owned(),
            format!("%{}", "a".repeat(100)),
            format!("%{}b%", "a".repeat(3_000)),
            "%g".repeat(4_000),
        ] {
            let answer = shop.api.get(&url_query(path, [(filter, pattern.as_str())])).await;
            small(&answer, &[filter]);
        }
        for pattern in [
            "%a%b%cde%".to_owned(),
            format!("%{}", "é".repeat(99)),
            format!("%{}b%", "a".repeat(97)),
        ] {
            shop.api.list(&url_query(path, [(filter, pattern.as_str())])).await;
        }
    }
    let pattern = format!("{}%", "a".repeat(99));
    let found = shop.api.list(&url_query(LEADS, [("name", pattern.as_str())])).await;
    assert_eq!(found.items.len(), 1);
    // A key that may not search sees that refusal with any pattern.
    let reader = shop.client("leads:read").await;
    let pattern = "%g".repeat(100);
    let answer = reader.get(&url_query(LEADS, [("name", pattern.as_str())])).await;
    answer.refused(403, "scope_denied");
}

async fn names_companies_and_subjects_are_one_line(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop
        .lead(&json!({"name": "Ann", "channel": "email", "email": "ann@example.com"}))
        .await;
    let contact = shop.api.post("/2.0/contacts", &json!({"name": "Ann"})).await.created();
    let (lead, contact) = (
        format!("/2.0/leads/{}", lead["id"]),
        format!("/2.0/contacts/{}", contact["id"]),
    );
    for text in ["Ann\nPhone: 0900 1", "Ann\r\n", "\rAnn", "Ann\u{b}Lee"] {
        let name = json!({"name": text});
        shop.api.post("/2.0/leads", &name).await.invalid(&["name"]);
        let data = json!({"data": {"subject": text}});
        shop.api.post("/2.0/leads", &data).await.invalid(&["data.subject"]);
        shop.api.patch(&lead, &name).await.invalid(&["name"]);
        shop.api.post("/2.0/contacts", &name).await.invalid(&["name"]);
        shop.api
            .patch(&contact, &json!({"company": text}))
            .await
            .invalid(&["company"]);
        let message = json!({"body": "one\ntwo", "subject": text, "direction": "in", "channel": "email"});
        let messages = format!("{lead}/messages");
        shop.api.post(&messages, &message).await.invalid(&["subject"]);
    }
    let tabbed = json!({"name": "Ann\tLee", "data": {"message": "one\ntwo"}});
    assert_eq!(shop.lead(&tabbed).await["name"], "Ann\tLee");
}

async fn a_lead_s_data_has_64_kib_at_most(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let text = "x".repeat(60_000);
    shop.api.patch(&lead, &json!({"data": {"a": text}})).await.ok();
    small(&shop.api.patch(&lead, &json!({"data": {"b": text}})).await, &["data"]);
    small(
        &shop.api.post(LEADS, &json!({"data": {"a": text, "b": text}})).await,
        &["data"],
    );
    let large: Vec<u8> = vec![0; 200_000];
    small(&shop.api.post(LEADS, &json!({"data": {"a": large}})).await, &["data"]);
    // Data that is removed makes room.
    shop.api
        .patch(&lead, &json!({"data": {"a": null, "b": text}}))
        .await
        .ok();
}

async fn a_contact_has_64_kib_at_most(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = contact_path(&shop).await;
    let documents = |bytes: usize| json!([{"text": "x".repeat(bytes)}]);
    shop.api
        .patch(&contact, &json!({"document": documents(60_000)}))
        .await
        .ok();
    let too_large = json!({"document": documents(66_000), "company": "Lee"});
    small(&shop.api.patch(&contact, &too_large).await, &["document"]);
    small(
        &shop
            .api
            .post(CONTACTS, &json!({"name": "Ann", "document": documents(66_000)}))
            .await,
        &["document"],
    );
    // Notes are not counted.
    let note = json!({"note": "x".repeat(20_000)});
    shop.api.post(&format!("{contact}/notes"), &note).await.created();
    shop.api.patch(&contact, &json!({"company": "Lee"})).await.ok();
    let lines = json!({"address": {"line1": "\u{1}".repeat(255), "line2": "\u{1}".repeat(255), "line3": "\u{1}".repeat(255)},
        "name": "\u{1}".repeat(255)});
    small(&shop.api.patch(&contact, &lines).await, &["address"]);
}

async fn a_body_is_nested_32_levels_at_most(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let contact = contact_path(&shop).await;
    let nested = |member: &str, levels: usize, inner: &str| {
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        format!(r#"{{"name":"Ann","{member}":{open}{inner}{close}}}"#)
    };
    let targets = [
        ("POST", LEADS.to_owned()),
        ("PATCH", lead.clone()),
        ("PATCH", format!("{lead}/status")),
        ("POST", CONTACTS.to_owned()),
        ("PATCH", contact),
        ("POST", format!("{CONTACTS}/duplicate-check")),
        ("POST", "/2.0/vehicles".to_owned()),
        ("POST", WEBHOOKS.to_owned()),
    ];
    for (method, path) in &targets {
        let send = async |body: String| shop.api.request(method, path).body(body).send().await;
        for levels in [33, 127, 128, 129, 200, 100_000] {
            small(&send(nested("unknown", levels, "1")).await, &["body"]);
            send(nested("unknown", levels, "x")).await.refused(400, "json_invalid");
            send(nested("unknown", levels, "").replacen(']', "", 1))
                .await
                .refused(400, "json_invalid");
        }
        let objects = format!("{}1{}", r#"{"a":"#.repeat(50_000), "}".repeat(50_000));
        small(&send(objects).await, &["body"]);
        small(
            &send(format!("{}{}", "[".repeat(1000), "]".repeat(1000))).await,
            &["body"],
        );
    }
    let deepest = shop.api.request("POST", LEADS).body(nested("unknown", 32, "1"));
    deepest.send().await.created();
    let text = shop
        .lead(&json!({"name": "[[{".repeat(50), "data": {"text": "[".repeat(500)}}))
        .await;
    assert_eq!(text["data"]["text"], "[".repeat(500));
    let kept = format!(r#"{{"data":{{"a":{}1{}}}}}"#, "[".repeat(30), "]".repeat(30));
    let kept = shop.api.request("POST", LEADS).body(kept).send().await.created();
    let read = shop.api.get(&format!("{LEADS}/{}", kept["id"])).await.ok();
    assert_eq!(read["data"], kept["data"]);
}

async fn at_most_100_faults_are_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let tags: Vec<_> = (0..500).map(|at| format!("none{at}")).collect();
    let unknown: Vec<_> = (1000..1500).collect();
    for (path, body) in [
        (lead.clone(), json!({"tag": tags})),
        (lead.clone(), json!({"tag": vec![json!(5); 500]})),
        (format!("{lead}/assign"), json!({"assign": unknown})),
        (
            contact_path(&shop).await,
            json!({"document": vec![json!({}); 500], "tag": vec![json!(5); 500]}),
        ),
    ] {
        let answer = shop.api.patch(&path, &body).await;
        let error = answer.refused(422, "validation_failed");
        let errors = error["details"]["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 100);
        assert_eq!(error["details"]["field"], errors[0]["field"]);
        assert!(answer.body.len() < SMALL, "{} bytes", answer.body.len());
    }
}

async fn a_refusal_is_small_whatever_was_sent(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let zeros = format!(r#"{{"assign":[{}0]}}"#, "0,".repeat(520_000));
    let request = shop
        .api
        .request("PATCH", &format!("{lead}/assign"))
        .key("zeros")
        .body(zeros);
    small(&request.send().await, &["assign"]);
    let long = "x".repeat(1_000_000);
    for body in [
        json!({"assign": [long]}),
        json!({"assign": long}),
        json!({"assign": {long.as_str(): 1}}),
    ] {
        let answer = shop.api.patch(&format!("{lead}/assign"), &body).await;
        assert!(
            answer.status == 422 && answer.body.len() < 1024,
            "{}",
            answer.body.len()
        );
    }
    let names: Vec<_> = (0..500).map(|at| format!("{at}{}", "\u{1}".repeat(250))).collect();
    let answer = shop.api.patch(&lead, &json!({"tag": names})).await;
    assert!(
        answer.status == 422 && answer.body.len() < 2 * SMALL,
        "{}",
        answer.body.len()
    );
}
