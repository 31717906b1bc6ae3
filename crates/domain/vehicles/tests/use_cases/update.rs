use forecourt_kernel::{EventName, StaffId, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{UpdateVehicle, VehicleError, read_data};
use serde_json::json;

use crate::support::{Yard, at, complete, faults};

#[tokio::test]
async fn only_what_is_sent_changes() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, complete()).await;
    let patch = json!({"vehicle": {"mileage": 12_000}, "spec": {"fuel": {"mpg_combined": 52.3}}});
    let changed = yard.update(vehicle.id, patch).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &changed);
    assert_eq!((changed.created, changed.updated), (at(0), at(60)));

    let mut expected = vehicle.clone();
    expected.updated = at(60);
    expected.version = vehicle.version.next();
    expected.content.data.vehicle.mileage = Some(12_000);
    expected.content.data.spec.fuel = changed.content.data.spec.fuel.clone();
    assert_eq!(changed, expected);
    assert_eq!(yard.view(&changed)["data"]["spec"]["fuel"]["mpg_combined"], 52.3);

    let more = json!({"spec": {"fuel": {"mpg_urban": 40, "mpg_combined": null}}});
    let changed = yard.update(vehicle.id, more).await.unwrap();
    let fuel = &yard.view(&changed)["data"]["spec"]["fuel"];
    assert_eq!(
        (fuel.get("mpg_combined"), fuel.get("mpg_urban")),
        (None, Some(&json!(40)))
    );
}

#[tokio::test]
async fn a_change_to_what_is_there_is_none() {
    let data = json!({
        "vehicle": {"type": "Car", "make": "Ford", "fuel": "Petrol"},
        "option": {"option": ["Sunroof"], "option_custom": ["Mats"]},
        "stock": {"price_website": 10.5, "vin": "AB123", "location": "1", "purchase_cost_data": [{"cost": 5}]},
        "spec": {"engine": {"bhp": 150}, "fuel": {"mpg_combined": 52.3}},
    });
    let (mut yard, vehicle) = Yard::with(StockType::InStock, data.clone()).await;
    for same in [
        data,
        json!({}),
        json!({"stock": {}}),
        json!({"vehicle": {"make": "FORD", "fuel": "PETROL", "trim": null}, "stock": {"vin": "ab123"}}),
        json!({"stock": {"price_website": 10.50, "price_rrp": null}, "spec": {"battery": null, "size": {"boot_x": null}}}),
    ] {
        let outcome = yard.update(vehicle.id, same).await.unwrap();
        assert_eq!(outcome, vehicle);
        yard.assert_untouched(&vehicle);
    }
}

#[tokio::test]
async fn the_make_is_matched_again_with_the_class() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    // As it was stored before the taxonomy knew the make.
    let mut content = vehicle.content.clone();
    content.data.vehicle.make = "ford".into();
    yard.put(vehicle.id, content).await;
    let changed = yard
        .update(vehicle.id, json!({"vehicle": {"trim": "Zetec"}}))
        .await
        .unwrap();
    assert_eq!(changed.content.data.vehicle.make, "ford");
    let changed = yard
        .update(vehicle.id, json!({"vehicle": {"type": "Car"}}))
        .await
        .unwrap();
    assert_eq!(changed.content.data.vehicle.make, "Ford");
}

#[tokio::test]
async fn on_application_there_is_no_finance_example() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, complete()).await;
    let finance = &yard.view(&vehicle)["data"]["finance"];
    assert_eq!(finance["example_monthly"], finance["example"]["monthly_payment"]);
    assert_eq!(finance["example"]["cash_price"], "9995.00");

    let hidden = yard
        .update(vehicle.id, json!({"setting": {"poa": "Yes"}}))
        .await
        .unwrap();
    let shown = yard.view(&hidden);
    assert_eq!(
        shown["data"]["finance"],
        json!({"example_monthly": null, "example": null})
    );
    assert_eq!(shown["data"]["stock"]["price_poa"], true);
    for no in [json!("No"), json!(null)] {
        let changed = yard.update(vehicle.id, json!({"setting": {"poa": no}})).await.unwrap();
        let shown = yard.view(&changed);
        assert_eq!(shown["data"]["stock"]["price_poa"], false);
        assert_eq!(shown["data"]["finance"]["example"]["cash_price"], "9995.00");
    }
    yard.reform(|business| business.settings.finance = None);
    let vehicle = yard.stored(vehicle.id);
    assert_eq!(yard.view(&vehicle)["data"]["finance"]["example"], json!(null));
}

