//! A team that has its own storage implements four small traits; here the storage is a map.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::{BusinessFile, Caller};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, EventLog, LeadId, Mail, MailOutbox, NewEvent, Page, PageRequest, ScopeSet,
    StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_leads::{
    ContactSuggestion, DueReopening, Lead, LeadChanges, LeadDraft, LeadFilter, LeadReader, LeadStatus, LeadStore,
    LeadVehicle, SenderKeys, StatusChange, StockVehicle, VehicleChoice, VehicleClue, create_lead, set_lead_status,
};

#[derive(Default)]
struct Memory {
    leads: BTreeMap<LeadId, Lead>,
    events: Vec<NewEvent>,
    mails: Vec<Mail>,
}

#[async_trait]
impl LeadReader for Memory {
    async fn lead(&mut self, _: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        Ok(self.leads.get(&id).cloned())
    }

    async fn leads(&mut self, _: BusinessId, _: &LeadFilter, _: &PageRequest) -> StoreResult<Page<Lead>> {
        let items = self.leads.values().rev().cloned().collect();
        Ok(Page {
            items,
            next: None,
            total: None,
        })
    }

    async fn contact_exists(&mut self, _: BusinessId, _: ContactId) -> StoreResult<bool> {
        Ok(false)
    }

    async fn stock_vehicle(&mut self, _: BusinessId, _: &VehicleChoice) -> StoreResult<Option<StockVehicle>> {
        Ok(None)
    }

    async fn vehicle_with(&mut self, _: BusinessId, _: &VehicleClue) -> StoreResult<Option<VehicleId>> {
        Ok(None)
    }

    async fn lead_vehicles(
        &mut self,
        _: BusinessId,
        _: LeadId,
        _: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>> {
        Ok(None)
    }
}

#[async_trait]
impl LeadStore for Memory {
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>> {
        self.lead(business, id).await
    }

    async fn insert_lead(&mut self, _: BusinessId, content: LeadDraft, at: Timestamp) -> StoreResult<Lead> {
        let number = 1 + self.leads.keys().last().map_or(0, |last| last.get());
        let id = LeadId::new(number);
        let lead = Lead {
            id,
            reference: number,
            created: at,
            updated: at,
            version: Version::FIRST,
            content,
        };
        self.leads.insert(id, lead.clone());
        Ok(lead)
    }

    async fn save_lead(&mut self, _: BusinessId, lead: &Lead) -> StoreResult<()> {
        self.leads.insert(lead.id, lead.clone());
        Ok(())
    }

    async fn delete_lead(&mut self, _: BusinessId, id: LeadId) -> StoreResult<()> {
        self.leads.remove(&id);
        Ok(())
    }

    async fn associate_vehicle(&mut self, _: BusinessId, _: LeadId, _: VehicleId, _: Timestamp) -> StoreResult<bool> {
        Ok(false)
    }

    async fn dissociate_vehicle(&mut self, _: BusinessId, _: LeadId, _: VehicleId) -> StoreResult<bool> {
        Ok(false)
    }

    async fn contacts_like(&mut self, _: BusinessId, _: &SenderKeys) -> StoreResult<Vec<ContactSuggestion>> {
        Ok(Vec::new())
    }

    async fn request_assessment(&mut self, _: BusinessId, _: LeadId, _: Timestamp) -> StoreResult<()> {
        // Nothing here reads conversations.
        Ok(())
    }

    async fn due_reopenings(&mut self, _: Timestamp, _: u32) -> StoreResult<Vec<DueReopening>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl EventLog for Memory {
    async fn record(&mut self, _: BusinessId, event: NewEvent) -> StoreResult<()> {
        self.events.push(event);
        Ok(())
    }
}

#[async_trait]
impl MailOutbox for Memory {
    async fn queue_mail(&mut self, _: BusinessId, mail: Mail, _: Timestamp) -> StoreResult<()> {
        self.mails.push(mail);
        Ok(())
    }
}

/// The time is a port too, so that a test can be at any hour.
struct NewYear;

impl Clock for NewYear {
    fn now(&self) -> Timestamp {
        Timestamp::from_epoch_seconds(1_767_225_600)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let acme: BusinessFile =
        serde_json::from_str(r#"{"tag": "acme", "name": "Acme Cars", "email": "office@acme.example"}"#)?;
    let by = Caller {
        key: "fck_0123456789abcdef".parse()?,
        scopes: ScopeSet::all(),
        business: acme.apply(None, NewYear.now())?.into(),
    };
    let mut store = Memory::default();

    let enquiry: LeadChanges = serde_json::from_str(r#"{"name": "Ann Lee", "email": "ann@example.com"}"#)?;
    let lead = create_lead(&mut store, &NewYear, &by, enquiry).await?;
    assert_eq!(store.mails[0].subject, "New lead from Ann Lee");

    let close = StatusChange {
        closed: Some(true),
        ..StatusChange::default()
    };
    let lead = set_lead_status(&mut store, &NewYear, &by, lead.id, close.validate()?).await?;
    assert_eq!(lead.content.status, LeadStatus::Closed);

    let events: Vec<_> = store.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["lead.created", "lead.updated"]);
    Ok(())
}
