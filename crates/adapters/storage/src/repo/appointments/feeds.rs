//! The calendars that can be subscribed to.

use diesel::prelude::*;
use forecourt_appointments::{AppointmentFeed, AppointmentFeedId, NewFeed};
use forecourt_kernel::{BusinessId, Page, PageRequest, Position, StaffId, StoreError, StoreResult, Timestamp};

use super::super::{Conn, Db};
use crate::error::other;
use crate::statement::RunQueryDsl;

diesel::table! {
    appointment_feeds (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        created -> BigInt,
        name -> Text,
        calendar -> Nullable<Text>,
        staff -> Nullable<BigInt>,
        details -> Text,
        digest -> Text,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = appointment_feeds, check_for_backend(Db))]
struct FeedRow {
    business_id: i64,
    id: i64,
    created: i64,
    name: String,
    calendar: Option<String>,
    staff: Option<i64>,
    details: String,
}

impl TryFrom<FeedRow> for AppointmentFeed {
    type Error = StoreError;

    fn try_from(row: FeedRow) -> StoreResult<Self> {
        Ok(Self {
            id: AppointmentFeedId::new(row.id),
            created: Timestamp::from_epoch_seconds(row.created),
            content: NewFeed {
                name: row.name,
                calendar: row.calendar,
                staff: row.staff.map(StaffId::new),
                details: row.details.parse().map_err(other)?,
            },
        })
    }
}

/// Returns a page of the business's feeds.
pub(super) async fn page(
    conn: &mut Conn,
    business: BusinessId,
    request: &PageRequest,
) -> StoreResult<Page<AppointmentFeed>> {
    let all = || appointment_feeds::table.filter(appointment_feeds::business_id.eq(business.get()));
    let total = match request.position {
        Position::Number(_) => Some(all().count().get_result(conn).await?),
        Position::After(_) => None,
    };
    let mut query = all().into_boxed::<Db>();
    if let Position::After(cursor) = &request.position {
        query = query.filter(appointment_feeds::id.lt(cursor.id()));
    }
    let rows: Vec<FeedRow> = query
        .order(appointment_feeds::id.desc())
        .limit(request.wanted())
        .offset(request.offset().unwrap_or_default())
        .select(FeedRow::as_select())
        .load(conn)
        .await?;
    Page::of(rows, request, total, |row| row.id).try_map(AppointmentFeed::try_from)
}

/// Returns the feed whose token has this digest.
pub(super) async fn of_token(conn: &mut Conn, digest: &str) -> StoreResult<Option<(BusinessId, AppointmentFeed)>> {
    let row: Option<FeedRow> = appointment_feeds::table
        .filter(appointment_feeds::digest.eq(digest))
        .select(FeedRow::as_select())
        .get_optional(conn)
        .await?;
    let with_business = |row: FeedRow| Ok((BusinessId::new(row.business_id), row.try_into()?));
    row.map(with_business).transpose()
}

/// Returns the number of the business's feeds.
pub(super) async fn count(conn: &mut Conn, business: BusinessId) -> StoreResult<usize> {
    let own = appointment_feeds::table.filter(appointment_feeds::business_id.eq(business.get()));
    let count: i64 = own.count().get_result(conn).await?;
    usize::try_from(count).map_err(other)
}

/// Stores a feed.
pub(super) async fn insert(
    conn: &mut Conn,
    business: BusinessId,
    content: NewFeed,
    digest: &str,
    created: Timestamp,
) -> StoreResult<AppointmentFeed> {
    let id = diesel::insert_into(appointment_feeds::table)
        .values((
            appointment_feeds::business_id.eq(business.get()),
            appointment_feeds::created.eq(created.epoch_seconds()),
            appointment_feeds::name.eq(content.name.clone()),
            appointment_feeds::calendar.eq(content.calendar.clone()),
            appointment_feeds::staff.eq(content.staff.map(StaffId::get)),
            appointment_feeds::details.eq(content.details.name()),
            appointment_feeds::digest.eq(digest.to_owned()),
        ))
        .returning(appointment_feeds::id)
        .get_result(conn)
        .await?;
    let id = AppointmentFeedId::new(id);
    Ok(AppointmentFeed { id, created, content })
}

/// Deletes a feed; returns `false` if there is none.
pub(super) async fn delete(conn: &mut Conn, business: BusinessId, id: AppointmentFeedId) -> StoreResult<bool> {
    let row = appointment_feeds::table.find((business.get(), id.get()));
    let deleted = diesel::delete(row).execute(conn).await?;
    Ok(deleted > 0)
}
