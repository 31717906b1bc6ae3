//! The stock book and the VAT figures over HTTP.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::vehicles_record::a_car;

both_engines! {
    a_car_is_followed_from_its_purchase_to_its_sale
    what_is_undone_leaves_its_line
    a_plain_sale_and_a_car_that_nobody_bought_lack_particulars
    the_book_is_filtered_and_sent_as_a_file
    figures_of_adjoining_periods_add_up
    names_outlive_an_erasure
}

async fn contact(shop: &Shop, name: &str) -> Value {
    shop.api.post("/2.0/contacts", &json!({"name": name})).await.created()["id"].take()
}

/// Creates a car for sale; returns its path.
async fn car(shop: &Shop) -> (Value, String) {
    let mut body = a_car();
    body["data"]["stock"]["price_website"] = json!(12_995);
    let id = shop.api.post("/2.0/vehicles", &body).await.created()["id"].take();
    let path = format!("/2.0/vehicles/{id}");
    let channels = json!({"channels": ["website"]});
    shop.api.put(&format!("{path}/channels"), &channels).await.ok();
    (id, path)
}

async fn acquire(shop: &Shop, path: &str, body: Value) -> Value {
    let acquisition = format!("{path}/acquisition");
    shop.api.post(&acquisition, &body).await.created();
    shop.api.get(&acquisition).await.ok()["stock_number"].take()
}

async fn entry(shop: &Shop, number: &Value) -> Value {
    shop.api.get(&format!("/2.0/stock-book/{number}")).await.ok()
}

/// Issues an invoice of a car and delivery; returns its path.
async fn invoice(shop: &Shop, buyer: &Value, car: &Value, date: &str) -> String {
    let body = json!({
        "customer": buyer,
        "date": date,
        "lines": [
            {"type": "vehicle", "vehicle": car, "vat_scheme": "margin"},
            {"type": "product", "description": "Delivery", "gross": 150},
        ],
        "issue": true,
    });
    let issued = shop.api.post("/2.0/invoices", &body).await.created();
    format!("/2.0/invoices/{}", issued["id"])
}

async fn a_car_is_followed_from_its_purchase_to_its_sale(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (seller, buyer) = (contact(&shop, "Sam Seller").await, contact(&shop, "Amelia Hart").await);
    let (id, path) = car(&shop).await;
    let bought = json!({"supplier": seller, "price": 10_000, "date": "2026-10-01", "supplier_invoice": "S 1"});
    let number = acquire(&shop, &path, bought).await;
    let bought = entry(&shop, &number).await;
    assert_eq!(number, json!(1));
    assert_eq!(
        json!([
            bought["status"],
            bought["vat_scheme"],
            bought["sale"],
            bought["margin"],
            bought["complete"]
        ]),
        json!(["in_stock", "margin", null, null, true])
    );
    let purchase = &bought["purchase"];
    assert_eq!(
        json!([
            purchase["number"],
            purchase["date"],
            purchase["supplier_invoice"],
            purchase["supplier"],
            purchase["price"],
            purchase["vat"]
        ]),
        json!(["PUR-1", "2026-10-01", "S 1", "Sam Seller", "10000.00", "0.00"])
    );

    let invoice = invoice(&shop, &buyer, &id, "2026-10-20").await;
    let billed = shop.api.get(&invoice).await.ok();
    assert_eq!(billed["lines"][0]["stock_number"], number);
    let sold = entry(&shop, &number).await;
    assert_eq!(
        json!([
            sold["status"],
            sold["margin"],
            sold["vat_due"],
            sold["complete"],
            sold["missing"]
        ]),
        json!(["sold", "2995.00", "499.17", true, []])
    );
    let sale = &sold["sale"];
    assert_eq!(
        json!([
            sale["number"],
            sale["date"],
            sale["customer"],
            sale["price"],
            sale["vat"]
        ]),
        json!([billed["number"], "2026-10-20", "Amelia Hart", "12995.00", "0.00"])
    );

    // A credit of a part lowers the price, below that of the purchase if need be.
    let credit = json!({"lines": [{"line": 1, "gross": 3_000}]});
    shop.api.post(&format!("{invoice}/credit"), &credit).await.ok();
    let credited = entry(&shop, &number).await;
    assert_eq!(
        json!([credited["sale"]["price"], credited["margin"], credited["vat_due"]]),
        json!(["9995.00", "-5.00", "0.00"])
    );
    // What is credited in full counts as unsold, and a car whose sale is undone is in stock.
    shop.api.post(&format!("{invoice}/credit"), &json!({})).await.ok();
    assert_eq!(entry(&shop, &number).await["sale"], Value::Null);
    shop.api.delete(&format!("{path}/sale")).await.ok();
    let unsold = entry(&shop, &number).await;
    assert_eq!(
        json!([unsold["status"], unsold["sale"], unsold["margin"], unsold["vat_due"]]),
        json!(["in_stock", null, null, null])
    );
}

