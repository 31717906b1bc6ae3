//! The writes that a session buffers, and flushes at its end.
//!
//! Nothing reads them back before: so none of them needs an answer, all of them leave in one flight, and the row that numbers a
//! business's leads and events is locked late.

use std::collections::VecDeque;
use std::mem;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::upsert::excluded;
use forecourt_kernel::{BusinessId, Event, EventSequence, NewEvent, StoreError, StoreResult, Timestamp};

use super::database::Writing;
use super::group_commit::Turn;
use super::{Flight, dialect};
use crate::error::{other, store_error};
use crate::models::{AnswerRow, AssessmentRow, EventRow, NewLeadRow, NewMailRow, Numbers};
use crate::schema::{business_counters, events, idempotency_keys, lead_assessments, leads, mails};
use crate::statement::RunQueryDsl;

/// What is sent with the commit, all of it of one business.
#[derive(Default)]
pub(super) struct WriteBuffer {
    business: Option<BusinessId>,
    /// With their ids.
    leads: Vec<(i64, NewLeadRow)>,
    events: Vec<NewEvent>,
    mails: Vec<NewMailRow>,
    answers: Vec<AnswerRow>,
    assessments: Vec<AssessmentRow>,
    /// How many more leads the business has, and how often any was written.
    more_leads: i64,
    lead_writes: i64,
}

/// What follows what is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Commit,
}

/// The counters of a business while this transaction holds their row.
pub(super) struct LockedCounters {
    business: BusinessId,
    pub(super) numbers: Numbers,
    /// The number of the business's subscriptions to webhooks; 0 if none is active.
    subscribers: i64,
    /// They differ from those that are stored.
    changed: bool,
    /// The ids of leads to come.
    lead_ids: VecDeque<i64>,
}

impl LockedCounters {
    /// The numbers, and whether they differ from those that are stored.
    pub(super) fn state(&self) -> (Numbers, bool) {
        (self.numbers.clone(), self.changed)
    }

    pub(super) fn with(self, (numbers, changed): (Numbers, bool)) -> Self {
        Self {
            numbers,
            changed,
            ..self
        }
    }
}

impl Writing {
    /// The buffer, to put a write of this business into. What it holds of another business is flushed before.
    pub(super) async fn buffer(&mut self, business: BusinessId) -> StoreResult<&mut WriteBuffer> {
        if self.transaction.buffer.business.is_some_and(|other| other != business) {
            self.flush().await?;
        }
        self.transaction.buffer.business = Some(business);
        Ok(&mut self.transaction.buffer)
    }

    /// The business's counters, to be changed. Their row stays locked until the transaction ends: so numbers have no gaps, and
    /// are in the order of the commits.
    pub(super) async fn numbers(&mut self, business: BusinessId) -> StoreResult<&mut Numbers> {
        self.release_other(business).await?;
        let locked = match self.transaction.locked.take() {
            Some(locked) => locked,
            None => {
                let row = business_counters::table
                    .find(business.get())
                    .select((Numbers::as_select(), business_counters::subscribers));
                let found = dialect::for_no_key_update!(row).get_result(self.conn().await?).await;
                let (numbers, subscribers) = found.map_err(store_error)?;
                LockedCounters {
                    business,
                    numbers,
                    subscribers,
                    changed: false,
                    lead_ids: VecDeque::new(),
                }
            }
        };
        let locked = self.transaction.locked.insert(locked);
        locked.changed = true;
        Ok(&mut locked.numbers)
    }

    /// The id of the business's next lead, and the numbers to be changed for it.
    pub(super) async fn next_lead(&mut self, business: BusinessId) -> StoreResult<(i64, &mut Numbers)> {
        self.release_other(business).await?;
        let locked = self.transaction.locked.as_mut();
        let id = match locked.and_then(|locked| locked.lead_ids.pop_front()) {
            Some(id) => id,
            None => self.reserve_leads(business).await?,
        };
        Ok((id, self.numbers(business).await?))
    }

