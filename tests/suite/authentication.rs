//! Identifying the caller: tokens, and blocked addresses.

use std::time::Duration;

use harness::{Client, Engine, Installation, Key, Shop, both_engines, eventually, now};

both_engines! {
    a_token_is_required
    the_scheme_is_read_in_any_case
    a_malformed_token_is_invalid
    every_mistyped_character_is_noticed
    a_token_of_another_installation_is_invalid
    the_secret_of_another_key_is_invalid
    a_key_expires
    a_key_is_revoked_within_five_seconds
    a_blocked_address_is_refused
    an_address_that_is_not_listed_is_served
    the_address_behind_a_trusted_proxy_counts
    too_many_failures_block_an_address
    success_is_no_failure
}

/// What one key may take to be refused after it was revoked.
const REVOCATION: Duration = Duration::from_secs(5);

async fn refused(client: &Client, code: &str) {
    let answer = client.get("/2.0/leads").await;
    answer.refused(401, code);
    assert_eq!(answer.header("WWW-Authenticate"), Some("Bearer"), "{code}");
}

async fn header_refused(shop: &Shop, header: &str, code: &str) {
    let request = shop.server.anonymous().request("GET", "/2.0/leads");
    let answer = request.header("Authorization", header).send().await;
    answer.refused(401, code);
    assert_eq!(answer.header("WWW-Authenticate"), Some("Bearer"), "{header}");
}

async fn key(shop: &Shop) -> Key {
    shop.business.key("leads:read").await
}

async fn a_token_is_required(engine: Engine) {
    let shop = Shop::open(engine).await;
    refused(&shop.server.anonymous(), "authentication_required").await;
    header_refused(&shop, "Basic YWxhZGRpbjpvcGVuc2VzYW1l", "authentication_required").await;
}

async fn the_scheme_is_read_in_any_case(engine: Engine) {
    let shop = Shop::open(engine).await;
    let token = key(&shop).await.token;
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        let request = shop.server.anonymous().request("GET", "/2.0/leads");
        let answer = request
            .header("Authorization", &format!("{scheme} {token}"))
            .send()
            .await;
        answer.ok();
    }
}

async fn a_malformed_token_is_invalid(engine: Engine) {
    let shop = Shop::open(engine).await;
    let key = key(&shop).await;
    let (id, secret) = (key.id.as_str(), key.secret());
    let tokens = [
        "nonsense".to_owned(),
        ".".to_owned(),
        id.to_owned(),
        secret.to_owned(),
        format!("{id}."),
        format!(".{secret}"),
        format!("{id}{secret}"),
        format!("{id}.{secret}."),
        format!("{id}.{secret}.{secret}"),
        format!("{id}.{secret}x"),
        format!("{id} {secret}"),
        format!("{id}.{}", secret.to_uppercase()),
        "x".repeat(4_000),
    ];
    for token in tokens {
        header_refused(&shop, &format!("Bearer {token}"), "authentication_invalid").await;
    }
}

async fn every_mistyped_character_is_noticed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let key = key(&shop).await;
    for at in 0..key.token.len() {
        let mut typed = key.token.clone();
        let other = if typed.as_bytes()[at] == b'a' { "b" } else { "a" };
        typed.replace_range(at..=at, other);
        refused(&shop.server.client(&typed), "authentication_invalid").await;
    }
}

async fn a_token_of_another_installation_is_invalid(engine: Engine) {
    let shop = Shop::open(engine).await;
    let elsewhere = Installation::new(engine).await;
    elsewhere.run(["migrate"]).await.succeeded();
    let key = elsewhere.key(&["--no-business", "--scopes", "all"]).await;
    refused(&shop.server.client(&key.token), "authentication_invalid").await;
}

async fn the_secret_of_another_key_is_invalid(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (one, other) = (key(&shop).await, key(&shop).await);
    let mixed = format!("{}.{}", one.id, other.secret());
    refused(&shop.server.client(&mixed), "authentication_invalid").await;
    shop.server.client(&one.token).get("/2.0/leads").await.ok();
}

async fn a_key_expires(engine: Engine) {
    let shop = Shop::open(engine).await;
    let expires = now() + 4;
    let arguments = [
        "--business",
        "acme",
        "--scopes",
        "leads:read",
        "--expires",
        &expires.to_string(),
    ];
    let key = shop.installation().key(&arguments).await;
    assert_eq!(key.json["expires"], expires);

    let client = shop.server.client(&key.token);
    client.get("/2.0/leads").await.ok();
    let expired = eventually("the key expires", Duration::from_secs(8), async || {
        let answer = client.get("/2.0/leads").await;
        if answer.status == 401 {
            Ok(answer)
        } else {
            Err(answer.status)
        }
    })
    .await;
    expired.refused(401, "authentication_expired");
    assert!(now() >= expires, "not before its time");
    assert_eq!(expired.header("WWW-Authenticate"), Some("Bearer"));
}

