//! Invoices over HTTP: what a sale bills, and what several servers do at once.

use harness::{Answer, Client, Engine, Shop, both_engines};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::vehicles_record::a_car;

both_engines! {
    a_sale_is_billed_as_the_decisions_reckon_it
    numbers_follow_each_other_whichever_server_issues
    a_car_is_billed_once_whoever_is_first
    payments_at_once_never_exceed_what_is_due
}

const AT_ONCE: usize = 20;

async fn customer(shop: &Shop, name: &str) -> Value {
    shop.api.post("/2.0/contacts", &json!({"name": name})).await.created()["id"].take()
}

/// Creates a car for sale; returns its id.
async fn car(shop: &Shop) -> Value {
    let mut body = a_car();
    body["data"]["stock"]["price_website"] = json!(12_995);
    let id = shop.api.post("/2.0/vehicles", &body).await.created()["id"].take();
    let channels = json!({"channels": ["website"]});
    shop.api
        .put(&format!("/2.0/vehicles/{id}/channels"), &channels)
        .await
        .ok();
    id
}

async fn draft(shop: &Shop, body: &Value) -> String {
    let draft = shop.api.post("/2.0/invoices", body).await.created();
    format!("/2.0/invoices/{}", draft["id"])
}

/// Sends the requests at the same time, from the one server and the other in turn.
async fn at_once(servers: [&Client; 2], requests: Vec<(String, Value)>) -> Vec<Answer> {
    let mut sent = JoinSet::new();
    for (client, (path, body)) in servers.into_iter().cycle().zip(requests) {
        let client = client.clone();
        sent.spawn(async move { client.post(&path, &body).await });
    }
    sent.join_all().await
}

async fn a_sale_is_billed_as_the_decisions_reckon_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (buyer, lender, car) = (
        customer(&shop, "Amelia Hart").await,
        customer(&shop, "Lender").await,
        car(&shop).await,
    );
    let reserved = json!({"customer": buyer, "method": "Card", "deposit": 99});
    shop.api
        .post(&format!("/2.0/vehicles/{car}/reserve"), &reserved)
        .await
        .ok();
    let path = draft(
        &shop,
        &json!({
            "customer": buyer,
            "lines": [
                {"type": "vehicle", "vehicle": car, "vat_scheme": "margin"},
                {"type": "product", "description": "Warranty", "gross": 399, "vat_scheme": "exempt"},
                {"type": "product", "description": "Delivery", "gross": 150},
            ],
            "part_exchanges": [{"registration": "AB14 CDE", "allowance": 4000, "settlement": 1500, "lender": lender}],
        }),
    )
    .await;
    let issued = shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    let totals = json!({
        "net": "15019.00", "vat": "25.00", "gross": "15044.00", "paid": "4099.00", "credited": "0.00", "due": "10945.00",
        "refund_due": "0.00",
    });
    assert_eq!(issued["totals"], totals);
    let paid: Vec<[&Value; 3]> = issued["payments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|payment| [&payment["type"], &payment["method"], &payment["amount"]])
        .collect();
    assert_eq!(
        json!(paid),
        json!([
            ["transfer", "Card", "99.00"],
            ["part_exchange", "Part Exchange", "4000.00"]
        ])
    );
    assert_eq!(
        shop.api.get(&format!("/2.0/vehicles/{car}")).await.ok()["status"]["name"],
        "sold"
    );
    let all = shop.api.walk("/2.0/events").await;
    let names: Vec<&str> = all.iter().filter_map(|event| event["event"].as_str()).collect();
    let taken = [
        "invoice.issued",
        "vehicle.created",
        "purchase.created",
        "purchase.issued",
        "purchase.paid",
        "vehicle.updated",
        "purchase.created",
        "purchase.issued",
        "vehicle.sold",
    ];
    assert_eq!(names[names.len() - taken.len()..], taken);

    let exchange = &issued["part_exchanges"][0];
    let bought = shop
        .api
        .get(&format!("/2.0/purchases/{}", exchange["purchase"]))
        .await
        .ok();
    assert_eq!(
        (
            &bought["type"],
            &bought["supplier"],
            &bought["status"]["name"],
            &bought["totals"]["gross"]
        ),
        (&json!("acquisition"), &buyer, &json!("paid"), &json!("4000.00"))
    );
    assert_eq!(bought["payments"][0]["type"], "part_exchange");
    assert_eq!(bought["payments"][0]["reference"], issued["number"]);
    let settled = shop
        .api
        .get(&format!("/2.0/purchases/{}", exchange["settlement_purchase"]))
        .await
        .ok();
    assert_eq!(
        (
            &settled["type"],
            &settled["supplier"],
            &settled["status"]["name"],
            &settled["totals"]["due"]
        ),
        (&json!("settlement"), &lender, &json!("issued"), &json!("1500.00"))
    );
    let stock = format!("/2.0/vehicles/{}", exchange["stock_vehicle"]);
    let taken = shop.api.get(&stock).await.ok();
    assert_eq!(
        (&taken["type"], &taken["registration"]),
        (&json!("in-stock"), &json!("AB14 CDE"))
    );
    assert_eq!(taken["data"]["stock"]["purchase_price_total"], "4000.00");
    assert_eq!(
        shop.api.get(&format!("{stock}/acquisition")).await.ok()["acquired"],
        true
    );
    let payment = json!({"method": "Bank Transfer"});
    let paid = shop.api.post(&format!("{path}/payments"), &payment).await.ok();
    assert_eq!(
        (&paid["status"]["name"], &paid["totals"]["due"]),
        (&json!("paid"), &json!("0.00"))
    );

    // An acquisition that is undone is paid for no more.
    shop.api.delete(&format!("{stock}/acquisition")).await.ok();
    let undone = shop.api.get(&path).await.ok();
    assert_eq!(
        (
            &undone["status"]["name"],
            &undone["totals"]["paid"],
            &undone["totals"]["due"]
        ),
        (&json!("issued"), &json!("11044.00"), &json!("4000.00"))
    );
    assert_eq!(
        shop.api.get(&format!("{stock}/acquisition")).await.ok()["acquired"],
        false
    );
}

