//! Appraisals: the offer, the decision, and the resulting stock vehicle.

use forecourt_kernel::{EventName, LongText, Money, StaffId, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{MakeOffer, UpdateVehicle, Vehicle, VehicleError, VehicleStatus, read_appraisal};
use serde_json::{Value, json};

use crate::processes::an_offer;
use crate::support::{Yard, at, complete, faults};

fn shown(vehicle: &Vehicle) -> Value {
    serde_json::to_value(read_appraisal(vehicle)).unwrap()
}

#[tokio::test]
async fn an_appraisal_reads_as_the_contract_shows_it() {
    let (mut yard, vehicle) = Yard::with(StockType::Appraisal, complete()).await;
    let blank = json!({
        "id": 1, "tag": "KQVRK", "status": {"id": 1, "name": "added", "label": "Added"},
        "offer": {
            "offer": "", "max_offer": "", "agreed_amount": "", "expiry": "", "appraised_by": null, "comments": "",
            "decision": "",
        },
        "stock": {"id": "", "tag": ""}, "requested": false,
    });
    assert_eq!(shown(&vehicle).to_string(), blank.to_string(), "in this order");

    let requested = yard.request_offer(vehicle.id).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &requested);
    assert_eq!(shown(&requested)["requested"], true);
    yard.set_clock(70);
    yard.forget_saves();
    let again = yard.request_offer(vehicle.id).await.unwrap();
    yard.assert_untouched(&again);
    assert_eq!(again, requested, "what is requested already stays");

    let offered = yard.make_offer(vehicle.id, an_offer()).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &offered);
    let view = shown(&offered);
    assert_eq!(
        view["status"],
        json!({"id": 2, "name": "appraised", "label": "Appraised"})
    );
    let mut offer = json!({
        "offer": "4500.00", "max_offer": "4750.00", "agreed_amount": "", "expiry": "2026-03-02", "appraised_by": 1,
        "comments": "Ask Ann Lee for the second key", "decision": "",
    });
    assert_eq!((&view["offer"], &view["requested"]), (&offer, &json!(true)));
    let appraisal = &yard.view(&offered)["data"]["appraisal"];
    assert_eq!(appraisal["calculation"]["offer"], "4500.00");
    assert_eq!(
        appraisal["confirm"],
        json!({
            "offer": "4500.00", "expiry": "2026-03-02", "appraised_at": at(70), "agreed_amount": "", "decision": "",
            "decision_at": 0, "stock_id": "", "stock_tag": "",
        })
    );

    yard.set_clock(80);
    let (accepted, stock) = yard.accept_offer(vehicle.id).await.unwrap();
    offer["agreed_amount"] = "4500.00".into();
    offer["decision"] = "accepted".into();
    let view = shown(&accepted);
    assert_eq!(
        view["status"],
        json!({"id": 3, "name": "accepted", "label": "Accepted"})
    );
    assert_eq!(
        (&view["offer"], &view["stock"]),
        (&offer, &json!({"id": "2", "tag": stock.tag}))
    );
    let confirm = &yard.view(&accepted)["data"]["appraisal"]["confirm"];
    assert_eq!(
        (&confirm["decision_at"], &confirm["stock_id"]),
        (&json!(at(80)), &json!("2"))
    );
    let events: Vec<_> = yard
        .store
        .events
        .iter()
        .map(|(_, event)| (event.name.as_str(), event.record))
        .collect();
    assert_eq!(events, [("vehicle.created", 2), ("vehicle.updated", 1)]);
}

#[tokio::test]
async fn an_offer_of_which_less_is_said_reads_so() {
    let (mut yard, vehicle) = Yard::with(StockType::Appraisal, json!({})).await;
    let bare = MakeOffer {
        max_offer: None,
        comments: LongText::default(),
        expiry: at(0).date(),
        ..an_offer()
    };
    let offered = yard.make_offer(vehicle.id, bare).await.unwrap();
    let view = shown(&offered);
    assert_eq!(
        (
            &view["offer"]["max_offer"],
            &view["offer"]["comments"],
            &view["requested"]
        ),
        (&json!(""), &json!(""), &json!(false))
    );
    let rejected = yard.reject_offer(vehicle.id).await.unwrap();
    assert_eq!(shown(&rejected)["offer"]["decision"], "rejected");
    assert_eq!(shown(&rejected)["offer"]["agreed_amount"], "");
    assert_eq!(rejected.content.data.appraisal.confirm.decision_at, Some(at(60)));
}

