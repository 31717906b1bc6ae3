//! The requests that endpoints receive, and the retries when they do not accept them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use harness::{
    Client, Engine, Received, Receiver, Reply, Serve, Shop, both_engines, eventually, now, verify, wait_for,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    a_delivery_is_signed_and_carries_the_record
    a_webhook_receives_what_it_asked_for_and_may_know
    a_star_receives_everything_that_the_scopes_hold
    what_is_deleted_is_reported_by_its_id_alone
    what_changes_nothing_sends_nothing
    a_burst_of_changes_is_delivered_once_with_the_last_state
    a_record_that_keeps_changing_is_delivered_now_and_then
    discrete_events_and_other_records_are_delivered_apart
    a_delivery_is_tried_again_until_it_is_taken
    a_refused_delivery_fails
    a_success_makes_the_count_of_failures_0
    too_many_failures_disable_the_webhook_and_mail_the_business
    a_disabled_webhook_waits_and_collects_nothing
    a_ping_is_sent_at_once
    a_ping_reaches_a_disabled_webhook_and_counts_for_nothing
    a_rotated_secret_signs_at_once
    a_redelivery_is_the_same_event_once_more
    a_delivery_of_another_webhook_is_not_redelivered
    a_redirect_is_not_followed
    a_deleted_webhook_receives_nothing_and_keeps_its_history
    the_history_is_filtered_and_paged
    an_answer_is_kept_up_to_2_kib
    an_endpoint_that_is_not_there_is_reported
    an_endpoint_that_does_not_answer_is_given_up_in_time
    private_addresses_are_not_connected_to
    one_hanging_endpoint_delays_no_other
    a_slow_endpoint_delays_no_write
}

const WEBHOOKS: &str = "/2.0/webhooks";
/// The maximum time for immediate actions on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Opens a shop that may send to this machine; updates settle within a second.
async fn shop_with(engine: Engine, setup: impl FnOnce(Serve) -> Serve) -> Shop {
    Shop::open_with(engine, |serve| {
        let serve = serve
            .env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
            .env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 1);
        setup(serve)
    })
    .await
}

async fn shop(engine: Engine) -> Shop {
    shop_with(engine, |serve| serve).await
}

/// A webhook, with the means to inspect it.
struct Hook {
    api: Client,
    id: i64,
    path: String,
    secret: String,
}

impl Hook {
    async fn new(api: &Client, url: &str, events: Value) -> Self {
        let body = json!({"url": url, "events": events});
        let created = api.post(WEBHOOKS, &body).await.created();
        Self {
            api: api.clone(),
            id: created["id"].as_i64().unwrap(),
            path: format!("{WEBHOOKS}/{}", created["id"]),
            secret: created["secret"].as_str().unwrap().to_owned(),
        }
    }

    async fn read(&self) -> Value {
        self.api.get(&self.path).await.ok()
    }

    /// Returns its deliveries, newest first.
    async fn history(&self) -> Vec<Value> {
        self.api.walk(&format!("{}/deliveries", self.path)).await
    }

    /// Returns its one delivery, once its status is `status`.
    async fn delivery(&self, status: &str) -> Value {
        let what = format!("the delivery is {status}");
        eventually(&what, TIMEOUT, async || match self.history().await.as_slice() {
            [delivery] if delivery["status"] == status => Ok(delivery.clone()),
            other => Err(other.to_vec()),
        })
        .await
    }

    /// Waits until this number of deliveries have the status `status`.
    async fn deliveries(&self, count: usize, status: &str) {
        let path = format!("{}/deliveries?status={status}", self.path);
        let what = format!("{count} deliveries are {status}");
        eventually(&what, TIMEOUT, async || {
            let found = self.api.walk(&path).await.len();
            if found == count { Ok(()) } else { Err(found) }
        })
        .await;
    }

    async fn change(&self, body: Value) -> Value {
        self.api.patch(&self.path, &body).await.ok()
    }

    async fn ping(&self) -> Value {
        self.api.post(&format!("{}/ping", self.path), &json!({})).await.ok()
    }
}

fn names(received: &[Received]) -> Vec<String> {
    received
        .iter()
        .map(|received| received.json()["event"].as_str().unwrap().to_owned())
        .collect()
}

