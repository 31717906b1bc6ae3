//! The age of stored records, over all businesses.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use forecourt_dealership::{AgeReader, Purged};
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};

use super::events::EVENTS;
use super::session::{Read, Session};
use super::webhooks::{PENDING, first_behind, first_since};
use crate::schema::counters;
use crate::statement::{MayScan as _, RunQueryDsl, Sql};

/// The latest stamp over several kinds of records, each found by an index or in a small table.
const NEWEST: &str = "(SELECT max(stamp) FROM (
    SELECT max(stamp) AS stamp FROM counters
    UNION ALL SELECT max(updated) FROM businesses
    UNION ALL SELECT max(created) FROM api_keys
    UNION ALL SELECT max(created) FROM idempotency_keys
    UNION ALL SELECT max(created) FROM webhook_deliveries) AS stamps)";

#[async_trait]
impl AgeReader for Session<Read> {
    async fn newest_record(&mut self) -> StoreResult<Option<Timestamp>> {
        let newest: Sql<Nullable<BigInt>> = Sql::new(&format!("SELECT {NEWEST}"));
        let newest: Option<i64> = newest.get_result(self.conn().await?).await?;
        // A business without records has the stamp 0 in its counters.
        Ok(newest.filter(|stamp| *stamp > 0).map(Timestamp::from_epoch_seconds))
    }

    async fn purge_quota(&mut self, what: Purged, before: Timestamp, since: Timestamp) -> StoreResult<u32> {
        let (table, stamp, condition) = match what {
            Purged::Answers => ("idempotency_keys", "created", String::new()),
            Purged::Deliveries => ("webhook_deliveries", "created", format!(" AND status <> {PENDING}")),
            Purged::Webhooks => ("webhooks", "deleted", String::new()),
            Purged::ListingRemovals => ("listing_removals", "at", String::new()),
            Purged::Events => return events(self, before, since).await,
        };
        let count = |range: &str| {
            let mut count: Sql<BigInt> = Sql::new(&format!("SELECT count(*) FROM {table} WHERE {stamp} "));
            count.sql(range);
            count
        };
        let mut older: Sql<BigInt> = Sql::new(&format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {stamp} < "));
        older
            .bind(since.epoch_seconds())
            .sql(&format!("{condition} LIMIT 1) AS older"));
        let mut recent = count(">= ");
        recent
            .bind(since.epoch_seconds())
            .sql(&format!(" AND {stamp} < "))
            .bind(before.epoch_seconds())
            .sql(&condition);
        let conn = self.conn().await?;
        let recent: i64 = recent.may_scan(true).get_result(conn).await?;
        let older: i64 = older.may_scan(true).get_result(conn).await?;
        let all: i64 = if older > 0 {
            count("IS NOT NULL").may_scan(true).get_result(conn).await?
        } else {
            0
        };
        Ok(quota(recent, all))
    }
}

/// As [`AgeReader::purge_quota`]. Events have no index by their stamps; within a business they are found by bisection.
async fn events(session: &mut Session<Read>, before: Timestamp, since: Timestamp) -> StoreResult<u32> {
    let logs: Vec<(i64, i64)> = counters::table
        .filter(counters::kind.eq(EVENTS))
        .select((counters::business_id, counters::number))
        .may_scan(true)
        .load(session.conn().await?)
        .await?;
    let (mut recent, mut older, mut all) = (0, 0, 0);
    for (business, latest) in logs {
        let conn = session.conn().await?;
        let Some((first, created)) = first_behind(conn, business, 0).await? else {
            continue;
        };
        all += latest - first + 1;
        if created >= before.epoch_seconds() {
            continue;
        }
        let business = BusinessId::new(business);
        let begin = first_since(conn, business, since, first, latest).await?;
        let end = first_since(conn, business, before, first, latest).await?;
        older += begin - first;
        recent += end - begin;
    }
    Ok(quota(recent, if older > 0 { all } else { 0 }))
}

fn quota(recent: i64, all: i64) -> u32 {
    // One at least, so that a few are purged too.
    let tenth = all / 10 + i64::from(all % 10 > 0);
    u32::try_from(recent.max(tenth)).unwrap_or(u32::MAX)
}
