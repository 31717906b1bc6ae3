//! The record of a contact: every field, its default and its rule, and the merging of changes.

use harness::{Engine, Shop, both_engines, next_second, now, today};
use serde_json::{Value, json};

both_engines! {
    a_contact_of_a_name_has_every_default
    a_contact_reads_as_it_was_written
    what_is_wrong_is_reported_by_its_path
    a_change_is_merged
    a_change_of_nothing_leaves_the_stamp
    tags_are_replaced_as_a_set
    two_contacts_do_not_log_in_with_one_email
    a_lead_is_linked_to_a_contact_that_exists
}

pub(crate) const CONTACTS: &str = "/2.0/contacts";

/// Creates a contact from this body; returns the path to it.
pub(crate) async fn path(shop: &Shop, body: &Value) -> String {
    let contact = shop.api.post(CONTACTS, body).await.created();
    format!("{CONTACTS}/{}", contact["id"])
}

fn everything() -> Value {
    json!({
        "email": "Ann@Example.com", "site": 2, "type": ["Supplier", "Trade"], "name": "Ann Lee", "company": "Lee & Sons",
        "vat": "GB 123", "address": {"line1": "Flat 1", "line2": "2 High Street", "line3": "Headingley", "city": "Leeds",
        "state": "Yorks", "country": "gb", "zip": "LS1 4AB"}, "telephone": "01632 960123",
        "mobile": {"country": "GB", "number": "07700 900123"}, "dob": "1980-02-29",
        "license": {"number": "LEE99", "code": "x7", "checked": "2026-02-28", "checked_by": 1}, "ni": "QQ 12",
        "marketing": "Yes", "nominal": {"invoice": "4000", "purchase": "5000"}, "tag": [{"name": "Trade", "checked": false}],
        "document": [{"id": 9, "name": "Passport"}], "login": true, "unknown": 1,
    })
}

async fn a_contact_of_a_name_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = now();
    let mut contact = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    let created = contact["created"].as_i64().unwrap();
    assert!((start..=now()).contains(&created));
    assert_eq!(contact["updated"], created);
    contact
        .as_object_mut()
        .unwrap()
        .retain(|member, _| !["id", "created", "updated"].contains(&member.as_str()));
    let expected = json!({"site": 0, "email": "", "version": 1, "data": {
        "type": ["Customer"], "name": "Ann", "company": "", "vat": "",
        "address": {"line1": "", "line2": "", "line3": "", "city": "", "state": "", "country": "", "zip": ""},
        "telephone": "", "mobile": "", "dob": null,
        "license": {"number": "", "code": "", "checked": null, "checked_by": null}, "ni": "", "marketing": "No",
        "notes": [], "accounting": {}, "nominal": {"invoice": "", "purchase": ""}, "tag": [], "document": [],
        "login": false,
    }});
    assert_eq!(contact, expected);
}

async fn a_contact_reads_as_it_was_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop.api.post(CONTACTS, &everything()).await.created();
    let data = json!({
        "type": ["Supplier", "Trade"], "name": "Ann Lee", "company": "Lee & Sons", "vat": "GB 123",
        "address": {"line1": "Flat 1", "line2": "2 High Street", "line3": "Headingley", "city": "Leeds", "state": "Yorks",
                    "country": "GB", "zip": "LS1 4AB"},
        "telephone": "+441632960123", "mobile": "+447700900123", "dob": "1980-02-29",
        "license": {"number": "LEE99", "code": "x7", "checked": "2026-02-28", "checked_by": 1}, "ni": "QQ 12",
        "marketing": "Yes", "notes": [], "accounting": {}, "nominal": {"invoice": "4000", "purchase": "5000"},
        "tag": [{"name": "Trade", "checked": false, "colour": "#dd3", "type": ""}],
        "document": [{"id": 9, "name": "Passport"}], "login": true,
    });
    assert_eq!(
        (&contact["email"], &contact["site"], &contact["data"]),
        (&json!("Ann@Example.com"), &json!(2), &data)
    );
    let path = format!("{CONTACTS}/{}", contact["id"]);
    assert_eq!(shop.api.get(&path).await.ok(), contact);
    let one = shop
        .api
        .post(CONTACTS, &json!({"name": "Bea", "type": "Finance"}))
        .await
        .created();
    assert_eq!(one["data"]["type"], json!(["Finance"]));
}

