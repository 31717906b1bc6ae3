//! Pages of a list, newest first.
//!
//! | the filter | how its page is found |
//! | --- | --- |
//! | what an index holds | that index is read from its end, no further than the page goes |
//! | an email with wildcards | among the newest contacts, where a page is soon full if many pass; if few do, those that pass are found by an index and sorted |

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_contacts::{Contact, ContactFilter};
use forecourt_kernel::{BusinessId, Cursor, Page, PageRequest, Position, StoreResult, View};

use super::filter::{Condition, conditions, is_scattered};
use super::total::Standing;
use super::{Conn, Db, contact_search, with_notes};
use crate::error::store_error;
use crate::models::ContactRow;
use crate::schema::contacts;
use crate::totals::Totals;

/// Among how many of the newest contacts a page is looked for first.
const NEAR: i64 = 4096;

/// A page of the contacts that pass `filter`.
pub(super) async fn page(
    conn: &mut Conn,
    totals: Option<&Totals<ContactFilter>>,
    business: BusinessId,
    filter: &ContactFilter,
    request: &PageRequest,
    view: View,
) -> StoreResult<Page<Contact>> {
    // In this order: see `Standing`.
    let standing = Standing::of(conn, business).await?;
    let total = match request.position {
        Position::Number(_) => Some(standing.total(conn, totals, business, filter).await?),
        Position::After(_) => None,
    };
    let offset = request.offset().unwrap_or_default();
    let rows = if total.is_none_or(|total| offset < total) {
        let list = List {
            business,
            filter,
            before: match &request.position {
                Position::Number(_) => i64::MAX,
                Position::After(cursor) => cursor.id(),
            },
            offset,
            // One more than the page shows tells whether another page follows.
            limit: i64::from(request.per_page) + 1,
        };
        list.rows(conn, standing).await?
    } else {
        Vec::new()
    };
    let shown = request.per_page as usize;
    let more = rows.len() > shown;
    let items = rows.into_iter().take(shown).map(Contact::try_from);
    let mut items = items.collect::<StoreResult<Vec<_>>>()?;
    if view == View::Full {
        with_notes(conn, business, &mut items).await?;
    }
    let next = items.last().filter(|_| more).map(|last| Cursor::at([last.id.get()]));
    Ok(Page { items, next, total })
}

/// The part of a list that is wanted: below an id.
struct List<'a> {
    business: BusinessId,
    filter: &'a ContactFilter,
    before: i64,
    offset: i64,
    limit: i64,
}

impl List<'_> {
    async fn rows(&self, conn: &mut Conn, standing: Standing) -> StoreResult<Vec<ContactRow>> {
        if !is_scattered(self.filter) {
            return self.in_order(conn, None).await;
        }
        let near = self.near(conn).await?;
        let rows = self.in_order(conn, near).await?;
        let full = i64::try_from(rows.len()).is_ok_and(|found| found == self.limit);
        if full || near.is_none() {
            return Ok(rows);
        }
        let found = contact_search::found_by_index(conn, self.filter, standing.contacts()).await?;
        self.sorted(conn, found).await
    }

    /// Reads contacts in the order of the list, until the page is full or the id `first` is passed.
    async fn in_order(&self, conn: &mut Conn, first: Option<i64>) -> StoreResult<Vec<ContactRow>> {
        let mut passing = passing(self.business, self.filter).filter(contacts::id.lt(self.before));
        if let Some(first) = first {
            passing = passing.filter(contacts::id.ge(first));
        }
        passing
            .order((contacts::business_id.desc(), contacts::id.desc()))
            .limit(self.limit)
            .offset(self.offset)
            .select(ContactRow::as_select())
            .load(conn)
            .await
            .map_err(store_error)
    }

    /// Finds the ids of all that pass, and reads the contacts of the page.
    async fn sorted(&self, conn: &mut Conn, found: Option<Condition>) -> StoreResult<Vec<ContactRow>> {
        // Not the id itself: else it might seem wise to walk all contacts in its order.
        let id = contacts::id + 0;
        let mut passing = passing(self.business, self.filter);
        if let Some(found) = found {
            passing = passing.filter(found);
        }
        let ids = passing
            .filter(id.lt(self.before))
            .order(id.desc())
            .limit(self.limit)
            .offset(self.offset)
            .select(contacts::id);
        contacts::table
            .filter(contacts::business_id.eq(self.business.get()))
            .filter(contacts::id.eq_any(ids))
            .order((contacts::business_id.desc(), contacts::id.desc()))
            .select(ContactRow::as_select())
            .load(conn)
            .await
            .map_err(store_error)
    }

    /// Where the [`NEAR`] newest contacts of the list begin: none, if there are fewer.
    async fn near(&self, conn: &mut Conn) -> StoreResult<Option<i64>> {
        let query = contacts::table
            .filter(contacts::business_id.eq(self.business.get()))
            .filter(contacts::id.lt(self.before))
            .order((contacts::business_id.desc(), contacts::id.desc()))
            .limit(1)
            .offset(NEAR)
            .select(contacts::id);
        query.get_result(conn).await.optional().map_err(store_error)
    }
}

/// The contacts of a business that pass a filter, wherever they are.
pub(super) fn passing(business: BusinessId, filter: &ContactFilter) -> contacts::BoxedQuery<'static, Db> {
    let of_business = contacts::table.filter(contacts::business_id.eq(business.get()));
    let conditions = conditions(filter).into_iter();
    conditions.fold(of_business.into_boxed(), |query, condition| query.filter(condition))
}
