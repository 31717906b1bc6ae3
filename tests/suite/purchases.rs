//! Purchases (areas §10.4) and acquisitions of vehicles (areas §10.5): drafts, issues, payments, credits, costs on vehicles, lists,
//! events, papers and mails.

use std::time::Duration;

use harness::{Client, Engine, Shop, both_engines, today, wait_for};
use serde_json::{Value, json};

use crate::listing_changes::put_on;
use crate::vehicles_record::a_car;

both_engines! {
    a_draft_is_kept_as_it_was_billed
    every_fault_is_named
    a_supplier_is_not_billed_twice
    a_purchase_moves_through_its_states
    a_refusal_names_the_state
    a_payment_is_reversed_and_refunded
    a_purchase_is_credited
    a_cost_is_shown_in_its_vehicle
    a_vehicle_without_room_refuses_the_issue
    rows_of_purchases_are_theirs
    a_vehicle_is_acquired
    an_acquisition_is_undone
    what_is_not_stock_is_not_acquired
    an_acquisition_is_judged
    a_vehicle_bought_with_vat_is_not_sold_under_the_margin_scheme
    what_was_acquired_is_changed_with_the_vehicle_alone
    each_filter_alone
    a_purchase_is_printed_and_mailed
    a_job_shows_what_it_cost
    a_write_compares_the_version
    keys_need_their_scopes_and_businesses_are_apart
    an_erased_supplier_leaves_the_frozen_party
    a_retry_makes_nothing_twice
}

const TIMEOUT: Duration = Duration::from_secs(60);
const SIMPLE: [&str; 13] = [
    "created",
    "currency",
    "date",
    "due_date",
    "id",
    "number",
    "site",
    "status",
    "supplier",
    "supplier_invoice",
    "totals",
    "type",
    "updated",
];

/// Creates a supplier; returns its id.
async fn supplier(shop: &Shop) -> Value {
    let body = json!({"name": "Quay Valeting", "email": "desk@quay.example", "nominal": {"purchase": "5010"}});
    shop.api.post("/2.0/contacts", &body).await.created()["id"].take()
}

/// Creates a vehicle of this type; returns its path.
async fn vehicle(shop: &Shop, kind: &str) -> String {
    let body =
        json!({"type": kind, "registration": "AB19 CDE", "data": {"vehicle": {"make": "Ford", "model": "Focus"}}});
    let vehicle = shop.api.post("/2.0/vehicles", &body).await.created();
    format!("/2.0/vehicles/{}", vehicle["id"])
}

fn id_of(path: &str) -> i64 {
    path.rsplit('/').next().unwrap().parse().unwrap()
}

/// A line of a valet for 60.00 net, on a vehicle.
fn valet(vehicle: &str) -> Value {
    json!({"type": "cost", "category": "Valet", "description": "Full valet", "net": 60, "vehicle": id_of(vehicle)})
}

/// Drafts a purchase of one overhead of 100.00 gross; returns its path.
async fn draft(shop: &Shop, supplier: &Value) -> String {
    let line = json!({"type": "cost", "category": "Rent", "description": "Yard", "gross": 100});
    let body = json!({"supplier": supplier, "lines": [line]});
    let purchase = shop.api.post("/2.0/purchases", &body).await.created();
    format!("/2.0/purchases/{}", purchase["id"])
}

async fn issued(shop: &Shop, supplier: &Value) -> String {
    let path = draft(shop, supplier).await;
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    path
}

#[track_caller]
fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Returns the events of purchases and of changed vehicles so far, as `(name, data)`.
async fn recorded(client: &Client) -> Vec<(String, Value)> {
    let events = client.walk("/2.0/events").await.into_iter();
    let each = |mut event: Value| (event["event"].as_str().unwrap().to_owned(), event["data"].take());
    let told = events.map(each);
    told.filter(|(name, _)| name.starts_with("purchase.") || name == "vehicle.updated")
        .collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[track_caller]
fn changed(event: &Value, expected: &[&str]) {
    let named: Vec<&str> = event["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    for member in expected {
        assert!(named.contains(member), "{member} of {named:?}");
    }
}

async fn a_draft_is_kept_as_it_was_billed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let body = json!({
        "supplier": supplier, "supplier_invoice": "V-2217", "site": 2, "date": "2026-01-31", "notes": "Second one",
        "lines": [valet(&focus), {"type": "adjustment", "description": "Rebate", "gross": -12, "vat_scheme": "outside"}],
    });
    let answer = shop.api.post("/2.0/purchases", &body).await;
    let made = answer.created();
    let path = format!("/2.0/purchases/{}", made["id"]);
    assert_eq!(answer.header("Location"), Some(path.as_str()));
    assert_eq!(shop.api.get(&path).await.ok(), made);
    let line = json!({
        "id": 1, "type": "cost", "product": null, "vehicle": id_of(&focus), "stock_number": null,
        "description": "Full valet", "category": "Valet", "quantity": 1, "net": "60.00", "vat_scheme": "standard",
        "vat_rate": "20.00", "vat": "12.00", "gross": "72.00", "credited": "0.00", "nominal": "5010",
    });
    assert_eq!(made["lines"][0], line);
    for (member, expected) in [
        ("number", Value::Null),
        ("site", json!(2)),
        ("status", json!({"id": 0, "name": "draft"})),
        ("type", json!("cost")),
        ("supplier", supplier.clone()),
        ("supplier_invoice", json!("V-2217")),
        ("date", json!("2026-01-31")),
        ("due_date", json!("2026-01-31")),
        ("currency", json!("GBP")),
        ("payments", json!([])),
        ("credit_notes", json!([])),
        ("vehicle_job", Value::Null),
        ("notes", json!("Second one")),
        ("version", json!(1)),
    ] {
        assert_eq!(made[member], expected, "{member}");
    }
    let totals = json!({
        "net": "48.00", "vat": "12.00", "gross": "60.00", "paid": "0.00", "credited": "0.00", "due": "60.00",
        "refund_due": "0.00",
    });
    assert_eq!(made["totals"], totals);
    assert_eq!(
        (&made["bill_from"]["name"], &made["bill_to"]["name"]),
        (&json!("Quay Valeting"), &json!("Acme Cars"))
    );

    let simple = shop.api.get(&format!("{path}?view=simple")).await.ok();
    assert_eq!(members(&simple), SIMPLE);
    assert_eq!(shop.api.list("/2.0/purchases").await.items, [simple]);
    assert_eq!(
        shop.api.list("/2.0/purchases?view=full").await.items,
        std::slice::from_ref(&made)
    );
    let [(name, mut event)] = <[_; 1]>::try_from(recorded(&shop.api).await).unwrap();
    changed(&event, &members(&made));
    event.as_object_mut().unwrap().remove("changed");
    assert_eq!((name.as_str(), event), ("purchase.created", made.clone()));

    // A day that is not chosen moves with the day of the purchase, and a change that changes nothing is none.
    let moved = shop
        .api
        .patch(&path, &json!({"date": "2026-02-01", "lines": [valet(&focus)]}))
        .await
        .ok();
    assert_eq!(
        (&moved["due_date"], &moved["version"]),
        (&json!("2026-02-01"), &json!(2))
    );
    assert_eq!(shop.api.patch(&path, &json!({"date": "2026-02-01"})).await.ok(), moved);
    let events = recorded(&shop.api).await;
    assert_eq!(names(&events), ["purchase.created", "purchase.updated"]);
    let back = shop
        .api
        .patch(
            &path,
            &json!({"site": null, "notes": null, "supplier_invoice": null, "lines": null}),
        )
        .await
        .ok();
    assert_eq!(
        (&back["site"], &back["notes"], &back["lines"]),
        (&json!(0), &json!(""), &json!([]))
    );
    assert_eq!(
        shop.api
            .post("/2.0/purchases", &json!({"supplier": supplier}))
            .await
            .created()["date"],
        json!(today(0))
    );
}

