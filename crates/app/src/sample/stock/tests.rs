use std::collections::HashSet;

use chrono::{Datelike, NaiveDate};
use forecourt_contacts::{Contact, ContactDraft, ContactType};
use forecourt_kernel::{ContactId, Date, Version};
use forecourt_vehicles::{Access, Detail, FieldValue, ViewContext, read_data};
use serde_json::{Value, json};

use super::*;
use crate::sample::testing::a_business;

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);
const YEARS: i64 = 730;

type Made = (VehicleDraft, Timestamp);

fn vehicles_of(business: &Business, seed: u64, count: u64) -> Vec<Made> {
    let period = Period::days_before(NOW, YEARS);
    let mut stock = Stock::new(business, seed, period, ExistingRecords::default());
    let made = (0..count).map(|at| stock.vehicle(at, count));
    made.map(|made| (made.content, made.created)).collect()
}

fn vehicles(seed: u64, count: u64) -> Vec<Made> {
    vehicles_of(&a_business(), seed, count)
}

fn day(date: Date) -> NaiveDate {
    calendar::day_of(date.midnight())
}

/// Returns its age in days when it came in, if it is registered.
fn age((vehicle, created): &Made) -> Option<u32> {
    let registered = vehicle.data.vehicle.registered?;
    Some(calendar::days_between(day(registered), calendar::day_of(*created)))
}

#[test]
fn a_seed_gives_the_same_vehicles_and_another_gives_others() {
    assert_eq!(vehicles(7, 200), vehicles(7, 200));
    assert_ne!(vehicles(7, 200), vehicles(8, 200));
    assert!(vehicles(7, 200).is_sorted_by_key(|(_, created)| *created));
}

#[test]
fn the_day_does_not_matter_to_what_a_vehicle_is() {
    let models = |days| {
        let period = Period::days_before(NOW.plus_seconds(days * DAY), 30);
        let mut stock = Stock::new(&a_business(), 1, period, ExistingRecords::default());
        let made = (0..100).map(|at| stock.vehicle_with((StockType::InStock, VehicleStatus::ForSale), None, at, 100));
        made.map(|made| made.content.data.vehicle)
            .map(|vehicle| (vehicle.make, vehicle.model))
            .collect::<Vec<_>>()
    };
    assert_eq!(models(0), models(1));
    assert_eq!(models(0), models(700));
}

#[test]
fn all_classes_and_states_occur() {
    let made = vehicles(1, 10_000);
    for class in VehicleClass::ALL {
        let of_class = made
            .iter()
            .filter(|(vehicle, _)| vehicle.data.vehicle.class.0 == Some(class));
        assert!(of_class.count() > 100, "{class:?}");
    }
    for kind in StockType::ALL {
        for &status in VehicleStatus::of(kind) {
            let found = made
                .iter()
                .any(|(vehicle, _)| (vehicle.kind, vehicle.status) == (kind, status));
            assert_eq!(found, status != VehicleStatus::Deleted, "{kind:?} {status:?}");
        }
    }
    let names: HashSet<_> = made
        .iter()
        .filter_map(|(vehicle, _)| vehicle.registration.as_ref())
        .collect();
    assert!(names.len() > 7_500, "{}", names.len());
    let for_sale = made
        .iter()
        .filter(|(vehicle, _)| vehicle.status == VehicleStatus::ForSale)
        .count();
    assert!((700..1_800).contains(&for_sale), "{for_sale}");
}

/// Returns a section as a write sends it.
fn written<S: FieldValue>(section: &S, business: &Business) -> Value {
    let context = ViewContext::new(Detail::Full, true, business);
    let mut shown = section.show(&context, serde_json::value::Serializer).unwrap();
    let members = shown.as_object_mut().unwrap();
    for field in S::FIELDS.iter().filter(|field| field.access == Access::ReadOnly) {
        members.remove(field.name);
    }
    shown
}

/// Converts an amount, which reads return as a text, to the number that writes send.
fn amount(shown: &mut Value) {
    if let Some(text) = shown.as_str() {
        *shown = text.parse::<f64>().unwrap().into();
    }
}

