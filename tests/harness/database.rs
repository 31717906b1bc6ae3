//! The databases, one per installation.

use std::env;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use diesel::SqliteConnection;
use diesel::connection::{Connection as _, SimpleConnection as _};
use libsqlite3_sys as _;
use reqwest::Url;
use tokio_postgres::NoTls;

use crate::time::now;

/// Names a PostgreSQL server, as one who may create databases on it.
const VARIABLE: &str = "FORECOURT_TEST_POSTGRES_URL";

/// A database engine that the program works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Embedded.
    Sqlite,
    /// A server.
    Postgres,
}

/// A database of a test's own. It is dropped with this value.
#[derive(Debug)]
pub(crate) struct Database {
    url: Url,
    /// The server and the name, of one that has to be dropped.
    dropped: Option<(Url, String)>,
}

impl Database {
    /// An empty one; `folder` is where an embedded one lies.
    pub(crate) async fn create(engine: Engine, folder: &Path) -> Self {
        match engine {
            Engine::Sqlite => Self {
                url: format!("sqlite://{}", folder.join("forecourt.db").display())
                    .parse()
                    .unwrap(),
                dropped: None,
            },
            Engine::Postgres => Self::create_on_server().await,
        }
    }

    async fn create_on_server() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("forecourt_test_{}_{}_{number}", now(), process::id());
        let server = server();
        execute(&server, &format!("CREATE DATABASE {name}"))
            .await
            .unwrap_or_else(|error| panic!("the server of {VARIABLE} makes no database: {error}"));
        let mut url = server.clone();
        url.set_path(&name);
        Self {
            url,
            dropped: Some((server, name)),
        }
    }

    /// All that it holds; no process may have it open: the file of an embedded one, compacted, or the rows of all tables.
    pub(crate) async fn bytes(&self) -> Vec<u8> {
        if self.dropped.is_some() {
            return rows(&self.url).await.unwrap();
        }
        let path = self.url.path();
        let mut database = SqliteConnection::establish(path).unwrap();
        database
            .batch_execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        drop(database);
        let log = std::fs::metadata(format!("{path}-wal"));
        assert!(log.map_or(0, |log| log.len()) == 0, "the file is all there is");
        std::fs::read(path).unwrap()
    }

    /// Has SQLite make a copy of an embedded one, which may be in use.
    pub(crate) fn copy(&self, to: &Path) {
        let mut database = SqliteConnection::establish(self.url.path()).unwrap();
        let statement = format!("PRAGMA busy_timeout = 10000; VACUUM INTO '{}'", to.display());
        database.batch_execute(&statement).unwrap();
    }

    pub(crate) async fn execute(&self, statements: &str) {
        execute(&self.url, statements).await.unwrap();
    }

    pub(crate) async fn is_true(&self, query: &str) -> bool {
        let (client, connection) = tokio_postgres::connect(self.url.as_str(), NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let answer = client.query_one(query, &[]).await.unwrap().get(0);
        drop(client);
        connection.await.unwrap().unwrap();
        answer
    }

    pub(crate) async fn alter(&self, change: &str) {
        let (server, name) = self.dropped.as_ref().expect("a database on a server");
        execute(server, &format!("ALTER DATABASE {name} {change}"))
            .await
            .unwrap();
    }

    pub(crate) async fn end_connections(&self) {
        let (server, name) = self.dropped.as_ref().expect("a database on a server");
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        execute(server, &end).await.unwrap();
    }

    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The server's host and port.
    pub(crate) fn address(&self) -> String {
        let host = self.url.host_str().unwrap_or("127.0.0.1");
        format!("{host}:{}", self.url.port().unwrap_or(5432))
    }

    /// The same database as seen through something that listens on a local port.
    pub(crate) fn through(&self, port: u16) -> String {
        let mut url = self.url.clone();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(port)).unwrap();
        url.into()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some((server, name)) = self.dropped.take() else {
            return;
        };
        // A test's own runtime may be what is dropping this.
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            runtime.block_on(execute(&server, &statement))
        });
        // What is left behind fails no test: the server is thrown away.
        drop(dropping.join());
    }
}

fn server() -> Url {
    let url = env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    url.unwrap_or_else(|| {
        panic!("{VARIABLE} is not set; `cargo xtask test` provides a PostgreSQL and sets it, and nothing is skipped")
    })
    .parse()
    .unwrap_or_else(|error| panic!("{VARIABLE} is no URL: {error}"))
}

/// The rows of all tables, as text.
async fn rows(database: &Url) -> Result<Vec<u8>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(database.as_str(), NoTls).await?;
    let connection = tokio::spawn(connection);
    let tables = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'";
    let mut all = Vec::new();
    for table in client.query(tables, &[]).await? {
        let table: String = table.get(0);
        for row in client
            .query(&format!("SELECT it::TEXT FROM {table} AS it"), &[])
            .await?
        {
            all.extend(row.get::<_, String>(0).into_bytes());
        }
    }
    drop(client);
    connection.await.unwrap()?;
    Ok(all)
}

async fn execute(server: &Url, statement: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (client, connection) = tokio_postgres::connect(server.as_str(), NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(statement).await?;
    drop(client);
    Ok(connection.await??)
}
