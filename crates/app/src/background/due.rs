//! Records whose time has come: closed leads that reopen, scheduled articles that become public.

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

/// How many records a round deals with.
pub(super) const BATCH: u32 = 100;
/// For how long a record is left alone that could not be dealt with, in seconds.
pub(super) const SET_ASIDE: i64 = 10 * 60;

/// Work that comes up for a record at its time.
pub(super) trait DueWork: Clone + 'static {
    /// What logs and metrics call it.
    const NAME: &'static str;
    /// Identifies a record.
    type Id: Copy + Eq + Hash + Debug + Display + 'static;
    /// Why a record could not be dealt with.
    type Error: std::error::Error + UnitError + Send + Sync + 'static;

    /// At most `limit` records whose time has come by `now`, and whose they are.
    async fn due(
        session: &mut dyn Session,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(BusinessId, Self::Id)>, StoreError>;

    /// Deals with a record, unless that has become needless.
    async fn perform(
        session: &mut dyn Session,
        clock: &dyn Clock,
        business: BusinessId,
        id: Self::Id,
    ) -> Result<(), Self::Error>;
}

/// Deals with due records, each in a transaction of its own.
#[derive(Clone)]
pub(super) struct Due<W: DueWork> {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    /// Records that could not be dealt with, and when to try again: they must not hold up the others.
    set_aside: HashMap<W::Id, Timestamp>,
}

impl<W: DueWork> Due<W> {
    pub(super) fn new(ports: &Ports) -> Self {
        Self::on(Arc::clone(&ports.database), Arc::clone(&ports.clock))
    }

    pub(super) fn on(database: Arc<dyn Database>, clock: Arc<dyn Clock>) -> Self {
        Self {
            database,
            clock,
            set_aside: HashMap::new(),
        }
    }

    /// The records whose time has come, and whether there may be more of them.
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
                W::perform(session, &*self.clock, business, id).await
            });
            let Err(error) = performed.await else { continue };
            if let Some(StoreError::Unavailable(_)) = error.store_error() {
                // Then the next record would fare no better.
                return Err(error.into());
            }
            tracing::error!(
                job = W::NAME,
                %business,
                record = %id,
                error = chain(&error),
                "a record whose time has come could not be dealt with"
            );
            self.set_aside.insert(id, self.clock.now().plus_seconds(SET_ASIDE));
        }
        Ok(if more { Round::More } else { Round::Done })
    }
}
