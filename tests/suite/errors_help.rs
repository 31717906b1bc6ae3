//! The pages on error codes, which every error names (decisions §3: `details.help`).

use harness::{Answer, Engine, Installation, Shop};
use serde_json::json;

/// Returns the path of the page on this server.
#[track_caller]
fn help(answer: &Answer, base: &str) -> String {
    let error = answer.json()["error"].take();
    let address = error["details"]["help"].as_str().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(
        address,
        format!("{base}/docs/errors/{}", error["code"].as_str().unwrap())
    );
    address.strip_prefix(base).unwrap().to_owned()
}

#[tokio::test]
async fn the_page_of_a_code_is_a_page() {
    let shop = Shop::open(Engine::Sqlite).await;
    let anonymous = shop.server.anonymous();
    let page = anonymous.get("/docs/errors/rate_limited").await;
    assert_eq!(page.status, 200);
    assert!(page.header("Content-Type").unwrap().starts_with("text/html"));
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(
        policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-eval"),
        "{policy}"
    );
    assert_eq!(page.header("X-Content-Type-Options"), Some("nosniff"));
    assert!(page.header("X-Request-Id").is_some());
    let text = page.text();
    assert!(
        ["rate_limited", "429", "Cause", "Remedy", "Retry-After"]
            .iter()
            .all(|part| text.contains(part)),
        "{text}"
    );
    let tag = page.header("ETag").unwrap();
    let again = anonymous
        .request("GET", "/docs/errors/rate_limited")
        .header("If-None-Match", tag);
    assert_eq!(again.send().await.status, 304);
    let head = anonymous.request("HEAD", "/docs/errors/rate_limited").send().await;
    assert_eq!((head.status, head.body.len()), (200, 0));

    for unknown in [
        "nonsense",
        "rate_limited/",
        "rate_limited/x",
        "Rate_Limited",
        "%22%3E%3Cscript%3E",
    ] {
        let answer = anonymous.get(&format!("/docs/errors/{unknown}")).await;
        answer.refused(404, "route_not_found");
    }
    let index = anonymous.get("/docs/errors").await;
    assert!(index.status == 200 && index.text().contains("\"errors/rate_limited\""));
    let slash = anonymous.get("/docs/errors/").await;
    assert_eq!((slash.status, slash.header("Location")), (308, Some("../errors")));
    anonymous
        .post("/docs/errors/rate_limited", &json!({}))
        .await
        .refused(405, "method_not_allowed");
}

/// Checks that every code in the document has a page.
#[tokio::test]
async fn every_code_of_the_document_has_a_page() {
    let shop = Shop::open(Engine::Sqlite).await;
    let anonymous = shop.server.anonymous();
    let document = anonymous.get("/2.0/openapi.json").await.json();
    let mut codes = std::collections::BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let shared = response["$ref"].as_str().and_then(|name| document.pointer(&name[1..]));
                let described = shared.unwrap_or(response)["description"].as_str().unwrap_or_default();
                let named = described.split('`').skip(1).step_by(2);
                let named = named.filter(|name| name.contains('_') && !name.contains(['.', ' ']));
                codes.extend(named.filter(|_| status.starts_with(['4', '5'])).map(str::to_owned));
            }
        }
    }
    assert!(codes.len() > 20, "{codes:?}");
    for code in codes {
        assert_eq!(
            anonymous.get(&format!("/docs/errors/{code}")).await.status,
            200,
            "{code}"
        );
    }
}

#[tokio::test]
async fn pages_are_named_by_the_public_url() {
    let installation = Installation::new(Engine::Sqlite).await;
    let server = installation
        .serve()
        .env("FORECOURT_PUBLIC_URL", "https://api.dealer.example/base/");
    let server = server.start().await;
    help(
        &server.anonymous().get("/2.0/leads").await,
        "https://api.dealer.example/base",
    );
}

#[tokio::test]
async fn the_root_leads_to_the_documentation() {
    let shop = Shop::open(Engine::Sqlite).await;
    let anonymous = shop.server.anonymous();
    for method in ["GET", "HEAD"] {
        let answer = anonymous.request(method, "/").send().await;
        assert_eq!((answer.status, answer.header("Location")), (302, Some("./docs")));
    }
    anonymous.delete("/").await.refused(405, "method_not_allowed");
}
