//! Makes the daily checks of `forecourt doctor`, and mails the operator what has become wrong since.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use forecourt_kernel::{BoxError, Clock, Mail, Mailer, StoreError};
use forecourt_storage::Storage;
use tokio::time::Instant;

use super::job::{Job, Ports, Round};
use crate::{
    doctor::{Context, Made, Status},
    settings::Settings,
    shutdown::Shutdown,
};

/// The time from the start to the first checks, and from each to the next.
const FIRST: Duration = Duration::from_mins(10);
const INTERVAL: Duration = Duration::from_hours(24);
/// The time after which a mail that was not sent is tried again.
const RETRY: Duration = Duration::from_mins(5);
/// The seconds for which another server's checks count for this one too.
const FRESH: i64 = 300;

/// The facts in the database: the time of the latest checks, and what was mailed.
const ROUND: &str = "doctor_round";
const MAILED: &str = "doctor_mailed";

#[derive(Clone)]
pub(super) struct Checkup {
    settings: Settings,
    storage: Storage,
    clock: Arc<dyn Clock>,
    mailer: Arc<dyn Mailer>,
    operator: Option<Arc<str>>,
    due: Instant,
}

impl Checkup {
    pub(super) fn new(settings: Settings, storage: Storage, ports: &Ports) -> Self {
        Self {
            settings,
            storage,
            clock: Arc::clone(&ports.clock),
            mailer: Arc::clone(&ports.mailer),
            operator: ports.operator.clone(),
            due: Instant::now() + FIRST,
        }
    }

    async fn check(&mut self, operator: &str) -> Result<(), BoxError> {
        self.due = Instant::now() + INTERVAL;
        if !self.storage.claim_round(ROUND, FRESH, &*self.clock).await? {
            return Ok(());
        }
        let context = Context::new(Ok(self.settings.clone()), Some(self.storage.clone()), false, None).await;
        let made = context.make_daily().await;
        let mailed = self.storage.fact(MAILED).await?;
        let mailed: BTreeMap<String, String> = mailed
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        if let Some(mail) = news(&made, &mailed, operator)
            && let Err(error) = self.mailer.send(&mail).await
        {
            self.due = Instant::now() + RETRY;
            return Err(error.into());
        }
        let bad = made.iter().filter(|made| made.finding.status.is_bad());
        let bad: BTreeMap<&str, &str> = bad.map(|made| (made.check.id, made.finding.status.name())).collect();
        self.storage.set_fact(MAILED, serde_json::to_string(&bad)?).await?;
        Ok(())
    }
}

/// Returns the mail about what has become wrong, or worse, since the last one.
fn news(made: &[Made], mailed: &BTreeMap<String, String>, operator: &str) -> Option<Mail> {
    let is_new = |made: &&Made| match made.finding.status {
        Status::Fail => mailed
            .get(made.check.id)
            .is_none_or(|status| status != Status::Fail.name()),
        Status::Warn => !mailed.contains_key(made.check.id),
        Status::Ok | Status::Skip => false,
    };
    let news: Vec<&Made> = made.iter().filter(is_new).collect();
    let ids: Vec<&str> = news.iter().map(|made| made.check.id).collect();
    let lines: Vec<String> = news.iter().map(|made| made.lines()).collect();
    let text = format!(
        "The daily checks found something new:\n\n{}\n\nforecourt doctor shows all checks.\n",
        lines.join("\n\n")
    );
    let subject = format!("Forecourt: {}", ids.join(", "));
    (!news.is_empty()).then(|| Mail::new(operator, &subject, &text))
}

impl Job for Checkup {
    const NAME: &'static str = "checkup";
    const REST: Duration = Duration::from_secs(10);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        let Some(operator) = self.operator.clone() else {
            return Ok(Round::Done);
        };
        if Instant::now() < self.due {
            return Ok(Round::Done);
        }
        match self.check(&operator).await {
            Err(error) if matches!(error.downcast_ref(), Some(StoreError::Unavailable(_))) => {
                // Other jobs report an outage.
                self.due = Instant::now() + RETRY;
                Ok(Round::Done)
            }
            checked => checked.map(|()| Round::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use forecourt_kernel::MailError;
    use forecourt_storage::Config;

    use super::*;
    use crate::{
        memory::clock_at,
        settings::Sources,
        shutdown::shutdown,
        system::{SystemClock, SystemRandom},
    };

    /// Keeps the subjects of mails, or refuses them.
    #[derive(Default)]
    struct Kept {
        subjects: Mutex<Vec<String>>,
        is_down: Mutex<bool>,
    }

    #[async_trait]
    impl Mailer for Kept {
        async fn send(&self, mail: &Mail) -> Result<(), MailError> {
            if *self.is_down.lock().unwrap() {
                return Err(MailError::Failed("connection refused".into()));
            }
            assert_eq!(mail.to, "operator@host.example");
            self.subjects.lock().unwrap().push(mail.subject.clone());
            Ok(())
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn news_are_mailed_once() {
        let home = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/test.db", home.path().display());
        let environment = vec![
            ("DATABASE_URL".into(), url.clone().into()),
            ("FORECOURT_DATA_DIR".into(), home.path().into()),
        ];
        let settings = Settings::load(Sources {
            environment,
            ..Sources::default()
        });
        let storage = Storage::open(&Config::new(url)).await.unwrap();
        storage.migrate().await.unwrap();
        let mailer = Arc::new(Kept::default());
        let mut job = Checkup {
            settings: settings.unwrap(),
            storage: storage.clone(),
            clock: Arc::new(SystemClock),
            mailer: Arc::clone(&mailer) as Arc<dyn Mailer>,
            operator: Some("operator@host.example".into()),
            due: Instant::now(),
        };
        let (_trigger, shutdown) = shutdown();
        let mut round = async || {
            // The checks of another server a moment ago would count for this one.
            storage.set_fact(ROUND, "0".to_owned()).await.unwrap();
            job.due = Instant::now();
            let done = job.round(&shutdown).await;
            (done.is_ok(), std::mem::take(&mut *mailer.subjects.lock().unwrap()))
        };
        let (_, first) = round().await;
        assert_eq!(first.len(), 1);
        assert!(first[0].contains("backup"), "{first:?}");
        assert_eq!(round().await, (true, Vec::new()), "nothing is new");

        // A mail that has waited for hours, which cannot be told at first.
        let business = storage.database(ports()).begin().await;
        let mut session = business.unwrap();
        let business = session
            .insert_business(&crate::sample::testing::a_business())
            .await
            .unwrap();
        let long_ago = clock_at(0).now();
        session.queue_mail(business, Mail::default(), long_ago).await.unwrap();
        session.commit().await.unwrap();
        *mailer.is_down.lock().unwrap() = true;
        assert!(!round().await.0);
        *mailer.is_down.lock().unwrap() = false;
        let (_, second) = round().await;
        assert_eq!(second, ["Forecourt: mails"]);
        assert_eq!(round().await, (true, Vec::new()));
    }

    fn ports() -> forecourt_storage::Ports {
        forecourt_storage::Ports {
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            secret_key: None,
            policy: forecourt_webhooks::Policy::default(),
            watcher: None,
            files: forecourt_listings::FileAddresses::new("https://api.example"),
            mails_per_day: None,
        }
    }
}
