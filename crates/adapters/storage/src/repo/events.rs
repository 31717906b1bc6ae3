//! The event log, and the way of an event to its receivers.

use async_trait::async_trait;
use diesel::dsl::{exists, insert_into};
use diesel::prelude::*;
use forecourt_kernel::{BusinessId, Event, EventHold, EventLog, EventSequence, NewEvent, StoreResult};

use super::session::{LockedCounters, Session, Write};
use super::webhooks::due::advance_due;
use super::webhooks::fan_out::FanOut;
use super::{Conn, Db};
use crate::Dependencies;
use crate::models::{Counter, EventRow};
use crate::schema::{counters, events};
use crate::statement::{AnyStatement, RunQueryDsl};

pub(super) use forecourt_webhooks::CommitSummary;

/// The kind of the counter that numbers a business's events.
pub(super) const EVENTS: &str = "events";

/// The kind of the counter of subscriptions. Its number is 0 if none is active, and another one after each change of them.
pub(super) const SUBSCRIBERS: &str = "subscribers";

#[async_trait]
impl EventLog for Session<Write> {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.record_later(business, event).await
    }
}

impl EventHold for Session<Write> {
    fn hold_events(&mut self) {
        self.held_events().push(Vec::new());
    }

    fn release_events(&mut self) -> Vec<(BusinessId, NewEvent)> {
        self.held_events().pop().unwrap_or_default()
    }
}

/// Returns `true` if the stamps of some records of a business run against their numbers, after the clock was put back.
pub(super) async fn are_stamps_unordered(conn: &mut Conn, business: BusinessId) -> StoreResult<bool> {
    let unordered = counters::table
        .filter(counters::business_id.eq(business.get()))
        .filter(counters::unordered.eq(true));
    diesel::select(exists(unordered)).get_result(conn).await
}

/// The lengths of a summary at some point.
#[derive(Clone)]
pub(super) struct SummaryMark {
    recorded: Option<BusinessId>,
    lengths: [usize; 4],
}

impl SummaryMark {
    pub(super) fn of(summary: &CommitSummary) -> Self {
        let CommitSummary {
            recorded,
            deliveries,
            queued,
            changed,
            deleted,
        } = summary;
        Self {
            recorded: *recorded,
            lengths: [deliveries.len(), queued.len(), changed.len(), deleted.len()],
        }
    }

    /// Takes what came since out of the summary.
    pub(super) fn restore(self, summary: &mut CommitSummary) {
        let [deliveries, queued, changed, deleted] = self.lengths;
        summary.recorded = self.recorded;
        summary.deliveries.truncate(deliveries);
        summary.queued.truncate(queued);
        summary.changed.truncate(changed);
        summary.deleted.truncate(deleted);
    }
}

/// Returns an event with its number and its stamp.
pub(super) fn numbered(counter: &mut Counter, what: NewEvent, id: String) -> Event {
    let (sequence, at) = counter.next(what.at);
    Event {
        sequence: EventSequence(sequence),
        id,
        what: NewEvent { at, ..what },
    }
}

/// Returns the statement that adds an event to the log.
pub(super) fn insert(business: BusinessId, event: &Event) -> AnyStatement<'_, Db> {
    AnyStatement::new(insert_into(events::table).values(EventRow::new(business, event)))
}

/// Returns the number of the business's subscriptions, or 0 if none is active.
pub(super) fn subscribers(locked: Option<&LockedCounters>) -> i64 {
    locked.map_or(0, |locked| locked.get(SUBSCRIBERS).number)
}

/// Makes the deliveries of events, in their transaction.
pub(super) async fn deliver(
    conn: &mut Conn,
    summary: &mut CommitSummary,
    dependencies: &Dependencies,
    business: BusinessId,
    subscribers: i64,
    events: &[Event],
) -> StoreResult<()> {
    let mut deliveries = FanOut {
        conn,
        summary,
        dependencies,
    };
    for event in events {
        deliveries.add(business, subscribers, event).await?;
    }
    Ok(())
}

/// Sends the last statements of a transaction.
pub(super) async fn before_commit(conn: &mut Conn, summary: &CommitSummary) -> StoreResult<()> {
    advance_due(conn, &summary.queued).await
}

/// Notifies the watcher of committed changes.
pub(super) fn announce(dependencies: &Dependencies, summary: CommitSummary) {
    if let Some(watcher) = dependencies.watcher.as_ref().filter(|_| !summary.is_empty()) {
        watcher.committed(summary);
    }
}

/// Returns the number of a business's latest event.
pub(super) async fn latest(conn: &mut Conn, business: BusinessId) -> StoreResult<EventSequence> {
    let latest = counters::table
        .find((business.get(), EVENTS))
        .select(counters::number)
        .get_optional(conn)
        .await?;
    Ok(EventSequence(latest.unwrap_or_default()))
}
