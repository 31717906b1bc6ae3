//! The contract suites that every store of vehicles must pass.

use std::collections::BTreeMap;

use forecourt_accounts::Business;
use forecourt_kernel::{
    BusinessId, ContactId, Page, PageRequest, Range, ScopeSet, TextFilter, Timestamp, VehicleId, Version,
    testing::{Choices, assert_pages},
};
use serde_json::json;

use super::samples::{a_full_vehicle, a_vehicle};
use crate::{
    Detail, FieldCondition, FieldFilter, FilterKind, Key, StatusChoice, Vehicle, VehicleDraft, VehicleFilter,
    VehicleReader, VehicleStatus, VehicleStore, VehicleView, field_filters,
};

/// The vehicles that a store contains after [`vehicle_store_contract`], for tests of readers.
#[derive(Clone, Debug)]
pub struct VehicleBook {
    business: BusinessId,
    vehicles: BTreeMap<VehicleId, Vehicle>,
}

/// Checks what every [`VehicleStore`] promises. The two businesses must have no vehicles in it, and the first must have a contact
/// of that id and name. Leaves vehicles in the store for [`vehicle_reader_contract`].
///
/// # Panics
/// If the store breaks its contract.
pub async fn vehicle_store_contract(
    store: &mut dyn VehicleStore,
    ours: BusinessId,
    theirs: BusinessId,
    (contact, name): (ContactId, &str),
) -> VehicleBook {
    let known = store.contact_name(ours, contact).await.expect("an answer");
    assert_eq!(known.as_deref(), Some(name));
    for (business, contact) in [(theirs, contact), (ours, ContactId::new(i64::MAX))] {
        assert_eq!(store.contact_name(business, contact).await.expect("an answer"), None);
    }
    gives_codes_and_stamps_in_order(store, ours).await;
    keeps_every_section(store, ours).await;
    let twins = keeps_businesses_apart(store, ours, theirs).await;
    for (business, vehicle) in [(ours, &twins[0]), (theirs, &twins[1])] {
        for filter in all_filters(vehicle) {
            let found = list(store, business, &filter, &PageRequest::first()).await.items;
            assert!(found.contains(vehicle), "{filter:?}");
            assert!(
                !found.iter().any(|found| twins.contains(found) && found != vehicle),
                "{filter:?}"
            );
        }
    }
    deletes_vehicles(store, ours).await;
    fill(store, ours).await
}

/// Checks the lists of `reader` against the vehicles that [`vehicle_store_contract`] has stored.
///
/// # Panics
/// If a list differs from the vehicles that pass its filter.
pub async fn vehicle_reader_contract(reader: &mut dyn VehicleReader, book: &VehicleBook) {
    let vehicles: Vec<&Vehicle> = book.vehicles.values().collect();
    for vehicle in &vehicles {
        let stored = reader.vehicle(book.business, vehicle.id).await.expect("it is read");
        assert_eq!(stored.as_ref(), Some(*vehicle));
    }
    let for_sale = vehicles
        .iter()
        .filter(|vehicle| vehicle.content.status.counts_as_for_sale())
        .count();
    let counted = reader.vehicles_for_sale(book.business).await.expect("an answer");
    assert!(for_sale > 0 && counted as usize == for_sale, "{counted}");
    let mut choices = Choices::new(1);
    for _ in 0..4 {
        for filter in all_filters(vehicles[choices.below(vehicles.len())]) {
            assert_lists(reader, book, &filter).await;
        }
    }
    assert_previews(reader, book).await;
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_790_000_000 + seconds)
}

async fn stored(reader: &mut dyn VehicleReader, business: BusinessId, id: VehicleId) -> Option<Vehicle> {
    reader.vehicle(business, id).await.expect("it is read")
}

async fn inserted(store: &mut dyn VehicleStore, business: BusinessId, draft: VehicleDraft, second: i64) -> Vehicle {
    store
        .insert_vehicle(business, draft, at(second))
        .await
        .expect("it is stored")
}

