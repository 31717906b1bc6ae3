//! Authentication: from a token to the caller.

use std::{net::IpAddr, sync::Arc};

use forecourt_kernel::{BusinessId, Scope, ScopeSet, Timestamp};

use crate::{AccountRefusal, Business, KeyId, StoredCredential, Token, authorize_account};

/// The caller: a valid key, and its business as it was at most a few seconds ago.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The key.
    pub key: KeyId,
    /// The key's permissions.
    pub scopes: ScopeSet,
    /// Its business.
    pub business: Arc<Business>,
}

impl Caller {
    /// Makes a caller of `business` that has no key of this server, for a program that runs the use cases itself, or for a test.
    /// All such callers have the same [`KeyId`].
    ///
    /// ```
    /// # use forecourt_accounts::{Business, Caller};
    /// # use forecourt_kernel::{BusinessId, ScopeSet};
    /// let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
    /// ```
    pub fn of(business: impl Into<Arc<Business>>, scopes: impl Into<ScopeSet>) -> Self {
        Self {
            key: KeyId::internal(),
            scopes: scopes.into(),
            business: business.into(),
        }
    }

    /// The business whose records the caller sees.
    pub fn business_id(&self) -> BusinessId {
        self.business.id
    }

    /// Returns `true` if the caller has the permission `scope`.
    pub const fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(scope)
    }
}

/// The reason for refusing a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// It matches no key.
    #[error("the token matches no active key")]
    Invalid,
    /// Its key was revoked.
    #[error("the key was revoked")]
    Revoked,
    /// Its key has expired.
    #[error("the key has expired")]
    Expired,
    /// Its key is bound to other addresses.
    #[error("this key may not be used from this address")]
    Elsewhere,
    /// The key is good, but its account may not use the API.
    #[error(transparent)]
    Refused(#[from] AccountRefusal),
}

/// Checks a token that is presented from `address`, if that is known, against the stored key with its id.
///
/// # Errors
/// In the order of decisions §3: first the state of the key, then the conditions of its account.
pub fn authenticate(
    token: &Token,
    stored: Option<&StoredCredential>,
    address: Option<IpAddr>,
    now: Timestamp,
) -> Result<Caller, AuthenticationError> {
    let StoredCredential { key, business } = stored.ok_or(AuthenticationError::Invalid)?;
    if !token.secret_hash().matches(&key.secret_hash) {
        return Err(AuthenticationError::Invalid);
    }
    if key.revoked.is_some() {
        return Err(AuthenticationError::Revoked);
    }
    if key.expires.is_some_and(|expires| expires <= now) {
        return Err(AuthenticationError::Expired);
    }
    if !key.may_be_used_from(address) {
        return Err(AuthenticationError::Elsewhere);
    }
    if key.business.is_none() {
        return Err(AccountRefusal::BusinessRequired.into());
    }
    let business = business.as_ref().ok_or(AccountRefusal::BusinessNotFound)?;
    authorize_account(business)?;
    Ok(Caller {
        key: key.id.clone(),
        scopes: key.scopes,
        business: Arc::clone(business),
    })
}
