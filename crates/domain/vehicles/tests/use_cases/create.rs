use forecourt_kernel::{Clock as _, EventName, StaffId, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{NewVehicle, VehicleError, VehicleStatus, read_data};
use serde_json::{Value, json};

use crate::support::{Yard, at, faults};

#[tokio::test]
async fn a_vehicle_of_which_nothing_is_known_takes_the_defaults() {
    let mut yard = Yard::open();
    let vehicle = yard.create(StockType::InStock, json!({})).await.unwrap();
    yard.assert_recorded(EventName::VehicleCreated, &vehicle);
    assert_eq!((vehicle.created, vehicle.updated), (at(0), at(0)));
    let shown = yard.view(&vehicle);
    let head = json!({
        "id": 1, "tag": "KQVRK", "country": "GB", "registration": null, "type": "in-stock", "owner": "", "parent": null,
        "url": "kqvrk", "url_full": "https://acme.example/vehicles/kqvrk",
        "status": {"id": 1, "name": "draft", "label": "Draft"},
        "media": {"photo": [], "video": [], "youtube": [], "photo_spin": []},
    });
    for (name, expected) in head.as_object().unwrap() {
        assert_eq!(shown[name], *expected, "{name}");
    }
    assert_eq!(
        shown["data"]["tag"],
        json!([{"name": "Ready", "checked": true, "colour": "#3a3", "type": "s"}])
    );
    assert_eq!(
        shown["data"]["finance"],
        json!({"example_monthly": null, "example": null})
    );
}

#[tokio::test]
async fn every_stock_type_begins_in_its_own_state() {
    for (kind, status, tags) in [
        (StockType::InStock, VehicleStatus::Draft, 1),
        (StockType::ToOrder, VehicleStatus::Draft, 0),
        (StockType::Customer, VehicleStatus::Draft, 0),
        (StockType::Courtesy, VehicleStatus::Draft, 0),
        (StockType::Appraisal, VehicleStatus::Added, 0),
    ] {
        let vehicle = Yard::open().create(kind, json!({})).await.unwrap();
        assert_eq!((vehicle.content.status, vehicle.content.tags.len()), (status, tags));
    }
}

#[tokio::test]
async fn what_is_said_is_kept() {
    let (mut yard, parent) = Yard::with(StockType::InStock, json!({})).await;
    let command = NewVehicle {
        registration: Some("ab12cde".parse().unwrap()),
        country: Some("IE".parse().unwrap()),
        owner: Some(StaffId::new(1)),
        parent: Some(parent.id),
        ..yard.command(
            StockType::ToOrder,
            &json!({"vehicle": {"type": "Car", "make": "FORD", "model": "fiesta"}, "setting": {"poa": "Yes"}}),
        )
    };
    let vehicle = yard.create_as(command).await.unwrap();
    yard.assert_recorded(EventName::VehicleCreated, &vehicle);
    let shown = yard.view(&vehicle);
    assert_eq!(shown["registration"], "AB12 CDE");
    assert_eq!(
        (&shown["country"], &shown["owner"], &shown["parent"]),
        (&json!("IE"), &json!("1"), &json!(1))
    );
    let identity = &shown["data"]["vehicle"];
    assert_eq!(identity["make"], "Ford", "a known make is spelt as the taxonomy does");
    assert_eq!(identity["model"], "Fiesta", "and so is a known model");
    assert_eq!(shown["data"]["stock"]["price_poa"], true);
}

#[tokio::test]
async fn an_unknown_make_is_kept_as_it_is_sent() {
    let mut yard = Yard::open();
    for (identity, make) in [
        (json!({"type": "Car", "make": "fORD"}), "Ford"),
        (json!({"make": "FORD"}), "Ford"),
        (json!({"type": "Car", "make": "Acme Motors "}), "Acme Motors "),
        (json!({"type": "Caravan", "make": "ferrari"}), "ferrari"),
        (json!({"type": "Car", "make": ""}), ""),
    ] {
        let vehicle = yard
            .create(StockType::InStock, json!({"vehicle": identity}))
            .await
            .unwrap();
        assert_eq!(vehicle.content.data.vehicle.make, make);
    }
}

#[tokio::test]
async fn contacts_and_staff_that_are_named_must_be_known() {
    let mut yard = Yard::open();
    let data = json!({
        "stock": {"funding_provider_id": 777},
        "appraisal": {"details": {"customer_id": "778"}},
    });
    let command = NewVehicle {
        owner: Some(StaffId::new(9)),
        parent: Some(VehicleId::new(5)),
        ..yard.command(StockType::Appraisal, &data)
    };
    assert_eq!(
        faults(yard.create_as(command).await),
        [
            "owner",
            "parent",
            "data.stock.funding_provider_id",
            "data.appraisal.details.customer_id"
        ]
    );
    assert!(yard.store.vehicles.all().count() == 0 && yard.store.events.is_empty());
}

#[tokio::test]
async fn a_deleted_vehicle_or_another_business_s_is_no_parent() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let child = |yard: &Yard| NewVehicle {
        parent: Some(vehicle.id),
        ..yard.command(StockType::InStock, &json!({}))
    };
    assert!(yard.create_as(child(&yard)).await.is_ok());
    yard.delete(vehicle.id).await.unwrap();
    assert_eq!(faults(yard.create_as(child(&yard)).await), ["parent"]);
    yard.change_business();
    assert_eq!(faults(yard.create_as(child(&yard)).await), ["parent"]);
}