async fn a_delivery_is_signed_and_carries_the_record(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/a?b=c"), json!(["lead.created"])).await;
    let lead = shop
        .lead(&json!({"name": "Ann Öz", "tag": ["Hot"], "data": {"message": "Hello ☺"}}))
        .await;
    let received = receiver.wait_for(1, TIMEOUT).remove(0);
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/a?b=c"));
    let kind = received.header("Content-Type").unwrap();
    assert!(kind.starts_with("application/json"), "{kind}");

    let mut body = received.json();
    let id = body["id"].as_str().unwrap().to_owned();
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    assert!(
        id.strip_prefix("evt_")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(hexadecimal)),
        "{id}"
    );
    assert_eq!(
        body["data"].take(),
        shop.api.get(&format!("/2.0/leads/{}", lead["id"])).await.ok()
    );
    let business = body["business"].take();
    assert_eq!(business["tag"], "acme");
    assert!(business["id"].as_i64().is_some_and(|id| id > 0), "{business}");
    let expected = json!({
        "id": id, "event": "lead.created", "api_version": "2.0", "created": lead["created"], "business": null, "data": null,
    });
    assert_eq!(body, expected);

    let delivery = hook.delivery("delivered").await;
    assert_eq!(received.header("X-Service-Event"), Some("lead.created"));
    assert_eq!(received.header("X-Service-Event-Id"), Some(id.as_str()));
    assert_eq!(
        received.header("X-Service-Delivery").map(str::to_owned),
        Some(delivery["id"].to_string())
    );
    is_signed(&received, &hook.secret);

    let at = delivery["created"].as_i64().unwrap();
    let ms = delivery["response_ms"].as_i64().unwrap();
    assert!((0..60_000).contains(&ms), "{ms}");
    let expected = json!({
        "id": delivery["id"], "event": "lead.created", "event_id": id, "status": "delivered", "attempts": 1,
        "response_code": 200, "response_ms": ms, "response_body": "", "error": null, "next_attempt_at": null,
        "created": at, "delivered_at": delivery["delivered_at"],
    });
    assert_eq!(delivery, expected);
    assert!(delivery["delivered_at"].as_i64().unwrap() >= at);
    let webhook = hook.read().await;
    assert_eq!(
        (&webhook["last_status"], &webhook["failure_count"]),
        (&json!("delivered"), &json!(0))
    );
    assert!(webhook["last_delivery_at"].as_i64().unwrap() >= at);
}

/// Asserts that a request is signed with this secret, with nothing else, and just now.
#[track_caller]
fn is_signed(received: &Received, secret: &str) {
    let signature = received.header("X-Service-Signature").unwrap();
    assert!(verify(secret, signature, &received.body), "{received:?}");
    assert!(!verify("whsec_another", signature, &received.body));
    for at in (0..received.body.len()).step_by(7) {
        let mut altered = received.body.clone();
        altered[at] ^= 1;
        assert!(!verify(secret, signature, &altered));
    }
    let (time, rest) = signature.strip_prefix("t=").unwrap().split_once(',').unwrap();
    let time: i64 = time.parse().unwrap();
    assert!((now() - time).abs() <= 60, "{signature}");
    assert!(!verify(secret, &format!("t={},{rest}", time + 1), &received.body));
    let v1 = rest.strip_prefix("v1=").unwrap();
    assert!(
        v1.len() == 64
            && v1
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    );
}

async fn a_webhook_receives_what_it_asked_for_and_may_know(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let deleted = Hook::new(&shop.api, &receiver.url("/deleted"), json!(["lead.deleted"])).await;
    let body = json!({"url": receiver.url("/blind"), "events": "*", "scopes": ["contacts:read"]});
    let blind = shop.api.post(WEBHOOKS, &body).await.created();
    let other = Hook::new(&shop.rival().await, &receiver.url("/rival"), json!("*")).await;

    let lead = shop.lead_path("Ann").await;
    shop.api.delete(&lead).await.ok();
    deleted.delivery("delivered").await;
    assert_eq!(names(&receiver.received_at("/deleted")), ["lead.deleted"]);
    // Deliveries are made together with their event, so one that is not listed will never come.
    let blind = shop.api.list(&format!("{WEBHOOKS}/{}/deliveries", blind["id"])).await;
    assert!(blind.items.is_empty());
    assert!(other.history().await.is_empty());
    assert_eq!(receiver.received().len(), 1);
}

