//! Versions of records, entity tags, conditional requests, and the location of created records.

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Answer, Client, Engine, Raw, Receiver, Reply, Shop, both_engines, eventually, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::contacts_record::CONTACTS;
use crate::vehicles_record::VEHICLES;

both_engines! {
    a_version_counts_the_changes_of_a_record
    events_carry_the_version
    an_erasure_raises_the_versions_of_what_it_changes
    a_read_carries_its_version_as_etag
    what_is_known_is_not_sent_again
    a_tag_changes_with_what_is_shown_beside_the_record
    a_disabling_raises_the_version
    every_write_of_a_record_honours_if_match
    a_precondition_comes_after_what_does_not_exist_and_before_conflicts
    of_100_changes_of_one_version_one_is_made
    a_replay_comes_before_the_precondition
    what_is_created_has_a_location
}

const LEADS: &str = "/2.0/leads";
const WEBHOOKS: &str = "/2.0/webhooks";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Creates a record of each kind: returns its path, and two different changes of it.
async fn records(shop: &Shop) -> Vec<(String, [Value; 2])> {
    let names = [json!({"name": "Bea"}), json!({"name": "Cleo"})];
    let seats = [4, 5].map(|seats| json!({"data": {"vehicle": {"seats": seats}}}));
    let labels = ["one", "two"].map(|label| json!({"description": label}));
    let webhook = json!({"url": "https://example.com/hook", "events": ["call.created"], "scopes": ["calls:read"]});
    let mut records = Vec::new();
    for (list, body, changes) in [
        (LEADS, json!({"name": "Ann"}), names.clone()),
        (CONTACTS, json!({"name": "Ann"}), names),
        (VEHICLES, json!({}), seats),
        (WEBHOOKS, webhook, labels),
    ] {
        let created = shop.api.post(list, &body).await.created();
        assert_eq!(created["version"], 1, "{list}");
        records.push((format!("{list}/{}", created["id"]), changes));
    }
    records
}

async fn tag_of(api: &Client, path: &str) -> String {
    let answer = api.get(path).await;
    answer.ok();
    answer.header("ETag").expect("a read has an ETag").to_owned()
}

/// Sends a read by a client that has `tag` already.
async fn known(api: &Client, path: &str, tag: &str) -> Answer {
    api.request("GET", path).header("If-None-Match", tag).send().await
}

/// Sends a write at this version.
async fn at(api: &Client, method: &str, path: &str, tag: &str, body: &Value) -> Answer {
    api.request(method, path)
        .header("If-Match", tag)
        .json(body)
        .send()
        .await
}

#[track_caller]
fn stale(answer: &Answer, version: i64) {
    let error = answer.refused(412, "precondition_failed");
    assert_eq!(error["details"]["version"], version);
}

