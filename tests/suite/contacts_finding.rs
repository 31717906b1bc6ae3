//! Searches for contacts: lists and their filters, the duplicate check; and the records of a contact: notes, follow-blocks.

use harness::{Engine, Shop, both_engines, url_query};
use serde_json::{Value, json};

use crate::contacts_record::{CONTACTS, path};

both_engines! {
    filters_match_exactly_but_for_case
    duplicates_are_found_in_any_spelling
    a_probe_is_validated
    notes_are_added_listed_and_deleted
    blocks_belong_to_the_address_or_the_number
}

async fn filters_match_exactly_but_for_case(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = json!({"name": "Ann Lee", "email": "Ann@Example.com", "company": "Lee & Sons", "vat": "GB 123",
                     "address": {"zip": "LS1 4AB"}, "telephone": "01632 960123", "mobile": "07700 900123"});
    path(&shop, &ann).await;
    path(&shop, &json!({"name": "Bea", "email": "bea@example.org"})).await;
    for (name, value, found) in [
        ("email", "ANN@example.COM", 1),
        ("email", "%example%", 2),
        ("email", "a%@EXAMPLE.com", 1),
        ("email", "example", 0),
        ("name", "ann lee", 1),
        ("name", "ann", 0),
        ("name", "%ann%", 0),
        ("company", "lee & SONS", 1),
        ("company", "lee&sons", 0),
        ("vat", "gb 123", 1),
        ("vat", "gb123", 0),
        ("zip", "ls1 4ab", 1),
        ("zip", "ls14ab", 0),
        ("telephone", "+44 1632 960123", 1),
        ("telephone", "01632960123", 1),
        ("telephone", "07700 900123", 0),
        ("mobile", "0044 7700 900 123", 1),
        ("unknown", "x", 2),
    ] {
        let list = shop.api.list(&url_query(CONTACTS, [(name, value)])).await;
        assert_eq!(
            (list.items.len(), &list.pagination["total"]),
            (found, &json!(found)),
            "{name}={value}"
        );
    }
    let newest = shop.api.list(&format!("{CONTACTS}?per_page=1")).await;
    assert_eq!(newest.items[0]["data"]["name"], "Bea");
    assert_eq!(shop.api.walk(&format!("{CONTACTS}?per_page=1")).await.len(), 2);
    // An unescaped + is a space by then.
    let list = shop.api.list(&format!("{CONTACTS}?mobile=+447700900123")).await;
    assert_eq!(list.items.len(), 1);
}

async fn duplicates_are_found_in_any_spelling(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = json!({"name": "Ann Lee", "email": "Ann@Example.com", "company": "Lee & Sons Ltd.", "vat": "GB 123",
                     "address": {"line1": "Flat 1, 2 High Street", "city": "Leeds", "zip": "LS1 4AB"},
                     "telephone": "01632 960123", "mobile": "07700 900123"});
    let first = path(&shop, &ann).await;
    let id = shop.api.get(&first).await.ok()["id"].take();
    path(&shop, &ann).await;
    let check = format!("{CONTACTS}/duplicate-check");
    for (kind, value) in [
        ("email", json!("ann@EXAMPLE.com")),
        ("phone", json!("+44 (0)1632 960-123")),
        ("phone", json!("07700900123")),
        ("name", json!("ann  lee")),
        ("company", json!("LEE & SONS LTD")),
        ("vat", json!("gb-123")),
        (
            "address",
            json!({"line1": "flat 1", "line2": "2 high street", "zip": "ls14ab"}),
        ),
        ("address", json!({"zip": "LS14AB", "city": "leeds"})),
    ] {
        let answer = shop.api.post(&check, &json!({"type": kind, "value": value})).await.ok();
        assert_eq!(
            answer,
            json!({"type": kind, "duplicate": true, "contact": id}),
            "{kind} {value}"
        );
    }
    for (kind, value) in [
        ("email", json!("bea@example.com")),
        ("phone", json!("07700 900124")),
        ("name", json!("Ann")),
        (
            "address",
            json!({"line1": "Flat 12", "line2": "High Street", "zip": "LS1 4AB"}),
        ),
        ("address", json!({"zip": "LS1 4AB", "city": "York"})),
    ] {
        let request = || {
            let body = json!({"type": kind, "value": value});
            shop.api.request("POST", &check).json(&body)
        };
        let none = json!({"type": kind, "duplicate": false, "contact": null});
        assert_eq!(request().send().await.ok(), none, "{value}");
        assert_eq!(
            request()
                .key(&format!("key-{kind}-{}", value.to_string().len()))
                .send()
                .await
                .ok(),
            none
        );
    }
}