async fn a_star_receives_everything_that_the_scopes_hold(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    Hook::new(&shop.api, &receiver.url("/all"), json!("*")).await;
    let client = shop.client("webhooks:write,webhooks:read,contacts:read").await;
    let contacts = Hook::new(&client, &receiver.url("/contacts"), json!("*")).await;
    let lead = shop.lead_path("Ann").await;
    shop.api.patch(&lead, &json!({"name": "Bea"})).await.ok();
    receiver.wait_for(2, TIMEOUT);
    shop.api.delete(&lead).await.ok();
    let received = receiver.wait_for(3, TIMEOUT);
    assert_eq!(names(&received), ["lead.created", "lead.updated", "lead.deleted"]);
    assert_eq!(contacts.history().await, Vec::<Value>::new());
}

async fn what_is_deleted_is_reported_by_its_id_alone(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    Hook::new(&shop.api, &receiver.url("/"), json!(["lead.deleted"])).await;
    let lead = shop.lead(&json!({"name": "Ann"})).await;
    shop.api.delete(&format!("/2.0/leads/{}", lead["id"])).await.ok();
    let received = receiver.wait_for(1, TIMEOUT).remove(0);
    assert_eq!(received.json()["data"], json!({"id": lead["id"]}));
}

async fn what_changes_nothing_sends_nothing(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!("*")).await;
    let lead = shop.lead_path("Ann").await;
    shop.api.patch(&lead, &json!({"name": "Ann"})).await.ok();
    shop.api.patch(&lead, &json!({"site": 99})).await.invalid(&["site"]);
    let again = async || {
        let request = shop.api.request("PATCH", &lead).key("once");
        request.json(&json!({"name": "Bea"})).send().await.ok()
    };
    for _ in 0..3 {
        again().await;
    }
    hook.deliveries(2, "delivered").await;
    assert_eq!(names(&receiver.received()), ["lead.created", "lead.updated"]);
    assert_eq!(hook.history().await.len(), 2);
}

async fn a_burst_of_changes_is_delivered_once_with_the_last_state(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_SETTLE_SECONDS", 3)).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.updated"])).await;
    let lead = shop.lead_path("Ann").await;
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (api, lead) = (shop.api.clone(), lead.clone());
        writers.spawn(async move {
            for number in 0..125 {
                let name = format!("Ann {writer}-{number}");
                api.patch(&lead, &json!({"name": name})).await.ok();
            }
        });
    }
    writers.join_all().await;
    let ended = Instant::now();
    let received = receiver.wait_for(1, TIMEOUT).remove(0);
    assert!(
        received.at - ended >= Duration::from_millis(1500),
        "it was delivered before it settled"
    );
    assert_eq!(received.json()["data"], shop.api.get(&lead).await.ok());
    hook.delivery("delivered").await;
    assert_eq!(receiver.received().len(), 1);
}

