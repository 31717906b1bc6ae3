//! Businesses, keys and stored answers in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, StoreError, StoreResult, Timestamp};

use crate::{
    AccountReader, AccountStore, ApiKey, Business, Fingerprint, IdempotencyStore, KeyId, KeyUse, KeyedRequest, Shown,
    StoredCredential, StoredResponse,
};

/// An answer with the fingerprint of its request.
#[derive(Clone, Debug)]
struct Answer {
    fingerprint: Fingerprint,
    stored: Timestamp,
    response: StoredResponse,
}

/// Businesses, keys and stored answers in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryAccounts {
    businesses: BTreeMap<BusinessId, Business>,
    keys: Vec<ApiKey>,
    answers: BTreeMap<(BusinessId, String), Answer>,
    last_id: i64,
}

impl MemoryAccounts {
    /// All businesses, oldest first.
    pub fn businesses(&self) -> impl ExactSizeIterator<Item = &Business> {
        self.businesses.values()
    }

    /// All keys, oldest first.
    pub fn keys(&self) -> &[ApiKey] {
        &self.keys
    }

    /// The number of stored answers.
    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    fn refuse_taken_tag(&self, business: &Business) -> StoreResult<()> {
        let mut others = self.businesses.values().filter(|other| other.id != business.id);
        if others.any(|other| other.tag == business.tag) {
            return Err(StoreError::Duplicate("businesses_tag_key".into()));
        }
        Ok(())
    }

    fn expired(&self, now: Timestamp) -> impl Iterator<Item = &(BusinessId, String)> {
        let kept = self.answers.iter().filter(move |(_, answer)| is_expired(answer, now));
        kept.map(|(key, _)| key)
    }
}

fn is_expired(answer: &Answer, now: Timestamp) -> bool {
    answer.stored.plus_seconds(<dyn IdempotencyStore>::KEPT_SECONDS) <= now
}

/// A type that keeps businesses, keys and answers in memory, perhaps with other records. It implements [`AccountStore`] and
/// [`IdempotencyStore`].
pub trait HoldsAccounts: Send {
    /// The businesses, keys and answers.
    fn held_accounts(&mut self) -> &mut MemoryAccounts;

    /// Removes what a deleted business owns in other stores.
    fn drop_property(&mut self, _business: BusinessId) {}
}

/// On its own it is a complete store.
impl HoldsAccounts for MemoryAccounts {
    fn held_accounts(&mut self) -> &mut MemoryAccounts {
        self
    }
}

#[async_trait]
impl<S: HoldsAccounts> AccountReader for S {
    async fn credential(&mut self, key: &KeyId) -> StoreResult<Option<StoredCredential>> {
        let held = self.held_accounts();
        let key = held.keys.iter().find(|stored| stored.id == *key);
        Ok(key.map(|key| StoredCredential {
            key: key.clone(),
            business: key
                .business
                .and_then(|id| held.businesses.get(&id).cloned().map(Arc::new)),
        }))
    }

    async fn business(&mut self, id: BusinessId) -> StoreResult<Option<Business>> {
        Ok(self.held_accounts().businesses.get(&id).cloned())
    }

    async fn business_by_tag(&mut self, tag: &str) -> StoreResult<Option<Business>> {
        let mut businesses = self.held_accounts().businesses.values();
        Ok(businesses.find(|business| business.tag == tag).cloned())
    }

    async fn businesses(&mut self) -> StoreResult<Vec<Business>> {
        let mut all: Vec<_> = self.held_accounts().businesses.values().cloned().collect();
        all.sort_by(|one, other| one.tag.cmp(&other.tag));
        Ok(all)
    }

    async fn keys(&mut self, business: Option<BusinessId>) -> StoreResult<Vec<ApiKey>> {
        let keys = self.held_accounts().keys.iter().rev();
        let mut wanted: Vec<_> = keys
            .filter(|key| business.is_none() || key.business == business)
            .cloned()
            .collect();
        wanted.sort_by_key(|key| std::cmp::Reverse(key.created));
        Ok(wanted)
    }
}

#[async_trait]
impl<S: HoldsAccounts> AccountStore for S {
    async fn insert_business(&mut self, business: &Business) -> StoreResult<BusinessId> {
        let held = self.held_accounts();
        let id = BusinessId::new(held.last_id + 1);
        let stored = Business { id, ..business.clone() };
        held.refuse_taken_tag(&stored)?;
        held.last_id += 1;
        held.businesses.insert(id, stored);
        Ok(id)
    }

    async fn update_business(&mut self, business: &Business) -> StoreResult<()> {
        let held = self.held_accounts();
        held.refuse_taken_tag(business)?;
        if let Some(stored) = held.businesses.get_mut(&business.id) {
            *stored = business.clone();
        }
        Ok(())
    }

    async fn delete_business(&mut self, id: BusinessId) -> StoreResult<()> {
        let held = self.held_accounts();
        held.businesses.remove(&id);
        held.answers.retain(|(owner, _), _| *owner != id);
        self.drop_property(id);
        Ok(())
    }

    async fn insert_key(&mut self, key: &ApiKey) -> StoreResult<()> {
        self.held_accounts().keys.push(key.clone());
        Ok(())
    }

    async fn revoke_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool> {
        let mut keys = self.held_accounts().keys.iter_mut();
        let Some(key) = keys.find(|stored| stored.id == *key) else {
            return Ok(false);
        };
        key.revoked.get_or_insert(at);
        Ok(true)
    }

    async fn expire_key(&mut self, key: &KeyId, at: Timestamp) -> StoreResult<bool> {
        let mut keys = self.held_accounts().keys.iter_mut();
        let standing = keys.find(|stored| stored.id == *key && stored.revoked.is_none());
        Ok(standing.map(|key| key.expires = Some(at)).is_some())
    }

    async fn note_key_uses(&mut self, uses: &[(KeyId, Timestamp)]) -> StoreResult<()> {
        for key in &mut self.held_accounts().keys {
            let used = uses.iter().find(|(used, _)| *used == key.id);
            key.last_used = key.last_used.max(used.map(|(_, hour)| *hour));
        }
        Ok(())
    }
}

#[async_trait]
impl<S: HoldsAccounts> IdempotencyStore for S {
    async fn key_use(&mut self, business: BusinessId, request: &KeyedRequest, now: Timestamp) -> StoreResult<KeyUse> {
        let key = (business, request.key.as_str().to_owned());
        let known = self
            .held_accounts()
            .answers
            .get(&key)
            .filter(|answer| !is_expired(answer, now));
        Ok(match known {
            None => KeyUse::Free,
            Some(answer) if answer.fingerprint == request.fingerprint => KeyUse::Answered(answer.response.clone()),
            Some(_) => KeyUse::Reused,
        })
    }

    async fn store_response(
        &mut self,
        business: BusinessId,
        request: &KeyedRequest,
        now: Timestamp,
        response: &StoredResponse,
        _: Shown,
    ) -> StoreResult<()> {
        let answer = Answer {
            fingerprint: request.fingerprint,
            stored: now,
            response: response.clone(),
        };
        let key = (business, request.key.as_str().to_owned());
        self.held_accounts().answers.insert(key, answer);
        Ok(())
    }

    async fn purge_expired(&mut self, now: Timestamp, limit: u32) -> StoreResult<u32> {
        let held = self.held_accounts();
        let expired: Vec<_> = held.expired(now).take(limit as usize).cloned().collect();
        for key in &expired {
            held.answers.remove(key);
        }
        Ok(u32::try_from(expired.len()).unwrap_or(u32::MAX))
    }
}
