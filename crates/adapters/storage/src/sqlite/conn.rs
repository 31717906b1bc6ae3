//! One connection, and the threads that its statements run on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use diesel::backend::Backend;
use diesel::connection::LoadConnection;
use diesel::connection::SimpleConnection as _;
use diesel::deserialize::FromSqlRow;
use diesel::dsl::sql;
use diesel::query_builder::{
    AstPass, CollectedQuery, MoveableBindCollector, Query, QueryBuilder as _, QueryFragment, QueryId,
};
use diesel::query_dsl::CompatibleType;
use diesel::result::{DatabaseErrorKind, Error as QueryError};
use diesel::sql_types::Text;
use diesel::sqlite::query_builder::SqliteQueryBuilder;
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel::{Connection as _, QueryResult, RunQueryDsl as _};
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use diesel_async::{AsyncConnectionCore, SimpleAsyncConnection};
use forecourt_kernel::BoxError;
use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use tokio::runtime::Handle;

use super::File;
use super::readers::{Effort, Loan};
use crate::error::{is_busy, refused};
use crate::statement::{AnyStatement, Connection, read};

type Inner = SyncConnectionWrapper<SqliteConnection, Runtime>;

type Collector<'a> = <Sqlite as Backend>::BindCollector<'a>;

/// The values of a statement, on their own.
type Values = <Collector<'static> as MoveableBindCollector<Sqlite>>::BindData;

/// A connection to SQLite: the writer's, or one of the readers.
///
/// A statement runs on the calling thread, unless it says that it may read many rows. Then it runs on a thread that may block, as
/// do those after it; and a reader takes a place among the few that read much at a time.
pub struct Conn(Source);

enum Source {
    Own(Link),
    Lent(Loan),
}

impl Conn {
    pub(super) const fn own(link: Link) -> Self {
        Self(Source::Own(link))
    }

    pub(super) const fn lent(loan: Loan) -> Self {
        Self(Source::Lent(loan))
    }

    /// Has the next statements run on a thread that may block.
    pub(super) fn leave_thread(&self) {
        if let Source::Own(link) = &self.0 {
            link.set_effort(Effort::Heavy);
        }
    }

    /// Returns the connection for a statement of this effort.
    async fn link(&mut self, effort: Effort) -> QueryResult<&mut Link> {
        match &mut self.0 {
            Source::Own(link) => {
                if effort == Effort::Heavy {
                    link.set_effort(effort);
                }
                Ok(link)
            }
            Source::Lent(loan) => loan.link(effort).await.map_err(refused),
        }
    }

    /// A heavy statement runs on another thread: until it ends, [`Conn::run`] blocks.
    pub(super) fn is_running(&self) -> bool {
        matches!(&self.0, Source::Own(link) if link.is_running())
    }

    /// Runs a command on this thread, and leaves the effort at light.
    pub(super) fn run(&mut self, command: Command) -> QueryResult<()> {
        match &mut self.0 {
            Source::Own(link) => link.run(command),
            Source::Lent(_) => Err(unfinished()),
        }
    }

    /// Blocks until no statement runs.
    pub(super) fn wait_until_idle(&mut self) {
        if let Source::Own(link) = &mut self.0 {
            link.wait_until_idle();
        }
    }
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.link(Effort::Light).await?.conn.batch_execute(query).await
    }
}

impl Connection for Conn {
    type Backend = Sqlite;

    fn execute_any<'a>(&'a mut self, statement: AnyStatement<'a, Sqlite>) -> BoxFuture<'a, QueryResult<usize>> {
        async move {
            let link = self.link(effort(&statement)?).await?;
            link.conn.execute_returning_count(statement).await
        }
        .boxed()
    }

    /// Reads each row while the statement is on it. The driver's own way copies every value of all rows first. On pages of large
    /// records that took as much time as the query.
    fn load_any<'a, U, ST>(&'a mut self, statement: AnyStatement<'a, Sqlite>) -> BoxFuture<'a, QueryResult<Vec<U>>>
    where
        U: FromSqlRow<ST, Sqlite> + Send + 'static,
        ST: 'static,
    {
        let prepared = effort(&statement).and_then(|effort| Ok((effort, collected(&statement)?)));
        async move {
            let (effort, collected) = prepared?;
            let link = self.link(effort).await?;
            let load = link.conn.spawn_blocking(move |conn| {
                let rows = LoadConnection::load(conn, collected)?;
                rows.map(|row| read(&row?)).collect()
            });
            load.await
        }
        .boxed()
    }
}