async fn a_record_that_keeps_changing_is_delivered_now_and_then(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    Hook::new(&shop.api, &receiver.url("/"), json!(["lead.updated"])).await;
    let lead = shop.lead_path("Ann").await;
    let (api, path) = (shop.api.clone(), lead.clone());
    let writer = tokio::spawn(async move {
        for number in 0.. {
            api.patch(&path, &json!({"name": format!("Ann {number}")})).await.ok();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    // Ten settle times, and some for a busy machine.
    wait_for(
        "an update arrives while changes go on",
        Duration::from_secs(30),
        async || !receiver.received().is_empty(),
    )
    .await;
    writer.abort();
    assert!(writer.await.unwrap_err().is_cancelled(), "every change succeeded");
    // The last change may still be in progress when its writer is gone.
    wait_for("the last state is delivered in the end", TIMEOUT, async || {
        let last = shop.api.get(&lead).await.ok();
        receiver
            .received()
            .last()
            .is_some_and(|told| told.json()["data"] == last)
    })
    .await;
}

async fn discrete_events_and_other_records_are_delivered_apart(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!("*")).await;
    let mut leads = Vec::new();
    for number in 0..5 {
        leads.push(shop.lead_path(&format!("Lead {number}")).await);
    }
    for lead in &leads {
        shop.api.patch(lead, &json!({"name": "Other"})).await.ok();
        shop.api
            .patch(&format!("{lead}/status"), &json!({"status": "read"}))
            .await
            .ok();
    }
    receiver.wait_for(10, TIMEOUT);
    for lead in &leads {
        shop.api.delete(lead).await.ok();
    }
    let received = receiver.wait_for(15, TIMEOUT);
    hook.deliveries(15, "delivered").await;
    for name in ["lead.created", "lead.updated", "lead.deleted"] {
        let of_that = received.iter().filter(|received| received.json()["event"] == name);
        let records: BTreeSet<i64> = of_that
            .filter_map(|received| received.json()["data"]["id"].as_i64())
            .collect();
        assert_eq!(records.len(), 5, "{name}");
    }
    let ids: BTreeSet<String> = received
        .iter()
        .map(|received| received.json()["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 15, "each event has an id of its own");
}

async fn a_delivery_is_tried_again_until_it_is_taken(engine: Engine) {
    let shop = shop_with(engine, |serve| {
        serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1,2,3,4,5,6,7,8,9,10,11,12")
    })
    .await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(500).body("not now"));
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    shop.lead(&json!({"name": "Ann"})).await;
    receiver.wait_for(1, TIMEOUT);
    let waiting = eventually("the attempt is recorded", TIMEOUT, async || {
        match hook.history().await.remove(0) {
            delivery if delivery["attempts"] == 0 => Err(delivery),
            delivery => Ok(delivery),
        }
    })
    .await;
    assert_eq!(waiting["status"], "pending");
    assert_eq!(
        (&waiting["response_code"], &waiting["response_body"]),
        (&json!(500), &json!("not now"))
    );
    assert!(waiting["next_attempt_at"].as_i64().is_some(), "{waiting}");
    assert_eq!(waiting["delivered_at"], Value::Null);
    let webhook = hook.read().await;
    assert_eq!(
        (&webhook["last_status"], &webhook["failure_count"]),
        (&json!("failed"), &json!(0))
    );

    receiver.wait_for(2, TIMEOUT);
    receiver.answer("/", Reply::status(204));
    let delivery = hook.delivery("delivered").await;
    assert_eq!(delivery["response_code"], 204);
    assert_eq!(delivery["next_attempt_at"], Value::Null);
    let received = receiver.received();
    assert_eq!(delivery["attempts"], received.len());
    assert!(received.len() >= 3, "{received:?}");
    assert!(received[1].at - received[0].at >= Duration::from_millis(900));
    for attempt in &received {
        assert_eq!(attempt.body, received[0].body);
        assert_eq!(
            attempt.header("X-Service-Delivery"),
            received[0].header("X-Service-Delivery")
        );
        is_signed(attempt, &hook.secret);
    }
}

async fn a_refused_delivery_fails(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1,1")).await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(404));
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    shop.lead(&json!({"name": "Ann"})).await;
    let delivery = hook.delivery("failed").await;
    assert_eq!(
        (&delivery["attempts"], &delivery["response_code"]),
        (&json!(3), &json!(404))
    );
    assert_eq!(
        (&delivery["next_attempt_at"], &delivery["delivered_at"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(receiver.received().len(), 3);
    let webhook = hook.read().await;
    assert_eq!(
        (&webhook["status"], &webhook["last_status"], &webhook["failure_count"]),
        (&json!("active"), &json!("failed"), &json!(1))
    );
}

async fn a_success_makes_the_count_of_failures_0(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1")).await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(503));
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    for _ in 0..2 {
        shop.lead(&json!({"name": "Ann"})).await;
    }
    hook.deliveries(2, "failed").await;
    assert_eq!(hook.read().await["failure_count"], 2);
    receiver.answer("/", Reply::status(299));
    shop.lead(&json!({"name": "Bea"})).await;
    hook.deliveries(1, "delivered").await;
    let webhook = hook.read().await;
    assert_eq!(
        (&webhook["last_status"], &webhook["failure_count"]),
        (&json!("delivered"), &json!(0))
    );
}

async fn too_many_failures_disable_the_webhook_and_mail_the_business(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.webhooks_disabled_after(3)).await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(500));
    let url = receiver.url("/");
    let hook = Hook::new(&shop.api, &url, json!(["lead.created"])).await;
    let quiet = json!({"name": "Ann", "notify": false});
    for _ in 0..2 {
        shop.lead(&quiet).await;
    }
    hook.deliveries(2, "failed").await;
    assert_eq!(hook.read().await["status"], "active");
    for _ in 0..3 {
        shop.lead(&quiet).await;
    }
    wait_for("the webhook is disabled", TIMEOUT, async || {
        hook.read().await["status"] == "disabled"
    })
    .await;
    let webhook = hook.read().await;
    assert!(
        webhook["failure_count"].as_i64().is_some_and(|count| count >= 3),
        "{webhook}"
    );
    // No delivery is queued for later events.
    let before = hook.history().await.len();
    shop.lead(&quiet).await;
    assert_eq!(hook.history().await.len(), before);

    wait_for("the business is mailed", TIMEOUT, async || {
        !shop.installation().mails().is_empty()
    })
    .await;
    let mails = shop.installation().mails();
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0].contains("office@acme.example"), "{}", mails[0]);
    assert!(mails[0].contains(&hook.id.to_string()), "{}", mails[0]);

    receiver.answer("/", Reply::status(200));
    let enabled = hook.change(json!({"status": "active"})).await;
    assert_eq!(
        (&enabled["status"], &enabled["failure_count"]),
        (&json!("active"), &json!(0))
    );
    let lead = shop.lead(&quiet).await;
    // It may come together with those that waited while the webhook was disabled.
    receiver.wait_until(TIMEOUT, |received| {
        received
            .iter()
            .any(|received| received.json()["data"]["id"] == lead["id"])
    });
    assert_eq!(shop.installation().mails().len(), 1, "it was disabled once");
}

async fn a_disabled_webhook_waits_and_collects_nothing(engine: Engine) {
    let shop = shop_with(engine, |serve| {
        serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1,2,3,4,5,6,7,8,9,10,11,12")
    })
    .await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(500));
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    let first = shop.lead(&json!({"name": "Queued"})).await;
    receiver.wait_for(1, TIMEOUT);
    assert_eq!(hook.change(json!({"status": "disabled"})).await["status"], "disabled");
    let before = receiver.received_at("/").len();
    for _ in 0..3 {
        shop.lead(&json!({"name": "Unheard"})).await;
    }
    let history = hook.history().await;
    assert_eq!(history.len(), 1, "{history:?}");
    assert_eq!(history[0]["status"], "pending");

    // Another webhook that works shows that time has passed in which this one got nothing.
    let other = Hook::new(&shop.api, &receiver.url("/other"), json!(["lead.created"])).await;
    receiver.answer("/other", Reply::status(500));
    shop.lead(&json!({"name": "Heard elsewhere"})).await;
    wait_for("the other is tried again", TIMEOUT, async || {
        receiver.received_at("/other").len() >= 3
    })
    .await;
    let sent = receiver.received_at("/").len();
    assert!(
        sent <= before + 1,
        "an attempt that had begun is all that a disabled webhook receives: {sent} after {before}"
    );
    other.change(json!({"status": "disabled"})).await;

    receiver.answer("/", Reply::status(200));
    hook.change(json!({"status": "active"})).await;
    hook.delivery("delivered").await;
    let resumed = receiver.received_at("/").pop().unwrap();
    assert_eq!(resumed.json()["data"]["id"], first["id"]);
}

async fn a_ping_is_sent_at_once(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    let answer = hook.ping().await;
    assert_eq!(answer["queued"], true);
    assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()));
    let received = receiver.wait_for(1, TIMEOUT).remove(0);
    is_signed(&received, &hook.secret);
    let body = received.json();
    assert_eq!((&body["event"], &body["api_version"]), (&json!("ping"), &json!("2.0")));
    assert_eq!(body["data"], json!({"webhook": hook.id}));
    assert_eq!(body["business"]["tag"], "acme");
    assert_eq!(received.header("X-Service-Event"), Some("ping"));
    assert_eq!(received.header("X-Service-Event-Id"), body["id"].as_str());
    assert_eq!(
        received.header("X-Service-Delivery").map(str::to_owned),
        Some(answer["delivery_id"].to_string())
    );
    let delivery = hook.delivery("delivered").await;
    assert_eq!(
        (&delivery["id"], &delivery["event"]),
        (&answer["delivery_id"], &json!("ping"))
    );
    assert_eq!(delivery["event_id"], body["id"]);
    let filtered = shop.api.list(&format!("{}/deliveries?event=ping", hook.path)).await;
    assert_eq!(filtered.items, [delivery]);
    assert_eq!(
        shop.api.list("/2.0/events").await.items,
        Vec::<Value>::new(),
        "a ping is no event"
    );
}

