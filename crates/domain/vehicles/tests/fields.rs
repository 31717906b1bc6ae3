//! Every field of a vehicle's data: the values it accepts, their representation, and the values it refuses (contract, "Vehicle";
//! decisions §7).

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod support;

use std::collections::BTreeSet;

use forecourt_accounts::Business;
use forecourt_kernel::ValidationErrors;
use forecourt_vehicles::{
    Access, Appraisal, AppraisalCalculation, AppraisalConfirm, AppraisalDetails, Battery, CostRow, Data, Detail,
    DvlaRecord, DvsaRecord, Engine, FieldInfo, FieldValue, Fuel, History, Identity, Insurance, Lookup, Options,
    OtherSpec, Performance, ProvenanceCheck, Setting, Size, Spec, Stock, ViewContext, read_data,
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use support::{OPENING, acme};

/// The kind of values that a field accepts.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Count,
    Year,
    Money,
    Day,
    /// Text of which only HTML that is fit for a public page stays.
    Html,
    /// Yes or No; empty while it is not set.
    YesNo,
    /// Yes or No; null while it is not set.
    YesNoOrNull,
    /// A word of a list; empty while it is not set. The word, and the same in careless spelling.
    Listed(&'static str, &'static str),
    /// As `Listed`, but null while it is not set.
    ListedOrNull(&'static str, &'static str),
    Class,
    Vin,
    Location,
    Auction,
    Contact,
    /// A figure of a data sheet.
    Figure,
    /// A name with the field's prefix, for a figure.
    Figures(&'static str),
    Texts,
    /// Texts that are never read.
    WriteOnlyTexts,
    Free,
    CostRows,
    RowId,
    /// Only on creation: the person who offers the vehicle.
    Customer,
    /// Derived, or written by other operations; has this value while it is not set.
    ReadOnly(Unset),
}

#[derive(Clone, Copy, Debug)]
enum Unset {
    Text,
    Null,
    False,
    Zero,
    Object,
    Array,
}

/// In the order of the contract. The fields after `more` are those that the contract covers by "and more".
const TABLE: &[(&str, Kind)] = &[
    ("vehicle.type", Kind::Class),
    ("vehicle.make", Kind::Text),
    ("vehicle.model", Kind::Text),
    ("vehicle.generation", Kind::Text),
    ("vehicle.derivative", Kind::Text),
    ("vehicle.trim", Kind::Text),
    ("vehicle.engine_size", Kind::Text),
    ("vehicle.body", Kind::Listed("Hatchback", "hatchBACK")),
    ("vehicle.colour", Kind::Listed("Nardo Grey", "nardo grey")),
    ("vehicle.fuel", Kind::Listed("Petrol Hybrid", "petrol hybrid")),
    ("vehicle.transmission", Kind::Listed("Automatic", "AUTOMATIC")),
    (
        "vehicle.drivetrain",
        Kind::Listed("Four Wheel Drive", "four wheel drive"),
    ),
    ("vehicle.colour_name", Kind::Text),
    ("vehicle.seats", Kind::Count),
    ("vehicle.doors", Kind::Count),
    ("vehicle.wheelbase", Kind::Text),
    ("vehicle.cab_type", Kind::Text),
    ("vehicle.mileage", Kind::Count),
    ("vehicle.registered", Kind::Day),
    ("vehicle.category", Kind::Text),
    ("vehicle.driver_position", Kind::Text),
    ("vehicle.interior_upholstery", Kind::Text),
    ("vehicle.interior_colour", Kind::Text),
    ("vehicle.exterior_finish", Kind::Text),
    ("vehicle.group", Kind::Text),
    ("vehicle.hour", Kind::ReadOnly(Unset::Text)),
    (
        "vehicle.bedroom_layout",
        Kind::ListedOrNull("Fixed island bed", "FIXED island bed"),
    ),
    ("vehicle.end_layout", Kind::ListedOrNull("End kitchen", "end kitchen")),
    ("vehicle.bedroom", Kind::Count),
    ("vehicle.berth", Kind::Count),
    ("vehicle.seat_belt", Kind::Count),
    ("vehicle.wheelchair", Kind::YesNoOrNull),
    ("option.option", Kind::WriteOnlyTexts),
    ("option.option_custom", Kind::Texts),
    ("option.attention", Kind::Text),
    ("option.description", Kind::Text),
    ("option.website", Kind::Html),
    ("option.feature", Kind::ReadOnly(Unset::Object)),
    ("history.previous_owner", Kind::Count),
    ("history.keys", Kind::Count),
    ("history.v5", Kind::YesNo),
    ("history.year", Kind::Year),
    ("history.condition", Kind::Text),
    ("history.condition_interior", Kind::Text),
    ("history.condition_exterior", Kind::Text),
    ("history.condition_tyre", Kind::Text),
    ("history.service_history", Kind::Text),
    ("history.service_last", Kind::Day),
    ("history.service_miles", Kind::Count),
    ("history.mot_expiry", Kind::Day),
    ("history.mot_year", Kind::YesNo),
    ("history.mot_insurance", Kind::YesNo),
    ("history.warranty_expiry", Kind::Day),
    ("history.warranty_month", Kind::Count),
    ("history.warranty_battery_month", Kind::Count),
    ("history.service_note", Kind::Text),
    ("stock.reference", Kind::Text),
    ("stock.number", Kind::Text),
    ("stock.location", Kind::Location),
    ("stock.notes", Kind::Text),
    ("stock.vin", Kind::Vin),
    ("stock.engine_number", Kind::Text),
    ("stock.key_number", Kind::Text),
    ("stock.origin", Kind::Text),
    ("stock.vat", Kind::Text),
    ("stock.vat_pricing", Kind::Text),
    ("stock.due_in_date", Kind::Day),
    ("stock.forecourt_date", Kind::Day),
    ("stock.price_website", Kind::Money),
    ("stock.price_channel", Kind::Money),
    ("stock.price_reserve", Kind::Money),
    ("stock.price_auction_start", Kind::Money),
    ("stock.price_auction_reserve", Kind::Money),
    ("stock.price_auction_buy_now", Kind::Money),
    ("stock.price_rrp", Kind::Money),
    ("stock.price_auction_duration", Kind::Text),
    ("stock.price_auction_platform_b_type", Kind::Auction),
    ("stock.price_poa", Kind::ReadOnly(Unset::False)),
    ("stock.funding_provider", Kind::Text),
    ("stock.funding_provider_id", Kind::Contact),
    ("stock.funding_provider_total", Kind::Money),
    ("stock.stock_quantity", Kind::Count),
    ("stock.stock_variation", Kind::Free),
    ("stock.purchase_date", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_invoice", Kind::ReadOnly(Unset::Text)),
    ("stock.purchase_supplier", Kind::ReadOnly(Unset::Text)),
    ("stock.purchase_supplier_invoice", Kind::ReadOnly(Unset::Text)),
    ("stock.purchase_supplier_id", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_price", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_price_vat", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_price_total", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_cost", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_cost_vat", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_cost_total", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_value", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_value_vat", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_value_total", Kind::ReadOnly(Unset::Null)),
    ("stock.purchase_cost_data", Kind::CostRows),
    ("setting.featured", Kind::YesNo),
    ("setting.poa", Kind::YesNo),
    ("spec.performance.top_speed", Kind::Figure),
    ("spec.performance.zero_sixty", Kind::Figure),
    ("spec.engine.make", Kind::Figure),
    ("spec.engine.cylinders", Kind::Figure),
    ("spec.engine.capacity", Kind::Figure),
    ("spec.engine.bhp", Kind::Figure),
    ("spec.engine.ps", Kind::Figure),
    ("spec.engine.nm", Kind::Figure),
    ("spec.engine.gears", Kind::Figure),
    ("spec.battery.charge_time", Kind::Figure),
    ("spec.battery.range", Kind::Figure),
    ("spec.battery.kwh", Kind::Figure),
    ("spec.battery.health", Kind::Figure),
    ("spec.other.axles", Kind::Figure),
    ("spec.other.country", Kind::Figure),
    ("spec.other.sector", Kind::Figure),
    ("spec.insurance.group", Kind::Figure),
    ("spec.insurance.code", Kind::Figure),
    ("spec.fuel.mpg_*", Kind::Figures("mpg_combined")),
    ("spec.fuel.emission_*", Kind::Figures("emission_co2")),
    ("spec.fuel.ulez", Kind::Figure),
    ("spec.fuel.caz", Kind::Figure),
    ("spec.size.length", Kind::Figure),
    ("spec.size.width", Kind::Figure),
    ("spec.size.height", Kind::Figure),
    ("spec.size.wheelbase", Kind::Figure),
    ("spec.size.kerb_weight", Kind::Figure),
    ("spec.size.boot_seats_up", Kind::Figure),
    ("spec.size.weight_*", Kind::Figures("weight_max")),
    ("spec.size.boot_*", Kind::Figures("boot_length")),
    // More.
    ("spec.performance.zero_sixty_two", Kind::Figure),
    ("spec.engine.model", Kind::Figure),
    ("spec.engine.code", Kind::Figure),
    ("spec.engine.cylinder_layout", Kind::Figure),
    ("spec.engine.kw", Kind::Figure),
    ("spec.engine.lb_ft", Kind::Figure),
    ("spec.engine.valves", Kind::Figure),
    ("spec.engine.bore", Kind::Figure),
    ("spec.engine.stroke", Kind::Figure),
    ("spec.engine.compression_ratio", Kind::Figure),
    ("spec.engine.aspiration", Kind::Figure),
    ("spec.engine.fuel_delivery", Kind::Figure),
    ("spec.engine.position", Kind::Figure),
    ("spec.engine.valve_gear", Kind::Figure),
    ("spec.engine.start_stop", Kind::Figure),
    ("spec.battery.charge_time_rapid", Kind::Figure),
    ("spec.battery.kwh_usable", Kind::Figure),
    ("spec.battery.connector", Kind::Figure),
    ("spec.fuel.tank", Kind::Figure),
    ("spec.size.width_mirrors", Kind::Figure),
    ("spec.size.ground_clearance", Kind::Figure),
    ("spec.size.gross_weight", Kind::Figure),
    ("spec.size.unladen_weight", Kind::Figure),
    ("spec.size.mass_in_running_order", Kind::Figure),
    ("spec.size.mtplm", Kind::Figure),
    ("spec.size.payload", Kind::Figure),
    ("spec.size.towing_braked", Kind::Figure),
    ("spec.size.towing_unbraked", Kind::Figure),
    ("spec.size.roof_load", Kind::Figure),
    ("spec.size.boot_seats_down", Kind::Figure),
    ("spec.size.load_*", Kind::Figures("load_volume")),
    ("appraisal.details.customer_id", Kind::Customer),
    ("appraisal.details.customer", Kind::ReadOnly(Unset::Text)),
    ("appraisal.calculation.offer", Kind::ReadOnly(Unset::Text)),
    ("appraisal.calculation.finance_settlement", Kind::ReadOnly(Unset::Text)),
    ("appraisal.confirm.offer", Kind::ReadOnly(Unset::Text)),
    ("appraisal.confirm.expiry", Kind::ReadOnly(Unset::Text)),
    ("appraisal.confirm.appraised_at", Kind::ReadOnly(Unset::Zero)),
    ("appraisal.confirm.agreed_amount", Kind::ReadOnly(Unset::Text)),
    ("appraisal.confirm.decision", Kind::ReadOnly(Unset::Text)),
    ("appraisal.confirm.decision_at", Kind::ReadOnly(Unset::Zero)),
    ("appraisal.confirm.stock_id", Kind::ReadOnly(Unset::Text)),
    ("appraisal.confirm.stock_tag", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.make", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.colour", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.fuel_type", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.year_of_manufacture", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvla.month_of_first_registration", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.engine_capacity", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvla.co2_emissions", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvla.euro_status", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.tax_status", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.tax_due_date", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvla.mot_status", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.mot_expiry_date", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvla.date_of_last_v5c_issued", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvla.type_approval", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.wheelplan", Kind::ReadOnly(Unset::Text)),
    ("lookup.dvla.marked_for_export", Kind::ReadOnly(Unset::Null)),
    ("lookup.dvsa.mot_tests", Kind::ReadOnly(Unset::Array)),
    ("lookup.check.stolen", Kind::ReadOnly(Unset::Null)),
    ("lookup.check.finance", Kind::ReadOnly(Unset::Null)),
    ("lookup.check.written_off", Kind::ReadOnly(Unset::Null)),
    ("lookup.check.previous_keepers", Kind::ReadOnly(Unset::Null)),
];

/// The fields of a row of `stock.purchase_cost_data`.
const ROW: &[(&str, Kind)] = &[
    ("type", Kind::Text),
    ("supplier", Kind::Text),
    ("cost", Kind::Money),
    ("vat", Kind::Money),
    ("invoice", Kind::Text),
    ("reference", Kind::Text),
    ("date", Kind::Day),
    ("id", Kind::RowId),
];

/// Every group of fields, with its path.
const GROUPS: &[(&str, &[FieldInfo])] = &[
    ("", Data::FIELDS),
    ("vehicle", Identity::FIELDS),
    ("option", Options::FIELDS),
    ("history", History::FIELDS),
    ("stock", Stock::FIELDS),
    ("setting", Setting::FIELDS),
    ("spec", Spec::FIELDS),
    ("spec.performance", Performance::FIELDS),
    ("spec.engine", Engine::FIELDS),
    ("spec.battery", Battery::FIELDS),
    ("spec.fuel", Fuel::FIELDS),
    ("spec.size", Size::FIELDS),
    ("spec.insurance", Insurance::FIELDS),
    ("spec.other", OtherSpec::FIELDS),
    ("appraisal", Appraisal::FIELDS),
    ("appraisal.details", AppraisalDetails::FIELDS),
    ("appraisal.calculation", AppraisalCalculation::FIELDS),
    ("appraisal.confirm", AppraisalConfirm::FIELDS),
    ("lookup", Lookup::FIELDS),
    ("lookup.dvla", DvlaRecord::FIELDS),
    ("lookup.dvsa", DvsaRecord::FIELDS),
    ("lookup.check", ProvenanceCheck::FIELDS),
];

impl Kind {
    /// Returns values that it accepts, with their representation.
    fn good(self) -> Vec<(Value, Value)> {
        let same = |values: Value| -> Vec<_> {
            let values = values.as_array().cloned().unwrap();
            values.into_iter().map(|value| (value.clone(), value)).collect()
        };
        match self {
            Self::Html => vec![
                (json!("Größe\n日本"), json!("Größe\n日本")),
                (json!("<p>One <b>owner</b></p>"), json!("<p>One <b>owner</b></p>")),
                (json!("<p onclick=\"x()\">a<script>b</script>"), json!("<p>a</p>")),
                (json!("<a href=\"javascript:x\">a</a>"), json!("<a>a</a>")),
            ],
            Self::Text => same(json!(["x", " as it is ", "Größe\n日本", "<b>", "5", "é".repeat(255)])),
            Self::Count => same(json!([0, 1, 250_000, u32::MAX])),
            Self::Year => same(json!([1885, 1999, 2026, 2027])),
            Self::Money => vec![
                (json!(0), json!("0.00")),
                (json!(5), json!("5.00")),
                (json!(12.3), json!("12.30")),
                (json!(19.99), json!("19.99")),
                (json!(1e2), json!("100.00")),
                (json!(1_234_567.89), json!("1234567.89")),
            ],
            Self::Day => same(json!(["2024-02-29", "1885-01-01", "2036-01-01"])),
            Self::YesNo | Self::YesNoOrNull => same(json!(["Yes", "No"])),
            Self::Listed(word, hasty) | Self::ListedOrNull(word, hasty) => {
                vec![(json!(word), json!(word)), (json!(hasty), json!(word))]
            }
            Self::Class => same(json!([
                "Car",
                "Van",
                "Bike",
                "Truck",
                "Crossover",
                "Motorhome",
                "Caravan",
                "Farm",
                "Plant"
            ])),
            Self::Vin => vec![
                (json!("wf0kxxgcbkdp31574"), json!("WF0KXXGCBKDP31574")),
                (json!("ab123"), json!("AB123")),
            ],
            Self::Location => vec![(json!("1"), json!("Front")), (json!("2"), json!("Compound"))],
            Self::Auction => same(json!(["Live Auction", "Auction with Buy Now", "Buy Now"])),
            Self::Contact => same(json!([1, 501, i64::MAX])),
            Self::Figure | Self::Figures(_) => same(json!([0, 150, 6.7, "1,598 cc", "Yes", true, false, 1e300])),
            Self::Texts => same(json!([["Tow bar"], ["b", "a", "b", ""]])),
            Self::WriteOnlyTexts | Self::Customer | Self::CostRows | Self::ReadOnly(_) => Vec::new(),
            Self::Free => same(json!([{"a": [1, null, {"b": "c"}]}, {"": 0.5}])),
            Self::RowId => same(json!([0, 7, u32::MAX, "a-1"])),
        }
    }

    /// Returns values that it refuses at its own path.
    fn bad(self) -> Vec<Value> {
        let values = match self {
            Self::Text | Self::Html => json!([1, 1.5, true, [], {}, ["x"], "a\0b"]),
            Self::Count => json!([
                -1,
                1.5,
                5.5,
                -0.5,
                "",
                "5",
                true,
                [],
                {},
                4_294_967_296_u64,
                u64::MAX,
                1e300
            ]),
            Self::Year => {
                json!([
                    1884,
                    2028,
                    0,
                    -2020,
                    2020.5,
                    2020.5,
                    " ",
                    "2020",
                    true,
                    [],
                    {},
                    67_556,
                    i64::MIN,
                    1e300
                ])
            }
            Self::Money => {
                json!([
                    -1,
                    -0.01,
                    12.345,
                    1e-3,
                    "",
                    " ",
                    "12",
                    "12.00",
                    "1234.00",
                    true,
                    [],
                    {},
                    1e300,
                    u64::MAX
                ])
            }
            Self::Day => json!([
                "2023-02-29",
                "2024-2-9",
                "1884-12-31",
                "2036-03-02",
                "29/02/2024",
                "today",
                "2024-02-29T00:00:00Z",
                "0000-00-00",
                20_240_229,
                true,
                [],
                {}
            ]),
            Self::YesNo | Self::YesNoOrNull => json!(["yes", "NO", "Maybe", "Yes\0", true, 1, [], {}]),
            Self::Listed(..) | Self::ListedOrNull(..) => json!(["Nonsense", "Petrol\0", 5, true, [], {}]),
            Self::Class => json!(["car", "CAR", "Boat", "Car ", 1, true, [], {}]),
            Self::Vin => json!(["AB 123", "AB-123", "Ä", "123456789012345678", "A\0", 123, true, [], {}]),
            Self::Location => json!(["3", "Front", "1 ", 1, true, [], {}]),
            Self::Auction => json!(["live auction", "Dutch", 1, true, [], {}]),
            Self::Contact => json!([0, -1, 1.5, 501.5, "", "501", true, [], {}, u64::MAX]),
            Self::Customer => json!([0, -1, 1.5, "0", "-5", "+5", "x", true, [], {}]),
            Self::Figure | Self::Figures(_) => json!([-1, -0.5, "a\0", [], {}]),
            Self::Texts | Self::WriteOnlyTexts => json!(["", "x", 1, true, {}]),
            Self::Free => json!(["", "x", 1, true, [], {"a\0": 1}, {"a": ["\0"]}, nested(33)]),
            Self::CostRows => json!(["", "x", 1, true, {}]),
            Self::RowId => json!([-1, 1.5, "a\0", true, [], {}, 4_294_967_296_u64]),
            Self::ReadOnly(_) => json!([null, "", "x", 1, 1.5, true, false, [], {}]),
        };
        values.as_array().cloned().unwrap()
    }

    /// Returns the representation while it is not set.
    fn unset(self) -> Value {
        match self {
            Self::Text
            | Self::Html
            | Self::YesNo
            | Self::Listed(..)
            | Self::Class
            | Self::Vin
            | Self::Location
            | Self::Auction
            | Self::Customer
            | Self::ReadOnly(Unset::Text) => json!(""),
            Self::Texts | Self::CostRows | Self::ReadOnly(Unset::Array) => json!([]),
            Self::Free | Self::ReadOnly(Unset::Object) => json!({}),
            Self::ReadOnly(Unset::False) => json!(false),
            Self::ReadOnly(Unset::Zero) => json!(0),
            _ => Value::Null,
        }
    }

    /// Returns the values that clear it.
    fn clearing(self) -> Vec<Value> {
        match self {
            Self::Texts | Self::WriteOnlyTexts | Self::CostRows => vec![Value::Null, json!([])],
            Self::Free => vec![Value::Null, json!({})],
            Self::ReadOnly(_) => Vec::new(),
            Self::Text | Self::Html => vec![Value::Null, json!("")],
            Self::Count | Self::Year | Self::Money | Self::Contact => vec![Value::Null],
            _ => vec![Value::Null, json!(""), json!("  ")],
        }
    }
}

/// Returns `depth` objects in one another.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!({}), |inner, _| json!({"a": inner}))
}

/// Returns the path with a name that the field accepts.
fn written(path: &str, kind: Kind) -> String {
    match kind {
        Kind::Figures(name) => format!("{}.{name}", path.rsplit_once('.').unwrap().0),
        _ => path.to_owned(),
    }
}

/// Returns an object with `value` at `path`.
fn lying_at(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, name| json!({name: inner}))
}

fn found_at<'a>(path: &str, shown: &'a Value) -> Option<&'a Value> {
    path.split('.').try_fold(shown, |group, name| group.get(name))
}

