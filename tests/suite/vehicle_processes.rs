//! The steps that reserve, sell and appraise a vehicle, and the events of each.

use std::time::Duration;

use harness::{Answer, Client, Engine, Receiver, Shop, both_engines, eventually, now, repeated, today};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::listing_changes::{CHANGES, LISTINGS, id_of, listing, put_on};
use crate::vehicles_record::{VEHICLES, a_car, path, path_of, vehicle};

both_engines! {
    a_reservation_reads_in_full
    the_deposit_is_the_first_that_is_known
    each_method_is_taken
    the_date_is_a_day_or_a_moment
    a_reservation_raises_an_invoice
    tax_is_inside_the_deposit_of_a_taxed_vehicle
    what_was_not_paid_has_no_invoice
    only_what_is_for_sale_is_reserved
    a_cancelled_reservation_is_credited
    what_is_not_reserved_is_not_cancelled
    numbers_have_no_gaps
    a_reserved_vehicle_says_so
    businesses_are_apart
    of_many_at_the_same_time_one_reserves
    steps_that_race_leave_no_half
    a_vehicle_is_sold_from_either_state
    an_update_that_settles_after_a_sale_shows_the_vehicle_sold
    a_sale_is_validated
    a_sale_is_handed_over
    a_sale_is_undone
    a_deleted_vehicle_gives_its_deposit_back
    a_deposit_is_no_more_than_the_price
    an_agreed_amount_is_within_what_may_be_offered
    the_business_hears_that_an_offer_is_wanted
    undoing_a_sale_needs_room
    undoing_a_sale_needs_what_publishing_needs
    a_sold_listing_stays_for_its_window
    without_a_window_a_sold_listing_is_gone_at_once
    an_offer_is_requested_and_made
    what_is_wrong_with_an_offer_is_reported_at_once
    an_accepted_appraisal_becomes_stock
    an_incomplete_appraisal_is_not_accepted
    an_appraisal_goes_forward_alone
    an_erased_contact_leaves_its_reservations
    readers_of_vehicles_see_no_reservation
}

/// The maximum time for background work on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
/// 2024-02-29 at 00:00 UTC.
const LEAP_DAY: i64 = 1_709_164_800;
const DAY: i64 = 86_400;
/// The number of vehicles for which the steps race.
const RACES: usize = 20;

/// Opens a shop whose business has these settings.
async fn shop_with(engine: Engine, settings: &Value) -> Shop {
    let shop = Shop::open(engine).await;
    shop.business.change(json!({"settings": settings})).await;
    shop
}

async fn contact(client: &Client) -> Value {
    let body = json!({"name": "Ann Quillfeather", "email": "ann@quillfeather.example"});
    client.post("/2.0/contacts", &body).await.created()["id"].take()
}

/// Creates a car that is for sale; returns its path.
async fn for_sale(shop: &Shop) -> String {
    for_sale_with(shop, &json!({})).await
}

/// Creates the same, with `stock` merged into its stock data.
async fn for_sale_with(shop: &Shop, stock: &Value) -> String {
    let mut body = a_car();
    for (name, value) in stock.as_object().unwrap() {
        body["data"]["stock"][name] = value.clone();
    }
    let path = path(shop, &body).await;
    put_on(shop, &path, json!(["website"])).await;
    path
}

/// Creates an appraisal of a car that could be sold; returns its path.
async fn appraisal(shop: &Shop) -> String {
    let mut body = a_car();
    body["type"] = "appraisal".into();
    path(shop, &body).await
}

fn an_offer() -> Value {
    json!({"offer": 4500, "expiry": today(7), "appraised_by": 1})
}

/// Takes a step that needs no body.
async fn step(shop: &Shop, path: &str, step: &str) -> Answer {
    shop.api.request("POST", &format!("{path}/{step}")).send().await
}

async fn offer(shop: &Shop, path: &str, body: &Value) -> Answer {
    shop.api.post(&format!("{path}/appraisal/offer"), body).await
}

async fn reserve(shop: &Shop, path: &str, body: &Value) -> Answer {
    shop.api.post(&format!("{path}/reserve"), body).await
}

async fn cancel(shop: &Shop, path: &str) -> Answer {
    shop.api.delete(&format!("{path}/reserve")).await
}

async fn reservation(shop: &Shop, path: &str) -> Value {
    shop.api.get(&format!("{path}/reserve")).await.ok()
}

async fn status(shop: &Shop, path: &str) -> Value {
    shop.api.get(path).await.ok()["status"].take()
}

/// Returns the answer of `GET .../reserve` if nothing is reserved.
fn nothing() -> Value {
    json!({"reserved": false, "cancelled": false, "credit_note": "", "reservation": null})
}

fn cancelled(credit_note: &str) -> Value {
    json!({"reserved": false, "cancelled": true, "credit_note": credit_note, "reservation": null})
}

/// Returns all events that a key may see.
async fn all_events(client: &Client) -> Vec<Value> {
    client.walk("/2.0/events?per_page=500").await
}

