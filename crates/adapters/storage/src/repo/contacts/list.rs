//! Pages of a list, newest first.
//!
//! | the filter | how its page is found |
//! | --- | --- |
//! | what an index holds | that index is read from its end, no further than the page goes |
//! | several at once | by whichever index finds fewer, and sorted |
//! | an email with wildcards | among the newest contacts, where a page is soon full if many pass; what is then missing is found by an index |
//!
//! Where many contacts come before a page, [`parts`] tells in which parts of the ids it lies, and of what comes before it there
//! the index alone is read.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use forecourt_contacts::{Contact, ContactFilter};
use forecourt_kernel::{BusinessId, Page, PageRequest, Position, StoreResult, View};

use super::filter::{Approach, Condition, conditions, is_scattered, narrowing};
use super::parts::{self, Area, Standing};
use super::span::Span;
use super::total::{by_part, total};
use super::{Conn, Db, contact_search, with_notes};
use crate::error::store_error;
use crate::models::ContactRow;
use crate::schema::contacts;
use crate::totals::Known;

/// Before a page that has more contacts before it, no contact is read that it does not show.
const FAR: i64 = 500;
/// Of a list that has more contacts than this, the parts are counted before a page that is far down is looked for.
const MANY: i64 = 20_000;
/// So many contacts in a row are looked at sooner than an index is asked which of them pass.
const FEW: i64 = 16_384;

/// A query of contacts.
type Passing = contacts::BoxedQuery<'static, Db>;

/// A page of the contacts that pass `filter`.
pub(super) async fn page(
    conn: &mut Conn,
    totals: Option<&Known<ContactFilter>>,
    business: BusinessId,
    filter: &ContactFilter,
    request: &PageRequest,
    view: View,
) -> StoreResult<Page<Contact>> {
    // In this order: see `Standing`.
    let standing = Standing::of(conn, business, Area::Contacts).await?;
    let total = match request.position {
        Position::Number(_) => Some(self::total(conn, totals, standing, business, filter).await?),
        Position::After(_) => None,
    };
    let offset = request.offset().unwrap_or_default();
    let list = List {
        business,
        filter,
        standing,
        span: Span::EVERYTHING.before(&request.position),
        offset,
        limit: request.wanted(),
    };
    let rows = match total {
        Some(total) if offset >= total => Vec::new(),
        Some(total) if offset > FAR => list.far(conn, totals, total).await?,
        _ => list.rows(conn).await?,
    };
    let mut page = Page::of(rows, request, total, |row| row.id).try_map(Contact::try_from)?;
    if view == View::Full {
        with_notes(conn, business, &mut page).await?;
    }
    Ok(page)
}

/// The part of a list that is wanted.
struct List<'a> {
    business: BusinessId,
    filter: &'a ContactFilter,
    standing: Standing,
    span: Span,
    offset: i64,
    limit: i64,
}

