//! Invoices.

pub(super) mod people;

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use forecourt_billing::{BillStatus, CreditNumber, DealId, InvoiceId, InvoiceNumber, OrderId};
use forecourt_invoices::{
    ContactInvoiceReader, Invoice, InvoiceContent, InvoiceFilter, InvoiceKind, InvoiceReader, InvoiceStore, Overdue,
};
use forecourt_kernel::{
    BusinessId, ContactId, Date, Page, PageRequest, SiteId, StaffId, StoreResult, Timestamp, VehicleId, Version, fold,
};
use forecourt_stock_book::invoice_vat_lines;

use super::billing::{
    amounts, day, days, folded, former_parties, link_contacts, link_credits, link_vehicles, retained,
};
use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::{Db, contacts, list};
use crate::error::other;
use crate::schema::businesses;
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("invoice_vehicles", "vehicle, invoice", 500),
    OwnedTable::new("invoice_credits", "number", 500),
    OwnedTable::new("invoice_contacts", "contact, invoice", 500),
    OwnedTable::new("invoices", "id", 100),
];

/// The counter of invoices and their numbers, and that of the numbers of credits.
const INVOICES: &str = "invoices";
const CREDITS: &str = "credits";

const KIND: RecordKind = RecordKind {
    table: "invoices",
    rows: "invoices",
    texts: None,
};

diesel::table! {
    invoices (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        number -> Nullable<BigInt>,
        customer -> Nullable<BigInt>,
        site -> BigInt,
        status -> Text,
        kind -> Text,
        reference_folded -> Nullable<Text>,
        deal -> Nullable<BigInt>,
        order_id -> Nullable<BigInt>,
        parent -> Nullable<BigInt>,
        salesperson -> Nullable<BigInt>,
        gross -> BigInt,
        date -> BigInt,
        due_date -> BigInt,
        retained -> Nullable<BigInt>,
        document -> Text,
    }
}

diesel::table! {
    invoice_vehicles (business_id, vehicle, invoice) {
        business_id -> BigInt,
        vehicle -> BigInt,
        invoice -> BigInt,
    }
}

diesel::table! {
    invoice_credits (business_id, number) {
        business_id -> BigInt,
        number -> BigInt,
        invoice -> BigInt,
        date -> BigInt,
    }
}

