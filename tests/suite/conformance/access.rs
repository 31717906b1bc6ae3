//! The callers that may use an operation, and the records that they see.

use std::collections::{BTreeMap, BTreeSet};

use harness::{Client, Engine, both_engines};
use serde_json::{Value, json};

use super::{Conformance, Document, Findings, records::overrides};

both_engines! {
    an_operation_needs_a_credential
    an_operation_needs_its_scope_alone
    a_scope_comes_before_the_request
    meta_lists_what_a_key_may_use
    a_record_of_another_business_does_not_exist
    a_body_names_no_record_of_another_business
    a_list_of_another_business_is_another_list
}

async fn an_operation_needs_a_credential(engine: Engine) {
    let here = Conformance::open(engine).await;
    let (nobody, somebody) = (here.shop.server.anonymous(), here.shop.server.client("nonsense"));
    let mut findings = Findings::default();
    for operation in &here.document.operations {
        let path = operation.path_of("1");
        let answer = nobody.request(&operation.method, &path).send().await;
        // The document describes how to get a key.
        if operation.name == "GET /2.0/openapi.json" {
            findings.answers(&operation.name, "without a key", &answer, "200");
            continue;
        }
        findings.answers(&operation.name, "without a key", &answer, "401 authentication_required");
        let answer = somebody.request(&operation.method, &path).send().await;
        findings.answers(&operation.name, "with no key", &answer, "401 authentication_invalid");
    }
    findings.assert(200);
}

async fn an_operation_needs_its_scope_alone(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut clients: BTreeMap<&str, Client> = BTreeMap::new();
    for operation in here.document.guarded() {
        let [scope] = operation.scopes.as_slice() else {
            panic!("{} needs {:?}", operation.name, operation.scopes)
        };
        if !clients.contains_key(scope.as_str()) {
            clients.insert(scope, here.shop.client(scope).await);
        }
    }
    clients.insert("search:wildcard", here.shop.client("search:wildcard").await);
    clients.insert("none", here.shop.client("none").await);
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let scope = &operation.scopes[0];
        for (others, client) in &clients {
            let request = client.request(&operation.method, &operation.path_of("1"));
            let answer = request.send().await;
            if others == scope {
                // It shows records of another area.
                if operation.name == "GET /2.0/leads/{id}/appointments" {
                    findings.answers(&operation.name, others, &answer, "403 scope_denied");
                    continue;
                }
                findings.expect(&operation.name, "allowed", answer.status == 403, false);
                continue;
            }
            let code = if *others == "none" {
                "scope_required"
            } else {
                "scope_denied"
            };
            findings.answers(&operation.name, others, &answer, &format!("403 {code}"));
            let named = answer.json()["error"]["details"]["scope"].take();
            findings.expect(&operation.name, "the scope", named, json!(scope));
        }
    }
    findings.assert(4_000);
}

async fn a_scope_comes_before_the_request(engine: Engine) {
    let here = Conformance::open(engine).await;
    let client = here.shop.client("search:wildcard").await;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        for id in ["1", "nonsense"] {
            let path = format!("{}?per_page=0&fields=a.b.c.d.e.f.g.h.i", operation.path_of(id));
            let request = client.request(&operation.method, &path).key("no key");
            let request = request.header("If-Match", "1").header("Prefer", "handling=strict");
            let answer = request.body("{").send().await;
            findings.answers(&operation.name, id, &answer, "403 scope_denied");
        }
    }
    findings.assert(200);
}

