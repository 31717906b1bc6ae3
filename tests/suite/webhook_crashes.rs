//! Servers that are killed at any moment lose no event and no delivery.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harness::{Engine, Receiver, Reply, Shop, both_engines, eventually};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

both_engines! {
    no_event_and_no_delivery_is_lost_by_crashes
    what_a_killed_server_held_another_delivers
}

const ROUNDS: u64 = 6;
const WRITERS: usize = 8;
/// A time longer than a delivery of a server that died may take: a lease, which ends within a minute, and an attempt.
const TIMEOUT: Duration = Duration::from_secs(180);

async fn subscribe(shop: &Shop, receiver: &Receiver) -> Value {
    let body = json!({"url": receiver.url("/"), "events": "*"});
    shop.api.post("/2.0/webhooks", &body).await.created()
}

/// Returns the ids of the events that arrived.
fn delivered(receiver: &Receiver) -> BTreeSet<String> {
    let received = receiver.received();
    let ids = received
        .iter()
        .filter_map(|received| received.header("X-Service-Event-Id"));
    ids.map(str::to_owned).collect()
}

/// Waits until every event of the log was delivered; returns the log.
async fn all_is_delivered(shop: &Shop, receiver: &Receiver) -> Vec<Value> {
    let log = shop.api.walk("/2.0/events?per_page=500").await;
    let expected: BTreeMap<&str, &Value> = log.iter().map(|event| (event["id"].as_str().unwrap(), event)).collect();
    eventually("every event is delivered", TIMEOUT, async || {
        let arrived = delivered(receiver);
        let missing = expected.iter().filter(|(id, _)| !arrived.contains(**id));
        let missing: Vec<&str> = missing.map(|(_, event)| event["event"].as_str().unwrap()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing.len()) }
    })
    .await;
    log
}

async fn no_event_and_no_delivery_is_lost_by_crashes(engine: Engine) {
    let mut shop = Shop::open_with(engine, |serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 1)
            .env("FORECOURT_WEBHOOK_TIMEOUT_SECONDS", 2)
    })
    .await;
    let receiver = Receiver::start();
    let secret = subscribe(&shop, &receiver).await["secret"].take();
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let (acknowledge, mut heard) = mpsc::unbounded_channel();
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (api, acknowledge) = (shop.api.clone(), acknowledge.clone());
            writers.spawn(async move {
                for number in 0.. {
                    let body = json!({"name": format!("{round}-{writer}-{number}"), "notify": false});
                    let request = api.request("POST", "/2.0/leads").json(&body);
                    let Ok(answer) = request.attempt().await else { break };
                    if answer.status != 201 {
                        break;
                    }
                    let id = answer.created()["id"].as_i64().unwrap();
                    acknowledge.send(id).unwrap();
                    // A record that is changed and then deleted is delivered, too.
                    if number % 4 == 3 {
                        let change = json!({"name": "Changed"});
                        let request = api.request("PATCH", &format!("/2.0/leads/{id}")).json(&change);
                        if request.attempt().await.is_err() {
                            break;
                        }
                    }
                }
            });
        }
        drop(acknowledge);
        // The moment differs in each round.
        for _ in 0..20 + 15 * round {
            acknowledged.extend(heard.recv().await);
        }
        tokio::time::sleep(Duration::from_micros(900 * round)).await;
        shop.server.kill9().await;
        while let Some(id) = heard.recv().await {
            acknowledged.insert(id);
        }
        writers.join_all().await;
        shop.server.restart().await;
    }

    let log = all_is_delivered(&shop, &receiver).await;
    let sequences = log.iter().filter_map(|event| event["sequence"].as_u64());
    assert!(sequences.eq(1..=log.len() as u64), "the log has no gaps");
    let created: Vec<i64> = log
        .iter()
        .filter(|event| event["event"] == "lead.created")
        .filter_map(|event| event["data"]["id"].as_i64())
        .collect();
    let delivered: BTreeSet<i64> = created.iter().copied().collect();
    assert_eq!(delivered.len(), created.len(), "each creation is delivered once");
    let stored: BTreeSet<i64> = shop
        .api
        .walk("/2.0/leads?per_page=500&fields=id")
        .await
        .iter()
        .filter_map(|lead| lead["id"].as_i64())
        .collect();
    assert_eq!(delivered, stored, "what is stored is delivered, and nothing else");
    assert!(acknowledged.is_subset(&delivered), "what was acknowledged is delivered");
    let secret = secret.as_str().unwrap();
    assert!(receiver.received().iter().all(|received| received.is_signed(secret)));
}

async fn what_a_killed_server_held_another_delivers(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_TIMEOUT_SECONDS", 2)
    };
    let mut shop = Shop::open_with(engine, setup).await;
    let receiver = Receiver::start();
    subscribe(&shop, &receiver).await;
    // When the first server dies, it has begun to deliver and has received no answer.
    receiver.answer("/", Reply::status(200).after(Duration::from_secs(600)));
    for number in 0..30 {
        shop.lead(&json!({"name": format!("Lead {number}"), "notify": false}))
            .await;
    }
    receiver.wait_for(1, TIMEOUT);
    shop.server.kill9().await;
    receiver.answer("/", Reply::status(200));
    receiver.forget();
    let second = setup(shop.installation().serve()).start().await;
    shop.api = second.client(&shop.business.key("all").await.token);
    let log = all_is_delivered(&shop, &receiver).await;
    assert_eq!(log.len(), 30);
}
