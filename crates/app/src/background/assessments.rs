//! Passes the conversations of leads to an analyst (decisions §5, "AI").
//!
//! The database records which conversations wait, so none is lost with a server, and no two servers have the same one at a
//! time. The analyst is called while no transaction is open: however slow it is, no request waits for it.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::Database;
use forecourt_kernel::{BoxError, BusinessId, Clock, StoreError};
use forecourt_leads::{
    Analyst, AnalystError, Applied, Assessment, Conversation, DueAssessment, LeadError, apply_assessment,
    begin_assessment,
};
use tokio::{
    task::{JoinError, JoinSet},
    time,
};

use super::job::{Job, Ports, Round};
use crate::{output::chain, shutdown::Shutdown, transaction::transact};

/// The number of conversations that are read at once, spread over as many businesses as have any.
const AT_ONCE: usize = 8;
/// The interval at which conversations are started. Each takes the processor for some two milliseconds and commits twice, after
/// which SQLite's readers begin with empty caches. At one each 20 ms, half of all reads took half as long again while a long
/// queue was read.
const START_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of conversations in a round.
const PER_ROUND: usize = 200;
/// The waits in seconds after each time that the analyst could not be reached. After the last one the conversation is given up.
const RETRIES: [i64; 5] = [30, 2 * 60, 10 * 60, 60 * 60, 6 * 60 * 60];
/// The maximum wait in seconds that the analyst can request for a conversation.
const MAX_WAIT: i64 = 24 * 60 * 60;
/// The number of conversations that one transaction drops if there is no analyst.
const DROPPED_AT_ONCE: u32 = 500;

#[derive(Clone)]
pub(super) struct Assessments {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    /// The reader of conversations; without one, no conversation waits.
    analyst: Option<Arc<dyn Analyst>>,
    /// The business served last: the next turn begins after it.
    after: BusinessId,
}

/// The next step for a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Disposition {
    /// The assessment is stored on the lead.
    Apply(Assessment),
    /// The lead stays unchanged.
    Finish,
    /// It is read again after this number of seconds.
    Postpone(i64),
}

