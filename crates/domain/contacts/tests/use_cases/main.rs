//! Tests of the use cases, over a store in memory and at a fixed hour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod create;
mod delete;
mod duplicates;
mod failures;
mod follow_blocks;
mod login;
mod model;
mod notes;
mod read;
mod support;
mod update;

/// The store of these tests meets its contract.
mod in_memory {
    use forecourt_contacts::testing::{
        MemoryStore, contact_reader_contract, contact_store_contract, login_email_contract,
    };
    use forecourt_kernel::BusinessId;

    #[tokio::test]
    async fn the_store_keeps_the_contract() {
        let mut store = MemoryStore::default();
        let book = contact_store_contract(&mut store, BusinessId::new(1), BusinessId::new(2)).await;
        contact_reader_contract(&mut store, &book).await;
    }

    #[tokio::test]
    async fn the_store_keeps_the_contract_of_login_emails() {
        login_email_contract(&mut MemoryStore::default(), BusinessId::new(1)).await;
    }
}
