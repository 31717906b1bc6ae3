use forecourt_kernel::{Clock as _, EventName, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{ChannelsView, PublishCheck, TransitionError, Vehicle, VehicleError, VehicleStatus};
use serde_json::{Value, json};

use crate::support::{Yard, complete, faults};

fn shown(yard: &Yard, vehicle: &Vehicle) -> Value {
    serde_json::to_value(ChannelsView::new(vehicle, &yard.caller.business, yard.clock.now())).unwrap()
}

fn enabled(yard: &Yard, vehicle: &Vehicle) -> Vec<String> {
    let shown = shown(yard, vehicle);
    let channels = shown["channels"].as_array().unwrap();
    let enabled = channels.iter().filter(|channel| channel["enabled"] == true);
    enabled
        .map(|channel| channel["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn publishing_a_draft_puts_it_up_for_sale() {
    for kind in [StockType::InStock, StockType::ToOrder] {
        let (mut yard, vehicle) = Yard::with(kind, complete()).await;
        let sold = yard
            .publish(vehicle.id, &["platform_a", "website", "website"])
            .await
            .unwrap();
        yard.assert_recorded(EventName::VehicleUpdated, &sold);
        assert_eq!(sold.content.status, VehicleStatus::ForSale);
        assert_eq!(
            sold.content.channels,
            ["website", "platform_a"],
            "in the order of the business's list"
        );
        assert_eq!(
            yard.view(&sold)["status"],
            json!({"id": 2, "name": "for-sale", "label": "For Sale"})
        );
    }
}

#[tokio::test]
async fn the_answer_lists_every_channel_of_the_business() {
    let (yard, vehicle) = Yard::selling(complete()).await;
    let channel = |id: &str, name: &str, category: &str, enabled: bool| json!({"id": id, "name": name, "category": category, "enabled": enabled, "removing": false, "offline": id != "website", "error": ""});
    assert_eq!(
        shown(&yard, &vehicle),
        json!({
            "published": true,
            "channels": [
                channel("website", "Website", "website", true),
                channel("platform_a", "Platform A", "marketplace", false),
                channel("platform_b", "Platform B", "marketplace", false),
            ],
            "options": {
                "platform_a": {
                    "advert": false, "advertiser": false, "profile": false, "locator": false, "demo": false, "poa": false,
                    "exclude": false, "overwrite": false, "discrepancy": false,
                },
                "platform_b": {"location": ""},
            },
        })
    );
}

#[tokio::test]
async fn channels_that_are_not_listed_are_removed() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let moved = yard.publish(vehicle.id, &["platform_b"]).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &moved);
    assert_eq!(enabled(&yard, &moved), ["platform_b"]);

    let unlisted = yard.publish(vehicle.id, &[]).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &unlisted);
    assert_eq!(unlisted.content.status, VehicleStatus::ForSale);
    assert_eq!(shown(&yard, &unlisted)["published"], false);

    yard.forget_saves();
    yard.publish(vehicle.id, &[]).await.unwrap();
    yard.assert_untouched(&unlisted);
}

