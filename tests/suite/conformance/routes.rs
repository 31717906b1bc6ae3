//! Paths and methods.

use std::collections::{BTreeMap, BTreeSet};

use harness::{Engine, both_engines};
use serde_json::Value;

use super::{Conformance, Findings};

both_engines! {
    another_method_is_not_allowed
    a_path_is_matched_as_a_whole
    head_is_answered_as_get_without_a_body
    an_id_that_is_no_record_s_is_not_found
}

async fn another_method_is_not_allowed(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut paths: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for operation in &here.document.operations {
        paths
            .entry(operation.path_of("1"))
            .or_default()
            .insert(&operation.method);
    }
    let mut findings = Findings::default();
    for (path, mut allowed) in paths {
        if allowed.contains("GET") {
            allowed.insert("HEAD");
        }
        for method in [
            "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "TRACE", "PURGE",
        ] {
            // A path of a word is one of an id too, which may have more methods.
            if allowed.contains(method) {
                continue;
            }
            let answer = here.shop.server.anonymous().request(method, &path).send().await;
            findings.expect(&path, method, answer.status, 405);
            if method != "HEAD" {
                findings.answers(&path, method, &answer, "405 method_not_allowed");
            }
            let listed = answer.header("Allow").unwrap_or_default();
            let listed: BTreeSet<&str> = listed.split(',').map(str::trim).collect();
            findings.expect(&path, method, listed, allowed.clone());
        }
    }
    findings.assert(500);
}

async fn a_path_is_matched_as_a_whole(engine: Engine) {
    let here = Conformance::open(engine).await;
    let nobody = here.shop.server.anonymous();
    let mut findings = Findings::default();
    for operation in &here.document.operations {
        let path = operation.path_of("1");
        for other in [
            format!("{path}/"),
            format!("/{path}"),
            path.replacen("/2.0/", "/2.0//", 1),
            path.replacen("/2.0/", "/1.0/", 1),
            path.replacen("/2.0", "", 1),
            format!("{path}/nothing/of/the/kind/at/all"),
            path.to_uppercase(),
            path.replacen("/2.0/", "/2.0/%20", 1),
        ] {
            for client in [&nobody, &here.shop.api] {
                let answer = client.request(&operation.method, &other).send().await;
                findings.answers(&operation.name, &other, &answer, "404 route_not_found");
            }
        }
    }
    findings.assert(1_000);
}

async fn head_is_answered_as_get_without_a_body(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    let gets = here
        .document
        .operations
        .iter()
        .filter(|operation| operation.method == "GET");
    let mut paths = Vec::new();
    for operation in gets {
        let nothing = operation.path_of("987654321");
        paths.extend([
            here.maker().ready(operation).await.path,
            nothing.clone(),
            format!("{nothing}?per_page=0"),
        ]);
    }
    let pages = [
        "/",
        "/docs",
        "/docs/errors",
        "/docs/errors/internal",
        "/healthz",
        "/readyz",
        "/2.0/nothing",
    ];
    for path in paths.into_iter().chain(pages.map(str::to_owned)) {
        for client in [&here.shop.api, &here.shop.server.anonymous()] {
            let [get, head] = [client.get(&path).await, client.request("HEAD", &path).send().await];
            findings.expect(
                &path,
                "status and length",
                (head.status, head.body.len()),
                (get.status, 0),
            );
            for name in [
                "Content-Type",
                "Content-Length",
                "ETag",
                "Location",
                "Vary",
                "Cache-Control",
                "Allow",
            ] {
                // The length of an answer is not known before it has been written.
                let is_open = name == "Content-Length" && head.header(name).is_none();
                if !is_open {
                    findings.expect(&path, name, head.header(name), get.header(name));
                }
            }
        }
    }
    findings.assert(1_000);
}

async fn an_id_that_is_no_record_s_is_not_found(engine: Engine) {
    const IDS: [&str; 12] = [
        "0",
        "-1",
        "x",
        "1.5",
        "1e3",
        "%00",
        "1%00",
        "%20",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999999999",
        "%F0%9F%9A%97",
    ];
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.is_of_record()) {
        let ready = here.maker().ready(operation).await;
        let codes = here.document.codes(operation, "404");
        let count = operation.path.matches('{').count();
        let parts: Vec<&str> = ready.path.split('/').collect();
        let positions = operation
            .path
            .split('/')
            .enumerate()
            .filter(|(_, part)| part.starts_with('{'));
        for (nth, (position, _)) in positions.enumerate() {
            let code = match nth + 1 {
                _ if count > 2 => codes.get(nth),
                last if last == count && count > 1 => codes.last(),
                _ => codes.first(),
            };
            for id in IDS {
                let mut parts = parts.clone();
                parts[position] = id;
                let answer = ready.at(&here.shop.api, &parts.join("/")).send().await;
                let expected = format!("404 {}", code.copied().unwrap_or_default());
                findings.answers(&operation.name, id, &answer, &expected);
            }
        }
        // A part belongs to one record.
        if count == 2 {
            let other = here.maker().ready(operation).await;
            let mut elsewhere: Vec<&str> = other.path.split('/').collect();
            let position = operation
                .path
                .split('/')
                .collect::<Vec<_>>()
                .iter()
                .rposition(|part| part.starts_with('{'))
                .unwrap();
            // A film is named by its address, and may be of both.
            if elsewhere[position] != parts[position] {
                elsewhere[position] = parts[position];
                let answer = ready.at(&here.shop.api, &elsewhere.join("/")).send().await;
                let expected = format!("404 {}", codes.last().unwrap());
                findings.answers(&operation.name, "a part of another", &answer, &expected);
            }
        }
        // Parameters and fields are validated before the record is looked up.
        if operation.takes("fields") {
            let path = format!("{}?fields=a.b.c.d.e.f.g.h.i", operation.path_of("987654321"));
            findings.faults(
                &operation.name,
                "fields of nothing",
                &here.shop.api.get(&path).await,
                &["fields"],
            );
        }
        if let Some(Value::Array(required)) = here.document.body(operation).map(|body| &body["required"]) {
            let path = operation.path_of("987654321");
            let request = here.shop.api.request(&operation.method, &path);
            let answer = request.json(&serde_json::json!({})).send().await;
            let names: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
            findings.faults(&operation.name, "a body for nothing", &answer, &names);
        }
    }
    findings.assert(1_000);
}
