//! Deals: every sentence of the decisions about them (§10.12).

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Answer, Engine, Shop, both_engines, eventually, url_query};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::listing_changes::put_on;
use crate::vehicles_record::{a_car, path as car_path};

both_engines! {
    a_deal_of_nothing_has_every_default
    a_deal_adds_up_and_warns
    each_fault_names_its_member
    every_cell_of_the_table_of_stages_holds
    a_confirmed_deal_reserves_its_car
    a_deal_becomes_an_order
    a_deal_becomes_an_invoice_and_is_paid
    a_deal_is_completed_with_its_lead
    a_car_that_is_lost_ends_its_deals
    a_declined_deal_takes_back_what_it_made
    a_deal_that_is_reported_twice_is_one
    twenty_reports_at_once_make_one_deal
    each_filter_alone
    an_erased_contact_leaves_its_deals
    deals_are_named_by_other_records
}

const DEALS: &str = "/2.0/deals";
const EARLY: [&str; 8] = [
    "pending",
    "begin",
    "part_exchange",
    "product",
    "delivery_collection",
    "summary",
    "finance",
    "payment",
];

async fn contact(shop: &Shop, name: &str) -> Value {
    shop.api.post("/2.0/contacts", &json!({"name": name})).await.created()["id"].take()
}

/// Creates a car that is for sale at 12,995.00; returns its id and its path.
async fn for_sale(shop: &Shop) -> (Value, String) {
    let mut body = a_car();
    body["data"]["stock"]["price_website"] = json!(12_995);
    let path = car_path(shop, &body).await;
    put_on(shop, &path, json!(["website"])).await;
    (shop.api.get(&path).await.ok()["id"].take(), path)
}

async fn deal(shop: &Shop, body: &Value) -> (Value, String) {
    let made = shop.api.post(DEALS, body).await.created();
    let path = format!("{DEALS}/{}", made["id"]);
    (made, path)
}

async fn to(shop: &Shop, path: &str, stage: &str) -> Answer {
    let mut body = json!({"stage": stage});
    if ["declined", "fatal"].contains(&stage) {
        body["reason"] = json!("other");
    }
    shop.api.post(&format!("{path}/stage"), &body).await
}

async fn stage(shop: &Shop, path: &str) -> Value {
    shop.api.get(path).await.ok()["stage"]["name"].take()
}

/// Returns the names of the events so far.
async fn events(shop: &Shop) -> Vec<String> {
    let events = shop.api.walk("/2.0/events?per_page=500").await;
    let names = events.iter().map(|event| event["event"].as_str().unwrap().to_owned());
    names.collect()
}

async fn events_after(shop: &Shop, seen: usize) -> Vec<String> {
    events(shop).await.split_off(seen)
}

async fn a_deal_of_nothing_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let answer = shop.api.post(DEALS, &json!({})).await;
    let made = answer.created();
    let path = format!("{DEALS}/{}", made["id"]);
    assert_eq!(answer.header("Location"), Some(path.as_str()));
    let at = made["created"].clone();
    let expected = json!({
        "id": made["id"], "site": 0, "reference": 1, "stage": {"name": "begin", "label": "Begin"}, "contact": null,
        "lead": null, "vehicle": null, "staff": null,
        "totals": {"gross": "0.00", "part_exchange": "0.00", "settlement": "0.00", "deposit": "0.00", "finance": "0.00",
                   "balance": "0.00"},
        "created": at, "updated": at, "source": "api", "provider": "", "external_id": "", "lines": [], "price": null,
        "part_exchanges": [],
        "finance": {"type": "none", "provider": null, "amount": null, "deposit": null, "term": null, "apr": null,
                    "monthly": null, "final_payment": null, "admin_fee": null, "option_purchase_fee": null,
                    "total_payable": null, "status": "none", "reference": "", "commission_disclosed": false,
                    "warnings": []},
        "delivery": {"method": "collection", "date": null, "address": "", "notes": ""}, "distance": false,
        "order": null, "invoice": null, "reservation": false, "reason": null,
        "history": [{"stage": "begin", "at": at, "by": "api", "reason": null}], "notes": "", "version": 1,
    });
    assert_eq!(made, expected);
    let read = shop.api.get(&path).await;
    assert_eq!((read.ok(), read.header("ETag")), (made, Some("\"1\"")));
    let simple = shop.api.list(DEALS).await.items.remove(0);
    let simple: BTreeSet<&String> = simple.as_object().unwrap().keys().collect();
    let names = "contact created id lead reference site staff stage totals updated vehicle";
    assert_eq!(
        simple.into_iter().map(String::as_str).collect::<Vec<_>>().join(" "),
        names
    );
    let (second, _) = deal(&shop, &json!({"stage": "pending"})).await;
    assert_eq!(
        (&second["reference"], &second["stage"]["name"]),
        (&json!(2), &json!("pending"))
    );
    let rival = shop.rival().await;
    rival.get(&path).await.refused(404, "deal_not_found");
    rival.patch(&path, &json!({})).await.refused(404, "deal_not_found");
    shop.client("deals:read")
        .await
        .post(DEALS, &json!({}))
        .await
        .refused(403, "scope_denied");
    assert_eq!(events(&shop).await, ["deal.created", "deal.created"]);
}

