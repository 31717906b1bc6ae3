//! The stored form and the public representation of a vehicle. Names, order and spelling are a promise (contract, "Vehicle" and
//! "Listing").

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod support;

use std::collections::BTreeSet;

use forecourt_accounts::Business;
use forecourt_kernel::{EventName, Scope, ScopeSet, VehicleId, Version};
use forecourt_reference::StockType;
use forecourt_vehicles::{
    Detail, Vehicle, VehiclePreview, VehicleStatus, VehicleTag, VehicleView, project, project_event,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use support::{OPENING, acme};

fn vehicle(kept: Value) -> Vehicle {
    Vehicle {
        id: VehicleId::new(901),
        tag: VehicleTag::nth(1),
        created: OPENING,
        updated: OPENING.plus_seconds(60),
        version: Version::FIRST,
        content: serde_json::from_value(kept).unwrap(),
    }
}

/// A vehicle without values, as storage keeps it.
fn bare() -> Vehicle {
    vehicle(json!({"type": "s", "status": "draft", "country": "GB", "data": {}}))
}

/// A vehicle with every value, as storage keeps it: no name in here may ever change.
const KEPT: &str = r#"{
    "type": "s",
    "status": "for_sale",
    "country": "GB",
    "registration": "AB17 CDE",
    "owner": 1,
    "parent": 900,
    "tag": [{"name": "Ready", "checked": true}, {"name": "Gone", "checked": false}],
    "channels": ["website"],
    "channel_options": {"platform_a": {"advert": true}, "platform_b": {"location": "Leeds"}},
    "data": {
        "vehicle": {
            "class": "Car", "make": "Ford", "model": "Fiesta", "generation": "Mk7", "derivative": "1.0T EcoBoost & Co",
            "trim": "Zetec", "engine_size": "1.0", "body": "Hatchback", "colour": "Blue", "colour_name": "Deep Impact",
            "fuel": "Petrol", "transmission": "Manual", "drivetrain": "Front Wheel Drive", "seats": 5, "doors": 3,
            "wheelbase": "SWB", "cab_type": "Crew", "mileage": 31415, "registered": "2017-03-01", "category": "Tractor",
            "driver_position": "Right", "interior_upholstery": "Cloth", "interior_colour": "Black",
            "exterior_finish": "Metallic", "group": "G", "hour": "12", "bedroom_layout": "French bed",
            "end_layout": "End kitchen", "bedroom": 1, "berth": 2, "seat_belt": 4, "wheelchair": "No"
        },
        "option": {
            "factory": ["air conditioning", "Zorbing net"], "option_custom": ["Mats"], "attention": "Look!",
            "description": "A car.", "website": "<p>A car.</p>",
            "feature": {"comfort": ["air conditioning"], "other": ["Zorbing net"]}
        },
        "history": {
            "previous_owner": 2, "keys": 2, "v5": "Yes", "year": 2017, "condition": "Good",
            "condition_interior": "Average", "condition_exterior": "Excellent", "condition_tyre": "Poor",
            "service_history": "Full service history", "service_last": "2025-09-01", "service_miles": 30000,
            "mot_expiry": "2026-09-01", "mot_year": "Yes", "mot_insurance": "No", "warranty_expiry": "2026-12-31",
            "warranty_month": 3, "warranty_battery_month": 0, "service_note": "Belt done"
        },
        "stock": {
            "reference": "R1", "number": "N1", "location": "1", "notes": "Scratch", "vin": "WF0KXXGCBKDP31574",
            "engine_number": "E1", "key_number": "K1", "origin": "Auction", "vat": "No VAT", "vat_pricing": "Margin",
            "due_in_date": "2026-01-01", "forecourt_date": "2026-01-02", "price_website": "9995.00",
            "price_channel": "9895.00", "price_reserve": "99.00", "price_auction_start": "5000.00",
            "price_auction_reserve": "8000.00", "price_auction_buy_now": "9000.00", "price_rrp": "16000.50",
            "price_auction_duration": "7 days", "price_auction_platform_b_type": "AuctionWithBuyNow", "funding_provider": "Bank", "funding_provider_id": 502, "funding_provider_total": "7000.00",
            "stock_quantity": 1, "stock_variation": {"b": [1, null], "a": 0.5}, "purchase_date": "2025-12-01",
            "purchase_invoice": "P1", "purchase_supplier": "Auctions Ltd", "purchase_supplier_invoice": "S1",
            "purchase_supplier_id": 503, "purchase_price": "7000.00", "purchase_price_vat": "0.00",
            "purchase_price_total": "7000.00", "purchase_cost": "10.00", "purchase_cost_vat": "2.00",
            "purchase_cost_total": "12.00", "purchase_value": "7010.00", "purchase_value_vat": "2.00",
            "purchase_value_total": "7012.00",
            "purchase_cost_data": [{
                "kind": "Valet", "supplier": "Shine", "cost": "10.00", "vat": "2.00", "invoice": "I1",
                "reference": "R", "date": "2026-01-03", "id": 1, "total": "12.00"
            }]
        },
        "setting": {"featured": "Yes", "poa": "No"},
        "spec": {
            "performance": {"top_speed": 112, "zero_sixty": 11.2, "zero_sixty_two": "11.6 s"},
            "engine": {"make": "Ford", "bhp": 100, "start_stop": true},
            "battery": {"kwh": 0},
            "fuel": {
                "mpg": {"mpg_combined": 52.3, "mpg_urban": 40}, "emission": {"emission_co2": "99 g/km"}, "tank": 42,
                "ulez": "Yes", "caz": "Yes"
            },
            "size": {
                "length": 3969, "weight": {"weight_max": 1500}, "boot": {"boot_length": 70},
                "load": {"load_volume": 0.9}, "boot_seats_up": 290
            },
            "insurance": {"group": "8E", "code": 1},
            "other": {"axles": 2, "country": "Germany", "sector": "B"}
        },
        "appraisal": {
            "details": {"customer_id": 501, "customer": "Ann Lee"},
            "calculation": {"offer": "6500.00", "finance_settlement": "1000.00"},
            "confirm": {
                "offer": "6500.00", "expiry": "2026-01-31", "appraised_at": 1767225600, "agreed_amount": "6600.00",
                "decision": "accepted", "decision_at": 1767312000, "stock_id": "902", "stock_tag": "6FQH7"
            }
        },
        "lookup": {
            "dvla": {
                "make": "FORD", "colour": "BLUE", "fuel_type": "PETROL", "year_of_manufacture": 2017,
                "month_of_first_registration": "2017-03", "engine_capacity": 998, "co2_emissions": 99,
                "euro_status": "EURO 6", "tax_status": "Taxed", "tax_due_date": "2026-10-01", "mot_status": "Valid",
                "mot_expiry_date": "2026-09-01", "date_of_last_v5c_issued": "2025-01-01", "type_approval": "M1",
                "wheelplan": "2 AXLE RIGID BODY", "marked_for_export": false
            },
            "dvsa": {"mot_tests": [{
                "completed_date": "2025-09-01", "test_result": "PASSED", "odometer_value": "30000"
            }]},
            "check": {"stolen": false, "finance": false, "written_off": false, "previous_keepers": 2}
        }
    },
    "media": [
        {"type": "photo", "file": "01010101010101010101010101010101.jpg", "kind": "jpeg", "size": 1234567, "width": 1200, "height": 900, "thumbnails": [320, 800], "uploaded": 1772357400},
        {"type": "video", "file": "02020202020202020202020202020202.mp4", "kind": "mp4", "size": 1234567, "uploaded": 1772357400},
        {"type": "youtube", "id": "dQw4w9WgXcQ", "uploaded": 1772357400},
        {"type": "spin", "file": "03030303030303030303030303030303.webp", "kind": "webp", "size": 1234567, "width": 1200, "height": 900, "thumbnails": [320, 800], "uploaded": 1772357400},
        {"type": "photo", "file": "04040404040404040404040404040404.png", "kind": "png", "size": 1234567, "width": 1200, "height": 900, "thumbnails": [320, 800], "uploaded": 1772357400}
    ]
}"#;