async fn numbers_follow_each_other_whichever_server_issues(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let buyer = customer(&shop, "Amelia Hart").await;
    let mut issues = Vec::new();
    for _ in 0..AT_ONCE {
        let lines = json!([{"type": "product", "description": "Tow bar", "gross": 240}]);
        let path = draft(&shop, &json!({"customer": buyer, "lines": lines})).await;
        issues.push((format!("{path}/issue"), json!({})));
    }
    let mut numbers: Vec<usize> = Vec::new();
    for answer in at_once([&shop.api, &other], issues).await {
        let issued = answer.ok();
        numbers.push(
            issued["number"]
                .as_str()
                .unwrap()
                .strip_prefix("INV-")
                .unwrap()
                .parse()
                .unwrap(),
        );
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=AT_ONCE));
}

async fn a_car_is_billed_once_whoever_is_first(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let car = car(&shop).await;
    let mut issues = Vec::new();
    for number in 0..AT_ONCE {
        let buyer = customer(&shop, &format!("Buyer {number}")).await;
        let lines = json!([{"type": "vehicle", "vehicle": car}]);
        let path = draft(&shop, &json!({"customer": buyer, "lines": lines})).await;
        issues.push((format!("{path}/issue"), json!({})));
    }
    let answers = at_once([&shop.api, &other], issues).await;
    let (sold, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(sold.len(), 1);
    for answer in refused {
        answer.refused(409, "vehicle_status_transition_invalid");
    }
    assert_eq!(sold[0].ok()["number"], "INV-1");
    let numbered = shop.api.list("/2.0/invoices?status=issued").await;
    assert_eq!(numbered.items.len(), 1);
}

async fn payments_at_once_never_exceed_what_is_due(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let lines = json!([{"type": "product", "description": "Tow bar", "gross": 100}]);
    let path = draft(
        &shop,
        &json!({"customer": customer(&shop, "Amelia Hart").await, "lines": lines}),
    )
    .await;
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    let payment = (format!("{path}/payments"), json!({"method": "Cash", "amount": 10}));
    let answers = at_once([&shop.api, &other], vec![payment; AT_ONCE]).await;
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(taken, 10);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.refused(409, "invoice_invalid_status");
    }
    let paid = shop.api.get(&path).await.ok();
    assert_eq!(
        (&paid["status"]["name"], &paid["totals"]["paid"]),
        (&json!("paid"), &json!("100.00"))
    );
}
