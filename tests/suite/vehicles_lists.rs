//! Lists of vehicles: their filters, their views, their pages.

use std::time::Duration;

use harness::{Engine, Shop, both_engines, next_second, url_query, wait_for};
use serde_json::{Value, json};

use crate::vehicles_record::{VEHICLES, a_car, path_of, vehicle};

both_engines! {
    every_filter_finds_its_vehicles
    filters_follow_changes
    filters_hold_together
    ranges_are_inclusive
    stamps_are_filters
    wildcards_need_their_scope
    lists_name_things_as_the_business_does_now
    pages_are_as_for_leads
}

/// Creates two vehicles, of which each filter finds only one: all of [`filters`] find the first.
async fn two_vehicles(shop: &Shop) -> (Value, Value) {
    let contact = shop.api.post("/2.0/contacts", &json!({"name": "Ann"})).await.created();
    let other = json!({
        "type": "to-order", "registration": "XX1 XXX", "owner": 2,
        "data": {
            "vehicle": {"type": "Van", "make": "Ford", "model": "Transit", "generation": "Mk8", "derivative": "Trend",
                        "body": "Panel Van", "colour": "White", "fuel": "Petrol", "transmission": "Manual",
                        "mileage": 9},
            "history": {"year": 2021}, "stock": {"reference": "B-1", "number": "2", "price_website": 9_000},
        },
    });
    let one = json!({
        "type": "appraisal", "registration": "ab19 cde", "owner": 1,
        "data": {
            "vehicle": {"type": "Car", "make": "BMW", "model": "3 Series", "generation": "G20", "derivative": "320d_M",
                        "body": "Saloon", "colour": "Nardo Grey", "fuel": "Diesel", "transmission": "Automatic",
                        "mileage": 41_250},
            "history": {"year": 2019},
            "stock": {"reference": "A-17", "number": "1 a", "location": "1", "vin": "wba8e9c50gk647000",
                      "price_website": 17_495.5},
            "appraisal": {"details": {"customer_id": contact["id"]}},
        },
    });
    let one = vehicle(shop, &one).await;
    (one, vehicle(shop, &other).await)
}

/// Returns filters that find the first of [`two_vehicles`], and not the second.
fn filters(one: &Value) -> Vec<(&'static str, String)> {
    let customer = one["data"]["appraisal"]["details"]["customer_id"].as_str().unwrap();
    let tag = one["tag"].as_str().unwrap();
    let fixed = [
        ("type", "appraisal"),
        ("type", "a"),
        ("status", "added"),
        ("registration", "AB19CDE"),
        ("registration", " a b19 Cde"),
        ("owner", "1"),
        ("reference", "a-17"),
        ("number", "1 A"),
        ("vin", "WBA8E9C50GK647000"),
        ("location", "1"),
        ("location", "front"),
        ("make", "bmw"),
        ("model", "3 SERIES"),
        ("generation", "g20"),
        ("derivative", "320D_m"),
        ("body", "saloon"),
        ("colour", "NARDO grey"),
        ("fuel", "diesel"),
        ("transmission", "automatic"),
        ("make", "%BMW%"),
        ("model", "3 Ser%"),
        ("derivative", "%20d_%"),
        ("colour", "nar%rey"),
        ("mileage", "41250"),
        ("year", "2019"),
        ("price", "17495.5"),
        ("price", "17495.50"),
    ];
    let mut filters: Vec<_> = fixed.map(|(name, value)| (name, value.to_owned())).into();
    filters.extend([
        ("tag", tag.to_owned()),
        ("tag", tag.to_lowercase()),
        ("appraisal_contact", customer.to_owned()),
    ]);
    filters
}

async fn every_filter_finds_its_vehicles(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (one, other) = two_vehicles(&shop).await;
    for (name, value) in filters(&one) {
        let list = shop.api.list(&url_query(VEHICLES, [(name, value.as_str())])).await;
        assert_eq!(list.ids(), [one["id"].as_i64().unwrap()], "{name}={value}");
        assert_eq!(list.pagination["total"], 1, "{name}={value}");
    }
    for (name, value) in [
        ("status", "draft"),
        ("registration", "xx1xxx"),
        ("tag_name", "Nothing"),
        ("channel", "website"),
        ("lead", "987654321"),
        ("owner", "987654321"),
        ("make", "BM"),
        ("make", "3%BMW"),
        ("model", "Series"),
        ("derivative", "320dxM"),
        ("derivative", "%0dxM"),
        ("reference", "A%17"),
        ("vin", "WBA"),
        ("location", "2"),
        ("price", "17495.51"),
        ("mileage", "-1"),
    ] {
        let found = shop.api.list(&url_query(VEHICLES, [(name, value)])).await.ids();
        let expected: Vec<i64> = match name {
            "status" | "registration" => other["id"].as_i64().into_iter().collect(),
            _ => Vec::new(),
        };
        assert_eq!(found, expected, "{name}={value}");
    }
    for query in ["", "?status=1", "?unknown=x"] {
        let list = shop.api.list(&format!("{VEHICLES}{query}")).await;
        assert_eq!(list.pagination["total"], 2, "{query}");
    }
}

