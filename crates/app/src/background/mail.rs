//! Sends the mails that transactions have queued.

use std::{collections::HashMap, sync::Arc, time::Duration};

use forecourt_dealership::{Database, TakenMails};
use forecourt_kernel::{BoxError, BusinessId, Clock, Date, MailError, Mailer, PendingMail, StoreError};
use tokio::{task::JoinSet, time};

use super::job::{Job, Ports, Round};
use crate::{output::chain, shutdown::Shutdown, transaction::transact};

/// The number of mails that are sent at once.
const BATCH: u32 = 8;
/// The time in seconds for which this server leases a mail. If it dies meanwhile, another one sends the mail after that time.
const LEASE: i64 = 75;
/// The maximum time for sending a mail. It is within the lease, so that no other server sends the mail too. It is longer than
/// our mailers try, since a mail that is cut off may be sent twice.
const TIMEOUT: Duration = Duration::from_secs(55);
/// The waits in seconds of a mail after each failed attempt. After the last one the mail is given up.
const RETRIES: [i64; 5] = [60, 5 * 60, 30 * 60, 2 * 60 * 60, 6 * 60 * 60];

const DROPPED: &str = "forecourt_mails_dropped_total";

/// Registers the descriptions of the metrics.
pub(super) fn describe() {
    metrics::describe_counter!(
        DROPPED,
        "Queued mails that will never be sent: refused for good, given up after the last attempt, or over the business's quota for a week"
    );
    metrics::counter!(DROPPED).increment(0);
}

#[derive(Clone)]
pub(super) struct MailSending {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    mailer: Arc<dyn Mailer>,
    operator: Option<Arc<str>>,
    /// The business served last: the next turn begins after it.
    after: BusinessId,
    /// The businesses that have reached their limit of mails, with the day on which that was logged.
    over_quota: HashMap<BusinessId, Date>,
}

/// The next step for a mail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Disposition {
    /// It was handed over, or is given up.
    Drop,
    /// It is tried again after this number of seconds.
    Retry(i64),
}

impl MailSending {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database,
            clock,
            mailer,
            files: _,
            installation: _,
            purge_pause: _,
            analyst: _,
            key_uses: _,
            keyring: _,
            proxies: _,
            operator,
            mail_folder: _,
        } = ports.clone();
        Self {
            database,
            clock,
            mailer,
            operator,
            after: BusinessId::new(0),
            over_quota: HashMap::new(),
        }
    }

    /// Leases the next mails.
    async fn take(&mut self) -> Result<TakenMails, StoreError> {
        let (now, after) = (self.clock.now(), self.after);
        let taken: TakenMails = transact::<_, StoreError>(&*self.database, async |session| {
            session.take_mails(after, now, now.plus_seconds(LEASE), BATCH).await
        })
        .await?;
        self.after = taken.last.unwrap_or(after);
        let today = now.date();
        self.over_quota.retain(|_, day| *day == today);
        for business in &taken.over_quota {
            if self.over_quota.insert(*business, today).is_none() {
                tracing::warn!(%business, "a business has sent as many mails as it may in a day; others of it wait for the next UTC day");
            }
        }
        for (mail, business) in &taken.given_up {
            metrics::counter!(DROPPED).increment(1);
            tracing::error!(mail, %business, "a mail has waited for days on which its business sent too many others and is given up");
        }
        Ok(taken)
    }

    /// Leases the next mails to the operator, which leave while others are held.
    async fn take_held(&self) -> Result<TakenMails, StoreError> {
        let Some(operator) = &self.operator else {
            return Ok(TakenMails::default());
        };
        let now = self.clock.now();
        let mails = transact(&*self.database, async |session| {
            session
                .take_mails_to(operator, now, now.plus_seconds(LEASE), BATCH)
                .await
        });
        let mails: Result<_, StoreError> = mails.await;
        Ok(TakenMails {
            mails: mails?,
            ..TakenMails::default()
        })
    }

    /// Sends a mail and records the outcome.
    async fn deliver(self, mail: PendingMail) -> Result<(), StoreError> {
        let sent = time::timeout(TIMEOUT, self.mailer.send(&mail.mail)).await;
        let sent = sent.unwrap_or_else(|_| Err(MailError::Failed("it took too long".into())));
        let disposition = disposition_of(&mail, sent);
        let now = self.clock.now();
        transact(&*self.database, async |session| match disposition {
            Disposition::Drop => session.drop_mail(mail.id).await,
            Disposition::Retry(seconds) => session.retry_mail(mail.id, now.plus_seconds(seconds)).await,
        })
        .await
    }
}

