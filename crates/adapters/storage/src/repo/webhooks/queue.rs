//! The queue of deliveries.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use diesel::dsl::{exists, min, not, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, DeliveryId, Moment, StoreResult, Timestamp, WebhookId};
use forecourt_webhooks::{
    AttemptRecord, ClaimedDeliveries, DeliveryQueue, DeliveryStatus, DueDelivery, EndpointKey, EndpointState, Health,
    LastStatus, Next, Room, Topic,
};

use super::super::accounts::business;
use super::super::people::OF_VEHICLE_JOBS;
use super::super::session::{Session, Write};
use super::super::{Conn, deliveries, dialect};
use super::endpoint::{business_tag, earliest, open_endpoint};
use super::history;
use crate::models::{AttemptRow, AttemptValues, DueRow, EndpointRow, status_code};
use crate::schema::{businesses, events, webhook_deliveries, webhook_queues, webhooks};
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update, share_unlocked, skip_locked};

pub(in super::super) const PENDING: i32 = status_code(DeliveryStatus::Pending);
/// The condition of the index of deletions on its events, word for word.
const DELETIONS: &str = "events.name IN ('contact.deleted', 'lead.deleted', 'vehicle.deleted')";

/// Returns the condition of an index that finds the deletions of a kind of record, word for word.
fn deletions_of(resource: &str) -> &'static str {
    match resource {
        "vehicle_job" => OF_VEHICLE_JOBS,
        _ => DELETIONS,
    }
}

#[async_trait]
impl DeliveryQueue for Session<Write> {
    async fn due_endpoints(&mut self, now: Moment, limit: u32) -> StoreResult<Vec<EndpointKey>> {
        let due: Vec<(i64, i64)> = webhook_queues::table
            .filter(webhook_queues::next_due.assume_not_null().le(now.epoch_millis()))
            .order(webhook_queues::next_due)
            .limit(limit.into())
            .select((webhook_queues::business_id, webhook_queues::webhook_id))
            .load(self.conn().await?)
            .await?;
        Ok(due.into_iter().map(key).collect())
    }

    async fn next_due(&mut self) -> StoreResult<Option<Moment>> {
        let next: Option<Option<i64>> = webhook_queues::table
            .filter(webhook_queues::next_due.is_not_null())
            .order(webhook_queues::next_due)
            .limit(1)
            .select(webhook_queues::next_due)
            .get_optional(self.conn().await?)
            .await?;
        Ok(next.flatten().map(Moment::from_epoch_millis))
    }

