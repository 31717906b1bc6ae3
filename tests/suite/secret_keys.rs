//! The change of the secret key, and the way on without a lost one.

use std::fs;
use std::time::Duration;

use harness::{Engine, Receiver, Shop, both_engines, wait_for};
use serde_json::{Value, json};

both_engines! {
    a_key_is_replaced_while_servers_run
    a_lost_key_is_forgotten_with_what_only_it_could_read
}

const TIMEOUT: Duration = Duration::from_secs(60);
const KEY: &str = "FORECOURT_SECRET_KEY";
const PREVIOUS: &str = "FORECOURT_SECRET_KEY_PREVIOUS";
const OLD: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const NEW: &str = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

async fn shop(engine: Engine) -> Shop {
    Shop::open_with(engine, |serve| serve.webhooks_disabled_after(10)).await
}

/// Creates a webhook for leads; returns its path and its secret.
async fn webhook(shop: &Shop, receiver: &Receiver, path: &str) -> (String, String) {
    let body = json!({"url": receiver.url(path), "events": ["lead.created"]});
    let created = shop.api.post("/2.0/webhooks", &body).await.created();
    let secret = created["secret"].as_str().unwrap().to_owned();
    (format!("/2.0/webhooks/{}", created["id"]), secret)
}

/// Creates a lead with an idempotency key, or gets the stored answer.
async fn keyed_lead(shop: &Shop) -> (Value, bool) {
    let request = shop.api.request("POST", "/2.0/leads").key("once");
    let answer = request.json(&json!({"name": "Ann"})).send().await;
    let is_replay = answer.header("X-Idempotent-Replay").is_some();
    (answer.created(), is_replay)
}

async fn a_key_is_replaced_while_servers_run(engine: Engine) {
    let receiver = Receiver::start();
    let mut shop = Shop::open_with(engine, |serve| serve.webhooks_disabled_after(10).env(PREVIOUS, OLD)).await;
    let (_, first) = webhook(&shop, &receiver, "/first").await;
    let (lead, _) = keyed_lead(&shop).await;
    let rotate = async |shop: &Shop| {
        let keys = [(KEY, NEW), (PREVIOUS, OLD)];
        shop.installation()
            .run_with(["secret-key", "rotate", "--json"], &keys)
            .await
    };
    rotate(&shop).await.failed_naming("run without the new secret key");
    let alone = shop.installation().run(["secret-key", "rotate"]).await;
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
    // One that is killed would count as running for half a minute more.
    shop.server.terminate().await;
    shop.server.restart_with(KEY, NEW).await;
    // Until the change begins, servers with the old key alone can read what this one writes.
    let (_, second) = webhook(&shop, &receiver, "/second").await;
    let rotated = rotate(&shop).await.json();
    assert_eq!(rotated["webhooks"], 2, "{rotated}");
    assert_eq!(rotated["answers"], 1, "{rotated}");
    assert_eq!(rotated["unreadable"], 0, "{rotated}");
    let again = rotate(&shop).await.json();
    assert_eq!(again["webhooks"], 0, "it is done: {again}");
    let (_, third) = webhook(&shop, &receiver, "/third").await;

    for previous in [OLD, ""] {
        shop.server.restart_with(PREVIOUS, previous).await;
        assert_eq!(keyed_lead(&shop).await, (lead.clone(), true));
        receiver.forget();
        shop.lead(&json!({"name": "Bea"})).await;
        for (path, secret) in [("/first", &first), ("/second", &second), ("/third", &third)] {
            wait_for("the webhook is delivered", TIMEOUT, async || {
                receiver.received_at(path).len() == 1
            })
            .await;
            assert!(receiver.received_at(path)[0].is_signed(secret), "{path}");
        }
    }
    shop.server.terminate().await;
    let refused = shop.installation().serve().env(KEY, OLD).refused().await;
    refused.failed_naming("FORECOURT_SECRET_KEY");
}

async fn a_lost_key_is_forgotten_with_what_only_it_could_read(engine: Engine) {
    let receiver = Receiver::start();
    let mut shop = shop(engine).await;
    let (path, _) = webhook(&shop, &receiver, "/hook").await;
    let (lead, _) = keyed_lead(&shop).await;
    let forget = async |shop: &Shop, words: &[&str], key: &str| {
        let words = ["secret-key", "forget"].iter().chain(words).copied();
        shop.installation().run_with(words, &[(KEY, key)]).await
    };
    forget(&shop, &["--yes"], OLD).await.failed_naming("nothing is lost");
    forget(&shop, &["--yes"], NEW).await.failed_naming("servers run");
    shop.server.terminate().await;
    let unconfirmed = forget(&shop, &[], NEW).await;
    assert_eq!(unconfirmed.status.code(), Some(2), "{unconfirmed:?}");
    assert!(
        unconfirmed.stdout.contains("is lost"),
        "it says what first: {unconfirmed:?}"
    );
    let lost = forget(&shop, &["--yes", "--json"], NEW).await.json();
    assert_eq!(lost["answers"], 1, "{lost}");
    assert_eq!(lost["webhooks"].as_array().unwrap().len(), 1, "{lost}");
    assert_eq!(lost["webhooks"][0]["business"], "acme");
    shop.installation()
        .serve()
        .refused()
        .await
        .failed_naming("FORECOURT_SECRET_KEY");

    shop.server.restart_with(KEY, NEW).await;
    assert_eq!(shop.api.get(&path).await.ok()["status"], "disabled");
    let (other, is_replay) = keyed_lead(&shop).await;
    assert!(!is_replay && other["id"] != lead["id"]);
    let rotated = shop.api.post(&format!("{path}/secret/rotate"), &json!({})).await.ok();
    shop.api.patch(&path, &json!({"status": "active"})).await.ok();
    receiver.forget();
    shop.lead(&json!({"name": "Cora"})).await;
    let is_signed = async || {
        let received = receiver.received_at("/hook");
        received
            .last()
            .is_some_and(|last| last.is_signed(rotated["secret"].as_str().unwrap()))
    };
    wait_for("the webhook is delivered", TIMEOUT, is_signed).await;
}

#[tokio::test]
async fn a_key_in_the_data_folder_is_replaced_by_a_new_one() {
    let mut shop = shop(Engine::Sqlite).await;
    let installation = shop.installation().clone();
    shop.server.terminate().await;
    // The key of the tests, as a server would have made it.
    let file = installation.data_dir().join("secret.key");
    fs::write(&file, OLD).unwrap();
    installation.configure(KEY, None);
    let mut server = installation.serve().start().await;
    let token = installation.apply(&harness::acme()).await;
    drop(token);
    let refused = installation.run(["secret-key", "rotate"]).await;
    refused.failed_naming("restart them with both keys");
    let previous = installation.data_dir().join("secret.key.previous");
    assert!(previous.exists());
    server.terminate().await;
    installation.run(["secret-key", "rotate"]).await.succeeded();
    assert!(!previous.exists());
    assert_ne!(fs::read_to_string(&file).unwrap().trim(), OLD);
    drop(installation.serve().start().await);
}