fn effort(statement: &AnyStatement<'_, Sqlite>) -> QueryResult<Effort> {
    Ok(if statement.may_scan(&Sqlite)? {
        Effort::Heavy
    } else {
        Effort::Light
    })
}

/// A statement with its values, which can be sent to another thread.
fn collected(statement: &AnyStatement<'_, Sqlite>) -> QueryResult<CollectedQuery<Values>> {
    let mut text = SqliteQueryBuilder::default();
    statement.to_sql(&mut text, &Sqlite)?;
    let mut values = Collector::default();
    statement.collect_binds(&mut values, &mut (), &Sqlite)?;
    let is_kept = statement.is_safe_to_cache_prepared(&Sqlite)?;
    Ok(CollectedQuery::new(text.finish(), is_kept, values.moveable()))
}

/// Runs the statements of one connection: on the calling thread, or, while they are heavy, on a thread that may block.
#[derive(Default)]
pub struct Runtime {
    switch: Arc<Switch>,
}

#[derive(Default)]
struct Switch {
    heavy: AtomicBool,
    /// A heavy statement runs now; its caller may have gone away.
    running: AtomicBool,
}

impl SpawnBlocking for Runtime {
    fn spawn_blocking<'a, R>(&mut self, task: impl FnOnce() -> R + Send + 'static) -> BoxFuture<'a, Result<R, BoxError>>
    where
        R: Send + 'static,
    {
        let runtime = if self.switch.heavy.load(Ordering::Relaxed) {
            Handle::try_current().ok()
        } else {
            None
        };
        let Some(runtime) = runtime else {
            return future::lazy(|_| Ok(task())).boxed();
        };
        let running = Running::new(&self.switch);
        let done = runtime.spawn_blocking(move || {
            let _running = running;
            task()
        });
        done.map(|result| result.map_err(BoxError::from)).boxed()
    }

    fn get_runtime() -> Self {
        Self::default()
    }
}

/// Statements that need no answer of their own. On SQLite there is no round trip to save: each runs when it is sent.
pub struct Pipeline<'a> {
    conn: &'a mut Conn,
    outcome: QueryResult<()>,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(conn: &'a mut Conn) -> Self {
        Self { conn, outcome: Ok(()) }
    }

    /// Runs a statement, unless an earlier one failed.
    pub(super) async fn send(&mut self, statement: AnyStatement<'_, Sqlite>) {
        if self.outcome.is_ok() {
            self.outcome = self.conn.execute_any(statement).await.map(drop);
        }
    }

    /// As [`Pipeline::finish`], and returns the rows of a query that comes last.
    ///
    /// # Errors
    /// As for [`Pipeline::finish`].
    pub(super) async fn finish_with<T, U>(self, query: T) -> QueryResult<Vec<U>>
    where
        T: Query<SqlType: CompatibleType<U, Sqlite, SqlType: 'static>> + QueryFragment<Sqlite> + QueryId + Send,
        U: FromSqlRow<<T::SqlType as CompatibleType<U, Sqlite>>::SqlType, Sqlite> + Send + 'static,
    {
        self.outcome?;
        self.conn.load_any(AnyStatement::new(query)).await
    }

    /// As [`Pipeline::finish`]. Returns `false`, since many sessions share one end of the transaction.
    ///
    /// # Errors
    /// As for [`Pipeline::finish`].
    pub(super) async fn finish_with_commit(self) -> QueryResult<bool> {
        self.finish().await.map(|()| false)
    }

    /// Reports the outcome of all statements.
    ///
    /// # Errors
    /// The first failure.
    pub(super) async fn finish(self) -> QueryResult<()> {
        self.outcome
    }
}

/// Marks its connection as running a heavy statement, until dropped (by a panic too).
struct Running(Arc<Switch>);

impl Running {
    fn new(switch: &Arc<Switch>) -> Self {
        switch.running.store(true, Ordering::Release);
        Self(Arc::clone(switch))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::Release);
    }
}

/// The use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Reader,
    Writer,
}

/// A connection with the switch of its runtime.
pub(super) struct Link {
    conn: Inner,
    switch: Arc<Switch>,
}

impl Link {
    /// Connects. Blocks for some hundred microseconds, or longer while another process holds the file.
    pub(super) fn open(file: &File, role: Role) -> Result<Self, BoxError> {
        let mut conn = SqliteConnection::establish(&file.location()?)?;
        set_up(&mut conn, role)?;
        let runtime = Runtime::default();
        let switch = Arc::clone(&runtime.switch);
        Ok(Self {
            conn: SyncConnectionWrapper::with_runtime(conn, runtime),
            switch,
        })
    }

