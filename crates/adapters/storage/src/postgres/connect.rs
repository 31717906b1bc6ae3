//! Making one connection.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use diesel::{ConnectionError, ConnectionResult};
use forecourt_kernel::{StoreError, StoreResult};
use tokio_postgres::config::Host;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::link::Link;
use super::tls;
use crate::config::Config;
use crate::error::{OpenError, store_error};

/// A server, and the settings with which each connection to it is made.
pub(super) struct Endpoint {
    settings: tokio_postgres::Config,
    tls: MakeRustlsConnect,
    /// The first statements on a new connection.
    greeting: String,
}

impl Endpoint {
    pub(super) fn new(url: &str, config: &Config) -> Result<Self, OpenError> {
        let (url, security) = tls::split(url)?;
        let mut settings: tokio_postgres::Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| OpenError::PostgresUrl(error.into()))?;
        settings.ssl_mode(security.mode());
        if settings.get_application_name().is_none() {
            settings.application_name("forecourt");
        }
        if settings.get_connect_timeout().is_none() {
            settings.connect_timeout(config.wait);
        }
        if settings.get_tcp_user_timeout().is_none() {
            // Notices a server that vanished during a statement, long before TCP itself would.
            settings.tcp_user_timeout(Duration::from_secs(10));
        }
        // Notices a server that vanished while its answer is awaited.
        settings.keepalives_idle(Duration::from_secs(15));
        settings.keepalives_interval(Duration::from_secs(5));
        settings.keepalives_retries(3);
        if let Some(host) = settings.get_hosts().iter().find_map(remote)
            && !security.verifies_host()
        {
            tracing::warn!(
                host,
                "PostgreSQL is reached over the network, and its certificate is not verified: another machine could stand in for it \
                 and read all that is stored; DATABASE_URL should say sslmode=verify-full"
            );
        }
        Ok(Self {
            settings,
            tls: security.connector()?,
            greeting: greeting(config),
        })
    }

    /// Connects and sets the connection up.
    ///
    /// # Errors
    /// `BadConnection` if a later attempt may succeed, else `CouldntSetupConfiguration` (a wrong password, for example).
    pub(super) async fn connect(self: Arc<Self>) -> ConnectionResult<Link> {
        let (client, connection) = self
            .settings
            .connect(self.tls.clone())
            .await
            .map_err(|error| refused(&error))?;
        let mut link = Link::new(client, connection);
        link.handshake(&self.greeting)
            .await
            .map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(link)
    }
}

/// Returns the name of the host if it names another machine.
fn remote(host: &Host) -> Option<&str> {
    let Host::Tcp(name) = host else { return None };
    let is_local = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    (!is_local).then_some(name)
}

/// Returns the server's settings that are off, so that it may lose confirmed writes, or the whole database, in a power failure.
///
/// # Errors
/// `Unavailable` if it cannot be reached.
pub(super) async fn unsafe_settings(endpoint: &Arc<Endpoint>) -> StoreResult<Vec<String>> {
    const UNSAFE: &str =
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";
    let link = Arc::clone(endpoint).connect().await;
    let link = link.map_err(|error| StoreError::Unavailable(error.into()))?;
    link.texts(UNSAFE).await.map_err(store_error)
}

/// Returns the first statements. Each setting is tried only where it is known and allowed.
///
/// They are statements and no options of the connection's start, which poolers such as PgBouncer refuse. With a pooler that pools
/// by transactions they would reach other connections than this one: pool by sessions. The settings on which a confirmed write
/// relies are repeated by each transaction.
fn greeting(config: &Config) -> String {
    format!(
        "SET client_encoding = 'UTF8';
         SET idle_in_transaction_session_timeout = {};
         SET statement_timeout = {};
         SET lock_timeout = {};
         -- The server ends a statement whose caller went away, and so gives its locks back. To compile a statement takes longer than
         -- any that is sent here. What is wide is stored compressed: this way is read at least twice as fast as the usual one.
         SELECT set_config(name, CASE name WHEN 'jit' THEN 'off' WHEN 'default_toast_compression' THEN 'lz4' ELSE '2s' END, false)
             FROM pg_settings WHERE name = 'jit'
                 OR name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)
                 OR name = 'client_connection_check_interval' AND version() LIKE '%linux%';",
        config.idle_in_transaction.as_millis(),
        milliseconds(config.statement),
        milliseconds(config.lock),
    )
}

/// A bound as PostgreSQL takes it, with 0 for none.
fn milliseconds(bound: Option<Duration>) -> u128 {
    bound.map_or(0, |bound| bound.as_millis().max(1))
}

fn refused(error: &tokio_postgres::Error) -> ConnectionError {
    let message = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    let temporary = match error.code() {
        // A wrong password, no such database, no right to it, an unknown setting: no later attempt helps.
        Some(code) => {
            let class = code.code().get(..2);
            !class.is_some_and(|class| ["28", "3D", "42", "22", "0A"].contains(&class))
        }
        // No answer from the server: refused, unreachable, interrupted.
        None => true,
    };
    if temporary {
        ConnectionError::BadConnection(message)
    } else {
        ConnectionError::CouldntSetupConfiguration(QueryError::DatabaseError(
            DatabaseErrorKind::Unknown,
            Box::new(message),
        ))
    }
}
