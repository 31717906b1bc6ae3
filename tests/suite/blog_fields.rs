//! The values that the fields of a blog article accept: null, wrong values, bounds, images and related articles.

use std::collections::BTreeSet;

use harness::{Answer, Engine, Shop, both_engines, now};
use serde_json::{Value, json};

use crate::blogs::{BLOGS, article, content, path, path_of};

both_engines! {
    null_resets_each_field
    every_fault_is_reported_at_once
    a_refused_change_changes_nothing
    an_image_is_at_a_web_address
    related_articles_are_of_the_same_business
    a_deleted_related_article_disappears
}

/// Asserts that only `field`, or an element of it, is wrong.
#[track_caller]
fn only_wrong(answer: &Answer, field: &str) {
    assert_eq!(wrong(answer), [field.to_owned()].into(), "{}", answer.text());
}

/// Returns the wrong fields; for an element of an array, the array.
#[track_caller]
fn wrong(answer: &Answer) -> BTreeSet<String> {
    let error = answer.refused(422, "validation_failed");
    let errors = error["details"]["errors"].as_array().unwrap();
    let fields = errors.iter().map(|error| error["field"].as_str().unwrap());
    fields
        .map(|field| field.split('.').next().unwrap().to_owned())
        .collect()
}

async fn null_resets_each_field(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = now();
    let mut full = content();
    full["related"] = json!([article(&shop, &json!({"title": "Other"})).await["id"]]);
    let changed = path(&shop, &full).await;
    let nulls = full
        .as_object()
        .unwrap()
        .keys()
        .map(|member| (member.clone(), Value::Null));
    let mut nulls: serde_json::Map<_, _> = nulls.collect();
    nulls["title"] = json!("Blank");
    let blank = article(&shop, &nulls.into()).await;
    assert_eq!((&blank["url"], &blank["status"]), (&json!("blank"), &json!("draft")));
    for member in full.as_object().unwrap().keys().filter(|member| *member != "title") {
        shop.api.patch(&changed, &full).await.ok();
        let seen = shop.api.patch(&changed, &json!({member: null})).await.ok();
        let sprung = match member.as_str() {
            // On creation it is derived from the title.
            "url" => json!("winter-tyres-new"),
            "published_at" => {
                let at = seen["published_at"].as_i64().unwrap();
                assert!((start..=now()).contains(&at), "{at}");
                continue;
            }
            _ => blank[member].clone(),
        };
        assert_eq!(seen[member], sprung, "{member}");
        assert_ne!(seen[member], full[member], "{member}");
    }
}

async fn every_fault_is_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    article(&shop, &json!({"title": "Taken", "url": "taken"})).await;
    let path = path(&shop, &json!({"title": "Ann"})).await;
    let looked_up = json!({"title": "Bea", "url": "taken", "related": [987_654_321]});
    let both: BTreeSet<String> = ["related", "url"].map(str::to_owned).into();
    for answer in [
        shop.api.post(BLOGS, &looked_up).await,
        shop.api.patch(&path, &looked_up).await,
    ] {
        assert_eq!(wrong(&answer), both, "{}", answer.text());
    }
    let body = json!({
        "title": " ", "url": "taken", "category": 1, "author": "x".repeat(256), "tags": ["x", 1], "summary": 1,
        "content": ["x"], "summary_image": "javascript:x", "summary_thumbnail": "/x.jpg", "related": [987_654_321],
        "status": "scheduled", "published_at": "now",
    });
    let all: BTreeSet<String> = body.as_object().unwrap().keys().cloned().collect();
    for answer in [shop.api.post(BLOGS, &body).await, shop.api.patch(&path, &body).await] {
        assert_eq!(wrong(&answer), all, "{}", answer.text());
    }
    // Faults of the body are reported before a missing record.
    let nobody = format!("{BLOGS}/987654321");
    let answer = shop.api.patch(&nobody, &json!({"status": "scheduled"})).await;
    answer.invalid(&["status"]);
}

async fn a_refused_change_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    article(&shop, &json!({"title": "Taken"})).await;
    let path = path(&shop, &content()).await;
    let before = shop.api.get(&path).await.ok();
    for bad in [
        json!({"url": "taken"}),
        json!({"related": [987_654_321]}),
        json!({"status": "scheduled"}),
    ] {
        let mut body = json!({"title": "Changed", "tags": ["changed"]});
        body.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        shop.api.patch(&path, &body).await.refused(422, "validation_failed");
        assert_eq!(shop.api.get(&path).await.ok(), before, "{bad}");
    }
}