struct Shown<'a>(&'a Data, ViewContext<'a>);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.show(&self.1, serializer)
    }
}

fn show(data: &Data, business: &Business) -> Value {
    let context = ViewContext::new(Detail::Full, true, business);
    serde_json::to_value(Shown(data, context)).unwrap()
}

fn write(data: &mut Data, sent: &Value, business: &Business) -> Result<(), ValidationErrors> {
    data.apply(*read_data(sent, business, OPENING, false)?);
    Ok(())
}

/// Returns the paths of the invalid fields in `sent`.
#[track_caller]
fn faults(sent: &Value, business: &Business, creating: bool) -> Vec<String> {
    let Err(errors) = read_data(sent, business, OPENING, creating) else {
        return Vec::new();
    };
    errors.as_slice().iter().map(|error| error.field.clone()).collect()
}

#[test]
fn the_table_has_every_field_once() {
    let declared = GROUPS.iter().flat_map(|(group, fields)| {
        fields.iter().map(move |field| match *group {
            "" => field.name.to_owned(),
            group => format!("{group}.{}", field.name),
        })
    });
    let groups: BTreeSet<_> = GROUPS.iter().map(|(group, _)| (*group).to_owned()).collect();
    let mut leaves: Vec<_> = declared.filter(|path| !groups.contains(path)).collect();
    let mut table: Vec<_> = TABLE.iter().map(|(path, _)| (*path).to_owned()).collect();
    leaves.sort_unstable();
    table.sort_unstable();
    assert_eq!(leaves, table);

    let row: BTreeSet<_> = CostRow::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(
        row,
        ROW.iter()
            .map(|(name, _)| *name)
            .chain(["total"])
            .collect::<BTreeSet<_>>()
    );
}

