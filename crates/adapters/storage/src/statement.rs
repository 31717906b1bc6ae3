//! Statements whose text is put together as needed, and the way in which all statements run.

use std::any::TypeId;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use diesel::backend::Backend;
use diesel::deserialize::FromSqlRow;
use diesel::expression::{
    AppearsOnTable, Expression, SelectableExpression, TypedExpressionType, ValidGrouping, is_aggregate,
};
use diesel::pg::Pg;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryBuilder as _, QueryFragment, QueryId};
use diesel::query_dsl::CompatibleType;
use diesel::result::{Error, QueryResult};
use diesel::row::Row;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, HasSqlType, SqlType, Text, Untyped};
use diesel::sqlite::Sqlite;
use forecourt_kernel::StoreResult;
use futures_util::TryFutureExt as _;
use futures_util::future::BoxFuture;

use crate::error::store_error;

/// A connection of either engine.
pub trait Connection: Send {
    /// The backend that its statements are written for.
    type Backend: Backend;

    /// Runs a statement; returns the number of rows that it changed.
    ///
    /// # Errors
    /// The database's error.
    fn execute_any<'a>(&'a mut self, statement: AnyStatement<'a, Self::Backend>) -> BoxFuture<'a, QueryResult<usize>>;

    /// Runs a statement; returns its rows as `U`, from columns of the types `ST`.
    ///
    /// # Errors
    /// The database's error, or a value that does not fit its type.
    fn load_any<'a, U, ST>(
        &'a mut self,
        statement: AnyStatement<'a, Self::Backend>,
    ) -> BoxFuture<'a, QueryResult<Vec<U>>>
    where
        U: FromSqlRow<ST, Self::Backend> + Send + 'static,
        ST: 'static;
}

/// Runs statements, as diesel's trait of this name does.
///
/// There are hundreds of statements on two engines, and diesel-async's futures are compiled for each. Here a statement becomes
/// an [`AnyStatement`] at once, and what remains is compiled for each type of row.
pub trait RunQueryDsl<C: Connection>: Sized {
    /// Runs a change; returns the number of rows that it changed.
    ///
    /// # Errors
    /// The database's error, as [`store_error`] translates it.
    fn execute<'a>(self, conn: &'a mut C) -> BoxFuture<'a, StoreResult<usize>>
    where
        Self: QueryFragment<C::Backend> + QueryId + Send + 'a,
    {
        Box::pin(conn.execute_any(AnyStatement::new(self)).map_err(store_error))
    }

    /// Returns all rows.
    ///
    /// # Errors
    /// The database's error, as [`store_error`] translates it, or a value that does not fit its type.
    fn load<'a, U>(self, conn: &'a mut C) -> BoxFuture<'a, StoreResult<Vec<U>>>
    where
        Self: AsQuery<
                Query: QueryFragment<C::Backend> + QueryId + Send + 'a,
                SqlType: CompatibleType<U, C::Backend, SqlType: 'static>,
            >,
        U: FromSqlRow<<Self::SqlType as CompatibleType<U, C::Backend>>::SqlType, C::Backend> + Send + 'static,
    {
        Box::pin(conn.load_any(AnyStatement::new(self.as_query())).map_err(store_error))
    }

    /// Returns the first row of a query that always has one.
    ///
    /// # Errors
    /// [`StoreError::Other`](forecourt_kernel::StoreError) if there is none, else as [`RunQueryDsl::load`].
    fn get_result<'a, U>(self, conn: &'a mut C) -> BoxFuture<'a, StoreResult<U>>
    where
        Self: AsQuery<
                Query: QueryFragment<C::Backend> + QueryId + Send + 'a,
                SqlType: CompatibleType<U, C::Backend, SqlType: 'static>,
            >,
        U: FromSqlRow<<Self::SqlType as CompatibleType<U, C::Backend>>::SqlType, C::Backend> + Send + 'static,
    {
        let rows = conn.load_any(AnyStatement::new(self.as_query()));
        let first = |rows: Vec<U>| ready(rows.into_iter().next().ok_or(Error::NotFound));
        Box::pin(rows.and_then(first).map_err(store_error))
    }

    /// Returns the first row, or `None` if there is none.
    ///
    /// # Errors
    /// As [`RunQueryDsl::load`].
    fn get_optional<'a, U>(self, conn: &'a mut C) -> BoxFuture<'a, StoreResult<Option<U>>>
    where
        Self: AsQuery<
                Query: QueryFragment<C::Backend> + QueryId + Send + 'a,
                SqlType: CompatibleType<U, C::Backend, SqlType: 'static>,
            >,
        U: FromSqlRow<<Self::SqlType as CompatibleType<U, C::Backend>>::SqlType, C::Backend> + Send + 'static,
    {
        let rows = conn.load_any(AnyStatement::new(self.as_query()));
        Box::pin(rows.map_ok(|rows| rows.into_iter().next()).map_err(store_error))
    }
}

