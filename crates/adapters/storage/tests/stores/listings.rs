//! The store of listings: the contract suite of its domain, and the businesses whose listings are due.

use forecourt_kernel::VehicleId;
use forecourt_listings::Build;
use forecourt_listings::testing::listing_store_contract;

use crate::fleet::a_vehicle;
use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, at};

both_engines!(
    listings_are_kept_as_their_domain_asks,
    listings_are_made_anew_when_a_business_has_changed,
);

async fn listings_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    listing_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn listings_are_made_anew_when_a_business_has_changed(installation: Installation) {
    let mut session = installation.begin().await;
    let id = session.insert_business(&a_business("acme")).await.unwrap();
    let business = session.business(id).await.unwrap().unwrap();
    let (updated, later) = (business.updated, business.updated.plus_seconds(100));
    assert!(
        session.due_builds(at(0), 9).await.unwrap().is_empty(),
        "it has no vehicles"
    );
    session.insert_vehicle(id, a_vehicle(), at(0)).await.unwrap();
    assert_eq!(
        session.due_builds(at(0), 9).await.unwrap(),
        [id],
        "it has no listings yet"
    );
    session.lock_build(id).await.unwrap().unwrap();
    for (of, below, settled, due) in [
        (updated, Some(VehicleId::new(9)), updated, true),
        (updated, None, updated, false),
        (updated.plus_seconds(-1), None, updated.plus_seconds(-1), false),
        (updated.plus_seconds(-1), None, updated, true),
    ] {
        session.save_build(id, Build { of, below }).await.unwrap();
        let found = session.due_builds(settled, 9).await.unwrap();
        assert_eq!(!found.is_empty(), due, "{of:?} {below:?} {settled:?}");
    }
    session.save_build(id, Build { of: later, below: None }).await.unwrap();
    session.load_vehicles(id, Vec::new()).await.unwrap();
    assert!(
        session.due_builds(later, 9).await.unwrap().is_empty(),
        "nothing was loaded"
    );
    session.commit().await.unwrap();
}
