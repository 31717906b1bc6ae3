//! The schemas of the OpenAPI document match the representations and the accepted values.

#![cfg(feature = "openapi")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod support;

use std::collections::BTreeMap;

use forecourt_kernel::{Date, ScopeSet, VehicleId, Version};
use forecourt_reference::{RecordTags, StockType};
use forecourt_vehicles::{
    AppraisalView, ChannelOptionsSchema, ChannelsView, Detail, FullVehicle, NewVehicleData, PublishCheck,
    ReservationView, SimpleVehicle, Vehicle, VehicleDataChange, VehicleTag, VehicleView, read_appraisal, read_data,
    read_reservation,
};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use support::{OPENING, acme};

/// A schema with those that it refers to.
struct Schema {
    root: Value,
    named: BTreeMap<String, Value>,
}

impl Schema {
    fn of<T: ToSchema>() -> Self {
        let mut named = Vec::new();
        T::schemas(&mut named);
        let named = named.into_iter().map(|(name, schema)| (name, json!(schema)));
        Self {
            root: json!(T::schema()),
            named: named.collect(),
        }
    }

    /// Returns the schema itself, or the one that it refers to.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(name) => &self.named[name.strip_prefix("#/components/schemas/").unwrap()],
            None => schema,
        }
    }

    /// Asserts that `value` conforms to the schema, and that each of its members is declared.
    #[track_caller]
    fn assert_fits(&self, value: &impl Serialize) {
        self.validate("", &json!(value), &self.root);
    }

    #[track_caller]
    fn validate(&self, path: &str, value: &Value, schema: &Value) {
        let schema = self.resolve(schema);
        if let Some(choices) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
            let null = json!({"type": "null"});
            let mut choices = choices.as_array().unwrap().iter();
            let choice = choices.find(|choice| (**choice == null) == value.is_null());
            return self.validate(path, value, choice.unwrap());
        }
        let kinds: Vec<_> = match &schema["type"] {
            Value::String(kind) => vec![&**kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => panic!("{path} is of no type: {schema}"),
        };
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() || !kinds.contains(&"integer") => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        assert!(kinds.contains(&kind), "{path} is {value}, not {kinds:?}");
        if let Some(words) = schema["enum"].as_array() {
            assert!(words.contains(value), "{path}: {value}");
        }
        if let (Some("date"), Some(text)) = (schema["format"].as_str(), value.as_str()) {
            assert!(text.parse::<Date>().is_ok(), "{path}: {text:?}");
        }
        if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
            let is_amount = text.split_once('.').is_some_and(|(whole, pence)| {
                whole.parse::<u64>().is_ok() && pence.len() == 2 && pence.parse::<u64>().is_ok()
            });
            let may_be_empty = pattern.starts_with("^$|");
            let fits = match pattern.trim_start_matches("^$|") {
                "^0*[1-9][0-9]*$" => text.parse::<u64>().is_ok_and(|id| id > 0),
                "^[0-9A-Za-z]+$" => text.chars().all(|character| character.is_ascii_alphanumeric()),
                _ => is_amount,
            };
            assert!(fits || text.is_empty() && may_be_empty, "{path}: {text:?}");
        }
        for item in value.as_array().into_iter().flatten() {
            self.validate(&format!("{path}[]"), item, &schema["items"]);
        }
        let Some(members) = value.as_object() else {
            return;
        };
        for (name, member) in members {
            let path = format!("{path}.{name}");
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(declared), _) => self.validate(&path, member, declared),
                (None, Value::Bool(true)) => {}
                (None, others @ Value::Object(_)) => self.validate(&path, member, others),
                (None, _) => panic!("{path} is not declared"),
            }
        }
        for required in schema["required"].as_array().into_iter().flatten() {
            let name = required.as_str().unwrap();
            assert!(members.contains_key(name), "{path}.{name} is required");
        }
    }

    /// Returns the dot-paths of the declared fields, with their schemas.
    fn fields(&self) -> BTreeMap<String, Value> {
        let mut fields = BTreeMap::new();
        self.gather("", &self.root, &mut fields);
        fields
    }

    fn gather(&self, path: &str, schema: &Value, fields: &mut BTreeMap<String, Value>) {
        let schema = self.resolve(schema);
        match schema["properties"].as_object() {
            Some(properties) => {
                for (name, declared) in properties {
                    let separator = if path.is_empty() { "" } else { "." };
                    self.gather(&format!("{path}{separator}{name}"), declared, fields);
                }
            }
            None => {
                fields.insert(path.to_owned(), schema.clone());
            }
        }
    }
}

