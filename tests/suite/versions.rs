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
    what_is_known_is_not_sent_again
    a_tag_changes_with_what_is_shown_beside_the_record
    a_disabling_raises_the_version
    a_precondition_comes_after_what_does_not_exist_and_before_conflicts
    of_100_changes_of_one_version_one_is_made
    a_replay_comes_before_the_precondition
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
