//! The life of a vehicle: the channels on which it is published, its states, its tags.

use harness::{Engine, Shop, both_engines, next_second};
use serde_json::{Value, json};

use crate::vehicles_record::{VEHICLES, a_car, path, path_of, vehicle};

both_engines! {
    channels_read_as_they_are_set
    a_draft_that_is_published_is_for_sale
    a_vehicle_off_every_channel_stays_for_sale
    what_publishing_needs_is_validated_in_order
    a_price_on_application_is_a_price
    the_limit_holds
    of_two_at_the_same_time_one_is_published
    options_are_merged
    bad_channels_are_reported
    the_check_lists_what_is_missing
    a_status_is_set_where_no_process_owns_it
    a_status_is_validated
    tags_are_replaced_as_a_set
    what_changes_nothing_sends_nothing
}

async fn publish(shop: &Shop, path: &str, channels: Value) -> harness::Answer {
    let body = json!({"channels": channels});
    shop.api.put(&format!("{path}/channels"), &body).await
}

async fn status(shop: &Shop, path: &str) -> Value {
    shop.api.get(path).await.ok()["status"]["name"].take()
}

async fn limited(engine: Engine, limit: u32) -> Shop {
    let shop = Shop::open(engine).await;
    let settings = json!({"tag": "acme", "name": "Acme Cars", "settings": {"publish_limit": limit}});
    shop.installation().business(&settings).await;
    shop
}

fn platform_a() -> Value {
    json!({"advert": false, "advertiser": false, "profile": false, "locator": false, "demo": false, "poa": false,
           "exclude": false, "overwrite": false, "discrepancy": false})
}

fn channel(id: &str, enabled: bool) -> Value {
    let (name, category) = match id {
        "website" => ("Website", "website"),
        _ => ("Platform A", "marketplace"),
    };
    json!({"id": id, "name": name, "category": category, "enabled": enabled, "removing": false, "offline": !enabled,
           "error": ""})
}

async fn channels_read_as_they_are_set(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    let expected = |published: bool, website: bool, platform: bool| {
        json!({
            "published": published, "channels": [channel("website", website), channel("platform_a", platform)],
            "options": {"platform_a": platform_a(), "platform_b": {"location": ""}},
        })
    };
    let channels = format!("{path}/channels");
    assert_eq!(shop.api.get(&channels).await.ok(), expected(false, false, false));
    for (wanted, shown) in [
        (json!(["website", "website"]), expected(true, true, false)),
        (json!(["platform_a", "website"]), expected(true, true, true)),
        (json!(["platform_a"]), expected(true, false, true)),
        (json!([]), expected(false, false, false)),
    ] {
        assert_eq!(publish(&shop, &path, wanted).await.ok(), shown);
        assert_eq!(shop.api.get(&channels).await.ok(), shown);
    }
    // Options can be changed alone.
    publish(&shop, &path, json!(["website"])).await.ok();
    let advert = json!({"options": {"platform_a": {"advert": true}}});
    let mut shown = expected(true, true, false);
    shown["options"]["platform_a"]["advert"] = true.into();
    assert_eq!(shop.api.put(&channels, &advert).await.ok(), shown);
    shop.api.put(&channels, &json!({})).await.invalid(&["channels"]);
    let reset = json!({"channels": [], "options": null});
    assert_eq!(
        shop.api.put(&channels, &reset).await.ok(),
        expected(false, false, false)
    );
    let part = shop
        .api
        .get(&format!("{channels}?fields=published,channels.id"))
        .await
        .ok();
    assert_eq!(
        part,
        json!({"published": false, "channels": [{"id": "website"}, {"id": "platform_a"}]})
    );
    let reader = shop.client("vehicles:read").await;
    let denied = reader.put(&channels, &json!({"channels": []})).await;
    assert_eq!(
        denied.refused(403, "scope_denied")["details"]["scope"],
        "vehicles:write"
    );
}