async fn a_deal_adds_up_and_warns(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (car, _) = for_sale(&shop).await;
    let lender = contact(&shop, "Bank").await;
    let (made, path) = deal(
        &shop,
        &json!({
            "contact": contact(&shop, "Ann").await, "vehicle": car,
            "lines": [{"type": "product", "description": "Tow bar", "gross": 480},
                      {"type": "adjustment", "description": "Discount", "gross": -500}],
            "part_exchanges": [{"registration": "AB12 CDE", "allowance": 4000, "settlement": 1500, "lender": lender}],
            "finance": {"type": "hp", "provider": lender, "amount": 6000, "term": 12, "apr": 0, "deposit": 500},
        }),
    )
    .await;
    let expected = json!({"gross": "14475.00", "part_exchange": "4000.00", "settlement": "1500.00", "deposit": "0.00",
                          "finance": "6000.00", "balance": "4475.00"});
    assert_eq!((&made["price"], &made["totals"]), (&json!("12995.00"), &expected));
    assert_eq!(
        (&made["finance"]["monthly"], &made["finance"]["total_payable"]),
        (&json!("500.00"), &json!("6500.00"))
    );
    assert_eq!(made["finance"]["warnings"], json!([]));
    let warned = shop
        .api
        .patch(
            &path,
            &json!({"finance": {"apr": null, "monthly": 500, "total_payable": 6502, "amount": 99_999}}),
        )
        .await;
    let warnings = json!(["apr_missing", "total_mismatch", "amount_mismatch"]);
    assert_eq!(warned.ok()["finance"]["warnings"], warnings);
    let moved = to(&shop, &path, "finance").await.ok();
    assert_eq!(moved["finance"]["warnings"][3], "commission_not_disclosed");
    let cleared = shop
        .api
        .patch(&path, &json!({"finance": null, "price": 10_000}))
        .await
        .ok();
    assert_eq!(
        (&cleared["finance"]["type"], &cleared["price"]),
        (&json!("none"), &json!("10000.00"))
    );
    let back = shop.api.patch(&path, &json!({"price": null})).await.ok();
    assert_eq!(back["price"], "12995.00");
    let same = shop.api.patch(&path, &json!({"price": 12_995})).await.ok();
    assert_eq!(same["version"], back["version"]);
}