#[test]
fn each_is_one_that_the_api_could_have_taken_in() {
    let business = a_business();
    for (vehicle, created) in vehicles(3, 1_000) {
        let stored = serde_json::to_string(&vehicle).unwrap();
        assert_eq!(serde_json::from_str::<VehicleDraft>(&stored).unwrap(), vehicle);
        let VehicleDraft {
            kind,
            owner,
            tags,
            data,
            ..
        } = vehicle;
        assert!(owner.is_none_or(|owner| business.catalogue.has_staff(owner)));
        assert!(tags.iter().all(|tag| business.catalogue.tag(kind, &tag.name).is_some()));

        let mut stock = written(&data.stock, &business);
        stock["location"] = json!(data.stock.location.0.as_ref().map(|location| &location.0));
        for (name, member) in stock.as_object_mut().unwrap() {
            let text = matches!(&**name, "price_auction_duration" | "price_auction_platform_b_type");
            if (name.starts_with("price_") && !text) || name == "funding_provider_total" {
                amount(member);
            }
        }
        for row in stock["purchase_cost_data"].as_array_mut().unwrap() {
            amount(&mut row["cost"]);
            amount(&mut row["vat"]);
        }
        let mut option = written(&data.option, &business);
        option["option"] = json!(data.option.factory);
        let sent = json!({
            "vehicle": written(&data.vehicle, &business),
            "option": option,
            "history": written(&data.history, &business),
            "stock": stock,
            "setting": written(&data.setting, &business),
            "spec": written(&data.spec, &business),
        });
        let patch = read_data(&sent, &business, created, true);
        let mut taken = Box::<Data>::default();
        taken.apply(*patch.unwrap_or_else(|faults| panic!("{faults:?} in {sent}")));
        // Fields that no write can set.
        taken.vehicle.hour.clone_from(&data.vehicle.hour);
        taken.stock.purchase_price = data.stock.purchase_price;
        taken.stock.purchase_price_vat = data.stock.purchase_price_vat;
        taken.stock.purchase_price_total = data.stock.purchase_price_total;
        taken.derive_values();
        assert_eq!((&taken.vehicle, &taken.option), (&data.vehicle, &data.option));
        assert_eq!((&taken.history, &taken.spec), (&data.history, &data.spec));
        assert_eq!(taken.stock.purchase_value_total, data.stock.purchase_value_total);
        assert_eq!(taken.stock.purchase_cost_data, data.stock.purchase_cost_data);
        assert_eq!(taken.stock.price_poa, data.stock.price_poa);
    }
}

#[test]
fn marks_years_and_dates_agree() {
    let mut with_age = 0;
    for made in vehicles(1, 2_000) {
        let (VehicleDraft { registration, data, .. }, created) = &made;
        let Some(registered) = data.vehicle.registered else {
            assert!(registration.is_none());
            continue;
        };
        assert!(registered.midnight() <= created.date().midnight());
        assert_eq!(
            data.history.year.map(|year| i32::from(year.get())),
            Some(registered.year())
        );
        let key = registration.as_ref().map_or("", |registration| registration.key());
        if key.len() == 7 && key.as_bytes()[2].is_ascii_digit() {
            with_age += 1;
            assert_eq!(
                key[2..4].parse().ok(),
                marks::age_identifier(day(registered)),
                "{key} {registered}"
            );
        }
        let last = data.history.service_last;
        assert!(last.is_none_or(|last| last.midnight() >= registered.midnight() && last.midnight() <= *created));
        assert!(data.history.service_miles <= data.vehicle.mileage);
        assert!(
            data.history
                .mot_expiry
                .is_none_or(|day| day.midnight() >= created.date().midnight())
        );
    }
    assert!(with_age > 1_200, "{with_age}");
}

#[test]
fn engines_fit_their_fuels() {
    for (VehicleDraft { data, .. }, _) in vehicles(1, 2_000) {
        let vehicle = &data.vehicle;
        let fuel = vehicle.fuel.0.as_ref().map_or("", |fuel| fuel.as_str());
        let burns = !matches!(fuel, "" | "Electric");
        assert_eq!(vehicle.engine_size.is_empty(), !burns, "{vehicle:?}");
        assert_eq!(data.spec.engine.capacity.is_some(), burns);
        assert_eq!(
            data.spec.battery.kwh.is_some(),
            matches!(fuel, "Electric" | "Petrol Plug-in Hybrid")
        );
        let transmission = vehicle
            .transmission
            .0
            .as_ref()
            .map_or("", |transmission| transmission.as_str());
        assert!(fuel != "Electric" || transmission == "Automatic");
        assert_eq!(transmission.is_empty(), fuel.is_empty());
        assert!(!vehicle.make.is_empty() && !vehicle.model.is_empty() && vehicle.colour.0.is_some());
        let machine = matches!(vehicle.class.0, Some(VehicleClass::Farm | VehicleClass::Plant));
        assert_eq!(vehicle.body.0.is_none(), machine, "{vehicle:?}");
        assert_eq!(vehicle.mileage.is_some(), !machine && !fuel.is_empty());
    }
}