/// Returns the events after the first `seen`.
async fn events_after(shop: &Shop, seen: usize) -> Vec<Value> {
    all_events(&shop.api).await.split_off(seen)
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

/// Returns the names of an object's members, in alphabetical order.
fn members(value: &Value) -> Vec<&str> {
    let members = value.as_object().expect("an object");
    let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Returns a deposit, which is a number in either notation.
fn deposit(answer: &Value) -> f64 {
    answer["reservation"]["deposit"]
        .as_f64()
        .unwrap_or_else(|| panic!("the deposit is no number: {answer}"))
}

async fn a_reservation_reads_in_full(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    assert_eq!(reservation(&shop, &path).await, nothing());
    let start = now();
    let body = json!({"customer": customer, "method": "Bank Transfer", "deposit": 250.5, "date": "2024-02-29",
                      "transaction": "TX 7"});
    let mut answer = reserve(&shop, &path, &body).await.ok();
    assert_eq!(reservation(&shop, &path).await, answer);
    assert_eq!(deposit(&answer), 250.5);
    let reserved_at = answer["reservation"]["reserved_at"].take().as_i64().unwrap();
    assert!((start..=now()).contains(&reserved_at), "{reserved_at}");
    answer["reservation"]["deposit"] = Value::Null;
    let expected = json!({
        "reserved": true, "cancelled": false, "credit_note": "",
        "reservation": {
            "customer": customer, "method": "Bank Transfer", "deposit": null, "transaction": "TX 7", "date": LEAP_DAY,
            "reserved_at": null, "vat": false, "invoice": "INV-1", "credit_note": "",
        },
    });
    assert_eq!(answer, expected);
    let part = shop.api.get(&format!("{path}/reserve?fields=reservation.method")).await;
    assert_eq!(part.ok(), json!({"reservation": {"method": "Bank Transfer"}}));
    // Optional members have defaults.
    let other = for_sale(&shop).await;
    let least = json!({"customer": customer, "method": "Cash"});
    let least = reserve(&shop, &other, &least).await.ok();
    assert_eq!(
        (deposit(&least), &least["reservation"]["transaction"]),
        (0.0, &json!(""))
    );
}

async fn the_deposit_is_the_first_that_is_known(engine: Engine) {
    let shop = shop_with(engine, &json!({"reserve_deposit": "99.00"})).await;
    let customer = contact(&shop.api).await;
    for (price_reserve, given, expected) in [
        (json!(300.25), Some(json!(120)), 120.0),
        (json!(300.25), Some(json!(0)), 0.0),
        (json!(300.25), None, 300.25),
        (json!(0), None, 0.0),
        (Value::Null, None, 99.0),
    ] {
        let path = for_sale_with(&shop, &json!({"price_reserve": price_reserve})).await;
        let mut body = json!({"customer": customer, "method": "Card"});
        if let Some(given) = &given {
            body["deposit"] = given.clone();
        }
        let answer = reserve(&shop, &path, &body).await.ok();
        assert_eq!(deposit(&answer), expected, "{price_reserve} {given:?}");
        let has_invoice = answer["reservation"]["invoice"] != "";
        assert_eq!(has_invoice, expected > 0.0, "{price_reserve} {given:?}");
    }
    let path = for_sale_with(&shop, &json!({"price_reserve": 300})).await;
    let body = json!({"customer": customer, "method": "No Payment", "deposit": 50});
    assert_eq!(deposit(&reserve(&shop, &path, &body).await.ok()), 0.0);
}

async fn each_method_is_taken(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    for method in ["No Payment", "Bank Transfer", "Cash", "Card", "Cheque", "Finance"] {
        let path = for_sale(&shop).await;
        let body = json!({"customer": customer, "method": method, "deposit": 10});
        let answer = reserve(&shop, &path, &body).await.ok();
        assert_eq!(answer["reservation"]["method"], method);
        let expected = if method == "No Payment" { 0.0 } else { 10.0 };
        assert_eq!(deposit(&answer), expected, "{method}");
        assert_eq!(
            answer["reservation"]["invoice"] == "",
            method == "No Payment",
            "{method}"
        );
    }
}

async fn the_date_is_a_day_or_a_moment(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    for (date, kept) in [
        (json!("2024-02-29"), LEAP_DAY),
        (json!(LEAP_DAY + 45_296), LEAP_DAY + 45_296),
    ] {
        let path = for_sale(&shop).await;
        let body = json!({"customer": customer, "method": "Cash", "deposit": 10, "date": date});
        let answer = reserve(&shop, &path, &body).await.ok();
        assert_eq!(answer["reservation"]["date"], kept);
        let invoice = all_events(&shop.api).await;
        let invoice = invoice.iter().rfind(|event| event["event"] == "invoice.paid").unwrap();
        assert_eq!(
            (&invoice["data"]["date"], &invoice["data"]["payments"][0]["date"]),
            (&json!("2024-02-29"), &json!("2024-02-29")),
            "{date}"
        );
    }
    let path = for_sale(&shop).await;
    let before = now() / DAY * DAY;
    let body = json!({"customer": customer, "method": "No Payment"});
    let answer = reserve(&shop, &path, &body).await.ok();
    // Midnight may pass in between.
    let date = answer["reservation"]["date"].as_i64().unwrap();
    assert!([before, now() / DAY * DAY].contains(&date), "{date}");
}

async fn a_reservation_raises_an_invoice(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let seen = all_events(&shop.api).await.len();
    let body = json!({"customer": customer, "method": "Bank Transfer", "deposit": 250, "date": "2024-02-29",
                      "transaction": "TX 7"});
    reserve(&shop, &path, &body).await.ok();
    let events = events_after(&shop, seen).await;
    assert_eq!(
        names(&events),
        ["invoice.created", "invoice.issued", "invoice.paid", "vehicle.reserved"]
    );
    assert_eq!(events[3]["data"], shop.api.get(&path).await.ok());
    assert_eq!(events[0]["data"]["id"], events[1]["data"]["id"]);
    let issued = &events[1]["data"];
    assert_eq!(
        (
            &issued["status"]["name"],
            &issued["number"],
            &issued["payments"],
            &issued["totals"]["due"]
        ),
        (&json!("issued"), &json!("INV-1"), &json!([]), &json!("250.00"))
    );
    let versions: Vec<&Value> = events[..3].iter().map(|event| &event["data"]["version"]).collect();
    assert_eq!(versions, [1, 2, 3]);
    let invoice = &events[2]["data"];
    let expected = "bill_from bill_to cancel_until changed created credit_notes currency customer date deal distance \
                    due_date finance id issued lines notes number order parent part_exchanges payments reference \
                    salesperson site status terms totals type updated vehicle version";
    assert_eq!(members(&events[0]["data"]).join(" "), expected);
    assert_eq!(members(invoice).join(" "), expected);
    for (member, value) in [
        ("site", json!(0)),
        ("number", json!("INV-1")),
        ("status", json!({"id": 2, "name": "paid"})),
        ("type", json!("deposit")),
        ("customer", customer),
        ("vehicle", json!(id_of(&path))),
        ("date", json!("2024-02-29")),
        ("currency", json!("GBP")),
        ("credit_notes", json!([])),
        (
            "totals",
            json!({"net": "250.00", "vat": "0.00", "gross": "250.00", "paid": "250.00", "credited": "0.00",
                   "due": "0.00", "refund_due": "0.00"}),
        ),
    ] {
        assert_eq!(invoice[member], value, "{member}");
    }
    for stamp in ["id", "created", "updated", "version"] {
        assert!(invoice[stamp].as_i64().is_some_and(|stamp| stamp > 0), "{stamp}");
    }
    assert_eq!(invoice["lines"].as_array().unwrap().len(), 1);
    let line = &invoice["lines"][0];
    assert_eq!(
        members(line).join(" "),
        "credited description gross id net nominal product quantity stock_number type vat vat_rate vat_scheme vehicle"
    );
    for (member, value) in [
        ("vehicle", json!(id_of(&path))),
        ("net", json!("250.00")),
        ("vat_rate", json!("0.00")),
        ("vat", json!("0.00")),
        ("gross", json!("250.00")),
        ("credited", json!("0.00")),
    ] {
        assert_eq!(line[member], value, "{member}");
    }
    let description = line["description"].as_str().unwrap();
    for part in ["2019", "Ford", "Fiesta", "AB19 CDE"] {
        assert!(description.contains(part), "{part}: {description}");
    }
    assert_eq!(invoice["payments"].as_array().unwrap().len(), 1);
    let payment = &invoice["payments"][0];
    assert_eq!(
        members(payment).join(" "),
        "amount date id method reference reverses type"
    );
    assert_eq!(
        (&payment["method"], &payment["amount"], &payment["reference"]),
        (&json!("Bank Transfer"), &json!("250.00"), &json!("TX 7"))
    );
    // A key without the scope of invoices sees no event of them.
    let reader = shop.client("vehicles:read,webhooks:read").await;
    let events = all_events(&reader).await;
    assert!(
        names(&events).iter().all(|name| name.starts_with("vehicle.")),
        "{:?}",
        names(&events)
    );
}

async fn tax_is_inside_the_deposit_of_a_taxed_vehicle(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    for (stock, taxed) in [
        (json!({"vat": "VAT Qualifying"}), true),
        (json!({"vat": "Non-Qualifying"}), false),
        (json!({"vat_pricing": "Inc VAT"}), true),
        (json!({"vat_pricing": "ex vat"}), true),
        (json!({"vat_pricing": "No VAT"}), false),
    ] {
        let path = for_sale_with(&shop, &stock).await;
        let body = json!({"customer": customer, "method": "Card", "deposit": 120});
        let answer = reserve(&shop, &path, &body).await.ok();
        assert_eq!(answer["reservation"]["vat"], taxed, "{stock}");
        let events = all_events(&shop.api).await;
        let invoice = &events.iter().rfind(|event| event["event"] == "invoice.issued").unwrap()["data"];
        let (net, rate, vat) = if taxed {
            ("100.00", "20.00", "20.00")
        } else {
            ("120.00", "0.00", "0.00")
        };
        for part in [&invoice["lines"][0], &invoice["totals"]] {
            assert_eq!(
                (&part["net"], &part["vat"], &part["gross"]),
                (&json!(net), &json!(vat), &json!("120.00")),
                "{stock}"
            );
        }
        assert_eq!(invoice["lines"][0]["vat_rate"], rate, "{stock}");
    }
}

async fn what_was_not_paid_has_no_invoice(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    for (body, kept) in [
        (
            json!({"customer": customer, "method": "Card", "deposit": 75, "create_invoice": false}),
            75.0,
        ),
        (json!({"customer": customer, "method": "Card", "deposit": 0}), 0.0),
        (
            json!({"customer": customer, "method": "No Payment", "deposit": 75, "create_invoice": true}),
            0.0,
        ),
    ] {
        let path = for_sale(&shop).await;
        let seen = all_events(&shop.api).await.len();
        let answer = reserve(&shop, &path, &body).await.ok();
        assert_eq!((deposit(&answer), &answer["reserved"]), (kept, &json!(true)), "{body}");
        assert_eq!(answer["reservation"]["method"], body["method"]);
        assert_eq!(answer["reservation"]["invoice"], "", "{body}");
        // So there is none to be credited.
        assert_eq!(cancel(&shop, &path).await.ok(), cancelled(""), "{body}");
        let events = events_after(&shop, seen).await;
        assert_eq!(names(&events), ["vehicle.reserved", "vehicle.updated"], "{body}");
    }
}

async fn only_what_is_for_sale_is_reserved(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    let body = json!({"customer": customer, "method": "Card", "deposit": 10});
    let reserved = for_sale(&shop).await;
    let first = reserve(&shop, &reserved, &body).await.ok();
    let sold = for_sale(&shop).await;
    step(&shop, &sold, "sale").await.ok();
    let complete = for_sale(&shop).await;
    step(&shop, &complete, "sale").await.ok();
    step(&shop, &complete, "handover").await.ok();
    let mut refused = vec![path(&shop, &a_car()).await, sold, complete];
    for kind in ["customer", "courtesy", "appraisal"] {
        refused.push(path(&shop, &json!({"type": kind})).await);
    }
    let seen = all_events(&shop.api).await.len();
    reserve(&shop, &reserved, &body)
        .await
        .refused(409, "vehicle_already_reserved");
    assert_eq!(reservation(&shop, &reserved).await, first);
    for path in &refused {
        reserve(&shop, path, &body)
            .await
            .refused(409, "vehicle_reserve_invalid_status");
        assert_eq!(reservation(&shop, path).await, nothing());
    }
    for nowhere in ["987654321", "0", "x"] {
        let nowhere = format!("{VEHICLES}/{nowhere}");
        reserve(&shop, &nowhere, &body).await.refused(404, "vehicle_not_found");
    }
    assert_eq!(all_events(&shop.api).await.len(), seen);
    // To order is stock as well.
    let mut order = a_car();
    order["type"] = "to-order".into();
    let order = path(&shop, &order).await;
    put_on(&shop, &order, json!(["website"])).await;
    reserve(&shop, &order, &body).await.ok();
}

async fn a_cancelled_reservation_is_credited(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let body = json!({"customer": customer, "method": "Card", "deposit": 120});
    reserve(&shop, &path, &body).await.ok();
    let log = all_events(&shop.api).await;
    let issued = &log.iter().rfind(|event| event["event"] == "invoice.issued").unwrap()["data"];
    assert_eq!(cancel(&shop, &path).await.ok(), cancelled("CN-1"));
    for _ in 0..2 {
        assert_eq!(reservation(&shop, &path).await, cancelled("CN-1"));
    }
    let events = events_after(&shop, log.len()).await;
    assert_eq!(names(&events), ["invoice.credited", "vehicle.updated"]);
    let credited = &events[0]["data"];
    assert_eq!((&credited["id"], &credited["number"]), (&issued["id"], &json!("INV-1")));
    assert_eq!(credited["status"], json!({"id": 4, "name": "credited"}));
    assert_eq!(
        (&credited["totals"]["gross"], &credited["totals"]["credited"]),
        (&json!("120.00"), &json!("120.00"))
    );
    assert_eq!(credited["lines"][0]["credited"], "120.00");
    let notes = credited["credit_notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!(members(&notes[0]).join(" "), "date gross lines net number reason vat");
    assert_eq!(
        (&notes[0]["number"], &notes[0]["gross"]),
        (&json!("CN-1"), &json!("120.00"))
    );
    assert!(credited["version"].as_i64() > issued["version"].as_i64());
    let after = shop.api.get(&path).await.ok();
    assert_eq!(events[1]["data"], after);
    assert_eq!(
        after["status"],
        json!({"id": 2, "name": "for-sale", "label": "For Sale"})
    );

    // The next reservation starts from the beginning.
    let again = reserve(&shop, &path, &body).await.ok();
    assert_eq!(
        (&again["reserved"], &again["cancelled"], &again["credit_note"]),
        (&json!(true), &json!(false), &json!(""))
    );
    assert_eq!(again["reservation"]["invoice"], "INV-2");
    assert_eq!(reservation(&shop, &path).await, again);
}

async fn what_is_not_reserved_is_not_cancelled(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    let draft = path(&shop, &a_car()).await;
    let path = for_sale(&shop).await;
    cancel(&shop, &draft).await.refused(409, "vehicle_not_reserved");
    cancel(&shop, &path).await.refused(409, "vehicle_not_reserved");
    let body = json!({"customer": customer, "method": "Card", "deposit": 10});
    reserve(&shop, &path, &body).await.ok();
    cancel(&shop, &path).await.ok();
    let seen = all_events(&shop.api).await.len();
    cancel(&shop, &path).await.refused(409, "vehicle_not_reserved");
    assert_eq!(reservation(&shop, &path).await, cancelled("CN-1"));
    assert_eq!(all_events(&shop.api).await.len(), seen);
    let nowhere = format!("{VEHICLES}/987654321");
    cancel(&shop, &nowhere).await.refused(404, "vehicle_not_found");
}

async fn numbers_have_no_gaps(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    let (one, other) = (for_sale(&shop).await, for_sale(&shop).await);
    let paid = json!({"customer": customer, "method": "Card", "deposit": 10});
    let unpaid = json!({"customer": customer, "method": "No Payment"});
    let wrong = json!({"customer": 987_654_321, "method": "Card", "deposit": 10});
    let mut number = 0;
    for _ in 0..3 {
        for path in [&one, &other] {
            number += 1;
            // A reservation that fails, or is not paid, uses no number.
            reserve(&shop, path, &wrong).await.invalid(&["customer"]);
            reserve(&shop, path, &unpaid).await.ok();
            assert_eq!(cancel(&shop, path).await.ok(), cancelled(""));
            let answer = reserve(&shop, path, &paid).await.ok();
            assert_eq!(answer["reservation"]["invoice"], format!("INV-{number}"));
            reserve(&shop, path, &paid)
                .await
                .refused(409, "vehicle_already_reserved");
            let expected = cancelled(&format!("CN-{number}"));
            assert_eq!(cancel(&shop, path).await.ok(), expected);
            cancel(&shop, path).await.refused(409, "vehicle_not_reserved");
        }
    }
    let log = all_events(&shop.api).await;
    let invoices = log.iter().filter(|event| event["event"] == "invoice.issued");
    let numbers: Vec<&Value> = invoices.map(|event| &event["data"]["number"]).collect();
    assert_eq!(numbers, ["INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-6"]);
}

async fn a_reserved_vehicle_says_so(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let set = async |wanted: Value| {
        let body = json!({"status": wanted});
        shop.api.patch(&format!("{path}/status"), &body).await
    };
    set(json!("reserved"))
        .await
        .refused(409, "vehicle_status_process_required");
    reserve(&shop, &path, &json!({"customer": customer, "method": "No Payment"}))
        .await
        .ok();
    let reserved = json!({"id": 2, "name": "reserved", "label": "Reserved"});
    assert_eq!(status(&shop, &path).await, reserved);
    for (filter, found) in [("reserved", 1), ("for-sale", 0), ("sold", 0)] {
        let list = shop.api.list(&format!("{VEHICLES}?status={filter}")).await;
        assert_eq!(list.pagination["total"], found, "{filter}");
    }
    assert_eq!(listing(&shop, id_of(&path)).await["status"], reserved);
    for wanted in ["sold", "complete"] {
        set(json!(wanted)).await.refused(409, "vehicle_status_process_required");
    }
    assert_eq!(set(json!("draft")).await.status, 409, "the reservation is ended first");
    assert_eq!(status(&shop, &path).await, reserved);
    // The reservation is deleted with its vehicle.
    shop.api.delete(&path).await.ok();
    shop.api
        .get(&format!("{path}/reserve"))
        .await
        .refused(404, "vehicle_not_found");
}

async fn businesses_are_apart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let appraisal = appraisal(&shop).await;
    let neighbour = json!({"tag": "rival", "name": "Rival Motors", "email": "office@rival.example",
                           "staff": [{"id": 1, "name": "Eve", "role": ["sales"], "email": "eve@rival.example"}]});
    let neighbour = shop.installation().business(&neighbour).await;
    let rival = shop.server.client(&neighbour.key("all").await.token);
    let theirs = contact(&rival).await;
    let reservation_of = |customer: &Value| json!({"customer": customer, "method": "Cash", "deposit": 10});
    reserve(&shop, &path, &reservation_of(&theirs))
        .await
        .invalid(&["customer"]);
    let sale = json!({"customer": theirs});
    shop.api
        .post(&format!("{path}/sale"), &sale)
        .await
        .invalid(&["customer"]);
    reserve(&shop, &path, &reservation_of(&customer)).await.ok();
    let before = reservation(&shop, &path).await;
    let seen = all_events(&shop.api).await.len();
    for (method, path, operation, body) in [
        ("GET", &path, "reserve", Value::Null),
        ("POST", &path, "reserve", reservation_of(&theirs)),
        ("DELETE", &path, "reserve", Value::Null),
        ("GET", &path, "sale", Value::Null),
        ("POST", &path, "sale", json!({})),
        ("DELETE", &path, "sale", Value::Null),
        ("POST", &path, "handover", json!({})),
        ("GET", &appraisal, "appraisal", Value::Null),
        ("POST", &appraisal, "appraisal/request-offer", json!({})),
        ("POST", &appraisal, "appraisal/offer", an_offer()),
        ("POST", &appraisal, "appraisal/accept", json!({})),
        ("POST", &appraisal, "appraisal/reject", json!({})),
    ] {
        let mut request = rival.request(method, &format!("{path}/{operation}"));
        if !body.is_null() {
            request = request.json(&body);
        }
        request.send().await.refused(404, "vehicle_not_found");
    }
    assert_eq!(reservation(&shop, &path).await, before);
    assert_eq!(all_events(&shop.api).await.len(), seen);
    // Each business counts its own invoices.
    let car = path_of(&rival.post(VEHICLES, &json!({})).await.created());
    let data = json!({"data": {"vehicle": {"type": "Car", "make": "BMW", "model": "X1"}, "setting": {"poa": "Yes"}}});
    rival.patch(&car, &data).await.ok();
    rival
        .put(&format!("{car}/channels"), &json!({"channels": ["website"]}))
        .await
        .ok();
    let answer = rival
        .post(&format!("{car}/reserve"), &reservation_of(&theirs))
        .await
        .ok();
    assert_eq!(answer["reservation"]["invoice"], "INV-1");
}

async fn of_many_at_the_same_time_one_reserves(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let seen = all_events(&shop.api).await.len();
    let mut requests = JoinSet::new();
    for number in 0..100 {
        let (client, what) = (shop.api.clone(), format!("{path}/reserve"));
        let body = json!({"customer": customer, "method": "Cash", "deposit": 10 + number});
        requests.spawn(async move { client.post(&what, &body).await });
    }
    let (won, lost): (Vec<Answer>, Vec<Answer>) = requests
        .join_all()
        .await
        .into_iter()
        .partition(|answer| answer.status == 200);
    assert_eq!((won.len(), lost.len()), (1, 99));
    for answer in lost {
        answer.refused(409, "vehicle_already_reserved");
    }
    assert_eq!(reservation(&shop, &path).await, won[0].ok());
    let events = events_after(&shop, seen).await;
    assert_eq!(
        names(&events),
        ["invoice.created", "invoice.issued", "invoice.paid", "vehicle.reserved"]
    );
    assert_eq!(events[1]["data"]["number"], "INV-1");
}

/// Every step of a vehicle at once, in each round in another order. The answers match the result, and each step happened once.
async fn steps_that_race_leave_no_half(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    let mut invoices = 0;
    let mut credit_notes = Vec::new();
    for round in 0..repeated(RACES) {
        let path = for_sale(&shop).await;
        let paid = json!({"customer": customer, "method": "Card", "deposit": 10});
        let step = |method, step: &str, body: Value| (method, format!("{path}{step}"), body);
        let mut steps = vec![
            step("POST", "/reserve", paid.clone()),
            step("PUT", "/channels", json!({"channels": []})),
            step("POST", "/sale", json!({"customer": customer})),
            step("DELETE", "/reserve", json!({})),
            step("POST", "/reserve", paid),
            step("DELETE", "/sale", json!({})),
            step("PATCH", "/status", json!({"status": "draft"})),
            step("PUT", "/channels", json!({"channels": ["website"]})),
            step("DELETE", "/reserve", json!({})),
        ];
        if round % 3 == 0 {
            steps.push(step("DELETE", "", json!({})));
        }
        let first = round % steps.len();
        steps.rotate_left(first);
        let mut requests = JoinSet::new();
        for (method, path, body) in steps {
            let client = shop.api.clone();
            requests.spawn(async move { (method, client.request(method, &path).json(&body).send().await, path) });
        }
        for (method, answer, path) in requests.join_all().await {
            assert!(answer.status < 500, "{method} {path}: {answer:?}");
            if answer.status != 200 || !path.ends_with("/reserve") {
                continue;
            }
            match method {
                "POST" => invoices += 1,
                _ => credit_notes.push(answer.ok()["credit_note"].as_str().unwrap().to_owned()),
            }
        }
        let vehicle = shop.api.get(&path).await;
        let listing = shop.api.get(&format!("{LISTINGS}/{}", id_of(&path))).await;
        if vehicle.status == 404 {
            listing.refused(404, "listing_not_found");
            continue;
        }
        let vehicle = vehicle.ok();
        let status = vehicle["status"]["name"].as_str().unwrap();
        assert_eq!(
            reservation(&shop, &path).await["reserved"],
            status == "reserved",
            "{vehicle}"
        );
        let channels = shop.api.get(&format!("{path}/channels")).await.ok();
        let is_listed = status != "draft" && channels["channels"][0]["enabled"] == true;
        assert_eq!(listing.status == 200, is_listed, "{vehicle}");
    }
    let numbers = |letters: &str, count: usize| {
        (1..=count)
            .map(|number| format!("{letters}-{number}"))
            .collect::<Vec<_>>()
    };
    let log = all_events(&shop.api).await;
    let issued: Vec<String> = log
        .iter()
        .filter(|event| event["event"] == "invoice.issued")
        .map(|event| event["data"]["number"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(issued, numbers("INV", invoices));
    assert!(invoices > 0 && !credit_notes.is_empty());
    // A reserved vehicle's deletion credits the deposit as well.
    let mut credited: Vec<String> = log
        .iter()
        .filter(|event| event["event"] == "invoice.credited")
        .map(|event| event["data"]["credit_notes"][0]["number"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        credit_notes.iter().all(|number| credited.contains(number)),
        "{credit_notes:?}"
    );
    credited.sort_by_key(|number| number[3..].parse::<u64>().unwrap());
    assert_eq!(credited, numbers("CN", credited.len()));
}

async fn a_vehicle_is_sold_from_either_state(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let reserved = for_sale(&shop).await;
    let body = json!({"customer": customer, "method": "Cash", "deposit": 10});
    reserve(&shop, &reserved, &body).await.ok();
    let sale = json!({"customer": customer, "price": 17_000.5, "date": "2024-02-29"});
    for (path, body) in [(&path, Value::Null), (&reserved, sale)] {
        let seen = all_events(&shop.api).await.len();
        let mut request = shop.api.request("POST", &format!("{path}/sale"));
        if !body.is_null() {
            request = request.json(&body);
        }
        request.send().await.ok();
        let after = shop.api.get(path).await.ok();
        assert_eq!(after["status"], json!({"id": 3, "name": "sold", "label": "Sold"}));
        // A reservation ends with the sale, and its invoice stays.
        assert_eq!(reservation(&shop, path).await, nothing());
        cancel(&shop, path).await.refused(409, "vehicle_not_reserved");
        let events = events_after(&shop, seen).await;
        assert_eq!(names(&events), ["vehicle.sold"]);
        let sale = shop.api.get(&format!("{path}/sale")).await.ok();
        let mut shown = events[0]["data"].clone();
        assert_eq!(shown.as_object_mut().unwrap().remove("sale").as_ref(), Some(&sale));
        assert_eq!(shown, after);
        assert_eq!(
            members(&sale).join(" "),
            "at customer date deal deposit_invoice handed_over invoice number order price sold"
        );
        assert_eq!((&sale["sold"], &sale["handed_over"]), (&json!(true), &Value::Null));
        let expected = if path == &reserved {
            (customer.clone(), json!("17000.50"), json!("2024-02-29"), json!("INV-1"))
        } else {
            (Value::Null, Value::Null, sale["date"].clone(), Value::Null)
        };
        let shown = ["customer", "price", "date", "deposit_invoice"].map(|member| sale[member].clone());
        assert_eq!(shown, <[Value; 4]>::from(expected));
        // A key without the scope of sales sees the event without it.
        let reader = shop.client("vehicles:read,webhooks:read").await;
        let log = all_events(&reader).await;
        let event = log.iter().rfind(|event| event["event"] == "vehicle.sold").unwrap();
        assert_eq!(event["data"].get("sale"), None);
    }
    let list = shop.api.list(&format!("{VEHICLES}?status=sold")).await;
    assert_eq!(list.pagination["total"], 2);
}

async fn an_update_that_settles_after_a_sale_shows_the_vehicle_sold(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 3)
    })
    .await;
    let path = for_sale(&shop).await;
    let receiver = Receiver::start();
    let scopes = ["vehicles:read", "vehicle-pricing:read", "vehicle-sales:read"];
    let hook = json!({
        "url": receiver.url("/"), "events": ["vehicle.updated", "vehicle.sold"], "scopes": scopes,
    });
    shop.api.post("/2.0/webhooks", &hook).await.created();
    let change = json!({"data": {"vehicle": {"mileage": 41_300}}});
    shop.api.patch(&path, &change).await.ok();
    step(&shop, &path, "sale").await.ok();
    let received = receiver.wait_for(2, TIMEOUT);
    let shown = |name: &str| {
        let delivery = received.iter().map(|request| request.json());
        delivery.into_iter().find(|delivery| delivery["event"] == name).unwrap()
    };
    let (sold, updated) = (shown("vehicle.sold"), shown("vehicle.updated"));
    assert_eq!(updated["data"], shop.api.get(&path).await.ok());
    assert_eq!(updated["created"], sold["created"]);
    assert!(sold["data"].get("sale").is_some());
    // In the log each event keeps the state of its moment.
    let log = all_events(&shop.api).await;
    let logged = log.iter().find(|event| event["id"] == updated["id"]).unwrap();
    assert_eq!(logged["data"]["status"]["name"], "for-sale");
}

async fn a_sale_is_validated(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = for_sale(&shop).await;
    let what = format!("{path}/sale");
    let seen = all_events(&shop.api).await.len();
    for (body, fields) in [
        (json!({"customer": 987_654_321}), vec!["customer"]),
        (json!({"customer": "x"}), vec!["customer"]),
        (json!({"price": -1}), vec!["price"]),
        (json!({"price": 1.234}), vec!["price"]),
        (json!({"price": "17000.00"}), vec!["price"]),
        (json!({"date": "2023-02-29"}), vec!["date"]),
        (json!({"date": "1884-12-31"}), vec!["date"]),
        (json!({"date": today(3_700)}), vec!["date"]),
        (
            json!({"customer": true, "price": -1, "date": "x"}),
            vec!["customer", "price", "date"],
        ),
        (json!([]), vec!["body"]),
    ] {
        shop.api.post(&what, &body).await.invalid(&fields);
    }
    let draft = crate::vehicles_record::path(&shop, &a_car()).await;
    let customer = crate::vehicles_record::path(&shop, &json!({"type": "customer"})).await;
    let after = all_events(&shop.api).await.len();
    assert_eq!(after, seen + 2, "two vehicles were made, and nothing else happened");
    for path in [&draft, &customer] {
        step(&shop, path, "sale")
            .await
            .refused(409, "vehicle_status_transition_invalid");
    }
    for nowhere in ["987654321", "0", "x"] {
        let nowhere = format!("{VEHICLES}/{nowhere}");
        for operation in ["sale", "handover"] {
            step(&shop, &nowhere, operation).await.refused(404, "vehicle_not_found");
        }
        let undo = shop.api.delete(&format!("{nowhere}/sale")).await;
        undo.refused(404, "vehicle_not_found");
    }
    step(&shop, &path, "sale").await.ok();
    step(&shop, &path, "sale")
        .await
        .refused(409, "vehicle_status_transition_invalid");
}

async fn a_sale_is_handed_over(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = for_sale(&shop).await;
    let customer = contact(&shop.api).await;
    let draft = crate::vehicles_record::path(&shop, &a_car()).await;
    let reserved = for_sale(&shop).await;
    reserve(&shop, &reserved, &json!({"customer": customer, "method": "No Payment"}))
        .await
        .ok();
    for path in [&path, &draft, &reserved] {
        step(&shop, path, "handover").await.refused(409, "vehicle_not_sold");
    }
    step(&shop, &path, "sale").await.ok();
    let seen = all_events(&shop.api).await.len();
    step(&shop, &path, "handover").await.ok();
    let sale = shop.api.get(&format!("{path}/sale")).await.ok();
    assert!(sale["handed_over"].as_i64() >= sale["at"].as_i64(), "{sale}");
    let after = shop.api.get(&path).await.ok();
    assert_eq!(
        after["status"],
        json!({"id": 3, "name": "complete", "label": "Complete"})
    );
    let events = events_after(&shop, seen).await;
    assert_eq!(names(&events), ["vehicle.updated"]);
    assert_eq!(events[0]["data"], after);
    step(&shop, &path, "handover").await.refused(409, "vehicle_not_sold");
    assert_eq!(shop.api.get(&path).await.ok(), after);
    let list = shop.api.list(&format!("{VEHICLES}?status=complete")).await;
    assert_eq!(list.pagination["total"], 1);
}

async fn a_sale_is_undone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let what = format!("{path}/sale");
    let body = json!({"customer": customer, "method": "Cash", "deposit": 10});
    let refused = shop.api.delete(&what).await;
    assert_eq!(refused.status, 409, "{}", refused.text());
    let unsold = json!({"sold": false, "customer": null, "price": null, "date": null, "at": null, "handed_over": null,
                        "deposit_invoice": null, "invoice": null, "number": null, "order": null, "deal": null});
    for (handed_over, body) in [
        (false, None),
        (true, None),
        (false, Some(body)),
        (true, Some(json!({"customer": customer, "method": "No Payment"}))),
    ] {
        let reserved = match &body {
            Some(body) => reserve(&shop, &path, body).await.ok(),
            None => nothing(),
        };
        step(&shop, &path, "sale").await.ok();
        if handed_over {
            step(&shop, &path, "handover").await.ok();
        }
        let seen = all_events(&shop.api).await.len();
        shop.api.delete(&what).await.ok();
        let after = shop.api.get(&path).await.ok();
        let expected = if body.is_some() {
            json!({"id": 2, "name": "reserved", "label": "Reserved"})
        } else {
            json!({"id": 2, "name": "for-sale", "label": "For Sale"})
        };
        assert_eq!(after["status"], expected);
        let events = events_after(&shop, seen).await;
        assert_eq!(names(&events), ["vehicle.updated"]);
        assert_eq!(events[0]["data"], after);
        // The vehicle is as it was before the sale, and so are its channels.
        assert_eq!(shop.api.get(&what).await.ok(), unsold);
        let again = reservation(&shop, &path).await;
        if body.is_some() {
            assert_eq!(again, reserved);
            cancel(&shop, &path).await.ok();
        }
        let channels = shop.api.get(&format!("{path}/channels")).await.ok();
        assert_eq!(channels["published"], true);
        let refused = shop.api.delete(&what).await;
        assert_eq!(refused.status, 409, "{}", refused.text());
    }
}

/// A reserved vehicle that is deleted leaves no deposit.
async fn a_deleted_vehicle_gives_its_deposit_back(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let body = json!({"customer": customer, "method": "Cash", "deposit": 10});
    reserve(&shop, &path, &body).await.ok();
    let seen = all_events(&shop.api).await.len();
    shop.api.delete(&path).await.ok();
    let events = events_after(&shop, seen).await;
    assert_eq!(
        names(&events),
        ["invoice.credited", "vehicle.updated", "vehicle.deleted"]
    );
    assert_eq!(events[0]["data"]["credit_notes"][0]["number"], "CN-1");
    assert_eq!(events[2]["data"], json!({"id": id_of(&path)}));
}

async fn a_deposit_is_no_more_than_the_price(engine: Engine) {
    let shop = shop_with(engine, &json!({"reserve_deposit": "10000.00"})).await;
    let customer = contact(&shop.api).await;
    let path = for_sale_with(&shop, &json!({"price_website": 9_995})).await;
    for deposit in [json!({"deposit": 9_995.01}), json!({})] {
        let mut body = json!({"customer": customer, "method": "Cash"});
        body.as_object_mut()
            .unwrap()
            .extend(deposit.as_object().unwrap().clone());
        reserve(&shop, &path, &body).await.invalid(&["deposit"]);
    }
    let body = json!({"customer": customer, "method": "Cash", "deposit": 9_995});
    reserve(&shop, &path, &body).await.ok();
}

async fn undoing_a_sale_needs_room(engine: Engine) {
    let shop = shop_with(engine, &json!({"publish_limit": 1})).await;
    let customer = contact(&shop.api).await;
    let sold = for_sale(&shop).await;
    step(&shop, &sold, "sale").await.ok();
    let (before, what) = (shop.api.get(&sold).await.ok(), format!("{sold}/sale"));
    let other = for_sale(&shop).await;
    shop.api
        .delete(&what)
        .await
        .refused(409, "vehicle_publish_limit_reached");
    // What is reserved counts as well.
    reserve(&shop, &other, &json!({"customer": customer, "method": "No Payment"}))
        .await
        .ok();
    shop.api
        .delete(&what)
        .await
        .refused(409, "vehicle_publish_limit_reached");
    assert_eq!(shop.api.get(&sold).await.ok(), before);
    step(&shop, &other, "sale").await.ok();
    shop.api.delete(&what).await.ok();
    assert_eq!(status(&shop, &sold).await["name"], "for-sale");
}

async fn undoing_a_sale_needs_what_publishing_needs(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = for_sale(&shop).await;
    let what = format!("{path}/sale");
    step(&shop, &path, "sale").await.ok();
    let price = |price: Value| json!({"data": {"stock": {"price_website": price}}});
    shop.api.patch(&path, &price(Value::Null)).await.ok();
    let refused = shop.api.delete(&what).await;
    let refused = refused.refused(409, "vehicle_publish_incomplete");
    assert_eq!(refused["details"]["missing"], json!(["data.stock.price_website"]));
    assert_eq!(status(&shop, &path).await["name"], "sold");
    shop.api.patch(&path, &price(json!(9_995))).await.ok();
    shop.api.delete(&what).await.ok();
}

async fn a_sold_listing_stays_for_its_window(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = for_sale(&shop).await;
    let id = id_of(&path);
    let (sale, handover) = (format!("{path}/sale"), format!("{path}/handover"));
    let mut hashes = Vec::new();
    for (step, name) in [
        (None, "for-sale"),
        (Some(("POST", &sale)), "sold"),
        (Some(("POST", &handover)), "complete"),
        (Some(("DELETE", &sale)), "for-sale"),
    ] {
        if let Some((method, what)) = step {
            shop.api.request(method, what).send().await.ok();
        }
        let listing = listing(&shop, id).await;
        assert_eq!(listing["status"]["name"], name);
        assert_eq!(listing["status"], status(&shop, &path).await);
        hashes.push(listing["hash"].clone());
    }
    assert_eq!(hashes[0], hashes[3], "the advert is the same again");
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(hashes[1], hashes[2]);
}

/// Returns the entries of the changes of listings after a number, and the last number.
async fn changes(shop: &Shop, after: i64) -> (Vec<Value>, i64) {
    let answer = shop.api.get(&format!("{CHANGES}?after={after}")).await;
    let Value::Array(entries) = answer.ok() else {
        panic!("no list: {answer:?}")
    };
    let last = answer.json()["meta"]["last_sequence"].as_i64();
    (entries, last.expect("last_sequence is a number"))
}

async fn without_a_window_a_sold_listing_is_gone_at_once(engine: Engine) {
    let shop = shop_with(engine, &json!({"sold_retention_days": 0})).await;
    let path = for_sale(&shop).await;
    let id = id_of(&path);
    let gone = async || {
        shop.api
            .get(&format!("{LISTINGS}/{id}"))
            .await
            .refused(404, "listing_not_found");
        assert_eq!(shop.api.list(LISTINGS).await.ids(), [] as [i64; 0]);
    };
    assert_eq!(listing(&shop, id).await["status"]["name"], "for-sale");
    let (_, before) = changes(&shop, 0).await;
    step(&shop, &path, "sale").await.ok();
    gone().await;
    let (entries, after) = eventually("the removal is in the log", TIMEOUT, async || {
        let (entries, last) = changes(&shop, before).await;
        if entries.is_empty() {
            Err(last)
        } else {
            Ok((entries, last))
        }
    })
    .await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = &entries[0];
    assert_eq!(members(entry).join(" "), "at id reason sequence type");
    assert_eq!(
        (&entry["type"], &entry["id"], &entry["reason"]),
        (&json!("remove"), &json!(id), &json!("sold"))
    );
    // Neither a change of the vehicle nor its handover prolongs the window.
    let colour = json!({"data": {"vehicle": {"colour": "Red"}}});
    shop.api.patch(&path, &colour).await.ok();
    gone().await;
    step(&shop, &path, "handover").await.ok();
    gone().await;
    assert_eq!(changes(&shop, after).await, (Vec::new(), after));
    // It is back with the vehicle.
    shop.api.delete(&format!("{path}/sale")).await.ok();
    assert_eq!(listing(&shop, id).await["data"]["vehicle"]["colour"], "Red");
    let (entries, _) = changes(&shop, after).await;
    assert_eq!(
        (entries.len(), &entries[0]["type"], &entries[0]["id"]),
        (1, &json!("upsert"), &json!(id))
    );
}

/// Asserts the shape of the answers of an appraisal's steps.
fn assert_shape(answer: &Value) {
    assert_eq!(members(answer).join(" "), "id offer requested status stock tag");
    assert_eq!(
        members(&answer["offer"]).join(" "),
        "agreed_amount appraised_by comments decision expiry max_offer offer"
    );
    assert_eq!(members(&answer["stock"]).join(" "), "id tag");
}

async fn an_offer_is_requested_and_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = vehicle(&shop, &json!({"type": "appraisal"})).await;
    let path = path_of(&made);
    let added = json!({"id": 1, "name": "added", "label": "Added"});
    assert_eq!(made["status"], added);
    let seen = all_events(&shop.api).await.len();
    let asked = step(&shop, &path, "appraisal/request-offer").await.ok();
    assert_shape(&asked);
    assert_eq!(
        (&asked["id"], &asked["tag"], &asked["status"], &asked["requested"]),
        (&made["id"], &made["tag"], &added, &json!(true))
    );
    // A repeated request changes nothing.
    let first = shop.api.get(&path).await.ok();
    assert_eq!(step(&shop, &path, "appraisal/request-offer").await.ok(), asked);
    assert_eq!(shop.api.get(&path).await.ok(), first);

    let start = now();
    let body = json!({"offer": 4500.5, "max_offer": 4500.5, "expiry": today(1), "appraised_by": 2,
                      "comments": "Two owners"});
    let answer = offer(&shop, &path, &body).await.ok();
    assert_shape(&answer);
    let appraised = json!({"id": 2, "name": "appraised", "label": "Appraised"});
    assert_eq!((&answer["id"], &answer["status"]), (&made["id"], &appraised));
    let events = &answer["offer"];
    assert_eq!(
        (&events["expiry"], &events["comments"]),
        (&json!(today(1)), &json!("Two owners"))
    );
    let after = shop.api.get(&path).await.ok();
    assert_eq!(after["status"], appraised);
    let confirm = &after["data"]["appraisal"]["confirm"];
    assert_eq!(
        (&confirm["offer"], &confirm["expiry"], &confirm["decision"]),
        (&json!("4500.50"), &json!(today(1)), &json!(""))
    );
    let appraised_at = confirm["appraised_at"].as_i64().unwrap();
    assert!((start..=now()).contains(&appraised_at), "{appraised_at}");
    let events = events_after(&shop, seen).await;
    assert_eq!(names(&events), ["vehicle.updated", "vehicle.updated"]);
    assert_eq!((&events[0]["data"], &events[1]["data"]), (&first, &after));
    // Asking for an offer first is optional, and today is the earliest last day.
    let unasked = appraisal(&shop).await;
    let mut body = an_offer();
    body["expiry"] = today(0).into();
    offer(&shop, &unasked, &body).await.ok();
}

