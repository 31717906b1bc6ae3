//! What is held on a contact, and what is left of it once it is deleted.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::contacts_record::{CONTACTS, path};

both_engines! {
    an_export_has_all_that_is_held
    nothing_of_a_deleted_contact_is_shown
}

fn ann() -> Value {
    json!({"name": "Ann Quillfeather", "email": "Ann.Quillfeather@example.com", "mobile": "07700 900123"})
}

async fn an_export_has_all_that_is_held(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(&shop, &ann()).await;
    shop.api
        .post(&format!("{contact}/notes"), &json!({"note": "Likes red"}))
        .await
        .created();
    let full = shop.api.get(&contact).await.ok();
    let lead = shop.lead(&json!({"name": "Ann", "contact": full["id"]})).await;
    shop.lead(&json!({"name": "Bea"})).await;
    let export = shop.api.get(&format!("{contact}/export")).await.ok();
    assert!(export["exported"].is_i64());
    assert_eq!((&export["contact"], &export["password"]), (&full, &json!(false)));
    assert_eq!(
        export["follow_blocks"],
        shop.api.get(&format!("{contact}/follow-blocks")).await.ok()
    );
    let leads = export["leads"].as_array().unwrap();
    assert_eq!((leads.len(), &leads[0]["id"]), (1, &lead["id"]));
    let events = export["events"].as_array().unwrap();
    assert_eq!((events.len(), &events[0]["event"]), (1, &json!("contact.created")));
    assert_eq!(events[0]["data"]["email"], full["email"]);
    let part = shop
        .api
        .get(&format!("{contact}/export?fields=contact.email"))
        .await
        .ok();
    assert_eq!(part, json!({"contact": {"email": full["email"]}}));
}

async fn nothing_of_a_deleted_contact_is_shown(engine: Engine) {
    let shop = Shop::open(engine).await;
    let create = || shop.api.request("POST", CONTACTS).key("create").json(&ann());
    let full = create().send().await.created();
    let contact = format!("{CONTACTS}/{}", full["id"]);
    shop.api
        .patch(&contact, &json!({"company": "Quillfeather Ltd"}))
        .await
        .ok();
    let own = json!({"contact": full["id"], "name": "ann quillfeather", "email": "ann.quillfeather@example.com"});
    let lead = || shop.api.request("POST", "/2.0/leads").key("lead").json(&own);
    let made = lead().send().await.created();
    let lead_path = format!("/2.0/leads/{}", made["id"]);
    shop.api.patch(&lead_path, &json!({"phone": "07700 900123"})).await.ok();
    shop.api.delete(&contact).await.ok();

    assert_eq!(
        create().send().await.created(),
        json!({"id": full["id"]}),
        "no second contact is made"
    );
    assert_eq!(lead().send().await.created(), json!({"id": made["id"]}));
    let left = shop.api.get(&lead_path).await.ok();
    for member in ["name", "email", "phone"] {
        assert_eq!(left[member], "", "{member}");
    }
    assert_eq!((&left["contact"], &left["updated"].is_i64()), (&Value::Null, &true));
    let events = shop.api.get("/2.0/events").await.list().items;
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    let expected = [
        "contact.created",
        "contact.updated",
        "lead.created",
        "lead.updated",
        "contact.deleted",
    ];
    assert_eq!(names, expected);
    for at in [0, 1, 4] {
        assert_eq!(events[at]["data"], json!({"id": full["id"]}));
    }
    let shown = serde_json::to_string(&events).unwrap().to_lowercase();
    for text in ["quillfeather", "7700900123"] {
        assert!(!shown.contains(text), "{text}: {shown}");
    }
    assert_eq!(shop.api.list(CONTACTS).await.pagination["total"], 0);
}
