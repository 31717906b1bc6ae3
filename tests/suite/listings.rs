//! Listings: the part of the stock that the website may show, updated with every change of it.

use std::time::Duration;

use harness::{Engine, Shop, both_engines, eventually, next_second, url_query};
use serde_json::{Value, json};

use crate::vehicles_record::path;

both_engines! {
    what_is_on_the_website_is_listed
    a_listing_shows_what_is_for_the_public
    nothing_else_reaches_a_listing
    what_is_taken_off_is_gone_at_once
    hash_and_updated_move_with_the_advert_alone
    a_listing_is_read_again_only_when_it_has_changed
    each_filter_alone
    the_oldest_change_comes_first
    a_delta_holds_what_changed_since
    the_manifest_lists_what_is_live
    the_manifest_is_sent_only_when_something_has_changed
    a_changed_business_shows_in_its_listings
    a_long_manifest_is_whole
}

const LISTINGS: &str = "/2.0/listings";
const MANIFEST: &str = "/2.0/listings/manifest";
/// The maximum time for due background work.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum time for listing some thousand vehicles.
const LONG: Duration = Duration::from_secs(90);

/// Returns a car that can be published, with `data` merged into it by section.
fn car(data: &Value) -> Value {
    let mut car = json!({"data": {
        "vehicle": {"type": "Car", "make": "Ford", "model": "Focus", "fuel": "Petrol", "body": "Hatchback", "colour": "Red",
                    "transmission": "Manual", "mileage": 41_000},
        "history": {"year": 2019},
        "stock": {"price_website": 9995},
    }});
    for (section, members) in data.as_object().unwrap() {
        for (name, value) in members.as_object().unwrap() {
            car["data"][section][name] = value.clone();
        }
    }
    car
}

/// Publishes such a car, and returns its path among the vehicles and its id.
pub(crate) async fn published(shop: &Shop, data: Value) -> (String, i64) {
    let path = path(shop, &car(&data)).await;
    put_on(shop, &path, json!(["website"])).await;
    let id = path.rsplit('/').next().unwrap().parse().unwrap();
    (path, id)
}

async fn put_on(shop: &Shop, path: &str, channels: Value) {
    let body = json!({"channels": channels});
    shop.api.put(&format!("{path}/channels"), &body).await.ok();
}

async fn listing(shop: &Shop, id: i64) -> Value {
    shop.api.get(&format!("{LISTINGS}/{id}")).await.ok()
}

async fn found(shop: &Shop, query: &[(&str, &str)]) -> Vec<i64> {
    let path = url_query(LISTINGS, query.iter().copied());
    let list = shop.api.list(&path).await;
    assert_eq!(list.pagination["total"], list.items.len(), "{path}");
    list.ids()
}

async fn what_is_on_the_website_is_listed(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(found(&shop, &[]).await, [] as [i64; 0]);
    let draft = path(&shop, &car(&json!({}))).await;
    let (_, listed) = published(&shop, json!({})).await;
    let elsewhere = path(&shop, &car(&json!({}))).await;
    put_on(&shop, &elsewhere, json!(["platform_a"])).await;
    assert_eq!(found(&shop, &[]).await, [listed]);
    for path in [&draft, &elsewhere] {
        let id = path.rsplit('/').next().unwrap();
        shop.api
            .get(&format!("{LISTINGS}/{id}"))
            .await
            .refused(404, "listing_not_found");
    }
    for id in ["0", "x", "99999999", "-1", "1.5"] {
        shop.api
            .get(&format!("{LISTINGS}/{id}"))
            .await
            .refused(404, "listing_not_found");
    }
    shop.api
        .post(LISTINGS, &json!({}))
        .await
        .refused(405, "method_not_allowed");
}