async fn a_version_counts_the_changes_of_a_record(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (path, [first, second]) in records(&shop).await {
        assert_eq!(shop.api.patch(&path, &first).await.ok()["version"], 2, "{path}");
        let unchanged = shop.api.patch(&path, &first).await.ok();
        assert_eq!(unchanged["version"], 2, "{path}: nothing has changed");
        assert_eq!(shop.api.patch(&path, &second).await.ok()["version"], 3, "{path}");
        assert_eq!(shop.api.get(&path).await.ok()["version"], 3, "{path}");
        let only = shop.api.get(&format!("{path}?fields=version")).await.ok();
        assert_eq!(only, json!({"version": 3}), "{path}");
    }
    for list in [LEADS, CONTACTS, VEHICLES] {
        let simple = shop.api.list(list).await.items;
        assert!(simple[0].get("version").is_none(), "{list}");
        let full = shop.api.list(&format!("{list}?view=full")).await.items;
        assert_eq!(full[0]["version"], 3, "{list}");
    }
    assert_eq!(shop.api.list(WEBHOOKS).await.items[0]["version"], 3);

    // Notes do not change a contact's version; blocks, a lead's vehicles, states, tags and secrets change that of their record.
    let contact = shop
        .api
        .post(CONTACTS, &json!({"name": "Ann", "email": "ann@example.com"}))
        .await
        .created();
    let contact = format!("{CONTACTS}/{}", contact["id"]);
    let version = async |path: &str| shop.api.get(path).await.ok()["version"].clone();
    shop.api
        .post(&format!("{contact}/notes"), &json!({"note": "Hi"}))
        .await
        .created();
    let shown = shop.api.get(&contact).await.ok();
    assert_eq!(
        (&shown["version"], &shown["data"]["notes"][0]["note"]),
        (&json!(1), &json!("Hi"))
    );
    assert_eq!(shop.api.patch(&contact, &json!({"name": "Ann"})).await.ok(), shown);
    for _ in 0..2 {
        shop.api
            .put(&format!("{contact}/follow-blocks"), &json!({"email": true}))
            .await
            .ok();
        assert_eq!(version(&contact).await, 2);
    }
    let lead = shop.lead_path("Ann").await;
    let vehicle = shop.api.post(VEHICLES, &json!({})).await.created();
    let concerned = json!({"vehicle": vehicle["id"]});
    shop.api.post(&format!("{lead}/vehicles"), &concerned).await.ok();
    assert_eq!(version(&lead).await, 2);
    shop.api
        .patch(&format!("{lead}/status"), &json!({"junk": true}))
        .await
        .ok();
    shop.api
        .patch(&format!("{lead}/assign"), &json!({"assign": [1]}))
        .await
        .ok();
    assert_eq!(version(&lead).await, 4);
    let vehicle = format!("{VEHICLES}/{}", vehicle["id"]);
    shop.api
        .put(&format!("{vehicle}/tags"), &json!({"tags": []}))
        .await
        .ok();
    assert_eq!(version(&vehicle).await, 2);
    let webhook = shop.api.list(WEBHOOKS).await.items[0]["id"].clone();
    let rotate = format!("{WEBHOOKS}/{webhook}/secret/rotate");
    assert_eq!(shop.api.post(&rotate, &json!({})).await.ok()["version"], 4);
    assert_eq!(version(&format!("{WEBHOOKS}/{webhook}")).await, 4);
}

async fn events_carry_the_version(engine: Engine) {
    let shop = Shop::open(engine).await;
    let records = records(&shop).await;
    for (path, [first, _]) in &records[..3] {
        shop.api.patch(path, first).await.ok();
        shop.api.patch(path, first).await.ok();
        shop.api.delete(path).await.ok();
    }
    let events: Vec<_> = shop.api.list("/2.0/events").await.items;
    for resource in ["lead", "contact", "vehicle"] {
        let own = events
            .iter()
            .filter(|event| event["event"].as_str().unwrap().starts_with(resource));
        let versions: Vec<_> = own.map(|event| event["data"]["version"].clone()).collect();
        // The deletion of a contact or a lead erases the data in its events.
        let expected = if resource != "vehicle" {
            [Value::Null, Value::Null, Value::Null]
        } else {
            [json!(1), json!(2), Value::Null]
        };
        assert_eq!(versions, expected, "{resource}");
    }
}

async fn an_erasure_raises_the_versions_of_what_it_changes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann Lee"})).await.created();
    let lead = shop.lead(&json!({"name": "Ann Lee", "contact": contact["id"]})).await;
    let lead = format!("{LEADS}/{}", lead["id"]);
    let offered = json!({
        "type": "appraisal", "data": {"appraisal": {"details": {"customer_id": contact["id"]}}},
    });
    let vehicle = shop.api.post(VEHICLES, &offered).await.created();
    let vehicle = format!("{VEHICLES}/{}", vehicle["id"]);
    shop.api.delete(&format!("{CONTACTS}/{}", contact["id"])).await.ok();
    for path in [&lead, &vehicle] {
        eventually("the erasure is done", TIMEOUT, async || {
            match shop.api.get(path).await.ok() {
                record if record["version"] == 2 => Ok(()),
                record => Err(record),
            }
        })
        .await;
    }
}

