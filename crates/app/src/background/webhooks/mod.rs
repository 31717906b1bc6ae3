//! Sends webhooks.
//!
//! Commits pass the deliveries that they make to the [`DeliveryBuffer`], already leased to this server. Deliveries that are due
//! later, or were left by a server that died, are fetched from the database when they are due. Each endpoint has an
//! [`EndpointQueue`] of its own with few concurrent attempts, so that no endpoint waits for another, and no business uses all
//! [`Slots`]. The outcomes of attempts are recorded in batches: while one is being committed, the next is collected.

mod delivery_buffer;
mod endpoint_queue;
mod slots;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    mem,
    sync::Arc,
    time::Duration,
};

use forecourt_dealership::Database;
use forecourt_kernel::{Clock, DeliveryId, Moment, Random, StoreError, StoreResult};
use forecourt_webhooks::{
    Attempt, AttemptRecord, Deletion, DeliveryError, DueDelivery, Endpoint, EndpointKey, EndpointState, Policy,
    Projections, ReadyDelivery, Reservation, Topic, WebhookClient, disable_damaged, record_attempts, wrap,
};
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{self, Instant},
};

pub(crate) use delivery_buffer::DeliveryBuffer;

use super::job::Ports;
use crate::{output::chain, shutdown::Shutdown, transaction::transact};
use delivery_buffer::CommittedDeliveries;
use endpoint_queue::{Buffered, EndpointQueue};
use slots::Slots;

/// The interval at which the database is polled if nothing is known to be due.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The pause after the database failed.
const BACKOFF: Duration = Duration::from_secs(1);
/// The number of endpoints that one fetch serves.
const ENDPOINTS_AT_ONCE: u32 = 64;
/// The number of expired leases that one fetch takes back.
const RECLAIMED_AT_ONCE: u32 = 1024;
/// The number of attempts that one transaction records.
const RECORDED_AT_ONCE: usize = 512;
/// The number of ended attempts waiting to be recorded at which no more are begun.
const MAX_UNRECORDED: usize = 4096;
/// The interval at which the switch is read while outgoing is held.
const HELD_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The delay in milliseconds after which a delivery that this server could not try is tried again.
const BACKOFF_MILLIS: i64 = 1_000;
/// The time in milliseconds until the next turn of an endpoint whose queue is full, if it does not request more before.
const NEXT_TURN_MILLIS: i64 = 10_000;

/// The ports and settings of the sender.
#[derive(Clone)]
pub(crate) struct Sending {
    /// The buffer to which commits pass deliveries.
    pub(crate) buffer: Arc<DeliveryBuffer>,
    /// Sends requests.
    pub(crate) client: Arc<dyn WebhookClient>,
    /// The policy of delivery.
    pub(crate) policy: Policy,
    /// Projections of records for subscriptions that may not see every field.
    pub(crate) projections: Projections,
    /// Randomises the times of retries.
    pub(crate) random: Arc<dyn Random>,
}

/// Sends until the end is requested, then finishes the attempts in progress.
pub(super) async fn send(ports: Ports, sending: Sending, mut shutdown: Shutdown) {
    describe();
    let buffer = Arc::clone(&sending.buffer);
    buffer.forget_all();
    buffer.close(false);
    let mut sender = Sender::new(ports, sending);
    loop {
        sender.obey_switch();
        sender.begin_attempts();
        sender.begin_database_tasks();
        let (next_look, may_look) = (sender.next_look(), !sender.fetching);
        tokio::select! {
            biased;
            _ = shutdown.within(Duration::MAX) => break,
            Some(ended) = sender.attempts.join_next_with_id() => sender.attempt_ended(ended),
            Some(done) = sender.database_tasks.join_next() => sender.database_task_done(done),
            () = buffer.arrival() => {}
            () = time::sleep_until(next_look), if may_look => sender.wants_fetch = true,
        }
        // Everything else that has happened by now is processed before an attempt begins.
        sender.receive(buffer.take());
        while let Some(ended) = sender.attempts.try_join_next_with_id() {
            sender.attempt_ended(ended);
        }
        while let Some(done) = sender.database_tasks.try_join_next() {
            sender.database_task_done(done);
        }
        gauge(&buffer);
    }
    sender.finish().await;
    gauge(&buffer);
}