fn fiesta() -> Vehicle {
    vehicle(serde_json::from_str(KEPT).unwrap())
}

fn shown_to(scopes: ScopeSet, vehicle: &Vehicle, detail: Detail, business: &Business) -> Value {
    serde_json::to_value(VehicleView::new(vehicle, business, detail, scopes)).unwrap()
}

fn shown(vehicle: &Vehicle, detail: Detail) -> Value {
    shown_to(ScopeSet::all(), vehicle, detail, &acme())
}

fn pretty(vehicle: &Vehicle, detail: Detail) -> String {
    serde_json::to_string_pretty(&shown(vehicle, detail)).unwrap()
}

/// Every scope except the one that shows costs and funding.
fn without_pricing() -> ScopeSet {
    ScopeSet::all()
        .iter()
        .filter(|scope| *scope != Scope::VehiclePricingRead)
        .collect()
}

/// Returns the dot-paths of the values that are not objects, or are empty ones.
fn leaves(value: &Value) -> BTreeSet<String> {
    match value.as_object() {
        Some(members) if !members.is_empty() => members
            .iter()
            .flat_map(|(name, member)| {
                let inner = leaves(member);
                let join = move |path: String| format!("{name}{}{path}", if path.is_empty() { "" } else { "." });
                inner.into_iter().map(join).collect::<Vec<_>>()
            })
            .collect(),
        _ => BTreeSet::from([String::new()]),
    }
}