async fn a_read_carries_its_version_as_etag(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (path, [change, _]) in records(&shop).await {
        for version in [1, 2] {
            let read = shop.api.get(&path).await;
            read.ok();
            assert_eq!(read.header("ETag"), Some(format!("\"{version}\"").as_str()), "{path}");
            assert_eq!(read.header("Cache-Control"), Some("private, no-cache"), "{path}");
            let vary = read.header("Vary").unwrap_or_default();
            assert!(vary.split(", ").any(|name| name == "Authorization"), "{path}: {vary}");
            let head = shop.api.request("HEAD", &path).send().await;
            assert_eq!((head.status, head.header("ETag")), (200, read.header("ETag")), "{path}");
            let full = shop.api.get(&format!("{path}?view=full")).await;
            assert_eq!(full.header("ETag"), read.header("ETag"), "{path}");
            let simple = shop.api.get(&format!("{path}?view=simple")).await;
            let tag = format!("\"{version}-simple\"");
            assert_eq!(simple.header("ETag"), Some(tag.as_str()), "{path}");
            let some = shop.api.get(&format!("{path}?fields=id")).await;
            assert_eq!(some.header("ETag"), None, "{path}");
            assert_eq!(some.header("Cache-Control"), Some("private, no-store"), "{path}");
            let changed = shop.api.patch(&path, &change).await;
            assert_eq!(changed.header("ETag"), None, "{path}");
            assert_eq!(changed.header("Cache-Control"), Some("private, no-store"), "{path}");
        }
    }
    for list in [LEADS, CONTACTS, VEHICLES, WEBHOOKS] {
        assert_eq!(shop.api.get(list).await.header("ETag"), None, "{list}");
        let absent = shop.api.get(&format!("{list}/987654")).await;
        assert_eq!((absent.status, absent.header("ETag")), (404, None), "{list}");
    }
}

async fn what_is_known_is_not_sent_again(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (path, [change, _]) in records(&shop).await {
        for tag in ["\"1\"", "W/\"1\"", "*", "\"7\", \"1\"", "\"a,b\" ,\"1\",W/\"2\""] {
            let answer = known(&shop.api, &path, tag).await;
            assert_eq!((answer.status, answer.text()), (304, ""), "{path} {tag}");
            assert_eq!(answer.header("ETag"), Some("\"1\""), "{path}");
            assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"), "{path}");
            assert_eq!(answer.header("Vary"), Some("Authorization"), "{path}");
            assert_eq!(answer.header("Content-Type"), None, "{path}");
            for name in ["Date", "X-Request-Id", "X-Content-Type-Options"] {
                assert!(answer.header(name).is_some(), "{path} {name}");
            }
        }
        let simple = format!("{path}?view=simple");
        assert_eq!(known(&shop.api, &simple, "\"1-simple\"").await.status, 304, "{path}");
        assert_eq!(known(&shop.api, &simple, "\"1\"").await.status, 200, "{path}");
        for tag in ["\"1-simple\"", "\"2\"", "1", "\"1", "", "*, \"1\""] {
            known(&shop.api, &path, tag).await.ok();
        }
        let some = known(&shop.api, &format!("{path}?fields=id"), "*").await;
        assert_eq!(some.ok()["id"].to_string(), path.rsplit('/').next().unwrap());
        let head = shop.api.request("HEAD", &path).header("If-None-Match", "\"1\"");
        assert_eq!(head.send().await.status, 304, "{path}");
        shop.api.patch(&path, &change).await.ok();
        assert_eq!(known(&shop.api, &path, "\"1\"").await.ok()["version"], 2, "{path}");
    }
    let absent = known(&shop.api, &format!("{LEADS}/987654"), "*").await;
    absent.refused(404, "lead_not_found");

    // The connection can still be used: no body follows.
    let lead = shop.lead_path("Ann").await;
    let token = shop.business.key("leads:read").await.token;
    let mut connection = Raw::connect(&shop.server).await;
    for more in ["", "Connection: close\r\n"] {
        let request = format!(
            "GET {lead} HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\nIf-None-Match: \"1\"\r\n{more}\r\n"
        );
        connection.send(request.as_bytes()).await.unwrap();
    }
    let answer = connection.answer().await;
    assert_eq!((answer.status, answer.header("Content-Length")), (304, None));
    assert!(answer.text().starts_with("HTTP/1.1 304"), "{}", answer.text());
}