    async fn take_due(
        &mut self,
        endpoint: EndpointKey,
        now: Moment,
        lease: Moment,
        room: Room,
        again: Moment,
    ) -> StoreResult<ClaimedDeliveries> {
        let EndpointKey { business, webhook } = endpoint;
        let limit = room.deliveries;
        deliveries::look_up_by_key(self.conn().await?);
        // Locked first: a transaction that adds deliveries meanwhile waits, and notes them afterwards.
        let queue = webhook_queues::table.find((business.get(), webhook.get()));
        let active: Option<bool> = for_no_key_update(queue.select(webhook_queues::active))
            .get_optional(self.conn().await?)
            .await?;
        let Some(active) = active else {
            return Ok(ClaimedDeliveries::default());
        };
        let due = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business.get()))
            .filter(webhook_deliveries::webhook_id.eq(webhook.get()))
            .filter(webhook_deliveries::due.assume_not_null().le(now.epoch_millis()));
        let rows: Vec<DueRow> = if active {
            let due = due
                .order((webhook_deliveries::due, webhook_deliveries::id))
                .limit(limit.into())
                .select(DueRow::as_select());
            skip_locked(due).load(self.conn().await?).await
        } else {
            let due = due
                .filter(webhook_deliveries::topic.eq(Topic::Ping.as_str()))
                .order((webhook_deliveries::due, webhook_deliveries::id))
                .limit(limit.into())
                .select(DueRow::as_select());
            skip_locked(due).load(self.conn().await?).await
        }?;
        let full = rows.len() >= limit as usize;
        let (rows, cut) = self.sendable(business, rows, room.bytes).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        if !ids.is_empty() {
            deliveries::lease(self.conn().await?, business.get(), ids, lease.epoch_millis()).await?;
        }
        let next = earliest(self.conn().await?, endpoint, active).await?;
        let next = next.map(|due| {
            if due <= now.epoch_millis() {
                again.epoch_millis()
            } else {
                due
            }
        });
        diesel::update(queue)
            .set(webhook_queues::next_due.eq(next))
            .prepared()
            .execute(self.conn().await?)
            .await?;
        Ok(ClaimedDeliveries {
            deliveries: self.with_data(business, rows, lease).await?,
            more: full || cut,
        })
    }

    async fn give_back(&mut self, endpoint: EndpointKey, deliveries: &[DeliveryId], due: Moment) -> StoreResult<()> {
        let ids: Vec<i64> = deliveries.iter().map(|id| id.get()).collect();
        let held = lock_deliveries(self.conn().await?, endpoint.business, ids).await?;
        deliveries::give_back(self.conn().await?, endpoint.business.get(), held, due.epoch_millis()).await?;
        self.summary().queued.push((endpoint, due));
        Ok(())
    }

    async fn reclaim(&mut self, now: Moment, limit: u32) -> StoreResult<u32> {
        let over = webhook_deliveries::table
            .filter(webhook_deliveries::lease.assume_not_null().le(now.epoch_millis()))
            .order(webhook_deliveries::lease)
            .limit(limit.into())
            .select((
                webhook_deliveries::business_id,
                webhook_deliveries::webhook_id,
                webhook_deliveries::id,
            ));
        let over: Vec<(i64, i64, i64)> = skip_locked(over).load(self.conn().await?).await?;
        let mut by_endpoint: BTreeMap<EndpointKey, Vec<DeliveryId>> = BTreeMap::new();
        for &(business, webhook, delivery) in &over {
            let held = by_endpoint.entry(key((business, webhook))).or_default();
            held.push(DeliveryId::new(delivery));
        }
        for (endpoint, deliveries) in by_endpoint {
            self.give_back(endpoint, &deliveries, now).await?;
        }
        Ok(u32::try_from(over.len()).unwrap_or(limit))
    }

    async fn endpoint(&mut self, endpoint: EndpointKey) -> StoreResult<EndpointState> {
        let row: Option<EndpointRow> = webhooks::table
            .find((endpoint.business.get(), endpoint.webhook.get()))
            .filter(webhooks::deleted.is_null())
            .select(EndpointRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        let tag = business_tag(self.conn().await?, endpoint.business).await?;
        match row.zip(tag) {
            Some((row, tag)) => open_endpoint(&self.dependencies, row, tag),
            None => Ok(EndpointState::Deleted),
        }
    }

    async fn save_attempts(&mut self, attempts: &[AttemptRecord]) -> StoreResult<()> {
        let mut rows: Vec<AttemptRow> = attempts.iter().map(attempt_row).collect();
        // In one order, as every transaction locks them.
        rows.sort_unstable_by_key(|row| (row.business_id, row.id));
        while !rows.is_empty() {
            let rest = rows.split_off(rows.len().min(dialect::ROWS_AT_ONCE));
            let again = deliveries::save(self.conn().await?, rows).await?;
            let queued = again.into_iter().map(|queue| {
                let endpoint = key((queue.business_id, queue.webhook_id));
                (endpoint, Moment::from_epoch_millis(queue.due))
            });
            self.summary().queued.extend(queued);
            rows = rest;
        }
        Ok(())
    }

    async fn owner(&mut self, id: BusinessId) -> StoreResult<Option<Business>> {
        business(self.conn().await?, id).await
    }

    async fn lock_health(&mut self, endpoint: EndpointKey) -> StoreResult<Option<Health>> {
        type Stored = (String, bool, i32, Option<String>, Option<i64>);
        let query = webhooks::table
            .find((endpoint.business.get(), endpoint.webhook.get()))
            .filter(webhooks::deleted.is_null())
            .select((
                webhooks::url,
                webhooks::active,
                webhooks::failure_count,
                webhooks::last_status,
                webhooks::last_delivery_at,
            ));
        let stored: Option<Stored> = for_no_key_update(query).get_optional(self.conn().await?).await?;
        let Some((url, active, failure_count, last_status, last_delivery_at)) = stored else {
            return Ok(None);
        };
        Ok(Some(Health {
            endpoint,
            url,
            active,
            failure_count: u32::try_from(failure_count).unwrap_or_default(),
            last_status: last_status.as_deref().and_then(LastStatus::from_name),
            last_delivery_at: last_delivery_at.map(Timestamp::from_epoch_seconds),
        }))
    }

    async fn save_health(&mut self, health: &Health, now: Timestamp) -> StoreResult<()> {
        let EndpointKey { business, webhook } = health.endpoint;
        let row = webhooks::table.find((business.get(), webhook.get()));
        diesel::update(row)
            .set((
                webhooks::failure_count.eq(i32::try_from(health.failure_count).unwrap_or(i32::MAX)),
                webhooks::last_status.eq(health.last_status.map(LastStatus::as_str)),
                webhooks::last_delivery_at.eq(health.last_delivery_at.map(Timestamp::epoch_seconds)),
            ))
            .prepared()
            .execute(self.conn().await?)
            .await?;
        if health.active {
            return Ok(());
        }
        let disabled = diesel::update(row.filter(webhooks::active.eq(true)))
            .set((
                webhooks::active.eq(false),
                webhooks::updated.eq(now.epoch_seconds()),
                webhooks::version.eq(webhooks::version + 1),
            ))
            .execute(self.conn().await?)
            .await?;
        if disabled > 0 {
            self.subscribers_changed(health.endpoint).await?;
            self.open_queue(health.endpoint, false).await?;
        }
        Ok(())
    }

    async fn purge_deliveries(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let dropped = self.drop_deliveries(before.epoch_seconds(), limit.into()).await?;
        Ok(u32::try_from(dropped).unwrap_or(limit))
    }

    async fn purge_webhooks(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let dropped = self.drop_webhooks(before.epoch_seconds(), limit.into()).await?;
        Ok(u32::try_from(dropped).unwrap_or(limit))
    }

    async fn purge_events(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let dropped = self.drop_events(before.epoch_seconds(), limit.into()).await?;
        Ok(u32::try_from(dropped).unwrap_or(limit))
    }
}

