//! Tests of the use cases, on scripted storage and a clock that stands still.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod owning;
mod sending;
mod support;

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    use forecourt_kernel::BusinessId;
    use forecourt_webhooks::testing::{MemoryStore, webhook_store_contract};

    webhook_store_contract(&mut MemoryStore::default(), BusinessId::new(1), BusinessId::new(2)).await;
}
