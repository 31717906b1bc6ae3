//! The writes that wait for the commit, and their flush.

use std::mem;

use diesel::query_builder::{QueryFragment, QueryId};
use forecourt_kernel::{BusinessId, NewEvent, StoreError, StoreResult};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::events::{self, EVENTS};
use super::transaction::{Buffer, Buffered, Transaction};
use super::{Db, Pipeline, Session, Write};
use crate::error::{other, store_error};
use crate::statement::AnyStatement;

/// The statement that follows a flush.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlushMode {
    Continue,
    Commit,
}

impl Session<Write> {
    /// Has a statement sent with the commit.
    pub(in super::super) async fn send_later(
        &mut self,
        business: BusinessId,
        statement: impl QueryFragment<Db> + QueryId + Send + 'static,
    ) -> StoreResult<()> {
        let statement = AnyStatement::new(statement);
        self.buffer(business, Buffered::Statement { statement, name: None })
            .await
    }

    /// As [`Session::send_later`], with a name for [`Session::is_buffered`].
    pub(in super::super) async fn send_named_later(
        &mut self,
        business: BusinessId,
        name: String,
        statement: impl QueryFragment<Db> + QueryId + Send + 'static,
    ) -> StoreResult<()> {
        let (statement, name) = (AnyStatement::new(statement), Some(name));
        self.buffer(business, Buffered::Statement { statement, name }).await
    }

    /// Returns `true` if a statement of that name waits for the commit, perhaps one of another session that shares it.
    pub(in super::super) fn is_buffered(&self, business: BusinessId, named: &str) -> bool {
        let Buffer { business: of, writes } = &self.mode.transaction.buffer;
        let has_name =
            |write: &Buffered| matches!(write, Buffered::Statement { name: Some(name), .. } if name == named);
        *of == Some(business) && writes.iter().any(has_name)
    }

    /// Has an event recorded with the commit.
    pub(in super::super) async fn record_later(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        if let Some(held) = self.mode.transaction.held.last_mut() {
            held.push((business, event));
            return Ok(());
        }
        self.buffer(business, Buffered::Event(event)).await
    }

    /// The events that are held back, the innermost last.
    pub(in super::super) fn held_events(&mut self) -> &mut Vec<Vec<(BusinessId, NewEvent)>> {
        &mut self.mode.transaction.held
    }

    /// Has a write of a record of this kind counted with the commit, which adds `more` to the number of such records.
    pub(in super::super) async fn count_later(
        &mut self,
        business: BusinessId,
        kind: &'static str,
        more: i64,
    ) -> StoreResult<()> {
        self.buffer(business, Buffered::Count(kind, more)).await
    }

    /// Buffers a write. Writes of another business that wait are flushed before.
    async fn buffer(&mut self, business: BusinessId, write: Buffered) -> StoreResult<()> {
        let other = self.mode.transaction.buffer.business.is_some_and(|of| of != business);
        if other {
            self.flush().await?;
        }
        let buffer = &mut self.mode.transaction.buffer;
        buffer.business = Some(business);
        buffer.writes.push(write);
        Ok(())
    }

    /// Flushes the buffer. It comes before every read that buffered writes may change.
    pub(in super::super) fn flush(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        async { self.flush_with(FlushMode::Continue).await.map(drop) }.boxed()
    }

    /// Flushes the buffer as the last statements of the transaction; returns `true` if that ended it.
    pub(super) async fn flush_at_end(&mut self) -> StoreResult<bool> {
        self.flush_with(FlushMode::Commit).await
    }

    async fn flush_with(&mut self, mode: FlushMode) -> StoreResult<bool> {
        self.leave_group();
        let Transaction { buffer, locked, .. } = &self.mode.transaction;
        if buffer.writes.is_empty() && !locked.as_ref().is_some_and(|locked| locked.has_unsent()) {
            return Ok(false);
        }
        // First: an unset savepoint comes before the flushed rows.
        self.conn().await?;
        let Buffer { business, writes } = mem::take(&mut self.mode.transaction.buffer);
        let mut statements = Vec::with_capacity(writes.len());
        let mut recorded = Vec::new();
        if let Some(business) = business {
            let dependencies = std::sync::Arc::clone(&self.dependencies);
            for write in writes {
                match write {
                    Buffered::Statement { statement, .. } => statements.push(statement),
                    Buffered::Count(kind, more) => self.shared_counter(business, kind).await?.write(more),
                    Buffered::Event(event) => {
                        let counter = self.shared_counter(business, EVENTS).await?;
                        recorded.push(events::numbered(counter, event, dependencies.event_id()));
                    }
                }
            }
        }
        let Transaction { locked, summary, .. } = &mut self.mode.transaction;
        statements.extend(locked.iter_mut().flat_map(|locked| locked.unsent()));
        // Deliveries of events need more statements, before the commit.
        let subscribers = events::subscribers(locked.as_ref().filter(|_| !recorded.is_empty()));
        let is_all = subscribers == 0 && summary.queued.is_empty();
        let mut pipeline = Pipeline::new(self.conn().await?);
        for statement in statements {
            pipeline.send(statement).await;
        }
        if let Some(business) = business {
            for event in &recorded {
                pipeline.send(events::insert(business, event)).await;
            }
        }
        let finished = match mode {
            FlushMode::Commit if is_all => pipeline.finish_with_commit().await,
            FlushMode::Commit | FlushMode::Continue => pipeline.finish().await.map(|()| false),
        };
        let committed = finished.map_err(|error| match store_error(error) {
            // Another transaction wrote the same row meanwhile: done again, this one finds it.
            StoreError::Duplicate(_) => StoreError::Conflict,
            failure => failure,
        })?;
        if let Some(business) = business.filter(|_| !recorded.is_empty()) {
            let Transaction { unit, summary, .. } = &mut self.mode.transaction;
            summary.recorded = Some(business);
            if subscribers != 0 {
                let unit = unit.as_mut().ok_or_else(|| other("the transaction is over"))?;
                events::deliver(unit, summary, &self.dependencies, business, subscribers, &recorded).await?;
            }
        }
        Ok(committed)
    }
}