async fn each_fault_names_its_member(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (car, _) = for_sale(&shop).await;
    for (body, field) in [
        (json!({"contact": 999_999}), "contact"),
        (json!({"lead": 999_999}), "lead"),
        (json!({"vehicle": 999_999}), "vehicle"),
        (json!({"staff": 999_999}), "staff"),
        (json!({"site": 999_999}), "site"),
        (json!({"stage": "confirm"}), "stage"),
        (json!({"source": "pigeon"}), "source"),
        (json!({"price": -1}), "price"),
        (json!({"lines": [{"type": "vehicle", "vehicle": car}]}), "lines.0.type"),
        (json!({"lines": [{"type": "product", "description": "x"}]}), "lines.0"),
        (
            json!({"vehicle": car, "lines": [{"type": "adjustment", "description": "x", "gross": -12_996}]}),
            "lines",
        ),
        (
            json!({"part_exchanges": [{"registration": "A", "allowance": 0}]}),
            "part_exchanges.0.allowance",
        ),
        (json!({"finance": {"type": "barter"}}), "finance.type"),
        (json!({"finance": {"term": 0}}), "finance.term"),
        (json!({"finance": {"apr": 101}}), "finance.apr"),
        (json!({"finance": {"amount": -1}}), "finance.amount"),
        (json!({"finance": {"provider": 999_999}}), "finance.provider"),
        (json!({"delivery": {"method": "post"}}), "delivery.method"),
    ] {
        shop.api.post(DEALS, &body).await.invalid(&[field]);
    }
    let (_, path) = deal(&shop, &json!({})).await;
    let at = format!("{path}/stage");
    shop.api.post(&at, &json!({})).await.invalid(&["stage"]);
    shop.api.post(&at, &json!({"stage": "over"})).await.invalid(&["stage"]);
    for stage in ["declined", "fatal"] {
        shop.api.post(&at, &json!({"stage": stage})).await.invalid(&["reason"]);
        shop.api
            .post(&at, &json!({"stage": stage, "reason": "bored"}))
            .await
            .invalid(&["reason"]);
    }
    shop.api
        .post(&format!("{path}/invoice"), &json!({"payment": {"method": "Card"}}))
        .await
        .invalid(&["payment"]);
    let missing = shop
        .api
        .post(&format!("{path}/order"), &json!({}))
        .await
        .refused(409, "deal_incomplete");
    assert_eq!(missing["details"]["missing"], json!(["contact", "vehicle"]));
}

/// The table of the decisions, without what moves by itself.
fn row(from: &str) -> Vec<&'static str> {
    match from {
        "payment_partial" => vec!["confirm", "declined", "fatal"],
        "confirm" => vec!["payment", "handover", "declined", "fatal"],
        "handover" => vec!["confirm", "complete", "declined", "fatal"],
        "complete" => vec![],
        "declined" | "fatal" => vec!["begin"],
        _ => EARLY.into_iter().chain(["confirm", "declined", "fatal"]).collect(),
    }
}

async fn every_cell_of_the_table_of_stages_holds(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let all: Vec<&str> = EARLY
        .into_iter()
        .chain([
            "payment_partial",
            "confirm",
            "handover",
            "complete",
            "declined",
            "fatal",
        ])
        .collect();
    for &from in &all {
        if from == "payment_partial" {
            // Only a payment leads there.
            continue;
        }
        let (car, car_path) = for_sale(&shop).await;
        let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": car})).await;
        match from {
            "confirm" => drop(to(&shop, &path, "confirm").await.ok()),
            "handover" | "complete" => {
                to(&shop, &path, "confirm").await.ok();
                to(&shop, &path, "handover").await.ok();
                to(&shop, &path, "complete").await.refused(409, "vehicle_not_sold");
                if from == "complete" {
                    shop.api
                        .post(&format!("{car_path}/sale"), &json!({"customer": ann}))
                        .await
                        .ok();
                    to(&shop, &path, "complete").await.ok();
                }
            }
            from => drop(to(&shop, &path, from).await.ok()),
        }
        for &target in &all {
            if target == from {
                let before = shop.api.get(&path).await.ok();
                assert_eq!(to(&shop, &path, target).await.ok(), before);
            } else if !row(from).contains(&target) {
                let error = to(&shop, &path, target).await.refused(409, "deal_invalid_stage");
                assert_eq!(error["details"]["allowed"], json!(row(from)), "{from} {target}");
            }
        }
    }
}