async fn what_is_wrong_with_an_offer_is_reported_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = appraisal(&shop).await;
    let seen = all_events(&shop.api).await.len();
    for (field, values) in [
        (
            "offer",
            vec![
                json!(0),
                json!(-1),
                json!(1.234),
                json!("4500.00"),
                json!(true),
                Value::Null,
            ],
        ),
        (
            "max_offer",
            vec![json!(4_499.99), json!(0), json!(4_500.001), json!("5000")],
        ),
        (
            "expiry",
            vec![
                json!(today(-1)),
                json!(today(3_700)),
                json!("soon"),
                json!(5),
                Value::Null,
            ],
        ),
        ("appraised_by", vec![json!(99), json!("x"), json!(true), Value::Null]),
        ("comments", vec![json!(5), json!("x".repeat(20_001))]),
    ] {
        for value in values {
            let mut body = an_offer();
            body[field] = value;
            offer(&shop, &path, &body).await.invalid(&[field]);
        }
    }
    let required = ["offer", "expiry", "appraised_by"];
    offer(&shop, &path, &json!({})).await.invalid(&required);
    let all = json!({"offer": 0, "expiry": today(-1), "appraised_by": 99, "comments": 5});
    let fields = ["offer", "expiry", "appraised_by", "comments"];
    offer(&shop, &path, &all).await.invalid(&fields);
    let nowhere = format!("{VEHICLES}/987654321");
    offer(&shop, &nowhere, &json!({})).await.invalid(&required);
    offer(&shop, &nowhere, &an_offer())
        .await
        .refused(404, "vehicle_not_found");
    assert_eq!(status(&shop, &path).await["name"], "added");
    assert_eq!(all_events(&shop.api).await.len(), seen);
}

