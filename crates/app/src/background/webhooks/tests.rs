use std::sync::{
    Mutex,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, EventName, Mail, MailError, Mailer, ScopeSet, Timestamp, WebhookId};
use forecourt_webhooks::{Answer, CommitSummary, Next, Secret, SignedRequest, TargetUrl, Watcher as _};
use tokio::{sync::Semaphore, task::LocalSet};

use super::*;
use crate::{
    memory::{MemoryDatabase, clock_at},
    shutdown::{Trigger, shutdown},
    system::SystemRandom,
};

const KEY: EndpointKey = EndpointKey {
    business: BusinessId::new(1),
    webhook: WebhookId::new(1),
};

/// Delivers everything, and records the addresses. The first delivery requests the end.
struct RecordingClient {
    urls: Mutex<Vec<String>>,
    end: Arc<Trigger>,
}

#[async_trait]
impl WebhookClient for RecordingClient {
    async fn post(&self, signed_request: SignedRequest) -> Attempt {
        self.urls.lock().unwrap().push(signed_request.url);
        self.end.pull();
        let answer = Answer {
            status: 200,
            body: String::new(),
            retry_after: None,
        };
        Attempt {
            took_ms: 1,
            outcome: Ok(answer),
        }
    }
}

struct NoMail;

#[async_trait]
impl Mailer for NoMail {
    async fn send(&self, _: &Mail) -> Result<(), MailError> {
        Ok(())
    }
}

fn endpoint(url: &str) -> Endpoint {
    Endpoint {
        key: KEY,
        business_tag: "acme".into(),
        url: TargetUrl::from_stored(url.into()),
        secret: Secret::from_stored("whsec_x".into()),
        scopes: ScopeSet::all(),
        active: true,
    }
}

fn ping(lease: i64) -> DueDelivery {
    DueDelivery {
        id: DeliveryId::new(1),
        topic: Topic::Ping,
        event_id: "1".into(),
        record: None,
        data: None,
        happened: Timestamp::from_epoch_seconds(0),
        attempts: 0,
        first_attempt: None,
        lease: Moment::from_epoch_millis(lease),
    }
}

/// Returns the ports and settings of a sender.
fn parts(database: &MemoryDatabase, client: Arc<dyn WebhookClient>) -> (Ports, Sending) {
    let ports = Ports {
        database: Arc::new(database.clone()),
        clock: Arc::new(clock_at(0)),
        mailer: Arc::new(NoMail),
        files: Arc::new(forecourt_files::testing::MemoryFileStore::default()),
        installation: "ours".into(),
        purge_pause: crate::background::PurgePause::default(),
        analyst: None,
        key_uses: Arc::default(),
        keyring: forecourt_storage::SecretKey::from_bytes([7; 32]).into(),
        proxies: Arc::default(),
        operator: None,
        mail_folder: "mail".into(),
    };
    let sending = Sending {
        buffer: Arc::new(DeliveryBuffer::new(|_| ())),
        client,
        policy: Policy::default(),
        projections: Projections::default(),
        random: Arc::new(SystemRandom),
    };
    (ports, sending)
}

/// Passes a ping that is leased until `lease` while the database is down for its first two polls, and reports the endpoints
/// `changed`; then sends until the end is requested. Returns the addresses that were delivered to.
async fn sent_in_an_absence(
    database: &MemoryDatabase,
    lease: i64,
    changed: Vec<EndpointKey>,
    ends: impl AsyncFn(&Trigger),
) -> Vec<String> {
    let (end, shutdown) = shutdown();
    let end = Arc::new(end);
    let postman = Arc::new(RecordingClient {
        urls: Mutex::default(),
        end: Arc::clone(&end),
    });
    database.arrange(|state| state.webhooks.put(endpoint("https://new.example/")));
    database.cut(true);
    let (ports, sending) = parts(database, Arc::clone(&postman) as Arc<dyn WebhookClient>);
    let buffer = Arc::clone(&sending.buffer);
    buffer.committed(CommitSummary {
        deliveries: vec![ReadyDelivery {
            due: ping(lease),
            endpoint: Arc::new(endpoint("https://old.example/")),
            reservation: buffer.reserve(KEY, 0).unwrap(),
        }],
        changed,
        ..CommitSummary::default()
    });
    let mending = async {
        // The first poll comes before any notification of the sender.
        while database.refused() < 2 {
            time::sleep(Duration::from_millis(10)).await;
        }
        database.cut(false);
        ends(&end).await;
    };
    let sent = async { tokio::join!(send(ports, sending, shutdown), mending) };
    let sent = time::timeout(POLL_INTERVAL, LocalSet::new().run_until(sent)).await;
    assert!(sent.is_ok(), "it does not end");
    postman.urls.lock().unwrap().clone()
}

