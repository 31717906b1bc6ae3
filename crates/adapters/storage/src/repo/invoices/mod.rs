//! Invoices.

pub(super) mod people;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_invoices::{
    ContactInvoiceReader, CreditNumber, Invoice, InvoiceContent, InvoiceId, InvoiceNumber, InvoiceReader, InvoiceStore,
};
use forecourt_kernel::{BusinessId, ContactId, StoreResult, Timestamp, Version};

use super::Db;
use super::owned::OwnedTable;
use super::session::{Mode, Read, Session, Write};
use crate::error::other;
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("invoices", "id", 100)];

/// The counters of the numbers of invoices and credits.
const INVOICES: &str = "invoices";
const CREDITS: &str = "credits";

diesel::table! {
    invoices (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        number -> Nullable<BigInt>,
        customer -> Nullable<BigInt>,
        document -> Text,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = invoices, check_for_backend(Db))]
struct InvoiceRow {
    id: i64,
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
    document: String,
}

impl InvoiceValues {
    fn new(invoice: &Invoice) -> StoreResult<Self> {
        Ok(Self {
            version: invoice.version.number(),
            updated: invoice.updated.epoch_seconds(),
            number: invoice.number.map(InvoiceNumber::get),
            customer: invoice.content.customer.map(ContactId::get),
            document: serde_json::to_string(&invoice.content).map_err(other)?,
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
        Ok(invoice)
    }

    async fn save_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()> {
        diesel::update(invoices::table.find((business.get(), invoice.id.get())))
            .set(InvoiceValues::new(invoice)?)
            .prepared()
            .execute(self.conn().await?)
            .await
            .map(drop)
    }

    async fn next_invoice_number(&mut self, business: BusinessId) -> StoreResult<InvoiceNumber> {
        let counter = self.counter(business, INVOICES).await?;
        counter.number += 1;
        let number = counter.number;
        Ok(InvoiceNumber::new(number))
    }

    async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber> {
        let counter = self.counter(business, CREDITS).await?;
        counter.number += 1;
        let number = counter.number;
        Ok(CreditNumber::new(number))
    }
}
