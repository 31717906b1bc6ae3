//! `forecourt key create|list|rotate|revoke`.

use std::collections::BTreeSet;
use std::time::Duration;

use harness::{Answer, Engine, Key, Shop, both_engines, eventually, now, wait_for};
use serde_json::{Value, json};

both_engines! {
    a_key_is_shown_once_with_all_that_it_is
    a_key_may_have_all_scopes_or_none
    a_date_is_its_midnight_in_utc
    the_list_has_every_key_and_no_secret
    a_revoked_key_stays_revoked
    the_list_says_when_a_key_was_last_used
    a_use_just_before_the_end_is_stored
    a_key_is_bound_to_addresses
    a_key_elsewhere_blocks_no_address
    a_key_has_a_successor
    a_key_without_an_overlap_ends_at_once
}

async fn a_key_is_shown_once_with_all_that_it_is(engine: Engine) {
    let shop = Shop::open(engine).await;
    let key = shop.business.key("leads:write,leads:read").await;
    let members: BTreeSet<&str> = key.json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, BTreeSet::from(["key_id", "token", "scopes", "expires"]));
    assert_eq!(key.json["expires"], Value::Null);
    let scopes: BTreeSet<&str> = key.json["scopes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(scopes, BTreeSet::from(["leads:read", "leads:write"]));

    let name = key.id.strip_prefix("fck_").unwrap();
    assert!(
        name.len() == 16
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    );
    assert!(key.token.starts_with(&format!("{}.", key.id)));
    assert!(key.secret().len() > 6 + 42 && key.secret().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_ne!(shop.business.key("all").await.token, key.token);
}

async fn a_key_may_have_all_scopes_or_none(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(shop.business.key("none").await.json["scopes"], json!([]));
    let all = shop.business.key("all").await.json["scopes"].take();
    // The contract's list, and the additions of the decisions.
    let known = "leads:read leads:write leads:delete contacts:read contacts:write contacts:delete contact-notes:read \
        contact-notes:write contact-notes:delete contact-login:write vehicles:read vehicles:write vehicle-pricing:read \
        vehicle-drives:write vehicle-documents:read vehicle-documents:write vehicle-documents:delete \
        vehicle-reserve:read vehicle-reserve:write vehicle-appraisals:write listings:read blogs:read blogs:write \
        blogs:delete reviews:read reviews:write reviews:delete reference:read webhooks:read webhooks:write meta:read \
        search:wildcard invoices:read orders:read purchases:read deals:read appointments:read calls:read \
        vehicles:delete vehicle-media:write vehicle-media:delete vehicle-drives:read vehicle-sales:read vehicle-sales:write \
        lead-messages:read lead-messages:write lead-notes:read lead-notes:write lead-notes:delete \
        invoices:write orders:write purchases:write stock-book:read appointments:write calls:write calls:delete \
        deals:write vehicle-jobs:read vehicle-jobs:write vehicle-jobs:delete";
    let known: BTreeSet<&str> = known.split_whitespace().collect();
    assert_eq!(
        all.as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect::<BTreeSet<_>>(),
        known
    );
    for scope in known {
        assert_eq!(shop.business.key(scope).await.json["scopes"], json!([scope]));
    }
}

async fn a_date_is_its_midnight_in_utc(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (written, epoch) in [("2040-01-01", 2_208_988_800_i64), ("2208988800", 2_208_988_800)] {
        let arguments = ["--business", "acme", "--scopes", "leads:read", "--expires", written];
        let key = shop.installation().key(&arguments).await;
        assert_eq!(key.json["expires"], epoch);
        shop.server.client(&key.token).get("/2.0/leads").await.ok();
    }
}

async fn the_list_has_every_key_and_no_secret(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.rival().await;
    let (ours, free) = (
        shop.business.key("leads:read").await,
        shop.installation().key(&["--no-business", "--scopes", "none"]).await,
    );
    let list = async |arguments: &[&'static str]| {
        let start = ["key", "list"];
        shop.installation()
            .run(start.into_iter().chain(arguments.iter().copied()))
            .await
            .succeeded()
    };
    for arguments in [&["--json"][..], &[]] {
        let all = list(arguments).await;
        assert!(all.contains(&ours.id) && all.contains(&free.id), "{all}");
        assert!(!all.contains(ours.secret()) && !all.contains(free.secret()), "{all}");
    }
    let acme = list(&["--business", "acme", "--json"]).await;
    assert!(acme.contains(&ours.id) && !acme.contains(&free.id), "{acme}");
    let rival = list(&["--business", "rival", "--json"]).await;
    assert!(!rival.contains(&ours.id) && !rival.contains(&free.id), "{rival}");
}

async fn a_revoked_key_stays_revoked(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let key = shop.business.key("leads:read").await;
    for _ in 0..2 {
        // A repetition is not a mistake.
        shop.installation().run(["key", "revoke", &key.id]).await.succeeded();
    }
    shop.server.restart().await;
    shop.server
        .client(&key.token)
        .get("/2.0/leads")
        .await
        .refused(401, "authentication_revoked");
}

const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the list's entry of a key.
async fn listed(shop: &Shop, id: &str) -> Value {
    let keys = shop.installation().run(["key", "list", "--json"]).await.json();
    let key = keys.as_array().unwrap().iter().find(|key| key["key_id"] == id);
    key.unwrap_or_else(|| panic!("{id} is not in {keys}")).clone()
}

async fn the_list_says_when_a_key_was_last_used(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (used, misused, unused) = (
        shop.business.key("leads:read").await,
        shop.business.key("leads:read").await,
        shop.business.key("leads:read").await,
    );
    let hour = |second: i64| second - second % 3600;
    let before = hour(now());
    let wrong = format!("{}.{}", misused.id, unused.secret());
    let wrong = shop.server.client(&wrong).get("/2.0/leads").await;
    wrong.refused(401, "authentication_invalid");
    for _ in 0..20 {
        shop.server.client(&used.token).get("/2.0/leads").await.ok();
    }
    let last_used = eventually("the use is stored", TIMEOUT, async || {
        let key = listed(&shop, &used.id).await;
        key["last_used"].as_i64().ok_or(key)
    })
    .await;
    assert!([before, hour(now())].contains(&last_used), "{last_used}");
    for key in [misused, unused] {
        assert_eq!(listed(&shop, &key.id).await["last_used"], Value::Null);
    }
    let text = shop.installation().run(["key", "list"]).await.succeeded();
    let line = text.lines().find(|line| line.contains(&used.id)).unwrap();
    assert!(text.contains("LAST USED") && line.contains(":00"), "{text}");
}

async fn a_use_just_before_the_end_is_stored(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let key = shop.business.key("leads:read").await;
    shop.server.client(&key.token).get("/2.0/leads").await.ok();
    shop.server.terminate().await;
    assert!(listed(&shop, &key.id).await["last_used"].is_i64());
}

async fn bound(shop: &Shop, from: &str) -> Key {
    let arguments = ["--business", "acme", "--scopes", "leads:read", "--from", from];
    shop.installation().key(&arguments).await
}

/// Sends a request as a proxy does that forwards another's.
async fn from(shop: &Shop, token: &str, address: &str) -> Answer {
    let request = shop.server.client(token).request("GET", "/2.0/leads");
    request.header("X-Forwarded-For", address).send().await
}

async fn a_key_is_bound_to_addresses(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let (elsewhere, here) = (
        bound(&shop, "192.0.2.0/28,2001:db8::/32").await,
        bound(&shop, "127.0.0.1,::1").await,
    );
    assert_eq!(elsewhere.json["from"], json!(["192.0.2.0/28", "2001:db8::/32"]));
    assert_eq!(listed(&shop, &elsewhere.id).await["from"], elsewhere.json["from"]);
    assert!(shop.business.key("leads:read").await.json.get("from").is_none());
    // Without a trusted proxy, a forwarded address is only a claim.
    from(&shop, &here.token, "192.0.2.1").await.ok();
    from(&shop, &elsewhere.token, "192.0.2.1")
        .await
        .refused(401, "authentication_blocked");

    shop.server
        .restart_with("FORECOURT_TRUSTED_PROXIES", "127.0.0.0/8")
        .await;
    for address in [
        "192.0.2.1",
        "192.0.2.15",
        "2001:db8:1::1",
        "::ffff:192.0.2.1",
        "10.0.0.1, 192.0.2.1",
    ] {
        from(&shop, &elsewhere.token, address).await.ok();
    }
    for address in ["192.0.2.16", "2001:db9::1", "192.0.2.1, 198.51.100.1", "nonsense"] {
        let refused = from(&shop, &elsewhere.token, address).await;
        refused.refused(401, "authentication_blocked");
        assert_eq!(refused.header("WWW-Authenticate"), Some("Bearer"), "{address}");
        assert!(!refused.text().contains("192.0.2.0"), "{}", refused.text());
    }
    from(&shop, &here.token, "192.0.2.1")
        .await
        .refused(401, "authentication_blocked");
    let wrong = format!("{}.{}", elsewhere.id, here.secret());
    from(&shop, &wrong, "198.51.100.1")
        .await
        .refused(401, "authentication_invalid");
    shop.installation()
        .run(["key", "revoke", &elsewhere.id])
        .await
        .succeeded();
    wait_for("the revocation takes effect", TIMEOUT, async || {
        from(&shop, &elsewhere.token, "198.51.100.1")
            .await
            .text()
            .contains("authentication_revoked")
    })
    .await;
    for wrong in ["10.0.0.0/33", "here", "", "10.0.0.1,,10.0.0.2"] {
        let argument = format!("--from={wrong}");
        let arguments = ["key", "create", "--business", "acme", "--scopes", "all", &argument];
        let outcome = shop.installation().run(arguments).await;
        outcome.failed_naming("--from");
    }
}

async fn a_key_elsewhere_blocks_no_address(engine: Engine) {
    let setup = |serve: harness::Serve| {
        serve
            .env("FORECOURT_AUTH_FAILURES_PER_MINUTE", 3)
            .env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1")
    };
    let shop = Shop::open_with(engine, setup).await;
    let (elsewhere, free) = (bound(&shop, "192.0.2.1").await, shop.business.key("leads:read").await);
    for _ in 0..10 {
        from(&shop, &elsewhere.token, "198.51.100.1")
            .await
            .refused(401, "authentication_blocked");
    }
    from(&shop, &free.token, "198.51.100.1").await.ok();
}

async fn a_key_has_a_successor(engine: Engine) {
    let shop = Shop::open(engine).await;
    let expires = (now() + 90_000).to_string();
    let arguments = [
        "--business",
        "acme",
        "--scopes",
        "leads:read,meta:read",
        "--expires",
        &expires,
        "--from",
        "127.0.0.1",
    ];
    let old = shop.installation().key(&arguments).await;
    let before = now();
    let rotated = shop
        .installation()
        .run(["key", "rotate", &old.id, "--overlap", "2", "--json"])
        .await
        .json();
    let members = |json: &Value| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&rotated), members(&old.json), "it prints what create does");
    for member in ["scopes", "expires", "from"] {
        assert_eq!(rotated[member], old.json[member], "{member}");
    }
    let new = listed(&shop, rotated["key_id"].as_str().unwrap()).await;
    assert_eq!(new["business"], "acme");
    for token in [old.token.as_str(), rotated["token"].as_str().unwrap()] {
        shop.server.client(token).get("/2.0/leads").await.ok();
    }
    let ends = listed(&shop, &old.id).await["expires"].as_i64().unwrap();
    assert!((before + 7_200..=now() + 7_200).contains(&ends), "{ends}");
    // An overlap does not make a key last longer than it would have.
    shop.installation()
        .run(["key", "rotate", &old.id, "--overlap", "48"])
        .await
        .succeeded();
    assert_eq!(listed(&shop, &old.id).await["expires"], ends);

    shop.installation().run(["key", "revoke", &old.id]).await.succeeded();
    let outcome = shop
        .installation()
        .run(["key", "rotate", &old.id, "--overlap", "1"])
        .await;
    outcome.failed_naming(&old.id);
    let unknown = ["key", "rotate", "fck_0123456789abcdef", "--overlap", "1"];
    shop.installation()
        .run(unknown)
        .await
        .failed_naming("fck_0123456789abcdef");
}

async fn a_key_without_an_overlap_ends_at_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let old = shop.business.key("leads:read").await;
    let client = shop.server.client(&old.token);
    client.get("/2.0/leads").await.ok();
    let rotated = ["key", "rotate", &old.id, "--overlap", "0", "--json"];
    let rotated = shop.installation().run(rotated).await.json();
    wait_for("the old key ends", TIMEOUT, async || {
        client.get("/2.0/leads").await.text().contains("authentication_expired")
    })
    .await;
    shop.server
        .client(rotated["token"].as_str().unwrap())
        .get("/2.0/leads")
        .await
        .ok();
    assert_eq!(rotated["expires"], Value::Null);
}
