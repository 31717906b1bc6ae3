//! Sample contacts.

use forecourt_kernel::{SiteId, StaffId};
use forecourt_reference::{Catalogue, TagChoice};

use crate::{Address, ContactDraft, ContactType, License, Marketing, Nominal};

/// A contact about whom little is known.
pub fn a_contact() -> ContactDraft {
    ContactDraft::blank(&Catalogue::default())
}

/// A contact with a value in every field that differs from the default.
pub fn a_full_contact() -> ContactDraft {
    let text = |text: &str| text.to_owned();
    let reference =
        serde_json::from_str(r#"{"id": 9, "name": "Passport", "a": [1.5, null, {"b": "é"}]}"#).expect("it is JSON");
    ContactDraft {
        site: SiteId::new(3),
        email: text("Zoë.ONeill+cars@Example.COM"),
        types: vec![ContactType::Trade, ContactType::Supplier],
        name: text("Zoë O'Neill-Ångström 李小龍"),
        company: text("O'Neill & Söhne"),
        vat: text("GB 123 4567 89"),
        address: Address {
            line1: text("Flat 1"),
            line2: text("2 High Street"),
            line3: text("Headingley"),
            city: text("Leeds"),
            state: text("West Yorkshire"),
            country: "GB".parse().ok(),
            zip: text("LS1 4AB"),
        },
        telephone: text("+441632960123"),
        mobile: text("+447700900123"),
        dob: "1980-02-29".parse().ok(),
        license: License {
            number: text("LEE99802299AN9AB"),
            code: text("x7 8y"),
            checked: "2026-02-28".parse().ok(),
            checked_by: Some(StaffId::new(1)),
        },
        ni: text("QQ 12 34 56 C"),
        marketing: Marketing::Yes,
        nominal: Nominal {
            invoice: text("4000"),
            purchase: text("5000"),
        },
        tags: vec![TagChoice {
            name: text("VIP"),
            checked: false,
        }],
        documents: vec![reference],
        login: true,
    }
}