    /// Locks the business's counters, and answers the id of its next lead. As many more are reserved as sessions wait that may
    /// join this one.
    async fn reserve_leads(&mut self, business: BusinessId) -> StoreResult<i64> {
        self.flush().await?;
        let waiting = self.turn.as_ref().map_or(0, Turn::waiting);
        // More may come while the lock is waited for.
        let count = if waiting == 0 {
            1
        } else {
            (2 * waiting).next_power_of_two()
        };
        // What is returned is found once the row is locked: a later lead has a higher id.
        let (numbers, subscribers, ids) = diesel::update(business_counters::table.find(business.get()))
            .set(business_counters::lead_writes.eq(business_counters::lead_writes + 1))
            .returning((
                Numbers::as_returning(),
                business_counters::subscribers,
                sql::<Text>(&dialect::next_leads(count)),
            ))
            .get_result::<(Numbers, i64, String)>(self.conn().await?)
            .await
            .map_err(store_error)?;
        let mut lead_ids: VecDeque<i64> = ids
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(other)?;
        let id = lead_ids.pop_front().ok_or_else(|| other("no id was given to a lead"))?;
        self.transaction.locked = Some(LockedCounters {
            business,
            numbers,
            subscribers,
            changed: true,
            lead_ids,
        });
        Ok(id)
    }

    /// Flushes the buffer. It comes before every read that buffered writes may change.
    pub(super) async fn flush(&mut self) -> StoreResult<()> {
        self.flush_and(Then::GoOn).await.map(drop)
    }

    /// Flushes the buffer as the last of the transaction; `true` if that was its end.
    pub(super) async fn flush_at_end(&mut self) -> StoreResult<bool> {
        self.flush_and(Then::Commit).await
    }

    async fn flush_and(&mut self, then: Then) -> StoreResult<bool> {
        self.part();
        if self.transaction.buffer.business.is_none() {
            return self.send_numbers().await.map(|()| false);
        }
        // First: a savepoint that was not set yet comes before what is sent.
        self.conn().await?;
        let WriteBuffer {
            business,
            leads: new_leads,
            events: new_events,
            mails: new_mails,
            answers,
            assessments,
            more_leads,
            lead_writes,
        } = mem::take(&mut self.transaction.buffer);
        let Some(business) = business else { return Ok(false) };
        let mut recorded = Vec::with_capacity(new_events.len());
        let mut subscribers = 0;
        if !new_events.is_empty() || lead_writes > 0 {
            let ids: Vec<String> = new_events.iter().map(|_| self.dependencies.event_id()).collect();
            let numbers = self.numbers(business).await?;
            numbers.leads += more_leads;
            numbers.lead_writes += lead_writes;
            for (what, id) in new_events.into_iter().zip(ids) {
                numbers.event_sequence += 1;
                // Stamps never run against numbers, even if the clock goes back.
                numbers.event_created = numbers.event_created.max(what.at.epoch_seconds());
                recorded.push(Event {
                    sequence: EventSequence(numbers.event_sequence),
                    id,
                    what: NewEvent {
                        at: Timestamp::from_epoch_seconds(numbers.event_created),
                        ..what
                    },
                });
            }
            subscribers = self.transaction.locked.as_ref().map_or(0, |locked| locked.subscribers);
        }
        let numbers = self.changed_numbers();
        // Deliveries to webhooks need more statements, before the commit.
        let is_all = subscribers == 0 && self.transaction.summary.queued.is_empty();
        let mut flight = Flight::new(self.conn().await?);
        for (id, row) in new_leads {
            flight
                .send(diesel::insert_into(leads::table).values((leads::id.eq(id), row)))
                .await;
        }
        if let Some((business, numbers)) = numbers {
            flight
                .send(diesel::update(business_counters::table.find(business)).set(numbers))
                .await;
        }
        for event in &recorded {
            let row = EventRow::new(business, event);
            flight.send(diesel::insert_into(events::table).values(row)).await;
        }
        for row in new_mails {
            flight.send(diesel::insert_into(mails::table).values(row)).await;
        }
        for row in assessments {
            // It waits once, and as if it had never been tried.
            let waiting = diesel::insert_into(lead_assessments::table)
                .values(row)
                .on_conflict((lead_assessments::business_id, lead_assessments::lead_id))
                .do_update()
                .set((
                    lead_assessments::due.eq(excluded(lead_assessments::due)),
                    lead_assessments::attempts.eq(excluded(lead_assessments::attempts)),
                ));
            flight.send(waiting).await;
        }
        for row in answers {
            flight
                .send(diesel::insert_into(idempotency_keys::table).values(row))
                .await;
        }
        let landed = match then {
            Then::Commit if is_all => flight.land_with_commit().await,
            Then::Commit | Then::GoOn => flight.land().await.map(|()| false),
        };
        let committed = landed.map_err(|error| match store_error(error) {
            // Another server did the same request meanwhile: done again, it gets that one's answer.
            StoreError::Duplicate(constraint) if constraint.starts_with("idempotency_keys") => StoreError::Conflict,
            failure => failure,
        })?;
        for event in &recorded {
            self.transaction.summary.recorded = Some(business);
            // Boxed, since a statement may have to be preceded by what is sent here.
            Box::pin(self.fan_out(business, subscribers, event)).await?;
        }
        Ok(committed)
    }

