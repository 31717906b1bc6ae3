//! A team's own storage around the crate's records: transactions of its own.
//!
//! The ports of webhooks are large, so this store does not write them anew: it holds the records that the feature `testing` keeps in
//! memory (`MemoryWebhooks`), and the ports come with them. The transactions are the team's own. Each is a copy of the committed tables, and
//! takes their place when it commits.
//!
//! A team can begin with such a store and write the ports itself once it has tables; the contract suite stays the same. Stores that are
//! written from nothing are the examples of this name in `forecourt-vehicles` and `forecourt-reviews`.

use std::sync::{Arc, Mutex, PoisonError};

use forecourt_kernel::testing::{HoldsEvents, HoldsMails, MemoryEvents, MemoryMails};
use forecourt_kernel::{BusinessId, EventSequence, StoreError, StoreResult};
use forecourt_webhooks::WebhookReader as _;
use forecourt_webhooks::testing::{HoldsWebhooks, MemoryWebhooks, webhook_store_contract};

/// The committed tables. Clones are the same database.
#[derive(Clone, Default)]
struct Database(Arc<Mutex<Tables>>);

/// The tables, as a transaction finds or leaves them.
#[derive(Clone, Default)]
struct Tables {
    /// The number of transactions that have committed.
    commits: u64,
    webhooks: MemoryWebhooks,
    /// The events that webhooks report.
    events: MemoryEvents,
    mails: MemoryMails,
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

impl HoldsWebhooks for Transaction {
    fn held_webhooks(&mut self) -> &mut MemoryWebhooks {
        &mut self.tables.webhooks
    }
}

impl HoldsEvents for Transaction {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.tables.events
    }
}

impl HoldsMails for Transaction {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.tables.mails
    }
}

/// The proof. It is a test too: `cargo test --example own_storage`.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [ours, theirs] = [1, 2].map(BusinessId::new);
    let database = Database::default();
    let mut store = database.begin();
    webhook_store_contract(&mut store, ours, theirs).await;

    let mut late = database.begin();
    assert_eq!(
        late.latest_event(ours).await?,
        EventSequence(0),
        "nothing is committed yet"
    );
    store.commit()?;
    assert!(matches!(late.commit(), Err(StoreError::Conflict)));
    assert!(database.begin().latest_event(ours).await? > EventSequence(0));

    webhook_store_contract(&mut database.begin(), BusinessId::new(3), BusinessId::new(4)).await;
    assert_eq!(
        database.begin().tables.commits,
        1,
        "what was dropped left nothing behind"
    );
    Ok(())
}

#[test]
fn it_keeps_the_contract() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