async fn a_listing_shows_what_is_for_the_public(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(
        &shop,
        json!({"vehicle": {"doors": 5}, "option": {"website": "<b>Fast</b>"}}),
    )
    .await;
    let vehicle = shop.api.get(&path).await.ok();
    let listing = listing(&shop, id).await;
    let members: Vec<&String> = listing.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "id",
            "tag",
            "country",
            "registration",
            "url_full",
            "status",
            "data",
            "media",
            "updated",
            "hash"
        ]
    );
    for same in ["id", "tag", "country", "registration", "status"] {
        assert_eq!(listing[same], vehicle[same], "{same}");
    }
    assert_eq!(listing["status"]["name"], "for-sale");
    let data = &listing["data"];
    assert_eq!(
        (
            &data["vehicle"]["make"],
            &data["vehicle"]["doors"],
            &data["vehicle"]["seats"]
        ),
        (&json!("Ford"), &json!(5), &json!(null))
    );
    assert_eq!(data["vehicle"]["trim"], json!(null), "what is empty is null");
    let stock = json!({"price_website": "9995.00", "price_rrp": null, "vin": null});
    assert_eq!(data["stock"], stock);
    let history: Vec<&String> = data["history"].as_object().unwrap().keys().collect();
    assert_eq!(history.len(), 4, "{history:?}");
    assert_eq!(data["option"]["website"], "<b>Fast</b>");
    assert_eq!(data["finance"], vehicle["data"]["finance"]);
    assert_eq!(listing["media"], json!([]));
    // With a price on application there is no price to search for or to show.
    shop.api
        .patch(&path, &json!({"data": {"setting": {"poa": "Yes"}}}))
        .await
        .ok();
    let poa = self::listing(&shop, id).await;
    assert_eq!(poa["data"]["stock"]["price_website"], json!(null));
    assert!(found(&shop, &[("price[]", "0"), ("price[]", "")]).await.is_empty());
}

async fn nothing_else_reaches_a_listing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = json!({"name": "Secret Person"});
    let contact = shop.api.post("/2.0/contacts", &contact).await.created()["id"].clone();
    let secrets = json!({
        "stock": {"notes": "SECRET", "reference": "SECRET", "number": "SECRET", "key_number": "SECRET", "origin": "SECRET",
                  "engine_number": "SECRET", "funding_provider_id": contact, "price_reserve": 7531, "price_channel": 7532,
                  "price_auction_reserve": 7533, "stock_quantity": 7534, "due_in_date": "2020-07-31",
                  "purchase_cost_data": [{"type": "SECRET", "supplier": "SECRET", "cost": 7535, "vat": 0, "invoice": "SECRET",
                                          "reference": "SECRET", "date": "2020-07-31"}]},
        "history": {"service_note": "SECRET", "v5": "Yes"},
        "vehicle": {"group": "SECRET"},
    });
    let (path, id) = published(&shop, secrets).await;
    shop.api.patch(&path, &json!({"owner": "1"})).await.ok();
    let text = listing(&shop, id).await.to_string();
    for secret in [
        "SECRET", "Secret", "753", "2020-07", "purchase", "funding", "owner", "notes",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

async fn what_is_taken_off_is_gone_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (unlisted, first) = published(&shop, json!({})).await;
    let (deleted, second) = published(&shop, json!({})).await;
    let (_, stays) = published(&shop, json!({})).await;
    put_on(&shop, &unlisted, json!(["platform_a"])).await;
    assert_eq!(found(&shop, &[]).await, [second, stays]);
    shop.api.delete(&deleted).await.ok();
    assert_eq!(found(&shop, &[]).await, [stays]);
    for id in [first, second] {
        shop.api
            .get(&format!("{LISTINGS}/{id}"))
            .await
            .refused(404, "listing_not_found");
    }
    put_on(&shop, &unlisted, json!(["website"])).await;
    let mut ids = found(&shop, &[]).await;
    ids.sort_unstable();
    assert_eq!(ids, [first, stays]);
}

async fn hash_and_updated_move_with_the_advert_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, json!({})).await;
    let before = listing(&shop, id).await;
    next_second().await;
    for internal in [
        json!({"data": {"stock": {"notes": "Rang twice"}}}),
        json!({"owner": "1"}),
        json!({"data": {"stock": {"price_reserve": 9000}}}),
    ] {
        shop.api.patch(&path, &internal).await.ok();
        assert_eq!(listing(&shop, id).await, before, "{internal}");
    }
    shop.api
        .patch(&path, &json!({"data": {"stock": {"price_website": 9495}}}))
        .await
        .ok();
    let after = listing(&shop, id).await;
    assert_ne!(after["hash"], before["hash"]);
    assert!(after["updated"].as_i64() > before["updated"].as_i64());
    shop.api
        .patch(&path, &json!({"data": {"stock": {"price_website": 9995}}}))
        .await
        .ok();
    assert_eq!(
        listing(&shop, id).await["hash"],
        before["hash"],
        "it shows the same again"
    );
}

async fn a_listing_is_read_again_only_when_it_has_changed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, id) = published(&shop, json!({})).await;
    let address = format!("{LISTINGS}/{id}");
    let answer = shop.api.get(&address).await;
    let tag = answer.header("ETag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", answer.ok()["hash"].as_str().unwrap()));
    assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"));
    let again = async |tag: &str| {
        shop.api
            .request("GET", &address)
            .header("If-None-Match", tag)
            .send()
            .await
            .status
    };
    for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
        assert_eq!(again(&known).await, 304, "{known}");
    }
    assert_eq!(again("\"x\"").await, 200);
    shop.api
        .patch(&path, &json!({"data": {"vehicle": {"colour": "Blue"}}}))
        .await
        .ok();
    assert_eq!(again(&tag).await, 200);
}

