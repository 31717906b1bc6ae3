//! Every response carries `X-Request-Id`; a valid one that the client sent is kept.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};

both_engines! {
    a_valid_id_is_kept
    an_invalid_id_is_replaced
    each_request_gets_an_id_of_its_own
}

/// Paths whose answers cover all kinds of success and of error.
const PATHS: [&str; 6] = [
    "/2.0/leads",
    "/2.0/leads/1",
    "/2.0/leads?per_page=0",
    "/2.0/nothing",
    "/2.0/openapi.json",
    "/healthz",
];

async fn a_valid_id_is_kept(engine: Engine) {
    let shop = Shop::open(engine).await;
    for client in [&shop.api, &shop.server.anonymous()] {
        for path in PATHS {
            for id in ["abc-123_XYZ", "0b8f1d6e-6f3a-4f0c-9f43-2f6ad1a2c3d4"] {
                let answer = client.request("GET", path).header("X-Request-Id", id).send().await;
                assert_eq!(answer.header("X-Request-Id"), Some(id), "{path}");
            }
        }
    }
}

async fn an_invalid_id_is_replaced(engine: Engine) {
    let shop = Shop::open(engine).await;
    for id in ["", "two words", "<script>", "a\"b", &"x".repeat(1_000)] {
        let answer = shop
            .api
            .request("GET", "/2.0/leads")
            .header("X-Request-Id", id)
            .send()
            .await;
        let given = answer.header("X-Request-Id").unwrap();
        assert!(!given.is_empty() && given != id, "{id:?} became {given:?}");
    }
}

async fn each_request_gets_an_id_of_its_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut seen = BTreeSet::new();
    for path in PATHS.into_iter().cycle().take(30) {
        let answer = shop.api.get(path).await;
        let id = answer.header("X-Request-Id").unwrap_or_default().to_owned();
        assert!(!id.is_empty(), "{path} has none");
        assert!(seen.insert(id), "{path} repeats one");
    }
}
