//! A team's own storage around the crate's records: transactions of its own.
//!
//! The ports of listings are large, so this store does not write them anew: it holds the records that the feature `testing` keeps in
//! memory (`MemoryListings`), and the ports come with them. The transactions are the team's own. Each is a copy of the committed tables, and
//! takes their place when it commits.
//!
//! A team can begin with such a store and write the ports itself once it has tables; the contract suite stays the same. Stores that are
//! written from nothing are the examples of this name in `forecourt-vehicles` and `forecourt-reviews`.

use std::sync::{Arc, Mutex, PoisonError};

use forecourt_kernel::{BusinessId, StoreError, StoreResult, Timestamp};
use forecourt_listings::ListingReader as _;
use forecourt_listings::testing::{HoldsListings, MemoryListings, listing_store_contract};

/// The committed tables. Clones are the same database.
#[derive(Clone, Default)]
struct Database(Arc<Mutex<Tables>>);

/// The tables, as a transaction finds or leaves them.
#[derive(Clone, Default)]
struct Tables {
    /// The number of transactions that have committed.
    commits: u64,
    listings: MemoryListings,
}

/// A transaction. Dropped uncommitted, it leaves nothing behind.
struct Transaction {
    database: Database,
    tables: Tables,
}

impl Database {
    fn begin(&self) -> Transaction {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Transaction {
            database: self.clone(),
            tables,
        }
    }
}

impl Transaction {
    /// Puts the copy in place. It is refused if another transaction has committed since it began.
    fn commit(mut self) -> StoreResult<()> {
        let mut committed = self.database.0.lock().unwrap_or_else(PoisonError::into_inner);
        if committed.commits != self.tables.commits {
            return Err(StoreError::Conflict);
        }
        self.tables.commits += 1;
        *committed = self.tables;
        Ok(())
    }
}

impl HoldsListings for Transaction {
    fn held_listings(&mut self) -> &mut MemoryListings {
        &mut self.tables.listings
    }
}

/// The proof. It is a test too: `cargo test --example own_storage`.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [ours, theirs] = [1, 2].map(BusinessId::new);
    let now = Timestamp::from_epoch_seconds(1_790_000_000);
    let database = Database::default();
    let mut store = database.begin();
    listing_store_contract(&mut store, ours, theirs).await;

    let mut late = database.begin();
    assert_eq!(
        late.manifest_state(ours, now).await?.revision,
        0,
        "nothing is committed yet"
    );
    store.commit()?;
    assert!(matches!(late.commit(), Err(StoreError::Conflict)));
    assert!(database.begin().manifest_state(ours, now).await?.revision > 0);

    let other = Database::default();
    listing_store_contract(&mut other.begin(), ours, theirs).await;
    let left = other.begin().manifest_state(ours, now).await?;
    assert_eq!(left.revision, 0, "what was dropped left nothing behind");
    Ok(())
}

#[test]
fn it_keeps_the_contract() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
