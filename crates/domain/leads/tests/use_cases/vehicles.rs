//! `POST /2.0/leads/{id}/vehicles`, `GET /2.0/leads/{id}/vehicles` and `DELETE /2.0/leads/{id}/vehicles/{vehicle_id}`

use forecourt_accounts::Business;
use forecourt_kernel::{Cursor, EventName, LeadId, Page, PageRequest, StoreError, testing::FixedClock};
use forecourt_leads::{
    Lead, LeadChanges, LeadDraft, LeadError, LeadVehicle, LeadVehicleView, MockLeadStore, NamedTwice, StockVehicle,
    VehicleChoice, add_lead_vehicle, create_lead, list_lead_vehicles, remove_lead_vehicle, validate_vehicle,
};
use mockall::predicate::eq;
use serde_json::{Value, json};

use crate::support::{Fixture, GOLF, SOMEBODY_ELSES_CAR, acme, acme_caller, at, faults, golf, valid};

#[tokio::test]
async fn a_vehicle_is_associated_once_and_each_time_the_lead_changes() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    fixture.set_clock(60);
    let added = fixture
        .add_vehicle(lead.id, VehicleChoice::Tag("KQVRK".into()))
        .await
        .unwrap();
    let expected = LeadVehicle {
        lead: lead.id,
        vehicle: golf(),
        created: at(60),
    };
    assert_eq!(added, expected);

    let again = fixture.add_vehicle(lead.id, VehicleChoice::Id(GOLF)).await;
    assert!(matches!(again, Err(LeadError::VehicleDuplicate(GOLF))), "{again:?}");
    assert_eq!(fixture.store.leads.associations().len(), 1);
    let changed = Lead {
        content: LeadDraft {
            vehicles: vec![GOLF],
            ..lead.content.clone()
        },
        updated: at(60),
        version: lead.version.next(),
        ..lead.clone()
    };
    fixture.assert_recorded(EventName::LeadUpdated, &changed);

    fixture.set_clock(61);
    fixture.remove_vehicle(lead.id, GOLF).await.unwrap();
    let changed = Lead {
        content: lead.content.clone(),
        updated: at(61),
        version: changed.version.next(),
        ..changed
    };
    fixture.assert_recorded(EventName::LeadUpdated, &changed);
    let again = fixture.remove_vehicle(lead.id, GOLF).await;
    assert!(matches!(again, Err(LeadError::VehicleNotFound(GOLF))), "{again:?}");
    assert_eq!(fixture.store.leads.associations().len(), 0);
    fixture.forget_outcomes();
    fixture.assert_untouched(&changed);
}

#[tokio::test]
async fn the_vehicle_is_validated_before_the_lead_and_the_lead_before_what_it_has() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let missing = LeadId::new(404);
    for id in [missing, lead.id] {
        let theirs = fixture.add_vehicle(id, VehicleChoice::Id(SOMEBODY_ELSES_CAR)).await;
        assert_eq!(faults(theirs), ["vehicle"]);
        let unknown = fixture.add_vehicle(id, VehicleChoice::Tag("ZZZZZ".into())).await;
        assert_eq!(faults(unknown), ["vehicle_tag"]);
    }
    let outcome = fixture.add_vehicle(missing, VehicleChoice::Id(GOLF)).await;
    assert!(
        matches!(outcome, Err(LeadError::NotFound(id)) if id == missing),
        "{outcome:?}"
    );
    let outcome = fixture.remove_vehicle(missing, GOLF).await;
    assert!(
        matches!(outcome, Err(LeadError::NotFound(id)) if id == missing),
        "{outcome:?}"
    );

    // Another business has neither the lead nor the vehicle.
    fixture.add_vehicle(lead.id, VehicleChoice::Id(GOLF)).await.unwrap();
    fixture.change_business();
    let outcome = fixture
        .add_vehicle(lead.id, VehicleChoice::Id(SOMEBODY_ELSES_CAR))
        .await;
    assert!(matches!(outcome, Err(LeadError::NotFound(_))), "{outcome:?}");
    let outcome = fixture.remove_vehicle(lead.id, GOLF).await;
    assert!(matches!(outcome, Err(LeadError::NotFound(_))), "{outcome:?}");
    assert_eq!(fixture.store.leads.associations().len(), 1);
}

