//! The quota of mails of a business in a day, the rotation among businesses, and the time for which unsent mails are kept.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use harness::{Engine, Installation, Letter, PostOffice, Serve, Shop, both_engines, now, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::contacts_record::{CONTACTS, path as contact};
use crate::listing_changes::put_on;
use crate::vehicles_record::{a_car, path as vehicle};

both_engines! {
    what_a_request_waits_for_is_refused_beyond_the_quota
    what_waits_is_sent_on_another_day
    a_quota_of_0_is_none
    servers_count_together
    a_business_with_many_mails_holds_up_no_other
    spooled_mails_are_kept_for_a_week
}

const TIMEOUT: Duration = Duration::from_secs(60);
const QUOTA: &str = "FORECOURT_MAILS_PER_BUSINESS_PER_DAY";

async fn shop(engine: Engine, quota: u32) -> Shop {
    Shop::open_with(engine, |serve| serve.env(QUOTA, quota)).await
}

/// Returns the path to the messages of a lead by email.
async fn conversation(shop: &Shop) -> String {
    let lead = json!({"name": "Ann", "email": "ann@example.com", "channel": "email", "notify": false});
    format!("/2.0/leads/{}/messages", shop.lead(&lead).await["id"])
}

fn reply() -> Value {
    json!({"direction": "out", "channel": "email", "body": "Hello"})
}

async fn wait_for_mails(installation: &Installation, number: usize) {
    wait_for("mails are sent", TIMEOUT, async || installation.mails().len() >= number).await;
}

async fn what_a_request_waits_for_is_refused_beyond_the_quota(engine: Engine) {
    let shop = shop(engine, 4).await;
    let messages = conversation(&shop).await;
    let ann = json!({"name": "Ann", "email": "ann@example.com", "login": true});
    let login = format!("{}/login/email", contact(&shop, &ann).await);
    let car = vehicle(&shop, &a_car()).await;
    put_on(&shop, &car, json!(["website"])).await;
    let drives = format!("{car}/test-drives");
    let driver = json!({"name": "Bea", "email": "bea@example.com"});
    let driver = shop.api.post(CONTACTS, &driver).await.created()["id"].take();
    shop.api.post(&drives, &json!({"contact": driver})).await.created();
    let drive = format!("{drives}/email");

    shop.api.post(&login, &json!({})).await.ok();
    shop.api.request("POST", &drive).send().await.ok();
    // A request that is refused for another reason does not count.
    let missing = shop.api.post("/2.0/contacts/999999/login/email", &json!({})).await;
    missing.refused(404, "contact_not_found");
    for _ in 0..2 {
        shop.api.post(&messages, &reply()).await.created();
    }
    let before = shop.api.list(&messages).await.items.len();
    let refused = shop
        .api
        .request("POST", &messages)
        .key("once")
        .json(&reply())
        .send()
        .await;
    refused.refused(422, "lead_send_failed");
    shop.api
        .post(&login, &json!({}))
        .await
        .refused(500, "contact_login_email_failed");
    let refused = shop.api.request("POST", &drive).send().await;
    refused.refused(502, "vehicle_drive_email_failed");
    assert_eq!(shop.api.list(&messages).await.items.len(), before, "nothing was added");
    // Messages that are not mailed are not affected.
    let called = json!({"direction": "out", "channel": "phone", "body": "Called"});
    shop.api.post(&messages, &called).await.created();
    wait_for_mails(shop.installation(), 4).await;
    assert_eq!(shop.installation().mails().len(), 4);
    let metrics = shop.server.admin().get("/metrics").await;
    assert!(
        metrics.text().contains("\nforecourt_mails_refused_total 3\n"),
        "{}",
        metrics.text()
    );

    // Another business has a quota of its own.
    let rival = shop.rival().await;
    let lead = json!({"name": "Ann", "email": "ann@example.com", "channel": "email", "notify": false});
    let lead = rival.post("/2.0/leads", &lead).await.created();
    let messages = format!("/2.0/leads/{}/messages", lead["id"]);
    rival.post(&messages, &reply()).await.created();
}

