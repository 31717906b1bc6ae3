//! Listings: finished JSON of what is advertised, written with the vehicles.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use forecourt_accounts::Business;
use forecourt_kernel::{
    BusinessId, Cursor, Page, PageRequest, Position, Range, StoreResult, TextFilter, Timestamp, VehicleId,
};
use forecourt_listings::{
    Advert, AdvertFacts, Build, DueExpiry, Listed, Listing, ListingFilter, ListingReader, ListingStore, ManifestEntry,
    ManifestState, follow,
};
use forecourt_vehicles::{Vehicle, VehicleFollower};

use super::database::{Reading, Reads, Writing};
use super::deletions::Owned;
use super::{Conn, dialect, list};
use crate::error::store_error;
use crate::schema::record_counters;
use crate::statement::Sql;

pub(super) const OWNED: &[Owned] = &[Owned::new("listings", "id", 100)];

/// Their counter's writes are the revision of them all.
const KIND: &str = "listings";

diesel::table! {
    listings (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        updated -> BigInt,
        hash -> Text,
        expires -> Nullable<BigInt>,
        make -> Text,
        model -> Text,
        fuel -> Text,
        transmission -> Text,
        body -> Text,
        colour -> Text,
        year -> Nullable<BigInt>,
        mileage -> Nullable<BigInt>,
        price -> Nullable<BigInt>,
        json -> Text,
    }
}

diesel::table! {
    listing_builds (business_id) {
        business_id -> BigInt,
        built_of -> BigInt,
        below -> Nullable<BigInt>,
    }
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = listings, treat_none_as_null = true)]
struct ListingValues {
    updated: i64,
    hash: String,
    expires: Option<i64>,
    make: String,
    model: String,
    fuel: String,
    transmission: String,
    body: String,
    colour: String,
    year: Option<i64>,
    mileage: Option<i64>,
    price: Option<i64>,
    json: String,
}

impl ListingValues {
    fn new(advert: &Advert, updated: Timestamp) -> Self {
        let AdvertFacts {
            make,
            model,
            fuel,
            transmission,
            body,
            colour,
            year,
            mileage,
            price,
        } = advert.facts();
        Self {
            updated: updated.epoch_seconds(),
            hash: advert.hash.clone(),
            expires: advert.expires.map(Timestamp::epoch_seconds),
            make,
            model,
            fuel,
            transmission,
            body,
            colour,
            year,
            mileage,
            price,
            json: advert.to_json(updated),
        }
    }
}

type Row = (i64, i64, String, String);
type RowType = (BigInt, BigInt, Text, Text);

fn shown((id, updated, hash, json): Row) -> Listing {
    Listing {
        id: VehicleId::new(id),
        updated: Timestamp::from_epoch_seconds(updated),
        hash,
        json,
    }
}

/// Appends the condition that a listing is one of the business's that pass.
fn passing<T>(sql: &mut Sql<T>, business: BusinessId, filter: &ListingFilter, now: Timestamp) {
    let ListingFilter {
        make,
        model,
        fuel,
        transmission,
        body,
        colour,
        year,
        mileage,
        price,
        updated_since,
        updated_before,
    } = filter;
    sql.sql(" FROM listings WHERE business_id = ").bind(business.get());
    sql.sql(" AND (expires IS NULL OR expires > ")
        .bind(now.epoch_seconds())
        .sql(")");
    for (column, filter) in [
        ("make", make),
        ("model", model),
        ("fuel", fuel),
        ("transmission", transmission),
        ("body", body),
        ("colour", colour),
    ] {
        match filter {
            None => {}
            Some(TextFilter::Exact(text)) => {
                sql.sql(&format!(" AND {column} = ")).bind(text.as_str());
            }
            Some(TextFilter::Wildcard(pattern)) => {
                sql.sql(&format!(" AND {column} LIKE "))
                    .bind(list::like(pattern))
                    .sql(r" ESCAPE '\'");
            }
        }
    }
    for (column, range) in [("year", year), ("mileage", mileage), ("price", price)] {
        let Some(Range { from, to }) = range else { continue };
        sql.sql(&format!(" AND {column} IS NOT NULL"));
        if let Some(from) = from {
            sql.sql(&format!(" AND {column} >= ")).bind(*from);
        }
        if let Some(to) = to {
            sql.sql(&format!(" AND {column} <= ")).bind(*to);
        }
    }
    if let Some(since) = updated_since {
        sql.sql(" AND updated >= ").bind(since.epoch_seconds());
    }
    if let Some(before) = updated_before {
        sql.sql(" AND updated < ").bind(before.epoch_seconds());
    }
}

