//! The names and makes of vehicles, the corrections that are possible, and the rules for their adverts.

use harness::{Engine, Shop, both_engines, now};
use serde_json::{Value, json};

use crate::vehicles_record::{VEHICLES, a_car, path, path_of, vehicle};

both_engines! {
    listed_words_are_those_of_the_class
    usual_other_names_read_back_as_the_lists_own
    makes_and_models_are_matched_loosely
    equipment_is_grouped_by_its_usual_names
    members_beside_the_data_can_be_corrected
    a_change_of_nothing_at_all_is_refused
    a_published_vehicle_keeps_what_publishing_needs
    a_price_of_nothing_is_no_price
    advert_html_is_sanitised
    dates_are_between_the_first_car_and_ten_years_ahead
}

/// Creates a vehicle with this identity; returns the identity as it reads back.
async fn identity(shop: &Shop, sent: Value) -> Value {
    let mut made = vehicle(shop, &json!({"data": {"vehicle": sent}})).await;
    made["data"]["vehicle"].take()
}

async fn listed_words_are_those_of_the_class(engine: Engine) {
    let shop = Shop::open(engine).await;
    let car = json!({"data": {"vehicle": {"type": "Car", "body": "Concrete Mixer", "drivetrain": "8x4"}}});
    let expected = ["data.vehicle.body", "data.vehicle.drivetrain"];
    shop.api.post(VEHICLES, &car).await.invalid(&expected);
    let truck = identity(
        &shop,
        json!({"type": "Truck", "body": "Concrete Mixer", "drivetrain": "8x4"}),
    )
    .await;
    assert_eq!(
        (&truck["body"], &truck["drivetrain"]),
        (&json!("Concrete Mixer"), &json!("8x4"))
    );

    let open = path(&shop, &json!({"data": {"vehicle": {"body": "Concrete Mixer"}}})).await;
    let before = shop.api.get(&open).await.ok();
    let car = json!({"data": {"vehicle": {"type": "Car"}}});
    shop.api.patch(&open, &car).await.invalid(&["data.vehicle.body"]);
    assert_eq!(shop.api.get(&open).await.ok(), before);
    let both = json!({"data": {"vehicle": {"type": "Car", "body": "Saloon"}}});
    shop.api.patch(&open, &both).await.ok();
    let mixer = json!({"data": {"vehicle": {"body": "Concrete Mixer"}}});
    shop.api.patch(&open, &mixer).await.invalid(&["data.vehicle.body"]);
}

async fn usual_other_names_read_back_as_the_lists_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (class, field, sent, expected) in [
        ("Car", "fuel", "ELECTRICITY", "Electric"),
        ("Car", "fuel", "HEAVY OIL", "Diesel"),
        ("Car", "fuel", "Mild hybrid petrol", "Petrol Hybrid"),
        ("Car", "transmission", "semi-automatic", "Automatic"),
        ("Car", "colour", "Burgundy", "Maroon"),
        ("Car", "body", "Cabriolet", "Convertible"),
        ("Car", "drivetrain", "4x4", "Four Wheel Drive"),
        ("Truck", "drivetrain", "4x4", "4x4"),
        ("Motorhome", "body", "Coachbuilt", "Coach Built"),
    ] {
        let shown = identity(&shop, json!({"type": class, field: sent})).await;
        assert_eq!(shown[field], expected, "{sent}");
    }
}

async fn makes_and_models_are_matched_loosely(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (make, model, expected) in [
        ("Citroën", "c3", ["Citroen", "C3"]),
        ("ŠKODA", "Octavia", ["Skoda", "Octavia"]),
        ("MERCEDES BENZ", "A-Class", ["Mercedes-Benz", "A Class"]),
        ("vw", "T Roc", ["Volkswagen", "T-Roc"]),
        ("MG", "3", ["MG", "MG3"]),
        ("Ford", "Home Made ", ["Ford", "Home Made "]),
        ("Homebuilt-Co", "A-Class", ["Homebuilt-Co", "A-Class"]),
    ] {
        let shown = identity(&shop, json!({"type": "Car", "make": make, "model": model})).await;
        assert_eq!([&shown["make"], &shown["model"]], expected, "{make} {model}");
    }
}

async fn equipment_is_grouped_by_its_usual_names(engine: Engine) {
    let shop = Shop::open(engine).await;
    let sent = json!([
        "Sat Nav",
        "sat-nav",
        "ISOFIX",
        "CarPlay",
        "DAB",
        "Towbar",
        "17\" alloys",
        "Lane assist",
        "Ejector seat"
    ]);
    let made = vehicle(&shop, &json!({"data": {"option": {"option": sent}}})).await;
    let expected = json!({
        "driver_convenience": ["Satellite navigation"],
        "entertainment": ["Apple CarPlay", "DAB radio"],
        "safety": ["ISOFIX child seat anchor points", "Lane keep assist"],
        "towing": ["Tow bar"],
        "wheels": ["17in alloy wheels"],
        "other": ["Ejector seat"],
    });
    assert_eq!(made["data"]["option"]["feature"], expected);
}

