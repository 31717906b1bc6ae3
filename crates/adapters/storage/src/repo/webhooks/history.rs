//! Reads: subscriptions, the histories of their deliveries, and the event log.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_kernel::{
    BusinessId, DeliveryId, Event, EventName, EventSequence, Page, PageRequest, Position, Range, StoreResult,
    Timestamp, WebhookId,
};
use forecourt_webhooks::{
    Delivery, DeliveryFilter, DeliveryStatus, EventFilter, EventHead, LogExtent, LogPage, Webhook, WebhookReader,
};

use super::super::events::are_stamps_unordered;
use super::super::events::latest;
use super::super::page::page_of;
use super::super::session::{Mode, Session};
use super::super::size::{octet_length, within_bytes};
use super::super::{Conn, Db};
use crate::error::other;
use crate::models::{DeliveryRow, LoggedRow, WebhookRow, status_code};
use crate::schema::{events, webhook_deliveries, webhooks};
use crate::statement::{MayScan as _, RunQueryDsl};

/// The error of deliveries that were pending when their subscription was deleted.
pub(super) const WEBHOOK_DELETED: &str = "the webhook was deleted";

/// The number of events of the log that one page looks through.
const LOOKED_AT: i64 = 2048;

/// The number of events that are read in next to no time.
const INLINE_SCAN_EVENTS: i64 = 128;

#[async_trait]
impl<M: Mode> WebhookReader for Session<M> {
    async fn webhook(&mut self, business: BusinessId, id: WebhookId) -> StoreResult<Option<Webhook>> {
        super::webhook(self.conn().await?, business, id).await
    }

    async fn webhooks(&mut self, business: BusinessId, page: &PageRequest) -> StoreResult<Page<Webhook>> {
        webhooks(self.conn().await?, business, page).await
    }

