//! Vehicles: stored ones read back, and lists find those that pass, compared with a model that looks at each vehicle.

use std::collections::BTreeMap;
use std::sync::Arc;

use forecourt_contacts::ContactDraft;
use forecourt_kernel::{
    BusinessId, Cursor, LeadId, PageRequest, Position, Range, ScopeSet, StaffId, TextFilter, VehicleId, fold,
};
use forecourt_reference::StockType;
use forecourt_vehicles::testing::{all_filters, vehicle_reader_contract, vehicle_store_contract};
use forecourt_vehicles::{
    Detail, FieldCondition, FieldFilter, Vehicle, VehicleDraft, VehicleFilter, VehiclePreview, VehicleStatus,
    VehicleView, field_filters,
};
use serde_json::json;

use crate::fleet::{Fleet, a_full_vehicle, a_vehicle, draft};
use crate::installation::{Installation, both_engines, on_sqlite};
use crate::samples::{Dice, a_car, a_contact, a_full_business, a_lead, at};

both_engines!(
    vehicles_are_kept_as_their_domain_asks,
    a_deleted_vehicle_leaves_no_place_in_lists,
    lists_in_the_simple_view_show_what_is_stored_of_it,
    previews_of_another_release_are_not_believed,
    what_is_loaded_is_as_if_it_had_been_inserted,
    every_declared_filter_has_its_column,
    filters_find_what_they_are_to_find,
    totals_follow_every_change,
    strange_texts_are_found,
    one_of_two_gets_the_last_place,
    changes_of_one_business_do_not_block_each_other_for_good,
    a_deleted_business_leaves_no_vehicle,
);

impl Installation {
    async fn vehicle(&self, business: BusinessId, draft: VehicleDraft, second: i64) -> Vehicle {
        let mut session = self.begin().await;
        let vehicle = session.insert_vehicle(business, draft, at(second)).await.unwrap();
        session.commit().await.unwrap();
        vehicle
    }

    async fn save_vehicle(&self, business: BusinessId, vehicle: &Vehicle) {
        let mut session = self.begin().await;
        session.lock_vehicle(business, vehicle.id).await.unwrap().unwrap();
        session.save_vehicle(business, vehicle).await.unwrap();
        session.commit().await.unwrap();
    }

    /// Returns the ids of a whole list, with its total.
    async fn listed_vehicles(&self, business: BusinessId, filter: &VehicleFilter) -> (Vec<VehicleId>, i64) {
        let page = PageRequest {
            position: Position::Number(1),
            per_page: 1000,
        };
        let stored = self.previewed(business, filter, &page).await;
        assert!(stored.into_iter().all(|stored| stored), "{filter:?}");
        let page = self.read().await.vehicles(business, filter, &page).await.unwrap();
        let ids = page.items.iter().map(|vehicle| vehicle.id).collect();
        (ids, page.total.unwrap())
    }

