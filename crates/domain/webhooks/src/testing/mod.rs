//! A store in memory, and the contract suite for stores of webhooks.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

mod contract;
mod memory;

pub use contract::{a_webhook, webhook_store_contract};
pub use memory::{HoldsWebhooks, MemoryStore, MemoryWebhooks};