async fn what_is_wrong_is_reported_by_its_path(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"name": "Ann"})).await;
    let before = shop.api.get(&path).await.ok();
    let tomorrow = today(1);
    for (body, fields) in [
        (json!({"name": 5}), vec!["name"]),
        (json!({"name": ""}), vec!["name"]),
        (json!({"name": null}), vec!["name"]),
        (json!({"email": "ann"}), vec!["email"]),
        (json!({"site": 99}), vec!["site"]),
        (json!({"site": "x"}), vec!["site"]),
        (json!({"type": "customer"}), vec!["type"]),
        (json!({"type": ["Customer", 5]}), vec!["type.1"]),
        (json!({"type": 5}), vec!["type"]),
        (json!({"company": 5, "vat": [], "ni": {}}), vec!["company", "vat", "ni"]),
        (json!({"address": "x"}), vec!["address"]),
        (
            json!({"address": {"line1": 1, "country": "XX", "zip": 5}}),
            vec!["address.line1", "address.country", "address.zip"],
        ),
        (json!({"telephone": "x", "mobile": 5}), vec!["telephone", "mobile"]),
        (
            json!({"mobile": {"country": "XX", "number": "1"}}),
            vec!["mobile.country", "mobile.number"],
        ),
        (json!({"mobile": {"country": "GB"}}), vec!["mobile.number"]),
        (json!({"dob": tomorrow}), vec!["dob"]),
        (json!({"dob": "29.2.1980"}), vec!["dob"]),
        (
            json!({"license": {"number": 1, "checked": "x", "checked_by": 99}}),
            vec!["license.number", "license.checked", "license.checked_by"],
        ),
        (json!({"license": {"checked_by": "Sam"}}), vec!["license.checked_by"]),
        (json!({"marketing": "yes"}), vec!["marketing"]),
        (json!({"nominal": {"invoice": 4000}}), vec!["nominal.invoice"]),
        (json!({"tag": ["Hot"]}), vec!["tag.0"]),
        (
            json!({"tag": [5, {"name": "Trade", "checked": 1}]}),
            vec!["tag.0", "tag.1.checked"],
        ),
        (json!({"document": [5]}), vec!["document.0"]),
        (json!({"document": {}}), vec!["document"]),
        (json!({"login": "yes"}), vec!["login"]),
        (json!({"login": true}), vec!["login"]),
        (json!({"login": true, "email": null}), vec!["login"]),
    ] {
        shop.api.patch(&path, &body).await.invalid(&fields);
        let mut body = body;
        if body.get("name").is_none() {
            shop.api
                .post(CONTACTS, &body)
                .await
                .invalid(&[fields.as_slice(), &["name"]].concat());
            body["name"] = "Ann".into();
        }
        shop.api.post(CONTACTS, &body).await.invalid(&fields);
    }
    shop.api.post(CONTACTS, &json!({})).await.invalid(&["name"]);
    assert_eq!(shop.api.get(&path).await.ok(), before);
    assert_eq!(shop.api.list(CONTACTS).await.pagination["total"], 1);
}

async fn a_change_is_merged(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &everything()).await;
    let change = json!({
        "address": {"line2": "", "city": "York", "country": null}, "license": {"code": null, "checked_by": null},
        "nominal": {"purchase": ""}, "mobile": null, "telephone": "", "dob": null, "document": [], "company": null,
    });
    let data = shop.api.patch(&path, &change).await.ok()["data"].take();
    assert_eq!(
        data["address"],
        json!({"line1": "Flat 1", "line2": "", "line3": "Headingley", "city": "York", "state": "Yorks", "country": "",
               "zip": "LS1 4AB"})
    );
    assert_eq!(
        data["license"],
        json!({"number": "LEE99", "code": "", "checked": "2026-02-28", "checked_by": null})
    );
    assert_eq!(data["nominal"], json!({"invoice": "4000", "purchase": ""}));
    for (member, value) in [
        ("mobile", json!("")),
        ("telephone", json!("")),
        ("dob", Value::Null),
        ("document", json!([])),
        ("company", json!("")),
        ("name", json!("Ann Lee")),
        ("vat", json!("GB 123")),
        ("login", json!(true)),
    ] {
        assert_eq!(data[member], value, "{member}");
    }
    let cleared = json!({"address": null, "license": null, "nominal": null});
    let data = shop.api.patch(&path, &cleared).await.ok()["data"].take();
    assert_eq!(
        (&data["address"]["zip"], &data["license"]["number"]),
        (&json!(""), &json!(""))
    );
    assert_eq!(data["nominal"], json!({"invoice": "", "purchase": ""}));
    assert_eq!(shop.api.get(&path).await.ok()["data"], data);
}