#[test]
fn every_field_says_what_it_is() {
    for (group, fields) in GROUPS.iter().chain(&[("row", CostRow::FIELDS)]) {
        for field in *fields {
            assert!(field.description.ends_with(['.', '…']), "{group}.{}", field.name);
            let table = TABLE
                .iter()
                .find(|(path, _)| *path == format!("{group}.{}", field.name));
            if let Some((path, kind)) = table {
                let read_only = matches!(kind, Kind::ReadOnly(_));
                assert_eq!(field.access == Access::ReadOnly, read_only, "{path}");
            }
        }
    }
}

#[test]
fn what_is_not_set_is_shown_as_empty() {
    let business = acme();
    let shown = show(&Data::default(), &business);
    for (path, kind) in TABLE {
        let expected = match kind {
            Kind::Figures(_) | Kind::WriteOnlyTexts => None,
            kind => Some(kind.unset()),
        };
        assert_eq!(found_at(path, &shown), expected.as_ref(), "{path}");
    }
}

#[test]
fn every_good_value_reads_back_and_can_be_cleared() {
    let business = acme();
    let empty = show(&Data::default(), &business);
    for (path, kind) in TABLE {
        let path = written(path, *kind);
        for (sent, expected) in kind.good() {
            for cleared in kind.clearing() {
                let mut data = Data::default();
                write(&mut data, &lying_at(&path, sent.clone()), &business).unwrap();
                let shown = show(&data, &business);
                assert_eq!(found_at(&path, &shown), Some(&expected), "{path}: {sent}");
                let kept = serde_json::to_string(&data).unwrap();
                assert_eq!(serde_json::from_str::<Data>(&kept).unwrap(), data, "{kept}");

                write(&mut data, &lying_at(&path, cleared.clone()), &business).unwrap();
                assert_eq!(data, Data::default(), "{path}: {cleared}");
                assert_eq!(show(&data, &business), empty, "{path}: {cleared}");
                assert_eq!(serde_json::to_string(&data).unwrap(), "{}");
            }
        }
    }
}

