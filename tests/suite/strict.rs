//! Strict handling: with `Prefer: handling=strict` nothing that is unknown is ignored (decisions §3).

use harness::{Answer, Client, Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    a_refused_write_changes_nothing
}

const STRICT: &str = "handling=strict";
const LEADS: &str = "/2.0/leads";

async fn send(api: &Client, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let request = api.request(method, path).header("Prefer", STRICT);
    match body {
        Some(body) => request.json(body).send().await,
        None => request.send().await,
    }
}

/// Returns the message about `field`.
#[track_caller]
fn message(answer: &Answer, field: &str) -> String {
    let error = answer.refused(422, "validation_failed");
    let errors = error["details"]["errors"].as_array().unwrap();
    let found = errors.iter().find(|error| error["field"] == field);
    let found = found.unwrap_or_else(|| panic!("{field} is not named: {error}"));
    found["message"].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_applied(answer: &Answer) {
    assert_eq!(answer.header("Preference-Applied"), Some(STRICT), "{answer:?}");
}

#[tokio::test]
async fn what_is_known_is_answered_as_ever() {
    let shop = Shop::open(Engine::Sqlite).await;
    let made = send(
        &shop.api,
        "POST",
        LEADS,
        Some(&json!({"name": "Ann", "data": {"any": {"thing": 1}}})),
    )
    .await;
    let lead = format!("{LEADS}/{}", made.created()["id"]);
    is_applied(&made);
    for path in [
        format!("{lead}?view=simple"),
        format!("{lead}?fields=name,data.any.thing,status.name"),
        format!("{LEADS}?created[]=&created[]=9999999999&per_page=1&cursor="),
    ] {
        let answer = send(&shop.api, "GET", &path, None).await;
        answer.ok();
        is_applied(&answer);
    }
    // A vehicle's record, written back as it is declared for writing.
    let vehicle = json!({"registration": "AB12 CDE", "data": {"vehicle": {"make": "Ford"}, "stock": {"stock_variation": {"any": {"thing": 1}}}}});
    send(&shop.api, "POST", "/2.0/vehicles", Some(&vehicle)).await.created();
    // Without the preference nothing changes.
    let lax = shop.api.get(&format!("{lead}?nonsense=1&fields=name,nmae")).await;
    assert_eq!(lax.ok(), json!({"name": "Ann"}));
    assert_eq!(lax.header("Preference-Applied"), None);
    let lenient = shop.api.request("GET", &format!("{lead}?nonsense=1"));
    let lenient = lenient
        .header("Prefer", "handling=lenient, handling=strict")
        .send()
        .await;
    lenient.ok();
}

#[tokio::test]
async fn unknown_names_are_reported_with_the_nearest_known_one() {
    let shop = Shop::open(Engine::Sqlite).await;
    let lead = shop.lead_path("Ann").await;

    let answer = send(&shop.api, "GET", &format!("{LEADS}?stauts=new&nonsense=1&site=x"), None).await;
    answer.invalid(&["stauts", "nonsense", "site"]);
    assert!(message(&answer, "stauts").contains("\"status\""));
    is_applied(&answer);

    let answer = send(&shop.api, "GET", &format!("{lead}?fields=id,nmae,tag.nam"), None).await;
    let errors = answer.refused(422, "validation_failed")["details"]["errors"].take();
    assert_eq!(errors.as_array().unwrap().len(), 2, "{errors}");
    let [first, second] = [0, 1].map(|at| errors[at]["message"].as_str().unwrap().to_owned());
    assert!(first.contains("\"nmae\"") && first.contains("\"name\""), "{first}");
    assert!(
        second.contains("\"tag.nam\"") && second.contains("\"tag.name\""),
        "{second}"
    );

    let body = json!({"nmae": "Ann", "tag": [{"name": "Hot", "chekced": true}], "site": "x", "data": {"nmae": 1}});
    let answer = send(&shop.api, "POST", LEADS, Some(&body)).await;
    answer.invalid(&["nmae", "tag.0.chekced", "site"]);
    assert!(message(&answer, "tag.0.chekced").contains("\"tag.0.checked\""));
    is_applied(&answer);

    let body = json!({"name": "Ann", "address": {"line": 1}, "document": [{"any": {"thing": 1}}]});
    let answer = send(&shop.api, "POST", "/2.0/contacts", Some(&body)).await;
    answer.invalid(&["address.line"]);

    // A fault that the vehicle's data refuses anyway is reported once, and with the nearest name.
    let body = json!({"colour": "Red", "data": {"vehicle": {"colour_nmae": "x", "seats": "five"}}});
    let answer = send(&shop.api, "POST", "/2.0/vehicles", Some(&body)).await;
    answer.invalid(&["colour", "data.vehicle.colour_nmae", "data.vehicle.seats"]);
    assert!(message(&answer, "colour").contains("\"data.vehicle.colour\""));
    assert!(message(&answer, "data.vehicle.colour_nmae").contains("\"data.vehicle.colour_name\""));

    let body = json!({"channels": [], "options": {"platform_a": {"advart": true}, "platform_b": {"location": ""}}});
    let answer = send(&shop.api, "PUT", "/2.0/vehicles/987654/channels", Some(&body)).await;
    answer.invalid(&["options.platform_a.advart"]);
    assert!(message(&answer, "options.platform_a.advart").contains("\"options.platform_a.advert\""));

    let many: serde_json::Map<_, _> = (0..500).map(|at| (format!("x{at}"), json!(at))).collect();
    let answer = send(&shop.api, "POST", LEADS, Some(&many.into())).await;
    let errors = answer.refused(422, "validation_failed")["details"]["errors"].take();
    assert_eq!(errors.as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn checks_keep_their_order() {
    let shop = Shop::open(Engine::Sqlite).await;
    let reader = shop.client("meta:read").await;
    let body = json!({"nonsense": 1});
    let refused = send(&reader, "POST", LEADS, Some(&body)).await;
    refused.refused(403, "scope_denied");
    is_applied(&refused);
    let malformed = shop.api.request("POST", LEADS).header("Prefer", STRICT).body("{");
    malformed.send().await.refused(400, "json_invalid");
    let no_object = shop.api.request("POST", LEADS).header("Prefer", STRICT).body("[]");
    no_object.send().await.invalid(&["body"]);
    // Names are checked before the record is looked up.
    for (method, path) in [
        ("GET", "/2.0/leads/987654"),
        ("GET", "/2.0/contacts/987654/export"),
        ("GET", "/2.0/contacts/x/notes"),
        ("DELETE", "/2.0/leads/987654"),
        ("POST", "/2.0/contacts/987654/login/email"),
    ] {
        let answer = send(&shop.api, method, &format!("{path}?nonsense=1"), None).await;
        answer.invalid(&["nonsense"]);
        assert_eq!(send(&shop.api, method, path, None).await.status, 404, "{method} {path}");
    }
    let unrouted = send(&shop.api, "GET", "/2.0/nothing?nonsense=1", None).await;
    unrouted.refused(404, "route_not_found");
}

async fn a_refused_write_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let keyed = async |prefer: &str, body: &Value| {
        let request = shop.api.request("PATCH", &lead).header("Prefer", prefer).key("once");
        request.json(body).send().await
    };
    let body = json!({"name": "Bob", "nmae": "Bob"});
    keyed(STRICT, &body).await.invalid(&["nmae"]);
    assert_eq!(shop.api.get(&lead).await.ok()["name"], "Ann");
    // The key replays the refusal.
    let replayed = keyed(STRICT, &body).await;
    replayed.invalid(&["nmae"]);
    assert_eq!(replayed.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(shop.api.patch(&lead, &body).await.ok()["name"], "Bob");
}

#[tokio::test]
async fn a_refused_mail_is_not_sent() {
    let shop = Shop::open(Engine::Sqlite).await;
    let contact = json!({"name": "Ann", "email": "ann@example.com", "login": true});
    let contact = shop.api.post("/2.0/contacts", &contact).await.created();
    let path = format!("/2.0/contacts/{}/login/email?nonsense=1", contact["id"]);
    send(&shop.api, "POST", &path, None).await.invalid(&["nonsense"]);
    assert!(shop.installation().mails().is_empty());
}
