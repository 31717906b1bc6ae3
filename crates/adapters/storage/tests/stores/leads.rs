//! One lead at a time; lists of them are in `lists`.

use std::time::Duration;

use forecourt_contacts::{Contact, ContactDraft};
use forecourt_kernel::{BusinessId, LeadId};
use forecourt_leads::testing::{
    KnownContact, KnownVehicle, Surroundings, a_full_lead, lead_reader_contract, lead_store_contract,
};
use forecourt_leads::{Lead, LeadDraft, StockVehicle};
use forecourt_reference::StockType;
use forecourt_vehicles::{Vehicle, VehicleDraft};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::installation::{Installation, both_engines, on_sqlite};
use crate::samples::{Dice, a_car, a_contact, a_lead, at};

both_engines!(
    leads_are_kept_as_their_domain_asks,
    references_have_no_gaps_when_writers_give_up,
    loaded_leads_continue_what_is_there,
    a_locked_lead_belongs_to_one_session,
    a_deleted_lead_takes_its_vehicles_along,
);

impl Installation {
    /// Stores a lead of that content at that second.
    pub(crate) async fn lead(&self, business: BusinessId, draft: LeadDraft, second: i64) -> Lead {
        let mut session = self.begin().await;
        let lead = session.insert_lead(business, draft, at(second)).await.unwrap();
        session.commit().await.unwrap();
        lead
    }

    pub(crate) async fn save(&self, business: BusinessId, lead: &Lead) {
        let mut session = self.begin().await;
        session.save_lead(business, lead).await.unwrap();
        session.commit().await.unwrap();
    }

    pub(crate) async fn delete(&self, business: BusinessId, lead: LeadId) {
        let mut session = self.begin().await;
        session.delete_lead(business, lead).await.unwrap();
        session.commit().await.unwrap();
    }

    pub(crate) async fn stored(&self, business: BusinessId, lead: LeadId) -> Option<Lead> {
        self.read().await.lead(business, lead).await.unwrap()
    }
}

/// On SQLite an update costs the index of each column that it names. On PostgreSQL the server compares the values itself.
#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_change_costs_the_indexes_of_what_differs() {
    on_sqlite(async |installation: Installation| {
        let business = installation.business("acme").await;
        let lead = installation.lead(business, a_lead(), 0).await;
        let mut described = lead.clone();
        described.content.summary = Some("Wants a test drive on Saturday".to_owned());
        let mut renamed = described.clone();
        renamed.content.name = "Ann Smith".to_owned();
        renamed.content.email = "ann@example.com".to_owned();
        renamed.content.phone = "+441632960123".to_owned();
        renamed.content.mobile = "+447700900123".to_owned();

        let of_one = installation.logged_pages(installation.save(business, &described)).await;
        let of_five = installation.logged_pages(installation.save(business, &renamed)).await;
        assert_eq!(installation.stored(business, lead.id).await, Some(renamed));
        // Four indexes have the new values.
        assert!(
            of_five >= of_one + 4,
            "{of_five} pages, and where no index changed {of_one}"
        );
    })
    .await;
}

/// While the schema changes, a search that has just begun may fail on SQLite: FTS5's tables cannot be connected then.
#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_maintenance_changes_no_schema_and_renews_readers() {
    on_sqlite(async |installation: Installation| {
        let business = installation.business("acme").await;
        for at in 0..20 {
            installation.lead(business, a_lead(), at).await;
        }
        let schema = "SELECT schema_version FROM pragma_schema_version";
        let analyzed = "SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'leads'";
        installation.execute("DELETE FROM sqlite_stat1").await;
        let before = installation.number(schema).await;
        let readers = (installation.read().await, installation.read().await);
        let open = installation.database.load().open;

        installation.database.maintain().await.unwrap();
        assert!(installation.number(analyzed).await > 0);
        assert_eq!(installation.number(schema).await, before);
        // A lent connection is closed when it comes back: it knows the old statistics.
        drop(readers);
        let left = installation.database.load().open;
        assert!(left < open, "{left} of {open} connections");
    })
    .await;
}

async fn leads_are_kept_as_their_domain_asks(installation: Installation) {
    let around = surroundings(&installation).await;
    let mut session = installation.begin().await;
    let book = lead_store_contract(session.as_mut(), &around).await;
    session.commit().await.unwrap();
    lead_reader_contract(installation.read().await.as_mut(), &book).await;
}

/// Two businesses with the contacts and vehicles that the contract needs.
async fn surroundings(installation: &Installation) -> Surroundings {
    let (ours, theirs) = (
        installation.business("ours").await,
        installation.business("theirs").await,
    );
    let ann = ContactDraft {
        email: "Ann@Example.com".to_owned(),
        telephone: "+441632960123".to_owned(),
        mobile: "+447700900123".to_owned(),
        ..a_contact()
    };
    let bob = ContactDraft {
        mobile: "+447700900999".to_owned(),
        ..a_contact()
    };
    let contacts = [
        known_contact(installation.contact(ours, ann, 0).await),
        known_contact(installation.contact(ours, bob, 0).await),
    ];
    let mut described = VehicleDraft {
        kind: StockType::Customer,
        registration: "ab12 cde".parse().ok(),
        ..a_car()
    };
    described.data.stock.number = "A-17".into();
    described.data.stock.reference = "Ref 9".into();
    described.data.stock.vin.0 = "WVWZZZ1KZ6W000001".parse().ok();
    described.data.vehicle.make = "Škoda".into();
    described.data.vehicle.model = "Octavia".into();
    described.data.vehicle.derivative = "2.0 TDI".into();
    let mut session = installation.begin().await;
    let mut vehicles = Vec::new();
    for draft in [a_car(), a_car(), a_car(), described.clone(), described] {
        vehicles.push(known_vehicle(
            &session.insert_vehicle(ours, draft, at(0)).await.unwrap(),
        ));
    }
    let their_vehicle = known_vehicle(&session.insert_vehicle(theirs, a_car(), at(0)).await.unwrap());
    session.commit().await.unwrap();
    Surroundings {
        ours,
        theirs,
        contacts,
        vehicles: vehicles.try_into().unwrap(),
        their_vehicle,
    }
}