async fn a_draft_that_is_published_is_for_sale(engine: Engine) {
    let shop = Shop::open(engine).await;
    for kind in ["in-stock", "to-order"] {
        let mut body = a_car();
        body["type"] = kind.into();
        let made = vehicle(&shop, &body).await;
        let path = path_of(&made);
        publish(&shop, &path, json!(["website"])).await.ok();
        let after = shop.api.get(&path).await.ok();
        assert_eq!(
            after["status"],
            json!({"id": 2, "name": "for-sale", "label": "For Sale"})
        );
        let events = shop.api.get("/2.0/events").await.list().items;
        let last = events.last().unwrap();
        assert_eq!((&last["event"], &last["data"]), (&json!("vehicle.updated"), &after));
    }
}

async fn a_vehicle_off_every_channel_stays_for_sale(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    publish(&shop, &path, json!(["website"])).await.ok();
    assert_eq!(publish(&shop, &path, json!([])).await.ok()["published"], false);
    assert_eq!(status(&shop, &path).await, "for-sale");
    // A field that publishing needs cannot be cleared while the vehicle is for sale.
    publish(&shop, &path, json!(["website"])).await.ok();
    let less = json!({"data": {"vehicle": {"model": null}}});
    shop.api
        .patch(&path, &less)
        .await
        .refused(409, "vehicle_publish_incomplete");
    publish(&shop, &path, json!(["website", "platform_a"])).await.ok();
}

async fn what_publishing_needs_is_validated_in_order(engine: Engine) {
    let shop = limited(engine, 0).await;
    let nothing = format!("{VEHICLES}/987654321");
    publish(&shop, &nothing, json!(["nowhere"]))
        .await
        .invalid(&["channels.0"]);
    publish(&shop, &nothing, json!(["website"]))
        .await
        .refused(404, "vehicle_not_found");
    for kind in ["customer", "courtesy", "appraisal"] {
        let path = path(&shop, &json!({"type": kind})).await;
        publish(&shop, &path, json!(["website"]))
            .await
            .refused(409, "vehicle_status_transition_invalid");
        publish(&shop, &path, json!([])).await.ok();
    }
    let path = path(&shop, &json!({})).await;
    let missing = async || {
        let refused = publish(&shop, &path, json!(["website"])).await;
        refused.refused(409, "vehicle_publish_incomplete")["details"]["missing"].take()
    };
    assert_eq!(
        missing().await,
        json!([
            "data.vehicle.type",
            "data.vehicle.make",
            "data.vehicle.model",
            "data.stock.price_website"
        ])
    );
    let some = json!({"data": {"vehicle": {"type": "Car", "make": " "}, "stock": {"price_website": 1}}});
    shop.api.patch(&path, &some).await.ok();
    assert_eq!(missing().await, json!(["data.vehicle.make", "data.vehicle.model"]));
    let rest = json!({"data": {"vehicle": {"make": "Own", "model": "Special"}}});
    shop.api.patch(&path, &rest).await.ok();
    publish(&shop, &path, json!(["website"]))
        .await
        .refused(409, "vehicle_publish_limit_reached");
    assert_eq!(status(&shop, &path).await, "draft");
    let channels = shop.api.get(&format!("{path}/channels")).await.ok();
    assert_eq!(channels["published"], false);
}

async fn a_price_on_application_is_a_price(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"data": {"vehicle": {"type": "Van", "make": "Ford", "model": "Transit"},
                               "setting": {"poa": "Yes"}}});
    let path = path(&shop, &body).await;
    publish(&shop, &path, json!(["website"])).await.ok();
    assert_eq!(status(&shop, &path).await, "for-sale");
}