async fn meta_lists_what_a_key_may_use(engine: Engine) {
    let here = Conformance::open(engine).await;
    let all = Document::new(here.document.json.clone());
    let scopes: BTreeSet<&str> = here
        .document
        .guarded()
        .map(|operation| operation.scopes[0].as_str())
        .collect();
    let mut findings = Findings::default();
    for scope in scopes {
        let client = here.shop.client(&format!("meta:read,{scope}")).await;
        let meta = client.get("/2.0/meta").await.ok();
        findings.expect(scope, "the version", &meta["version"], &json!("2.0"));
        let listed: BTreeSet<String> = meta["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|endpoint| format!("{} {} {}", endpoint["method"], endpoint["path"], endpoint["scopes"]))
            .collect();
        let usable = all.operations.iter().filter(|operation| {
            let needed = operation.scopes.first().map(String::as_str);
            needed.is_none_or(|needed| needed == scope || needed == "meta:read")
        });
        let usable: BTreeSet<String> = usable
            .map(|operation| {
                format!(
                    "{} {} {}",
                    json!(operation.method),
                    json!(operation.path),
                    json!(operation.scopes)
                )
            })
            .collect();
        findings.expect(scope, "the endpoints", listed, usable);
    }
    findings.assert(50);
}

async fn a_record_of_another_business_does_not_exist(engine: Engine) {
    let here = Conformance::open(engine).await;
    let rival = here.rival().await;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.is_of_record()) {
        let codes = here.document.codes(operation, "404");
        // A path of words names the same for all.
        if operation.path.starts_with("/2.0/feeds/") {
            continue;
        }
        let ready = here.maker().ready(operation).await;
        // Its body names the other's own records: those of anybody else are faults, which come first.
        let theirs = here.maker_of(&rival).ready(operation).await;
        let position = async || here.shop.api.get("/2.0/events?cursor=latest").await.json()["meta"]["position"].take();
        let before = position().await;
        for key in [None, Some("key")] {
            let mut request = theirs.at(&rival, &ready.path);
            if let Some(key) = key {
                request = request.key(&format!(
                    "{key}-{}",
                    operation.name.replace(['/', ' ', '{', '}', '.'], "-")
                ));
            }
            let answer = request.send().await;
            let expected = format!("404 {}", codes.first().copied().unwrap_or_default());
            findings.answers(&operation.name, "of another business", &answer, &expected);
        }
        findings.expect(&operation.name, "events", position().await, before);
        // It is still there for its own business.
        let answer = ready.by(&here.shop.api).send().await;
        findings.answers(&operation.name, "of one's own", &answer, operation.success());
    }
    findings.assert(250);
}

async fn a_body_names_no_record_of_another_business(engine: Engine) {
    let here = Conformance::open(engine).await;
    let rival = here.rival().await;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let ready = here.maker().ready(operation).await;
        let theirs = here.maker_of(&rival).ready(operation).await;
        let overrides = overrides(&operation.name);
        let refers = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('@'));
        for (member, _) in overrides.as_object().unwrap().iter().filter(|(_, value)| refers(value)) {
            let mut body = ready.body.clone().unwrap();
            body[member] = theirs.body.as_ref().unwrap()[member].clone();
            let request = here.shop.api.request(&ready.method, &ready.path).json(&body);
            findings.faults(&operation.name, "another's", &request.send().await, &[member]);
        }
    }
    findings.assert(4);
}

async fn a_list_of_another_business_is_another_list(engine: Engine) {
    let here = Conformance::open(engine).await;
    let rival = here.rival().await;
    let mut findings = Findings::default();
    for operation in here
        .document
        .guarded()
        .filter(|operation| operation.is_paged() && !operation.is_of_record())
    {
        let list = here.maker().list(operation, 3).await;
        let name = &operation.name;
        let answer = list.by(&rival).send().await;
        findings.expect(name, "another's", answer.list().items, Vec::<serde_json::Value>::new());
        let page = list.with(&here.shop.api, "per_page=1").send().await.list();
        let cursor = page.pagination["next_cursor"].as_str().unwrap();
        let cursor = format!("cursor={cursor}");
        findings.expect(
            name,
            "one's own",
            list.with(&here.shop.api, &cursor).send().await.list().items.len() >= 2,
            true,
        );
        findings.faults(
            name,
            "a cursor of another's",
            &list.with(&rival, &cursor).send().await,
            &["cursor"],
        );
    }
    for list in ["/2.0/events", "/2.0/listings/changes?after=0"] {
        findings.expect(
            list,
            "another's",
            rival.get(list).await.json()["data"].take(),
            json!([]),
        );
    }
    findings.assert(20);
}