impl<T, C: Connection> RunQueryDsl<C> for T {}

/// Reads a row as `U`.
///
/// # Errors
/// A value does not fit its type.
pub(crate) fn read<'r, U, ST, DB, R>(row: &R) -> QueryResult<U>
where
    DB: Backend,
    R: Row<'r, DB>,
    U: FromSqlRow<ST, DB>,
{
    U::build_from_row(row).map_err(Error::DeserializationError)
}

/// Marks changes that stay prepared.
///
/// diesel keeps no update and no upsert prepared, since their texts could be without number; but preparing each anew made a
/// create on PostgreSQL take twice as long. A change with this mark is written out in the code, or has few texts. A change with a
/// list does not carry it: its texts are many, or PostgreSQL would plan it for a table as small as it was at first.
pub(crate) trait Prepare: Sized {
    /// Has the statement stay prepared.
    fn prepared(self) -> Prepared<Self> {
        Prepared(self)
    }
}

impl<T> Prepare for T {}

/// A statement that stays prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared<T>(T);

impl<DB: Backend, T: QueryFragment<DB>> QueryFragment<DB> for Prepared<T> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<T> QueryId for Prepared<T> {
    type QueryId = ();
    /// The columns of a change may depend on which of them differ.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T: Query> Query for Prepared<T> {
    type SqlType = T::SqlType;
}

/// The comment by which a statement says that it may read many rows. It is part of the text, so the database's own logs show it
/// as well.
const MAY_SCAN: &str = "/* may scan */";

/// Marks statements that may read many rows, such as exports, counts and histories.
///
/// Only SQLite heeds it, whose statements run in this process: a marked one runs on a thread that may block.
pub trait MayScan: Sized {
    /// Marks the statement if `may_scan`.
    fn may_scan(self, may_scan: bool) -> Scan<Self> {
        Scan {
            statement: self,
            may_scan,
        }
    }
}

impl<T> MayScan for T {}

/// A statement that may read many rows.
#[derive(Clone, Copy, Debug)]
pub struct Scan<T> {
    statement: T,
    may_scan: bool,
}

impl<DB: Backend, T: QueryFragment<DB>> QueryFragment<DB> for Scan<T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.statement.walk_ast(out.reborrow())?;
        if self.may_scan {
            out.push_sql(MAY_SCAN);
        }
        Ok(())
    }
}

impl<T> QueryId for Scan<T> {
    type QueryId = ();
    /// The mark may depend on the request.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T: Query> Query for Scan<T> {
    type SqlType = T::SqlType;
}

/// The lock that a query takes on the rows that it finds, held until the transaction ends. SQLite has one writer at a time, and
/// so needs none.
pub(crate) trait Lock: 'static {
    /// PostgreSQL's words for it.
    const CLAUSE: &'static str;
}

/// A query that locks the rows that it finds.
pub(crate) struct Locking<T, L> {
    query: T,
    lock: PhantomData<fn() -> L>,
}

/// Has a query lock the rows that it finds: `locking::<ForUpdate, _>(query)`.
pub(crate) const fn locking<L: Lock, T: Query>(query: T) -> Locking<T, L> {
    Locking {
        query,
        lock: PhantomData,
    }
}