async fn a_ping_reaches_a_disabled_webhook_and_counts_for_nothing(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.webhooks_disabled_after(1)).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!("*")).await;
    receiver.answer("/", Reply::status(500));
    hook.ping().await;
    let failed = hook.delivery("failed").await;
    assert_eq!(
        (&failed["attempts"], &failed["response_code"]),
        (&json!(1), &json!(500))
    );
    let webhook = hook.read().await;
    assert_eq!(
        (&webhook["status"], &webhook["failure_count"]),
        (&json!("active"), &json!(0))
    );

    hook.change(json!({"status": "disabled"})).await;
    receiver.answer("/", Reply::status(200));
    hook.ping().await;
    hook.deliveries(1, "delivered").await;
    assert_eq!(receiver.received().len(), 2, "a ping is tried once");
    assert_eq!(hook.read().await["status"], "disabled");
}

async fn a_rotated_secret_signs_at_once(engine: Engine) {
    let shop = shop_with(engine, |serve| {
        serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1,2,3,4,5,6,7,8")
    })
    .await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(500));
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!("*")).await;
    shop.lead(&json!({"name": "Ann"})).await;
    receiver.wait_for(1, TIMEOUT);
    let rotated = shop
        .api
        .post(&format!("{}/secret/rotate", hook.path), &json!({}))
        .await
        .ok();
    let secret = rotated["secret"].as_str().unwrap();
    receiver.answer("/", Reply::status(200));
    shop.lead(&json!({"name": "Bea"})).await;
    hook.deliveries(2, "delivered").await;
    let received = receiver.received();
    is_signed(&received[0], &hook.secret);
    let (first, last) = (&received[0], received.last().unwrap());
    assert!(last.is_signed(secret) && !last.is_signed(&hook.secret));
    // Deliveries that were queued before are sent too.
    let again = received
        .iter()
        .rev()
        .find(|received| received.body == first.body)
        .unwrap();
    assert!(again.is_signed(secret));
}