    /// Asserts that a page in the simple view is that page of the vehicles. Returns for each if its preview is stored.
    async fn previewed(&self, business: BusinessId, filter: &VehicleFilter, page: &PageRequest) -> Vec<bool> {
        let vehicles = self.read().await.vehicles(business, filter, page).await.unwrap();
        let previews = self
            .read()
            .await
            .vehicle_previews(business, filter, page)
            .await
            .unwrap();
        assert_eq!((previews.total, previews.next), (vehicles.total, vehicles.next));
        let theirs = a_full_business("theirs");
        for scopes in [ScopeSet::NONE, ScopeSet::all()] {
            let expected = vehicles.items.iter().map(|vehicle| {
                let view = VehicleView::new(vehicle, &theirs, Detail::Simple, scopes);
                serde_json::to_string(&view).unwrap()
            });
            let shown = previews.items.iter().map(|preview| {
                let mut json = Vec::new();
                preview.write_to(&theirs, scopes, &mut json).unwrap();
                String::from_utf8(json).unwrap()
            });
            assert_eq!(shown.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{filter:?}");
        }
        previews.items.iter().map(VehiclePreview::is_stored).collect()
    }

    /// The same, by cursor and by number, a few at a time.
    async fn walked_vehicles(
        &self,
        business: BusinessId,
        filter: &VehicleFilter,
        per_page: u32,
    ) -> [Vec<VehicleId>; 2] {
        let mut by_cursor = Vec::new();
        let mut cursor = Cursor::at([i64::MAX]);
        loop {
            let position = Position::After(cursor);
            let page = PageRequest { position, per_page };
            let page = self.read().await.vehicles(business, filter, &page).await.unwrap();
            assert_eq!(page.total, None);
            by_cursor.extend(page.items.iter().map(|vehicle| vehicle.id));
            match page.next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        let mut by_number = Vec::new();
        for number in 1.. {
            let position = Position::Number(number);
            let page = PageRequest { position, per_page };
            let page = self.read().await.vehicles(business, filter, &page).await.unwrap();
            by_number.extend(page.items.iter().map(|vehicle| vehicle.id));
            if page.items.is_empty() {
                assert_eq!(page.total, i64::try_from(by_number.len()).ok(), "{filter:?}");
                break;
            }
        }
        [by_cursor, by_number]
    }
}

/// The same holds for leads.
#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_change_costs_the_indexes_of_what_differs() {
    on_sqlite(async |installation: Installation| {
        let business = installation.business("acme").await;
        let mut vehicle = installation.vehicle(business, a_car(), 0).await;
        vehicle.content.data.stock.notes = "Two keys".to_owned().into();
        let of_one = installation
            .logged_pages(installation.save_vehicle(business, &vehicle))
            .await;
        vehicle.content.data.stock.reference = "R-17".into();
        vehicle.content.data.stock.number = "A-17".into();
        let of_three = installation
            .logged_pages(installation.save_vehicle(business, &vehicle))
            .await;
        // Two indexes have the new values.
        assert!(
            of_three >= of_one + 2,
            "{of_three} pages, and where no index changed {of_one}"
        );
    })
    .await;
}

async fn vehicles_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let ann = ContactDraft {
        name: "Ann Lee".to_owned(),
        ..a_contact()
    };
    let ann = installation.contact(ours, ann, 0).await.id;
    let mut session = installation.begin().await;
    let book = vehicle_store_contract(session.as_mut(), ours, theirs, (ann, "Ann Lee")).await;
    session.commit().await.unwrap();
    vehicle_reader_contract(installation.read().await.as_mut(), &book).await;
}

async fn a_deleted_vehicle_leaves_no_place_in_lists(installation: Installation) {
    let business = installation.business("acme").await;
    let vehicle = installation.vehicle(business, a_full_vehicle(), 0).await;
    let mut deleted = vehicle.clone();
    deleted.content.status = VehicleStatus::Deleted;
    installation.save_vehicle(business, &deleted).await;
    for table in ["vehicle_facts", "vehicle_channels", "vehicle_tags"] {
        assert_eq!(
            installation.number(&format!("SELECT count(*) FROM {table}")).await,
            0,
            "{table}"
        );
    }
}

async fn lists_in_the_simple_view_show_what_is_stored_of_it(installation: Installation) {
    let business = installation.business("acme").await;
    let mut session = installation.begin().await;
    session
        .load_vehicles(business, Fleet::new(3).take(30).collect())
        .await
        .unwrap();
    session.commit().await.unwrap();
    let changed = installation.vehicle(business, a_vehicle(), 90_000).await;
    let deleted = installation.vehicle(business, a_full_vehicle(), 90_001).await;
    installation.vehicle(business, a_full_vehicle(), 90_002).await;
    let mut content = a_full_vehicle();
    content.data.vehicle.make = "Line\r\nbreak".into();
    let changed = Vehicle { content, ..changed };
    installation.save_vehicle(business, &changed).await;
    let mut content = a_full_vehicle();
    content.status = VehicleStatus::Deleted;
    installation
        .save_vehicle(business, &Vehicle { content, ..deleted })
        .await;

    let all = VehicleFilter::default();
    let mut shown = 0;
    for position in [
        Position::Number(1),
        Position::Number(2),
        Position::Number(9),
        Position::After(Cursor::at([changed.id.get()])),
    ] {
        let page = PageRequest { position, per_page: 20 };
        let stored = installation.previewed(business, &all, &page).await;
        assert!(stored.iter().all(|stored| *stored));
        shown += stored.len();
    }
    assert_eq!(shown, 20 + 12 + 20);
    let mut session = installation.begin().await;
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 50,
    };
    let previews = session.vehicle_previews(business, &all, &page).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(
        installation
            .read()
            .await
            .vehicle_previews(business, &all, &page)
            .await
            .unwrap()
            .items,
        previews.items
    );
    let kept = "SELECT count(*) FROM vehicles WHERE preview IS NOT NULL";
    assert_eq!(
        installation.number(kept).await,
        32,
        "nothing is kept of a deleted vehicle for lists"
    );
}