async fn a_confirmed_deal_reserves_its_car(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (ann, bea) = (contact(&shop, "Ann").await, contact(&shop, "Bea").await);
    let (car, car_path) = for_sale(&shop).await;
    let (_, path) = deal(&shop, &json!({"vehicle": car})).await;
    let error = to(&shop, &path, "confirm").await.refused(409, "deal_incomplete");
    assert_eq!(error["details"]["missing"], json!(["contact"]));
    shop.api.patch(&path, &json!({"contact": ann})).await.ok();
    let seen = events(&shop).await.len();
    let confirmed = to(&shop, &path, "confirm").await.ok();
    assert_eq!(confirmed["reservation"], true);
    assert_eq!(
        events_after(&shop, seen).await,
        ["vehicle.reserved", "deal.stage_changed"]
    );
    assert_eq!(shop.api.get(&car_path).await.ok()["status"]["name"], "reserved");
    let last = shop.api.walk("/2.0/events?per_page=500").await.pop().unwrap();
    let changed = last["data"]["changed"].as_array().unwrap().clone();
    for name in ["stage", "history", "version", "updated"] {
        assert!(changed.contains(&json!(name)), "{changed:?}");
    }
    let (_, other) = deal(&shop, &json!({"contact": bea, "vehicle": car})).await;
    to(&shop, &other, "confirm")
        .await
        .refused(409, "vehicle_already_reserved");
    for body in [json!({"contact": bea}), json!({"vehicle": null})] {
        let error = shop.api.patch(&path, &body).await.refused(409, "deal_invalid_stage");
        assert_eq!(
            error["details"]["allowed"],
            json!(["payment", "handover", "declined", "fatal"])
        );
    }
    shop.api
        .patch(&path, &json!({"notes": "Blue", "contact": ann}))
        .await
        .ok();
    // Back in payment the deal can have another car, which frees this one.
    to(&shop, &path, "payment").await.ok();
    let changed = shop.api.patch(&path, &json!({"vehicle": null})).await.ok();
    assert_eq!(changed["reservation"], false);
    assert_eq!(shop.api.get(&car_path).await.ok()["status"]["name"], "for-sale");

    let draft = car_path_of_draft(&shop).await;
    let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": draft})).await;
    to(&shop, &path, "confirm")
        .await
        .refused(409, "vehicle_reserve_invalid_status");
    let (car, car_path) = for_sale(&shop).await;
    let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": car})).await;
    shop.api.post(&format!("{car_path}/sale"), &json!({})).await.ok();
    assert_eq!(
        stage(&shop, &path).await,
        "begin",
        "a sale without a customer moves none"
    );
    to(&shop, &path, "confirm")
        .await
        .refused(409, "vehicle_status_transition_invalid");
}

async fn car_path_of_draft(shop: &Shop) -> Value {
    let path = car_path(shop, &a_car()).await;
    shop.api.get(&path).await.ok()["id"].take()
}

