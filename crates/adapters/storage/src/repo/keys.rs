//! Brings what is encrypted from one secret key to another.

use diesel::prelude::*;
use forecourt_accounts::IdempotencyKey;
use forecourt_kernel::{BusinessId, ContactId, Random, StoreResult, WebhookId};

use super::meta::{self, SECRET_PROOF};
use super::{Conn, Engine, idempotency, people, webhooks};
use crate::error::other;
use crate::keys::{Forgotten, Resealed};
use crate::models::ERASURE;
use crate::schema::{contact_blocks, deletions, erased_people, forecourt_meta, idempotency_keys, lead_mails};
use crate::secrets::{Keyring, SecretKey, StoredKeys};
use crate::statement::{RunQueryDsl, for_no_key_update, for_update};

/// The number of rows that one transaction encrypts anew.
const RESEALED_AT_ONCE: i64 = 100;

const DIGEST_KEY: &str = "digest_key";
const ROTATING_FROM: &str = "rotating_from";

/// A row with something encrypted, as its kind, its business and its number or name there.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Webhook(i64, i64),
    Answer(i64, String),
    Erasure(i64, i64),
    Person(i64, i64),
}

impl Place {
    /// Comes before the first row of each kind.
    const STARTS: [Self; 4] = [
        Self::Webhook(0, 0),
        Self::Answer(0, String::new()),
        Self::Erasure(0, 0),
        Self::Person(0, 0),
    ];

    /// Names the place as it was named when the text was encrypted.
    fn context(&self) -> StoreResult<Vec<u8>> {
        Ok(match *self {
            Self::Webhook(business, _) => webhooks::place(BusinessId::new(business)),
            Self::Answer(business, ref key) => {
                let key: IdempotencyKey = key.parse().map_err(other)?;
                idempotency::place(BusinessId::new(business), &key)
            }
            Self::Erasure(business, contact) => {
                people::erasure_place(BusinessId::new(business), ContactId::new(contact))
            }
            Self::Person(business, contact) => people::erased_place(BusinessId::new(business), ContactId::new(contact)),
        })
    }

    /// Locks the next rows of the kind.
    async fn after(&self, conn: &mut Conn) -> StoreResult<Vec<(Self, Vec<u8>)>> {
        macro_rules! page {
            ($table:ident, $key:ident, $after:expr, $selected:expr) => {{
                let (business, key) = $after;
                let later = $table::business_id
                    .gt(business)
                    .or($table::business_id.eq(business).and($table::$key.gt(key)));
                let rows = $table::table
                    .filter(later)
                    .order(($table::business_id, $table::$key))
                    .limit(RESEALED_AT_ONCE)
                    .select($selected);
                for_no_key_update(rows)
            }};
        }
        let numbered = |place: fn(i64, i64) -> Self, rows: Vec<(i64, i64, Vec<u8>)>| -> Vec<(Self, Vec<u8>)> {
            let row = |(business, key, sealed)| (place(business, key), sealed);
            rows.into_iter().map(row).collect()
        };
        Ok(match self {
            Self::Webhook(business, id) => {
                use crate::schema::webhooks;
                let selected = (webhooks::business_id, webhooks::id, webhooks::secret);
                numbered(
                    Self::Webhook,
                    page!(webhooks, id, (*business, *id), selected).load(conn).await?,
                )
            }
            Self::Answer(business, key) => {
                let selected = (
                    idempotency_keys::business_id,
                    idempotency_keys::key,
                    idempotency_keys::body,
                );
                let rows = page!(idempotency_keys, key, (*business, key.clone()), selected);
                let rows: Vec<(i64, String, Option<Vec<u8>>)> = rows.load(conn).await?;
                let row = |(business, key, body): (i64, String, Option<Vec<u8>>)| {
                    (Self::Answer(business, key), body.unwrap_or_default())
                };
                rows.into_iter().map(row).collect()
            }
            Self::Erasure(business, contact) => {
                let selected = (deletions::business_id, deletions::record, deletions::state);
                let (business, contact) = (*business, *contact);
                let later = deletions::business_id
                    .gt(business)
                    .or(deletions::business_id.eq(business).and(deletions::record.gt(contact)));
                let rows = deletions::table
                    .filter(deletions::kind.eq(ERASURE))
                    .filter(later)
                    .order((deletions::business_id, deletions::record))
                    .limit(RESEALED_AT_ONCE)
                    .select(selected);
                numbered(Self::Erasure, for_no_key_update(rows).load(conn).await?)
            }
            Self::Person(business, contact) => {
                let selected = (erased_people::business_id, erased_people::contact, erased_people::keys);
                let rows = page!(erased_people, contact, (*business, *contact), selected);
                numbered(Self::Person, rows.load(conn).await?)
            }
        })
    }

