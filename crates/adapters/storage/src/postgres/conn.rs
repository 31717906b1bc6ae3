//! One connection of a pool, which knows whether the server may still be at work for it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use diesel::QueryResult;
use diesel::query_builder::{AsQuery, AstPass, QueryFragment, QueryId};
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, Stream, StreamExt as _};

use super::Db;
use super::readiness::Faults;
use crate::statement::AnyStatement;

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

    fn load_any<'conn>(&'conn mut self, statement: AnyStatement<'_, Db>) -> BoxFuture<'conn, QueryResult<Rows>> {
        let Self { inner, state } = self;
        let loading = AsyncConnectionCore::load(&mut **inner, statement);
        async move {
            state.sent();
            match loading.await {
                Ok(rows) => Ok(Rows {
                    rows,
                    state: state.clone(),
                    ended: false,
                }),
                Err(error) => state.answered(Err(error)),
            }
        }
        .boxed()
    }

    fn execute_any<'conn>(&'conn mut self, statement: AnyStatement<'_, Db>) -> BoxFuture<'conn, QueryResult<usize>> {
        let Self { inner, state } = self;
        let executing = inner.execute_returning_count(statement);
        async move {
            state.sent();
            let done = executing.await;
            state.answered(done)
        }
        .boxed()
    }
}

impl SimpleAsyncConnection for Conn {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.state.sent();
        let done = self.inner.batch_execute(query).await;
        self.state.answered(done)
    }
}

impl AsyncConnectionCore for Conn {
    type LoadFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<Self::Stream<'conn, 'query>>>;
    type ExecuteFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<usize>>;
    type Stream<'conn, 'query> = Rows;
    type Row<'conn, 'query> = Row;
    type Backend = Db;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Db> + QueryId + 'query,
    {
        self.load_any(AnyStatement::new(source.as_query()))
    }

    fn execute_returning_count<'conn, 'query, T>(&'conn mut self, source: T) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Db> + QueryId + 'query,
    {
        self.execute_any(AnyStatement::new(source))
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
    /// The cache goes by the text.
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// The rows of an answer.
pub struct Rows {
    rows: BoxStream<'static, QueryResult<Row>>,
    state: State,
    ended: bool,
}

impl Stream for Rows {
    type Item = QueryResult<Row>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.rows.poll_next_unpin(context);
        match next {
            Poll::Ready(None) => {
                self.ended = true;
                self.state.busy.store(false, Ordering::Relaxed);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.ended = true;
                Poll::Ready(Some(self.state.answered(Err(error))))
            }
            next => next,
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // A caller that wants one row reads no further; the end of the answer came along with it.
        if !self.ended && matches!(self.rows.next().now_or_never(), Some(None)) {
            self.state.busy.store(false, Ordering::Relaxed);
        }
    }
}
