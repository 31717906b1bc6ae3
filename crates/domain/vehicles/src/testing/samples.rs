//! Samples of vehicles to store.

use serde_json::{Value, json};

use crate::VehicleDraft;

/// Reads a vehicle from its stored form.
fn draft(document: Value) -> VehicleDraft {
    serde_json::from_value(document).expect("it is a vehicle")
}

/// A vehicle with few values.
pub fn a_vehicle() -> VehicleDraft {
    draft(json!({"type": "s", "status": "draft", "country": "GB", "data": {}}))
}

/// A vehicle with a value in every section.
pub fn a_full_vehicle() -> VehicleDraft {
    draft(json!({
        "type": "a", "status": "appraised", "country": "DE", "registration": "AB12CDE", "owner": 7, "parent": 3,
        "tag": [{"name": "Hot \\ % _ \" 🚗", "checked": false}, {"name": "Ready", "checked": true}],
        "channels": ["website", "platform_a"],
        "channel_options": {"platform_a": {"advert": true}, "platform_b": {"location": "Leeds"}},
        "data": {
            "vehicle": {
                "make": "Škoda", "model": "Octavia \"RS\" 100%", "generation": "Mk_3", "derivative": "2.0\\TDI 李小龍",
                "body": "Estate", "colour": "Nardo Grey", "fuel": "Diesel", "transmission": "Automatic",
                "seats": 5, "mileage": 123_456, "registered": "2015-02-28", "wheelchair": "No",
            },
            "option": {
                "factory": ["Sunroof"], "option_custom": ["Hook"], "description": "Line\r\nline", "feature": {"a": ["Sunroof"]},
            },
            "history": {"previous_owner": 2, "year": 2015, "service_history": "Full", "v5": "Yes"},
            "stock": {
                "reference": "REF-1", "number": "N/1", "location": "1", "vin": "WVWZZZ1KZAW000001", "price_website": "12995.50",
                "funding_provider_id": 4, "stock_variation": {"z": [1.5, null, {"a": "é"}], "a": {}},
                "purchase_cost_data": [{"kind": "Wash", "cost": "10.00", "id": 1}],
            },
            "setting": {"featured": "Yes", "poa": "No"},
            "spec": {"performance": {"top_speed": "135 mph"}, "engine": {"bhp": 184, "start_stop": true}},
            "appraisal": {
                "details": {"customer_id": 9_223_372_036_854_775_807_i64, "customer": "Zoë O'Neill"},
                "calculation": {"offer": "9000.00"}, "confirm": {"decision": "accepted", "stock_id": "5"},
            },
            "lookup": {"dvla": {"make": "SKODA", "year_of_manufacture": 2015}, "check": {"stolen": false}},
        },
        "media": [
            {"type": "photo", "file": "0123456789abcdef0123456789abcdef.jpg", "kind": "jpeg", "size": 1, "uploaded": 1},
            {"type": "youtube", "id": "dQw4w9WgXcQ", "uploaded": 1},
        ],
    }))
}