async fn what_waits_is_sent_on_another_day(engine: Engine) {
    let mut shop = shop(engine, 2).await;
    for _ in 0..5 {
        shop.lead(&json!({"name": "Ann"})).await;
    }
    let over = "has sent as many mails as it may in a day";
    wait_for("the quota is used up", TIMEOUT, async || {
        shop.server.log().contains(over)
    })
    .await;
    // A later one waits as well, while another business's is sent.
    shop.lead(&json!({"name": "Bea"})).await;
    shop.rival()
        .await
        .post("/2.0/leads", &json!({"name": "Cora"}))
        .await
        .created();
    wait_for("the rival's mail is sent", TIMEOUT, async || {
        shop.installation()
            .mails()
            .iter()
            .any(|mail| mail.contains("office@rival.example"))
    })
    .await;
    shop.server.restart().await;
    shop.server.until_background_rests().await;
    assert_eq!(shop.installation().mails().len(), 3);
    assert_eq!(
        shop.server.log().matches(over).count(),
        1,
        "said once: {}",
        shop.server.log()
    );
    let metrics = shop.server.admin().get("/metrics").await;
    assert!(
        !metrics.text().contains("forecourt_mails_dropped_total 1"),
        "none is lost"
    );
}

async fn a_quota_of_0_is_none(engine: Engine) {
    let shop = shop(engine, 0).await;
    let messages = conversation(&shop).await;
    for _ in 0..5 {
        shop.api.post(&messages, &reply()).await.created();
    }
    wait_for_mails(shop.installation(), 5).await;
}

async fn servers_count_together(engine: Engine) {
    // An SQLite file can have only one server at a time.
    let mut shop = shop(engine, 3).await;
    let messages = conversation(&shop).await;
    shop.api.post(&messages, &reply()).await.created();
    let other = match engine {
        Engine::Postgres => Some(shop.installation().serve().env(QUOTA, 3).start().await),
        Engine::Sqlite => {
            shop.server.restart().await;
            None
        }
    };
    let token = shop.business.key("all").await.token;
    let through = other.as_ref().unwrap_or(&shop.server).client(&token);
    let mut replies = JoinSet::new();
    for number in 0..6 {
        let api = if number % 2 == 0 {
            shop.api.clone()
        } else {
            through.clone()
        };
        let messages = messages.clone();
        replies.spawn(async move { api.post(&messages, &reply()).await });
    }
    let replies = replies.join_all().await;
    let sent = replies.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(sent, 2, "{replies:?}");
    for refused in replies.iter().filter(|reply| reply.status != 201) {
        refused.refused(422, "lead_send_failed");
    }
}

async fn a_business_with_many_mails_holds_up_no_other(engine: Engine) {
    const MAILS: usize = 100;
    let office = PostOffice::silent().await;
    let setup = |serve: Serve| serve.env("FORECOURT_SMTP_URL", office.url());
    let shop = Shop::open_with(engine, setup).await;
    let rival = shop.rival().await;
    for _ in 0..MAILS {
        shop.lead(&json!({"name": "Ann"})).await;
    }
    rival.post("/2.0/leads", &json!({"name": "Bea"})).await.created();
    office.answer();
    wait_for("all are sent", TIMEOUT, async || office.letters().len() > MAILS).await;
    let letters = office.letters();
    let of_rival = |letter: &Letter| letter.to.iter().any(|to| to.contains("rival.example"));
    let place = letters.iter().position(of_rival).unwrap();
    assert!(place < MAILS / 2, "{place} of {} went before it", letters.len());
}

async fn spooled_mails_are_kept_for_a_week(engine: Engine) {
    let shop = Shop::open(engine).await;
    let folder = shop.installation().data_dir().join("mail");
    fs::create_dir_all(&folder).unwrap();
    for (name, days) in [("eight-days.eml", 8), ("six-days.eml", 6), ("eight-days.txt", 8)] {
        let file = File::create(folder.join(name)).unwrap();
        let seconds = u64::try_from(now() - days * 86_400).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    }
    let mut shop = shop;
    shop.server.restart().await;
    wait_for("the old mail is removed", TIMEOUT, async || {
        !folder.join("eight-days.eml").exists()
    })
    .await;
    assert!(folder.join("six-days.eml").exists() && folder.join("eight-days.txt").exists());
}
