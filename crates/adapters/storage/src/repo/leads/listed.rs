//! The list of leads.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::{BusinessId, Page, PageRequest, StoreResult};
use forecourt_leads::{Lead, LeadFilter, LeadPreview};

use super::super::session::{Mode, Session};
use super::{Conn, list};
use crate::models::{ERASURE, LeadRow, selected_leads};
use crate::preview;
use crate::schema::{deletions, leads};
use crate::statement::{RunQueryDsl, Sql};

/// Returns a page of the leads that pass `filter`.
pub(super) async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<Lead>> {
    let found = list::find(session, &selected_leads(business, filter), request).await?;
    let total = found.total;
    let rows: Vec<LeadRow> = found
        .select(LeadRow::as_select())
        .load(session.flushed_conn().await?)
        .await?;
    Page::of(rows, request, total, |row| row.id).try_map(Lead::try_from)
}

/// Reads these leads in full.
async fn rows(conn: &mut Conn, business: BusinessId, which: Sql<Bool>) -> StoreResult<Vec<LeadRow>> {
    leads::table
        .filter(leads::business_id.eq(business.get()))
        .filter(which)
        .order(leads::id.desc())
        .select(LeadRow::as_select())
        .load(conn)
        .await
}

/// Returns the same page in the simple view.
pub(super) async fn previews(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<LeadPreview>> {
    let found = list::find(session, &selected_leads(business, filter), request).await?;
    // The few contacts that are being erased are looked up once, not for each lead.
    let being_erased = deletions::table
        .filter(deletions::business_id.eq(business.get()))
        .filter(deletions::kind.eq(ERASURE))
        .select(deletions::record);
    let contact = leads::contact;
    let unlinked = contact
        .is_not_null()
        .and(contact.assume_not_null().eq_any(being_erased));
    let total = found.total;
    let preview = found.select((leads::id, leads::preview, unlinked));
    let rows: Vec<(i64, String, bool)> = preview.load(session.flushed_conn().await?).await?;
    let rows = rows
        .into_iter()
        .map(|(id, preview, unlinked)| (id, (!unlinked).then_some(preview)))
        .collect();
    let Page { items, next, total } = Page::of(rows, request, total, |row| row.0);
    let (mut items, others) = preview::stored(items);
    if let Some(others) = others {
        let rows = self::rows(session.flushed_conn().await?, business, others).await?;
        let read = rows.into_iter().map(Lead::try_from).collect::<StoreResult<_>>()?;
        items = preview::with_read(items, read)?;
    }
    Ok(Page { items, next, total })
}
