//! Lists in pages, and their parameters.

use std::collections::BTreeSet;

use harness::{Client, Engine, both_engines};
use serde_json::{Value, json};

use super::{Conformance, Findings, records::Ready};

both_engines! {
    a_list_is_paged_by_number_and_by_cursor
    a_cursor_is_of_one_list
    pages_are_bounded
    every_faulty_parameter_is_reported_at_once
    an_empty_filter_is_none
    a_single_value_is_not_given_as_an_array
    a_range_is_one_value_or_two_bounds
}

/// Returns the part of an entry that identifies it. The others may change by themselves, as those of a delivery do.
fn identity(entry: &Value) -> Value {
    let found = ["id", "code", "vehicle"].iter().find_map(|name| entry.get(*name));
    found.cloned().unwrap_or_default()
}

async fn page(api: &Client, list: &Ready, query: &str) -> (Vec<Value>, Value) {
    let list = api.list(&list.url(query)).await;
    (list.items.iter().map(identity).collect(), list.pagination)
}

async fn a_list_is_paged_by_number_and_by_cursor(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.is_paged()) {
        let name = &operation.name;
        let list = here.maker().list(operation, 3).await;
        let (all, pagination) = page(api, &list, "").await;
        let count = i64::try_from(all.len()).unwrap();
        findings.expect(name, "has entries", count >= 3, true);
        let usual = json!({"page": 1, "per_page": 50, "total": count, "total_pages": 1, "next_cursor": null});
        findings.expect(name, "the usual page", pagination, usual);

        let (first, mut pagination) = page(api, &list, "per_page=2").await;
        let cursor = pagination["next_cursor"].take();
        let cursor = cursor.as_str().unwrap_or_default();
        let pages = (count + 1) / 2;
        let expected = json!({"page": 1, "per_page": 2, "total": count, "total_pages": pages, "next_cursor": null});
        findings.expect(name, "the first page", (&first[..], pagination), (&all[..2], expected));
        let (second, mut pagination) = page(api, &list, "per_page=2&page=2").await;
        pagination["next_cursor"].take();
        let expected = json!({"page": 2, "per_page": 2, "total": count, "total_pages": pages, "next_cursor": null});
        findings.expect(
            name,
            "the second page",
            (&second[..], pagination),
            (&all[2..4.min(all.len())], expected),
        );

        // With a cursor only `per_page` and `next_cursor` are shown, and the page is ignored.
        for page_number in ["", "&page=7", "&page=0", "&page=x"] {
            let query = format!("per_page=500&cursor={cursor}{page_number}");
            let seen = page(api, &list, &query).await;
            let expected = (all[2..].to_vec(), json!({"per_page": 500, "next_cursor": null}));
            findings.expect(name, &query, seen, expected);
        }
        let (begun, mut pagination) = page(api, &list, "per_page=2&cursor=").await;
        let next = pagination["next_cursor"].take();
        // Listings follow each other by cursor from the oldest change.
        if operation.path != "/2.0/listings" {
            findings.expect(name, "an empty cursor", (&begun, next.as_str()), (&first, Some(cursor)));
        }
        for per_page in [1, 2, 500] {
            let walked = api.walk(&list.url(&format!("per_page={per_page}"))).await;
            let walked: Vec<Value> = walked.iter().map(identity).collect();
            findings.expect(name, "a walk", &walked, &all);
        }
        for number in ["1000", "9223372036854775807"] {
            let (past, pagination) = page(api, &list, &format!("page={number}")).await;
            let expected = (Vec::<Value>::new(), json!(count), json!(null));
            let seen = (past, pagination["total"].clone(), pagination["next_cursor"].clone());
            findings.expect(name, "past the end", seen, expected);
        }
        let ids: BTreeSet<String> = all.iter().map(Value::to_string).collect();
        findings.expect(name, "ids", ids.len(), all.len());
        let numbers: Vec<i64> = all.iter().filter_map(Value::as_i64).collect();
        if operation.path != "/2.0/listings" {
            findings.expect(name, "newest first", numbers.is_sorted_by(|one, next| one > next), true);
        }
    }
    findings.assert(150);
}

