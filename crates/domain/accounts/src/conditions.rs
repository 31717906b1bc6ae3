//! The conditions that an account must meet, in the order in which they are checked (contract, "Authentication" rule 6
//! and its code table; decisions §3).

use crate::{Business, Plan, State};

/// The first condition that a key's business does not meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum AccountRefusal {
    /// The key belongs to no business.
    #[error("this key has no business")]
    BusinessRequired,
    /// The key's business no longer exists.
    #[error("this key's business no longer exists")]
    BusinessNotFound,
    /// It has not completed verification.
    #[error("the business has not completed the required verification")]
    BusinessUnverified,
    /// Its account is frozen.
    #[error("the account is frozen")]
    AccountFrozen,
    /// Its account is suspended for billing.
    #[error("the account is suspended for billing")]
    AccountSuspended,
    /// It is a demonstration account.
    #[error("demo accounts have no API access")]
    AccountDemo,
    /// Its account is read-only.
    #[error("the account is read-only")]
    AccountReadOnly,
    /// Its plan has no API access.
    #[error("the API needs the Growth plan or above")]
    PlanUpgradeRequired,
    /// It has not been granted the API.
    #[error("API 2.0 access has not been granted")]
    ApiAccessRequired,
}

/// Checks whether `business` may use the API.
///
/// # Errors
/// The first condition that it does not meet.
pub fn authorize_account(business: &Business) -> Result<(), AccountRefusal> {
    if !business.verified {
        return Err(AccountRefusal::BusinessUnverified);
    }
    match business.state {
        State::Active => {}
        State::Frozen => return Err(AccountRefusal::AccountFrozen),
        State::Suspended => return Err(AccountRefusal::AccountSuspended),
        State::Demo => return Err(AccountRefusal::AccountDemo),
        State::ReadOnly => return Err(AccountRefusal::AccountReadOnly),
    }
    if business.plan < Plan::Growth {
        return Err(AccountRefusal::PlanUpgradeRequired);
    }
    if !business.api_access {
        return Err(AccountRefusal::ApiAccessRequired);
    }
    Ok(())
}
