//! Records that are due: closed leads that reopen, scheduled articles that become public, appointments that are reminded of.

use std::{
    collections::{HashMap, HashSet},
    fmt::{Debug, Display},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use forecourt_dealership::{Database, Session};
use forecourt_kernel::{BoxError, BusinessId, Clock, StoreError, Timestamp};

use super::job::{Job, Ports, Round};
use crate::{
    output::chain,
    shutdown::Shutdown,
    transaction::{UnitError, transact},
};

/// The maximum number of records in a round.
pub(super) const BATCH: u32 = 100;
/// The time in seconds after which a record that failed is tried again.
pub(super) const RETRY_AFTER: i64 = 10 * 60;

/// Work on records that become due.
pub(super) trait DueWork: Clone + 'static {
    /// Its name in logs and metrics.
    const NAME: &'static str;
    /// Identifies a record.
    type Id: Copy + Eq + Hash + Debug + Display + 'static;
    /// The reason why a record could not be processed.
    type Error: std::error::Error + UnitError + Send + Sync + 'static;

    /// Returns at most `limit` records that are due by `now`, with their businesses.
    async fn due(
        session: &mut dyn Session,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(BusinessId, Self::Id)>, StoreError>;

    /// Processes a record, unless it is no longer due.
    async fn perform(
        &self,
        session: &mut dyn Session,
        clock: &dyn Clock,
        business: BusinessId,
        id: Self::Id,
    ) -> Result<(), Self::Error>;
}

/// Processes due records, each in a transaction of its own.
#[derive(Clone)]
pub(super) struct Due<W: DueWork> {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    work: W,
    /// Failed records, with the time of the next try: they must not hold up the others.
    set_aside: HashMap<W::Id, Timestamp>,
}

impl<W: DueWork> Due<W> {
    pub(super) fn new(ports: &Ports, work: W) -> Self {
        Self::on(Arc::clone(&ports.database), Arc::clone(&ports.clock), work)
    }

    pub(super) fn on(database: Arc<dyn Database>, clock: Arc<dyn Clock>, work: W) -> Self {
        Self {
            database,
            clock,
            work,
            set_aside: HashMap::new(),
        }
    }

    /// Returns the records that are due, and whether there may be more of them.
    async fn due(&mut self) -> Result<(Vec<(BusinessId, W::Id)>, bool), StoreError> {
        let now = self.clock.now();
        self.set_aside.retain(|_, until| *until > now);
        let aside: HashSet<_> = self.set_aside.keys().copied().collect();
        let limit = BATCH.saturating_add(u32::try_from(aside.len()).unwrap_or(u32::MAX));
        let mut due = transact(&*self.database, async |session| W::due(session, now, limit).await).await?;
        let more = due.len() >= limit as usize;
        due.retain(|(_, id)| !aside.contains(id));
        Ok((due, more))
    }
}

impl<W: DueWork> Job for Due<W> {
    const NAME: &'static str = W::NAME;
    const REST: Duration = Duration::from_secs(1);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let (due, more) = self.due().await?;
        for (business, id) in due {
            if shutdown.is_requested() {
                break;
            }
            let performed = transact(&*self.database, async |session| {
                self.work.perform(session, &*self.clock, business, id).await
            });
            let Err(error) = performed.await else { continue };
            if let Some(StoreError::Unavailable(_)) = error.store_error() {
                // The next record would fail as well.
                return Err(error.into());
            }
            tracing::error!(
                job = W::NAME,
                %business,
                record = %id,
                error = chain(&error),
                "a record whose time has come could not be dealt with"
            );
            self.set_aside.insert(id, self.clock.now().plus_seconds(RETRY_AFTER));
        }
        Ok(if more { Round::More } else { Round::Done })
    }
}
