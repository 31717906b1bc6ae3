//! Sessions: one reads, or writes a transaction.
//!
//! A session that writes buffers the rows that nothing reads back before its end, and flushes them with the commit. None of them
//! needs an answer, all leave in one pipeline, and the row that numbers a business's leads and events is locked late.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::upsert::excluded;
use forecourt_dealership as dealership;
use forecourt_kernel::{BusinessId, Epoch, Event, EventSequence, NewEvent, StoreError, StoreResult};
use tokio::sync::oneshot;

use super::group_commit::{GroupCommit, GroupTurn, MEMBERS};
use super::transaction::{Failure, Mark, Transaction};
use super::webhooks::due::advance_due;
use super::webhooks::fan_out::FanOut;
use super::write_buffer::{LockedCounters, WriteBuffer};
use super::{Conn, Engine, Pipeline, Reader, Session, dialect};
use crate::Dependencies;
use crate::error::{other, store_error};
use crate::models::{EventRow, Numbers};
use crate::pool::Effort;
use crate::schema::{business_counters, events, idempotency_keys, lead_assessments, leads, mails};
use crate::statement::{Prepare as _, RunQueryDsl};
use crate::totals::Totals;

/// A session that reads.
pub(super) struct Reading {
    engine: Engine,
    pub(super) dependencies: Arc<Dependencies>,
    business: Option<BusinessId>,
    /// `None` only while another one is waited for.
    reader: Option<Reader>,
}

/// A session that writes: one transaction, perhaps together with others.
pub(super) struct Writing {
    engine: Engine,
    pub(super) dependencies: Arc<Dependencies>,
    business: Option<BusinessId>,
    pub(super) transaction: Transaction,
    savepoint: Option<Savepoint>,
    /// The turn among the sessions of the business that may share a transaction.
    turn: Option<GroupTurn>,
    /// The state of the others' transaction when this session joined it.
    joined: Option<Mark>,
    /// This session cannot be undone without those whose transaction it joined.
    cannot_detach: bool,
}

/// A point to return to.
struct Savepoint {
    mark: Mark,
    /// The database has it: it need not before the next statement.
    is_set: bool,
    /// Rows were already buffered then that it should undo.
    is_late: bool,
}

impl Reading {
    pub(super) async fn begin(
        engine: &Engine,
        dependencies: &Arc<Dependencies>,
        business: Option<BusinessId>,
    ) -> StoreResult<Self> {
        Ok(Self {
            reader: Some(engine.read_for(business, Effort::Light).await?),
            engine: engine.clone(),
            dependencies: Arc::clone(dependencies),
            business,
        })
    }

    pub(super) async fn conn(&mut self) -> StoreResult<&mut Conn> {
        Ok(match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(self.engine.read_for(self.business, Effort::Light).await?),
        })
    }
}

/// A session with lists and other long reads.
pub(super) trait Reads: Send {
    /// Returns the connection, with the session's own writes visible.
    fn conn(&mut self) -> impl Future<Output = StoreResult<&mut Conn>> + Send;

    /// Prepares for statements that may take longer than a look-up, so that they hold up no other work.
    fn expect_work(&mut self) -> impl Future<Output = StoreResult<()>> + Send;

    /// Returns the cache of the totals of lists, if it is valid for this session.
    fn totals(&self) -> Option<Arc<Totals>>;

    /// The database's epoch.
    fn epoch(&self) -> Epoch;
}

impl Reads for Reading {
    async fn conn(&mut self) -> StoreResult<&mut Conn> {
        Self::conn(self).await
    }

    async fn expect_work(&mut self) -> StoreResult<()> {
        if !self.reader.as_ref().is_some_and(|reader| reader.suits(Effort::Heavy)) {
            // Given back first: a caller that waits holds nothing that others want.
            self.reader = None;
            self.reader = Some(self.engine.read_for(self.business, Effort::Heavy).await?);
        }
        Ok(())
    }

