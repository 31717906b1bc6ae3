//! Lists by cursor.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    with_a_cursor_only_per_page_and_next_cursor_are_shown
    a_walk_sees_each_record_once
    a_walk_during_inserts_sees_each_earlier_record_once
    a_walk_during_deletions_sees_each_remaining_record_once
    a_walk_keeps_its_filter
    with_a_cursor_the_page_is_ignored
    an_empty_cursor_is_that_of_the_first_page
    a_made_up_cursor_is_refused
    a_cursor_of_another_business_shows_nothing_of_it
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

async fn first_cursor(shop: &Shop) -> String {
    let list = shop.api.list(&format!("{LEADS}?per_page=2")).await;
    list.pagination["next_cursor"].as_str().unwrap().to_owned()
}

async fn with_a_cursor_only_per_page_and_next_cursor_are_shown(engine: Engine) {
    let shop = shop_with(engine, 5).await;
    let cursor = first_cursor(&shop).await;
    let second = shop.api.list(&format!("{LEADS}?per_page=2&cursor={cursor}")).await;
    let next = second.pagination["next_cursor"].as_str().unwrap();
    assert_eq!(second.pagination, json!({"per_page": 2, "next_cursor": next}));
    assert_eq!(second.column("reference"), [3, 2]);
    let last = shop.api.list(&format!("{LEADS}?per_page=2&cursor={next}")).await;
    assert_eq!(last.pagination, json!({"per_page": 2, "next_cursor": null}));
    assert_eq!(last.column("reference"), [1]);
    // A last page that is full has nothing after it either.
    let last = shop.api.list(&format!("{LEADS}?per_page=3&cursor={cursor}")).await;
    assert_eq!(last.pagination, json!({"per_page": 3, "next_cursor": null}));
    assert_eq!(last.column("reference"), [3, 2, 1]);
}

async fn a_walk_sees_each_record_once(engine: Engine) {
    let shop = shop_with(engine, 23).await;
    let expected: Vec<Value> = (1..=23).rev().map(Value::from).collect();
    for per_page in [1, 2, 7, 23, 24, 500] {
        let leads = shop.api.walk(&format!("{LEADS}?per_page={per_page}")).await;
        let references: Vec<Value> = leads.iter().map(|lead| lead["reference"].clone()).collect();
        assert_eq!(references, expected, "per_page={per_page}");
    }
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

async fn with_a_cursor_the_page_is_ignored(engine: Engine) {
    let shop = shop_with(engine, 5).await;
    let cursor = first_cursor(&shop).await;
    let plain = shop.api.list(&format!("{LEADS}?per_page=2&cursor={cursor}")).await;
    for page in ["1", "7", "0", "x"] {
        let list = shop
            .api
            .list(&format!("{LEADS}?per_page=2&cursor={cursor}&page={page}"))
            .await;
        assert_eq!(
            (list.items, list.pagination),
            (plain.items.clone(), plain.pagination.clone()),
            "{page}"
        );
    }
}

async fn an_empty_cursor_is_that_of_the_first_page(engine: Engine) {
    let shop = shop_with(engine, 5).await;
    let by_number = shop.api.list(&format!("{LEADS}?per_page=2")).await;
    let by_cursor = shop.api.list(&format!("{LEADS}?per_page=2&cursor=")).await;
    assert_eq!(by_cursor.items, by_number.items);
    let next = &by_number.pagination["next_cursor"];
    assert_eq!(by_cursor.pagination, json!({"per_page": 2, "next_cursor": next}));
}

async fn a_made_up_cursor_is_refused(engine: Engine) {
    let shop = shop_with(engine, 5).await;
    let cursor = first_cursor(&shop).await;
    let other = if cursor.ends_with('A') { "B" } else { "A" };
    for made_up in [
        "x",
        "1",
        "-1",
        "MQ",
        "MQ==",
        "bnVsbA",
        "eyJpZCI6MX0",
        "%F0%9F%9A%97",
        &cursor[1..],
        &format!("{cursor}{other}"),
    ] {
        shop.api
            .get(&format!("{LEADS}?cursor={made_up}"))
            .await
            .invalid(&["cursor"]);
    }
    // A good cursor with any character altered does not pass either.
    for at in 0..cursor.len() {
        let mut altered = cursor.clone();
        let other = if altered.as_bytes()[at] == b'a' { "b" } else { "a" };
        altered.replace_range(at..=at, other);
        shop.api
            .get(&format!("{LEADS}?cursor={altered}"))
            .await
            .invalid(&["cursor"]);
    }
}

async fn a_cursor_of_another_business_shows_nothing_of_it(engine: Engine) {
    let shop = shop_with(engine, 5).await;
    let rival = shop.rival().await;
    rival.post(LEADS, &json!({"name": "Own"})).await.created();
    let answer = rival
        .get(&format!("{LEADS}?cursor={}", first_cursor(&shop).await))
        .await;
    if answer.status == 200 {
        assert!(answer.list().items.iter().all(|lead| lead["name"] == "Own"));
    } else {
        answer.invalid(&["cursor"]);
    }
}
