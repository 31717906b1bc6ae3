//! A store in memory, and the contract suite for stores of businesses, keys and answers.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

mod contract;
mod memory;

pub use contract::{account_store_contract, idempotency_store_contract};
pub use memory::{HoldsAccounts, MemoryAccounts};
