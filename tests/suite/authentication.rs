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
    a_block_holds_for_every_path_but_those_of_health
    an_automatic_block_holds_for_every_path
    requests_without_a_credential_are_limited_by_address
    a_possible_proxy_is_not_limited
}

/// The maximum time until a revoked key is refused.
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
    // Constant requests must not keep the server's cached state of the key alive.
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

/// Sends a request as a proxy does that forwards those of others.
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

/// Known paths that need no credential.
const PUBLIC: [&str; 9] = [
    "/",
    "/docs",
    "/docs/",
    "/docs/page.js",
    "/docs/errors",
    "/docs/errors/rate_limited",
    "/docs/guides/webhooks",
    "/2.0/openapi.json",
    "/files/1/nothing.jpg",
];

async fn a_block_holds_for_every_path_but_those_of_health(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_BLOCKED_ADDRESSES", "127.0.0.1")
            .env("FORECOURT_CORS_ORIGINS", "*")
    };
    let shop = Shop::open_with(engine, setup).await;
    for path in PUBLIC {
        for client in [&shop.server.anonymous(), &shop.api] {
            let answer = client.get(path).await;
            answer.refused(401, "authentication_blocked");
            assert_eq!(answer.header("WWW-Authenticate"), Some("Bearer"), "{path}");
            assert_eq!(client.request("HEAD", path).send().await.status, 401, "{path}");
        }
        let preflight = shop.server.anonymous().request("OPTIONS", path);
        let preflight = preflight
            .header("Origin", "https://shop.example")
            .header("Access-Control-Request-Method", "GET");
        assert_eq!(preflight.send().await.status, 401, "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        shop.server.anonymous().get(path).await;
        assert_eq!(shop.server.anonymous().get(path).await.status, 200, "{path}");
    }
    shop.server
        .anonymous()
        .get("/nothing")
        .await
        .refused(404, "route_not_found");
    let posted = shop.server.anonymous().request("POST", "/docs").send().await;
    posted.refused(405, "method_not_allowed");
}

async fn an_automatic_block_holds_for_every_path(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_AUTH_FAILURES_PER_MINUTE", 3)
            .env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1/32")
    };
    let shop = Shop::open_with(engine, setup).await;
    let ask = async |path: &str, token: Option<&str>, address: &str| {
        let client = token.map_or_else(|| shop.server.anonymous(), |token| shop.server.client(token));
        client
            .request("GET", path)
            .header("X-Forwarded-For", address)
            .send()
            .await
    };
    // Tokens are not guessed at public pages either.
    for path in ["/docs", "/2.0/leads"] {
        let address = if path == "/docs" { "192.0.2.1" } else { "192.0.2.2" };
        eventually("the address is blocked", Duration::from_secs(60), async || {
            let answer = ask(path, Some("nonsense"), address).await;
            let blocked = answer.text().contains("authentication_blocked");
            if blocked { Ok(()) } else { Err(answer.status) }
        })
        .await;
        for path in PUBLIC {
            ask(path, None, address).await.refused(401, "authentication_blocked");
        }
        assert_eq!(ask("/healthz", None, address).await.status, 200);
        assert_eq!(ask("/docs", None, "192.0.2.3").await.status, 200);
    }
}

async fn requests_without_a_credential_are_limited_by_address(engine: Engine) {
    const LIMIT: usize = 600;
    let setup = |serve: harness::Serve| serve.env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1/32");
    let shop = Shop::open_with(engine, setup).await;
    let (anonymous, known) = (shop.server.anonymous(), &shop.api);
    let ask = async |client: &Client, path: &str, address: &str| {
        client
            .request("GET", path)
            .header("X-Forwarded-For", address)
            .send()
            .await
    };
    let mut made = 0;
    // All paths count together, those of operations too, and a network of IPv6 as one address.
    let limited = 'limited: loop {
        for path in [
            "/docs/errors",
            "/files/1/nothing.jpg",
            "/2.0/openapi.json",
            "/2.0/leads",
        ] {
            let address = format!("2001:db8::{}", made % 5);
            let answer = ask(&anonymous, path, &address).await;
            if answer.status == 429 {
                break 'limited answer;
            }
            made += 1;
            // A minute may end in between, and the count with it.
            assert!(made <= 2 * LIMIT, "{path}: {}", answer.status);
        }
    };
    assert!(made >= LIMIT, "after {made}");
    limited.refused(429, "rate_limited");
    assert!((1..=60).contains(&limited.number("Retry-After")));
    // The following requests must be within the same minute.
    if now() % 60 > 50 {
        return;
    }
    let address = "2001:db8::ffff";
    for path in ["/docs", "/2.0/leads", "/files/1/nothing.jpg"] {
        ask(&anonymous, path, address).await.refused(429, "rate_limited");
        assert!(ask(&anonymous, path, "2001:db8:0:1::1").await.status != 429, "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(ask(&anonymous, path, address).await.status, 200, "{path}");
    }
    // A valid key does not have this limit, and an invalid one does not count as a key.
    ask(known, "/2.0/leads", address).await.ok();
    assert_eq!(ask(known, "/docs", address).await.status, 200);
    let wrong = shop.server.client("nonsense");
    ask(&wrong, "/docs", address).await.refused(429, "rate_limited");
    let metrics = shop.server.admin().get("/metrics").await;
    let counted = metrics.text().lines().find_map(|line| {
        line.strip_prefix("forecourt_requests_limited_by_address_total ")?
            .parse::<u32>()
            .ok()
    });
    assert!(counted.is_some_and(|counted| counted >= 4), "{}", metrics.text());
}

async fn a_possible_proxy_is_not_limited(engine: Engine) {
    let shop = Shop::open(engine).await;
    let anonymous = shop.server.anonymous();
    for _ in 0..700 {
        assert_eq!(anonymous.get("/docs/errors/rate_limited").await.status, 200);
    }
    let warnings = shop.server.log().matches("FORECOURT_TRUSTED_PROXIES").count();
    assert!(warnings <= 1, "said once");
}
