//! People's data in orders, and its erasure.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use forecourt_orders::{OrderId, OrderReader as _, forget_person_in_order, forget_person_in_order_event};
use serde_json::Value;

use super::super::people::{OF_ORDERS, ORDER, PersonalArea, note_linked};
use super::super::session::{Session, Write};
use super::{order_contacts, orders};
use crate::personal::{
    Erasure::{Cleared, Deleted, Derived, Redacted},
    PersonalTable, held, table,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "orders",
        &[
            // Number, days, amounts and the frozen party stay: they are financial records. Every other text is redacted.
            held("document", "orders", Redacted),
            held("customer", "orders", Cleared),
            held("reference_folded", "orders", Derived),
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
            "deal",
            "invoice",
            "salesperson",
            "date",
            "valid_until",
            "retained",
        ],
    ),
    table("order_vehicles", &[], &["business_id", "vehicle", "order_id"]),
    table(
        "order_contacts",
        &[held("contact", "orders", Deleted)],
        &["business_id", "order_id"],
    ),
];

/// The orders of a contact, or that name it as a lender or a finance provider.
pub(in super::super) struct Orders;

#[async_trait]
impl PersonalArea for Orders {
    fn kind(&self) -> i32 {
        ORDER
    }

    fn answers(&self) -> Option<i32> {
        Some(ORDER)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let ordered = orders::customer.assume_not_null().eq(by);
        note_linked!(session, business, keys, ORDER, orders, created, ordered)?;
        let named = order_contacts::table
            .filter(order_contacts::business_id.eq(business.get()))
            .filter(order_contacts::contact.eq(by));
        let ids: Vec<i64> = named
            .select(order_contacts::order_id)
            .load(session.conn().await?)
            .await?;
        for id in ids {
            // Only leads need the time of a record's creation.
            session.note_record(business, keys.contact(), ORDER, (id, 0)).await?;
        }
        diesel::delete(named).execute(session.conn().await?).await.map(drop)
    }

    fn table(&self) -> &'static str {
        "orders"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        if let Some(order) = session.order(business.id, OrderId::new(id)).await? {
            forget_person_in_order(session, now, business.id, order, person).await?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_ORDERS)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let order = shown.as_object_mut();
        order.is_some_and(|order| forget_person_in_order_event(order, person))
    }
}
