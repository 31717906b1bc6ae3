//! Sending webhooks.
//!
//! Commits hand the deliveries that they make to the [`Desk`], already leased to this server; what is due later, or has
//! been left by a server that is gone, is fetched from the database when its time comes. Each endpoint has a [`Lane`] of its
//! own with few attempts at once, so that no endpoint waits for another. What came of attempts is recorded in batches: while
//! one is being committed, the next gathers.

mod desk;
mod lane;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    mem,
    sync::Arc,
    time::Duration,
};

use forecourt_dealership::Database;
use forecourt_kernel::{Clock, DeliveryId, Moment, Random, StoreError, StoreResult};
use forecourt_webhooks::{
    Attempt, AttemptRecord, Courier, DueDelivery, Endpoint, EndpointKey, HandedOver, News, Policy, Projections, Topic,
    record_attempts, wrap,
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{self, Instant},
};

pub(crate) use desk::Desk;

use super::Ports;
use crate::{output::chain, shutdown::Shutdown, transaction::transact};
use lane::Lane;

/// How long nobody looks into the database when nothing is known to be due there.
const LOOK: Duration = Duration::from_secs(10);
/// The pause after the database failed.
const PAUSE: Duration = Duration::from_secs(1);
/// How many attempts are under way at once, to all endpoints together.
const MOST_IN_FLIGHT: usize = 1024;
/// How many endpoints one fetch serves.
const ENDPOINTS_AT_ONCE: u32 = 64;
/// How many leases that are over one fetch takes back.
const RECLAIMED_AT_ONCE: u32 = 1024;
/// How many attempts one transaction records.
const RECORDED_AT_ONCE: usize = 512;
/// When an endpoint of which more is due than there is room for gets its next turn, if it does not ask for more before.
const NEXT_TURN_MILLIS: i64 = 10_000;

/// What the sender works with.
#[derive(Clone)]
pub(crate) struct Sending {
    /// Where commits hand over.
    pub(crate) desk: Arc<Desk>,
    /// Carries parcels.
    pub(crate) courier: Arc<dyn Courier>,
    /// How webhooks are delivered.
    pub(crate) policy: Policy,
    /// How records are shown to those who may not see everything.
    pub(crate) projections: Projections,
    /// Spreads retries.
    pub(crate) random: Arc<dyn Random>,
}

/// Sends until the end is requested, then finishes what is under way.
pub(super) async fn send(
    ports: Ports,
    sending: Sending,
    arriving: &mut mpsc::UnboundedReceiver<News>,
    mut shutdown: Shutdown,
) {
    describe();
    sending.desk.clear();
    let mut sender = Sender::new(ports, sending);
    loop {
        sender.begin_attempts();
        sender.begin_errands();
        let (next_look, may_look) = (sender.next_look(), !sender.fetching);
        tokio::select! {
            biased;
            _ = shutdown.within(Duration::MAX) => break,
            Some(ended) = sender.attempts.join_next() => sender.attempt_ended(ended),
            Some(done) = sender.errands.join_next() => sender.errand_done(done),
            Some(news) = arriving.recv() => sender.hear(news),
            () = time::sleep_until(next_look), if may_look => sender.wants_fetch = true,
        }
        // Whatever else has happened by now is taken in before anything is begun.
        while let Ok(news) = arriving.try_recv() {
            sender.hear(news);
        }
        while let Some(ended) = sender.attempts.try_join_next() {
            sender.attempt_ended(ended);
        }
        while let Some(done) = sender.errands.try_join_next() {
            sender.errand_done(done);
        }
    }
    sender.finish().await;
}

/// An attempt that has ended.
struct Ended {
    endpoint: EndpointKey,
    due: DueDelivery,
    outcome: Option<(Attempt, Moment, Moment)>,
}

/// What was done with the database.
enum Done {
    Recorded(Result<(), (Vec<AttemptRecord>, StoreError)>),
    Fetched(Result<Fetched, (Fetch, StoreError)>),
}

/// What a fetch brings.
#[derive(Default)]
struct Fetched {
    lanes: Vec<Taken>,
    /// When to look again.
    next_due: Option<Moment>,
}

/// What was taken of an endpoint's queue.
struct Taken {
    key: EndpointKey,
    /// `None` if it was deleted.
    endpoint: Option<Arc<Endpoint>>,
    deliveries: Vec<DueDelivery>,
    /// Whether more may be due.
    more: bool,
}

