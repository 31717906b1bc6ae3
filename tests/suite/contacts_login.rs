//! The login of a contact: passwords, and the mail that contains them.

use std::time::Duration;

use harness::{Answer, Client, Engine, PostOffice, Server, Shop, both_engines, wait_for};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::contacts_record::path;

both_engines! {
    a_password_is_reset_for_contacts_with_a_login
    login_details_are_mailed
    login_details_go_to_the_mail_server
    a_mail_that_cannot_be_sent_is_reported
    two_servers_mail_login_details_once
    two_servers_mail_one_contact_one_after_the_other
    a_disconnected_caller_leaves_no_unrecorded_mail
}

const LETTERS: &str = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

async fn a_password_is_reset_for_contacts_with_a_login(engine: Engine) {
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

async fn a_mail_that_cannot_be_sent_is_reported(engine: Engine) {
    // Nothing listens there.
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

/// A time longer than a mail takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Two servers on one database, which send their mails to a mail server that does not answer yet, and the path of a login's
/// mail.
struct TwoServers {
    office: PostOffice,
    shop: Shop,
    /// Ends when this is dropped.
    _second: Server,
    clients: [Client; 2],
    mail: String,
}

impl TwoServers {
    async fn open(engine: Engine) -> Self {
        let office = PostOffice::silent().await;
        let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
        let second = shop.installation().serve().env("FORECOURT_SMTP_URL", office.url());
        let second = second.start().await;
        let ann = json!({"name": "Ann", "email": "ann@example.com", "login": true});
        let mail = format!("{}/login/email", path(&shop, &ann).await);
        let clients = [
            shop.api.clone(),
            second.client(&shop.business.key("contact-login:write").await.token),
        ];
        Self {
            office,
            shop,
            _second: second,
            clients,
            mail,
        }
    }

    /// Sends a server the request for the mail.
    fn ask(&self, server: usize, key: &str) -> JoinHandle<Answer> {
        let request = self.clients[server].request("POST", &self.mail).key(key);
        tokio::spawn(request.send())
    }

    async fn until_letters(&self, count: usize) {
        wait_for("letters are posted", TIMEOUT, async || {
            self.office.letters().len() == count
        })
        .await;
    }
}

/// Asserts that a request waits, once it has had the time to get as far as it can.
async fn waits(asked: &JoinHandle<Answer>) {
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!asked.is_finished(), "it does not wait");
}

async fn two_servers_mail_login_details_once(engine: Engine) {
    let servers = TwoServers::open(engine).await;
    let asked = [0, 1, 0, 1].map(|server| servers.ask(server, "once"));
    servers.until_letters(1).await;
    waits(&asked[0]).await;
    waits(&asked[1]).await;
    assert_eq!(servers.office.letters().len(), 1);
    servers.office.answer();
    let (mut replays, mut answers) = (0, Vec::new());
    for answer in asked {
        let answer = answer.await.unwrap();
        answer.ok();
        replays += usize::from(answer.header("X-Idempotent-Replay").is_some());
        answers.push(answer.body);
    }
    answers.dedup();
    assert_eq!(
        (answers.len(), replays),
        (1, 3),
        "one answer is the first, and all are equal"
    );
    assert_eq!(servers.office.letters().len(), 1);
    let again = servers.ask(1, "once").await.unwrap();
    assert_eq!(again.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(servers.office.letters().len(), 1);
}

async fn two_servers_mail_one_contact_one_after_the_other(engine: Engine) {
    let servers = TwoServers::open(engine).await;
    let first = servers.ask(0, "one");
    servers.until_letters(1).await;
    let second = servers.ask(1, "other");
    waits(&second).await;
    assert_eq!(servers.office.letters().len(), 1);
    servers.office.answer();
    for asked in [first, second] {
        let answer = asked.await.unwrap();
        answer.ok();
        assert_eq!(answer.header("X-Idempotent-Replay"), None);
    }
    assert_eq!(servers.office.letters().len(), 2);
}

async fn a_disconnected_caller_leaves_no_unrecorded_mail(engine: Engine) {
    let servers = TwoServers::open(engine).await;
    let given_up = servers.ask(0, "once");
    servers.until_letters(1).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    let retries = [servers.ask(0, "once"), servers.ask(1, "once")];
    waits(&retries[0]).await;
    waits(&retries[1]).await;
    servers.office.answer();
    for retry in retries {
        let answer = retry.await.unwrap();
        answer.ok();
        assert_eq!(answer.header("X-Idempotent-Replay"), Some("true"));
    }
    assert_eq!(servers.office.letters().len(), 1);
    let contact = servers.mail.trim_end_matches("/login/email");
    let export = servers.shop.api.get(&format!("{contact}/export")).await.ok();
    assert_eq!(export["password"], true);
}

/// A retry that reads on the other server that its key is free, and then waits for the first try to end, gets that one's
/// answer.
#[tokio::test]
async fn a_retry_that_waits_for_the_first_try_mails_nothing() {
    let servers = TwoServers::open(Engine::Postgres).await;
    let first = servers.ask(0, "once");
    servers.until_letters(1).await;
    let database = servers.shop.installation();
    let (holder, connection) = tokio_postgres::connect(database.database_url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    holder
        .batch_execute("BEGIN; SELECT FROM contacts FOR UPDATE")
        .await
        .unwrap();
    let until_waiting = async |count: i32| {
        let waiting = format!(
            "SELECT count(*) = {count} FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'"
        );
        wait_for("sessions wait for the contact", TIMEOUT, async || {
            database.is_true(&waiting).await
        })
        .await;
    };
    servers.office.answer();
    until_waiting(1).await;
    let retry = servers.ask(1, "once");
    until_waiting(2).await;
    holder.batch_execute("COMMIT").await.unwrap();
    first.await.unwrap().ok();
    let retry = retry.await.unwrap();
    retry.ok();
    assert_eq!(retry.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(servers.office.letters().len(), 1);
}
