//! Statements whose plan does not depend on their values.
//!
//! PostgreSQL plans a prepared statement anew for the values of each execution for as long as such plans promise to cost
//! less than one for any values, and for a list they always do: a LIMIT that the planner sees costs less than one that it
//! has to guess. Planning then costs more than reading the page. Where one plan serves all values, they are kept from the
//! planner: it finds that the plan for any values costs the same, and from the sixth execution on keeps it.

use diesel::backend::Backend;
use diesel::expression::{
    AppearsOnTable, AsExpression, Expression, SelectableExpression, TypedExpressionType, ValidGrouping, is_aggregate,
};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types::{BigInt, Integer, SqlType, Text};

/// How many rows most pages have that programs ask for.
const USUAL_PER_PAGE: [i64; 7] = [10, 20, 25, 50, 100, 200, 500];

/// How often a statement is planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Planning {
    /// For its values, perhaps at each execution: which plan is best depends on them.
    ByValues,
    /// For all values.
    Once,
}

/// How many rows a page is to read whose statement is planned once, if it has a usual size: `limit`, which is one more than
/// it shows.
pub(crate) fn usual_rows(limit: i64) -> Option<u16> {
    u16::try_from(limit)
        .ok()
        .filter(|_| USUAL_PER_PAGE.contains(&(limit - 1)))
}

/// A type as it is named in a statement.
pub(crate) trait Named: SqlType + TypedExpressionType {
    const NAME: &'static str;
}

impl Named for BigInt {
    const NAME: &'static str = "bigint";
}

impl Named for Integer {
    const NAME: &'static str = "integer";
}

impl Named for Text {
    const NAME: &'static str = "text";
}

/// A value to compare with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<E> {
    bound: E,
    planning: Planning,
}

impl<E> Value<E> {
    /// `value` as a parameter.
    pub(crate) fn new<ST, T>(value: T, planning: Planning) -> Self
    where
        ST: Named,
        T: AsExpression<ST, Expression = E>,
    {
        Self {
            bound: value.as_expression(),
            planning,
        }
    }
}

impl<E: Expression> Expression for Value<E> {
    type SqlType = E::SqlType;
}

impl<DB, E> QueryFragment<DB> for Value<E>
where
    DB: Backend,
    E: Expression + QueryFragment<DB>,
    E::SqlType: Named,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if self.planning == Planning::ByValues {
            return self.bound.walk_ast(out);
        }
        // What a query of its own answers no planner can know.
        out.push_sql("(SELECT CAST(");
        self.bound.walk_ast(out.reborrow())?;
        out.push_sql(" AS ");
        out.push_sql(E::SqlType::NAME);
        out.push_sql("))");
        Ok(())
    }
}

impl<E> QueryId for Value<E> {
    type QueryId = ();
    /// The text of the statement tells whether the value is kept from the planner.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<E, GroupBy> ValidGrouping<GroupBy> for Value<E> {
    type IsAggregate = is_aggregate::Never;
}

impl<E: Expression, Source> AppearsOnTable<Source> for Value<E> {}

impl<E: Expression, Source> SelectableExpression<Source> for Value<E> {}

/// A query of which only the first rows are wanted, maybe. How many stands in its text, where the planner sees it whatever
/// the parameters are: so there should be few such numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Top<Q> {
    pub(crate) query: Q,
    pub(crate) rows: Option<u16>,
}

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Top<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.query.walk_ast(out.reborrow())?;
        if let Some(rows) = self.rows {
            out.push_sql(" LIMIT ");
            out.push_sql(&rows.to_string());
        }
        Ok(())
    }
}

impl<Q> QueryId for Top<Q> {
    type QueryId = ();
    /// The text of the statement tells the numbers apart.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Top<Q> {
    type SqlType = Q::SqlType;
}