async fn every_fault_is_named(engine: Engine) {
    let shop = Shop::open(engine).await;
    let supplier = supplier(&shop).await;
    let line = |line: Value| json!({"supplier": supplier, "lines": [line]});
    for (body, field) in [
        (json!({}), "supplier"),
        (json!({"supplier": null}), "supplier"),
        (json!({"supplier": 987_654}), "supplier"),
        (json!({"supplier": supplier, "site": 9}), "site"),
        (json!({"supplier": supplier, "date": "2026-13-01"}), "date"),
        (
            json!({"supplier": supplier, "date": "2026-02-01", "due_date": "2026-01-31"}),
            "due_date",
        ),
        (json!({"supplier": supplier, "lines": {}}), "lines"),
        (json!({"supplier": supplier, "payment": {"method": "Cash"}}), "payment"),
        (json!({"supplier": supplier, "issue": true}), "lines"),
        (
            line(json!({"type": "cost", "description": "x", "gross": 1})),
            "lines.0.category",
        ),
        (
            line(json!({"type": "cost", "category": "MOT", "gross": 1})),
            "lines.0.description",
        ),
        (
            line(json!({"type": "cost", "category": "MOT", "description": "x", "gross": -1})),
            "lines.0",
        ),
        (
            line(json!({"type": "cost", "category": "MOT", "description": "x"})),
            "lines.0",
        ),
        (
            line(json!({"type": "cost", "category": "MOT", "description": "x", "gross": 1, "vehicle": 9})),
            "lines.0.vehicle",
        ),
        (
            line(json!({"type": "settlement", "description": "x", "gross": 1})),
            "lines.0.type",
        ),
        (
            line(json!({"type": "adjustment", "description": "x", "gross": -1})),
            "lines",
        ),
    ] {
        let refused = shop.api.post("/2.0/purchases", &body).await;
        let error = refused.refused(422, "validation_failed");
        assert_eq!(error["details"]["field"], field, "{body}: {error}");
    }
    let refused = shop
        .api
        .post("/2.0/purchases", &line(json!({"type": "vehicle", "vehicle": 1})))
        .await;
    let error = refused.refused(422, "validation_failed");
    let named = error["details"]["errors"].to_string();
    assert!(named.contains("POST /vehicles/{id}/acquisition"), "{named}");
    assert_eq!(recorded(&shop.api).await, []);
}

async fn a_supplier_is_not_billed_twice(engine: Engine) {
    let shop = Shop::open(engine).await;
    let supplier = supplier(&shop).await;
    let numbered = |number: &str, force: bool| {
        let line = json!({"type": "cost", "category": "Rent", "description": "Yard", "gross": 100});
        json!({"supplier": supplier, "supplier_invoice": number, "force": force, "issue": true, "lines": [line]})
    };
    let first = shop
        .api
        .post("/2.0/purchases", &numbered("V 22-17", false))
        .await
        .created();
    let refused = shop.api.post("/2.0/purchases", &numbered(" v22-17", false)).await;
    assert_eq!(
        refused.refused(409, "purchase_duplicate")["details"]["number"],
        first["number"]
    );
    let forced = shop
        .api
        .post("/2.0/purchases", &numbered("v22-17", true))
        .await
        .created();
    assert_eq!(forced["number"], "PUR-2");
    for purchase in [&first, &forced] {
        shop.api
            .post(&format!("/2.0/purchases/{}/credit", purchase["id"]), &json!({}))
            .await
            .ok();
    }
    assert_eq!(
        shop.api
            .post("/2.0/purchases", &numbered("V22-17", false))
            .await
            .created()["number"],
        "PUR-3"
    );
    // Its number goes to whoever asks first.
    let body = numbered("V-9", false);
    let (one, other) = tokio::join!(
        shop.api.post("/2.0/purchases", &body),
        shop.api.post("/2.0/purchases", &body)
    );
    let mut answers = [one.status, other.status];
    answers.sort_unstable();
    assert_eq!(answers, [201, 409]);
}