    async fn deliveries(
        &mut self,
        business: BusinessId,
        webhook: WebhookId,
        filter: &DeliveryFilter,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<Delivery>>> {
        let Some(deleted) = is_deleted(self.conn().await?, business, webhook).await? else {
            return Ok(None);
        };
        deliveries(self, business, webhook, deleted, filter, page)
            .await
            .map(Some)
    }

    async fn events(
        &mut self,
        business: BusinessId,
        filter: &EventFilter,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<LogPage> {
        log(self, business, filter, after, limit).await
    }

    async fn event_heads(
        &mut self,
        business: BusinessId,
        after: EventSequence,
        limit: u32,
    ) -> StoreResult<Vec<EventHead>> {
        let rows: Vec<(i64, String, i64, i64)> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.gt(after.0))
            .order(events::sequence)
            .limit(limit.into())
            .select((events::sequence, events::name, events::record, events::created))
            .load(self.flushed_conn().await?)
            .await?;
        let head = |(sequence, name, record, created): (i64, String, i64, i64)| {
            Ok(EventHead {
                sequence: EventSequence(sequence),
                name: name.parse().map_err(other)?,
                record,
                at: Timestamp::from_epoch_seconds(created),
            })
        };
        rows.into_iter().map(head).collect()
    }

    async fn latest_event(&mut self, business: BusinessId) -> StoreResult<EventSequence> {
        latest(self.flushed_conn().await?, business).await
    }

    async fn log_extent(&mut self, business: BusinessId) -> StoreResult<LogExtent> {
        let conn = self.flushed_conn().await?;
        let oldest = first_behind(conn, business.get(), 0).await?;
        // In this order: the events that were read before are no later.
        let latest = latest(conn, business).await?;
        let next = latest.0.saturating_add(1);
        Ok(LogExtent {
            oldest: EventSequence(oldest.map_or(next, |(sequence, _)| sequence)),
            latest,
        })
    }
}

async fn webhooks(conn: &mut Conn, business: BusinessId, request: &PageRequest) -> StoreResult<Page<Webhook>> {
    let all = || {
        webhooks::table
            .filter(webhooks::business_id.eq(business.get()))
            .filter(webhooks::deleted.is_null())
            .into_boxed::<Db>()
    };
    let order = (webhooks::business_id.desc(), webhooks::id.desc());
    let page = page_of!(conn, request, WebhookRow, all, webhooks::id, order, false);
    page.try_map(Webhook::try_from)
}

/// Returns `true` if the business has deleted the subscription, `false` if not, and `None` if it never had it.
async fn is_deleted(conn: &mut Conn, business: BusinessId, webhook: WebhookId) -> StoreResult<Option<bool>> {
    webhooks::table
        .find((business.get(), webhook.get()))
        .select(webhooks::deleted.is_not_null())
        .get_optional::<bool>(conn)
        .await
}

async fn deliveries(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    webhook: WebhookId,
    deleted: bool,
    filter: &DeliveryFilter,
    request: &PageRequest,
) -> StoreResult<Page<Delivery>> {
    // A history has up to 30 days of events.
    let may_scan = matches!(request.position, Position::Number(_)) || *filter != DeliveryFilter::default();
    let conn = session.flushed_conn().await?;
    // A deleted subscription has no pending delivery, though it may take a while to write that down.
    let statuses = match filter.status {
        Some(DeliveryStatus::Pending) if deleted => Some(Vec::new()),
        Some(DeliveryStatus::Failed) if deleted => Some(vec![
            status_code(DeliveryStatus::Pending),
            status_code(DeliveryStatus::Failed),
        ]),
        _ => None,
    };
    let all = || {
        let mut all = webhook_deliveries::table
            .filter(webhook_deliveries::business_id.eq(business.get()))
            .filter(webhook_deliveries::webhook_id.eq(webhook.get()))
            .into_boxed::<Db>();
        if let Some(topic) = filter.topic {
            all = all.filter(webhook_deliveries::topic.eq(topic.as_str()));
        }
        if let Some(statuses) = statuses.clone() {
            all = all.filter(webhook_deliveries::status.eq_any(statuses));
        } else if let Some(status) = filter.status {
            all = all.filter(webhook_deliveries::status.eq(status_code(status)));
        }
        all
    };
    let order = webhook_deliveries::id.desc();
    let page = page_of!(conn, request, DeliveryRow, all, webhook_deliveries::id, order, may_scan);
    page.try_map(|row| {
        let mut delivery = Delivery::try_from(row)?;
        if deleted && delivery.status == DeliveryStatus::Pending {
            delivery.status = DeliveryStatus::Failed;
            delivery.next_attempt_at = None;
            delivery.error = Some(WEBHOOK_DELETED.to_owned());
        }
        Ok(delivery)
    })
}

/// Returns one of a subscription's deliveries, unless its event is no longer kept.
pub(super) async fn delivery(
    conn: &mut Conn,
    business: BusinessId,
    webhook: WebhookId,
    id: DeliveryId,
) -> StoreResult<Option<Delivery>> {
    let found: Option<(DeliveryRow, Option<i64>)> = webhook_deliveries::table
        .find((business.get(), id.get()))
        .filter(webhook_deliveries::webhook_id.eq(webhook.get()))
        .select((DeliveryRow::as_select(), webhook_deliveries::sequence))
        .get_optional(conn)
        .await?;
    let Some((row, sequence)) = found else {
        return Ok(None);
    };
    if let Some(sequence) = sequence {
        let kept = events::table
            .find((business.get(), sequence))
            .select(events::sequence)
            .get_optional::<i64>(conn)
            .await;
        if kept?.is_none() {
            return Ok(None);
        }
    }
    Delivery::try_from(row).map(Some)
}

async fn log(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &EventFilter,
    after: EventSequence,
    limit: u32,
) -> StoreResult<LogPage> {
    // In this order: what was committed before the number was read can be read too.
    let conn = session.flushed_conn().await?;
    let latest = latest(conn, business).await?.0;
    let may_scan = latest.saturating_sub(after.0) > INLINE_SCAN_EVENTS;
    let range = filter.created.unwrap_or(Range { from: None, to: None });
    let mut start = after.0.max(0);
    // The dropped beginning of the log is not read again.
    let next = first_behind(conn, business.get(), start).await?;
    start = start.max(next.map_or(latest, |(sequence, _)| sequence - 1));
    let is_dated = range.from.is_some() || range.to.is_some();
    let unordered = is_dated && are_stamps_unordered(conn, business).await?;
    if let Some(from) = range.from
        && !unordered
        && next.is_some_and(|(_, created)| created < from.epoch_seconds())
    {
        start = first_since(conn, business, from, start + 1, latest).await? - 1;
    }
    let end = latest.min(start.saturating_add(LOOKED_AT));
    let passing = |end: i64| {
        let mut query = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::sequence.gt(start))
            .filter(events::sequence.le(end))
            .into_boxed::<Db>();
        if filter.names.len() < EventName::ALL.len() {
            let names: Vec<&str> = filter.names.iter().map(|name| name.as_str()).collect();
            query = query.filter(events::name.eq_any(names));
        }
        if let Some(record) = filter.record {
            query = query.filter(events::record.eq(record));
        }
        if let Some(from) = range.from {
            query = query.filter(events::created.ge(from.epoch_seconds()));
        }
        if let Some(to) = range.to {
            query = query.filter(events::created.le(to.epoch_seconds()));
        }
        query.order(events::sequence)
    };
    let sizes: Vec<(i64, i32)> = passing(end)
        .limit(limit.into())
        .select((events::sequence, octet_length(events::data)))
        .may_scan(may_scan)
        .load(conn)
        .await?;
    let found = sizes.last().map(|(sequence, _)| *sequence);
    let last = within_bytes(&sizes);
    let rows: Vec<LoggedRow> = match last {
        None => Vec::new(),
        Some(last) => {
            let rows = passing(last).select(LoggedRow::as_select());
            rows.may_scan(may_scan).load(conn).await?
        }
    };
    let full = sizes.len() >= limit as usize || last < found;
    let position = last.filter(|_| full).unwrap_or(end);
    let mut more = position < latest;
    if let Some(to) = range.to
        && more
        && !unordered
    {
        let next = first_behind(conn, business.get(), position).await?;
        more = next.is_some_and(|(_, created)| created <= to.epoch_seconds());
    }
    let events = rows.into_iter().map(Event::try_from).collect::<StoreResult<_>>()?;
    Ok(LogPage {
        events,
        position: EventSequence(position.max(after.0)),
        more,
    })
}

/// Returns the number and the stamp of the first event after `sequence`.
pub(in super::super) async fn first_behind(
    conn: &mut Conn,
    business: i64,
    sequence: i64,
) -> StoreResult<Option<(i64, i64)>> {
    events::table
        .filter(events::business_id.eq(business))
        .filter(events::sequence.gt(sequence))
        .order(events::sequence)
        .limit(1)
        .select((events::sequence, events::created))
        .get_optional(conn)
        .await
}

/// Returns the number of the first event from `first` to `latest` that happened at `from` or later, or else one more than
/// `latest`. It bisects, which needs stamps that rise with the numbers.
pub(in super::super) async fn first_since(
    conn: &mut Conn,
    business: BusinessId,
    from: Timestamp,
    first: i64,
    latest: i64,
) -> StoreResult<i64> {
    let (mut low, mut high) = (first, latest.saturating_add(1));
    while low < high {
        let middle = low + (high - low) / 2;
        match first_behind(conn, business.get(), middle - 1).await? {
            Some((sequence, created)) if created < from.epoch_seconds() => low = sequence + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}
