//! The use cases on the store in memory: a lead is created and closed.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_kernel::{BusinessId, Clock as _, ScopeSet, Timestamp, Valid, testing::FixedClock};
use forecourt_leads::{
    LeadChanges, LeadStatus, StatusChange, create_lead, set_lead_status, testing::MemoryStore, validate_lead,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut acme = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    acme.email = "office@acme.example".into();
    let by = Caller::of(acme, ScopeSet::all());
    let (mut store, clock) = (
        MemoryStore::default(),
        FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600)),
    );

    let enquiry: LeadChanges = serde_json::from_str(r#"{"name": "Ann Lee", "email": "ann@example.com"}"#)?;
    let rules = Rules {
        business: &by.business,
        now: clock.now(),
    };
    let enquiry = Valid::new(enquiry, |enquiry| validate_lead(enquiry, &rules))?;
    let lead = create_lead(&mut store, &clock, &by, enquiry).await?;
    assert_eq!(store.mails[0].1.subject, "New lead from Ann Lee");

    let close = StatusChange {
        closed: Some(true),
        ..StatusChange::default()
    };
    let lead = set_lead_status(&mut store, &clock, &by, lead.id, close.validate()?).await?;
    assert_eq!(lead.content.status, LeadStatus::Closed);

    let events: Vec<_> = store.events.iter().map(|(_, event)| event.name.as_str()).collect();
    assert_eq!(events, ["lead.created", "lead.updated"]);
    Ok(())
}
