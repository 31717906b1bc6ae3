//! The server accepts exactly the bodies and parameters that the OpenAPI document declares.
//!
//! For each member of a body, values at its bounds and beyond them are sent. Bounds that depend on the business or the clock
//! (names of tags, telephone numbers, days) are not declared, and are recognised by the message and skipped.

use harness::{Answer, Engine, Shop};
use serde_json::Value;

use super::probes::{bodies, probes};

/// Messages of refusals for faults that no schema can declare.
const UNDECLARED: &[&str] = &[
    "names ",
    "no such",
    "must be an appraisal with an offer",
    "must not be vehicle",
    "is none of the options",
    "telephone number",
    "ISO country code",
    "must be a date",
    "must be a year",
    "must be the id of",
    "in the future",
    "today or later",
    "must not be before",
    "must be after start",
    "at most 24 hours",
    "is set by POST",
    "below the offer",
    "decimals",
    "address",
    "needs ",
    "is required",
    "base64",
    "data: URL",
    "which `scopes` lacks",
    "has no ",
    "cannot be combined",
    "must be left out",
    "must be a string",
    "25 MB",
];

/// Returns the faults of `member` in an answer.
fn faults_of(answer: &Answer, member: &str) -> Vec<String> {
    if answer.status != 422 {
        return Vec::new();
    }
    let errors = answer.json()["error"]["details"]["errors"].take();
    let errors = errors.as_array().into_iter().flatten();
    let named = errors.filter(|error| {
        let field = error["field"].as_str().unwrap_or_default();
        field == member || field.starts_with(&format!("{member}.")) || field == "body"
    });
    named
        .map(|error| error["message"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn bodies_are_taken_as_they_are_declared() {
    let shop = Shop::open(Engine::Sqlite).await;
    let document = shop.api.get("/2.0/openapi.json").await.json();
    let (mut sent, mut wrong) = (0, Vec::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() {
                continue;
            }
            // Fields are validated before the record is looked up.
            let address = path.replace("{id}", "987654").replace("{document_id}", "987654");
            for probe in bodies(&document, schema) {
                // The number of a vehicle's rows is validated once the vehicle is found, and so is its state.
                let rows = probe.body.pointer("/data/stock/purchase_cost_data");
                if rows.and_then(Value::as_array).is_some_and(|rows| rows.len() > 50) {
                    continue;
                }
                sent += 1;
                let request = shop.api.request(&method.to_uppercase(), &address);
                let answer = request.json(&probe.body).send().await;
                assert!(answer.status < 500, "{method} {path}: {}", probe.body);
                let faults = faults_of(&answer, &probe.path);
                let is_declared = |fault: &String| !UNDECLARED.iter().any(|message| fault.contains(message));
                let how = match (probe.is_valid, faults.iter().any(is_declared)) {
                    (true, true) => "declared, and refused",
                    (false, _) if faults.is_empty() => "not declared, and taken",
                    _ => continue,
                };
                let body: String = probe.body.to_string().chars().take(100).collect();
                wrong.push(format!("{how}: {method} {path} {}: {body} {faults:?}", probe.path));
            }
        }
    }
    assert!(sent > 1000, "{sent}");
    assert!(wrong.is_empty(), "{} of {sent}: {wrong:#?}", wrong.len());
}

#[tokio::test]
async fn parameters_are_taken_as_they_are_declared() {
    let shop = Shop::open(Engine::Sqlite).await;
    let document = shop.api.get("/2.0/openapi.json").await.json();
    let (mut sent, mut wrong) = (0, Vec::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(parameters) = item["get"]["parameters"].as_array() else {
            continue;
        };
        let address = path.replace("{id}", "987654").replace("_id}", "").replace('{', "");
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            for (value, is_valid) in probes(&document, &parameter["schema"]) {
                let text = match &value {
                    Value::String(text) => text.clone(),
                    // In a query, a number in place of a text or an array is one of them.
                    _ if !is_valid && value == 7 => continue,
                    Value::Number(number) => number.to_string(),
                    _ => continue,
                };
                if name == "wait" && is_valid || text.is_empty() {
                    continue;
                }
                sent += 1;
                let url = harness::url_query(&address, [(name, text.as_str())]);
                let answer = shop.api.get(&url).await;
                let base = name.trim_end_matches("[]");
                let faults = faults_of(&answer, base);
                let shown: String = text.chars().take(60).collect();
                // A cursor comes from a list, and a record's id needs its resource.
                let is_free = matches!(base, "cursor" | "record")
                    || faults
                        .iter()
                        .any(|fault| fault.contains("telephone") || fault.contains("names no"));
                match (is_valid, faults.is_empty()) {
                    (true, false) if !is_free => wrong.push(format!("declared, and refused: {url}: {faults:?}")),
                    (false, true) => wrong.push(format!(
                        "not declared, and taken: {path}?{name}={shown}: {}",
                        answer.status
                    )),
                    _ => {}
                }
            }
        }
    }
    assert!(sent > 300, "{sent}");
    assert!(wrong.is_empty(), "{} of {sent}: {wrong:#?}", wrong.len());
}
