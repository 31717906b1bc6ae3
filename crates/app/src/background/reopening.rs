//! Reopens closed leads on their day.

use forecourt_dealership::Session;
use forecourt_kernel::{BusinessId, Clock, LeadId, StoreError, Timestamp};
use forecourt_leads::{DueReopening, LeadError, reopen_lead};

use super::due::DueWork;

#[derive(Clone)]
pub(super) struct Reopening;

impl DueWork for Reopening {
    const NAME: &'static str = "reopening";
    type Id = LeadId;
    type Error = LeadError;

    async fn due(
        session: &mut dyn Session,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(BusinessId, LeadId)>, StoreError> {
        let due = session.due_reopenings(now, limit).await?;
        Ok(due
            .into_iter()
            .map(|DueReopening { business, lead }| (business, lead))
            .collect())
    }

    async fn perform(
        &self,
        session: &mut dyn Session,
        clock: &dyn Clock,
        business: BusinessId,
        lead: LeadId,
    ) -> Result<(), LeadError> {
        match session.business(business).await? {
            Some(business) => reopen_lead(session, clock, &business, lead).await,
            // The business was deleted a moment ago, and the lead with it.
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use forecourt_dealership::Database as _;
    use forecourt_kernel::EventName;
    use forecourt_leads::{LeadDraft, LeadStatus};

    use super::*;
    use crate::{
        background::{
            Job as _, Round,
            due::{BATCH, Due, RETRY_AFTER},
        },
        memory::{FixedClock, MemoryDatabase, clock_at},
        sample::testing::{a_business, a_lead},
        shutdown::shutdown,
    };

    const DAY: i64 = 86_400;

    struct Stage {
        database: MemoryDatabase,
        clock: FixedClock,
        job: Due<Reopening>,
        business: BusinessId,
    }

    /// Makes a database with a business that has this number of leads, closed until the second day of the epoch.
    async fn stage(leads: usize) -> Stage {
        let (database, clock) = (MemoryDatabase::default(), clock_at(0));
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
        let job = Due::on(Arc::new(database.clone()), Arc::new(clock.clone()), Reopening);
        Stage {
            database,
            clock,
            job,
            business,
        }
    }

    fn reopened(database: &MemoryDatabase) -> usize {
        let leads = database.state().records.leads;
        leads
            .all()
            .filter(|lead| lead.content.status == LeadStatus::NewMessage)
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
        let broken = database.state().leads.all().next().unwrap().id;
        database.arrange(|state| state.leads.set_readable(broken, false));
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(reopened(&database), 1);
        let before = database.sessions();
        assert_eq!(job.round(&shutdown).await.unwrap(), Round::Done);
        assert_eq!(database.sessions(), before + 1, "it is left alone");
        database.arrange(|state| state.leads.set_readable(broken, true));
        clock.advance(RETRY_AFTER);
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