impl List<'_> {
    async fn rows(&self, conn: &mut Conn) -> StoreResult<Vec<ContactRow>> {
        if is_scattered(self.filter) {
            let ids = self.near_first(conn).await?;
            return self.contacts(conn, ids).await;
        }
        if narrowing(self.filter) > 1 {
            let ids = self.sorted(self.span, Approach::Contact).select(contacts::id);
            let ids = ids.limit(self.limit).offset(self.offset).load(conn).await;
            return self.contacts(conn, ids.map_err(store_error)?).await;
        }
        self.in_order(self.span, Approach::Contact)
            .limit(self.limit)
            .offset(self.offset)
            .select(ContactRow::as_select())
            .load(conn)
            .await
            .map_err(store_error)
    }

    /// The contacts of a page that many of the `total` others come before.
    async fn far(
        mut self,
        conn: &mut Conn,
        totals: Option<&Known<ContactFilter>>,
        total: i64,
    ) -> StoreResult<Vec<ContactRow>> {
        let scattered = is_scattered(self.filter);
        if scattered || total > MANY {
            let parts = by_part(conn, totals, self.standing, self.business, self.filter).await?;
            (self.span, self.offset) = parts::locate(&parts, self.offset, self.limit);
            if scattered && self.span.last.saturating_sub(self.span.first.max(0)) > FEW {
                let ids = self.searched(conn, self.span, self.offset + self.limit).await?;
                return self.contacts(conn, self.of_page(ids)).await;
            }
            let ids = self.in_order(self.span, Approach::Contact).select(contacts::id);
            let ids = ids.limit(self.limit).offset(self.offset).load(conn).await;
            return self.contacts(conn, ids.map_err(store_error)?).await;
        }
        // From the nearer end of the list.
        let behind = total - self.offset;
        let passing = passing(self.business, self.filter, self.span, Approach::Contact).select(contacts::id);
        let ids = if behind > self.offset {
            let from_start = passing.order((contacts::business_id.desc(), contacts::id.desc()));
            from_start.limit(self.limit).offset(self.offset)
        } else {
            let limit = self.limit.min(behind);
            let from_end = passing.order((contacts::business_id.asc(), contacts::id.asc()));
            from_end.limit(limit).offset(behind - limit)
        };
        let ids = ids.load(conn).await.map_err(store_error)?;
        self.contacts(conn, ids).await
    }

    /// The ids of a page: first of the newest contacts, and then of what an index finds among the others.
    async fn near_first(&self, conn: &mut Conn) -> StoreResult<Vec<i64>> {
        let wanted = self.offset + self.limit;
        let Some(newest) = self.newest(conn, 0).await? else {
            return Ok(Vec::new());
        };
        let near = self.newest(conn, contact_search::NEAR).await?;
        // It is bounded on both sides, lest it seem wise to read another index as a whole.
        let nearest = Span {
            first: near.unwrap_or_default(),
            last: newest,
        };
        let ids = self.in_order(nearest, Approach::Contact).select(contacts::id);
        let mut ids: Vec<i64> = ids.limit(wanted).load(conn).await.map_err(store_error)?;
        let missing = wanted - i64::try_from(ids.len()).unwrap_or(wanted);
        if let Some(near) = near.filter(|_| missing > 0) {
            let others = Span {
                last: near - 1,
                ..self.span
            };
            ids.extend(self.searched(conn, others, missing).await?);
        }
        Ok(self.of_page(ids))
    }

    /// Without what comes before the page.
    fn of_page(&self, mut ids: Vec<i64>) -> Vec<i64> {
        let before = usize::try_from(self.offset).unwrap_or(usize::MAX).min(ids.len());
        ids.split_off(before)
    }

    /// The first ids of those in a span that pass, as an index tells them.
    async fn searched(&self, conn: &mut Conn, span: Span, limit: i64) -> StoreResult<Vec<i64>> {
        let contacts = self.standing.records;
        if let Some(found) = contact_search::candidates(conn, self.filter, contacts, span.ids()).await? {
            let is_all = found.is_all;
            let ids: Vec<i64> = passing(self.business, self.filter, Span::EVERYTHING, Approach::Contact)
                .filter(found.condition)
                .order(contacts::id.desc())
                .limit(limit)
                .select(contacts::id)
                .load(conn)
                .await
                .map_err(store_error)?;
            if is_all || i64::try_from(ids.len()).is_ok_and(|found| found == limit) {
                return Ok(ids);
            }
        }
        let ids = self.sorted(span, Approach::Index).select(contacts::id).limit(limit);
        ids.load(conn).await.map_err(store_error)
    }

    /// The contacts of a span in the order of the list, as some index holds them.
    fn in_order(&self, span: Span, approach: Approach) -> Passing {
        passing(self.business, self.filter, span, approach).order((contacts::business_id.desc(), contacts::id.desc()))
    }

    /// The contacts of a span, found by whatever index tells them best, and sorted.
    fn sorted(&self, span: Span, approach: Approach) -> Passing {
        // Not the id itself: else it might seem wise to walk all contacts in its order.
        let id = contacts::id + 0;
        let mut passing = passing(self.business, self.filter, Span::EVERYTHING, approach)
            // Written out like this it is planned anew each time: which index finds fewer depends on what is asked for.
            .filter(sql::<Bool>("1 = 1"));
        if span.first > Span::EVERYTHING.first {
            passing = passing.filter(id.ge(span.first));
        }
        if span.last < Span::EVERYTHING.last {
            passing = passing.filter(id.le(span.last));
        }
        passing.order(id.desc())
    }

    /// The contacts of these ids, in the order of the list.
    async fn contacts(&self, conn: &mut Conn, ids: Vec<i64>) -> StoreResult<Vec<ContactRow>> {
        contacts::table
            .filter(contacts::business_id.eq(self.business.get()))
            .filter(contacts::id.eq_any(ids))
            .order((contacts::business_id.desc(), contacts::id.desc()))
            .select(ContactRow::as_select())
            .load(conn)
            .await
            .map_err(store_error)
    }

    /// The newest contact of the span that so many others come before: none, if there are not so many.
    async fn newest(&self, conn: &mut Conn, others: i64) -> StoreResult<Option<i64>> {
        let query = contacts::table
            .filter(contacts::business_id.eq(self.business.get()))
            .filter(contacts::id.le(self.span.last))
            .order((contacts::business_id.desc(), contacts::id.desc()))
            .limit(1)
            .offset(others)
            .select(contacts::id);
        query.get_result(conn).await.optional().map_err(store_error)
    }
}

/// The contacts of a business that lie in a span and pass a filter.
pub(super) fn passing(business: BusinessId, filter: &ContactFilter, span: Span, approach: Approach) -> Passing {
    let mut passing = contacts::table
        .filter(contacts::business_id.eq(business.get()))
        .into_boxed();
    for condition in conditions(filter, approach) {
        let condition: Condition = condition;
        passing = passing.filter(condition);
    }
    // A bound that bounds nothing might tempt a planner to go by it.
    if span.first > Span::EVERYTHING.first {
        passing = passing.filter(contacts::id.ge(span.first));
    }
    if span.last < Span::EVERYTHING.last {
        passing = passing.filter(contacts::id.le(span.last));
    }
    passing
}
