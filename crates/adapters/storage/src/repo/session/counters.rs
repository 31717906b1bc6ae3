//! The counters of a business: one row for each kind of record, and for each other thing that is numbered.
//!
//! Their first row is the one by which the transactions of a business take turns: a transaction that changes any of them locks it
//! until it ends. So numbers have no gaps and are in the order of the commits. The changes are made here, and sent with the next
//! flush.

use std::collections::{BTreeMap, HashMap, VecDeque};

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use forecourt_kernel::{BusinessId, StoreResult};

use super::events::EVENTS;
use super::group_commit::GroupTurn;
use super::{Pipeline, Session, Write, dialect};
use crate::error::{other, store_error};
use crate::models::{Counter, CounterRow};
use crate::schema::counters;
use crate::statement::{AnyStatement, Prepare as _, RunQueryDsl, for_no_key_update};

/// The counters that a transaction has changed, and `true` for those whose change was not sent yet.
pub(super) type CounterChanges = BTreeMap<&'static str, (Counter, bool)>;

/// The counters of a business while a transaction holds their lock.
pub(in super::super) struct LockedCounters {
    pub(super) business: BusinessId,
    /// The counters as they were when they were locked.
    stored: HashMap<String, Counter>,
    changes: CounterChanges,
    /// The ids that are reserved for further records.
    ids: HashMap<&'static str, VecDeque<i64>>,
}

impl LockedCounters {
    pub(super) const fn changes(&self) -> &CounterChanges {
        &self.changes
    }

    pub(super) fn with(self, changes: CounterChanges) -> Self {
        Self { changes, ..self }
    }

    /// Returns the counter of a kind.
    pub(in super::super) fn get(&self, kind: &str) -> Counter {
        let changed = self.changes.get(kind).map(|(counter, _)| counter);
        changed.or_else(|| self.stored.get(kind)).copied().unwrap_or_default()
    }

    /// Returns the counter of a kind, to be changed.
    pub(super) fn change(&mut self, kind: &'static str) -> &mut Counter {
        let stored = self.get(kind);
        let (counter, is_unsent) = self.changes.entry(kind).or_insert((stored, true));
        *is_unsent = true;
        counter
    }

    /// Returns `true` if some change was not sent yet.
    pub(super) fn has_unsent(&self) -> bool {
        self.changes.values().any(|(_, is_unsent)| *is_unsent)
    }

    /// Returns the statements that store the changes, and notes them as sent.
    pub(super) fn unsent(&mut self) -> Vec<AnyStatement<'static, super::Db>> {
        let business = self.business.get();
        let unsent = self.changes.iter_mut().filter(|(_, (_, is_unsent))| *is_unsent);
        let store = |(kind, (counter, is_unsent)): (&&'static str, &mut (Counter, bool))| {
            *is_unsent = false;
            let row = (counters::business_id.eq(business), counters::kind.eq(*kind), *counter);
            let stored = diesel::insert_into(counters::table)
                .values(row)
                .on_conflict((counters::business_id, counters::kind))
                .do_update()
                .set(*counter);
            AnyStatement::new(stored.prepared())
        };
        unsent.map(store).collect()
    }
}

impl Session<Write> {
    /// Locks the business's counters, which put its transactions in sequence: see [`repo`](super::super). It is for a session that
    /// sends statements of its own.
    pub(in super::super) async fn lock_counters(&mut self, business: BusinessId) -> StoreResult<&mut LockedCounters> {
        // First: a transaction that others have left open takes its lock along when it is committed.
        self.conn().await?;
        self.lock_and_draw(business, None).await.map(|(locked, _)| locked)
    }

    /// Returns a counter of the business, to be changed, for a session that sends statements of its own.
    pub(in super::super) async fn counter(
        &mut self,
        business: BusinessId,
        kind: &'static str,
    ) -> StoreResult<&mut Counter> {
        Ok(self.lock_counters(business).await?.change(kind))
    }

    /// Draws the next number of a counter of the business.
    pub(in super::super) async fn next_number(&mut self, business: BusinessId, kind: &'static str) -> StoreResult<i64> {
        let counter = self.counter(business, kind).await?;
        counter.number += 1;
        Ok(counter.number)
    }

