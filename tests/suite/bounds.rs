//! Bounds on the input of one caller (decisions §3, "Bounds"): beyond a bound the answer is a small 422 that names the field.

use harness::{Answer, Engine, Shop, both_engines, url_query};
use serde_json::{Value, json};

both_engines! {
    a_selection_of_fields_is_bounded_on_every_read
    a_selection_within_the_bounds_works
    a_wildcard_filter_is_bounded
    a_whole_text_filter_is_a_line
    every_line_of_a_lead_is_bounded
    every_line_of_a_contact_is_bounded
    names_companies_and_subjects_are_one_line
    a_note_has_20_000_characters_at_most
    every_text_of_a_webhook_is_bounded
    every_array_of_a_body_is_bounded
    a_lead_s_data_has_64_kib_at_most
    a_contact_has_64_kib_at_most
    a_body_is_nested_32_levels_at_most
    at_most_100_faults_are_reported
    a_refusal_is_small_whatever_was_sent
    a_single_value_is_not_given_as_an_array
    an_empty_filter_is_none
    numbers_that_fit_no_id_are_refused
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

/// Returns the paths of every kind of read.
async fn reads(shop: &Shop) -> Vec<String> {
    let lead = shop.lead_path("Ann").await;
    let contact = contact_path(shop).await;
    let vehicle = shop.api.post("/2.0/vehicles", &json!({})).await.created();
    let vehicle = format!("/2.0/vehicles/{}", vehicle["id"]);
    let hook = json!({"url": "https://example.com", "events": "*"});
    let hook = shop.api.post(WEBHOOKS, &hook).await.created();
    let hook = format!("{WEBHOOKS}/{}", hook["id"]);
    let mut reads = vec![
        LEADS.to_owned(),
        CONTACTS.to_owned(),
        WEBHOOKS.to_owned(),
        "/2.0/vehicles".to_owned(),
        "/2.0/events".to_owned(),
        "/2.0/meta".to_owned(),
        "/2.0/reference/tags?resource=lead".to_owned(),
        format!("{lead}/vehicles"),
        format!("{contact}/follow-blocks"),
        format!("{contact}/notes"),
        format!("{contact}/tags"),
        format!("{contact}/export"),
        format!("{hook}/deliveries"),
        format!("{vehicle}/tags"),
        format!("{vehicle}/channels"),
        format!("{vehicle}/publish-check"),
        lead,
        contact,
        hook,
        vehicle,
    ];
    let lists = [
        "vehicle-statuses",
        "vehicle-types",
        "vehicle-options",
        "vehicle-taxonomy",
        "staff-users",
        "sites",
        "booking-types",
        "deal-stages",
        "lead-channels",
        "lead-types",
        "media-backgrounds",
        "invoice-statuses",
        "job-boards",
        "webhook-events",
    ];
    reads.extend(lists.map(|list| format!("/2.0/reference/{list}")));
    reads
}

async fn a_selection_of_fields_is_bounded_on_every_read(engine: Engine) {
    let shop = Shop::open(engine).await;
    for read in reads(&shop).await {
        let separator = if read.contains('?') { '&' } else { '?' };
        for fields in [
            "id,".repeat(101),
            "a.b.c.d.e.f.g.h.i".to_owned(),
            "a".repeat(2049),
            ".".repeat(15_000),
            "id,".repeat(5_000),
        ] {
            let answer = shop.api.get(&format!("{read}{separator}fields={fields}")).await;
            small(&answer, &["fields"]);
        }
    }
    // A wrong parameter is reported before a missing record.
    let nobody = format!("{CONTACTS}/999999/tags?fields={}", "a.".repeat(10));
    shop.api.get(&nobody).await.invalid(&["fields"]);
    let both = format!("/2.0/reference/vehicle-statuses?type=x&fields={}", "a.".repeat(10));
    shop.api.get(&both).await.invalid(&["fields", "type"]);
}

async fn a_selection_within_the_bounds_works(engine: Engine) {
    let shop = Shop::open(engine).await;
    let nested = json!({"data": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1, "x": 2}}}}}}}});
    let lead = format!("{LEADS}/{}", shop.lead(&nested).await["id"]);
    let deep = shop.api.get(&format!("{lead}?fields=data.b.c.d.e.f.g.h")).await.ok();
    assert_eq!(deep["data"]["b"]["c"]["d"]["e"]["f"]["g"], json!({"h": 1}));
    let many: Vec<String> = (0..99).map(|at| format!("none{at}")).collect();
    let many = format!("{},id", many.join(","));
    assert_eq!(
        shop.api
            .get(&format!("{lead}?fields={many}"))
            .await
            .ok()
            .as_object()
            .unwrap()
            .len(),
        1
    );
    let long = format!("id,{}", "n".repeat(2045));
    shop.api.get(&format!("{lead}?fields={long}")).await.ok();
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