#[test]
fn every_bad_value_is_refused_at_its_path() {
    let business = acme();
    for (path, kind) in TABLE {
        let path = written(path, *kind);
        for sent in kind.bad() {
            for creating in [false, true] {
                let found = faults(&lying_at(&path, sent.clone()), &business, creating);
                // If no field of a group may be written, the outermost group is reported.
                let expected = match path.split('.').collect::<Vec<_>>()[..] {
                    ["lookup", ..] => "data.lookup".to_owned(),
                    ["appraisal", ..] if !creating => "data.appraisal".to_owned(),
                    ["appraisal", "calculation" | "confirm", ..] => {
                        format!("data.{}", path.rsplit_once('.').unwrap().0)
                    }
                    _ => format!("data.{path}"),
                };
                assert_eq!(found, [expected], "{path}: {sent}");
            }
        }
    }
}

#[test]
fn every_field_of_a_cost_row_is_validated() {
    let business = acme();
    let rows = |name: &str, value: &Value| json!({"stock": {"purchase_cost_data": [{}, {name: value}]}});
    for (name, kind) in ROW {
        for (sent, expected) in kind.good() {
            let mut data = Data::default();
            write(&mut data, &rows(name, &sent), &business).unwrap();
            let shown = show(&data, &business);
            assert_eq!(
                shown["stock"]["purchase_cost_data"][1][*name], expected,
                "{name}: {sent}"
            );
        }
        for sent in kind.bad() {
            let expected = format!("data.stock.purchase_cost_data.1.{name}");
            assert_eq!(faults(&rows(name, &sent), &business, false), [expected], "{sent}");
        }
        for cleared in kind.clearing() {
            assert!(
                faults(&rows(name, &cleared), &business, false).is_empty(),
                "{name}: {cleared}"
            );
        }
    }
    let unknown = ["data.stock.purchase_cost_data.1.note"];
    assert_eq!(faults(&rows("note", &json!("x")), &business, false), unknown);
    for total in [json!(5), json!("5.00"), Value::Null] {
        assert!(faults(&rows("total", &total), &business, false).is_empty());
    }
}

