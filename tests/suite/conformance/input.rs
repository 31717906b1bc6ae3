//! Bodies that are no JSON, and names that an operation does not know.

use std::collections::BTreeSet;

use harness::{Answer, Engine, both_engines};
use serde_json::{Map, Value, json};

use super::{Conformance, Findings, faulty, probes::probes};

both_engines! {
    a_body_is_an_object_in_json
    every_faulty_member_is_reported_at_once
    a_body_that_is_not_taken_is_ignored
    strict_handling_refuses_what_is_not_known
}

/// The maximum length of a body in JSON.
const MAX_BYTES: usize = 1024 * 1024;

fn nested(levels: usize, inner: &str) -> String {
    let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
    format!(r#"{{"unknown":{open}{inner}{close}}}"#)
}

async fn a_body_is_an_object_in_json(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        if here.document.body(operation).is_none() {
            continue;
        }
        let name = &operation.name;
        let ready = here.maker().ready(operation).await;
        let send = async |content_type: Option<&str>, body: String| {
            let mut request = here.shop.api.request(&ready.method, &ready.path);
            if let Some(content_type) = content_type {
                request = request.header("Content-Type", content_type);
            }
            request.body(body).send().await
        };
        for body in [
            "{",
            "x",
            "{\"a\":}",
            "{\"a\":1,}",
            "{'a':1}",
            "{} {}",
            "nul",
            "\u{feff}{}",
            "{\"a\":\"\\ud800\"x}",
        ] {
            findings.answers(name, body, &send(None, body.to_owned()).await, "400 json_invalid");
        }
        for body in ["[]", "[{}]", "null", "1", "\"text\"", "true"] {
            findings.faults(name, body, &send(None, body.to_owned()).await, &["body"]);
        }
        for levels in [33, 200, 100_000] {
            findings.faults(name, "levels", &send(None, nested(levels, "1")).await, &["body"]);
            // The depth of a body with a file is measured as it is read, before its end is known.
            if here.document.takes_file(operation) {
                continue;
            }
            for broken in [nested(levels, "x"), nested(levels, "").replacen(']', "", 1)] {
                findings.answers(name, "broken levels", &send(None, broken).await, "400 json_invalid");
            }
        }
        let good = ready.body.as_ref().unwrap().to_string();
        let long = good.replacen('{', &format!("{{\"unknown\":\"{}\",", "x".repeat(MAX_BYTES)), 1);
        // A body with a file may be longer; its other members may not.
        findings.faults(name, "a long body", &send(None, long).await, &["body"]);
        for content_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/xml",
            "application/jsonp",
        ] {
            let answer = send(Some(content_type), good.clone()).await;
            findings.answers(name, content_type, &answer, "400 json_invalid");
        }
        // Unknown members, and members of them, are ignored.
        let more = good
            .replacen(
                '{',
                &format!("{{\"unknown\":{},", "[".repeat(20) + "1" + &"]".repeat(20)),
                1,
            )
            .replace(",}", "}");
        let answer = send(Some("application/json; charset=utf-8"), more).await;
        findings.answers(name, "unknown members", &answer, operation.success());
    }
    findings.assert(500);
}

async fn every_faulty_member_is_reported_at_once(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let Some(schema) = here.document.body(operation) else {
            continue;
        };
        let members = super::probes::resolved(&here.document.json, schema)["properties"].take();
        let mut body = Map::new();
        for (name, member) in members.as_object().unwrap() {
            let wrong = probes(&here.document.json, member)
                .into_iter()
                .rfind(|(_, is_valid)| !is_valid);
            body.extend(wrong.map(|(value, _)| (name.clone(), value)));
        }
        let request = here.shop.api.request(&operation.method, &operation.path_of("987654"));
        let answer = request.json(&Value::from(body.clone())).send().await;
        let first = |field: String| field.split('.').next().unwrap_or_default().to_owned();
        let seen: BTreeSet<String> = faulty(&answer).into_iter().map(first).collect();
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.map(|name| name.as_str().unwrap().to_owned());
        let expected: BTreeSet<String> = body.keys().cloned().chain(required).collect();
        if expected.is_empty() {
            // Every value of such a body is taken, or refused for its meaning.
            continue;
        }
        findings.expect(&operation.name, "all members", seen, expected);
    }
    findings.assert(30);
}

async fn a_body_that_is_not_taken_is_ignored(engine: Engine) {
    let here = Conformance::open(engine).await;
    let long = "x".repeat(2 * MAX_BYTES);
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        if operation.writes() && operation.declared.get("requestBody").is_none() {
            for (content_type, body) in [
                ("text/plain", "x"),
                ("application/json", "[["),
                ("application/json", &*long),
            ] {
                let ready = here.maker().ready(operation).await;
                let request = ready.by(&here.shop.api).header("Content-Type", content_type);
                let answer = request.body(body.to_owned()).send().await;
                findings.answers(&operation.name, content_type, &answer, operation.success());
            }
        }
    }
    findings.assert(50);
}

/// Returns the message about `field`.
fn message(answer: &Answer, field: &str) -> Option<String> {
    let envelope: Value = serde_json::from_slice(&answer.body).ok()?;
    let errors = envelope["error"]["details"]["errors"].as_array()?.clone();
    let found = errors.iter().find(|error| error["field"] == field)?;
    Some(found["message"].as_str()?.to_owned())
}

async fn strict_handling_refuses_what_is_not_known(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let name = &operation.name;
        // Names are checked before the record is looked up.
        let path = operation.path_of("987654");
        let path = if operation.path.starts_with("/2.0/feeds/") {
            here.maker().ready(operation).await.path
        } else {
            path
        };
        let send = async |query: &str, body: Option<&Value>| {
            let request = here.shop.api.request(&operation.method, &format!("{path}{query}"));
            let request = request.header("Prefer", "handling=strict");
            match body {
                Some(body) => request.json(body).send().await,
                None => request.send().await,
            }
        };
        let mut refused = vec![(send("?nonsense=1", None).await, "nonsense")];
        if operation.takes("fields") {
            refused.push((send("?fields=nonsense_", None).await, "fields"));
        }
        let takes_json = operation.declared["requestBody"]["content"]
            .get("application/xml")
            .is_none();
        if operation.writes() && takes_json {
            refused.push((send("", Some(&json!({"nonsense": 1}))).await, "nonsense"));
        }
        for (answer, field) in refused {
            findings.expect(
                name,
                field,
                message(&answer, field).is_some_and(|message| message.contains("nonsense") || field == "nonsense"),
                true,
            );
            findings.expect(name, "status", answer.status, 422);
            findings.expect(
                name,
                "applied",
                answer.header("Preference-Applied"),
                Some("handling=strict"),
            );
        }
    }
    findings.assert(500);
}