async fn a_purchase_moves_through_its_states(engine: Engine) {
    let shop = Shop::open(engine).await;
    let supplier = supplier(&shop).await;
    let path = draft(&shop, &supplier).await;
    let issued = shop
        .api
        .post(&format!("{path}/issue"), &json!({"date": "2026-03-01"}))
        .await
        .ok();
    assert_eq!(
        (&issued["number"], &issued["status"]),
        (&json!("PUR-1"), &json!({"id": 1, "name": "issued"}))
    );
    assert_eq!(
        (&issued["date"], &issued["due_date"]),
        (&json!("2026-03-01"), &json!("2026-03-01"))
    );
    let part = shop
        .api
        .post(&format!("{path}/payments"), &json!({"method": "Cash", "amount": 40}))
        .await
        .ok();
    assert_eq!(
        (&part["status"]["name"], &part["totals"]["due"]),
        (&json!("issued"), &json!("60.00"))
    );
    let refused = shop
        .api
        .post(&format!("{path}/payments"), &json!({"method": "Cash", "amount": 60.01}))
        .await;
    let error = refused.refused(422, "validation_failed");
    assert!(
        error["details"]["field"] == "amount" && error.to_string().contains("60.00"),
        "{error}"
    );
    let paid = shop
        .api
        .post(
            &format!("{path}/payments"),
            &json!({"method": "Bank Transfer", "reference": "T-1"}),
        )
        .await
        .ok();
    assert_eq!(
        (&paid["status"], &paid["totals"]["paid"]),
        (&json!({"id": 2, "name": "paid"}), &json!("100.00"))
    );
    let payment = json!({
        "id": 2, "type": "payment", "date": today(0), "method": "Bank Transfer", "amount": "60.00", "reference": "T-1",
        "reverses": null,
    });
    assert_eq!(paid["payments"][1], payment);
    // Parties and notes: what was issued keeps its parties, and changes in little.
    let change = json!({"notes": "Paid", "due_date": "2026-04-01"});
    assert_eq!(shop.api.patch(&path, &change).await.ok()["notes"], "Paid");
    shop.api
        .patch(&format!("/2.0/contacts/{supplier}"), &json!({"name": "Another"}))
        .await
        .ok();
    assert_eq!(shop.api.get(&path).await.ok()["bill_from"]["name"], "Quay Valeting");

    let cancelled = draft(&shop, &supplier).await;
    let cancelled = shop.api.post(&format!("{cancelled}/cancel"), &json!({})).await.ok();
    assert_eq!(
        (&cancelled["status"], &cancelled["number"]),
        (&json!({"id": 3, "name": "cancelled"}), &Value::Null)
    );
    let body = json!({
        "supplier": supplier, "issue": true, "payment": {"method": "Card"},
        "lines": [{"type": "product", "description": "Paper", "net": 19.99}],
    });
    let at_once = shop.api.post("/2.0/purchases", &body).await.created();
    assert_eq!(
        (&at_once["number"], &at_once["status"]["name"]),
        (&json!("PUR-2"), &json!("paid"))
    );
    assert_eq!(
        (&at_once["totals"]["vat"], &at_once["totals"]["gross"]),
        (&json!("4.00"), &json!("23.99"))
    );
    let events = recorded(&shop.api).await;
    let expected = [
        "purchase.created",
        "purchase.issued",
        "purchase.updated",
        "purchase.paid",
        "purchase.updated",
        "purchase.created",
        "purchase.cancelled",
        "purchase.created",
        "purchase.issued",
        "purchase.paid",
    ];
    assert_eq!(names(&events), expected);
    changed(&events[1].1, &["number", "status", "issued", "version"]);
    changed(&events[3].1, &["status", "payments", "totals", "version"]);
    changed(&events[6].1, &["status", "version"]);
    changed(&events[8].1, &["number", "status", "issued", "payments", "totals"]);
}

async fn a_refusal_names_the_state(engine: Engine) {
    let shop = Shop::open(engine).await;
    let supplier = supplier(&shop).await;
    let refused = async |path: &str, step: &str, body: Value, status: &str| {
        let answer = match step {
            "" => shop.api.patch(path, &body).await,
            step => shop.api.post(&format!("{path}/{step}"), &body).await,
        };
        let error = answer.refused(409, "purchase_invalid_status");
        assert_eq!(error["details"]["status"], status, "{step}: {error}");
    };
    let cash = json!({"method": "Cash"});
    let path = draft(&shop, &supplier).await;
    for (step, body) in [
        ("payments", &cash),
        ("refunds", &cash),
        ("credit", &json!({})),
        ("send", &json!({})),
    ] {
        refused(&path, step, body.clone(), "draft").await;
    }
    refused(&path, "payments/1/reverse", json!({}), "draft").await;
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    for (step, body) in [
        ("issue", json!({})),
        ("cancel", json!({})),
        ("refunds", cash.clone()),
        ("", json!({"site": 2})),
    ] {
        refused(&path, step, body, "issued").await;
    }
    shop.api.post(&format!("{path}/payments"), &cash).await.ok();
    refused(&path, "payments", cash.clone(), "paid").await;
    shop.api.post(&format!("{path}/credit"), &json!({})).await.ok();
    for (step, body) in [
        ("payments", &cash),
        ("credit", &json!({})),
        ("", &json!({"due_date": "2027-01-01"})),
    ] {
        refused(&path, step, body.clone(), "credited").await;
    }
    let path = draft(&shop, &supplier).await;
    shop.api.post(&format!("{path}/cancel"), &json!({})).await.ok();
    for step in ["issue", "cancel", "credit", "send"] {
        refused(&path, step, json!({}), "cancelled").await;
    }
    shop.api.patch(&path, &json!({"notes": "Wrong one"})).await.ok();
}

async fn a_payment_is_reversed_and_refunded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = issued(&shop, &supplier(&shop).await).await;
    shop.api
        .post(&format!("{path}/payments"), &json!({"method": "Cheque"}))
        .await
        .ok();
    let reversed = shop
        .api
        .post(&format!("{path}/payments/1/reverse"), &json!({"reference": "Bounced"}))
        .await
        .ok();
    assert_eq!(
        (&reversed["status"]["name"], &reversed["totals"]["due"]),
        (&json!("issued"), &json!("100.00"))
    );
    let reversal = json!({
        "id": 2, "type": "reversal", "date": today(0), "method": "Cheque", "amount": "-100.00", "reference": "Bounced",
        "reverses": 1,
    });
    assert_eq!(reversed["payments"][1], reversal);
    for payment in [1, 2] {
        let refused = shop
            .api
            .post(&format!("{path}/payments/{payment}/reverse"), &json!({}))
            .await;
        refused.refused(409, "payment_reversed");
    }
    for payment in ["9", "x"] {
        let refused = shop
            .api
            .post(&format!("{path}/payments/{payment}/reverse"), &json!({}))
            .await;
        refused.refused(404, "payment_not_found");
    }
    shop.api
        .post("/2.0/purchases/987654/payments/1/reverse", &json!({}))
        .await
        .refused(404, "purchase_not_found");
    shop.api
        .post(&format!("{path}/payments"), &json!({"method": "Cash"}))
        .await
        .ok();
    let credited = shop
        .api
        .post(&format!("{path}/credit"), &json!({"lines": [{"line": 1, "gross": 30}]}))
        .await
        .ok();
    assert_eq!(
        (&credited["status"]["name"], &credited["totals"]["refund_due"]),
        (&json!("paid"), &json!("30.00"))
    );
    let refused = shop
        .api
        .post(&format!("{path}/refunds"), &json!({"method": "Cash", "amount": 31}))
        .await;
    assert_eq!(refused.refused(422, "validation_failed")["details"]["field"], "amount");
    let refunded = shop
        .api
        .post(&format!("{path}/refunds"), &json!({"method": "Cash"}))
        .await
        .ok();
    assert_eq!(
        (&refunded["payments"][3]["amount"], &refunded["payments"][3]["type"]),
        (&json!("-30.00"), &json!("refund"))
    );
    assert_eq!(refunded["totals"]["refund_due"], "0.00");
}