async fn a_redelivery_is_the_same_event_once_more(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    let lead = shop.lead_path("Ann").await;
    let first = hook.delivery("delivered").await;
    shop.api.patch(&lead, &json!({"name": "Changed since"})).await.ok();
    let again = shop
        .api
        .post(
            &format!("{}/deliveries/{}/redeliver", hook.path, first["id"]),
            &json!({}),
        )
        .await
        .created();
    assert_ne!(again["id"], first["id"]);
    assert_eq!(
        (&again["event_id"], &again["event"]),
        (&first["event_id"], &first["event"])
    );
    assert_eq!((&again["status"], &again["attempts"]), (&json!("pending"), &json!(0)));
    let received = receiver.wait_for(2, TIMEOUT);
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(
        received[1].header("X-Service-Delivery").map(str::to_owned),
        Some(again["id"].to_string())
    );
    hook.deliveries(2, "delivered").await;
    let history = hook.history().await;
    assert_eq!(
        (&history[0]["id"], &history[1]),
        (&again["id"], &first),
        "the first one stays as it was"
    );

    // A ping can be sent again, too.
    let ping = hook.ping().await["delivery_id"].take();
    hook.deliveries(3, "delivered").await;
    let path = format!("{}/deliveries/{ping}/redeliver", hook.path);
    assert_eq!(shop.api.post(&path, &json!({})).await.created()["event"], "ping");
    let received = receiver.wait_for(4, TIMEOUT);
    assert_eq!(received[2].body, received[3].body);
}

