//! Access: businesses, their keys, and the rules that every request meets before it reaches an area.
//!
//! The rules are values and functions. State that lasts between requests is behind the ports [`AccountStore`],
//! [`IdempotencyStore`] and [`RateCounters`].
//!
//! ```
//! use forecourt_accounts::{InvalidToken, Token};
//!
//! // A mistyped token is refused by its checksum, before any look-up.
//! assert_eq!("fck_0123456789abcdef.nonsense".parse::<Token>().unwrap_err(), InvalidToken);
//! ```
//!
//! The use cases of the other areas run for a [`Caller`]. A server makes a caller from a token ([`authenticate`]). A program that
//! runs use cases itself makes one from a [`Business`]:
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_kernel::{BusinessId, Scope};
//!
//! let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), Scope::LeadsRead);
//! assert!(by.may(Scope::LeadsRead) && !by.may(Scope::LeadsWrite));
//! ```

mod business;
mod caller;
mod conditions;
mod file;
mod idempotency;
mod key;
mod key_uses;
mod legal;
mod mail;
mod rate;
mod rules;
mod store;
mod template;
#[cfg(feature = "testing")]
pub mod testing;
mod validate;

pub use business::{Business, FinanceSettings, Plan, Settings, State};
pub use caller::{AuthenticationError, Caller, authenticate};
pub use conditions::{AccountRefusal, authorize_account};
pub use file::{BusinessFile, InvalidBusinessFile, SettingsFile};
pub use idempotency::{
    Fingerprint, IdempotencyKey, IdempotencyStore, InvalidIdempotencyKey, KeyUse, KeyedRequest, Shown, ShownRecord,
    StoredResponse,
};
pub use key::{ApiKey, InvalidToken, IssuedKey, KeyId, SecretHash, Token, issue_key};
pub use key_uses::{KeyUses, hour_of};
pub use legal::{BankAccount, Legal, LegalAddress, LegalFile};
pub use mail::{MailContent, MailKind, MailTexts, MailWording, Placeholder};
pub use rate::{LocalRateCounters, RateCounters, RateLimitStatus, RateLimits};
pub use rules::Rules;

pub use store::{AccountReader, AccountStore, StoredCredential};
pub use template::{InvalidTemplate, Template};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
