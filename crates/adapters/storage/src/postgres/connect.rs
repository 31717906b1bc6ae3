//! Making one connection.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use diesel::{ConnectionError, ConnectionResult};
use diesel_async::SimpleAsyncConnection as _;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Conn;
use super::tls;
use crate::config::Config;
use crate::error::OpenError;

/// A server, and how each connection to it is made.
pub(super) struct Endpoint {
    settings: tokio_postgres::Config,
    tls: MakeRustlsConnect,
    /// What a new connection says first.
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
            // A server that vanished in the midst of a statement is noticed, long before TCP itself would.
            settings.tcp_user_timeout(Duration::from_secs(10));
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
    /// `BadConnection` if trying later may help, else (a wrong password, say) `CouldntSetupConfiguration`.
    pub(super) async fn connect(self: Arc<Self>) -> ConnectionResult<Conn> {
        let (client, connection) = self
            .settings
            .connect(self.tls.clone())
            .await
            .map_err(|error| refused(&error))?;
        let mut conn = Conn::try_from_client_and_connection(client, connection).await?;
        conn.batch_execute(&self.greeting)
            .await
            .map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(conn)
    }
}

/// Each setting is tried only where it is known and allowed.
fn greeting(config: &Config) -> String {
    format!(
        "SET idle_in_transaction_session_timeout = {};
         -- The server ends a statement whose caller went away, and so gives its locks back.
         SELECT set_config(name, '2s', false) FROM pg_settings
             WHERE name = 'client_connection_check_interval' AND version() LIKE '%linux%';
         -- The driver hides the code of an error, so that a deadlock is known by its message.
         SELECT set_config('lc_messages', 'C', false) FROM pg_roles WHERE rolname = current_user AND rolsuper;",
        config.idle_in_transaction.as_millis()
    )
}

fn refused(error: &tokio_postgres::Error) -> ConnectionError {
    let message = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    let temporary = match error.code() {
        Some(code) => [
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
        ]
        .contains(code),
        // Not the server's word: refused, unreachable, interrupted.
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
