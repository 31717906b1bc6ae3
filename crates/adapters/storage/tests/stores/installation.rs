//! A migrated database to throw away, on either engine.

use std::env;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use forecourt_dealership::{Database, ReadSession, Session};
use forecourt_files::FileAddresses;
use forecourt_kernel::{Clock, Moment, Random, Timestamp};
use forecourt_storage::RunQueryDsl;
use forecourt_storage::{Config, Ports, SecretKey, Storage};
use forecourt_webhooks::{CommitSummary, EndpointKey, Policy, Reservation, Watcher};
use futures_util::FutureExt as _;
use tempfile::TempDir;
use tokio::time::sleep;

/// Runs each of the module's tests on SQLite and on PostgreSQL.
macro_rules! both_engines {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    $crate::installation::on_sqlite(super::$test).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    $crate::installation::on_postgres(super::$test).await;
                }
            )+
        }
    };
}

pub(crate) use both_engines;

/// Runs statements on either engine.
macro_rules! on_conn {
    ($storage:expr, $opened:ident => $work:expr) => {
        match &$storage {
            Storage::Sqlite(engine) => {
                let mut $opened = engine.begin().await.unwrap();
                let outcome = $work;
                $opened.commit().await.unwrap();
                outcome
            }
            Storage::Postgres(engine) => {
                let mut $opened = engine.begin().await.unwrap();
                let outcome = $work;
                $opened.commit().await.unwrap();
                outcome
            }
        }
    };
}

/// The number of mails that a business may send in a day.
pub(crate) const MAILS_PER_DAY: u32 = 100;

/// A server's storage, on a database of the test's own.
pub(crate) struct Installation {
    config: Config,
    pub(crate) storage: Storage,
    pub(crate) database: Arc<dyn Database>,
    /// Shared by the servers of a test.
    pub(crate) clock: Arc<ManualClock>,
}

impl Installation {
    pub(crate) async fn new(url: String) -> Self {
        Self::start(url, Arc::new(ManualClock::at_noon()), None).await
    }

    async fn start(url: String, clock: Arc<ManualClock>, watcher: Option<Arc<dyn Watcher>>) -> Self {
        let config = Config {
            // A busy machine is no failure.
            wait: Duration::from_secs(30),
            ..Config::new(url)
        };
        let storage = Storage::open(&config).await.unwrap();
        storage.migrate().await.unwrap();
        let database = storage.database(Ports {
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            random: Arc::new(SequentialRandom),
            secret_key: Some(secret_key().into()),
            policy: Policy::default(),
            watcher,
            files: FileAddresses::new("https://api.example"),
            mails_per_day: Some(MAILS_PER_DAY),
        });
        Self {
            config,
            storage,
            database,
            clock,
        }
    }

    /// The same database, after a restart of the server.
    pub(crate) async fn restarted(self) -> Self {
        let Self {
            config,
            storage,
            database,
            clock,
        } = self;
        drop((storage, database));
        Self::start(config.url, clock, None).await
    }

    /// Another server on the same database.
    pub(crate) async fn another_server(&self) -> Self {
        Self::start(self.config.url.clone(), Arc::clone(&self.clock), None).await
    }

    /// Another server on the same database that sends webhooks: the listener is notified of its commits.
    pub(crate) async fn sending_server(&self) -> (Self, Arc<Listener>) {
        let listener = Arc::new(Listener::default());
        let watcher = Arc::clone(&listener) as Arc<dyn Watcher>;
        let server = Self::start(self.config.url.clone(), Arc::clone(&self.clock), Some(watcher)).await;
        (server, listener)
    }

    /// Returns the bytes of a SQLite database that has been closed, rewritten without deleted rows.
    pub(crate) async fn compacted(self) -> Vec<u8> {
        use diesel::connection::{Connection as _, SimpleConnection as _};
        let Self {
            config,
            storage,
            database,
            ..
        } = self;
        drop((storage, database));
        let path = config
            .url
            .strip_prefix("sqlite://")
            .expect("a SQLite database")
            .to_owned();
        let mut conn = diesel::SqliteConnection::establish(&path).unwrap();
        conn.batch_execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(conn);
        std::fs::read(&path).unwrap()
    }

