//! Answers to be given again.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::query_dsl::methods;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use forecourt_accounts::{Claim, Fingerprint, IdempotencyKey, IdempotencyStore, Shown, ShownRecord, StoredResponse};
use forecourt_kernel::{BoxError, BusinessId, ContactId, StoreError, StoreResult, Timestamp};

use super::contacts::{LEAD, VEHICLE};
use super::database::Writing;
use crate::error::{other, store_error};
use crate::models::AnswerRow;
use crate::schema::idempotency_keys;

/// What a row holds of an answer, beside the fingerprint of its request.
type Stored = (Vec<u8>, Option<i32>, Option<Vec<u8>>);

fn outdated(now: Timestamp) -> i64 {
    now.plus_seconds(-<dyn IdempotencyStore>::KEPT_SECONDS).epoch_seconds()
}

#[async_trait]
impl IdempotencyStore for Writing {
    async fn claim(
        &mut self,
        business: BusinessId,
        key: &IdempotencyKey,
        fingerprint: Fingerprint,
        now: Timestamp,
    ) -> StoreResult<Claim> {
        // The insertion waits for any other open transaction that has the key.
        let insertion = diesel::insert_into(idempotency_keys::table)
            .values((
                idempotency_keys::business_id.eq(business.get()),
                idempotency_keys::key.eq(key.as_str()),
                idempotency_keys::fingerprint.eq(fingerprint.as_bytes().as_slice()),
                idempotency_keys::created.eq(now.epoch_seconds()),
            ))
            .on_conflict((idempotency_keys::business_id, idempotency_keys::key))
            .do_update()
            .set((
                idempotency_keys::fingerprint.eq(excluded(idempotency_keys::fingerprint)),
                idempotency_keys::created.eq(excluded(idempotency_keys::created)),
                idempotency_keys::status.eq(None::<i32>),
                idempotency_keys::body.eq(None::<Vec<u8>>),
                idempotency_keys::contact.eq(None::<i64>),
                idempotency_keys::kind.eq(None::<i32>),
                idempotency_keys::record.eq(None::<i64>),
            ));
        let claimed = methods::FilterDsl::filter(insertion, idempotency_keys::created.le(outdated(now)))
            .execute(self.conn().await?)
            .await
            .map_err(store_error)?;
        if claimed > 0 {
            return Ok(Claim::Fresh);
        }
        let (stored, status, body): Stored = idempotency_keys::table
            .find((business.get(), key.as_str()))
            .select((
                idempotency_keys::fingerprint,
                idempotency_keys::status,
                idempotency_keys::body,
            ))
            .get_result(self.conn().await?)
            .await
            .map_err(store_error)?;
        if stored != fingerprint.as_bytes() {
            return Ok(Claim::Reused);
        }
        let (Some(status), Some(body)) = (status, body) else {
            return Err(StoreError::Other(BoxError::from(
                "an idempotency key was committed without its answer",
            )));
        };
        let body = self.tools.vault()?.open(&body, &place(business, key))?;
        let status = u16::try_from(status).map_err(other)?;
        Ok(Claim::Replay(StoredResponse { status, body }))
    }

    async fn store_response(
        &mut self,
        business: BusinessId,
        key: &IdempotencyKey,
        response: &StoredResponse,
        shows: Shown,
    ) -> StoreResult<()> {
        let sealed = self
            .tools
            .vault()?
            .seal(&response.body, &place(business, key), self.tools.random.as_ref())?;
        let Shown { contact, record } = shows;
        let (kind, record) = match record {
            None => (None, None),
            Some(ShownRecord::Lead(id)) => (Some(LEAD), Some(id.get())),
            Some(ShownRecord::Vehicle(id)) => (Some(VEHICLE), Some(id.get())),
        };
        self.gather(business).await?.answer(AnswerRow {
            business_id: business.get(),
            key: key.as_str().to_owned(),
            status: Some(i32::from(response.status)),
            body: Some(sealed),
            contact: contact.map(ContactId::get),
            kind,
            record,
        });
        Ok(())
    }

    async fn unclaim(&mut self, business: BusinessId, key: &IdempotencyKey) -> StoreResult<()> {
        // What the claim took the place of, if anything, was outdated.
        diesel::delete(idempotency_keys::table.find((business.get(), key.as_str())))
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }

    async fn forget_expired(&mut self, now: Timestamp, limit: u32) -> StoreResult<u32> {
        let expired: Vec<(i64, String)> = idempotency_keys::table
            .filter(idempotency_keys::created.le(outdated(now)))
            .order(idempotency_keys::created)
            .limit(limit.into())
            .select((idempotency_keys::business_id, idempotency_keys::key))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        for (business, key) in &expired {
            // The age is looked at again: a request may have claimed the key in the meantime.
            let row = idempotency_keys::table.find((business, key));
            diesel::delete(row.filter(idempotency_keys::created.le(outdated(now))))
                .execute(self.conn().await?)
                .await
                .map_err(store_error)?;
        }
        Ok(u32::try_from(expired.len()).unwrap_or(limit))
    }
}

/// Names the row that an answer is encrypted for.
pub(super) fn place(business: BusinessId, key: &IdempotencyKey) -> Vec<u8> {
    format!("idempotency/{business}/{}", key.as_str()).into_bytes()
}
