//! Leads.

use async_trait::async_trait;
use diesel::dsl::{case_when, exists};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_dealership::BulkLoad;
use forecourt_kernel::{
    BusinessId, ContactId, Cursor, LeadId, Page, PageRequest, Position, Range, StoreResult, TextFilter, Timestamp,
};
use forecourt_leads::{DueReopening, Lead, LeadDraft, LeadFilter, LeadReader, LeadStore};

use super::database::{Reading, Writing};
use super::{Conn, Db, dialect};
use crate::error::store_error;
use crate::models::{LeadRow, LeadValues, NewLeadRow, name_key};
use crate::schema::{business_counters, lead_vehicles, leads};

/// A condition on leads, to be joined to others.
type Condition = Box<dyn BoxableExpression<leads::table, Db, SqlType = diesel::sql_types::Bool>>;

async fn lead(conn: &mut Conn, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
    let query = leads::table
        .find((business.get(), id.get()))
        .select(LeadRow::as_select());
    query
        .get_result(conn)
        .await
        .optional()
        .map_err(store_error)?
        .map(Lead::try_from)
        .transpose()
}

/// A page, newest first. One row more than it shows is asked for, to tell whether another page follows.
async fn page(
    conn: &mut Conn,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<Lead>> {
    let total = match request.position {
        Position::Number(_) => Some(count(conn, business, filter).await?),
        Position::After(_) => None,
    };
    let mut query = leads::table.filter(leads::business_id.eq(business.get())).into_boxed();
    for condition in conditions(business, filter) {
        query = query.filter(condition);
    }
    if let Position::After(cursor) = &request.position {
        query = query.filter(leads::id.lt(cursor.id()));
    }
    if let Some(offset) = request.offset().filter(|&offset| offset > 0) {
        query = query.offset(offset);
    }
    let shown = request.per_page as usize;
    let rows: Vec<LeadRow> = query
        .order((leads::business_id.desc(), leads::id.desc()))
        .limit(i64::from(request.per_page) + 1)
        .select(LeadRow::as_select())
        .load(conn)
        .await
        .map_err(store_error)?;
    let more = rows.len() > shown;
    let items = rows
        .into_iter()
        .take(shown)
        .map(Lead::try_from)
        .collect::<StoreResult<Vec<_>>>()?;
    let next = items.last().filter(|_| more).map(|last| Cursor::at([last.id.get()]));
    Ok(Page { items, next, total })
}

async fn count(conn: &mut Conn, business: BusinessId, filter: &LeadFilter) -> StoreResult<i64> {
    let mut query = leads::table.filter(leads::business_id.eq(business.get())).into_boxed();
    for condition in conditions(business, filter) {
        query = query.filter(condition);
    }
    query.count().get_result(conn).await.map_err(store_error)
}

/// What a lead must meet to pass `filter`. Each condition has an index that begins with the business.
fn conditions(business: BusinessId, filter: &LeadFilter) -> Vec<Condition> {
    let LeadFilter {
        site,
        status,
        channel,
        reference,
        name,
        email,
        phone,
        mobile,
        contact,
        vehicle,
        rating_min,
        created,
        updated,
    } = filter;
    let mut all: Vec<Condition> = Vec::new();
    if let Some(site) = site {
        all.push(Box::new(leads::site.eq(site.get())));
    }
    if let Some(status) = status {
        all.push(Box::new(leads::status.eq(i32::from(status.code()))));
    }
    if let Some(channel) = channel {
        all.push(Box::new(leads::channel.eq(channel.id())));
    }
    if let Some(reference) = reference {
        all.push(Box::new(leads::reference.eq(*reference)));
    }
    match name {
        Some(TextFilter::Exact(name)) => {
            all.push(Box::new(
                leads::name_key
                    .eq(name_key(name))
                    .and(leads::name_folded.eq(name.clone())),
            ));
        }
        Some(TextFilter::Wildcard(pattern)) => {
            all.push(Box::new(leads::name_folded.like(like(pattern)).escape('\\')));
        }
        None => {}
    }
    match email {
        Some(TextFilter::Exact(email)) => all.push(Box::new(leads::email_folded.eq(email.clone()))),
        Some(TextFilter::Wildcard(pattern)) => {
            all.push(Box::new(leads::email_folded.like(like(pattern)).escape('\\')));
        }
        None => {}
    }
    if let Some(phone) = phone {
        all.push(Box::new(leads::phone.eq(phone.as_str().to_owned())));
    }
    if let Some(mobile) = mobile {
        all.push(Box::new(leads::mobile.eq(mobile.as_str().to_owned())));
    }
    if let Some(contact) = contact {
        all.push(Box::new(
            leads::contact
                .is_not_null()
                .and(leads::contact.assume_not_null().eq(contact.get())),
        ));
    }
    if let Some(vehicle) = vehicle {
        let association = lead_vehicles::table
            .filter(lead_vehicles::business_id.eq(business.get()))
            .filter(lead_vehicles::vehicle_id.eq(vehicle.get()))
            .filter(lead_vehicles::lead_id.eq(leads::id));
        all.push(Box::new(exists(association)));
    }
    if let Some(least) = rating_min {
        all.push(Box::new(
            leads::rating
                .is_not_null()
                .and(leads::rating.assume_not_null().ge(i32::from(least.get()))),
        ));
    }
    if let Some(Range { from, to }) = created {
        // Stamps never run against ids (see `next_lead`), so these bounds are bounds of ids: whatever else is filtered by,
        // and wherever the range lies, an index that ends in the id is read from its end and no further.
        let (first, last) = diesel::alias!(leads as first, leads as last);
        if let Some(from) = from {
            let first_id = first
                .filter(first.field(leads::business_id).eq(business.get()))
                .filter(first.field(leads::created).ge(from.epoch_seconds()))
                .order((first.field(leads::created).asc(), first.field(leads::id).asc()))
                .limit(1)
                .select(first.field(leads::id));
            all.push(Box::new(
                leads::id.nullable().ge(first_id.single_value()).assume_not_null(),
            ));
        }
        if let Some(to) = to {
            let last_id = last
                .filter(last.field(leads::business_id).eq(business.get()))
                .filter(last.field(leads::created).le(to.epoch_seconds()))
                .order((last.field(leads::created).desc(), last.field(leads::id).desc()))
                .limit(1)
                .select(last.field(leads::id));
            all.push(Box::new(
                leads::id.nullable().le(last_id.single_value()).assume_not_null(),
            ));
        }
    }
    if let Some(Range { from, to }) = updated {
        if let Some(from) = from {
            all.push(Box::new(leads::updated.ge(from.epoch_seconds())));
        }
        if let Some(to) = to {
            all.push(Box::new(leads::updated.le(to.epoch_seconds())));
        }
    }
    all
}

/// A pattern as LIKE takes it: `%` is a wildcard, and nothing else is.
fn like(pattern: &str) -> String {
    pattern.replace('\\', r"\\").replace('_', r"\_")
}

macro_rules! lead_reader {
    ($session:ty) => {
        #[async_trait]
        impl LeadReader for $session {
            async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
                lead(self.conn(), business, id).await
            }

            async fn leads(
                &mut self,
                business: BusinessId,
                filter: &LeadFilter,
                request: &PageRequest,
            ) -> StoreResult<Page<Lead>> {
                page(self.conn(), business, filter, request).await
            }

            async fn contact_exists(&mut self, _business: BusinessId, _id: ContactId) -> StoreResult<bool> {
                // No business has contacts before the area that keeps them is there.
                Ok(false)
            }
        }
    };
}