async fn an_accepted_appraisal_becomes_stock(engine: Engine) {
    let shop = Shop::open(engine).await;
    let customer = contact(&shop.api).await;
    let mut body = a_car();
    body["type"] = "appraisal".into();
    body["owner"] = json!(2);
    body["data"]["appraisal"] = json!({"details": {"customer_id": customer}});
    let path = path(&shop, &body).await;
    offer(&shop, &path, &an_offer()).await.ok();
    let seen = all_events(&shop.api).await.len();
    let start = now();
    step(&shop, &path, "appraisal/accept").await.ok();
    let appraised = shop.api.get(&path).await.ok();
    assert_eq!(
        appraised["status"],
        json!({"id": 3, "name": "accepted", "label": "Accepted"})
    );
    let mut confirm = appraised["data"]["appraisal"]["confirm"].clone();
    for stamp in ["appraised_at", "decision_at"] {
        assert!(confirm[stamp].take().as_i64().is_some_and(|at| at > 0), "{stamp}");
    }
    let decided = appraised["data"]["appraisal"]["confirm"]["decision_at"].as_i64();
    assert!(decided >= Some(start), "{decided:?}");

    let events = events_after(&shop, seen).await;
    assert_eq!(names(&events), ["vehicle.created", "vehicle.updated"]);
    assert_eq!(events[1]["data"], appraised);
    let stock = shop.api.get(&path_of(&events[0]["data"])).await.ok();
    assert_eq!(events[0]["data"], stock);
    let expected = json!({
        "offer": "4500.00", "expiry": today(7), "appraised_at": null, "agreed_amount": "4500.00",
        "decision": "accepted",
        "decision_at": null, "stock_id": stock["id"].to_string(), "stock_tag": stock["tag"],
    });
    assert_eq!(confirm, expected);
    assert_ne!(stock["id"], appraised["id"]);
    assert_eq!(
        (&stock["type"], &stock["status"]["name"], &stock["parent"]),
        (&json!("in-stock"), &json!("draft"), &Value::Null)
    );
    for same in ["registration", "country", "owner"] {
        assert_eq!(stock[same], appraised[same], "{same}");
    }
    for same in ["vehicle", "history", "stock", "option", "spec"] {
        assert_eq!(stock["data"][same], appraised["data"][same], "{same}");
    }
    assert_eq!(
        stock["data"]["appraisal"]["details"],
        json!({"customer_id": "", "customer": ""})
    );
    assert_eq!(stock["data"]["tag"][0]["name"], "Ready");
    // It is sold like any other.
    let new = path_of(&stock);
    put_on(&shop, &new, json!(["website"])).await;
    assert_eq!(status(&shop, &new).await["name"], "for-sale");
}