async fn previews_of_another_release_are_not_believed(installation: Installation) {
    let business = installation.business("acme").await;
    let mut vehicles = Vec::new();
    for second in 0..5 {
        vehicles.push(installation.vehicle(business, a_full_vehicle(), second).await);
    }
    let [_, former, _, none, _] = &*vehicles else {
        panic!("five vehicles")
    };
    installation
        .execute(&format!(
            "UPDATE vehicles SET preview = '0123456789abcdef{{\"tag\":\"OLD\"}}' WHERE id = {}; \
             UPDATE vehicles SET preview = NULL WHERE id = {}",
            former.id, none.id
        ))
        .await;
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 50,
    };
    let all = VehicleFilter::default();
    let stored = installation.previewed(business, &all, &page).await;
    assert_eq!(stored, [true, false, true, false, true]);
    let changed = Vehicle {
        updated: at(9),
        ..former.clone()
    };
    installation.save_vehicle(business, &changed).await;
    let stored = installation.previewed(business, &all, &page).await;
    assert_eq!(stored, [true, false, true, true, true], "a change renews it");
}

async fn what_is_loaded_is_as_if_it_had_been_inserted(installation: Installation) {
    let loaded = installation.business("loaded").await;
    let inserted = installation.business("inserted").await;
    let fleet: Vec<_> = Fleet::new(1).take(60).collect();
    let mut session = installation.begin().await;
    session.load_vehicles(loaded, fleet.clone()).await.unwrap();
    session.load_vehicles(loaded, Vec::new()).await.unwrap();
    for (draft, at) in fleet {
        session.insert_vehicle(inserted, draft, at).await.unwrap();
    }
    session.commit().await.unwrap();
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 500,
    };
    let all = async |business| {
        let page = installation
            .read()
            .await
            .vehicles(business, &VehicleFilter::default(), &page)
            .await
            .unwrap();
        page.items
            .into_iter()
            .map(|vehicle| (vehicle.tag, vehicle.created, vehicle.content))
            .collect::<Vec<_>>()
    };
    assert_eq!(all(loaded).await, all(inserted).await);
    let sums = async |business: BusinessId| {
        let query = format!(
            "SELECT sum(length(make) + coalesce(year, 0) + coalesce(price % 97, 0)) FROM vehicle_facts WHERE business_id = {business}"
        );
        installation.number(&format!("SELECT CAST(({query}) AS BIGINT)")).await
    };
    assert_eq!(sums(loaded).await, sums(inserted).await);
    let for_sale = installation.read().await.vehicles_for_sale(loaded).await.unwrap();
    assert!(for_sale > 0);
    assert_eq!(
        for_sale,
        installation.read().await.vehicles_for_sale(inserted).await.unwrap()
    );
}

async fn every_declared_filter_has_its_column(installation: Installation) {
    let business = installation.business("acme").await;
    let vehicle = installation.vehicle(business, a_full_vehicle(), 0).await;
    let known: BTreeMap<_, _> = vehicle.keys().into_iter().collect();
    for filter in field_filters() {
        let query = format!(
            "SELECT count(*) FROM vehicle_facts WHERE \"{}\" IS NOT NULL",
            filter.name
        );
        let column = installation.number(&query);
        assert_eq!(
            column.await,
            i64::from(known.contains_key(filter.name)),
            "{}",
            filter.name
        );
        assert!(
            known.contains_key(filter.name),
            "the full vehicle has nothing that {} compares",
            filter.name
        );
    }
}