async fn filters_follow_changes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = vehicle(&shop, &a_car()).await;
    let path = path_of(&made);
    let found = async |name: &str, value: &str| {
        let list = shop.api.list(&url_query(VEHICLES, [(name, value)])).await;
        list.items.len()
    };
    assert_eq!(
        (found("tag_name", "Ready").await, found("tag_name", "ready").await),
        (1, 0)
    );
    let body = json!({"tags": [{"name": "Ready", "checked": false}]});
    shop.api.put(&format!("{path}/tags"), &body).await.ok();
    assert_eq!(found("tag_name", "Ready").await, 1);
    shop.api.put(&format!("{path}/tags"), &json!({"tags": []})).await.ok();
    assert_eq!(found("tag_name", "Ready").await, 0);

    let body = json!({"channels": ["platform_a", "website"]});
    shop.api.put(&format!("{path}/channels"), &body).await.ok();
    for (name, value, number) in [
        ("channel", "website", 1),
        ("channel", "platform_a", 1),
        ("channel", "Website", 0),
        ("status", "for-sale", 1),
        ("status", "2", 1),
        ("status", "reserved", 0),
        ("status", "on-site", 0),
        ("status", "1", 0),
        ("status", "4", 0),
    ] {
        assert_eq!(found(name, value).await, number, "{name}={value}");
    }
    shop.api
        .put(&format!("{path}/channels"), &json!({"channels": ["website"]}))
        .await
        .ok();
    assert_eq!(found("channel", "platform_a").await, 0);

    let change = json!({"data": {"vehicle": {"make": "Lada", "mileage": null}, "stock": {"price_website": null},
                                 "setting": {"poa": "Yes"}}});
    shop.api.patch(&path, &change).await.ok();
    for (name, value, number) in [
        ("make", "ford", 0),
        ("make", "LADA", 1),
        ("mileage", "41250", 0),
        ("mileage", "0", 0),
        ("price", "17495.5", 0),
        ("price", "0", 0),
        ("year", "2019", 1),
    ] {
        assert_eq!(found(name, value).await, number, "{name}={value}");
    }
    shop.api.delete(&path).await.ok();
    assert_eq!((found("make", "lada").await, found("channel", "website").await), (0, 0));
}

async fn filters_hold_together(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (one, _) = two_vehicles(&shop).await;
    let all = filters(&one);
    let pairs = all.iter().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(shop.api.list(&url_query(VEHICLES, pairs)).await.items.len(), 1);
    for none in [
        [("make", "bmw"), ("model", "transit")],
        [("fuel", "petrol"), ("year", "2019")],
    ] {
        let list = shop.api.list(&url_query(VEHICLES, none)).await;
        assert_eq!(
            (list.items.len(), &list.pagination["total"]),
            (0, &json!(0)),
            "{none:?}"
        );
    }
}

async fn ranges_are_inclusive(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (mileage, year, price) in [(0, 1885, 0.0), (100, 2000, 99.99), (200, 2020, 10_000.0)] {
        let body = json!({"data": {"vehicle": {"mileage": mileage}, "history": {"year": year},
                                   "stock": {"price_website": price}}});
        vehicle(&shop, &body).await;
    }
    vehicle(&shop, &json!({})).await;
    for (query, number) in [
        ("mileage[]=0&mileage[]=100", 2),
        ("mileage[]=1&mileage[]=", 2),
        ("mileage[]=&mileage[]=99", 1),
        ("mileage[0]=100&mileage[1]=200", 2),
        ("mileage[1]=100&mileage[0]=100", 1),
        ("mileage[]=200&mileage[]=100", 0),
        ("mileage=100", 1),
        ("year[]=2000&year[]=2020", 2),
        ("year[]=2001&year[]=", 1),
        ("price[]=99.99&price[]=10000", 2),
        ("price[]=99.995&price[]=10000", -1),
        ("price[]=100&price[]=9999.99", 0),
        ("price[]=&price[]=99.99", 2),
        ("price=0", 1),
        ("price=99.9", 0),
        ("mileage[]=&mileage[]=&year=2000", 1),
    ] {
        let answer = shop.api.get(&format!("{VEHICLES}?{query}")).await;
        match usize::try_from(number) {
            Ok(number) => assert_eq!(answer.list().items.len(), number, "{query}"),
            Err(_) => answer.invalid(&["price"]),
        }
    }
}