#[tokio::test]
async fn the_funder_of_a_vehicle_must_be_a_contact() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let fund = |id: i64| json!({"stock": {"funding_provider_id": id}});
    assert_eq!(
        faults(yard.update(vehicle.id, fund(777)).await),
        ["data.stock.funding_provider_id"]
    );
    yard.assert_untouched(&vehicle);
    let funded = yard.update(vehicle.id, fund(502)).await.unwrap();
    assert_eq!(yard.view(&funded)["data"]["stock"]["funding_provider_id"], 502);

    yard.store.vehicles.forget_contacts();
    let other = json!({"stock": {"notes": "x"}});
    assert!(
        yard.update(vehicle.id, other).await.is_ok(),
        "only what is sent is validated"
    );
    let nobody = json!({"stock": {"funding_provider_id": null}});
    let changed = yard.update(vehicle.id, nobody).await.unwrap();
    assert_eq!(changed.content.data.stock.funding_provider_id, None);
}

#[tokio::test]
async fn faults_come_before_absence() {
    let (mut yard, _) = Yard::with(StockType::InStock, json!({})).await;
    let nowhere = VehicleId::new(5);
    let fund = json!({"stock": {"funding_provider_id": 777}});
    assert_eq!(
        faults(yard.update(nowhere, fund).await),
        ["data.stock.funding_provider_id"]
    );
    let outcome = yard.update(nowhere, json!({})).await;
    assert!(matches!(outcome, Err(VehicleError::NotFound(id)) if id == nowhere));
}

#[tokio::test]
async fn another_business_s_vehicle_is_none() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    yard.change_business();
    let outcome = yard.update(vehicle.id, json!({"vehicle": {"trim": "x"}})).await;
    assert!(matches!(outcome, Err(VehicleError::NotFound(_))), "{outcome:?}");
}

#[tokio::test]
async fn words_fit_the_class_that_the_vehicle_then_has() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({"vehicle": {"body": "Concrete Mixer"}})).await;
    assert_eq!(
        faults(yard.update(vehicle.id, json!({"vehicle": {"type": "Car"}})).await),
        ["data.vehicle.body"]
    );
    yard.assert_untouched(&vehicle);
    let both = json!({"vehicle": {"type": "Car", "body": "Saloon"}});
    let vehicle = yard.update(vehicle.id, both).await.unwrap();
    assert_eq!(
        faults(yard.update(vehicle.id, json!({"vehicle": {"drivetrain": "8x4"}})).await),
        ["data.vehicle.drivetrain"]
    );
    assert_eq!(
        faults(yard.update(vehicle.id, json!({"vehicle": {"type": "Truck"}})).await),
        ["data.vehicle.body"]
    );
    let four = yard
        .update(vehicle.id, json!({"vehicle": {"drivetrain": "4X4"}}))
        .await
        .unwrap();
    assert_eq!(yard.view(&four)["data"]["vehicle"]["drivetrain"], "Four Wheel Drive");
    let open = json!({"vehicle": {"type": null, "drivetrain": "8x4"}});
    assert!(yard.update(vehicle.id, open).await.is_ok());

    yard.reform(|business| {
        business
            .catalogue
            .vehicle_options
            .insert("body".into(), vec!["Shooting Star".into()]);
    });
    yard.update(vehicle.id, json!({"vehicle": {"body": "shooting star"}}))
        .await
        .unwrap();
    yard.reform(|business| business.catalogue.vehicle_options.clear());
    let kept = yard
        .update(vehicle.id, json!({"vehicle": {"type": "Van", "drivetrain": null}}))
        .await
        .unwrap();
    assert_eq!(
        yard.view(&kept)["data"]["vehicle"]["body"],
        "Shooting Star",
        "what was dropped stays known"
    );
    assert!(
        read_data(
            &json!({"vehicle": {"body": "Shooting Star"}}),
            &yard.caller.business,
            at(0),
            false
        )
        .is_err()
    );
}

