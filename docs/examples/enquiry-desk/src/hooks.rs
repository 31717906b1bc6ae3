//! Sends what happened to the receiver, signed as Forecourt's webhooks are, one event after the other.

use std::sync::Arc;
use std::time::Duration;

use forecourt_kernel::{BoxError, Clock as _, DeliveryId, Moment, ScopeSet, WebhookId};
use forecourt_webhooks::{
    DueDelivery, Endpoint, EndpointKey, Projections, Secret, SignedRequest, TargetUrl, Topic, wrap,
};
use tokio::sync::Notify;

use crate::SystemClock;
use crate::store::{Database, Waiting};

/// The time limit of an attempt.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The receiver of webhooks.
pub struct Receiver {
    url: TargetUrl,
    secret: Secret,
}

impl Receiver {
    /// The receiver at `url`, for which bodies are signed with `secret`. The url is the operator's own, so it may be any.
    ///
    /// # Errors
    /// It is no url.
    pub fn new(url: &str, secret: String) -> Result<Self, BoxError> {
        Ok(Self {
            url: TargetUrl::parse(url, true)?,
            secret: Secret::from_stored(secret),
        })
    }

    /// The request that shows the event, with its signature.
    fn request(&self, waiting: Waiting) -> Option<SignedRequest> {
        let Waiting { id, business, event } = waiting;
        let due = DueDelivery {
            id: DeliveryId::new(id),
            topic: Topic::Event(event.name),
            event_id: format!("evt_{id:016x}"),
            record: Some(event.record),
            data: Some(event.data.into()),
            happened: event.at,
            attempts: 0,
            first_attempt: None,
            lease: Moment::from_epoch_millis(0),
        };
        let endpoint = Endpoint {
            key: EndpointKey {
                business,
                webhook: WebhookId::new(1),
            },
            business_tag: "acme".to_owned(),
            url: self.url.clone(),
            secret: self.secret.clone(),
            scopes: ScopeSet::all(),
            active: true,
        };
        wrap(&due, &endpoint, &Projections::default(), SystemClock.now())
    }
}

/// Sends events in their order, for as long as the desk runs. An event stays in the outbox until a receiver has taken it: after a
/// failure, or a restart, it is sent again, under the same id.
pub(crate) async fn send(database: Database, receiver: Receiver, changed: Arc<Notify>, retry_after: Duration) {
    let client = reqwest::Client::new();
    loop {
        match send_next(&database, &receiver, &client).await {
            Ok(true) => {}
            Ok(false) => changed.notified().await,
            Err(error) => {
                eprintln!("a webhook was not delivered: {error}");
                tokio::time::sleep(retry_after).await;
            }
        }
    }
}

/// Sends the oldest event; `false` if none waits. No transaction is open while the receiver takes its time.
async fn send_next(database: &Database, receiver: &Receiver, client: &reqwest::Client) -> Result<bool, BoxError> {
    let Some(waiting) = database.begin().await?.next_event()? else {
        return Ok(false);
    };
    let event = waiting.id;
    let signed = receiver.request(waiting).ok_or("the event cannot be shown")?;
    let mut request = client.post(signed.url).timeout(TIMEOUT).body(signed.body);
    for (name, value) in signed.headers {
        request = request.header(name, value);
    }
    request.send().await?.error_for_status()?;
    let transaction = database.begin().await?;
    transaction.sent(event)?;
    transaction.commit()?;
    Ok(true)
}