#[tokio::test]
async fn the_stock_vehicle_takes_over_what_is_known_of_the_appraised_one() {
    let data = json!({
        "vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta", "mileage": 41_000},
        "history": {"year": 2019, "keys": 2},
        "stock": {"vin": "WF0KXXGCBKDP31574", "funding_provider_id": 502, "funding_provider": "Bob"},
        "appraisal": {"details": {"customer_id": "501"}},
    });
    let (mut yard, vehicle) = Yard::with(StockType::Appraisal, data).await;
    let command = UpdateVehicle {
        registration: Some("ab19cde".parse().ok()),
        country: Some("IE".parse().ok()),
        owner: Some(Some(StaffId::new(1))),
        ..UpdateVehicle::default()
    };
    yard.change(vehicle.id, command).await.unwrap();
    yard.make_offer(vehicle.id, an_offer()).await.unwrap();
    let (appraisal, stock) = yard.accept_offer(vehicle.id).await.unwrap();
    assert_eq!(yard.stored(stock.id), stock);
    assert_eq!(
        (stock.content.kind, stock.content.status),
        (StockType::InStock, VehicleStatus::Draft)
    );
    let mut expected = yard.view(&appraisal);
    let view = yard.view(&stock);
    assert_ne!(view["data"]["appraisal"], expected["data"]["appraisal"]);
    for view in [&mut expected["data"], &mut view.clone()["data"]] {
        for name in ["appraisal", "tag"] {
            view.as_object_mut().unwrap().remove(name);
        }
    }
    for section in ["vehicle", "option", "history", "stock", "setting", "spec", "lookup"] {
        assert_eq!(view["data"][section], expected["data"][section], "{section}");
    }
    for member in ["registration", "country", "owner"] {
        assert_eq!(view[member], expected[member]);
    }
    assert_eq!(view["parent"], json!(null));
    assert_eq!(
        view["data"]["tag"][0]["name"], "Ready",
        "stock has the tags that new stock has"
    );
    assert_eq!(
        view["data"]["appraisal"]["details"],
        json!({"customer_id": "", "customer": ""})
    );
    assert_eq!(stock.content.offer, forecourt_vehicles::AppraisalOffer::default());
}

#[tokio::test]
async fn a_contact_that_is_being_deleted_is_not_named_anew() {
    let data = json!({
        "vehicle": {"type": "Car", "make": "Ford", "model": "Fiesta"},
        "stock": {"funding_provider_id": 502, "funding_provider": "Bob"},
    });
    let (mut yard, vehicle) = Yard::with(StockType::Appraisal, data).await;
    yard.make_offer(vehicle.id, an_offer()).await.unwrap();
    yard.store.vehicles.forget_contacts();
    let (_, stock) = yard.accept_offer(vehicle.id).await.unwrap();
    let stock = &stock.content.data.stock;
    assert_eq!((stock.funding_provider_id, &*stock.funding_provider), (None, ""));
}

#[tokio::test]
async fn what_is_not_known_well_enough_is_not_taken_into_stock() {
    for (data, missing) in [
        (
            json!({}),
            vec!["data.vehicle.type", "data.vehicle.make", "data.vehicle.model"],
        ),
        (
            json!({"vehicle": {"type": "Car", "make": "Ford"}}),
            vec!["data.vehicle.model"],
        ),
        (
            json!({"vehicle": {"make": "Ford", "model": " "}}),
            vec!["data.vehicle.type", "data.vehicle.model"],
        ),
    ] {
        let (mut yard, vehicle) = Yard::with(StockType::Appraisal, data).await;
        let offered = yard.make_offer(vehicle.id, an_offer()).await.unwrap();
        yard.forget_outcomes();
        match yard.accept_offer(vehicle.id).await {
            Err(VehicleError::AppraisalIncomplete(found)) => assert_eq!(found, missing),
            other => panic!("a refusal was expected: {other:?}"),
        }
        yard.assert_untouched(&offered);
        assert_eq!(yard.store.vehicles.all().count(), 1);
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_offer_is_reported_at_once_and_first() {
    let (mut yard, vehicle) = Yard::with(StockType::Appraisal, complete()).await;
    let wrong = || MakeOffer {
        offer: Money::ZERO,
        max_offer: Some(Money::from_minor(-1)),
        expiry: at(-86_400).date(),
        appraised_by: StaffId::new(9),
        ..an_offer()
    };
    for id in [vehicle.id, VehicleId::new(5)] {
        let found = faults(yard.make_offer(id, wrong()).await);
        assert_eq!(found, ["offer", "max_offer", "expiry", "appraised_by"]);
    }
    let far = MakeOffer {
        expiry: "2036-03-02".parse().unwrap(),
        ..an_offer()
    };
    assert_eq!(faults(yard.make_offer(vehicle.id, far).await), ["expiry"]);
    yard.assert_untouched(&vehicle);
    let exact = MakeOffer {
        max_offer: Some(an_offer().offer),
        ..an_offer()
    };
    assert!(yard.make_offer(vehicle.id, exact).await.is_ok());
}
