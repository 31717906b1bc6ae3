//! One connection of a pool, which knows whether the server may still be at work for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel::QueryResult;
use diesel::deserialize::FromSqlRow;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt as _, TryFutureExt as _, TryStreamExt};

use super::Db;
use super::readiness::Faults;
use crate::statement::{AnyStatement, Connection, read};

type Row = <AsyncPgConnection as AsyncConnectionCore>::Row<'static, 'static>;

/// A connection to PostgreSQL.
///
/// The driver reads the answer to a statement even if no caller waits for it, so a connection that was given up amid one looks
/// as good as new, and its next user would wait for the answer to the abandoned statement.
pub struct Conn {
    inner: Object<AsyncPgConnection>,
    state: State,
}

#[derive(Clone)]
struct State {
    /// A statement was sent, and the end of its answer has not come.
    busy: Arc<AtomicBool>,
    faults: Arc<Faults>,
}

impl State {
    fn sent(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    fn answered<T>(&self, result: QueryResult<T>) -> QueryResult<T> {
        self.busy.store(false, Ordering::Relaxed);
        result.inspect_err(|error| self.faults.note(error))
    }
}

impl Conn {
    pub(super) fn new(inner: Object<AsyncPgConnection>, faults: Arc<Faults>) -> Self {
        let state = State {
            busy: Arc::default(),
            faults,
        };
        Self { inner, state }
    }

    /// Whether the server may still be at work for it.
    pub(super) fn is_busy(&self) -> bool {
        self.state.busy.load(Ordering::Relaxed)
    }

    /// Gives it back to its pool, or closes it if the server is still at work for it.
    pub(super) fn give_back(self) {
        if self.is_busy() {
            self.close();
        }
    }

    /// Closes it, which ends its transaction.
    pub(super) fn close(self) {
        drop(Object::take(self.inner));
    }
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.state.sent();
        let done = self.inner.batch_execute(query).await;
        self.state.answered(done)
    }
}

impl Connection for Conn {
    type Backend = Db;

    fn execute_any<'a>(&'a mut self, statement: AnyStatement<'a, Db>) -> BoxFuture<'a, QueryResult<usize>> {
        let Self { inner, state } = self;
        let executing = inner.execute_returning_count(statement);
        async move {
            state.sent();
            let done = executing.await;
            state.answered(done)
        }
        .boxed()
    }

    fn load_any<'a, U, ST>(&'a mut self, statement: AnyStatement<'a, Db>) -> BoxFuture<'a, QueryResult<Vec<U>>>
    where
        U: FromSqlRow<ST, Db> + Send + 'static,
        ST: 'static,
    {
        let Self { inner, state } = self;
        let loading = AsyncConnectionCore::load(&mut **inner, statement);
        async move {
            state.sent();
            let rows: QueryResult<Vec<Row>> = loading.and_then(TryStreamExt::try_collect).await;
            state.answered(rows)?.iter().map(read).collect()
        }
        .boxed()
    }
}

/// Statements that are sent one behind the other, none of which waits for the answer to the one before. The server takes them
/// in order.
pub struct Flight<'a> {
    conn: &'a AsyncPgConnection,
    state: State,
    sent: Vec<BoxFuture<'a, QueryResult<usize>>>,
}

impl<'a> Flight<'a> {
    pub(super) fn new(conn: &'a mut Conn) -> Self {
        Self {
            conn: &conn.inner,
            state: conn.state.clone(),
            sent: Vec::new(),
        }
    }

    /// Adds a statement. Nothing is sent before [`Flight::land`].
    pub(super) async fn send<T>(&mut self, query: T)
    where
        T: QueryFragment<Db> + QueryId,
    {
        let mut conn = self.conn;
        self.sent
            .push((&mut conn).execute_returning_count(AnyStatement::new(query)));
    }

    /// Sends all with the end of the transaction behind it, as [`Flight::land`] does. `true`, since the transaction is over.
    ///
    /// # Errors
    /// As for [`Flight::land`]: then the end was a rollback.
    pub(super) async fn land_with_commit(mut self) -> QueryResult<bool> {
        // Every statement takes the way through the driver's cache of statements, where each waits for those before it; so
        // the commit cannot get ahead of one that has yet to be prepared.
        for command in END {
            self.send(Command(command)).await;
        }
        self.land().await.map(|()| true)
    }

    /// Sends all, and waits for every answer.
    ///
    /// # Errors
    /// The first failure; what was sent behind it has failed too.
    pub(super) async fn land(self) -> QueryResult<()> {
        if self.sent.is_empty() {
            return Ok(());
        }
        self.state.sent();
        let answers = join_all(self.sent).await;
        self.state
            .answered(answers.into_iter().try_for_each(|answer| answer.map(drop)))
    }
}

/// COMMIT alone makes a silent ROLLBACK of a transaction in which something failed, and does nothing outside of one. The
/// statement before it is refused in both cases.
pub(super) const END: [&str; 2] = ["SAVEPOINT still_whole", "COMMIT"];

/// A statement without parameters that stays prepared.
#[derive(Clone, Copy, Debug)]
struct Command(&'static str);

impl QueryFragment<Db> for Command {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

impl QueryId for Command {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
