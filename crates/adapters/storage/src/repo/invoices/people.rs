//! People's data in invoices, and its erasure.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_invoices::{
    InvoiceError, InvoiceId, InvoiceReader as _, forget_person_in_event, forget_person_in_invoice,
};
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::super::people::{INVOICE, OF_INVOICES, PersonalArea, note_linked};
use super::super::session::{Session, Write};
use super::{invoice_contacts, invoices};
use crate::error::other;
use crate::personal::{
    Erasure::{Cleared, Deleted, Derived, Redacted},
    PersonalTable, held, table,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "invoices",
        &[
            // Number, days and amounts stay: they are financial records. So do the parties of what was issued, until the end of its
            // retention. Every other text is redacted.
            held("document", "invoices", Redacted),
            held("customer", "invoices", Cleared),
            held("reference_folded", "invoices", Derived),
        ],
        &[
            "id",
            "business_id",
            "version",
            "created",
            "updated",
            "number",
            "site",
            "status",
            "kind",
            "deal",
            "order_id",
            "parent",
            "salesperson",
            "gross",
            "date",
            "due_date",
            "retained",
        ],
    ),
    table("invoice_vehicles", &[], &["business_id", "vehicle", "invoice"]),
    table("invoice_credits", &[], &["business_id", "number", "invoice", "date"]),
    table(
        "invoice_contacts",
        &[held("contact", "invoices", Deleted)],
        &["business_id", "invoice"],
    ),
];

/// The invoices for a contact, or that name it as a lender or a finance provider.
pub(in super::super) struct Invoices;

#[async_trait]
impl PersonalArea for Invoices {
    fn kind(&self) -> i32 {
        INVOICE
    }

    fn answers(&self) -> Option<i32> {
        Some(INVOICE)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let billed = invoices::customer.assume_not_null().eq(by);
        note_linked!(session, business, keys, INVOICE, invoices, created, billed)?;
        let named = invoice_contacts::table
            .filter(invoice_contacts::business_id.eq(business.get()))
            .filter(invoice_contacts::contact.eq(by));
        let ids: Vec<i64> = named
            .select(invoice_contacts::invoice)
            .load(session.conn().await?)
            .await?;
        for id in ids {
            // Only leads need the time of a record's creation.
            session.note_record(business, keys.contact(), INVOICE, (id, 0)).await?;
        }
        diesel::delete(named).execute(session.conn().await?).await.map(drop)
    }

    fn table(&self) -> &'static str {
        "invoices"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        if let Some(invoice) = session.invoice(business.id, InvoiceId::new(id)).await? {
            let forgotten = forget_person_in_invoice(session, now, business.id, invoice, person).await;
            forgotten.map_err(|error| match error {
                InvoiceError::Store(error) => error,
                error => other(error),
            })?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_INVOICES)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let invoice = shown.as_object_mut();
        invoice.is_some_and(|invoice| forget_person_in_event(invoice, person))
    }
}