#[test]
fn items_of_arrays_are_named_by_their_place() {
    let business = acme();
    for path in ["option.option", "option.option_custom"] {
        let sent = lying_at(path, json!(["good", 1, null, "a\0", "", []]));
        let expected = [1, 2, 3, 5].map(|at| format!("data.{path}.{at}"));
        assert_eq!(faults(&sent, &business, false), expected);
    }
    let rows = json!([null, [], "x", {}, {"id": 1}, {"id": 1}, {"id": "1"}, {"cost": -1, "vat": "x"}]);
    assert_eq!(
        faults(&json!({"stock": {"purchase_cost_data": rows}}), &business, false),
        ["0", "1", "2", "5.id", "6.id", "7.cost", "7.vat"].map(|at| format!("data.stock.purchase_cost_data.{at}"))
    );
}

#[test]
fn unknown_fields_are_refused_at_every_depth() {
    let business = acme();
    for (group, fields) in GROUPS {
        let writable = |creating| match group.split('.').next() {
            Some("lookup") => false,
            Some("appraisal") => creating && !matches!(*group, "appraisal.calculation" | "appraisal.confirm"),
            _ => true,
        };
        // A misspelt name, another field's name, one that only begins like an open one, and an empty one.
        for name in [
            "colr",
            "Make",
            "data",
            "mpg_",
            "mpg_Combined",
            "mpg combined",
            "weight_é",
            "boot_*",
            "",
        ] {
            assert!(fields.iter().all(|field| field.name != name || name == "boot_*"));
            let path = if group.is_empty() {
                name.to_owned()
            } else {
                format!("{group}.{name}")
            };
            let mut sent = json!({name: 1});
            for outer in group.rsplit('.').filter(|outer| !outer.is_empty()) {
                sent = json!({outer: sent});
            }
            for creating in [false, true].into_iter().filter(|creating| writable(*creating)) {
                assert_eq!(faults(&sent, &business, creating), [format!("data.{path}")]);
            }
        }
    }
    for section in ["tag", "finance", "media", "status", "id"] {
        assert_eq!(
            faults(&json!({section: {}}), &business, false),
            [format!("data.{section}")]
        );
    }
    let long = format!("mpg_{}", "x".repeat(61));
    let expected = [format!("data.spec.fuel.{long}")];
    assert_eq!(
        faults(&json!({"spec": {"fuel": {long: 1}}}), &business, false),
        expected
    );
}

