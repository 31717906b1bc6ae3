//! Updates listings that change without their vehicle: those that expire, and all of a business whose file has changed.

use std::{sync::Arc, time::Duration};

use forecourt_accounts::Business;
use forecourt_dealership::{Database, Session};
use forecourt_kernel::{BoxError, BusinessId, Clock, Cursor, PageRequest, Position, StoreError, Timestamp, VehicleId};
use forecourt_listings::{Build, DueExpiry, WEBSITE, follow, remove_expired};
use forecourt_vehicles::VehicleFilter;

use super::{
    due::DueWork,
    job::{Job, Ports, Round},
};
use crate::{shutdown::Shutdown, transaction::transact};

/// The number of vehicles of a business that one transaction processes.
const VEHICLES_AT_ONCE: u32 = 50;
/// The maximum number of businesses in a round.
const BUSINESSES_AT_ONCE: u32 = 20;
/// The seconds after a change of a business for which a server may still use its previous state.
const SETTLED_AFTER: i64 = 5;

/// Marks a business that must be processed once more.
const UNSETTLED: Timestamp = Timestamp::from_epoch_seconds(0);

/// Returns true if every server knows of the business's latest change.
pub(crate) fn is_settled(business: &Business, now: Timestamp) -> bool {
    business.updated <= now.plus_seconds(-SETTLED_AFTER)
}

/// Removes expired listings.
#[derive(Clone)]
pub(super) struct Expiry;

impl DueWork for Expiry {
    const NAME: &'static str = "listing_expiry";
    type Id = VehicleId;
    type Error = StoreError;

    async fn due(
        session: &mut dyn Session,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(BusinessId, VehicleId)>, StoreError> {
        let due = session.due_expiries(now, limit).await?;
        Ok(due
            .into_iter()
            .map(|DueExpiry { business, vehicle }| (business, vehicle))
            .collect())
    }

    async fn perform(
        &self,
        session: &mut dyn Session,
        clock: &dyn Clock,
        business: BusinessId,
        vehicle: VehicleId,
    ) -> Result<(), StoreError> {
        remove_expired(session, clock.now(), DueExpiry { business, vehicle }).await
    }
}

/// Makes the listings of businesses again.
#[derive(Clone)]
pub(super) struct Listings {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
}

impl Listings {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports { database, clock, .. } = ports.clone();
        Self { database, clock }
    }

    /// Continues with the listings of a business; returns `false` if nothing is left to be done, or another server does it.
    async fn go_on(&self, business: BusinessId) -> Result<bool, StoreError> {
        transact(&*self.database, async |session| {
            let (Some(build), Some(business)) =
                (session.lock_build(business).await?, session.business(business).await?)
            else {
                return Ok(false);
            };
            let now = self.clock.now();
            // Listings made before every server knows of the change are made once more afterwards.
            let of = if is_settled(&business, now) {
                business.updated
            } else {
                UNSETTLED
            };
            let below = match build.below {
                Some(below) if build.of == of => below,
                None if build.of == of => return Ok(false),
                _ => VehicleId::new(i64::MAX),
            };
            let filter = VehicleFilter {
                channel: Some(WEBSITE.to_owned()),
                ..VehicleFilter::default()
            };
            let request = PageRequest {
                position: Position::After(Cursor::at([below.get()])),
                per_page: VEHICLES_AT_ONCE,
            };
            let page = session.vehicles(business.id, &filter, &request).await?;
            for vehicle in page.items {
                // Locked, so that it does not change until its listing is written.
                if let Some(vehicle) = session.lock_vehicle(business.id, vehicle.id).await? {
                    follow(session, &business, &vehicle, now).await?;
                }
            }
            let below = page.next.map(|cursor| VehicleId::new(cursor.id()));
            session.save_build(business.id, Build { of, below }).await?;
            Ok(below.is_some())
        })
        .await
    }
}

impl Job for Listings {
    const NAME: &'static str = "listings";
    const REST: Duration = Duration::from_secs(5);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let settled = self.clock.now().plus_seconds(-SETTLED_AFTER);
        let due = transact(&*self.database, async |session| {
            session.due_builds(settled, BUSINESSES_AT_ONCE).await
        })
        .await?;
        let more = due.len() >= BUSINESSES_AT_ONCE as usize;
        for business in due {
            while self.go_on(business).await? {
                if shutdown.is_requested() {
                    return Ok(Round::Done);
                }
            }
        }
        Ok(if more { Round::More } else { Round::Done })
    }
}
