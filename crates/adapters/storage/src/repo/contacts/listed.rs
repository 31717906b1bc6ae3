//! The list of contacts.

use diesel::prelude::*;
use forecourt_contacts::{Contact, ContactFilter, WholeText};
use forecourt_kernel::{BusinessId, Page, PageRequest, Phone, StoreResult, View};

use super::super::selection::{RecordKind, Selection};
use super::super::session::{Mode, Session};
use super::{list, with_notes};
use crate::models::ContactRow;

const CONTACTS: RecordKind = RecordKind {
    table: "contacts",
    rows: "contacts",
    texts: Some("contact_search"),
};

/// Selects the contacts that pass `filter`. The key of a text finds the candidates, and the literal decides among them.
fn selection(business: BusinessId, filter: &ContactFilter) -> Selection {
    let ContactFilter {
        email,
        name,
        company,
        vat,
        zip,
        telephone,
        mobile,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(CONTACTS, business);
    list.text("email_folded", email.as_ref());
    list.is("name_key", name.as_ref().map(WholeText::key));
    list.is("name_literal", name.as_ref().map(WholeText::literal));
    list.is("company_key", company.as_ref().map(WholeText::key));
    list.is("company_literal", company.as_ref().map(WholeText::literal));
    list.is("vat_key", vat.as_ref().map(WholeText::key));
    list.is("vat_literal", vat.as_ref().map(WholeText::literal));
    list.is("postcode_key", zip.as_ref().map(WholeText::key));
    list.is("postcode_literal", zip.as_ref().map(WholeText::literal));
    list.is("telephone", telephone.as_ref().map(Phone::as_str));
    list.is("mobile", mobile.as_ref().map(Phone::as_str));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

/// Returns a page of the contacts that pass `filter`.
pub(super) async fn page(
    session: &mut Session<impl Mode>,
    business: BusinessId,
    filter: &ContactFilter,
    request: &PageRequest,
    view: View,
) -> StoreResult<Page<Contact>> {
    let selection = selection(business, filter);
    let columns = ContactRow::as_select();
    let page = list::page(session, &selection, request, columns, |row: &ContactRow| row.id).await?;
    let mut page = page.try_map(Contact::try_from)?;
    if view == View::Full {
        with_notes(session, business, &mut page).await?;
    }
    Ok(page)
}
