//! Fixtures for tests.

use forecourt_accounts::{Business, BusinessFile};
use forecourt_kernel::Timestamp;
use forecourt_leads::LeadDraft;

use super::{ExistingRecords, Generator, Period};

/// Returns a business with staff, sites, tags, locations and channels.
pub(crate) fn a_business() -> Business {
    let file: BusinessFile = serde_json::from_str(
        r##"{"tag": "acme", "name": "Acme Cars", "email": "office@acme.example", "website": "https://acme.example",
            "sites": [{"id": 0, "name": "Main"}, {"id": 1, "name": "North"}],
            "staff": [{"id": 1, "name": "Sam Hill"}, {"id": 2, "name": "Jo Reed"}],
            "tags": [{"resource": "lead", "name": "Hot", "colour": "#d33"}, {"resource": "lead", "name": "Finance"},
                     {"resource": "contact", "name": "VIP"},
                     {"resource": "vehicle", "type": "s", "name": "Ready", "defaulted": true},
                     {"resource": "vehicle", "type": "u", "name": "Waiting for parts"}],
            "locations": [{"id": "1", "name": "Front"}, {"id": "2", "name": "Back"}],
            "channels": [{"id": "website", "name": "Website"}, {"id": "platform_a", "name": "Platform A"},
                         {"id": "platform_b", "name": "Platform B"}],
            "legal": {"name": "Acme Cars Ltd", "vat_number": "GB123456789", "bank": {"sort_code": "12-34-56"}},
            "settings": {"order_title": "Contract", "opening_hours": {"mon": [["09:00", "18:00"]]}},
            "products": [{"id": "warranty", "name": "Warranty", "gross": "399.00", "vat_scheme": "exempt"}],
            "calendars": [{"id": "sales", "name": "Sales", "capacity": 2, "staff": [1]}]}"##,
    )
    .unwrap();
    file.apply(None, &[], Timestamp::from_epoch_seconds(0)).unwrap()
}

/// Returns any lead.
pub(crate) fn a_lead() -> LeadDraft {
    let period = Period::days_before(Timestamp::from_epoch_seconds(1_000_000_000), 1);
    Generator::new(&a_business(), 1, period, ExistingRecords::default())
        .lead(0, 1)
        .0
        .content
}
