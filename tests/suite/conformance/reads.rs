//! The parts of a record that are shown, and what a caller has of it already.

use harness::{Engine, both_engines};
use serde_json::{Value, json};

use super::{Conformance, Findings};

both_engines! {
    a_read_of_a_record_has_an_etag
    fields_leave_only_what_is_named
    a_selection_of_fields_is_bounded
    a_view_can_be_asked_for
}

/// Returns the version of the record in an answer, if it shows one.
fn version_of(body: &[u8]) -> Option<i64> {
    serde_json::from_slice::<Value>(body).ok()?["data"]["version"].as_i64()
}

async fn a_read_of_a_record_has_an_etag(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here
        .document
        .operations
        .iter()
        .filter(|operation| operation.method == "GET")
    {
        let name = &operation.name;
        let is_of_one = ["}", "/manifest", "/openapi.json", "/pdf"]
            .iter()
            .any(|end| operation.path.ends_with(end));
        let responses = operation.declared["responses"].as_object().unwrap();
        let declared = (operation.takes("If-None-Match"), responses.contains_key("304"));
        findings.expect(name, "declares If-None-Match", declared, (is_of_one, is_of_one));
        // Notes and messages do not change, so they have no version.
        if ["{note_id}", "{message_id}"]
            .iter()
            .any(|end| operation.path.ends_with(end))
        {
            continue;
        }
        let ready = here.maker().ready(operation).await;
        let read = ready.by(api).send().await;
        findings.answers(name, "a read", &read, "200");
        findings.expect(name, "has an ETag", read.header("ETag").is_some(), is_of_one);
        let is_record = operation.path.ends_with('}');
        let caching = match (is_of_one, operation.scopes.is_empty()) {
            (true, true) => "no-cache",
            (true, false) => "private, no-cache",
            (false, _) => "private, no-store",
        };
        findings.expect(name, "caching", read.header("Cache-Control"), Some(caching));
        let Some(tag) = read.header("ETag") else { continue };
        if let Some(version) = version_of(&read.body) {
            findings.expect(
                name,
                "the tag has the version",
                tag.starts_with(&format!("\"{version}")),
                true,
            );
        }
        let known = async |method: &str, path: &str, tag: &str| {
            api.request(method, path).header("If-None-Match", tag).send().await
        };
        for tag in [
            tag.to_owned(),
            format!("W/{tag}"),
            "*".to_owned(),
            format!("\"7\" ,{tag},W/\"a,b\""),
        ] {
            for method in ["GET", "HEAD"] {
                let answer = known(method, &ready.path, &tag).await;
                findings.expect(name, &tag, (answer.status, answer.body.len()), (304, 0));
                let vary = answer.header("Vary").unwrap_or_default();
                let varies = vary.split(", ").any(|name| name == "Authorization");
                findings.expect(name, "varies by key", varies, !operation.scopes.is_empty());
                for header in ["ETag", "Cache-Control"] {
                    findings.expect(name, header, answer.header(header), read.header(header));
                }
                findings.expect(name, "content", answer.header("Content-Type"), None::<&str>);
                for header in ["Date", "X-Request-Id", "X-Content-Type-Options"] {
                    findings.expect(name, header, answer.header(header).is_some(), true);
                }
            }
        }
        for tag in ["\"7-other\"", "1", "\"1", "", "*, \"1\""] {
            findings.answers(name, tag, &known("GET", &ready.path, tag).await, "200");
        }
        if is_record && operation.takes("fields") {
            let some = known("GET", &ready.url("fields=id,code"), "*").await;
            findings.answers(name, "some fields", &some, "200");
            findings.expect(name, "a tag of some fields", some.header("ETag"), None::<&str>);
            findings.expect(
                name,
                "caching of some fields",
                some.header("Cache-Control"),
                Some("private, no-store"),
            );
        }
        if operation.takes("view") {
            let simple = api.get(&ready.url("view=simple")).await;
            findings.expect(
                name,
                "a view has its own tag",
                simple.header("ETag") == Some(tag),
                false,
            );
        }
        if is_record {
            let absent = known("GET", &operation.path_of("nothing"), "*").await;
            findings.expect(name, "nothing", (absent.status, absent.header("ETag")), (404, None));
        }
    }
    findings.assert(500);
}

