//! Reopens closed leads on their day.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use forecourt_accounts::Business;
use forecourt_dealership::{Database, Session};
use forecourt_kernel::{BoxError, BusinessId, Clock, LeadId, StoreError, Timestamp};
use forecourt_leads::{DueReopening, LeadError, reopen_lead};

use super::{Job, Ports, Round};
use crate::{output::chain, shutdown::Shutdown, transaction::transact};

/// How many leads a round reopens.
const BATCH: u32 = 100;
/// For how long a lead is left alone that could not be reopened, in seconds.
const SET_ASIDE: i64 = 10 * 60;

#[derive(Clone)]
pub(super) struct Reopening {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    /// Leads that could not be reopened, and when to try again: they must not hold up the others.
    set_aside: HashMap<LeadId, Timestamp>,
}

/// The businesses that a round has met.
type Businesses = HashMap<BusinessId, Option<Arc<Business>>>;

impl Reopening {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports { database, clock, .. } = ports.clone();
        Self {
            database,
            clock,
            set_aside: HashMap::new(),
        }
    }

    /// The leads whose day has come, and whether there may be more of them.
    async fn due(&mut self) -> Result<(Vec<DueReopening>, bool), StoreError> {
        let now = self.clock.now();
        self.set_aside.retain(|_, until| *until > now);
        let aside: HashSet<_> = self.set_aside.keys().copied().collect();
        let limit = BATCH.saturating_add(u32::try_from(aside.len()).unwrap_or(u32::MAX));
        let mut due: Vec<DueReopening> = transact(&*self.database, async |session| {
            session.due_reopenings(now, limit).await
        })
        .await?;
        let more = due.len() >= limit as usize;
        due.retain(|due| !aside.contains(&due.lead));
        Ok((due, more))
    }

    async fn reopen(&self, due: DueReopening, businesses: &mut Businesses) -> Result<(), LeadError> {
        transact(&*self.database, async |session| {
            match business_of(session, due.business, businesses).await? {
                Some(business) => reopen_lead(session, &*self.clock, &business, due.lead).await,
                // Deleted a moment ago, and the lead with it.
                None => Ok(()),
            }
        })
        .await
    }
}

async fn business_of(
    session: &mut dyn Session,
    id: BusinessId,
    known: &mut Businesses,
) -> Result<Option<Arc<Business>>, StoreError> {
    if let Some(business) = known.get(&id) {
        return Ok(business.clone());
    }
    let business = session.business(id).await?.map(Arc::new);
    known.insert(id, business.clone());
    Ok(business)
}

impl Job for Reopening {
    const NAME: &'static str = "reopening";
    const REST: Duration = Duration::from_secs(1);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let (due, more) = self.due().await?;
        let mut businesses = Businesses::new();
        for due in due {
            if shutdown.is_requested() {
                break;
            }
            match self.reopen(due, &mut businesses).await {
                Ok(()) => {}
                // Then the next lead would fare no better.
                Err(LeadError::Store(unavailable @ StoreError::Unavailable(_))) => return Err(unavailable.into()),
                Err(error) => {
                    let DueReopening { business, lead } = due;
                    tracing::error!(%business, %lead, error = chain(&error), "a lead could not be reopened");
                    self.set_aside.insert(lead, self.clock.now().plus_seconds(SET_ASIDE));
                }
            }
        }
        Ok(if more { Round::More } else { Round::Done })
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::EventName;
    use forecourt_leads::{LeadDraft, LeadStatus};

    use super::*;
    use crate::{
        memory::{FixedClock, Memory},
        sample::testing::{a_business, a_lead},
        shutdown::shutdown,
    };

    const DAY: i64 = 86_400;

    struct Stage {
        database: Memory,
        clock: FixedClock,
        job: Reopening,
        business: BusinessId,
    }

    /// A database with a business that has closed this many leads until the second day of the epoch.
    async fn stage(leads: usize) -> Stage {
        let (database, clock) = (Memory::default(), FixedClock::at(0));
        let mut session = database.begin().await.unwrap();
        let business = session.insert_business(&a_business()).await.unwrap();
        for _ in 0..leads {
            let draft = LeadDraft {
                status: LeadStatus::Closed,
                reopen: Some("1970-01-02".parse().unwrap()),
                ..a_lead()
            };
            session.insert_lead(business, draft, clock.now()).await.unwrap();
        }
        session.commit().await.unwrap();
        let job = Reopening {
            database: Arc::new(database.clone()),
            clock: Arc::new(clock.clone()),
            set_aside: HashMap::new(),
        };
        Stage {
            database,
            clock,
            job,
            business,
        }
    }

    fn reopened(database: &Memory) -> usize {
        let leads = database.state().leads;
        leads
            .values()
            .filter(|(_, lead)| lead.content.status == LeadStatus::NewMessage)
            .count()
    }

    #[tokio::test]
    async fn leads_reopen_on_their_day_and_not_before() {
        let Stage {
            database,
            clock,
            mut job,
            business,
        } = stage(2).await;
        let (_trigger, shutdown) = shutdown();
        clock.advance(DAY - 1);
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(reopened(&database), 0);
        clock.advance(1);
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(reopened(&database), 2);
        let events = database.state().events;
        assert!(
            events
                .iter()
                .all(|(owner, event)| *owner == business && event.name == EventName::LeadUpdated)
        );
        assert_eq!(events.len(), 2);
    }

    #[tokio::test]
    async fn a_full_round_is_followed_by_another() {
        let Stage {
            database,
            clock,
            mut job,
            ..
        } = stage(BATCH as usize + 1).await;
        let (_trigger, shutdown) = shutdown();
        clock.advance(DAY);
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::More);
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(reopened(&database), BATCH as usize + 1);
    }

    #[tokio::test]
    async fn a_lead_that_fails_holds_up_no_other_and_is_tried_again_later() {
        let Stage {
            database,
            clock,
            mut job,
            ..
        } = stage(2).await;
        let (_trigger, shutdown) = shutdown();
        clock.advance(DAY);
        let broken = database.state().leads.values().next().unwrap().1.id;
        database.arrange(|state| state.broken_leads.push(broken));
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(reopened(&database), 1);
        let before = database.sessions();
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(database.sessions(), before + 1, "it is left alone");
        database.arrange(|state| state.broken_leads.clear());
        clock.advance(SET_ASIDE);
        job.round(&shutdown).await.unwrap();
        assert_eq!(reopened(&database), 2);
    }

    #[tokio::test]
    async fn a_conflict_or_a_cut_cable_loses_nothing() {
        let Stage {
            database,
            clock,
            mut job,
            ..
        } = stage(1).await;
        let (_trigger, shutdown) = shutdown();
        clock.advance(DAY);
        database.cut(true);
        assert!(job.round(&shutdown).await.is_err());
        database.cut(false);
        database.refuse_commits(2);
        job.round(&shutdown).await.unwrap();
        assert_eq!((reopened(&database), database.state().events.len()), (1, 1));
    }
}
