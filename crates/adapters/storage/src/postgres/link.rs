//! A connection to the server, over the driver itself.
//!
//! diesel-async has one too, with three faults. It hides the SQLSTATE of an error and leaves only a text, which may be in any
//! language. It keeps as many statements prepared as there are texts. And it does not define the order in which several
//! statements leave that are sent without waiting.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use diesel::backend::Backend;
use diesel::connection::{CacheSize, DynInstrumentation, Instrumentation, InstrumentationEvent, StrQueryHelper};
use diesel::pg::{FailedToLookupTypeError, Pg, PgMetadataCacheKey, PgMetadataLookup, PgTypeMetadata, PgValue};
use diesel::query_builder::bind_collector::RawBytesBindCollector;
use diesel::query_builder::{AsQuery, QueryBuilder as _, QueryFragment, QueryId};
use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error as QueryError};
use diesel::row::{Field, PartialRow, RowIndex, RowSealed};
use diesel::{ConnectionError, ConnectionResult, QueryResult};
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AnsiTransactionManager, AsyncConnection, AsyncConnectionCore, SimpleAsyncConnection};
use forecourt_kernel::BoxError;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use tokio::task::AbortHandle;
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};
use tokio_postgres::tls::TlsStream;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage, Socket, Statement};

/// The maximum number of a connection's statements that stay prepared. Each takes some kilobytes at the server. The program sends
/// fewer than this often.
const MAX_PREPARED: usize = 250;

/// A connection, and the statements that are prepared on it.
pub(super) struct Link {
    client: Client,
    driver: AbortHandle,
    prepared: Mutex<Prepared>,
    /// The server's latest refusal.
    refusal: Mutex<Option<SqlState>>,
    instrumentation: Mutex<DynInstrumentation>,
    /// Each transaction has to set that its commit waits for the disk.
    is_relaxed: bool,
    /// Used by migrations alone.
    transaction: AnsiTransactionManager,
}

/// Finds out if a commit is confirmed before it is on the disk, unless the session or the transaction sets otherwise. The server,
/// its database or the role may have it so.
const IS_RELAXED: &str = "SELECT 'yes' FROM pg_settings WHERE name = 'synchronous_commit' AND reset_val = 'off'";

impl Link {
    /// Has a task of the present runtime serve the connection.
    pub(super) fn new<S>(client: Client, connection: tokio_postgres::Connection<Socket, S>) -> Self
    where
        S: TlsStream + Unpin + Send + 'static,
    {
        let driver = tokio::spawn(connection.map(drop)).abort_handle();
        Self {
            client,
            driver,
            prepared: Mutex::default(),
            refusal: Mutex::default(),
            instrumentation: Mutex::new(DynInstrumentation::default_instrumentation()),
            is_relaxed: false,
            transaction: AnsiTransactionManager::default(),
        }
    }

    /// Sets the connection up.
    pub(super) async fn handshake(&mut self, greeting: &str) -> QueryResult<()> {
        self.batch(greeting).await?;
        self.is_relaxed = !self.texts(IS_RELAXED).await?.is_empty();
        if self.is_relaxed {
            self.batch("SET synchronous_commit = on").await?;
        }
        Ok(())
    }

