//! Listings: finished JSON of advertised vehicles, written with the vehicles.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use forecourt_kernel::{
    BusinessId, Cursor, Page, PageRequest, Position, Range, StoreError, StoreResult, TextFilter, Timestamp, VehicleId,
};
use forecourt_listings::{
    Advert, AdvertFacts, Build, Change, ChangeRange, ChangedTo, DueExpiry, Feed, FileAddresses, Listed, Listing,
    ListingFilter, ListingReader, ListingStore, ManifestEntry, ManifestState, ReadyCount, ReadyFor, RemovalReason,
    StoredListing,
};

use super::owned::OwnedTable;
use super::selection::like;
use super::session::{Mode, Session, Write};
use crate::statement::{MayScan as _, Prepare as _, RunQueryDsl, Sql, skip_locked};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("listings", "id", 100),
    OwnedTable::new("listing_removals", "id", 500),
];

/// The kind of their counter. Its writes are the revision of all listings, and number the changes of each. The counter stays
/// locked until the transaction ends, so visible changes have lower numbers than those that are not visible yet.
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
        sequence -> BigInt,
        ready -> BigInt,
    }
}

diesel::table! {
    listing_removals (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        sequence -> BigInt,
        at -> BigInt,
        reason -> Text,
    }
}

diesel::table! {
    listing_removals_kept (business_id) {
        business_id -> BigInt,
        since -> BigInt,
    }
}

diesel::table! {
    listing_builds (business_id) {
        business_id -> BigInt,
        built_of -> BigInt,
        below -> Nullable<BigInt>,
    }
}

