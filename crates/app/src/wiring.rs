//! The choice of an adapter for each port.

use std::{
    fs::DirBuilder,
    io,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use async_trait::async_trait;
use forecourt_accounts::{LocalRateCounters, RateCounters};
use forecourt_contacts::Argon2idHasher;
use forecourt_dealership::Database;
use forecourt_file_store::ObjectFileStore;
use forecourt_files::{AddressKey, FileStore, FileStoreError, PictureMaker};
use forecourt_kernel::{BoxError, Epoch, Mailer, StoreError};
use forecourt_lead_ai::{Budgeted, DailyBudget, OpenAi, OpenAiConfig, Rules, UnusableEndpoint};
use forecourt_leads::Analyst;
use forecourt_listings::FileAddresses;
use forecourt_mail::{InvalidSender, InvalidSmtpUrl, MessageBuilder, SmtpMailer, SpoolMailer};
use forecourt_pdf::PdfPrinter;
use forecourt_pictures::Pictures;
use forecourt_print::{PrintError, Printer};
use forecourt_redis::{InvalidRedisUrl, RedisRateCounters};
use forecourt_rest::{EventNotifier, Metrics, MetricsUnavailable, OperationSummary, Running};
use forecourt_storage::{
    CellError, Config, DatabaseFacts, Hindrance, Keyring, MigrateError, OpenError, ServerReport, Storage, Unlocked,
};
use forecourt_webhook_client::{ApiAnswer, ApiClient, HttpWebhookClient, UnusableApi, UnusableTls};
use forecourt_webhooks::{DeliveryError, Projections, Watcher, WebhookClient};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::{
    background::{self, DeliveryBuffer, Sending, clock_fault, this_server},
    cli::ServerUrl,
    commands::{EventLog, LogReply},
    counted_mailer::CountedMailer,
    settings::{Keys, LeadAi, Settings},
    system::{SystemClock, SystemRandom},
};

/// The sender of mails if the host's name is unknown: an address that cannot be answered.
const DEFAULT_SENDER: &str = "Forecourt <noreply@localhost.localdomain>";
/// The maximum time for a server's answer: half a minute for holding it back, and the same for sending it.
const LOG_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum time for a server to say if it is ready.
const READINESS_TIMEOUT: Duration = Duration::from_secs(3);

/// The reason why the program could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WiringError {
    /// The database's address, or the file that it names, cannot be used.
    #[error("DATABASE_URL cannot be used")]
    Open(#[source] OpenError),
    /// The schema is not that of this version.
    #[error("the database cannot be brought up to date")]
    Migrate(#[source] MigrateError),
    /// The database is of another cell.
    #[error("FORECOURT_CELL cannot be used")]
    Cell(#[source] CellError),
    /// There is no database.
    #[error("there is no database file {0}")]
    NoDatabase(PathBuf),
    /// The database is not finished.
    #[error("the database is what is left of {0}, which was not finished: run the same command again to finish it")]
    Unfinished(String),
    /// The database is being moved, or was moved.
    #[error("the database {0}; `forecourt move --undo` lets it be used again, if the target does not serve")]
    Sealed(String),
    /// The database does not answer.
    #[error("the database cannot be used")]
    Reach(#[source] StoreError),
    /// The clock differs from the database's.
    #[error("{0}: set the clock right")]
    Clock(String),
    /// The database may lose confirmed data.
    #[error(
        "PostgreSQL runs with {0}: when the power fails it loses what it has confirmed, or all of it. Turn that on, or set \
         FORECOURT_ALLOW_UNSAFE_DATABASE=true for data that may be lost"
    )]
    Unsafe(String),
    /// The database's secrets were encrypted with another key.
    #[error(
        "FORECOURT_SECRET_KEY, or the secret key in FORECOURT_DATA_DIR, is not the one that this database was used with, so its \
         webhook secrets and stored answers cannot be read: start with that one"
    )]
    SecretKey,
    /// Some of the database's secrets are still encrypted with the key before.
    #[error(
        "the change of the secret key is not finished: set FORECOURT_SECRET_KEY_PREVIOUS to the key before too, until \
         `forecourt secret-key rotate` is done"
    )]
    PreviousKey,
    /// The mail server's address is malformed.
    #[error("FORECOURT_SMTP_URL {0}")]
    Smtp(InvalidSmtpUrl),
    /// The sender of mails is not an address.
    #[error("FORECOURT_MAIL_FROM {0}")]
    Sender(InvalidSender),
    /// The address of the shared counters is malformed.
    #[error("FORECOURT_REDIS_URL {0}")]
    Redis(InvalidRedisUrl),
    /// Webhooks cannot be sent.
    #[error("webhooks cannot be sent")]
    WebhookClient(#[source] UnusableTls),
    /// A server's API cannot be called.
    #[error("the server cannot be asked")]
    Api(#[source] UnusableApi),
    /// The place for files cannot be used.
    #[error("FORECOURT_BLOB_URL cannot be used")]
    Files(#[source] FileStoreError),
    /// The model that reads conversations cannot be called.
    #[error("FORECOURT_LEAD_AI_URL or FORECOURT_LEAD_AI_KEY cannot be used")]
    LeadAi(#[source] UnusableEndpoint),
    /// The faces of printed documents cannot be read.
    #[error("documents cannot be printed")]
    Printer(#[source] PrintError),
    /// There is no thread for pictures.
    #[error("pictures cannot be made")]
    Pictures(#[source] io::Error),
    /// Metrics cannot be collected.
    #[error(transparent)]
    Metrics(MetricsUnavailable),
    /// An address is in use or not one of this machine.
    #[error("the server cannot listen on {addresses}")]
    Listen {
        /// The addresses to listen on.
        addresses: String,
        /// The system's error.
        source: io::Error,
    },
    /// The OpenAPI document cannot be made.
    #[error("the OpenAPI document cannot be made")]
    OpenApi(#[source] BoxError),
}

/// Opens the database.
///
/// # Errors
/// [`WiringError::Open`].
pub(crate) async fn open_storage(settings: &Settings) -> Result<Storage, WiringError> {
    open(&Config::new(settings.database_url.reveal())).await
}

/// Opens a database that is there, as it is, for commands that copy it.
///
/// # Errors
/// [`WiringError::Open`], [`WiringError::NoDatabase`].
pub(crate) async fn open_existing(settings: &Settings) -> Result<Storage, WiringError> {
    if let Some(path) = settings.database_url.reveal().strip_prefix("sqlite://")
        && !Path::new(path).is_file()
    {
        return Err(WiringError::NoDatabase(path.into()));
    }
    open(&for_commands(settings)).await
}

/// Refuses a database that a restore or a move has not finished, or that was moved elsewhere.
///
/// # Errors
/// [`WiringError::Unfinished`], [`WiringError::Sealed`], [`WiringError::Reach`].
async fn check_usable(storage: &Storage) -> Result<(), WiringError> {
    match storage.hindrance().await.map_err(WiringError::Reach)? {
        Some(Hindrance::Unfinished(work)) => Err(WiringError::Unfinished(work)),
        Some(Hindrance::Sealed(seal)) => Err(WiringError::Sealed(if seal.starts_with("moved") {
            format!("was {seal}")
        } else {
            seal
        })),
        None => Ok(()),
    }
}

/// Opens the database, brought up to date, for commands that look after it as a whole.
///
/// # Errors
/// [`WiringError::Open`], [`WiringError::Migrate`].
pub(crate) async fn open_migrated(settings: &Settings) -> Result<Storage, WiringError> {
    let storage = open(&for_commands(settings)).await?;
    migrate(settings, &storage).await?;
    Ok(storage)
}

/// Returns the configuration for commands, which may take their time.
fn for_commands(settings: &Settings) -> Config {
    Config {
        statement: None,
        lock: None,
        ..Config::new(settings.database_url.reveal())
    }
}

async fn open(config: &Config) -> Result<Storage, WiringError> {
    Storage::open(config).await.map_err(WiringError::Open)
}

/// Refuses a database that may lose confirmed data, unless the settings allow it; returns the database's settings because of
/// which it may.
///
/// # Errors
/// [`WiringError::Unsafe`], [`WiringError::Reach`].
pub(crate) async fn check_safety(settings: &Settings, storage: &Storage) -> Result<Vec<String>, WiringError> {
    let off = storage.unsafe_settings().await.map_err(WiringError::Reach)?;
    let off: Vec<String> = off.iter().map(|name| format!("{name} = off")).collect();
    if off.is_empty() || settings.allow_unsafe_database {
        Ok(off)
    } else {
        Err(WiringError::Unsafe(off.join(" and ")))
    }
}

/// Migrates the database to this version, in the cell of the settings; returns the applied migrations.
///
/// # Errors
/// [`WiringError::Migrate`], [`WiringError::Cell`], [`WiringError::Unfinished`], [`WiringError::Sealed`].
pub(crate) async fn migrate(settings: &Settings, storage: &Storage) -> Result<Vec<String>, WiringError> {
    check_usable(storage).await?;
    let applied = storage.migrate().await.map_err(WiringError::Migrate)?;
    storage.adopt_cell(settings.cell).await.map_err(WiringError::Cell)?;
    Ok(applied)
}

/// Refuses a clock that differs from the database's: stored data would have wrong times, and be purged at wrong times.
///
/// # Errors
/// [`WiringError::Clock`], [`WiringError::Reach`].
pub(crate) async fn check_clock(storage: &Storage) -> Result<(), WiringError> {
    let offset = storage.clock_offset(&SystemClock).await.map_err(WiringError::Reach)?;
    clock_fault(offset).map_or(Ok(()), |fault| Err(WiringError::Clock(fault)))
}

/// Gives the database an installation identifier if it has none, and reads its epoch.
///
/// # Errors
/// [`WiringError::Reach`].
pub(crate) async fn identify(storage: &Storage) -> Result<DatabaseFacts, WiringError> {
    storage
        .identify(&SystemClock, &SystemRandom)
        .await
        .map_err(WiringError::Reach)
}

/// Announces this process as a server of the database.
///
/// # Errors
/// [`WiringError::Reach`].
pub(crate) async fn announce(storage: &Storage, keyring: &Keyring) -> Result<ServerReport, WiringError> {
    let server = this_server(keyring, &SystemClock, &SystemRandom);
    let server = server.map_err(|error| WiringError::Reach(StoreError::Other(error.into())))?;
    let renewed = storage.renew_server(&server, &SystemClock).await;
    renewed.map_err(WiringError::Reach)?;
    Ok(server)
}

/// Begins a new epoch of the database.
///
/// # Errors
/// [`WiringError::Reach`].
pub(crate) async fn raise_epoch(storage: &Storage) -> Result<Epoch, WiringError> {
    storage.raise_epoch(&SystemClock).await.map_err(WiringError::Reach)
}

/// Refuses a database that was used with another secret key. The data encrypted with that key, answers to retries and secrets
/// of webhooks, cannot be read with these ones.
///
/// # Errors
/// [`WiringError::SecretKey`], [`WiringError::PreviousKey`], [`WiringError::Reach`].
pub(crate) async fn check_key(storage: &Storage, keys: Keys) -> Result<Keyring, WiringError> {
    let unlocked = storage.unlock(keys.current, keys.previous, &SystemRandom).await;
    match unlocked.map_err(WiringError::Reach)? {
        Unlocked::Keys(keyring) => Ok(keyring),
        Unlocked::WrongKey => Err(WiringError::SecretKey),
        Unlocked::NeedsPrevious => Err(WiringError::PreviousKey),
    }
}

/// Opens the records for commands, as [`open_migrated`] does. A command that stores digests of personal values needs the secret `key`.
///
/// # Errors
/// [`WiringError::Open`], [`WiringError::Migrate`], and with a key as [`check_key`].
pub(crate) async fn open_database(settings: &Settings, keys: Option<Keys>) -> Result<Arc<dyn Database>, WiringError> {
    let storage = open_migrated(settings).await?;
    let keyring = match keys {
        Some(keys) => Some(check_key(&storage, keys).await?),
        None => None,
    };
    Ok(database_of(settings, &storage, keyring))
}

/// Returns the records of an open database, for commands.
pub(crate) fn database_of(settings: &Settings, storage: &Storage, keyring: Option<Keyring>) -> Arc<dyn Database> {
    storage.database(forecourt_storage::Ports {
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        secret_key: keyring,
        policy: settings.webhook_policy(),
        watcher: None,
        files: file_addresses(settings),
        mails_per_day: settings.mails_per_business_per_day,
    })
}

/// Returns the database for a server, with a separate handle for each call. `watcher` is notified of all commits.
pub(crate) fn database(
    settings: &Settings,
    storage: &Storage,
    keyring: &Keyring,
    watcher: Arc<dyn Watcher>,
) -> Arc<dyn Database> {
    storage.for_worker().database(forecourt_storage::Ports {
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        secret_key: Some(keyring.clone()),
        policy: settings.webhook_policy(),
        watcher: Some(watcher),
        files: file_addresses(settings),
        mails_per_day: settings.mails_per_business_per_day,
    })
}

/// Returns the ports and settings for sending webhooks; commits pass deliveries to `buffer`.
///
/// # Errors
/// [`WiringError::WebhookClient`].
pub(crate) fn sending(settings: &Settings, buffer: Arc<DeliveryBuffer>) -> Result<Sending, WiringError> {
    let policy = settings.webhook_policy();
    let config = forecourt_webhook_client::Config {
        timeout: policy.timeout,
        allow_insecure: policy.allow_insecure,
        ..forecourt_webhook_client::Config::default()
    };
    Ok(Sending {
        buffer,
        client: Arc::new(HttpWebhookClient::new(config).map_err(WiringError::WebhookClient)?),
        policy,
        projections: projections(),
        random: Arc::new(SystemRandom),
    })
}

/// Returns the event log of another server, named by this program's user.
///
/// # Errors
/// [`WiringError::Api`].
pub(crate) fn event_log(ServerUrl(server): &ServerUrl, token: &str) -> Result<Arc<dyn EventLog>, WiringError> {
    let config = forecourt_webhook_client::Config {
        timeout: LOG_TIMEOUT,
        ..anywhere()
    };
    Ok(Arc::new(
        ApiClient::new(config, server, token).map_err(WiringError::Api)?,
    ))
}

/// Returns a client that asks a server if it is ready.
///
/// # Errors
/// [`WiringError::Api`].
pub(crate) fn readiness(server: &str) -> Result<ApiClient, WiringError> {
    let config = forecourt_webhook_client::Config {
        timeout: READINESS_TIMEOUT,
        ..anywhere()
    };
    ApiClient::new(config, server, "").map_err(WiringError::Api)
}

/// Returns a client that reads anything at `base`, with a token.
///
/// # Errors
/// [`WiringError::Api`].
pub(crate) fn reader(base: &str, token: &str) -> Result<ApiClient, WiringError> {
    ApiClient::new(anywhere(), base, token).map_err(WiringError::Api)
}

/// Returns the client that posts to a receiver that only this machine reaches.
///
/// # Errors
/// [`WiringError::WebhookClient`].
pub(crate) fn local_client() -> Result<Arc<dyn WebhookClient>, WiringError> {
    Ok(Arc::new(
        HttpWebhookClient::new(anywhere()).map_err(WiringError::WebhookClient)?,
    ))
}

fn anywhere() -> forecourt_webhook_client::Config {
    forecourt_webhook_client::Config {
        allow_insecure: true,
        ..forecourt_webhook_client::Config::default()
    }
}

#[async_trait]
impl EventLog for ApiClient {
    async fn read(&self, path: &str) -> Result<LogReply, DeliveryError> {
        let ApiAnswer {
            status,
            retry_after,
            date: _,
            body,
        } = self.get(path).await?;
        Ok(LogReply {
            status,
            retry_after,
            body,
        })
    }
}

/// Returns the projections of events' records for keys that may not see every field.
fn projections() -> Projections {
    Projections::new(vec![
        ("contact", |contact, _event, scopes| {
            forecourt_contacts::project(contact, scopes);
        }),
        ("vehicle", forecourt_vehicles::project_event),
        ("vehicle_job", |job, _event, scopes| {
            forecourt_jobs::project(job, scopes);
        }),
    ])
}

/// Returns the sender of mails: an SMTP server, or else a folder that keeps them.
///
/// # Errors
/// [`WiringError::Smtp`], [`WiringError::Sender`].
pub(crate) fn mailer(settings: &Settings) -> Result<Arc<dyn Mailer>, WiringError> {
    Ok(match smtp_mailer(settings)? {
        Some(mailer) => Arc::new(CountedMailer(mailer)),
        None => {
            let messages = messages(settings).map_err(WiringError::Sender)?;
            Arc::new(CountedMailer(SpoolMailer::new(settings.mail_folder(), messages)))
        }
    })
}

/// Returns the sender over SMTP, if there is a mail server.
///
/// # Errors
/// As for [`mailer`].
pub(crate) fn smtp_mailer(settings: &Settings) -> Result<Option<SmtpMailer>, WiringError> {
    let messages = messages(settings).map_err(WiringError::Sender)?;
    let mailer = settings
        .smtp_url
        .as_ref()
        .map(|url| SmtpMailer::new(url.reveal(), messages));
    mailer.transpose().map_err(WiringError::Smtp)
}

/// Returns the domain that mails come from.
///
/// # Errors
/// [`WiringError::Sender`].
pub(crate) fn sender_domain(settings: &Settings) -> Result<String, WiringError> {
    let messages = messages(settings).map_err(WiringError::Sender)?;
    Ok(messages.domain().to_owned())
}

fn messages(settings: &Settings) -> Result<MessageBuilder, InvalidSender> {
    let from = |sender: &str| MessageBuilder::new(sender, Arc::new(SystemClock), Arc::new(SystemRandom));
    if let Some(sender) = &settings.mail_from {
        return from(sender);
    }
    let host = Url::parse(&settings.base_url(settings.bind))
        .ok()
        .and_then(|url| url.domain().map(str::to_owned));
    host.and_then(|host| from(&format!("Forecourt <noreply@{host}>")).ok())
        .map_or_else(|| from(DEFAULT_SENDER), Ok)
}

/// Returns the counter of requests: Redis for all servers together, or else each server for itself.
///
/// # Errors
/// [`WiringError::Redis`].
pub(crate) fn counters(settings: &Settings) -> Result<Arc<dyn RateCounters>, WiringError> {
    Ok(match &settings.redis_url {
        Some(url) => Arc::new(RedisRateCounters::connect(url.reveal()).map_err(WiringError::Redis)?),
        None => Arc::new(LocalRateCounters::default()),
    })
}

/// Returns the store of files' content.
///
/// # Errors
/// [`WiringError::Files`].
pub(crate) fn files(settings: &Settings) -> Result<Arc<dyn FileStore>, WiringError> {
    let store = ObjectFileStore::open(&settings.files_location()).map_err(WiringError::Files)?;
    Ok(Arc::new(store))
}

/// Returns the addresses of public files.
fn file_addresses(settings: &Settings) -> FileAddresses {
    FileAddresses::new(&settings.base_url(settings.bind))
}

/// The maximum time of a model for one conversation: its lease is half as long again.
const MAX_READING_TIME: Duration = Duration::from_secs(80);

/// Returns the reader of leads' conversations that `FORECOURT_LEAD_AI` names; `None` if none are read.
///
/// # Errors
/// [`WiringError::LeadAi`].
pub(crate) fn analyst(settings: &Settings) -> Result<Option<Arc<dyn Analyst>>, WiringError> {
    let (url, model) = match (settings.lead_ai, &settings.lead_ai_url, &settings.lead_ai_model) {
        (LeadAi::Rules, ..) => return Ok(Some(Arc::new(Rules::new()))),
        (LeadAi::Openai, Some(url), Some(model)) => (url, model),
        // Settings that describe a model's endpoint incompletely are refused.
        (LeadAi::Off | LeadAi::Openai, ..) => return Ok(None),
    };
    let key = settings.lead_ai_key.as_ref().map(|key| key.reveal().clone());
    let timeout = Duration::from_secs(settings.lead_ai_timeout_seconds.get().into());
    let model = OpenAi::new(OpenAiConfig {
        request_timeout: timeout,
        // A second request may follow an unusable answer.
        total_timeout: (timeout.saturating_mul(3) / 2).min(MAX_READING_TIME),
        ..OpenAiConfig::new(url.reveal().as_str(), model, key)
    });
    let budget = DailyBudget::new(settings.lead_ai_daily_reads);
    let model = Budgeted::new(model.map_err(WiringError::LeadAi)?, budget, Arc::new(SystemClock));
    Ok(Some(Arc::new(model)))
}

/// Returns the maker of pictures for showing.
///
/// # Errors
/// [`WiringError::Pictures`].
pub(crate) fn pictures() -> Result<Arc<dyn PictureMaker>, WiringError> {
    Ok(Arc::new(Pictures::start().map_err(WiringError::Pictures)?))
}

/// Returns the printer of documents.
///
/// # Errors
/// [`WiringError::Printer`].
fn printer() -> Result<Arc<dyn Printer>, WiringError> {
    Ok(Arc::new(PdfPrinter::new().map_err(WiringError::Printer)?))
}

/// Collects metrics, if they can be read.
///
/// # Errors
/// [`WiringError::Metrics`].
pub(crate) fn metrics(settings: &Settings) -> Result<Option<Metrics>, WiringError> {
    settings
        .admin_bind
        .map(|_| forecourt_rest::install_metrics(env!("CARGO_PKG_VERSION")))
        .transpose()
        .map_err(WiringError::Metrics)
}

/// Starts to serve the API.
///
/// # Errors
/// [`WiringError::Listen`], [`WiringError::Redis`], and as for [`mailer`].
pub(crate) fn listen(
    settings: &Settings,
    storage: Storage,
    shared: &background::Ports,
    watcher: Arc<dyn Watcher>,
    notifier: EventNotifier,
    metrics: Option<Metrics>,
) -> Result<Running, WiringError> {
    // Uploads are in this folder until they are stored; without it, they are among the system's temporary files.
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(&settings.data_dir) {
        tracing::info!(%error, folder = %settings.data_dir.display(), "there is no data folder");
    }
    let of_worker = settings.clone();
    let keyring = shared.keyring.clone();
    let config = forecourt_rest::Config {
        bind: settings.bind,
        admin_bind: settings.admin_bind,
        public_url: settings.base_url(settings.bind),
        installation: installation_mark(&shared.installation),
        spool: settings.data_dir.clone(),
        address_key: AddressKey::derive(&keyring.used_key()),
        workers: thread::available_parallelism().map_or(1, usize::from),
        limits: settings.rate_limits(),
        auth_failures_per_minute: settings.auth_failures_per_minute,
        blocked: settings.blocked_addresses.clone(),
        trusted_proxies: settings.trusted_proxies.clone(),
        allow_insecure_targets: settings.webhook_allow_insecure_targets,
        cors: settings.cors_origins.clone(),
    };
    let ports = forecourt_rest::Ports {
        database: Arc::new(move || database(&of_worker, &storage, &keyring, Arc::clone(&watcher))),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        counters: counters(settings)?,
        key_uses: Arc::clone(&shared.key_uses),
        proxies: Arc::clone(&shared.proxies),
        metrics,
        projections: projections(),
        notifier,
        mailer: mailer(settings)?,
        hasher: Arc::new(Argon2idHasher),
        files: files(settings)?,
        pictures: pictures()?,
        printer: printer()?,
    };
    forecourt_rest::start(config, ports).map_err(|source| WiringError::Listen {
        addresses: addresses(settings.bind, settings.admin_bind),
        source,
    })
}

/// Returns the mark of an installation: anyone may know it, and it says no more than that two answers come from the same one.
pub(crate) fn installation_mark(installation: &str) -> String {
    let digest = Sha256::digest(installation);
    digest[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the addresses with the settings that name them.
fn addresses(bind: SocketAddr, admin: Option<SocketAddr>) -> String {
    let admin = admin.map(|admin| format!(" and {admin} (FORECOURT_ADMIN_BIND)"));
    format!("{bind} (FORECOURT_BIND){}", admin.unwrap_or_default())
}

/// Returns the OpenAPI document as JSON.
///
/// # Errors
/// [`WiringError::OpenApi`].
pub(crate) fn openapi(settings: &Settings) -> Result<String, WiringError> {
    forecourt_rest::openapi_json(&settings.base_url(settings.bind)).map_err(WiringError::OpenApi)
}

/// Returns every operation of the API, with the scope that it needs.
///
/// # Errors
/// [`WiringError::OpenApi`].
pub(crate) fn operations() -> Result<Vec<OperationSummary>, WiringError> {
    forecourt_rest::operations().map_err(WiringError::OpenApi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Sources;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let pair = |&(name, value): &(&str, &str)| (name.into(), value.into());
        let environment = variables.iter().map(pair).collect();
        Settings::load(Sources {
            environment,
            ..Sources::default()
        })
        .unwrap()
    }

    #[test]
    fn mails_have_a_sender_whatever_the_url() {
        for url in [
            "",
            "https://api.dealer.example/x",
            "http://localhost:1",
            "http://[::1]:1",
        ] {
            assert!(mailer(&settings(&[("FORECOURT_PUBLIC_URL", url)])).is_ok(), "{url}");
        }
        let set = settings(&[
            ("FORECOURT_MAIL_FROM", "Acme <a@acme.example>"),
            ("FORECOURT_SMTP_URL", "smtp://mail.example"),
        ]);
        assert!(mailer(&set).is_ok());
    }

    #[test]
    fn an_address_in_use_is_reported_with_its_setting() {
        let message = addresses("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().ok());
        assert_eq!(
            message,
            "127.0.0.1:1 (FORECOURT_BIND) and 127.0.0.1:2 (FORECOURT_ADMIN_BIND)"
        );
    }

    #[test]
    fn the_document_names_the_server() {
        let document = openapi(&settings(&[("FORECOURT_PUBLIC_URL", "https://api.dealer.example/")])).unwrap();
        assert!(document.contains(r#""https://api.dealer.example""#));
    }
}
