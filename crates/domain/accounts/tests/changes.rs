//! The time of a business's last change.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use forecourt_accounts::{Business, BusinessFile};
use forecourt_kernel::Timestamp;

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_357_400);

/// Renames the business to `name`.
fn named(stored: Option<&Business>, name: &str) -> Business {
    let file: BusinessFile = serde_json::from_value(serde_json::json!({"tag": "acme", "name": name})).unwrap();
    file.apply(stored, &[], NOW).unwrap()
}

#[test]
fn two_states_of_a_business_never_have_the_same_stamp() {
    let first = named(None, "Acme");
    assert_eq!(named(Some(&first), "Acme"), first);
    let second = named(Some(&first), "Acme Cars");
    let third = named(Some(&second), "Acme");
    let stamps = [first, second, third].map(|business| business.updated);
    assert_eq!(stamps, [NOW, NOW.plus_seconds(1), NOW.plus_seconds(2)]);
}
