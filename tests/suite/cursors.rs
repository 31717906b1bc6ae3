//! Lists by cursor.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    a_walk_during_inserts_sees_each_earlier_record_once
    a_walk_during_deletions_sees_each_remaining_record_once
    a_walk_keeps_its_filter
}

const LEADS: &str = "/2.0/leads";

async fn shop_with(engine: Engine, leads: usize) -> Shop {
    let shop = Shop::open(engine).await;
    for number in 0..leads {
        shop.lead(&json!({"name": format!("Lead {number}"), "site": number % 2 * 2}))
            .await;
    }
    shop
}

async fn a_walk_during_inserts_sees_each_earlier_record_once(engine: Engine) {
    let shop = shop_with(engine, 60).await;
    let earlier: BTreeSet<i64> = shop
        .api
        .list(&format!("{LEADS}?per_page=500"))
        .await
        .ids()
        .into_iter()
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let api = shop.api.clone();
            tokio::spawn(async move {
                loop {
                    api.post(LEADS, &json!({"name": "Late"})).await.created();
                }
            })
        })
        .collect();
    for _ in 0..3 {
        let walked = shop.api.walk(&format!("{LEADS}?per_page=5")).await;
        let ids: Vec<i64> = walked.iter().filter_map(|lead| lead["id"].as_i64()).collect();
        let seen: BTreeSet<i64> = ids.iter().copied().collect();
        assert_eq!(seen.len(), ids.len(), "no record is seen twice");
        assert!(earlier.is_subset(&seen), "no earlier record is missed");
    }
    for writer in writers {
        writer.abort();
        assert!(writer.await.unwrap_err().is_cancelled(), "every insert succeeded");
    }
}

async fn a_walk_during_deletions_sees_each_remaining_record_once(engine: Engine) {
    let shop = shop_with(engine, 12).await;
    let first = shop.api.list(&format!("{LEADS}?per_page=4")).await;
    let all = shop.api.list(LEADS).await.ids();
    // One of them is the record at the cursor.
    for id in [all[1], all[3], all[4], all[7]] {
        shop.api.delete(&format!("{LEADS}/{id}")).await.ok();
    }
    let cursor = first.pagination["next_cursor"].as_str().unwrap();
    let rest = shop.api.walk(&format!("{LEADS}?per_page=4&cursor={cursor}")).await;
    let rest: Vec<i64> = rest.iter().filter_map(|lead| lead["id"].as_i64()).collect();
    assert_eq!(rest, [all[5], all[6], all[8], all[9], all[10], all[11]]);
}

async fn a_walk_keeps_its_filter(engine: Engine) {
    let shop = shop_with(engine, 11).await;
    let walked = shop
        .api
        .walk(&format!("{LEADS}?per_page=2&site=2&fields=reference"))
        .await;
    let expected: Vec<Value> = [10, 8, 6, 4, 2].map(|reference| json!({"reference": reference})).into();
    assert_eq!(walked, expected);
}
