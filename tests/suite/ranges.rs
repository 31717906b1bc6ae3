//! Range filters, in every spelling.

use harness::{Engine, Shop, both_engines, next_second};
use serde_json::{Value, json};

both_engines! {
    a_range_is_one_moment_or_two_bounds
    updated_is_a_range_too
    a_bad_range_is_refused
    a_walk_through_a_range
    every_range_is_read_alike
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

async fn a_bad_range_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    for name in ["created", "updated"] {
        for range in [
            "@=",
            "@=x",
            "@=1.5",
            "@=2024-01-01",
            "@[]=x&@[]=1",
            "@[]=1&@[]=x",
            "@[0]=1&@[1]=x",
            "@[]=1&@[]=2&@[]=3",
            "@=1&@=2&@=3",
            "@[0]=1&@[1]=2&@[2]=3",
            "@[]=&@[]=&@[]=",
            "@=99999999999999999999",
            "@=1&@=2&@=3",
            "@=1&@=x",
            "@=1&@[]=2",
            "@=&@[0]=2",
        ] {
            let query = format!("{LEADS}?{}", range.replace('@', name));
            shop.api.get(&query).await.invalid(&[name]);
        }
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

/// Tests each range filter of vehicles in every spelling.
async fn every_range_is_read_alike(engine: Engine) {
    let shop = Shop::open(engine).await;
    for step in 1..=3 {
        let data = json!({"vehicle": {"mileage": step * 1_000}, "history": {"year": 2_000 + step},
            "stock": {"price_website": step * 1_000}});
        shop.api.post("/2.0/vehicles", &json!({"data": data})).await.created();
    }
    let document = shop.api.get("/2.0/openapi.json").await.json();
    let parameters = document["paths"]["/2.0/vehicles"]["get"]["parameters"]
        .as_array()
        .unwrap();
    let declared = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name);
    for (name, low, high) in [
        ("mileage", 1_000, 2_000),
        ("year", 2_001, 2_002),
        ("price", 1_000, 2_000),
    ] {
        for (range, expected) in [
            (format!("{name}={low}&{name}={high}"), 2),
            (format!("{name}[]={low}&{name}[]={high}"), 2),
            (format!("{name}[0]={low}&{name}[1]={high}"), 2),
            (format!("{name}=&{name}={high}"), 2),
            (format!("{name}[]=&{name}[]={high}"), 2),
            (format!("{name}={high}&{name}="), 2),
            (format!("{name}={low}"), 1),
        ] {
            let found = shop.api.list(&format!("/2.0/vehicles?{range}")).await;
            assert_eq!(found.items.len(), expected, "{range}");
        }
        for range in [format!("{name}="), format!("{name}=1&{name}=2&{name}=3")] {
            shop.api.get(&format!("/2.0/vehicles?{range}")).await.invalid(&[name]);
        }
        assert_eq!(declared(name).unwrap()["schema"].get("maxItems"), None, "{name}");
        assert_eq!(
            declared(&format!("{name}[]")).unwrap()["schema"]["maxItems"],
            2,
            "{name}"
        );
    }
    for path in ["/2.0/leads", "/2.0/vehicles", "/2.0/events"] {
        let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
        let range = parameters
            .iter()
            .find(|parameter| parameter["name"] == "created[]")
            .unwrap();
        assert_eq!(
            (&range["schema"]["type"], &range["schema"]["maxItems"]),
            (&json!("array"), &json!(2)),
            "{path}"
        );
    }
}
