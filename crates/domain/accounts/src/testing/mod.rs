//! A store in memory, and what every store of businesses, keys and answers must do.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

mod contract;
mod memory;

pub use contract::{account_store_contract, idempotency_store_contract};
pub use memory::{HoldsAccounts, MemoryAccounts};