async fn a_deal_becomes_an_order(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let (car, car_path) = for_sale(&shop).await;
    let (made, path) = deal(
        &shop,
        &json!({
            "contact": ann, "vehicle": car, "price": 12_000, "distance": true,
            "lines": [{"type": "product", "description": "Tow bar", "gross": 480}],
            "part_exchanges": [{"registration": "AB12 CDE", "allowance": 4000, "settlement": 1500, "lender": ann}],
            "finance": {"type": "hp", "provider": ann, "amount": 6000},
        }),
    )
    .await;
    let seen = events(&shop).await.len();
    let answer = shop.api.post(&format!("{path}/order"), &json!({})).await;
    let order = answer.created();
    let order_path = format!("/2.0/orders/{}", order["id"]);
    assert_eq!(answer.header("Location"), Some(order_path.as_str()));
    assert_eq!(events_after(&shop, seen).await, ["order.created", "deal.updated"]);
    assert_eq!(
        (&order["deal"], &order["customer"], &order["vehicle"]),
        (&made["id"], &ann, &car)
    );
    assert_eq!(
        (&order["distance"], &order["finance"]["amount"]),
        (&json!(true), &json!("6000.00"))
    );
    assert_eq!(order["totals"]["gross"], "13980.00");
    let kinds: Vec<_> = order["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["type"])
        .collect();
    assert_eq!(kinds, ["vehicle", "product", "settlement"]);
    assert_eq!(shop.api.get(&path).await.ok()["order"], order["id"]);
    let error = shop
        .api
        .post(&format!("{path}/order"), &json!({}))
        .await
        .refused(409, "order_invalid_status");
    assert_eq!(error["details"]["status"], "draft");
    shop.api.post(&format!("{order_path}/cancel"), &json!({})).await.ok();
    let seen = events(&shop).await.len();
    let order = shop
        .api
        .post(&format!("{path}/order"), &json!({"issue": true, "reserve": true}))
        .await
        .created();
    assert_eq!(order["status"]["name"], "issued");
    assert_eq!(
        events_after(&shop, seen).await,
        ["order.created", "deal.updated", "vehicle.reserved", "order.issued"]
    );
    // The order reserved it, not the deal.
    assert_eq!(shop.api.get(&path).await.ok()["reservation"], false);
    let converted = shop
        .api
        .post(&format!("/2.0/orders/{}/convert", order["id"]), &json!({}))
        .await
        .created();
    let after = shop.api.get(&path).await.ok();
    assert_eq!((&after["invoice"], &converted["deal"]), (&converted["id"], &made["id"]));
    let error = shop
        .api
        .post(&format!("{path}/invoice"), &json!({}))
        .await
        .refused(409, "invoice_invalid_status");
    assert_eq!(error["details"]["status"], "draft");
    assert_eq!(shop.api.get(&car_path).await.ok()["status"]["name"], "reserved");
    for (list, id) in [("orders", &order["id"]), ("invoices", &converted["id"])] {
        let found = shop.api.list(&format!("/2.0/{list}?deal={}", made["id"])).await;
        assert!(found.column("id").contains(id), "{list}");
    }
}

async fn a_deal_becomes_an_invoice_and_is_paid(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let (car, car_path) = for_sale(&shop).await;
    let (made, path) = deal(&shop, &json!({"contact": ann, "vehicle": car})).await;
    let seen = events(&shop).await.len();
    let body = json!({"issue": true, "payment": {"method": "Card", "amount": 1000}});
    let invoice = shop.api.post(&format!("{path}/invoice"), &body).await.created();
    assert_eq!(
        events_after(&shop, seen).await,
        [
            "invoice.created",
            "deal.updated",
            "invoice.issued",
            "vehicle.sold",
            "deal.stage_changed",
            "deal.stage_changed"
        ]
    );
    let after = shop.api.get(&path).await.ok();
    assert_eq!(
        (&after["stage"]["name"], &after["invoice"]),
        (&json!("payment_partial"), &invoice["id"])
    );
    let history: Vec<_> = after["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["stage"], &entry["by"]))
        .collect();
    assert_eq!(
        history,
        [
            (&json!("payment_partial"), &json!("system")),
            (&json!("payment"), &json!("system")),
            (&json!("begin"), &json!("api"))
        ]
    );
    let sale = shop.api.get(&format!("{car_path}/sale")).await.ok();
    assert_eq!(sale["deal"], made["id"]);
    let error = to(&shop, &path, "handover").await.refused(409, "deal_invalid_stage");
    assert_eq!(error["details"]["allowed"], json!(["confirm", "declined", "fatal"]));
    let payments = format!("/2.0/invoices/{}/payments", invoice["id"]);
    let seen = events(&shop).await.len();
    shop.api
        .post(&payments, &json!({"method": "Cash", "amount": 995}))
        .await
        .ok();
    assert_eq!(
        events_after(&shop, seen).await,
        ["invoice.updated"],
        "it is there already"
    );
    let paid = shop.api.post(&payments, &json!({"method": "Cash"})).await.ok();
    assert_eq!(paid["status"]["name"], "paid");
    assert_eq!(
        events_after(&shop, seen + 1).await,
        ["invoice.paid", "deal.stage_changed"]
    );
    assert_eq!(stage(&shop, &path).await, "confirm");
    // A bounced cheque leaves something due.
    shop.api.post(&format!("{payments}/3/reverse"), &json!({})).await.ok();
    assert_eq!(stage(&shop, &path).await, "payment_partial");
    to(&shop, &path, "declined").await.refused(409, "vehicle_sale_invoiced");

    // All is paid at once: the deal moves twice.
    let (car, _) = for_sale(&shop).await;
    let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": car, "stage": "pending"})).await;
    let seen = events(&shop).await.len();
    let body = json!({"issue": true, "payment": {"method": "Card"}});
    let invoice = shop.api.post(&format!("{path}/invoice"), &body).await.created();
    let after = events_after(&shop, seen).await;
    assert_eq!(
        after.iter().filter(|name| *name == "deal.stage_changed").count(),
        2,
        "{after:?}"
    );
    assert_eq!(stage(&shop, &path).await, "confirm");
    let reverse = format!("/2.0/invoices/{}/payments/1/reverse", invoice["id"]);
    shop.api.post(&reverse, &json!({})).await.ok();
    assert_eq!(stage(&shop, &path).await, "payment", "no payment stands");
}

async fn a_deal_is_completed_with_its_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let lead = shop.lead(&json!({"name": "Ann", "notify": false})).await["id"].take();
    let (car, car_path) = for_sale(&shop).await;
    let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": car, "lead": lead})).await;
    shop.api
        .post(&format!("{car_path}/sale"), &json!({"customer": ann}))
        .await
        .ok();
    to(&shop, &path, "confirm").await.ok();
    to(&shop, &path, "handover").await.ok();
    let seen = events(&shop).await.len();
    let done = to(&shop, &path, "complete").await.ok();
    assert_eq!(done["stage"]["name"], "complete");
    assert_eq!(
        events_after(&shop, seen).await,
        ["vehicle.updated", "lead.updated", "deal.stage_changed"]
    );
    let closed = shop.api.get(&format!("/2.0/leads/{lead}")).await.ok();
    assert_eq!(closed["status"]["name"], "closed");
    shop.api.patch(&path, &json!({"notes": "A pleasure."})).await.ok();
    let error = shop
        .api
        .patch(&path, &json!({"distance": true}))
        .await
        .refused(409, "deal_invalid_stage");
    assert_eq!(error["details"]["allowed"], json!([]));

    // The handover itself completes the deals of its buyer.
    let (car, car_path) = for_sale(&shop).await;
    let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": car})).await;
    shop.api
        .post(&format!("{car_path}/sale"), &json!({"customer": ann}))
        .await
        .ok();
    shop.api.post(&format!("{car_path}/handover"), &json!({})).await.ok();
    let done = shop.api.get(&path).await.ok();
    assert_eq!(
        (&done["stage"]["name"], &done["history"][0]["by"]),
        (&json!("complete"), &json!("system"))
    );
}

async fn a_car_that_is_lost_ends_its_deals(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (ann, bea) = (contact(&shop, "Ann").await, contact(&shop, "Bea").await);
    let (car, car_path) = for_sale(&shop).await;
    let (_, own) = deal(&shop, &json!({"contact": ann, "vehicle": car})).await;
    let (_, other) = deal(&shop, &json!({"contact": bea, "vehicle": car})).await;
    let seen = events(&shop).await.len();
    shop.api
        .post(&format!("{car_path}/sale"), &json!({"customer": ann}))
        .await
        .ok();
    assert_eq!(events_after(&shop, seen).await, ["vehicle.sold", "deal.stage_changed"]);
    assert_eq!(stage(&shop, &own).await, "begin");
    let lost = shop.api.get(&other).await.ok();
    assert_eq!(lost["stage"]["name"], "fatal");
    assert_eq!(lost["reason"], json!({"code": "not_available", "note": ""}));
    let seen = events(&shop).await.len();
    shop.api.delete(&car_path).await.ok();
    assert_eq!(
        events_after(&shop, seen).await,
        ["vehicle.deleted", "deal.stage_changed"]
    );
    assert_eq!(stage(&shop, &own).await, "fatal");
    let again = to(&shop, &own, "begin").await.ok();
    assert_eq!(again["reason"], Value::Null);
}

async fn a_declined_deal_takes_back_what_it_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let (car, car_path) = for_sale(&shop).await;
    let (_, path) = deal(&shop, &json!({"contact": ann, "vehicle": car})).await;
    let order = shop
        .api
        .post(&format!("{path}/order"), &json!({"issue": true}))
        .await
        .created();
    let invoice = shop.api.post(&format!("{path}/invoice"), &json!({})).await.created();
    to(&shop, &path, "confirm").await.ok();
    let body = json!({"stage": "declined", "reason": "unaffordable", "note": "In spring."});
    let declined = shop.api.post(&format!("{path}/stage"), &body).await.ok();
    let reason = json!({"code": "unaffordable", "note": "In spring."});
    assert_eq!(
        (&declined["reason"], &declined["history"][0]["reason"]),
        (&reason, &reason)
    );
    assert_eq!(declined["reservation"], false);
    assert_eq!(shop.api.get(&car_path).await.ok()["status"]["name"], "for-sale");
    for (list, id) in [("orders", &order["id"]), ("invoices", &invoice["id"])] {
        let after = shop.api.get(&format!("/2.0/{list}/{id}")).await.ok();
        assert_eq!(after["status"]["name"], "cancelled", "{list}");
    }
    let error = to(&shop, &path, "confirm").await.refused(409, "deal_invalid_stage");
    assert_eq!(error["details"]["allowed"], json!(["begin"]));
}

