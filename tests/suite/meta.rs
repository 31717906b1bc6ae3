//! `GET /2.0/meta`: the endpoints that the credential may use.

use std::collections::BTreeSet;

use harness::{Client, Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::documents::operations;

both_engines! {
    it_lists_what_the_key_may_use_and_nothing_else
    a_key_with_every_scope_may_use_everything
}

/// Returns the listed endpoints, each as method and path.
async fn listed(client: &Client) -> (Value, BTreeSet<String>) {
    let meta = client.get("/2.0/meta").await.ok();
    let name = |endpoint: &Value| {
        let text = |member: &str| endpoint[member].as_str().unwrap().to_owned();
        assert!(endpoint["scopes"].is_array());
        format!("{} {}", text("method"), text("path"))
    };
    let names = meta["endpoints"].as_array().unwrap().iter().map(name).collect();
    (meta, names)
}

async fn it_lists_what_the_key_may_use_and_nothing_else(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("meta:read,leads:read").await;
    let (meta, names) = listed(&client).await;
    assert_eq!(meta["version"], "2.0");
    for used in ["GET /2.0/meta", "GET /2.0/leads", "GET /2.0/leads/{id}"] {
        assert!(names.contains(used), "{used} is missing");
    }
    for endpoint in meta["endpoints"].as_array().unwrap() {
        let scopes: Vec<&str> = endpoint["scopes"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert!(
            scopes.iter().all(|scope| ["meta:read", "leads:read"].contains(scope)),
            "{endpoint}"
        );
        let mut members: Vec<&str> = endpoint.as_object().unwrap().keys().map(String::as_str).collect();
        members.sort_unstable();
        assert_eq!(members, ["method", "path", "scopes"]);
    }
    let lead = meta["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .find(|endpoint| endpoint["path"] == "/2.0/leads/{id}");
    assert_eq!(lead.unwrap()["scopes"], json!(["leads:read"]));
}

async fn a_key_with_every_scope_may_use_everything(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (_, names) = listed(&shop.api).await;
    let document = shop.api.get("/2.0/openapi.json").await.json();
    for operation in operations(&document)
        .iter()
        .filter(|operation| !operation.scopes.is_empty())
    {
        assert!(names.contains(&operation.name), "{} is missing", operation.name);
    }
    let documented: BTreeSet<String> = operations(&document)
        .into_iter()
        .map(|operation| operation.name)
        .collect();
    assert!(names.is_subset(&documented), "{names:?}");
}
