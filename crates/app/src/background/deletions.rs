//! Finishes deletions that are longer than one transaction: of contacts, leads, webhooks and businesses. It also removes data
//! of deleted records outside the database: the content of files, and mails in the spool that name an erased person.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use forecourt_dealership::{Database, DeletionKind, ErasedPerson, OpenDeletion};
use forecourt_files::{FileName, FileStore, FileStoreError};
use forecourt_kernel::{BoxError, BusinessId, Clock, ContactId, Mailer, Person, StoreError, Timestamp};

use super::job::{Job, Ports, Round};
use crate::{output::chain, shutdown::Shutdown, transaction::transact};

/// The number of deletions that are processed in rotation.
const AT_ONCE: u32 = 100;
/// The time in seconds after which a deletion that failed is tried again.
const RETRY_AFTER: i64 = 10 * 60;
/// The interval in seconds at which the spool is searched for an erased person: a mail may have been about to be sent.
const SEARCH_INTERVAL: i64 = 60;
/// The number of files of a deleted business that are deleted at once.
const FILES_AT_ONCE: usize = 200;

#[derive(Clone)]
pub(super) struct Deletions {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    files: Arc<dyn FileStore>,
    installation: Arc<str>,
    /// Failed deletions, with the time of the next try: they must not hold up the others.
    set_aside: HashMap<OpenDeletion, Timestamp>,
    mailer: Arc<dyn Mailer>,
    /// The time of the last search of the spool for each erased person.
    searched: HashMap<(BusinessId, ContactId), Timestamp>,
    /// True once all digests of personal values are known to be keyed.
    keyed: bool,
}

impl Deletions {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database,
            clock,
            files,
            mailer,
            installation,
            ..
        } = ports.clone();
        Self {
            database,
            clock,
            files,
            installation,
            set_aside: HashMap::new(),
            mailer,
            searched: HashMap::new(),
            keyed: false,
        }
    }

    /// Removes the content of files whose records are gone.
    async fn remove_content(&self) -> Result<Round, BoxError> {
        let removals: Result<Vec<(BusinessId, FileName)>, StoreError> =
            transact(&*self.database, async |session| session.file_removals(AT_ONCE).await).await;
        let removals = removals?;
        let more = removals.len() >= AT_ONCE as usize;
        for (business, name) in removals {
            self.files.delete(business, &name).await?;
            let noted: Result<(), StoreError> = transact(&*self.database, async |session| {
                session.content_removed(business, &name).await
            })
            .await;
            noted?;
        }
        Ok(if more { Round::More } else { Round::Done })
    }

    /// Removes the mails in the spool that name people who were erased recently.
    async fn search_spool(&mut self) -> Result<(), BoxError> {
        let now = self.clock.now();
        let erased: Result<Vec<ErasedPerson>, StoreError> =
            transact(&*self.database, async |session| session.erased_people(now).await).await;
        let erased = erased?;
        self.searched
            .retain(|key, _| erased.iter().any(|person| *key == (person.business, person.contact)));
        for ErasedPerson {
            business,
            contact,
            keys,
            ..
        } in erased
        {
            let last = self.searched.get(&(business, contact));
            if last.is_some_and(|last| now < last.plus_seconds(SEARCH_INTERVAL)) {
                continue;
            }
            self.mailer.forget_person(Arc::new(Person::new(&keys)?)).await?;
            self.searched.insert((business, contact), now);
        }
        Ok(())
    }

    /// Continues a deletion by one part. Returns true if it was not the last one.
    async fn go_on(&self, deletion: OpenDeletion) -> Result<bool, StoreError> {
        if deletion.kind == DeletionKind::Business {
            let more = self.delete_files(deletion.business).await;
            // A fault in the files does not stop the deletion of other data.
            if more.map_err(|FileStoreError(error)| StoreError::Other(error))? {
                return Ok(true);
            }
        }
        transact(&*self.database, async |session| {
            session.continue_deletion(deletion).await
        })
        .await
    }

    /// Deletes some of the content that a business had. Returns true if there was any. Files of another installation are left
    /// alone: its businesses have the same ids.
    async fn delete_files(&self, business: BusinessId) -> Result<bool, FileStoreError> {
        if self.files.claim(&self.installation).await? != *self.installation {
            return Ok(false);
        }
        let files = self.files.list(business, None, FILES_AT_ONCE).await?;
        for file in &files {
            self.files.delete(business, &file.name).await?;
        }
        Ok(!files.is_empty())
    }

    /// Returns the deletions to continue.
    async fn open(&mut self) -> Result<Vec<OpenDeletion>, StoreError> {
        let now = self.clock.now();
        self.set_aside.retain(|_, until| *until > now);
        let aside: HashSet<_> = self.set_aside.keys().copied().collect();
        let limit = AT_ONCE.saturating_add(u32::try_from(aside.len()).unwrap_or(u32::MAX));
        let mut open: Vec<OpenDeletion> =
            transact(&*self.database, async |session| session.open_deletions(limit).await).await?;
        open.retain(|deletion| !aside.contains(deletion));
        Ok(open)
    }
}