async fn an_agreed_amount_is_within_what_may_be_offered(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut with_most = an_offer();
    with_most["max_offer"] = json!(5_000);
    let mut without = an_offer();
    without.as_object_mut().unwrap().remove("max_offer");
    for (body, above, agreed) in [(with_most, 5_000.01, 4_750.5), (without, 4_500.51, 4_000.0)] {
        let path = appraisal(&shop).await;
        let accept = format!("{path}/appraisal/accept");
        offer(&shop, &path, &body).await.ok();
        for wrong in [json!(0), json!(-1), json!("4500"), json!(above)] {
            let answer = shop.api.post(&accept, &json!({"agreed_amount": wrong})).await;
            answer.invalid(&["agreed_amount"]);
        }
        assert_eq!(status(&shop, &path).await["name"], "appraised");
        let answer = shop.api.post(&accept, &json!({"agreed_amount": agreed})).await.ok();
        assert_eq!(answer["offer"]["agreed_amount"], format!("{agreed:.2}"));
        let read = shop.api.get(&format!("{path}/appraisal")).await;
        assert_eq!(read.ok(), answer);
        let vehicle = shop.api.get(&path).await.ok();
        assert_eq!(
            vehicle["data"]["appraisal"]["confirm"]["agreed_amount"],
            answer["offer"]["agreed_amount"]
        );
    }
    let car = for_sale(&shop).await;
    let read = shop.api.get(&format!("{car}/appraisal")).await;
    read.refused(409, "vehicle_not_appraisal");
}

