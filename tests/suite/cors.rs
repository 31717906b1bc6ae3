//! Calls from pages of other origins, in browsers (decisions §3, "Strict handling, versions, browsers").

use harness::{Answer, Engine, Installation, Shop};
use serde_json::json;

const SHOP: &str = "https://shop.example";
const ALLOW_ORIGIN: &str = "Access-Control-Allow-Origin";

async fn open(origins: &str) -> Shop {
    Shop::open_with(Engine::Sqlite, |serve| serve.env("FORECOURT_CORS_ORIGINS", origins)).await
}

async fn preflight(shop: &Shop, origin: &str, path: &str) -> Answer {
    let request = shop
        .server
        .anonymous()
        .request("OPTIONS", path)
        .header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "PATCH").header(
        "Access-Control-Request-Headers",
        "authorization,content-type,idempotency-key",
    );
    request.send().await
}

#[track_caller]
fn is_closed(answer: &Answer) {
    for (name, _) in &answer.headers {
        assert!(!name.as_str().starts_with("access-control-"), "{answer:?}");
    }
}

#[tokio::test]
async fn no_origin_is_allowed_unless_it_is_named() {
    let shop = Shop::open(Engine::Sqlite).await;
    let answer = shop
        .api
        .request("GET", "/2.0/leads")
        .header("Origin", SHOP)
        .send()
        .await;
    answer.ok();
    is_closed(&answer);
    assert_eq!(answer.header("Vary"), None);
    let answer = preflight(&shop, SHOP, "/2.0/leads/1").await;
    answer.refused(405, "method_not_allowed");
    is_closed(&answer);
}

#[tokio::test]
async fn a_named_origin_may_read_answers() {
    let shop = open(&format!("http://localhost:3000, {SHOP}")).await;
    let anonymous = shop.server.anonymous();
    for (client, method, path, status) in [
        (&shop.api, "GET", "/2.0/leads", 200),
        (&shop.api, "HEAD", "/2.0/leads", 200),
        (&shop.api, "GET", "/2.0/leads/987654", 404),
        (&anonymous, "GET", "/2.0/leads", 401),
        (&anonymous, "GET", "/2.0/nothing", 404),
        (&anonymous, "GET", "/2.0/openapi.json", 200),
    ] {
        let answer = client.request(method, path).header("Origin", SHOP).send().await;
        assert_eq!(
            (answer.status, answer.header(ALLOW_ORIGIN)),
            (status, Some(SHOP)),
            "{path}"
        );
        assert_eq!(answer.header("Access-Control-Allow-Credentials"), None);
        assert!(
            answer.header("Vary").is_some_and(|vary| vary.contains("Origin")),
            "{answer:?}"
        );
        let exposed = answer
            .header("Access-Control-Expose-Headers")
            .unwrap_or_default()
            .to_lowercase();
        for name in [
            "x-request-id",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "etag",
            "location",
            "retry-after",
            "x-idempotent-replay",
            "preference-applied",
        ] {
            assert!(exposed.split(", ").any(|exposed| exposed == name), "{name}: {exposed}");
        }
    }
    // Any other origin only learns that the answer depends on the origin.
    for origin in [
        "https://other.example",
        "https://shop.example:8443",
        "http://shop.example",
        "null",
    ] {
        let answer = shop
            .api
            .request("GET", "/2.0/leads")
            .header("Origin", origin)
            .send()
            .await;
        answer.ok();
        is_closed(&answer);
        assert!(answer.header("Vary").is_some_and(|vary| vary.contains("Origin")));
        is_closed(&preflight(&shop, origin, "/2.0/leads").await);
    }
    let answer = shop.api.get("/2.0/leads").await;
    is_closed(&answer);
    assert!(answer.header("Vary").is_some_and(|vary| vary.contains("Origin")));
}

#[tokio::test]
async fn a_preflight_needs_no_credential_and_counts_for_nothing() {
    let shop = Shop::open_with(Engine::Sqlite, |serve| {
        serve
            .env("FORECOURT_CORS_ORIGINS", SHOP)
            .env("FORECOURT_RATE_LIMIT_PER_DAY", 3)
    })
    .await;
    for path in ["/2.0/leads", "/2.0/leads/1", "/2.0/nothing"].repeat(5) {
        let answer = preflight(&shop, SHOP, path).await;
        assert_eq!((answer.status, answer.body.len()), (204, 0), "{answer:?}");
        assert_eq!(answer.header(ALLOW_ORIGIN), Some(SHOP));
        let methods = answer.header("Access-Control-Allow-Methods").unwrap();
        assert!(
            ["GET", "POST", "PUT", "PATCH", "DELETE"]
                .iter()
                .all(|method| methods.contains(method))
        );
        assert_eq!(
            answer.header("Access-Control-Allow-Headers"),
            Some("authorization,content-type,idempotency-key")
        );
        assert!(answer.number("Access-Control-Max-Age") > 0);
        assert_eq!(answer.header("Access-Control-Allow-Credentials"), None);
        assert!(answer.header("X-Request-Id").is_some());
    }
    assert_eq!(shop.api.get("/2.0/leads").await.number("X-RateLimit-Remaining"), 2);
    // OPTIONS without a requested method is like any other method.
    let options = shop
        .api
        .request("OPTIONS", "/2.0/leads")
        .header("Origin", SHOP)
        .send()
        .await;
    options.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn a_star_allows_every_origin() {
    let shop = open("*").await;
    let answer = shop
        .api
        .request("POST", "/2.0/leads")
        .header("Origin", "null")
        .json(&json!({}));
    let answer = answer.send().await;
    answer.created();
    assert_eq!(answer.header(ALLOW_ORIGIN), Some("*"));
    assert_eq!(answer.header("Access-Control-Allow-Credentials"), None);
    assert_eq!(
        preflight(&shop, SHOP, "/2.0/leads").await.header(ALLOW_ORIGIN),
        Some("*")
    );
}

#[tokio::test]
async fn a_malformed_origin_stops_the_start() {
    let installation = Installation::new(Engine::Sqlite).await;
    for origins in [
        "shop.example",
        "https://shop.example/",
        "https://a.example/b",
        "*,https://a.example",
    ] {
        let refused = installation
            .serve()
            .env("FORECOURT_CORS_ORIGINS", origins)
            .refused()
            .await;
        refused.failed_naming("FORECOURT_CORS_ORIGINS");
    }
}