    /// The statement that begins a transaction. It sets by itself that the commit waits for the disk: a pooler may have given
    /// this session another connection than the one that was set up.
    pub(super) const fn begin(&self) -> &'static str {
        if self.is_relaxed {
            "BEGIN; SET LOCAL synchronous_commit = on"
        } else {
            "BEGIN"
        }
    }

    /// Returns the first column of the rows of a query without parameters.
    pub(super) async fn texts(&self, query: &str) -> QueryResult<Vec<String>> {
        let found = self.client.simple_query(query).await;
        let found = found.map_err(|error| self.failure(&error))?;
        let text = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        Ok(found.into_iter().filter_map(text).collect())
    }

    /// The driver's own handle, for copies of whole tables.
    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns `true` if the connection is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Takes the code of the server's latest refusal.
    pub(super) fn take_refusal(&self) -> Option<SqlState> {
        lock(&self.refusal).take()
    }

    /// Runs statements without parameters. They are sent when the future is first polled.
    pub(super) async fn batch(&self, statements: &str) -> QueryResult<()> {
        self.observe(InstrumentationEvent::start_query(&StrQueryHelper::new(statements)));
        let done = self.client.batch_execute(statements).await;
        done.map_err(|error| self.failure(&error))
    }

    /// Runs a statement; returns the number of rows that it changed.
    pub(super) async fn execute(&self, request: QueryResult<Request>) -> QueryResult<usize> {
        let request = request?;
        let statement = self.statement(&request).await?;
        self.execute_with(statement, request).await
    }

    /// Runs a statement; returns all its rows.
    pub(super) async fn load(&self, request: QueryResult<Request>) -> QueryResult<Vec<PgRow>> {
        let request = request?;
        let statement = self.statement(&request).await?;
        self.load_with(statement, request).await
    }

    async fn load_with(&self, statement: Option<Statement>, request: Request) -> QueryResult<Vec<PgRow>> {
        let rows = match statement {
            Some(statement) => self.client.query_raw(&statement, request.values()).await,
            None => self.client.query_typed_raw(&request.sql, request.typed_values()).await,
        };
        let rows: Result<Vec<_>, _> = match rows {
            Ok(rows) => rows.try_collect().await,
            Err(error) => Err(error),
        };
        let rows = rows.map_err(|error| self.failure(&error))?;
        PgRow::all(rows)
    }

    /// Sends statements one after another without waiting for an answer, and then waits for all answers.
    ///
    /// # Errors
    /// The first failure.
    pub(super) async fn pipeline(&self, requests: Vec<QueryResult<Request>>) -> QueryResult<()> {
        let ready = self.ready(requests).await?;
        answered(self.send(ready).await).await
    }

    /// Sends statements and a query after them without waiting for an answer; returns the rows of the query.
    ///
    /// # Errors
    /// The first failure.
    pub(super) async fn pipeline_with(
        &self,
        requests: Vec<QueryResult<Request>>,
        last: QueryResult<Request>,
    ) -> QueryResult<Vec<PgRow>> {
        let last = last?;
        let ready = self.ready(requests).await?;
        let statement = self.statement(&last).await?;
        let sent = self.send(ready).await;
        let rows = self.load_with(statement, last).await;
        answered(sent).await?;
        rows
    }

    /// Prepares the statements that stay prepared.
    async fn ready(&self, requests: Vec<QueryResult<Request>>) -> QueryResult<Vec<(Option<Statement>, Request)>> {
        let mut ready = Vec::with_capacity(requests.len());
        for request in requests {
            let request = request?;
            ready.push((self.statement(&request).await?, request));
        }
        Ok(ready)
    }

    async fn send(&self, ready: Vec<(Option<Statement>, Request)>) -> Vec<Sent<'_>> {
        let mut answers = Vec::with_capacity(ready.len());
        for (statement, request) in ready {
            let mut answer = self.execute_with(statement, request).boxed();
            // The driver sends a request when its future is first polled: in this order.
            let first = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
            let was_sent = !matches!(first, Poll::Ready(Err(_)));
            answers.push((first, answer));
            if !was_sent {
                // A commit must not follow a statement that could not be sent.
                break;
            }
        }
        answers
    }

    async fn execute_with(&self, statement: Option<Statement>, request: Request) -> QueryResult<usize> {
        let done = match statement {
            Some(statement) => self.client.execute_raw(&statement, request.values()).await,
            None => {
                let values: Vec<(&(dyn ToSql + Sync), Type)> = request
                    .values
                    .iter()
                    .map(|(value, of)| (value as &(dyn ToSql + Sync), of.clone()))
                    .collect();
                self.client.execute_typed(&request.sql, &values).await
            }
        };
        let changed = done.map_err(|error| self.failure(&error))?;
        usize::try_from(changed).map_err(|error| QueryError::DeserializationError(error.into()))
    }

    /// Returns the prepared statement, if it is one that stays prepared.
    async fn statement(&self, request: &Request) -> QueryResult<Option<Statement>> {
        self.observe(InstrumentationEvent::start_query(&StrQueryHelper::new(&request.sql)));
        if !request.is_kept {
            return Ok(None);
        }
        if let Some(known) = lock(&self.prepared).get(&request.sql) {
            return Ok(Some(known));
        }
        let types: Vec<Type> = request.values.iter().map(|(_, of)| of.clone()).collect();
        let statement = self.client.prepare_typed(&request.sql, &types).await;
        let statement = statement.map_err(|error| self.failure(&error))?;
        lock(&self.prepared).put(request.sql.clone(), statement.clone());
        Ok(Some(statement))
    }

    /// Translates a failure of the driver, and notes its code.
    pub(super) fn failure(&self, error: &tokio_postgres::Error) -> QueryError {
        if let Some(code) = error.code() {
            *lock(&self.refusal) = Some(code.clone());
        }
        failure(error)
    }

    fn observe(&self, event: InstrumentationEvent<'_>) {
        lock(&self.instrumentation).on_connection_event(event);
    }
}