/// An attempt in progress.
struct Flight {
    endpoint: EndpointKey,
    /// The delivery without its data.
    due: DueDelivery,
    began: Moment,
    /// The room that it reserves until the end.
    _reservation: Reservation,
}

/// The outcome of an attempt and its time; `None` if there was nothing to send.
type Outcome = Option<(Attempt, Moment)>;

/// The result of a task of the database.
enum Done {
    Recorded(Result<(), (Vec<AttemptRecord>, StoreError)>),
    Fetched(Result<Fetched, (Fetch, StoreError)>),
}

/// The result of a fetch.
#[derive(Default)]
struct Fetched {
    queues: Vec<ClaimedQueue>,
    /// The failure that ended the fetch early, and the endpoints that it did not reach.
    failure: Option<(Vec<EndpointKey>, StoreError)>,
    /// The time of the next look into the database.
    next_due: Option<Moment>,
}

/// The deliveries taken from an endpoint's queue.
struct ClaimedQueue {
    key: EndpointKey,
    state: EndpointState,
    deliveries: Vec<Buffered>,
    /// True if more may be due.
    more: bool,
}

struct Sender {
    ports: Ports,
    sending: Sending,
    queues: HashMap<EndpointKey, EndpointQueue>,
    /// The queues in which an attempt may begin.
    ready: HashSet<EndpointKey>,
    attempts: JoinSet<Outcome>,
    /// The attempts in progress, by their tasks.
    flights: HashMap<Id, Flight>,
    slots: Slots,
    /// The transactions in progress: at most one that records, and one that fetches.
    database_tasks: JoinSet<Done>,
    recording: bool,
    fetching: bool,
    to_record: Vec<AttemptRecord>,
    /// Deliveries that are held but must not be tried: the endpoint is disabled, or the lease is nearly over.
    to_give_back: Vec<(EndpointKey, DeliveryId, Moment)>,
    /// Records that were deleted since the fetch in progress began: it may bring updates of them.
    deleted: HashSet<Deletion>,
    /// True if this machine lacked a resource at the last attempt.
    short: bool,
    wants_fetch: bool,
    /// The queues whose endpoint must be read again.
    unknown: HashSet<EndpointKey>,
    look_at: Instant,
    /// The end of the pause after a failure of the database.
    paused_until: Option<Instant>,
    /// True once no new deliveries are taken.
    ending: bool,
    /// True while outgoing is held: everything stays in the queues.
    held: bool,
}

impl Sender {
    fn new(ports: Ports, sending: Sending) -> Self {
        Self {
            ports,
            sending,
            queues: HashMap::new(),
            ready: HashSet::new(),
            attempts: JoinSet::new(),
            flights: HashMap::new(),
            slots: Slots::default(),
            database_tasks: JoinSet::new(),
            recording: false,
            fetching: false,
            to_record: Vec::new(),
            to_give_back: Vec::new(),
            deleted: HashSet::new(),
            short: false,
            wants_fetch: true,
            unknown: HashSet::new(),
            look_at: Instant::now() + POLL_INTERVAL,
            paused_until: None,
            ending: false,
            held: false,
        }
    }

