//! `PATCH /2.0/contacts/{id}`

use forecourt_contacts::{
    Address, AddressPatch, ContactDraft, ContactError, ContactFields, ContactType, License, LicensePatch, Marketing,
    Nominal, NominalPatch, PasswordHash,
};
use forecourt_kernel::{ContactId, Country, EventName, SiteId};
use serde_json::json;

use crate::{
    create::{everything, reference, tag},
    support::{Office, asking, at, faults, login, named, phone},
};

#[tokio::test]
async fn each_field_that_is_supplied_changes_and_no_other() {
    type Ask = fn(&mut ContactFields);
    type Outcome = fn(&mut ContactDraft);
    let table: &[(Ask, Outcome)] = &[
        (|ask| ask.site = Some(SiteId::new(0)), |it| it.site = SiteId::new(0)),
        (
            |ask| ask.email = Some("bob@example.com".parse().ok()),
            |it| it.email = "bob@example.com".into(),
        ),
        (
            |ask| ask.types = Some(vec![ContactType::Staff]),
            |it| it.types = vec![ContactType::Staff],
        ),
        (
            |ask| ask.types = Some(Vec::new()),
            |it| it.types = vec![ContactType::Customer],
        ),
        (|ask| ask.name = Some("Bob".into()), |it| it.name = "Bob".into()),
        (|ask| ask.company = Some(String::new()), |it| it.company.clear()),
        (|ask| ask.vat = Some("1".into()), |it| it.vat = "1".into()),
        (|ask| ask.address = Some(None), |it| it.address = Address::default()),
        (
            |ask| {
                ask.address = Some(Some(AddressPatch {
                    line2: Some(String::new()),
                    country: Some(None),
                    zip: Some("ls2 4ab".into()),
                    ..AddressPatch::default()
                }));
            },
            |it| {
                it.address.line2.clear();
                it.address.country = None;
                it.address.zip = "ls2 4ab".into();
            },
        ),
        (
            |ask| ask.telephone = Some(Some(phone("01632 960999"))),
            |it| it.telephone = "+441632960999".into(),
        ),
        (|ask| ask.telephone = Some(None), |it| it.telephone.clear()),
        (|ask| ask.mobile = Some(None), |it| it.mobile.clear()),
        (|ask| ask.dob = Some(None), |it| it.dob = None),
        (|ask| ask.license = Some(None), |it| it.license = License::default()),
        (
            |ask| {
                ask.license = Some(Some(LicensePatch {
                    code: Some("z".into()),
                    checked_by: Some(None),
                    ..LicensePatch::default()
                }));
            },
            |it| {
                it.license.code = "z".into();
                it.license.checked_by = None;
            },
        ),
        (|ask| ask.ni = Some(String::new()), |it| it.ni.clear()),
        (
            |ask| ask.marketing = Some(Marketing::No),
            |it| it.marketing = Marketing::No,
        ),
        (|ask| ask.nominal = Some(None), |it| it.nominal = Nominal::default()),
        (
            |ask| {
                ask.nominal = Some(Some(NominalPatch {
                    purchase: Some("5001".into()),
                    ..NominalPatch::default()
                }));
            },
            |it| it.nominal.purchase = "5001".into(),
        ),
        (
            |ask| ask.tags = Some(vec![tag("Good", false)]),
            |it| it.tags = vec![tag("Good", false)],
        ),
        (
            |ask| ask.documents = Some(vec![reference(&json!({"a": [1]}))]),
            |it| it.documents = vec![reference(&json!({"a": [1]}))],
        ),
        (|ask| ask.login = Some(false), |it| it.login = false),
    ];
    for (ask, outcome) in table {
        let (mut office, contact) = Office::with_contact(everything()).await;
        office.set_clock(60);
        let fields = asking(ask);
        let said = format!("{fields:?}");
        let mut expected = contact;
        expected.updated = at(60);
        expected.version = expected.version.next();
        outcome(&mut expected.content);
        assert_eq!(office.update(expected.id, fields).await.unwrap(), expected, "{said}");
        office.assert_told(EventName::ContactUpdated, &expected);
    }
}

#[tokio::test]
async fn what_changes_nothing_is_no_change() {
    for fields in [
        ContactFields::default(),
        everything(),
        asking(|ask| ask.address = Some(Some(AddressPatch::default()))),
        asking(|ask| ask.license = Some(Some(LicensePatch::default()))),
        asking(|ask| ask.nominal = Some(Some(NominalPatch::default()))),
        asking(|ask| {
            ask.address = Some(Some(AddressPatch {
                country: Some(Some(Country::GB)),
                ..AddressPatch::default()
            }));
        }),
    ] {
        let (mut office, contact) = Office::with_contact(everything()).await;
        office.set_clock(60);
        assert_eq!(office.update(contact.id, fields).await.unwrap(), contact);
        office.assert_untouched(&contact);
    }
}

