//! The list of leads.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::{BusinessId, ContactId, Page, PageRequest, Phone, Range, SiteId, StoreResult, TextFilter};
use forecourt_leads::{Lead, LeadFilter, LeadPreview};

use super::super::selection::{RecordKind, Selection};
use super::super::session::{Mode, Session};
use super::{Conn, list};
use crate::models::{ERASURE, LeadRow, name_key};
use crate::preview;
use crate::schema::{deletions, leads};
use crate::statement::{RunQueryDsl, Sql};

const LEADS: RecordKind = RecordKind {
    table: "leads",
    rows: "leads",
    texts: Some("lead_search"),
};

/// Selects the leads that pass `filter`.
fn selection(business: BusinessId, filter: &LeadFilter) -> Selection {
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
    let mut list = Selection::all(LEADS, business);
    list.is("site", site.map(SiteId::get));
    list.is("status", status.map(|status| i64::from(status.code())));
    list.is("channel", channel.map(|channel| channel.id()));
    list.is("reference", *reference);
    if let Some(TextFilter::Exact(name)) = name {
        list.is("name_key", Some(name_key(name)));
    }
    list.text("name_folded", name.as_ref());
    list.text("email_folded", email.as_ref());
    list.is("phone", phone.as_ref().map(Phone::as_str));
    list.is("mobile", mobile.as_ref().map(Phone::as_str));
    list.is("contact", contact.map(ContactId::get));
    let rated = |least: forecourt_leads::Rating| Range {
        from: Some(i64::from(least.get())),
        to: None,
    };
    list.within("rating", rating_min.map(rated));
    if let Some(vehicle) = vehicle {
        list.linked("lead_vehicles", "lead_id", "vehicle_id", Some(vehicle.get()));
        // A vehicle that is deleted leaves its leads without a write of them.
        list.forget_total();
    }
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

/// Returns a page of the leads that pass `filter`.
pub(super) async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &LeadFilter,
    request: &PageRequest,
) -> StoreResult<Page<Lead>> {
    let selection = selection(business, filter);
    let page = list::page(session, &selection, request, LeadRow::as_select(), |row: &LeadRow| {
        row.id
    })
    .await?;
    page.try_map(Lead::try_from)
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
    // The few contacts that are being erased are looked up once, not for each lead.
    let being_erased = deletions::table
        .filter(deletions::business_id.eq(business.get()))
        .filter(deletions::kind.eq(ERASURE))
        .select(deletions::record);
    let contact = leads::contact;
    let unlinked = contact
        .is_not_null()
        .and(contact.assume_not_null().eq_any(being_erased));
    let columns = (leads::id, leads::preview, unlinked);
    let selection = selection(business, filter);
    let page = list::page(session, &selection, request, columns, |row: &(i64, String, bool)| row.0).await?;
    let Page { items, next, total } = page;
    let rows = items
        .into_iter()
        .map(|(id, preview, unlinked)| (id, (!unlinked).then_some(preview)))
        .collect();
    let (mut items, others) = preview::stored(rows);
    if let Some(others) = others {
        let rows = self::rows(session.flushed_conn().await?, business, others).await?;
        let read = rows.into_iter().map(Lead::try_from).collect::<StoreResult<_>>()?;
        items = preview::with_read(items, read)?;
    }
    Ok(Page { items, next, total })
}
