//! `forecourt listen`: a server's events, posted to a receiver that only this machine has to reach.

mod log;
mod report;

pub(super) use log::ListenError;
pub(crate) use log::{EventLog, LogReply};

use std::{sync::Arc, time::Duration};

use forecourt_kernel::{BusinessId, Clock, DeliveryId, Moment, ScopeSet, Timestamp, WebhookId};
use forecourt_webhooks::{
    Attempt, DueDelivery, Endpoint, EndpointKey, Projections, Secret, TargetUrl, Topic, WebhookClient, wrap,
};
use tokio::time::{Instant, sleep, sleep_until};

use super::CommandError;
use crate::{
    cli::{self, ListenArgs},
    output,
    shutdown::Signals,
    system::{SystemClock, SystemRandom},
    wiring,
};
use log::{LogPart, LoggedEvent, Problem, Query, Start};
use report::{Outcome, Report};

/// The pauses after an event's first, second and third attempt; it has one more, and is then skipped.
const BACKOFFS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// The first and the longest pause while the server is down: each is twice the one before.
const FIRST_ABSENCE: Duration = Duration::from_secs(1);
const MAX_ABSENCE: Duration = Duration::from_secs(30);
/// The minimum interval between reads of the log while much happens: reads count towards the business's rate limit.
const READS_APART: Duration = Duration::from_millis(500);

/// The clients that read and post events.
struct Listening {
    /// The log of the server that is followed.
    log: Arc<dyn EventLog>,
    /// Sends requests to the receiver.
    client: Arc<dyn WebhookClient>,
}

impl Listening {
    /// # Errors
    /// [`ListenError::NoToken`], and those of [`wiring`].
    fn new(args: &ListenArgs) -> Result<Self, CommandError> {
        let token = cli::listen_token().ok_or(ListenError::NoToken)?;
        Ok(Self {
            log: wiring::event_log(&args.server, &token)?,
            client: wiring::local_client()?,
        })
    }
}

/// Follows a server's events until the process is told to end.
///
/// # Errors
/// [`CommandError::Listen`] if there is no token or the server refuses it, [`CommandError::Wiring`], [`CommandError::Output`],
/// [`CommandError::Start`].
pub(super) async fn run(args: ListenArgs) -> Result<(), CommandError> {
    let listening = Listening::new(&args)?;
    let mut signals = Signals::listen().map_err(CommandError::Start)?;
    let follower = Follower::new(listening, args);
    tokio::select! {
        ended = follower.follow() => ended,
        _ = signals.next() => Ok(()),
    }
}

struct Follower {
    listening: Listening,
    query: Query,
    server: String,
    secret: Secret,
    forward_to: TargetUrl,
    report: Report,
}

impl Follower {
    fn new(listening: Listening, args: ListenArgs) -> Self {
        let ListenArgs {
            forward_to,
            server,
            events,
            from_start,
            json,
        } = args;
        let start = if from_start { Start::Oldest } else { Start::Latest };
        Self {
            listening,
            query: Query::new(start, &events),
            server: server.0,
            secret: cli::listen_secret().map_or_else(|| Secret::generate(&SystemRandom), Secret::from_stored),
            forward_to,
            report: Report { json },
        }
    }

    async fn follow(mut self) -> Result<(), CommandError> {
        // The first read does not wait: so the starting position is known, and reported, before anything happens.
        let mut part = self.read(Duration::ZERO).await?;
        self.report
            .begin(&self.server, self.forward_to.as_str(), &self.secret, &part)?;
        loop {
            let again = Instant::now() + READS_APART;
            for event in &part.data {
                self.deliver(event).await?;
            }
            let epoch = part.meta.epoch;
            self.query.go_on_from(&part);
            sleep_until(again).await;
            part = self.read(log::MAX_WAIT).await?;
            if part.meta.epoch != epoch {
                output::complaint(format_args!(
                    "{}: the database went back to an earlier state; events may be missing",
                    self.server
                ));
            }
        }
    }

    /// Returns the next part of the log, however long the server is down.
    async fn read(&mut self, wait: Duration) -> Result<LogPart, CommandError> {
        let mut pause = FIRST_ABSENCE;
        let mut missed = false;
        loop {
            let reply = self.listening.log.read(&self.query.path(wait)).await;
            match log::check(&self.server, reply) {
                Ok(part) => {
                    if missed {
                        output::complaint(format_args!("{} answers again", self.server));
                    }
                    return Ok(part);
                }
                Err(Problem::Final(error)) => return Err(error.into()),
                Err(Problem::Expired) => {
                    output::complaint(format_args!(
                        "{}: the log cannot be read on from there; events are missing, and those from now on follow",
                        self.server
                    ));
                    self.query.go_on_from_now();
                    sleep(pause).await;
                }
                Err(Problem::Passing { why, asked }) => {
                    missed = true;
                    let wait = asked.unwrap_or(pause);
                    output::complaint(format_args!(
                        "{}: {why}; trying again in {} s",
                        self.server,
                        wait.as_secs()
                    ));
                    sleep(wait).await;
                    pause = (pause * 2).min(MAX_ABSENCE);
                }
            }
        }
    }

    /// Posts an event until the receiver accepts it or all attempts have failed.
    async fn deliver(&self, event: &LoggedEvent) -> Result<(), CommandError> {
        let pauses = BACKOFFS.iter().copied().map(Some).chain([None]);
        for (pause, number) in pauses.zip(1..) {
            let Some(attempt) = self.attempt(event).await else {
                return Ok(self.report.unknown(event)?);
            };
            let accepted = attempt.outcome.as_ref().is_ok_and(|answer| answer.accepts());
            let outcome = match pause {
                _ if accepted => Outcome::Delivered,
                Some(pause) => Outcome::Again(pause),
                None => Outcome::Skipped,
            };
            self.report.attempt(event, number, &attempt, outcome)?;
            match outcome {
                Outcome::Again(pause) => sleep(pause).await,
                Outcome::Delivered | Outcome::Skipped => break,
            }
        }
        Ok(())
    }

    /// Posts an event once, as a webhook would; `None` if this version does not know the event.
    async fn attempt(&self, event: &LoggedEvent) -> Option<Attempt> {
        let due = DueDelivery {
            id: DeliveryId::new(event.sequence),
            topic: Topic::Event(event.event.parse().ok()?),
            event_id: event.id.clone(),
            record: None,
            data: Some(event.data.get().into()),
            happened: Timestamp::from_epoch_seconds(event.created),
            attempts: 0,
            first_attempt: None,
            lease: Moment::from_epoch_millis(i64::MAX),
        };
        let endpoint = Endpoint {
            key: EndpointKey {
                business: BusinessId::new(event.business.id),
                webhook: WebhookId::new(0),
            },
            business_tag: event.business.tag.clone(),
            url: self.forward_to.clone(),
            secret: self.secret.clone(),
            scopes: ScopeSet::all(),
            active: true,
        };
        // The server has removed the fields that the token may not see.
        let signed_request = wrap(&due, &endpoint, &Projections::default(), SystemClock.now())?;
        Some(self.listening.client.post(signed_request).await)
    }
}
