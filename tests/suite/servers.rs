//! Several servers on one database.

use std::time::Duration;

use harness::{Engine, Installation, Shop, acme, both_engines, wait_for};
use serde_json::json;

both_engines! {
    two_servers_start_at_once_on_an_empty_database
    what_one_server_writes_the_other_reads
    a_replay_comes_from_any_server
    a_revocation_reaches_every_server
    a_restart_keeps_everything
    running_servers_are_listed
}

async fn two_servers_start_at_once_on_an_empty_database(engine: Engine) {
    let installation = Installation::new(engine).await;
    let starting: Vec<_> = (0..3).map(|_| installation.serve().launch()).collect();
    let mut servers = Vec::new();
    for server in starting {
        servers.push(server.ready().await);
    }
    let token = installation.business(&acme()).await.key("all").await.token;
    for server in &servers {
        server.client(&token).post("/2.0/leads", &json!({})).await.created();
    }
    let references = servers[0].client(&token).list("/2.0/leads").await.column("reference");
    assert_eq!(references, [3, 2, 1]);
}

async fn what_one_server_writes_the_other_reads(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    for (number, client) in [&shop.api, &other].into_iter().cycle().take(10).enumerate() {
        let lead = client.post("/2.0/leads", &json!({"name": "Ann"})).await.created();
        assert_eq!(lead["reference"], number + 1);
        let path = format!("/2.0/leads/{}", lead["id"]);
        assert_eq!(shop.api.get(&path).await.ok(), other.get(&path).await.ok());
    }
}

async fn a_replay_comes_from_any_server(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let send = async |client: &harness::Client| {
        let request = client.request("POST", "/2.0/leads").key("key");
        request.json(&json!({"name": "Ann"})).send().await
    };
    let (first, again) = (send(&shop.api).await, send(&other).await);
    assert_eq!(again.header("X-Idempotent-Replay"), Some("true"));
    assert_eq!(first.created(), again.created());
}

async fn a_revocation_reaches_every_server(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let key = shop.business.key("leads:read").await;
    let clients = [shop.server.client(&key.token), second.client(&key.token)];
    for client in &clients {
        client.get("/2.0/leads").await.ok();
    }
    shop.installation().run(["key", "revoke", &key.id]).await.succeeded();
    wait_for("all servers know", Duration::from_secs(5), async || {
        let (one, other) = (clients[0].get("/2.0/leads").await, clients[1].get("/2.0/leads").await);
        one.status == 401 && other.status == 401
    })
    .await;
    for client in &clients {
        client.get("/2.0/leads").await.refused(401, "authentication_revoked");
    }
}

async fn a_restart_keeps_everything(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let before = shop.api.get(&lead).await.ok();
    shop.server.terminate().await;
    shop.server.restart().await;
    assert_eq!(shop.api.get(&lead).await.ok(), before);
    let next = shop.lead(&json!({})).await;
    assert_eq!(next["reference"], 2);
}

async fn running_servers_are_listed(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let installation = shop.installation().clone();
    let mut second = installation.serve().start().await;
    let list = async || installation.run(["servers", "--json"]).await.json();
    let servers = list().await;
    assert_eq!(servers.as_array().unwrap().len(), 2, "{servers}");
    let members: Vec<_> = servers[0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["host", "pid", "version", "started", "seen"]);
    assert_ne!(servers[0]["pid"], servers[1]["pid"]);
    assert!(second.terminate().await.success());
    let left = list().await;
    assert_eq!(left.as_array().unwrap().len(), 1, "it removes itself: {left}");
    let table = installation.run(["servers"]).await.succeeded();
    assert!(table.starts_with("HOST"), "{table}");
    assert!(shop.server.terminate().await.success());
    let none = shop.installation().run(["servers", "--json"]).await.json();
    assert_eq!(none, json!([]));
}