async fn the_business_hears_that_an_offer_is_wanted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = appraisal(&shop).await;
    for _ in 0..2 {
        step(&shop, &path, "appraisal/request-offer").await.ok();
    }
    let later = appraisal(&shop).await;
    step(&shop, &later, "appraisal/request-offer").await.ok();
    let mails_about = |path: &str| {
        let line = format!("Appraisal: {} (", id_of(path));
        let mails = shop.installation().mails();
        mails.iter().filter(|mail| mail.contains(&line)).count()
    };
    eventually("both mails are written", TIMEOUT, async || {
        let found = [&path, &later].map(|path| mails_about(path));
        if found.contains(&0) { Err(found) } else { Ok(()) }
    })
    .await;
    assert_eq!(mails_about(&path), 1, "it was requested once");
}

async fn an_incomplete_appraisal_is_not_accepted(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"type": "appraisal"})).await;
    offer(&shop, &path, &an_offer()).await.ok();
    let before = shop.api.get(&path).await.ok();
    let seen = all_events(&shop.api).await.len();
    let missing = async || {
        let refused = step(&shop, &path, "appraisal/accept").await;
        refused.refused(409, "vehicle_appraisal_incomplete")["details"]["missing"].take()
    };
    assert_eq!(
        missing().await,
        json!(["data.vehicle.type", "data.vehicle.make", "data.vehicle.model"])
    );
    assert_eq!(shop.api.get(&path).await.ok(), before);
    assert_eq!(all_events(&shop.api).await.len(), seen);
    let some = json!({"data": {"vehicle": {"type": "Car", "make": "Ford"}}});
    shop.api.patch(&path, &some).await.ok();
    assert_eq!(missing().await, json!(["data.vehicle.model"]));
    let rest = json!({"data": {"vehicle": {"model": "Fiesta"}}});
    shop.api.patch(&path, &rest).await.ok();
    // It needs no price: it is a draft.
    step(&shop, &path, "appraisal/accept").await.ok();
    assert_eq!(status(&shop, &path).await["name"], "accepted");
}

