//! Rules that hold for many operations (decisions §3).

use harness::{Engine, Shop, both_engines, today};
use serde_json::json;

use crate::listing_changes::put_on;
use crate::vehicles_record::{VEHICLES, a_car, path};

both_engines! {
    days_that_have_not_come_are_refused
    an_unknown_element_is_named_by_its_index
    a_price_filter_finds_no_price_on_application
}

async fn days_that_have_not_come_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let api = &shop.api;
    let contact = api.post("/2.0/contacts", &json!({"name": "Ann"})).await.created();
    let car = path(&shop, &a_car()).await;
    put_on(&shop, &car, json!(["website"])).await;
    let reservation = |date: &str| json!({"customer": contact["id"], "method": "Card", "deposit": 10, "date": date});
    // Tomorrow in UTC is today somewhere. A day more leaves room for a test at midnight.
    let (tomorrow, later) = (today(1), today(3));
    api.post(&format!("{car}/reserve"), &reservation(&later))
        .await
        .invalid(&["date"]);
    api.post(&format!("{car}/reserve"), &reservation(&tomorrow)).await.ok();
    api.post(&format!("{car}/sale"), &json!({"date": later}))
        .await
        .invalid(&["date"]);
    api.post(&format!("{car}/sale"), &json!({"date": tomorrow})).await.ok();

    let review = api.post("/2.0/reviews", &json!({"date": tomorrow})).await.created();
    api.post("/2.0/reviews", &json!({"date": later}))
        .await
        .invalid(&["date"]);
    let review = format!("/2.0/reviews/{}", review["id"]);
    api.patch(&review, &json!({"date": later})).await.invalid(&["date"]);

    let contact = format!("/2.0/contacts/{}", contact["id"]);
    let checked = |date: &str| json!({"license": {"checked": date}});
    api.patch(&contact, &checked(&later))
        .await
        .invalid(&["license.checked"]);
    api.patch(&contact, &checked(&tomorrow)).await.ok();
}

async fn an_unknown_element_is_named_by_its_index(engine: Engine) {
    let shop = Shop::open(engine).await;
    let api = &shop.api;
    let article = api.post("/2.0/blogs", &json!({"title": "First"})).await.created();
    let related = json!({"title": "Second", "related": [article["id"], 999_999]});
    api.post("/2.0/blogs", &related).await.invalid(&["related.1"]);
    let lead = shop.lead_path("Ann").await;
    api.patch(&format!("{lead}/assign"), &json!({"assign": [999]}))
        .await
        .invalid(&["assign.0"]);
    for (area, kind) in [("leads", "email"), ("contacts", "Customer")] {
        let sent = json!({"name": "Ann", "tag": ["No such tag"], "type": [kind, "nope"]});
        api.post(&format!("/2.0/{area}"), &sent)
            .await
            .invalid(&["tag.0", "type.1"]);
        let sent = json!({"name": "Ann", "type": format!("{kind}, nope")});
        api.post(&format!("/2.0/{area}"), &sent).await.invalid(&["type"]);
    }
}

async fn a_price_filter_finds_no_price_on_application(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut body = a_car();
    body["data"]["setting"] = json!({"poa": "Yes"});
    let car = path(&shop, &body).await;
    let found = async || {
        shop.api
            .list(&format!("{VEHICLES}?price[]=17000&price[]=18000"))
            .await
            .items
            .len()
    };
    assert_eq!(found().await, 0);
    shop.api
        .patch(&car, &json!({"data": {"setting": {"poa": "No"}}}))
        .await
        .ok();
    assert_eq!(found().await, 1);
}
