//! The log: one structured line per request, on standard error.

use harness::{Engine, Raw, Shop, both_engines};
use serde_json::{Value, json};

both_engines! {
    each_request_has_one_line
    what_is_no_request_has_a_line_with_its_address
    the_log_can_be_json
    the_log_can_be_quieter
}

/// Returns the log of four requests, named one to four.
async fn log(engine: Engine, name: &'static str, value: &'static str) -> String {
    let mut shop = Shop::open_with(engine, |serve| serve.env(name, value)).await;
    let send = async |client: &harness::Client, method: &str, path: &str, id: &str| {
        client.request(method, path).header("X-Request-Id", id).send().await;
    };
    send(&shop.api, "GET", "/2.0/leads?email=ann@example.com", "request-one").await;
    send(&shop.api, "GET", "/2.0/leads/987654", "request-two").await;
    send(&shop.server.anonymous(), "DELETE", "/2.0/leads/1", "request-three").await;
    send(&shop.api, "GET", "/2.0/nothing", "request-four").await;
    shop.api
        .post("/2.0/leads", &json!({"name": "Ann Lee", "email": "ann@example.com"}))
        .await
        .created();
    shop.server.terminate().await;
    shop.server.log()
}

#[track_caller]
fn only_line<'a>(log: &'a str, needle: &str) -> &'a str {
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(needle)).collect();
    let [line] = lines[..] else {
        panic!("{} lines with {needle} in: {log}", lines.len())
    };
    line
}

async fn each_request_has_one_line(engine: Engine) {
    let log = log(engine, "FORECOURT_LOG", "info").await;
    for (id, parts) in [
        (
            "request-one",
            &["GET", "/2.0/leads", "200", "business=", "key=\"fck_"][..],
        ),
        (
            "request-two",
            &[
                "GET",
                "/2.0/leads/{id}",
                "404",
                "987654",
                "lead_not_found",
                "business=",
                "key=\"fck_",
            ],
        ),
        (
            "request-three",
            &["DELETE", "/2.0/leads/{id}", "401", "authentication_required"],
        ),
        ("request-four", &["GET", "404", "route_not_found"]),
    ] {
        let line = only_line(&log, id);
        let every = ["milliseconds=", "address=127.0.0.1"];
        assert!(parts.iter().chain(&every).all(|part| line.contains(part)), "{line}");
    }
    assert!(
        !log.contains("ann@example.com") && !log.contains("Ann Lee"),
        "personal data is not logged: {log}"
    );
}

async fn what_is_no_request_has_a_line_with_its_address(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let answer = Raw::exchange(&shop.server, b"nonsense\r\n\r\n").await;
    answer.refused(400, "request_invalid");
    let id = answer.header("X-Request-Id").unwrap().to_owned();
    shop.server.terminate().await;
    let log = shop.server.log();
    let line = only_line(&log, &id);
    for part in ["request_invalid", "status=400", "milliseconds=", "address=127.0.0.1"] {
        assert!(line.contains(part), "{line}");
    }
}

async fn the_log_can_be_json(engine: Engine) {
    let log = log(engine, "FORECOURT_LOG_FORMAT", "json").await;
    for line in log.lines() {
        let parsed: Result<Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok_and(|line| line.is_object()), "{line}");
    }
    assert!(only_line(&log, "request-two").contains("404"));
}

async fn the_log_can_be_quieter(engine: Engine) {
    let log = log(engine, "FORECOURT_LOG", "error").await;
    assert!(!log.contains("request-one"), "{log}");
}
