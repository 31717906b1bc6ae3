//! `POST /2.0/contacts/duplicate-check`

use forecourt_contacts::{Address, DuplicateKind, DuplicateProbe, check_duplicate};
use forecourt_kernel::Country;
use serde_json::{Value, json};

use crate::{
    create::everything,
    support::{Office, changes, named},
};

async fn check(office: &mut Office, probe: &DuplicateProbe) -> Value {
    let answer = check_duplicate(&mut office.store, &office.caller, probe).await.unwrap();
    serde_json::to_value(answer).unwrap()
}

fn text(kind: DuplicateKind, value: &str) -> DuplicateProbe {
    DuplicateProbe::text(kind, value, Country::GB).unwrap()
}

fn place(address: &Address) -> DuplicateProbe {
    DuplicateProbe::address(address).unwrap()
}

#[tokio::test]
async fn every_spelling_finds_the_contact() {
    use DuplicateKind::{Company, Email, Name, Phone, Vat};
    let (mut office, ann) = Office::with_contact(everything()).await;
    for (kind, spellings) in [
        (Email, ["Ann@Example.com", "ann@example.com", " ANN@EXAMPLE.COM "]),
        (Phone, ["01632 960123", "+44 (0)1632 960-123", "00441632960123"]),
        (Phone, ["07700 900123", "+447700900123", "07700.900.123 ext. 4"]),
        (Name, ["Ann Lee", "ann  LEE", "Ann-Lee."]),
        (Company, ["Lee & Sons Ltd", "LEE & SONS, LTD.", "Lee+Sons Ltd"]),
        (Vat, ["GB 123 4567 89", "gb123456789", "GB-123.4567.89"]),
    ] {
        for spelling in spellings {
            let expected = json!({"type": kind, "duplicate": true, "contact": ann.id});
            assert_eq!(check(&mut office, &text(kind, spelling)).await, expected, "{spelling}");
        }
    }
}

#[tokio::test]
async fn a_namesake_is_not_found() {
    use DuplicateKind::{Company, Email, Name, Phone, Vat};
    let (mut office, _) = Office::with_contact(everything()).await;
    for (kind, value) in [
        (Email, "ann@example.org"),
        (Phone, "01632 960124"),
        (Name, "Ann"),
        (Name, "Lee & Sons Ltd"),
        (Company, "Lee & Sons"),
        (Vat, "GB 123 4567 8"),
    ] {
        let expected = json!({"type": kind, "duplicate": false, "contact": null});
        assert_eq!(check(&mut office, &text(kind, value)).await, expected, "{value}");
    }
    office.change_business();
    assert_eq!(check(&mut office, &text(Name, "Ann Lee")).await["duplicate"], false);
}

#[tokio::test]
async fn the_first_of_several_is_reported() {
    let (mut office, first) = Office::with_contact(named("Ann")).await;
    office.create(named("ANN")).await.unwrap();
    let answer = check(&mut office, &text(DuplicateKind::Name, "ann")).await;
    assert_eq!(answer["contact"], json!(first.id));
}

#[tokio::test]
async fn a_contact_of_whom_nothing_is_known_is_like_nobody() {
    let (mut office, _) = Office::with_contact(named("Ann")).await;
    office.create(named("?!")).await.unwrap();
    for probe in [
        text(DuplicateKind::Company, "..."),
        text(DuplicateKind::Name, "..."),
        place(&Address {
            line1: "-".into(),
            ..Address::default()
        }),
    ] {
        assert_eq!(check(&mut office, &probe).await["duplicate"], false, "{probe:?}");
    }
}

fn at_home(ask: impl FnOnce(&mut Address)) -> Address {
    let mut home = Address {
        line1: "Flat 1, 2 High Street".into(),
        city: "Leeds".into(),
        zip: "LS1 4AB".into(),
        ..Address::default()
    };
    ask(&mut home);
    home
}

#[tokio::test]
async fn an_address_is_compared_by_what_it_means() {
    let home = changes(json!({
        "name": "Ann",
        "address": at_home(|_| {}),
        "telephone": "01632 960123",
    }));
    let (mut office, ann) = Office::with_contact(home).await;
    type Ask = fn(&mut Address);
    let same: &[Ask] = &[
        |_| {},
        |ask| ask.line1 = "FLAT 1; 2, HIGH STREET.".into(),
        |ask| {
            ask.line1 = "Flat 1".into();
            ask.line2 = "2 High Street".into();
        },
        |ask| {
            ask.line1 = "Flat 1".into();
            ask.line2 = "2".into();
            ask.line3 = "HighStreet".into();
        },
        |ask| ask.zip = "ls14ab".into(),
        |ask| ask.zip = "L S1-4 a.b".into(),
        |ask| ask.city = "LEEDS ".into(),
        // A part that only one of them has does not contradict the other.
        |ask| ask.zip.clear(),
        |ask| ask.city.clear(),
        |ask| ask.state = "West Yorkshire".into(),
        |ask| ask.country = Some(Country::GB),
        |ask| ask.line1.clear(),
    ];
    for ask in same {
        let probe = place(&at_home(ask));
        let expected = json!({"type": "address", "duplicate": true, "contact": ann.id});
        assert_eq!(check(&mut office, &probe).await, expected, "{probe:?}");
    }
    let different: &[Ask] = &[
        |ask| ask.line1 = "Flat 12 High Street".into(),
        |ask| ask.line1 = "Flat 1, 3 High Street".into(),
        |ask| ask.line1 = "2 High Street".into(),
        |ask| ask.line2 = "Headingley".into(),
        |ask| ask.zip = "LS1 4AC".into(),
        |ask| ask.city = "York".into(),
        |ask| {
            ask.line1.clear();
            ask.zip = "LS1 4AC".into();
        },
        |ask| {
            ask.line1.clear();
            ask.city = "York".into();
        },
    ];
    for ask in different {
        let probe = place(&at_home(ask));
        assert_eq!(check(&mut office, &probe).await["contact"], Value::Null, "{probe:?}");
    }
    let abroad = at_home(|ask| ask.country = "IE".parse().ok());
    office
        .create(changes(json!({"name": "Bob", "address": abroad})))
        .await
        .unwrap();
    office.delete(ann.id).await.unwrap();
    let here = place(&at_home(|ask| ask.country = Some(Country::GB)));
    assert_eq!(check(&mut office, &here).await["contact"], Value::Null);
}

#[test]
fn a_probe_looks_for_something() {
    for (kind, value) in [
        (DuplicateKind::Name, ""),
        (DuplicateKind::Company, " \t"),
        (DuplicateKind::Email, "ann"),
        (DuplicateKind::Phone, "12"),
        (DuplicateKind::Address, "2 High Street"),
    ] {
        assert!(DuplicateProbe::text(kind, value, Country::GB).is_err(), "{value:?}");
    }
    let town = Address {
        city: "Leeds".into(),
        country: Some(Country::GB),
        ..Address::default()
    };
    assert!(DuplicateProbe::address(&town).is_err());
    assert!(DuplicateProbe::address(&Address::default()).is_err());
}
