//! Holds and releases what would leave the servers.

use std::collections::BTreeMap;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use forecourt_kernel::{StoreResult, Timestamp};
use forecourt_webhooks::DeliveryStatus;

use super::meta::{self, OUTGOING};
use super::{Conn, Engine};
use crate::models::status_code;
use crate::outgoing::{Discarded, Outgoing};
use crate::schema::{forecourt_meta, mails, webhook_deliveries, webhook_queues};
use crate::statement::{RunQueryDsl, for_update};

/// The number of deliveries or mails that one transaction drops.
const DISCARDED_AT_ONCE: i64 = 500;
/// The error of deliveries that were dropped.
const DISCARDED: &str = "discarded after a restore";

impl Engine {
    /// Returns the position of the switch.
    pub(crate) async fn outgoing(&self) -> StoreResult<Outgoing> {
        let stored = meta::find(&mut *self.read().await?, OUTGOING).await?;
        Ok(Outgoing::from_stored(stored.as_deref()))
    }

    /// Moves the switch, and returns its position. Nothing changes if it is in that position already. The time for which mails
    /// were held does not count towards the time that they may wait.
    pub(crate) async fn set_outgoing(&self, is_held: bool, now: Timestamp) -> StoreResult<Outgoing> {
        let mut session = self.begin().await?;
        let stored = forecourt_meta::table.find(OUTGOING).select(forecourt_meta::value);
        let stored: Option<String> = for_update(stored).get_optional(&mut *session).await?;
        let before = Outgoing::from_stored(stored.as_deref());
        if before.is_held == is_held {
            return Ok(before);
        }
        let after = Outgoing {
            is_held,
            since: Some(now),
        };
        meta::set(&mut session, OUTGOING, after.stored()).await?;
        if !is_held {
            let since = before.since.unwrap_or(now).epoch_seconds();
            let now = now.epoch_seconds();
            let shifted = sql::<Nullable<BigInt>>("CASE WHEN queued < ")
                .bind::<BigInt, _>(since)
                .sql(" THEN queued + ")
                .bind::<BigInt, _>(now - since)
                .sql(" ELSE ")
                .bind::<BigInt, _>(now)
                .sql(" END");
            diesel::update(mails::table.filter(mails::queued.le(now)))
                .set(mails::queued.eq(shifted))
                .execute(&mut *session)
                .await?;
        }
        session.commit().await?;
        self.state().note_outgoing(after.is_held);
        Ok(after)
    }

    /// Drops some of what waits to leave; returns the numbers, both 0 if nothing waits any longer.
    pub(crate) async fn discard_waiting(&self) -> StoreResult<Discarded> {
        let mut session = self.begin().await?;
        let mut deliveries = discard_leased(&mut session).await?;
        if deliveries == 0 {
            deliveries = discard_queued(&mut session).await?;
        }
        let waiting: Vec<i64> = mails::table
            .order(mails::id)
            .limit(DISCARDED_AT_ONCE)
            .select(mails::id)
            .load(&mut *session)
            .await?;
        let dropped = diesel::delete(mails::table.filter(mails::id.eq_any(waiting)))
            .execute(&mut *session)
            .await?;
        session.commit().await?;
        Ok(Discarded {
            deliveries,
            mails: u64::try_from(dropped).unwrap_or_default(),
        })
    }
}

/// Fails deliveries that a server holds, or held when the copy was made.
async fn discard_leased(conn: &mut Conn) -> StoreResult<u64> {
    let leased = webhook_deliveries::table
        .filter(webhook_deliveries::lease.is_not_null())
        .order((webhook_deliveries::business_id, webhook_deliveries::id))
        .limit(DISCARDED_AT_ONCE)
        .select((webhook_deliveries::business_id, webhook_deliveries::id));
    let leased: Vec<(i64, i64)> = leased.load(conn).await?;
    fail(conn, leased).await
}

/// Fails deliveries of the first queue that has any.
async fn discard_queued(conn: &mut Conn) -> StoreResult<u64> {
    let queues: Vec<(i64, i64)> = webhook_queues::table
        .order((webhook_queues::business_id, webhook_queues::webhook_id))
        .select((webhook_queues::business_id, webhook_queues::webhook_id))
        .load(conn)
        .await?;
    for (business, webhook) in queues {
        let waiting = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business))
            .filter(webhook_deliveries::webhook_id.eq(webhook))
            .filter(webhook_deliveries::due.is_not_null())
            .order(webhook_deliveries::id)
            .limit(DISCARDED_AT_ONCE)
            .select((webhook_deliveries::business_id, webhook_deliveries::id));
        let waiting: Vec<(i64, i64)> = waiting.load(conn).await?;
        if !waiting.is_empty() {
            return fail(conn, waiting).await;
        }
    }
    Ok(0)
}

async fn fail(conn: &mut Conn, deliveries: Vec<(i64, i64)>) -> StoreResult<u64> {
    let mut by_business: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (business, id) in deliveries {
        by_business.entry(business).or_default().push(id);
    }
    let mut failed = 0;
    for (business, ids) in by_business {
        let of_business = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business))
            .filter(webhook_deliveries::id.eq_any(ids));
        failed += diesel::update(of_business)
            .set((
                webhook_deliveries::status.eq(status_code(DeliveryStatus::Failed)),
                webhook_deliveries::due.eq(None::<i64>),
                webhook_deliveries::lease.eq(None::<i64>),
                webhook_deliveries::settling.eq(None::<String>),
                webhook_deliveries::next_attempt_at.eq(None::<i64>),
                webhook_deliveries::error.eq(Some(DISCARDED)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(u64::try_from(failed).unwrap_or_default())
}
