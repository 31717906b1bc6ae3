//! A number that stands in the text of a statement.

use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types::Integer;

/// A number that is written out, where others are parameters. Only so does a planner see which partial index serves a
/// condition. Each number makes a statement of its own, so there should be few.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Literal(pub(crate) u8);

impl Expression for Literal {
    type SqlType = Integer;
}

impl<DB: Backend> QueryFragment<DB> for Literal {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(&self.0.to_string());
        Ok(())
    }
}

impl QueryId for Literal {
    type QueryId = ();
    /// The text of the statement tells the numbers apart.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<GroupBy> ValidGrouping<GroupBy> for Literal {
    type IsAggregate = is_aggregate::Never;
}

impl<Source> AppearsOnTable<Source> for Literal {}

impl<Source> SelectableExpression<Source> for Literal {}
