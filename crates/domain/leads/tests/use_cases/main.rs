//! Tests of the use cases, over a store in memory and at a fixed hour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod assessment;
mod assign;
mod conversation;
mod create;
mod delete;
mod enquiry_mail;
mod failures;
mod model;
mod read;
mod reopen;
mod status;
mod suggestion;
mod support;
mod update;
mod vehicles;
mod versions;

/// The store of these tests meets its contract.
mod in_memory {
    use forecourt_accounts::Business;
    use forecourt_kernel::BusinessId;
    use forecourt_leads::testing::{
        MemoryStore, Surroundings, conversation_store_contract, lead_reader_contract, lead_store_contract,
    };

    #[tokio::test]
    async fn the_store_keeps_the_contract_of_leads() {
        let around = Surroundings::example(BusinessId::new(1), BusinessId::new(2));
        let mut store = MemoryStore::default();
        store.leads.know(&around);
        let book = lead_store_contract(&mut store, &around).await;
        lead_reader_contract(&mut store, &book).await;
    }

    #[tokio::test]
    async fn the_store_keeps_the_contract_of_conversations() {
        let [ours, theirs] = [1, 2].map(|id| Business::new(BusinessId::new(id), "acme", "Acme Cars"));
        conversation_store_contract(&mut MemoryStore::default(), &ours, &theirs).await;
    }
}