    fn totals(&self) -> Option<Arc<Totals>> {
        Some(Arc::clone(self.engine.totals()))
    }

    fn epoch(&self) -> Epoch {
        self.engine.state().epoch()
    }
}

impl Reads for Writing {
    async fn conn(&mut self) -> StoreResult<&mut Conn> {
        self.flushed_conn().await
    }

    async fn expect_work(&mut self) -> StoreResult<()> {
        Ok(())
    }

    /// Returns none: the writes of this transaction may never be committed, so no other one may see its counts.
    fn totals(&self) -> Option<Arc<Totals>> {
        None
    }

    fn epoch(&self) -> Epoch {
        self.engine.state().epoch()
    }
}

impl Writing {
    pub(super) fn new(engine: Engine, dependencies: Arc<Dependencies>, business: Option<BusinessId>) -> Self {
        Self {
            engine,
            dependencies,
            business,
            transaction: Transaction::default(),
            savepoint: None,
            turn: None,
            joined: None,
            cannot_detach: false,
        }
    }

    /// Begins a transaction, or joins one that another session of the group has left open.
    pub(super) async fn begin(&mut self, group: Option<&GroupCommit>) -> StoreResult<()> {
        if let (Some(group), Some(business)) = (group, self.business) {
            let (turn, open) = group.enter(business).await?;
            self.turn = Some(turn);
            if let Some(open) = open {
                self.joined = Some(open.mark());
                self.transaction = open;
                return Ok(());
            }
        }
        self.transaction.session = Some(self.engine.begin_writing(self.business).await?);
        Ok(())
    }

    /// Returns a new session of the same business.
    fn another(&self) -> Self {
        Self::new(self.engine.clone(), Arc::clone(&self.dependencies), self.business)
    }

    /// Returns the connection, for a statement that does not depend on buffered writes.
    pub(super) async fn conn(&mut self) -> StoreResult<&mut Conn> {
        self.leave_group();
        let is_shared = self.joined.is_some();
        if let Some(saved) = self.savepoint.as_mut().filter(|saved| !saved.is_set) {
            saved.is_set = true;
            if is_shared {
                saved.is_late = self.transaction.is_beyond(&saved.mark);
                // Boxed, since the flush may need statements of its own.
                Box::pin(self.flush()).await?;
                self.restart_savepoint();
            }
            self.session().await?.savepoint().await?;
        }
        Ok(self.session().await?)
    }

    /// Returns the connection, for a statement that changes and locks nothing, and reads nothing that this session has written.
    /// Other sessions go on sharing the transaction with this one.
    pub(super) async fn shared_conn(&mut self) -> StoreResult<&mut Conn> {
        Ok(self.session().await?)
    }

    /// Flushes the buffer and returns the connection, to read back buffered writes.
    pub(super) async fn flushed_conn(&mut self) -> StoreResult<&mut Conn> {
        self.flush().await?;
        self.conn().await
    }

    async fn session(&mut self) -> StoreResult<&mut Session> {
        Ok(match &mut self.transaction.session {
            Some(session) => session,
            none => none.insert(self.engine.begin_writing(self.business).await?),
        })
    }

    /// Makes the savepoint one of the present transaction.
    fn restart_savepoint(&mut self) {
        if let Some(saved) = &mut self.savepoint {
            saved.mark = self.transaction.mark();
        }
    }

    /// Commits the transaction, and notifies the watcher.
    async fn finish(&mut self) -> StoreResult<()> {
        let committed = self.flush_at_end().await?;
        let Transaction { session, summary, .. } = mem::take(&mut self.transaction);
        if let Some(mut session) = session {
            if committed {
                session.committed().await?;
            } else {
                advance_due(&mut session, &summary.queued).await?;
                session.commit().await?;
            }
        }
        if let Some(watcher) = self.dependencies.watcher.as_ref().filter(|_| !summary.is_empty()) {
            watcher.committed(summary);
        }
        Ok(())
    }
}