async fn a_whole_text_filter_is_a_line(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (line, longer) = ("é".repeat(255), "é".repeat(256));
    for (path, filters) in [
        (LEADS, &["name", "email"][..]),
        (CONTACTS, &["email", "name", "company", "vat", "zip"]),
    ] {
        for filter in filters {
            let found = shop.api.list(&url_query(path, [(*filter, line.as_str())])).await;
            assert!(found.items.is_empty());
            small(
                &shop.api.get(&url_query(path, [(*filter, longer.as_str())])).await,
                &[filter],
            );
        }
    }
    for (path, parameter) in [
        (LEADS, "phone"),
        (LEADS, "status"),
        (LEADS, "channel"),
        (LEADS, "cursor"),
        (LEADS, "view"),
        (CONTACTS, "telephone"),
        ("/2.0/events", "resource"),
        ("/2.0/reference/invoice-statuses", "type"),
    ] {
        small(
            &shop.api.get(&url_query(path, [(parameter, longer.as_str())])).await,
            &[parameter],
        );
    }
    let taxonomy = url_query(
        "/2.0/reference/vehicle-taxonomy",
        [("type", "Car"), ("make", longer.as_str()), ("model", longer.as_str())],
    );
    small(&shop.api.get(&taxonomy).await, &["make", "model"]);
}

/// Returns a body with `value` at the dot-path `field`.
fn body(field: &str, value: impl Into<Value>) -> Value {
    let mut parts = field.rsplit('.');
    let innermost = json!({parts.next().unwrap(): value.into()});
    parts.fold(innermost, |inner, part| json!({part: inner}))
}

async fn every_line_of_a_lead_is_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let line = "é".repeat(255);
    for field in ["name", "channel_id"] {
        let changed = shop.api.patch(&lead, &body(field, line.as_str())).await.ok();
        assert!(changed["name"] == line.as_str() || changed["data"]["channel_id"] == line.as_str());
    }
    for length in [256, 1_000_000 / 2] {
        let long = "é".repeat(length);
        for field in [
            "name",
            "channel",
            "channel_id",
            "email",
            "phone",
            "mobile",
            "type",
            "vehicle_tag",
        ] {
            let body = body(field, long.as_str());
            small(&shop.api.post(LEADS, &body).await, &[field]);
            small(&shop.api.patch(&lead, &body).await, &[field]);
        }
        for (field, value) in [
            ("type.0", json!({"type": [long]})),
            ("tag.0", json!({"tag": [long]})),
            ("tag.1.name", json!({"tag": ["Hot", {"name": long}]})),
        ] {
            small(&shop.api.post(LEADS, &value).await, &[field]);
        }
        for field in ["status", "reopen"] {
            let body = body(field, long.as_str());
            small(&shop.api.patch(&format!("{lead}/status"), &body).await, &[field]);
        }
        let vehicle = body("vehicle_tag", long.as_str());
        small(
            &shop.api.post(&format!("{lead}/vehicles"), &vehicle).await,
            &["vehicle_tag"],
        );
    }
    // An address that looks like one, and is too long for one.
    let email = format!("ann@{}com", "example.".repeat(40));
    small(&shop.api.patch(&lead, &json!({"email": email})).await, &["email"]);
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