macro_rules! locks {
    ($($(#[$doc:meta])* $lock:ident $function:ident = $clause:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub(crate) enum $lock {}

            impl Lock for $lock {
                const CLAUSE: &'static str = $clause;
            }

            $(#[$doc])*
            pub(crate) const fn $function<T: Query>(query: T) -> Locking<T, $lock> {
                locking(query)
            }
        )+
    };
}

locks! {
    /// No other writer deletes the rows.
    ForKeyShare for_key_share = " FOR KEY SHARE";
    /// No other writer changes the rows. Their keys never change, so a transaction that stores a reference to them does not wait.
    ForNoKeyUpdate for_no_key_update = " FOR NO KEY UPDATE";
    /// No other transaction locks the rows in any mode.
    ForUpdate for_update = " FOR UPDATE";
    /// As [`ForUpdate`], without the rows that another writer has locked.
    SkipLocked skip_locked = " FOR UPDATE SKIP LOCKED";
    /// No other writer changes the rows, which others may lock in the same way, without the rows that another writer has locked.
    ShareUnlocked share_unlocked = " FOR SHARE SKIP LOCKED";
}

/// No lock.
pub(crate) enum Unlocked {}

impl Lock for Unlocked {
    const CLAUSE: &'static str = "";
}

impl<T: QueryFragment<Pg>, L: Lock> QueryFragment<Pg> for Locking<T, L> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.query.walk_ast(out.reborrow())?;
        out.push_sql(L::CLAUSE);
        Ok(())
    }
}

impl<T: QueryFragment<Sqlite>, L: Lock> QueryFragment<Sqlite> for Locking<T, L> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.query.walk_ast(out)
    }
}

impl<T: QueryId, L: Lock> QueryId for Locking<T, L> {
    type QueryId = Locking<T::QueryId, L>;
    const HAS_STATIC_QUERY_ID: bool = T::HAS_STATIC_QUERY_ID;
}

impl<T: Query, L: Lock> Query for Locking<T, L> {
    type SqlType = T::SqlType;
}

/// The maximum number of assembled texts, such as those of lists, that stay prepared. A text beyond it is prepared anew each
/// time.
const MAX_KEPT_TEXTS: usize = 1000;

/// These texts, by backend.
static KEPT_TEXTS: LazyLock<RwLock<HashMap<TypeId, HashSet<String>>>> = LazyLock::new(RwLock::default);

fn may_stay_prepared<DB: 'static>(sql: &str) -> bool {
    let backend = TypeId::of::<DB>();
    let is_full = {
        let kept = KEPT_TEXTS.read().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get(&backend);
        if kept.is_some_and(|kept| kept.contains(sql)) {
            return true;
        }
        kept.is_some_and(|kept| kept.len() >= MAX_KEPT_TEXTS)
    };
    if !is_full {
        let mut kept = KEPT_TEXTS.write().unwrap_or_else(PoisonError::into_inner);
        kept.entry(backend).or_default().insert(sql.to_owned());
    }
    !is_full
}

/// A statement of any type. Drivers take it, so that their code is compiled once, and not for each of the hundreds of statements.
pub struct AnyStatement<'a, DB> {
    statement: Box<dyn QueryFragment<DB> + Send + 'a>,
    /// Its type, if all statements of that type have the same text.
    id: Option<TypeId>,
    text: OnceCell<Arc<StatementText>>,
}

/// The text of a statement, without its values.
struct StatementText {
    sql: String,
    /// It stays prepared.
    is_kept: bool,
    /// It may read many rows.
    may_scan: bool,
}

/// The texts of the statements whose types have one each, by backend and type. To put a text together anew each time took 8 % of
/// the CPU time of reading a record.
static TEXTS: LazyLock<RwLock<Texts>> = LazyLock::new(RwLock::default);

type Texts = HashMap<(TypeId, TypeId), Arc<StatementText>>;

impl<'a, DB: Backend> AnyStatement<'a, DB> {
    pub(crate) fn new<T: QueryFragment<DB> + QueryId + Send + 'a>(statement: T) -> Self {
        Self {
            statement: Box::new(statement),
            id: T::query_id(),
            text: OnceCell::new(),
        }
    }
}