impl Assessments {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database,
            clock,
            analyst,
            mailer: _,
            files: _,
            installation: _,
            purge_pause: _,
            key_uses: _,
            keyring: _,
            proxies: _,
            operator: _,
            mail_folder: _,
        } = ports.clone();
        Self {
            database,
            clock,
            analyst,
            after: BusinessId::new(0),
        }
    }

    /// Returns `true` if conversations may not leave this server now.
    fn is_held(&self, analyst: &dyn Analyst) -> bool {
        analyst.is_remote() && self.database.is_outgoing_held()
    }

    /// Leases up to `limit` conversations.
    async fn take(&mut self, limit: usize, time_limit: Duration) -> Result<Vec<DueAssessment>, StoreError> {
        let (now, after) = (self.clock.now(), self.after);
        let lease = now.plus_seconds(lease_seconds(time_limit));
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let taken = transact(&*self.database, async |session| {
            session.take_assessments(after, now, lease, limit).await
        });
        let taken: Vec<DueAssessment> = taken.await?;
        if let Some(last) = taken.last() {
            self.after = last.business;
        }
        Ok(taken)
    }

    /// Reads due conversations, and takes more as others end.
    async fn read_due(&mut self, analyst: &Arc<dyn Analyst>, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let mut under_way = JoinSet::new();
        let (mut begun, mut is_drained) = (0, false);
        let mut failure = None;
        loop {
            // Collects all that have ended, so that as many are taken at once.
            while let Some(ended) = under_way.try_join_next() {
                failure = failure.or(failure_of(ended));
            }
            let free = (AT_ONCE - under_way.len()).min(PER_ROUND - begun);
            if free > 0 && !is_drained && failure.is_none() && !shutdown.is_requested() && !self.is_held(&**analyst) {
                match self.take(free, analyst.time_limit()).await {
                    Ok(taken) => {
                        // Fewer than there is room for may be one business's share, not everything that waits.
                        is_drained = taken.is_empty();
                        begun += taken.len();
                        for due in taken {
                            let (job, analyst) = (self.clone(), Arc::clone(analyst));
                            under_way.spawn_local(job.read(due, analyst, shutdown.clone()));
                            time::sleep(START_INTERVAL).await;
                        }
                    }
                    // Conversations in progress end first.
                    Err(error) => failure = Some(BoxError::from(error)),
                }
            }
            tokio::select! {
                ended = under_way.join_next() => match ended {
                    Some(ended) => failure = failure.or(failure_of(ended)),
                    None if is_drained || failure.is_some() || begun >= PER_ROUND || shutdown.is_requested() => break,
                    None => {}
                },
                // A slow analyst does not delay conversations that became due since.
                () = time::sleep(Self::REST), if is_drained && !under_way.is_empty() => is_drained = false,
            }
        }
        match failure {
            Some(error) => Err(error),
            None if is_drained => Ok(Round::Done),
            None => Ok(Round::More),
        }
    }

    /// Has one conversation read, and records the outcome.
    async fn read(self, due: DueAssessment, analyst: Arc<dyn Analyst>, shutdown: Shutdown) -> Result<(), LeadError> {
        let begun = transact(&*self.database, async |session| {
            let read = begin_assessment(session, &due).await?;
            if read.is_none() {
                session.finish_assessment(&due).await?;
            }
            Ok::<_, LeadError>(read)
        });
        let Some(read) = begun.await? else { return Ok(()) };
        let disposition = match ask(analyst, due.business, &read, shutdown).await {
            Some(answer) => disposition_of(&due, answer),
            // This server stops: another one takes it at once.
            None => Disposition::Postpone(0),
        };
        let now = self.clock.now();
        transact(&*self.database, async |session| match &disposition {
            Disposition::Apply(assessment) => {
                let Some(business) = session.business(due.business).await? else {
                    // The business was deleted a moment ago, and its leads with it.
                    session.finish_assessment(&due).await?;
                    return Ok(());
                };
                let assessment = assessment.clone();
                let applied = apply_assessment(session, &*self.clock, &business, &due, &read, assessment).await?;
                if applied == Applied::Outdated {
                    tracing::debug!(lead = %due.lead, business = %due.business, "a conversation has gone on and is read again");
                }
                Ok(())
            }
            Disposition::Finish => Ok(session.finish_assessment(&due).await.map(drop)?),
            Disposition::Postpone(seconds) => Ok(session.postpone_assessment(&due, now.plus_seconds(*seconds)).await?),
        })
        .await
    }
}

/// Returns the failure that prevented a conversation from being read.
fn failure_of(ended: Result<Result<(), LeadError>, JoinError>) -> Option<BoxError> {
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.into()),
        Err(error) => Some(error.into()),
    }
}

/// Returns the seconds for which this server leases a conversation: longer than the analyst may take, so that no other server
/// asks about it meanwhile. If this server dies, another one takes the conversation after that time.
fn lease_seconds(time_limit: Duration) -> i64 {
    i64::try_from(time_limit.as_secs())
        .unwrap_or(i64::MAX)
        .saturating_mul(3)
        / 2
}

/// Asks the analyst; `None` if the end was requested before it answered.
async fn ask(
    analyst: Arc<dyn Analyst>,
    business: BusinessId,
    read: &Conversation,
    mut shutdown: Shutdown,
) -> Option<Result<Assessment, AnalystError>> {
    let (conversation, time_limit) = (read.clone(), analyst.time_limit());
    // A task of its own: if it panics on untrusted text, only that conversation is lost. It ends with the set.
    let mut task = JoinSet::new();
    task.spawn(async move { analyst.assess(business, &conversation).await });
    let answered = tokio::select! {
        answered = time::timeout(time_limit, task.join_next()) => answered,
        _ = shutdown.within(Duration::MAX) => return None,
    };
    Some(match answered {
        Ok(Some(Ok(answer))) => answer,
        Ok(Some(Err(panicked))) => Err(AnalystError::Unusable(panicked.into())),
        Ok(None) => Err(AnalystError::Unusable("it gave no answer".into())),
        Err(_) => Err(AnalystError::Unavailable {
            source: "it took too long".into(),
            retry_after: None,
        }),
    })
}

