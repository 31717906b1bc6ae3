//! `PATCH /2.0/leads/{id}/assign`

use forecourt_kernel::{EventName, LeadId};
use forecourt_leads::{LeadChanges, LeadError};
use serde_json::json;

use crate::support::{Fixture, at};

#[tokio::test]
async fn the_staff_are_replaced_and_cleared() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    for (seconds, assign) in [(60, &[1, 2][..]), (120, &[2]), (180, &[2, 1]), (240, &[])] {
        fixture.set_clock(seconds);
        let lead = fixture.assign(lead.id, assign).await.unwrap();
        assert_eq!(fixture.view(&lead)["assign"], json!(assign));
        assert_eq!(lead.updated, at(seconds));
        fixture.assert_recorded(EventName::LeadUpdated, &lead);
    }
}

#[tokio::test]
async fn the_same_staff_are_no_change() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    fixture.set_clock(60);
    assert_eq!(fixture.assign(lead.id, &[]).await.unwrap(), lead);
    fixture.assert_untouched(&lead);
}

#[tokio::test]
async fn a_missing_or_foreign_lead_is_not_found() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    assert!(matches!(
        fixture.assign(LeadId::new(404), &[1]).await,
        Err(LeadError::NotFound(_))
    ));
    fixture.change_business();
    assert!(matches!(
        fixture.assign(lead.id, &[1]).await,
        Err(LeadError::NotFound(_))
    ));
}
