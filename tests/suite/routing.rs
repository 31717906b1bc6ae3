//! Existing paths and methods, which can be learnt without a credential.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines};
use serde_json::json;

both_engines! {
    an_unknown_path_is_no_route
    a_path_with_a_slash_too_many_is_no_route
    another_method_is_not_allowed
    head_works_wherever_get_does
    head_has_the_status_of_get
    a_path_is_compared_byte_by_byte
    an_id_that_is_no_positive_integer_is_no_lead
}

async fn an_unknown_path_is_no_route(engine: Engine) {
    let shop = Shop::open(engine).await;
    for client in [shop.server.anonymous(), shop.api.clone()] {
        for path in [
            "/2.0",
            "/2.0/nothing",
            "/1.0/leads",
            "/leads",
            "/2.0/leads/1/nothing",
            "/2.0/reference",
        ] {
            for method in ["GET", "POST", "PATCH", "PUT", "DELETE"] {
                let answer = client.request(method, path).send().await;
                answer.refused(404, "route_not_found");
            }
        }
    }
}

async fn a_path_with_a_slash_too_many_is_no_route(engine: Engine) {
    let shop = Shop::open(engine).await;
    for path in [
        "/2.0/leads/",
        "/2.0/meta/",
        "//2.0/leads",
        "/2.0//leads",
        "/2.0/leads/1/status/",
    ] {
        shop.server.anonymous().get(path).await.refused(404, "route_not_found");
    }
}

async fn another_method_is_not_allowed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let table = [
        ("/2.0/leads", "GET HEAD POST"),
        ("/2.0/leads/1", "GET HEAD PATCH DELETE"),
        ("/2.0/leads/1/status", "PATCH"),
        ("/2.0/leads/1/assign", "PATCH"),
        ("/2.0/leads/1/vehicles", "GET HEAD POST"),
        ("/2.0/leads/1/vehicles/1", "DELETE"),
        ("/2.0/meta", "GET HEAD"),
        ("/2.0/openapi.json", "GET HEAD"),
        ("/2.0/reference/tags", "GET HEAD"),
        ("/2.0/reference/lead-types", "GET HEAD"),
    ];
    for (path, allowed) in table {
        let allowed: BTreeSet<&str> = allowed.split(' ').collect();
        for method in ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "TRACE", "PURGE"] {
            if allowed.contains(method) {
                continue;
            }
            let answer = shop.server.anonymous().request(method, path).send().await;
            answer.refused(405, "method_not_allowed");
            let listed = answer.header("Allow").expect("a 405 has Allow");
            let listed: BTreeSet<&str> = listed.split(',').map(str::trim).collect();
            assert_eq!(listed, allowed, "{method} {path}");
        }
    }
}

async fn head_works_wherever_get_does(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    for path in [
        "/2.0/leads",
        &lead,
        "/2.0/meta",
        "/2.0/openapi.json",
        "/2.0/reference/sites",
        "/healthz",
        "/readyz",
    ] {
        let (get, head) = (shop.api.get(path).await, shop.api.request("HEAD", path).send().await);
        assert_eq!((head.status, head.text()), (200, ""), "{path}");
        assert_eq!(head.header("Content-Type"), get.header("Content-Type"), "{path}");
        if let Some(length) = head.header("Content-Length") {
            assert_eq!(length.parse(), Ok(get.body.len()), "{path}");
        }
    }
}

async fn head_has_the_status_of_get(engine: Engine) {
    let shop = Shop::open(engine).await;
    let status = async |client: &harness::Client, path: &str| client.request("HEAD", path).send().await.status;
    assert_eq!(status(&shop.server.anonymous(), "/2.0/leads").await, 401);
    assert_eq!(status(&shop.api, "/2.0/leads/1").await, 404);
    assert_eq!(status(&shop.api, "/2.0/nothing").await, 404);
    assert_eq!(status(&shop.api, "/2.0/leads?per_page=0").await, 422);
    assert_eq!(status(&shop.api, "/2.0/leads/1/status").await, 405);
}

async fn a_path_is_compared_byte_by_byte(engine: Engine) {
    let shop = Shop::open(engine).await;
    for path in [
        "/2.0/Leads",
        "/2.0/LEADS",
        "/2.0/leads%20",
        "/2.0/leads%00",
        "/2.0/lead%C3%A9s",
    ] {
        shop.api.get(path).await.refused(404, "route_not_found");
    }
}

async fn an_id_that_is_no_positive_integer_is_no_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let ids = [
        "0",
        "-1",
        "abc",
        "1.5",
        "1e3",
        "%00",
        "1%00",
        "%20",
        "1%2F2",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999999999",
        "%F0%9F%9A%97",
    ];
    for id in ids {
        let lead = format!("/2.0/leads/{id}");
        shop.api.get(&lead).await.refused(404, "lead_not_found");
        shop.api.patch(&lead, &json!({})).await.refused(404, "lead_not_found");
        shop.api.delete(&lead).await.refused(404, "lead_not_found");
        let status = shop.api.patch(&format!("{lead}/status"), &json!({"stat": true})).await;
        status.refused(404, "lead_not_found");
        let assign = shop.api.patch(&format!("{lead}/assign"), &json!({"assign": []})).await;
        assign.refused(404, "lead_not_found");
        let vehicles = format!("{lead}/vehicles");
        shop.api.get(&vehicles).await.refused(404, "lead_not_found");
        let off = shop.api.delete(&format!("{vehicles}/1")).await;
        off.refused(404, "lead_not_found");
    }
}
