//! The use cases on the store in memory: a contact is filed, searched for, and changes its address.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_contacts::{
    ContactChanges, DuplicateKind, DuplicateProbe, check_duplicate, create_contact, testing::MemoryStore,
    update_contact, validate_contact_change, validate_new_contact,
};
use forecourt_kernel::{BusinessId, Clock as _, Country, ScopeSet, Timestamp, Valid, testing::FixedClock};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
    let (mut store, clock) = (
        MemoryStore::default(),
        FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600)),
    );

    let new: ContactChanges = serde_json::from_value(json!({
        "name": "Ann O'Neill",
        "address": {"line1": "Flat 1, 2 High Street", "zip": "LS1 4AB"},
    }))?;
    let rules = Rules {
        business: &by.business,
        now: clock.now(),
    };
    let new = Valid::new(new, |new| validate_new_contact(new, &rules))?;
    let ann = create_contact(&mut store, &clock, &by, new).await?;

    let probe = DuplicateProbe::text(DuplicateKind::Name, "ann oneill", Country::GB)?;
    let answer = check_duplicate(&mut store, &by, &probe).await?;
    assert_eq!(
        serde_json::to_string(&answer)?,
        r#"{"type":"name","duplicate":true,"contact":1}"#
    );

    let moved: ContactChanges = serde_json::from_value(json!({"address": {"line1": "3 Low Street"}}))?;
    let moved = Valid::new(moved, |moved| validate_contact_change(moved, &rules))?;
    let ann = update_contact(&mut store, &clock, &by, ann.id, moved).await?;
    assert_eq!(ann.content.address.zip, "LS1 4AB", "the address is merged");

    let events: Vec<_> = store.events.iter().map(|(_, event)| event.name.as_str()).collect();
    assert_eq!(events, ["contact.created", "contact.updated"]);
    Ok(())
}