async fn a_tag_changes_with_what_is_shown_beside_the_record(engine: Engine) {
    let shop = Shop::open(engine).await;
    // Notes, for callers who may see them.
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann Lee"})).await.created();
    let contact = format!("{CONTACTS}/{}", contact["id"]);
    let note = shop.api.post(&format!("{contact}/notes"), &json!({"note": "Hi"})).await;
    let note = format!("{contact}/notes/{}", note.created()["id"]);
    let noted = known(&shop.api, &contact, "\"1\"").await;
    assert_eq!(noted.ok()["data"]["notes"][0]["note"], "Hi");
    let tag = noted.header("ETag").unwrap();
    assert!(tag.starts_with("\"1-"), "{tag}");
    assert_eq!(known(&shop.api, &contact, tag).await.status, 304);
    assert_eq!(
        tag_of(&shop.api, &format!("{contact}?view=simple")).await,
        "\"1-simple\""
    );
    let blind = shop.client("contacts:read").await;
    assert_eq!(tag_of(&blind, &contact).await, "\"1\"");
    at(&shop.api, "PATCH", &contact, tag, &json!({"company": "Lee Ltd"}))
        .await
        .ok();
    shop.api.delete(&note).await.ok();
    assert_eq!(known(&shop.api, &contact, tag).await.ok()["data"]["notes"], json!([]));
    assert_eq!(tag_of(&shop.api, &contact).await, "\"2\"");

    // The name of the person who offers a vehicle, and the existence of its parent.
    let parent = shop.api.post(VEHICLES, &json!({})).await.created();
    let id: i64 = contact.rsplit('/').next().unwrap().parse().unwrap();
    let offered = json!({
        "type": "appraisal", "parent": parent["id"], "data": {"appraisal": {"details": {"customer_id": id}}},
    });
    let vehicle = shop.api.post(VEHICLES, &offered).await.created();
    let vehicle = format!("{VEHICLES}/{}", vehicle["id"]);
    let mut tags = vec![tag_of(&shop.api, &vehicle).await];
    assert_eq!(tags, ["\"1\""]);
    shop.api.patch(&contact, &json!({"name": "Ann Byrne"})).await.ok();
    tags.push(tag_of(&shop.api, &vehicle).await);
    shop.api.delete(&format!("{VEHICLES}/{}", parent["id"])).await.ok();
    tags.push(tag_of(&shop.api, &vehicle).await);
    // The name and address of a business.
    shop.business.change(json!({"website": "https://other.example"})).await;
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        shop.api.get(&vehicle).await.ok()["url_full"]
            .as_str()
            .unwrap()
            .starts_with("https://other.example")
    })
    .await;
    tags.push(tag_of(&shop.api, &vehicle).await);
    assert_eq!(tags.iter().collect::<BTreeSet<_>>().len(), 4, "{tags:?}");
    assert!(tags.iter().all(|tag| tag.starts_with("\"1")), "{tags:?}");
    for tag in &tags[..3] {
        known(&shop.api, &vehicle, tag).await.ok();
    }
    assert_eq!(known(&shop.api, &vehicle, &tags[3]).await.status, 304);
    // All of them name the one version.
    let seats = json!({"data": {"vehicle": {"seats": 4}}});
    let changed = at(&shop.api, "PATCH", &vehicle, &tags[0], &seats).await.ok();
    assert_eq!(changed["version"], 2);
}