async fn a_delivery_of_another_webhook_is_not_redelivered(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/a"), json!(["lead.created"])).await;
    let other = Hook::new(&shop.api, &receiver.url("/b"), json!(["contact.created"])).await;
    let rival = shop.rival().await;
    let foreign = Hook::new(&rival, &receiver.url("/c"), json!("*")).await;
    shop.lead(&json!({"name": "Ann"})).await;
    let delivery = hook.delivery("delivered").await["id"].take();
    for (client, hook) in [(&shop.api, &other), (&rival, &foreign)] {
        let path = format!("{}/deliveries/{delivery}/redeliver", hook.path);
        let answer = client.post(&path, &json!({})).await;
        answer.refused(404, "webhook_delivery_not_found");
        assert!(hook.history().await.is_empty());
    }
}

async fn a_redirect_is_not_followed(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1")).await;
    let receiver = Receiver::start();
    for (path, status) in [
        ("/301", 301),
        ("/302", 302),
        ("/303", 303),
        ("/307", 307),
        ("/308", 308),
    ] {
        receiver.answer(
            path,
            Reply::status(status).header("Location", &receiver.url("/elsewhere")),
        );
        let hook = Hook::new(&shop.api, &receiver.url(path), json!("*")).await;
        hook.ping().await;
        let failed = hook.delivery("failed").await;
        assert_eq!(failed["response_code"], status);
    }
    assert!(receiver.received_at("/elsewhere").is_empty());
}

async fn a_deleted_webhook_receives_nothing_and_keeps_its_history(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "3600")).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created"])).await;
    shop.lead(&json!({"name": "Ann"})).await;
    hook.delivery("delivered").await;
    receiver.answer("/", Reply::status(500));
    shop.lead(&json!({"name": "Bea"})).await;
    receiver.wait_for(2, TIMEOUT);
    shop.api.delete(&hook.path).await.ok();
    shop.lead(&json!({"name": "Cat"})).await;
    let history = hook.history().await;
    let statuses: Vec<&Value> = history.iter().map(|delivery| &delivery["status"]).collect();
    assert_eq!(statuses, ["failed", "delivered"]);
    assert_eq!(history[0]["next_attempt_at"], Value::Null);
    let filtered = shop
        .api
        .list(&format!("{}/deliveries?status=failed&fields=id", hook.path))
        .await;
    assert_eq!(filtered.items, [json!({"id": history[0]["id"]})]);
    shop.rival()
        .await
        .get(&format!("{}/deliveries", hook.path))
        .await
        .refused(404, "webhook_not_found");
}

async fn the_history_is_filtered_and_paged(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "3600")).await;
    let receiver = Receiver::start();
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!(["lead.created", "lead.deleted"])).await;
    let mut leads = Vec::new();
    for number in 0..3 {
        leads.push(shop.lead_path(&format!("Lead {number}")).await);
    }
    hook.deliveries(3, "delivered").await;
    receiver.answer("/", Reply::status(500));
    shop.api.delete(&leads[0]).await.ok();
    hook.ping().await;
    hook.deliveries(1, "failed").await;

    let all = hook.history().await;
    let mut ids: Vec<i64> = all.iter().map(|delivery| delivery["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), 5);
    let shown = ids.clone();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(shown, ids, "newest first");
    let path = format!("{}/deliveries", hook.path);
    for (query, count) in [
        ("status=delivered", 3),
        ("status=pending", 1),
        ("status=failed", 1),
        ("event=lead.created", 3),
        ("event=lead.deleted", 1),
        ("event=ping", 1),
        ("event=vehicle.sold", 0),
        ("status=&event=", 5),
        ("event=lead.created&status=failed", 0),
    ] {
        let list = shop.api.list(&format!("{path}?{query}")).await;
        assert_eq!(
            (list.items.len(), &list.pagination["total"]),
            (count, &json!(count)),
            "{query}"
        );
        let walked = shop.api.walk(&format!("{path}?{query}&per_page=1")).await;
        assert_eq!(walked, list.items, "{query}");
    }
    let page = shop.api.list(&format!("{path}?per_page=2&page=3")).await;
    assert_eq!(page.ids(), ids[4..]);
    assert_eq!(
        page.pagination,
        json!({"page": 3, "per_page": 2, "total": 5, "total_pages": 3, "next_cursor": null})
    );
    for (query, parameter) in [
        ("status=lost", "status"),
        ("event=lead.exploded", "event"),
        ("event=*", "event"),
        ("per_page=501", "per_page"),
        ("cursor=x", "cursor"),
        ("view=x", "view"),
    ] {
        shop.api.get(&format!("{path}?{query}")).await.invalid(&[parameter]);
    }
}

async fn an_answer_is_kept_up_to_2_kib(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    for (path, body, kept) in [
        ("/short", "fine".to_owned(), "fine".to_owned()),
        ("/long", "x".repeat(100_000), "x".repeat(2048)),
    ] {
        receiver.answer(path, Reply::status(200).body(body));
        let hook = Hook::new(&shop.api, &receiver.url(path), json!("*")).await;
        hook.ping().await;
        assert_eq!(hook.delivery("delivered").await["response_body"], kept.as_str());
    }
    receiver.answer("/binary", Reply::status(200).body(vec![0, 0xff, 0xfe, b'a']));
    let hook = Hook::new(&shop.api, &receiver.url("/binary"), json!("*")).await;
    hook.ping().await;
    assert!(hook.delivery("delivered").await["response_body"].is_string());
}

async fn an_endpoint_that_is_not_there_is_reported(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_RETRY_OFFSETS", "1")).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}/", taken.local_addr().unwrap());
    drop(taken);
    for url in [nobody.as_str(), "http://nowhere.invalid/"] {
        let hook = Hook::new(&shop.api, url, json!("*")).await;
        hook.ping().await;
        let failed = hook.delivery("failed").await;
        assert_eq!(
            (&failed["response_code"], &failed["response_body"]),
            (&Value::Null, &Value::Null)
        );
        assert!(
            failed["error"].as_str().is_some_and(|error| !error.is_empty()),
            "{failed}"
        );
    }
}