    /// A session mostly writes for one business; where it goes on to another, its counters are those that count.
    async fn release_other(&mut self, business: BusinessId) -> StoreResult<()> {
        if self
            .transaction
            .locked
            .as_ref()
            .is_some_and(|locked| locked.business != business)
        {
            self.send_numbers().await?;
            self.transaction.locked = None;
        }
        Ok(())
    }

    async fn send_numbers(&mut self) -> StoreResult<()> {
        let Some((business, numbers)) = self.changed_numbers() else {
            return Ok(());
        };
        diesel::update(business_counters::table.find(business))
            .set(numbers)
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }

    fn changed_numbers(&mut self) -> Option<(i64, Numbers)> {
        let locked = self.transaction.locked.as_mut().filter(|locked| locked.changed)?;
        locked.changed = false;
        Some((locked.business.get(), locked.numbers.clone()))
    }
}

impl WriteBuffer {
    /// How many leads, events, mails, stored answers and conversations to be read there are.
    pub(super) fn lengths(&self) -> [usize; 5] {
        [
            self.leads.len(),
            self.events.len(),
            self.mails.len(),
            self.answers.len(),
            self.assessments.len(),
        ]
    }

    /// How many more leads the business has, and how often any was written.
    pub(super) const fn counted(&self) -> (i64, i64) {
        (self.more_leads, self.lead_writes)
    }

    /// Drops what was buffered since there were so many.
    pub(super) fn truncate(&mut self, [leads, events, mails, answers, assessments]: [usize; 5], counted: (i64, i64)) {
        self.leads.truncate(leads);
        self.events.truncate(events);
        self.mails.truncate(mails);
        self.answers.truncate(answers);
        self.assessments.truncate(assessments);
        (self.more_leads, self.lead_writes) = counted;
    }

    pub(super) fn lead(&mut self, id: i64, row: NewLeadRow) {
        self.leads.push((id, row));
    }

    pub(super) fn event(&mut self, event: NewEvent) {
        self.events.push(event);
    }

    pub(super) fn mail(&mut self, row: NewMailRow) {
        self.mails.push(row);
    }

    pub(super) fn assessment(&mut self, row: AssessmentRow) {
        self.assessments.push(row);
    }

    /// Whether an answer under this key is among it.
    pub(super) fn has_answer(&self, business: BusinessId, key: &str) -> bool {
        let of_business = |row: &&AnswerRow| row.business_id == business.get();
        self.answers.iter().filter(of_business).any(|row| row.key == key)
    }

    pub(super) fn answer(&mut self, row: AnswerRow) {
        self.answers.push(row);
    }

    /// Notes that leads were written, and how many more the business has.
    pub(super) fn lead_writes(&mut self, more: i64) {
        self.more_leads += more;
        self.lead_writes += 1;
    }
}