lead_reader!(Reading);
lead_reader!(Writing);

#[async_trait]
impl LeadStore for Writing {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        let query = leads::table
            .find((business.get(), id.get()))
            .select(LeadRow::as_select());
        let row = dialect::locked!(query).get_result(self.conn()).await;
        row.optional().map_err(store_error)?.map(Lead::try_from).transpose()
    }

    async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let (reference, created) = next_lead(self.conn(), business, at, 1).await?;
        let at = Timestamp::from_epoch_seconds(created);
        let row = NewLeadRow {
            business_id: business.get(),
            reference,
            created,
            values: LeadValues::new(&draft, at)?,
            version: 1,
        };
        let inserted = diesel::insert_into(leads::table).values(row).returning(leads::id);
        let id: i64 = inserted.get_result(self.conn()).await.map_err(store_error)?;
        Ok(Lead {
            id: LeadId::new(id),
            reference,
            created: at,
            updated: at,
            content: draft,
        })
    }

    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()> {
        // If the clock went back behind the lead's beginning, the change counts as made then.
        let updated = lead.updated.max(lead.created);
        diesel::update(leads::table.find((business.get(), lead.id.get())))
            .set((
                LeadValues::new(&lead.content, updated)?,
                leads::version.eq(leads::version + 1),
            ))
            .execute(self.conn())
            .await
            .map_err(store_error)?;
        Ok(())
    }

    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()> {
        let row = leads::table.find((business.get(), id.get()));
        diesel::delete(row).execute(self.conn()).await.map_err(store_error)?;
        Ok(())
    }

    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>> {
        let due: Vec<(i64, i64)> = leads::table
            .filter(leads::reopens.is_not_null())
            .filter(leads::reopens.assume_not_null().le(now.epoch_seconds()))
            .order(leads::reopens)
            .limit(limit.into())
            .select((leads::business_id, leads::id))
            .load(self.conn())
            .await
            .map_err(store_error)?;
        let each = |(business, lead)| DueReopening {
            business: BusinessId::new(business),
            lead: LeadId::new(lead),
        };
        Ok(due.into_iter().map(each).collect())
    }
}

