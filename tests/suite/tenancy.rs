//! A business sees its own records, and no sign of others'.

use harness::{Client, Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    another_s_lead_does_not_exist
    lists_hold_one_s_own_leads_alone
    reference_lists_are_one_s_own
    the_lists_of_another_do_not_count
}

async fn another_s_lead_does_not_exist(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let lead = shop.lead_path("Ann").await;
    let before = shop.api.get(&lead).await.ok();
    let requests = [
        ("GET", lead.clone(), Value::Null),
        ("GET", format!("{lead}?fields=id"), Value::Null),
        ("PATCH", lead.clone(), json!({"name": "Stolen"})),
        ("PATCH", format!("{lead}/status"), json!({"junk": true})),
        ("PATCH", format!("{lead}/assign"), json!({"assign": []})),
        ("GET", format!("{lead}/vehicles"), Value::Null),
        ("DELETE", format!("{lead}/vehicles/1"), Value::Null),
        ("DELETE", lead.clone(), Value::Null),
    ];
    for (number, (method, path, body)) in requests.iter().enumerate() {
        let request = |client: &Client| {
            let request = client.request(method, path);
            if body.is_null() { request } else { request.json(body) }
        };
        request(&rival).send().await.refused(404, "lead_not_found");
        let keyed = request(&rival).key(&format!("key-{number}"));
        keyed.send().await.refused(404, "lead_not_found");
    }
    assert_eq!(shop.api.get(&lead).await.ok(), before);

    // A record that does not exist at all gets the same answer.
    let other = shop.api.get("/2.0/leads/987654321").await.json()["error"].take();
    let foreign = rival.get(&lead).await.json()["error"].take();
    assert_eq!(foreign["code"], other["code"]);
}

async fn lists_hold_one_s_own_leads_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    for number in 0..3 {
        shop.lead(&json!({"name": "Ann", "email": "ann@example.com", "mobile": "07700 900123"}))
            .await;
        rival
            .post("/2.0/leads", &json!({"name": format!("Bea {number}")}))
            .await
            .created();
    }
    for query in ["", "?per_page=1", "?reference=2", "?view=full"] {
        let leads = rival.walk(&format!("/2.0/leads{query}")).await;
        let own = |lead: &Value| lead["name"].as_str().unwrap().starts_with("Bea");
        assert!(!leads.is_empty() && leads.iter().all(own), "{query}");
    }
    for query in ["name=Ann", "email=%25example.com", "mobile=%2B447700900123"] {
        let list = rival.list(&format!("/2.0/leads?{query}")).await;
        assert_eq!((list.items.len(), &list.pagination["total"]), (0, &json!(0)), "{query}");
    }
}

async fn reference_lists_are_one_s_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    for path in ["staff-users", "booking-types", "job-boards"] {
        let path = format!("/2.0/reference/{path}");
        assert_ne!(shop.api.get(&path).await.ok(), json!([]));
        assert_eq!(rival.get(&path).await.ok(), json!([]));
    }
    assert_eq!(
        rival.get("/2.0/reference/tags?resource=leads").await.ok()["tags"],
        json!([])
    );
}

async fn the_lists_of_another_do_not_count(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let lead = rival.post("/2.0/leads", &json!({})).await.created();
    let path = format!("/2.0/leads/{}", lead["id"]);
    rival.patch(&path, &json!({"site": 2})).await.invalid(&["site"]);
    rival
        .patch(&path, &json!({"tag": ["Hot"]}))
        .await
        .refused(422, "validation_failed");
    let assign = rival.patch(&format!("{path}/assign"), &json!({"assign": [1]})).await;
    assign.refused(422, "validation_failed");
}
