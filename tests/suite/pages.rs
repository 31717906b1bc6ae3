//! Lists by page: bounds, order, and the content of `meta.pagination`.

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    a_page_has_fifty_records_by_default
    the_newest_comes_first
}

const LEADS: &str = "/2.0/leads";

async fn shop_with(engine: Engine, leads: usize) -> Shop {
    let shop = Shop::open(engine).await;
    for number in 1..=leads {
        shop.lead_path(&format!("Lead {number}")).await;
    }
    shop
}

async fn a_page_has_fifty_records_by_default(engine: Engine) {
    let shop = shop_with(engine, 51).await;
    let list = shop.api.list(LEADS).await;
    assert_eq!((list.items.len(), &list.pagination["per_page"]), (50, &json!(50)));
    let cursor = list.pagination["next_cursor"].as_str().unwrap().to_owned();
    let rest = shop.api.list(&format!("{LEADS}?cursor={cursor}")).await;
    assert_eq!((rest.items.len(), &rest.pagination["per_page"]), (1, &json!(50)));
}

async fn the_newest_comes_first(engine: Engine) {
    let shop = shop_with(engine, 12).await;
    // A change does not move a record.
    let oldest = shop.api.list(LEADS).await.ids()[11];
    shop.api
        .patch(&format!("{LEADS}/{oldest}"), &json!({"name": "Changed"}))
        .await
        .ok();
    let ids = shop.api.list(LEADS).await.ids();
    assert!(ids.len() == 12 && ids.is_sorted_by(|one, next| one > next), "{ids:?}");
}