    /// As [`Session::counter`], for a session that may share its transaction.
    pub(in super::super) async fn shared_counter(
        &mut self,
        business: BusinessId,
        kind: &'static str,
    ) -> StoreResult<&mut Counter> {
        let (locked, _) = self.lock_and_draw(business, None).await?;
        Ok(locked.change(kind))
    }

    /// Returns the id of the next record of this kind, which is also the name of its table. A later record has a higher id, since
    /// ids are drawn under the lock of the counters. If more sessions wait, ids are reserved for them, as they may join this one.
    pub(in super::super) async fn next_id(&mut self, business: BusinessId, kind: &'static str) -> StoreResult<i64> {
        self.release_other(business).await?;
        let reserved = self
            .mode
            .transaction
            .locked
            .as_mut()
            .and_then(|locked| locked.ids.get_mut(kind));
        if let Some(id) = reserved.and_then(VecDeque::pop_front) {
            return Ok(id);
        }
        self.flush().await?;
        let waiting = self.mode.turn.as_ref().map_or(0, GroupTurn::waiting);
        // More may come while the lock is waited for.
        let count = if waiting == 0 {
            1
        } else {
            (2 * waiting).next_power_of_two()
        };
        let (locked, ids) = self
            .lock_and_draw(business, Some(dialect::next_ids(kind, count)))
            .await?;
        let mut ids: VecDeque<i64> = ids
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(other)?;
        let id = ids.pop_front().ok_or_else(|| other("no id was given to a record"))?;
        locked.ids.insert(kind, ids);
        Ok(id)
    }

    /// Locks the counters, and then draws ids by this expression, in one round trip.
    async fn lock_and_draw(
        &mut self,
        business: BusinessId,
        ids: Option<String>,
    ) -> StoreResult<(&mut LockedCounters, String)> {
        self.release_other(business).await?;
        let drawn = if self.mode.transaction.locked.is_none() {
            let (locked, drawn) = self.lock_anew(business, ids).await?;
            self.mode.transaction.locked = Some(locked);
            drawn
        } else if let Some(ids) = ids {
            let drawn = diesel::select(sql::<Text>(&ids)).prepared();
            drawn.get_result(self.conn().await?).await?
        } else {
            String::new()
        };
        let locked = self.mode.transaction.locked.as_mut();
        Ok((locked.ok_or_else(|| other("the counters are not locked"))?, drawn))
    }

    async fn lock_anew(&mut self, business: BusinessId, ids: Option<String>) -> StoreResult<(LockedCounters, String)> {
        let first = counters::table.find((business.get(), EVENTS)).select(counters::number);
        let all = counters::table
            .filter(counters::business_id.eq(business.get()))
            .select((CounterRow::as_select(), sql::<Text>(ids.as_deref().unwrap_or("''"))))
            .prepared();
        let mut pipeline = Pipeline::new(self.conn().await?);
        if dialect::LOCKS_ROWS {
            pipeline.send(AnyStatement::new(for_no_key_update(first))).await;
        }
        // A statement of its own: it sees what other transactions changed before they gave up the lock.
        let rows: Vec<(CounterRow, String)> = pipeline.finish_with(all).await.map_err(store_error)?;
        let drawn = rows.first().map(|(_, drawn)| drawn.clone());
        let drawn = drawn.ok_or_else(|| other("a business has no counters"))?;
        let locked = LockedCounters {
            business,
            stored: rows.into_iter().map(|(row, _)| (row.kind, row.counter)).collect(),
            changes: CounterChanges::new(),
            ids: HashMap::new(),
        };
        Ok((locked, drawn))
    }

    /// Sends and releases the counters of another business. A session mostly writes for one.
    async fn release_other(&mut self, business: BusinessId) -> StoreResult<()> {
        let locked = self
            .mode
            .transaction
            .locked
            .as_mut()
            .filter(|locked| locked.business != business);
        let Some(locked) = locked else { return Ok(()) };
        let unsent = locked.unsent();
        let mut pipeline = Pipeline::new(self.conn().await?);
        for statement in unsent {
            pipeline.send(statement).await;
        }
        pipeline.finish().await.map_err(store_error)?;
        self.mode.transaction.locked = None;
        Ok(())
    }
}
