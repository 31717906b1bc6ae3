//! `POST /2.0/contacts/{id}/login/password/reset` and `POST /2.0/contacts/{id}/login/email`

use forecourt_contacts::{
    ContactError, LOGIN_MAIL_LEASE_SECONDS, LoginEmailed, MockPasswordHasher, Password, PasswordHash, PasswordReset,
    make_password, reset_password,
};
use forecourt_kernel::{ContactId, Mail, Random};
use serde_json::{Value, json};

use crate::support::{Office, at, changes, login, named};

/// A source of zeros, which become sixteen twos.
struct Zeros;

impl Random for Zeros {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}

fn hash(text: &str) -> PasswordHash {
    PasswordHash::from_phc(text.into())
}

#[tokio::test]
async fn a_reset_keeps_the_hash_and_records_no_event() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    office.set_clock(60);
    let mut hasher = MockPasswordHasher::new();
    hasher
        .expect_hash()
        .withf(|password, _| password.reveal() == "2222222222222222")
        .return_once(|_, _| Ok(hash("$argon2id$1")));
    let (password, hashed) = make_password(&Zeros, &hasher).unwrap();
    let contact = reset_password(&mut office.store, &office.caller, ann.id, hashed)
        .await
        .unwrap();
    let shown = serde_json::to_value(PasswordReset::new(&contact, &password)).unwrap();
    assert_eq!(
        shown,
        json!({"id": ann.id, "login": true, "password": "2222222222222222"})
    );
    assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$argon2id$1")));
    office.assert_untouched(&ann);
}

#[tokio::test]
async fn without_a_login_there_is_no_password() {
    let (mut office, ann) = Office::with_contact(named("Ann")).await;
    let (store, by) = (&mut office.store, &office.caller);
    let outcome = reset_password(store, by, ann.id, hash("$")).await;
    assert!(matches!(outcome, Err(ContactError::LoginDisabled)));
    let missing = ContactId::new(404);
    let outcome = reset_password(store, by, missing, hash("$")).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == missing));
    let outcome = office.begin_mail(ann.id).await;
    assert!(matches!(outcome, Err(ContactError::LoginDisabled)));
    let outcome = office.begin_mail(missing).await;
    assert!(matches!(outcome, Err(ContactError::NotFound(id)) if id == missing));
    assert_eq!(office.store.contacts.mailing(), 0);
    assert_eq!(office.store.contacts.passwords(), 0);
}

#[tokio::test]
async fn a_password_that_cannot_be_hashed_is_unavailable() {
    let mut hasher = MockPasswordHasher::new();
    hasher.expect_hash().return_once(|_, _| Err("out of memory".into()));
    let outcome = make_password(&Zeros, &hasher);
    assert!(matches!(outcome, Err(ContactError::PasswordUnavailable(_))));
}

#[tokio::test]
async fn the_mail_names_the_login_and_the_answer_does_not() {
    let (mut office, ann) = Office::with_contact(login("Ann Lee", "ann@example.com")).await;
    let invitation = office.begin_mail(ann.id).await.unwrap().unwrap();
    let password = Password::draw(&Zeros).unwrap();
    let expected = Mail {
        to: "ann@example.com".into(),
        subject: "Your login at Acme Cars".into(),
        text: "Hello Ann Lee,\n\nAcme Cars has set up your login at https://acme.example.\n\n\
               Email: ann@example.com\nPassword: 2222222222222222\n\n\
               It takes the place of any password that you had before.\n"
            .into(),
        ..Mail::default()
    };
    assert_eq!(invitation.mail(&office.caller.business, &password), expected);
    assert!(
        office.store.contacts.passwords() == 0,
        "nothing is kept before the mail is out"
    );
    office.finish_mail(&invitation, hash("$argon2id$2")).await.unwrap();
    assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$argon2id$2")));
    office.assert_untouched(&ann);
    let shown = serde_json::to_value(LoginEmailed::new(&invitation)).unwrap();
    assert_eq!(
        shown,
        json!({"id": ann.id, "email": "ann@example.com", "emailed": true})
    );
}

#[tokio::test]
async fn changes_during_a_login_mail_win_over_it() {
    type Expected = fn(&ContactError) -> bool;
    let table: [(Value, Expected); 2] = [
        (json!({"email": "mallory@example.com"}), |error| {
            matches!(error, ContactError::LoginEmailFailed(_))
        }),
        (json!({"login": false}), |error| {
            matches!(error, ContactError::LoginDisabled)
        }),
    ];
    for (body, expected) in table {
        let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
        let invitation = office.begin_mail(ann.id).await.unwrap().unwrap();
        office.update(ann.id, changes(body)).await.unwrap();
        let error = office.finish_mail(&invitation, hash("$")).await.unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert_eq!(office.store.contacts.passwords(), 0);
    }
}