    /// Returns the number of pages that a SQLite database writes to its log during `work`.
    pub(crate) async fn logged_pages(&self, work: impl Future<Output = ()>) -> u64 {
        /// A page with its header.
        const PAGE: u64 = 4096 + 24;
        let path = self.config.url.strip_prefix("sqlite://").expect("a SQLite database");
        let size = || std::fs::metadata(format!("{path}-wal")).unwrap().len();
        let before = size();
        work.await;
        (size() - before) / PAGE
    }

    pub(crate) async fn begin(&self) -> Box<dyn Session> {
        self.database.begin().await.unwrap()
    }

    pub(crate) async fn read(&self) -> Box<dyn ReadSession> {
        self.database.read().await.unwrap()
    }

    /// Runs statements that are not those of a store.
    pub(crate) async fn execute(&self, statements: &str) {
        on_conn!(self.storage, conn => conn.batch_execute(statements).await.unwrap());
    }

    /// Returns `true` if all transactions take turns, whatever they lock.
    pub(crate) const fn takes_turns(&self) -> bool {
        matches!(self.storage, Storage::Sqlite(_))
    }

    /// Waits until a session waits for another one: for a lock of its transaction, or for its turn to write.
    pub(crate) async fn until_one_waits(&self) {
        const LOCKS: &str = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let waits = async || match &self.storage {
            Storage::Sqlite(engine) => engine.pool_status().waiting > 0,
            Storage::Postgres(_) => self.number(LOCKS).await > 0,
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !waits().await {
            assert!(Instant::now() < deadline, "no session waits");
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Returns the number that a query finds.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        let query = diesel::select(sql::<BigInt>(&format!("({query})")));
        on_conn!(self.storage, conn => query.get_result(&mut *conn).await.unwrap())
    }

    /// Returns the texts that a query finds, in its order.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        let query = sql::<Text>(query);
        on_conn!(self.storage, conn => query.load(&mut *conn).await.unwrap())
    }

    /// Returns the bytes that a query finds.
    pub(crate) async fn bytes(&self, query: &str) -> Vec<u8> {
        let query = diesel::select(sql::<Binary>(&format!("({query})")));
        on_conn!(self.storage, conn => query.get_result(&mut *conn).await.unwrap())
    }
}

/// A clock that stands still until it is set; in milliseconds.
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    fn at_noon() -> Self {
        Self(AtomicI64::new(1_700_000_000_000))
    }

    pub(crate) fn set(&self, moment: Moment) {
        self.0.store(moment.epoch_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.moment().timestamp()
    }

    fn moment(&self) -> Moment {
        Moment::from_epoch_millis(AtomicI64::load(&self.0, Ordering::SeqCst))
    }
}

/// Keeps a server's commit notifications.
#[derive(Default)]
pub(crate) struct Listener {
    takes: AtomicBool,
    heard: Mutex<Vec<CommitSummary>>,
}

impl Listener {
    /// Sets whether deliveries may be handed over from now on. At first they may not.
    pub(crate) fn take(&self, takes: bool) {
        self.takes.store(takes, Ordering::SeqCst);
    }

    /// Returns the commits since the last call.
    pub(crate) fn heard(&self) -> Vec<CommitSummary> {
        std::mem::take(&mut *self.heard.lock().unwrap())
    }
}

impl Watcher for Listener {
    fn reserve(&self, _: EndpointKey, _: usize) -> Option<Reservation> {
        AtomicBool::load(&self.takes, Ordering::SeqCst).then(|| Reservation::new(()))
    }

    fn committed(&self, summary: CommitSummary) {
        self.heard.lock().unwrap().push(summary);
    }
}

fn secret_key() -> SecretKey {
    SecretKey::from_bytes([7; 32])
}

/// Runs a test on a SQLite file.
pub(crate) async fn on_sqlite<T: Future<Output = ()>>(test: impl FnOnce(Installation) -> T) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("test.db");
    test(Installation::new(format!("sqlite://{}", file.display())).await).await;
}

