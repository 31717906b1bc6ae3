//! The store of calls: the contract suite of its domain.

use forecourt_calls::testing::{a_full_call, call_store_contract};
use forecourt_kernel::StoreError;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, at};

both_engines!(
    calls_are_kept_as_their_domain_asks,
    a_call_that_is_reported_twice_conflicts
);

async fn calls_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    call_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn a_call_that_is_reported_twice_conflicts(installation: Installation) {
    let mut session = installation.begin().await;
    let business = session.insert_business(&a_business("acme")).await.unwrap();
    session.insert_call(business, a_full_call(), at(0)).await.unwrap();
    session.commit().await.unwrap();
    let mut session = installation.begin().await;
    let refused = session.insert_call(business, a_full_call(), at(0)).await;
    assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
}
