//! Bounds on the webhooks of one business, key or endpoint, and their effect on others.

use std::time::{Duration, Instant};

use harness::{Answer, Client, Engine, Receiver, Reply, Serve, Shop, both_engines, eventually, now, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    a_business_has_50_webhooks_at_most
    changing_a_webhook_takes_every_scope_of_it
    named_events_take_their_scopes
    a_secret_is_replayed_to_keys_that_may_have_it
    another_secret_key_stops_the_start
    an_update_is_dropped_with_its_record
    silent_endpoints_delay_no_other
    an_endpoint_may_put_off_the_next_attempt
    a_stop_under_load_delays_no_delivery
}

const WEBHOOKS: &str = "/2.0/webhooks";
/// The maximum time for immediate actions on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

async fn shop_with(engine: Engine, setup: impl FnOnce(Serve) -> Serve) -> Shop {
    Shop::open_with(engine, |serve| {
        let serve = serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 2);
        setup(serve)
    })
    .await
}

async fn create(api: &Client, url: &str) -> Answer {
    api.post(WEBHOOKS, &json!({"url": url, "events": "*"})).await
}

#[track_caller]
fn denied(answer: &Answer, scope: &str) {
    answer.refused(403, "scope_denied");
    assert_eq!(answer.json()["error"]["details"]["scope"], scope);
}

async fn a_business_has_50_webhooks_at_most(engine: Engine) {
    let shop = Shop::open(engine).await;
    let url = "https://example.com/hook";
    for _ in 0..46 {
        create(&shop.api, url).await.created();
    }
    let mut racers = JoinSet::new();
    for _ in 0..10 {
        let api = shop.api.clone();
        racers.spawn(async move { create(&api, url).await });
    }
    let answers = racers.join_all().await;
    let (made, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!(made.len(), 4);
    for answer in refused {
        answer.invalid(&["webhooks"]);
    }
    let listed = shop.api.list(&format!("{WEBHOOKS}?per_page=100")).await.ids();
    assert_eq!(listed.len(), 50);
    create(&shop.rival().await, url).await.created();
    shop.api.delete(&format!("{WEBHOOKS}/{}", listed[7])).await.ok();
    create(&shop.api, url).await.created();
    create(&shop.api, url).await.invalid(&["webhooks"]);
}

async fn changing_a_webhook_takes_every_scope_of_it(engine: Engine) {
    let receiver = Receiver::start();
    let shop = shop_with(engine, |serve| serve).await;
    let wide = json!({
        "url": receiver.url("/"), "events": ["lead.created", "vehicle.sold"],
        "scopes": ["leads:read", "vehicles:read", "vehicle-pricing:read"],
    });
    let created = shop.api.post(WEBHOOKS, &wide).await.created();
    let path = format!("{WEBHOOKS}/{}", created["id"]);
    shop.lead(&json!({"name": "Ann"})).await;
    receiver.wait_for(1, TIMEOUT);
    let delivery = shop.api.list(&format!("{path}/deliveries")).await.ids()[0];
    let redeliver = format!("{path}/deliveries/{delivery}/redeliver");

    let lesser = shop
        .client("webhooks:write,webhooks:read,leads:read,vehicles:read")
        .await;
    let before = shop.api.get(&path).await.ok();
    for change in [
        json!({"url": "https://elsewhere.example/"}),
        json!({"events": ["lead.created"]}),
        json!({"status": "disabled"}),
        json!({"description": "x", "status": "disabled"}),
    ] {
        denied(&lesser.patch(&path, &change).await, "vehicle-pricing:read");
    }
    for post in [
        format!("{path}/secret/rotate"),
        format!("{path}/ping"),
        redeliver.clone(),
    ] {
        denied(&lesser.post(&post, &json!({})).await, "vehicle-pricing:read");
    }
    assert_eq!(shop.api.get(&path).await.ok()["url"], before["url"]);
    let labelled = lesser.patch(&path, &json!({"description": "CRM"})).await.ok();
    assert_eq!(labelled["description"], "CRM");
    // Faults and missing records are reported first.
    lesser.patch(&path, &json!({"url": 5})).await.invalid(&["url"]);
    let absent = format!("{WEBHOOKS}/999999/ping");
    lesser.post(&absent, &json!({})).await.refused(404, "webhook_not_found");
    // A refusal depends on the key and is not replayed for a retry.
    let rotate = |client: &Client| {
        client
            .request("POST", &format!("{path}/secret/rotate"))
            .key("rotate")
            .send()
    };
    denied(&rotate(&lesser).await, "vehicle-pricing:read");
    rotate(&shop.api).await.ok();

    let equal = "webhooks:write,leads:read,vehicles:read,vehicle-pricing:read";
    let equal = shop.client(equal).await;
    equal.patch(&path, &json!({"status": "active"})).await.ok();
    equal.post(&redeliver, &json!({})).await.created();
    equal.post(&format!("{path}/ping"), &json!({})).await.ok();
    assert_eq!(
        receiver.wait_for(3, TIMEOUT).len(),
        3,
        "nothing that was denied was sent"
    );
}

async fn named_events_take_their_scopes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let client = shop.client("webhooks:write,leads:read,contacts:read").await;
    let post = async |events: Value, scopes: Value| {
        let body = json!({"url": "https://example.com/", "events": events, "scopes": scopes});
        client.post(WEBHOOKS, &body).await
    };
    post(json!(["lead.created"]), json!(["contacts:read"]))
        .await
        .invalid(&["events"]);
    post(json!(["lead.created"]), json!([])).await.invalid(&["events"]);
    post(json!(["lead.created"]), json!(["leads:read", "vehicles:read"]))
        .await
        .invalid(&["scopes"]);
    let made = post(json!("*"), json!(["leads:read"])).await.created();
    assert_eq!(made["scopes"], json!(["leads:read"]));
    let path = format!("{WEBHOOKS}/{}", made["id"]);
    client
        .patch(&path, &json!({"events": ["contact.created"]}))
        .await
        .invalid(&["events"]);
    client.patch(&path, &json!({"events": ["lead.created"]})).await.ok();
}