async fn a_deal_that_is_reported_twice_is_one(engine: Engine) {
    let shop = Shop::open(engine).await;
    let report = json!({"provider": "desk", "external_id": "1", "stage": "pending"});
    let (made, path) = deal(&shop, &report).await;
    let again = json!({"provider": "desk", "external_id": "1", "stage": "begin", "notes": "x"});
    let answer = shop.api.post(DEALS, &again).await;
    let known = answer.ok();
    assert_eq!(
        (&known["id"], &known["notes"], &known["stage"]["name"]),
        (&made["id"], &json!("x"), &json!("pending"))
    );
    assert_eq!(answer.header("Location"), None);
    let stale = shop
        .api
        .request("POST", DEALS)
        .header("If-Match", "\"1\"")
        .json(&again)
        .send()
        .await;
    stale.refused(412, "precondition_failed");
    let (_, other) = deal(&shop, &json!({"provider": "desk", "external_id": "2"})).await;
    shop.api
        .patch(&other, &json!({"external_id": "1"}))
        .await
        .invalid(&["external_id"]);
    to(&shop, &path, "fatal").await.ok();
    shop.api
        .post(
            DEALS,
            &json!({"provider": "desk", "external_id": "1", "distance": true}),
        )
        .await
        .refused(409, "deal_invalid_stage");
    shop.api
        .post(DEALS, &json!({"provider": "desk", "external_id": "1", "notes": "y"}))
        .await
        .ok();
}