/// Checks the outcome of sending, and logs it. Addresses and texts must not appear in the log.
fn disposition_of(mail: &PendingMail, sent: Result<(), MailError>) -> Disposition {
    let PendingMail {
        id, business, attempts, ..
    } = mail;
    match sent {
        Ok(()) => {
            tracing::debug!(mail = id, %business, "a mail was sent");
            Disposition::Drop
        }
        Err(error @ MailError::Refused(_)) => {
            metrics::counter!(DROPPED).increment(1);
            tracing::error!(mail = id, %business, error = chain(&error), "a mail was refused for good and is dropped");
            Disposition::Drop
        }
        Err(error @ MailError::Failed(_)) => {
            let delay = usize::try_from(*attempts)
                .ok()
                .and_then(|attempts| RETRIES.get(attempts));
            match delay {
                Some(&seconds) => {
                    tracing::warn!(mail = id, %business, attempts, error = chain(&error), "a mail was not sent; it is tried again in {seconds} s");
                    Disposition::Retry(seconds)
                }
                None => {
                    metrics::counter!(DROPPED).increment(1);
                    tracing::error!(mail = id, %business, attempts, error = chain(&error), "a mail was not sent and is given up");
                    Disposition::Drop
                }
            }
        }
    }
}

impl Job for MailSending {
    const NAME: &'static str = "mail";
    const REST: Duration = Duration::from_secs(1);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        let taken = if self.database.is_outgoing_held() {
            self.take_held().await
        } else {
            self.take().await
        };
        let TakenMails { mails, more, .. } = taken?;
        let mut deliveries = JoinSet::new();
        for mail in mails {
            deliveries.spawn_local(self.clone().deliver(mail));
        }
        let mut outcome = Ok(if more { Round::More } else { Round::Done });
        while let Some(delivered) = deliveries.join_next().await {
            if let Err(error) = delivered
                .map_err(BoxError::from)
                .and_then(|stored| stored.map_err(BoxError::from))
            {
                outcome = Err(error);
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use forecourt_kernel::Mail;
    use forecourt_kernel::Timestamp;
    use forecourt_storage::SecretKey;
    use tokio::task::LocalSet;

    use forecourt_files::testing::MemoryFileStore;

    use super::*;
    use crate::{
        memory::{FixedClock, MemoryDatabase, clock_at},
        shutdown::shutdown,
    };

    /// Answers as its switch says, and records the mails that it was given.
    #[derive(Default)]
    struct Switched {
        answer: Mutex<Answer>,
        seen: Mutex<Vec<String>>,
    }

    #[derive(Clone, Copy, Default)]
    enum Answer {
        #[default]
        Sent,
        Refused,
        Failed,
    }

    #[async_trait]
    impl Mailer for Switched {
        async fn send(&self, mail: &Mail) -> Result<(), MailError> {
            self.seen.lock().unwrap().push(mail.subject.clone());
            match *self.answer.lock().unwrap() {
                Answer::Sent => Ok(()),
                Answer::Refused => Err(MailError::Refused("no such mailbox".into())),
                Answer::Failed => Err(MailError::Failed("connection refused".into())),
            }
        }
    }

    struct Stage {
        database: MemoryDatabase,
        clock: FixedClock,
        mailer: Arc<Switched>,
        job: MailSending,
    }

    async fn stage(mails: u32) -> Stage {
        let (database, clock, mailer) = (MemoryDatabase::default(), clock_at(0), Arc::new(Switched::default()));
        let mut session = database.begin().await.unwrap();
        for number in 0..mails {
            let mail = Mail {
                to: "office@acme.example".into(),
                subject: format!("mail {number}"),
                ..Mail::default()
            };
            session.queue_mail(BusinessId::new(1), mail, clock.now()).await.unwrap();
        }
        session.commit().await.unwrap();
        let ports = Ports {
            database: Arc::new(database.clone()),
            clock: Arc::new(clock.clone()),
            mailer: Arc::clone(&mailer) as Arc<dyn Mailer>,
            files: Arc::new(MemoryFileStore::default()),
            installation: "ours".into(),
            purge_pause: crate::background::PurgePause::default(),
            analyst: None,
            key_uses: Arc::default(),
            keyring: SecretKey::from_bytes([7; 32]).into(),
            proxies: Arc::default(),
            operator: None,
            mail_folder: "mail".into(),
        };
        let job = MailSending::new(&ports);
        Stage {
            database,
            clock,
            mailer,
            job,
        }
    }

    async fn round(job: &mut MailSending) -> Result<Round, BoxError> {
        let (_trigger, shutdown) = shutdown();
        LocalSet::new().run_until(job.round(&shutdown)).await
    }

    #[tokio::test]
    async fn every_mail_is_sent_once() {
        let Stage {
            database,
            mailer,
            mut job,
            ..
        } = stage(BATCH + 1).await;
        assert_eq!(round(&mut job).await.unwrap(), Round::More);
        assert_eq!(round(&mut job).await.unwrap(), Round::Done);
        assert_eq!(round(&mut job).await.unwrap(), Round::Done);
        let mut seen = mailer.seen.lock().unwrap().clone();
        seen.sort();
        assert_eq!(
            seen,
            (0..=BATCH).map(|number| format!("mail {number}")).collect::<Vec<_>>()
        );
        assert!(database.state().mails.is_empty());
    }

    #[tokio::test]
    async fn a_failed_mail_is_tried_again_later_and_given_up_in_the_end() {
        let Stage {
            database,
            clock,
            mailer,
            mut job,
        } = stage(1).await;
        *mailer.answer.lock().unwrap() = Answer::Failed;
        for (attempt, delay) in RETRIES.into_iter().enumerate() {
            round(&mut job).await.unwrap();
            assert_eq!(mailer.seen.lock().unwrap().len(), attempt + 1);
            clock.advance(delay - 1);
            round(&mut job).await.unwrap();
            assert_eq!(
                mailer.seen.lock().unwrap().len(),
                attempt + 1,
                "too early after attempt {attempt}"
            );
            clock.advance(1);
        }
        assert_eq!(database.state().mails.len(), 1);
        round(&mut job).await.unwrap();
        assert!(database.state().mails.is_empty());
    }

    #[tokio::test]
    async fn businesses_take_turns() {
        let Stage {
            database,
            mailer,
            mut job,
            ..
        } = stage(5 * BATCH).await;
        let mut session = database.begin().await.unwrap();
        for business in 2..5 {
            let mail = Mail::new("a@b.example", &format!("of {business}"), "");
            session
                .queue_mail(BusinessId::new(business), mail, Timestamp::from_epoch_seconds(0))
                .await
                .unwrap();
        }
        session.commit().await.unwrap();
        round(&mut job).await.unwrap();
        let seen = mailer.seen.lock().unwrap().clone();
        for business in 2..5 {
            assert!(seen.contains(&format!("of {business}")), "{seen:?}");
        }
    }

    #[tokio::test]
    async fn what_is_over_the_quota_goes_on_the_next_day() {
        let Stage {
            database,
            clock,
            mailer,
            mut job,
        } = stage(3).await;
        database.arrange(|state| state.mails_per_day = Some(2));
        for (day, sent) in [(0, 2), (0, 2), (1, 3)] {
            clock.advance(day * 86_400);
            round(&mut job).await.unwrap();
            assert_eq!(mailer.seen.lock().unwrap().len(), sent);
        }
    }

    #[tokio::test]
    async fn a_refused_mail_is_not_tried_again() {
        let Stage {
            database,
            mailer,
            mut job,
            ..
        } = stage(1).await;
        *mailer.answer.lock().unwrap() = Answer::Refused;
        round(&mut job).await.unwrap();
        assert!(database.state().mails.is_empty());
    }

    #[tokio::test]
    async fn what_a_dead_server_had_taken_is_sent_after_the_lease() {
        let Stage {
            database,
            clock,
            mailer,
            mut job,
        } = stage(1).await;
        let mut session = database.begin().await.unwrap();
        session
            .take_mails(BusinessId::new(0), clock.now(), clock.now().plus_seconds(LEASE), BATCH)
            .await
            .unwrap();
        session.commit().await.unwrap();
        round(&mut job).await.unwrap();
        assert!(mailer.seen.lock().unwrap().is_empty());
        clock.advance(LEASE);
        round(&mut job).await.unwrap();
        assert_eq!(mailer.seen.lock().unwrap().len(), 1);
    }
}