async fn each_filter_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, ford) = published(&shop, json!({})).await;
    let bmw = json!({"vehicle": {"make": "BMW", "model": "3 Series", "fuel": "Diesel", "body": "Estate", "colour": "Black",
                                 "transmission": "Automatic", "mileage": 0},
                     "history": {"year": 2021}, "stock": {"price_website": 20000.5}});
    let (_, bmw) = published(&shop, bmw).await;
    let none: &[i64] = &[];
    for (name, value, expected) in [
        ("make", "ford", &[ford][..]),
        ("make", "BM%W%x", none),
        ("make", "%for%", &[ford]),
        ("model", "3 SERIES", &[bmw]),
        ("model", "focu", none),
        ("fuel", "diesel", &[bmw]),
        ("transmission", "manual", &[ford]),
        ("body", "estate", &[bmw]),
        ("colour", "%lack", &[bmw]),
        ("year", "2019", &[ford]),
        ("mileage", "0", &[bmw]),
        ("price", "9995", &[ford]),
        ("price", "20000.50", &[bmw]),
        ("make", "", &[ford, bmw]),
        ("view", "full", &[ford, bmw]),
    ] {
        assert_eq!(found(&shop, &[(name, value)]).await, expected, "{name}={value}");
    }
    for (name, from, to, expected) in [
        ("year", "2020", "", &[bmw][..]),
        ("year", "", "2020", &[ford]),
        ("mileage", "1", "41000", &[ford]),
        ("price", "9995", "20000.50", &[ford, bmw]),
        ("price", "9995.01", "20000.49", none),
    ] {
        let name = format!("{name}[]");
        assert_eq!(
            found(&shop, &[(&name, from), (&name, to)]).await,
            expected,
            "{name} {from} {to}"
        );
    }
    assert_eq!(found(&shop, &[("make", "ford"), ("fuel", "diesel")]).await, none);
}

async fn the_oldest_change_comes_first(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (first, one) = published(&shop, json!({})).await;
    let (_, two) = published(&shop, json!({})).await;
    let (_, three) = published(&shop, json!({})).await;
    next_second().await;
    shop.api
        .patch(&first, &json!({"data": {"vehicle": {"colour": "Blue"}}}))
        .await
        .ok();
    assert_eq!(found(&shop, &[]).await, [two, three, one]);
    for start in ["/2.0/listings?per_page=1", "/2.0/listings?per_page=2&cursor="] {
        let walked: Vec<i64> = shop
            .api
            .walk(start)
            .await
            .iter()
            .map(|item| item["id"].as_i64().unwrap())
            .collect();
        assert_eq!(walked, [two, three, one], "{start}");
    }
    let second = shop.api.list("/2.0/listings?per_page=2&page=2").await;
    assert_eq!((second.ids(), &second.pagination["total"]), (vec![one], &json!(3)));
    assert_eq!(second.pagination["next_cursor"], json!(null));
}

async fn a_delta_holds_what_changed_since(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (first, one) = published(&shop, json!({})).await;
    let (_, two) = published(&shop, json!({})).await;
    next_second().await;
    shop.api
        .patch(&first, &json!({"data": {"vehicle": {"colour": "Blue"}}}))
        .await
        .ok();
    let changed = listing(&shop, one).await["updated"].to_string();
    let stayed = listing(&shop, two).await["updated"].to_string();
    assert_eq!(found(&shop, &[("updated_since", &changed)]).await, [one]);
    assert_eq!(
        found(&shop, &[("updated_since", &stayed)]).await,
        [two, one],
        "at or after"
    );
    assert_eq!(found(&shop, &[("updated_before", &changed)]).await, [two], "before");
    assert!(
        found(&shop, &[("updated_since", &stayed), ("updated_before", &stayed)])
            .await
            .is_empty()
    );
}

