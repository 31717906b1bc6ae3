//! One business sends the costliest requests within its rate limit; another one's requests are answered as if it were alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use harness::{Client, Engine, Raw, Receiver, Reply, Server, Shop, both_engines, url_query};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

both_engines! {
    a_hostile_neighbour_slows_no_other_business
}

/// A limit for all requests of the neighbour except the slowest one in a hundred, on a machine with other work.
/// `cargo xtask bench` measures the real times.
const P99: Duration = Duration::from_secs(10);
/// The maximum growth of the process in bytes, while some forty of the largest answers are sent at once.
const GROWTH: u64 = 150 * 1024 * 1024;
/// The maximum time until an event of the neighbour reaches its endpoint.
const DELIVERY: Duration = Duration::from_secs(60);
/// The requests that the default rate limit allows a business in a minute.
const RATE_LIMIT: u32 = 300;

/// The number of large leads of the hostile business.
const LEADS: usize = 300;
/// The number of them that concern the contact that is deleted, and the number of names it had.
const LINKED: usize = 100;
/// The bytes of text in each of them; a lead's data may have 64 KiB.
const DATA: usize = 60_000;

async fn a_hostile_neighbour_slows_no_other_business(engine: Engine) {
    let receiver = Receiver::start();
    receiver.answer("/tarpit", Reply::status(200).after(Duration::from_secs(60)));
    let mut shop = Shop::open_with(engine, |serve| {
        serve.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
    })
    .await;
    let neighbour = shop.rival().await;
    let hook = json!({"url": receiver.url("/neighbour"), "events": ["lead.created"]});
    neighbour.post("/2.0/webhooks", &hook).await.created();
    let target = prepare(&shop, &receiver).await;

    shop.server
        .restart_with("FORECOURT_RATE_LIMIT_PER_MINUTE", RATE_LIMIT)
        .await;
    let storm = Storm::default();
    let work = async { tokio::join!(live(&neighbour, &storm), attack(&shop, &target, &storm)) };
    let (growth, (seen, ())) = shop.server.growth(work).await;

    assert!(seen.len() >= 100, "the neighbour was hardly there: {}", seen.len());
    let p99 = seen[seen.len() * 99 / 100];
    assert!(p99 < P99, "p99 {p99:?}, slowest {:?}", seen.last());
    assert!(growth < GROWTH, "the server grew by {} MiB", growth >> 20);

    let mark = neighbour.post("/2.0/leads", &json!({"name": "Marker"})).await.created();
    receiver.wait_until(DELIVERY, |received| {
        let arrived = |body: &Value| body["data"]["id"] == mark["id"];
        received
            .iter()
            .any(|received| received.path == "/neighbour" && arrived(&received.json()))
    });
}

/// The resources of the hostile business.
struct Target {
    contact: Value,
    webhooks: Vec<Value>,
}

/// Fills the hostile business up to its limits, while no rate limit applies.
async fn prepare(shop: &Shop, receiver: &Receiver) -> Target {
    let contact = shop
        .api
        .post("/2.0/contacts", &json!({"name": "Name 0"}))
        .await
        .created();
    let path = format!("/2.0/contacts/{}", contact["id"]);
    for number in 1..=LINKED {
        let name = json!({"name": format!("Name {number} {}", "x".repeat(200))});
        shop.api.patch(&path, &name).await.ok();
    }
    let note = json!({"note": "n".repeat(20_000)});
    for _ in 0..60 {
        shop.api.post(&format!("{path}/notes"), &note).await.created();
    }
    for number in 0..LEADS {
        let linked = (number < LINKED).then(|| contact["id"].clone());
        let lead = json!({
            "name": "a".repeat(250),
            "contact": linked,
            "data": {"message": format!("Name {number} ").repeat(DATA / 9)},
        });
        shop.lead(&lead).await;
    }
    let mut webhooks = Vec::new();
    for _ in 0..50 {
        let hook = json!({"url": receiver.url("/tarpit"), "events": "*"});
        webhooks.push(shop.api.post("/2.0/webhooks", &hook).await.created()["id"].clone());
    }
    Target { contact, webhooks }
}

