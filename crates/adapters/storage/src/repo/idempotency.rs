//! Answers that are stored for retries.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::{IdempotencyKey, IdempotencyStore, KeyUse, KeyedRequest, Shown, ShownRecord, StoredResponse};
use forecourt_kernel::{BoxError, BusinessId, ContactId, StoreError, StoreResult, Timestamp};

use super::people::{APPOINTMENT, CALL, DEAL, INVOICE, JOB, LEAD, ORDER, VEHICLE};
use super::session::{Session, Write};
use crate::error::other;
use crate::models::AnswerRow;
use crate::schema::idempotency_keys;
use crate::secrets::Keyring;
use crate::statement::RunQueryDsl;

/// The time of an answer, the fingerprint of its request, its status and its body.
type Stored = (i64, Vec<u8>, Option<i32>, Option<Vec<u8>>);

fn outdated(now: Timestamp) -> i64 {
    now.plus_seconds(-<dyn IdempotencyStore>::KEPT_SECONDS).epoch_seconds()
}

#[async_trait]
impl IdempotencyStore for Session<Write> {
    async fn key_use(
        &mut self,
        business: BusinessId,
        KeyedRequest { key, fingerprint }: &KeyedRequest,
        now: Timestamp,
    ) -> StoreResult<KeyUse> {
        if self.is_buffered(business, key.as_str()) {
            // The answer is available once that is committed.
            return Err(StoreError::Conflict);
        }
        let row = idempotency_keys::table.find((business.get(), key.as_str()));
        let stored: Option<Stored> = row
            .select((
                idempotency_keys::created,
                idempotency_keys::fingerprint,
                idempotency_keys::status,
                idempotency_keys::body,
            ))
            .get_optional(self.shared_conn().await?)
            .await?;
        let Some((created, stored, status, body)) = stored else {
            return Ok(KeyUse::Free);
        };
        if created <= outdated(now) {
            // The age is checked again: another request may have used the key in the meantime.
            diesel::delete(row.filter(idempotency_keys::created.le(outdated(now))))
                .execute(self.conn().await?)
                .await?;
            return Ok(KeyUse::Free);
        }
        // An earlier version stored it without a key.
        let keyed = keyed_fingerprint(self.dependencies.cipher()?, fingerprint.as_bytes());
        if stored != keyed && stored != fingerprint.as_bytes() {
            return Ok(KeyUse::Reused);
        }
        let (Some(status), Some(body)) = (status, body) else {
            return Err(StoreError::Other(BoxError::from("an idempotency key has no answer")));
        };
        let body = self.dependencies.cipher()?.open(&body, &place(business, key))?;
        let status = u16::try_from(status).map_err(other)?;
        Ok(KeyUse::Answered(StoredResponse { status, body }))
    }

    async fn store_response(
        &mut self,
        business: BusinessId,
        KeyedRequest { key, fingerprint }: &KeyedRequest,
        now: Timestamp,
        response: &StoredResponse,
        shows: Shown,
    ) -> StoreResult<()> {
        let sealed = self.dependencies.cipher()?.seal(
            &response.body,
            &place(business, key),
            self.dependencies.random.as_ref(),
        )?;
        let Shown { contact, record } = shows;
        let (kind, record) = match record {
            None => (None, None),
            Some(ShownRecord::Lead(id)) => (Some(LEAD), Some(id.get())),
            Some(ShownRecord::Vehicle(id)) => (Some(VEHICLE), Some(id.get())),
            Some(ShownRecord::Appointment(id)) => (Some(APPOINTMENT), Some(id.get())),
            Some(ShownRecord::Call(id)) => (Some(CALL), Some(id.get())),
            Some(ShownRecord::Job(id)) => (Some(JOB), Some(id.get())),
            Some(ShownRecord::Invoice(id)) => (Some(INVOICE), Some(id.get())),
            Some(ShownRecord::Order(id)) => (Some(ORDER), Some(id.get())),
            Some(ShownRecord::Deal(id)) => (Some(DEAL), Some(id)),
        };
        let fingerprint = keyed_fingerprint(self.dependencies.cipher()?, fingerprint.as_bytes()).to_vec();
        let row = AnswerRow {
            business_id: business.get(),
            key: key.as_str().to_owned(),
            fingerprint,
            created: now.epoch_seconds(),
            status: i32::from(response.status),
            body: sealed,
            contact: contact.map(ContactId::get),
            kind,
            record,
        };
        let answer = diesel::insert_into(idempotency_keys::table).values(row);
        self.send_named_later(business, key.as_str().to_owned(), answer).await
    }

    async fn purge_expired(&mut self, now: Timestamp, limit: u32) -> StoreResult<u32> {
        let expired: Vec<(i64, String)> = idempotency_keys::table
            .filter(idempotency_keys::created.le(outdated(now)))
            .order(idempotency_keys::created)
            .limit(limit.into())
            .select((idempotency_keys::business_id, idempotency_keys::key))
            .load(self.conn().await?)
            .await?;
        for (business, key) in &expired {
            // The age is checked again: a request may have claimed the key in the meantime.
            let row = idempotency_keys::table.find((business, key));
            diesel::delete(row.filter(idempotency_keys::created.le(outdated(now))))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(u32::try_from(expired.len()).unwrap_or(limit))
    }
}

/// Computes the digest that distinguishes a request from others with its key. The fingerprint covers the whole request.
fn keyed_fingerprint(cipher: &Keyring, fingerprint: &[u8]) -> [u8; 32] {
    cipher.digest("fingerprint", fingerprint)
}

/// Names the row that an answer is encrypted for.
pub(super) fn place(business: BusinessId, key: &IdempotencyKey) -> Vec<u8> {
    format!("idempotency/{business}/{}", key.as_str()).into_bytes()
}
