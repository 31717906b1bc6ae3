//! The background work of a server.
//!
//! Every server runs every job; the database ensures that no two do the same piece of work. A job works in rounds. After a
//! round that leaves nothing to do it rests, after one that leaves work the next round follows at once, and after one that
//! fails there is a growing pause. A job never ends by itself.

mod assessments;
mod backlog;
mod call_retention;
mod checkup;
mod deletions;
mod due;
mod files;
mod gauges;
mod housekeeping;
mod job;
mod key_uses;
mod listings;
mod mail;
mod mail_spool;
mod party_retention;
mod presence;
mod publishing;
mod purge_pause;
mod reminders;
mod reopening;
mod watch;
mod webhooks;

use std::{sync::Arc, time::Duration};

use forecourt_kernel::Clock;
use forecourt_storage::{ServerReport, Storage};
use tokio::{task::JoinSet, time};

use crate::{counted_mailer, output::chain, settings::Settings, shutdown::Shutdown};
use assessments::Assessments;
use backlog::BacklogGauges;
use call_retention::CallRetention;
use checkup::Checkup;
use deletions::Deletions;
use due::Due;
use files::FileSweep;
use gauges::{Gauges, TaskLog};
use housekeeping::Housekeeping;
pub(crate) use job::Ports;
use job::{Job, Round};
use key_uses::StoringKeyUses;
pub(crate) use key_uses::store_key_uses;
pub(crate) use listings::is_settled;
use listings::{Expiry, Listings};
use mail::MailSending;
use mail_spool::MailSpool;
use party_retention::PartyRetention;
use presence::Presence;
pub(crate) use presence::this_server;
use publishing::Publishing;
pub(crate) use purge_pause::PurgePause;
use reminders::Reminders;
use reopening::Reopening;
use watch::Watch;
pub(crate) use watch::clock_fault;
pub(crate) use webhooks::{DeliveryBuffer, Sending};

/// The pause after the first failed round of several, and the longest one.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The running jobs.
pub(crate) struct Background {
    jobs: JoinSet<()>,
    sender: JoinSet<()>,
    tasks: TaskLog,
}

impl Background {
    /// Starts all jobs of `server`; they end when `shutdown` is requested. Call it inside a [`LocalSet`](tokio::task::LocalSet): jobs
    /// mostly wait, so one thread is enough for all of them.
    ///
    /// Webhooks are sent as `sending` specifies until `sending_ends`, which must be requested only when no request commits any
    /// longer. The backlog is measured if the metrics can be read: `is_measured`.
    pub(crate) fn start(
        ports: &Ports,
        storage: Storage,
        server: ServerReport,
        sending: Sending,
        shutdown: &Shutdown,
        sending_ends: Shutdown,
        is_measured: bool,
    ) -> Self {
        gauges::describe();
        mail::describe();
        counted_mailer::describe();
        let mut jobs = Self {
            jobs: JoinSet::new(),
            sender: JoinSet::new(),
            tasks: TaskLog::default(),
        };
        jobs.sender
            .spawn_local(supervise_sending(ports.clone(), sending, sending_ends));
        let presence = Presence::new(storage.clone(), ports, server, jobs.tasks.clone());
        jobs.add(presence, ports, shutdown);
        jobs.add(
            Watch::new(storage, ports.keyring.clone(), Arc::clone(&ports.clock)),
            ports,
            shutdown,
        );
        jobs.add(Due::new(ports, Reopening), ports, shutdown);
        jobs.add(Due::new(ports, Publishing), ports, shutdown);
        jobs.add(Due::new(ports, Expiry), ports, shutdown);
        jobs.add(Listings::new(ports), ports, shutdown);
        jobs.add(MailSending::new(ports), ports, shutdown);
        jobs.add(Assessments::new(ports), ports, shutdown);
        jobs.add(Housekeeping::new(ports), ports, shutdown);
        jobs.add(CallRetention::new(ports), ports, shutdown);
        jobs.add(PartyRetention::new(ports), ports, shutdown);
        jobs.add(StoringKeyUses::new(ports), ports, shutdown);
        jobs.add(MailSpool::new(ports), ports, shutdown);
        jobs.add(Deletions::new(ports), ports, shutdown);
        jobs.add(FileSweep::new(ports), ports, shutdown);
        if is_measured {
            jobs.add(BacklogGauges::new(ports), ports, shutdown);
        }
        jobs
    }

    /// Makes daily checks, and mails the operator about them.
    pub(crate) fn check_daily(&mut self, settings: &Settings, storage: Storage, ports: &Ports, shutdown: &Shutdown) {
        self.add(Checkup::new(settings.clone(), storage, ports), ports, shutdown);
    }

    /// Reminds visitors of their appointments. `host` is the public host of the server.
    pub(crate) fn remind_visitors(&mut self, host: &str, ports: &Ports, shutdown: &Shutdown) {
        self.add(Due::new(ports, Reminders::new(host)), ports, shutdown);
    }