async fn the_limit_holds(engine: Engine) {
    let shop = limited(engine, 1).await;
    let (first, second) = (path(&shop, &a_car()).await, path(&shop, &a_car()).await);
    publish(&shop, &first, json!(["website"])).await.ok();
    publish(&shop, &second, json!(["website"]))
        .await
        .refused(409, "vehicle_publish_limit_reached");
    // A vehicle for sale counts once, regardless of the number of channels.
    publish(&shop, &first, json!(["website", "platform_a"])).await.ok();
    publish(&shop, &first, json!([])).await.ok();
    publish(&shop, &second, json!(["website"]))
        .await
        .refused(409, "vehicle_publish_limit_reached");
    publish(&shop, &first, json!(["website"])).await.ok();
    shop.api
        .patch(&format!("{first}/status"), &json!({"status": "draft"}))
        .await
        .ok();
    publish(&shop, &second, json!(["website"])).await.ok();
    shop.api.delete(&second).await.ok();
    publish(&shop, &first, json!(["website"])).await.ok();
    // Another business's vehicles do not count.
    let rival = shop.rival().await;
    let theirs = path_of(&rival.post(VEHICLES, &json!({})).await.created());
    let body = json!({"data": {"vehicle": {"type": "Car", "make": "BMW", "model": "X1"}, "setting": {"poa": "Yes"}}});
    rival.patch(&theirs, &body).await.ok();
    rival
        .put(&format!("{theirs}/channels"), &json!({"channels": ["website"]}))
        .await
        .ok();
}

async fn of_two_at_the_same_time_one_is_published(engine: Engine) {
    let shop = limited(engine, 3).await;
    for round in 0..3 {
        let (one, other) = (path(&shop, &a_car()).await, path(&shop, &a_car()).await);
        if round == 0 {
            for _ in 0..2 {
                let path = path(&shop, &a_car()).await;
                publish(&shop, &path, json!(["website"])).await.ok();
            }
        }
        let (first, second) = tokio::join!(
            publish(&shop, &one, json!(["website"])),
            publish(&shop, &other, json!(["website"]))
        );
        let mut answers = [&first, &second];
        answers.sort_by_key(|answer| answer.status);
        answers[0].ok();
        answers[1].refused(409, "vehicle_publish_limit_reached");
        let list = shop.api.list(&format!("{VEHICLES}?status=for-sale")).await;
        assert_eq!(list.pagination["total"], 3);
        // One leaves, so that the next two race for its place.
        for path in [one, other] {
            shop.api.delete(&path).await.ok();
        }
    }
}

async fn options_are_merged(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let channels = format!("{path}/channels");
    let put = async |options: Value| {
        let body = json!({"channels": [], "options": options});
        shop.api.put(&channels, &body).await.ok()["options"].take()
    };
    let mut expected = json!({"platform_a": platform_a(), "platform_b": {"location": ""}});
    expected["platform_a"]["advert"] = true.into();
    expected["platform_a"]["poa"] = true.into();
    let options = put(json!({"platform_a": {"advert": true, "poa": true, "unknown": 1}, "platform_c": {}})).await;
    assert_eq!(options, expected);
    expected["platform_a"]["poa"] = false.into();
    expected["platform_b"]["location"] = "Leeds".into();
    let options = put(json!({"platform_a": {"poa": false}, "platform_b": {"location": "Leeds"}})).await;
    assert_eq!(options, expected);
    assert_eq!(put(json!({})).await, expected);
    assert_eq!(shop.api.get(&channels).await.ok()["options"], expected);
    assert_eq!(status(&shop, &path).await, "draft");
}

async fn bad_channels_are_reported(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    for (body, fields) in [
        (json!({}), vec!["channels"]),
        (json!({"channels": null}), vec!["channels"]),
        (json!({"channels": "website"}), vec!["channels"]),
        (json!({"channels": ["website", 5]}), vec!["channels.1"]),
        (json!({"channels": ["Website"]}), vec!["channels.0"]),
        (
            json!({"channels": ["website", "platform_b"], "options": {"platform_a": {"poa": "Yes"}, "platform_b": 5}}),
            vec!["channels.1", "options.platform_a.poa", "options.platform_b"],
        ),
        (json!({"channels": [], "options": []}), vec!["options"]),
    ] {
        shop.api.put(&format!("{path}/channels"), &body).await.invalid(&fields);
    }
    assert_eq!(status(&shop, &path).await, "draft");
}