impl<DB: Backend<QueryBuilder: Default> + 'static> AnyStatement<'_, DB> {
    fn text(&self, backend: &DB) -> QueryResult<&StatementText> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let text = match self.id {
            Some(id) => {
                let id = (TypeId::of::<DB>(), id);
                let known = TEXTS.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
                match known {
                    Some(text) => text,
                    None => {
                        let text = Arc::new(self.written(backend)?);
                        let mut texts = TEXTS.write().unwrap_or_else(PoisonError::into_inner);
                        Arc::clone(texts.entry(id).or_insert(text))
                    }
                }
            }
            None => Arc::new(self.written(backend)?),
        };
        Ok(self.text.get_or_init(|| text))
    }

    /// Returns `true` if it may read many rows.
    pub(crate) fn may_scan(&self, backend: &DB) -> QueryResult<bool> {
        Ok(self.text(backend)?.may_scan)
    }

    fn written(&self, backend: &DB) -> QueryResult<StatementText> {
        let mut text = DB::QueryBuilder::default();
        self.statement.to_sql(&mut text, backend)?;
        let sql = text.finish();
        // The statement's own answer: its box would answer for its parts.
        let is_marked = (*self.statement).is_safe_to_cache_prepared(backend)?;
        let is_kept = is_marked && (self.id.is_some() || may_stay_prepared::<DB>(&sql));
        let may_scan = sql.contains(MAY_SCAN);
        Ok(StatementText { sql, is_kept, may_scan })
    }
}

impl<DB: Backend<QueryBuilder: Default> + 'static> QueryFragment<DB> for AnyStatement<'_, DB> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.statement.walk_ast(out)
    }

    fn to_sql(&self, out: &mut DB::QueryBuilder, backend: &DB) -> QueryResult<()> {
        out.push_sql(&self.text(backend)?.sql);
        Ok(())
    }

    fn is_safe_to_cache_prepared(&self, backend: &DB) -> QueryResult<bool> {
        Ok(self.text(backend)?.is_kept)
    }
}

impl<DB> QueryId for AnyStatement<'_, DB> {
    type QueryId = ();
    /// Drivers write the text in any case, and look the statement up by it.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB> Query for AnyStatement<'_, DB> {
    type SqlType = Untyped;
}

/// A parameter of a statement.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Value {
    Number(i64),
    Text(String),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// The text of a statement, or of a part of one, with its values. `ST` is its SQL type: the columns of a query's rows, or the
/// type of a part.
#[derive(Clone, Debug)]
pub(crate) struct Sql<ST> {
    pieces: Vec<Piece>,
    /// PostgreSQL plans it anew each time, for its values.
    planned_by_values: bool,
    answers: PhantomData<fn() -> ST>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Value),
}

impl<ST> Sql<ST> {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            pieces: vec![Piece::Text(text.to_owned())],
            planned_by_values: false,
            answers: PhantomData,
        }
    }

    /// Appends text, which must not come from a caller.
    pub(crate) fn sql(&mut self, text: &str) -> &mut Self {
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
        self
    }

    /// Appends a parameter.
    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.pieces.push(Piece::Value(value.into()));
        self
    }

    /// Has PostgreSQL plan it anew each time, for its values.
    pub(crate) fn plan_by_values(&mut self) {
        self.planned_by_values = true;
    }

    /// Returns `true` if it has a parameter.
    pub(crate) fn has_values(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Value(_)))
    }

    /// Returns a text that no other statement has.
    pub(crate) fn key(&self) -> String {
        format!("{:?}", self.pieces)
    }

    /// Appends another part.
    pub(crate) fn append<T>(&mut self, part: Sql<T>) -> &mut Self {
        self.planned_by_values |= part.planned_by_values;
        for piece in part.pieces {
            match piece {
                Piece::Text(text) => self.sql(&text),
                Piece::Value(value) => self.bind(value),
            };
        }
        self
    }
}

