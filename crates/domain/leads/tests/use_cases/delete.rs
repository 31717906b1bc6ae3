//! `DELETE /2.0/leads/{id}`

use forecourt_kernel::{EventName, LeadId, NewEvent};
use forecourt_leads::{LeadChanges, LeadError};

use crate::support::{Fixture, at};

#[tokio::test]
async fn a_deletion_reports_the_id_and_nothing_else() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    fixture.set_clock(60);
    fixture.delete(lead.id).await.unwrap();
    assert_eq!(fixture.store.leads.all().count(), 0);
    let event = NewEvent {
        name: EventName::LeadDeleted,
        record: lead.id.get(),
        data: format!(r#"{{"id":{}}}"#, lead.id),
        at: at(60),
    };
    assert_eq!(fixture.store.events, [(fixture.caller.business_id(), event)]);
    assert!(
        matches!(fixture.delete(lead.id).await, Err(LeadError::NotFound(_))),
        "it is gone"
    );
}

#[tokio::test]
async fn a_missing_or_foreign_lead_is_not_found() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    assert!(matches!(
        fixture.delete(LeadId::new(404)).await,
        Err(LeadError::NotFound(_))
    ));
    let ours = fixture.caller.clone();
    fixture.change_business();
    assert!(matches!(fixture.delete(lead.id).await, Err(LeadError::NotFound(_))));
    fixture.caller = ours;
    fixture.assert_untouched(&lead);
}