async fn a_change_of_nothing_leaves_the_stamp(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &everything()).await;
    let before = shop.api.get(&path).await.ok();
    next_second().await;
    for body in [json!({}), everything()] {
        assert_eq!(shop.api.patch(&path, &body).await.ok(), before);
    }
    let after = shop.api.patch(&path, &json!({"vat": "x"})).await.ok();
    assert!(after["updated"].as_i64() > before["updated"].as_i64());
    let names = |events: Vec<Value>| events.iter().map(|event| event["event"].clone()).collect::<Vec<_>>();
    let events = shop.api.get("/2.0/events").await.list().items;
    assert_eq!(names(events.clone()), ["contact.created", "contact.updated"]);
    assert_eq!((&events[0]["data"], &events[1]["data"]), (&before, &after));
}

async fn tags_are_replaced_as_a_set(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"name": "Ann", "tag": ["Trade"]})).await;
    let tags = shop.api.get(&format!("{path}/tags")).await.ok();
    let expected = json!({
        "applied": [{"name": "Trade", "checked": true, "colour": "#dd3", "type": ""}],
        "available": [{"name": "Trade", "colour": "#dd3", "type": "", "defaulted": false}],
    });
    assert_eq!(tags, expected);
    shop.api.patch(&path, &json!({"tag": []})).await.ok();
    assert_eq!(shop.api.get(&format!("{path}/tags")).await.ok()["applied"], json!([]));
    shop.api
        .get(&format!("{CONTACTS}/987654321/tags"))
        .await
        .refused(404, "contact_not_found");
}

async fn two_contacts_do_not_log_in_with_one_email(engine: Engine) {
    let shop = Shop::open(engine).await;
    let login = |email: &str| json!({"name": "Ann", "email": email, "login": true});
    let first = path(&shop, &login("ann@example.com")).await;
    shop.api
        .post(CONTACTS, &login("ANN@Example.com"))
        .await
        .refused(409, "contact_email_duplicate");
    let silent = path(&shop, &json!({"name": "Ann", "email": "ann@example.com"})).await;
    shop.api
        .patch(&silent, &json!({"login": true}))
        .await
        .refused(409, "contact_email_duplicate");
    let other = path(&shop, &login("bea@example.com")).await;
    shop.api
        .patch(&other, &json!({"email": "Ann@example.com"}))
        .await
        .refused(409, "contact_email_duplicate");
    shop.api.patch(&first, &json!({"email": "ANN@example.com"})).await.ok();
    shop.api.patch(&first, &json!({"email": ""})).await.invalid(&["email"]);
    shop.api.patch(&first, &json!({"login": false})).await.ok();
    shop.api.patch(&silent, &json!({"login": true})).await.ok();
    shop.rival()
        .await
        .post(CONTACTS, &login("ann@example.com"))
        .await
        .created();
}

async fn a_lead_is_linked_to_a_contact_that_exists(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"name": "Ann"})).await;
    let id = shop.api.get(&path).await.ok()["id"].take();
    let lead = shop.lead(&json!({"contact": id})).await;
    assert_eq!(lead["contact"], id);
    let rival = shop.rival().await;
    rival
        .post("/2.0/leads", &json!({"contact": id}))
        .await
        .invalid(&["contact"]);
    assert_eq!(shop.api.list(&format!("/2.0/leads?contact={id}")).await.items.len(), 1);
    shop.api.delete(&path).await.ok();
    let lead = shop.api.get(&format!("/2.0/leads/{}", lead["id"])).await.ok();
    assert_eq!(lead["contact"], Value::Null);
    assert_eq!(shop.api.list(&format!("/2.0/leads?contact={id}")).await.items.len(), 0);
}
