//! Forgets what is past its time: answers kept for retries, events, the histories of webhooks, and removals of listings. And has
//! the database do what it needs now and then.

use std::{sync::Arc, time::Duration};

use forecourt_dealership::Database;
use forecourt_kernel::{BoxError, Clock, Mailer, StoreError, Timestamp};

use super::job::{Job, Ports, Round};
use crate::{shutdown::Shutdown, transaction::transact};

/// How many answers, deliveries and events one transaction deletes: few enough, however long they are, that the lock delays no
/// request noticeably.
const BATCH: u32 = 100;
/// How often the database does what it needs now and then, in seconds.
const TIDY: i64 = 3_600;

/// For how long removals of listings are kept, in seconds (decisions §8).
const REMOVALS_KEPT: i64 = 30 * 86_400;

/// For how long a mail is kept in the spool, in seconds (decisions, "Safe").
const SPOOLED_KEPT: i64 = 7 * 86_400;

#[derive(Clone)]
pub(super) struct Housekeeping {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    mailer: Arc<dyn Mailer>,
    /// When the database last did what it needs now and then.
    tidied: Option<Timestamp>,
}

impl Housekeeping {
    pub(super) fn new(ports: &Ports) -> Self {
        let Ports {
            database,
            clock,
            mailer,
            ..
        } = ports.clone();
        Self {
            database,
            clock,
            mailer,
            tidied: None,
        }
    }
}

impl Job for Housekeeping {
    const NAME: &'static str = "housekeeping";
    const REST: Duration = Duration::from_secs(60);

    async fn round(&mut self, shutdown: &Shutdown) -> Result<Round, BoxError> {
        let now = self.clock.now();
        let forgotten: Result<(u32, u32), StoreError> = transact(&*self.database, async |session| {
            let answers = session.purge_expired(now, BATCH).await?;
            Ok((answers, session.purge_history(now, BATCH).await?))
        })
        .await;
        let (answers, history) = forgotten?;
        if self.tidied.is_none_or(|tidied| tidied.plus_seconds(TIDY) <= now) {
            let before = now.plus_seconds(-REMOVALS_KEPT);
            while transact::<_, StoreError>(&*self.database, async |session| {
                session.purge_removals(before, BATCH).await
            })
            .await?
                >= BATCH
            {
                if shutdown.is_requested() {
                    return Ok(Round::Done);
                }
            }
            self.mailer.forget_before(now.plus_seconds(-SPOOLED_KEPT)).await?;
            self.database.maintain().await?;
            self.tidied = Some(now);
        }
        Ok(if answers < BATCH && history < BATCH {
            Round::Done
        } else {
            Round::More
        })
    }
}

#[cfg(test)]
mod tests {
    use forecourt_accounts::{Fingerprint, IdempotencyStore, KeyedRequest, Shown, StoredResponse};
    use forecourt_kernel::BusinessId;

    use super::*;
    use crate::{
        memory::{MemoryDatabase, clock_at},
        shutdown::shutdown,
    };

    struct NoMail;

    #[async_trait::async_trait]
    impl Mailer for NoMail {
        async fn send(&self, _: &forecourt_kernel::Mail) -> Result<(), forecourt_kernel::MailError> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn answers_are_forgotten_in_small_transactions_until_none_is_left() {
        let database = MemoryDatabase::default();
        let mut session = database.begin().await.unwrap();
        for number in 0..=2 * BATCH {
            let request = KeyedRequest {
                key: format!("key-{number}").parse().unwrap(),
                fingerprint: Fingerprint::of("POST", "/2.0/leads", "", b"{}"),
            };
            let answer = StoredResponse {
                status: 201,
                body: Vec::new(),
            };
            let yesterday = Timestamp::from_epoch_seconds(-<dyn IdempotencyStore>::KEPT_SECONDS);
            session
                .store_response(BusinessId::new(1), &request, yesterday, &answer, Shown::default())
                .await
                .unwrap();
        }
        session.commit().await.unwrap();
        let mut job = Housekeeping {
            database: Arc::new(database.clone()),
            clock: Arc::new(clock_at(0)),
            mailer: Arc::new(NoMail),
            tidied: Some(Timestamp::from_epoch_seconds(0)),
        };
        let (_trigger, shutdown) = shutdown();
        for expected in [Round::More, Round::More, Round::Done] {
            assert_eq!(job.round(&shutdown).await.unwrap(), expected);
        }
        assert_eq!((database.state().accounts.answers(), database.sessions()), (0, 4));
    }
}