struct Sender {
    ports: Ports,
    sending: Sending,
    lanes: HashMap<EndpointKey, Lane>,
    /// Lanes in which something may be begun.
    ready: HashSet<EndpointKey>,
    attempts: JoinSet<Ended>,
    /// Transactions under way: at most one that records, and one that fetches.
    errands: JoinSet<Done>,
    recording: bool,
    fetching: bool,
    to_record: Vec<AttemptRecord>,
    /// Held, but not to be tried: the endpoint is disabled, or the lease nearly over.
    to_give_back: Vec<(EndpointKey, DeliveryId)>,
    wants_fetch: bool,
    /// Lanes whose endpoint is to be read again.
    unknown: HashSet<EndpointKey>,
    look_at: Instant,
    /// Nothing is asked of the database before then: it failed.
    paused_until: Option<Instant>,
    /// Nothing new is taken.
    ending: bool,
}

impl Sender {
    fn new(ports: Ports, sending: Sending) -> Self {
        Self {
            ports,
            sending,
            lanes: HashMap::new(),
            ready: HashSet::new(),
            attempts: JoinSet::new(),
            errands: JoinSet::new(),
            recording: false,
            fetching: false,
            to_record: Vec::new(),
            to_give_back: Vec::new(),
            wants_fetch: true,
            unknown: HashSet::new(),
            look_at: Instant::now() + LOOK,
            paused_until: None,
            ending: false,
        }
    }

