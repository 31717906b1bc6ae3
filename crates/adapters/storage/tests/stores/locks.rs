//! Transactions that want the same locks wait for one another, and none of them in a circle.
//!
//! A deadlock would show as a conflict of one of them.

use std::time::Duration;

use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, EventName, LeadId, StoreResult, VehicleId};
use forecourt_vehicles::VehicleStatus;
use forecourt_webhooks::AttemptRecord;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_contact, a_lead, a_webhook, an_event, at, key, moment, room};

both_engines!(
    leads_and_vehicles_go_at_the_same_time,
    an_erasure_and_a_fetch_at_the_same_time,
);

/// The work on a lead and its vehicle.
#[derive(Clone, Copy, Debug)]
enum Work {
    DeleteLead,
    DeleteVehicle,
    Associate,
    Dissociate,
}

impl Work {
    async fn run(
        self,
        session: &mut dyn Session,
        business: BusinessId,
        lead: LeadId,
        car: VehicleId,
    ) -> StoreResult<()> {
        match self {
            Self::DeleteLead => {
                session.lock_lead(business, lead).await?;
                session.delete_lead(business, lead).await?;
            }
            Self::DeleteVehicle => {
                if let Some(mut vehicle) = session.lock_vehicle(business, car).await? {
                    vehicle.content.status = VehicleStatus::Deleted;
                    session.save_vehicle(business, &vehicle).await?;
                }
            }
            Self::Associate => {
                session.lock_lead(business, lead).await?;
                session.associate_vehicle(business, lead, car, at(0)).await?;
            }
            Self::Dissociate => {
                session.lock_lead(business, lead).await?;
                session.dissociate_vehicle(business, lead, car).await?;
            }
        }
        session.record(business, an_event(EventName::LeadUpdated, lead)).await
    }
}

async fn leads_and_vehicles_go_at_the_same_time(installation: Installation) {
    use Work::{Associate, DeleteLead, DeleteVehicle, Dissociate};
    let business = installation.business("acme").await;
    for (first, second) in [
        (DeleteLead, DeleteVehicle),
        (DeleteVehicle, DeleteLead),
        (Dissociate, DeleteVehicle),
        (DeleteVehicle, Dissociate),
        (Associate, DeleteVehicle),
        (Dissociate, Associate),
    ] {
        let lead = installation.lead(business, a_lead(), 0).await.id;
        let car = installation.cars(business, 1).await[0];
        if !matches!(first, Associate) {
            installation.associate(business, lead, car, 0).await;
        }
        let mut one = installation.begin().await;
        first.run(one.as_mut(), business, lead, car).await.unwrap();
        let other = tokio::spawn({
            let database = installation.database.clone();
            async move {
                let mut other = database.begin().await?;
                second.run(other.as_mut(), business, lead, car).await?;
                other.commit().await
            }
        });
        installation.until_one_waits().await;
        // It locks the counters now, if it has not done so before.
        one.commit().await.unwrap();
        let outcome = other.await.unwrap();
        assert!(outcome.is_ok(), "{second:?} behind {first:?}: {outcome:?}");
    }
}

async fn an_erasure_and_a_fetch_at_the_same_time(installation: Installation) {
    const ROUNDS: i64 = 30;
    installation.clock.set(moment(0));
    let business = installation.business("acme").await;
    let mut webhooks = Vec::new();
    for _ in 0..3 {
        webhooks.push(installation.webhook(business, a_webhook()).await);
    }
    for round in 0..ROUNDS {
        let mut session = installation.begin().await;
        let contact = session.insert_contact(business, a_contact(), at(0)).await.unwrap();
        session.commit().await.unwrap();
        let named = LeadId::new(contact.id.get());
        for name in [
            EventName::ContactCreated,
            EventName::ContactUpdated,
            EventName::ContactUpdated,
        ] {
            let mut session = installation.begin().await;
            session.record(business, an_event(name, named)).await.unwrap();
            session.commit().await.unwrap();
        }
        let erasing = {
            let database = installation.database.clone();
            async move {
                let mut session = database.begin().await?;
                if let Some(contact) = session.lock_contact(business, contact.id).await? {
                    session.erase_contact(business, &contact).await?;
                }
                session
                    .record(business, an_event(EventName::ContactDeleted, named))
                    .await?;
                session.commit().await
            }
        };
        let now = moment(60_000 * (round + 1));
        let fetching = webhooks.iter().map(|webhook| {
            let (database, endpoint) = (installation.database.clone(), key(business, webhook));
            async move {
                let mut session = database.begin().await?;
                let taken = session
                    .take_due(endpoint, now, now.plus_millis(30_000), room(9), now)
                    .await?;
                session.commit().await?;
                let tried: Vec<AttemptRecord> = taken
                    .deliveries
                    .iter()
                    .map(|due| due.unsendable(endpoint, now, "lost"))
                    .collect();
                let mut session = database.begin().await?;
                session.save_attempts(&tried).await?;
                session.commit().await
            }
        });
        let (erased, fetched) = tokio::join!(erasing, join_all(fetching));
        erased.unwrap();
        fetched.into_iter().collect::<StoreResult<Vec<()>>>().unwrap();
    }
}

mod postgres_alone {
    use diesel_async::SimpleAsyncConnection as _;
    use forecourt_storage::Storage;

    use super::*;
    use crate::installation::on_postgres;

    /// An erasure may take long, and concerns one business; a fetch serves all.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_fetch_waits_for_no_erasure() {
        on_postgres(async |installation| {
            installation.clock.set(moment(0));
            let business = installation.business("acme").await;
            let webhook = installation.webhook(business, a_webhook()).await;
            for record in 1..=4 {
                installation.happen(business, EventName::LeadCreated, record).await;
            }
            let Storage::Postgres(engine) = &installation.storage else {
                return;
            };
            let mut erasing = engine.begin().await.unwrap();
            erasing
                .batch_execute(r#"UPDATE events SET data = '{"id":1}' WHERE record IN (1, 3)"#)
                .await
                .unwrap();
            let take = async || {
                let mut session = installation.begin().await;
                let taking = session.take_due(key(business, &webhook), moment(1), moment(9), room(9), moment(5));
                let taken = timeout(Duration::from_secs(20), taking)
                    .await
                    .expect("it waits")
                    .unwrap();
                session.commit().await.unwrap();
                let shown: Vec<_> = taken
                    .deliveries
                    .iter()
                    .map(|due| (due.record.unwrap(), due.data.as_deref().unwrap_or_default().to_owned()))
                    .collect();
                (shown, taken.more)
            };
            let (shown, more) = take().await;
            assert_eq!(shown.iter().map(|(record, _)| *record).collect::<Vec<_>>(), [2, 4]);
            assert!(more, "the others are due again soon");
            erasing.commit().await.unwrap();
            let (shown, more) = take().await;
            let emptied = r#"{"id":1}"#.to_owned();
            assert_eq!(shown, [(1, emptied.clone()), (3, emptied)]);
            assert!(!more);
        })
        .await;
    }
}
