//! `PATCH /2.0/leads/{id}/status`: the workflow, and the reopening of closed leads.

use std::time::Duration;

use harness::{Engine, Shop, both_engines, today, wait_for};
use serde_json::{Value, json};

both_engines! {
    each_trigger_leads_where_the_contract_says
    triggers_that_contradict_each_other_are_refused
    a_reopening_date_counts_only_when_closing
    only_a_closed_lead_has_a_reopening_date
    whether_it_counts_is_apart_from_the_workflow
    a_closed_lead_reopens_on_its_date
    a_lead_closed_while_no_server_ran_reopens
}

/// The maximum time until the background work notices a new day.
const BACKGROUND: Duration = Duration::from_secs(90);

const NAMES: [&str; 6] = ["new", "new_message", "read", "replied", "closed", "junk"];

async fn set(shop: &Shop, lead: &str, change: Value) -> Value {
    shop.api.patch(&format!("{lead}/status"), &change).await.ok()
}

async fn each_trigger_leads_where_the_contract_says(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let mut triggers: Vec<(Value, usize)> = vec![
        (json!({"junk": true}), 5),
        (json!({"junk": false}), 0),
        (json!({"closed": true}), 4),
        (json!({"closed": false}), 1),
    ];
    triggers.extend(NAMES.iter().enumerate().map(|(id, name)| (json!({"status": name}), id)));
    for before in NAMES {
        for (trigger, id) in &triggers {
            set(&shop, &lead, json!({"status": before})).await;
            let after = set(&shop, &lead, trigger.clone()).await;
            assert_eq!(
                after["status"],
                json!({"id": id, "name": NAMES[*id]}),
                "{before} with {trigger}"
            );
            assert_eq!(shop.api.get(&lead).await.ok(), after);
        }
        set(&shop, &lead, json!({"status": before})).await;
        assert_eq!(set(&shop, &lead, json!({})).await["status"]["name"], before);
    }
}

async fn triggers_that_contradict_each_other_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let before = shop.api.get(&lead).await.ok();
    for change in [
        json!({"status": "read", "junk": true}),
        json!({"status": "read", "junk": false}),
        json!({"status": "closed", "closed": true}),
        json!({"status": "new", "closed": false}),
        json!({"closed": true, "junk": true}),
        json!({"closed": false, "junk": false}),
        json!({"status": "read", "closed": true, "junk": true, "reopen": "2999-01-01"}),
    ] {
        let answer = shop.api.patch(&format!("{lead}/status"), &change).await;
        let error = answer.refused(422, "validation_failed");
        let field = error["details"]["field"].as_str().unwrap();
        assert!(["status", "junk", "closed"].contains(&field), "{change}: {field}");
    }
    assert_eq!(shop.api.get(&lead).await.ok(), before);
}

async fn a_reopening_date_counts_only_when_closing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    assert_eq!(
        set(&shop, &lead, json!({"reopen": "2999-01-01"})).await["reopen"],
        Value::Null
    );
    assert_eq!(
        set(&shop, &lead, json!({"status": "read", "reopen": "2999-01-01"})).await["reopen"],
        Value::Null
    );
    assert_eq!(
        set(&shop, &lead, json!({"closed": false, "reopen": "2999-01-01"})).await["reopen"],
        Value::Null
    );
    assert_eq!(
        set(&shop, &lead, json!({"closed": true, "reopen": "2999-01-01"})).await["reopen"],
        "2999-01-01"
    );
    assert_eq!(
        set(&shop, &lead, json!({"closed": true, "reopen": "2999-02-03"})).await["reopen"],
        "2999-02-03"
    );
    assert_eq!(
        set(&shop, &lead, json!({"closed": true, "reopen": null})).await["reopen"],
        Value::Null
    );
    assert_eq!(set(&shop, &lead, json!({"closed": true})).await["reopen"], Value::Null);
}

async fn only_a_closed_lead_has_a_reopening_date(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    for leave in [
        json!({"closed": false}),
        json!({"status": "read"}),
        json!({"junk": true}),
    ] {
        set(&shop, &lead, json!({"closed": true, "reopen": "2999-01-01"})).await;
        assert_eq!(set(&shop, &lead, leave.clone()).await["reopen"], Value::Null, "{leave}");
    }
    set(&shop, &lead, json!({"closed": true, "reopen": "2999-01-01"})).await;
    let moved = shop.api.patch(&lead, &json!({"status": 2})).await.ok();
    assert_eq!(moved["reopen"], Value::Null);
    set(&shop, &lead, json!({"closed": true, "reopen": "2999-01-01"})).await;
    assert_eq!(set(&shop, &lead, json!({"stat": false})).await["reopen"], "2999-01-01");
}

async fn whether_it_counts_is_apart_from_the_workflow(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let after = set(&shop, &lead, json!({"stat": false})).await;
    assert_eq!(
        (&after["stat"], &after["status"]["name"]),
        (&json!(false), &json!("new"))
    );
    let after = set(&shop, &lead, json!({"status": "replied"})).await;
    assert_eq!(
        (&after["stat"], &after["status"]["name"]),
        (&json!(false), &json!("replied"))
    );
    let after = set(&shop, &lead, json!({"junk": true, "stat": true})).await;
    assert_eq!(
        (&after["stat"], &after["status"]["name"]),
        (&json!(true), &json!("junk"))
    );
}

async fn status(shop: &Shop, lead: &str) -> Value {
    shop.api.get(lead).await.ok()["status"]["name"].take()
}

async fn a_closed_lead_reopens_on_its_date(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut leads = Vec::new();
    for reopen in [
        json!(today(-1)),
        json!(today(0)),
        json!("2020-01-01"),
        json!(today(1)),
        json!(null),
    ] {
        let lead = shop.lead_path("Ann").await;
        set(&shop, &lead, json!({"closed": true, "reopen": reopen})).await;
        leads.push(lead);
    }
    let (due, kept) = leads.split_at(3);
    for lead in due {
        wait_for("the lead reopens", BACKGROUND, async || {
            status(&shop, lead).await == "new_message"
        })
        .await;
    }
    for lead in kept {
        assert_eq!(status(&shop, lead).await, "closed");
    }
}

async fn a_lead_closed_while_no_server_ran_reopens(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    set(&shop, &lead, json!({"closed": true, "reopen": today(0)})).await;
    shop.server.kill9().await;
    shop.server.restart().await;
    wait_for("the lead reopens", BACKGROUND, async || {
        status(&shop, &lead).await == "new_message"
    })
    .await;
}