async fn list(
    reader: &mut dyn VehicleReader,
    business: BusinessId,
    filter: &VehicleFilter,
    page: &PageRequest,
) -> Page<Vehicle> {
    let page = reader.vehicles(business, filter, page).await;
    page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
}

async fn gives_codes_and_stamps_in_order(store: &mut dyn VehicleStore, ours: BusinessId) {
    let mut made: Vec<Vehicle> = Vec::new();
    for second in [0, 5, 3, 3, 9, -7, 20] {
        let vehicle = inserted(store, ours, a_vehicle(), second).await;
        let before = made.last();
        assert!(before.is_none_or(|before| before.id < vehicle.id), "ids rise");
        assert!(
            before.is_none_or(|before| before.created <= vehicle.created),
            "stamps never run against ids"
        );
        made.push(vehicle);
    }
    let mut tags: Vec<_> = made.iter().map(|vehicle| vehicle.tag.to_string()).collect();
    assert_eq!(tags[..3], ["KQVRK", "6FQH7", "S6KAV"]);
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags.len(), 7);
}

async fn keeps_every_section(store: &mut dyn VehicleStore, ours: BusinessId) {
    for (second, draft) in (20..).zip([a_vehicle(), a_full_vehicle()]) {
        let vehicle = inserted(store, ours, draft.clone(), second).await;
        let expected = Vehicle {
            id: vehicle.id,
            tag: vehicle.tag.clone(),
            created: at(second),
            updated: at(second),
            version: Version::FIRST,
            content: draft,
        };
        assert_eq!(vehicle, expected);
        assert_eq!(stored(store, ours, vehicle.id).await.as_ref(), Some(&vehicle));
        let locked = store.lock_vehicle(ours, vehicle.id).await.expect("it is locked");
        assert_eq!(locked.as_ref(), Some(&vehicle));
        let changed = Vehicle {
            content: a_full_vehicle(),
            updated: at(29),
            version: vehicle.version.next(),
            ..vehicle
        };
        store.save_vehicle(ours, &changed).await.expect("it is saved");
        assert_eq!(stored(store, ours, changed.id).await.as_ref(), Some(&changed));
        let emptied = Vehicle {
            content: a_vehicle(),
            updated: at(-100),
            ..changed
        };
        store.save_vehicle(ours, &emptied).await.expect("it is saved");
        let expected = Vehicle {
            updated: emptied.created,
            ..emptied
        };
        let stored = stored(store, ours, expected.id).await;
        assert_eq!(stored, Some(expected), "no vehicle changed before it was made");
    }
}

async fn keeps_businesses_apart(store: &mut dyn VehicleStore, ours: BusinessId, theirs: BusinessId) -> [Vehicle; 2] {
    let first = inserted(store, theirs, a_vehicle(), 0).await;
    assert_eq!(first.tag.to_string(), "KQVRK", "codes are unique within a business");
    let vehicle = inserted(store, ours, a_full_vehicle(), 30).await;
    let twin = inserted(store, theirs, a_full_vehicle(), 30).await;
    assert_ne!(vehicle.id, twin.id);
    assert_eq!(stored(store, theirs, vehicle.id).await, None);
    assert_eq!(store.lock_vehicle(theirs, vehicle.id).await.expect("an answer"), None);
    let changed = Vehicle {
        content: a_vehicle(),
        ..vehicle.clone()
    };
    store.save_vehicle(theirs, &changed).await.expect("nothing is saved");
    assert_eq!(stored(store, ours, vehicle.id).await.as_ref(), Some(&vehicle));
    [vehicle, twin]
}

