//! Each filter of `GET /2.0/leads`, alone and together with others.

use harness::{Engine, Shop, both_engines, url_query};
use serde_json::{Value, json};

both_engines! {
    each_filter_alone
    filters_narrow_each_other
    unrated_leads_are_left_out_by_rating_min
    what_does_not_exist_finds_nothing
}

const LEADS: &str = "/2.0/leads";

async fn shop_with_leads(engine: Engine) -> Shop {
    let shop = Shop::open(engine).await;
    let leads = [
        json!({"name": "Ann Lee", "email": "ann@example.com", "phone": "+44 20 7946 0000", "site": 2}),
        json!({"name": "Bea Moss", "channel": "website", "mobile": "07700 900123", "status": 2}),
        json!({"name": "ann lee", "channel": "website", "mobile": "+1 415 555 2671", "status": 4}),
    ];
    for lead in leads {
        shop.lead(&lead).await;
    }
    shop
}

async fn found(shop: &Shop, query: &[(&str, &str)]) -> Vec<Value> {
    let path = url_query(LEADS, query.iter().copied());
    let list = shop.api.list(&path).await;
    assert_eq!(list.pagination["total"], list.items.len(), "{path}");
    let mut references = list.column("reference");
    references.reverse();
    references
}

async fn each_filter_alone(engine: Engine) {
    let shop = shop_with_leads(engine).await;
    let table: [(&str, &str, &[i64]); 21] = [
        ("site", "2", &[1]),
        ("site", "0", &[2, 3]),
        ("status", "0", &[1]),
        ("status", "new", &[1]),
        ("status", "2", &[2]),
        ("status", "read", &[2]),
        ("status", "closed", &[3]),
        ("status", "new_message", &[]),
        ("status", "junk", &[]),
        ("channel", "api", &[1]),
        ("channel", "website", &[2, 3]),
        ("reference", "2", &[2]),
        ("name", "ANN LEE", &[1, 3]),
        ("name", "ann", &[]),
        ("email", "Ann@Example.com", &[1]),
        ("phone", "+442079460000", &[1]),
        ("phone", "020 7946 0000", &[1]),
        ("phone", "+447700900123", &[]),
        ("mobile", "+447700900123", &[2]),
        ("mobile", "0044 7700 900123", &[2]),
        ("mobile", "+1 (415) 555-2671", &[3]),
    ];
    for (filter, value, expected) in table {
        assert_eq!(found(&shop, &[(filter, value)]).await, expected, "{filter}={value}");
    }
}

async fn filters_narrow_each_other(engine: Engine) {
    let shop = shop_with_leads(engine).await;
    assert_eq!(found(&shop, &[("channel", "website"), ("status", "closed")]).await, [3]);
    assert_eq!(found(&shop, &[("name", "ann lee"), ("site", "2")]).await, [1]);
    assert_eq!(
        found(&shop, &[("name", "ann lee"), ("mobile", "07700 900123")]).await,
        [0; 0]
    );
    let all = [
        ("name", "%lee%"),
        ("channel", "website"),
        ("status", "4"),
        ("site", "0"),
        ("reference", "3"),
    ];
    assert_eq!(found(&shop, &all).await, [3]);
}

async fn unrated_leads_are_left_out_by_rating_min(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_LEAD_AI", "off")).await;
    shop.lead(&json!({"name": "Ann"})).await;
    for least in ["1", "2", "3", "4", "5"] {
        assert_eq!(found(&shop, &[("rating_min", least)]).await, [0; 0]);
    }
}

async fn what_does_not_exist_finds_nothing(engine: Engine) {
    let shop = shop_with_leads(engine).await;
    let none = [
        ("site", "77"),
        ("contact", "77"),
        ("vehicle", "77"),
        ("reference", "77"),
        ("email", "x@example.com"),
    ];
    for filter in none {
        assert_eq!(found(&shop, &[filter]).await, [0; 0], "{filter:?}");
    }
}