async fn what_is_undone_leaves_its_line(engine: Engine) {
    let shop = Shop::open(engine).await;
    let seller = contact(&shop, "Sam Seller").await;
    let (_, path) = car(&shop).await;
    let body = json!({"supplier": seller, "price": 10_000});
    let first = acquire(&shop, &path, body.clone()).await;
    shop.api.delete(&format!("{path}/acquisition")).await.ok();
    let returned = entry(&shop, &first).await;
    assert_eq!(
        json!([returned["status"], returned["purchase"]["price"]]),
        json!(["returned", "10000.00"])
    );
    let second = acquire(&shop, &path, body).await;
    assert_eq!((first, &second), (json!(1), &json!(2)));
    shop.api.patch(&path, &json!({"registration": "AB14 CDE"})).await.ok();
    assert_eq!(entry(&shop, &second).await["registration"], "AB14 CDE");
    shop.api.delete(&path).await.ok();
    let removed = entry(&shop, &second).await;
    assert_eq!(
        json!([removed["status"], removed["registration"], removed["purchase"]["price"]]),
        json!(["removed", "AB14 CDE", "10000.00"])
    );
    shop.api
        .get("/2.0/stock-book/3")
        .await
        .refused(404, "stock_book_entry_not_found");
}

async fn a_plain_sale_and_a_car_that_nobody_bought_lack_particulars(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (seller, buyer) = (contact(&shop, "Sam Seller").await, contact(&shop, "Amelia Hart").await);
    let (_, path) = car(&shop).await;
    let number = acquire(&shop, &path, json!({"supplier": seller, "price": 10_000})).await;
    let sale = json!({"customer": buyer, "price": 12_000, "date": "2026-10-20"});
    shop.api.post(&format!("{path}/sale"), &sale).await.ok();
    let sold = entry(&shop, &number).await;
    assert_eq!(
        json!([
            sold["status"],
            sold["sale"]["price"],
            sold["sale"]["customer"],
            sold["missing"],
            sold["vat_due"]
        ]),
        json!(["sold", "12000.00", "Amelia Hart", ["sale.number"], null])
    );

    let (other, _) = car(&shop).await;
    let path = invoice(&shop, &buyer, &other, "2026-10-21").await;
    let line = &shop.api.get(&path).await.ok()["lines"][0]["stock_number"];
    assert_eq!(line, &json!(2));
    let unbought = entry(&shop, line).await;
    assert_eq!(
        json!([
            unbought["status"],
            unbought["purchase"],
            unbought["missing"],
            unbought["complete"]
        ]),
        json!(["sold", null, ["purchase"], false])
    );
    // It is acquired after the fact.
    let late = format!("/2.0/vehicles/{other}");
    assert_eq!(
        &acquire(&shop, &late, json!({"supplier": seller, "price": 10_000})).await,
        line
    );
    assert_eq!(entry(&shop, line).await["vat_due"], "499.17");
}