#[async_trait]
impl BulkLoad for Writing {
    async fn load_leads(&mut self, business: BusinessId, drafts: Vec<(LeadDraft, Timestamp)>) -> StoreResult<()> {
        let Some((_, latest)) = drafts.last() else {
            return Ok(());
        };
        let count = i64::try_from(drafts.len()).unwrap_or(i64::MAX);
        let before = latest_lead(self.conn(), business).await?;
        let (last, _) = next_lead(self.conn(), business, *latest, count).await?;
        let mut floor = before;
        let mut rows = Vec::with_capacity(drafts.len());
        for (reference, (draft, at)) in (last - count + 1..).zip(drafts) {
            let created = at.epoch_seconds().max(floor);
            floor = created;
            let updated = Timestamp::from_epoch_seconds(created);
            let values = LeadValues::new(&draft, updated)?;
            rows.push(NewLeadRow {
                business_id: business.get(),
                reference,
                created,
                values,
                version: 1,
            });
        }
        while !rows.is_empty() {
            let rest = rows.split_off(rows.len().min(dialect::ROWS_AT_ONCE));
            dialect::insert_many!(self.conn(), leads::table, rows).map_err(store_error)?;
            rows = rest;
        }
        Ok(())
    }
}

/// Takes the business's next `count` reference numbers, and answers the last of them with the stamp of that lead: `at`, or
/// that of the lead before if the clock has gone back.
///
/// The row stays locked until the transaction ends. So the numbers have no gaps, and a lead that comes later has both a
/// higher id and no earlier stamp.
async fn next_lead(conn: &mut Conn, business: BusinessId, at: Timestamp, count: i64) -> StoreResult<(i64, i64)> {
    let at = at.epoch_seconds();
    diesel::update(business_counters::table.find(business.get()))
        .set((
            business_counters::lead_reference.eq(business_counters::lead_reference + count),
            business_counters::lead_created.eq(case_when(
                business_counters::lead_created.lt(at),
                at.into_sql::<diesel::sql_types::BigInt>(),
            )
            .otherwise(business_counters::lead_created)),
        ))
        .returning((business_counters::lead_reference, business_counters::lead_created))
        .get_result(conn)
        .await
        .map_err(store_error)
}

/// The stamp of the business's latest lead.
async fn latest_lead(conn: &mut Conn, business: BusinessId) -> StoreResult<i64> {
    let row = business_counters::table
        .find(business.get())
        .select(business_counters::lead_created);
    row.get_result(conn).await.map_err(store_error)
}
