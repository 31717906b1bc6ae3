//! People's data in purchases, and its erasure.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use forecourt_purchases::{
    PurchaseId, PurchaseReader as _, forget_person_in_purchase, forget_person_in_purchase_event,
};
use forecourt_stock_book::forget_supplier;
use serde_json::Value;

use super::super::people::{OF_PURCHASES, PURCHASE, PersonalArea, VEHICLE, note_linked};
use super::super::session::{Session, Write};
use super::{purchase_vehicles, purchases};
use crate::personal::{
    Erasure::{Cleared, Derived, Redacted},
    PersonalTable, held, table,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "purchases",
        &[
            // Number, days, amounts and the frozen party stay: they are financial records. Every other text is redacted.
            held("document", "purchases", Redacted),
            held("supplier", "purchases", Cleared),
            held("supplier_key", "purchases", Derived),
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
            "job",
            "gross",
            "date",
            "due_date",
            "retained",
        ],
    ),
    table("purchase_vehicles", &[], &["business_id", "vehicle", "purchase"]),
    table("purchase_credits", &[], &["business_id", "number", "purchase", "date"]),
];

/// The purchases from a contact.
pub(in super::super) struct Purchases;

#[async_trait]
impl PersonalArea for Purchases {
    fn kind(&self) -> i32 {
        PURCHASE
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let sold = purchases::supplier.assume_not_null().eq(by);
        note_linked!(session, business, keys, PURCHASE, purchases, created, sold)?;
        // The vehicles that its lines are for show who was paid.
        let billed = purchases::table
            .filter(purchases::business_id.eq(business.get()))
            .filter(sold)
            .select(purchases::id);
        let vehicles: Vec<i64> = purchase_vehicles::table
            .filter(purchase_vehicles::business_id.eq(business.get()))
            .filter(purchase_vehicles::purchase.eq_any(billed))
            .select(purchase_vehicles::vehicle)
            .distinct()
            .load(session.conn().await?)
            .await?;
        for vehicle in vehicles {
            // Only leads need the time of a record's creation.
            session
                .note_record(business, keys.contact(), VEHICLE, (vehicle, 0))
                .await?;
        }
        Ok(())
    }

    fn table(&self) -> &'static str {
        "purchases"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        if let Some(purchase) = session.purchase(business.id, PurchaseId::new(id)).await? {
            forget_person_in_purchase(session, now, business.id, purchase, person).await?;
        }
        if let Some(purchase) = session.purchase(business.id, PurchaseId::new(id)).await? {
            forget_supplier(session, business.id, &purchase).await?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_PURCHASES)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let purchase = shown.as_object_mut();
        purchase.is_some_and(|purchase| forget_person_in_purchase_event(purchase, person))
    }
}