async fn a_disabling_raises_the_version(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.webhooks_disabled_after(2)).await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(500));
    let body = json!({"url": receiver.url("/"), "events": ["lead.created"]});
    let hook = shop.api.post(WEBHOOKS, &body).await.created();
    let hook = format!("{WEBHOOKS}/{}", hook["id"]);
    let becomes = async |what: &str, holds: fn(&Value) -> bool| {
        eventually(what, TIMEOUT, async || {
            let answer = shop.api.get(&hook).await;
            let shown = answer.ok();
            let tag = answer.header("ETag").unwrap().to_owned();
            if holds(&shown) { Ok((shown, tag)) } else { Err(shown) }
        })
        .await
    };
    shop.lead(&json!({})).await;
    let (failing, tag) = becomes("a delivery has failed", |hook| hook["failure_count"] == 1).await;
    assert_eq!(failing["version"], 1, "an attempt is no change");
    assert!(tag.starts_with("\"1-"), "{tag}");
    shop.lead(&json!({})).await;
    let (disabled, tag) = becomes("it is disabled", |hook| hook["status"] == "disabled").await;
    assert_eq!(disabled["version"], 2);
    assert!(tag.starts_with("\"2"), "{tag}");
}

/// A picture of one pixel.
const SIGNATURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

async fn every_write_of_a_record_honours_if_match(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann", "email": "ann@example.com", "login": true});
    let contact = shop.api.post(CONTACTS, &body).await.created()["id"].to_string();
    let note = shop
        .api
        .post(&format!("{CONTACTS}/{contact}/notes"), &json!({"note": "Hi"}))
        .await
        .created();
    let note = note["id"].to_string();
    let vehicle = shop.api.post(VEHICLES, &json!({})).await.created()["id"].clone();
    let film = json!({"youtube": "dQw4w9WgXcQ"});
    shop.api
        .post(&format!("{VEHICLES}/{vehicle}/media"), &film)
        .await
        .created();
    let file = json!({"file": "JVBERi0xLjQK"});
    let paper = shop.api.post(&format!("{VEHICLES}/{vehicle}/documents"), &file).await;
    let paper = paper.created()["id"].as_str().unwrap().to_owned();
    let lead = shop.lead(&json!({"vehicle": vehicle})).await["id"].to_string();
    let lead_note = shop
        .api
        .post(&format!("{LEADS}/{lead}/notes"), &json!({"note": "Hi"}))
        .await;
    let lead_note = lead_note.created()["id"].to_string();
    let other = shop.api.post(VEHICLES, &json!({})).await.created()["id"].clone();
    let hook = json!({"url": "https://example.com/hook", "events": ["call.created"]});
    let hook = shop.api.post(WEBHOOKS, &hook).await.created()["id"].to_string();
    let ping = shop.api.post(&format!("{WEBHOOKS}/{hook}/ping"), &json!({})).await.ok();
    let delivery = ping["delivery_id"].to_string();
    let article = shop.api.post("/2.0/blogs", &json!({"title": "News"})).await.created();
    let article = article["id"].to_string();
    let review = shop.api.post("/2.0/reviews", &json!({})).await.created()["id"].to_string();

    let document = shop.api.get("/2.0/openapi.json").await.json();
    let mut conditional = 0;
    for (template, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let declares = |name: &str| {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                parameters.into_iter().any(|parameter| parameter["name"] == name)
            };
            let writes = method != "get" && template.contains('{');
            let is_of_one = ["}", "/manifest", "/openapi.json"]
                .iter()
                .any(|end| template.ends_with(end));
            let reads = method == "get" && is_of_one;
            let declared = (declares("If-Match"), operation["responses"].get("412").is_some());
            assert_eq!(declared, (writes, writes), "{method} {template}");
            let declared = (declares("If-None-Match"), operation["responses"].get("304").is_some());
            assert_eq!(declared, (reads, reads), "{method} {template}");
            if !writes {
                continue;
            }
            conditional += 1;
            let record = match template.split('/').nth(2).unwrap() {
                "leads" => lead.as_str(),
                "contacts" => contact.as_str(),
                "vehicles" => &vehicle.to_string(),
                "webhooks" => hook.as_str(),
                "blogs" => article.as_str(),
                "reviews" => review.as_str(),
                area => panic!("nothing is known of the area {area}"),
            };
            let path = template
                .replace("{id}", record)
                .replace(
                    "{note_id}",
                    if template.starts_with(LEADS) { &lead_note } else { &note },
                )
                .replace("{vehicle_id}", &vehicle.to_string())
                .replace("{document_id}", &paper)
                .replace("{media_id}", "dQw4w9WgXcQ")
                .replace("{delivery_id}", &delivery);
            let is_of_vehicle = template.starts_with("/2.0/vehicles/") && !template.contains("{document_id}");
            let version = if is_of_vehicle { 2 } else { 1 };
            let body = match template.as_str() {
                "/2.0/leads/{id}/assign" => json!({"assign": [1]}),
                "/2.0/leads/{id}/vehicles" => json!({"vehicle": other}),
                "/2.0/leads/{id}/messages" => json!({"direction": "in", "body": "Hi"}),
                "/2.0/leads/{id}/notes" => json!({"note": "Hi"}),
                "/2.0/contacts/{id}/notes" => json!({"note": "Hi"}),
                "/2.0/vehicles/{id}" => json!({"country": "IE"}),
                "/2.0/vehicles/{id}/status" => json!({"status": "draft"}),
                "/2.0/vehicles/{id}/tags" => json!({"tags": []}),
                "/2.0/vehicles/{id}/channels" => json!({"channels": []}),
                "/2.0/vehicles/{id}/reserve" => json!({"customer": contact.parse::<i64>().unwrap(), "method": "Cash"}),
                "/2.0/vehicles/{id}/appraisal/offer" => {
                    json!({"offer": 1, "expiry": "2035-12-31", "appraised_by": 1})
                }
                "/2.0/vehicles/{id}/documents" => file.clone(),
                "/2.0/vehicles/{id}/documents/{document_id}" => json!({"description": "x"}),
                "/2.0/vehicles/{id}/media" => json!({"youtube": "abcdefghijk"}),
                "/2.0/vehicles/{id}/media/order" => json!({"media": []}),
                "/2.0/vehicles/{id}/test-drives" => json!({"contact": contact.parse::<i64>().unwrap()}),
                "/2.0/vehicles/{id}/test-drives/esign" => json!({"name": "Ann", "signature": SIGNATURE}),
                "/2.0/vehicles/{id}/test-drives/photo" => json!({"file": SIGNATURE}),
                "/2.0/webhooks/{id}" => json!({"description": "x"}),
                "/2.0/blogs/{id}" => json!({"title": "Old news"}),
                "/2.0/reviews/{id}" => json!({"rating": 5}),
                _ => json!({}),
            };
            let method = method.to_uppercase();
            let before = shop.api.get("/2.0/events?cursor=latest").await.json();
            for tag in ["\"7\"", "\"7-simple\", W/\"8\"", "\"unknown\""] {
                stale(&at(&shop.api, &method, &path, tag, &body).await, version);
            }
            for tag in ["1", "", "\"1"] {
                at(&shop.api, &method, &path, tag, &body).await.invalid(&["If-Match"]);
            }
            let after = shop.api.get("/2.0/events?cursor=latest").await.json();
            assert_eq!(
                after["meta"]["position"], before["meta"]["position"],
                "{method} {template}"
            );
        }
    }
    assert!(conditional >= 20, "the test reads the document: {conditional}");
    // None of these requests had an effect.
    for path in [
        format!("{LEADS}/{lead}"),
        format!("{CONTACTS}/{contact}"),
        format!("{WEBHOOKS}/{hook}"),
    ] {
        assert_eq!(shop.api.get(&path).await.ok()["version"], 1, "{path}");
    }
    assert_eq!(shop.api.get(&format!("{VEHICLES}/{vehicle}")).await.ok()["version"], 2);
    let notes = shop.api.list(&format!("{CONTACTS}/{contact}/notes")).await.items;
    assert_eq!(notes.len(), 1);
    for part in ["notes", "messages"] {
        let written = shop.api.list(&format!("{LEADS}/{lead}/{part}")).await.items;
        assert_eq!(written.len(), usize::from(part == "notes"));
    }
    let concerned = shop.api.list(&format!("{LEADS}/{lead}/vehicles")).await.items;
    assert_eq!(concerned.len(), 1);
    let deliveries = shop.api.list(&format!("{WEBHOOKS}/{hook}/deliveries")).await.items;
    assert_eq!(deliveries.len(), 1);

    // Each form that names the version lets the write happen.
    let path = format!("{LEADS}/{lead}");
    for (version, tag) in (1..).zip(["\"1\"", "W/\"2\"", "\"3-simple\"", "\"9\", \"4\"", "*", "\"6-00ff\""]) {
        let change = json!({"name": format!("Ann {version}")});
        let changed = at(&shop.api, "PATCH", &path, tag, &change).await.ok();
        assert_eq!(changed["version"], version + 1, "{tag}");
    }
    stale(&at(&shop.api, "DELETE", &path, "\"1\"", &json!({})).await, 7);
    at(&shop.api, "DELETE", &path, "\"7\"", &json!({})).await.ok();
    // For a record without a version, nothing is compared.
    at(&shop.api, "POST", LEADS, "\"7\"", &json!({})).await.created();
}

