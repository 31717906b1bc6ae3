//! Deletions that are longer than one transaction.
//!
//! What is deleted is gone for every reader at once; an entry of `deletions` says that there is something left to be done. Each
//! part of it is a transaction of its own, which holds the entry: so a server that dies leaves it to any other, and no two do the
//! same.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_dealership::{DeletionKind, DeletionQueue, OpenDeletion};
use forecourt_kernel::{BoxError, BusinessId, ContactId, StoreError, StoreResult, WebhookId};

use super::database::Writing;
use super::{OWNED_TABLES, dialect};
use crate::error::store_error;
use crate::models::ERASURE;
use crate::schema::{businesses, deletions};
use crate::statement::RunQueryDsl;

/// How many rows of a business one transaction removes.
const ROWS_AT_ONCE: usize = 500;

/// A table whose rows belong to businesses.
pub(super) struct OwnedTable {
    table: &'static str,
    /// The key that distinguishes its rows within one business.
    key: &'static str,
    /// How many of them are deleted at once: few where a row may be long.
    at_once: usize,
}

impl OwnedTable {
    pub(super) const fn new(table: &'static str, key: &'static str, at_once: usize) -> Self {
        Self { table, key, at_once }
    }
}

/// What would be acted on, and so is deleted before what the areas own.
const FIRST: &[OwnedTable] = &[
    OwnedTable::new("mails", "id", 100),
    OwnedTable::new("webhook_queues", "webhook_id", 500),
    OwnedTable::new("idempotency_keys", "key", 100),
    OwnedTable::new("webhook_deliveries", "id", 500),
    OwnedTable::new("webhooks", "id", 500),
    OwnedTable::new("events", "sequence", 100),
];

/// All of them, in the order in which they are emptied.
fn owned_tables() -> Vec<&'static OwnedTable> {
    FIRST.iter().chain(OWNED_TABLES.iter().copied().flatten()).collect()
}

const fn code(kind: DeletionKind) -> i32 {
    match kind {
        DeletionKind::Contact => ERASURE,
        DeletionKind::Webhook => 2,
        DeletionKind::Business => 3,
    }
}

fn kind(code: i32) -> StoreResult<DeletionKind> {
    [DeletionKind::Contact, DeletionKind::Webhook, DeletionKind::Business]
        .into_iter()
        .find(|&kind| self::code(kind) == code)
        .ok_or_else(|| StoreError::Other(BoxError::from(format!("there is no deletion of kind {code}"))))
}

#[async_trait]
impl DeletionQueue for Writing {
    async fn open_deletions(&mut self, limit: u32) -> StoreResult<Vec<OpenDeletion>> {
        let open: Vec<(i64, i32, i64)> = deletions::table
            .order((deletions::business_id, deletions::kind, deletions::record))
            .limit(limit.into())
            .select((deletions::business_id, deletions::kind, deletions::record))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let deletion = |(business, code, record)| {
            Ok(OpenDeletion {
                business: BusinessId::new(business),
                kind: kind(code)?,
                record,
            })
        };
        open.into_iter().map(deletion).collect()
    }

    async fn continue_deletion(&mut self, deletion: OpenDeletion) -> StoreResult<bool> {
        let OpenDeletion { business, kind, record } = deletion;
        let entry = deletions::table.find((business.get(), code(kind), record));
        let state: Option<Vec<u8>> = dialect::skip_locked!(entry.select(deletions::state))
            .get_result(self.conn().await?)
            .await
            .optional()
            .map_err(store_error)?;
        let Some(state) = state else {
            return Ok(false);
        };
        let more = match kind {
            DeletionKind::Contact => self.erase_more(business, ContactId::new(record), &state).await?,
            DeletionKind::Webhook => self.fail_pending(business, WebhookId::new(record)).await?,
            DeletionKind::Business => self.remove_owned(business).await?,
        };
        if !more {
            diesel::delete(entry)
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(more)
    }
}

impl Writing {
    /// Leaves the rest of a deletion to the background.
    pub(super) async fn continue_later(
        &mut self,
        business: BusinessId,
        kind: DeletionKind,
        record: i64,
        state: Vec<u8>,
    ) -> StoreResult<()> {
        diesel::insert_into(deletions::table)
            .values((
                deletions::business_id.eq(business.get()),
                deletions::kind.eq(code(kind)),
                deletions::record.eq(record),
                deletions::state.eq(state),
            ))
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }

    /// Removes some of what a business owned, and at last the business; `false` if that was the last of it.
    pub(super) async fn remove_owned(&mut self, business: BusinessId) -> StoreResult<bool> {
        let mut removed = 0;
        for OwnedTable { table, key, at_once } in owned_tables() {
            let statement = format!(
                "DELETE FROM {table} WHERE business_id = {business} AND ({key}) IN \
                 (SELECT {key} FROM {table} WHERE business_id = {business} LIMIT {at_once})"
            );
            let gone = diesel::sql_query(statement)
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
            removed += gone;
            if gone == *at_once || removed >= ROWS_AT_ONCE {
                return Ok(true);
            }
        }
        // What is left refers to it, and goes with it: its counters, and what was written since.
        diesel::delete(businesses::table.find(business.get()))
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        Ok(false)
    }
}
