//! The login of a contact: passwords, and the mail that brings them.

use std::time::Duration;

use harness::{Engine, PostOffice, Shop, both_engines};
use serde_json::json;

use crate::contacts_record::path;

both_engines! {
    a_password_is_reset_for_who_may_log_in
    login_details_are_mailed
    login_details_go_to_the_mail_server
    a_mail_that_cannot_be_sent_is_told
}

const LETTERS: &str = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

async fn a_password_is_reset_for_who_may_log_in(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(
        &shop,
        &json!({"name": "Ann", "email": "ann@example.com", "login": true}),
    )
    .await;
    let id = shop.api.get(&contact).await.ok()["id"].take();
    let reset = format!("{contact}/login/password/reset");
    let answer = shop.api.post(&reset, &json!({})).await.ok();
    assert_eq!((&answer["id"], &answer["login"]), (&id, &json!(true)));
    let password = answer["password"].as_str().unwrap().to_owned();
    assert!(password.len() == 16 && password.chars().all(|letter| LETTERS.contains(letter)));
    let again = shop.api.post(&reset, &json!({})).await.ok();
    assert_ne!(again["password"], password);
    assert!(!shop.server.log().contains(&password));
    assert_eq!(shop.api.get(&format!("{contact}/export")).await.ok()["password"], true);
    shop.api.patch(&contact, &json!({"login": false})).await.ok();
    shop.api
        .post(&reset, &json!({}))
        .await
        .refused(409, "contact_login_disabled");
    let mail = shop.api.post(&format!("{contact}/login/email"), &json!({})).await;
    mail.refused(409, "contact_login_disabled");
    assert_eq!(shop.api.get(&format!("{contact}/export")).await.ok()["password"], false);
}

async fn login_details_are_mailed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = path(
        &shop,
        &json!({"name": "Ann Lee", "email": "ann@example.com", "login": true}),
    )
    .await;
    let id = shop.api.get(&contact).await.ok()["id"].take();
    let mail = format!("{contact}/login/email");
    let request = || shop.api.request("POST", &mail).key("once");
    let (first, second) = tokio::join!(request().send(), request().send());
    let expected = json!({"id": id, "email": "ann@example.com", "emailed": true});
    assert_eq!((first.ok(), second.ok()), (expected.clone(), expected));
    let mails = shop.installation().mails();
    assert_eq!(mails.len(), 1, "a retry sends no second mail");
    assert!(
        mails[0].contains("ann@example.com") && mails[0].contains("Ann Lee"),
        "{mails:?}"
    );
    assert_eq!(shop.api.get(&format!("{contact}/export")).await.ok()["password"], true);
}

async fn login_details_go_to_the_mail_server(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let contact = path(
        &shop,
        &json!({"name": "Ann", "email": "ann@example.com", "login": true}),
    )
    .await;
    shop.api.post(&format!("{contact}/login/email"), &json!({})).await.ok();
    let letters = office.letters();
    assert_eq!(letters.len(), 1, "it was sent before the answer");
    assert!(letters[0].to.concat().contains("ann@example.com"), "{letters:?}");
}

async fn a_mail_that_cannot_be_sent_is_told(engine: Engine) {
    // Nobody listens there.
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", "smtp://127.0.0.1:1")).await;
    let contact = path(
        &shop,
        &json!({"name": "Ann", "email": "ann@example.com", "login": true}),
    )
    .await;
    let mail = format!("{contact}/login/email");
    let patience = Duration::from_secs(40);
    let failed = tokio::time::timeout(patience, shop.api.request("POST", &mail).key("k").send()).await;
    failed.unwrap().refused(500, "contact_login_email_failed");
    assert_eq!(shop.api.get(&format!("{contact}/export")).await.ok()["password"], false);
    assert!(!shop.server.log().contains("ann@example.com"));
}