async fn a_precondition_comes_after_what_does_not_exist_and_before_conflicts(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    let contact = format!("{CONTACTS}/{}", contact["id"]);
    let lead = shop.lead_path("Ann").await;
    let vehicle = shop.api.post(VEHICLES, &json!({"type": "customer"})).await.created();
    let vehicle = format!("{VEHICLES}/{}", vehicle["id"]);
    let old = "\"7\"";
    let at_old = async |method: &str, path: &str, body: Value| at(&shop.api, method, path, old, &body).await;

    at_old("PATCH", &lead, json!({"contact": 987_654}))
        .await
        .invalid(&["contact"]);
    at_old("PATCH", &lead, json!({"name": 5})).await.invalid(&["name"]);
    at_old("PATCH", "/2.0/leads/987654", json!({}))
        .await
        .refused(404, "lead_not_found");
    at_old("PATCH", "/2.0/leads/x", json!({}))
        .await
        .refused(404, "lead_not_found");
    let note = format!("{contact}/notes/987654");
    at_old("DELETE", &note, json!({}))
        .await
        .refused(404, "contact_note_not_found");
    let concerned = format!("{lead}/vehicles/987654");
    at_old("DELETE", &concerned, json!({}))
        .await
        .refused(404, "lead_vehicle_not_found");
    // The contact has no login; the vehicle can be published nowhere.
    let reset = format!("{contact}/login/password/reset");
    stale(&at_old("POST", &reset, json!({})).await, 1);
    shop.api
        .post(&reset, &json!({}))
        .await
        .refused(409, "contact_login_disabled");
    stale(&at_old("POST", &format!("{contact}/login/email"), json!({})).await, 1);
    let channels = format!("{vehicle}/channels");
    stale(&at_old("PUT", &channels, json!({"channels": ["website"]})).await, 1);
    at_old("PUT", &channels, json!({"channels": ["nowhere"]}))
        .await
        .invalid(&["channels.0"]);
    // A caller without the scope learns nothing about versions.
    let reader = shop.client("leads:read").await;
    at(&reader, "PATCH", &lead, old, &json!({}))
        .await
        .refused(403, "scope_denied");
}