/// A random filter by some of the vehicles' values.
fn random_filter(dice: &mut Dice, all: &[Vehicle]) -> VehicleFilter {
    let mut filter = VehicleFilter::default();
    for _ in 0..1 + dice.roll(3) {
        let vehicle = dice.pick(all);
        let one = all_filters(vehicle);
        let VehicleFilter {
            kind,
            status,
            registration,
            tag,
            owner,
            channel,
            tag_name,
            created,
            updated,
            lead: _,
            fields,
        } = dice.pick(&one[1..]).clone();
        filter.kind = kind.or(filter.kind);
        filter.status = status.or(filter.status);
        filter.registration = registration.or(filter.registration);
        filter.tag = tag.or(filter.tag);
        filter.owner = owner.or(filter.owner);
        filter.channel = channel.or(filter.channel);
        filter.tag_name = tag_name.or(filter.tag_name);
        filter.created = created.or(filter.created);
        filter.updated = updated.or(filter.updated);
        filter.fields.extend(fields);
    }
    for _ in 0..dice.roll(3) {
        let vehicle = dice.pick(all);
        let range = Range {
            from: dice.chance(70).then_some(vehicle.created),
            to: dice.chance(50).then_some(dice.pick(all).updated),
        };
        if dice.chance(50) {
            filter.created = Some(range);
        } else {
            filter.updated = Some(range);
        }
        let (low, high) = (dice.number(120_000), dice.number(4_000_000));
        let (name, range) = *dice.pick(&[
            (
                "mileage",
                Range {
                    from: Some(low),
                    to: None,
                },
            ),
            (
                "mileage",
                Range {
                    from: None,
                    to: Some(low),
                },
            ),
            (
                "price",
                Range {
                    from: Some(high / 2),
                    to: Some(high),
                },
            ),
            (
                "year",
                Range {
                    from: Some(2011 + low % 15),
                    to: Some(2014 + low % 15),
                },
            ),
        ]);
        filter.fields.push(FieldFilter {
            name,
            wanted: FieldCondition::Within(range),
        });
    }
    if dice.chance(20) {
        let pattern = *dice.pick(&["%o%d%", "%petrol%", "%nothing%", "%1.0%se%", "f%us", "%a%"]);
        let name = *dice.pick(&["make", "model", "derivative", "fuel", "body", "colour"]);
        filter.fields.push(FieldFilter {
            name,
            wanted: FieldCondition::Text(TextFilter::Wildcard(pattern.to_owned())),
        });
    }
    if dice.chance(10) {
        let wanted = FieldCondition::AnyOf(vec!["1".to_owned(), "3".to_owned(), "no such".to_owned()]);
        filter.fields.push(FieldFilter {
            name: "location",
            wanted,
        });
    }
    filter
}