async fn an_appraisal_goes_forward_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let [added, offered, accepted, rejected] = [
        appraisal(&shop).await,
        appraisal(&shop).await,
        appraisal(&shop).await,
        appraisal(&shop).await,
    ];
    for path in [&offered, &accepted, &rejected] {
        offer(&shop, path, &an_offer()).await.ok();
    }
    step(&shop, &accepted, "appraisal/accept").await.ok();
    let seen = all_events(&shop.api).await.len();
    step(&shop, &rejected, "appraisal/reject").await.ok();
    let after = shop.api.get(&rejected).await.ok();
    assert_eq!(
        after["status"],
        json!({"id": 4, "name": "rejected", "label": "Rejected"})
    );
    let confirm = &after["data"]["appraisal"]["confirm"];
    assert_eq!(
        (&confirm["decision"], &confirm["stock_id"], &confirm["stock_tag"]),
        (&json!("rejected"), &json!(""), &json!(""))
    );
    let events = events_after(&shop, seen).await;
    assert_eq!((names(&events), &events[0]["data"]), (vec!["vehicle.updated"], &after));

    let (request, make, accept, reject) = (
        "appraisal/request-offer",
        "appraisal/offer",
        "appraisal/accept",
        "appraisal/reject",
    );
    for (path, steps) in [
        (&added, vec![accept, reject]),
        (&offered, vec![request, make]),
        (&accepted, vec![request, make, accept, reject]),
        (&rejected, vec![request, make, accept, reject]),
    ] {
        let before = shop.api.get(path).await.ok();
        for step in steps {
            let refused = shop.api.post(&format!("{path}/{step}"), &an_offer()).await;
            refused.refused(409, "vehicle_appraisal_invalid_status");
        }
        assert_eq!(shop.api.get(path).await.ok(), before);
    }
    // Other vehicles do not have such steps.
    for kind in ["in-stock", "to-order", "customer", "courtesy"] {
        let path = path(&shop, &json!({"type": kind})).await;
        for step in [request, make, accept, reject] {
            let refused = shop.api.post(&format!("{path}/{step}"), &an_offer()).await;
            refused.refused(409, "vehicle_not_appraisal");
        }
    }
    for step in [request, make, accept, reject] {
        let refused = shop
            .api
            .post(&format!("{VEHICLES}/987654321/{step}"), &an_offer())
            .await;
        refused.refused(404, "vehicle_not_found");
    }
}