async fn a_purchase_is_credited(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = issued(&shop, &supplier(&shop).await).await;
    let credit = format!("{path}/credit");
    for (lines, field) in [
        (json!([{"line": 2, "gross": 1}]), "lines.0.line"),
        (json!([{"line": 1, "gross": 0}]), "lines.0.gross"),
        (
            json!([{"line": 1, "gross": 1}, {"line": 1, "gross": 1}]),
            "lines.1.line",
        ),
    ] {
        let refused = shop.api.post(&credit, &json!({"lines": lines})).await;
        assert_eq!(refused.refused(422, "validation_failed")["details"]["field"], field);
    }
    let refused = shop
        .api
        .post(&credit, &json!({"lines": [{"line": 1, "gross": 100.01}]}))
        .await;
    let details = &refused.refused(409, "credit_cap_exceeded")["details"];
    assert_eq!(
        (&details["line"], &details["creditable"]),
        (&json!(1), &json!("100.00"))
    );
    let body = json!({"reason": "Too dear", "supplier_reference": "CR-8", "lines": [{"line": 1, "gross": 60}]});
    let part = shop.api.post(&credit, &body).await.ok();
    let note = json!({
        "number": "PCN-1", "supplier_reference": "CR-8", "date": today(0), "reason": "Too dear", "net": "50.00",
        "vat": "10.00", "gross": "60.00",
        "lines": [{"line": 1, "description": "Yard", "vat_scheme": "standard", "vat_rate": "20.00", "net": "50.00",
            "vat": "10.00", "gross": "60.00"}],
    });
    assert_eq!(
        (&part["credit_notes"], &part["status"]["name"]),
        (&json!([note]), &json!("issued"))
    );
    let whole = shop.api.post(&credit, &json!({})).await.ok();
    assert_eq!(
        (&whole["status"], &whole["totals"]["credited"]),
        (&json!({"id": 4, "name": "credited"}), &json!("100.00"))
    );
    assert_eq!(
        (&whole["credit_notes"][1]["number"], &whole["totals"]["due"]),
        (&json!("PCN-2"), &json!("0.00"))
    );
    let events = recorded(&shop.api).await;
    assert_eq!(names(&events)[2..], ["purchase.credited", "purchase.credited"]);
    changed(&events[2].1, &["lines", "credit_notes", "totals", "version"]);
    changed(&events[3].1, &["lines", "credit_notes", "totals", "status", "version"]);
}

async fn a_cost_is_shown_in_its_vehicle(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let own = json!({"data": {"stock": {"purchase_cost_data": [{"type": "Wash", "cost": 10}]}}});
    shop.api.patch(&focus, &own).await.ok();
    let other = json!({"type": "cost", "category": "MOT", "description": "MOT", "gross": 40, "vat_scheme": "exempt", "vehicle": id_of(&focus)});
    let body = json!({
        "supplier": supplier, "supplier_invoice": "V-1", "date": "2026-03-01", "issue": true,
        "lines": [valet(&focus), {"type": "cost", "category": "Rent", "description": "Yard", "gross": 5}, other],
    });
    let purchase = shop.api.post("/2.0/purchases", &body).await.created();
    let stock = async || shop.api.get(&focus).await.ok()["data"]["stock"].take();
    let shown = stock().await;
    let row = |line: i64, kind: &str, cost: &str, vat: &str, total: &str| {
        json!({
            "type": kind, "supplier": "Quay Valeting", "cost": cost, "vat": vat, "invoice": "V-1",
            "reference": "PUR-1", "date": "2026-03-01", "id": format!("PUR-1-{line}"), "total": total,
        })
    };
    let rows = shown["purchase_cost_data"].as_array().unwrap();
    assert_eq!(
        rows[1..],
        [
            row(1, "Valet", "60.00", "12.00", "72.00"),
            row(3, "MOT", "40.00", "0.00", "40.00")
        ]
    );
    assert_eq!(
        (
            &shown["purchase_cost"],
            &shown["purchase_cost_vat"],
            &shown["purchase_cost_total"]
        ),
        (&json!("110.00"), &json!("12.00"), &json!("122.00"))
    );
    assert_eq!(
        names(&recorded(&shop.api).await)[1..],
        ["purchase.created", "purchase.issued", "vehicle.updated"]
    );

    let credit = format!("/2.0/purchases/{}/credit", purchase["id"]);
    shop.api
        .post(
            &credit,
            &json!({"lines": [{"line": 1, "gross": 36}, {"line": 2, "gross": 5}]}),
        )
        .await
        .ok();
    let lowered = stock().await;
    assert_eq!(
        lowered["purchase_cost_data"][1],
        row(1, "Valet", "30.00", "6.00", "36.00")
    );
    shop.api
        .post(&credit, &json!({"lines": [{"line": 1, "gross": 36}]}))
        .await
        .ok();
    let removed = stock().await;
    assert_eq!(removed["purchase_cost_data"].as_array().unwrap().len(), 2);
    shop.api.post(&credit, &json!({})).await.ok();
    let left = stock().await;
    assert_eq!(
        (
            left["purchase_cost_data"].as_array().unwrap().len(),
            &left["purchase_cost_total"]
        ),
        (1, &json!("10.00"))
    );
}

async fn a_vehicle_without_room_refuses_the_issue(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let rows: Vec<Value> = (0..50).map(|_| json!({"type": "Wash", "cost": 1})).collect();
    let full = json!({"data": {"stock": {"purchase_cost_data": rows}}});
    shop.api.patch(&focus, &full).await.ok();
    let mut body = json!({"supplier": supplier, "lines": [valet(&focus)]});
    let path = format!(
        "/2.0/purchases/{}",
        shop.api.post("/2.0/purchases", &body).await.created()["id"]
    );
    let before = recorded(&shop.api).await.len();
    shop.api
        .post(&format!("{path}/issue"), &json!({}))
        .await
        .refused(422, "vehicle_costs_full");
    body["issue"] = json!(true);
    shop.api
        .post("/2.0/purchases", &body)
        .await
        .refused(422, "vehicle_costs_full");
    assert_eq!(shop.api.get(&path).await.ok()["status"]["name"], "draft");
    assert_eq!(recorded(&shop.api).await.len(), before, "nothing of it is left");
    // The refused issues have used no number.
    let room = json!({"data": {"stock": {"purchase_cost_data": rows[1..]}}});
    shop.api.patch(&focus, &room).await.ok();
    assert_eq!(
        shop.api.post(&format!("{path}/issue"), &json!({})).await.ok()["number"],
        "PUR-1"
    );
    // There is no room for a row of one's own beside the purchase's.
    shop.api.patch(&focus, &full).await.refused(422, "vehicle_costs_full");
}