async fn filters_find_what_they_are_to_find(installation: Installation) {
    let business = installation.business("acme").await;
    let mut all = Vec::new();
    let mut session = installation.begin().await;
    for (draft, at) in Fleet::new(3).take(300) {
        all.push(session.insert_vehicle(business, draft, at).await.unwrap());
    }
    session.commit().await.unwrap();
    let mut dice = Dice::new(4);
    // A changed vehicle is found by its new values.
    for _ in 0..100 {
        let at_index = dice.roll(all.len());
        let (other, stamp) = (
            dice.pick(&all).content.clone(),
            dice.pick(&all).created.plus_seconds(dice.number(90_000)),
        );
        let vehicle = &mut all[at_index];
        vehicle.content = other;
        vehicle.updated = stamp.max(vehicle.created);
        if dice.chance(10) {
            vehicle.content.status = VehicleStatus::Deleted;
        }
        let vehicle = vehicle.clone();
        installation.save_vehicle(business, &vehicle).await;
        if vehicle.content.status == VehicleStatus::Deleted {
            all.remove(at_index);
        }
    }
    let mut found = [0, 0];
    for round in 0..400 {
        let filter = if round == 0 {
            VehicleFilter::default()
        } else {
            random_filter(&mut dice, &all)
        };
        let passing = all.iter().rev().filter(|vehicle| filter.matches(vehicle));
        let expected: Vec<VehicleId> = passing.map(|vehicle| vehicle.id).collect();
        found[usize::from(expected.len() > 1)] += 1;
        let count = i64::try_from(expected.len()).unwrap();
        assert_eq!(
            installation.listed_vehicles(business, &filter).await,
            (expected.clone(), count),
            "{filter:?}"
        );
        if round % 8 == 0 {
            let per_page = if expected.len() > 50 { 40 } else { 3 };
            let walked = installation.walked_vehicles(business, &filter, per_page).await;
            assert_eq!(walked, [expected.clone(), expected], "{filter:?}");
        }
    }
    assert!(found[0] > 50 && found[1] > 50, "{found:?}");
}

async fn totals_follow_every_change(installation: Installation) {
    let business = installation.business("acme").await;
    let ford = VehicleFilter {
        fields: vec![FieldFilter {
            name: "make",
            wanted: FieldCondition::Text(TextFilter::Exact("ford".to_owned())),
        }],
        ..VehicleFilter::default()
    };
    let total = async || installation.listed_vehicles(business, &ford).await.1;
    assert_eq!(total().await, 0);
    let of = |make: &str| {
        draft(json!({"type": "s", "status": "draft", "country": "GB", "data": {"vehicle": {"make": make}}}))
    };
    let mut vehicle = installation.vehicle(business, of("FORD"), 0).await;
    installation.vehicle(business, of("Kia"), 0).await;
    assert_eq!(total().await, 1);
    vehicle.content = of("Kia");
    installation.save_vehicle(business, &vehicle).await;
    assert_eq!(total().await, 0);
    vehicle.content = of("Ford");
    let other = installation.another_server().await;
    other.save_vehicle(business, &vehicle).await;
    assert_eq!(total().await, 1);
    let lead = installation.lead(business, a_lead(), 0).await;
    installation
        .execute(&format!(
            "INSERT INTO lead_vehicles (business_id, lead_id, vehicle_id, created) VALUES ({business}, {}, {}, 0);",
            lead.id, vehicle.id
        ))
        .await;
    let of_lead = |id| VehicleFilter {
        lead: Some(id),
        ..VehicleFilter::default()
    };
    assert_eq!(
        installation.listed_vehicles(business, &of_lead(lead.id)).await,
        (vec![vehicle.id], 1)
    );
    assert_eq!(
        installation
            .listed_vehicles(business, &of_lead(LeadId::new(lead.id.get() + 1)))
            .await,
        (vec![], 0)
    );
    // A transaction counts its own writes.
    let mut session = installation.begin().await;
    vehicle.content.status = VehicleStatus::Deleted;
    session.save_vehicle(business, &vehicle).await.unwrap();
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 9,
    };
    assert_eq!(session.vehicles(business, &ford, &page).await.unwrap().total, Some(0));
    drop(session);
    assert_eq!(total().await, 1);
}