impl<DB, ST> QueryFragment<DB> for Sql<ST>
where
    DB: Backend + HasSqlType<BigInt> + HasSqlType<Text>,
    i64: ToSql<BigInt, DB>,
    str: ToSql<Text, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if self.planned_by_values {
            // A statement that is not kept is planned for the values that it is sent with.
            out.unsafe_to_cache_prepared();
        }
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_sql(text),
                Piece::Value(Value::Number(number)) => out.push_bind_param::<BigInt, _>(number)?,
                Piece::Value(Value::Text(text)) => out.push_bind_param::<Text, _>(text.as_str())?,
            }
        }
        Ok(())
    }
}

impl<ST> QueryId for Sql<ST> {
    type QueryId = ();
    /// The text is put together as needed.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for Sql<ST> {
    type SqlType = ST;
}

impl<ST: SqlType + TypedExpressionType> Expression for Sql<ST> {
    type SqlType = ST;
}

impl<ST, GroupBy> ValidGrouping<GroupBy> for Sql<ST> {
    type IsAggregate = is_aggregate::Never;
}

impl<ST, Source> AppearsOnTable<Source> for Sql<ST> where Self: Expression {}

impl<ST, Source> SelectableExpression<Source> for Sql<ST> where Self: Expression {}

/// A query of these columns; the text after them is put together as needed.
pub(crate) struct Select<C> {
    columns: C,
    from: Sql<()>,
}

impl<C> Select<C> {
    pub(crate) const fn new(columns: C, from: Sql<()>) -> Self {
        Self { columns, from }
    }
}

impl<DB, C> QueryFragment<DB> for Select<C>
where
    DB: Backend,
    C: QueryFragment<DB>,
    Sql<()>: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        self.columns.walk_ast(out.reborrow())?;
        self.from.walk_ast(out)
    }
}

impl<C> QueryId for Select<C> {
    type QueryId = ();
    /// The text after the columns is put together as needed.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C: Expression> Query for Select<C> {
    type SqlType = C::SqlType;
}

#[cfg(test)]
mod tests {
    use diesel::prelude::*;

    use super::*;

    diesel::table! {
        counters (business_id) {
            business_id -> BigInt,
            leads -> BigInt,
        }
    }

    /// Tells whether a statement stays prepared, on PostgreSQL and on SQLite.
    fn is_kept<T: QueryFragment<Pg> + QueryFragment<Sqlite> + QueryId + Clone + Send>(statement: &T) -> [bool; 2] {
        [
            AnyStatement::<Pg>::new(statement.clone())
                .is_safe_to_cache_prepared(&Pg)
                .unwrap(),
            AnyStatement::<Sqlite>::new(statement.clone())
                .is_safe_to_cache_prepared(&Sqlite)
                .unwrap(),
        ]
    }

    #[test]
    fn a_change_stays_prepared_if_it_is_marked() {
        let change = diesel::update(counters::table.find(1_i64)).set(counters::leads.eq(1_i64));
        assert_eq!(is_kept(&change), [false, false]);
        assert_eq!(is_kept(&change.clone().prepared()), [true, true]);
        let returning = change.returning(counters::leads).prepared();
        assert_eq!(is_kept(&returning), [true, true]);
    }

    #[test]
    fn few_texts_stay_prepared_of_those_that_are_put_together() {
        let kept = |number: usize| {
            let query: Sql<BigInt> = Sql::new(&format!("SELECT {number}"));
            is_kept(&query)
        };
        assert_eq!(kept(0), [true, true]);
        let all = (1..2 * MAX_KEPT_TEXTS).filter(|number| kept(*number)[0]).count();
        assert!(all <= MAX_KEPT_TEXTS);
        assert_eq!(kept(0), [true, true], "what is kept stays so");
        assert_eq!(kept(2 * MAX_KEPT_TEXTS), [false, false]);
    }

    #[test]
    fn a_query_stays_prepared_unless_it_is_planned_by_its_values() {
        let mut query: Sql<BigInt> = Sql::new("SELECT count(*) FROM leads WHERE site = ");
        query.bind(7);
        assert_eq!(is_kept(&query), [true, true]);
        query.plan_by_values();
        assert_eq!(is_kept(&query), [false, false]);
    }
}