async fn rows_of_purchases_are_theirs(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let body = json!({"supplier": supplier, "issue": true, "lines": [valet(&focus)]});
    shop.api.post("/2.0/purchases", &body).await.created();
    let write = async |rows: Value| {
        let body = json!({"data": {"stock": {"purchase_cost_data": rows}}});
        shop.api.patch(&focus, &body).await
    };
    let rows = |vehicle: Value| vehicle["data"]["stock"]["purchase_cost_data"].clone();
    let kept = rows(shop.api.get(&focus).await.ok())[0].clone();
    for sent in [json!([]), Value::Null] {
        assert_eq!(rows(write(sent).await.ok()), json!([kept]));
    }
    let own = json!({"type": "Wash", "cost": 10, "id": 1});
    let both = rows(write(json!([own])).await.ok());
    assert_eq!((both.as_array().unwrap().len(), &both[0]), (2, &kept));
    let before = shop.api.get(&focus).await.ok();
    let mut sent = kept.clone();
    (sent["cost"], sent["vat"], sent["total"]) = (json!(60), json!(12), json!(72));
    assert_eq!(
        write(json!([sent, own])).await.ok(),
        before,
        "sent back, it changes nothing"
    );
    assert_eq!(write(json!([own])).await.ok(), before, "so does what is left out");
    let mut changed = sent.clone();
    changed["cost"] = json!(61);
    for (sent, field) in [
        (json!([own, changed]), "data.stock.purchase_cost_data.1"),
        (json!([{"id": "PUR-1-1"}]), "data.stock.purchase_cost_data.0"),
        (json!([{"id": "PUR-7-1", "cost": 1}]), "data.stock.purchase_cost_data.0"),
    ] {
        assert_eq!(
            write(sent).await.refused(422, "validation_failed")["details"]["field"],
            field
        );
    }
}

/// Acquires a vehicle for 10,000.00; returns the purchase.
async fn acquired(shop: &Shop, vehicle: &str, supplier: &Value) -> Value {
    let body = json!({"supplier": supplier, "price": 10_000});
    shop.api.post(&format!("{vehicle}/acquisition"), &body).await.created()
}

async fn a_vehicle_is_acquired(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let nothing = json!({
        "acquired": false, "stock_number": null, "purchase": null, "number": null, "supplier": null, "date": null,
        "price": null, "vat_scheme": null,
    });
    let path = format!("{focus}/acquisition");
    assert_eq!(shop.api.get(&path).await.ok(), nothing);
    shop.api
        .patch(
            &focus,
            &json!({"data": {"stock": {"number": "S-44", "purchase_cost_data": [{"cost": 10, "vat": 2}]}}}),
        )
        .await
        .ok();
    let body = json!({
        "supplier": supplier, "price": 12_000, "vat_scheme": "standard", "date": "2026-03-01", "supplier_invoice": "V-9",
        "due_date": "2026-03-31", "payment": {"method": "Bank Transfer", "amount": 2_000}, "notes": "One key",
    });
    let answer = shop.api.post(&path, &body).await;
    let made = answer.created();
    let purchase = format!("/2.0/purchases/{}", made["id"]);
    assert_eq!(answer.header("Location"), Some(purchase.as_str()));
    assert_eq!(shop.api.get(&purchase).await.ok(), made);
    for (member, expected) in [
        ("number", json!("PUR-1")),
        ("type", json!("acquisition")),
        ("status", json!({"id": 1, "name": "issued"})),
        ("supplier", supplier.clone()),
        ("supplier_invoice", json!("V-9")),
        ("date", json!("2026-03-01")),
        ("due_date", json!("2026-03-31")),
        ("notes", json!("One key")),
    ] {
        assert_eq!(made[member], expected, "{member}");
    }
    let line = json!({
        "id": 1, "type": "vehicle", "product": null, "vehicle": id_of(&focus), "stock_number": 1,
        "description": "Ford Focus AB19 CDE", "quantity": 1, "net": "10000.00", "vat_scheme": "standard",
        "vat_rate": "20.00", "vat": "2000.00", "gross": "12000.00", "credited": "0.00", "nominal": "5010",
    });
    assert_eq!(made["lines"], json!([line]));
    let shown = json!({
        "acquired": true, "stock_number": 1, "purchase": made["id"], "number": "PUR-1", "supplier": supplier,
        "date": "2026-03-01", "price": "12000.00", "vat_scheme": "standard",
    });
    assert_eq!(shop.api.get(&path).await.ok(), shown);
    let stock = shop.api.get(&focus).await.ok()["data"]["stock"].take();
    for (member, expected) in [
        ("number", json!("S-44")),
        ("purchase_date", json!("2026-03-01")),
        ("purchase_invoice", json!("PUR-1")),
        ("purchase_supplier", json!("Quay Valeting")),
        ("purchase_supplier_id", supplier.clone()),
        ("purchase_supplier_invoice", json!("V-9")),
        ("purchase_price", json!("10000.00")),
        ("purchase_price_vat", json!("2000.00")),
        ("purchase_price_total", json!("12000.00")),
        ("purchase_value", json!("10010.00")),
        ("purchase_value_vat", json!("2002.00")),
        ("purchase_value_total", json!("12012.00")),
    ] {
        assert_eq!(stock[member], expected, "{member}");
    }
    let events = recorded(&shop.api).await;
    let expected = [
        "vehicle.updated",
        "purchase.created",
        "purchase.issued",
        "vehicle.updated",
    ];
    assert_eq!(names(&events), expected);
    assert_eq!(
        events[1].1["lines"][0]["stock_number"],
        Value::Null,
        "it is drawn at the issue"
    );
    shop.api
        .post(&path, &body)
        .await
        .refused(409, "vehicle_already_acquired");

    // A document that names the vehicle shows its number.
    let line = json!({"type": "product", "description": "Mats", "gross": 10, "vehicle": id_of(&focus)});
    let order = shop
        .api
        .post("/2.0/orders", &json!({"customer": supplier, "lines": [line]}))
        .await
        .created();
    assert_eq!(order["lines"][0]["stock_number"], 1);
    let second = vehicle(&shop, "courtesy").await;
    let free = json!({"supplier": supplier, "price": 0});
    let free = shop.api.post(&format!("{second}/acquisition"), &free).await.created();
    assert_eq!(
        (&free["lines"][0]["stock_number"], &free["status"]["name"]),
        (&json!(2), &json!("paid"))
    );
    assert_eq!(free["lines"][0]["vat_scheme"], "margin");
}

