use forecourt_kernel::{EventName, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::VehicleError;
use serde_json::{Value, json};

use crate::support::{Yard, faults};

fn shown(yard: &Yard, id: VehicleId) -> Value {
    let vehicle = yard.stored(id);
    serde_json::to_value(vehicle.tags(&yard.caller.business.catalogue)).unwrap()
}

#[tokio::test]
async fn tags_are_those_of_the_stock_type() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    assert_eq!(
        shown(&yard, vehicle.id),
        json!({
            "applied": [{"name": "Ready", "checked": true, "colour": "#3a3", "type": "s"}],
            "available": [
                {"name": "Ready", "colour": "#3a3", "type": "s", "defaulted": true},
                {"name": "Valet", "colour": "#33d", "type": "s", "defaulted": false},
            ],
        })
    );
    let strange = [
        ("Valet", true),
        ("Waiting", true),
        ("Hot", true),
        ("ready", true),
        ("", true),
    ];
    let expected = ["tags.1", "tags.2", "tags.3", "tags.4"];
    assert_eq!(faults(yard.tag(vehicle.id, &strange).await), expected);
    yard.assert_untouched(&vehicle);
}

#[tokio::test]
async fn tags_are_replaced_and_the_last_choice_counts() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let choices = [("Valet", true), ("Ready", true), ("Valet", false)];
    let changed = yard.tag(vehicle.id, &choices).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &changed);
    let applied: Vec<_> = changed
        .content
        .tags
        .iter()
        .map(|tag| (&*tag.name, tag.checked))
        .collect();
    assert_eq!(applied, [("Valet", false), ("Ready", true)]);

    yard.forget_saves();
    yard.tag(vehicle.id, &[("Valet", false), ("Ready", true)])
        .await
        .unwrap();
    yard.assert_untouched(&changed);

    let none = yard.tag(vehicle.id, &[]).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &none);
    assert_eq!(shown(&yard, vehicle.id)["applied"], json!([]));
}

#[tokio::test]
async fn absence_comes_before_the_names() {
    let mut yard = Yard::open();
    let outcome = yard.tag(VehicleId::new(5), &[("Nonsense", true)]).await;
    assert!(matches!(outcome, Err(VehicleError::NotFound(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_tag_that_the_business_gives_up_stays_without_its_colour() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    yard.reform(|business| business.catalogue.tags.clear());
    let applied = json!([{"name": "Ready", "checked": true, "colour": "", "type": ""}]);
    assert_eq!(shown(&yard, vehicle.id), json!({"applied": applied, "available": []}));
}
