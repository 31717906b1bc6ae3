//! Lists by page: bounds, order, and the content of `meta.pagination`.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    a_page_has_fifty_records_by_default
    pagination_shows_where_a_page_is
    the_newest_comes_first
    a_page_past_the_end_is_empty
    a_page_has_1_to_500_records
    pages_are_numbered_from_1
    several_faults_are_reported_at_once
    unknown_parameters_are_ignored
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

/// Returns `meta.pagination` without the cursor, and whether there is one.
async fn page(shop: &Shop, query: &str) -> (Value, bool, Vec<Value>) {
    let list = shop.api.list(&format!("{LEADS}?{query}")).await;
    let references = list.column("reference");
    let mut pagination = list.pagination;
    let cursor = pagination
        .as_object_mut()
        .unwrap()
        .remove("next_cursor")
        .expect("next_cursor is there");
    assert!(cursor.is_null() || cursor.as_str().is_some_and(|text| !text.is_empty()));
    (pagination, !cursor.is_null(), references)
}

async fn pagination_shows_where_a_page_is(engine: Engine) {
    let shop = shop_with(engine, 5).await;
    let expected = |page: i64| json!({"page": page, "per_page": 2, "total": 5, "total_pages": 3});
    assert_eq!(
        page(&shop, "per_page=2").await,
        (expected(1), true, vec![json!(5), json!(4)])
    );
    assert_eq!(
        page(&shop, "per_page=2&page=1").await,
        (expected(1), true, vec![json!(5), json!(4)])
    );
    assert_eq!(
        page(&shop, "per_page=2&page=2").await,
        (expected(2), true, vec![json!(3), json!(2)])
    );
    assert_eq!(
        page(&shop, "per_page=2&page=3").await,
        (expected(3), false, vec![json!(1)])
    );

    // A last page that is full has nothing after it either.
    let expected = json!({"page": 1, "per_page": 5, "total": 5, "total_pages": 1});
    let (pagination, more, references) = page(&shop, "per_page=5").await;
    assert_eq!((pagination, more, references.len()), (expected, false, 5));

    // The total is that of the filter.
    let (pagination, more, references) = page(&shop, "reference=3").await;
    assert_eq!(
        (&pagination["total"], more, references),
        (&json!(1), false, vec![json!(3)])
    );
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

async fn a_page_past_the_end_is_empty(engine: Engine) {
    let shop = shop_with(engine, 3).await;
    for number in ["3", "1000000", "9223372036854775807"] {
        let (pagination, more, references) = page(&shop, &format!("per_page=2&page={number}")).await;
        assert_eq!(
            (&pagination["total"], more, references),
            (&json!(3), false, vec![]),
            "{number}"
        );
    }
    let none = page(&shop, "reference=77").await;
    assert_eq!((&none.0["total"], none.1, none.2), (&json!(0), false, vec![]));
}

async fn a_page_has_1_to_500_records(engine: Engine) {
    let shop = shop_with(engine, 2).await;
    for good in ["1", "499", "500"] {
        shop.api.list(&format!("{LEADS}?per_page={good}")).await;
    }
    for bad in ["0", "501", "-1", "1.5", "x", "", "%20", "99999999999999999999"] {
        shop.api
            .get(&format!("{LEADS}?per_page={bad}"))
            .await
            .invalid(&["per_page"]);
    }
    let cursor = shop.api.list(&format!("{LEADS}?per_page=1")).await.pagination["next_cursor"].take();
    let query = format!("{LEADS}?cursor={}&per_page=501", cursor.as_str().unwrap());
    shop.api.get(&query).await.invalid(&["per_page"]);
}

async fn pages_are_numbered_from_1(engine: Engine) {
    let shop = shop_with(engine, 1).await;
    for bad in ["0", "-1", "1.5", "x", ""] {
        shop.api.get(&format!("{LEADS}?page={bad}")).await.invalid(&["page"]);
    }
}

async fn several_faults_are_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let query = format!("{LEADS}?page=0&per_page=0&view=x&status=x&created=x&site=x");
    shop.api
        .get(&query)
        .await
        .invalid(&["page", "per_page", "view", "status", "created", "site"]);
}

async fn unknown_parameters_are_ignored(engine: Engine) {
    let shop = shop_with(engine, 1).await;
    for query in ["nonsense=1", "Page=0", "a[]=1&a[]=2", "reference_=2"] {
        assert_eq!(
            shop.api.list(&format!("{LEADS}?{query}")).await.items.len(),
            1,
            "{query}"
        );
    }
}
