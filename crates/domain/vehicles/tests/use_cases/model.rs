//! Random sequences of changes, against a model that works only on the JSON that integrators send and see.

use forecourt_kernel::{EventName, VehicleId};
use forecourt_reference::StockType;
use forecourt_vehicles::{Detail, Vehicle, VehicleDraft, VehicleError};
use proptest::{option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::support::Yard;

/// Members of an object, each of which may be absent.
fn object(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let member = |(name, value): (&'static str, BoxedStrategy<Value>)| {
        option::weighted(0.3, value).prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let members: Vec<_> = members.into_iter().map(member).collect();
    members
        .prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
        .boxed()
}

/// One of these values, the first ones of which are valid; rarely one that no field accepts.
fn one_of(values: Value) -> BoxedStrategy<Value> {
    let Value::Array(values) = values else {
        panic!("an array of values was expected")
    };
    prop_oneof![60 => select(values), 1 => Just(json!([[]]))].boxed()
}

fn text() -> BoxedStrategy<Value> {
    one_of(json!([null, "", "a", "b", " c "]))
}

fn figure() -> BoxedStrategy<Value> {
    let number = any::<f64>().prop_filter_map("a number of JSON", |number| {
        (number.is_finite() && number >= 0.0).then(|| json!(number))
    });
    prop_oneof![4 => one_of(json!([null, "", 5, 52.3, "1,598 cc", true])), 1 => number].boxed()
}

fn amount() -> BoxedStrategy<Value> {
    let pennies = (0..100_000_000_u32).prop_map(|pennies| json!(f64::from(pennies) / 100.0));
    prop_oneof![1 => Just(Value::Null), 4 => pennies].boxed()
}

fn patch() -> BoxedStrategy<Value> {
    let vehicle = object(vec![
        ("type", one_of(json!([null, "Motorhome"]))),
        ("make", one_of(json!([null, "FORD", "Acme"]))),
        ("model", text()),
        ("fuel", one_of(json!([null, "", "petrol", "Diesel"]))),
        ("doors", one_of(json!([null, 0, 3, 5]))),
        ("registered", one_of(json!([null, "", "2020-02-29"]))),
        ("bedroom_layout", one_of(json!([null, "", "french bed"]))),
        ("wheelchair", one_of(json!([null, "Yes", "No"]))),
    ]);
    let equipment = object(vec![
        ("option_custom", one_of(json!([null, [], ["a"], ["a", "b"]]))),
        ("description", text()),
    ]);
    let history = object(vec![
        ("year", one_of(json!([null, 1885, 2027]))),
        ("v5", one_of(json!([null, "", "Yes", "No"]))),
    ]);
    let rows = object(vec![("type", text()), ("cost", amount()), ("vat", amount())]);
    let stock = object(vec![
        ("price_website", amount()),
        ("price_rrp", amount()),
        ("vin", one_of(json!([null, "", "ab123"]))),
        ("location", one_of(json!([null, "", "1", "2"]))),
        (
            "stock_variation",
            one_of(json!([null, {}, {"a": {"b": 1}}, {"c": null}])),
        ),
        (
            "purchase_cost_data",
            proptest::collection::vec(rows, 0..4).prop_map(Value::Array).boxed(),
        ),
        ("funding_provider_id", one_of(json!([null, 501, 502, 777]))),
    ]);
    let setting = object(vec![("poa", one_of(json!([null, "", "Yes", "No"])))]);
    let group = |members: BoxedStrategy<Value>| prop_oneof![8 => members, 1 => Just(Value::Null)].boxed();
    let engine = object(vec![("bhp", figure()), ("make", figure())]);
    let fuel = object(vec![
        ("mpg_combined", figure()),
        ("mpg_urban", figure()),
        ("emission_co2", figure()),
        ("tank", figure()),
    ]);
    let size = object(vec![("boot_seats_up", figure()), ("boot_length", figure())]);
    let spec = object(vec![
        ("engine", group(engine)),
        ("fuel", group(fuel)),
        ("size", group(size)),
    ]);
    object(vec![
        ("vehicle", vehicle),
        ("option", equipment),
        ("history", history),
        ("stock", stock),
        ("setting", setting),
        ("spec", spec),
    ])
}

/// Returns `true` if every value in `sent` is valid; the records that it names may still be unknown.
fn is_good(sent: &Value) -> bool {
    match sent {
        Value::Array(items) => items.iter().all(|item| *item != json!([]) && is_good(item)),
        Value::Object(members) => members.values().all(is_good),
        _ => true,
    }
}

fn pennies(amount: &Value) -> i64 {
    let text = amount.as_str().unwrap_or("0.00");
    text.replace('.', "").parse().unwrap()
}

fn money(pennies: i64) -> Value {
    json!(format!("{}.{:02}", pennies / 100, pennies % 100))
}

/// Returns an amount as it is read, from one as it is written.
fn amount_read(sent: &Value) -> Value {
    sent.as_f64()
        .map_or(Value::Null, |amount| json!(format!("{amount:.2}")))
}

/// Returns the representation of a field after this value is written to it.
fn read_back(path: &str, sent: &Value) -> Value {
    let is_cleared = sent.is_null() || *sent == "";
    let or_null = |value: Value| if is_cleared { Value::Null } else { value };
    let text = || sent.as_str().unwrap_or_default();
    match path {
        "vehicle.make" if text() == "FORD" => json!("Ford"),
        "vehicle.fuel" if text() == "petrol" => json!("Petrol"),
        "vehicle.bedroom_layout" => or_null(json!("French bed")),
        "vehicle.doors" | "vehicle.registered" | "vehicle.wheelchair" | "history.year" => or_null(sent.clone()),
        "option.option_custom" if sent.is_null() => json!([]),
        "option.option_custom" => sent.clone(),
        "stock.price_website" | "stock.price_rrp" => amount_read(sent),
        "stock.vin" => json!(text().to_uppercase()),
        "stock.location" => json!(match text() {
            "1" => "Front",
            "2" => "Compound",
            _ => "",
        }),
        "stock.stock_variation" if sent.is_null() => json!({}),
        "stock.stock_variation" | "stock.funding_provider_id" => sent.clone(),
        "stock.purchase_cost_data" => cost_rows(sent),
        _ if path.starts_with("spec.") => or_null(sent.clone()),
        _ => json!(text()),
    }
}

fn cost_rows(sent: &Value) -> Value {
    let row = |(at, sent): (usize, &Value)| {
        let [cost, vat] = ["cost", "vat"].map(|name| amount_read(&sent[name]));
        let total = money(pennies(&cost) + pennies(&vat));
        let kind = sent["type"].as_str().unwrap_or_default();
        json!({
            "type": kind, "supplier": "", "cost": cost, "vat": vat, "invoice": "", "reference": "", "date": null,
            "id": at + 1, "total": total,
        })
    };
    sent.as_array().unwrap().iter().enumerate().map(row).collect()
}

/// Applies a patch to the data that is shown, by the rules of the contract.
fn take(data: &mut Value, patch: &Map<String, Value>) {
    for (section, fields) in patch {
        merge(&mut data[section], section, fields.as_object().unwrap());
    }
    let rows = data["stock"]["purchase_cost_data"].as_array().unwrap();
    let sum = |name: &str| rows.iter().map(|row| pennies(&row[name])).sum::<i64>();
    let (cost, vat) = (sum("cost"), sum("vat"));
    let on_application = data["setting"]["poa"] == "Yes";
    let stock = data["stock"].as_object_mut().unwrap();
    for what in ["cost", "value"] {
        stock[&format!("purchase_{what}")] = money(cost);
        stock[&format!("purchase_{what}_vat")] = money(vat);
        stock[&format!("purchase_{what}_total")] = money(cost + vat);
    }
    stock["price_poa"] = json!(on_application);
}

fn merge(group: &mut Value, path: &str, sent: &Map<String, Value>) {
    for (name, sent) in sent {
        let path = format!("{path}.{name}");
        let shown = group.as_object_mut().unwrap();
        match (path.matches('.').count(), sent) {
            (1, Value::Object(members)) if path.starts_with("spec.") => merge(&mut shown[name], &path, members),
            (1, Value::Null) if path.starts_with("spec.") => {
                let fields = shown[name].as_object_mut().unwrap();
                fields.retain(|name, _| !is_open(name));
                fields.values_mut().for_each(|field| *field = Value::Null);
            }
            _ => match read_back(&path, sent) {
                Value::Null if is_open(name) => {
                    shown.remove(name);
                }
                value => {
                    shown.insert(name.clone(), value);
                }
            },
        }
    }
}

/// Returns `true` for a name that is present only while it is set.
fn is_open(name: &str) -> bool {
    ["mpg_", "emission_", "boot_l"]
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// Returns the part of the data that the model covers, without the values derived from lists and prices.
fn known(yard: &Yard, vehicle: &Vehicle) -> Value {
    let mut shown = yard.view(vehicle);
    let data = shown["data"].as_object_mut().unwrap();
    data.remove("finance");
    shown["data"].take()
}

/// Returns the body of a client that sends back a vehicle: its writable sections, amounts as numbers, the location by its id.
fn sent_back(shown: &Value) -> Value {
    let mut data = shown["data"].clone();
    let sections = ["vehicle", "option", "history", "stock", "setting", "spec"];
    data.as_object_mut()
        .unwrap()
        .retain(|name, _| sections.contains(&&**name));
    data["vehicle"].as_object_mut().unwrap().remove("hour");
    data["option"].as_object_mut().unwrap().remove("feature");
    let stock = data["stock"].as_object_mut().unwrap();
    stock.retain(|name, _| name == "purchase_cost_data" || name != "price_poa" && !name.starts_with("purchase_"));
    stock["location"] = match stock["location"].as_str() {
        Some("Front") => json!("1"),
        Some("Compound") => json!("2"),
        _ => json!(""),
    };
    let as_number = |amount: &mut Value| {
        if let Some(text) = amount.as_str() {
            *amount = serde_json::from_str(text).unwrap();
        }
    };
    for row in stock["purchase_cost_data"].as_array_mut().unwrap() {
        as_number(&mut row["cost"]);
        as_number(&mut row["vat"]);
    }
    let is_amount = |name: &str| name.starts_with("price_") || name == "funding_provider_total";
    for (name, value) in stock.iter_mut().filter(|(name, _)| is_amount(name)) {
        if !name.ends_with("_duration") && !name.ends_with("_type") {
            as_number(value);
        }
    }
    data
}

async fn run(patches: Vec<Value>) {
    let (mut yard, vehicle) = Yard::with(StockType::InStock, json!({})).await;
    let id: VehicleId = vehicle.id;
    let mut model = known(&yard, &vehicle);
    for (at, patch) in patches.into_iter().enumerate() {
        yard.set_clock(100 + i64::try_from(at).unwrap());
        yard.forget_saves();
        let before = yard.stored(id);
        let outcome = yard.update(id, patch.clone()).await;
        let is_unknown = patch["stock"]["funding_provider_id"] == 777;
        if !is_good(&patch) || is_unknown {
            assert!(matches!(outcome, Err(VehicleError::Invalid(_))), "{patch} {outcome:?}");
            yard.assert_untouched(&before);
            continue;
        }
        let vehicle = outcome.unwrap();
        let was = model.clone();
        take(&mut model, patch.as_object().unwrap());
        assert_eq!(known(&yard, &vehicle), model, "{patch}");
        if model == was {
            yard.assert_untouched(&before);
        } else {
            yard.assert_recorded(EventName::VehicleUpdated, &vehicle);
            yard.forget_saves();
        }

        let kept = serde_json::to_string(&vehicle.content).unwrap();
        assert_eq!(serde_json::from_str::<VehicleDraft>(&kept).unwrap(), vehicle.content);
        let back = sent_back(&yard.view(&vehicle));
        assert_eq!(yard.update(id, back).await.unwrap(), vehicle);
        yard.assert_untouched(&vehicle);
        let advert = yard.view_as(&vehicle, Detail::Advert);
        let hidden = model["stock"]["price_poa"] == true;
        let price = if hidden {
            &Value::Null
        } else {
            &model["stock"]["price_website"]
        };
        assert_eq!(advert["data"]["stock"]["price_website"], *price);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_sequence_of_patches_leads_where_the_model_does(patches in proptest::collection::vec(patch(), 1..12)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run(patches));
    }
}