async fn every_line_of_a_contact_is_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = contact_path(&shop).await;
    let line = "é".repeat(255);
    let whole = json!({
        "name": line, "company": line, "vat": line, "ni": line,
        "address": {"line1": line, "line2": line, "line3": line, "city": line, "state": line, "zip": line},
        "license": {"number": line, "code": line}, "nominal": {"invoice": line, "purchase": line},
    });
    let changed = shop.api.patch(&contact, &whole).await.ok();
    assert_eq!(changed["data"]["address"]["zip"], line.as_str());
    for length in [256, 100_000] {
        let long = "é".repeat(length);
        for field in [
            "email",
            "type",
            "name",
            "company",
            "vat",
            "address.line1",
            "address.line2",
            "address.line3",
            "address.city",
            "address.state",
            "address.country",
            "address.zip",
            "telephone",
            "mobile",
            "telephone.number",
            "mobile.country",
            "dob",
            "license.number",
            "license.code",
            "license.checked",
            "ni",
            "marketing",
            "nominal.invoice",
            "nominal.purchase",
        ] {
            let mut body = body(field, long.as_str());
            if field == "mobile.country" {
                body["mobile"]["number"] = json!("07700 900123");
            }
            small(&shop.api.patch(&contact, &body).await, &[field]);
            if body.get("name").is_none() {
                body["name"] = json!("Ann");
            }
            small(&shop.api.post(CONTACTS, &body).await, &[field]);
        }
        for kind in ["email", "phone", "name", "company", "vat"] {
            let check = json!({"type": kind, "value": long});
            let answer = shop.api.post(&format!("{CONTACTS}/duplicate-check"), &check).await;
            small(&answer, &["value"]);
        }
        let check = json!({"type": "address", "value": {"line1": long}});
        let answer = shop.api.post(&format!("{CONTACTS}/duplicate-check"), &check).await;
        small(&answer, &["value.line1"]);
        small(&shop.api.patch(&contact, &json!({"tag": [long]})).await, &["tag.0"]);
    }
}

async fn a_note_has_20_000_characters_at_most(engine: Engine) {
    let shop = Shop::open(engine).await;
    let notes = format!("{}/notes", contact_path(&shop).await);
    let text = "é\n".repeat(10_000);
    assert_eq!(
        shop.api.post(&notes, &json!({"note": text})).await.created()["note"],
        text.as_str()
    );
    small(
        &shop.api.post(&notes, &json!({"note": format!("{text}.")})).await,
        &["note"],
    );
}

async fn every_text_of_a_webhook_is_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let with = |field: &str, value: Value| {
        let mut body = json!({"url": "https://example.com", "events": ["lead.created"]});
        body[field] = value;
        body
    };
    let url = |length: usize| format!("https://example.com/{}", "a".repeat(length - 20));
    shop.api.post(WEBHOOKS, &with("url", json!(url(512)))).await.created();
    let hook = shop
        .api
        .post(WEBHOOKS, &with("description", json!("é".repeat(128))))
        .await;
    let hook = format!("{WEBHOOKS}/{}", hook.created()["id"]);
    for (field, named, value) in [
        ("url", "url", json!(url(513))),
        ("url", "url", json!(url(500_000))),
        ("description", "description", json!("é".repeat(129))),
        ("description", "description", json!("é".repeat(500_000))),
        ("events", "events", json!(["x".repeat(500_000)])),
        ("events", "events", json!("x".repeat(500_000))),
        ("events", "events", json!(vec!["lead.created"; 501])),
        ("scopes", "scopes.0", json!(["x".repeat(500_000)])),
        ("scopes", "scopes", json!(["x".repeat(255)])),
        ("scopes", "scopes", json!(vec!["leads:read"; 501])),
    ] {
        small(&shop.api.post(WEBHOOKS, &with(field, value.clone())).await, &[named]);
        if field != "scopes" {
            small(&shop.api.patch(&hook, &json!({field: value})).await, &[named]);
        }
    }
    let status = json!({"status": "x".repeat(500_000)});
    small(&shop.api.patch(&hook, &status).await, &["status"]);
}

async fn every_array_of_a_body_is_bounded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let contact = contact_path(&shop).await;
    for (path, field, item) in [
        (format!("{lead}/assign"), "assign", json!(1)),
        (lead.clone(), "type", json!("email")),
        (lead.clone(), "tag", json!("Hot")),
        (contact.clone(), "type", json!("Customer")),
        (contact.clone(), "tag", json!("Trade")),
        (contact.clone(), "document", json!({"id": 1})),
    ] {
        let mut array = vec![item; 500];
        shop.api.patch(&path, &json!({field: array})).await.ok();
        array.push(array[0].clone());
        small(&shop.api.patch(&path, &json!({field: array})).await, &[field]);
        // Too many are refused for their number, even if each is invalid.
        small(
            &shop.api.patch(&path, &json!({field: vec![json!([]); 501]})).await,
            &[field],
        );
    }
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