#[tokio::test]
async fn refusals_come_in_their_order() {
    // Everything is wrong at first; one fault after the other is corrected.
    let (mut yard, vehicle) = Yard::with(StockType::Customer, json!({})).await;
    let nowhere = VehicleId::new(5);
    let unknown = yard.publish(nowhere, &["website", "nonsense", "Website"]).await;
    assert_eq!(faults(unknown), ["channels.1", "channels.2"]);
    let absent = yard.publish(nowhere, &["website"]).await;
    assert!(matches!(absent, Err(VehicleError::NotFound(_))), "{absent:?}");
    let immovable = yard.publish(vehicle.id, &["website"]).await;
    assert!(
        matches!(
            immovable,
            Err(VehicleError::Transition(TransitionError::TransitionInvalid))
        ),
        "{immovable:?}"
    );

    yard.reform(|business| business.settings.publish_limit = Some(0));
    let stock = yard.create(StockType::InStock, json!({})).await.unwrap();
    let needs = [
        (json!({"vehicle": {"type": "Car"}}), "data.vehicle.type"),
        (json!({"vehicle": {"make": "Ford"}}), "data.vehicle.make"),
        (json!({"vehicle": {"model": "Fiesta"}}), "data.vehicle.model"),
        (json!({"stock": {"price_website": 0.01}}), "data.stock.price_website"),
    ];
    for (at, (patch, _)) in needs.iter().enumerate() {
        let expected: Vec<_> = needs[at..].iter().map(|(_, path)| *path).collect();
        match yard.publish(stock.id, &["website"]).await {
            Err(VehicleError::PublishIncomplete(missing)) => assert_eq!(missing, expected),
            other => panic!("what is missing was expected: {other:?}"),
        }
        yard.update(stock.id, patch.clone()).await.unwrap();
    }
    let limited = yard.publish(stock.id, &["website"]).await;
    assert!(
        matches!(limited, Err(VehicleError::PublishLimitReached(0))),
        "{limited:?}"
    );
    assert_eq!(yard.stored(stock.id).content.status, VehicleStatus::Draft);
    yard.reform(|business| business.settings.publish_limit = None);
    assert!(yard.publish(stock.id, &["website"]).await.is_ok());
}

#[tokio::test]
async fn a_price_on_application_is_as_good_as_a_price() {
    let data = json!({"vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"}, "setting": {"poa": "Yes"}});
    let (mut yard, vehicle) = Yard::with(StockType::InStock, data).await;
    let published = yard.publish(vehicle.id, &["website"]).await.unwrap();
    assert_eq!(published.content.status, VehicleStatus::ForSale);
}

#[tokio::test]
async fn blank_names_are_missing() {
    let data = json!({"vehicle": {"type": "Car", "make": " ", "model": ""}, "stock": {"price_website": 1}});
    let (mut yard, vehicle) = Yard::with(StockType::InStock, data).await;
    match yard.publish(vehicle.id, &["website"]).await {
        Err(VehicleError::PublishIncomplete(missing)) => {
            assert_eq!(missing, ["data.vehicle.make", "data.vehicle.model"]);
        }
        other => panic!("what is missing was expected: {other:?}"),
    }
}

#[tokio::test]
async fn the_limit_counts_what_is_for_sale_or_reserved() {
    let (mut yard, first) = Yard::selling(complete()).await;
    let second = yard.create(StockType::ToOrder, complete()).await.unwrap();
    yard.publish(second.id, &["website"]).await.unwrap();
    let third = yard.create(StockType::InStock, complete()).await.unwrap();
    let over = yard.publish(third.id, &["website"]).await;
    assert!(matches!(over, Err(VehicleError::PublishLimitReached(2))), "{over:?}");

    let more = yard.publish(first.id, &["website", "platform_a"]).await;
    assert!(more.is_ok(), "what is for sale already is not one more");
    yard.force(first.id, VehicleStatus::Reserved).await;
    let over = yard.publish(third.id, &["website"]).await;
    assert!(matches!(over, Err(VehicleError::PublishLimitReached(2))), "{over:?}");
    yard.force(first.id, VehicleStatus::Sold).await;
    assert!(yard.publish(third.id, &["website"]).await.is_ok());

    yard.change_business();
    let elsewhere = yard.create(StockType::InStock, complete()).await.unwrap();
    assert!(
        yard.publish(elsewhere.id, &["website"]).await.is_ok(),
        "each business counts its own"
    );
}

#[tokio::test]
async fn a_sold_vehicle_leaves_channels_and_joins_none() {
    for status in [VehicleStatus::Sold, VehicleStatus::Complete] {
        let (mut yard, vehicle) = Yard::selling(complete()).await;
        let vehicle = yard.force(vehicle.id, status).await;
        let outcome = yard.publish(vehicle.id, &["website", "platform_a"]).await;
        assert!(
            matches!(
                outcome,
                Err(VehicleError::Transition(TransitionError::TransitionInvalid))
            ),
            "{outcome:?}"
        );
        yard.publish(vehicle.id, &["website"]).await.unwrap();
        yard.assert_untouched(&vehicle);
        let left = yard.publish(vehicle.id, &[]).await.unwrap();
        assert_eq!((left.content.status, left.content.channels.len()), (status, 0));
    }
}