    async fn write(&self, conn: &mut Conn, sealed: Vec<u8>) -> StoreResult<()> {
        match self {
            Self::Webhook(business, id) => {
                use crate::schema::webhooks;
                let row = webhooks::table.find((business, id));
                diesel::update(row).set(webhooks::secret.eq(sealed)).execute(conn).await
            }
            Self::Answer(business, key) => {
                let row = idempotency_keys::table.find((business, key));
                diesel::update(row)
                    .set(idempotency_keys::body.eq(Some(sealed)))
                    .execute(conn)
                    .await
            }
            Self::Erasure(business, contact) => {
                let row = deletions::table.find((business, ERASURE, contact));
                diesel::update(row).set(deletions::state.eq(sealed)).execute(conn).await
            }
            Self::Person(business, contact) => {
                let row = erased_people::table.find((business, contact));
                diesel::update(row)
                    .set(erased_people::keys.eq(sealed))
                    .execute(conn)
                    .await
            }
        }
        .map(drop)
    }

    const fn count(&self, resealed: &mut Resealed) {
        match self {
            Self::Webhook(..) => resealed.webhooks += 1,
            Self::Answer(..) => resealed.answers += 1,
            Self::Erasure(..) => resealed.erasures += 1,
            Self::Person(..) => resealed.people += 1,
        }
    }

    /// Notes a row that a lost key takes along.
    fn forget(&self, forgotten: &mut Forgotten) {
        match *self {
            Self::Webhook(business, id) => forgotten.webhooks.push((BusinessId::new(business), WebhookId::new(id))),
            Self::Answer(..) => forgotten.answers += 1,
            Self::Erasure(business, contact) => {
                forgotten
                    .erasures
                    .push((BusinessId::new(business), ContactId::new(contact)));
            }
            Self::Person(business, contact) => {
                forgotten
                    .people
                    .push((BusinessId::new(business), ContactId::new(contact)));
            }
        }
    }

    /// Drops what cannot be opened. Secrets of webhooks stay, until they are rotated; an erasure begins anew.
    async fn drop_lost(&self, conn: &mut Conn, keyring: &Keyring, random: &dyn Random) -> StoreResult<()> {
        match self {
            Self::Webhook(..) => Ok(()),
            Self::Answer(business, key) => {
                let row = idempotency_keys::table.find((business, key));
                diesel::delete(row).execute(conn).await.map(drop)
            }
            Self::Erasure(business, contact) => {
                let (business, contact) = (BusinessId::new(*business), ContactId::new(*contact));
                let state = people::nameless_erasure(contact)?;
                let context = people::erasure_place(business, contact);
                self.write(conn, keyring.seal(&state, &context, random)?).await
            }
            Self::Person(business, contact) => {
                let row = erased_people::table.find((business, contact));
                diesel::delete(row).execute(conn).await.map(drop)
            }
        }
    }
}

impl Engine {
    /// Returns what the database stores of its keys, with this proof from now on if it has none.
    pub(crate) async fn stored_keys(&self, proof: Option<String>) -> StoreResult<StoredKeys> {
        let stored = read_keys(&mut *self.read().await?).await?;
        let (None, Some(proof)) = (&stored.proof, proof) else {
            return Ok(stored);
        };
        let mut session = self.begin().await?;
        meta::add(&mut session, SECRET_PROOF, &proof).await?;
        // Another server may have been first.
        let stored = read_keys(&mut session).await?;
        session.commit().await?;
        Ok(stored)
    }