#[test]
fn older_vehicles_have_more_mileage_and_cost_less() {
    let made = vehicles(1, 6_000);
    let average = |ages: std::ops::Range<u32>, of: fn(&Data) -> Option<i64>| {
        let cars = made
            .iter()
            .filter(|(vehicle, _)| vehicle.data.vehicle.class.0 == Some(VehicleClass::Car));
        let aged = cars.filter(|made| age(made).is_some_and(|age| ages.contains(&(age / 365))));
        let values: Vec<i64> = aged.filter_map(|(vehicle, _)| of(&vehicle.data)).collect();
        values.iter().sum::<i64>() / i64::try_from(values.len()).unwrap()
    };
    let mileage = |data: &Data| data.vehicle.mileage.map(i64::from);
    let price = |data: &Data| data.stock.price_website.map(|price| price.minor());
    let miles = [average(0..3, mileage), average(3..7, mileage), average(7..20, mileage)];
    assert!(
        miles[0] * 2 < miles[1] && miles[1] < miles[2] && miles[2] < 150_000,
        "{miles:?}"
    );
    let prices = [average(0..3, price), average(3..7, price), average(7..20, price)];
    assert!(prices[0] > prices[1] && prices[1] > prices[2] * 3 / 2, "{prices:?}");
    assert!(
        made.iter()
            .filter_map(|(vehicle, _)| price(&vehicle.data))
            .all(|price| price > 10_000)
    );
    let poa = made.iter().filter(|(vehicle, _)| vehicle.data.stock.price_poa).count();
    assert!((1..300).contains(&poa), "{poa}");
}

#[test]
fn what_is_for_sale_could_have_been_published() {
    let business = a_business();
    for (vehicle, _) in vehicles(1, 2_000) {
        let VehicleDraft {
            kind,
            status,
            channels,
            data,
            ..
        } = vehicle;
        let published = status.counts_as_for_sale() || matches!(status, VehicleStatus::Sold | VehicleStatus::Complete);
        assert_eq!(published, channels.iter().any(|channel| channel == "website"));
        assert!(
            channels
                .iter()
                .all(|id| business.catalogue.channels.iter().any(|channel| channel.id == *id))
        );
        assert!(VehicleStatus::of(kind).contains(&status));
        if published {
            assert!(matches!(kind, StockType::InStock | StockType::ToOrder));
            assert!(data.stock.price_website.is_some() && !data.option.description.is_empty());
            assert!(data.option.website.starts_with("<h2>") && data.option.website.ends_with("</ul>"));
        }
    }
}

#[test]
fn no_more_are_for_sale_than_may_be_and_the_last_ones_first() {
    let mut business = a_business();
    business.settings.publish_limit = Some(60);
    let period = Period::days_before(NOW, YEARS);
    let mut stock = Stock::new(&business, 1, period, ExistingRecords::new(10));
    let made: Vec<_> = (0..5_000).map(|at| stock.vehicle(at, 5_000).content).collect();
    let for_sale = |made: &[VehicleDraft]| {
        made.iter()
            .filter(|vehicle| vehicle.status.counts_as_for_sale())
            .count()
    };
    assert!((40..=50).contains(&for_sale(&made)), "{}", for_sale(&made));
    assert!(for_sale(&made[4_500..]) >= 25, "{}", for_sale(&made[4_500..]));
}

