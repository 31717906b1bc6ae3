//! The stores in memory pass the contract suites.

use forecourt_files::testing::{MemoryFileRegister, MemoryFileStore, file_register_contract, file_store_contract};
use forecourt_kernel::BusinessId;

#[tokio::test]
async fn content_in_memory() {
    file_store_contract(&MemoryFileStore::default(), BusinessId::new(1), BusinessId::new(2)).await;
}

#[tokio::test]
async fn records_in_memory() {
    file_register_contract(
        &mut MemoryFileRegister::default(),
        BusinessId::new(1),
        BusinessId::new(2),
    )
    .await;
}