async fn a_cursor_is_of_one_list(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    let mut cursors: Vec<(String, String)> = Vec::new();
    let mut lists = Vec::new();
    for operation in here.document.guarded().filter(|operation| operation.is_paged()) {
        let mut kept = None;
        // Twice: the entries of two records are two lists.
        for _ in 0..if operation.is_of_record() { 2 } else { 1 } {
            let list = here.maker().list(operation, 2).await;
            let (_, pagination) = page(api, &list, "per_page=1").await;
            cursors.push((
                list.path.clone(),
                pagination["next_cursor"].as_str().unwrap().to_owned(),
            ));
            kept = Some(list);
        }
        lists.push((operation, kept.unwrap()));
    }
    for (operation, list) in lists {
        let send = async |cursor: &str| api.get(&harness::url_query(&list.path, [("cursor", cursor)])).await;
        for (other, cursor) in &cursors {
            let answer = send(cursor).await;
            if *other == list.path {
                findings.answers(&operation.name, "its own cursor", &answer, "200");
                // A character that is altered, left out or added.
                for at in [0, cursor.len() / 2, cursor.len() - 1] {
                    let mut altered = cursor.clone();
                    altered.replace_range(at..=at, if &cursor[at..=at] == "a" { "b" } else { "a" });
                    findings.faults(&operation.name, "an altered cursor", &send(&altered).await, &["cursor"]);
                }
                for made_up in [&cursor[1..], &format!("{cursor}A")] {
                    findings.faults(&operation.name, made_up, &send(made_up).await, &["cursor"]);
                }
            } else {
                findings.faults(&operation.name, &format!("a cursor of {other}"), &answer, &["cursor"]);
            }
        }
        for made_up in ["x", "1", "-1", "MQ", "MQ==", "bnVsbA", "eyJpZCI6MX0", "\u{1f697}", " "] {
            findings.faults(&operation.name, made_up, &send(made_up).await, &["cursor"]);
        }
    }
    findings.assert(300);
}

async fn pages_are_bounded(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.takes("per_page")) {
        let list = here.maker().ready(operation).await;
        let send =
            async |parameter: &str, value: &str| here.shop.api.get(&list.url(&format!("{parameter}={value}"))).await;
        for good in ["1", "499", "500"] {
            findings.answers(&operation.name, good, &send("per_page", good).await, "200");
        }
        for bad in ["0", "501", "-1", "1.5", "x", "", "%20", "99999999999999999999"] {
            findings.faults(&operation.name, bad, &send("per_page", bad).await, &["per_page"]);
        }
        if operation.takes("page") {
            for bad in ["0", "-1", "1.5", "x", "", "%20", "99999999999999999999"] {
                findings.faults(&operation.name, bad, &send("page", bad).await, &["page"]);
            }
        }
    }
    findings.assert(200);
}

/// Returns the names of an operation's parameters in the query, each once.
fn names(operation: &super::document::Operation) -> BTreeSet<&str> {
    operation
        .queries()
        .map(|(name, _)| name.trim_end_matches("[]"))
        .collect()
}

async fn every_faulty_parameter_is_reported_at_once(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.method == "GET") {
        let ready = here.maker().ready(operation).await;
        // No parameter takes this, but for `fields`, which may be no deeper than eight.
        let wrong = |name: &str| if name == "fields" { "a.b.c.d.e.f.g.h.i" } else { "a\0" };
        let names: Vec<&str> = names(operation)
            .into_iter()
            .filter(|name| !ready.path.contains(&format!("{name}=")))
            .collect();
        if names.is_empty() {
            continue;
        }
        // A cursor stands for a page, whose number is then ignored.
        let names: Vec<&str> = names
            .into_iter()
            .filter(|name| *name != "cursor" || !operation.takes("page"))
            .collect();
        let path = harness::url_query(
            ready.path.split('?').next().unwrap(),
            names.iter().map(|name| (*name, wrong(name))),
        );
        let required = ready
            .path
            .split_once('?')
            .map(|(_, query)| format!("&{query}"))
            .unwrap_or_default();
        let answer = api.get(&format!("{path}{required}")).await;
        findings.faults(&operation.name, "all parameters", &answer, &names);
        // What an operation does not know is ignored, whatever its name resembles.
        let answer = api.get(&ready.url("nonsense=1&Per_page=0&a[]=1&a[]=2&fields_=x")).await;
        findings.answers(&operation.name, "unknown parameters", &answer, operation.success());
    }
    findings.assert(100);
}