async fn an_endpoint_that_does_not_answer_is_given_up_in_time(engine: Engine) {
    let shop = shop_with(engine, |serve| serve.env("FORECOURT_WEBHOOK_TIMEOUT_SECONDS", 1)).await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(200).after(Duration::from_secs(120)));
    let hook = Hook::new(&shop.api, &receiver.url("/"), json!("*")).await;
    hook.ping().await;
    let failed = hook.delivery("failed").await;
    assert_eq!(failed["response_code"], Value::Null);
    let ms = failed["response_ms"].as_i64().unwrap();
    assert!((900..30_000).contains(&ms), "{ms}");
}

async fn private_addresses_are_not_connected_to(engine: Engine) {
    let shop = Shop::open(engine).await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",
    ] {
        let hook = Hook::new(&shop.api, &format!("https://{host}:{port}/"), json!("*")).await;
        hook.ping().await;
        let failed = hook.delivery("failed").await;
        assert!(
            failed["error"].is_string() && failed["response_code"].is_null(),
            "{failed}"
        );
    }
    let nobody = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(nobody, Err(ErrorKind::WouldBlock), "somebody connected");
}

async fn one_hanging_endpoint_delays_no_other(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    receiver.answer("/hangs", Reply::status(200).after(Duration::from_secs(600)));
    let hangs = Hook::new(&shop.api, &receiver.url("/hangs"), json!(["lead.created"])).await;
    for number in 0..20 {
        Hook::new(&shop.api, &receiver.url(&format!("/{number}")), json!(["lead.created"])).await;
    }
    // More than the limit per endpoint allows.
    for number in 0..40 {
        shop.lead(&json!({"name": format!("Lead {number}"), "notify": false}))
            .await;
    }
    let healthy = |received: &[Received]| received.iter().filter(|received| received.path != "/hangs").count();
    receiver.wait_until(TIMEOUT, |received| healthy(received) >= 800);
    receiver.forget();
    shop.lead(&json!({"name": "Last"})).await;
    receiver.wait_until(TIMEOUT, |received| healthy(received) >= 20);
    assert!(
        hangs
            .history()
            .await
            .iter()
            .all(|delivery| delivery["status"] == "pending")
    );
}

async fn a_slow_endpoint_delays_no_write(engine: Engine) {
    let shop = shop(engine).await;
    let receiver = Receiver::start();
    receiver.answer("/", Reply::status(200).after(Duration::from_secs(600)));
    Hook::new(&shop.api, &receiver.url("/"), json!("*")).await;
    // Not one of them waits for it: the endpoint answers much later than any request may take.
    for _ in 0..50 {
        let lead = shop.lead_path("Ann").await;
        shop.api.patch(&lead, &json!({"name": "Bea"})).await.ok();
    }
}
