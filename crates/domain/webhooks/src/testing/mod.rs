//! A store in memory, and what every store of webhooks must do.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

mod contract;
mod memory;

pub use contract::{a_webhook, webhook_store_contract};
pub use memory::{HoldsWebhooks, MemoryStore, MemoryWebhooks};
