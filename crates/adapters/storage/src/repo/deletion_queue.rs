//! Deletions that are longer than one transaction.
//!
//! What is deleted is gone for every reader at once; an entry of `deletions` says that there is something left to be done. Each
//! part of it is a transaction of its own, which holds the entry: so a server that dies leaves it to any other, and no two do the
//! same.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_dealership::{DeletionKind, DeletionQueue, OpenDeletion};
use forecourt_kernel::{BusinessId, ContactId, StoreResult, WebhookId};

use super::deletions::{code, kind};
use super::dialect;
use super::session::Writing;
use crate::error::store_error;
use crate::schema::deletions;
use crate::statement::RunQueryDsl;

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