/// The statement that follows a flush.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlushMode {
    Continue,
    Commit,
}

impl Writing {
    /// Returns the buffer, for a write of this business. Writes of another business in it are flushed before.
    pub(super) async fn buffer(&mut self, business: BusinessId) -> StoreResult<&mut WriteBuffer> {
        if self.transaction.buffer.business.is_some_and(|other| other != business) {
            self.flush().await?;
        }
        self.transaction.buffer.business = Some(business);
        Ok(&mut self.transaction.buffer)
    }

    /// Returns the business's counters, to be changed. Their row stays locked until the transaction ends, so numbers have no
    /// gaps, and are in the order of the commits.
    pub(super) async fn numbers(&mut self, business: BusinessId) -> StoreResult<&mut Numbers> {
        let locked = self.lock_counters(business).await?;
        locked.changed = true;
        Ok(&mut locked.numbers)
    }

    /// Locks the business's counters, which put its transactions in sequence: see [`repo`](super).
    pub(super) async fn lock_counters(&mut self, business: BusinessId) -> StoreResult<&mut LockedCounters> {
        self.release_other(business).await?;
        let locked = match self.transaction.locked.take() {
            Some(locked) => locked,
            None => {
                let row = business_counters::table
                    .find(business.get())
                    .select((Numbers::as_select(), business_counters::subscribers));
                let found = dialect::for_no_key_update!(row).get_result(self.conn().await?).await;
                let (numbers, subscribers) = found?;
                LockedCounters {
                    business,
                    numbers,
                    subscribers,
                    changed: false,
                    lead_ids: VecDeque::new(),
                }
            }
        };
        Ok(self.transaction.locked.insert(locked))
    }

    /// Returns the id of the business's next lead, and the numbers to be changed for it.
    pub(super) async fn next_lead(&mut self, business: BusinessId) -> StoreResult<(i64, &mut Numbers)> {
        self.release_other(business).await?;
        let locked = self.transaction.locked.as_mut();
        let id = match locked.and_then(|locked| locked.lead_ids.pop_front()) {
            Some(id) => id,
            None => self.reserve_leads(business).await?,
        };
        Ok((id, self.numbers(business).await?))
    }

    /// Locks the business's counters, and returns the id of its next lead. It reserves ids for the waiting sessions too, which
    /// may join this one.
    async fn reserve_leads(&mut self, business: BusinessId) -> StoreResult<i64> {
        self.flush().await?;
        let waiting = self.turn.as_ref().map_or(0, GroupTurn::waiting);
        // More may come while the lock is waited for.
        let count = if waiting == 0 {
            1
        } else {
            (2 * waiting).next_power_of_two()
        };
        // A later lead has a higher id: ids are drawn once the row is locked.
        let (numbers, subscribers, ids) = dialect::read_locked!(
            business_counters::table.find(business.get()),
            business_counters::lead_writes.eq(business_counters::lead_writes + 1),
            (
                Numbers::as_select(),
                business_counters::subscribers,
                sql::<Text>(&dialect::next_leads(count)),
            )
        )
        .get_result::<(Numbers, i64, String)>(self.conn().await?)
        .await?;
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
        self.flush_with(FlushMode::Continue).await.map(drop)
    }

    /// Flushes the buffer as the last statements of the transaction; returns `true` if that ended it.
    async fn flush_at_end(&mut self) -> StoreResult<bool> {
        self.flush_with(FlushMode::Commit).await
    }