    fn receive(&mut self, arrived: CommittedDeliveries) {
        let CommittedDeliveries {
            deliveries,
            changed,
            deleted,
            due,
        } = arrived;
        let now = Instant::now();
        // Updates are never passed by commits: those that are superseded have been fetched.
        self.drop_superseded(&deleted);
        if self.fetching {
            self.deleted.extend(deleted);
        }
        for ReadyDelivery {
            due,
            endpoint,
            reservation,
        } in deliveries
        {
            let key = endpoint.key;
            let queue = match self.queues.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(EndpointQueue::new(Arc::clone(&endpoint), now)),
            };
            queue.learn(endpoint, now);
            queue.queue.push_back(Buffered { due, reservation });
            self.ready.insert(key);
        }
        for key in changed {
            if let Some(queue) = self.queues.get_mut(&key) {
                queue.invalidate();
                self.ready.insert(key);
            }
        }
        if let Some(due) = due {
            self.look_by(due);
        }
    }

    /// Gives back the updates of records that are deleted: the server that takes them next drops them.
    fn drop_superseded(&mut self, deleted: &HashSet<Deletion>) {
        if deleted.is_empty() {
            return;
        }
        let now = self.ports.clock.moment();
        for (key, queue) in &mut self.queues {
            for deletion in deleted.iter().filter(|deletion| deletion.business == key.business) {
                let superseded = queue.take_superseded(deletion).into_iter();
                self.to_give_back
                    .extend(superseded.map(|buffered| (*key, buffered.due.id, now)));
            }
        }
    }

    /// Ensures that the database is read at `due` or sooner.
    fn look_by(&mut self, due: Moment) {
        let millis = due.epoch_millis() - self.ports.clock.moment().epoch_millis();
        let wait = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
        self.look_at = self.look_at.min(Instant::now() + wait);
    }

    /// Returns the time at which the database is read next.
    fn next_look(&self) -> Instant {
        self.paused_until.map_or(self.look_at, |until| until.max(self.look_at))
    }

    /// While outgoing is held, gives back what is held in memory, and takes nothing from the queues.
    fn obey_switch(&mut self) {
        let held = self.ports.database.is_outgoing_held();
        if held != mem::replace(&mut self.held, held) {
            self.sending.buffer.close(held);
            self.wants_fetch = true;
        }
        if !held {
            return;
        }
        self.give_back_all();
        self.wants_fetch = false;
        self.look_at = Instant::now() + HELD_POLL_INTERVAL;
    }

    /// Gives back all deliveries that were not begun.
    fn give_back_all(&mut self) {
        let now = self.ports.clock.moment();
        for (key, queue) in &mut self.queues {
            queue.more = false;
            let waiting = queue.queue.drain(..).map(|buffered| (*key, buffered.due.id, now));
            self.to_give_back.extend(waiting);
            self.ready.insert(*key);
        }
    }

    /// Begins as many attempts as are allowed.
    fn begin_attempts(&mut self) {
        let now = Instant::now();
        for key in mem::take(&mut self.ready) {
            let Some(queue) = self.queues.get_mut(&key) else {
                continue;
            };
            while queue.is_open() && queue.has_next() {
                if !self.slots.has_room(key.business) || self.to_record.len() >= MAX_UNRECORDED {
                    self.ready.insert(key);
                    break;
                }
                if !queue.is_known(now) {
                    self.unknown.insert(key);
                    self.wants_fetch = true;
                    break;
                }
                let Some(Buffered { due, reservation }) = queue.next() else {
                    break;
                };
                let began = self.ports.clock.moment();
                let wanted = queue.endpoint.active || due.topic == Topic::Ping;
                if !wanted || !self.sending.policy.may_begin(began, due.lease) {
                    self.to_give_back.push((key, due.id, began));
                    continue;
                }
                queue.began(&due);
                self.slots.take(key.business);
                let without_data = DueDelivery {
                    data: None,
                    event_id: due.event_id.clone(),
                    ..due
                };
                let task = self.attempts.spawn_local(attempt(
                    self.sending.clone(),
                    Arc::clone(&self.ports.clock),
                    Arc::clone(&queue.endpoint),
                    due,
                    began,
                ));
                let flight = Flight {
                    endpoint: key,
                    due: without_data,
                    began,
                    _reservation: reservation,
                };
                self.flights.insert(task.id(), flight);
            }
            if queue.runs_low() && self.sending.buffer.room(key).deliveries > 0 {
                self.wants_fetch = true;
            }
            if queue.is_idle() {
                self.queues.remove(&key);
                self.sending.buffer.forget(key);
            }
        }
    }

    fn may_take(&self) -> bool {
        !self.ending && !self.held
    }

    fn attempt_ended(&mut self, ended: Result<(Id, Outcome), JoinError>) {
        let (id, outcome) = match ended {
            Ok(ended) => ended,
            // The panic is in the log. It counts as a failure, so that a delivery that causes one is not tried for ever.
            Err(panicked) => {
                let attempt = Attempt {
                    took_ms: 0,
                    outcome: Err(DeliveryError::Internal),
                };
                (panicked.id(), Some((attempt, self.ports.clock.moment())))
            }
        };
        let Some(Flight {
            endpoint, due, began, ..
        }) = self.flights.remove(&id)
        else {
            return;
        };
        self.slots.release(endpoint.business);
        let accepted = match &outcome {
            Some((attempt, _)) => match &attempt.outcome {
                Ok(answer) => Some(answer.accepts()),
                Err(DeliveryError::Shortage) => None,
                Err(_) => Some(false),
            },
            None => Some(false),
        };
        if let Some(queue) = self.queues.get_mut(&endpoint) {
            queue.ended(&due, accepted);
            self.sending.buffer.set_room(endpoint, queue.room());
            self.ready.insert(endpoint);
        }
        let record = match outcome {
            Some((attempt, ended)) => {
                count(&attempt);
                if accepted.is_none() {
                    self.postpone(endpoint, &due, ended);
                    return;
                }
                self.short = false;
                let chance = chance(&*self.sending.random);
                due.validate(endpoint, attempt, began, ended, &self.sending.policy.schedule, chance)
            }
            None => due.unsendable(endpoint, self.ports.clock.moment(), "the event is no longer kept"),
        };
        self.to_record.push(record);
    }

    /// Postpones a delivery that this machine could not try, which is not a failure of the endpoint.
    fn postpone(&mut self, endpoint: EndpointKey, due: &DueDelivery, now: Moment) {
        if !mem::replace(&mut self.short, true) {
            tracing::error!(
                "this server is short of file descriptors, memory or ports; webhooks are put off until it has some again"
            );
        }
        self.to_give_back
            .push((endpoint, due.id, now.plus_millis(BACKOFF_MILLIS)));
    }

    /// Begins the transactions that are needed.
    fn begin_database_tasks(&mut self) {
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
            self.database_tasks.spawn_local(async move {
                let recorded: StoreResult<()> = transact(&*database, async |session| {
                    record_attempts(session, &policy, &batch, clock.now()).await
                })
                .await;
                Done::Recorded(recorded.map_err(|error| (batch, error)))
            });
        }
        if !self.fetching && (self.wants_fetch && self.may_take() || !self.to_give_back.is_empty()) {
            self.wants_fetch = false;
            self.fetching = true;
            self.look_at = Instant::now() + POLL_INTERVAL;
            let database_task = Fetch {
                give_back: mem::take(&mut self.to_give_back),
                take: self.may_take(),
                unknown: mem::take(&mut self.unknown).into_iter().collect(),
                low: self
                    .queues
                    .iter()
                    .filter(|(key, queue)| queue.runs_low() && self.sending.buffer.room(**key).deliveries > 0)
                    .map(|(key, _)| *key)
                    .collect(),
                buffer: Arc::clone(&self.sending.buffer),
                policy: self.sending.policy.clone(),
                now: self.ports.clock.moment(),
            };
            let database = Arc::clone(&self.ports.database);
            self.database_tasks.spawn_local(async move {
                let fetched = database_task.run(&*database).await;
                Done::Fetched(fetched.map_err(|error| (database_task, error)))
            });
        }
    }

    fn database_task_done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Recorded(outcome)) => {
                self.recording = false;
                match outcome {
                    Ok(()) => self.paused_until = None,
                    Err((batch, error)) => {
                        // They are recorded later: a delivery that was made stays delivered.
                        self.to_record.splice(0..0, batch);
                        self.pause(&error);
                    }
                }
            }
            Ok(Done::Fetched(outcome)) => {
                self.fetching = false;
                match outcome {
                    Ok(mut fetched) => {
                        let failure = fetched.failure.take();
                        self.take_in(fetched);
                        let deleted = mem::take(&mut self.deleted);
                        self.drop_superseded(&deleted);
                        if let Some((left, error)) = failure {
                            self.unknown.extend(left);
                            self.wants_fetch = true;
                            self.pause(&error);
                        }
                    }
                    Err((database_task, error)) => {
                        // Deliveries that could not be given back are reclaimed when their lease is over: another server may
                        // hold them by then.
                        self.unknown.extend(database_task.unknown);
                        self.wants_fetch = true;
                        self.pause(&error);
                    }
                }
            }
            // The panic is in the log.
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
        self.paused_until = Some(Instant::now() + BACKOFF);
        self.look_at = self.look_at.min(Instant::now() + BACKOFF);
    }

    fn take_in(&mut self, fetched: Fetched) {
        let now = Instant::now();
        self.paused_until = None;
        for taken in fetched.queues {
            let ClaimedQueue {
                key,
                state,
                deliveries,
                more,
            } = taken;
            let endpoint = match state {
                EndpointState::Ready(endpoint) => Arc::new(endpoint),
                state => {
                    let mut waiting = deliveries;
                    if let Some(queue) = self.queues.get_mut(&key) {
                        waiting.extend(queue.queue.drain(..));
                        queue.more = false;
                    }
                    // The deliveries of a deleted endpoint failed with its deletion.
                    if state == EndpointState::Damaged {
                        self.cannot_sign(key, waiting);
                    }
                    self.ready.insert(key);
                    continue;
                }
            };
            let queue = match self.queues.entry(key) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(EndpointQueue::new(Arc::clone(&endpoint), now)),
            };
            queue.learn(endpoint, now);
            queue.queue.extend(deliveries);
            queue.more = more;
            self.ready.insert(key);
        }
        if let Some(due) = fetched.next_due {
            self.look_by(due);
        }
    }

    /// Gives back the deliveries of an endpoint whose secret is damaged: they wait until it has a new one, except pings.
    fn cannot_sign(&mut self, key: EndpointKey, waiting: Vec<Buffered>) {
        let now = self.ports.clock.moment();
        for Buffered { due, .. } in waiting {
            if due.topic == Topic::Ping {
                let why = "the webhook's secret cannot be read: rotate it";
                self.to_record.push(due.unsendable(key, now, why));
            } else {
                self.to_give_back.push((key, due.id, now.plus_millis(BACKOFF_MILLIS)));
            }
        }
    }

    /// Ends, once no request commits any longer. Deliveries that were not begun are given back, so that another server or the
    /// next start takes them at once. Attempts in progress are awaited and recorded.
    async fn finish(mut self) {
        self.ending = true;
        let buffer = Arc::clone(&self.sending.buffer);
        loop {
            // A fetch in progress may bring more.
            self.receive(buffer.take());
            self.give_back_all();
            self.begin_database_tasks();
            tokio::select! {
                Some(ended) = self.attempts.join_next_with_id() => self.attempt_ended(ended),
                Some(done) = self.database_tasks.join_next() => self.database_task_done(done),
                // Deliveries whose outcome is not recorded by now, since the database is down, are sent again by the server
                // that takes them.
                else => break,
            }
        }
    }
}

