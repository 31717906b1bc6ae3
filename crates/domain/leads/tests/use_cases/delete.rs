//! `DELETE /2.0/leads/{id}`

use forecourt_kernel::{EventName, LeadId, NewEvent};
use forecourt_leads::{LeadError, UpdateLead};

use crate::support::{Desk, at};

#[tokio::test]
async fn a_deletion_tells_the_id_and_nothing_else() {
    let (mut desk, lead) = Desk::with_lead(UpdateLead::default()).await;
    desk.set_clock(60);
    desk.delete(lead.id).await.unwrap();
    assert!(desk.store.leads.is_empty());
    let event = NewEvent {
        name: EventName::LeadDeleted,
        record: lead.id.get(),
        data: format!(r#"{{"id":{}}}"#, lead.id),
        at: at(60),
    };
    assert_eq!(desk.store.events, [(desk.caller.business_id(), event)]);
    assert!(
        matches!(desk.delete(lead.id).await, Err(LeadError::NotFound(_))),
        "it is gone"
    );
}

#[tokio::test]
async fn a_lead_that_is_not_there_or_somebody_elses_is_not_found() {
    let (mut desk, lead) = Desk::with_lead(UpdateLead::default()).await;
    assert!(matches!(
        desk.delete(LeadId::new(404)).await,
        Err(LeadError::NotFound(_))
    ));
    let ours = desk.caller.clone();
    desk.change_business();
    assert!(matches!(desk.delete(lead.id).await, Err(LeadError::NotFound(_))));
    desk.caller = ours;
    desk.assert_untouched(&lead);
}
