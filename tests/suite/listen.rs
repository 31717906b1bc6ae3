//! `forecourt listen`: events posted to a receiver that only this machine reaches.

use std::time::Duration;

use harness::{Engine, Job, Port, Received, Receiver, Reply, Shop, both_engines, verify, wait_for};
use serde_json::{Value, json};

both_engines! {
    events_come_as_a_webhook_brings_them
    what_happens_while_the_server_is_away_is_not_missed
}

const TIMEOUT: Duration = Duration::from_secs(60);
const SCOPES: &str = "webhooks:read,leads:read";

async fn shop(engine: Engine) -> Shop {
    Shop::open_with(engine, |serve| {
        serve.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
    })
    .await
}

/// Listens to the shop, with these additional arguments.
async fn listen(shop: &Shop, url: &str, arguments: &[&str]) -> Job {
    listen_with(shop, url, arguments, &[]).await
}

/// Listens to the shop, with these additional arguments and variables.
async fn listen_with(shop: &Shop, url: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Job {
    let token = shop.business.key(SCOPES).await.token;
    let server = shop.server.base_url();
    let start = ["listen", "--forward-to", url, "--server", &server];
    let arguments = start.into_iter().chain(arguments.iter().copied());
    let variables = [&[("FORECOURT_TOKEN", token.as_str())], variables].concat();
    shop.installation().start(arguments, &variables)
}

/// Returns the first `number` lines as documents.
async fn documents(job: &Job, number: usize) -> Vec<Value> {
    let lines = job.lines(number).await;
    let document = |line: &String| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    lines.iter().map(document).collect()
}

fn event_id(received: &Received) -> &str {
    received.header("X-Service-Event-Id").unwrap()
}

async fn events_come_as_a_webhook_brings_them(engine: Engine) {
    let (shop, receiver) = (shop(engine).await, Receiver::start());
    let webhook = json!({"url": receiver.url("/webhook"), "events": "*"});
    let webhook = shop.api.post("/2.0/webhooks", &webhook).await.created();
    let job = listen(&shop, &receiver.url("/listen?a=b"), &["--json"]).await;
    let beginning = documents(&job, 1).await.remove(0);
    let secret = beginning["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    let expected = json!({
        "server": shop.server.base_url(),
        "forward_to": receiver.url("/listen?a=b"),
        "secret": secret,
        "position": "0",
    });
    assert_eq!(beginning, expected);

    let message = "\"Saturday\"?\n\\ 100 % – Zoë 🚗";
    let lead = shop.lead(&json!({"name": "Zoë", "data": {"message": message}})).await;
    let path = format!("/2.0/leads/{}", lead["id"]);
    shop.api.patch(&path, &json!({"name": "Ann"})).await.ok();
    // A deletion supersedes a change that has not been sent yet.
    receiver.wait_for(4, TIMEOUT);
    shop.api.delete(&path).await.ok();
    let both = receiver.wait_for(6, TIMEOUT);
    let (webhooks, listened): (Vec<_>, Vec<_>) = both.iter().partition(|received| received.path == "/webhook");
    assert_eq!((webhooks.len(), listened.len()), (3, 3));
    for (received, sequence) in listened.iter().zip(1..) {
        let same = |other: &&&Received| event_id(other) == event_id(received);
        let other = webhooks.iter().find(same).expect("the webhook brings it too");
        assert_eq!(str::from_utf8(&received.body), str::from_utf8(&other.body));
        assert!(received.is_signed(secret), "{received:?}");
        assert!(other.is_signed(webhook["secret"].as_str().unwrap()), "{other:?}");
        let names = |received: &Received| -> Vec<String> {
            let names = received.headers.iter().map(|(name, _)| name.clone());
            names.collect()
        };
        assert_eq!(names(received), names(other));
        for name in ["Content-Type", "X-Service-Event", "User-Agent"] {
            assert_eq!(received.header(name), other.header(name));
        }
        assert_eq!(
            received.header("X-Service-Delivery"),
            Some(format!("{sequence}").as_str())
        );
        assert!(received.json().get("sequence").is_none());
    }
    let printed = documents(&job, 4).await.split_off(1);
    let summary = |document: &Value| {
        let texts = [&document["event"], &document["outcome"]].map(|text| text.as_str().unwrap().to_owned());
        (
            document["sequence"].as_i64().unwrap(),
            texts,
            document["status"].as_i64(),
        )
    };
    let expected = [(1, "lead.created"), (2, "lead.updated"), (3, "lead.deleted")];
    let expected = expected.map(|(number, event)| (number, [event.to_owned(), "delivered".to_owned()], Some(200)));
    assert_eq!(printed.iter().map(summary).collect::<Vec<_>>(), expected);
}

async fn what_happens_while_the_server_is_away_is_not_missed(engine: Engine) {
    let (mut shop, receiver) = (shop(engine).await, Receiver::start());
    let job = listen(&shop, &receiver.url("/hook"), &[]).await;
    job.lines(3).await;
    shop.lead(&json!({})).await;
    receiver.wait_for(1, TIMEOUT);
    for number in 2..4 {
        shop.server.kill9().await;
        let absences = || job.stderr().matches("trying again in 1 s").count();
        wait_for("the absence is reported", TIMEOUT, async || absences() == number - 1).await;
        shop.server.restart().await;
        shop.lead(&json!({})).await;
        let received = receiver.wait_for(number, TIMEOUT);
        let sequence = number.to_string();
        assert_eq!(received.len(), number);
        assert_eq!(
            received[number - 1].header("X-Service-Delivery"),
            Some(sequence.as_str())
        );
    }
    assert_eq!(job.stderr().matches("answers again").count(), 2, "{}", job.stderr());
}