#[tokio::test]
async fn the_offerer_of_a_vehicle_is_shown_by_name() {
    let mut yard = Yard::open();
    let data = json!({"appraisal": {"details": {"customer_id": "501"}}});
    let vehicle = yard.create(StockType::Appraisal, data).await.unwrap();
    let details = &yard.view(&vehicle)["data"]["appraisal"]["details"];
    assert_eq!(*details, json!({"customer_id": "501", "customer": "Ann Lee"}));

    let nobody = yard.create(StockType::Appraisal, json!({})).await.unwrap();
    let appraisal = &yard.view(&nobody)["data"]["appraisal"];
    assert_eq!(
        *appraisal,
        json!({
            "details": {"customer_id": "", "customer": ""},
            "calculation": {"offer": "", "finance_settlement": ""},
            "confirm": {
                "offer": "", "expiry": "", "appraised_at": 0, "agreed_amount": "", "decision": "", "decision_at": 0,
                "stock_id": "", "stock_tag": "",
            },
        })
    );
}

#[tokio::test]
async fn factory_options_are_shown_by_group() {
    let mut yard = Yard::open();
    let data = json!({"option": {"option": ["air conditioning", "A/C", "Zorbing net", " ", "Zorbing net"], "option_custom": ["Mats"]}});
    let vehicle = yard.create(StockType::InStock, data).await.unwrap();
    let shown = yard.view(&vehicle);
    let option = &shown["data"]["option"];
    assert_eq!(option.get("option"), None);
    assert_eq!(option["option_custom"], json!(["Mats"]));
    let groups = option["feature"].as_object().unwrap();
    assert_eq!(groups["other"], json!(["Zorbing net"]));
    let known: Vec<&Value> = groups
        .iter()
        .filter(|(name, _)| *name != "other")
        .map(|(_, options)| options)
        .collect();
    assert_eq!(known, [&json!(["Air conditioning"])]);
}

#[tokio::test]
async fn words_are_those_of_the_class() {
    let mut yard = Yard::open();
    let identity = async |yard: &mut Yard, identity: Value| {
        let vehicle = yard.create(StockType::InStock, json!({"vehicle": identity})).await?;
        Ok::<Value, VehicleError>(yard.view(&vehicle)["data"]["vehicle"].take())
    };
    let car = json!({
        "type": "Car", "make": "Citroën", "model": "c3 aircross", "body": "Cabriolet", "drivetrain": "4x4", "fuel": "ELECTRICITY",
        "transmission": "semi-automatic", "colour": "Burgundy",
    });
    let shown = identity(&mut yard, car).await.unwrap();
    assert_eq!(
        (&shown["make"], &shown["model"]),
        (&json!("Citroen"), &json!("C3 Aircross"))
    );
    assert_eq!(
        (&shown["body"], &shown["drivetrain"]),
        (&json!("Convertible"), &json!("Four Wheel Drive"))
    );
    assert_eq!(
        (&shown["fuel"], &shown["transmission"]),
        (&json!("Electric"), &json!("Automatic"))
    );
    assert_eq!(shown["colour"], "Maroon");
    let truck = json!({"type": "Truck", "body": "concrete mixer", "drivetrain": "4x4"});
    let shown = identity(&mut yard, truck).await.unwrap();
    assert_eq!(
        (&shown["body"], &shown["drivetrain"]),
        (&json!("Concrete Mixer"), &json!("4x4"))
    );
    let unknown = json!({"body": "Concrete Mixer", "drivetrain": "8x4"});
    let shown = identity(&mut yard, unknown).await.unwrap();
    assert_eq!(
        (&shown["body"], &shown["drivetrain"]),
        (&json!("Concrete Mixer"), &json!("8x4"))
    );

    let data = json!({"vehicle": {"type": "Car", "body": "Concrete Mixer", "drivetrain": "8x4", "bedroom_layout": "French bed"}});
    let refused = read_data(&data, &yard.caller.business, yard.clock.now(), true).unwrap_err();
    let fields: Vec<_> = refused.as_slice().iter().map(|error| &*error.field).collect();
    let expected = [
        "data.vehicle.body",
        "data.vehicle.drivetrain",
        "data.vehicle.bedroom_layout",
    ];
    assert_eq!(fields, expected);
}