#[test]
fn a_section_is_an_object_and_never_null() {
    let business = acme();
    for wrong in [Value::Null, json!([]), json!("x"), json!(1), json!(true)] {
        assert_eq!(faults(&wrong, &business, false), ["data"]);
        for section in ["vehicle", "option", "history", "stock", "setting", "spec"] {
            let expected = [format!("data.{section}")];
            assert_eq!(faults(&json!({section: wrong}), &business, false), expected, "{wrong}");
        }
        let (found, expected) = (
            faults(&json!({"spec": {"engine": wrong}}), &business, false),
            ["data.spec.engine"],
        );
        if wrong.is_null() {
            assert_eq!(found, [""; 0], "null clears a group within a section");
        } else {
            assert_eq!(found, expected);
        }
    }
    assert!(faults(&json!({}), &business, false).is_empty());
}

#[test]
fn all_faults_are_reported_in_the_order_of_the_body() {
    let business = acme();
    let sent = json!({
        "stock": {"price_website": "1", "colour": "Red", "purchase_cost_total": 5, "vin": "A B"},
        "vehicle": {"type": "Boat", "make": 5, "mileage": -1},
        "media": {},
    });
    let expected = [
        "stock.price_website",
        "stock.colour",
        "stock.purchase_cost_total",
        "stock.vin",
        "vehicle.type",
        "vehicle.make",
        "vehicle.mileage",
        "media",
    ];
    assert_eq!(
        faults(&sent, &business, false),
        expected.map(|field| format!("data.{field}"))
    );
}