async fn an_acquisition_is_undone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let path = format!("{focus}/acquisition");
    shop.api.delete(&path).await.refused(409, "vehicle_not_acquired");
    let made = acquired(&shop, &focus, &supplier).await;
    let undone = shop.api.delete(&path).await.ok();
    assert_eq!(
        (&undone["acquired"], &undone["stock_number"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(shop.api.get(&path).await.ok(), undone);
    let purchase = shop.api.get(&format!("/2.0/purchases/{}", made["id"])).await.ok();
    assert_eq!(
        (&purchase["status"]["name"], &purchase["credit_notes"][0]["reason"]),
        (&json!("credited"), &json!("Acquisition undone"))
    );
    let stock = shop.api.get(&focus).await.ok()["data"]["stock"].take();
    for member in [
        "purchase_date",
        "purchase_supplier_id",
        "purchase_price",
        "purchase_price_vat",
        "purchase_price_total",
    ] {
        assert_eq!(stock[member], Value::Null, "{member}");
    }
    for member in ["purchase_invoice", "purchase_supplier", "purchase_supplier_invoice"] {
        assert_eq!(stock[member], "", "{member}");
    }
    let events = recorded(&shop.api).await;
    assert_eq!(names(&events)[3..], ["purchase.credited", "vehicle.updated"]);
    shop.api.delete(&path).await.refused(409, "vehicle_not_acquired");
    let again = acquired(&shop, &focus, &supplier).await;
    assert_eq!(
        (&again["number"], &again["lines"][0]["stock_number"]),
        (&json!("PUR-2"), &json!(2))
    );
    // A sold vehicle stays acquired, and can be acquired after the fact.
    let sold = crate::vehicles_record::path(&shop, &a_car()).await;
    put_on(&shop, &sold, json!(["website"])).await;
    shop.api.post(&format!("{sold}/sale"), &json!({})).await.ok();
    let path = format!("{sold}/acquisition");
    shop.api
        .delete(&path)
        .await
        .refused(409, "vehicle_status_transition_invalid");
    assert_eq!(acquired(&shop, &sold, &supplier).await["number"], "PUR-3");
    shop.api
        .delete(&path)
        .await
        .refused(409, "vehicle_status_transition_invalid");
    assert_eq!(shop.api.get(&path).await.ok()["stock_number"], 3);
}

async fn what_is_not_stock_is_not_acquired(engine: Engine) {
    let shop = Shop::open(engine).await;
    let supplier = supplier(&shop).await;
    let body = json!({"supplier": supplier, "price": 1});
    for kind in ["appraisal", "customer"] {
        let vehicle = vehicle(&shop, kind).await;
        let refused = shop.api.post(&format!("{vehicle}/acquisition"), &body).await;
        refused.refused(409, "vehicle_acquisition_not_allowed");
    }
    let deleted = vehicle(&shop, "in-stock").await;
    shop.api.delete(&deleted).await.ok();
    for path in [deleted.as_str(), "/2.0/vehicles/987654", "/2.0/vehicles/x"] {
        let path = format!("{path}/acquisition");
        shop.api.post(&path, &body).await.refused(404, "vehicle_not_found");
        shop.api.get(&path).await.refused(404, "vehicle_not_found");
        shop.api.delete(&path).await.refused(404, "vehicle_not_found");
    }
    assert_eq!(shop.api.list("/2.0/purchases").await.items, [] as [Value; 0]);
}

async fn an_acquisition_is_judged(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let path = format!("{focus}/acquisition");
    for (body, fields) in [
        (json!({}), vec!["supplier", "price"]),
        (json!({"supplier": 987_654, "price": -1}), vec!["price", "supplier"]),
        (
            json!({"supplier": supplier, "price": 1, "vat_scheme": "none"}),
            vec!["vat_scheme"],
        ),
        (
            json!({"supplier": supplier, "price": 1, "vat_rate": 20}),
            vec!["vat_rate"],
        ),
        (
            json!({"supplier": supplier, "price": 1, "date": "2026-02-01", "due_date": "2026-01-31"}),
            vec!["due_date"],
        ),
        (
            json!({"supplier": supplier, "price": 1, "payment": {}}),
            vec!["payment.method"],
        ),
        (
            json!({"supplier": supplier, "price": 1, "payment": {"method": "Cash", "amount": 2}}),
            vec!["payment.amount"],
        ),
        (json!({"supplier": supplier, "price": 100_000_000}), vec!["price"]),
    ] {
        let error = shop.api.post(&path, &body).await.refused(422, "validation_failed");
        let errors = error["details"]["errors"].as_array().unwrap();
        let named: Vec<_> = errors.iter().map(|error| error["field"].as_str().unwrap()).collect();
        assert_eq!(named, fields, "{body}");
    }
    assert_eq!(shop.api.get(&path).await.ok()["acquired"], false);
    assert_eq!(
        acquired(&shop, &focus, &supplier).await["number"],
        "PUR-1",
        "no number was used"
    );
}

async fn a_vehicle_bought_with_vat_is_not_sold_under_the_margin_scheme(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let line =
        |scheme: &str| json!({"type": "vehicle", "vehicle": id_of(&focus), "gross": 12_995, "vat_scheme": scheme});
    let invoice = |scheme: &str| json!({"customer": supplier, "lines": [line(scheme)]});
    let draft = shop.api.post("/2.0/invoices", &invoice("margin")).await.created();
    let body = json!({"supplier": supplier, "price": 12_000, "vat_scheme": "standard"});
    shop.api.post(&format!("{focus}/acquisition"), &body).await.created();
    for refused in [
        shop.api.post("/2.0/invoices", &invoice("margin")).await,
        shop.api
            .post(&format!("/2.0/invoices/{}/issue", draft["id"]), &json!({}))
            .await,
    ] {
        assert_eq!(
            refused.refused(422, "validation_failed")["details"]["field"],
            "lines.0.vat_scheme"
        );
    }
    shop.api.post("/2.0/invoices", &invoice("standard")).await.created();
    shop.api.delete(&format!("{focus}/acquisition")).await.ok();
    shop.api.post("/2.0/invoices", &invoice("margin")).await.created();
}

async fn what_was_acquired_is_changed_with_the_vehicle_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let made = acquired(&shop, &focus, &supplier).await;
    let path = format!("/2.0/purchases/{}", made["id"]);
    for body in [json!({"site": 2}), json!({"notes": "x", "due_date": "2027-01-01"})] {
        shop.api
            .patch(&path, &body)
            .await
            .refused(409, "purchase_acquisition_linked");
    }
    for step in ["issue", "cancel", "credit"] {
        let refused = shop.api.post(&format!("{path}/{step}"), &json!({})).await;
        refused.refused(409, "purchase_acquisition_linked");
    }
    assert_eq!(
        shop.api.patch(&path, &json!({"notes": "One key"})).await.ok()["notes"],
        "One key"
    );
    let paid = shop
        .api
        .post(&format!("{path}/payments"), &json!({"method": "Cash"}))
        .await
        .ok();
    assert_eq!(paid["status"]["name"], "paid");
    shop.api
        .post(&format!("{path}/payments/1/reverse"), &json!({}))
        .await
        .ok();
}

async fn each_filter_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let other = shop
        .api
        .post("/2.0/contacts", &json!({"name": "Harbour Tyres"}))
        .await
        .created()["id"]
        .take();
    let body = json!({
        "supplier": supplier, "supplier_invoice": "V 22-17", "site": 2, "date": "2026-01-31", "due_date": "2026-02-28",
        "issue": true, "lines": [valet(&focus)],
    });
    let issued = shop.api.post("/2.0/purchases", &body).await.created();
    let bought = acquired(&shop, &focus, &other).await;
    let drafted = id_of(&draft(&shop, &other).await);
    let (issued, bought) = (issued["id"].as_i64().unwrap(), bought["id"].as_i64().unwrap());
    for (filter, expected) in [
        ("", vec![drafted, bought, issued]),
        ("site=2", vec![issued]),
        ("status=issued", vec![bought, issued]),
        ("status=0", vec![drafted]),
        ("type=acquisition", vec![bought]),
        ("type=cost", vec![drafted, issued]),
        ("number=PUR-1", vec![issued]),
        ("supplier=9876543", vec![]),
        ("supplier_invoice=v22-17", vec![issued]),
        ("supplier_invoice=v22%2A", vec![]),
        ("job=1", vec![]),
        ("overdue=true", vec![issued]),
        ("overdue=false", vec![drafted, bought]),
        ("gross[]=72&gross[]=100", vec![drafted, issued]),
        ("gross=72", vec![issued]),
        ("date[]=2026-01-01&date[]=2026-01-31", vec![issued]),
        ("due_date=2026-02-28", vec![issued]),
        ("created[]=1&created[]=2", vec![]),
        ("updated[]=1", vec![drafted, bought, issued]),
    ] {
        let found = shop.api.list(&format!("/2.0/purchases?{filter}")).await.items;
        let found: Vec<i64> = found.iter().map(|purchase| purchase["id"].as_i64().unwrap()).collect();
        assert_eq!(found, expected, "{filter}");
    }
    for (filter, count) in [
        (format!("supplier={other}"), 2),
        (format!("vehicle={}", id_of(&focus)), 2),
    ] {
        assert_eq!(
            shop.api.list(&format!("/2.0/purchases?{filter}")).await.items.len(),
            count,
            "{filter}"
        );
    }
    for filter in [
        "status=open",
        "type=lease",
        "number=INV-1",
        "overdue=maybe",
        "gross[]=x",
        "job=x",
    ] {
        shop.api
            .get(&format!("/2.0/purchases?{filter}"))
            .await
            .refused(422, "validation_failed");
    }
}