    async fn flush_with(&mut self, mode: FlushMode) -> StoreResult<bool> {
        self.leave_group();
        if self.transaction.buffer.business.is_none() {
            return self.send_numbers().await.map(|()| false);
        }
        // First: an unset savepoint comes before the flushed rows.
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
                let at = numbers.stamp_event(what.at);
                recorded.push(Event {
                    sequence: EventSequence(numbers.event_sequence),
                    id,
                    what: NewEvent { at, ..what },
                });
            }
            subscribers = self.transaction.locked.as_ref().map_or(0, |locked| locked.subscribers);
        }
        let numbers = self.changed_numbers();
        // Deliveries to webhooks need more statements, before the commit.
        let is_all = subscribers == 0 && self.transaction.summary.queued.is_empty();
        let mut pipeline = Pipeline::new(self.conn().await?);
        for (id, row) in new_leads {
            pipeline
                .send(diesel::insert_into(leads::table).values((leads::id.eq(id), row)))
                .await;
        }
        if let Some((business, numbers)) = numbers {
            pipeline
                .send(
                    diesel::update(business_counters::table.find(business))
                        .set(numbers)
                        .prepared(),
                )
                .await;
        }
        for event in &recorded {
            let row = EventRow::new(business, event);
            pipeline.send(diesel::insert_into(events::table).values(row)).await;
        }
        for row in new_mails {
            pipeline.send(diesel::insert_into(mails::table).values(row)).await;
        }
        for row in assessments {
            // It waits once, as if it had never been tried.
            let waiting = diesel::insert_into(lead_assessments::table)
                .values(row)
                .on_conflict((lead_assessments::business_id, lead_assessments::lead_id))
                .do_update()
                .set((
                    lead_assessments::due.eq(excluded(lead_assessments::due)),
                    lead_assessments::attempts.eq(excluded(lead_assessments::attempts)),
                ))
                .prepared();
            pipeline.send(waiting).await;
        }
        for row in answers {
            pipeline
                .send(diesel::insert_into(idempotency_keys::table).values(row))
                .await;
        }
        let finished = match mode {
            FlushMode::Commit if is_all => pipeline.finish_with_commit().await,
            FlushMode::Commit | FlushMode::Continue => pipeline.finish().await.map(|()| false),
        };
        let committed = finished.map_err(|error| match store_error(error) {
            // Another server did the same request meanwhile: done again, this one gets that answer.
            StoreError::Duplicate(constraint) if constraint.starts_with("idempotency_keys") => StoreError::Conflict,
            failure => failure,
        })?;
        if !recorded.is_empty() {
            self.transaction.summary.recorded = Some(business);
        }
        if subscribers != 0 {
            let Transaction { session, summary, .. } = &mut self.transaction;
            let session = session.as_mut().ok_or_else(|| other("the transaction is over"))?;
            let mut deliveries = FanOut {
                conn: session,
                summary,
                dependencies: &self.dependencies,
            };
            for event in &recorded {
                deliveries.add(business, subscribers, event).await?;
            }
        }
        Ok(committed)
    }

    /// Sends and releases the counters of another business. A session mostly writes for one.
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
            .prepared()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    fn changed_numbers(&mut self) -> Option<(i64, Numbers)> {
        let locked = self.transaction.locked.as_mut().filter(|locked| locked.changed)?;
        locked.changed = false;
        Some((locked.business.get(), locked.numbers.clone()))
    }
}

impl Writing {
    /// Makes sure that the next statement concerns no other session. The transaction that this session joined commits without it,
    /// or, if it has already buffered something, fails with it.
    fn leave_group(&mut self) {
        let Some(mark) = self.joined.take() else { return };
        if self.cannot_detach || self.transaction.is_beyond(&mark) {
            self.joined = Some(mark);
            self.cannot_detach = true;
            return;
        }
        let theirs = mem::take(&mut self.transaction);
        self.restart_savepoint();
        if let Some(turn) = &self.turn {
            tokio::spawn(self.another().commit_shared(theirs, turn.without_place()));
        }
    }

