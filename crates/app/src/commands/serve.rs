//! `forecourt serve`.

use std::{sync::Arc, time::Duration};

use forecourt_rest::{EventNotifier, Metrics, Running};
use forecourt_storage::{DatabaseFacts, Keyring, ServerReport, Storage};

use super::CommandError;
use crate::{
    background::{self, Background, DeliveryBuffer, PurgePause},
    demo,
    output::chain,
    service_manager::ServiceManager,
    settings::Settings,
    shutdown::{Shutdown, Signals, shutdown},
    system::{SystemClock, SystemRandom},
    wiring,
};

/// The maximum time for background work to end.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The interval at which metrics are folded.
const UPKEEP: Duration = Duration::from_secs(5);

/// Serves until the process is told to end.
///
/// # Errors
/// [`CommandError`] if it cannot start.
pub(super) async fn serve(settings: &Settings, with_demo: bool) -> Result<(), CommandError> {
    let signals = Signals::listen().map_err(CommandError::Start)?;
    if settings.webhook_allow_insecure_targets {
        tracing::warn!(
            "FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS is true: webhooks may go to http:// URLs and to private and loopback \
             addresses; this is for development and tests only"
        );
    }
    let keys = settings.working_keys(&SystemRandom)?;
    let storage = wiring::open_storage(settings).await?;
    let unsafe_settings = wiring::check_safety(settings, &storage).await?;
    wiring::migrate(settings, &storage).await?;
    wiring::check_clock(&storage).await?;
    let keyring = wiring::check_key(&storage, keys).await?;
    if !unsafe_settings.is_empty() {
        tracing::warn!(
            settings = unsafe_settings.join(", "),
            "PostgreSQL may lose what it has confirmed, which FORECOURT_ALLOW_UNSAFE_DATABASE allows"
        );
    }
    let facts = wiring::identify(&storage).await?;
    let server = wiring::announce(&storage, &keyring).await?;
    let id = server.id;
    let start = Start {
        storage: storage.clone(),
        keyring,
        facts,
        server,
    };
    let served = serve_as(settings, with_demo, start, signals).await;
    if let Err(error) = storage.remove_server(id).await {
        tracing::warn!(
            error = chain(&error),
            "this server counts as running for 30 seconds more"
        );
    }
    served
}

/// The database of a server that has announced itself in it.
struct Start {
    storage: Storage,
    keyring: Keyring,
    facts: DatabaseFacts,
    server: ServerReport,
}

async fn serve_as(
    settings: &Settings,
    with_demo: bool,
    start: Start,
    mut signals: Signals,
) -> Result<(), CommandError> {
    let Start {
        storage,
        keyring,
        facts,
        server,
    } = start;
    let notifier = EventNotifier::default();
    let buffer = DeliveryBuffer::new({
        let notifier = notifier.clone();
        move |business| notifier.notify(business)
    });
    let buffer = Arc::new(buffer);
    let database = wiring::database(settings, &storage, &keyring, Arc::clone(&buffer) as Arc<_>);
    // Read before anything is written, which would be the newest record.
    let purge_pause = PurgePause::at_start(&*database, &SystemClock)
        .await
        .map_err(wiring::WiringError::Reach)?;
    let demo = if with_demo {
        let (files, pictures) = (wiring::files(settings)?, wiring::pictures()?);
        let gallery = demo::Gallery {
            files: &*files,
            pictures: &*pictures,
            draw: forecourt_pictures::draw_car,
            random: &SystemRandom,
        };
        Some(demo::prepare(&*database, &gallery, &SystemClock).await?)
    } else {
        None
    };

    let ports = background::Ports {
        database,
        clock: Arc::new(SystemClock),
        mailer: wiring::mailer(settings)?,
        files: wiring::files(settings)?,
        installation: facts.installation.as_str().into(),
        purge_pause,
        analyst: wiring::analyst(settings)?,
        key_uses: Arc::default(),
        operator: settings.operator_email.as_ref().map(|email| email.as_str().into()),
        keyring,
        proxies: Arc::default(),
        mail_folder: settings.mail_folder(),
    };
    let sending = wiring::sending(settings, Arc::clone(&buffer))?;
    let metrics = wiring::metrics(settings)?;
    let running = wiring::listen(settings, storage.clone(), &ports, buffer, notifier, metrics.clone())?;
    // From here on nothing can fail: accepted requests are answered before the process ends.
    let (trigger, ends) = shutdown();
    let (sending_trigger, sending_ends) = shutdown();
    let mut background = Background::start(
        &ports,
        storage.clone(),
        server,
        sending,
        &ends,
        sending_ends,
        metrics.is_some(),
    );
    background.check_daily(settings, storage.clone(), &ports, &ends);
    if let Some(metrics) = metrics {
        tokio::spawn(fold(metrics, ends.clone()));
    }
    let base_url = settings.base_url(running.address());
    background.remind_visitors(forecourt_rest::host_of(&base_url), &ports, &ends);
    log_addresses(settings, &running, &base_url, &facts);
    let manager = Arc::new(ServiceManager::from_environment());
    manager.ready(running.address());
    tokio::spawn({
        let (manager, address, ends) = (Arc::clone(&manager), running.address(), ends.clone());
        async move { manager.feed(address, ends).await }
    });
    if let Some(Err(error)) = demo.map(|demo| demo.print(&base_url)) {
        tracing::warn!(error = chain(&error), "the requests to try could not be printed");
    }

    let signal = signals.next().await;
    tracing::info!("{signal}: no new requests; finishing those that were accepted");
    manager.stopping();
    trigger.pull();
    let stopped = async {
        // First everything that may commit ends, then the sender: so it is notified of every commit, and gives back the
        // deliveries that it does not send.
        tokio::join!(running.stop(), background.jobs_ended(TIMEOUT));
        if let Err(error) = background::store_key_uses(&*ports.database, &ports.key_uses).await {
            tracing::warn!(error = chain(&error), "the last use of some keys is not stored");
        }
        sending_trigger.pull();
        background.sending_ended(TIMEOUT).await;
    };
    tokio::select! {
        () = stopped => tracing::info!("stopped"),
        signal = signals.next() => tracing::warn!("{signal} again: stopped at once"),
    }
    Ok(())
}

/// Logs the addresses of the services.
fn log_addresses(settings: &Settings, running: &Running, base_url: &str, facts: &DatabaseFacts) {
    let version = env!("CARGO_PKG_VERSION");
    let (database, bind) = (settings.database_url.shown(), running.address());
    let (installation, epoch) = (facts.installation.as_str(), facts.epoch.number());
    tracing::info!(version, database, installation, epoch, %bind, public_url = base_url, "serving the API on http://{bind}");
    match settings.admin_bind {
        Some(bind) => tracing::info!(%bind, "serving metrics on http://{bind}/metrics"),
        None => tracing::info!("metrics are off"),
    }
}

/// Folds metrics regularly, so that samples do not pile up.
async fn fold(metrics: Metrics, mut shutdown: Shutdown) {
    while !shutdown.within(UPKEEP).await {
        metrics.upkeep();
    }
}
