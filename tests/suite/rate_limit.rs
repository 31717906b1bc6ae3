//! The limits on a business's requests: two fixed windows, the UTC minute and the UTC day.

use std::time::Duration;

use harness::{Answer, Client, Engine, Installation, Proxy, Redis, Serve, Shop, acme, both_engines, now, wait_for};
use serde_json::json;

both_engines! {
    requests_are_counted_down_to_a_refusal
    the_window_with_the_least_left_is_shown
    every_authenticated_answer_shows_the_limit_and_counts
    what_is_public_or_no_route_does_not_count
    failed_authentication_does_not_count
    refused_accounts_do_not_count
    all_keys_of_a_business_count_together
    businesses_are_counted_apart
    two_servers_share_counts_through_redis
    no_request_is_refused_for_an_outage_of_redis
    without_limits_nothing_is_shown
}

const DAY: i64 = 86_400;
const MINUTE: i64 = 60;

/// Opens a shop with these limits; 0 turns a window off.
async fn shop(engine: Engine, per_minute: u32, per_day: u32) -> Shop {
    Shop::open_with(engine, |serve| limited(serve, per_minute, per_day)).await
}

fn limited(serve: Serve, per_minute: u32, per_day: u32) -> Serve {
    serve
        .env("FORECOURT_RATE_LIMIT_PER_MINUTE", per_minute)
        .env("FORECOURT_RATE_LIMIT_PER_DAY", per_day)
}

/// Returns `X-RateLimit-Limit` and `-Remaining`.
#[track_caller]
fn limit_of(answer: &Answer) -> (i64, i64) {
    (
        answer.number("X-RateLimit-Limit"),
        answer.number("X-RateLimit-Remaining"),
    )
}

/// Asserts a refusal that ends with a window of this length.
#[track_caller]
fn limited_until_the_end_of(answer: &Answer, window: i64) {
    answer.refused(429, "rate_limited");
    let reset = answer.number("X-RateLimit-Reset");
    assert_eq!(answer.number("X-RateLimit-Remaining"), 0);
    assert_eq!(reset % window, 0, "windows are fixed");
    let wait = answer.number("Retry-After");
    assert!((1..=window).contains(&wait), "Retry-After is {wait}");
    assert!(
        (now() + wait - reset).abs() <= 2,
        "Retry-After leads to X-RateLimit-Reset"
    );
}

async fn get(client: &Client) -> Answer {
    client.get("/2.0/leads").await
}

/// Waits for a moment after which a window of this length still lasts for a while.
async fn early_in(window: i64) {
    let what = "a window has time left";
    wait_for(what, Duration::from_secs(30), async || now() % window < window - 20).await;
}

async fn requests_are_counted_down_to_a_refusal(engine: Engine) {
    for (per_minute, per_day, window) in [(4, 0, MINUTE), (0, 4, DAY)] {
        let shop = shop(engine, per_minute, per_day).await;
        early_in(window).await;
        for remaining in [3, 2, 1, 0] {
            let answer = get(&shop.api).await;
            answer.ok();
            assert_eq!(limit_of(&answer), (4, remaining));
            let reset = answer.number("X-RateLimit-Reset");
            assert!(reset > now() && reset <= now() + window && reset % window == 0);
        }
        limited_until_the_end_of(&get(&shop.api).await, window);
        limited_until_the_end_of(&get(&shop.api).await, window);
    }
}

async fn the_window_with_the_least_left_is_shown(engine: Engine) {
    let shop = shop(engine, 3, 5).await;
    early_in(MINUTE).await;
    assert_eq!(limit_of(&get(&shop.api).await), (3, 2));
    let shop = self::shop(engine, 5, 3).await;
    early_in(MINUTE).await;
    assert_eq!(limit_of(&get(&shop.api).await), (3, 2));
}

async fn every_authenticated_answer_shows_the_limit_and_counts(engine: Engine) {
    let shop = shop(engine, 0, 100).await;
    let weak = shop.client("meta:read").await;
    let answers = [
        shop.api.get("/2.0/leads/1").await,
        shop.api.get("/2.0/leads?per_page=0").await,
        shop.api.post("/2.0/leads", &json!({})).await,
        shop.api.post("/2.0/leads", &json!({"site": "x"})).await,
        shop.api.request("POST", "/2.0/leads").body("{").send().await,
        shop.api.request("POST", "/2.0/leads").key("not a key").send().await,
        shop.api.request("HEAD", "/2.0/leads").send().await,
        shop.api.get("/2.0/meta").await,
        weak.get("/2.0/leads").await,
    ];
    let remaining: Vec<_> = answers.iter().map(limit_of).collect();
    let expected: Vec<_> = (0..9).map(|used| (100, 99 - used)).collect();
    assert_eq!(remaining, expected);
}

async fn what_is_public_or_no_route_does_not_count(engine: Engine) {
    let shop = shop(engine, 0, 2).await;
    for _ in 0..4 {
        for path in ["/2.0/openapi.json", "/docs", "/healthz", "/readyz"] {
            assert!(shop.server.anonymous().get(path).await.status < 400, "{path}");
        }
        shop.api.get("/2.0/nothing").await.refused(404, "route_not_found");
        shop.api.delete("/2.0/leads").await.refused(405, "method_not_allowed");
    }
    assert_eq!(limit_of(&get(&shop.api).await), (2, 1));
}