async fn a_probe_is_validated(engine: Engine) {
    let shop = Shop::open(engine).await;
    let check = format!("{CONTACTS}/duplicate-check");
    for (body, fields) in [
        (json!({}), vec!["type", "value"]),
        (json!({"type": "fax", "value": "x"}), vec!["type"]),
        (json!({"type": 5, "value": null}), vec!["type", "value"]),
        (json!({"type": "email", "value": "x"}), vec!["value"]),
        (json!({"type": "email", "value": {}}), vec!["value"]),
        (json!({"type": "phone", "value": "x"}), vec!["value"]),
        (json!({"type": "name", "value": "  "}), vec!["value"]),
        (json!({"type": "address", "value": "x"}), vec!["value"]),
        (json!({"type": "address", "value": {"city": "Leeds"}}), vec!["value"]),
        (
            json!({"type": "address", "value": {"line1": "x", "country": "XX"}}),
            vec!["value.country"],
        ),
    ] {
        shop.api.post(&check, &body).await.invalid(&fields);
    }
}

async fn notes_are_added_listed_and_deleted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(&shop, &json!({"name": "Ann"})).await;
    let other = path(&shop, &json!({"name": "Bea"})).await;
    let id = shop.api.get(&contact).await.ok()["id"].take();
    let notes = format!("{contact}/notes");
    let first = shop
        .api
        .post(&notes, &json!({"note": "One\ntwo", "user": 1}))
        .await
        .created();
    assert_eq!(
        (&first["contact"], &first["note"], &first["user"]),
        (&id, &json!("One\ntwo"), &json!(1))
    );
    let second = shop.api.post(&notes, &json!({"note": "Three"})).await.created();
    assert_eq!(second["user"], Value::Null);
    let list = shop.api.list(&notes).await;
    assert_eq!(list.items, [second.clone(), first.clone()]);
    assert_eq!(list.pagination["total"], 2);
    assert_eq!(shop.api.walk(&format!("{notes}?per_page=1")).await, list.items);
    assert_eq!(
        shop.api.get(&contact).await.ok()["data"]["notes"],
        json!([second, first])
    );
    for (body, fields) in [
        (json!({}), vec!["note"]),
        (json!({"note": " "}), vec!["note"]),
        (json!({"note": 5, "user": 99}), vec!["note", "user"]),
        (json!({"note": "x", "user": "Sam"}), vec!["user"]),
    ] {
        shop.api.post(&notes, &body).await.invalid(&fields);
    }
    let note = format!("{notes}/{}", first["id"]);
    shop.api
        .delete(&format!("{other}/notes/{}", first["id"]))
        .await
        .refused(404, "contact_note_not_found");
    assert_eq!(
        shop.api.delete(&note).await.ok(),
        json!({"id": first["id"], "deleted": true})
    );
    shop.api.delete(&note).await.refused(404, "contact_note_not_found");
    shop.api
        .delete(&format!("{notes}/x"))
        .await
        .refused(404, "contact_note_not_found");
    let events = shop.api.get("/2.0/events").await.list().items;
    assert_eq!(events.len(), 2, "notes emit nothing");
}

async fn blocks_belong_to_the_address_or_the_number(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann", "email": "Ann@example.com", "telephone": "01632 960123"});
    let contact = path(&shop, &body).await;
    let id = shop.api.get(&contact).await.ok()["id"].take();
    let blocks = format!("{contact}/follow-blocks");
    let expected = |email: bool, sms: bool| {
        json!({"contact": id, "email": {"value": "Ann@example.com", "blocked": email},
               "sms": {"value": "+441632960123", "blocked": sms}})
    };
    assert_eq!(shop.api.get(&blocks).await.ok(), expected(false, false));
    assert_eq!(
        shop.api.put(&blocks, &json!({"email": true})).await.ok(),
        expected(true, false)
    );
    assert_eq!(
        shop.api.put(&blocks, &json!({"sms": true})).await.ok(),
        expected(true, true)
    );
    assert_eq!(shop.api.put(&blocks, &json!({})).await.ok(), expected(true, true));
    assert_eq!(
        shop.api.put(&blocks, &json!({"sms": false})).await.ok(),
        expected(true, false)
    );
    assert_eq!(shop.api.get(&blocks).await.ok(), expected(true, false));
    shop.api
        .put(&blocks, &json!({"email": "yes", "sms": 1}))
        .await
        .invalid(&["email", "sms"]);
    shop.api.delete(&contact).await.ok();
    let twin = path(&shop, &json!({"name": "Other", "email": "ANN@example.com"})).await;
    let twin = format!("{twin}/follow-blocks");
    assert_eq!(shop.api.get(&twin).await.ok()["email"]["blocked"], true);
    shop.api.put(&twin, &json!({"sms": true})).await.invalid(&["sms"]);
}