/// A change of the endpoint while the database is down leaves a delivery that only a poll of the database can release.
#[tokio::test]
async fn a_delivery_whose_endpoint_could_not_be_read_is_sent_when_it_can_be() {
    let database = MemoryDatabase::default();
    let delivered = sent_in_an_absence(&database, 3_600_000, vec![KEY], async |_: &Trigger| ()).await;
    assert_eq!(delivered, ["https://new.example/"]);
}

/// Another server may have it by then.
#[tokio::test]
async fn what_could_not_be_given_back_is_left_until_its_lease_is_over() {
    let database = MemoryDatabase::default();
    let looked = async |end: &Trigger| {
        while database.sessions() == 0 {
            time::sleep(Duration::from_millis(10)).await;
        }
        end.pull();
    };
    let delivered = sent_in_an_absence(&database, 0, Vec::new(), looked).await;
    assert_eq!(delivered, [""; 0]);
    assert_eq!(database.state().webhooks.given_back(), []);
}

/// Endpoints that behave as the end of their url specifies.
struct ScriptedEndpoints {
    /// Urls, events and records, in the order of the attempts.
    posted: Mutex<Vec<String>>,
    /// Waiting tasks continue when it is closed.
    gate: Semaphore,
}

#[async_trait]
impl WebhookClient for ScriptedEndpoints {
    async fn post(&self, signed_request: SignedRequest) -> Attempt {
        let event = signed_request
            .headers
            .iter()
            .find(|(name, _)| *name == "X-Service-Event");
        let event = event.map_or("", |(_, event)| event);
        let body = String::from_utf8(signed_request.body).unwrap();
        let data = body.split(r#""data":"#).nth(1).unwrap_or_default();
        self.posted
            .lock()
            .unwrap()
            .push(format!("{} {event} {data}", signed_request.url));
        match signed_request.url.rsplit('/').next() {
            Some("silent") => drop(self.gate.acquire().await),
            Some("silent-to-updates") if event.ends_with(".updated") => drop(self.gate.acquire().await),
            Some("panic") => panic!("as the test wants it"),
            Some("short") => {
                return Attempt {
                    took_ms: 1,
                    outcome: Err(DeliveryError::Shortage),
                };
            }
            _ => {}
        }
        let answer = Answer {
            status: 200,
            body: String::new(),
            retry_after: None,
        };
        Attempt {
            took_ms: 1,
            outcome: Ok(answer),
        }
    }
}

/// A running sender.
struct Work {
    buffer: Arc<DeliveryBuffer>,
    database: MemoryDatabase,
    roads: Arc<ScriptedEndpoints>,
    end: Trigger,
    last_id: AtomicI64,
}

impl Work {
    /// Passes a delivery to the sender; returns its id.
    fn hand_over(&self, (business, webhook): (i64, i64), road: &str, event: EventName, record: i64) -> DeliveryId {
        let key = EndpointKey {
            business: BusinessId::new(business),
            webhook: WebhookId::new(webhook),
        };
        let id = DeliveryId::new(self.last_id.fetch_add(1, Ordering::SeqCst));
        let due = DueDelivery {
            id,
            topic: Topic::Event(event),
            record: Some(record),
            data: Some(record.to_string().into()),
            ..ping(3_600_000)
        };
        let endpoint = Endpoint {
            key,
            ..endpoint(&format!("https://{business}.example/{webhook}/{road}"))
        };
        self.database.arrange(|state| state.webhooks.put(endpoint.clone()));
        self.buffer.committed(CommitSummary {
            deliveries: vec![ReadyDelivery {
                due,
                endpoint: Arc::new(endpoint),
                reservation: self.buffer.reserve(key, 2).unwrap(),
            }],
            ..CommitSummary::default()
        });
        id
    }

    fn posted(&self) -> Vec<String> {
        self.roads.posted.lock().unwrap().clone()
    }