#[tokio::test]
async fn a_fault_goes_before_the_absence_of_the_contact() {
    let mut office = Office::open();
    let missing = ContactId::new(404);
    let nameless = asking(|ask| ask.name = Some(String::new()));
    assert_eq!(faults(office.update(missing, nameless).await), ["name"]);
    let login = asking(|ask| {
        ask.login = Some(true);
        ask.email = Some(None);
    });
    assert_eq!(faults(office.update(missing, login).await), ["login"]);
    let enabling = asking(|ask| ask.login = Some(true));
    for fields in [everything(), enabling] {
        let outcome = office.update(missing, fields).await;
        assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == missing));
    }
}

#[tokio::test]
async fn a_login_needs_an_email() {
    let (mut office, contact) = Office::with_contact(named("Ann")).await;
    let enabling = asking(|ask| ask.login = Some(true));
    assert_eq!(faults(office.update(contact.id, enabling.clone()).await), ["login"]);
    office.assert_untouched(&contact);
    let both = login("Ann", "ann@example.com");
    let contact = office.update(contact.id, both).await.unwrap();

    office.store.saves = 0;
    office.store.events.clear();
    let clearing = asking(|ask| ask.email = Some(None));
    assert_eq!(faults(office.update(contact.id, clearing.clone()).await), ["email"]);
    office.assert_untouched(&contact);
    let disabling = ContactFields {
        login: Some(false),
        ..clearing
    };
    office.update(contact.id, disabling).await.unwrap();
}

#[tokio::test]
async fn an_email_is_a_login_once() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    let bob = office.create(login("Bob", "bob@example.com")).await.unwrap();
    let cat = ContactFields {
        login: Some(false),
        ..login("Cat", "Ann@example.com")
    };
    let cat = office.create(cat).await.unwrap();
    office.store.events.clear();
    let moving = asking(|ask| ask.email = Some("ANN@example.com".parse().ok()));
    let enabling = asking(|ask| ask.login = Some(true));
    for (id, fields) in [(bob.id, moving.clone()), (cat.id, enabling.clone())] {
        let outcome = office.update(id, fields).await;
        assert!(matches!(outcome, Err(ContactError::EmailDuplicate)), "{outcome:?}");
    }
    office.assert_untouched(&bob);
    office.assert_untouched(&cat);

    office.update(ann.id, moving).await.unwrap();
    let disabling = asking(|ask| ask.login = Some(false));
    office.update(ann.id, disabling).await.unwrap();
    office.update(cat.id, enabling).await.unwrap();
}

#[tokio::test]
async fn who_loses_the_login_loses_the_password() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    office
        .store
        .passwords
        .insert(ann.id, PasswordHash::from_phc("$argon2id$".into()));
    office.update(ann.id, named("Ann Lee")).await.unwrap();
    assert_eq!(office.store.passwords.len(), 1);
    office
        .update(ann.id, asking(|ask| ask.login = Some(false)))
        .await
        .unwrap();
    assert!(office.store.passwords.is_empty());
}

#[tokio::test]
async fn another_business_has_no_such_contact() {
    let (mut office, contact) = Office::with_contact(everything()).await;
    let ours = office.caller.clone();
    office.change_business();
    let outcome = office.update(contact.id, named("Mine")).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(_))));
    office.caller = ours;
    office.assert_untouched(&contact);
}

#[tokio::test]
async fn a_contact_has_at_most_64_kib_and_the_largest_change_is_at_fault() {
    let (mut office, contact) = Office::with_contact(named("Ann")).await;
    let documents = |bytes: usize| Some(vec![reference(&json!({"text": "x".repeat(bytes)}))]);
    let nearly = asking(|ask| ask.documents = documents(63 * 1024));
    let contact = office.update(contact.id, nearly).await.unwrap();

    let too_large = office
        .update(contact.id, asking(|ask| ask.documents = documents(64 * 1024)))
        .await;
    assert_eq!(faults(too_large), ["document"]);
    let by_a_name = asking(|ask| {
        ask.name = Some("n".repeat(2048));
        ask.company = Some("Lee".into());
    });
    assert_eq!(faults(office.update(contact.id, by_a_name).await), ["name"]);
    assert_eq!(office.stored(contact.id), contact);

    let new = asking(|ask| {
        ask.name = Some("Bob".into());
        ask.documents = documents(64 * 1024);
    });
    assert_eq!(faults(office.create(new).await), ["document"]);
}