/// A statement that was sent, with its answer if that has arrived.
type Sent<'a> = (Poll<QueryResult<usize>>, BoxFuture<'a, QueryResult<usize>>);

/// Waits for the answers of statements that were sent.
async fn answered(sent: Vec<Sent<'_>>) -> QueryResult<()> {
    let mut outcome = Ok(());
    for (first, answer) in sent {
        let answered = match first {
            Poll::Ready(answered) => answered,
            Poll::Pending => answer.await,
        };
        outcome = outcome.and(answered.map(drop));
    }
    outcome
}

/// Closes the connection at once, even if the server is at work for it.
impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// No code that can panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prepared statements by their texts. The least recently used one makes room for another.
#[derive(Default)]
struct Prepared {
    statements: HashMap<String, (Statement, u64)>,
    uses: u64,
}

impl Prepared {
    fn get(&mut self, sql: &str) -> Option<Statement> {
        let (statement, used) = self.statements.get_mut(sql)?;
        self.uses += 1;
        *used = self.uses;
        Some(statement.clone())
    }

    fn put(&mut self, sql: String, statement: Statement) {
        if self.statements.len() >= MAX_PREPARED {
            let oldest = self.statements.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(sql) = oldest.map(|(sql, _)| sql.clone()) {
                // The driver has the server forget it too.
                self.statements.remove(&sql);
            }
        }
        self.uses += 1;
        self.statements.insert(sql, (statement, self.uses));
    }
}

/// A statement with its values, as it is sent.
pub(super) struct Request {
    sql: String,
    is_kept: bool,
    values: Vec<(Parameter, Type)>,
}

impl Request {
    pub(super) fn new<T: QueryFragment<Pg> + ?Sized>(statement: &T) -> QueryResult<Self> {
        let mut sql = <Pg as Backend>::QueryBuilder::default();
        statement.to_sql(&mut sql, &Pg)?;
        let mut values = RawBytesBindCollector::<Pg>::new();
        statement.collect_binds(&mut values, &mut BuiltInTypes, &Pg)?;
        let values = values.binds.into_iter().zip(values.metadata).map(|(value, of)| {
            let oid = of.oid().map_err(|error| QueryError::SerializationError(error.into()))?;
            let of = Type::from_oid(oid)
                .ok_or_else(|| QueryError::SerializationError(format!("there is no built-in type {oid}").into()))?;
            Ok((Parameter(value), of))
        });
        Ok(Self {
            sql: sql.finish(),
            is_kept: statement.is_safe_to_cache_prepared(&Pg)?,
            values: values.collect::<QueryResult<_>>()?,
        })
    }

    fn values(&self) -> impl ExactSizeIterator<Item = &(dyn ToSql + Sync)> {
        self.values.iter().map(|(value, _)| value as &(dyn ToSql + Sync))
    }

    fn typed_values(&self) -> impl Iterator<Item = (&(dyn ToSql + Sync), Type)> {
        self.values
            .iter()
            .map(|(value, of)| (value as &(dyn ToSql + Sync), of.clone()))
    }
}

/// A look-up of types that never finds any: the tables have built-in types alone, whose codes are known.
struct BuiltInTypes;

impl PgMetadataLookup for BuiltInTypes {
    fn lookup_type(&mut self, name: &str, schema: Option<&str>) -> PgTypeMetadata {
        let key = PgMetadataCacheKey::new(schema.map(Into::into), name.into());
        PgTypeMetadata::from_result(Err(FailedToLookupTypeError::new(key.into_owned())))
    }
}