async fn stamps_are_filters(engine: Engine) {
    let shop = Shop::open(engine).await;
    let first = vehicle(&shop, &json!({})).await;
    next_second().await;
    let second = vehicle(&shop, &json!({})).await;
    next_second().await;
    let change = json!({"data": {"vehicle": {"doors": 5}}});
    let first = shop.api.patch(&path_of(&first), &change).await.ok();
    let ids = async |query: String| shop.api.list(&format!("{VEHICLES}?{query}")).await.ids();
    let (one, two) = (first["id"].as_i64().unwrap(), second["id"].as_i64().unwrap());
    assert_eq!(ids(format!("created={}", second["created"])).await, [two]);
    assert_eq!(ids(format!("created[]=&created[]={}", first["created"])).await, [one]);
    assert_eq!(ids(format!("updated={}", first["updated"])).await, [one]);
    assert_eq!(
        ids(format!(
            "updated[]={}&updated[]={}",
            second["updated"], first["updated"]
        ))
        .await,
        [two, one]
    );
}

async fn wildcards_need_their_scope(engine: Engine) {
    let shop = Shop::open(engine).await;
    two_vehicles(&shop).await;
    let reader = shop.client("vehicles:read").await;
    for name in [
        "make",
        "model",
        "generation",
        "derivative",
        "fuel",
        "transmission",
        "body",
        "colour",
    ] {
        let answer = reader.get(&url_query(VEHICLES, [(name, "%abc%")])).await;
        assert_eq!(
            answer.refused(403, "scope_denied")["details"]["scope"],
            "search:wildcard",
            "{name}"
        );
        reader.get(&url_query(VEHICLES, [(name, "abc")])).await.ok();
        shop.api
            .get(&url_query(VEHICLES, [(name, "%ab%")]))
            .await
            .invalid(&[name]);
    }
    for name in ["reference", "number", "vin", "location", "channel", "tag_name"] {
        let list = reader.list(&url_query(VEHICLES, [(name, "%a%")])).await;
        assert!(list.items.is_empty(), "{name} takes no wildcard");
    }
}

async fn lists_name_things_as_the_business_does_now(engine: Engine) {
    let shop = Shop::open(engine).await;
    let car = vehicle(&shop, &a_car()).await;
    let path = path_of(&car);
    shop.business
        .change(json!({
            "website": "https://cars.acme.example",
            "locations": [{"id": "1", "name": "Behind the \"shed\""}],
        }))
        .await;
    let mut expected = shop.api.list(VEHICLES).await.items.remove(0);
    expected["url_full"] = format!("https://cars.acme.example/vehicles/{}", car["url"].as_str().unwrap()).into();
    expected["data"]["stock"]["location"] = "Behind the \"shed\"".into();
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        shop.api.list(VEHICLES).await.items == std::slice::from_ref(&expected)
    })
    .await;
    assert_eq!(shop.api.get(&format!("{path}?view=simple")).await.ok(), expected);
}

async fn pages_are_as_for_leads(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(vehicle(&shop, &a_car()).await["id"].as_i64().unwrap());
    }
    ids.reverse();
    for query in [
        "",
        "&make=ford",
        "&make=%25ford%25",
        "&status=draft",
        "&tag_name=Ready",
        "&year[]=2019&year[]=",
    ] {
        let page = shop.api.list(&format!("{VEHICLES}?per_page=2&page=2{query}")).await;
        assert_eq!(page.ids(), ids[2..4], "{query}");
        let expected = json!({"page": 2, "per_page": 2, "total": 5, "total_pages": 3});
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(page.pagination[member], *value, "{query}");
        }
        let cursor = page.pagination["next_cursor"].as_str().unwrap();
        let rest = shop
            .api
            .list(&format!("{VEHICLES}?per_page=2&cursor={cursor}{query}"))
            .await;
        assert_eq!(rest.ids(), ids[4..], "{query}");
        assert_eq!(rest.pagination, json!({"per_page": 2, "next_cursor": null}), "{query}");
        let walked = shop.api.walk(&format!("{VEHICLES}?per_page=2{query}")).await;
        let walked: Vec<_> = walked.iter().filter_map(|vehicle| vehicle["id"].as_i64()).collect();
        assert_eq!(walked, ids, "{query}");
    }
    shop.lead_path("Ann").await;
    shop.lead_path("Bea").await;
    let leads = shop.api.list("/2.0/leads?per_page=1").await;
    let foreign = url_query(
        VEHICLES,
        [("cursor", leads.pagination["next_cursor"].as_str().unwrap())],
    );
    shop.api.get(&foreign).await.invalid(&["cursor"]);
}