async fn the_book_is_filtered_and_sent_as_a_file(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (seller, buyer) = (contact(&shop, "=Sam").await, contact(&shop, "Amelia Hart").await);
    let mut cars = Vec::new();
    for date in ["2026-10-01", "2026-10-02"] {
        let (id, path) = car(&shop).await;
        acquire(&shop, &path, json!({"supplier": seller, "price": 10_000, "date": date})).await;
        cars.push(id);
    }
    invoice(&shop, &buyer, &cars[0], "2026-10-20").await;
    for (filter, numbers) in [
        ("", json!([2, 1])),
        ("?status=sold", json!([1])),
        ("?status=in_stock", json!([2])),
        ("?vat_scheme=standard", json!([])),
        ("?complete=true", json!([2, 1])),
        ("?complete=false", json!([])),
        ("?purchase_date=2026-10-02", json!([2])),
        ("?sale_date[]=2026-10-01&sale_date[]=2026-10-31", json!([1])),
    ] {
        let list = shop.api.get(&format!("/2.0/stock-book{filter}")).await.ok();
        let found: Vec<&Value> = list.as_array().unwrap().iter().map(|entry| &entry["number"]).collect();
        assert_eq!(json!(found), numbers, "{filter}");
    }
    let by_car = shop.api.get(&format!("/2.0/stock-book?vehicle={}", cars[1])).await.ok();
    assert_eq!(by_car[0]["number"], 2);

    let file = shop.api.request("GET", "/2.0/stock-book").header("Accept", "text/csv");
    let file = file.send().await;
    let rows: Vec<&str> = file.text().split("\r\n").collect();
    assert!(
        rows[0].starts_with("number,vehicle,registration,vin,description"),
        "{}",
        rows[0]
    );
    assert!(rows[1].starts_with("1,") && rows[2].starts_with("2,"), "{rows:?}");
    assert!(rows[1].contains(",'=Sam,10000.00,0.00,"), "{}", rows[1]);
    assert!(rows[1].ends_with(",2995.00,499.17,true,"), "{}", rows[1]);
    assert_eq!(rows.len(), 4);
    let file = shop
        .api
        .request("GET", "/2.0/stock-book?status=sold")
        .header("Accept", "text/csv");
    assert_eq!(file.send().await.text().lines().count(), 2);
}

async fn figures_of_adjoining_periods_add_up(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (seller, buyer) = (contact(&shop, "Sam Seller").await, contact(&shop, "Amelia Hart").await);
    let (id, path) = car(&shop).await;
    acquire(
        &shop,
        &path,
        json!({"supplier": seller, "price": 10_000, "date": "2026-09-10"}),
    )
    .await;
    let invoice = invoice(&shop, &buyer, &id, "2026-09-20").await;
    let credit = json!({"date": "2026-10-05", "lines": [{"line": 1, "gross": 1_000}, {"line": 2, "gross": 30}]});
    shop.api.post(&format!("{invoice}/credit"), &credit).await.ok();
    let figures = async |from: &str, to: &str| {
        shop.api
            .get(&format!("/2.0/reports/vat?from={from}&to={to}"))
            .await
            .ok()
    };
    let september = figures("2026-09-01", "2026-09-30").await;
    assert_eq!(
        september["sales"],
        json!([
            {"vat_scheme": "standard", "vat_rate": "20.00", "net": "125.00", "vat": "25.00", "gross": "150.00", "documents": 1},
            {"vat_scheme": "margin", "vat_rate": "0.00", "net": "12995.00", "vat": "0.00", "gross": "12995.00", "documents": 1},
        ])
    );
    assert_eq!(september["purchases"][0]["gross"], "10000.00");
    assert_eq!(september["margin"], json!({"vehicles": 1, "vat_due": "499.17"}));
    assert_eq!(
        json!([
            september["output_vat"],
            september["input_vat"],
            september["net_vat"],
            september["credits"]
        ]),
        json!(["524.17", "0.00", "524.17", []])
    );
    let october = figures("2026-10-01", "2026-10-31").await;
    assert_eq!(
        json!([
            october["sales"],
            october["credits"][0]["vat"],
            october["margin"]["vat_due"],
            october["output_vat"]
        ]),
        json!([[], "5.00", "-166.67", "-171.67"])
    );
    let both = figures("2026-09-01", "2026-10-31").await;
    assert_eq!(
        json!([both["margin"]["vat_due"], both["output_vat"]]),
        json!(["332.50", "352.50"])
    );
    for (query, fields) in [
        ("", &["from", "to"][..]),
        ("?from=2026-01-01", &["to"]),
        ("?from=2026-01-02&to=2026-01-01", &["to"]),
        ("?from=2025-01-01&to=2026-02-05", &["to"]),
    ] {
        shop.api.get(&format!("/2.0/reports/vat{query}")).await.invalid(fields);
    }
}

async fn names_outlive_an_erasure(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (seller, buyer) = (contact(&shop, "Sam Seller").await, contact(&shop, "Amelia Hart").await);
    let (id, path) = car(&shop).await;
    let number = acquire(&shop, &path, json!({"supplier": seller, "price": 10_000})).await;
    invoice(&shop, &buyer, &id, "2026-10-20").await;
    for contact in [seller, buyer] {
        shop.api.delete(&format!("/2.0/contacts/{contact}")).await.ok();
    }
    let kept = entry(&shop, &number).await;
    assert_eq!(
        json!([kept["purchase"]["supplier"], kept["sale"]["customer"], kept["vat_due"]]),
        json!(["Sam Seller", "Amelia Hart", "499.17"])
    );
}