#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = listings, treat_none_as_null = true, treat_none_as_default_value = false)]
struct ListingValues {
    sequence: i64,
    updated: i64,
    hash: String,
    expires: Option<i64>,
    ready: i64,
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
    fn new(advert: &Advert, updated: Timestamp, sequence: i64) -> Self {
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
            sequence,
            updated: updated.epoch_seconds(),
            hash: advert.hash.clone(),
            expires: advert.expires.map(Timestamp::epoch_seconds),
            ready: advert.ready.bits().into(),
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

impl ListingValues {
    fn into_stored(self, id: VehicleId) -> StoredListing {
        let Self {
            sequence: _,
            updated,
            hash,
            expires,
            ready,
            make,
            model,
            fuel,
            transmission,
            body,
            colour,
            year,
            mileage,
            price,
            json,
        } = self;
        StoredListing {
            listing: shown((id.get(), updated, hash, json)),
            expires: expires.map(Timestamp::from_epoch_seconds),
            ready: ready_for(ready),
            facts: AdvertFacts {
                make,
                model,
                fuel,
                transmission,
                body,
                colour,
                year,
                mileage,
                price,
            },
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

/// Appends the condition that a listing is the business's, and passes.
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
    live(sql, business, now);
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
                sql.sql(" AND ").append(like(column, pattern));
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
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &ListingFilter,
    now: Timestamp,
    request: &PageRequest,
) -> StoreResult<Page<Listing>> {
    let offset = request.offset();
    // A page of the whole list after a cursor reads its own entries of one index and nothing more.
    let may_scan = *filter != ListingFilter::default() || offset.is_some();
    let conn = session.flushed_conn().await?;
    let total = match offset {
        None => None,
        Some(_) => {
            let mut count: Sql<BigInt> = Sql::new("SELECT count(*)");
            passing(&mut count, business, filter, now);
            Some(count.may_scan(true).get_result(conn).await?)
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
    let rows: Vec<Row> = rows.may_scan(may_scan).load(conn).await?;
    let shown_rows = request.per_page as usize;
    let has_more = rows.len() > shown_rows;
    let items: Vec<Listing> = rows.into_iter().take(shown_rows).map(shown).collect();
    let next = items
        .last()
        .filter(|_| has_more)
        .map(|last| Cursor::at([last.updated.epoch_seconds(), last.id.get()]));
    Ok(Page { items, next, total })
}

/// A listing, or a removal, with the number of its change.
type ChangeRow = (i64, i64, i64, String, Option<String>, Option<String>);
type ChangeRowType = (BigInt, BigInt, BigInt, Text, Nullable<Text>, Nullable<Text>);

fn change((sequence, id, at, word, hash, json): ChangeRow) -> StoreResult<Change> {
    let (id, at) = (VehicleId::new(id), Timestamp::from_epoch_seconds(at));
    let to = match (hash, json) {
        (Some(hash), Some(json)) => ChangedTo::Listed(Listing {
            id,
            updated: at,
            hash,
            json,
        }),
        _ => {
            let mut reasons = RemovalReason::ALL.into_iter();
            let reason = reasons.find(|reason| reason.as_str() == word);
            let reason = reason.ok_or_else(|| StoreError::Other(format!("{word} is no reason of a removal").into()))?;
            ChangedTo::Removed { id, at, reason }
        }
    };
    Ok(Change { sequence, to })
}

/// Appends the condition that a listing is the business's, and has not expired.
fn live<T>(sql: &mut Sql<T>, business: BusinessId, now: Timestamp) {
    sql.sql(" FROM listings WHERE business_id = ").bind(business.get());
    sql.sql(" AND (expires IS NULL OR expires > ")
        .bind(now.epoch_seconds())
        .sql(")");
}

fn ready_for(bits: i64) -> ReadyFor {
    ReadyFor::from_bits(u8::try_from(bits).unwrap_or_default())
}

#[async_trait]
impl<M: Mode> ListingReader for Session<M> {
    async fn listing(&mut self, business: BusinessId, id: VehicleId, now: Timestamp) -> StoreResult<Option<Listing>> {
        let row: Option<Row> = listings::table
            .find((business.get(), id.get()))
            .filter(
                listings::expires
                    .is_null()
                    .or(listings::expires.assume_not_null().gt(now.epoch_seconds())),
            )
            .select((listings::id, listings::updated, listings::hash, listings::json))
            .get_optional(self.conn().await?)
            .await?;
        Ok(row.map(shown))
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
            .load(self.conn().await?)
            .await?;
        let entry = |(id, updated, hash)| ManifestEntry {
            id: VehicleId::new(id),
            updated: Timestamp::from_epoch_seconds(updated),
            hash,
        };
        Ok(rows.into_iter().map(entry).collect())
    }

    async fn manifest_state(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<ManifestState> {
        let mut state: Sql<(Nullable<BigInt>, BigInt)> = Sql::new("SELECT (SELECT writes FROM counters WHERE kind = ");
        state
            .bind(KIND)
            .sql(" AND business_id = ")
            .bind(business.get())
            .sql("), (SELECT count(*) FROM listings WHERE business_id = ")
            .bind(business.get())
            .sql(" AND expires <= ")
            .bind(now.epoch_seconds())
            .sql(")");
        let (revision, overdue): (Option<i64>, i64) = state.get_result(self.flushed_conn().await?).await?;
        Ok(ManifestState {
            revision: revision.unwrap_or_default(),
            overdue,
        })
    }

    async fn listing_changes(
        &mut self,
        business: BusinessId,
        range: ChangeRange,
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<Change>> {
        let ChangeRange {
            after,
            up_to,
            with_removals,
        } = range;
        let mut rows: Sql<ChangeRowType> =
            Sql::new("SELECT * FROM (SELECT sequence, id, updated, '' AS word, hash, json");
        let within = |rows: &mut Sql<ChangeRowType>, table: &str| {
            rows.sql(&format!(" FROM {table} WHERE business_id = "))
                .bind(business.get())
                .sql(" AND sequence > ")
                .bind(after)
                .sql(" AND sequence <= ")
                .bind(up_to);
        };
        within(&mut rows, "listings");
        rows.sql(" AND (expires IS NULL OR expires > ")
            .bind(now.epoch_seconds())
            .sql(") ORDER BY sequence LIMIT ")
            .bind(i64::from(limit))
            .sql(") AS listed");
        if with_removals {
            rows.sql(" UNION ALL SELECT * FROM (SELECT sequence, id, at, reason AS word, NULL, NULL");
            within(&mut rows, "listing_removals");
            rows.sql(" ORDER BY sequence LIMIT ")
                .bind(i64::from(limit))
                .sql(") AS removed");
        }
        rows.sql(" ORDER BY sequence LIMIT ").bind(i64::from(limit));
        let rows: Vec<ChangeRow> = rows.load(self.conn().await?).await?;
        rows.into_iter().map(change).collect()
    }

    async fn removals_kept_since(&mut self, business: BusinessId) -> StoreResult<i64> {
        let since: Option<i64> = listing_removals_kept::table
            .find(business.get())
            .select(listing_removals_kept::since)
            .get_optional(self.conn().await?)
            .await?;
        Ok(since.unwrap_or_default())
    }

    async fn ready_counts(&mut self, business: BusinessId, now: Timestamp) -> StoreResult<Vec<ReadyCount>> {
        let mut counts: Sql<(BigInt, BigInt)> = Sql::new("SELECT ready, count(*)");
        live(&mut counts, business, now);
        counts.sql(" GROUP BY ready");
        let counts: Vec<(i64, i64)> = counts.may_scan(true).load(self.conn().await?).await?;
        let count = |(bits, listings)| ReadyCount {
            ready: ready_for(bits),
            listings,
        };
        Ok(counts.into_iter().map(count).collect())
    }

    async fn ready_listings(
        &mut self,
        business: BusinessId,
        feed: Feed,
        now: Timestamp,
    ) -> StoreResult<Vec<VehicleId>> {
        let sets = (0..1_u8 << Feed::ALL.len()).filter(|bits| ReadyFor::from_bits(*bits).contains(feed));
        let sets: Vec<String> = sets.map(|bits| bits.to_string()).collect();
        let mut ids: Sql<BigInt> = Sql::new("SELECT id");
        live(&mut ids, business, now);
        ids.sql(&format!(" AND ready IN ({})", sets.join(", ")));
        let mut ids: Vec<i64> = ids.may_scan(true).load(self.conn().await?).await?;
        ids.sort_unstable();
        Ok(ids.into_iter().map(VehicleId::new).collect())
    }

    async fn listings_of(
        &mut self,
        business: BusinessId,
        ids: &[VehicleId],
        now: Timestamp,
    ) -> StoreResult<Vec<Listing>> {
        let rows: Vec<Row> = listings::table
            .filter(listings::business_id.eq(business.get()))
            .filter(listings::id.eq_any(ids.iter().map(|id| id.get())))
            .filter(
                listings::expires
                    .is_null()
                    .or(listings::expires.assume_not_null().gt(now.epoch_seconds())),
            )
            .order(listings::id)
            .select((listings::id, listings::updated, listings::hash, listings::json))
            .load(self.conn().await?)
            .await?;
        Ok(rows.into_iter().map(shown).collect())
    }
}

impl Session<Write> {
    /// Deletes the record of how far the listings of the business are made, so that all are made again: vehicles without listings
    /// were loaded.
    pub(super) async fn delete_build(&mut self, business: BusinessId) -> StoreResult<()> {
        diesel::delete(listing_builds::table.find(business.get()))
            .execute(self.conn().await?)
            .await
            .map(drop)
    }
}

#[async_trait]
impl ListingStore for Session<Write> {
    fn file_addresses(&self) -> FileAddresses {
        self.dependencies.files.clone()
    }

    async fn listed(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Listed>> {
        let row = listings::table.find((business.get(), id.get())).select((
            listings::hash,
            listings::expires,
            listings::ready,
            listings::updated,
        ));
        // Listings are written under the counters, so that they need no lock of their own.
        self.lock_counters(business).await?;
        let row: Option<(String, Option<i64>, i64, i64)> = row.get_optional(self.conn().await?).await?;
        Ok(row.map(|(hash, expires, ready, updated)| Listed {
            hash,
            expires: expires.map(Timestamp::from_epoch_seconds),
            ready: ready_for(ready),
            updated: Timestamp::from_epoch_seconds(updated),
        }))
    }

    async fn stored_listing(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<StoredListing>> {
        let row = listings::table
            .find((business.get(), id.get()))
            .select(ListingValues::as_select());
        self.lock_counters(business).await?;
        let row: Option<ListingValues> = row.get_optional(self.conn().await?).await?;
        Ok(row.map(|row| row.into_stored(id)))
    }

    async fn stored_listings(
        &mut self,
        business: BusinessId,
        after: VehicleId,
        limit: u32,
    ) -> StoreResult<Vec<VehicleId>> {
        let ids: Vec<i64> = listings::table
            .filter(listings::business_id.eq(business.get()))
            .filter(listings::id.gt(after.get()))
            .order(listings::id)
            .limit(limit.into())
            .select(listings::id)
            .load(self.conn().await?)
            .await?;
        Ok(ids.into_iter().map(VehicleId::new).collect())
    }

    async fn save_listing(&mut self, business: BusinessId, advert: &Advert, updated: Timestamp) -> StoreResult<()> {
        let key = (business.get(), advert.vehicle.get());
        let counter = self.counter(business, KIND).await?;
        counter.write(0);
        let sequence = counter.writes;
        let conn = self.conn().await?;
        let saved = diesel::update(listings::table.find(key))
            .set(ListingValues::new(advert, updated, sequence))
            .prepared()
            .execute(conn)
            .await?;
        if saved > 0 {
            return Ok(());
        }
        diesel::delete(listing_removals::table.find(key)).execute(conn).await?;
        let values = ListingValues::new(advert, updated, sequence);
        diesel::insert_into(listings::table)
            .values((listings::business_id.eq(key.0), listings::id.eq(key.1), values))
            .execute(conn)
            .await?;
        self.counter(business, KIND).await?.records += 1;
        Ok(())
    }

    async fn remove_listing(
        &mut self,
        business: BusinessId,
        id: VehicleId,
        at: Timestamp,
        reason: RemovalReason,
    ) -> StoreResult<()> {
        self.lock_counters(business).await?;
        let gone = diesel::delete(listings::table.find((business.get(), id.get())))
            .execute(self.conn().await?)
            .await?;
        if gone == 0 {
            return Ok(());
        }
        let counter = self.counter(business, KIND).await?;
        counter.write(-1);
        let sequence = counter.writes;
        diesel::insert_into(listing_removals::table)
            .values((
                listing_removals::business_id.eq(business.get()),
                listing_removals::id.eq(id.get()),
                listing_removals::sequence.eq(sequence),
                listing_removals::at.eq(at.epoch_seconds()),
                listing_removals::reason.eq(reason.as_str()),
            ))
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    async fn purge_removals(&mut self, before: Timestamp, limit: u32) -> StoreResult<u32> {
        let conn = self.conn().await?;
        let mut old: Sql<(BigInt, BigInt, BigInt)> =
            Sql::new("SELECT business_id, id, sequence FROM listing_removals WHERE at < ");
        old.bind(before.epoch_seconds())
            .sql(
                " AND NOT EXISTS (SELECT 1 FROM listings WHERE listings.business_id = listing_removals.business_id \
                 AND listings.sequence < listing_removals.sequence) ORDER BY at LIMIT ",
            )
            .bind(i64::from(limit));
        let old: Vec<(i64, i64, i64)> = old.load(conn).await?;
        for &(business, id, sequence) in &old {
            diesel::delete(listing_removals::table.find((business, id)))
                .filter(listing_removals::sequence.eq(sequence))
                .execute(conn)
                .await?;
            let row = (
                listing_removals_kept::business_id.eq(business),
                listing_removals_kept::since.eq(sequence),
            );
            diesel::insert_into(listing_removals_kept::table)
                .values(row)
                .on_conflict_do_nothing()
                .execute(conn)
                .await?;
            diesel::update(listing_removals_kept::table.find(business))
                .filter(listing_removals_kept::since.lt(sequence))
                .set(listing_removals_kept::since.eq(sequence))
                .prepared()
                .execute(conn)
                .await?;
        }
        Ok(u32::try_from(old.len()).unwrap_or(u32::MAX))
    }

    async fn due_expiries(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueExpiry>> {
        let due: Vec<(i64, i64)> = listings::table
            .filter(listings::expires.assume_not_null().le(now.epoch_seconds()))
            .order(listings::expires)
            .limit(limit.into())
            .select((listings::business_id, listings::id))
            .load(self.conn().await?)
            .await?;
        let each = |(business, vehicle)| DueExpiry {
            business: BusinessId::new(business),
            vehicle: VehicleId::new(vehicle),
        };
        Ok(due.into_iter().map(each).collect())
    }

    async fn due_builds(&mut self, settled: Timestamp, limit: u32) -> StoreResult<Vec<BusinessId>> {
        let mut due: Sql<BigInt> = Sql::new(
            "SELECT businesses.id FROM businesses LEFT JOIN listing_builds ON listing_builds.business_id = businesses.id \
             JOIN counters ON counters.business_id = businesses.id AND counters.kind = 'vehicles' AND counters.records > 0 \
             WHERE businesses.deleted IS NULL AND (listing_builds.business_id IS NULL OR listing_builds.below IS NOT NULL \
             OR listing_builds.built_of < businesses.updated AND businesses.updated <= ",
        );
        due.bind(settled.epoch_seconds())
            .sql(") ORDER BY businesses.id LIMIT ")
            .bind(i64::from(limit));
        let due: Vec<i64> = due.load(self.flushed_conn().await?).await?;
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
            .await?;
        let row = listing_builds::table
            .find(business.get())
            .select((listing_builds::built_of, listing_builds::below));
        let row: Option<(i64, Option<i64>)> = skip_locked(row).get_optional(conn).await?;
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
            .prepared()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }
}
