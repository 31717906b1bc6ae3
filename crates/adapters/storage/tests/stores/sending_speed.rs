//! What webhooks cost. Only a release build says something, and only alone:
//! `cargo test --release -p forecourt-storage --test stores -- --ignored --nocapture --test-threads 1 sending_speed`.

use std::time::{Duration, Instant};

use forecourt_kernel::{BusinessId, EventName, LeadId, Moment};
use forecourt_webhooks::{AttemptRecord, Next};

use crate::installation::{Installation, on_postgres, on_sqlite};
use crate::samples::{a_webhook, an_event, key, moment, room};

/// Transactions of each kind.
const ROUNDS: i64 = 1_000;
/// Deliveries that are taken, and saved, at once.
const BATCH: u32 = 256;
const BATCHES: i64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn sending_on_sqlite() {
    on_sqlite(measure).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn sending_on_postgres() {
    on_postgres(measure).await;
}

/// Microseconds for each of so many.
fn each(took: Duration, count: i64) -> i64 {
    i64::try_from(took.as_micros()).unwrap() / count
}

/// How long recording takes in an open transaction: what opening and committing cost is not of interest here.
async fn record(server: &Installation, business: BusinessId, name: EventName, records: i64) -> Duration {
    let mut took = Duration::ZERO;
    for round in 0..ROUNDS {
        let mut session = server.begin().await;
        let started = Instant::now();
        session
            .record(business, an_event(name, LeadId::new(round % records)))
            .await
            .unwrap();
        took += started.elapsed();
        session.commit().await.unwrap();
    }
    took
}

async fn measure(installation: Installation) {
    let (server, listener) = installation.sending_server().await;
    let (created, updated) = (EventName::LeadCreated, EventName::LeadUpdated);
    for subscribers in [0, 1, 10] {
        let business = server.business(&format!("with{subscribers}")).await;
        for _ in 0..subscribers {
            server.webhook(business, a_webhook()).await;
        }
        installation.clock.set(moment(0));
        listener.take(true);
        record(&server, business, created, 1).await;
        let handed = each(record(&server, business, created, 1).await, ROUNDS);
        listener.take(false);
        let left = each(record(&server, business, created, 1).await, ROUNDS);
        let begun = each(record(&server, business, updated, ROUNDS).await, ROUNDS);
        let merged = each(record(&server, business, updated, 1).await, ROUNDS);
        println!(
            "{subscribers:>2} webhooks, µs per event: {handed:>5} handed over, {left:>5} left, {begun:>5} settling, {merged:>5} merged"
        );
        listener.heard();
    }

    let business = server.business("queue").await;
    let webhook = server.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    let mut session = server.begin().await;
    let count = BATCHES * i64::from(BATCH);
    for record in 0..2 * count {
        session
            .record(business, an_event(created, LeadId::new(record)))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let (mut taking, mut saving, mut retrying) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for batch in 0..2 * BATCHES {
        let retried = batch % 2 == 1;
        let started = Instant::now();
        let mut session = server.begin().await;
        let taken = session
            .take_due(endpoint, moment(9), moment(99_999), room(BATCH), moment(9))
            .await
            .unwrap()
            .deliveries;
        session.commit().await.unwrap();
        taking += started.elapsed();
        assert_eq!(taken.len(), BATCH as usize);
        let next = if retried {
            Next::Retry(moment(60_000))
        } else {
            Next::Delivered
        };
        let attempts: Vec<AttemptRecord> = taken
            .iter()
            .map(|taken| AttemptRecord {
                delivery: taken.id,
                endpoint,
                ping: false,
                attempts: 1,
                first_attempt: moment(9),
                ended: Moment::from_epoch_millis(moment(20).epoch_millis()),
                response_code: Some(200),
                response_ms: 11,
                response_body: Some("ok".to_owned()),
                error: None,
                next,
            })
            .collect();
        let started = Instant::now();
        let mut session = server.begin().await;
        session.save_attempts(&attempts).await.unwrap();
        session.commit().await.unwrap();
        *if retried { &mut retrying } else { &mut saving } += started.elapsed();
    }
    println!(
        "{BATCH} at once, µs per delivery: {} taken, {} saved as delivered, {} saved for another attempt",
        each(taking, 2 * count),
        each(saving, count),
        each(retrying, count)
    );
}
