//! The dealership of these tests.

use forecourt_accounts::{Business, BusinessFile};
use forecourt_kernel::{BusinessId, Timestamp};
use serde_json::json;

/// 2026-03-01T09:30:00Z, the opening hour of the dealership.
pub(crate) const OPENING: Timestamp = Timestamp::from_epoch_seconds(1_772_357_400);

/// A business with two locations, three channels, a colour of its own, tags for two stock types, and finance.
pub(crate) fn acme() -> Business {
    let file: BusinessFile = serde_json::from_value(json!({
        "tag": "acme", "name": "Acme Cars", "website": "https://acme.example/",
        "settings": {
            "publish_limit": 2,
            "finance": {"apr": "9.9", "term": 48, "deposit_percent": "10", "option_purchase_fee": "10.00"},
        },
        "locations": [{"id": "1", "name": "Front"}, {"id": "2", "name": "Compound"}],
        "staff": [{"id": 1, "name": "Sam Hill"}],
        "tags": [
            {"resource": "vehicle", "type": "s", "name": "Ready", "colour": "#3a3", "defaulted": true},
            {"resource": "vehicle", "type": "s", "name": "Valet", "colour": "#33d"},
            {"resource": "vehicle", "type": "u", "name": "Waiting"},
            {"resource": "lead", "name": "Hot", "defaulted": true},
        ],
        "channels": [
            {"id": "website", "name": "Website", "category": "website"},
            {"id": "platform_a", "name": "Platform A", "category": "marketplace"},
            {"id": "platform_b", "name": "Platform B", "category": "marketplace"},
        ],
        "vehicle_options": {"colour": ["Nardo Grey"]},
    }))
    .unwrap();
    let business = file.apply(None, &[], OPENING).unwrap();
    Business {
        id: BusinessId::new(7),
        ..business
    }
}
