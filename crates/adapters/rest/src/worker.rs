//! State of the running server that handlers use.

use std::{net::IpAddr, sync::Arc};

use forecourt_accounts::{Caller, IdempotencyKey, KeyUses, Token};
use forecourt_contacts::PasswordHasher;
use forecourt_dealership::Database;
use forecourt_files::{AddressKey, FileStore, PictureMaker};
use forecourt_kernel::{BusinessId, Clock, ContactId, Mailer, Random, VehicleId};
use forecourt_print::Printer;
use forecourt_webhooks::Projections;
use tokio::sync::Semaphore;

use crate::{
    answer_cache::AnswerCache, areas::papers::DocumentKind, credentials::CredentialCache, error::ApiError,
    help::HelpPages, keyed_mutex::KeyedMutex, large_answers::LargeAnswers, manifests::Manifests,
    notifier::EventNotifier, parsing::ParsePool, proxy_watch::ProxyWatch, summary::OperationSummary, tail::Tails,
    upload::Uploads,
};

/// The state that the handlers of all workers share.
pub(crate) struct Shared {
    /// The operations of the API.
    pub(crate) operations: Vec<OperationSummary>,
    pub(crate) help: HelpPages,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) allow_insecure_targets: bool,
    pub(crate) projections: Projections,
    pub(crate) key_uses: Arc<KeyUses>,
    pub(crate) proxies: Arc<ProxyWatch>,
    pub(crate) notifier: EventNotifier,
    pub(crate) tails: Tails,
    pub(crate) mailer: Arc<dyn Mailer>,
    pub(crate) hasher: Arc<dyn PasswordHasher>,
    /// The permits for hashing passwords.
    pub(crate) hashing: Semaphore,
    /// One request at a time for each idempotency key, on this server, so that an early retry does no work twice.
    pub(crate) keyed_requests: KeyedMutex<(BusinessId, IdempotencyKey)>,
    /// One mail at a time for each contact, on this server.
    pub(crate) login_mails: KeyedMutex<(BusinessId, ContactId)>,
    /// One mail at a time for each vehicle, on this server, so that an early retry sends no second one.
    pub(crate) drive_mails: KeyedMutex<(BusinessId, VehicleId)>,
    /// One mail at a time for each document, on this server, so that an early retry sends no second one.
    pub(crate) document_mails: KeyedMutex<(BusinessId, DocumentKind, i64)>,
    pub(crate) large_answers: LargeAnswers,
    pub(crate) manifests: Manifests,
    pub(crate) answers: Arc<AnswerCache>,
    pub(crate) parsing: ParsePool,
    pub(crate) uploads: Uploads,
    pub(crate) files: Arc<dyn FileStore>,
    pub(crate) pictures: Arc<dyn PictureMaker>,
    pub(crate) printer: Arc<dyn Printer>,
    /// The URL by which callers reach the server.
    pub(crate) public_url: String,
    /// The key that signs addresses of private files.
    pub(crate) address_key: AddressKey,
}

/// The state of one worker.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) database: Arc<dyn Database>,
    pub(crate) credentials: CredentialCache,
}

impl Worker {
    /// Returns the caller whom `token` identifies, presented from `address`.
    ///
    /// # Errors
    /// As for [`CredentialCache::caller`].
    pub(crate) async fn caller(&self, token: &Token, address: Option<IpAddr>) -> Result<Caller, ApiError> {
        let Shared { clock, key_uses, .. } = self.shared.as_ref();
        self.credentials
            .caller(token, address, self.database.as_ref(), key_uses, clock.now())
            .await
    }
}