#[test]
fn appraisals_and_suppliers_are_contacts_where_there_are_any() {
    let contact = |id, types| Contact {
        id: ContactId::new(id),
        created: Timestamp::from_epoch_seconds(0),
        updated: Timestamp::from_epoch_seconds(0),
        version: Version::FIRST,
        notes: Vec::new(),
        content: ContactDraft {
            name: format!("Contact {id}"),
            types,
            ..ContactDraft::blank(&Catalogue::default())
        },
    };
    let mut known = ExistingRecords::default();
    known.add_contact(contact(1, vec![ContactType::Customer]));
    known.add_contact(contact(2, vec![ContactType::Trade]));
    known.add_contact(contact(3, vec![ContactType::Finance]));
    let mut stock = Stock::new(&a_business(), 1, Period::days_before(NOW, YEARS), known);
    for at in 0..500 {
        let VehicleDraft { kind, data, .. } = stock.vehicle(at, 500).content;
        let details = &data.appraisal.details;
        let customer = details.customer_id.0.map(|contact| contact.0.get());
        assert_eq!(customer, (kind == StockType::Appraisal).then_some(1));
        assert_eq!(details.customer == "Contact 1", customer.is_some());
        assert!(data.stock.purchase_supplier_id.is_none_or(|id| id.get() == 2));
        let funded = data.stock.funding_provider_total.is_some();
        assert_eq!(data.stock.funding_provider_id.map(ContactId::get), funded.then_some(3));
    }
    for (VehicleDraft { status, data, .. }, created) in vehicles(1, 2_000) {
        let confirm = &data.appraisal.confirm;
        assert!(data.appraisal.details.customer_id.0.is_none());
        let offered = matches!(
            status,
            VehicleStatus::Appraised | VehicleStatus::Accepted | VehicleStatus::Rejected
        );
        assert_eq!(
            (confirm.offer.0.is_some(), confirm.appraised_at.is_some()),
            (offered, offered)
        );
        assert!(confirm.appraised_at.is_none_or(|at| at > created.date().midnight()));
        let decision = match status {
            VehicleStatus::Accepted => "accepted",
            VehicleStatus::Rejected => "rejected",
            _ => "",
        };
        assert_eq!(confirm.decision, decision);
        assert_eq!(confirm.agreed_amount.0.is_some(), status == VehicleStatus::Accepted);
    }
}

#[test]
fn a_business_without_lists_has_vehicles_too() {
    let mut bare = a_business();
    bare.catalogue = Catalogue::default();
    for (vehicle, _) in vehicles_of(&bare, 1, 500) {
        assert!(vehicle.tags.is_empty() && vehicle.channels.is_empty() && vehicle.owner.is_none());
        assert!(vehicle.data.stock.location.0.is_none());
    }
}

#[test]
fn clocks_that_are_wrong_do_no_harm() {
    for now in [0, 1_000_000_000, 10_000_000_000] {
        let period = Period::days_before(Timestamp::from_epoch_seconds(now), YEARS);
        let mut stock = Stock::new(&a_business(), 1, period, ExistingRecords::default());
        for at in 0..500 {
            stock.vehicle(at, 500);
        }
    }
}

/// Every vehicle of the sample is one that a dealer could have, with its dates in order.
#[test]
fn dates_are_in_order_and_not_in_the_future() {
    for (seed, days, count) in [(1, 730, 1_500), (2, 30, 300), (3, 1, 100)] {
        let period = Period::days_before(NOW, days);
        let mut stock = Stock::new(&a_business(), seed, period, ExistingRecords::default());
        let today = NOW.date().midnight();
        for at in 0..count {
            let made = stock.vehicle(at, count);
            let VehicleDraft { kind, status, data, .. } = &made.content;
            let what = format!(
                "{kind:?} {status:?} {} {}",
                made.created.epoch_seconds(),
                made.updated.epoch_seconds()
            );
            assert!(made.created <= made.updated && made.updated <= today, "{what}");
            let idle = matches!(status, VehicleStatus::Draft | VehicleStatus::Added);
            assert!(idle || made.created < made.updated, "{what}");
            let stock = &data.stock;
            let changed = made.updated.date().midnight();
            let costs = || stock.purchase_cost_data.0.iter().filter_map(|row| row.date);
            if let Some(bought) = stock.purchase_date {
                assert!(bought.midnight() <= made.created, "{what}");
                assert!(
                    data.vehicle.registered.is_none_or(|registered| registered <= bought),
                    "{what}"
                );
                assert!(
                    costs().all(|cost| bought <= cost && cost.midnight() <= changed),
                    "{what}"
                );
                assert!(stock.forecourt_date.is_none_or(|ready| bought <= ready), "{what}");
            }
            if let Some(ready) = stock.forecourt_date {
                assert!(
                    costs().all(|cost| cost <= ready) && ready.midnight() <= changed,
                    "{what}"
                );
                assert!(ready.midnight() >= made.created.date().midnight(), "{what}");
            }
            if let Some(due) = stock.due_in_date {
                let gone = matches!(status, VehicleStatus::Sold | VehicleStatus::Complete);
                assert_eq!(gone, due.midnight() < today, "{what} {due}");
                assert!(!gone || due.midnight() <= changed, "{what} {due}");
                assert!(*kind == StockType::ToOrder || *status == VehicleStatus::Draft, "{what}");
            }
            let confirm = &data.appraisal.confirm;
            assert!(
                confirm
                    .appraised_at
                    .is_none_or(|at| made.created <= at && at <= made.updated),
                "{what}"
            );
            assert!(
                confirm
                    .decision_at
                    .is_none_or(|at| Some(at) >= confirm.appraised_at && at <= made.updated),
                "{what}"
            );
            let expiry = confirm.expiry.0.map(Date::midnight);
            assert!(
                expiry.is_none_or(|expiry| confirm.decision_at.is_none_or(|at| at < expiry)),
                "{what}"
            );
        }
    }
}