async fn an_empty_filter_is_none(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.is_paged()) {
        let list = here.maker().list(operation, 1).await;
        let all = here.shop.api.list(&list.path).await.items;
        let declared: BTreeSet<&str> = operation.queries().map(|(name, _)| name).collect();
        for name in names(operation) {
            for query in [format!("{name}="), name.to_owned()] {
                let answer = here.shop.api.get(&list.url(&query)).await;
                let is_value =
                    ["page", "per_page", "view"].contains(&name) || declared.contains(format!("{name}[]").as_str());
                if is_value {
                    findings.faults(&operation.name, &query, &answer, &[name]);
                } else if name != "fields" {
                    findings.answers(&operation.name, &query, &answer, "200");
                    findings.expect(&operation.name, &query, answer.list().items.len(), all.len());
                }
            }
        }
    }
    findings.assert(100);
}

async fn a_single_value_is_not_given_as_an_array(engine: Engine) {
    let here = Conformance::open(engine).await;
    let mut findings = Findings::default();
    for operation in here.document.guarded().filter(|operation| operation.method == "GET") {
        let ready = here.maker().ready(operation).await;
        let declared: Vec<&str> = operation.queries().map(|(name, _)| name).collect();
        for (name, parameter) in operation.queries() {
            let is_array = here.document.resolved(&parameter["schema"])["type"] == "array";
            let is_range = declared.contains(&format!("{name}[]").as_str());
            if is_array || is_range || ready.path.contains(&format!("{name}=")) {
                continue;
            }
            for key in [format!("{name}[]"), format!("{name}[0]")] {
                let answer = here.shop.api.get(&ready.url(&format!("{key}=1"))).await;
                findings.faults(&operation.name, &key, &answer, &[name]);
            }
        }
    }
    findings.assert(300);
}

async fn a_range_is_one_value_or_two_bounds(engine: Engine) {
    let here = Conformance::open(engine).await;
    let api = &here.shop.api;
    let mut findings = Findings::default();
    for operation in here.document.guarded() {
        let ranges = operation.queries().filter_map(|(name, _)| name.strip_suffix("[]"));
        let ranges: Vec<&str> = ranges.filter(|name| operation.takes(name)).collect();
        if ranges.is_empty() {
            continue;
        }
        let list = if operation.is_paged() {
            here.maker().list(operation, 2).await
        } else {
            here.maker().ready(operation).await
        };
        for name in ranges {
            let found = async |query: &str| {
                let answer = api.get(&list.url(&query.replace('@', name))).await;
                if answer.status == 200 {
                    answer.json()["data"].take()
                } else {
                    json!(super::outcome(&answer))
                }
            };
            // In each line all spellings mean the same.
            for spellings in [
                &["@=&@=", "@[]=&@[]=", "@[0]=&@[1]=", "@%5B%5D=&@%5B%5D=", "@[1]=&@[0]="][..],
                &[
                    "@=0&@=",
                    "@[]=0&@[]=",
                    "@[0]=0&@[1]=",
                    "@[]=0",
                    "@[0]=0",
                    "@[1]=&@[0]=0",
                ],
                &["@=&@=9", "@[]=&@[]=9", "@[1]=9", "@[0]=&@[1]=9", "@%5B1%5D=9"],
                &["@=0&@=9", "@[]=0&@[]=9", "@[1]=9&@[0]=0", "@[]=0&nonsense=1&@[]=9"],
                &["@=9&@=9", "@=9", "@[]=9&@[]=9"],
            ] {
                let first = found(spellings[0]).await;
                findings.expect(&operation.name, spellings[0], first.is_array(), true);
                for spelling in &spellings[1..] {
                    findings.expect(
                        &operation.name,
                        &format!("{name}: {spelling}"),
                        &found(spelling).await,
                        &first,
                    );
                }
            }
            for bad in [
                "@=",
                "@=x",
                "@=2024-01-01",
                "@[]=x&@[]=1",
                "@[]=1&@[]=x",
                "@[0]=1&@[1]=x",
                "@[]=1&@[]=2&@[]=3",
                "@=1&@=2&@=3",
                "@[0]=1&@[1]=2&@[2]=3",
                "@[]=&@[]=&@[]=",
                "@=99999999999999999999",
                "@=1&@=x",
                "@=1&@[]=2",
                "@=&@[0]=2",
            ] {
                let answer = api.get(&list.url(&bad.replace('@', name))).await;
                findings.faults(&operation.name, bad, &answer, &[name]);
            }
        }
    }
    findings.assert(300);
}
