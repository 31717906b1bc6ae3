//! `reference` counts 1, 2, 3 … for each business, without gaps or repeats.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    references_count_for_each_business
    references_have_no_gaps_under_concurrency
    a_refused_create_takes_no_reference
    a_reference_is_not_given_again
}

async fn references_count_for_each_business(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let mut ids = BTreeSet::new();
    for reference in 1..=4 {
        for client in [&shop.api, &rival] {
            let lead = client.post("/2.0/leads", &json!({})).await.created();
            assert_eq!(lead["reference"], reference);
            assert!(ids.insert(lead["id"].as_i64()), "ids are unique across businesses");
        }
    }
}

async fn references_have_no_gaps_under_concurrency(engine: Engine) {
    let shop = Shop::open(engine).await;
    let creates: Vec<_> = (0..50)
        .map(|_| {
            let api = shop.api.clone();
            tokio::spawn(async move { api.post("/2.0/leads", &json!({})).await.created() })
        })
        .collect();
    let (mut references, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for create in creates {
        let lead = create.await.unwrap();
        references.insert(lead["reference"].as_i64().unwrap());
        ids.insert(lead["id"].as_i64().unwrap());
    }
    assert!(references.into_iter().eq(1..=50));
    assert_eq!(ids.len(), 50);
}

async fn a_refused_create_takes_no_reference(engine: Engine) {
    let shop = Shop::open(engine).await;
    for body in [
        json!({"site": 99}),
        json!({"contact": 77}),
        json!({"vehicle": 77}),
        json!({"data": {"x": "x".repeat(70_000)}}),
    ] {
        shop.api
            .post("/2.0/leads", &body)
            .await
            .refused(422, "validation_failed");
    }
    assert_eq!(shop.lead(&json!({})).await["reference"], 1);
}

async fn a_reference_is_not_given_again(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead_path("Ann").await;
    let last = shop.lead_path("Bea").await;
    shop.api.delete(&last).await.ok();
    assert_eq!(shop.lead(&json!({})).await["reference"], 3);
}
