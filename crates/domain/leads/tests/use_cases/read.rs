//! `GET /2.0/leads` and `GET /2.0/leads/{id}`

use forecourt_kernel::{Cursor, LeadId, Page, PageRequest};
use forecourt_leads::{LeadChanges, LeadError, LeadFilter, LeadStatus, MockLeadStore, list_leads, read_lead};
use mockall::predicate::eq;

use crate::support::{Fixture, acme_caller};

#[tokio::test]
async fn a_business_reads_its_own_leads_alone() {
    let (mut fixture, lead) = Fixture::with_lead(LeadChanges::default()).await;
    assert_eq!(
        read_lead(&mut fixture.store, &fixture.caller, lead.id).await.unwrap(),
        lead
    );
    let missing = LeadId::new(404);
    let outcome = read_lead(&mut fixture.store, &fixture.caller, missing).await;
    assert!(matches!(outcome, Err(LeadError::NotFound(id)) if id == missing));
    fixture.change_business();
    let outcome = read_lead(&mut fixture.store, &fixture.caller, lead.id).await;
    assert!(matches!(outcome, Err(LeadError::NotFound(_))));
}

#[tokio::test]
async fn a_list_is_asked_of_the_store_as_it_was_asked_for() {
    let (_, lead) = Fixture::with_lead(LeadChanges::default()).await;
    let caller = acme_caller();
    let filter = LeadFilter {
        status: Some(LeadStatus::New),
        ..LeadFilter::default()
    };
    let page = PageRequest::first();
    let answer = Page {
        items: vec![lead.clone()],
        next: Some(Cursor::at([lead.id.get()])),
        total: Some(2),
    };
    let mut store = MockLeadStore::new();
    store
        .expect_leads()
        .with(eq(caller.business_id()), eq(filter.clone()), eq(page.clone()))
        .times(1)
        .return_once(move |_, _, _| Ok(answer));
    let listed = list_leads(&mut store, &caller, &filter, &page).await.unwrap();
    assert_eq!((listed.items, listed.total), (vec![lead], Some(2)));
}