async fn an_erased_contact_leaves_its_reservations(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let body = json!({"customer": customer, "method": "Cash", "deposit": 10, "transaction": "TX-QUILL-1"});
    reserve(&shop, &path, &body).await.ok();
    shop.api.delete(&format!("/2.0/contacts/{customer}")).await.ok();
    let left = eventually("the reservation names nobody", TIMEOUT, async || {
        let left = reservation(&shop, &path).await;
        if left["reservation"]["customer"].is_null() {
            Ok(left)
        } else {
            Err(left)
        }
    })
    .await;
    assert_eq!((&left["reserved"], deposit(&left)), (&json!(true), 10.0));
    assert_eq!(
        (&left["reservation"]["method"], &left["reservation"]["invoice"]),
        (&json!("Cash"), &json!("INV-1"))
    );
    assert!(!left.to_string().contains("QUILL"), "{left}");
    eventually("the invoice names nobody", TIMEOUT, async || {
        let log = all_events(&shop.api).await;
        let data = |name: &str| {
            let named = log.iter().filter(|event| event["event"] == name);
            named.map(|event| event["data"].clone()).collect::<Vec<_>>()
        };
        let (created, issued) = (data("invoice.created"), data("invoice.issued"));
        assert_eq!((created.len(), issued.len()), (1, 1));
        assert_eq!(issued[0]["number"], "INV-1");
        if created[0]["customer"].is_null() && issued[0]["customer"].is_null() {
            Ok(())
        } else {
            Err((created, issued))
        }
    })
    .await;
    assert_eq!(status(&shop, &path).await["name"], "reserved");
    // It is cancelled like any other.
    assert_eq!(cancel(&shop, &path).await.ok(), cancelled("CN-1"));
    let log = all_events(&shop.api).await;
    let credited = log.iter().rfind(|event| event["event"] == "invoice.credited").unwrap();
    assert_eq!(credited["data"]["customer"], Value::Null);
}

async fn readers_of_vehicles_see_no_reservation(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, customer) = (for_sale(&shop).await, contact(&shop.api).await);
    let body = json!({"customer": customer, "method": "Bank Transfer", "deposit": 10, "transaction": "TX-QUILL-1"});
    reserve(&shop, &path, &body).await.ok();
    let reader = shop.client("vehicles:read,listings:read,webhooks:read").await;
    let id = id_of(&path);
    for what in [
        path.clone(),
        format!("{path}?view=simple"),
        format!("{VEHICLES}?view=full"),
        "/2.0/events".to_owned(),
        format!("{LISTINGS}/{id}"),
    ] {
        let answer = reader.get(&what).await;
        answer.ok();
        for secret in ["QUILL", "Quillfeather", "Bank Transfer", "INV-1", "\"reservation\""] {
            assert!(!answer.text().contains(secret), "{secret}: {}", answer.text());
        }
    }
    let denied = reader.get(&format!("{path}/reserve")).await;
    assert_eq!(
        denied.refused(403, "scope_denied")["details"]["scope"],
        "vehicle-reserve:read"
    );
}