    /// Waits until this number of attempts have begun.
    async fn posts(&self, number: usize) {
        until(|| self.posted().len() >= number).await;
    }
}

async fn until(happened: impl Fn() -> bool) {
    while !happened() {
        time::sleep(Duration::from_millis(5)).await;
    }
}

/// Sends while `script` runs, then ends.
async fn at_work(script: impl AsyncFnOnce(&Work)) -> MemoryDatabase {
    let (end, shutdown) = shutdown();
    let roads = Arc::new(ScriptedEndpoints {
        posted: Mutex::default(),
        gate: Semaphore::new(0),
    });
    let database = MemoryDatabase::default();
    let (ports, sending) = parts(&database, Arc::clone(&roads) as Arc<dyn WebhookClient>);
    let work = Work {
        buffer: Arc::clone(&sending.buffer),
        database: database.clone(),
        roads,
        end,
        last_id: AtomicI64::new(1),
    };
    let script = async {
        script(&work).await;
        work.end.pull();
        work.roads.gate.close();
    };
    let both = async { tokio::join!(send(ports, sending, shutdown), script) };
    let ended = time::timeout(Duration::from_secs(30), LocalSet::new().run_until(both)).await;
    assert!(ended.is_ok(), "it does not end: {:?}", work.posted());
    assert_eq!(work.buffer.held(), (0, 0));
    database
}

const CREATED: EventName = EventName::LeadCreated;

#[tokio::test]
async fn silent_endpoints_of_one_business_leave_slots_to_others() {
    at_work(async |work: &Work| {
        for webhook in 1..=50 {
            for record in 1..=5 {
                work.hand_over((1, webhook), "silent", CREATED, record);
            }
        }
        work.posts(128).await;
        work.hand_over((2, 99), "quick", CREATED, 1);
        work.posts(129).await;
        let posted = work.posted();
        assert_eq!(posted.iter().filter(|url| url.starts_with("https://1.")).count(), 128);
        assert_eq!(posted[128], "https://2.example/99/quick lead.created 1}");
    })
    .await;
}

#[tokio::test]
async fn an_attempt_that_panics_is_a_failed_one() {
    let database = at_work(async |work: &Work| {
        for record in 1..=20 {
            work.hand_over((1, 1), "panic", CREATED, record);
        }
        work.posts(20).await;
    })
    .await;
    let attempts = database.state().webhooks.attempts().to_vec();
    assert_eq!(attempts.len(), 20);
    assert!(
        attempts
            .iter()
            .all(|attempt| matches!(attempt.next, Next::Retry(_)) && attempt.error.is_some())
    );
}

#[tokio::test]
async fn what_this_machine_lacks_is_no_failure_of_the_endpoint() {
    let database = at_work(async |work: &Work| {
        work.hand_over((1, 1), "short", CREATED, 1);
        until(|| !work.database.state().webhooks.given_back().is_empty()).await;
    })
    .await;
    assert_eq!(database.state().webhooks.given_back(), [DeliveryId::new(1)]);
    assert_eq!(database.state().webhooks.attempts(), []);
}

#[tokio::test]
async fn a_deletion_waits_for_the_update_that_is_under_way() {
    at_work(async |work: &Work| {
        work.hand_over((1, 1), "silent-to-updates", EventName::LeadUpdated, 7);
        work.posts(1).await;
        work.hand_over((1, 1), "silent-to-updates", EventName::LeadDeleted, 7);
        work.hand_over((1, 1), "silent-to-updates", EventName::LeadDeleted, 8);
        work.hand_over((1, 1), "silent-to-updates", EventName::ContactDeleted, 7);
        work.posts(3).await;
        let deleted = "https://1.example/1/silent-to-updates lead.deleted 7}".to_owned();
        assert!(!work.posted().contains(&deleted), "{:?}", work.posted());
        work.roads.gate.close();
        work.posts(4).await;
        assert_eq!(work.posted()[3], deleted);
    })
    .await;
}

#[tokio::test]
async fn an_update_that_waits_is_dropped_with_its_record() {
    at_work(async |work: &Work| {
        for record in 1..=8 {
            work.hand_over((1, 1), "silent", CREATED, record);
        }
        work.posts(8).await;
        let update = work.hand_over((1, 1), "silent", EventName::LeadUpdated, 1);
        work.hand_over((1, 1), "silent", EventName::LeadUpdated, 2);
        let deletion = Deletion {
            business: BusinessId::new(1),
            resource: "lead",
            record: 1,
        };
        // Both are known when this one is sent.
        work.hand_over((1, 2), "quick", CREATED, 9);
        work.posts(9).await;
        work.buffer.committed(CommitSummary {
            deleted: vec![deletion],
            ..CommitSummary::default()
        });
        until(|| !work.database.state().webhooks.given_back().is_empty()).await;
        assert_eq!(work.database.state().webhooks.given_back(), [update]);
        work.roads.gate.close();
        work.posts(10).await;
        assert!(work.posted()[9].ends_with("lead.updated 2}"), "{:?}", work.posted());
    })
    .await;
}

/// The server that takes it next does not wait for its lease.
#[tokio::test]
async fn what_was_not_begun_at_the_end_is_given_back() {
    let database = at_work(async |work: &Work| {
        for record in 1..=10 {
            work.hand_over((1, 1), "silent", CREATED, record);
        }
        work.posts(8).await;
        // The last commits may come at the same moment as the end.
        work.hand_over((1, 2), "silent", CREATED, 11);
        work.end.pull();
        until(|| work.database.state().webhooks.given_back().len() == 3).await;
    })
    .await;
    assert_eq!(database.state().webhooks.attempts().len(), 8);
}
