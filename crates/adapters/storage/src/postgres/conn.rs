//! One connection of a pool. It knows if the server may still be at work for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::QueryResult;
use diesel::deserialize::FromSqlRow;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::CompatibleType;
use diesel_async::SimpleAsyncConnection;
use diesel_async::pooled_connection::deadpool::Object;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::Db;
use super::link::{Link, Request};
use super::readiness::Faults;
use crate::statement::{AnyStatement, Connection, read};

/// The time that the server has to end an abandoned statement, before the connection is closed.
const ABANDONED: Duration = Duration::from_secs(1);

/// A connection to PostgreSQL.
///
/// The driver reads the answer to a statement even if no caller waits for it. So a connection that was given up during a
/// statement looks as good as new, but its next user would wait for the answer to the abandoned statement.
pub struct Conn {
    link: Object<Link>,
    state: State,
}

#[derive(Clone)]
struct State {
    /// A statement was sent, and the end of its answer has not arrived.
    busy: Arc<AtomicBool>,
    faults: Arc<Faults>,
}

impl State {
    fn sent(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }

    fn answered<T>(&self, link: &Link, result: QueryResult<T>) -> QueryResult<T> {
        self.busy.store(false, Ordering::Relaxed);
        if result.is_err() {
            self.faults.note(link.take_refusal().as_ref());
        }
        result
    }
}

impl Conn {
    pub(super) fn new(link: Object<Link>, faults: Arc<Faults>) -> Self {
        let state = State {
            busy: Arc::default(),
            faults,
        };
        Self { link, state }
    }

    /// The statement that begins a transaction on this connection.
    pub(super) fn begin(&self) -> &'static str {
        self.link.begin()
    }

    /// Gives the connection back to its pool when the server is done with the last statement. Until then it counts as lent, and
    /// so does `held`: callers that go away hold no more connections than those that stay. If the server is not done within
    /// [`ABANDONED`], the connection is closed.
    pub(super) fn give_back(self, held: impl Send + 'static) {
        if !self.state.busy.load(Ordering::Relaxed) {
            // In this order: the next one finds a connection.
            drop(self);
            drop(held);
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                // The server takes statements in order, so nothing is at work once it has answered.
                if !matches!(timeout(ABANDONED, self.link.batch("")).await, Ok(Ok(()))) {
                    self.close();
                }
                drop(held);
            })),
            Err(_) => self.close(),
        }
    }

    /// Rolls the transaction back, and gives the connection back.
    pub(super) fn abandon(self, held: impl Send + 'static) {
        self.state.sent();
        // It is sent when it is first polled, and no other code sends anything before it is answered.
        drop(self.link.batch("ROLLBACK").now_or_never());
        self.give_back(held);
    }

    /// Closes the connection, which ends its transaction.
    fn close(self) {
        drop(Object::take(self.link));
    }
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.state.sent();
        let done = self.link.batch(query).await;
        self.state.answered(&self.link, done)
    }
}

impl Connection for Conn {
    type Backend = Db;

    fn execute_any<'a>(&'a mut self, statement: AnyStatement<'a, Db>) -> BoxFuture<'a, QueryResult<usize>> {
        let Self { link, state } = self;
        let request = Request::new(&statement);
        async move {
            state.sent();
            let done = link.execute(request).await;
            state.answered(link, done)
        }
        .boxed()
    }

    fn load_any<'a, U, ST>(&'a mut self, statement: AnyStatement<'a, Db>) -> BoxFuture<'a, QueryResult<Vec<U>>>
    where
        U: FromSqlRow<ST, Db> + Send + 'static,
        ST: 'static,
    {
        let Self { link, state } = self;
        let request = Request::new(&statement);
        async move {
            state.sent();
            let rows = link.load(request).await;
            state.answered(link, rows)?.iter().map(read).collect()
        }
        .boxed()
    }
}

/// Statements that are sent one after another, without waiting for the answer to the one before. The server takes them in order.
pub struct Pipeline<'a> {
    link: &'a Link,
    state: State,
    requests: Vec<QueryResult<Request>>,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(conn: &'a mut Conn) -> Self {
        Self {
            link: &conn.link,
            state: conn.state.clone(),
            requests: Vec::new(),
        }
    }

    /// Adds a statement. Nothing is sent before [`Pipeline::finish`].
    pub(super) async fn send(&mut self, statement: AnyStatement<'_, Db>) {
        self.requests.push(Request::new(&statement));
    }

    /// As [`Pipeline::finish`], and returns the rows of a query that is sent last.
    ///
    /// # Errors
    /// As for [`Pipeline::finish`].
    pub(super) async fn finish_with<T, U>(self, query: T) -> QueryResult<Vec<U>>
    where
        T: Query<SqlType: CompatibleType<U, Db, SqlType: 'static>> + QueryFragment<Db> + QueryId + Send,
        U: FromSqlRow<<T::SqlType as CompatibleType<U, Db>>::SqlType, Db> + Send + 'static,
    {
        let last = Request::new(&AnyStatement::new(query));
        self.state.sent();
        let rows = self.link.pipeline_with(self.requests, last).await;
        self.state.answered(self.link, rows)?.iter().map(read).collect()
    }

    /// Sends all statements and then the end of the transaction, as [`Pipeline::finish`] does. Returns `true`, since the
    /// transaction is over.
    ///
    /// # Errors
    /// As for [`Pipeline::finish`]; the transaction was then rolled back.
    pub(super) async fn finish_with_commit(mut self) -> QueryResult<bool> {
        for command in END {
            self.send(AnyStatement::new(Command(command))).await;
        }
        self.finish().await.map(|()| true)
    }

    /// Sends all statements, and waits for every answer.
    ///
    /// # Errors
    /// The first failure; the statements after it have failed too.
    pub(super) async fn finish(self) -> QueryResult<()> {
        if self.requests.is_empty() {
            return Ok(());
        }
        self.state.sent();
        let done = self.link.pipeline(self.requests).await;
        self.state.answered(self.link, done)
    }
}

/// The end of a transaction. COMMIT alone makes a silent ROLLBACK of a transaction in which something failed, and does nothing
/// outside of one. The statement before it is refused in both cases.
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
