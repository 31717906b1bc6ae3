//! The databases, one per installation.

use std::env;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use diesel::connection::{Connection as _, SimpleConnection as _};
use diesel::{RunQueryDsl as _, SqliteConnection};
use libsqlite3_sys as _;
use reqwest::Url;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::time::now;

/// Names a PostgreSQL server, with an account that may create databases.
const VARIABLE: &str = "FORECOURT_TEST_POSTGRES_URL";

/// A database engine that the program supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Embedded.
    Sqlite,
    /// A server.
    Postgres,
}

/// A test's own database. It is dropped with this value.
#[derive(Debug)]
pub(crate) struct Database {
    url: Url,
    /// The server and the name of a database that must be dropped.
    dropped: Option<(Url, String)>,
}

impl Database {
    /// Creates an empty one; `folder` is the place of an embedded one.
    pub(crate) async fn create(engine: Engine, folder: &Path) -> Self {
        match engine {
            Engine::Sqlite => Self::in_folder(folder),
            Engine::Postgres => {
                let created = Self::on_server(None).await;
                created.unwrap_or_else(|error| panic!("the server of {VARIABLE} makes no database: {error}"))
            }
        }
    }

    /// Returns the file of an embedded one.
    pub(crate) fn file(folder: &Path) -> PathBuf {
        folder.join("forecourt.db")
    }

    /// Returns an embedded one, whose file may or may not exist.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            url: format!("sqlite://{}", Self::file(folder).display()).parse().unwrap(),
            dropped: None,
        }
    }

    /// Returns an existing one, which remains when this value is dropped.
    pub(crate) fn at(url: &str) -> Self {
        Self {
            url: url.parse().unwrap(),
            dropped: None,
        }
    }

    /// Copies another database on the server; returns `None` if that does not exist.
    pub(crate) async fn copy_on_server(template: &str) -> Option<Self> {
        match Self::on_server(Some(template)).await {
            Ok(copy) => Some(copy),
            Err(error) if error.code() == Some(&SqlState::INVALID_CATALOG_NAME) => None,
            Err(error) => panic!("the server of {VARIABLE} copies no database: {error}"),
        }
    }

    async fn on_server(template: Option<&str>) -> Result<Self, tokio_postgres::Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("forecourt_test_{}_{}_{number}", now(), process::id());
        let server = server();
        let of = template.map_or_else(String::new, |template| format!(" TEMPLATE {template}"));
        execute(&server, &format!("CREATE DATABASE {name}{of}")).await?;
        let mut url = server.clone();
        url.set_path(&name);
        Ok(Self {
            url,
            dropped: Some((server, name)),
        })
    }

    /// Makes this database the template with that name, with a comment, unless another test was faster; former templates are
    /// dropped.
    pub(crate) async fn become_template(&self, template: &str, comment: &str) {
        let (server, name) = self.dropped.as_ref().expect("a database on a server");
        let former = "SELECT datname FROM pg_database WHERE datname LIKE 'forecourt\\_template\\_%'";
        for former in names(server, former).await.unwrap() {
            if former != template {
                drop(execute(server, &format!("DROP DATABASE IF EXISTS {former} WITH (FORCE)")).await);
            }
        }
        let comment = comment.replace('\'', "''");
        execute(server, &format!("COMMENT ON DATABASE {name} IS '{comment}'"))
            .await
            .unwrap();
        match execute(server, &format!("ALTER DATABASE {name} RENAME TO {template}")).await {
            Err(error) if error.code() != Some(&SqlState::DUPLICATE_DATABASE) => panic!("no template: {error}"),
            _ => (),
        }
    }

    /// Returns the comment on another database of the server.
    pub(crate) async fn comment_of(&self, database: &str) -> String {
        let (server, _) = self.dropped.as_ref().expect("a database on a server");
        let comment =
            format!("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '{database}'");
        let mut comments = names(server, &comment).await.unwrap();
        comments.pop().expect("it has a comment")
    }

    /// Returns its whole content; no process may have it open: the file of an embedded one, compacted, or the rows of all
    /// tables.
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

    /// Returns its whole content as stored, including free space; no process may have it open. For an embedded one this is
    /// empty, since its file is in the folder, with its log emptied.
    pub(crate) async fn raw_rows(&self) -> Vec<u8> {
        if self.dropped.is_some() {
            return rows(&self.url).await.unwrap();
        }
        let mut database = SqliteConnection::establish(self.url.path()).unwrap();
        database.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        Vec::new()
    }

    /// Returns the terms of an embedded one's indexes of texts.
    pub(crate) fn search_terms(&self) -> Vec<String> {
        #[derive(diesel::QueryableByName)]
        struct Row {
            #[diesel(sql_type = diesel::sql_types::Text)]
            term: String,
        }
        if self.dropped.is_some() {
            return Vec::new();
        }
        let mut database = SqliteConnection::establish(self.url.path()).unwrap();
        let mut terms = Vec::new();
        for index in ["lead_search", "contact_search"] {
            let table = format!("CREATE VIRTUAL TABLE temp.{index}_terms USING fts5vocab('main', '{index}', 'row')");
            database.batch_execute(&table).unwrap();
            let query = diesel::sql_query(format!("SELECT term FROM temp.{index}_terms"));
            let rows: Vec<Row> = query.load(&mut database).unwrap();
            terms.extend(rows.into_iter().map(|row| row.term));
        }
        terms
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

    /// Returns the server's host and port.
    pub(crate) fn address(&self) -> String {
        let host = self.url.host_str().unwrap_or("127.0.0.1");
        format!("{host}:{}", self.url.port().unwrap_or(5432))
    }

    /// Returns the URL of the same database through a proxy on a local port.
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
        // This may be dropped inside a test's own runtime.
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            Ok::<_, std::io::Error>(runtime.block_on(execute(&server, &statement)))
        });
        // A leftover does not fail a test: the server is temporary.
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

/// Returns the rows of all tables, as text.
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

/// Returns the texts that a query finds.
async fn names(database: &Url, query: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(database.as_str(), NoTls).await?;
    let connection = tokio::spawn(connection);
    let rows = client.query(query, &[]).await?;
    drop(client);
    connection.await.unwrap()?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn execute(server: &Url, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(server.as_str(), NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(statement).await?;
    drop(client);
    connection.await.unwrap()
}