async fn a_secret_is_replayed_to_keys_that_may_have_it(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lesser = shop.client("webhooks:write,leads:read").await;
    let equal = shop.client("webhooks:write,leads:read,contacts:read").await;
    let body = json!({"url": "https://example.com/", "events": ["lead.created", "contact.created"]});
    let post = |client: &Client| client.request("POST", WEBHOOKS).key("create").json(&body).send();
    let created = post(&shop.api).await.created();
    assert_eq!(post(&equal).await.created()["secret"], created["secret"]);
    denied(&post(&lesser).await, "contacts:read");

    let path = format!("{WEBHOOKS}/{}/secret/rotate", created["id"]);
    let rotate = |client: &Client| client.request("POST", &path).key("rotate").send();
    let rotated = rotate(&shop.api).await.ok();
    assert_eq!(rotate(&equal).await.ok()["secret"], rotated["secret"]);
    denied(&rotate(&lesser).await, "contacts:read");
}

async fn another_secret_key_stops_the_start(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    create(&shop.api, "https://example.com/").await.created();
    shop.server.terminate().await;
    let other = "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk=";
    let installation = shop.installation();
    let outcome = installation.serve().env("FORECOURT_SECRET_KEY", other).refused().await;
    outcome.failed_naming("FORECOURT_SECRET_KEY");
    shop.server.restart().await;
    shop.lead(&json!({"name": "Ann"})).await;
}

async fn an_update_is_dropped_with_its_record(engine: Engine) {
    let receiver = Receiver::start();
    let shop = shop_with(engine, |serve| serve).await;
    create(&shop.api, &receiver.url("/")).await.created();
    for (list, body, change) in [
        ("/2.0/leads", json!({"name": "Ann"}), json!({"name": "Bea"})),
        ("/2.0/contacts", json!({"name": "Ann"}), json!({"name": "Bea"})),
    ] {
        receiver.forget();
        let gone = shop.api.post(list, &body).await.created()["id"].clone();
        let stays = shop.api.post(list, &body).await.created()["id"].clone();
        shop.api.patch(&format!("{list}/{gone}"), &change).await.ok();
        shop.api.delete(&format!("{list}/{gone}")).await.ok();
        // Later, so its update arrives after any other.
        shop.api.patch(&format!("{list}/{stays}"), &change).await.ok();
        let received = receiver.wait_until(TIMEOUT, |received| {
            received.iter().any(|received| {
                let body = received.json();
                body["data"]["id"] == stays && body["event"].as_str().is_some_and(|name| name.ends_with(".updated"))
            })
        });
        let mut of_it: Vec<String> = received
            .iter()
            .map(|received| received.json())
            .filter(|body| body["data"]["id"] == gone)
            .map(|body| body["event"].as_str().unwrap().rsplit('.').next().unwrap().to_owned())
            .collect();
        of_it.sort();
        assert_eq!(of_it, ["created", "deleted"]);
    }
}