/// Sends everything at once, within the rate limit.
async fn attack(shop: &Shop, target: &Target, storm: &Storm) {
    let mut attackers = JoinSet::new();
    let mut send = |times: usize, method: &'static str, path: String, body: Option<String>| {
        for _ in 0..times {
            let (api, storm, path, body) = (shop.api.clone(), storm.clone(), path.clone(), body.clone());
            attackers.spawn(async move {
                let mut request = api.request(method, &path);
                if let Some(body) = body {
                    request = request.body(body);
                }
                // A request whose connection is cut counts as answered.
                if let Ok(answer) = request.attempt().await {
                    storm.note(answer.status, &path);
                }
            });
        }
    };
    let contact = format!("/2.0/contacts/{}", target.contact["id"]);

    send(
        2,
        "GET",
        format!("/2.0/reference/sites?fields={}", ".".repeat(30_000)),
        None,
    );
    send(
        2,
        "GET",
        format!("/2.0/reference/sites?fields={}", "a.".repeat(1_000)),
        None,
    );
    send(2, "GET", format!("/2.0/leads?fields={}", "a,".repeat(1_000)), None);
    let patterns = [
        format!("%{}b%", "a".repeat(97)),
        "%g%g%g%g".repeat(8),
        format!("%{}%{}%{}b%", "a".repeat(30), "a".repeat(30), "a".repeat(30)),
        "%g".repeat(4_000),
    ];
    for pattern in &patterns {
        send(10, "GET", url_query("/2.0/leads", [("name", pattern.as_str())]), None);
        send(2, "GET", url_query("/2.0/vehicles", [("make", pattern.as_str())]), None);
    }
    send(4, "POST", "/2.0/leads".into(), Some("[".repeat(1_000_000)));
    let nested = format!("{{\"data\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    send(2, "POST", "/2.0/leads".into(), Some(nested));
    let many = format!("[{}0]", "0,".repeat(500_000));
    send(
        4,
        "PATCH",
        "/2.0/leads/1/assign".into(),
        Some(format!("{{\"assign\":{many}}}")),
    );
    send(2, "POST", "/2.0/leads".into(), Some(format!("{{\"type\":{many}}}")));
    send(2, "POST", "/2.0/contacts".into(), Some(format!("{{\"tag\":{many}}}")));
    let long = json!({"name": "é".repeat(500_000)}).to_string();
    send(2, "POST", "/2.0/leads".into(), Some(long));
    send(12, "GET", "/2.0/leads?view=full&per_page=500".into(), None);
    send(4, "GET", "/2.0/leads?fields=id,data&per_page=500".into(), None);
    send(6, "GET", "/2.0/events?per_page=500".into(), None);
    send(20, "GET", "/2.0/events?after=1000000&wait=30".into(), None);
    send(4, "GET", format!("{contact}/export"), None);
    for webhook in &target.webhooks {
        send(1, "POST", format!("/2.0/webhooks/{webhook}/ping"), None);
    }
    for webhook in target.webhooks.iter().take(10) {
        send(1, "DELETE", format!("/2.0/webhooks/{webhook}"), None);
    }
    let lead = json!({"name": "One more", "data": {"message": "m".repeat(DATA)}}).to_string();
    send(20, "POST", "/2.0/leads".into(), Some(lead));
    send(1, "DELETE", contact, None);

    let silent = read_nothing(shop).await;
    guess_tokens(&shop.server).await;
    while let Some(attacker) = attackers.join_next().await {
        attacker.unwrap();
    }
    drop(silent);
    storm.end();
    storm.assert_no_failure();
}

/// Requests the largest answers, and reads none of their bytes.
async fn read_nothing(shop: &Shop) -> Vec<Raw> {
    let token = shop.business.key("leads:read").await.token;
    let request =
        format!("GET /2.0/leads?view=full&per_page=500 HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\n\r\n");
    let mut clients = Vec::new();
    for _ in 0..10 {
        let mut client = Raw::connect(&shop.server).await;
        client.send(request.as_bytes()).await.unwrap();
        clients.push(client);
    }
    clients
}

/// Presents dozens of bad tokens from the address of all clients in this test.
async fn guess_tokens(server: &Server) {
    let guesser = server.client("fck_aaaaaaaaaaaaaaaa.nonsense");
    for _ in 0..120 {
        guesser.get("/2.0/leads").await.refused(401, "authentication_invalid");
    }
}

/// Acts as the neighbour: creates, reads and lists until the attack is over. Returns the times of the requests, in order.
async fn live(neighbour: &Client, storm: &Storm) -> Vec<Duration> {
    let mut seen = Vec::new();
    let timed = async |seen: &mut Vec<Duration>, request: &str, body: Option<&Value>| {
        let asked = Instant::now();
        let answer = match body {
            Some(body) => neighbour.post(request, body).await,
            None => neighbour.get(request).await,
        };
        seen.push(asked.elapsed());
        // Its own rate limit applies to it as well.
        if answer.status != 429 {
            answer.not_our_fault();
            assert!(answer.status < 400, "{request} answered {}", answer.status);
        }
        answer
    };
    while seen.len() < 100 || (!storm.is_over() && seen.len() < RATE_LIMIT as usize) {
        let made = timed(&mut seen, "/2.0/leads", Some(&json!({"name": "Ann"}))).await;
        if made.status == 201 {
            let path = format!("/2.0/leads/{}", made.created()["id"]);
            timed(&mut seen, &path, None).await;
        }
        timed(&mut seen, "/2.0/leads", None).await;
        sleep(Duration::from_millis(50)).await;
    }
    seen.sort_unstable();
    seen
}

/// The answers that the attackers got, and whether they are done.
#[derive(Clone, Default)]
struct Storm {
    over: Arc<AtomicBool>,
    answers: Arc<std::sync::Mutex<BTreeMap<(u16, String), usize>>>,
}

impl Storm {
    fn note(&self, status: u16, path: &str) {
        let path: String = path.chars().take(60).collect();
        *self.answers.lock().unwrap().entry((status, path)).or_default() += 1;
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn assert_no_failure(&self) {
        let answers = self.answers.lock().unwrap();
        let failed = answers.iter().filter(|((status, _), _)| *status >= 500);
        let failed: Vec<_> = failed.collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