#[tokio::test]
async fn a_list_is_asked_of_the_store_as_it_was_asked_for() {
    let caller = acme_caller();
    let (lead, missing) = (LeadId::new(501), LeadId::new(404));
    let page = PageRequest::first();
    let answer = Page {
        items: vec![LeadVehicle {
            lead,
            vehicle: golf(),
            created: at(0),
        }],
        next: Some(Cursor::at([GOLF.get()])),
        total: Some(2),
    };
    let expected = answer.clone();
    let mut store = MockLeadStore::new();
    store
        .expect_lead_vehicles()
        .with(eq(caller.business_id()), eq(lead), eq(page.clone()))
        .return_once(move |_, _, _| Ok(Some(answer)));
    let listed = list_lead_vehicles(&mut store, &caller, lead, &page).await.unwrap();
    assert_eq!(listed, expected);

    store.expect_lead_vehicles().return_once(|_, _, _| Ok(None));
    let outcome = list_lead_vehicles(&mut store, &caller, missing, &page).await;
    assert!(
        matches!(outcome, Err(LeadError::NotFound(id)) if id == missing),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn what_is_named_before_a_lead_is_there_is_validated() {
    let mut fixture = Fixture::open();
    for (choice, expected) in [
        (None, None),
        (Some(VehicleChoice::Id(GOLF)), None),
        (Some(VehicleChoice::Id(SOMEBODY_ELSES_CAR)), Some("vehicle")),
        (Some(VehicleChoice::Tag("6FQH7".into())), Some("vehicle_tag")),
    ] {
        let errors = validate_vehicle(&mut fixture.store, &fixture.caller, choice.as_ref())
            .await
            .unwrap();
        let fields: Vec<_> = errors.as_slice().iter().map(|error| &*error.field).collect();
        assert_eq!(fields, Vec::from_iter(expected), "{choice:?}");
    }
}

#[test]
fn a_vehicle_is_named_one_way() {
    let tag = || Some("KQVRK".to_owned());
    assert_eq!(VehicleChoice::of(None, None), Ok(None));
    assert_eq!(VehicleChoice::of(Some(GOLF), None), Ok(Some(VehicleChoice::Id(GOLF))));
    assert_eq!(
        VehicleChoice::of(None, tag()),
        Ok(Some(VehicleChoice::Tag("KQVRK".into())))
    );
    assert_eq!(VehicleChoice::of(Some(GOLF), tag()), Err(NamedTwice));
}

fn shown(associated: &LeadVehicle, business: &Business) -> Value {
    serde_json::to_value(LeadVehicleView::new(associated, business)).unwrap()
}

#[test]
fn what_is_shown_of_a_vehicle() {
    let mut business = acme();
    let mut associated = LeadVehicle {
        lead: LeadId::new(501),
        vehicle: golf(),
        created: at(5),
    };
    business.website = "https://acme.example/".into();
    let expected = json!({
        "lead": 501, "vehicle": 61, "tag": "KQVRK", "registration": "AB12 CDE", "type": "in-stock",
        "name": "Volkswagen Golf 1.5 TSI Match", "url": "2021-volkswagen-golf-1-5-tsi-match-kqvrk",
        "url_full": "https://acme.example/vehicles/2021-volkswagen-golf-1-5-tsi-match-kqvrk",
        "created": at(5).epoch_seconds(),
    });
    assert_eq!(shown(&associated, &business), expected);

    business.website.clear();
    associated.vehicle = StockVehicle {
        registration: None,
        make: String::new(),
        derivative: " ".into(),
        ..golf()
    };
    let little = shown(&associated, &business);
    assert_eq!(
        (&little["registration"], &little["name"], &little["url_full"]),
        (&json!(null), &json!("Golf"), &json!(""))
    );
}

#[tokio::test]
async fn the_first_failure_of_storage_ends_it() {
    let (clock, by, id) = (FixedClock::at(at(0)), acme_caller(), LeadId::new(501));
    let choice = || VehicleChoice::Id(GOLF);
    let (_, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let is_conflict = |error: &LeadError| matches!(error, LeadError::Store(StoreError::Conflict));

    let mut store = MockLeadStore::new();
    store
        .expect_stock_vehicle()
        .return_once(|_, _| Err(StoreError::Conflict));
    let error = add_lead_vehicle(&mut store, &clock, &by, id, choice())
        .await
        .unwrap_err();
    assert!(is_conflict(&error), "{error:?}");

    let mut store = MockLeadStore::new();
    store.expect_stock_vehicle().return_once(|_, _| Ok(Some(golf())));
    store.expect_lock_lead().return_once(|_, _| Err(StoreError::Conflict));
    let error = add_lead_vehicle(&mut store, &clock, &by, id, choice())
        .await
        .unwrap_err();
    assert!(is_conflict(&error), "{error:?}");

    let mut store = MockLeadStore::new();
    let found = lead.clone();
    store.expect_stock_vehicle().return_once(|_, _| Ok(Some(golf())));
    store.expect_lock_lead().return_once(|_, _| Ok(Some(found)));
    store
        .expect_associate_vehicle()
        .return_once(|_, _, _, _| Err(StoreError::Conflict));
    let error = add_lead_vehicle(&mut store, &clock, &by, id, choice())
        .await
        .unwrap_err();
    assert!(is_conflict(&error), "{error:?}");

    let mut store = MockLeadStore::new();
    let found = lead.clone();
    store.expect_lock_lead().return_once(|_, _| Ok(Some(found)));
    store
        .expect_dissociate_vehicle()
        .return_once(|_, _, _| Err(StoreError::Conflict));
    let error = remove_lead_vehicle(&mut store, &clock, &by, id, GOLF)
        .await
        .unwrap_err();
    assert!(is_conflict(&error), "{error:?}");

    // A lead whose vehicle cannot be stored records no event.
    let mut store = MockLeadStore::new();
    store.expect_stock_vehicle().return_once(|_, _| Ok(Some(golf())));
    store.expect_insert_lead().return_once(|_, _, _| Ok(lead));
    store
        .expect_associate_vehicle()
        .return_once(|_, _, _, _| Err(StoreError::Conflict));
    let with_vehicle = LeadChanges {
        vehicle: GOLF.get().into(),
        ..LeadChanges::default()
    };
    let error = create_lead(&mut store, &clock, &by, valid(with_vehicle))
        .await
        .unwrap_err();
    assert!(is_conflict(&error), "{error:?}");
}
