//! `PATCH /2.0/contacts/{id}`

use forecourt_contacts::{
    Address, ContactChanges, ContactDraft, ContactError, ContactStore as _, ContactType, License, Marketing, Nominal,
    PasswordHash,
};
use forecourt_kernel::{ContactId, EventName, SiteId};
use serde_json::{Value, json};

use crate::{
    create::{everything, reference, tag},
    support::{Office, at, changes, faults, login, named},
};

#[tokio::test]
async fn each_field_that_is_supplied_changes_and_no_other() {
    type Outcome = fn(&mut ContactDraft);
    let table: [(Value, Outcome); 21] = [
        (json!({"site": 0}), |it| it.site = SiteId::new(0)),
        (json!({"email": "bob@example.com"}), |it| {
            it.email = "bob@example.com".into();
        }),
        (json!({"type": "Staff"}), |it| it.types = vec![ContactType::Staff]),
        (json!({"type": []}), |it| it.types = vec![ContactType::Customer]),
        (json!({"name": "Bob"}), |it| it.name = "Bob".into()),
        (json!({"company": ""}), |it| it.company.clear()),
        (json!({"vat": "1"}), |it| it.vat = "1".into()),
        (json!({"address": null}), |it| it.address = Address::default()),
        (
            json!({"address": {"line2": "", "country": null, "zip": "ls2 4ab"}}),
            |it| {
                it.address.line2.clear();
                it.address.country = None;
                it.address.zip = "ls2 4ab".into();
            },
        ),
        (json!({"telephone": "01632 960999"}), |it| {
            it.telephone = "+441632960999".into();
        }),
        (json!({"telephone": null}), |it| it.telephone.clear()),
        (json!({"mobile": " "}), |it| it.mobile.clear()),
        (json!({"dob": null}), |it| it.dob = None),
        (json!({"license": null}), |it| it.license = License::default()),
        (json!({"license": {"code": "z", "checked_by": null}}), |it| {
            it.license.code = "z".into();
            it.license.checked_by = None;
        }),
        (json!({"ni": null, "marketing": null}), |it| {
            it.ni.clear();
            it.marketing = Marketing::No;
        }),
        (json!({"nominal": null}), |it| it.nominal = Nominal::default()),
        (json!({"nominal": {"purchase": "5001"}}), |it| {
            it.nominal.purchase = "5001".into();
        }),
        (json!({"tag": [{"name": "Good", "checked": false}]}), |it| {
            it.tags = vec![tag("Good", false)];
        }),
        (json!({"document": [{"a": [1]}]}), |it| {
            it.documents = vec![reference(&json!({"a": [1]}))];
        }),
        (json!({"login": false}), |it| it.login = false),
    ];
    for (body, outcome) in table {
        let (mut office, contact) = Office::with_contact(everything()).await;
        office.set_clock(60);
        let mut expected = contact;
        expected.updated = at(60);
        expected.version = expected.version.next();
        outcome(&mut expected.content);
        assert_eq!(
            office.update(expected.id, changes(body.clone())).await.unwrap(),
            expected,
            "{body}"
        );
        office.assert_recorded(EventName::ContactUpdated, &expected);
    }
}

#[tokio::test]
async fn what_changes_nothing_is_no_change() {
    for fields in [
        ContactChanges::default(),
        everything(),
        changes(json!({"address": {}})),
        changes(json!({"license": {}})),
        changes(json!({"nominal": {}})),
        changes(json!({"address": {"country": "GB"}})),
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
    let nameless = changes(json!({"name": ""}));
    assert_eq!(faults(office.update(missing, nameless).await), ["name"]);
    let login = changes(json!({"login": true, "email": null}));
    assert_eq!(faults(office.update(missing, login).await), ["login"]);
    let enabling = changes(json!({"login": true}));
    for fields in [everything(), enabling] {
        let outcome = office.update(missing, fields).await;
        assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == missing));
    }
}

#[tokio::test]
async fn a_login_needs_an_email() {
    let (mut office, contact) = Office::with_contact(named("Ann")).await;
    let enabling = changes(json!({"login": true}));
    assert_eq!(faults(office.update(contact.id, enabling.clone()).await), ["login"]);
    office.assert_untouched(&contact);
    let both = login("Ann", "ann@example.com");
    let contact = office.update(contact.id, both).await.unwrap();

    office.forget_outcomes();
    let clearing = changes(json!({"email": null}));
    assert_eq!(faults(office.update(contact.id, clearing.clone()).await), ["email"]);
    office.assert_untouched(&contact);
    let disabling = ContactChanges {
        login: false.into(),
        ..clearing
    };
    office.update(contact.id, disabling).await.unwrap();
}

#[tokio::test]
async fn an_email_is_a_login_once() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    let bob = office.create(login("Bob", "bob@example.com")).await.unwrap();
    let cat = ContactChanges {
        login: false.into(),
        ..login("Cat", "Ann@example.com")
    };
    let cat = office.create(cat).await.unwrap();
    office.store.events.clear();
    let moving = changes(json!({"email": "ANN@example.com"}));
    let enabling = changes(json!({"login": true}));
    for (id, fields) in [(bob.id, moving.clone()), (cat.id, enabling.clone())] {
        let outcome = office.update(id, fields).await;
        assert!(matches!(outcome, Err(ContactError::EmailDuplicate)), "{outcome:?}");
    }
    office.assert_untouched(&bob);
    office.assert_untouched(&cat);

    office.update(ann.id, moving).await.unwrap();
    let disabling = changes(json!({"login": false}));
    office.update(ann.id, disabling).await.unwrap();
    office.update(cat.id, enabling).await.unwrap();
}

#[tokio::test]
async fn without_a_login_there_is_no_password() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    let business = office.caller.business_id();
    let hash = PasswordHash::from_phc("$argon2id$".into());
    office
        .store
        .set_contact_password(business, ann.id, Some(hash))
        .await
        .unwrap();
    office.update(ann.id, named("Ann Lee")).await.unwrap();
    assert_eq!(office.store.contacts.passwords(), 1);
    office.update(ann.id, changes(json!({"login": false}))).await.unwrap();
    assert_eq!(office.store.contacts.passwords(), 0);
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
    let documents = |bytes: usize| json!([{"text": "x".repeat(bytes)}]);
    let nearly = changes(json!({"document": documents(64 * 1024 - 800)}));
    let contact = office.update(contact.id, nearly).await.unwrap();

    let too_large = office
        .update(contact.id, changes(json!({"document": documents(64 * 1024)})))
        .await;
    assert_eq!(faults(too_large), ["document"]);
    let by_a_name = changes(json!({"name": "\u{1}".repeat(255), "company": "Lee"}));
    assert_eq!(faults(office.update(contact.id, by_a_name).await), ["name"]);
    assert_eq!(office.stored(contact.id), contact);

    let new = changes(json!({"name": "Bob", "document": documents(64 * 1024)}));
    assert_eq!(faults(office.create(new).await), ["document"]);
}