async fn a_purchase_is_printed_and_mailed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = issued(&shop, &supplier(&shop).await).await;
    let id = id_of(&path);
    let printed = shop.api.get(&format!("{path}/pdf")).await.ok();
    assert_eq!(
        (&printed["name"], &printed["mime"]),
        (&json!("PUR-1.pdf"), &json!("application/pdf"))
    );
    let file = shop
        .api
        .request("GET", &format!("{path}/pdf"))
        .header("Accept", "application/pdf")
        .send()
        .await;
    assert!(file.body.starts_with(b"%PDF-1."), "{file:?}");
    shop.api
        .post(&format!("{path}/credit"), &json!({"lines": [{"line": 1, "gross": 10}]}))
        .await
        .ok();
    let credit = shop.api.get(&format!("{path}/pdf?credit_note=PCN-1")).await.ok();
    assert_eq!(credit["name"], "PCN-1.pdf");
    for number in ["PCN-9", "CN-1", "x"] {
        shop.api
            .get(&format!("{path}/pdf?credit_note={number}"))
            .await
            .refused(404, "purchase_not_found");
    }
    let before = recorded(&shop.api).await.len();
    let sent = shop
        .api
        .post(&format!("{path}/send"), &json!({"message": "As agreed"}))
        .await
        .ok();
    assert_eq!(
        sent,
        json!({"id": id, "number": "PUR-1", "email": "desk@quay.example", "sent": true})
    );
    let mails = shop.installation().mails();
    assert!(
        mails.len() == 1 && mails[0].contains("PUR-1.pdf") && mails[0].contains("As agreed"),
        "{mails:?}"
    );
    assert_eq!(recorded(&shop.api).await.len(), before, "it changes nothing");
    let nobody = shop
        .api
        .post("/2.0/contacts", &json!({"name": "Harbour Tyres"}))
        .await
        .created()["id"]
        .take();
    let path = issued(&shop, &nobody).await;
    let refused = shop.api.post(&format!("{path}/send"), &json!({})).await;
    assert_eq!(refused.refused(422, "validation_failed")["details"]["field"], "email");
}

async fn a_job_shows_what_it_cost(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let job = shop
        .api
        .post(&format!("{focus}/jobs"), &json!({"board": 1}))
        .await
        .created()["id"]
        .take();
    let job_path = format!("{focus}/jobs/{job}");
    let body = json!({"supplier": supplier, "lines": [valet(&focus)]});
    let purchase = shop.api.post("/2.0/purchases", &body).await.created();
    let path = format!("/2.0/purchases/{}", purchase["id"]);
    let stranger = id_of(&draft(&shop, &supplier).await);
    let refused = shop
        .api
        .post(&format!("{job_path}/purchases"), &json!({"purchase": stranger}))
        .await;
    assert_eq!(
        refused.refused(422, "validation_failed")["details"]["field"],
        "purchase"
    );
    let linked = shop
        .api
        .post(&format!("{job_path}/purchases"), &json!({"purchase": purchase["id"]}))
        .await
        .ok();
    assert_eq!(
        linked["purchases"],
        json!([{"id": purchase["id"], "number": null, "category": "Valet", "net": "60.00"}])
    );
    let shown = shop.api.get(&path).await.ok();
    assert_eq!(shown["vehicle_job"], json!({"vehicle": id_of(&focus), "job": job}));
    let found = shop.api.list(&format!("/2.0/purchases?job={job}")).await.items;
    assert_eq!((found.len(), &found[0]["id"]), (1, &purchase["id"]));
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    assert_eq!(shop.api.get(&job_path).await.ok()["purchases"][0]["number"], "PUR-1");
    let unlinked = shop
        .api
        .delete(&format!("{job_path}/purchases/{}", purchase["id"]))
        .await
        .ok();
    assert_eq!(unlinked["purchases"], json!([]));
    assert_eq!(shop.api.get(&path).await.ok()["vehicle_job"], Value::Null);
    let events = recorded(&shop.api).await;
    let told: Vec<_> = events
        .iter()
        .filter(|(name, data)| name.starts_with("purchase.") && data["id"] == purchase["id"])
        .map(|(name, _)| name.as_str())
        .collect();
    let expected = [
        "purchase.created",
        "purchase.updated",
        "purchase.issued",
        "purchase.updated",
    ];
    assert_eq!(told[..4], expected[..4]);
}

