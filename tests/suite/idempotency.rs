//! `Idempotency-Key`: a repeated request is answered again, but done only once.

use std::collections::BTreeSet;

use harness::{Answer, Client, Engine, Installation, Shop, acme, both_engines};
use serde_json::{Value, json};

both_engines! {
    a_replay_outlives_the_record
    keys_of_one_business_are_shared_by_its_credentials
    a_replay_needs_the_scope_of_the_first_request
    refused_fields_are_replayed
    what_fails_before_the_handler_is_not_stored
    a_rate_limited_request_is_not_stored
    simultaneous_twins_make_one_record
    simultaneous_twins_on_two_servers_make_one_record
}

const LEADS: &str = "/2.0/leads";
const REPLAY: &str = "X-Idempotent-Replay";

async fn create(client: &Client, key: &str, body: &Value) -> Answer {
    client.request("POST", LEADS).key(key).json(body).send().await
}

/// Asserts that the second answer repeats the first one.
#[track_caller]
fn replayed(first: &Answer, second: &Answer) {
    assert_eq!(first.header(REPLAY), None);
    assert_eq!(second.header(REPLAY), Some("true"));
    assert_eq!((second.status, second.text()), (first.status, first.text()));
    assert_eq!(second.header("Content-Type"), first.header("Content-Type"));
    assert_ne!(second.header("X-Request-Id"), first.header("X-Request-Id"));
}

async fn count(client: &Client) -> usize {
    client.walk(LEADS).await.len()
}

async fn a_replay_outlives_the_record(engine: Engine) {
    let shop = Shop::open(engine).await;
    let first = create(&shop.api, "key", &json!({"name": "Ann"})).await;
    let lead = format!("{LEADS}/{}", first.created()["id"]);
    shop.api.delete(&lead).await.ok();
    replayed(&first, &create(&shop.api, "key", &json!({"name": "Ann"})).await);
    shop.api.get(&lead).await.refused(404, "lead_not_found");
}

async fn keys_of_one_business_are_shared_by_its_credentials(engine: Engine) {
    let shop = Shop::open(engine).await;
    let other = shop.client("leads:write").await;
    let body = json!({"name": "Ann"});
    replayed(
        &create(&shop.api, "key", &body).await,
        &create(&other, "key", &body).await,
    );
}

async fn a_replay_needs_the_scope_of_the_first_request(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann"});
    create(&shop.api, "key", &body).await.created();
    create(&shop.client("leads:read").await, "key", &body)
        .await
        .refused(403, "scope_denied");
}

async fn refused_fields_are_replayed(engine: Engine) {
    let shop = Shop::open(engine).await;
    // One fault is in the shape of the body, and one is only found with the business's lists.
    for (key, body) in [("shape", json!({"site": "x"})), ("meaning", json!({"site": 99}))] {
        let first = create(&shop.api, key, &body).await;
        first.invalid(&["site"]);
        replayed(&first, &create(&shop.api, key, &body).await);
        create(&shop.api, key, &json!({}))
            .await
            .refused(422, "idempotency_key_reused");
    }
}

async fn what_fails_before_the_handler_is_not_stored(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann"});
    create(&shop.server.anonymous(), "key", &body)
        .await
        .refused(401, "authentication_required");
    create(&shop.client("leads:read").await, "key", &body)
        .await
        .refused(403, "scope_denied");
    let answer = create(&shop.api, "key", &body).await;
    answer.created();
    assert_eq!(answer.header(REPLAY), None);
}

async fn a_rate_limited_request_is_not_stored(engine: Engine) {
    let mut shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_RATE_LIMIT_PER_DAY", 1)).await;
    let body = json!({"name": "Ann"});
    shop.api.get(LEADS).await.ok();
    create(&shop.api, "key", &body).await.refused(429, "rate_limited");
    shop.server.restart_with("FORECOURT_RATE_LIMIT_PER_DAY", 0).await;
    let first = create(&shop.api, "key", &body).await;
    first.created();
    replayed(&first, &create(&shop.api, "key", &body).await);
}

/// Sends the same create on all clients at once, and asserts that it was done once.
async fn twins(clients: Vec<Client>) {
    let body = json!({"name": "Ann", "type": ["finance", "test_drive"]});
    let tasks: Vec<_> = clients
        .iter()
        .cloned()
        .map(|client| {
            let body = body.clone();
            tokio::spawn(async move { create(&client, "one-key", &body).await })
        })
        .collect();
    let (mut bodies, mut replays) = (BTreeSet::new(), 0);
    for task in tasks {
        let answer = task.await.unwrap();
        answer.created();
        replays += usize::from(answer.header(REPLAY).is_some());
        bodies.insert(answer.body);
    }
    assert_eq!(bodies.len(), 1, "all answers are equal");
    assert_eq!(replays, clients.len() - 1, "one answer is the first");
    assert_eq!(count(&clients[0]).await, 1);
}

async fn simultaneous_twins_make_one_record(engine: Engine) {
    let shop = Shop::open(engine).await;
    twins(vec![shop.api; 20]).await;
}

async fn simultaneous_twins_on_two_servers_make_one_record(engine: Engine) {
    let installation = Installation::new(engine).await;
    let (one, other) = (installation.serve().start().await, installation.serve().start().await);
    let token = installation.business(&acme()).await.key("all").await.token;
    twins(
        [one.client(&token), other.client(&token)]
            .into_iter()
            .cycle()
            .take(20)
            .collect(),
    )
    .await;
}
