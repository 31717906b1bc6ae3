//! Range filters, in every spelling.

use harness::{Engine, Shop, both_engines, next_second};
use serde_json::{Value, json};

both_engines! {
    a_range_is_one_moment_or_two_bounds
    updated_is_a_range_too
    a_walk_through_a_range
}

const LEADS: &str = "/2.0/leads";

/// Returns a shop with three leads that came in at three moments, and those moments.
async fn shop_with_three(engine: Engine) -> (Shop, [i64; 3]) {
    let shop = Shop::open(engine).await;
    let mut moments = [0; 3];
    for moment in &mut moments {
        next_second().await;
        *moment = shop.lead(&json!({})).await["created"].as_i64().unwrap();
    }
    assert!(moments.is_sorted_by(|one, next| one < next));
    (shop, moments)
}

async fn found(shop: &Shop, query: &str) -> Vec<Value> {
    let mut references = shop.api.list(&format!("{LEADS}?{query}")).await.column("reference");
    references.reverse();
    references
}

async fn a_range_is_one_moment_or_two_bounds(engine: Engine) {
    let (shop, [first, second, third]) = shop_with_three(engine).await;
    let table: [(String, &[i64]); 25] = [
        (format!("created={first}&created={second}"), &[1, 2]),
        (format!("created=&created={second}"), &[1, 2]),
        (format!("created={second}&created="), &[2, 3]),
        ("created=&created=".to_owned(), &[1, 2, 3]),
        (format!("created={second}&per_page=2&created={third}"), &[2, 3]),
        (format!("created[]={second}"), &[2, 3]),
        (format!("created={second}&created={third}"), &[2, 3]),
        (format!("created=&created={second}"), &[1, 2]),
        (format!("created[1]={second}"), &[1, 2]),
        (format!("created={second}"), &[2]),
        (format!("created={}", third + 1_000), &[]),
        (format!("created[]={first}&created[]={second}"), &[1, 2]),
        (format!("created[]={second}&created[]={second}"), &[2]),
        (format!("created[0]={second}&created[1]={third}"), &[2, 3]),
        (format!("created[1]={third}&created[0]={second}"), &[2, 3]),
        (format!("created%5B%5D={second}&created%5B%5D={third}"), &[2, 3]),
        (format!("created%5B0%5D={second}&created%5B1%5D={third}"), &[2, 3]),
        (format!("created[]={second}&created[]="), &[2, 3]),
        (format!("created[]=&created[]={second}"), &[1, 2]),
        (format!("created[0]=&created[1]={second}"), &[1, 2]),
        (format!("created[0]={second}&created[1]="), &[2, 3]),
        ("created[]=&created[]=".to_owned(), &[1, 2, 3]),
        (format!("created[]=0&created[]={}", third + 1_000), &[1, 2, 3]),
        (format!("created[]={}&created[]=", third + 1), &[]),
        (format!("created[]={first}&per_page=2&created[]={third}"), &[2, 3]),
    ];
    for (query, expected) in table {
        assert_eq!(found(&shop, &query).await, expected, "{query}");
    }
}

async fn updated_is_a_range_too(engine: Engine) {
    let (shop, [first, _, third]) = shop_with_three(engine).await;
    next_second().await;
    let oldest = *shop.api.list(LEADS).await.ids().last().unwrap();
    let changed = shop
        .api
        .patch(&format!("{LEADS}/{oldest}"), &json!({"name": "Changed"}))
        .await
        .ok();
    let updated = changed["updated"].as_i64().unwrap();
    assert!(updated > third && changed["created"] == first);
    let table: [(String, &[i64]); 4] = [
        (format!("updated={updated}"), &[1]),
        (format!("updated[]={}&updated[]=", third + 1), &[1]),
        (format!("updated[]=&updated[]={third}"), &[2, 3]),
        (format!("updated[]={third}&updated[]=&created={first}"), &[1]),
    ];
    for (query, expected) in table {
        assert_eq!(found(&shop, &query).await, expected, "{query}");
    }
}

async fn a_walk_through_a_range(engine: Engine) {
    let (shop, [first, second, _]) = shop_with_three(engine).await;
    let walked = shop
        .api
        .walk(&format!("{LEADS}?created[]={first}&created[]={second}&per_page=1"))
        .await;
    let references: Vec<Value> = walked.iter().map(|lead| lead["reference"].clone()).collect();
    assert_eq!(references, [2, 1]);
}
