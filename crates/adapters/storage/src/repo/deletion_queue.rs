//! Deletions that are longer than one transaction.
//!
//! A deleted record is gone for every reader at once; an entry of `deletions` says that work is left. Each part of that work is a
//! transaction of its own, which locks the entry. So any other server takes over from one that dies, and no two do the same.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_dealership::{DeletionKind, DeletionQueue, ErasedPerson, OpenDeletion};
use forecourt_files::FileName;
use forecourt_kernel::{BusinessId, ContactId, LeadId, StoreResult, Timestamp, WebhookId};

use super::deletions::{code, kind};
use super::people;
use super::session::{Session, Write};
use crate::error::other;
use crate::schema::{deletions, erased_people, file_removals};
use crate::statement::{RunQueryDsl, skip_locked};

/// The number of erased people that spools are searched for at once.
const ERASED_AT_ONCE: i64 = 100;

#[async_trait]
impl DeletionQueue for Session<Write> {
    async fn open_deletions(&mut self, limit: u32) -> StoreResult<Vec<OpenDeletion>> {
        let open: Vec<(i64, i32, i64)> = deletions::table
            .order((deletions::business_id, deletions::kind, deletions::record))
            .limit(limit.into())
            .select((deletions::business_id, deletions::kind, deletions::record))
            .load(self.conn().await?)
            .await?;
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
        let state: Option<Vec<u8>> = skip_locked(entry.select(deletions::state))
            .get_optional(self.conn().await?)
            .await?;
        let Some(state) = state else {
            return Ok(false);
        };
        let more = match kind {
            DeletionKind::Contact => self.erase_more(business, ContactId::new(record), &state).await?,
            DeletionKind::Webhook => self.fail_pending(business, WebhookId::new(record)).await?,
            DeletionKind::Business => self.remove_owned(business).await?,
            DeletionKind::Lead => self.forget_more_of_lead(business, LeadId::new(record)).await?,
        };
        if !more {
            diesel::delete(entry).execute(self.conn().await?).await?;
        }
        Ok(more)
    }

    async fn erased_people(&mut self, now: Timestamp) -> StoreResult<Vec<ErasedPerson>> {
        let rows: Vec<(i64, i64, i64, Vec<u8>)> = erased_people::table
            .order((erased_people::until, erased_people::business_id, erased_people::contact))
            .limit(ERASED_AT_ONCE)
            .select((
                erased_people::business_id,
                erased_people::contact,
                erased_people::until,
                erased_people::keys,
            ))
            .load(self.conn().await?)
            .await?;
        let mut people = Vec::with_capacity(rows.len());
        for (business, contact, until, keys) in rows {
            if until <= now.epoch_seconds() {
                diesel::delete(erased_people::table.find((business, contact)))
                    .execute(self.conn().await?)
                    .await?;
                continue;
            }
            let (business, contact) = (BusinessId::new(business), ContactId::new(contact));
            let keys = self
                .dependencies
                .cipher()?
                .open(&keys, &people::erased_place(business, contact))?;
            people.push(ErasedPerson {
                business,
                contact,
                until: Timestamp::from_epoch_seconds(until),
                keys: serde_json::from_slice(&keys).map_err(other)?,
            });
        }
        Ok(people)
    }

    async fn file_removals(&mut self, limit: u32) -> StoreResult<Vec<(BusinessId, FileName)>> {
        let rows: Vec<(i64, String)> = file_removals::table
            .order((file_removals::business_id, file_removals::name))
            .limit(limit.into())
            .select((file_removals::business_id, file_removals::name))
            .load(self.conn().await?)
            .await?;
        let removal = |(business, name): (i64, String)| Ok((BusinessId::new(business), name.parse().map_err(other)?));
        rows.into_iter().map(removal).collect()
    }

    async fn key_digests(&mut self) -> StoreResult<bool> {
        Ok(self.key_blocks().await? + self.key_enquiry_mails().await? > 0)
    }

    async fn content_removed(&mut self, business: BusinessId, name: &FileName) -> StoreResult<()> {
        diesel::delete(file_removals::table.find((business.get(), name.as_str())))
            .execute(self.conn().await?)
            .await
            .map(drop)
    }
}
