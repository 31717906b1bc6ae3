//! People's data in deals, and its erasure.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_deals::{DealError, DealId, DealReader as _, forget_person_in_deal, forget_person_in_event};
use forecourt_kernel::{BusinessId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::super::people::{DEAL, OF_DEALS, PersonalArea, note_linked};
use super::super::session::{Session, Write};
use super::{deal_contacts, deals};
use crate::error::other;
use crate::personal::{
    Erasure::{Cleared, Derived, Redacted},
    PersonalTable, held, table,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "deals",
        &[
            // Stage and figures stay. The texts of the person's own deal are cleared, those of another's redacted.
            held("document", "deals", Redacted),
            held("contact", "deals", Cleared),
            held("provider", "deals", Derived),
            held("external_id", "deals", Derived),
        ],
        &[
            "id",
            "business_id",
            "version",
            "created",
            "updated",
            "reference",
            "site",
            "stage",
            "is_open",
            "source",
            "staff",
            "lead",
            "vehicle",
            "order_id",
            "invoice",
        ],
    ),
    table(
        "deal_contacts",
        &[held("contact", "deals", Cleared)],
        &["business_id", "deal"],
    ),
];

/// The deals of a contact, or that name it as a lender or a finance provider.
pub(in super::super) struct Deals;

#[async_trait]
impl PersonalArea for Deals {
    fn kind(&self) -> i32 {
        DEAL
    }

    fn answers(&self) -> Option<i32> {
        Some(DEAL)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let linked = deals::contact.assume_not_null().eq(by);
        note_linked!(session, business, keys, DEAL, deals, created, linked)?;
        let ids: Vec<i64> = deal_contacts::table
            .filter(deal_contacts::business_id.eq(business.get()))
            .filter(deal_contacts::contact.eq(by))
            .select(deal_contacts::deal)
            .load(session.conn().await?)
            .await?;
        for id in ids {
            // Only leads need the time of a record's creation.
            session.note_record(business, keys.contact(), DEAL, (id, 0)).await?;
        }
        Ok(())
    }

    fn table(&self) -> &'static str {
        "deals"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        if let Some(deal) = session.deal(business.id, DealId::new(id)).await? {
            let forgotten = forget_person_in_deal(session, now, business.id, deal, person).await;
            forgotten.map_err(|error| match error {
                DealError::Store(error) => error,
                error => other(error),
            })?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_DEALS)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let deal = shown.as_object_mut();
        deal.is_some_and(|deal| forget_person_in_event(deal, person))
    }
}