    fn add(&mut self, job: impl Job, ports: &Ports, shutdown: &Shutdown) {
        let (clock, tasks) = (Arc::clone(&ports.clock), self.tasks.clone());
        self.jobs.spawn_local(supervise(job, clock, tasks, shutdown.clone()));
    }

    /// Waits until all jobs except the sending of webhooks have ended, for at most `patience`. Then the remaining ones are
    /// cancelled.
    pub(crate) async fn jobs_ended(&mut self, patience: Duration) {
        ended(&mut self.jobs, patience).await;
        self.jobs.abort_all();
    }

    /// Waits until the sending of webhooks has ended, for at most `patience`.
    pub(crate) async fn sending_ended(mut self, patience: Duration) {
        ended(&mut self.sender, patience).await;
    }
}

async fn ended(tasks: &mut JoinSet<()>, patience: Duration) {
    let all = async { while tasks.join_next().await.is_some() {} };
    if time::timeout(patience, all).await.is_err() {
        tracing::warn!("background work did not end in time and was cut off; what it had begun is undone");
    }
}

/// Runs the job until the end is requested, even if it panics.
async fn supervise<J: Job>(job: J, clock: Arc<dyn Clock>, tasks: TaskLog, mut shutdown: Shutdown) {
    loop {
        // A task of its own, so that a panic (which is in the log) ends only that task.
        let mut task = JoinSet::new();
        task.spawn_local(work(
            job.clone(),
            Gauges::new(J::NAME, J::REST, Arc::clone(&clock), tasks.clone()),
            shutdown.clone(),
        ));
        task.join_next().await;
        if shutdown.within(MAX_BACKOFF).await {
            return;
        }
        tracing::warn!(job = J::NAME, "the job is started again");
    }
}

/// Sends webhooks until the end is requested, even after a panic.
async fn supervise_sending(ports: Ports, sending: Sending, mut shutdown: Shutdown) {
    loop {
        let mut task = JoinSet::new();
        task.spawn_local(webhooks::send(ports.clone(), sending.clone(), shutdown.clone()));
        task.join_next().await;
        if shutdown.within(FIRST_BACKOFF).await {
            return;
        }
        tracing::warn!("the sender of webhooks is started again");
    }
}

/// Runs rounds until the end is requested.
async fn work<J: Job>(mut job: J, mut gauges: Gauges, mut shutdown: Shutdown) {
    let mut pause = None;
    while !shutdown.is_requested() {
        let outcome = job.round(&shutdown).await;
        gauges.record(&outcome);
        let rest = match outcome {
            Ok(round) => {
                if pause.take().is_some() {
                    tracing::info!(job = J::NAME, "the job works again");
                }
                if round == Round::More { Duration::ZERO } else { J::REST }
            }
            Err(error) => {
                // A lasting failure is logged once.
                if pause.is_none() {
                    tracing::error!(
                        job = J::NAME,
                        error = chain(&*error),
                        "the job failed and is tried again"
                    );
                }
                *pause.insert(longer(pause))
            }
        };
        shutdown.within(rest).await;
    }
}

fn longer(pause: Option<Duration>) -> Duration {
    pause.map_or(FIRST_BACKOFF, |pause| (pause * 2).min(MAX_BACKOFF))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use forecourt_kernel::BoxError;
    use tokio::task::LocalSet;

    use super::*;
    use crate::{memory::clock_at, shutdown::shutdown};

    /// Runs rounds from a script, then requests the end.
    #[derive(Clone)]
    struct Scripted {
        script: Arc<Mutex<Vec<Result<Round, &'static str>>>>,
        end: Arc<crate::shutdown::Trigger>,
    }

    impl Job for Scripted {
        const NAME: &'static str = "scripted";
        const REST: Duration = Duration::ZERO;

        async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
            let next = self.script.lock().unwrap().pop();
            match next {
                Some(outcome) => outcome.map_err(BoxError::from),
                None => {
                    self.end.pull();
                    Ok(Round::Done)
                }
            }
        }
    }

    #[tokio::test]
    async fn a_job_goes_on_after_failures_until_the_end_is_requested() {
        let (trigger, shutdown) = shutdown();
        let script = Arc::new(Mutex::new(vec![Ok(Round::More), Err("no"), Ok(Round::Done)]));
        let job = Scripted {
            script: Arc::clone(&script),
            end: Arc::new(trigger),
        };
        let supervised = supervise(job, Arc::new(clock_at(0)), TaskLog::default(), shutdown);
        LocalSet::new().run_until(supervised).await;
        assert!(script.lock().unwrap().is_empty());
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let mut pause = None;
        let seconds: Vec<_> = std::iter::repeat_with(|| pause.insert(longer(pause)).as_secs())
            .take(8)
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