async fn of_100_changes_of_one_version_one_is_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut records = records(&shop).await;
    for (list, body) in [
        ("/2.0/blogs", json!({"title": "Winter tyres"})),
        ("/2.0/reviews", json!({"name": "Ann"})),
    ] {
        let created = shop.api.post(list, &body).await.created();
        records.push((format!("{list}/{}", created["id"]), [body.clone(), body]));
    }
    for (path, changes) in records {
        let mut race = JoinSet::new();
        for number in 0..100 {
            let (api, path) = (shop.api.clone(), path.clone());
            let mut change = changes[0].clone();
            match &mut change {
                change if change.get("name").is_some() => change["name"] = json!(format!("Ann {number}")),
                change if change.get("title").is_some() => change["title"] = json!(format!("Winter tyres {number}")),
                change if change.get("description").is_some() => change["description"] = json!(number.to_string()),
                change => change["data"]["vehicle"]["seats"] = json!(number + 1),
            }
            race.spawn(async move { at(&api, "PATCH", &path, "\"1\"", &change).await });
        }
        let answers = race.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(won.len(), 1, "{path}: {answers:?}");
        for answer in lost {
            stale(answer, 2);
        }
        let stored = shop.api.get(&path).await.ok();
        assert_eq!(stored, won[0].ok(), "{path}");
        assert_eq!(stored["version"], 2, "{path}");
    }
}

