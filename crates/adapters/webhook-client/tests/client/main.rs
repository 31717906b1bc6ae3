//! The client over real sockets, to endpoints that behave as each test specifies.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod addresses;
mod answers;
mod api;
mod bounds;
mod connections;
mod failures;
mod fake_network;
mod peer;
mod targets;
mod time;
mod tls;

use std::{net::SocketAddr, time::Duration};

use forecourt_kernel::BusinessId;
use forecourt_webhook_client::{Config, HttpWebhookClient};
use forecourt_webhooks::{Answer, Attempt, DeliveryError, SignedRequest, WebhookClient};

/// The business whose requests are posted.
const BUSINESS: BusinessId = BusinessId::new(1);
/// A time long enough for anything that does not wait.
const AMPLE: Duration = Duration::from_secs(30);
/// The timeout of tests that wait for it.
const SHORT: Duration = Duration::from_secs(1);

/// Returns a client that posts to any address.
fn client(timeout: Duration) -> HttpWebhookClient {
    HttpWebhookClient::new(Config {
        timeout,
        allow_insecure: true,
        ..Config::default()
    })
    .unwrap()
}

fn signed_request(url: impl Into<String>) -> SignedRequest {
    SignedRequest {
        business: BUSINESS,
        url: url.into(),
        headers: vec![("Content-Type", "application/json".into())],
        body: b"{}".to_vec(),
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/hook")
}

/// Posts to `url` and returns the outcome.
async fn post(client: &HttpWebhookClient, url: impl Into<String>) -> Result<Answer, DeliveryError> {
    client.post(signed_request(url)).await.outcome
}

/// Returns the status of an answer, which must have come.
#[track_caller]
fn status(outcome: Result<Answer, DeliveryError>) -> u16 {
    outcome.unwrap().status
}

/// Asserts that an attempt ended at its timeout, and not long after.
#[track_caller]
fn assert_timed_out(attempt: &Attempt) {
    assert_eq!(attempt.outcome, Err(DeliveryError::TimedOut));
    assert!(attempt.took_ms >= 1_000, "{}", attempt.took_ms);
}
