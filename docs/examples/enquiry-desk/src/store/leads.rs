//! The ports of leads.

use async_trait::async_trait;
use forecourt_contacts::{ContactKeys, ContactReader as _};
use forecourt_kernel::{
    BusinessId, ContactId, LeadId, Mail, MailOutbox, Page, PageRequest, StoreError, StoreResult, Timestamp, VehicleId,
    Version,
};
use forecourt_leads::{
    ContactSuggestion, DueReopening, Lead, LeadDraft, LeadFilter, LeadReader, LeadStore, LeadVehicle, SenderKeys,
    StockVehicle, VehicleChoice, VehicleClue,
};
use rusqlite::Row;

use super::{Transaction, before, content, failed, not_here, page};

const LEADS: &str = "SELECT id, version, created, updated, content, reference FROM leads WHERE business = ?1 AND id";

fn lead(row: &Row<'_>) -> rusqlite::Result<Lead> {
    Ok(Lead {
        id: LeadId::new(row.get(0)?),
        version: Version::new(row.get(1)?),
        created: Timestamp::from_epoch_seconds(row.get(2)?),
        updated: Timestamp::from_epoch_seconds(row.get(3)?),
        content: content(row)?,
        reference: row.get(5)?,
    })
}

#[async_trait]
impl LeadReader for Transaction {
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        self.one(&format!("{LEADS} = ?2"), [business.get(), id.get()], lead)
    }

    async fn leads(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Lead>> {
        let all = self.all(
            &format!("{LEADS} < ?2 ORDER BY id DESC"),
            [business.get(), before(request)],
            lead,
        )?;
        let passing = all.into_iter().filter(|lead| filter.matches(lead, |_| false));
        Ok(page(passing, request, |lead| lead.id.get()))
    }

    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        Ok(self.contact(business, id).await?.is_some())
    }

    async fn stock_vehicle(&mut self, _: BusinessId, _: &VehicleChoice) -> StoreResult<Option<StockVehicle>> {
        Ok(None)
    }

    async fn vehicle_with(&mut self, _: BusinessId, _: &VehicleClue) -> StoreResult<Option<VehicleId>> {
        Ok(None)
    }

    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        request: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>> {
        let lead = self.lead(business, lead).await?;
        Ok(lead.map(|_| {
            page(std::iter::empty(), request, |vehicle: &LeadVehicle| {
                vehicle.vehicle.id.get()
            })
        }))
    }
}

#[async_trait]
impl LeadStore for Transaction {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        // There is one transaction at a time.
        self.lead(business, id).await
    }

    async fn insert_lead(&mut self, business: BusinessId, content: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let document = serde_json::to_string(&content).map_err(failed)?;
        let sql = "INSERT INTO leads (business, reference, version, created, updated, content)
            SELECT ?1, coalesce(max(reference), 0) + 1, 1, ?2, ?2, ?3 FROM leads WHERE business = ?1
            RETURNING id, version, created, updated, content, reference";
        let stored = self.one(sql, (business.get(), at.epoch_seconds(), document), lead)?;
        stored.ok_or_else(|| StoreError::Other("nothing was inserted".into()))
    }

    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()> {
        let document = serde_json::to_string(&lead.content).map_err(failed)?;
        let values = (
            business.get(),
            lead.id.get(),
            lead.version.number(),
            lead.updated.epoch_seconds(),
            document,
        );
        self.run(
            "UPDATE leads SET version = ?3, updated = ?4, content = ?5 WHERE business = ?1 AND id = ?2",
            values,
        )
    }

    async fn delete_lead(&mut self, _: BusinessId, _: LeadId) -> StoreResult<()> {
        not_here("deletion of enquiries")
    }

    async fn associate_vehicle(&mut self, _: BusinessId, _: LeadId, _: VehicleId, _: Timestamp) -> StoreResult<bool> {
        not_here("vehicles")
    }

    async fn dissociate_vehicle(&mut self, _: BusinessId, _: LeadId, _: VehicleId) -> StoreResult<bool> {
        Ok(false)
    }

    async fn contacts_like(&mut self, business: BusinessId, keys: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>> {
        let found = self.contacts_of(business)?.into_iter().filter_map(|contact| {
            let ContactKeys {
                email,
                telephone,
                mobile,
                ..
            } = ContactKeys::new(&contact.content);
            let by = keys.found_by(&email, [&telephone, &mobile])?;
            Some(ContactSuggestion {
                contact: contact.id,
                by,
            })
        });
        Ok(found.take(2).collect())
    }

    async fn request_assessment(&mut self, _: BusinessId, _: LeadId, _: Timestamp) -> StoreResult<()> {
        // Nobody rates enquiries here.
        Ok(())
    }

    async fn due_reopenings(&mut self, _: Timestamp, _: u32) -> StoreResult<Vec<DueReopening>> {
        Ok(Vec::new())
    }
}

/// The dealership has no address for mails, so none is ever queued.
#[async_trait]
impl MailOutbox for Transaction {
    async fn queue_mail(&mut self, _: BusinessId, _: Mail, _: Timestamp) -> StoreResult<()> {
        not_here("mails")
    }

    async fn queue_awaited_mail(&mut self, _: BusinessId, _: Mail, _: Timestamp) -> StoreResult<bool> {
        Ok(false)
    }

    async fn claim_mail(&mut self, _: BusinessId, _: Timestamp) -> StoreResult<bool> {
        Ok(false)
    }
}
