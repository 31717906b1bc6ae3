//! Announces this server in the database, for the commands that must know of all servers.

use std::{process, sync::Arc, time::Duration};

use forecourt_kernel::{BoxError, Clock, Random, StoreError};
use forecourt_rest::ProxyWatch;
use forecourt_storage::{Keyring, ServerReport, Storage};

use super::{
    gauges::TaskLog,
    job::{Job, Ports, Round},
};
use crate::{report::Report, shutdown::Shutdown};

#[derive(Clone)]
pub(super) struct Presence {
    storage: Storage,
    clock: Arc<dyn Clock>,
    server: ServerReport,
    keyring: Keyring,
    proxies: Arc<ProxyWatch>,
    tasks: TaskLog,
}

impl Presence {
    pub(super) fn new(storage: Storage, ports: &Ports, server: ServerReport, tasks: TaskLog) -> Self {
        Self {
            storage,
            clock: Arc::clone(&ports.clock),
            server,
            keyring: ports.keyring.clone(),
            proxies: Arc::clone(&ports.proxies),
            tasks,
        }
    }
}

impl Job for Presence {
    const NAME: &'static str = "presence";
    const REST: Duration = Duration::from_secs(10);

    async fn round(&mut self, _: &Shutdown) -> Result<Round, BoxError> {
        let report = Report {
            keys: self.keyring.key_ids(),
            unlisted_proxy: self
                .proxies
                .latest()
                .map(|(peer, at)| (peer.to_string(), at.epoch_seconds())),
            tasks: self.tasks.states(),
        };
        self.server.report = serde_json::to_string(&report)?;
        match self.storage.renew_server(&self.server, &*self.clock).await {
            // Other jobs report an outage; this one must be seen again as soon as it is over.
            Ok(()) | Err(StoreError::Unavailable(_)) => Ok(Round::Done),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns this process as a server that starts now with these keys.
pub(crate) fn this_server(
    keyring: &Keyring,
    clock: &dyn Clock,
    random: &dyn Random,
) -> Result<ServerReport, serde_json::Error> {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    let report = Report {
        keys: keyring.key_ids(),
        ..Report::default()
    };
    Ok(ServerReport {
        id: i64::from_be_bytes(bytes),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        pid: process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: clock.now(),
        report: serde_json::to_string(&report)?,
    })
}