async fn silent_endpoints_delay_no_other(engine: Engine) {
    let receiver = Receiver::start();
    receiver.answer("/silent", Reply::status(200).after(Duration::from_secs(600)));
    let shop = shop_with(engine, |serve| serve).await;
    for _ in 0..50 {
        create(&shop.api, &receiver.url("/silent")).await.created();
    }
    let rival = shop.rival().await;
    create(&rival, &receiver.url("/quick")).await.created();
    for number in 0..20 {
        shop.lead(&json!({"name": format!("Lead {number}")})).await;
    }
    receiver.wait_for(100, TIMEOUT);
    for number in 1..=5 {
        rival.post("/2.0/leads", &json!({"name": "Ann"})).await.created();
        receiver.wait_until(TIMEOUT, |received| {
            received.iter().filter(|received| received.path == "/quick").count() == number
        });
        // Those of the silent endpoints end much later.
    }
}

async fn an_endpoint_may_put_off_the_next_attempt(engine: Engine) {
    let receiver = Receiver::start();
    receiver.answer("/busy", Reply::status(503).header("Retry-After", "500"));
    receiver.answer("/broken", Reply::status(500).header("Retry-After", "500"));
    receiver.answer("/for-ever", Reply::status(429).header("Retry-After", "9999999"));
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "100,1000")).await;
    for (path, seconds) in [("/busy", 500), ("/broken", 100), ("/for-ever", 1000)] {
        let hook = create(&shop.api, &receiver.url(path)).await.created();
        let before = now();
        shop.lead(&json!({"name": "Ann"})).await;
        let deliveries = format!("{WEBHOOKS}/{}/deliveries", hook["id"]);
        let next = eventually("the attempt has failed", TIMEOUT, async || {
            let delivery = shop.api.list(&deliveries).await.items.remove(0);
            match delivery["next_attempt_at"]
                .as_i64()
                .filter(|_| delivery["attempts"] == 1)
            {
                Some(next) => Ok(next),
                None => Err(delivery),
            }
        })
        .await;
        let wait = next - before;
        assert!((seconds..=seconds + 40).contains(&wait), "{path}: {wait}");
        shop.api.delete(&format!("{WEBHOOKS}/{}", hook["id"])).await.ok();
    }
}

async fn a_stop_under_load_delays_no_delivery(engine: Engine) {
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(200).after(Duration::from_millis(20)));
    let mut shop = shop_with(engine, |serve| serve).await;
    create(&shop.api, &receiver.url("/")).await.created();
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let api = shop.api.clone();
        writers.spawn(async move {
            let mut made = Vec::new();
            loop {
                let request = api.request("POST", "/2.0/leads").json(&json!({"name": "Ann"}));
                match request.attempt().await {
                    Ok(answer) if answer.status == 201 => made.push(answer.created()["id"].as_i64().unwrap()),
                    _ => return made,
                }
            }
        });
    }
    // Not a wait that blocks the thread: the writers need it.
    wait_for("deliveries arrive", TIMEOUT, async || receiver.received().len() >= 50).await;
    assert_eq!(shop.server.terminate().await.code(), Some(0), "{}", shop.server.log());
    let made: Vec<i64> = writers.join_all().await.into_iter().flatten().collect();
    shop.server.restart().await;
    let restarted = Instant::now();
    receiver.wait_until(TIMEOUT, |received| {
        let received: Vec<Value> = received
            .iter()
            .map(|received| received.json()["data"]["id"].clone())
            .collect();
        made.iter().all(|id| received.contains(&json!(id)))
    });
    // A lease lasts 30 seconds.
    assert!(
        restarted.elapsed() < Duration::from_secs(30),
        "{:?}",
        restarted.elapsed()
    );
}