impl Job for Deletions {
    const NAME: &'static str = "deletions";
    const REST: Duration = Duration::from_secs(1);

    /// Each deletion advances by one part, so that a short one does not wait for the end of a long one.
    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let mut round = Round::Done;
        for deletion in self.open().await? {
            if shutdown.is_requested() {
                break;
            }
            match self.go_on(deletion).await {
                Ok(true) => round = Round::More,
                Ok(false) => {}
                // The next deletion would fail as well.
                Err(unavailable @ StoreError::Unavailable(_)) => return Err(unavailable.into()),
                Err(error) => {
                    let OpenDeletion { business, kind, record } = deletion;
                    tracing::error!(%business, ?kind, record, error = chain(&error), "a deletion could not go on");
                    self.set_aside
                        .insert(deletion, self.clock.now().plus_seconds(RETRY_AFTER));
                }
            }
        }
        if !self.keyed {
            let more: Result<bool, StoreError> =
                transact(&*self.database, async |session| session.key_digests().await).await;
            self.keyed = !more?;
            if !self.keyed {
                round = Round::More;
            }
        }
        self.search_spool().await?;
        match self.remove_content().await? {
            Round::More => Ok(Round::More),
            _ => Ok(round),
        }
    }
}

#[cfg(test)]
mod tests {
    use forecourt_files::testing::MemoryFileStore;

    use super::*;
    use crate::{
        memory::{MemoryDatabase, clock_at},
        shutdown::shutdown,
    };

    fn deletion(record: i64) -> OpenDeletion {
        OpenDeletion {
            business: BusinessId::new(1),
            kind: DeletionKind::Webhook,
            record,
        }
    }

    struct NoMail;

    #[async_trait::async_trait]
    impl Mailer for NoMail {
        async fn send(&self, _: &forecourt_kernel::Mail) -> Result<(), forecourt_kernel::MailError> {
            Ok(())
        }
    }

    fn left(database: &MemoryDatabase) -> Vec<u32> {
        database.state().deletions.iter().map(|(_, parts)| *parts).collect()
    }

    #[tokio::test]
    async fn deletions_take_turns_and_a_failed_one_delays_no_other() {
        let (database, clock) = (MemoryDatabase::default(), clock_at(0));
        database.arrange(|state| state.deletions = vec![(deletion(-1), 9), (deletion(1), 3), (deletion(2), 1)]);
        let mut job = Deletions {
            database: Arc::new(database.clone()),
            clock: Arc::new(clock.clone()),
            files: Arc::new(MemoryFileStore::default()),
            installation: "ours".into(),
            set_aside: HashMap::new(),
            mailer: Arc::new(NoMail),
            searched: HashMap::new(),
            keyed: true,
        };
        let (_trigger, shutdown) = shutdown();
        for (expected, parts) in [
            (Round::More, [9, 2, 0]),
            (Round::More, [9, 1, 0]),
            (Round::Done, [9, 0, 0]),
        ] {
            assert_eq!(job.round(&shutdown).await.unwrap(), expected);
            assert_eq!(left(&database), parts);
        }
        // Each round queries deletions, erased people and files.
        let sessions = database.sessions();
        job.round(&shutdown).await.unwrap();
        assert_eq!(database.sessions(), sessions + 3, "what failed is set aside");
        clock.advance(RETRY_AFTER);
        job.round(&shutdown).await.unwrap();
        assert_eq!(database.sessions(), sessions + 7, "and tried again later");
    }
}
