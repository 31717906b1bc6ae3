//! Retries by `Idempotency-Key`, conditions by `If-Match`, and the place of what is created.

use harness::{Answer, Engine, both_engines};
use serde_json::{Value, json};

use super::{Conformance, Findings, document::Operation};

both_engines! {
    a_retry_is_answered_again_and_done_once
    a_refusal_is_replayed_too
    a_key_has_1_to_255_characters_of_a_few_kinds
    a_write_honours_if_match
    what_is_created_has_a_location
    what_is_deleted_is_gone
}

const REPLAY: &str = "X-Idempotent-Replay";

/// Records what is wrong with an answer to a retry.
fn replayed(findings: &mut Findings, operation: &Operation, what: &str, first: &Answer, again: &Answer) {
    let name = &operation.name;
    findings.expect(name, &format!("{what}: first"), first.header(REPLAY), None::<&str>);
    findings.expect(name, &format!("{what}: again"), again.header(REPLAY), Some("true"));
    findings.expect(name, what, (again.status, again.text()), (first.status, first.text()));
    for header in ["Content-Type", "Location"] {
        findings.expect(name, header, again.header(header), first.header(header));
    }
    let is_new = again.header("X-Request-Id") != first.header("X-Request-Id");
    findings.expect(name, "the request's id is new", is_new, true);
}

async fn a_retry_is_answered_again_and_done_once(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    let position = async || api.get("/2.0/events?cursor=latest").await.json()["meta"]["position"].take();
    for (number, operation) in here
        .document
        .guarded()
        .filter(|operation| operation.writes())
        .enumerate()
    {
        let key = format!("once-{number}");
        let ready = here.maker().ready(operation).await;
        // Of two at the same time one is done.
        let send = || ready.by(api).key(&key).send();
        let (one, other) = tokio::join!(send(), send());
        let (first, twin) = if one.header(REPLAY).is_none() {
            (one, other)
        } else {
            (other, one)
        };
        findings.answers(&operation.name, "a first request", &first, operation.success());
        replayed(&mut findings, operation, "its twin", &first, &twin);
        let after = position().await;
        replayed(&mut findings, operation, "a retry", &first, &send().await);
        findings.expect(&operation.name, "events", position().await, after);
        // A key stands for one request.
        let mut others = vec![ready.with(api, "a=b")];
        if let Some(mut body) = ready.body.clone() {
            body["another"] = json!(1);
            others.push(api.request(&ready.method, &ready.path).json(&body));
            if !here.document.takes_file(operation) {
                others.push(api.request(&ready.method, &ready.path).body("{"));
            }
            others.push(
                api.request(&ready.method, &ready.path)
                    .body(format!("{} ", ready.body.as_ref().unwrap())),
            );
        }
        if operation.method != "DELETE" {
            others.push(api.request("DELETE", "/2.0/leads/987654321"));
        }
        for other in others {
            let answer = other.key(&key).send().await;
            findings.answers(
                &operation.name,
                "another request",
                &answer,
                "422 idempotency_key_reused",
            );
            findings.expect(&operation.name, "another request", answer.header(REPLAY), None::<&str>);
        }
        // Without a key nothing is replayed, and keys are apart for each business.
        let plain = here.maker().ready(operation).await.by(api).send().await;
        findings.expect(&operation.name, "no key", plain.header(REPLAY), None::<&str>);
    }
    let rival = here.rival().await;
    let answer = rival
        .request("POST", "/2.0/leads")
        .key("once-0")
        .json(&json!({}))
        .send()
        .await;
    findings.answers("POST /2.0/leads", "another business", &answer, "201");
    findings.assert(500);
}

async fn a_refusal_is_replayed_too(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for (number, operation) in here
        .document
        .guarded()
        .filter(|operation| operation.writes())
        .enumerate()
    {
        let mut refused = vec![(
            "strict",
            here.maker().ready(operation).await.url("nonsense=1"),
            "422 validation_failed",
        )];
        if operation.is_of_record() {
            refused.push(("missing", operation.path_of("987654321"), "404"));
        }
        let body = here.maker().ready(operation).await;
        for (what, path, expected) in refused {
            let key = format!("{what}-{number}");
            let send = async || {
                let request = body.at(api, &path).header("Prefer", "handling=strict");
                request.key(&key).send().await
            };
            let first = send().await;
            let seen = super::outcome(&first);
            findings.expect(&operation.name, what, seen.get(..expected.len()), Some(expected));
            replayed(&mut findings, operation, what, &first, &send().await);
        }
    }
    findings.assert(300);
}

async fn a_key_has_1_to_255_characters_of_a_few_kinds(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    let long = "x".repeat(256);
    for operation in here.document.guarded() {
        for key in ["", " ", "a b", "a.b", "a/b", "a:b", "ümlaut", "a\tb", "a,b", &long] {
            let request = here
                .shop
                .api
                .request(&operation.method, &operation.path_of("1"))
                .key(key);
            if operation.writes() {
                // The key comes before the body.
                let answer = request.body("{").send().await;
                findings.answers(&operation.name, key, &answer, "400 idempotency_key_invalid");
            } else {
                // Reading takes no key.
                let answer = request.send().await;
                findings.expect(&operation.name, key, answer.status == 400, false);
                findings.expect(&operation.name, key, answer.header(REPLAY), None::<&str>);
            }
        }
    }
    findings.assert(1_000);
}

