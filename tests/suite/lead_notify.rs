//! `notify`: the business is notified of a new lead by mail.

use std::time::Duration;

use harness::{Engine, Installation, PostOffice, Shop, both_engines, wait_for};
use serde_json::json;

both_engines! {
    the_business_gets_one_mail_for_each_lead
    no_mail_is_sent_unless_wanted
    a_business_without_an_address_gets_none
    mails_that_were_not_sent_before_a_crash_are_sent_after_it
    mails_go_to_the_mail_server_that_is_named
    no_value_adds_lines_to_a_mail
}

/// The maximum time for a mail, even one that a server held when it died.
const POST: Duration = Duration::from_secs(100);

async fn mails_arrive(installation: &Installation, count: usize) {
    let what = format!("{count} mails arrive");
    wait_for(&what, POST, async || installation.mails().len() >= count).await;
}

async fn the_business_gets_one_mail_for_each_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "Ann Lee"})).await;
    shop.lead(&json!({"name": "Bea Moss", "notify": true})).await;
    mails_arrive(shop.installation(), 2).await;
    let mails = shop.installation().mails();
    assert_eq!(mails.len(), 2);
    for mail in &mails {
        let to = mail
            .lines()
            .find(|line| line.to_lowercase().starts_with("to:"))
            .unwrap_or_default();
        assert!(to.contains("office@acme.example"), "{mail}");
    }
    for name in ["Ann Lee", "Bea Moss"] {
        assert_eq!(mails.iter().filter(|mail| mail.contains(name)).count(), 1, "{name}");
    }
}

async fn no_mail_is_sent_unless_wanted(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "Quiet", "notify": false})).await;
    shop.api
        .post("/2.0/leads", &json!({"name": "Wrong", "site": 99}))
        .await
        .invalid(&["site"]);
    let request = || {
        shop.api
            .request("POST", "/2.0/leads")
            .key("once")
            .json(&json!({"name": "Loud"}))
    };
    for _ in 0..3 {
        request().send().await.created();
    }
    shop.lead(&json!({"name": "Last"})).await;
    mails_arrive(shop.installation(), 2).await;
    let mails = shop.installation().mails().join("\n");
    assert!(!mails.contains("Quiet") && !mails.contains("Wrong"), "{mails}");
    assert_eq!(shop.installation().mails().len(), 2, "a replay sends no second mail");
}

async fn a_business_without_an_address_gets_none(engine: Engine) {
    let shop = Shop::open(engine).await;
    let silent = shop
        .installation()
        .business(&json!({"tag": "silent", "name": "Silent"}))
        .await;
    let client = shop.server.client(&silent.key("leads:write").await.token);
    client.post("/2.0/leads", &json!({"name": "Ann"})).await.created();
    shop.lead(&json!({"name": "Bea"})).await;
    mails_arrive(shop.installation(), 1).await;
    assert_eq!(shop.installation().mails().len(), 1);
}

async fn mails_that_were_not_sent_before_a_crash_are_sent_after_it(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let names: Vec<String> = (0..5).map(|number| format!("Lead {number}")).collect();
    for name in &names {
        shop.lead(&json!({"name": name})).await;
    }
    shop.server.kill9().await;
    shop.server.restart().await;
    // A mail that was being sent when the server died may come twice.
    wait_for("every mail arrives", POST, async || {
        let mails = shop.installation().mails();
        names.iter().all(|name| mails.iter().any(|mail| mail.contains(name)))
    })
    .await;
}

async fn mails_go_to_the_mail_server_that_is_named(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    shop.lead(&json!({"name": "Ann Lee"})).await;
    wait_for("the mail arrives", POST, async || !office.letters().is_empty()).await;
    let letters = office.letters();
    assert_eq!(letters.len(), 1);
    assert!(letters[0].to.concat().contains("office@acme.example"), "{letters:?}");
    assert!(letters[0].content.contains("Ann Lee"), "{letters:?}");
    assert!(shop.installation().mails().is_empty());
}

async fn no_value_adds_lines_to_a_mail(engine: Engine) {
    let shop = Shop::open(engine).await;
    let subject = "Golf\u{2028}Phone: 0900 1\u{85}Email: thief@example.com";
    let data = json!({"subject": subject, "message": "Is it there?\nAnn"});
    shop.lead(&json!({"name": "Ann Lee", "data": data})).await;
    mails_arrive(shop.installation(), 1).await;
    let mail = shop.installation().mails().concat();
    let lines: Vec<&str> = mail.lines().map(str::trim).collect();
    assert!(lines.contains(&"Ann"), "a message keeps its lines: {mail}");
    assert!(
        !lines
            .iter()
            .any(|line| line.starts_with("Phone: 0900") || line.starts_with("Email: thief")),
        "{mail}"
    );
}