#[test]
fn a_vehicle_of_which_everything_is_known() {
    assert_snapshot!(pretty(&fiesta(), Detail::Full), @r##"
    {
      "id": 901,
      "tag": "KQVRK",
      "country": "GB",
      "registration": "AB17 CDE",
      "url": "2017-ford-fiesta-1-0t-ecoboost-and-co-kqvrk",
      "url_full": "https://acme.example/vehicles/2017-ford-fiesta-1-0t-ecoboost-and-co-kqvrk",
      "type": "in-stock",
      "status": {
        "id": 2,
        "name": "for-sale",
        "label": "For Sale"
      },
      "created": 1772357400,
      "updated": 1772357460,
      "version": 1,
      "owner": "1",
      "parent": 900,
      "data": {
        "vehicle": {
          "type": "Car",
          "make": "Ford",
          "model": "Fiesta",
          "generation": "Mk7",
          "derivative": "1.0T EcoBoost & Co",
          "trim": "Zetec",
          "engine_size": "1.0",
          "body": "Hatchback",
          "colour": "Blue",
          "colour_name": "Deep Impact",
          "fuel": "Petrol",
          "transmission": "Manual",
          "drivetrain": "Front Wheel Drive",
          "seats": 5,
          "doors": 3,
          "wheelbase": "SWB",
          "cab_type": "Crew",
          "mileage": 31415,
          "registered": "2017-03-01",
          "category": "Tractor",
          "driver_position": "Right",
          "interior_upholstery": "Cloth",
          "interior_colour": "Black",
          "exterior_finish": "Metallic",
          "group": "G",
          "hour": "12",
          "bedroom_layout": "French bed",
          "end_layout": "End kitchen",
          "bedroom": 1,
          "berth": 2,
          "seat_belt": 4,
          "wheelchair": "No"
        },
        "option": {
          "option_custom": [
            "Mats"
          ],
          "attention": "Look!",
          "description": "A car.",
          "website": "<p>A car.</p>",
          "feature": {
            "comfort": [
              "air conditioning"
            ],
            "other": [
              "Zorbing net"
            ]
          }
        },
        "history": {
          "previous_owner": 2,
          "keys": 2,
          "v5": "Yes",
          "year": 2017,
          "condition": "Good",
          "condition_interior": "Average",
          "condition_exterior": "Excellent",
          "condition_tyre": "Poor",
          "service_history": "Full service history",
          "service_last": "2025-09-01",
          "service_miles": 30000,
          "mot_expiry": "2026-09-01",
          "mot_year": "Yes",
          "mot_insurance": "No",
          "warranty_expiry": "2026-12-31",
          "warranty_month": 3,
          "warranty_battery_month": 0,
          "service_note": "Belt done"
        },
        "stock": {
          "reference": "R1",
          "number": "N1",
          "location": "Front",
          "notes": "Scratch",
          "vin": "WF0KXXGCBKDP31574",
          "engine_number": "E1",
          "key_number": "K1",
          "origin": "Auction",
          "vat": "No VAT",
          "vat_pricing": "Margin",
          "due_in_date": "2026-01-01",
          "forecourt_date": "2026-01-02",
          "price_website": "9995.00",
          "price_channel": "9895.00",
          "price_reserve": "99.00",
          "price_auction_start": "5000.00",
          "price_auction_reserve": "8000.00",
          "price_auction_buy_now": "9000.00",
          "price_rrp": "16000.50",
          "price_auction_duration": "7 days",
          "price_auction_platform_b_type": "Auction with Buy Now",
          "price_poa": false,
          "funding_provider": "Bank",
          "funding_provider_id": 502,
          "funding_provider_total": "7000.00",
          "stock_quantity": 1,
          "stock_variation": {
            "b": [
              1,
              null
            ],
            "a": 0.5
          },
          "purchase_date": "2025-12-01",
          "purchase_invoice": "P1",
          "purchase_supplier": "Auctions Ltd",
          "purchase_supplier_invoice": "S1",
          "purchase_supplier_id": 503,
          "purchase_price": "7000.00",
          "purchase_price_vat": "0.00",
          "purchase_price_total": "7000.00",
          "purchase_cost": "10.00",
          "purchase_cost_vat": "2.00",
          "purchase_cost_total": "12.00",
          "purchase_value": "7010.00",
          "purchase_value_vat": "2.00",
          "purchase_value_total": "7012.00",
          "purchase_cost_data": [
            {
              "type": "Valet",
              "supplier": "Shine",
              "cost": "10.00",
              "vat": "2.00",
              "invoice": "I1",
              "reference": "R",
              "date": "2026-01-03",
              "id": 1,
              "total": "12.00"
            }
          ]
        },
        "setting": {
          "featured": "Yes",
          "poa": "No"
        },
        "spec": {
          "performance": {
            "top_speed": 112,
            "zero_sixty": 11.2,
            "zero_sixty_two": "11.6 s"
          },
          "engine": {
            "make": "Ford",
            "model": null,
            "code": null,
            "cylinders": null,
            "cylinder_layout": null,
            "capacity": null,
            "bhp": 100,
            "ps": null,
            "kw": null,
            "nm": null,
            "lb_ft": null,
            "gears": null,
            "valves": null,
            "bore": null,
            "stroke": null,
            "compression_ratio": null,
            "aspiration": null,
            "fuel_delivery": null,
            "position": null,
            "valve_gear": null,
            "start_stop": true
          },
          "battery": {
            "charge_time": null,
            "charge_time_rapid": null,
            "range": null,
            "kwh": 0,
            "kwh_usable": null,
            "health": null,
            "connector": null
          },
          "fuel": {
            "mpg_combined": 52.3,
            "mpg_urban": 40,
            "emission_co2": "99 g/km",
            "tank": 42,
            "ulez": "Yes",
            "caz": "Yes"
          },
          "size": {
            "length": 3969,
            "width": null,
            "width_mirrors": null,
            "height": null,
            "wheelbase": null,
            "ground_clearance": null,
            "kerb_weight": null,
            "gross_weight": null,
            "unladen_weight": null,
            "mass_in_running_order": null,
            "mtplm": null,
            "payload": null,
            "towing_braked": null,
            "towing_unbraked": null,
            "roof_load": null,
            "weight_max": 1500,
            "boot_seats_up": 290,
            "boot_seats_down": null,
            "boot_length": 70,
            "load_volume": 0.9
          },
          "insurance": {
            "group": "8E",
            "code": 1
          },
          "other": {
            "axles": 2,
            "country": "Germany",
            "sector": "B"
          }
        },
        "appraisal": {
          "details": {
            "customer_id": "501",
            "customer": "Ann Lee"
          },
          "calculation": {
            "offer": "6500.00",
            "finance_settlement": "1000.00"
          },
          "confirm": {
            "offer": "6500.00",
            "expiry": "2026-01-31",
            "appraised_at": 1767225600,
            "agreed_amount": "6600.00",
            "decision": "accepted",
            "decision_at": 1767312000,
            "stock_id": "902",
            "stock_tag": "6FQH7"
          }
        },
        "lookup": {
          "dvla": {
            "make": "FORD",
            "colour": "BLUE",
            "fuel_type": "PETROL",
            "year_of_manufacture": 2017,
            "month_of_first_registration": "2017-03",
            "engine_capacity": 998,
            "co2_emissions": 99,
            "euro_status": "EURO 6",
            "tax_status": "Taxed",
            "tax_due_date": "2026-10-01",
            "mot_status": "Valid",
            "mot_expiry_date": "2026-09-01",
            "date_of_last_v5c_issued": "2025-01-01",
            "type_approval": "M1",
            "wheelplan": "2 AXLE RIGID BODY",
            "marked_for_export": false
          },
          "dvsa": {
            "mot_tests": [
              {
                "completed_date": "2025-09-01",
                "test_result": "PASSED",
                "odometer_value": "30000"
              }
            ]
          },
          "check": {
            "stolen": false,
            "finance": false,
            "written_off": false,
            "previous_keepers": 2
          }
        },
        "tag": [
          {
            "name": "Ready",
            "checked": true,
            "colour": "#3a3",
            "type": "s"
          },
          {
            "name": "Gone",
            "checked": false,
            "colour": "",
            "type": ""
          }
        ],
        "finance": {
          "example_monthly": "225.90",
          "example": {
            "cash_price": "9995.00",
            "total_deposit": "999.50",
            "total_credit": "8995.50",
            "first_payment": "225.81",
            "monthly_payment": "225.90",
            "final_payment": null,
            "admin_fee": "0.00",
            "option_purchase_fee": "10.00",
            "interest_charge": "1847.61",
            "total_payable": "11852.61",
            "total_monthly_payments": 47,
            "term": 48,
            "fixed_interest_rate": 5.13,
            "representative_apr": 9.9
          }
        }
      },
      "media": {
        "photo": [
          "01010101010101010101010101010101",
          "04040404040404040404040404040404"
        ],
        "video": [
          "02020202020202020202020202020202"
        ],
        "youtube": [
          "dQw4w9WgXcQ"
        ],
        "photo_spin": [
          "03030303030303030303030303030303"
        ]
      }
    }
    "##);
}

#[test]
fn what_is_kept_is_kept_so_again() {
    let again = serde_json::to_value(&fiesta().content).unwrap();
    assert_eq!(again, serde_json::from_str::<Value>(KEPT).unwrap());
    let bare = serde_json::to_string(&bare().content).unwrap();
    assert_eq!(bare, r#"{"type":"s","status":"draft","country":"GB","data":{}}"#);
}

#[test]
fn the_simple_view_has_what_the_decisions_name() {
    let (simple, full) = (shown(&fiesta(), Detail::Simple), shown(&fiesta(), Detail::Full));
    let mut expected = full;
    keep(
        &mut expected,
        "id, tag, country, registration, url, url_full, type, status, created, updated, data, media",
    );
    keep(&mut expected["data"], "vehicle, stock");
    keep(
        &mut expected["data"]["stock"],
        "reference, number, location, price_website, price_poa",
    );
    keep(&mut expected["media"], "photo");
    assert_eq!(simple, expected);
    assert_eq!(leaves(&shown(&bare(), Detail::Simple)), leaves(&simple));
}

/// Keeps only these members of an object, all of which it must have.
fn keep(object: &mut Value, names: &str) {
    let names: Vec<_> = names.split(", ").collect();
    let members = object.as_object_mut().unwrap();
    members.retain(|name, _| names.contains(&&**name));
    assert_eq!(members.len(), names.len(), "{names:?}");
}

/// Returns the members that the contract lists under "Listing", except the media and the hash, which are not the vehicle's own.
fn advert_of(full: &Value) -> Value {
    let mut advert = full.clone();
    keep(
        &mut advert,
        "id, tag, country, registration, url_full, status, data, updated",
    );
    let data = &mut advert["data"];
    keep(data, "vehicle, history, stock, finance, option, spec");
    keep(
        &mut data["vehicle"],
        "type, make, model, generation, derivative, trim, body, fuel, transmission, drivetrain, colour, colour_name, \
         engine_size, registered, driver_position, interior_upholstery, interior_colour, exterior_finish, \
         bedroom_layout, end_layout, wheelchair, doors, seats, mileage, bedroom, berth, seat_belt",
    );
    keep(&mut data["history"], "year, condition, keys, service_history");
    keep(&mut data["stock"], "price_website, price_rrp, vin");
    keep(
        &mut data["option"],
        "option_custom, attention, description, website, feature",
    );
    keep(
        &mut data["spec"],
        "performance, engine, battery, fuel, size, insurance, other",
    );
    advert
}

#[test]
fn an_advert_has_what_the_contract_lists() {
    let vehicle = fiesta();
    assert_eq!(
        shown(&vehicle, Detail::Advert),
        advert_of(&shown(&vehicle, Detail::Full))
    );
    assert_eq!(
        shown_to(ScopeSet::default(), &vehicle, Detail::Advert, &acme()),
        shown(&vehicle, Detail::Advert),
        "it has nothing that a scope would show"
    );
}

#[test]
fn what_an_advert_does_not_know_is_null() {
    let business = Business {
        website: String::new(),
        ..acme()
    };
    let advert = shown_to(ScopeSet::all(), &bare(), Detail::Advert, &business);
    let full = shown_to(ScopeSet::all(), &bare(), Detail::Full, &business);
    assert_eq!(full["url_full"], "");
    assert_eq!(advert["url_full"], Value::Null);
    let data = advert_of(&full)["data"].take();
    assert_eq!(leaves(&advert["data"]), leaves(&data));
    for path in leaves(&data) {
        let shown = advert["data"].pointer(&format!("/{}", path.replace('.', "/"))).unwrap();
        let expected = match &*path {
            "option.option_custom" => json!([]),
            "option.feature" => json!({}),
            _ => Value::Null,
        };
        assert_eq!(*shown, expected, "{path}");
    }
}

#[test]
fn an_advert_does_not_show_a_price_on_application() {
    let mut vehicle = fiesta();
    vehicle.content.data.setting.poa = serde_json::from_value(json!("Yes")).unwrap();
    let advert = shown(&vehicle, Detail::Advert);
    assert_eq!(advert["data"]["stock"]["price_website"], Value::Null);
    assert_eq!(advert["data"]["stock"]["price_rrp"], "16000.50");
    assert_eq!(
        advert["data"]["finance"],
        json!({"example_monthly": null, "example": null})
    );
    let full = shown(&vehicle, Detail::Full);
    assert_eq!(full["data"]["stock"]["price_website"], "9995.00");
}

#[test]
fn costs_and_funding_are_for_those_with_the_scope() {
    let pricing = [
        "funding_provider",
        "funding_provider_id",
        "funding_provider_total",
        "purchase_price",
        "purchase_price_vat",
        "purchase_price_total",
        "purchase_cost",
        "purchase_cost_vat",
        "purchase_cost_total",
        "purchase_value",
        "purchase_value_vat",
        "purchase_value_total",
        "purchase_cost_data",
    ];
    for vehicle in [fiesta(), bare()] {
        for detail in [Detail::Simple, Detail::Full, Detail::Advert] {
            let whole = shown(&vehicle, detail);
            let mut expected = whole.clone();
            let stock = expected["data"]["stock"].as_object_mut().unwrap();
            stock.retain(|name, _| !pricing.contains(&&**name));
            let reduced = shown_to(without_pricing(), &vehicle, detail, &acme());
            assert_eq!(reduced, expected, "{detail:?}");
            if detail == Detail::Full {
                assert_eq!(leaves(&whole).len(), leaves(&reduced).len() + pricing.len());
            }

            let mut projected = whole.clone();
            project(&mut projected, without_pricing());
            assert_eq!(projected, reduced, "an event's data is reduced as a read is");
            project(&mut projected, ScopeSet::all());
            assert_eq!(projected, reduced);
            let mut untouched = whole.clone();
            project(&mut untouched, Scope::VehiclePricingRead.into());
            assert_eq!(untouched, whole);
        }
    }
}

#[test]
fn only_the_event_of_a_sale_shows_the_sale() {
    let sold = json!({"id": 901, "sale": {"price": "1.00"}, "data": {}});
    let shown = |event, scopes| {
        let mut shown = sold.clone();
        project_event(&mut shown, event, scopes);
        shown.get("sale").is_some()
    };
    assert!(shown(EventName::VehicleSold, ScopeSet::all()));
    assert!(!shown(EventName::VehicleSold, Scope::VehiclesRead.into()));
    assert!(!shown(EventName::VehicleUpdated, ScopeSet::all()));
}

#[test]
fn a_deletion_has_nothing_to_withhold() {
    for data in [json!({"id": 901}), json!({"data": 5}), json!([]), Value::Null] {
        let mut projected = data.clone();
        project(&mut projected, ScopeSet::default());
        assert_eq!(projected, data);
    }
}

#[test]
fn a_location_is_shown_by_its_name() {
    let mut business = acme();
    let location = |business: &Business| {
        shown_to(ScopeSet::all(), &fiesta(), Detail::Simple, business)["data"]["stock"]["location"].take()
    };
    assert_eq!(location(&business), "Front");
    business.catalogue.locations[0].name = "Forecourt".into();
    assert_eq!(location(&business), "Forecourt");
    business.catalogue.locations.clear();
    assert_eq!(
        location(&business),
        "1",
        "a location that is given up is shown by its id"
    );
}

#[test]
fn every_state_is_shown_by_id_name_and_label() {
    for kind in StockType::ALL {
        for &status in VehicleStatus::of(kind) {
            let mut vehicle = bare();
            vehicle.content.kind = kind;
            vehicle.content.status = status;
            for detail in [Detail::Simple, Detail::Full] {
                let shown = shown(&vehicle, detail);
                assert_eq!(shown["type"], kind.slug());
                let expected = json!({"id": status.id(), "name": status.name(), "label": status.label()});
                assert_eq!(shown["status"], expected);
            }
        }
    }
}

#[test]
fn the_address_has_the_tag_however_long_the_names_are() {
    let mut vehicle = fiesta();
    assert_eq!(vehicle.url(), "2017-ford-fiesta-1-0t-ecoboost-and-co-kqvrk");
    vehicle.content.data.vehicle.derivative = "very long ".repeat(30);
    assert!(vehicle.url().starts_with("2017-ford-fiesta-very-long-"));
    assert!(vehicle.url().ends_with("-very-kqvrk"), "{}", vehicle.url());
    for make in ["x".repeat(500), "x".repeat(189), "x".repeat(190)] {
        vehicle.content.data.vehicle.make = make;
        vehicle.tag = VehicleTag::nth(u64::MAX);
        let tag = vehicle.tag.as_str().to_lowercase();
        assert!(vehicle.url().ends_with(&format!("-{tag}")) && vehicle.url().len() <= 200);
    }
    assert_eq!(bare().url(), "kqvrk");
}

/// Acme in later states: with other names, and with fewer values.
fn businesses() -> [Business; 4] {
    let mut renamed = acme();
    renamed.website = "https://\"quoted\".example".into();
    renamed.catalogue.locations[0].name = "At the \"back\"\n{}".into();
    let mut poor = acme();
    poor.website = String::new();
    poor.catalogue.locations.clear();
    let unnamed = Business {
        website: String::new(),
        ..acme()
    };
    [acme(), renamed, poor, unnamed]
}

#[track_caller]
fn assert_previewed(vehicle: &Vehicle) {
    // None of its fields needs a scope. Otherwise lists would have to read the vehicles.
    let text = VehiclePreview::written(vehicle).unwrap().unwrap();
    let stored = VehiclePreview::stored(vehicle.id, text).unwrap();
    let read = VehiclePreview::from(vehicle.clone());
    assert_eq!((stored.id(), read.id()), (vehicle.id, vehicle.id));
    assert_eq!((stored.is_stored(), read.is_stored()), (true, false));
    for business in businesses() {
        for scopes in [ScopeSet::all(), without_pricing(), ScopeSet::NONE] {
            let view = VehicleView::new(vehicle, &business, Detail::Simple, scopes);
            let expected = serde_json::to_string(&view).unwrap();
            for preview in [&stored, &read] {
                let mut json = Vec::new();
                preview.write_to(&business, scopes, &mut json).unwrap();
                assert_eq!(String::from_utf8(json).unwrap(), expected);
            }
        }
    }
}

/// Removes the value at `path` of the stored data.
fn without(kept: &Value, path: &str) -> Value {
    let mut kept = kept.clone();
    let (group, name) = path.rsplit_once('.').unwrap();
    let pointer = format!("/data/{}", group.replace('.', "/"));
    kept.pointer_mut(&pointer)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(name)
        .unwrap();
    kept
}

#[test]
fn a_preview_shows_what_the_simple_view_shows() {
    assert_previewed(&bare());
    assert_previewed(&fiesta());
    let kept: Value = serde_json::from_str(KEPT).unwrap();
    for path in leaves(&kept["data"]) {
        assert_previewed(&vehicle(without(&kept, &path)));
        let value = kept["data"].pointer(&format!("/{}", path.replace('.', "/"))).unwrap();
        let data = path.rsplit('.').fold(value.clone(), |inner, name| json!({name: inner}));
        assert_previewed(&vehicle(
            json!({"type": "a", "status": "added", "country": "DE", "data": data}),
        ));
    }
    for kind in StockType::ALL {
        for &status in VehicleStatus::of(kind) {
            let mut vehicle = fiesta();
            vehicle.content.kind = kind;
            vehicle.content.status = status;
            assert_previewed(&vehicle);
        }
    }
}

proptest! {
    #[test]
    fn a_preview_shows_whatever_texts_there_are(texts: [String; 7], photos: Vec<u8>) {
        let [make, model, derivative, colour, number, location, reference] = texts;
        let photo = |byte: u8| json!({
            "type": "photo", "file": format!("{}.jpg", format!("{byte:02x}").repeat(16)), "kind": "jpeg", "size": 9,
            "uploaded": 1,
        });
        let photos: Vec<_> = photos.into_iter().map(photo).collect();
        assert_previewed(&vehicle(json!({
            "type": "s", "status": "for_sale", "country": "GB", "media": photos,
            "data": {
                "vehicle": {"make": make, "model": model, "derivative": derivative, "colour": colour},
                "stock": {"number": number, "location": location, "reference": reference},
            },
        })));
    }
}

/// If this changes, check whether the declared fields have changed, which changes the part before the brace. If they have not,
/// but their representation has, `REVISION` in `preview.rs` must go up.
#[test]
fn what_is_stored_for_the_simple_view() {
    let texts = [bare(), fiesta()].map(|vehicle| VehiclePreview::written(&vehicle).unwrap().unwrap());
    assert_snapshot!(texts.join("\n\n"), @r#"
    37fd2a073b8e5fe6{"tag":"KQVRK","country":"GB","registration":null,"url":"kqvrk","url_full":
    {"address":"kqvrk"}
    ,"type":"in-stock","status":{"id":1,"name":"draft","label":"Draft"},"created":1772357400,"updated":1772357460,"data":{"vehicle":{"type":"","make":"","model":"","generation":"","derivative":"","trim":"","engine_size":"","body":"","colour":"","colour_name":"","fuel":"","transmission":"","drivetrain":"","seats":null,"doors":null,"wheelbase":"","cab_type":"","mileage":null,"registered":null,"category":"","driver_position":"","interior_upholstery":"","interior_colour":"","exterior_finish":"","group":"","hour":"","bedroom_layout":null,"end_layout":null,"bedroom":null,"berth":null,"seat_belt":null,"wheelchair":null},"stock":{"reference":"","number":"","location":"","price_website":null,"price_poa":false}},"media":{"photo":[]}}

    37fd2a073b8e5fe6{"tag":"KQVRK","country":"GB","registration":"AB17 CDE","url":"2017-ford-fiesta-1-0t-ecoboost-and-co-kqvrk","url_full":
    {"address":"2017-ford-fiesta-1-0t-ecoboost-and-co-kqvrk"}
    ,"type":"in-stock","status":{"id":2,"name":"for-sale","label":"For Sale"},"created":1772357400,"updated":1772357460,"data":{"vehicle":{"type":"Car","make":"Ford","model":"Fiesta","generation":"Mk7","derivative":"1.0T EcoBoost & Co","trim":"Zetec","engine_size":"1.0","body":"Hatchback","colour":"Blue","colour_name":"Deep Impact","fuel":"Petrol","transmission":"Manual","drivetrain":"Front Wheel Drive","seats":5,"doors":3,"wheelbase":"SWB","cab_type":"Crew","mileage":31415,"registered":"2017-03-01","category":"Tractor","driver_position":"Right","interior_upholstery":"Cloth","interior_colour":"Black","exterior_finish":"Metallic","group":"G","hour":"12","bedroom_layout":"French bed","end_layout":"End kitchen","bedroom":1,"berth":2,"seat_belt":4,"wheelchair":"No"},"stock":{"reference":"R1","number":"N1","location":
    {"location":"1"}
    ,"price_website":"9995.00","price_poa":false}},"media":{"photo":["01010101010101010101010101010101","04040404040404040404040404040404"]}}
    "#);
}

#[test]
fn a_preview_of_other_fields_is_not_believed() {
    let written = VehiclePreview::written(&fiesta()).unwrap().unwrap();
    let (layout, members) = written.split_at(16);
    let other = if layout.starts_with('0') { '1' } else { '0' };
    for text in [String::new(), members.to_owned(), format!("{other}{}", &written[1..])] {
        assert_eq!(VehiclePreview::stored(fiesta().id, text), None);
    }
}