async fn a_single_value_is_not_given_as_an_array(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let contact = contact_path(&shop).await;
    let hook = json!({"url": "https://example.com", "events": "*"});
    let hook = shop.api.post(WEBHOOKS, &hook).await.created();
    let paged = ["page", "per_page", "cursor", "fields", "view"];
    let lists: [(String, &[&str]); 10] = [
        (
            LEADS.to_owned(),
            &[
                "site",
                "status",
                "channel",
                "reference",
                "name",
                "email",
                "phone",
                "mobile",
                "contact",
                "vehicle",
                "rating_min",
            ],
        ),
        (
            CONTACTS.to_owned(),
            &["email", "name", "company", "vat", "zip", "telephone", "mobile"],
        ),
        (
            "/2.0/vehicles".to_owned(),
            &[
                "type",
                "status",
                "registration",
                "tag",
                "owner",
                "channel",
                "make",
                "vin",
                "lead",
            ],
        ),
        (WEBHOOKS.to_owned(), &[]),
        (format!("{WEBHOOKS}/{}/deliveries", hook["id"]), &["status", "event"]),
        (format!("{lead}/messages"), &[]),
        (format!("{lead}/notes"), &[]),
        (format!("{lead}/vehicles"), &[]),
        (format!("{contact}/notes"), &[]),
        ("/2.0/events".to_owned(), &["resource", "record", "wait"]),
    ];
    for (path, filters) in &lists {
        let paged = paged.iter().filter(|name| path != "/2.0/events" || **name != "page");
        for name in filters.iter().chain(paged) {
            for key in [format!("{name}[]"), format!("{name}[0]")] {
                let answer = shop.api.get(&url_query(path, [(key.as_str(), "1")])).await;
                answer.invalid(&[name]);
            }
        }
    }
    for query in ["type[]=in-stock", "fields[]=type"] {
        let answer = shop.api.get(&format!("/2.0/reference/vehicle-statuses?{query}")).await;
        answer.invalid(&[query.split('[').next().unwrap()]);
    }
    // A documented array stays one.
    shop.api.list(&format!("{LEADS}?created[]=1&created[]=")).await;
    shop.api
        .get("/2.0/events?event[]=lead.created&event[]=lead.updated")
        .await
        .ok();
    shop.api
        .get("/2.0/events?event[x]=lead.created")
        .await
        .invalid(&["event"]);
}

async fn an_empty_filter_is_none(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead_path("Ann").await;
    contact_path(&shop).await;
    for query in [
        "site=&status=&channel=&reference=&name=&email=&phone=&mobile=&contact=&vehicle=&rating_min=",
        "name",
    ] {
        assert_eq!(shop.api.list(&format!("{LEADS}?{query}")).await.items.len(), 1);
    }
    let query = "email=&name=&company=&vat=&zip=&telephone=&mobile=";
    assert_eq!(shop.api.list(&format!("{CONTACTS}?{query}")).await.items.len(), 1);
    for parameter in ["created", "updated", "page", "per_page", "view"] {
        let answer = shop.api.get(&format!("{LEADS}?{parameter}=")).await;
        answer.invalid(&[parameter]);
    }
}

async fn numbers_that_fit_no_id_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let contact = contact_path(&shop).await;
    for number in [
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "1e300",
    ] {
        for (method, path, field, body) in [
            ("POST", LEADS, "site", format!(r#"{{"site":{number}}}"#)),
            ("POST", LEADS, "contact", format!(r#"{{"contact":{number}}}"#)),
            ("POST", LEADS, "vehicle", format!(r#"{{"vehicle":{number}}}"#)),
            ("PATCH", lead.as_str(), "contact", format!(r#"{{"contact":{number}}}"#)),
            ("PATCH", contact.as_str(), "site", format!(r#"{{"site":{number}}}"#)),
            (
                "PATCH",
                contact.as_str(),
                "license.checked_by",
                format!(r#"{{"license":{{"checked_by":{number}}}}}"#),
            ),
            (
                "POST",
                &format!("{contact}/notes"),
                "user",
                format!(r#"{{"note":"a","user":{number}}}"#),
            ),
            (
                "POST",
                &format!("{lead}/vehicles"),
                "vehicle",
                format!(r#"{{"vehicle":{number}}}"#),
            ),
        ] {
            shop.api.request(method, path).body(body).send().await.invalid(&[field]);
        }
        let assign = shop.api.request("PATCH", &format!("{lead}/assign"));
        let answer = assign.body(format!(r#"{{"assign":[{number}]}}"#)).send().await;
        assert_eq!(answer.status, 422, "{number}");
    }
}
