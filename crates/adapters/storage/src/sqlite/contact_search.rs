//! The index of emails that wildcard searches use: see the migration that makes `contact_search`.

use std::ops::RangeInclusive;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;
use forecourt_contacts::ContactFilter;
use forecourt_kernel::{StoreResult, TextFilter};

use super::search::runs;
use super::{Conn, Db};
use crate::error::store_error;
use crate::models::Candidates;
use crate::schema::contacts;

/// Among how many of the newest contacts a page is looked for first.
pub(crate) const NEAR: i64 = 1_024;
/// A business with fewer contacts has looked at all their emails before the index has told which.
const FEW_CONTACTS: i64 = 5_000;
/// More contacts than this are not looked up one by one: to read all emails of a business in a row takes no longer.
const MANY_FOUND: i64 = 10_000;

/// The newest contacts among those ids that the index finds: none, if the filter searches for nothing that helps there. What
/// it finds may yet fail the filter, of a business that has about `contacts` contacts.
pub(crate) async fn candidates(
    conn: &mut Conn,
    filter: &ContactFilter,
    contacts: i64,
    among: RangeInclusive<i64>,
) -> StoreResult<Option<Candidates<Db>>> {
    let Some(query) = query(filter).filter(|_| contacts > FEW_CONTACTS) else {
        return Ok(None);
    };
    let rowid = contact_search::rowid;
    let found: Vec<i64> = contact_search::table
        .filter(sql::<Bool>("contact_search MATCH ").bind::<Text, _>(query))
        .filter(rowid.ge(*among.start()))
        .filter(rowid.le(*among.end()))
        .order(rowid.desc())
        .limit(MANY_FOUND)
        .select(rowid)
        .load(conn)
        .await
        .map_err(store_error)?;
    let is_all = i64::try_from(found.len()).is_ok_and(|found| found < MANY_FOUND);
    // Those that came after the latest that is indexed may be any.
    let newer: Vec<i64> = contacts::table
        .filter(sql::<Bool>("contacts.id > (SELECT latest FROM contact_search_state)"))
        .filter(contacts::id.ge(*among.start()))
        .filter(contacts::id.le(*among.end()))
        .order(contacts::id.desc())
        .select(contacts::id)
        .load(conn)
        .await
        .map_err(store_error)?;
    let ids: Vec<i64> = newer.into_iter().chain(found).collect();
    let ids = serde_json::to_string(&ids).unwrap_or_default();
    let condition = sql::<Bool>("contacts.id IN (SELECT value FROM json_each(")
        .bind::<Text, _>(ids)
        .sql("))");
    Ok(Some(Candidates {
        condition: Box::new(condition),
        is_all,
    }))
}

diesel::table! {
    /// The index. What is searched for is asked by its own name.
    contact_search (rowid) {
        rowid -> BigInt,
    }
}

/// The pattern that emails are compared to, one after the other, where the index has not told which to look at.
pub(crate) fn searched(pattern: &str) -> Option<String> {
    Some(pattern.to_owned())
}

/// What to ask the index for: some of the runs of three characters that an email must have.
fn query(filter: &ContactFilter) -> Option<String> {
    let Some(TextFilter::Wildcard(pattern)) = &filter.email else {
        return None;
    };
    // What stands behind the @ is shared by many.
    let mailbox = pattern.split_inclusive('@').next().unwrap_or_default();
    let mut runs = self::runs(mailbox);
    if runs.is_empty() {
        runs = self::runs(pattern);
    }
    (!runs.is_empty()).then(|| runs.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_query(email: &str, expected: Option<&str>) {
        let filter = ContactFilter {
            email: Some(TextFilter::Wildcard(email.to_owned())),
            ..ContactFilter::default()
        };
        assert_eq!(query(&filter).as_deref(), expected);
    }

    #[test]
    fn the_index_is_asked_for_the_mailbox_if_there_is_one() {
        assert_query("%ann%7@example.com", Some(r#""ann" AND "ann""#));
        assert_query("%67@example.com", Some(r#""67@" AND "67@""#));
        assert_query("%@exa%", Some(r#""@ex" AND "exa""#));
        assert_query("%exa%", Some(r#""exa" AND "exa""#));
        assert_query("a%b@%d", None);
    }
}