/// An event in short, before its delivery is taken and locked: its number, its record, the bytes of its data.
type Glimpse = (i64, i64, i64);

impl Session<Write> {
    /// Returns the first of these rows whose data fit into `bytes`, at least one, and `true` if any were left out. Updates of
    /// records that have been deleted since are dropped. A row whose event another transaction is changing is left out too: that
    /// one may be erasing a person from it, and is not waited for.
    async fn sendable(
        &mut self,
        business: BusinessId,
        mut rows: Vec<DueRow>,
        bytes: usize,
    ) -> StoreResult<(Vec<DueRow>, bool)> {
        let sequences: Vec<i64> = rows.iter().filter_map(|row| row.sequence).collect();
        if sequences.is_empty() {
            return Ok((rows, false));
        }
        let wanted = || {
            events::table
                .filter(events::business_id.eq(business.get()))
                .filter(events::sequence.eq_any(sequences.clone()))
        };
        let glimpses = wanted().select((
            events::sequence,
            events::record,
            sql::<BigInt>("CAST(octet_length(events.data) AS BIGINT)"),
        ));
        // A transaction that erases data from them either came first, or learns which endpoints got it.
        let glimpses: Vec<Glimpse> = share_unlocked(glimpses).load(self.conn().await?).await?;
        let events: HashMap<i64, (i64, i64)> = glimpses
            .into_iter()
            .map(|(sequence, record, bytes)| (sequence, (record, bytes)))
            .collect();
        let mut cut = false;
        if sequences.iter().any(|sequence| !events.contains_key(sequence)) {
            let recorded: Vec<i64> = wanted().select(events::sequence).load(self.conn().await?).await?;
            let is_locked = |row: &DueRow| {
                row.sequence
                    .is_some_and(|sequence| recorded.contains(&sequence) && !events.contains_key(&sequence))
            };
            cut = rows.iter().any(is_locked);
            rows.retain(|row| !is_locked(row));
        }
        let event = |row: &DueRow| row.sequence.and_then(|sequence| events.get(&sequence));
        let rows = self.drop_superseded(business, rows, |row| event(row).map(|(record, _)| *record));
        let mut rows = rows.await?;
        let mut left = i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut fit = 0;
        for row in &rows {
            left -= event(row).map_or(0, |(_, bytes)| *bytes);
            if left < 0 && fit > 0 {
                break;
            }
            fit += 1;
        }
        cut |= fit < rows.len();
        rows.truncate(fit);
        Ok((rows, cut))
    }

