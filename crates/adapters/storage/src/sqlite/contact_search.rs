//! The index of emails that wildcard searches use: see the migration that makes `contact_search`.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use forecourt_contacts::ContactFilter;
use forecourt_kernel::{StoreResult, TextFilter};

use super::search::{finds_few, runs};
use super::{Conn, Db};
use crate::schema::contacts;

/// A business with fewer contacts has looked at all their emails before the index has told which.
const FEW_CONTACTS: i64 = 5_000;

/// The condition that a contact is one that the index finds: none, if the filter searches for nothing that helps there. What
/// it finds may yet fail the filter, of a business that has about `contacts` contacts.
pub(crate) async fn found_by_index(
    conn: &mut Conn,
    filter: &ContactFilter,
    contacts: i64,
) -> StoreResult<Option<Box<dyn BoxableExpression<contacts::table, Db, SqlType = Bool>>>> {
    let Some(query) = query(filter).filter(|_| contacts > FEW_CONTACTS) else {
        return Ok(None);
    };
    if !finds_few(conn, "contact_search", &query).await? {
        return Ok(None);
    }
    let condition = sql::<Bool>("contacts.id IN (SELECT rowid FROM contact_search WHERE contact_search MATCH ")
        .bind::<Text, _>(query)
        .sql(" UNION ALL SELECT new.id FROM contacts AS new WHERE new.id > (SELECT latest FROM contact_search_state))");
    Ok(Some(Box::new(condition)))
}

/// What to ask the index for: some of the runs of three characters that an email must have.
fn query(filter: &ContactFilter) -> Option<String> {
    let Some(TextFilter::Wildcard(pattern)) = &filter.email else {
        return None;
    };
    let runs = runs(pattern);
    (!runs.is_empty()).then(|| runs.join(" AND "))
}