async fn a_key_is_revoked_within_five_seconds(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (revoked, kept) = (key(&shop).await, key(&shop).await);
    let client = shop.server.client(&revoked.token);
    client.get("/2.0/leads").await.ok();

    shop.installation()
        .run(["key", "revoke", &revoked.id])
        .await
        .succeeded();
    // Asking all the time must not keep what the server remembers of the key alive.
    eventually("the revocation takes effect", REVOCATION, async || {
        let answer = client.get("/2.0/leads").await;
        if answer.status == 401 {
            Ok(())
        } else {
            Err(answer.status)
        }
    })
    .await;
    refused(&client, "authentication_revoked").await;
    shop.server.client(&kept.token).get("/2.0/leads").await.ok();
}

async fn a_blocked_address_is_refused(engine: Engine) {
    for list in ["127.0.0.1", "10.0.0.0/8,127.0.0.0/8", "192.0.2.1, 127.0.0.1"] {
        let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_BLOCKED_ADDRESSES", list)).await;
        refused(&shop.api, "authentication_blocked").await;
        // The block is checked before the credential, and after the route.
        refused(&shop.server.anonymous(), "authentication_blocked").await;
        refused(&shop.server.client("nonsense"), "authentication_blocked").await;
        shop.api.get("/2.0/nothing").await.refused(404, "route_not_found");
        shop.api.delete("/2.0/leads").await.refused(405, "method_not_allowed");
    }
}

async fn an_address_that_is_not_listed_is_served(engine: Engine) {
    let list = "10.0.0.0/8,127.0.0.2,2001:db8::/32";
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_BLOCKED_ADDRESSES", list)).await;
    shop.api.get("/2.0/leads").await.ok();
}

/// Asks as a proxy does that passes on what others sent.
async fn forwarded(shop: &Shop, addresses: &str) -> u16 {
    let request = shop.api.request("GET", "/2.0/leads");
    let answer = request.header("X-Forwarded-For", addresses).send().await;
    if answer.status == 401 {
        answer.refused(401, "authentication_blocked");
    }
    answer.status
}

async fn the_address_behind_a_trusted_proxy_counts(engine: Engine) {
    let blocked = "203.0.113.0/24,2001:db8::/32";
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_BLOCKED_ADDRESSES", blocked)).await;
    assert_eq!(forwarded(&shop, "203.0.113.9").await, 200, "nobody is trusted");

    let mut shop = shop;
    let trusted = "127.0.0.0/8,198.51.100.0/24";
    shop.server.restart_with("FORECOURT_TRUSTED_PROXIES", trusted).await;
    assert_eq!(forwarded(&shop, "203.0.113.9").await, 401);
    assert_eq!(forwarded(&shop, "2001:db8::1").await, 401);
    assert_eq!(forwarded(&shop, "192.0.2.1").await, 200);
    assert_eq!(
        forwarded(&shop, "203.0.113.9, 198.51.100.7").await,
        401,
        "a chain of trusted proxies"
    );
    assert_eq!(
        forwarded(&shop, "203.0.113.9, 192.0.2.1").await,
        200,
        "what an untrusted client claims"
    );
    assert_eq!(
        forwarded(&shop, "nonsense").await,
        200,
        "what is no address names nobody"
    );
}

async fn too_many_failures_block_an_address(engine: Engine) {
    const FAILURES: usize = 5;
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_AUTH_FAILURES_PER_MINUTE", FAILURES)
            .env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1/32")
    };
    let shop = Shop::open_with(engine, setup).await;
    let ask = async |token: &str, address: &str| {
        let request = shop.server.client(token).request("GET", "/2.0/leads");
        request.header("X-Forwarded-For", address).send().await
    };

    let code = async || ask("nonsense", "192.0.2.1").await.json()["error"]["code"].take();
    let mut failures = 0;
    while code().await == "authentication_invalid" {
        failures += 1;
    }
    // A minute may end in between, and the count with it.
    assert!(
        (FAILURES..=2 * FAILURES).contains(&failures),
        "blocked after {failures}"
    );
    let token = shop.business.key("leads:read").await.token;
    ask(&token, "192.0.2.1").await.refused(401, "authentication_blocked");
    ask(&token, "192.0.2.2").await.ok();
}

async fn success_is_no_failure(engine: Engine) {
    let setup = |serve: harness::Serve| serve.env("FORECOURT_AUTH_FAILURES_PER_MINUTE", 3);
    let shop = Shop::open_with(engine, setup).await;
    for _ in 0..20 {
        shop.api.get("/2.0/leads").await.ok();
        shop.api.get("/2.0/leads/1").await.refused(404, "lead_not_found");
    }
}
