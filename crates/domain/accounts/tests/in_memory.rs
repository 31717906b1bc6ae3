//! The store in memory meets the contracts.

use forecourt_accounts::Business;
use forecourt_accounts::testing::{MemoryAccounts, account_store_contract, idempotency_store_contract};
use forecourt_kernel::{BusinessId, Timestamp};

#[tokio::test]
async fn businesses_and_keys() {
    let mut full = Business::new(BusinessId::new(0), "full", "Acme Cars");
    full.email = "office@acme.example".into();
    full.updated = Timestamp::from_epoch_seconds(9);
    account_store_contract(&mut MemoryAccounts::default(), &full).await;
}

#[tokio::test]
async fn answers() {
    let (ours, theirs) = (BusinessId::new(1), BusinessId::new(2));
    idempotency_store_contract(&mut MemoryAccounts::default(), ours, theirs).await;
}