async fn strange_texts_are_found(installation: Installation) {
    let business = installation.business("acme").await;
    let long = "n".repeat(199);
    let texts = [
        "100% Cars",
        "under_score",
        "under-score",
        "back\\slash",
        "O'Neill",
        "quote \"quoted\"",
        "İSTANBUL",
        "straße",
        "李小龍 🚗",
        "{\"a\": [1]}",
        "$.make",
        "  spaced  ",
        "null",
        "1e5",
        "a\nb",
        &long,
        &format!("{long}x"),
        &format!("{long}xy"),
        &format!("{long}xz"),
        // As long as a line of text may be.
        &"é".repeat(255),
    ];
    let mut all = Vec::new();
    for text in texts {
        let document = json!({"type": "s", "status": "draft", "country": "GB", "data": {
            "vehicle": {"make": text, "derivative": text}, "stock": {"reference": text},
        }});
        all.push(installation.vehicle(business, draft(document), 0).await);
    }
    let mut filters = Vec::new();
    for text in texts {
        let field = |name, wanted| VehicleFilter {
            fields: vec![FieldFilter { name, wanted }],
            ..VehicleFilter::default()
        };
        filters.push(field("make", FieldCondition::Text(TextFilter::Exact(fold(text)))));
        filters.push(field("reference", FieldCondition::AnyOf(vec![fold(text)])));
        let end: String = fold(text).chars().skip(2).collect();
        filters.push(field(
            "derivative",
            FieldCondition::Text(TextFilter::Wildcard(format!("%{end}"))),
        ));
        filters.push(field(
            "make",
            FieldCondition::Text(TextFilter::Wildcard(format!("%{end}%"))),
        ));
    }
    for filter in filters {
        let passing = all.iter().rev().filter(|vehicle| filter.matches(vehicle));
        let expected: Vec<_> = passing.map(|vehicle| vehicle.id).collect();
        let count = i64::try_from(expected.len()).unwrap();
        assert!(count > 0);
        assert_eq!(
            installation.listed_vehicles(business, &filter).await,
            (expected, count),
            "{filter:?}"
        );
    }
}

async fn one_of_two_gets_the_last_place(installation: Installation) {
    const LIMIT: u32 = 3;
    let business = installation.business("acme").await;
    let mut drafts = Vec::new();
    for _ in 0..LIMIT + 3 {
        drafts.push(installation.vehicle(business, a_vehicle(), 0).await);
    }
    let installation = Arc::new(installation);
    let publish = |mut vehicle: Vehicle| {
        let installation = Arc::clone(&installation);
        tokio::spawn(async move {
            let mut session = installation.begin().await;
            session.lock_vehicle(business, vehicle.id).await.unwrap().unwrap();
            if session.lock_vehicles_for_sale(business).await.unwrap() >= LIMIT {
                return false;
            }
            vehicle.content.status = VehicleStatus::ForSale;
            session.save_vehicle(business, &vehicle).await.unwrap();
            session.commit().await.unwrap();
            true
        })
    };
    let tasks: Vec<_> = drafts.into_iter().map(publish).collect();
    let mut published = 0;
    for task in tasks {
        published += u32::from(task.await.unwrap());
    }
    assert_eq!(published, LIMIT);
    assert_eq!(
        installation.read().await.vehicles_for_sale(business).await.unwrap(),
        LIMIT
    );
}

async fn changes_of_one_business_do_not_block_each_other_for_good(installation: Installation) {
    let business = installation.business("acme").await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(installation.vehicle(business, a_full_vehicle(), 0).await);
    }
    let installation = Arc::new(installation);
    let change = |(number, mut vehicle): (i64, Vehicle)| {
        let installation = Arc::clone(&installation);
        tokio::spawn(async move {
            for round in 0..10 {
                vehicle.content.owner = Some(StaffId::new(1 + (number + round) % 3));
                vehicle.updated = at(round);
                installation.save_vehicle(business, &vehicle).await;
                installation.vehicle(business, a_full_vehicle(), round).await;
            }
        })
    };
    let tasks: Vec<_> = (0..).zip(all).map(change).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let total = installation
        .listed_vehicles(
            business,
            &VehicleFilter {
                kind: Some(StockType::Appraisal),
                ..VehicleFilter::default()
            },
        )
        .await
        .1;
    assert_eq!(total, 44);
}

async fn a_deleted_business_leaves_no_vehicle(installation: Installation) {
    let business = installation.business("acme").await;
    installation.vehicle(business, a_full_vehicle(), 0).await;
    let mut session = installation.begin().await;
    session.delete_business(business).await.unwrap();
    session.commit().await.unwrap();
    for table in ["vehicles", "vehicle_facts", "vehicle_channels", "vehicle_tags"] {
        assert_eq!(
            installation.number(&format!("SELECT count(*) FROM {table}")).await,
            0,
            "{table}"
        );
    }
}