    /// Commits alone or with others.
    async fn commit_in_group(mut self) -> StoreResult<()> {
        let Some(turn) = self.turn.take() else {
            return self.finish().await;
        };
        let is_first = self.joined.take().is_none();
        let is_alone = is_first && (turn.waiting() == 0 || self.transaction.locked.is_none() || turn.is_apart());
        if is_alone {
            // The next session may begin; the database makes it wait for the lock, if it wants it.
            drop(turn);
            return self.finish().await;
        }
        let mut transaction = mem::take(&mut self.transaction);
        let (sender, outcome) = oneshot::channel();
        transaction.members.push(sender);
        if transaction.members.len() >= MEMBERS {
            tokio::spawn(self.another().commit_shared(transaction, turn));
        } else {
            turn.leave_open(transaction);
            if is_first {
                self.another().commit_later(turn);
            } else {
                drop(turn);
            }
        }
        // A caller that stops waiting changes nothing.
        match outcome.await {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(_) => Err(Failure::Unknown.into()),
        }
    }

    /// Undoes this session's work. If it joined others, it ends with them, since it may have read their writes.
    async fn roll_back_in_group(mut self) -> StoreResult<()> {
        if self.cannot_detach {
            // The others are undone with it, so the rows of theirs that it has read never existed.
            return Err(StoreError::Conflict);
        }
        if let Some(mark) = &self.joined {
            self.transaction.return_to(mark.clone());
            return self.commit_in_group().await;
        }
        match self.transaction.session.take() {
            Some(session) => session.rollback_durably().await,
            None => Ok(()),
        }
    }

    /// Has the open transaction committed once the sessions that wait now have joined it.
    fn commit_later(self, turn: GroupTurn) {
        let others = turn.wait_for_others();
        tokio::spawn(async move {
            if let Some((transaction, turn)) = others.await {
                self.commit_shared(transaction, turn).await;
            }
        });
    }

    /// Commits a shared transaction, and notifies its members.
    async fn commit_shared(mut self, mut transaction: Transaction, mut turn: GroupTurn) {
        turn.give_place_back();
        let members = mem::take(&mut transaction.members);
        self.transaction = transaction;
        let outcome = self.finish().await.map_err(|error| {
            turn.fail();
            tracing::warn!(%error, sessions = members.len(), "a shared transaction failed");
            match error {
                StoreError::Unavailable(_) => Failure::Unknown,
                StoreError::Conflict | StoreError::Duplicate(_) | StoreError::Other(_) => Failure::RolledBack,
            }
        });
        Transaction::notify(members, outcome);
    }
}

#[async_trait]
impl dealership::Session for Writing {
    async fn savepoint(&mut self) -> StoreResult<()> {
        if self.joined.as_ref().is_none_or(|mark| self.transaction.is_beyond(mark)) {
            self.flush().await?;
        }
        self.savepoint = Some(Savepoint {
            mark: self.transaction.mark(),
            is_set: false,
            is_late: false,
        });
        Ok(())
    }

    async fn rollback_to_savepoint(&mut self) -> StoreResult<()> {
        let Some(Savepoint { mark, is_set, is_late }) = self.savepoint.take() else {
            return Err(other("there is no savepoint"));
        };
        if is_late {
            return Err(StoreError::Conflict);
        }
        self.transaction.return_to(mark);
        match &mut self.transaction.session {
            Some(session) if is_set => session.rollback_to_savepoint().await,
            _ => Ok(()),
        }
    }

    async fn commit(self: Box<Self>) -> StoreResult<()> {
        self.commit_in_group().await
    }

    async fn rollback(self: Box<Self>) -> StoreResult<()> {
        self.roll_back_in_group().await
    }
}

impl Drop for Writing {
    /// Leaves a transaction that this session joined as it was, if the session was not committed.
    fn drop(&mut self) {
        if let (Some(mark), Some(turn)) = (self.joined.take(), &self.turn) {
            if !self.cannot_detach {
                self.transaction.return_to(mark);
                turn.leave_open(mem::take(&mut self.transaction));
                return;
            }
            turn.fail();
            Transaction::notify(mem::take(&mut self.transaction.members), Err(Failure::RolledBack));
        }
    }
}