async fn a_write_compares_the_version(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let path = draft(&shop, &supplier).await;
    let stale = async |method: &str, path: &str, body: Value| {
        let request = shop.api.request(method, path).header("If-Match", "\"999\"").json(&body);
        request.send().await.refused(412, "precondition_failed");
    };
    stale("PATCH", &path, json!({"notes": "x"})).await;
    for step in ["issue", "cancel", "payments", "refunds", "credit"] {
        let body = if matches!(step, "payments" | "refunds") {
            json!({"method": "Cash"})
        } else {
            json!({})
        };
        stale("POST", &format!("{path}/{step}"), body).await;
    }
    let acquisition = format!("{focus}/acquisition");
    stale("POST", &acquisition, json!({"supplier": supplier, "price": 1})).await;
    acquired(&shop, &focus, &supplier).await;
    stale("DELETE", &acquisition, json!({})).await;
    let etag = shop.api.get(&path).await.header("ETag").unwrap().to_owned();
    let fresh = shop
        .api
        .request("PATCH", &path)
        .header("If-Match", &etag)
        .json(&json!({"notes": "x"}));
    fresh.send().await.ok();
    let same = shop
        .api
        .request("GET", &path)
        .header("If-None-Match", &etag)
        .send()
        .await;
    assert_eq!(same.status, 200, "it has changed");
}

async fn keys_need_their_scopes_and_businesses_are_apart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let made = acquired(&shop, &focus, &supplier).await;
    let path = format!("/2.0/purchases/{}", made["id"]);
    let reader = shop.client("purchases:read").await;
    assert_eq!(
        reader.get(&path).await.ok(),
        made,
        "it shows the cost, whatever vehicle-pricing:read says"
    );
    reader.get(&format!("{focus}/acquisition")).await.ok();
    reader
        .post("/2.0/purchases", &json!({"supplier": supplier}))
        .await
        .refused(403, "scope_denied");
    reader
        .delete(&format!("{focus}/acquisition"))
        .await
        .refused(403, "scope_denied");
    let writer = shop.client("purchases:write").await;
    writer.get(&path).await.refused(403, "scope_denied");
    writer
        .post("/2.0/purchases", &json!({"supplier": supplier}))
        .await
        .created();
    let rival = shop.rival().await;
    rival.get(&path).await.refused(404, "purchase_not_found");
    rival
        .patch(&path, &json!({"notes": "x"}))
        .await
        .refused(404, "purchase_not_found");
    for step in ["issue", "cancel", "credit"] {
        rival
            .post(&format!("{path}/{step}"), &json!({}))
            .await
            .refused(404, "purchase_not_found");
    }
    let refused = rival.post("/2.0/purchases", &json!({"supplier": supplier})).await;
    assert_eq!(
        refused.refused(422, "validation_failed")["details"]["field"],
        "supplier"
    );
    assert_eq!(
        rival.list(&format!("/2.0/purchases?supplier={supplier}")).await.items,
        [] as [Value; 0]
    );
    rival
        .get(&format!("{focus}/acquisition"))
        .await
        .refused(404, "vehicle_not_found");
    // Each business counts for itself.
    let own = rival.post("/2.0/contacts", &json!({"name": "Quay"})).await.created()["id"].take();
    let line = json!({"type": "cost", "category": "Rent", "description": "Yard", "gross": 100});
    let body = json!({"supplier": own, "issue": true, "lines": [line]});
    assert_eq!(rival.post("/2.0/purchases", &body).await.created()["number"], "PUR-1");
}

async fn an_erased_supplier_leaves_the_frozen_party(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let body = json!({"supplier": supplier, "issue": true, "lines": [valet(&focus)], "notes": "Ask desk@quay.example"});
    let issued = shop.api.post("/2.0/purchases", &body).await.created();
    let bought = acquired(&shop, &focus, &supplier).await;
    let drafted = draft(&shop, &supplier).await;
    // A vehicle that it only cleaned.
    let cleaned = vehicle(&shop, "courtesy").await;
    let body = json!({"supplier": supplier, "issue": true, "lines": [valet(&cleaned)]});
    shop.api.post("/2.0/purchases", &body).await.created();
    let export = shop.api.get(&format!("/2.0/contacts/{supplier}/export")).await.ok();
    assert_eq!(export["purchases"].as_array().unwrap().len(), 4);
    let narrow = shop.client("contacts:read").await;
    let omitted = narrow.get(&format!("/2.0/contacts/{supplier}/export")).await.ok()["omitted"].take();
    assert!(omitted.as_array().unwrap().contains(&json!("purchases")), "{omitted}");

    shop.api.delete(&format!("/2.0/contacts/{supplier}")).await.ok();
    for (path, is_frozen) in [
        (format!("/2.0/purchases/{}", issued["id"]), true),
        (format!("/2.0/purchases/{}", bought["id"]), true),
        (drafted, false),
    ] {
        wait_for("the erasure", TIMEOUT, async || {
            shop.api.get(&path).await.ok()["supplier"].is_null()
        })
        .await;
        let left = shop.api.get(&path).await.ok();
        let party = &left["bill_from"];
        assert_eq!(
            (party.is_object(), party["name"] == "Quay Valeting"),
            (is_frozen, is_frozen),
            "{left}"
        );
        assert!(!left["notes"].as_str().unwrap().contains("quay"), "{left}");
    }
    let telling = async || {
        let events = shop.api.walk("/2.0/events").await;
        events.iter().any(|event| event.to_string().contains("Quay Valeting"))
    };
    wait_for("the events to forget", TIMEOUT, async || !telling().await).await;
    let acquisition = shop.api.get(&format!("{focus}/acquisition")).await.ok();
    assert_eq!(
        (&acquisition["acquired"], &acquisition["supplier"]),
        (&json!(true), &Value::Null)
    );
    wait_for("the cost to forget", TIMEOUT, async || {
        let shown = shop.api.get(&cleaned).await.ok();
        shown["data"]["stock"]["purchase_cost_data"][0]["supplier"] == ""
    })
    .await;
    wait_for("the vehicle to forget", TIMEOUT, async || {
        let stock = shop.api.get(&focus).await.ok()["data"]["stock"].take();
        stock["purchase_supplier"] == "" && stock["purchase_supplier_id"].is_null()
    })
    .await;
}

async fn a_retry_makes_nothing_twice(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (supplier, focus) = (supplier(&shop).await, vehicle(&shop, "in-stock").await);
    let line = json!({"type": "cost", "category": "Rent", "description": "Yard", "gross": 100});
    let body = json!({"supplier": supplier, "issue": true, "lines": [line]});
    let first = shop
        .api
        .request("POST", "/2.0/purchases")
        .key("p-1")
        .json(&body)
        .send()
        .await
        .created();
    let again = shop
        .api
        .request("POST", "/2.0/purchases")
        .key("p-1")
        .json(&body)
        .send()
        .await
        .created();
    assert_eq!(first, again);
    let path = format!("{focus}/acquisition");
    let body = json!({"supplier": supplier, "price": 1});
    let first = shop
        .api
        .request("POST", &path)
        .key("a-1")
        .json(&body)
        .send()
        .await
        .created();
    let again = shop
        .api
        .request("POST", &path)
        .key("a-1")
        .json(&body)
        .send()
        .await
        .created();
    assert_eq!((first["number"].as_str(), &first), (Some("PUR-2"), &again));
}
