//! Stores the times of the last uses of keys.

use std::{sync::Arc, time::Duration};

use forecourt_accounts::KeyUses;
use forecourt_dealership::Database;
use forecourt_kernel::{BoxError, StoreError};

use super::job::{Job, Ports, Round};
use crate::{shutdown::Shutdown, transaction::transact};

/// The number of keys that one transaction stores.
const BATCH: usize = 100;

/// The job that stores uses. Each key is stored at most once an hour, so storing can follow soon after the use.
#[derive(Clone)]
pub(super) struct StoringKeyUses {
    database: Arc<dyn Database>,
    uses: Arc<KeyUses>,
}

impl StoringKeyUses {
    pub(super) fn new(ports: &Ports) -> Self {
        Self {
            database: Arc::clone(&ports.database),
            uses: Arc::clone(&ports.key_uses),
        }
    }
}

impl Job for StoringKeyUses {
    const NAME: &'static str = "key_uses";
    const REST: Duration = Duration::from_secs(2);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        store_key_uses(&*self.database, &self.uses).await?;
        Ok(Round::Done)
    }
}

/// Stores the recorded uses; a use that cannot be stored stays recorded.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn store_key_uses(database: &dyn Database, uses: &KeyUses) -> Result<(), StoreError> {
    let mut taken = uses.take();
    while !taken.is_empty() {
        let rest = taken.split_off(BATCH.min(taken.len()));
        let stored = transact::<_, StoreError>(database, async |session| session.note_key_uses(&taken).await).await;
        if let Err(error) = stored {
            uses.put_back(taken.into_iter().chain(rest));
            return Err(error);
        }
        taken = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use forecourt_accounts::issue_key;
    use forecourt_kernel::{Clock as _, ScopeSet};

    use super::*;
    use crate::{
        memory::{MemoryDatabase, clock_at},
        system::SystemRandom,
    };

    #[tokio::test]
    async fn what_cannot_be_stored_is_stored_later() {
        let (database, now, uses) = (MemoryDatabase::default(), clock_at(7_201).now(), KeyUses::default());
        let mut session = database.begin().await.unwrap();
        for _ in 0..=2 * BATCH {
            let issued = issue_key(None, ScopeSet::NONE, Vec::new(), None, now, &SystemRandom);
            session.insert_key(&issued.key).await.unwrap();
            uses.note(&issued.key, now);
        }
        session.commit().await.unwrap();
        database.cut(true);
        assert!(store_key_uses(&database, &uses).await.is_err());
        database.cut(false);
        let before = database.sessions();
        store_key_uses(&database, &uses).await.unwrap();
        assert_eq!(database.sessions() - before, 3, "in parts");
        let hour = clock_at(7_200).now();
        assert!(
            database
                .state()
                .accounts
                .keys()
                .iter()
                .all(|key| key.last_used == Some(hour))
        );
        store_key_uses(&database, &uses).await.unwrap();
        assert_eq!(database.sessions() - before, 3, "once");
    }
}