async fn the_check_lists_what_is_missing(engine: Engine) {
    let shop = limited(engine, 1).await;
    let made = vehicle(&shop, &json!({})).await;
    let path = path_of(&made);
    let check = async || shop.api.get(&format!("{path}/publish-check")).await.ok();
    let first = check().await;
    assert_eq!(
        (&first["id"], &first["ready"], &first["publishable"]),
        (&made["id"], &json!(false), &json!(true))
    );
    assert_eq!(first["limit"], json!({"limit": 1, "used": 0, "reached": false}));
    let website = &first["channels"][0];
    assert_eq!(
        (&website["id"], &website["enabled"], &website["ready"]),
        (&json!("website"), &json!(false), &json!(false))
    );
    assert_eq!(website["missing"][0], "data.vehicle.type");
    assert!(website["advised"].as_array().unwrap().contains(&json!("media.photo")));

    shop.api.patch(&path, &a_car()).await.ok();
    let ready = check().await;
    assert_eq!(
        (&ready["ready"], &ready["channels"][0]["missing"]),
        (&json!(true), &json!([]))
    );
    let other = crate::vehicles_record::path(&shop, &a_car()).await;
    publish(&shop, &other, json!(["website"])).await.ok();
    let full = check().await;
    assert_eq!(full["ready"], false);
    assert_eq!(full["limit"], json!({"limit": 1, "used": 1, "reached": true}));
    let check = shop
        .api
        .get(&format!("{other}/publish-check?fields=ready,channels.enabled"))
        .await;
    assert_eq!(
        check.ok(),
        json!({"ready": true, "channels": [{"enabled": true}, {"enabled": false}]})
    );
    let customer = crate::vehicles_record::path(&shop, &json!({"type": "customer"})).await;
    let check = shop.api.get(&format!("{customer}/publish-check")).await.ok();
    assert_eq!((&check["ready"], &check["publishable"]), (&json!(false), &json!(false)));
}

async fn set(shop: &Shop, path: &str, status: Value) -> harness::Answer {
    shop.api
        .patch(&format!("{path}/status"), &json!({"status": status}))
        .await
}

async fn a_status_is_set_where_no_process_owns_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (kind, moves) in [
        (
            "customer",
            [
                (json!(2), "on-site"),
                (json!("closed"), "closed"),
                (json!("on-site"), "on-site"),
                (json!(1), "draft"),
            ],
        ),
        (
            "courtesy",
            [
                (json!("in use"), "in use"),
                (json!(3), "closed"),
                (json!(2), "in use"),
                (json!("draft"), "draft"),
            ],
        ),
    ] {
        let path = path(&shop, &json!({"type": kind})).await;
        for (wanted, name) in moves {
            let after = set(&shop, &path, wanted).await.ok();
            assert_eq!(after["status"]["name"], name, "{kind}");
            assert_eq!(shop.api.get(&path).await.ok(), after);
        }
    }
    let path = path(&shop, &a_car()).await;
    publish(&shop, &path, json!(["website"])).await.ok();
    assert_eq!(set(&shop, &path, json!(1)).await.ok()["status"]["name"], "draft");
    let channels = shop.api.get(&format!("{path}/channels")).await.ok();
    assert_eq!(channels["published"], false, "a draft is nowhere");
}