/// Decides the next step after an answer, and logs failures. Texts that people wrote must not appear in the log.
fn disposition_of(due: &DueAssessment, answer: Result<Assessment, AnalystError>) -> Disposition {
    let DueAssessment {
        business,
        lead,
        attempts,
        ..
    } = due;
    match answer {
        Ok(assessment) => Disposition::Apply(assessment),
        Err(error @ AnalystError::Unusable(_)) => {
            tracing::warn!(%lead, %business, error = chain(&error), "a conversation was not read; the lead stays as it is");
            Disposition::Finish
        }
        Err(AnalystError::Unavailable { source, retry_after }) => {
            let delay = usize::try_from(*attempts)
                .ok()
                .and_then(|attempts| RETRIES.get(attempts));
            match delay {
                Some(&seconds) => {
                    let asked_for = retry_after.map_or(0, |after| i64::try_from(after).unwrap_or(i64::MAX));
                    let seconds = seconds.max(asked_for.min(MAX_WAIT));
                    tracing::warn!(%lead, %business, attempts, error = chain(&*source), "the analyst cannot be asked; it is tried again in {seconds} s");
                    Disposition::Postpone(seconds)
                }
                None => {
                    tracing::error!(%lead, %business, attempts, error = chain(&*source), "the analyst cannot be asked; the lead stays as it is");
                    Disposition::Finish
                }
            }
        }
    }
}

impl Job for Assessments {
    const NAME: &'static str = "assessments";
    const REST: Duration = Duration::from_secs(1);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        if let Some(analyst) = self.analyst.clone() {
            if self.is_held(&*analyst) {
                return Ok(Round::Done);
            }
            return self.read_due(&analyst, shutdown).await;
        }
        // Nothing is kept for an analyst that may be configured later: it would read conversations that ended long ago.
        let dropped = transact(&*self.database, async |session| {
            session.drop_assessments(DROPPED_AT_ONCE).await
        });
        let dropped: Result<u32, StoreError> = dropped.await;
        let more = dropped? >= DROPPED_AT_ONCE;
        Ok(if more { Round::More } else { Round::Done })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use forecourt_files::testing::MemoryFileStore;
    use forecourt_kernel::{LeadId, Mail, MailError, Mailer};
    use forecourt_leads::{JunkConfidence, Lead, LeadStatus, Rating};
    use forecourt_storage::SecretKey;
    use tokio::{sync::Notify, task::LocalSet};

    use super::*;
    use crate::{
        memory::{FixedClock, MemoryDatabase, clock_at},
        sample::testing::{a_business, a_lead},
        shutdown::{Trigger, shutdown},
    };

    const TIME_LIMIT: Duration = Duration::from_secs(100);

    struct NoMailer;

    #[async_trait]
    impl Mailer for NoMailer {
        async fn send(&self, _: &Mail) -> Result<(), MailError> {
            Err(MailError::Refused("nothing is mailed here".into()))
        }
    }

    #[derive(Clone, Copy, Default)]
    enum Answer {
        #[default]
        Keen,
        Junk,
        Unusable,
        Unavailable(Option<u64>),
        Panic,
        Never,
    }

    /// Answers as its switch says, and records which leads it was asked about.
    #[derive(Default)]
    struct Switched {
        answer: Mutex<Answer>,
        seen: Mutex<Vec<String>>,
        asked: Notify,
    }

