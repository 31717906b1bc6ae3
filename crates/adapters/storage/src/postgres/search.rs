//! The index of texts that wildcard searches use, which is one like any other here: the planner knows when to use it.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::StoreResult;
use forecourt_leads::LeadFilter;

use super::{Conn, Db};
use crate::schema::leads;

/// The condition that a lead is one that the index finds: none, since the pattern itself is enough of a condition.
pub(crate) async fn found_by_index(
    _conn: &mut Conn,
    _filter: &LeadFilter,
    _leads: i64,
) -> StoreResult<Option<Box<dyn BoxableExpression<leads::table, Db, SqlType = Bool>>>> {
    Ok(None)
}