async fn deletes_vehicles(store: &mut dyn VehicleStore, ours: BusinessId) {
    let mut content = a_full_vehicle();
    content.status = VehicleStatus::ForSale;
    let vehicle = inserted(store, ours, content, 40).await;
    assert_eq!(store.vehicles_for_sale(ours).await.expect("a count"), 1);
    assert_eq!(store.lock_vehicles_for_sale(ours).await.expect("a count"), 1);
    let mut deleted = vehicle.clone();
    deleted.content.status = VehicleStatus::Deleted;
    store.save_vehicle(ours, &deleted).await.expect("it is saved");
    assert_eq!(stored(store, ours, vehicle.id).await, None);
    assert_eq!(store.lock_vehicle(ours, vehicle.id).await.expect("an answer"), None);
    assert_eq!(store.lock_vehicles_for_sale(ours).await.expect("a count"), 0);
    let mut filters = all_filters(&vehicle);
    filters.push(VehicleFilter {
        status: Some(StatusChoice::Name(VehicleStatus::Deleted)),
        ..VehicleFilter::default()
    });
    for filter in filters {
        let found = list(store, ours, &filter, &PageRequest::first()).await.items;
        assert!(found.iter().all(|found| found.id != vehicle.id), "{filter:?}");
    }
    let next = inserted(store, ours, a_full_vehicle(), 40).await;
    assert!(next.id > vehicle.id && next.tag != vehicle.tag, "neither is used again");
}

/// Replaces the vehicles of the business by many with few different values.
async fn fill(store: &mut dyn VehicleStore, ours: BusinessId) -> VehicleBook {
    let whole = PageRequest {
        per_page: PageRequest::MAX_PER_PAGE,
        ..PageRequest::first()
    };
    for mut vehicle in list(store, ours, &VehicleFilter::default(), &whole).await.items {
        vehicle.content.status = VehicleStatus::Deleted;
        store.save_vehicle(ours, &vehicle).await.expect("it is saved");
    }
    let (mut choices, mut vehicles) = (Choices::new(3), BTreeMap::new());
    for number in 0..60 {
        let mut vehicle = inserted(store, ours, any_vehicle(&mut choices), 100 + number).await;
        if choices.chance(30) {
            vehicle.content = any_vehicle(&mut choices);
            vehicle.updated = vehicle.created.plus_seconds(choices.number(30));
            vehicle.version = vehicle.version.next();
            store.save_vehicle(ours, &vehicle).await.expect("it is saved");
        }
        vehicles.insert(vehicle.id, vehicle);
    }
    VehicleBook {
        business: ours,
        vehicles,
    }
}

/// Returns a random vehicle with few different values, so that many are alike.
fn any_vehicle(choices: &mut Choices) -> VehicleDraft {
    if choices.chance(10) {
        // A deleted vehicle is nobody's parent.
        return VehicleDraft {
            parent: None,
            ..a_full_vehicle()
        };
    }
    let mut text = |list: &[&str]| (*choices.pick(list)).to_owned();
    let (make, model, fuel) = (
        text(&["Ford", "FORD", "Škoda", "100% E_V", ""]),
        text(&["Fiesta", "Octavia \"RS\"", "Mk_3"]),
        text(&["Petrol", "Diesel", "Petrol Hybrid"]),
    );
    let (mark, price) = (text(&["AB12CDE", "AB12CDF"]), text(&["995.00", "9995.50", "12995.00"]));
    let (kind, status) = *choices.pick(&[("s", "complete"), ("s", "for_sale"), ("s", "sold"), ("a", "rejected")]);
    let document = json!({
        "type": kind, "status": status, "country": "GB", "registration": mark, "owner": 1 + choices.number(2),
        "tag": [{"name": "Ready", "checked": choices.chance(50)}],
        "channels": if choices.chance(50) { json!(["website"]) } else { json!([]) },
        "data": {
            "vehicle": {"make": make, "model": model, "fuel": fuel, "mileage": choices.number(3) * 1000},
            "history": {"year": 2015 + choices.number(3)},
            "stock": {"reference": "R1", "number": format!("S{}", choices.number(5)), "price_website": price},
        },
        "media": [],
    });
    serde_json::from_value(document).expect("it is a vehicle")
}

