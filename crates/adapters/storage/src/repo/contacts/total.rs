//! How many contacts a list has, and where.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_contacts::ContactFilter;
use forecourt_kernel::{BusinessId, StoreResult};

use super::filter::{Approach, Condition, conditions};
use super::list::passing;
use super::parts::{self, Area, Counting, Standing};
use super::span::Span;
use super::{Conn, Db, contact_search};
use crate::error::store_error;
use crate::schema::contacts;
use crate::totals::{Known, Parts};

/// How many contacts pass `filter`.
pub(super) async fn total(
    conn: &mut Conn,
    known: Option<&Known<ContactFilter>>,
    standing: Standing,
    business: BusinessId,
    filter: &ContactFilter,
) -> StoreResult<i64> {
    if *filter == ContactFilter::default() {
        return Ok(standing.records);
    }
    let list = List::new(business, filter, standing);
    match known {
        Some(known) => parts::total(conn, known, standing.writes, &list).await,
        None => list.count(conn).await,
    }
}

/// How many contacts that pass `filter` each part has.
pub(super) async fn by_part(
    conn: &mut Conn,
    known: Option<&Known<ContactFilter>>,
    standing: Standing,
    business: BusinessId,
    filter: &ContactFilter,
) -> StoreResult<Parts> {
    if *filter == ContactFilter::default() {
        return parts::of_business(conn, Area::Contacts, business).await;
    }
    parts::current(conn, known, standing.writes, &List::new(business, filter, standing)).await
}

/// The contacts that pass a filter.
struct List<'a> {
    business: BusinessId,
    filter: &'a ContactFilter,
    /// How many the business has.
    contacts: i64,
}

impl<'a> List<'a> {
    const fn new(business: BusinessId, filter: &'a ContactFilter, standing: Standing) -> Self {
        Self {
            business,
            filter,
            contacts: standing.records,
        }
    }

    /// That a contact is one of those that the index of emails finds, if it finds all.
    async fn found(&self, conn: &mut Conn) -> StoreResult<Option<Condition>> {
        let everywhere = Span::EVERYTHING.ids();
        let found = contact_search::candidates(conn, self.filter, self.contacts, everywhere).await?;
        Ok(found.filter(|found| found.is_all).map(|found| found.condition))
    }
}

impl Counting for List<'_> {
    type Filter = ContactFilter;
    const AREA: Area = Area::Contacts;

    fn business(&self) -> BusinessId {
        self.business
    }

    fn filter(&self) -> &ContactFilter {
        self.filter
    }

    async fn count(&self, conn: &mut Conn) -> StoreResult<i64> {
        let mut passing = passing(self.business, self.filter, Span::EVERYTHING, Approach::Index);
        if let Some(found) = self.found(conn).await? {
            passing = passing.filter(found);
        }
        passing.count().get_result(conn).await.map_err(store_error)
    }

    async fn by_part(&self, conn: &mut Conn) -> StoreResult<Vec<(i64, i64)>> {
        let part = || parts::part_of("contacts.id");
        let mut query = contacts::table
            .group_by(part())
            .select((part(), parts::number()))
            .filter(contacts::business_id.eq(self.business.get()))
            .into_boxed::<Db>();
        let found = self.found(conn).await?;
        for condition in conditions(self.filter, Approach::Index).into_iter().chain(found) {
            query = query.filter(condition);
        }
        query.load(conn).await.map_err(store_error)
    }

    async fn in_span(&self, conn: &mut Conn, span: Span) -> StoreResult<i64> {
        let passing = passing(self.business, self.filter, span, Approach::Contact);
        passing.count().get_result(conn).await.map_err(store_error)
    }
}
