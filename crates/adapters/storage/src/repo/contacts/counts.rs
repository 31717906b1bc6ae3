//! Where the contacts of a list are, in parts of ids: of a whole business by `contact_counts`, which the database keeps as
//! contacts are written.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use forecourt_contacts::ContactFilter;
use forecourt_kernel::{BusinessId, StoreResult};

use super::filter::{Approach, conditions};
use super::span::Span;
use super::{Conn, Db};
use crate::error::store_error;
use crate::schema::{contact_counts, contacts};
use crate::totals::Parts;

/// How many ids a part has, as a power of two: see the migration.
const BITS: u32 = 12;

/// The parts of all contacts of a business.
pub(super) async fn of_business(conn: &mut Conn, business: BusinessId) -> StoreResult<Parts> {
    let parts: Vec<(i64, i64)> = contact_counts::table
        .filter(contact_counts::business_id.eq(business.get()))
        .order(contact_counts::part.desc())
        .select((contact_counts::part, contact_counts::contacts))
        .load(conn)
        .await
        .map_err(store_error)?;
    Ok(parts.into())
}

/// The parts of the contacts that pass `filter`, counted one by one.
pub(super) async fn of_passing(conn: &mut Conn, business: BusinessId, filter: &ContactFilter) -> StoreResult<Parts> {
    let part = || sql::<BigInt>(&format!("(contacts.id >> {BITS})"));
    let mut query = contacts::table
        .group_by(part())
        .select((part(), sql::<BigInt>("count(*)")))
        .filter(contacts::business_id.eq(business.get()))
        .order(part().desc())
        .into_boxed::<Db>();
    for condition in conditions(filter, Approach::Index) {
        query = query.filter(condition);
    }
    let parts: Vec<(i64, i64)> = query.load(conn).await.map_err(store_error)?;
    Ok(parts.into())
}

/// Where `limit` contacts of a list lie that `offset` others come before: a span that has them, and how many in it come
/// before them.
pub(super) fn locate(parts: &Parts, offset: i64, limit: i64) -> (Span, i64) {
    let mut span = Span::EVERYTHING;
    let mut left = offset;
    // None behind the page, unless the parts below say otherwise.
    let mut wanted = i64::MAX;
    for &(part, contacts) in parts.iter() {
        if wanted == i64::MAX {
            if contacts <= left {
                left -= contacts;
                continue;
            }
            span.last = ((part + 1) << BITS) - 1;
            wanted = left + limit;
        }
        wanted -= contacts;
        if wanted <= 0 {
            span.first = part << BITS;
            break;
        }
    }
    (span, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_located_by_what_the_parts_have() {
        let parts: Parts = [(9, 3), (7, 0), (6, 5), (2, 4)].into();
        let span = |first: i64, last: i64| Span {
            first: first << 12,
            last: (last << 12) + 4095,
        };
        assert_eq!(locate(&parts, 0, 3), (span(9, 9), 0));
        assert_eq!(locate(&parts, 1, 3), (span(6, 9), 1));
        assert_eq!(locate(&parts, 3, 5), (span(6, 6), 0));
        assert_eq!(locate(&parts, 7, 2), (span(2, 6), 4));
        let (last, left) = locate(&parts, 10, 9);
        assert_eq!((last.last, left), (span(2, 2).last, 2));
        assert_eq!(last.first, Span::EVERYTHING.first, "all that is left");
    }
}
