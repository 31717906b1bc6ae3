//! What the parts of the server have in common while it runs.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};
use forecourt_accounts::{IdempotencyKey, RateCounters, RateLimits};
use forecourt_contacts::PasswordHasher;
use forecourt_dealership::Database;
use forecourt_files::{FileStore, PictureMaker};
use forecourt_kernel::{BusinessId, Clock, ContactId, Mailer, Random, VehicleId};
use forecourt_webhooks::Projections;
use futures_util::future::LocalBoxFuture;
use ipnet::IpNet;
use tokio::sync::Semaphore;

use crate::{
    address::Gate, answer_cache::AnswerCache, cors::CorsOrigins, credentials::CredentialCache, help::HelpPages,
    keyed_mutex::KeyedMutex, manifests::Manifests, metrics::Meter, notifier::EventNotifier, operation::Router,
    reply::LargeAnswers, tail::Tails, upload::Uploads,
};

/// What all workers share.
pub(crate) struct Shared {
    pub(crate) router: Router,
    /// The figures of requests that found no route.
    pub(crate) unrouted: Meter,
    pub(crate) pages: Vec<Box<dyn PublicPage>>,
    pub(crate) help: HelpPages,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) counters: Arc<dyn RateCounters>,
    pub(crate) limits: RateLimits,
    pub(crate) gate: Gate,
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) allow_insecure_targets: bool,
    pub(crate) cors: CorsOrigins,
    pub(crate) projections: Projections,
    pub(crate) notifier: EventNotifier,
    pub(crate) tails: Tails,
    pub(crate) mailer: Arc<dyn Mailer>,
    pub(crate) hasher: Arc<dyn PasswordHasher>,
    /// How many passwords may still be hashed at the same time.
    pub(crate) hashing: Semaphore,
    /// One at a time for each idempotency key, on this server: so a repeat that comes early does no work twice.
    pub(crate) keyed_requests: KeyedMutex<(BusinessId, IdempotencyKey)>,
    /// One at a time for each contact, on this server.
    pub(crate) login_mails: KeyedMutex<(BusinessId, ContactId)>,
    /// One at a time for each vehicle, on this server: so a retry that comes early sends no second one.
    pub(crate) drive_mails: KeyedMutex<(BusinessId, VehicleId)>,
    /// What they hold together is bounded.
    pub(crate) large_answers: LargeAnswers,
    pub(crate) manifests: Manifests,
    pub(crate) answers: Arc<AnswerCache>,
    pub(crate) uploads: Uploads,
    pub(crate) files: Arc<dyn FileStore>,
    pub(crate) pictures: Arc<dyn PictureMaker>,
    /// The address that callers know the server by.
    pub(crate) public_url: String,
}

/// A page that needs no credential and is no operation.
pub(crate) trait PublicPage: Send + Sync {
    /// Where it is; for documentation also what lies below.
    fn path(&self) -> &'static str;

    /// Whether a request for `path` is for this page.
    fn serves(&self, path: &str) -> bool;

    /// Answers a request for this page.
    fn answer<'a>(&'a self, request: &'a HttpRequest, worker: &'a Worker) -> LocalBoxFuture<'a, HttpResponse>;
}

/// What one worker has for itself.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) database: Arc<dyn Database>,
    pub(crate) credentials: CredentialCache,
}
