//! The switch that holds webhooks, mails and requests to models on all servers.

use std::time::Duration;

use harness::{Engine, Receiver, Server, Shop, both_engines, eventually, wait_for};
use serde_json::{Value, json};

use crate::contacts_record::path as contact;

both_engines! {
    while_held_nothing_leaves_and_everything_is_answered
    what_waits_is_discarded_with_its_reason
    a_server_that_starts_obeys
}

const TIMEOUT: Duration = Duration::from_secs(60);
/// The time within which every server obeys the switch, for a busy machine.
const OBEYED: Duration = Duration::from_secs(20);

pub(crate) async fn switch<const N: usize>(shop: &Shop, arguments: [&str; N]) -> Value {
    let arguments = ["outgoing"].into_iter().chain(arguments).chain(["--json"]);
    shop.installation().run(arguments).await.json()
}

pub(crate) async fn until_held(server: &Server, held: bool) {
    let line = format!("\nforecourt_outgoing_held {}\n", u8::from(held));
    wait_for("the switch is obeyed", OBEYED, async || {
        server.admin().get("/metrics").await.text().contains(&line)
    })
    .await;
}

/// Opens a shop with a webhook for leads, whose mails are files; returns the webhook's path.
async fn shop(engine: Engine, receiver: &Receiver) -> (Shop, String) {
    let shop = Shop::open_with(engine, |serve| {
        serve
            .webhooks_disabled_after(10)
            .env("FORECOURT_OPERATOR_EMAIL", "operator@host.example")
    })
    .await;
    let webhook = json!({"url": receiver.url("/hook"), "events": ["lead.created"]});
    let webhook = shop.api.post("/2.0/webhooks", &webhook).await.created();
    (shop, format!("/2.0/webhooks/{}", webhook["id"]))
}

/// Returns the statuses and errors of a webhook's deliveries, oldest first.
async fn deliveries(shop: &Shop, webhook: &str) -> Vec<(String, Value)> {
    let all = shop.api.walk(&format!("{webhook}/deliveries")).await;
    let one = |delivery: Value| {
        (
            delivery["status"].as_str().unwrap().to_owned(),
            delivery["error"].clone(),
        )
    };
    all.into_iter().rev().map(one).collect()
}

async fn while_held_nothing_leaves_and_everything_is_answered(engine: Engine) {
    let receiver = Receiver::start();
    let (shop, webhook) = shop(engine, &receiver).await;
    assert_eq!(
        switch(&shop, ["status"]).await,
        json!({"outgoing": "sending", "since": null})
    );
    let held = switch(&shop, ["hold"]).await;
    assert_eq!(held["outgoing"], "held");
    assert!(held["since"].is_i64(), "{held}");
    assert_eq!(switch(&shop, ["status"]).await, held);
    until_held(&shop.server, true).await;

    shop.api.post(&format!("{webhook}/ping"), &json!({})).await.ok();
    shop.lead(&json!({"name": "Ann"})).await;
    let login = json!({"name": "Ann", "email": "ann@example.com", "login": true});
    let login = format!("{}/login/email", contact(&shop, &login).await);
    let once = async || {
        shop.api
            .request("POST", &login)
            .key("once")
            .json(&json!({}))
            .send()
            .await
    };
    assert_eq!(
        once().await.ok(),
        once().await.ok(),
        "answered as if it were sent, and replayed"
    );
    let lead = shop
        .lead(&json!({"name": "Bea", "email": "bea@example.com", "notify": false}))
        .await;
    let reply = json!({"direction": "out", "channel": "email", "body": "Hello"});
    let reply = shop
        .api
        .post(&format!("/2.0/leads/{}/messages", lead["id"]), &reply)
        .await;
    reply.created();
    // A mail to the operator leaves all the same.
    let operator = json!({"name": "Cora", "email": "operator@host.example", "login": true});
    let operator = format!("{}/login/email", contact(&shop, &operator).await);
    shop.api.post(&operator, &json!({})).await.ok();
    let to = |address: &str| {
        let mails = shop.installation().mails();
        mails
            .iter()
            .filter(|mail| mail.contains(&format!("To: {address}")))
            .count()
    };
    wait_for("the operator's mail leaves", TIMEOUT, async || {
        to("operator@host.example") == 1
    })
    .await;
    assert_eq!(shop.installation().mails().len(), 1);
    assert!(receiver.received().is_empty());
    let waiting = deliveries(&shop, &webhook).await;
    assert_eq!(waiting.len(), 3);
    assert!(waiting.iter().all(|(status, _)| status == "pending"), "{waiting:?}");
    assert_eq!(shop.server.anonymous().get("/readyz").await.status, 200);
    assert_eq!(
        shop.server.log().matches("outgoing is held").count(),
        1,
        "{}",
        shop.server.log()
    );

    assert_eq!(switch(&shop, ["release"]).await["outgoing"], "sending");
    until_held(&shop.server, false).await;
    wait_for("everything leaves", TIMEOUT, async || {
        receiver.received().len() == 3 && to("ann@example.com") == 1 && to("bea@example.com") == 1
    })
    .await;
    wait_for("the deliveries are noted", TIMEOUT, async || {
        let all = deliveries(&shop, &webhook).await;
        all.iter().all(|(status, _)| status == "delivered")
    })
    .await;
}

async fn what_waits_is_discarded_with_its_reason(engine: Engine) {
    let receiver = Receiver::start();
    let (shop, webhook) = shop(engine, &receiver).await;
    let refused = shop.installation().run(["outgoing", "release", "--discard"]).await;
    refused.failed_naming("outgoing is not held");
    switch(&shop, ["hold"]).await;
    until_held(&shop.server, true).await;
    for number in 0..3 {
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
    }
    let released = switch(&shop, ["release", "--discard"]).await;
    assert_eq!(released["outgoing"], "sending");
    assert_eq!(
        (&released["discarded_deliveries"], &released["discarded_mails"]),
        (&json!(3), &json!(3))
    );
    until_held(&shop.server, false).await;
    let reason = ("failed".to_owned(), json!("discarded after a restore"));
    assert_eq!(deliveries(&shop, &webhook).await, vec![reason; 3]);

    shop.lead(&json!({"name": "The next"})).await;
    eventually("the next one leaves", TIMEOUT, async || {
        let (posted, mailed) = (receiver.received().len(), shop.installation().mails().len());
        if (posted, mailed) == (1, 1) {
            Ok(())
        } else {
            Err((posted, mailed))
        }
    })
    .await;
}

async fn a_server_that_starts_obeys(engine: Engine) {
    let receiver = Receiver::start();
    let (mut shop, webhook) = shop(engine, &receiver).await;
    shop.server.terminate().await;
    switch(&shop, ["hold"]).await;
    shop.server.restart().await;
    shop.lead(&json!({"name": "Ann"})).await;
    shop.server.until_background_rests().await;
    until_held(&shop.server, true).await;
    assert_eq!(deliveries(&shop, &webhook).await, [("pending".to_owned(), Value::Null)]);
    assert!(receiver.received().is_empty() && shop.installation().mails().is_empty());
}