async fn failed_authentication_does_not_count(engine: Engine) {
    let shop = shop(engine, 0, 3).await;
    let key = shop.business.key("leads:read").await;
    let mistyped = shop.server.client(&format!("{}x", key.token));
    for _ in 0..10 {
        get(&mistyped).await.refused(401, "authentication_invalid");
        get(&shop.server.anonymous())
            .await
            .refused(401, "authentication_required");
    }
    assert_eq!(limit_of(&get(&shop.api).await), (3, 2));
}

async fn refused_accounts_do_not_count(engine: Engine) {
    let shop = shop(engine, 0, 1_000).await;
    let mut counted = 0;
    let mut until = async |status| {
        wait_for("the change takes effect", Duration::from_secs(5), async || {
            let answer = get(&shop.api).await;
            counted += u32::from(answer.status == 200);
            answer.status == status
        })
        .await;
    };
    shop.business.change(json!({"state": "frozen"})).await;
    until(403).await;
    for _ in 0..10 {
        get(&shop.api).await.refused(403, "account_frozen");
    }
    shop.business.change(json!({"state": "active"})).await;
    until(200).await;
    let next = i64::from(counted) + 1;
    assert_eq!(limit_of(&get(&shop.api).await), (1_000, 1_000 - next));
}

async fn all_keys_of_a_business_count_together(engine: Engine) {
    let shop = shop(engine, 0, 3).await;
    let other = shop.client("leads:read").await;
    assert_eq!(limit_of(&get(&shop.api).await), (3, 2));
    assert_eq!(limit_of(&get(&other).await), (3, 1));
    assert_eq!(limit_of(&get(&shop.api).await), (3, 0));
    get(&other).await.refused(429, "rate_limited");
}

async fn businesses_are_counted_apart(engine: Engine) {
    let shop = shop(engine, 0, 1).await;
    let rival = shop.rival().await;
    get(&shop.api).await.ok();
    get(&shop.api).await.refused(429, "rate_limited");
    get(&rival).await.ok();
}

async fn two_servers_share_counts_through_redis(engine: Engine) {
    let redis = Redis::empty(engine as u8 + 1).await;
    let installation = Installation::new(engine).await;
    let serve = || limited(installation.serve(), 0, 6).env("FORECOURT_REDIS_URL", redis.url());
    let (one, other) = (serve().start().await, serve().start().await);
    let token = installation.business(&acme()).await.key("leads:read").await.token;
    let clients = [one.client(&token), other.client(&token)];
    for (client, remaining) in clients.iter().cycle().zip((0..6).rev()) {
        assert_eq!(limit_of(&get(client).await), (6, remaining));
    }
    for client in &clients {
        limited_until_the_end_of(&get(client).await, DAY);
    }
}

async fn no_request_is_refused_for_an_outage_of_redis(engine: Engine) {
    let redis = Redis::empty(engine as u8 + 3).await;
    let proxy = Proxy::to(redis.address()).await;
    let url = redis.through(proxy.port());
    let shop = Shop::open_with(engine, |serve| limited(serve, 0, 1_000).env("FORECOURT_REDIS_URL", url)).await;
    assert_eq!(limit_of(&get(&shop.api).await), (1_000, 999));
    for outage in [Proxy::cut, Proxy::silence] {
        outage(&proxy);
        for _ in 0..20 {
            let answer = get(&shop.api).await;
            answer.ok();
            assert_eq!(answer.number("X-RateLimit-Limit"), 1_000);
        }
        proxy.mend();
    }
    // Once it is back, the servers count together again: this one continues from Redis' count.
    let together = async || limit_of(&get(&shop.api).await).1 > 970;
    wait_for("Redis is used again", Duration::from_secs(20), together).await;
}

async fn without_limits_nothing_is_shown(engine: Engine) {
    let shop = shop(engine, 0, 0).await;
    let answer = get(&shop.api).await;
    answer.ok();
    assert_eq!(answer.header("X-RateLimit-Limit"), None);
}

/// Takes up to a minute, since it waits for the next one.
#[tokio::test]
async fn a_refusal_does_not_count_and_ends_with_its_window() {
    let shop = shop(Engine::Sqlite, 3, 5).await;
    early_in(MINUTE).await;
    for _ in 0..3 {
        get(&shop.api).await.ok();
    }
    let mut refused = get(&shop.api).await;
    for _ in 0..10 {
        limited_until_the_end_of(&refused, MINUTE);
        refused = get(&shop.api).await;
    }
    let reset = refused.number("X-RateLimit-Reset");
    wait_for("the next minute", Duration::from_secs(70), async || now() > reset).await;
    for remaining in [1, 0] {
        let answer = get(&shop.api).await;
        answer.ok();
        assert_eq!(
            limit_of(&answer),
            (5, remaining),
            "the day's window has less left than the minute's"
        );
    }
    limited_until_the_end_of(&get(&shop.api).await, DAY);
}