    /// Sets the effort of the next statements, and so the thread that they run on.
    pub(super) fn set_effort(&self, effort: Effort) {
        self.switch.heavy.store(effort == Effort::Heavy, Ordering::Relaxed);
    }

    /// A heavy statement runs on another thread: until it ends, [`Link::run`] blocks.
    pub(super) fn is_running(&self) -> bool {
        self.switch.running.load(Ordering::Acquire)
    }

    /// Runs a command on this thread, and leaves the effort at light.
    pub(super) fn run(&mut self, command: Command) -> QueryResult<()> {
        self.here(move |conn| command.execute(conn).map(drop))
    }

    /// Runs `work` on this thread, and leaves the effort at light.
    pub(super) fn here<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut SqliteConnection) -> QueryResult<T> + Send + 'static,
    ) -> QueryResult<T> {
        self.set_effort(Effort::Light);
        self.conn
            .spawn_blocking(work)
            .now_or_never()
            // Light statements complete when they are called.
            .unwrap_or_else(|| Err(unfinished()))
    }

    /// Blocks until no statement runs.
    pub(super) fn wait_until_idle(&mut self) {
        self.set_effort(Effort::Light);
        // Waits for the lock that the running statement holds.
        let _: Option<QueryResult<()>> = self.conn.spawn_blocking(|_| Ok(())).now_or_never();
    }
}

fn unfinished() -> QueryError {
    QueryError::DatabaseError(
        DatabaseErrorKind::Unknown,
        Box::new("a light statement did not finish".to_owned()),
    )
}

/// A statement without parameters that is prepared once per connection, which `batch_execute` would do every time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command(pub(super) &'static str);

impl QueryFragment<Sqlite> for Command {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

impl QueryId for Command {
    type QueryId = ();
    /// The cache looks it up by the text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl diesel::query_dsl::RunQueryDsl<SqliteConnection> for Command {}

/// The wait for other processes that open, migrate or recover the file.
const TIMEOUT: Duration = Duration::from_secs(10);

fn set_up(conn: &mut SqliteConnection, role: Role) -> Result<(), BoxError> {
    conn.batch_execute(&format!("PRAGMA busy_timeout = {}", TIMEOUT.as_millis()))?;
    // Nothing of the file is mapped: an unreadable page would end the process, while a failed read ends only a statement.
    conn.batch_execute(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA mmap_size = 0;",
    )?;
    match role {
        Role::Writer => {
            write_ahead(conn)?;
            conn.batch_execute(
                "PRAGMA cache_size = -8192;
                 -- What is deleted is overwritten: an erased person must not be found in the file's free space.
                 PRAGMA secure_delete = ON;
                 -- In pages: the checkpointer comes long before, unless it cannot keep up.
                 PRAGMA wal_autocheckpoint = 16000;
                 PRAGMA journal_size_limit = 67108864;
                 -- From now on a lock held by another process is waited for by sleeping tasks, not by a blocked thread.
                 PRAGMA busy_timeout = 0;",
            )?;
        }
        Role::Reader => conn.batch_execute(
            "PRAGMA cache_size = -2048;
             PRAGMA query_only = ON;
             -- Readers wait for nobody, but for a process that recovers the log after a crash.
             PRAGMA busy_timeout = 2000;",
        )?,
    }
    Ok(())
}

/// Switches the file to write-ahead logging. Two processes that try at once can be refused in spite of the busy timeout.
pub(super) fn write_ahead(conn: &mut SqliteConnection) -> Result<(), BoxError> {
    const RETRY_INTERVAL: Duration = Duration::from_millis(5);
    let mut retries = TIMEOUT.as_millis() / RETRY_INTERVAL.as_millis();
    loop {
        match conn.batch_execute("PRAGMA journal_mode = WAL") {
            Err(error) if is_busy(&error) && retries > 0 => {
                retries -= 1;
                thread::sleep(RETRY_INTERVAL);
            }
            result => break result?,
        }
    }
    let mode: String =
        diesel::select(sql::<Text>("(SELECT journal_mode FROM pragma_journal_mode)")).get_result(conn)?;
    if mode == "wal" {
        Ok(())
    } else {
        Err("its file system does not allow write-ahead logging".into())
    }
}