async fn page(
    session: &mut impl Reads,
    business: BusinessId,
    filter: &ListingFilter,
    now: Timestamp,
    request: &PageRequest,
) -> StoreResult<Page<Listing>> {
    let offset = request.offset();
    // A page behind a cursor of the whole list reads its own entries of one index and nothing else.
    if *filter != ListingFilter::default() || offset.is_some() {
        session.expect_work().await?;
    }
    let conn = session.conn().await?;
    let total = match offset {
        None => None,
        Some(_) => {
            let mut count: Sql<BigInt> = Sql::new("SELECT count(*)");
            passing(&mut count, business, filter, now);
            Some(count.get_result(conn).await.map_err(store_error)?)
        }
    };
    let mut rows: Sql<RowType> = Sql::new("SELECT id, updated, hash, json");
    passing(&mut rows, business, filter, now);
    if let Position::After(cursor) = &request.position
        && let [updated, id] = cursor.values()
    {
        rows.sql(" AND (updated, id) > (")
            .bind(*updated)
            .sql(", ")
            .bind(*id)
            .sql(")");
    }
    rows.sql(" ORDER BY updated, id LIMIT ").bind(request.wanted());
    if let Some(offset) = offset.filter(|offset| *offset > 0) {
        rows.sql(" OFFSET ").bind(offset);
    }
    let rows: Vec<Row> = rows.load(conn).await.map_err(store_error)?;
    let shown_rows = request.per_page as usize;
    let has_more = rows.len() > shown_rows;
    let items: Vec<Listing> = rows.into_iter().take(shown_rows).map(shown).collect();
    let next = items
        .last()
        .filter(|_| has_more)
        .map(|last| Cursor::at([last.updated.epoch_seconds(), last.id.get()]));
    Ok(Page { items, next, total })
}

async fn listing(conn: &mut Conn, business: BusinessId, id: VehicleId, now: Timestamp) -> StoreResult<Option<Listing>> {
    let row: Option<Row> = listings::table
        .find((business.get(), id.get()))
        .filter(
            listings::expires
                .is_null()
                .or(listings::expires.assume_not_null().gt(now.epoch_seconds())),
        )
        .select((listings::id, listings::updated, listings::hash, listings::json))
        .get_result(conn)
        .await
        .optional()
        .map_err(store_error)?;
    Ok(row.map(shown))
}

async fn manifest(
    conn: &mut Conn,
    business: BusinessId,
    after: VehicleId,
    now: Timestamp,
    limit: u32,
) -> StoreResult<Vec<ManifestEntry>> {
    let rows: Vec<(i64, i64, String)> = listings::table
        .filter(listings::business_id.eq(business.get()))
        .filter(listings::id.gt(after.get()))
        .filter(
            listings::expires
                .is_null()
                .or(listings::expires.assume_not_null().gt(now.epoch_seconds())),
        )
        .order(listings::id)
        .limit(limit.into())
        .select((listings::id, listings::updated, listings::hash))
        .load(conn)
        .await
        .map_err(store_error)?;
    let entry = |(id, updated, hash)| ManifestEntry {
        id: VehicleId::new(id),
        updated: Timestamp::from_epoch_seconds(updated),
        hash,
    };
    Ok(rows.into_iter().map(entry).collect())
}