async fn twenty_reports_at_once_make_one_deal(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let mut reports = JoinSet::new();
    for client in [&shop.api, &other].into_iter().cycle().take(20) {
        let client = client.clone();
        reports.spawn(async move {
            client
                .post(DEALS, &json!({"provider": "desk", "external_id": "17"}))
                .await
        });
    }
    let answers = reports.join_all().await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    let ids: BTreeSet<String> = answers
        .iter()
        .map(|answer| answer.json()["data"]["id"].to_string())
        .collect();
    assert_eq!((created, ids.len()), (1, 1));
    assert_eq!(events(&shop).await, ["deal.created"]);
}

async fn each_filter_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let lead = shop.lead(&json!({"name": "Ann", "notify": false})).await["id"].take();
    let (car, _) = for_sale(&shop).await;
    let (first, path) = deal(&shop, &json!({
        "contact": ann, "lead": lead, "vehicle": car, "source": "website", "provider": "desk", "external_id": "1", "staff": 1, "site": 2,
    }))
    .await;
    let order = shop.api.post(&format!("{path}/order"), &json!({})).await.created();
    let invoice = shop.api.post(&format!("{path}/invoice"), &json!({})).await.created();
    let (second, path) = deal(&shop, &json!({})).await;
    to(&shop, &path, "fatal").await.ok();
    let id = |deal: &Value| deal["id"].as_i64().unwrap();
    let (one, two) = (id(&first), id(&second));
    for (name, value, expected) in [
        ("site", "2".to_owned(), vec![one]),
        ("site", "0".to_owned(), vec![two]),
        ("reference", "2".to_owned(), vec![two]),
        ("stage", "begin".to_owned(), vec![one]),
        ("open", "true".to_owned(), vec![one]),
        ("open", "false".to_owned(), vec![two]),
        ("contact", ann.to_string(), vec![one]),
        ("lead", lead.to_string(), vec![one]),
        ("vehicle", car.to_string(), vec![one]),
        ("staff", "1".to_owned(), vec![one]),
        ("source", "api".to_owned(), vec![two]),
        ("provider", "desk".to_owned(), vec![one]),
        ("external_id", "1".to_owned(), vec![one]),
        ("order", order["id"].to_string(), vec![one]),
        ("invoice", invoice["id"].to_string(), vec![one]),
        (
            "created",
            first["created"].to_string(),
            shop.api
                .list(&url_query(DEALS, [("created", &*first["created"].to_string())]))
                .await
                .ids(),
        ),
        ("contact", "999999".to_owned(), vec![]),
    ] {
        let found = shop.api.list(&url_query(DEALS, [(name, &*value)])).await;
        assert_eq!(found.ids(), expected, "{name}={value}");
    }
    shop.api.get(&format!("{DEALS}?stage=over")).await.invalid(&["stage"]);
    assert_eq!(shop.api.list(DEALS).await.ids(), [two, one]);
}