    pub(crate) async fn begin_rotation(&self, keyring: &Keyring, random: &dyn Random) -> StoreResult<()> {
        let mut session = self.begin().await?;
        let proof = forecourt_meta::table.find(SECRET_PROOF).select(forecourt_meta::value);
        let proof: Option<String> = for_update(proof).get_optional(&mut *session).await?;
        if proof.is_some_and(|proof| keyring.proves(&proof)) {
            // It has begun already.
            return Ok(());
        }
        let stored = read_keys(&mut session).await?;
        let digest_key = keyring.sealed_digest_key(&stored, random)?;
        meta::set(&mut session, DIGEST_KEY, digest_key).await?;
        if let Some(previous) = keyring.previous_id() {
            meta::set(&mut session, ROTATING_FROM, previous).await?;
        }
        let proof = keyring.proof(random)?;
        meta::set(&mut session, SECRET_PROOF, proof.clone()).await?;
        session.commit().await?;
        keyring.note_proof(&proof);
        Ok(())
    }

    pub(crate) async fn end_rotation(&self) -> StoreResult<()> {
        let mut session = self.begin().await?;
        diesel::delete(forecourt_meta::table.find(ROTATING_FROM))
            .execute(&mut *session)
            .await?;
        session.commit().await
    }

    pub(crate) async fn reseal(&self, keyring: &Keyring, random: &dyn Random) -> StoreResult<Resealed> {
        let mut resealed = Resealed::default();
        for start in Place::STARTS {
            let mut after = start;
            loop {
                let mut session = self.begin().await?;
                let rows = after.after(&mut session).await?;
                let Some((last, _)) = rows.last() else { break };
                after = last.clone();
                for (place, sealed) in rows {
                    match keyring.reseal(&sealed, &place.context()?, random) {
                        Ok(None) => {}
                        Ok(Some(anew)) => {
                            place.write(&mut session, anew).await?;
                            place.count(&mut resealed);
                        }
                        Err(_) => resealed.unreadable += 1,
                    }
                }
                session.commit().await?;
            }
        }
        Ok(resealed)
    }

    pub(crate) async fn forget_key(&self, key: &SecretKey, drop: bool, random: &dyn Random) -> StoreResult<Forgotten> {
        let keyring = Keyring::from(key.clone());
        let mut forgotten = Forgotten::default();
        for start in Place::STARTS {
            let mut after = start;
            loop {
                let mut session = self.begin().await?;
                let rows = after.after(&mut session).await?;
                let Some((last, _)) = rows.last() else { break };
                after = last.clone();
                for (place, sealed) in rows {
                    if keyring.open(&sealed, &place.context()?).is_err() {
                        place.forget(&mut forgotten);
                        if drop {
                            place.drop_lost(&mut session, &keyring, random).await?;
                        }
                    }
                }
                session.commit().await?;
            }
        }
        let mut session = self.begin().await?;
        let stored = read_keys(&mut session).await?;
        // The key of digests may be known although not everything is: then a change of keys was under way.
        let digests_open = stored.proof.is_some_and(|proof| keyring.proves(&proof));
        if !digests_open {
            forgotten.blocks = count(contact_blocks::table.count().get_result(&mut *session).await?);
            forgotten.enquiry_mails = count(lead_mails::table.count().get_result(&mut *session).await?);
        }
        if drop {
            if !digests_open {
                diesel::delete(contact_blocks::table).execute(&mut *session).await?;
                diesel::delete(lead_mails::table).execute(&mut *session).await?;
                diesel::delete(forecourt_meta::table.find(DIGEST_KEY))
                    .execute(&mut *session)
                    .await?;
            }
            diesel::delete(forecourt_meta::table.find(ROTATING_FROM))
                .execute(&mut *session)
                .await?;
            meta::set(&mut session, SECRET_PROOF, keyring.proof(random)?).await?;
        }
        session.commit().await?;
        Ok(forgotten)
    }
}

fn count(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or_default()
}

async fn read_keys(conn: &mut Conn) -> StoreResult<StoredKeys> {
    Ok(StoredKeys {
        proof: meta::find(conn, SECRET_PROOF).await?,
        digest_key: meta::find(conn, DIGEST_KEY).await?,
        rotating_from: meta::find(conn, ROTATING_FROM).await?,
    })
}
