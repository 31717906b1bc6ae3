//! Webhooks: subscriptions to events, and the delivery of these events until each delivery succeeds or fails for good.
//!
//! A [`Webhook`] is a subscription: an endpoint, the events that it takes, and the scopes that its payloads are projected to.
//! Every event that is recorded becomes a [`Delivery`] to each subscription that [receives](Subscriber::receives) it, in the
//! transaction that records it. The sender takes due deliveries under a lease ([`DeliveryQueue`]), [`wrap`]s and signs them,
//! hands them to a [`WebhookClient`], and [records](record_attempts) the results. The rules are those of the contract's sections
//! "Webhooks" and "Events", and of decisions §9.
//!
//! ```
//! use forecourt_kernel::Timestamp;
//! use forecourt_webhooks::{Secret, sign};
//!
//! let secret = Secret::from_stored("whsec_example".to_owned());
//! let header = sign(&secret, Timestamp::from_epoch_seconds(1_700_000_000), br#"{"id":"evt_1"}"#);
//! assert!(header.starts_with("t=1700000000,v1="));
//! ```
//!
//! With the feature `testing` the crate has a store in memory, and the contract suite for every store,
//! `testing::webhook_store_contract`:
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_kernel::{BusinessId, PageRequest, Scope};
//! use forecourt_webhooks::{list_webhooks, testing::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), Scope::WebhooksRead);
//! let listed = list_webhooks(&mut MemoryStore::default(), &by, &PageRequest::first()).await?;
//! assert_eq!(listed.total, Some(0));
//! # Ok(())
//! # }
//! ```

mod client;
mod commands;
mod delivery;
mod error;
mod mails;
mod schedule;
mod secret;
mod sending;
mod service;
mod signed_request;
mod store;
mod subscription;
mod target;
#[cfg(feature = "testing")]
pub mod testing;
mod view;
mod watch;

pub use client::{Answer, Attempt, DeliveryError, KEPT_OF_A_RESPONSE, RetryAfter, SignedRequest, WebhookClient};
pub use commands::{DeliveryFilter, EventFilter};
pub use delivery::{AttemptRecord, Delivery, DeliveryStatus, DueDelivery, Endpoint, EndpointKey, Next, Topic};
pub use error::WebhookError;
pub use mails::MAILS;
pub use schedule::{Policy, Schedule};
pub use secret::Secret;
pub use sending::{disable_damaged, record_attempts};
pub use service::{
    create_webhook, delete_webhook, draft_webhook, list_deliveries, list_webhooks, ping_webhook, read_webhook,
    redeliver, rotate_secret, update_webhook,
};
pub use signed_request::{API_VERSION, Envelope, EnvelopeBusiness, Projection, Projections, sign, wrap};
pub use store::{
    ClaimedDeliveries, DeliveryQueue, EVENTS_KEPT_DAYS, EndpointState, EventHead, Health, KEPT_DAYS, LogExtent,
    LogPage, Room, WebhookReader, WebhookStore,
};
#[cfg(feature = "mock")]
pub use store::{MockDeliveryQueue, MockWebhookStore};
pub use subscription::{
    EventNames, Events, Label, LastStatus, Names, ScopeNames, Subscriber, Webhook, WebhookChanges, WebhookDraft,
    WebhookStatus,
};
pub use target::{InvalidTarget, TargetPolicy, TargetUrl};
pub use view::{DeliveryView, SecretView, WebhookView};
pub use watch::{CommitSummary, Deletion, ReadyDelivery, Reservation, Watcher};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