#[test]
fn null_clears_a_group_of_the_data_sheet() {
    let business = acme();
    let mut data = Data::default();
    let sheet = json!({"spec": {"fuel": {"mpg_urban": 40, "caz": "Yes"}, "engine": {"bhp": 150}}});
    write(&mut data, &sheet, &business).unwrap();
    write(&mut data, &json!({"spec": {"fuel": null}}), &business).unwrap();
    let shown = show(&data, &business);
    assert_eq!(shown["spec"]["fuel"]["caz"], Value::Null);
    assert_eq!(shown["spec"]["fuel"].get("mpg_urban"), None);
    assert_eq!(shown["spec"]["engine"]["bhp"], 150);
}

#[test]
fn an_auction_of_platform_b_needs_the_channel() {
    let mut business = acme();
    business.catalogue.channels.retain(|channel| channel.id != "platform_b");
    let path = "stock.price_auction_platform_b_type";
    assert_eq!(
        faults(&lying_at(path, json!("Buy Now")), &business, false),
        [format!("data.{path}")]
    );
    assert!(faults(&lying_at(path, Value::Null), &business, false).is_empty());
}

#[test]
fn rows_without_an_id_get_a_number_that_is_free() {
    let business = acme();
    let mut data = Data::default();
    let rows =
        json!([{"cost": 10.5, "vat": 2.1}, {"id": 1}, {"id": "2"}, {"id": ""}, {"id": null, "vat": 1}, {"id": "a"}]);
    write(&mut data, &json!({"stock": {"purchase_cost_data": rows}}), &business).unwrap();
    let shown = show(&data, &business);
    let rows = shown["stock"]["purchase_cost_data"].as_array().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row["id"].clone()).collect();
    assert_eq!(json!(ids), json!([3, 1, "2", 4, 5, "a"]));
    let totals: Vec<_> = rows.iter().map(|row| row["total"].clone()).collect();
    assert_eq!(json!(totals), json!(["12.60", "0.00", "0.00", "0.00", "1.00", "0.00"]));
}

