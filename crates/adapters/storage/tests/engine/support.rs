//! Databases for single tests, and a table to play with.

use std::env;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use forecourt_storage::Config;
use futures_util::FutureExt as _;
use tokio::time::sleep;

/// The longest wait for something that happens soon.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(1500);

diesel::table! {
    notes (id) {
        id -> BigInt,
        body -> Text,
    }
}

/// Works on both engines.
pub(crate) const TABLES: &str = "
    CREATE TABLE notes (id BIGINT NOT NULL PRIMARY KEY, body TEXT NOT NULL UNIQUE);
    CREATE TABLE replies (id BIGINT NOT NULL PRIMARY KEY, note_id BIGINT NOT NULL REFERENCES notes (id));";

/// Runs a test on an empty PostgreSQL database, and always drops the database.
pub(crate) async fn on_postgres<T: Future<Output = ()>>(test: impl FnOnce(String) -> T) {
    let server = env::var("FORECOURT_TEST_POSTGRES_URL")
        .expect("FORECOURT_TEST_POSTGRES_URL names no PostgreSQL to test on: run the tests by `cargo xtask test`");
    // A process runs one such test at a time under nextest; the thread distinguishes them elsewhere.
    let thread = format!("{:?}", std::thread::current().id());
    let digits: String = thread.chars().filter(char::is_ascii_digit).collect();
    let name = format!("forecourt_test_{}_{digits}", std::process::id());
    let mut admin = AsyncPgConnection::establish(&server)
        .await
        .expect("the server of FORECOURT_TEST_POSTGRES_URL");
    let drop_it = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    admin.batch_execute(&drop_it).await.unwrap();
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let result = AssertUnwindSafe(test(with_database(&server, &name)))
        .catch_unwind()
        .await;
    admin.batch_execute(&drop_it).await.unwrap();
    if let Err(failure) = result {
        panic::resume_unwind(failure);
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !happened() {
        assert!(Instant::now() < deadline, "it does not happen");
        sleep(Duration::from_millis(2)).await;
    }
}

/// The address of another database on the same server.
pub(crate) fn with_database(server: &str, name: &str) -> String {
    let (server, options) = server.split_once('?').unwrap_or((server, ""));
    let authority = server.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    format!("{authority}/{name}?{options}")
}

/// Few connections and short waits, so that tests do not wait long for something that does not come.
pub(crate) fn impatient(url: &str) -> Config {
    Config {
        pool_size: 2,
        wait: Duration::from_millis(800),
        ..Config::new(url)
    }
}