fn vehicle(data: &Value) -> Vehicle {
    let kept = json!({"type": StockType::InStock.key(), "status": "for_sale", "country": "GB", "data": data,
    "tag": [{"name": "Ready", "checked": true}], "media": [
        {"type": "youtube", "id": "dQw4w9WgXcQ", "uploaded": 1},
        {"type": "photo", "file": format!("{}.jpg", "0a".repeat(16)), "kind": "jpeg", "size": 9, "uploaded": 1},
    ]});
    Vehicle {
        id: VehicleId::new(901),
        tag: VehicleTag::nth(1),
        created: OPENING,
        updated: OPENING,
        version: Version::FIRST,
        content: serde_json::from_value(kept).unwrap(),
    }
}

/// A vehicle without values, and one with a value of every kind.
fn vehicles() -> [Vehicle; 2] {
    let known = json!({
        "vehicle": {"class": "Car", "make": "Ford", "seats": 5, "registered": "2017-03-01", "wheelchair": "No"},
        "option": {"option_custom": ["Mats"], "feature": {"other": ["Net"]}},
        "history": {"year": 2017, "v5": "Yes"},
        "stock": {
            "vin": "AB123", "location": "1", "price_website": "9995.00", "funding_provider_id": 502,
            "stock_variation": {"a": [1]}, "price_auction_platform_b_type": "BuyNow", "price_poa": true,
            "purchase_cost_data": [{"id": 1, "cost": "1.00", "date": "2026-01-01"}, {"id": "x"}],
        },
        "spec": {"engine": {"bhp": 100, "make": "Ford", "start_stop": true}, "fuel": {"mpg": {"mpg_urban": 40.5}}},
        "appraisal": {"confirm": {"offer": "1.00", "appraised_at": 5, "expiry": "2026-01-01"}},
        "lookup": {
            "dvla": {"co2_emissions": 99, "engine_capacity": 998, "marked_for_export": false},
            "dvsa": {"mot_tests": [{"completed_date": "2025", "test_result": "PASSED", "odometer_value": "1"}]},
            "check": {"stolen": false, "previous_keepers": 2},
        },
    });
    [vehicle(&json!({})), vehicle(&known)]
}

#[test]
fn reservations_and_appraisals_are_as_their_schemas_say() {
    let document = json!({
        "type": "a", "status": "accepted", "country": "GB",
        "data": {"appraisal": {"confirm": {"offer": "1.00", "expiry": "2026-03-01", "stock_id": "5", "stock_tag": "KQVRK"}}},
        "reservation": {
            "current": {
                "customer": 501, "method": "Card", "deposit": "99.50", "transaction": "T", "date": 1, "reserved_at": 2,
                "vat": true, "invoice": {"id": 3, "number": "INV-4"},
            },
        },
        "offer": {"requested": 1, "max_offer": "2.00", "appraised_by": 1, "comments": "x"},
    });
    let bare = json!({"type": "s", "status": "draft", "country": "GB", "data": {}});
    for document in [document, bare] {
        let vehicle = Vehicle {
            id: VehicleId::new(1),
            tag: VehicleTag::nth(1),
            created: OPENING,
            updated: OPENING,
            version: Version::FIRST,
            content: serde_json::from_value(document).unwrap(),
        };
        Schema::of::<ReservationView<'_>>().assert_fits(&read_reservation(&vehicle));
        Schema::of::<AppraisalView<'_>>().assert_fits(&read_appraisal(&vehicle));
    }
}

#[test]
fn what_is_shown_is_declared() {
    let business = acme();
    let (full, simple) = (Schema::of::<FullVehicle>(), Schema::of::<SimpleVehicle>());
    for vehicle in vehicles() {
        for scopes in [ScopeSet::all(), ScopeSet::default()] {
            full.assert_fits(&VehicleView::new(&vehicle, &business, Detail::Full, scopes));
            simple.assert_fits(&VehicleView::new(&vehicle, &business, Detail::Simple, scopes));
        }
        Schema::of::<RecordTags<'_>>().assert_fits(&vehicle.tags(&business.catalogue));
        Schema::of::<PublishCheck<'_>>().assert_fits(&PublishCheck::new(&vehicle, &business, 1));
        let channels = json!(ChannelsView::new(&vehicle, &business, vehicle.updated));
        Schema::of::<ChannelOptionsSchema>().assert_fits(&channels["options"]);
    }
}

