//! How many contacts a list has.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_contacts::ContactFilter;
use forecourt_kernel::{BusinessId, StoreResult};

use super::filter::Approach;
use super::list::passing;
use super::span::Span;
use super::{Conn, contact_search, counts};
use crate::error::store_error;
use crate::schema::business_counters;
use crate::totals::{ListTotals, Parts};

/// How things stand with a business.
///
/// It is read before anything else of a list: if a contact is written in the meantime, what is then counted is taken as
/// outdated though it is not, and never the other way round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    contacts: i64,
    /// How often any of them was written.
    writes: i64,
}

impl Standing {
    pub(super) async fn of(conn: &mut Conn, business: BusinessId) -> StoreResult<Self> {
        let row = business_counters::table
            .find(business.get())
            .select((business_counters::contacts, business_counters::contact_writes));
        let row: Option<(i64, i64)> = row.get_result(conn).await.optional().map_err(store_error)?;
        let (contacts, writes) = row.unwrap_or_default();
        Ok(Self { contacts, writes })
    }

    /// How many contacts the business has.
    pub(super) const fn contacts(self) -> i64 {
        self.contacts
    }

    /// How many contacts pass `filter`. They are counted once, as long as no contact is written.
    pub(super) async fn total(
        self,
        conn: &mut Conn,
        known: Option<&ListTotals>,
        business: BusinessId,
        filter: &ContactFilter,
    ) -> StoreResult<i64> {
        if *filter == ContactFilter::default() {
            return Ok(self.contacts);
        }
        let Some(known) = known.map(|known| &known.contacts) else {
            return self.count(conn, business, filter).await;
        };
        if let Some(total) = known.get(business, filter, self.writes) {
            return Ok(total);
        }
        let total = self.count(conn, business, filter).await?;
        known.put(business, filter, self.writes, total);
        Ok(total)
    }

    /// How many contacts that pass `filter` each part has, likewise.
    pub(super) async fn parts(
        self,
        conn: &mut Conn,
        known: Option<&ListTotals>,
        business: BusinessId,
        filter: &ContactFilter,
    ) -> StoreResult<Parts> {
        if *filter == ContactFilter::default() {
            return counts::of_business(conn, business).await;
        }
        let known = known.map(|known| &known.contact_parts);
        if let Some(parts) = known.and_then(|known| known.get(business, filter, self.writes)) {
            return Ok(parts);
        }
        let parts = counts::of_passing(conn, business, filter).await?;
        if let Some(known) = known {
            known.put(business, filter, self.writes, parts.clone());
        }
        Ok(parts)
    }

    async fn count(self, conn: &mut Conn, business: BusinessId, filter: &ContactFilter) -> StoreResult<i64> {
        let mut passing = passing(business, filter, Span::EVERYTHING, Approach::Index);
        if let Some(found) = contact_search::candidates(conn, filter, self.contacts, Span::EVERYTHING.ids()).await?
            && found.is_all
        {
            passing = passing.filter(found.condition);
        }
        passing.count().get_result(conn).await.map_err(store_error)
    }
}