diesel::table! {
    invoice_contacts (business_id, contact, invoice) {
        business_id -> BigInt,
        contact -> BigInt,
        invoice -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(invoices, businesses);

#[derive(Queryable, Selectable)]
#[diesel(table_name = invoices, check_for_backend(Db))]
pub(super) struct InvoiceRow {
    pub(super) id: i64,
    version: i64,
    created: i64,
    updated: i64,
    number: Option<i64>,
    document: String,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = invoices, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct InvoiceValues {
    version: i64,
    updated: i64,
    number: Option<i64>,
    customer: Option<i64>,
    site: i64,
    status: &'static str,
    kind: &'static str,
    reference_folded: Option<String>,
    deal: Option<i64>,
    order_id: Option<i64>,
    parent: Option<i64>,
    salesperson: Option<i64>,
    gross: i64,
    date: i64,
    due_date: i64,
    retained: Option<i64>,
    document: String,
}

impl InvoiceValues {
    fn new(invoice: &Invoice) -> StoreResult<Self> {
        let content = &invoice.content;
        let agreement = &content.agreement;
        Ok(Self {
            version: invoice.version.number(),
            updated: invoice.updated.epoch_seconds(),
            number: invoice.number.map(InvoiceNumber::get),
            customer: agreement.customer.map(ContactId::get),
            site: agreement.site.get(),
            status: content.status.name(),
            kind: content.kind.name(),
            reference_folded: folded(&agreement.reference),
            deal: agreement.deal.map(DealId::get),
            order_id: content.order.map(OrderId::get),
            parent: content.parent.map(InvoiceId::get),
            salesperson: agreement.salesperson.map(StaffId::get),
            gross: agreement.gross().minor(),
            date: day(agreement.date),
            due_date: day(content.due_date),
            retained: retained(agreement),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<InvoiceRow> for Invoice {
    type Error = forecourt_kernel::StoreError;

    fn try_from(row: InvoiceRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("invoice {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: InvoiceId::new(row.id),
            number: row.number.map(InvoiceNumber::new),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// Selects the invoices that pass `filter`.
fn selection(business: BusinessId, filter: &InvoiceFilter) -> Selection {
    let InvoiceFilter {
        site,
        status,
        kind,
        number,
        reference,
        customer,
        vehicle,
        deal,
        order,
        parent,
        salesperson,
        credit_note,
        overdue,
        gross,
        date,
        due_date,
        created,
        updated,
    } = filter;
    let mut list = Selection::all(KIND, business);
    list.is("site", site.map(SiteId::get));
    list.is("status", status.map(|status| status.0.name()));
    list.is("kind", kind.map(InvoiceKind::name));
    list.is("number", number.map(InvoiceNumber::get));
    list.is("reference_folded", reference.as_deref().map(fold));
    list.is("customer", customer.map(ContactId::get));
    list.linked("invoice_vehicles", "invoice", "vehicle", vehicle.map(VehicleId::get));
    list.is("deal", deal.map(DealId::get));
    list.is("order_id", order.map(OrderId::get));
    list.is("parent", parent.map(InvoiceId::get));
    list.is("salesperson", salesperson.map(StaffId::get));
    list.linked(
        "invoice_credits",
        "invoice",
        "number",
        credit_note.map(CreditNumber::get),
    );
    if let Some(Overdue { is_overdue, today }) = overdue {
        list.overdue(
            "status",
            BillStatus::Issued.name(),
            "due_date",
            day(*today),
            *is_overdue,
        );
    }
    list.within("gross", amounts(*gross));
    list.within("date", days(*date));
    list.within("due_date", days(*due_date));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

impl Session<Write> {
    /// Stores what lists find an invoice by beside its own columns.
    async fn link_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()> {
        let content = &invoice.content;
        // Only a draft's lines change.
        if content.status == BillStatus::Draft {
            link_vehicles!(
                self,
                business,
                invoice_vehicles,
                invoice = invoice.id.get(),
                content.agreement.vehicles()
            );
            link_contacts!(
                self,
                business,
                invoice_contacts,
                invoice = invoice.id.get(),
                content.agreement
            );
        }
        link_credits!(
            self,
            business,
            invoice_credits,
            invoice = invoice.id.get(),
            &content.credit_notes
        );
        Ok(())
    }
}

#[async_trait]
impl<M: Mode> InvoiceReader for Session<M> {
    async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
        let query = invoices::table.find((business.get(), id.get()));
        let row: Option<InvoiceRow> = query
            .select(InvoiceRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Invoice::try_from).transpose()
    }

    async fn invoices(
        &mut self,
        business: BusinessId,
        filter: &InvoiceFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Invoice>> {
        // Invoices are still linked to a contact while it is erased.
        if contacts::is_being_erased(self.conn().await?, business, filter.customer).await? {
            return Ok(Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0));
        }
        let selection = selection(business, filter);
        let page = list::page(
            self,
            &selection,
            request,
            InvoiceRow::as_select(),
            |row: &InvoiceRow| row.id,
        )
        .await?;
        page.try_map(Invoice::try_from)
    }

    async fn invoice_by_number(&mut self, business: BusinessId, number: InvoiceNumber) -> StoreResult<Option<Invoice>> {
        let row: Option<InvoiceRow> = invoices::table
            .filter(invoices::business_id.eq(business.get()))
            .filter(invoices::number.eq(number.get()))
            .select(InvoiceRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Invoice::try_from).transpose()
    }
}

/// The number of a contact's invoices that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactInvoiceReader for Session<Read> {
    async fn contact_invoices(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: InvoiceId,
    ) -> StoreResult<Vec<Invoice>> {
        let rows: Vec<InvoiceRow> = invoices::table
            .filter(invoices::business_id.eq(business.get()))
            .filter(invoices::customer.assume_not_null().eq(contact.get()))
            .filter(invoices::id.gt(after.get()))
            // Not the id alone: otherwise the planner might read all invoices in its order.
            .order((invoices::customer, invoices::id))
            .limit(OF_CONTACT_AT_ONCE)
            .select(InvoiceRow::as_select())
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(Invoice::try_from).collect()
    }
}

#[async_trait]
impl InvoiceStore for Session<Write> {
    async fn lock_invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
        let query = invoices::table.find((business.get(), id.get()));
        let row: Option<InvoiceRow> = for_no_key_update(query.select(InvoiceRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Invoice::try_from).transpose()
    }

    async fn insert_invoice(
        &mut self,
        business: BusinessId,
        content: InvoiceContent,
        at: Timestamp,
    ) -> StoreResult<Invoice> {
        let mut invoice = Invoice {
            id: InvoiceId::new(0),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        let id = diesel::insert_into(invoices::table)
            .values((
                invoices::business_id.eq(business.get()),
                invoices::created.eq(at.epoch_seconds()),
                InvoiceValues::new(&invoice)?,
            ))
            .returning(invoices::id)
            .get_result(self.conn().await?)
            .await?;
        invoice.id = InvoiceId::new(id);
        self.count_later(business, INVOICES, 1).await?;
        self.link_invoice(business, &invoice).await?;
        Ok(invoice)
    }

    async fn save_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()> {
        diesel::update(invoices::table.find((business.get(), invoice.id.get())))
            .set(InvoiceValues::new(invoice)?)
            .prepared()
            .execute(self.conn().await?)
            .await?;
        self.count_later(business, INVOICES, 0).await?;
        self.keep_vat_lines(business, invoice_vat_lines(invoice)).await?;
        self.link_invoice(business, invoice).await
    }

    async fn invoices_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, InvoiceId)>> {
        former_parties!(self, invoices, before, limit, InvoiceId)
    }

    async fn next_invoice_number(&mut self, business: BusinessId) -> StoreResult<InvoiceNumber> {
        self.next_number(business, INVOICES).await.map(InvoiceNumber::new)
    }

    async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber> {
        self.next_number(business, CREDITS).await.map(CreditNumber::new)
    }
}