#[test]
fn what_is_declared_is_shown() {
    let business = acme();
    let [bare, known] = vehicles();
    for (detail, schema) in [
        (Detail::Full, Schema::of::<FullVehicle>()),
        (Detail::Simple, Schema::of::<SimpleVehicle>()),
    ] {
        for vehicle in [&bare, &known] {
            let shown = json!(VehicleView::new(vehicle, &business, detail, ScopeSet::all()));
            for path in schema
                .fields()
                .keys()
                .filter(|path| !path.starts_with("data.finance.example."))
            {
                let pointer = format!("/{}", path.replace('.', "/"));
                assert!(shown.pointer(&pointer).is_some(), "{path}");
            }
        }
    }
}

/// Returns the fields of `data` in the schema of a full vehicle.
fn readable() -> Vec<String> {
    let fields = Schema::of::<FullVehicle>().fields();
    let data = fields.keys().filter_map(|path| path.strip_prefix("data."));
    data.map(str::to_owned).collect()
}

/// Returns the alternatives of a schema.
fn choices(schema: &Value) -> &[Value] {
    let choices = schema.get("anyOf").and_then(Value::as_array);
    choices.map_or(std::slice::from_ref(schema), Vec::as_slice)
}

fn is_of_kind(schema: &Value, kind: &str) -> bool {
    choices(schema).iter().any(|choice| match &choice["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    })
}

fn takes_empty_text(schema: &Value) -> bool {
    choices(schema).iter().any(|choice| {
        let words = choice["enum"].as_array();
        is_of_kind(choice, "string")
            && choice["format"].is_null()
            && words.is_none_or(|words| words.contains(&json!("")))
            && choice["pattern"]
                .as_str()
                .is_none_or(|pattern| pattern.starts_with("^$|"))
    })
}

#[test]
fn what_may_be_written_is_what_is_declared_for_writing() {
    let business = acme();
    for (schema, creating) in [
        (Schema::of::<VehicleDataChange>(), false),
        (Schema::of::<NewVehicleData>(), true),
    ] {
        let writable = schema.fields();
        let write = |path: &str, value: Value| {
            let sent = path.rsplit('.').fold(value, |inner, name| json!({name: inner}));
            read_data(&sent, &business, OPENING, creating).is_ok()
        };
        for (path, declared) in &writable {
            assert!(write(path, Value::Null), "{path} may be cleared");
            assert!(is_of_kind(declared, "null"), "{path} may be null: {declared}");
            let may_be_empty = takes_empty_text(declared);
            assert_eq!(write(path, json!("")), may_be_empty, "{path} is empty: {declared}");
        }
        for path in readable().iter().filter(|path| !writable.contains_key(*path)) {
            assert!(!write(path, Value::Null), "{path} is not declared for writing");
        }
        assert!(writable.contains_key("option.option"));
        let customer = writable.get("appraisal.details.customer_id");
        assert_eq!(customer.is_some(), creating);
        if let Some(customer) = customer {
            assert!(is_of_kind(customer, "integer"), "{customer}");
            assert_eq!(customer["pattern"], "^$|^0*[1-9][0-9]*$");
        }
    }
}

#[test]
fn what_is_taken_fits_what_is_declared_for_writing() {
    let sent = json!({
        "vehicle": {"type": "Car", "make": null, "seats": 5, "registered": "2017-03-01", "fuel": "petrol"},
        "option": {"option": ["Net"], "option_custom": ["Mats"]},
        "stock": {
            "price_website": 9_995.5, "price_rrp": 10, "location": "1", "stock_variation": {"a": 1},
            "purchase_cost_data": [{"cost": 1.5, "id": 1}, {"id": "x"}, {}],
        },
        "setting": {"poa": "Yes", "featured": null},
        "spec": {"fuel": {"mpg_urban": 40.5, "emission_co2": "99"}, "engine": {"start_stop": true}},
    });
    assert!(read_data(&sent, &acme(), OPENING, false).is_ok());
    Schema::of::<VehicleDataChange>().assert_fits(&sent);
    Schema::of::<NewVehicleData>().assert_fits(&sent);
}