#[test]
fn who_offers_a_vehicle_is_said_on_creation_alone() {
    let business = acme();
    for (sent, shown) in [
        (json!(501), "501"),
        (json!("501"), "501"),
        (Value::Null, ""),
        (json!(""), ""),
    ] {
        let patch = lying_at("appraisal.details.customer_id", sent);
        let mut data = Data::default();
        data.apply(*read_data(&patch, &business, OPENING, true).unwrap());
        assert_eq!(show(&data, &business)["appraisal"]["details"]["customer_id"], shown);
        assert_eq!(faults(&patch, &business, false), ["data.appraisal"]);
    }
    assert_eq!(faults(&json!({"appraisal": {}}), &business, false), ["data.appraisal"]);
}

#[test]
fn a_variation_may_be_deep_but_not_endless() {
    let business = acme();
    let mut data = Data::default();
    write(&mut data, &json!({"stock": {"stock_variation": nested(32)}}), &business).unwrap();
    let kept = serde_json::to_string(&data).unwrap();
    assert_eq!(serde_json::from_str::<Data>(&kept).unwrap(), data);
    let replaced = json!({"stock": {"stock_variation": {"b": 1}}});
    write(&mut data, &replaced, &business).unwrap();
    assert_eq!(show(&data, &business)["stock"]["stock_variation"], json!({"b": 1}));
}

#[test]
fn a_group_shows_what_is_written_to_it_and_nothing_else() {
    let business = acme();
    let before = show(&Data::default(), &business);
    for (path, kind) in TABLE {
        let path = written(path, *kind);
        let Some((sent, expected)) = kind.good().into_iter().next() else {
            continue;
        };
        let mut data = Data::default();
        write(&mut data, &lying_at(&path, sent), &business).unwrap();
        let mut after = before.clone();
        let (group, name) = path.rsplit_once('.').unwrap();
        let group: &mut Map<_, _> = after
            .pointer_mut(&format!("/{}", group.replace('.', "/")))
            .and_then(Value::as_object_mut)
            .unwrap();
        group.insert(name.to_owned(), expected);
        assert_eq!(show(&data, &business), after, "{path}");
    }
}