#[tokio::test]
async fn members_beside_the_data_change_too() {
    let (mut yard, other) = Yard::with(StockType::InStock, json!({})).await;
    let vehicle = yard.create(StockType::InStock, json!({})).await.unwrap();
    let command = UpdateVehicle {
        registration: Some(Some("ab12cde".parse().unwrap())),
        country: Some(Some("IE".parse().unwrap())),
        owner: Some(Some(StaffId::new(1))),
        parent: Some(Some(other.id)),
        ..UpdateVehicle::default()
    };
    yard.forget_outcomes();
    let changed = yard.change(vehicle.id, command).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &changed);
    let shown = yard.view(&changed);
    assert_eq!(
        (&shown["registration"], &shown["country"]),
        (&json!("AB12 CDE"), &json!("IE"))
    );
    assert_eq!((&shown["owner"], &shown["parent"]), (&json!("1"), &json!(other.id)));

    let cleared = UpdateVehicle {
        registration: Some(None),
        country: Some(None),
        owner: Some(None),
        parent: Some(None),
        ..UpdateVehicle::default()
    };
    let shown = yard.change(vehicle.id, cleared).await.unwrap();
    let shown = yard.view(&shown);
    assert_eq!(
        (&shown["registration"], &shown["country"]),
        (&json!(null), &json!("GB"))
    );
    assert_eq!((&shown["owner"], &shown["parent"]), (&json!(""), &json!(null)));

    let itself = UpdateVehicle {
        owner: Some(Some(StaffId::new(9))),
        parent: Some(Some(vehicle.id)),
        ..UpdateVehicle::default()
    };
    assert_eq!(faults(yard.change(vehicle.id, itself).await), ["owner", "parent"]);
}

#[tokio::test]
async fn a_published_vehicle_keeps_what_publishing_needs() {
    let data = json!({"vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"}, "stock": {"price_website": 5000}});
    let (mut yard, vehicle) = Yard::selling(data).await;
    let vehicle = yard.stored(vehicle.id);
    for (patch, missing) in [
        (json!({"vehicle": {"make": ""}}), "data.vehicle.make"),
        (json!({"vehicle": {"model": null}}), "data.vehicle.model"),
        (json!({"vehicle": {"type": null}}), "data.vehicle.type"),
        (json!({"stock": {"price_website": null}}), "data.stock.price_website"),
        (json!({"stock": {"price_website": 0}}), "data.stock.price_website"),
    ] {
        let Err(VehicleError::PublishIncomplete(found)) = yard.update(vehicle.id, patch).await else {
            panic!("{missing} may go")
        };
        assert_eq!(found, [missing]);
        yard.assert_untouched(&vehicle);
    }
    let hidden = json!({"stock": {"price_website": 0}, "setting": {"poa": "Yes"}});
    assert!(yard.update(vehicle.id, hidden).await.is_ok());
    let shown = json!({"setting": {"poa": "No"}});
    assert!(matches!(
        yard.update(vehicle.id, shown).await,
        Err(VehicleError::PublishIncomplete(_))
    ));
}

#[tokio::test]
async fn a_free_vehicle_is_not_published() {
    let data = json!({"vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"}, "stock": {"price_website": 0}});
    let (mut yard, vehicle) = Yard::with(StockType::InStock, data).await;
    let Err(VehicleError::PublishIncomplete(found)) = yard.publish(vehicle.id, &["website"]).await else {
        panic!("a price of 0 is none")
    };
    assert_eq!(found, ["data.stock.price_website"]);
}