    #[async_trait]
    impl Analyst for Switched {
        async fn assess(&self, _: BusinessId, conversation: &Conversation) -> Result<Assessment, AnalystError> {
            self.seen.lock().unwrap().push(conversation.name.clone());
            self.asked.notify_one();
            let answer = *self.answer.lock().unwrap();
            let junk = matches!(answer, Answer::Junk);
            match answer {
                Answer::Unusable => return Err(AnalystError::Unusable("no JSON".into())),
                Answer::Unavailable(retry_after) => {
                    let source = "connection refused".into();
                    return Err(AnalystError::Unavailable { source, retry_after });
                }
                Answer::Panic => panic!("beyond its means"),
                Answer::Never => std::future::pending().await,
                Answer::Keen | Answer::Junk => {}
            }
            Ok(Assessment {
                rating: Rating::new(4),
                intent: None,
                summary: Some("Wants the Golf".into()),
                reason: None,
                next_action: None,
                junk,
                junk_confidence: junk.then_some(JunkConfidence::High),
            })
        }

        fn time_limit(&self) -> Duration {
            TIME_LIMIT
        }
    }

    struct Stage {
        database: MemoryDatabase,
        clock: FixedClock,
        analyst: Arc<Switched>,
        job: Assessments,
    }

    /// Makes a database with a business for each number, which is the number of its leads that wait.
    async fn stage(leads: &[usize]) -> Stage {
        let (database, clock, analyst) = (MemoryDatabase::default(), clock_at(0), Arc::new(Switched::default()));
        let mut session = database.begin().await.unwrap();
        for (index, count) in leads.iter().enumerate() {
            let mut business = a_business();
            business.tag = format!("acme-{index}");
            let business = session.insert_business(&business).await.unwrap();
            for number in 0..*count {
                let mut draft = a_lead();
                draft.name = format!("{index}.{number}");
                draft.status = LeadStatus::New;
                draft.ai = None;
                draft.rating = None;
                let lead = session.insert_lead(business, draft, clock.now()).await.unwrap();
                session
                    .request_assessment(business, lead.id, clock.now())
                    .await
                    .unwrap();
            }
        }
        session.commit().await.unwrap();
        let ports = Ports {
            database: Arc::new(database.clone()),
            clock: Arc::new(clock.clone()),
            mailer: Arc::new(NoMailer),
            files: Arc::new(MemoryFileStore::default()),
            installation: "ours".into(),
            purge_pause: crate::background::PurgePause::default(),
            analyst: Some(Arc::clone(&analyst) as Arc<dyn Analyst>),
            key_uses: Arc::default(),
            keyring: SecretKey::from_bytes([7; 32]).into(),
            proxies: Arc::default(),
            operator: None,
            mail_folder: "mail".into(),
        };
        let job = Assessments::new(&ports);
        Stage {
            database,
            clock,
            analyst,
            job,
        }
    }

    impl Stage {
        async fn round(&mut self) -> Result<Round, BoxError> {
            let (_trigger, shutdown) = shutdown();
            LocalSet::new().run_until(self.job.round(&shutdown)).await
        }

        fn answers(&self, answer: Answer) {
            *self.analyst.answer.lock().unwrap() = answer;
        }

        fn seen(&self) -> Vec<String> {
            self.analyst.seen.lock().unwrap().clone()
        }

        fn leads(&self) -> Vec<Lead> {
            self.database.state().leads.all().cloned().collect()
        }

        fn waiting(&self) -> Vec<LeadId> {
            self.database.state().leads.waiting()
        }
    }