async fn members_beside_the_data_can_be_corrected(engine: Engine) {
    let shop = Shop::open(engine).await;
    let other = vehicle(&shop, &json!({})).await;
    let made = vehicle(&shop, &a_car()).await;
    let path = path_of(&made);
    let change = json!({"registration": "ab21 xyz", "country": "IE", "parent": other["id"]});
    let changed = shop.api.patch(&path, &change).await.ok();
    assert_eq!(
        (&changed["registration"], &changed["country"]),
        (&json!("AB21 XYZ"), &json!("IE"))
    );
    assert_eq!((&changed["parent"], &changed["data"]), (&other["id"], &made["data"]));
    assert_eq!(shop.api.get(&path).await.ok(), changed);
    let found = shop.api.get(&format!("{VEHICLES}?registration=AB21XYZ")).await.list();
    assert_eq!(found.items[0]["id"], made["id"]);

    let cleared = json!({"registration": null, "country": null, "owner": null, "parent": null});
    let cleared = shop.api.patch(&path, &cleared).await.ok();
    assert_eq!(
        (&cleared["registration"], &cleared["country"]),
        (&json!(null), &made["country"])
    );
    assert_eq!((&cleared["owner"], &cleared["parent"]), (&json!(""), &json!(null)));

    let wrong = json!({"registration": 5, "country": "XX", "owner": 987_654, "parent": 987_654_321, "data": null});
    let fields = ["registration", "country", "data", "owner", "parent"];
    shop.api.patch(&path, &wrong).await.invalid(&fields);
    shop.api
        .patch(&path, &json!({"parent": made["id"]}))
        .await
        .invalid(&["parent"]);
}

async fn a_change_of_nothing_at_all_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    for body in [json!({}), json!({"type": "to-order"}), json!({"data": null})] {
        shop.api.patch(&path, &body).await.invalid(&["data"]);
    }
}

async fn a_published_vehicle_keeps_what_publishing_needs(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    let channels = json!({"channels": ["website"]});
    shop.api.put(&format!("{path}/channels"), &channels).await.ok();
    let before = shop.api.get(&path).await.ok();
    for (section, field, value) in [
        ("vehicle", "make", json!("")),
        ("vehicle", "model", Value::Null),
        ("vehicle", "type", Value::Null),
        ("stock", "price_website", Value::Null),
        ("stock", "price_website", json!(0)),
    ] {
        let answer = shop.api.patch(&path, &json!({"data": {section: {field: value}}})).await;
        let error = answer.refused(409, "vehicle_publish_incomplete");
        assert_eq!(error["details"]["missing"], json!([format!("data.{section}.{field}")]));
        assert_eq!(shop.api.get(&path).await.ok(), before);
    }
    let poa = json!({"data": {"stock": {"price_website": null}, "setting": {"poa": "Yes"}}});
    shop.api.patch(&path, &poa).await.ok();
}

async fn a_price_of_nothing_is_no_price(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut car = a_car();
    car["data"]["stock"]["price_website"] = json!(0);
    let path = path(&shop, &car).await;
    let channels = json!({"channels": ["website"]});
    let answer = shop.api.put(&format!("{path}/channels"), &channels).await;
    let error = answer.refused(409, "vehicle_publish_incomplete");
    assert_eq!(error["details"]["missing"], json!(["data.stock.price_website"]));
}

async fn advert_html_is_sanitised(engine: Engine) {
    let shop = Shop::open(engine).await;
    let html = "<h2 onclick=\"x()\">One owner</h2><script>alert(1)</script><p>See <a href=\"javascript:x\">a</a>, \
                <a href=\"https://a.example\">b</a> and <a href=\"/c\">c</a></p>";
    let clean = "<h2>One owner</h2><p>See <a>a</a>, <a href=\"https://a.example\" rel=\"noopener nofollow ugc\">b</a> and \
                 <a href=\"/c\">c</a></p>";
    let made = vehicle(
        &shop,
        &json!({"data": {"option": {"website": html, "description": "<b>plain</b>"}}}),
    )
    .await;
    assert_eq!(made["data"]["option"]["website"], clean);
    assert_eq!(made["data"]["option"]["description"], "<b>plain</b>");
    let again = json!({"data": {"option": {"website": clean}}});
    assert_eq!(shop.api.patch(&path_of(&made), &again).await.ok(), made);
    let long = json!({"data": {"option": {"website": "x".repeat(20_001)}}});
    shop.api
        .patch(&path_of(&made), &long)
        .await
        .invalid(&["data.option.website"]);
}

async fn dates_are_between_the_first_car_and_ten_years_ahead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let this_year = 1970 + now() / 31_556_952;
    for (section, field) in [
        ("vehicle", "registered"),
        ("history", "service_last"),
        ("history", "mot_expiry"),
        ("history", "warranty_expiry"),
        ("stock", "due_in_date"),
        ("stock", "forecourt_date"),
    ] {
        let send = async |date: String| {
            let body = json!({"data": {section: {field: date}}});
            shop.api.patch(&path, &body).await
        };
        for good in ["1885-01-01".to_owned(), format!("{}-12-31", this_year + 9)] {
            assert_eq!(send(good.clone()).await.ok()["data"][section][field], good);
        }
        for bad in [
            "1884-12-31".to_owned(),
            format!("{}-01-01", this_year + 11),
            "9999-12-31".to_owned(),
        ] {
            send(bad).await.invalid(&[&format!("data.{section}.{field}")]);
        }
    }
    let row = json!({"data": {"stock": {"purchase_cost_data": [{"cost": 1, "date": "1066-10-14"}]}}});
    let fault = "data.stock.purchase_cost_data.0.date";
    shop.api.patch(&path, &row).await.invalid(&[fault]);
}