/// Returns a filter of each kind that this vehicle passes.
pub fn all_filters(vehicle: &Vehicle) -> Vec<VehicleFilter> {
    let all = VehicleFilter::default;
    let content = &vehicle.content;
    let mut filters = vec![
        all(),
        VehicleFilter {
            kind: Some(content.kind),
            ..all()
        },
        VehicleFilter {
            status: Some(StatusChoice::Name(content.status)),
            ..all()
        },
        VehicleFilter {
            status: Some(StatusChoice::Id(content.status.id())),
            ..all()
        },
        VehicleFilter {
            tag: Some(vehicle.tag.clone()),
            ..all()
        },
        VehicleFilter {
            created: Some(Range::exactly(vehicle.created)),
            ..all()
        },
        VehicleFilter {
            updated: Some(Range::exactly(vehicle.updated)),
            ..all()
        },
        VehicleFilter {
            updated: Some(Range {
                from: None,
                to: Some(vehicle.updated),
            }),
            ..all()
        },
    ];
    if let Some(registration) = &content.registration {
        filters.push(VehicleFilter {
            registration: Some(registration.key().to_owned()),
            ..all()
        });
    }
    if content.owner.is_some() {
        filters.push(VehicleFilter {
            owner: content.owner,
            ..all()
        });
    }
    for channel in &content.channels {
        filters.push(VehicleFilter {
            channel: Some(channel.clone()),
            ..all()
        });
    }
    for tag in &content.tags {
        filters.push(VehicleFilter {
            tag_name: Some(tag.name.clone()),
            ..all()
        });
    }
    for (name, key) in vehicle.keys() {
        let wanted = match key {
            Key::Number(number) => vec![
                FieldCondition::Within(Range::exactly(number)),
                FieldCondition::Within(Range {
                    from: Some(number - 1),
                    to: None,
                }),
                FieldCondition::Within(Range {
                    from: None,
                    to: Some(number),
                }),
                FieldCondition::Within(Range { from: None, to: None }),
            ],
            Key::Text(text) => {
                let mut wanted = vec![
                    FieldCondition::AnyOf(vec![text.clone()]),
                    FieldCondition::Text(TextFilter::Exact(text.clone())),
                ];
                let kind = field_filters()
                    .iter()
                    .find(|filter| filter.name == name)
                    .expect("it is declared")
                    .kind;
                if kind == FilterKind::Pattern {
                    let begin: String = text.chars().take(3).collect();
                    let end: String = text.chars().skip(1).collect();
                    wanted.push(FieldCondition::Text(TextFilter::Wildcard(format!("{begin}%"))));
                    wanted.push(FieldCondition::Text(TextFilter::Wildcard(format!("%{end}"))));
                }
                wanted
            }
        };
        let of = |wanted| VehicleFilter {
            fields: vec![FieldFilter { name, wanted }],
            ..all()
        };
        filters.extend(wanted.into_iter().map(of));
    }
    filters
}

async fn assert_lists(reader: &mut dyn VehicleReader, book: &VehicleBook, filter: &VehicleFilter) {
    let passing = book.vehicles.values().rev().filter(|vehicle| filter.matches(vehicle));
    let expected: Vec<Vehicle> = passing.cloned().collect();
    assert_pages(
        &expected,
        |vehicle| vehicle.id.get(),
        async |request| list(reader, book.business, filter, &request).await,
    )
    .await;
}

/// Asserts that the list in the simple view shows the vehicles, to every caller that may see it.
async fn assert_previews(reader: &mut dyn VehicleReader, book: &VehicleBook) {
    let business = Business::new(book.business, "acme", "Acme Cars");
    let everything = VehicleFilter::default();
    let page = PageRequest {
        per_page: 40,
        ..PageRequest::first()
    };
    let vehicles = list(reader, book.business, &everything, &page).await;
    let previews = reader
        .vehicle_previews(book.business, &everything, &page)
        .await
        .expect("they are listed");
    assert_eq!((previews.total, previews.next), (vehicles.total, vehicles.next));
    for scopes in [ScopeSet::NONE, ScopeSet::all()] {
        for (preview, vehicle) in previews.items.iter().zip(&vehicles.items) {
            let view = VehicleView::new(vehicle, &business, Detail::Simple, scopes);
            let mut json = Vec::new();
            preview.write_to(&business, scopes, &mut json).expect("it is written");
            assert_eq!(String::from_utf8(json).ok(), serde_json::to_string(&view).ok());
        }
    }
}