/// A request to the database for due deliveries.
struct Fetch {
    give_back: Vec<(EndpointKey, DeliveryId, Moment)>,
    /// True if deliveries are to be taken.
    take: bool,
    unknown: Vec<EndpointKey>,
    low: Vec<EndpointKey>,
    buffer: Arc<DeliveryBuffer>,
    policy: Policy,
    now: Moment,
}

impl Fetch {
    async fn run(&self, database: &dyn Database) -> StoreResult<Fetched> {
        self.give_back(database).await?;
        let mut fetched = Fetched::default();
        if !self.take {
            return Ok(fetched);
        }
        let mut keys = transact(database, async |session| {
            session.due_endpoints(self.now, ENDPOINTS_AT_ONCE).await
        })
        .await?;
        for key in self.low.iter().chain(&self.unknown) {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        // All transactions lock queues in the same order; and a transaction never has queues of two businesses.
        keys.sort_unstable();
        let mut left = keys.as_slice();
        for keys in keys.chunk_by(|one, next| one.business == next.business) {
            match self.take_from(database, keys).await {
                Ok(queues) => fetched.queues.extend(queues),
                Err(error) if fetched.queues.is_empty() => return Err(error),
                Err(error) => {
                    // Deliveries that were taken before are held by this server.
                    fetched.failure = Some((left.to_vec(), error));
                    return Ok(fetched);
                }
            }
            left = left.get(keys.len()..).unwrap_or_default();
        }
        match transact(database, async |session| session.next_due().await).await {
            Ok(next) => fetched.next_due = next,
            Err(error) => fetched.failure = Some((Vec::new(), error)),
        }
        let damaged = fetched
            .queues
            .iter()
            .filter(|taken| taken.state == EndpointState::Damaged);
        for ClaimedQueue { key, .. } in damaged {
            self.disable(database, *key).await;
        }
        Ok(fetched)
    }

    /// Gives back deliveries that were taken and not sent, and reclaims those of servers that died. It takes locks that come
    /// before those of queues.
    async fn give_back(&self, database: &dyn Database) -> StoreResult<()> {
        if self.give_back.is_empty() && !self.take {
            return Ok(());
        }
        let mut given_back: BTreeMap<(EndpointKey, Moment), Vec<DeliveryId>> = BTreeMap::new();
        for (key, id, due) in &self.give_back {
            given_back.entry((*key, *due)).or_default().push(*id);
        }
        transact(database, async |session| {
            for ((key, due), ids) in &given_back {
                session.give_back(*key, ids, *due).await?;
            }
            if self.take {
                session.reclaim(self.now, RECLAIMED_AT_ONCE).await?;
            }
            Ok(())
        })
        .await
    }

    /// Takes from the queues of one business.
    async fn take_from(&self, database: &dyn Database, keys: &[EndpointKey]) -> StoreResult<Vec<ClaimedQueue>> {
        let (lease, again) = (self.policy.lease(self.now), self.now.plus_millis(NEXT_TURN_MILLIS));
        transact(database, async |session| {
            let mut queues = Vec::with_capacity(keys.len());
            for &key in keys {
                let taken = session
                    .take_due(key, self.now, lease, self.buffer.room(key), again)
                    .await?;
                // Reserved at once: the next endpoint gets the room that is left.
                let hold = |due: DueDelivery| Buffered {
                    reservation: self.buffer.hold(key, due.data.as_ref().map_or(0, |data| data.len())),
                    due,
                };
                queues.push(ClaimedQueue {
                    key,
                    deliveries: taken.deliveries.into_iter().map(hold).collect(),
                    state: session.endpoint(key).await?,
                    more: taken.more,
                });
            }
            Ok(queues)
        })
        .await
    }

    /// Disables an endpoint whose secret is damaged. It takes locks that come before those of queues.
    async fn disable(&self, database: &dyn Database, key: EndpointKey) {
        let EndpointKey { business, webhook } = key;
        let disabled: StoreResult<bool> = transact(database, async |session| {
            disable_damaged(session, key, self.now.timestamp()).await
        })
        .await;
        match disabled {
            Ok(true) => tracing::error!(%business, %webhook, "a webhook's secret cannot be read, so it was disabled"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%business, %webhook, error = chain(&error), "a webhook cannot be disabled"),
        }
    }
}

async fn attempt(
    sending: Sending,
    clock: Arc<dyn Clock>,
    endpoint: Arc<Endpoint>,
    due: DueDelivery,
    began: Moment,
) -> Outcome {
    let signed_request = wrap(&due, &endpoint, &sending.projections, began.timestamp())?;
    // The request contains all of it.
    drop(due);
    let attempt = sending.client.post(signed_request).await;
    Some((attempt, clock.moment()))
}

/// Returns a random number from 0 to 1.
fn chance(random: &dyn Random) -> f64 {
    let mut bytes = [0; 4];
    random.fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

const ATTEMPTS: &str = "forecourt_webhook_attempts_total";
const ATTEMPT_SECONDS: &str = "forecourt_webhook_attempt_seconds";
const DELIVERED: &str = "delivered";
const REFUSED: &str = "refused";
const UNANSWERED: &str = "unanswered";
const BUFFERED: &str = "forecourt_webhook_buffered_deliveries";
const BUFFERED_BYTES: &str = "forecourt_webhook_buffered_bytes";

/// Registers the descriptions of the metrics.
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
    // Registered from the start, so that the first of its kind shows as an increase.
    for outcome in [DELIVERED, REFUSED, UNANSWERED] {
        metrics::counter!(ATTEMPTS, "outcome" => outcome).increment(0);
    }
    drop(metrics::histogram!(ATTEMPT_SECONDS));
    metrics::describe_gauge!(BUFFERED, "Deliveries of webhooks that this server holds in memory");
    metrics::describe_gauge!(
        BUFFERED_BYTES,
        metrics::Unit::Bytes,
        "Memory that the deliveries take which this server holds"
    );
}

/// Records the amount that is held.
fn gauge(buffer: &DeliveryBuffer) {
    let (deliveries, bytes) = buffer.held();
    #[expect(clippy::cast_precision_loss, reason = "both are bounded far below that")]
    let (deliveries, bytes) = (deliveries as f64, bytes as f64);
    metrics::gauge!(BUFFERED).set(deliveries);
    metrics::gauge!(BUFFERED_BYTES).set(bytes);
}

/// Counts an attempt.
fn count(attempt: &Attempt) {
    let outcome = match &attempt.outcome {
        Ok(answer) if answer.accepts() => DELIVERED,
        Ok(_) => REFUSED,
        Err(_) => UNANSWERED,
    };
    metrics::counter!(ATTEMPTS, "outcome" => outcome).increment(1);
    metrics::histogram!(ATTEMPT_SECONDS).record(f64::from(attempt.took_ms) / 1000.0);
}