fn known_contact(contact: Contact) -> KnownContact {
    KnownContact {
        id: contact.id,
        email: contact.content.email,
        numbers: [contact.content.telephone, contact.content.mobile],
    }
}

fn known_vehicle(vehicle: &Vehicle) -> KnownVehicle {
    let (described, stock) = (&vehicle.content.data.vehicle, &vehicle.content.data.stock);
    KnownVehicle {
        vehicle: StockVehicle {
            id: vehicle.id,
            tag: vehicle.tag.to_string(),
            registration: vehicle.content.registration.as_ref().map(ToString::to_string),
            kind: vehicle.content.kind,
            make: described.make.clone(),
            model: described.model.clone(),
            derivative: described.derivative.clone(),
            url: vehicle.url(),
        },
        numbers: [stock.number.clone(), stock.reference.clone()],
        vin: stock.vin.0.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

async fn references_have_no_gaps_when_writers_give_up(installation: Installation) {
    let businesses = [installation.business("one").await, installation.business("two").await];
    let sessions = (0..50_u64).map(|seed| {
        let database = installation.database.clone();
        tokio::spawn(async move {
            let mut dice = Dice::new(seed);
            let business = *dice.pick(&businesses);
            let mut session = database.begin().await.unwrap();
            for _ in 0..=dice.roll(3) {
                session.insert_lead(business, a_lead(), at(0)).await.unwrap();
                tokio::task::yield_now().await;
            }
            if dice.chance(70) {
                session.commit().await.unwrap();
            }
        })
    });
    for session in join_all(sessions).await {
        session.unwrap();
    }
    for business in businesses {
        let query = format!("SELECT '' || reference FROM leads WHERE business_id = {business} ORDER BY id");
        let references = installation.texts(&query).await;
        let expected: Vec<_> = (1..=references.len()).map(|number| number.to_string()).collect();
        assert!(references.len() > 10);
        assert_eq!(references, expected, "in the order of the ids, too");
    }
}

async fn loaded_leads_continue_what_is_there(installation: Installation) {
    const LOADED: i64 = 2508;
    let business = installation.business("acme").await;
    installation.lead(business, a_lead(), 50).await;
    // More than fit into one statement, some of them out of order, the last one too.
    let stamp = |number: i64| at(if number % 100 == 7 { 10 } else { 60 + number });
    let leads = (0..LOADED).map(|number| (a_full_lead(), stamp(number))).collect();
    let mut session = installation.begin().await;
    session.load_leads(business, leads).await.unwrap();
    session.load_leads(business, Vec::new()).await.unwrap();
    session.commit().await.unwrap();
    // By a clock that is a little behind.
    let last = installation.lead(business, a_lead(), LOADED - 200).await;
    assert_eq!((last.reference, last.created), (LOADED + 2, stamp(LOADED - 2)));

    let rows = installation
        .texts("SELECT reference || ' ' || (created - 1790000000) || ' ' || (updated - created) FROM leads ORDER BY id")
        .await;
    let mut latest = 50;
    let expected = (0..LOADED).map(|number| {
        latest = latest.max(stamp(number).epoch_seconds() - at(0).epoch_seconds());
        format!("{} {latest} 0", number + 2)
    });
    let expected: Vec<_> = ["1 50 0".to_owned()].into_iter().chain(expected).collect();
    assert_eq!(rows[..rows.len() - 1], expected);
    let loaded = installation
        .read()
        .await
        .lead(business, LeadId::new(last.id.get() - 1))
        .await
        .unwrap();
    assert_eq!(loaded.unwrap().content, a_full_lead());
}

async fn a_locked_lead_belongs_to_one_session(installation: Installation) {
    let business = installation.business("acme").await;
    let lead = installation.lead(business, a_lead(), 0).await;
    let mut session = installation.begin().await;
    let mut locked = session.lock_lead(business, lead.id).await.unwrap().unwrap();
    let other = tokio::spawn({
        let database = installation.database.clone();
        async move {
            let mut session = database.begin().await.unwrap();
            session.lock_lead(business, lead.id).await.unwrap().unwrap()
        }
    });
    installation.until_one_waits().await;
    assert!(!other.is_finished(), "the other one does not wait");
    locked.content.name = "changed".to_owned();
    session.save_lead(business, &locked).await.unwrap();
    session.commit().await.unwrap();
    let seen = timeout(Duration::from_secs(20), other).await.unwrap().unwrap();
    assert_eq!(seen, locked);
}

async fn a_deleted_lead_takes_its_vehicles_along(installation: Installation) {
    let business = installation.business("acme").await;
    let (gone, stays) = (
        installation.lead(business, a_lead(), 0).await,
        installation.lead(business, a_lead(), 0).await,
    );
    let cars = installation.cars(business, 2).await;
    for (lead, car) in [&gone, &stays].into_iter().zip(&cars) {
        assert!(installation.associate(business, lead.id, *car, 0).await);
    }
    installation.delete(business, gone.id).await;
    installation.delete(business, gone.id).await;
    assert_eq!(installation.stored(business, gone.id).await, None);
    assert!(installation.stored(business, stays.id).await.is_some());
    assert_eq!(
        installation.texts("SELECT '' || vehicle_id FROM lead_vehicles").await,
        [cars[1].to_string()]
    );
}