async fn an_erased_contact_leaves_its_deals(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann Quillfeather").await;
    let (made, path) = deal(
        &shop,
        &json!({
            "contact": ann, "notes": "Ann Quillfeather likes blue", "finance": {"reference": "F-1"},
            "delivery": {"address": "1 High Street"},
            "part_exchanges": [{"registration": "AB12 CDE", "vin": "V1", "allowance": 4000}],
        }),
    )
    .await;
    let export = shop.api.get(&format!("/2.0/contacts/{ann}/export")).await.ok();
    assert_eq!(export["deals"], json!([made]));
    let limited = shop.client("contacts:read").await;
    let export = limited.get(&format!("/2.0/contacts/{ann}/export")).await.ok();
    assert!(export["omitted"].as_array().unwrap().contains(&json!("deals")));
    shop.api.delete(&format!("/2.0/contacts/{ann}")).await.ok();
    let after = eventually("the deal forgets", Duration::from_secs(60), async || {
        let deal = shop.api.get(&path).await.ok();
        if deal["contact"].is_null() { Ok(deal) } else { Err(deal) }
    })
    .await;
    assert_eq!(
        (
            &after["notes"],
            &after["finance"]["reference"],
            &after["delivery"]["address"]
        ),
        (&json!(""), &json!(""), &json!(""))
    );
    let exchange = &after["part_exchanges"][0];
    assert_eq!(
        (&exchange["registration"], &exchange["vin"], &exchange["allowance"]),
        (&json!(""), &json!(""), &json!("4000.00"))
    );
    assert_eq!(after["stage"], made["stage"]);
    assert!(events(&shop).await.contains(&"deal.updated".to_owned()));
}

async fn deals_are_named_by_other_records(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ann = contact(&shop, "Ann").await;
    let (made, path) = deal(&shop, &json!({})).await;
    let lines = json!([{"type": "product", "description": "Mats", "gross": 50}]);
    for list in ["/2.0/invoices", "/2.0/orders"] {
        let body = |deal: &Value| json!({"customer": ann, "lines": lines, "deal": deal});
        shop.api.post(list, &body(&json!(999_999))).await.invalid(&["deal"]);
        let paper = shop.api.post(list, &body(&made["id"])).await.created();
        assert_eq!(paper["deal"], made["id"]);
        if list == "/2.0/invoices" {
            shop.api
                .post(&format!("{list}/{}/issue", paper["id"]), &json!({}))
                .await
                .ok();
            let after = shop.api.get(&path).await.ok();
            assert_eq!(
                (&after["stage"]["name"], &after["invoice"]),
                (&json!("payment"), &paper["id"])
            );
        }
    }
}