#[tokio::test]
async fn people_read_one_line_per_delivery_and_ctrl_c_ends_it() {
    let (shop, receiver) = (shop(Engine::Sqlite).await, Receiver::start());
    let secret = [("FORECOURT_LISTEN_SECRET", "whsec_mine")];
    let mut job = listen_with(&shop, &receiver.url("/hook"), &[], &secret).await;
    let beginning = job.lines(3).await;
    let (server, url) = (shop.server.base_url(), receiver.url("/hook"));
    assert_eq!(beginning[0], format!("Events of {server} go to {url}"));
    assert_eq!(beginning[1], "Signing secret: whsec_mine");
    shop.lead(&json!({})).await;
    let received = receiver.wait_for(1, TIMEOUT).remove(0);
    let header = received.header("X-Service-Signature").unwrap();
    assert!(verify("whsec_mine", header, &received.body));
    let line = job.lines(4).await.remove(3);
    let start = format!("1 lead.created {}: 200 in ", event_id(&received));
    assert!(line.starts_with(&start) && line.ends_with(" ms"), "{line}");
    assert!(job.interrupt().await.success());
    assert_eq!((job.stdout().lines().count(), job.stderr().as_str()), (4, ""));
}

#[tokio::test]
async fn a_receiver_that_refuses_is_tried_a_few_times() {
    let (shop, receiver) = (shop(Engine::Sqlite).await, Receiver::start());
    let job = listen(&shop, &receiver.url("/hook"), &["--json"]).await;
    documents(&job, 1).await;
    receiver.answer("/hook", Reply::status(503).body("later"));
    shop.lead(&json!({})).await;
    let printed = documents(&job, 5).await.split_off(1);
    receiver.answer("/hook", Reply::status(204));
    let outcomes: Vec<_> = printed.iter().map(|document| &document["outcome"]).collect();
    assert_eq!(outcomes, ["failed", "failed", "failed", "skipped"]);
    let numbers: Vec<_> = printed.iter().map(|document| &document["attempt"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(
        (&printed[0]["status"], &printed[0]["again_in_seconds"]),
        (&json!(503), &json!(1))
    );
    assert_eq!(
        (&printed[3]["status"], &printed[3]["again_in_seconds"]),
        (&json!(503), &Value::Null)
    );
    shop.lead(&json!({})).await;
    let next = documents(&job, 6).await.remove(5);
    assert_eq!((&next["sequence"], &next["outcome"]), (&json!(2), &json!("delivered")));
    let received = receiver.received();
    assert_eq!(received.len(), 5);
    assert!(
        received[..4]
            .iter()
            .all(|again| event_id(again) == event_id(&received[0]))
    );
}

#[tokio::test]
async fn a_receiver_that_is_down_is_reported() {
    let (shop, port) = (shop(Engine::Sqlite).await, Port::reserve());
    let url = format!("http://127.0.0.1:{}/", port.number());
    let job = listen(&shop, &url, &["--json"]).await;
    documents(&job, 1).await;
    shop.lead(&json!({})).await;
    let printed = documents(&job, 2).await.remove(1);
    assert_eq!(
        (&printed["outcome"], &printed["status"]),
        (&json!("failed"), &Value::Null)
    );
    let error = printed["error"].as_str().unwrap();
    assert!(error.contains("connection refused"), "{error}");
}

#[tokio::test]
async fn it_begins_where_it_is_asked_to_and_delivers_what_it_is_asked_for() {
    let (shop, receiver) = (shop(Engine::Sqlite).await, Receiver::start());
    let path = shop.lead_path("Ann").await;
    shop.api.patch(&path, &json!({"name": "Bob"})).await.ok();
    let arguments = ["--json", "--from-start", "--events", "lead.created,lead.deleted"];
    let job = listen(&shop, &receiver.url("/hook"), &arguments).await;
    documents(&job, 2).await;
    shop.api.patch(&path, &json!({"name": "Cid"})).await.ok();
    shop.api.delete(&path).await.ok();
    let received = receiver.wait_for(2, TIMEOUT);
    let numbers = received
        .iter()
        .map(|received| received.header("X-Service-Delivery").unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), ["1", "4"]);
    let events = received
        .iter()
        .map(|received| received.header("X-Service-Event").unwrap());
    assert_eq!(events.collect::<Vec<_>>(), ["lead.created", "lead.deleted"]);
}

#[tokio::test]
async fn a_refusal_ends_it_with_one_line() {
    let (shop, receiver) = (shop(Engine::Sqlite).await, Receiver::start());
    let (server, url) = (shop.server.base_url(), receiver.url("/hook"));
    let run = async |token: &str, server: &str| {
        let start = ["listen", "--forward-to", &url, "--server", server];
        shop.installation().run_with(start, &[("FORECOURT_TOKEN", token)]).await
    };
    let key = shop.business.key("leads:read").await;
    let outcome = run(&key.token, &server).await;
    outcome.failed_naming("scope_denied");
    assert!(!outcome.stderr.contains(key.secret()), "{outcome:?}");
    let wrong = format!("{}x", key.token);
    let outcome = run(&wrong, &server).await;
    outcome.failed_naming("authentication_invalid");
    assert!(!outcome.stderr.contains(key.secret()), "{outcome:?}");
    run("", &server).await.failed_naming("FORECOURT_TOKEN");
    run("a\nb", &server).await.failed_naming("token");
    // The server at that address is a receiver.
    run(&key.token, &receiver.url("")).await.failed_naming("no Forecourt");
    run(&key.token, "127.0.0.1:8080").await.failed_naming("--server");
}