async fn an_image_is_at_a_web_address(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"title": "Ann"})).await;
    for member in ["summary_image", "summary_thumbnail"] {
        for good in [
            "https://acme.example/a.jpg",
            "http://acme.example/b%20c.png?w=80&h=60",
            "https://acme.example:8443/a/",
            "",
        ] {
            assert_eq!(shop.api.patch(&path, &json!({member: good})).await.ok()[member], good);
        }
        for bad in [
            "javascript:alert(1)",
            "JavaScript://acme.example/%0aalert(1)",
            "data:image/png;base64,AAAA",
            "ftp://acme.example/a.jpg",
            "file:///etc/passwd",
            "blob:https://acme.example/1",
            "mailto:ann@acme.example",
            "/a.jpg",
            "a.jpg",
            "../a.jpg",
            "//acme.example/a.jpg",
            "https://",
            "https:///",
            "http:",
            "not an address",
            "https://acme .example/a.jpg",
            " ",
            "vbscript:x",
        ] {
            let mut body = json!({member: bad});
            shop.api.patch(&path, &body).await.invalid(&[member]);
            body["title"] = json!("Bea");
            shop.api.post(BLOGS, &body).await.invalid(&[member]);
        }
    }
}

async fn related_articles_are_of_the_same_business(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let foreign = rival.post(BLOGS, &json!({"title": "Theirs"})).await.created();
    let (one, two) = (
        article(&shop, &json!({"title": "One"})).await,
        article(&shop, &json!({"title": "Two"})).await,
    );
    let gone = article(&shop, &json!({"title": "Gone"})).await;
    shop.api.delete(&path_of(&gone)).await.ok();
    let path = path(&shop, &json!({"title": "Three"})).await;
    for related in [
        json!([one["id"]]),
        json!([two["id"], one["id"]]),
        json!([one["id"].as_f64().unwrap()]),
    ] {
        let seen = shop.api.patch(&path, &json!({"related": related})).await.ok();
        let ids = |value: &Value| {
            value
                .as_array()
                .unwrap()
                .iter()
                .map(|id| id.as_f64().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(&seen["related"]), ids(&related), "{related}");
    }
    for unknown in [&json!(987_654_321), &json!(i64::MAX), &foreign["id"], &gone["id"]] {
        for related in [json!([unknown]), json!([one["id"], unknown, two["id"]])] {
            only_wrong(&shop.api.patch(&path, &json!({"related": related})).await, "related");
            only_wrong(
                &shop
                    .api
                    .post(BLOGS, &json!({"title": "Four", "related": related}))
                    .await,
                "related",
            );
        }
    }
    // A record of another business is refused with the same text as one that does not exist.
    let message = async |id: &Value| {
        let error = shop.api.patch(&path, &json!({"related": [id]})).await.json()["error"].take();
        let message = error["details"]["errors"][0]["message"].as_str().unwrap().to_owned();
        message.replace(|character: char| character.is_ascii_digit(), "")
    };
    assert_eq!(message(&foreign["id"]).await, message(&json!(987_654_321)).await);
}

async fn a_deleted_related_article_disappears(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (one, two) = (
        article(&shop, &json!({"title": "One"})).await,
        article(&shop, &json!({"title": "Two"})).await,
    );
    let three = article(&shop, &json!({"title": "Three", "related": [one["id"], two["id"]]})).await;
    let path = path_of(&three);
    let tag = shop.api.get(&path).await.header("ETag").unwrap().to_owned();
    shop.api.delete(&path_of(&one)).await.ok();
    // A client that has the previous state is sent the new one.
    let read = shop
        .api
        .request("GET", &path)
        .header("If-None-Match", &tag)
        .send()
        .await;
    assert_eq!(read.ok()["related"], json!([two["id"]]));
    assert_ne!(read.header("ETag"), Some(tag.as_str()));
    let listed = shop.api.list(&format!("{BLOGS}?view=full&url=three")).await;
    assert_eq!(listed.column("related"), [json!([two["id"]])]);
    let back = shop.api.patch(&path, &json!({"related": [two["id"]]})).await.ok();
    assert_eq!(back["related"], json!([two["id"]]));
}