async fn the_manifest_lists_what_is_live(engine: Engine) {
    let shop = Shop::open(engine).await;
    let empty = shop.api.get(MANIFEST).await.json();
    assert_eq!(
        empty,
        json!({"success": true, "data": [], "meta": {"count": 0, "updated": null}})
    );
    let (first, one) = published(&shop, json!({})).await;
    let (_, two) = published(&shop, json!({})).await;
    next_second().await;
    shop.api
        .patch(&first, &json!({"data": {"vehicle": {"colour": "Blue"}}}))
        .await
        .ok();
    let entry = async |id| {
        let listing = listing(&shop, id).await;
        json!({"id": id, "updated": listing["updated"], "hash": listing["hash"]})
    };
    let (one, two) = (entry(one).await, entry(two).await);
    let manifest = shop.api.get(MANIFEST).await.json();
    assert_eq!(manifest["data"], json!([one, two]), "by id");
    assert_eq!(manifest["meta"], json!({"count": 2, "updated": one["updated"]}));
}

async fn the_manifest_is_sent_only_when_something_has_changed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (path, _) = published(&shop, json!({})).await;
    let tag = async || {
        let answer = shop.api.get(MANIFEST).await;
        assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"));
        answer.header("ETag").unwrap().to_owned()
    };
    let known = async |tag: &str| {
        shop.api
            .request("GET", MANIFEST)
            .header("If-None-Match", tag)
            .send()
            .await
    };
    let first = tag().await;
    assert!(first.starts_with('"'), "it is strong: {first}");
    let same = known(&first).await;
    assert_eq!(
        (same.status, same.text(), same.header("ETag")),
        (304, "", Some(first.as_str()))
    );
    shop.api
        .patch(&path, &json!({"data": {"stock": {"notes": "x"}}}))
        .await
        .ok();
    assert_eq!(known(&first).await.status, 304, "nothing of it is shown");
    let mut before = first;
    let changes: [(&str, &str, Value); 3] = [
        ("PATCH", "", json!({"data": {"vehicle": {"colour": "Blue"}}})),
        ("PUT", "/channels", json!({"channels": []})),
        ("PUT", "/channels", json!({"channels": ["website"]})),
    ];
    for (method, below, body) in changes {
        shop.api
            .request(method, &format!("{path}{below}"))
            .json(&body)
            .send()
            .await
            .ok();
        assert_eq!(known(&before).await.status, 200, "{method} {body}");
        let after = tag().await;
        assert_ne!(after, before);
        before = after;
    }
    shop.api.delete(&path).await.ok();
    assert_eq!(known(&before).await.status, 200, "a deletion changes it");
}

async fn a_changed_business_shows_in_its_listings(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, id) = published(&shop, json!({})).await;
    let before = listing(&shop, id).await;
    let file = json!({"tag": "acme", "name": "Acme Cars", "website": "https://other.example"});
    shop.installation().business(&file).await;
    let after = eventually("the listing has the new address", TIMEOUT, async || {
        let listing = listing(&shop, id).await;
        let address = listing["url_full"].as_str().unwrap_or_default();
        if address.starts_with("https://other.example/") {
            Ok(listing)
        } else {
            Err(listing)
        }
    })
    .await;
    assert_ne!(after["hash"], before["hash"]);
}

async fn a_long_manifest_is_whole(engine: Engine) {
    let shop = Shop::open(engine).await;
    // With vehicles sold long ago, the manifest is long too.
    let file = json!({"tag": "acme", "name": "Acme Cars", "settings": {"sold_retention_days": 36_500}});
    shop.installation().business(&file).await;
    let (_, id) = published(&shop, json!({})).await;
    let arguments = [
        "sample",
        "--business",
        "acme",
        "--vehicles",
        "2000",
        "--leads",
        "0",
        "--contacts",
        "0",
    ];
    assert!(shop.installation().run(arguments).await.status.success());
    // While the loaded vehicles are being listed, the manifest and the list are not the same for long.
    let (manifest, walked) = eventually("over a thousand listings hold still", LONG, async || {
        let manifest = shop.api.get(MANIFEST).await;
        let count = manifest.json()["meta"]["count"].as_i64();
        if count <= Some(1000) {
            return Err(count);
        }
        let walked = shop.api.walk("/2.0/listings?per_page=500&cursor=&fields=id").await;
        let after = shop.api.get(MANIFEST).await;
        if after.header("ETag") == manifest.header("ETag") {
            Ok((manifest.json(), walked))
        } else {
            Err(count)
        }
    })
    .await;
    let ids = |items: &[Value]| -> Vec<i64> { items.iter().map(|item| item["id"].as_i64().unwrap()).collect() };
    let listed = ids(manifest["data"].as_array().unwrap());
    assert_eq!(i64::try_from(listed.len()).ok(), manifest["meta"]["count"].as_i64());
    assert!(listed.is_sorted_by(|one, other| one < other) && listed.contains(&id));
    let mut walked = ids(&walked);
    walked.sort_unstable();
    assert_eq!(walked, listed);
}