#[tokio::test]
async fn a_reserved_vehicle_stays_reserved() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    yard.force(vehicle.id, VehicleStatus::Reserved).await;
    let more = yard.publish(vehicle.id, &["website", "platform_b"]).await.unwrap();
    assert_eq!(more.content.status, VehicleStatus::Reserved);
    assert_eq!(enabled(&yard, &more), ["website", "platform_b"]);
}

#[tokio::test]
async fn options_are_merged_and_need_no_publishing() {
    let (mut yard, vehicle) = Yard::with(StockType::Courtesy, json!({})).await;
    let first = json!({"platform_a": {"advert": true, "poa": true}, "platform_b": {"location": "Leeds"}});
    let changed = yard.publish_with(vehicle.id, &[], first).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &changed);
    assert_eq!(changed.content.status, VehicleStatus::Draft);

    let second = json!({"platform_a": {"poa": false, "demo": true, "unknown": 5}, "platform_c": {"x": 1}});
    let merged = yard.publish_with(vehicle.id, &[], second).await.unwrap();
    let options = &shown(&yard, &merged)["options"];
    assert_eq!(options["platform_b"], json!({"location": "Leeds"}));
    assert_eq!(
        options["platform_a"],
        json!({
            "advert": true, "advertiser": false, "profile": false, "locator": false, "demo": true, "poa": false,
            "exclude": false, "overwrite": false, "discrepancy": false,
        })
    );
    for (sent, path) in [
        (json!({"platform_a": {"advert": "true"}}), "options.platform_a.advert"),
        (json!({"platform_a": 5}), "options.platform_a"),
        (json!({"platform_b": {"location": 5}}), "options.platform_b.location"),
        (json!([]), "options"),
    ] {
        assert_eq!(faults(yard.publish_with(vehicle.id, &[], sent).await), [path]);
    }
}

#[tokio::test]
async fn the_check_says_beforehand_what_publishing_would() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({"vehicle": {"type": "Car"}})).await;
    let check = |yard: &Yard, vehicle: &Vehicle, for_sale| {
        serde_json::to_value(PublishCheck::new(vehicle, &yard.caller.business, for_sale)).unwrap()
    };
    let verdict = check(&yard, &vehicle, 2);
    assert_eq!(
        (&verdict["id"], &verdict["ready"], &verdict["publishable"]),
        (&json!(1), &json!(false), &json!(true))
    );
    assert_eq!(verdict["limit"], json!({"limit": 2, "used": 2, "reached": true}));
    let website = &verdict["channels"][0];
    assert_eq!(
        website["missing"],
        json!(["data.vehicle.make", "data.vehicle.model", "data.stock.price_website"])
    );
    assert_eq!(
        (&website["id"], &website["enabled"]),
        (&json!("website"), &json!(false))
    );
    assert!(website["advised"].as_array().unwrap().contains(&json!("media.photo")));

    let filled = yard.update(vehicle.id, complete()).await.unwrap();
    assert_eq!(check(&yard, &filled, 1)["ready"], true);
    assert_eq!(check(&yard, &filled, 2)["ready"], false);
    let selling = yard.publish(vehicle.id, &["website"]).await.unwrap();
    assert_eq!(check(&yard, &selling, 2)["ready"], true, "it is counted already");
    let sold = yard.force(vehicle.id, VehicleStatus::Sold).await;
    assert_eq!(check(&yard, &sold, 0)["publishable"], false);
    let (yard, customer) = Yard::with(StockType::Customer, complete()).await;
    assert_eq!(check(&yard, &customer, 0)["publishable"], false);
}