async fn a_write_honours_if_match(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    let position = async || api.get("/2.0/events?cursor=latest").await.json()["meta"]["position"].take();
    // What follows from an erasure that an operation before began is about records of other kinds.
    let written = async |since: &Value, path: &str| -> usize {
        let kind = path.split('/').nth(2).unwrap_or_default().trim_end_matches('s');
        let since = since.as_str().unwrap_or_default();
        let events = api.list(&format!("/2.0/events?cursor={since}")).await.items;
        let of_kind = |event: &&Value| event["event"].as_str().is_some_and(|name| name.starts_with(kind));
        events.iter().filter(of_kind).count()
    };
    for operation in &here.document.operations {
        // A call or a deal that another system has reported before is changed by the operation that creates it.
        if ["POST /2.0/calls", "POST /2.0/deals"].contains(&&*operation.name) {
            continue;
        }
        let is_conditional = operation.writes() && operation.is_of_record();
        let responses = operation.declared["responses"].as_object().unwrap();
        let declared = (operation.takes("If-Match"), responses.contains_key("412"));
        findings.expect(
            &operation.name,
            "declares If-Match",
            declared,
            (is_conditional, is_conditional),
        );
        if !is_conditional {
            continue;
        }
        let ready = here.maker().ready(operation).await;
        let at = async |tag: &str| ready.by(api).header("If-Match", tag).send().await;
        let before = position().await;
        let mut version = Value::Null;
        for tag in ["\"777\"", "\"777-simple\", W/\"778\"", "\"unknown\""] {
            let answer = at(tag).await;
            findings.answers(&operation.name, tag, &answer, "412 precondition_failed");
            version = answer.json()["error"]["details"]["version"].take();
        }
        for tag in ["1", "", "\"1"] {
            findings.faults(&operation.name, tag, &at(tag).await, &["If-Match"]);
        }
        findings.expect(&operation.name, "events", written(&before, &operation.path).await, 0);
        // Each form that names the version lets the write happen.
        let forms = [
            format!("\"779\", W/\"{version}\""),
            format!("\"{version}\""),
            format!("\"{version}-simple\""),
            "*".to_owned(),
        ];
        findings.answers(
            &operation.name,
            "its version",
            &at(&forms[0]).await,
            operation.success(),
        );
        if operation.path.matches('{').count() == 1 && ["PATCH", "DELETE"].contains(&operation.method.as_str()) {
            for form in forms {
                let again = here.maker().ready(operation).await;
                let answer = again.by(api).header("If-Match", &form).send().await;
                findings.answers(&operation.name, &form, &answer, operation.success());
            }
        }
        // What does not exist has no version.
        let absent = ready
            .at(api, &operation.path_of("987654321"))
            .header("If-Match", "\"777\"");
        let absent = super::outcome(&absent.send().await);
        findings.expect(&operation.name, "a missing record", absent.get(..3), Some("404"));
    }
    findings.assert(500);
}

async fn what_is_created_has_a_location(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let ready = here.maker().ready(operation).await;
        let answer = ready.by(api).send().await;
        let is_declared = operation.answer()["headers"].get("Location").is_some();
        findings.expect(
            &operation.name,
            "a location",
            answer.header("Location").is_some(),
            is_declared,
        );
        if operation.writes() {
            findings.expect(
                &operation.name,
                "caching",
                answer.header("Cache-Control"),
                Some("private, no-store"),
            );
            findings.expect(&operation.name, "a tag", answer.header("ETag"), None::<&str>);
        }
        let Some(location) = answer.header("Location") else {
            continue;
        };
        let read = api.get(location).await;
        findings.answers(&operation.name, location, &read, "200");
        let (read, made) = (read.json()["data"].take(), answer.json()["data"].take());
        for member in ["id", "code"] {
            findings.expect(&operation.name, member, read.get(member), made.get(member));
        }
    }
    findings.assert(200);
}

async fn what_is_deleted_is_gone(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.method == "DELETE") {
        // The reservation and the sale of a vehicle are undone, not deleted.
        if !operation.path.ends_with('}') {
            continue;
        }
        // The removal of a stage answers with its job.
        if operation.path.ends_with("{stage_id}") {
            continue;
        }
        let name = &operation.name;
        let ready = here.maker().ready(operation).await;
        let list = ready.path.rsplit_once('/').unwrap().0;
        let before = api.get(list).await.list().items.len();
        let answer = ready.by(api).body("{\"id\": 1}").send().await;
        findings.answers(name, "a deletion", &answer, "200");
        findings.expect(name, "deleted", answer.json()["data"]["deleted"].take(), json!(true));
        let id = answer.json()["data"]["id"].to_string();
        findings.expect(
            name,
            "its id",
            Some(id.trim_matches('"')),
            ready.path.rsplit('/').next(),
        );
        findings.expect(name, "the list", api.get(list).await.list().items.len(), before - 1);
        let code = format!("404 {}", here.document.codes(operation, "404").last().unwrap());
        for other in here
            .document
            .operations
            .iter()
            .filter(|other| other.path == operation.path)
        {
            let request = api.request(&other.method, &ready.path);
            let request = match here.maker().ready(other).await.body {
                Some(body) => request.json(&body),
                None => request,
            };
            findings.answers(name, &other.method, &request.send().await, &code);
        }
    }
    findings.assert(50);
}
