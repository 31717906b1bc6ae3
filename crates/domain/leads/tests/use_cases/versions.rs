//! Versions of leads, and writes that expect one of them.

use forecourt_kernel::{EventName, LeadId, Precondition, Target, VehicleId, Version};
use forecourt_leads::{LeadChanges, LeadError, VehicleChoice};
use serde_json::json;

use crate::support::{Fixture, GOLF, at, changes};

fn named(name: &str) -> LeadChanges {
    changes(json!({"name": name}))
}

/// Targets a lead at this version only.
fn only(id: LeadId, version: i64) -> Target<LeadId> {
    Target {
        id,
        precondition: Precondition::one_of(vec![version]),
    }
}

#[tokio::test]
async fn each_change_raises_the_version_by_one() {
    let (mut fixture, lead) = Fixture::with_lead(named("Ann")).await;
    assert_eq!(lead.version, Version::FIRST);
    for (version, name) in [(2, "Bea"), (3, "Ann")] {
        fixture.set_clock(version);
        let changed = fixture.update(lead.id, named(name)).await.unwrap();
        assert_eq!((changed.version, changed.updated), (Version::new(version), at(version)));
        assert_eq!(fixture.view(&changed)["version"], json!(version));
        fixture.assert_recorded(EventName::LeadUpdated, &changed);
        assert_eq!(fixture.update(lead.id, named(name)).await.unwrap(), changed);
        assert_eq!(fixture.stored(lead.id), changed);
        assert!(fixture.store.events.is_empty(), "nothing has changed");
    }
}

#[tokio::test]
async fn a_write_that_is_meant_for_another_version_does_nothing() {
    let (mut fixture, lead) = Fixture::with_lead(named("Ann")).await;
    let refused = |outcome: Result<_, LeadError>| matches!(outcome, Err(LeadError::VersionMismatch(mismatch)) if mismatch.current == lead.version);
    assert!(refused(fixture.update(only(lead.id, 2), named("Bea")).await.map(drop)));
    assert!(refused(fixture.delete(only(lead.id, 2)).await));
    let golf = VehicleChoice::Id(GOLF);
    assert!(refused(fixture.add_vehicle(only(lead.id, 2), golf).await.map(drop)));
    fixture.assert_untouched(&lead);
    let changed = fixture.update(only(lead.id, 1), named("Bea")).await.unwrap();
    assert_eq!(changed.version, Version::new(2));
    fixture.delete(only(lead.id, 2)).await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_or_not_there_comes_first() {
    let (mut fixture, lead) = Fixture::with_lead(named("Ann")).await;
    let nowhere = changes(json!({"contact": 404}));
    let invalid = fixture.update(only(lead.id, 2), nowhere).await;
    assert!(matches!(invalid, Err(LeadError::Invalid(_))), "{invalid:?}");
    let absent = fixture.update(only(LeadId::new(404), 2), named("Bea")).await;
    assert!(matches!(absent, Err(LeadError::NotFound(_))), "{absent:?}");
    let absent = fixture.remove_vehicle(only(lead.id, 2), VehicleId::new(404)).await;
    assert!(matches!(absent, Err(LeadError::VehicleNotFound(_))), "{absent:?}");
}