/// A value in its wire format.
#[derive(Debug)]
struct Parameter(Option<Vec<u8>>);

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        match &self.0 {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        self.to_sql(of, out)
    }
}

/// A row of an answer.
pub(super) struct PgRow {
    row: tokio_postgres::Row,
    /// The types of the columns.
    types: Arc<[NonZeroU32]>,
}

impl PgRow {
    fn all(rows: Vec<tokio_postgres::Row>) -> QueryResult<Vec<Self>> {
        let Some(first) = rows.first() else {
            return Ok(Vec::new());
        };
        let oid = |column: &tokio_postgres::Column| {
            NonZeroU32::new(column.type_().oid())
                .ok_or_else(|| QueryError::DeserializationError("a column has no type".into()))
        };
        let types: Arc<[NonZeroU32]> = first.columns().iter().map(oid).collect::<QueryResult<_>>()?;
        let with_types = |row| Self {
            row,
            types: Arc::clone(&types),
        };
        Ok(rows.into_iter().map(with_types).collect())
    }
}

impl RowSealed for PgRow {}

impl<'a> diesel::row::Row<'a, Pg> for PgRow {
    type InnerPartialRow = Self;
    type Field<'b>
        = PgField<'b>
    where
        Self: 'b,
        'a: 'b;

    fn field_count(&self) -> usize {
        self.row.len()
    }

    fn get<'b, I>(&'b self, index: I) -> Option<Self::Field<'b>>
    where
        'a: 'b,
        Self: RowIndex<I>,
    {
        let index = self.idx(index)?;
        Some(PgField { row: self, index })
    }

    fn partial_row(&self, range: std::ops::Range<usize>) -> PartialRow<'_, Self::InnerPartialRow> {
        PartialRow::new(self, range)
    }
}

impl RowIndex<usize> for PgRow {
    fn idx(&self, index: usize) -> Option<usize> {
        (index < self.row.len()).then_some(index)
    }
}

impl<'a> RowIndex<&'a str> for PgRow {
    fn idx(&self, name: &'a str) -> Option<usize> {
        self.row.columns().iter().position(|column| column.name() == name)
    }
}

/// A value of a row.
pub(super) struct PgField<'a> {
    row: &'a PgRow,
    index: usize,
}

impl<'a> Field<'a, Pg> for PgField<'a> {
    fn field_name(&self) -> Option<&str> {
        self.row.row.columns().get(self.index).map(tokio_postgres::Column::name)
    }

    fn value(&self) -> Option<<Pg as Backend>::RawValue<'_>> {
        let of = self.row.types.get(self.index)?;
        let Bytes(bytes) = self.row.row.try_get(self.index).ok()?;
        bytes.map(|bytes| PgValue::new(bytes, of))
    }
}

/// A value in its wire format, as received.
struct Bytes<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Bytes<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxError> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxError> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Translates a failure into diesel's kinds. These are few: a failure that may pass is a lost connection.
fn failure(error: &tokio_postgres::Error) -> QueryError {
    match error.as_db_error() {
        Some(refusal) => match kind(refusal.code()) {
            // The statement is at fault. An error of an unknown kind would be compared with SQLite's sentences.
            DatabaseErrorKind::Unknown => QueryError::QueryBuilderError(Box::new(refusal.clone())),
            kind => QueryError::DatabaseError(kind, Box::new(Refusal(refusal.clone()))),
        },
        None => {
            let mut message = error.to_string();
            if let Some(source) = std::error::Error::source(error) {
                // Writing to a string does not fail.
                let _ = write!(message, ": {source}");
            }
            QueryError::DatabaseError(DatabaseErrorKind::UnableToSendCommand, Box::new(message))
        }
    }
}

