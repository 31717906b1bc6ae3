//! Invoices.

pub(super) mod people;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_invoices::{
    ContactInvoiceReader, CreditNumber, Invoice, InvoiceContent, InvoiceId, InvoiceNumber, InvoiceReader, InvoiceStore,
};
use forecourt_kernel::{BusinessId, ContactId, StoreResult, Timestamp, Version};

use super::owned::OwnedTable;
use super::session::{Reading, Writing};
use super::{Conn, Db, dialect};
use crate::error::other;
use crate::statement::{Prepare as _, RunQueryDsl};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("invoices", "id", 100)];

/// The kinds of numbers.
const INVOICE: &str = "invoice";
const CREDIT: &str = "credit";

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

diesel::table! {
    invoice_numbers (business_id, kind) {
        business_id -> BigInt,
        kind -> Text,
        latest -> BigInt,
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

async fn invoice(conn: &mut Conn, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
    let query = invoices::table.find((business.get(), id.get()));
    let row: Option<InvoiceRow> = query.select(InvoiceRow::as_select()).get_optional(conn).await?;
    row.map(Invoice::try_from).transpose()
}

async fn invoice_by_number(
    conn: &mut Conn,
    business: BusinessId,
    number: InvoiceNumber,
) -> StoreResult<Option<Invoice>> {
    let row: Option<InvoiceRow> = invoices::table
        .filter(invoices::business_id.eq(business.get()))
        .filter(invoices::number.eq(number.get()))
        .select(InvoiceRow::as_select())
        .get_optional(conn)
        .await?;
    row.map(Invoice::try_from).transpose()
}

/// Takes the next number of that kind. Its row stays locked until the transaction ends.
async fn next_number(conn: &mut Conn, business: BusinessId, kind: &str) -> StoreResult<i64> {
    diesel::insert_into(invoice_numbers::table)
        .values((
            invoice_numbers::business_id.eq(business.get()),
            invoice_numbers::kind.eq(kind),
            invoice_numbers::latest.eq(1),
        ))
        .on_conflict((invoice_numbers::business_id, invoice_numbers::kind))
        .do_update()
        .set(invoice_numbers::latest.eq(invoice_numbers::latest + 1))
        .returning(invoice_numbers::latest)
        .get_result(conn)
        .await
}

macro_rules! invoice_reader {
    ($session:ty) => {
        #[async_trait]
        impl InvoiceReader for $session {
            async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
                invoice(self.conn().await?, business, id).await
            }

            async fn invoice_by_number(
                &mut self,
                business: BusinessId,
                number: InvoiceNumber,
            ) -> StoreResult<Option<Invoice>> {
                invoice_by_number(self.conn().await?, business, number).await
            }
        }
    };
}

invoice_reader!(Reading);
invoice_reader!(Writing);

/// The number of a contact's invoices that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactInvoiceReader for Reading {
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
impl InvoiceStore for Writing {
    async fn lock_invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
        let query = invoices::table.find((business.get(), id.get()));
        let row: Option<InvoiceRow> = dialect::for_no_key_update!(query.select(InvoiceRow::as_select()))
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
        self.lock_counters(business).await?;
        let number = next_number(self.conn().await?, business, INVOICE).await?;
        Ok(InvoiceNumber::new(number))
    }

    async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber> {
        self.lock_counters(business).await?;
        let number = next_number(self.conn().await?, business, CREDIT).await?;
        Ok(CreditNumber::new(number))
    }
}