async fn a_status_is_validated(engine: Engine) {
    let shop = Shop::open(engine).await;
    let stock = path(&shop, &a_car()).await;
    let customer = path(&shop, &json!({"type": "customer"})).await;
    let appraisal = path(&shop, &json!({"type": "appraisal"})).await;
    for (path, wanted, code) in [
        (&stock, json!("reserved"), "vehicle_status_process_required"),
        (&stock, json!("sold"), "vehicle_status_process_required"),
        (&stock, json!(3), "vehicle_status_process_required"),
        (&stock, json!("for-sale"), "vehicle_status_transition_invalid"),
        (&stock, json!(2), "vehicle_status_transition_invalid"),
        (&customer, json!("closed"), "vehicle_status_transition_invalid"),
        (&appraisal, json!("appraised"), "vehicle_status_process_required"),
    ] {
        set(&shop, path, wanted).await.refused(409, code);
    }
    for wanted in [
        json!("on-site"),
        json!("For Sale"),
        json!(0),
        json!(5),
        json!(1.5),
        json!(true),
        Value::Null,
    ] {
        set(&shop, &stock, wanted).await.invalid(&["status"]);
    }
    shop.api
        .patch(&format!("{stock}/status"), &json!({}))
        .await
        .invalid(&["status"]);
    set(&shop, &format!("{VEHICLES}/987654321"), json!("x"))
        .await
        .invalid(&["status"]);
    set(&shop, &format!("{VEHICLES}/987654321"), json!(1))
        .await
        .refused(404, "vehicle_not_found");
    assert_eq!(status(&shop, &stock).await, "draft");
}

async fn tags_are_replaced_as_a_set(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({})).await;
    let tags = format!("{path}/tags");
    let applied = |checked: bool| json!([{"name": "Ready", "checked": checked, "colour": "#3a3", "type": "s"}]);
    let available = json!([{"name": "Ready", "colour": "#3a3", "type": "s", "defaulted": true}]);
    let read = shop.api.get(&tags).await.ok();
    assert_eq!(read, json!({"applied": applied(true), "available": available}));
    for (wanted, shown) in [
        (json!([]), json!([])),
        (json!(["Ready"]), applied(true)),
        (json!([{"name": "Ready", "checked": false}]), applied(false)),
        (
            json!(["Ready", {"name": "Ready", "checked": false}, "Ready"]),
            applied(true),
        ),
    ] {
        let answer = shop.api.put(&tags, &json!({"tags": wanted})).await.ok();
        assert_eq!(answer, json!({"applied": shown, "available": available}));
        assert_eq!(shop.api.get(&tags).await.ok(), answer);
        assert_eq!(shop.api.get(&path).await.ok()["data"]["tag"], shown);
    }
    for (body, fields) in [
        (json!({}), vec!["tags"]),
        (json!({"tags": null}), vec!["tags"]),
        (json!({"tags": "Ready"}), vec!["tags"]),
        (json!({"tags": ["Ready", "Hot", "ready"]}), vec!["tags.1", "tags.2"]),
        // This one belongs to another stock type.
        (json!({"tags": ["Service"]}), vec!["tags.0"]),
        (json!({"tags": [5, {"checked": true}]}), vec!["tags.0", "tags.1.name"]),
        (
            json!({"tags": [{"name": "Ready", "checked": "yes"}]}),
            vec!["tags.0.checked"],
        ),
    ] {
        shop.api.put(&tags, &body).await.invalid(&fields);
    }
    let customer = crate::vehicles_record::path(&shop, &json!({"type": "u"})).await;
    let answer = shop
        .api
        .put(&format!("{customer}/tags"), &json!({"tags": ["Service"]}))
        .await;
    assert_eq!(answer.ok()["applied"][0]["colour"], "#3aa");
}

async fn what_changes_nothing_sends_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &a_car()).await;
    publish(&shop, &path, json!(["website"])).await.ok();
    shop.api.put(&format!("{path}/tags"), &json!({"tags": []})).await.ok();
    let before = shop.api.get(&path).await.ok();
    next_second().await;
    publish(&shop, &path, json!(["website"])).await.ok();
    shop.api.put(&format!("{path}/tags"), &json!({"tags": []})).await.ok();
    set(&shop, &path, json!("for-sale")).await.ok();
    set(&shop, &path, json!(2)).await.ok();
    assert_eq!(shop.api.get(&path).await.ok(), before);
    let events = shop.api.get("/2.0/events").await.list().items;
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["vehicle.created", "vehicle.updated", "vehicle.updated"]);
}
