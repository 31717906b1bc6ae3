//! Lists: pages newest first, by number or after a cursor, and the total number of records.
//!
//! An area supplies the conditions of its list ([`Selection`]), its kind and its columns. One statement reads a page. It finds the
//! records by an index: that of a condition that few records meet, or else that of the area's list. The latter has the columns of
//! all other filters, in the order of the ids. The database chooses.

use diesel::deserialize::FromSqlRow;
use diesel::prelude::*;
use diesel::query_builder::QueryFragment;
use diesel::query_dsl::CompatibleType;
use diesel::sql_types::BigInt;
use forecourt_kernel::{Page, PageRequest, Position, StoreResult};

use super::Db;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Session};
use crate::schema::counters;
use crate::statement::{MayScan as _, RunQueryDsl, Select, Sql};
use crate::totals::Writes;

/// Usual page sizes, whose statements stay prepared. With those of all others they would be too many.
const USUAL_PER_PAGE: [u32; 8] = [10, 20, 25, 50, 100, 200, 250, 500];

/// Returns a page of a list, with its total if it was requested by number.
pub(super) async fn page<C, R>(
    session: &mut Session<impl Mode>,
    selection: &Selection,
    request: &PageRequest,
    columns: C,
    id: impl Fn(&R) -> i64,
) -> StoreResult<Page<R>>
where
    C: Expression<SqlType: CompatibleType<R, Db, SqlType: 'static>> + QueryFragment<Db> + Send,
    R: FromSqlRow<<C::SqlType as CompatibleType<R, Db>>::SqlType, Db> + Send + 'static,
{
    let offset = request.offset();
    let total = match offset {
        Some(_) => Some(total(session, selection).await?),
        None => None,
    };
    if total.is_some() && offset >= total {
        return Ok(Page {
            items: Vec::new(),
            next: None,
            total,
        });
    }
    let offset = offset.unwrap_or_default();
    let mut page = selection.passing();
    if let Position::After(cursor) = &request.position {
        page.sql(" AND id < ").bind(cursor.id());
    }
    // A planner that did not know the limit would prepare for a large part of the table.
    page.sql(&format!(" ORDER BY id DESC LIMIT {}", request.wanted()));
    if !USUAL_PER_PAGE.contains(&request.per_page) {
        page.plan_by_values();
    }
    if offset > 0 {
        page.sql(" OFFSET ").bind(offset);
    }
    let RecordKind { table, rows, .. } = selection.kind;
    if offset > 0 || table != rows {
        // No row that is skipped is read.
        let mut of_ids = Sql::new(&format!(" FROM {rows} WHERE business_id = "));
        of_ids
            .bind(selection.business.get())
            .sql(" AND id IN (SELECT id")
            .append(page)
            .sql(") ORDER BY id DESC");
        page = of_ids;
    }
    let rows = Select::new(columns, page)
        .may_scan(offset > 0 || !selection.is_all())
        .load(session.flushed_conn().await?)
        .await?;
    Ok(Page::of(rows, request, total, id))
}

/// Returns the number of records that pass, which is counted once for all requests until the next write of such a record.
async fn total(session: &mut Session<impl Mode>, selection: &Selection) -> StoreResult<i64> {
    // First: a write during the count makes the total outdated, and never the reverse.
    let epoch = session.epoch();
    let (records, writes) = counter(session, selection).await?;
    if selection.is_all() {
        return Ok(records);
    }
    let writes = Writes { epoch, writes };
    let mut count: Sql<BigInt> = Sql::new("SELECT count(*)");
    count.append(selection.passing());
    let key = count.key();
    let totals = session.totals().filter(|_| selection.keeps_total);
    if let Some(total) = totals
        .as_ref()
        .and_then(|totals| totals.get(selection.business, &key, writes))
    {
        return Ok(total);
    }
    let total = count.may_scan(true).get_result(session.flushed_conn().await?).await?;
    if let Some(totals) = totals {
        totals.put(selection.business, key, writes, total);
    }
    Ok(total)
}

/// Returns the number of the business's records of the kind, and the number of their writes.
async fn counter(session: &mut Session<impl Mode>, selection: &Selection) -> StoreResult<(i64, i64)> {
    let row = counters::table
        .find((selection.business.get(), selection.kind.rows))
        .select((counters::records, counters::writes));
    let row: Option<(i64, i64)> = row.get_optional(session.flushed_conn().await?).await?;
    Ok(row.unwrap_or_default())
}