    fn hear(&mut self, news: News) {
        let now = Instant::now();
        for HandedOver { due, endpoint } in news.deliveries {
            let key = endpoint.key;
            let lane = match self.lanes.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Lane::new(Arc::clone(&endpoint), now)),
            };
            lane.learn(endpoint, now);
            lane.queue.push_back(due);
            self.ready.insert(key);
        }
        for key in news.changed {
            if let Some(lane) = self.lanes.get_mut(&key) {
                lane.distrust();
                self.ready.insert(key);
            }
        }
        for (_, due) in news.queued {
            self.look_by(due);
        }
    }

    /// Sees to it that the database is looked into at `due`, or sooner.
    fn look_by(&mut self, due: Moment) {
        let millis = due.epoch_millis() - self.ports.clock.moment().epoch_millis();
        let wait = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
        self.look_at = self.look_at.min(Instant::now() + wait);
    }

    /// When the database is looked into next.
    fn next_look(&self) -> Instant {
        self.paused_until.map_or(self.look_at, |until| until.max(self.look_at))
    }

    /// Begins as many attempts as may be under way.
    fn begin_attempts(&mut self) {
        let now = Instant::now();
        for key in mem::take(&mut self.ready) {
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            while lane.is_open() && !lane.queue.is_empty() {
                if self.attempts.len() >= MOST_IN_FLIGHT {
                    self.ready.insert(key);
                    break;
                }
                if !lane.is_known(now) {
                    self.unknown.insert(key);
                    self.wants_fetch = true;
                    break;
                }
                let Some(due) = lane.queue.pop_front() else { break };
                let began = self.ports.clock.moment();
                let wanted = lane.endpoint.active || due.topic == Topic::Ping;
                if !wanted || !self.sending.policy.may_begin(began, due.lease) {
                    self.to_give_back.push((key, due.id));
                    self.sending.desk.release(key, 1, lane.room());
                    continue;
                }
                lane.in_flight += 1;
                self.attempts.spawn_local(attempt(
                    self.sending.clone(),
                    Arc::clone(&self.ports.clock),
                    Arc::clone(&lane.endpoint),
                    due,
                    began,
                ));
            }
            if lane.runs_low() && self.sending.desk.room(key) > 0 {
                self.wants_fetch = true;
            }
            if lane.is_idle() {
                self.lanes.remove(&key);
                self.sending.desk.forget(key);
            }
        }
    }

    fn attempt_ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        // An attempt that panicked is taken up again when its lease is over.
        let Ok(Ended { endpoint, due, outcome }) = ended else {
            return;
        };
        let accepted =
            matches!(&outcome, Some((attempt, _, _)) if attempt.outcome.as_ref().is_ok_and(|answer| answer.accepts()));
        if let Some(lane) = self.lanes.get_mut(&endpoint) {
            lane.ended(accepted);
            self.sending.desk.release(endpoint, 1, lane.room());
            self.ready.insert(endpoint);
        }
        let record = match outcome {
            Some((attempt, began, ended)) => {
                tell(&attempt);
                let chance = chance(&*self.sending.random);
                due.judge(endpoint, attempt, began, ended, &self.sending.policy.schedule, chance)
            }
            None => due.lost(endpoint, self.ports.clock.moment()),
        };
        self.to_record.push(record);
    }

    /// Begins the transactions that are called for.
    fn begin_errands(&mut self) {
        if self.paused_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        if !self.recording && !self.to_record.is_empty() {
            let batch: Vec<_> = {
                let rest = self.to_record.split_off(self.to_record.len().min(RECORDED_AT_ONCE));
                mem::replace(&mut self.to_record, rest)
            };
            self.recording = true;
            let (database, clock) = (Arc::clone(&self.ports.database), Arc::clone(&self.ports.clock));
            let policy = self.sending.policy.clone();
            self.errands.spawn_local(async move {
                let recorded: StoreResult<()> = transact(&*database, async |session| {
                    record_attempts(session, &policy, &batch, clock.now()).await
                })
                .await;
                Done::Recorded(recorded.map_err(|error| (batch, error)))
            });
        }
        if !self.fetching && (self.wants_fetch && !self.ending || !self.to_give_back.is_empty()) {
            self.wants_fetch = false;
            self.fetching = true;
            self.look_at = Instant::now() + LOOK;
            let errand = Fetch {
                give_back: mem::take(&mut self.to_give_back),
                take: !self.ending,
                unknown: mem::take(&mut self.unknown).into_iter().collect(),
                low: self
                    .lanes
                    .iter()
                    .filter(|(key, lane)| lane.runs_low() && self.sending.desk.room(**key) > 0)
                    .map(|(key, _)| *key)
                    .collect(),
                desk: Arc::clone(&self.sending.desk),
                policy: self.sending.policy.clone(),
                now: self.ports.clock.moment(),
            };
            let database = Arc::clone(&self.ports.database);
            self.errands.spawn_local(async move {
                let fetched = errand.run(&*database).await;
                Done::Fetched(fetched.map_err(|error| (errand, error)))
            });
        }
    }

    fn errand_done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Recorded(outcome)) => {
                self.recording = false;
                match outcome {
                    Ok(()) => self.paused_until = None,
                    Err((batch, error)) => {
                        // Recorded later: what was delivered is delivered.
                        self.to_record.splice(0..0, batch);
                        self.pause(&error);
                    }
                }
            }
            Ok(Done::Fetched(outcome)) => {
                self.fetching = false;
                match outcome {
                    Ok(fetched) => self.take_in(fetched),
                    Err((errand, error)) => {
                        // What was to be given back is taken back when its lease is over: later it may be somebody else's.
                        self.unknown.extend(errand.unknown);
                        self.wants_fetch = true;
                        self.pause(&error);
                    }
                }
            }
            // The log has the panic.
            Err(_) => (self.recording, self.fetching) = (false, false),
        }
    }

    fn pause(&mut self, error: &StoreError) {
        if self.paused_until.is_none() {
            tracing::error!(
                error = chain(error),
                "webhooks cannot be seen to, and wait for the database"
            );
        }
        self.paused_until = Some(Instant::now() + PAUSE);
        self.look_at = self.look_at.min(Instant::now() + PAUSE);
    }

    fn take_in(&mut self, fetched: Fetched) {
        let now = Instant::now();
        self.paused_until = None;
        for taken in fetched.lanes {
            let Taken {
                key,
                endpoint,
                deliveries,
                more,
            } = taken;
            let Some(endpoint) = endpoint else {
                // Its deliveries failed with its deletion.
                if let Some(lane) = self.lanes.get_mut(&key) {
                    self.sending.desk.release(key, lane.queue.len(), lane.room());
                    lane.queue.clear();
                    lane.more = false;
                }
                self.ready.insert(key);
                continue;
            };
            let lane = match self.lanes.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Lane::new(Arc::clone(&endpoint), now)),
            };
            lane.learn(endpoint, now);
            lane.queue.extend(deliveries);
            lane.more = more;
            self.ready.insert(key);
        }
        if let Some(due) = fetched.next_due {
            self.look_by(due);
        }
    }

    /// Ends: attempts under way are waited for and recorded, and what was not begun is given back.
    async fn finish(mut self) {
        for (key, lane) in &mut self.lanes {
            let waiting = lane.queue.drain(..).map(|due| (*key, due.id));
            self.to_give_back.extend(waiting);
        }
        self.ending = true;
        while let Some(ended) = self.attempts.join_next().await {
            self.attempt_ended(ended);
        }
        self.begin_errands();
        while let Some(done) = self.errands.join_next().await {
            self.errand_done(done);
            if self.paused_until.is_some() {
                // What is not recorded is sent once more, by whoever takes it up.
                break;
            }
            self.begin_errands();
        }
    }
}

