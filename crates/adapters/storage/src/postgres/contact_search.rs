//! The index of emails that wildcard searches use, which is one like any other here: the planner knows when to use it.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_contacts::ContactFilter;
use forecourt_kernel::StoreResult;

use super::{Conn, Db};
use crate::schema::contacts;

/// The condition that a contact is one that the index finds: none, since the pattern itself is enough of a condition.
pub(crate) async fn found_by_index(
    _conn: &mut Conn,
    _filter: &ContactFilter,
    _contacts: i64,
) -> StoreResult<Option<Box<dyn BoxableExpression<contacts::table, Db, SqlType = Bool>>>> {
    Ok(None)
}