    #[tokio::test]
    async fn every_conversation_is_read_once() {
        let mut stage = stage(&[AT_ONCE + 3]).await;
        assert_eq!(stage.round().await.unwrap(), Round::Done);
        assert_eq!(stage.round().await.unwrap(), Round::Done);
        let mut seen = stage.seen();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), stage.seen().len()), (AT_ONCE + 3, AT_ONCE + 3));
        assert!(stage.leads().iter().all(|lead| lead.content.rating == Rating::new(4)));
        assert_eq!(stage.waiting(), []);
    }

    #[tokio::test]
    async fn junk_is_moved() {
        let mut stage = stage(&[1]).await;
        stage.answers(Answer::Junk);
        stage.round().await.unwrap();
        assert_eq!(stage.leads()[0].content.status, LeadStatus::Junk);
    }

    #[tokio::test]
    async fn a_business_with_many_conversations_keeps_no_other_waiting() {
        let mut stage = stage(&[5 * AT_ONCE, 1]).await;
        stage.round().await.unwrap();
        let of_the_other = stage.seen().iter().position(|name| name == "1.0").unwrap();
        assert!(of_the_other < AT_ONCE, "{of_the_other}");
    }

    #[tokio::test]
    async fn an_analyst_that_cannot_be_asked_is_tried_again_and_given_up_in_the_end() {
        let mut stage = stage(&[1]).await;
        stage.answers(Answer::Unavailable(None));
        for (attempt, delay) in RETRIES.into_iter().enumerate() {
            stage.round().await.unwrap();
            assert_eq!(stage.seen().len(), attempt + 1);
            stage.clock.advance(delay - 1);
            stage.round().await.unwrap();
            assert_eq!(stage.seen().len(), attempt + 1, "too early after attempt {attempt}");
            stage.clock.advance(1);
        }
        assert_eq!(stage.waiting().len(), 1);
        stage.round().await.unwrap();
        assert_eq!(stage.waiting(), []);
        assert_eq!(stage.leads()[0].content.rating, None);
    }

    #[tokio::test]
    async fn an_analyst_that_asks_for_more_time_has_it_up_to_a_day() {
        for (asked_for, given) in [(500, 500), (u64::MAX, MAX_WAIT)] {
            let mut stage = stage(&[1]).await;
            stage.answers(Answer::Unavailable(Some(asked_for)));
            stage.round().await.unwrap();
            stage.answers(Answer::Keen);
            stage.clock.advance(given - 1);
            stage.round().await.unwrap();
            assert_eq!(stage.seen().len(), 1);
            stage.clock.advance(1);
            stage.round().await.unwrap();
            assert_eq!(stage.leads()[0].content.rating, Rating::new(4));
        }
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_used_leaves_the_lead_as_it_is() {
        for answer in [Answer::Unusable, Answer::Panic] {
            let mut stage = stage(&[1]).await;
            let before = stage.leads();
            stage.answers(answer);
            assert_eq!(stage.round().await.unwrap(), Round::Done);
            assert_eq!(stage.waiting(), []);
            assert_eq!(stage.leads(), before);
        }
    }

    #[tokio::test]
    async fn the_conversation_of_a_server_that_died_is_taken_up_when_its_lease_is_over() {
        let mut stage = stage(&[1]).await;
        stage.job.clone().take(1, TIME_LIMIT).await.unwrap();
        stage.round().await.unwrap();
        assert_eq!(stage.seen().len(), 0);
        stage.clock.advance(lease_seconds(TIME_LIMIT));
        stage.round().await.unwrap();
        assert_eq!(stage.seen().len(), 1);
    }

    #[tokio::test]
    async fn a_server_that_stops_gives_back_what_is_not_read() {
        let mut stage = stage(&[1]).await;
        stage.answers(Answer::Never);
        let (trigger, shutdown): (Trigger, Shutdown) = shutdown();
        let analyst = Arc::clone(&stage.analyst);
        let stop = async {
            analyst.asked.notified().await;
            trigger.pull();
        };
        let mut job = stage.job.clone();
        let both = async { tokio::join!(job.round(&shutdown), stop) };
        LocalSet::new().run_until(both).await.0.unwrap();
        stage.answers(Answer::Keen);
        stage.round().await.unwrap();
        assert_eq!(stage.leads()[0].content.rating, Rating::new(4));
    }

    #[tokio::test]
    async fn without_an_analyst_nothing_waits() {
        let mut stage = stage(&[2]).await;
        stage.job.analyst = None;
        assert_eq!(stage.round().await.unwrap(), Round::Done);
        assert_eq!(stage.waiting(), []);
        assert_eq!(stage.seen().len(), 0);
    }

    #[tokio::test]
    async fn a_database_that_cannot_be_reached_fails_the_round() {
        let mut stage = stage(&[1]).await;
        stage.database.cut(true);
        assert!(stage.round().await.is_err());
        stage.database.cut(false);
        stage.round().await.unwrap();
        assert_eq!(stage.waiting(), []);
    }
}
