//! The texts of mails: a business's own, and those of its language.

use std::time::Duration;

use harness::{Client, Engine, Receiver, Shop, both_engines, wait_for};
use serde_json::{Value, json};

both_engines! {
    a_business_sends_its_own_words
    a_business_without_words_of_its_own_sends_those_of_its_language
    words_that_would_not_make_a_mail_are_refused
}

const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns a caller of another business than the shop's own, with these settings.
async fn business(shop: &Shop, settings: &Value) -> Client {
    let file = json!({"tag": "worded", "name": "Worded", "email": "office@worded.example", "settings": settings});
    let business = shop.installation().business(&file).await;
    shop.server.client(&business.key("all").await.token)
}

/// Returns the mail with this text, once it is there.
async fn mail(shop: &Shop, needle: &str) -> String {
    let found = || {
        shop.installation()
            .mails()
            .into_iter()
            .find(|mail| mail.contains(needle))
    };
    let what = format!("a mail has {needle:?}");
    wait_for(&what, TIMEOUT, async || found().is_some()).await;
    found().unwrap_or_default()
}

fn assert_has(mail: &str, lines: &[&str]) {
    for line in lines {
        assert!(mail.contains(line), "{line:?} is not in:\n{mail}");
    }
}

async fn contact_with_login(client: &Client) -> String {
    let ann = json!({"name": "Ann Lee", "email": "ann@example.com", "login": true});
    let contact = client.post("/2.0/contacts", &ann).await.created();
    format!("/2.0/contacts/{}/login/email", contact["id"])
}

async fn a_business_sends_its_own_words(engine: Engine) {
    let shop = Shop::open_with(engine, |serve| serve.webhooks_disabled_after(1)).await;
    let worded = json!({"mail_texts": {"en": {
        "contact_login": {"subject": "Welcome, {{name}}", "text": "Come in: {{email}} with {{password}}.\n"},
        "lead_received": {"subject": "Lead no {{number}}"},
        "lead_reply": {"text": "{{message}}\n-- \nYour team at {{business}}\n"},
        "webhook_disabled": {"subject": "Look at webhook {{webhook}}", "text": "{{webhook}} failed {{failures}} times\n"},
    }}});
    let client = business(&shop, &worded).await;

    let login = contact_with_login(&client).await;
    client.post(&login, &json!({})).await.ok();
    let sent = mail(&shop, "Subject: Welcome, Ann Lee").await;
    assert_has(&sent, &["Come in: ann@example.com with "]);

    let lead = json!({"name": "Bea Moss", "email": "bea@example.com", "channel": "email"});
    let lead = client.post("/2.0/leads", &lead).await.created();
    let sent = mail(&shop, &format!("Subject: Lead no {}\r\n", lead["reference"])).await;
    // The text is the program's, since the business only has its own subject.
    assert_has(&sent, &["Worded has a new lead, number ", "From: Bea Moss"]);

    let reply = json!({"direction": "out", "body": "It is still there."});
    let path = format!("/2.0/leads/{}/messages", lead["id"]);
    client.post(&path, &reply).await.created();
    let sent = mail(&shop, "It is still there.").await;
    assert_has(&sent, &["Subject: Your enquiry to Worded", "Your team at Worded"]);

    let receiver = Receiver::start();
    receiver.answer("/", harness::Reply::status(500));
    let hook = json!({"url": receiver.url("/"), "events": ["lead.created"]});
    let hook = client.post("/2.0/webhooks", &hook).await.created();
    let quiet = json!({"name": "Cid", "notify": false});
    client.post("/2.0/leads", &quiet).await.created();
    let sent = mail(&shop, &format!("Subject: Look at webhook {}\r\n", hook["id"])).await;
    assert_has(&sent, &["office@worded.example", " failed 1 times"]);

    // Another business has its own texts.
    shop.lead(&json!({"name": "Dan"})).await;
    mail(&shop, "Subject: New lead from Dan").await;
}

async fn a_business_without_words_of_its_own_sends_those_of_its_language(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = business(&shop, &json!({"language": "de"})).await;
    let lead = json!({"name": "Bea Moss", "email": "bea@example.com", "channel": "email"});
    let lead = client.post("/2.0/leads", &lead).await.created();
    let sent = mail(&shop, "Subject: Neue Anfrage von Bea Moss").await;
    assert_has(&sent, &["Worded hat eine neue Anfrage, Nummer "]);
    let reply = json!({"direction": "out", "body": "Er ist noch da."});
    let path = format!("/2.0/leads/{}/messages", lead["id"]);
    client.post(&path, &reply).await.created();
    assert_has(
        &mail(&shop, "Er ist noch da.").await,
        &["Subject: Ihre Anfrage an Worded"],
    );
}

async fn words_that_would_not_make_a_mail_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation();
    let file = |settings: Value| json!({"tag": "acme", "name": "Acme Cars", "settings": settings});
    let before = installation.run(["business", "list", "--json"]).await.json();
    for (settings, named) in [
        (json!({"language": "xx"}), "settings.language"),
        (
            json!({"mail_texts": {"en": {"nonsense": {"subject": "A"}}}}),
            "settings.mail_texts.en.nonsense",
        ),
        (
            json!({"mail_texts": {"en": {"contact_login": {"text": "Hello {{name}}"}}}}),
            "settings.mail_texts.en.contact_login.text must show {{email}}",
        ),
        (
            json!({"mail_texts": {"en": {"contact_login": {"subject": "Your {{password}}"}}}}),
            "settings.mail_texts.en.contact_login.subject",
        ),
        (
            json!({"mail_texts": {"en": {"lead_received": {"subject": "A\r\nBcc: eve@example.com"}}}}),
            "settings.mail_texts.en.lead_received.subject must be one line",
        ),
        (
            json!({"mail_texts": {"en": {"lead_received": {"body": "A"}}}}),
            "settings.mail_texts.en.lead_received.body",
        ),
    ] {
        installation.apply(&file(settings)).await.failed_naming(named);
    }
    assert_eq!(installation.run(["business", "list", "--json"]).await.json(), before);
}
