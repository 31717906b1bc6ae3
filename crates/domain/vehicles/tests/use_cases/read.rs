use forecourt_kernel::{PageRequest, Range, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{
    FieldCondition, FieldFilter, FilterKind, NewVehicle, Vehicle, VehicleError, VehicleFilter, field_filters,
    list_vehicles, read_vehicle,
};
use serde_json::{Value, json};

use crate::support::{Yard, at};

#[tokio::test]
async fn a_business_reads_its_own() {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let read = read_vehicle(&mut yard.store, &yard.caller, vehicle.id).await.unwrap();
    assert_eq!(read, vehicle);
    let absent = read_vehicle(&mut yard.store, &yard.caller, VehicleId::new(5)).await;
    assert!(matches!(absent, Err(VehicleError::NotFound(_))));
    yard.change_business();
    let other = read_vehicle(&mut yard.store, &yard.caller, vehicle.id).await;
    assert!(matches!(other, Err(VehicleError::NotFound(_))));
}

#[test]
fn the_filters_by_fields_are_those_of_the_decisions() {
    let filters: Vec<_> = field_filters()
        .iter()
        .map(|filter| (filter.name, filter.kind))
        .collect();
    let pattern = |name| (name, FilterKind::Pattern);
    assert_eq!(
        filters,
        [
            pattern("make"),
            pattern("model"),
            pattern("generation"),
            pattern("derivative"),
            pattern("body"),
            pattern("colour"),
            pattern("fuel"),
            pattern("transmission"),
            ("mileage", FilterKind::Range),
            ("year", FilterKind::Range),
            ("reference", FilterKind::Text),
            ("number", FilterKind::Text),
            ("location", FilterKind::Location),
            ("vin", FilterKind::Text),
            ("price", FilterKind::MoneyRange),
            ("appraisal_contact", FilterKind::Number),
        ]
    );
    for filter in field_filters() {
        assert!(filter.description.ends_with('.'), "{filter:?}");
    }
}

/// Returns the filter of that name with this condition.
fn wants(yard: &Yard, name: &str, wanted: &Value) -> VehicleFilter {
    let filter = field_filters().into_iter().find(|filter| filter.name == name).unwrap();
    let wanted = match wanted {
        Value::String(text) => filter.of_text(text, &yard.caller.business.catalogue).unwrap(),
        range => FieldCondition::Within(Range {
            from: range[0].as_i64(),
            to: range[1].as_i64(),
        }),
    };
    VehicleFilter {
        fields: vec![FieldFilter {
            name: filter.name,
            wanted,
        }],
        ..VehicleFilter::default()
    }
}

async fn a_fiesta() -> (Yard, Vehicle) {
    let mut yard = Yard::open();
    let data = json!({
        "vehicle": {
            "type": "Car", "make": "Ford", "model": "Fiesta", "generation": "Mk7", "derivative": "1.0 EcoBoost Zetec",
            "body": "Hatchback", "colour": "Nardo Grey", "fuel": "Petrol", "transmission": "Manual", "mileage": 12_000,
        },
        "history": {"year": 2017},
        "stock": {"reference": "Ref-1", "number": "N1", "location": "1", "vin": "wf0123", "price_website": 9_995},
        "appraisal": {"details": {"customer_id": 501}},
    });
    let command = NewVehicle {
        registration: Some("AB12 CDE".parse().unwrap()),
        ..yard.command(StockType::InStock, &data)
    };
    let vehicle = yard.create_as(command).await.unwrap();
    (yard, vehicle)
}

#[tokio::test]
async fn every_filter_finds_what_it_is_after_and_nothing_else() {
    let (mut yard, fiesta) = a_fiesta().await;
    yard.create(StockType::InStock, json!({})).await.unwrap();
    let cases = [
        ("make", json!("fORD"), json!("Ford Fiesta")),
        ("model", json!("fie%"), json!("Fie")),
        ("generation", json!("MK7"), json!("Mk8")),
        ("derivative", json!("%ecoboost%"), json!("EcoBoost")),
        ("body", json!("hatchback"), json!("Saloon")),
        ("colour", json!("nardo grey"), json!("Grey")),
        ("fuel", json!("PETROL"), json!("Petrol Hybrid")),
        ("transmission", json!("manual"), json!("Automatic")),
        ("mileage", json!([12_000, 12_000]), json!([12_001, null])),
        ("year", json!([null, 2017]), json!([null, 2016])),
        ("reference", json!("REF-1"), json!("Ref")),
        ("number", json!("n1"), json!("1")),
        ("location", json!("1"), json!("2")),
        ("location", json!("front"), json!("Compound")),
        ("vin", json!("Wf0123"), json!("WF0")),
        ("price", json!([999_500, null]), json!([0, 999_499])),
        ("appraisal_contact", json!([501, 501]), json!([502, 502])),
    ];
    for (name, passes, fails) in cases {
        let page = PageRequest::first();
        let wanted = wants(&yard, name, &passes);
        let found = list_vehicles(&mut yard.store, &yard.caller, &wanted, &page).await;
        assert_eq!(found.unwrap().items, std::slice::from_ref(&fiesta), "{name}: {passes}");
        assert!(!wants(&yard, name, &fails).matches(&fiesta), "{name}: {fails}");
    }
}

#[tokio::test]
async fn a_filter_narrows_by_what_is_not_a_field_too() {
    let (yard, fiesta) = a_fiesta().await;
    let fits = |filter: VehicleFilter| filter.matches(&fiesta);
    let any = VehicleFilter::default;
    let span = |from, to| {
        Some(Range {
            from: Some(at(from)),
            to: Some(at(to)),
        })
    };
    assert!(fits(any()));
    for (passes, filter) in [
        (
            true,
            VehicleFilter {
                kind: Some(StockType::InStock),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                kind: Some(StockType::ToOrder),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                status: "1".parse().ok(),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                status: "draft".parse().ok(),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                status: "added".parse().ok(),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                registration: Some("AB12CDE".into()),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                registration: Some("AB12".into()),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                tag: "kqvrk".parse().ok(),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                tag: "KQVRZ".parse().ok(),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                owner: "1".parse().ok(),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                channel: Some("website".into()),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                tag_name: Some("Ready".into()),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                tag_name: Some("Valet".into()),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                created: span(0, 0),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                created: span(1, 9),
                ..any()
            },
        ),
        (
            true,
            VehicleFilter {
                updated: span(-9, 0),
                ..any()
            },
        ),
        (
            false,
            VehicleFilter {
                updated: span(-9, -1),
                ..any()
            },
        ),
    ] {
        assert_eq!(fits(filter.clone()), passes, "{filter:?}");
    }
    let price = field_filters()
        .into_iter()
        .find(|filter| filter.name == "price")
        .unwrap();
    assert!(price.of_text("9995", &yard.caller.business.catalogue).is_err());
}