    /// Drops updates of records that have been deleted since, and returns the other deliveries. A dropped one that was tried
    /// stays in the history. One that was queued again after the deletion is kept: it was requested.
    async fn drop_superseded(
        &mut self,
        business: BusinessId,
        rows: Vec<DueRow>,
        record: impl Fn(&DueRow) -> Option<i64>,
    ) -> StoreResult<Vec<DueRow>> {
        let mut updated: BTreeMap<&'static str, Vec<i64>> = BTreeMap::new();
        for row in &rows {
            let topic = row.topic()?;
            if let (true, Some(resource), Some(record)) = (topic.settles(), topic.resource(), record(row)) {
                updated.entry(resource).or_default().push(record);
            }
        }
        let mut deleted: HashMap<(&'static str, i64), i64> = HashMap::new();
        for (resource, records) in updated {
            let deletions: Vec<(i64, i64)> = events::table
                .filter(events::business_id.eq(business.get()))
                .filter(events::name.eq(format!("{resource}.deleted")))
                .filter(sql::<Bool>(deletions_of(resource)))
                .filter(events::record.eq_any(records))
                .select((events::record, events::created))
                .load(self.conn().await?)
                .await?;
            deleted.extend(deletions.into_iter().map(|(record, at)| ((resource, record), at)));
        }
        if deleted.is_empty() {
            return Ok(rows);
        }
        let is_superseded = |row: &DueRow| {
            let topic = row.topic().ok()?;
            let at = deleted.get(&(topic.resource()?, record(row)?))?;
            Some(topic.settles() && (row.settle_by.is_some() || row.created < *at))
        };
        let (dropped, rows): (Vec<DueRow>, Vec<DueRow>) =
            rows.into_iter().partition(|row| is_superseded(row).unwrap_or(false));
        let ids = |tried: bool| {
            let of_them = dropped.iter().filter(move |row| (row.attempts > 0) == tried);
            of_them.map(|row| row.id).collect::<Vec<_>>()
        };
        diesel::delete(of(business, ids(false)))
            .execute(self.conn().await?)
            .await?;
        diesel::update(of(business, ids(true)))
            .set((
                webhook_deliveries::status.eq(status_code(DeliveryStatus::Failed)),
                webhook_deliveries::due.eq(None::<i64>),
                webhook_deliveries::next_attempt_at.eq(None::<i64>),
                webhook_deliveries::error.eq(Some("the record was deleted")),
            ))
            .execute(self.conn().await?)
            .await?;
        Ok(rows)
    }

    /// Returns the deliveries of these rows with their events' data.
    async fn with_data(
        &mut self,
        business: BusinessId,
        rows: Vec<DueRow>,
        lease: Moment,
    ) -> StoreResult<Vec<DueDelivery>> {
        let sequences: Vec<i64> = rows.iter().filter_map(|row| row.sequence).collect();
        let recorded: Vec<(i64, (String, i64, i64))> = if sequences.is_empty() {
            Vec::new()
        } else {
            let query = events::table
                .filter(events::business_id.eq(business.get()))
                .filter(events::sequence.eq_any(sequences))
                .select((events::sequence, (events::data, events::record, events::created)));
            query.load(self.conn().await?).await?
        };
        let recorded: HashMap<i64, (Arc<str>, i64, i64)> = recorded
            .into_iter()
            .map(|(sequence, (data, record, created))| (sequence, (data.into(), record, created)))
            .collect();
        let due = |row: DueRow| {
            let event = row.sequence.and_then(|sequence| recorded.get(&sequence));
            let happened = event
                .map(|(_, _, created)| *created)
                .or(row.pinged)
                .unwrap_or(row.created);
            Ok(DueDelivery {
                id: DeliveryId::new(row.id),
                topic: row.topic()?,
                record: event.map(|(_, record, _)| *record),
                data: event.map(|(data, _, _)| Arc::clone(data)),
                happened: Timestamp::from_epoch_seconds(happened),
                attempts: u32::try_from(row.attempts).unwrap_or_default(),
                first_attempt: row.first_attempt(),
                event_id: row.event_id,
                lease,
            })
        };
        rows.into_iter().map(due).collect()
    }

    /// Drops deliveries from before `old` that have ended; returns their number.
    async fn drop_deliveries(&mut self, old: i64, limit: i64) -> StoreResult<usize> {
        let oldest = webhook_deliveries::table
            .filter(webhook_deliveries::created.lt(old))
            .filter(webhook_deliveries::status.ne(PENDING))
            .order(webhook_deliveries::created)
            .limit(limit)
            .select((webhook_deliveries::business_id, webhook_deliveries::id));
        let oldest: Vec<(i64, i64)> = skip_locked(oldest).load(self.conn().await?).await?;
        let mut by_business: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for &(business, delivery) in &oldest {
            by_business.entry(business).or_default().push(delivery);
        }
        for (business, ids) in by_business {
            for ids in ids.chunks(dialect::ROWS_AT_ONCE) {
                let forgotten = webhook_deliveries::table
                    .filter(webhook_deliveries::business_id.eq(business))
                    .filter(webhook_deliveries::id.eq_any(ids));
                diesel::delete(forgotten).execute(self.conn().await?).await?;
            }
        }
        Ok(oldest.len())
    }

    /// Returns the number of the first event of the business that a delivery to an active subscription waits with. A disabled
    /// subscription's deliveries wait without end, and must not hold back the whole log.
    async fn first_awaited(&mut self, business: i64) -> StoreResult<Option<i64>> {
        webhook_deliveries::table
            .inner_join(
                webhooks::table.on(webhooks::business_id
                    .eq(webhook_deliveries::business_id)
                    .and(webhooks::id.eq(webhook_deliveries::webhook_id))),
            )
            .filter(webhook_deliveries::business_id.eq(business))
            .filter(webhook_deliveries::status.eq(PENDING))
            .filter(webhooks::active.eq(true))
            .select(min(webhook_deliveries::sequence))
            .get_result(self.conn().await?)
            .await
    }

    /// Drops the remains of subscriptions that were deleted before `old` and have no history left; returns their number.
    async fn drop_webhooks(&mut self, old: i64, limit: i64) -> StoreResult<usize> {
        let history = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(webhooks::business_id))
            .filter(webhook_deliveries::webhook_id.eq(webhooks::id))
            .select(webhook_deliveries::id);
        let remains = webhooks::table
            .filter(webhooks::deleted.assume_not_null().lt(old))
            .filter(not(exists(history)))
            .order(webhooks::deleted)
            .limit(limit)
            .select((webhooks::business_id, webhooks::id));
        let remains: Vec<(i64, i64)> = skip_locked(remains).load(self.conn().await?).await?;
        for &webhook in &remains {
            diesel::delete(webhooks::table.find(webhook))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(remains.len())
    }

    /// Drops events from before `old` that no delivery waits with; returns their number.
    async fn drop_events(&mut self, old: i64, limit: i64) -> StoreResult<usize> {
        let all: Vec<i64> = businesses::table
            .select(businesses::id)
            .load(self.conn().await?)
            .await?;
        let mut left = limit;
        for business in all {
            if left == 0 {
                break;
            }
            // The first events are the oldest, and most businesses have none so old. An event that was stamped by a fast clock
            // keeps the events after it for that much longer.
            let oldest = history::first_behind(self.conn().await?, business, 0).await?;
            if oldest.is_none_or(|(_, created)| created >= old) {
                continue;
            }
            let first = events::table
                .filter(events::business_id.eq(business))
                .order(events::sequence)
                .limit(left)
                .select((events::sequence, events::created));
            let first: Vec<(i64, i64)> = skip_locked(first).load(self.conn().await?).await?;
            // Up to the first one that another transaction has locked, which leaves a gap: the log begins at one place.
            let Some(&(start, _)) = first
                .first()
                .filter(|(start, _)| oldest.is_some_and(|(oldest, _)| oldest == *start))
            else {
                continue;
            };
            let awaited = self.first_awaited(business).await?;
            let is_over =
                |(sequence, created): &(i64, i64)| *created < old && awaited.is_none_or(|awaited| *sequence < awaited);
            let adjoining = (start..)
                .zip(&first)
                .take_while(|(number, (sequence, _))| number == sequence);
            if let Some((last, _)) = adjoining
                .map(|(_, event)| event)
                .take_while(|event| is_over(event))
                .last()
            {
                let oldest = events::table
                    .filter(events::business_id.eq(business))
                    .filter(events::sequence.le(last));
                let forgotten = diesel::delete(oldest).execute(self.conn().await?).await?;
                left -= i64::try_from(forgotten).unwrap_or(left).min(left);
            }
        }
        Ok(usize::try_from(limit - left).unwrap_or_default())
    }
}

fn key((business, webhook): (i64, i64)) -> EndpointKey {
    EndpointKey {
        business: BusinessId::new(business),
        webhook: WebhookId::new(webhook),
    }
}

/// A business's deliveries with these ids. Those that are due or leased are pending. A condition on the status would make the
/// plan depend on the number that were pending when statistics were gathered.
#[diesel::dsl::auto_type(no_type_alias)]
fn of(business: BusinessId, ids: Vec<i64>) -> _ {
    let business: i64 = business.get();
    webhook_deliveries::table
        .filter(webhook_deliveries::business_id.eq(business))
        .filter(webhook_deliveries::id.eq_any(ids))
}

/// Locks deliveries in the order of their ids; returns the leased ones.
async fn lock_deliveries(conn: &mut Conn, business: BusinessId, ids: Vec<i64>) -> StoreResult<Vec<i64>> {
    deliveries::look_up_by_key(conn);
    let rows = of(business, ids)
        .order((webhook_deliveries::business_id, webhook_deliveries::id))
        .select((webhook_deliveries::id, webhook_deliveries::lease));
    let rows: Vec<(i64, Option<i64>)> = for_no_key_update(rows).load(conn).await?;
    let leased = rows.into_iter().filter(|(_, lease)| lease.is_some());
    Ok(leased.map(|(id, _)| id).collect())
}

/// Locks the deliveries of these events that are under way or were answered, in the order of their ids.
pub(in super::super) async fn lock_deliveries_of(
    conn: &mut Conn,
    business: BusinessId,
    events: &[i64],
) -> StoreResult<()> {
    macro_rules! ids {
        ($column:ident) => {
            webhook_deliveries::table
                .filter(webhook_deliveries::business_id.eq(business.get()))
                .filter(webhook_deliveries::sequence.is_not_null())
                .filter(webhook_deliveries::sequence.eq_any(events.to_vec()))
                .filter(webhook_deliveries::$column.is_not_null())
                .select(webhook_deliveries::id)
                .load(conn)
                .await?
        };
    }
    let mut ids: Vec<i64> = ids!(lease);
    let answered: Vec<i64> = ids!(response_body);
    ids.extend(answered);
    lock_deliveries(conn, business, ids).await.map(drop)
}

fn attempt_row(attempt: &AttemptRecord) -> AttemptRow {
    AttemptRow {
        business_id: attempt.endpoint.business.get(),
        id: attempt.delivery.get(),
        values: attempt_values(attempt),
    }
}

fn attempt_values(attempt: &AttemptRecord) -> AttemptValues {
    // A text of PostgreSQL's cannot hold a NUL.
    let text = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', "\u{fffd}"));
    let (due, delivered_at) = match attempt.next {
        Next::Delivered => (None, Some(attempt.ended.timestamp().epoch_seconds())),
        Next::Retry(due) => (Some(due), None),
        Next::Failed => (None, None),
    };
    AttemptValues {
        status: status_code(attempt.next.status()),
        due: due.map(Moment::epoch_millis),
        lease: None,
        attempts: i32::try_from(attempt.attempts).unwrap_or(i32::MAX),
        first_attempt: Some(attempt.first_attempt.epoch_millis()),
        next_attempt_at: due.map(|due| due.timestamp().epoch_seconds()),
        response_code: attempt.response_code.map(i32::from),
        response_ms: Some(i32::try_from(attempt.response_ms).unwrap_or(i32::MAX)),
        response_body: text(&attempt.response_body),
        error: text(&attempt.error),
        delivered_at,
    }
}