async fn a_replay_comes_before_the_precondition(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let change = async |key: &str, tag: &str, name: &str| {
        let request = shop.api.request("PATCH", &lead).key(key).header("If-Match", tag);
        request.json(&json!({"name": name})).send().await
    };
    let first = change("one", "\"1\"", "Bea").await;
    assert_eq!(first.ok()["version"], 2);
    let again = change("one", "\"1\"", "Bea").await;
    assert_eq!(again.ok(), first.ok());
    assert_eq!(again.header("X-Idempotent-Replay"), Some("true"));
    stale(&change("two", "\"1\"", "Cleo").await, 2);
    let refused = change("two", "\"1\"", "Cleo").await;
    stale(&refused, 2);
    assert_eq!(refused.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(change("three", "\"2\"", "Cleo").await.ok()["version"], 3);
}

async fn what_is_created_has_a_location(engine: Engine) {
    let shop = Shop::open(engine).await;
    let hook = json!({"url": "https://example.com/hook", "events": ["call.created"]});
    for (list, body) in [
        (LEADS, json!({})),
        (CONTACTS, json!({"name": "Ann"})),
        (VEHICLES, json!({})),
        (WEBHOOKS, hook),
    ] {
        for key in ["a", "a", "b"] {
            let key = format!("{key}-{}", list.trim_start_matches("/2.0/"));
            let request = shop.api.request("POST", list).key(&key);
            let answer = request.json(&body).send().await;
            let path = format!("{list}/{}", answer.created()["id"]);
            assert_eq!(answer.header("Location"), Some(path.as_str()), "{key}");
            assert_eq!(answer.header("Cache-Control"), Some("private, no-store"));
            shop.api.get(&path).await.ok();
        }
        shop.api.get(list).await.ok();
        assert_eq!(shop.api.get(list).await.header("Location"), None);
    }
    let contact = shop.api.list(CONTACTS).await.items[0]["id"].clone();
    let notes = format!("{CONTACTS}/{contact}/notes");
    let note = shop.api.post(&notes, &json!({"note": "Hi"})).await;
    let path = format!("{notes}/{}", note.created()["id"]);
    assert_eq!(note.header("Location"), Some(path.as_str()));
    assert_eq!(shop.api.get(&path).await.ok(), note.created());
    shop.api.delete(&path).await.ok();
    shop.api.get(&path).await.refused(404, "contact_note_not_found");

    let lead = shop.lead_path("Ann").await;
    let message = json!({"direction": "in", "channel": "website", "subject": "", "body": "Hello"});
    for (what, body, code) in [
        ("messages", message, "lead_message_not_found"),
        ("notes", json!({"note": "Hi"}), "lead_note_not_found"),
    ] {
        let list = format!("{lead}/{what}");
        let made = shop.api.post(&list, &body).await;
        let path = format!("{list}/{}", made.created()["id"]);
        assert_eq!(made.header("Location"), Some(path.as_str()));
        assert_eq!(shop.api.get(&path).await.ok(), made.created());
        for nothing in ["0", "x", "987654321"] {
            shop.api.get(&format!("{list}/{nothing}")).await.refused(404, code);
            let nowhere = format!("{LEADS}/987654321/{what}/{nothing}");
            shop.api.get(&nowhere).await.refused(404, "lead_not_found");
        }
    }

    let hook = shop.api.list(WEBHOOKS).await.items[0]["id"].clone();
    let ping = shop.api.post(&format!("{WEBHOOKS}/{hook}/ping"), &json!({})).await;
    assert_eq!(ping.header("Location"), None);
    let deliveries = format!("{WEBHOOKS}/{hook}/deliveries");
    let again = format!("{deliveries}/{}/redeliver", ping.ok()["delivery_id"]);
    let again = shop.api.post(&again, &json!({})).await;
    again.created();
    assert_eq!(again.header("Location"), None, "a single delivery is not read");
}
