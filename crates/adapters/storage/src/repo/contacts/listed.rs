//! The list of contacts.

use diesel::prelude::*;
use forecourt_contacts::{Contact, ContactFilter};
use forecourt_kernel::{BusinessId, Page, PageRequest, StoreResult, View};

use super::super::session::{Mode, Session};
use super::{list, with_notes};
use crate::models::{ContactRow, selected_contacts};
use crate::statement::RunQueryDsl;

/// Returns a page of the contacts that pass `filter`.
pub(super) async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &ContactFilter,
    request: &PageRequest,
    view: View,
) -> StoreResult<Page<Contact>> {
    let found = list::find(session, &selected_contacts(business, filter), request).await?;
    let total = found.total;
    let rows: Vec<ContactRow> = found
        .select(ContactRow::as_select())
        .load(session.flushed_conn().await?)
        .await?;
    let mut page = Page::of(rows, request, total, |row| row.id).try_map(Contact::try_from)?;
    if view == View::Full {
        with_notes(session, business, &mut page).await?;
    }
    Ok(page)
}