/// Returns the kind of failure of a SQLSTATE.
fn kind(code: &SqlState) -> DatabaseErrorKind {
    match *code {
        SqlState::UNIQUE_VIOLATION => DatabaseErrorKind::UniqueViolation,
        SqlState::FOREIGN_KEY_VIOLATION => DatabaseErrorKind::ForeignKeyViolation,
        SqlState::RESTRICT_VIOLATION => DatabaseErrorKind::RestrictViolation,
        SqlState::EXCLUSION_VIOLATION => DatabaseErrorKind::ExclusionViolation,
        SqlState::NOT_NULL_VIOLATION => DatabaseErrorKind::NotNullViolation,
        SqlState::CHECK_VIOLATION => DatabaseErrorKind::CheckViolation,
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            DatabaseErrorKind::SerializationFailure
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => DatabaseErrorKind::ReadOnlyTransaction,
        // An idle transaction, or one that took too long, was ended.
        SqlState::LOCK_NOT_AVAILABLE | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => {
            DatabaseErrorKind::ClosedConnection
        }
        _ if is_outage(code.code()) => DatabaseErrorKind::ClosedConnection,
        _ => DatabaseErrorKind::Unknown,
    }
}

/// Returns `true` for a code whose class is no fault of the statement. These are a lost connection, a lack of resources, an
/// intervention by an operator or a bound, and a failure of the system or the server.
fn is_outage(code: &str) -> bool {
    ["08", "53", "57", "58", "XX"]
        .iter()
        .any(|class| code.starts_with(class))
        || code == "25P04"
}

/// Returns `true` if a failure prevents every write: the database is read-only, or the disk is full or failing. It is a
/// suspicion, which the readiness check examines.
pub(super) fn hinders_writing(code: &SqlState) -> bool {
    *code == SqlState::READ_ONLY_SQL_TRANSACTION
        || ["53", "58", "XX"].iter().any(|class| code.code().starts_with(class))
}

/// The server's message about a failure.
struct Refusal(DbError);

impl DatabaseErrorInformation for Refusal {
    fn message(&self) -> &str {
        self.0.message()
    }

    fn details(&self) -> Option<&str> {
        self.0.detail()
    }

    fn hint(&self) -> Option<&str> {
        self.0.hint()
    }

    fn table_name(&self) -> Option<&str> {
        self.0.table()
    }

    fn column_name(&self) -> Option<&str> {
        self.0.column()
    }

    fn constraint_name(&self) -> Option<&str> {
        self.0.constraint()
    }

    fn statement_position(&self) -> Option<i32> {
        let (ErrorPosition::Original(position) | ErrorPosition::Internal { position, .. }) = self.0.position()?;
        i32::try_from(*position).ok()
    }
}

impl SimpleAsyncConnection for Link {
    async fn batch_execute(&mut self, statements: &str) -> QueryResult<()> {
        self.batch(statements).await
    }
}

impl AsyncConnectionCore for Link {
    type ExecuteFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<usize>>;
    type LoadFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<Self::Stream<'conn, 'query>>>;
    type Stream<'conn, 'query> = BoxStream<'static, QueryResult<PgRow>>;
    type Row<'conn, 'query> = PgRow;
    type Backend = Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Pg> + QueryId + 'query,
    {
        let request = Request::new(&source.as_query());
        async move {
            let rows = Self::load(self, request).await?;
            Ok(stream::iter(rows.into_iter().map(Ok)).boxed())
        }
        .boxed()
    }

    fn execute_returning_count<'conn, 'query, T>(&'conn mut self, source: T) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Pg> + QueryId + 'query,
    {
        let request = Request::new(&source);
        Self::execute(self, request).boxed()
    }
}

/// The interface that migrations run on.
impl AsyncConnection for Link {
    type TransactionManager = AnsiTransactionManager;

    async fn establish(_: &str) -> ConnectionResult<Self> {
        Err(ConnectionError::BadConnection(
            "connections are made by an endpoint".to_owned(),
        ))
    }

    fn transaction_state(&mut self) -> &mut AnsiTransactionManager {
        &mut self.transaction
    }

    fn instrumentation(&mut self) -> &mut dyn Instrumentation {
        let instrumentation = self.instrumentation.get_mut();
        &mut **instrumentation.unwrap_or_else(PoisonError::into_inner)
    }

    fn set_instrumentation(&mut self, instrumentation: impl Instrumentation) {
        self.instrumentation = Mutex::new(instrumentation.into());
    }

    fn set_prepared_statement_cache_size(&mut self, _: CacheSize) {}
}

impl PoolableConnection for Link {
    fn is_broken(&mut self) -> bool {
        self.is_closed()
    }
}