/// A visit to the database for what is due there.
struct Fetch {
    give_back: Vec<(EndpointKey, DeliveryId)>,
    /// Whether anything is to be taken.
    take: bool,
    unknown: Vec<EndpointKey>,
    low: Vec<EndpointKey>,
    desk: Arc<Desk>,
    policy: Policy,
    now: Moment,
}

impl Fetch {
    async fn run(&self, database: &dyn Database) -> StoreResult<Fetched> {
        let fetched = transact(database, async |session| {
            let mut fetched = Fetched::default();
            let mut given_back: HashMap<EndpointKey, Vec<DeliveryId>> = HashMap::new();
            for (key, id) in &self.give_back {
                given_back.entry(*key).or_default().push(*id);
            }
            for (key, ids) in given_back {
                session.give_back(key, &ids, self.now).await?;
            }
            if !self.take {
                return Ok(fetched);
            }
            session.reclaim(self.now, RECLAIMED_AT_ONCE).await?;
            let mut keys = session.due_endpoints(self.now, ENDPOINTS_AT_ONCE).await?;
            for key in self.low.iter().chain(&self.unknown) {
                if !keys.contains(key) {
                    keys.push(*key);
                }
            }
            // In one order, as everybody locks them.
            keys.sort_unstable();
            let (lease, again) = (self.policy.lease(self.now), self.now.plus_millis(NEXT_TURN_MILLIS));
            for key in keys {
                let room = u32::try_from(self.desk.room(key)).unwrap_or(u32::MAX);
                let deliveries = session.take_due(key, self.now, lease, room, again).await?;
                fetched.lanes.push(Taken {
                    key,
                    endpoint: session.endpoint(key).await?.map(Arc::new),
                    more: deliveries.len() >= room as usize,
                    deliveries,
                });
            }
            fetched.next_due = session.next_due().await?;
            Ok::<_, StoreError>(fetched)
        })
        .await?;
        for taken in &fetched.lanes {
            self.desk.hold(taken.key, taken.deliveries.len());
        }
        Ok(fetched)
    }
}

async fn attempt(
    sending: Sending,
    clock: Arc<dyn Clock>,
    endpoint: Arc<Endpoint>,
    due: DueDelivery,
    began: Moment,
) -> Ended {
    let parcel = wrap(&due, &endpoint, &sending.projections, began.timestamp());
    let outcome = match parcel {
        Some(parcel) => {
            let attempt = sending.courier.post(parcel).await;
            Some((attempt, began, clock.moment()))
        }
        None => None,
    };
    Ended {
        endpoint: endpoint.key,
        due,
        outcome,
    }
}

/// A number from 0 to 1.
fn chance(random: &dyn Random) -> f64 {
    let mut bytes = [0; 4];
    random.fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

const ATTEMPTS: &str = "forecourt_webhook_attempts_total";
const ATTEMPT_SECONDS: &str = "forecourt_webhook_attempt_seconds";

/// Says what the figures mean.
fn describe() {
    metrics::describe_counter!(
        ATTEMPTS,
        "Attempts to deliver webhooks, by outcome: delivered, refused by an answer, or unanswered"
    );
    metrics::describe_histogram!(
        ATTEMPT_SECONDS,
        metrics::Unit::Seconds,
        "How long attempts to deliver webhooks took"
    );
}

/// Counts an attempt.
fn tell(attempt: &Attempt) {
    let outcome = match &attempt.outcome {
        Ok(answer) if answer.accepts() => "delivered",
        Ok(_) => "refused",
        Err(_) => "unanswered",
    };
    metrics::counter!(ATTEMPTS, "outcome" => outcome).increment(1);
    metrics::histogram!(ATTEMPT_SECONDS).record(f64::from(attempt.took_ms) / 1000.0);
}
