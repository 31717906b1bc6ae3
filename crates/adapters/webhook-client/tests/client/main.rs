//! The client over real sockets, to endpoints that behave as each test wants it.

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

/// Whose requests are posted.
const BUSINESS: BusinessId = BusinessId::new(1);
/// Enough for anything that does not wait.
const AMPLE: Duration = Duration::from_secs(30);
/// For tests that wait until it is over.
const SHORT: Duration = Duration::from_secs(1);

/// A client that posts anywhere.
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

/// What comes of posting there.
async fn post(client: &HttpWebhookClient, url: impl Into<String>) -> Result<Answer, DeliveryError> {
    client.post(signed_request(url)).await.outcome
}

/// Asserts a status.
#[track_caller]
fn status(outcome: Result<Answer, DeliveryError>) -> u16 {
    outcome.unwrap().status
}

/// Asserts that an attempt ended when its time was over, and not long after.
#[track_caller]
fn assert_timed_out(attempt: &Attempt) {
    assert_eq!(attempt.outcome, Err(DeliveryError::TimedOut));
    assert!(attempt.took_ms >= 1_000, "{}", attempt.took_ms);
}