#[test]
fn each_is_built_as_its_model_is() {
    for (VehicleDraft { data, .. }, created) in vehicles(5, 1_500) {
        let identity = &data.vehicle;
        let class = identity.class.0.unwrap();
        if !matches!(class, VehicleClass::Car | VehicleClass::Crossover) {
            continue;
        }
        let said = |figure: &Option<forecourt_vehicles::Figure>| match figure {
            Some(forecourt_vehicles::Figure::Number(number)) => number.as_u64().unwrap(),
            _ => 0,
        };
        let year = identity
            .registered
            .map_or_else(|| calendar::day_of(created), day)
            .year();
        let fuel = identity.fuel.0.as_ref().map_or("", |fuel| fuel.as_str());
        let driven = identity.drivetrain.0.as_ref().map_or("", |driven| driven.as_str());
        let (engine, size) = (&data.spec.engine, &data.spec.size);
        let is_built_so = |model: &models::Model| {
            let (from, to) = model.years;
            let fits = model.engines.iter().any(|one| {
                one.power.fuel() == fuel
                    && u64::from(one.bhp) == said(&engine.bhp)
                    && u64::from(one.cc) == said(&engine.capacity)
                    && one.driven.or(model.driven).map_or("", models::Driven::name) == driven
            });
            let measures = model.measures.unwrap();
            (model.make, model.name) == (&*identity.make, &*identity.model)
                && from <= year
                && to.is_none_or(|to| year <= to)
                && fits
                && [measures.length, measures.width, measures.height, measures.wheelbase].map(u64::from)
                    == [
                        said(&size.length),
                        said(&size.width),
                        said(&size.height),
                        said(&size.wheelbase),
                    ]
                && (identity.doors, identity.seats) == (Some(model.doors), Some(model.seats))
                && (model.trims.contains(&&*identity.trim) || (model.trims.is_empty() && identity.trim.is_empty()))
        };
        let known = models::of_class(class).iter().any(|(_, model)| is_built_so(model));
        assert!(known, "{identity:?} of {year}: {engine:?} {size:?}");
    }
}

#[test]
fn equipment_is_possible() {
    let has = |data: &Data, words: &[&str]| {
        data.option
            .factory
            .iter()
            .any(|option| words.iter().any(|word| option.contains(word)))
    };
    let mut options = 0;
    for (VehicleDraft { data, .. }, created) in vehicles(6, 1_500) {
        let identity = &data.vehicle;
        options += data.option.factory.len();
        let fuel = identity.fuel.0.as_ref().map_or("", |fuel| fuel.as_str());
        let gearbox = identity.transmission.0.as_ref().map_or("", |gearbox| gearbox.as_str());
        let body = identity.body.0.as_ref().map_or("", |body| body.as_str());
        let plugged = matches!(fuel, "Electric" | "Petrol Plug-in Hybrid");
        let what = format!("{identity:?} {:?}", data.option.factory);
        assert!(
            fuel != "Electric" || !has(&data, &["xhaust", "Start/stop", "gear knob", "Paddle", "AdBlue"]),
            "{what}"
        );
        assert!(
            plugged || !has(&data, &["charging cable", "on-board charger", "CCS"]),
            "{what}"
        );
        assert!(gearbox != "Automatic" || !has(&data, &["gear knob"]), "{what}");
        assert!(gearbox != "Manual" || !has(&data, &["Paddle"]), "{what}");
        assert!(
            body != "Convertible" || !has(&data, &["roof", "sunroof", "Roof rails", "Privacy glass"]),
            "{what}"
        );
        let year = identity
            .registered
            .map_or_else(|| calendar::day_of(created), day)
            .year();
        assert!(
            year >= 2014 || !has(&data, &["CarPlay", "Wireless", "Digital driver display"]),
            "{what}"
        );
        let wheels = data
            .option
            .factory
            .iter()
            .filter(|option| option.contains("alloy wheels"));
        assert!(wheels.count() <= 1, "{what}");
        let all: HashSet<_> = data.option.factory.iter().chain(&data.option.option_custom).collect();
        assert_eq!(
            all.len(),
            data.option.factory.len() + data.option.option_custom.len(),
            "{what}"
        );
        assert!(!data.option.feature.0.contains_key("other"), "{what}");
    }
    assert!(options > 8_000, "{options}");
}