/// Runs a test on a PostgreSQL database, and always drops the database.
pub(crate) async fn on_postgres<T: Future<Output = ()>>(test: impl FnOnce(Installation) -> T) {
    static TESTS: AtomicU64 = AtomicU64::new(0);
    let server = env::var("FORECOURT_TEST_POSTGRES_URL")
        .expect("FORECOURT_TEST_POSTGRES_URL names no PostgreSQL to test on: run the tests by `cargo xtask test`");
    let number = TESTS.fetch_add(1, Ordering::Relaxed);
    let name = format!("forecourt_stores_{}_{number}", std::process::id());
    let mut admin = AsyncPgConnection::establish(&server)
        .await
        .expect("the server of FORECOURT_TEST_POSTGRES_URL");
    let drop_it = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    admin.batch_execute(&drop_it).await.unwrap();
    create_migrated(&mut admin, &server, &name).await;
    let on_database = async { test(Installation::new(on_same_server(&server, &name)).await).await };
    let outcome = AssertUnwindSafe(on_database).catch_unwind().await;
    admin.batch_execute(&drop_it).await.unwrap();
    if let Err(failure) = outcome {
        panic::resume_unwind(failure);
    }
}

/// The beginning of the names of this program's templates.
const TEMPLATES: &str = concat!("forecourt_migrated_", env!("CARGO_CRATE_NAME"), "_");

/// Creates a database as a copy of one that was migrated for this build of the tests, which takes a tenth of migrating it.
async fn create_migrated(admin: &mut AsyncPgConnection, server: &str, name: &str) {
    let template = format!("{TEMPLATES}{}", build());
    let copy_it = format!("CREATE DATABASE {name} TEMPLATE {template}");
    if admin.batch_execute(&copy_it).await.is_ok() {
        return;
    }
    // The first test makes it, and so does every other that begins meanwhile: the first that is done wins.
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let storage = Storage::open(&Config::new(on_same_server(server, name))).await.unwrap();
    storage.migrate().await.unwrap();
    drop(storage);
    let rename_it = format!("ALTER DATABASE {name} RENAME TO {template}");
    if admin.batch_execute(&rename_it).await.is_ok() {
        admin.batch_execute(&copy_it).await.unwrap();
        drop_former_templates(admin, &template).await;
    }
}

/// Drops the templates of former builds of this program, which a server that outlives a run would keep.
async fn drop_former_templates(admin: &mut AsyncPgConnection, template: &str) {
    let former =
        sql::<Text>("(SELECT coalesce(string_agg(datname, ','), '') FROM pg_database WHERE starts_with(datname, ")
            .bind::<Text, _>(TEMPLATES)
            .sql(") AND datname <> ")
            .bind::<Text, _>(template)
            .sql(")");
    let former: String = diesel_async::RunQueryDsl::get_result(diesel::select(former), admin)
        .await
        .unwrap();
    for name in former.split(',').filter(|name| !name.is_empty()) {
        // One that is being copied stays.
        drop(admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await);
    }
}

/// Names the build of the tests, and so its migrations.
fn build() -> String {
    let program = env::current_exe().and_then(|program| program.metadata()).unwrap();
    let since = program.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    format!("{:x}_{:x}", since.as_nanos(), program.len())
}

/// The address of another database on the same server.
fn on_same_server(server: &str, name: &str) -> String {
    let (server, options) = server.split_once('?').unwrap_or((server, ""));
    let authority = server.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    format!("{authority}/{name}?{options}")
}

/// Bytes that never repeat, across all that draw in this process.
pub(crate) struct SequentialRandom;

impl Random for SequentialRandom {
    fn fill(&self, buffer: &mut [u8]) {
        static DRAWN: AtomicU64 = AtomicU64::new(1);
        for chunk in buffer.chunks_mut(8) {
            let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
            chunk.copy_from_slice(&drawn.to_be_bytes()[..chunk.len()]);
        }
    }
}
