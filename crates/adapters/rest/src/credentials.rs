//! Resolves the header `Authorization` to a caller, mostly without a query of the database.

use std::{
    cell::RefCell,
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use actix_web::{HttpRequest, http::header};
use forecourt_accounts::{AuthenticationError, Caller, KeyId, KeyUses, StoredCredential, Token, authenticate};
use forecourt_dealership::Database;
use forecourt_kernel::Timestamp;

use crate::{code::Code, error::ApiError};

/// The time for which a look-up is trusted. Revocations and changes of a business must take effect within five seconds.
pub(crate) const CACHE_TTL: Duration = Duration::from_secs(2);
/// The number of cached keys at which expired ones are dropped.
const MAX_CACHED_KEYS: usize = 4096;

/// The keys that one worker has seen recently. A worker is one thread, so nothing is locked.
#[derive(Default)]
pub(crate) struct CredentialCache {
    entries: RefCell<HashMap<KeyId, Entry>>,
}

struct Entry {
    credential: StoredCredential,
    read: Instant,
}

/// Returns the token that a request carries.
///
/// # Errors
/// `authentication_required` if there is none, `authentication_invalid` if it is malformed.
pub(crate) fn token_of(request: &HttpRequest) -> Result<Token, ApiError> {
    let required = || {
        ApiError::new(
            Code::AUTHENTICATION_REQUIRED,
            "send a key as: Authorization: Bearer <key_id>.<secret>",
        )
    };
    let header = request.headers().get(header::AUTHORIZATION).ok_or_else(required)?;
    let invalid = |_| ApiError::from(AuthenticationError::Invalid);
    let text = str::from_utf8(header.as_bytes()).map_err(|_| ApiError::from(AuthenticationError::Invalid))?;
    let (scheme, token) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
        return Err(required());
    }
    token.trim().parse().map_err(invalid)
}

impl CredentialCache {
    /// Returns the caller whom `token` identifies, presented from `address`, and records the use of the key.
    ///
    /// # Errors
    /// As [`authenticate`] returns them, or if the database fails.
    pub(crate) async fn caller(
        &self,
        token: &Token,
        address: Option<IpAddr>,
        database: &dyn Database,
        uses: &KeyUses,
        now: Timestamp,
    ) -> Result<Caller, ApiError> {
        let validate = |stored: Option<&StoredCredential>| {
            let caller = authenticate(token, stored, address, now)?;
            if let Some(stored) = stored {
                uses.note(&stored.key, now);
            }
            Ok(caller)
        };
        if let Some(entry) = self.entries.borrow().get(token.key_id())
            && entry.read.elapsed() < CACHE_TTL
        {
            return validate(Some(&entry.credential));
        }
        let read = Instant::now();
        let stored = database.read().await?.credential(token.key_id()).await?;
        let validated = validate(stored.as_ref());
        if let Some(credential) = stored {
            let mut entries = self.entries.borrow_mut();
            if entries.len() >= MAX_CACHED_KEYS {
                entries.retain(|_, entry| entry.read.elapsed() < CACHE_TTL);
            }
            entries.insert(token.key_id().clone(), Entry { credential, read });
        }
        validated
    }
}
