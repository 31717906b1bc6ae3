//! A team's own storage around the crate's records: transactions, and an outbox of its own.
//!
//! The ports of leads are large, so this store does not write them anew: it holds the records that the feature `testing` keeps in
//! memory (`MemoryLeads`), and the ports come with them. The transactions are the team's own. Each is a copy of the committed tables, and
//! takes their place when it commits.
//!
//! A team can begin with such a store and write the ports itself once it has tables; the contract suite stays the same. Stores that are
//! written from nothing are the examples of this name in `forecourt-vehicles` and `forecourt-reviews`; `docs/examples/enquiry-desk`
//! writes the ports of leads and contacts in SQL.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_kernel::testing::{HoldsMails, MemoryMails};
use forecourt_kernel::{BusinessId, EventLog, NewEvent, StoreError, StoreResult};
use forecourt_leads::LeadReader as _;
use forecourt_leads::testing::{
    HoldsLeads, MemoryLeads, Surroundings, conversation_store_contract, lead_reader_contract, lead_store_contract,
};

/// The committed tables. Clones are the same database.
#[derive(Clone, Default)]
struct Database(Arc<Mutex<Tables>>);

/// The tables, as a transaction finds or leaves them.
#[derive(Clone, Default)]
struct Tables {
    /// The number of transactions that have committed.
    commits: u64,
    leads: MemoryLeads,
    mails: MemoryMails,
    /// The messages that are still to be sent to the team's other programs, a line for each event.
    outbox: Vec<String>,
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

impl HoldsLeads for Transaction {
    fn held_leads(&mut self) -> &mut MemoryLeads {
        &mut self.tables.leads
    }
}

impl HoldsMails for Transaction {
    fn held_mails(&mut self) -> &mut MemoryMails {
        &mut self.tables.mails
    }
}

#[async_trait]
impl EventLog for Transaction {
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()> {
        let NewEvent { name, data, .. } = event;
        self.tables.outbox.push(format!("{business} {} {data}", name.as_str()));
        Ok(())
    }
}

/// The proof. It is a test too: `cargo test --example own_storage`.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [ours, theirs] = [1, 2].map(BusinessId::new);
    let (database, around) = (Database::default(), Surroundings::example(ours, theirs));
    let mut store = database.begin();
    store.tables.leads.know(&around);
    let book = lead_store_contract(&mut store, &around).await;
    let id = store.tables.leads.all().next().ok_or("the contract leaves leads")?.id;

    let mut late = database.begin();
    assert_eq!(late.lead(ours, id).await?, None, "it is not committed yet");
    store.commit()?;
    assert!(matches!(late.commit(), Err(StoreError::Conflict)));
    lead_reader_contract(&mut database.begin(), &book).await;

    let [ours, theirs] = [3, 4].map(|id| Business::new(BusinessId::new(id), "acme", "Acme Cars"));
    conversation_store_contract(&mut database.begin(), &ours, &theirs).await;
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