#[tokio::test]
async fn one_mail_at_a_time_is_under_way_to_a_contact() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    let bob = office.create(login("Bob", "bob@example.com")).await.unwrap();
    let first = office.begin_mail(ann.id).await.unwrap().unwrap();
    assert_eq!(office.begin_mail(ann.id).await.unwrap(), None);
    let to_bob = office.begin_mail(bob.id).await.unwrap().unwrap();
    office.finish_mail(&to_bob, hash("$bob")).await.unwrap();
    assert_eq!(office.begin_mail(ann.id).await.unwrap(), None);

    office.finish_mail(&first, hash("$1")).await.unwrap();
    let second = office.begin_mail(ann.id).await.unwrap().unwrap();
    office.finish_mail(&second, hash("$2")).await.unwrap();
    assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$2")));
    assert_eq!(office.store.contacts.mailing(), 0);
}

#[tokio::test]
async fn a_failed_mail_delays_no_other() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    let failed = office.begin_mail(ann.id).await.unwrap().unwrap();
    office.abandon_mail(&failed).await;
    assert_eq!(office.store.contacts.passwords(), 0);
    office.set_clock(1);
    let next = office.begin_mail(ann.id).await.unwrap().unwrap();
    // Once more, after another sender has begun. The other one's lease is not affected.
    office.abandon_mail(&failed).await;
    assert_eq!(office.begin_mail(ann.id).await.unwrap(), None);
    office.finish_mail(&next, hash("$")).await.unwrap();
    office.abandon_mail(&next).await;
    assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$")));
}

#[tokio::test]
async fn a_server_that_dies_holds_others_up_until_its_lease_is_over() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    office.begin_mail(ann.id).await.unwrap().unwrap();
    office.set_clock(LOGIN_MAIL_LEASE_SECONDS - 1);
    assert_eq!(office.begin_mail(ann.id).await.unwrap(), None);
    office.set_clock(LOGIN_MAIL_LEASE_SECONDS);
    let next = office.begin_mail(ann.id).await.unwrap().unwrap();
    assert_eq!(office.begin_mail(ann.id).await.unwrap(), None);
    office.finish_mail(&next, hash("$")).await.unwrap();
    assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$")));
}

#[tokio::test]
async fn the_password_of_a_mail_that_took_too_long_counts_unless_another_was_begun() {
    for overtaken_by_a_finished_one in [false, true] {
        let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
        let late = office.begin_mail(ann.id).await.unwrap().unwrap();
        office.set_clock(LOGIN_MAIL_LEASE_SECONDS);
        let next = office.begin_mail(ann.id).await.unwrap().unwrap();
        if overtaken_by_a_finished_one {
            office.finish_mail(&next, hash("$next")).await.unwrap();
        }
        let error = office.finish_mail(&late, hash("$late")).await.unwrap_err();
        assert!(matches!(error, ContactError::LoginEmailFailed(_)), "{error:?}");
        office.abandon_mail(&late).await;
        if !overtaken_by_a_finished_one {
            assert_eq!(office.store.contacts.passwords(), 0);
            office.finish_mail(&next, hash("$next")).await.unwrap();
        }
        assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$next")));
    }
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    let late = office.begin_mail(ann.id).await.unwrap().unwrap();
    office.set_clock(2 * LOGIN_MAIL_LEASE_SECONDS);
    office.finish_mail(&late, hash("$late")).await.unwrap();
    assert_eq!(office.store.contacts.password(ann.id), Some(&hash("$late")));
}

#[tokio::test]
async fn a_name_is_one_line_of_the_mail() {
    let (mut office, ann) =
        Office::with_contact(login("Ann\u{2028}\u{85}Password: mine\u{2028}\u{1}", "ann@example.com")).await;
    let invitation = office.begin_mail(ann.id).await.unwrap().unwrap();
    let mail = invitation.mail(&office.caller.business, &Password::draw(&Zeros).unwrap());
    assert!(
        mail.text.starts_with("Hello Ann Password: mine,\n\nAcme"),
        "{}",
        mail.text
    );
}

#[tokio::test]
async fn a_dealer_without_a_website_is_named() {
    let (mut office, ann) = Office::with_contact(login("Ann", "ann@example.com")).await;
    std::sync::Arc::make_mut(&mut office.caller.business).website.clear();
    let invitation = office.begin_mail(ann.id).await.unwrap().unwrap();
    let mail = invitation.mail(&office.caller.business, &Password::draw(&Zeros).unwrap());
    assert!(mail.text.contains("your login at Acme Cars."), "{}", mail.text);
    assert_eq!(ann.created, at(0));
}