async fn manifest_state(conn: &mut Conn, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState> {
    let revision: Option<i64> = record_counters::table
        .find((business.get(), KIND))
        .select(record_counters::writes)
        .get_result(conn)
        .await
        .optional()
        .map_err(store_error)?;
    let overdue = listings::table
        .filter(listings::business_id.eq(business.get()))
        .filter(listings::expires.assume_not_null().le(now.epoch_seconds()))
        .count()
        .get_result(conn)
        .await
        .map_err(store_error)?;
    Ok(ManifestState {
        revision: revision.unwrap_or_default(),
        overdue,
    })
}

macro_rules! listing_reader {
    ($session:ty) => {
        #[async_trait]
        impl ListingReader for $session {
            async fn listing(
                &mut self,
                business: BusinessId,
                id: VehicleId,
                now: Timestamp,
            ) -> StoreResult<Option<Listing>> {
                listing(self.conn().await?, business, id, now).await
            }

            async fn listings(
                &mut self,
                business: BusinessId,
                filter: &ListingFilter,
                now: Timestamp,
                request: &PageRequest,
            ) -> StoreResult<Page<Listing>> {
                page(self, business, filter, now, request).await
            }

            async fn manifest(
                &mut self,
                business: BusinessId,
                after: VehicleId,
                now: Timestamp,
                limit: u32,
            ) -> StoreResult<Vec<ManifestEntry>> {
                manifest(self.conn().await?, business, after, now, limit).await
            }

            async fn manifest_state(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState> {
                manifest_state(self.conn().await?, business, now).await
            }
        }
    };
}

listing_reader!(Reading);
listing_reader!(Writing);

/// A vehicle's listing is written with it.
#[async_trait]
impl VehicleFollower for Writing {
    async fn vehicle_changed(&mut self, business: &Business, vehicle: &Vehicle, at: Timestamp) -> StoreResult<()> {
        follow(self, business, vehicle, at).await
    }
}

impl Writing {
    /// Notes that vehicles were loaded whose listings are still to be made.
    pub(super) async fn forget_build(&mut self, business: BusinessId) -> StoreResult<()> {
        diesel::delete(listing_builds::table.find(business.get()))
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }
}

#[async_trait]
impl ListingStore for Writing {
    async fn listed(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Listed>> {
        let row: Option<(String, Option<i64>, i64)> = listings::table
            .find((business.get(), id.get()))
            .select((listings::hash, listings::expires, listings::updated))
            .get_result(self.conn().await?)
            .await
            .optional()
            .map_err(store_error)?;
        Ok(row.map(|(hash, expires, updated)| Listed {
            hash,
            expires: expires.map(Timestamp::from_epoch_seconds),
            updated: Timestamp::from_epoch_seconds(updated),
        }))
    }

    async fn save_listing(&mut self, business: BusinessId, advert: &Advert, updated: Timestamp) -> StoreResult<()> {
        let conn = self.conn().await?;
        let key = (business.get(), advert.vehicle.get());
        let saved = diesel::update(listings::table.find(key))
            .set(ListingValues::new(advert, updated))
            .execute(conn)
            .await
            .map_err(store_error)?;
        if saved == 0 {
            diesel::insert_into(listings::table)
                .values((
                    listings::business_id.eq(key.0),
                    listings::id.eq(key.1),
                    ListingValues::new(advert, updated),
                ))
                .execute(conn)
                .await
                .map_err(store_error)?;
        }
        list::count_write(conn, business, KIND, if saved == 0 { 1 } else { 0 }).await
    }

    async fn remove_listing(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<()> {
        let conn = self.conn().await?;
        let gone = diesel::delete(listings::table.find((business.get(), id.get())))
            .execute(conn)
            .await
            .map_err(store_error)?;
        if gone > 0 {
            list::count_write(conn, business, KIND, -1).await?;
        }
        Ok(())
    }

    async fn due_expiries(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueExpiry>> {
        let due: Vec<(i64, i64)> = listings::table
            .filter(listings::expires.assume_not_null().le(now.epoch_seconds()))
            .order(listings::expires)
            .limit(limit.into())
            .select((listings::business_id, listings::id))
            .load(self.conn().await?)
            .await
            .map_err(store_error)?;
        let each = |(business, vehicle)| DueExpiry {
            business: BusinessId::new(business),
            vehicle: VehicleId::new(vehicle),
        };
        Ok(due.into_iter().map(each).collect())
    }

    async fn due_builds(&mut self, settled: Timestamp, limit: u32) -> StoreResult<Vec<BusinessId>> {
        let mut due: Sql<BigInt> = Sql::new(
            "SELECT businesses.id FROM businesses LEFT JOIN listing_builds ON listing_builds.business_id = businesses.id \
             JOIN business_counters ON business_counters.business_id = businesses.id AND business_counters.vehicles > 0 \
             WHERE businesses.deleted IS NULL AND (listing_builds.business_id IS NULL OR listing_builds.below IS NOT NULL \
             OR listing_builds.built_of < businesses.updated AND businesses.updated <= ",
        );
        due.bind(settled.epoch_seconds())
            .sql(") ORDER BY businesses.id LIMIT ")
            .bind(i64::from(limit));
        let due: Vec<i64> = due.load(self.conn().await?).await.map_err(store_error)?;
        Ok(due.into_iter().map(BusinessId::new).collect())
    }

    async fn lock_build(&mut self, business: BusinessId) -> StoreResult<Option<Build>> {
        let conn = self.conn().await?;
        diesel::insert_into(listing_builds::table)
            .values((
                listing_builds::business_id.eq(business.get()),
                listing_builds::built_of.eq(i64::MIN),
                listing_builds::below.eq(Some(i64::MAX)),
            ))
            .on_conflict_do_nothing()
            .execute(conn)
            .await
            .map_err(store_error)?;
        let row = listing_builds::table
            .find(business.get())
            .select((listing_builds::built_of, listing_builds::below));
        let row: Option<(i64, Option<i64>)> = dialect::skip_locked!(row)
            .get_result(conn)
            .await
            .optional()
            .map_err(store_error)?;
        Ok(row.map(|(of, below)| Build {
            of: Timestamp::from_epoch_seconds(of),
            below: below.map(VehicleId::new),
        }))
    }

    async fn save_build(&mut self, business: BusinessId, build: Build) -> StoreResult<()> {
        diesel::update(listing_builds::table.find(business.get()))
            .set((
                listing_builds::built_of.eq(build.of.epoch_seconds()),
                listing_builds::below.eq(build.below.map(VehicleId::get)),
            ))
            .execute(self.conn().await?)
            .await
            .map(drop)
            .map_err(store_error)
    }
}