/// Returns the first record that an answer shows.
fn shown(data: &Value) -> Value {
    data.get(0).unwrap_or(data).clone()
}

async fn fields_leave_only_what_is_named(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.takes("fields")) {
        let name = &operation.name;
        let ready = match operation.is_paged() {
            true => here.maker().list(operation, 1).await,
            false => here.maker().ready(operation).await,
        };
        let full = if operation.takes("view") {
            ready.url("view=full")
        } else {
            ready.path.clone()
        };
        let whole = shown(&api.get(&full).await.ok());
        let Some(members) = whole.as_object() else { continue };
        for (member, value) in members {
            // The time of an export, the mails that wait and the state of a delivery change by themselves.
            if ["exported", "mails"].contains(&member.as_str()) || operation.path.ends_with("/deliveries") {
                continue;
            }
            let unknown = format!("+{member}+,nonsense,{member}.nonsense,nonsense.{member}");
            for fields in [member, &unknown] {
                let seen = shown(&api.get(&ready.url(&format!("fields={fields}"))).await.ok());
                findings.expect(name, fields, seen, json!({member: value}));
            }
            if let Some((inner, value)) = value.as_object().and_then(|value| value.iter().next()) {
                let fields = format!("{member}.{inner}");
                let seen = shown(&api.get(&ready.url(&format!("fields={fields}"))).await.ok());
                findings.expect(name, &fields, seen, json!({member: {inner: value}}));
            }
        }
    }
    findings.assert(900);
}

async fn a_selection_of_fields_is_bounded(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.takes("fields")) {
        let ready = here.maker().ready(operation).await;
        for fields in [
            "id,".repeat(101),
            "a.b.c.d.e.f.g.h.i".to_owned(),
            "a".repeat(2049),
            ".".repeat(15_000),
            "id,".repeat(5_000),
        ] {
            let answer = api.get(&ready.url(&format!("fields={fields}"))).await;
            findings.faults(&operation.name, &fields[..20.min(fields.len())], &answer, &["fields"]);
        }
        for fields in [
            "id,".repeat(99) + "name",
            "a.b.c.d.e.f.g.h".to_owned(),
            "a".repeat(2048),
        ] {
            let answer = api.get(&ready.url(&format!("fields={fields}"))).await;
            findings.answers(&operation.name, &fields[..15], &answer, "200");
        }
    }
    findings.assert(400);
}

async fn a_view_can_be_asked_for(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.takes("view")) {
        let name = &operation.name;
        let ready = match operation.is_paged() {
            true => here.maker().list(operation, 1).await,
            false => here.maker().ready(operation).await,
        };
        let read = async |view: &str| shown(&api.get(&ready.url(view)).await.ok());
        let usual = if operation.is_paged() {
            "view=simple"
        } else {
            "view=full"
        };
        findings.expect(name, "the usual view", read("").await, read(usual).await);
        let (simple, full) = (read("view=simple").await, read("view=full").await);
        let is_part = simple
            .as_object()
            .unwrap()
            .keys()
            .all(|member| full.get(member).is_some());
        findings.expect(name, "the simple view is a part of the full one", is_part, true);
        for (member, value) in full.as_object().unwrap() {
            if !value.is_object()
                && !value.is_array()
                && let Some(simple) = simple.get(member)
            {
                findings.expect(name, member, simple, value);
            }
        }
        // Fields come from the full record.
        for member in full.as_object().unwrap().keys() {
            let path = format!("view=simple&fields={member}");
            findings.expect(name, &path, read(&path).await, json!({member: full[member]}));
        }
        // A list's record is the single one.
        let single = format!("{}/{}", ready.path, full["id"]);
        // A job is read below its vehicle.
        if operation.is_paged() && operation.path.matches('/').count() == 2 && operation.path != "/2.0/jobs" {
            findings.expect(name, "the single record", &api.get(&single).await.ok(), &full);
        }
        for view in ["nonsense", "", "Full", "simple,full"] {
            let answer = api.get(&ready.url(&format!("view={view}"))).await;
            findings.faults(name, view, &answer, &["view"]);
        }
    }
    findings.assert(100);
}
