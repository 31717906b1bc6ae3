//! The courier over real sockets, to endpoints that behave as each test wants it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod addresses;
mod answers;
mod api;
mod bounds;
mod connections;
mod failures;
mod peer;
mod speed;
mod targets;
mod time;
mod tls;
mod wires;

use std::{net::SocketAddr, time::Duration};

use forecourt_courier::{Config, HttpCourier};
use forecourt_kernel::BusinessId;
use forecourt_webhooks::{Answer, Attempt, Courier, Parcel, Undelivered};

/// Whose parcels are posted.
const BUSINESS: BusinessId = BusinessId::new(1);
/// Enough for anything that does not wait.
const AMPLE: Duration = Duration::from_secs(30);
/// For tests that wait until it is over.
const SHORT: Duration = Duration::from_millis(300);

/// A courier that posts anywhere.
fn courier(timeout: Duration) -> HttpCourier {
    HttpCourier::new(Config {
        timeout,
        allow_insecure: true,
        ..Config::default()
    })
    .unwrap()
}

fn parcel(url: impl Into<String>) -> Parcel {
    Parcel {
        business: BUSINESS,
        url: url.into(),
        headers: vec![("Content-Type", "application/json".into())],
        body: b"{}".to_vec(),
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/hook")
}

/// What comes of posting there.
async fn post(courier: &HttpCourier, url: impl Into<String>) -> Result<Answer, Undelivered> {
    courier.post(parcel(url)).await.outcome
}

/// Asserts a status.
#[track_caller]
fn status(outcome: Result<Answer, Undelivered>) -> u16 {
    outcome.unwrap().status
}

/// Asserts that an attempt ended when its time was over, and not long after.
#[track_caller]
fn assert_timed_out(attempt: &Attempt) {
    assert_eq!(attempt.outcome, Err(Undelivered::TimedOut));
    assert!((300..5_000).contains(&attempt.took_ms), "{}", attempt.took_ms);
}
