//! Common parts of answers in the OpenAPI document: their headers, and the refusals of several operations.

use std::collections::{BTreeMap, HashMap};

use forecourt_kernel::bounds::MAX_LINE_CHARS;
use serde_json::{Map, Value, json};

use super::visit::{each_operation, each_refusal};

/// Declares the headers that answers have in common, beside those that an operation declares itself.
pub(super) fn name_headers(document: &mut Value) {
    let number = |about: &str| json!({"description": about, "schema": {"type": "integer"}});
    let line = |about: &str| json!({"description": about, "schema": {"type": "string", "maxLength": MAX_LINE_CHARS}});
    let word = |about: &str, word: &str| json!({"description": about, "schema": {"type": "string", "const": word}});
    document["components"]["headers"] = json!({
        "X-Request-Id": line("The name of the request, for support."),
        "X-RateLimit-Limit": number("How many requests the window with the least left allows."),
        "X-RateLimit-Remaining": number("How many of them are left."),
        "X-RateLimit-Reset": number("When the window ends, as a Unix timestamp."),
        "Retry-After": number("How many seconds to wait."),
        "WWW-Authenticate": word("How to authenticate.", "Bearer"),
        "Preference-Applied": word("Where the request preferred it.", "handling=strict"),
        "X-Idempotent-Replay": word("Where this is the answer to an earlier request with the same `Idempotency-Key`.", "true"),
    });
    each_operation(document, |operation| {
        let limited = operation["security"]
            .as_array()
            .is_some_and(|security| !security.is_empty());
        let takes = |name: &str| {
            let parameters = operation["parameters"].as_array();
            parameters.is_some_and(|parameters| parameters.iter().any(|parameter| parameter["name"] == name))
        };
        let (has_preference, has_key) = (takes("Prefer"), takes("Idempotency-Key"));
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (status, response) in responses {
            let mut names = vec!["X-Request-Id"];
            match status.as_str() {
                "401" => names.push("WWW-Authenticate"),
                "414" | "431" => {}
                _ if limited => names.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]),
                _ => {}
            }
            if ["429", "503"].contains(&status.as_str()) {
                names.push("Retry-After");
            }
            if has_preference && ["200", "201", "422"].contains(&status.as_str()) {
                names.push("Preference-Applied");
            }
            // Reads and writes describe a missing record alike, so that refusal is left unchanged.
            if has_key && ["200", "201", "409", "412", "422"].contains(&status.as_str()) {
                names.push("X-Idempotent-Replay");
            }
            for name in names {
                response["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
            }
        }
    });
}

/// Names the refusals that operations have in common: the first of each status by its status, and the others by their codes.
pub(super) fn name_responses(document: &mut Value) {
    const NAMES: [(&str, &str); 8] = [
        ("400", "BadRequest"),
        ("401", "Unauthorized"),
        ("403", "Forbidden"),
        ("414", "UriTooLong"),
        ("422", "Invalid"),
        ("429", "TooManyRequests"),
        ("431", "HeadersTooLarge"),
        ("503", "Unavailable"),
    ];
    let mut counts: HashMap<String, usize> = HashMap::new();
    each_refusal(document, |_, response| {
        *counts.entry(response.to_string()).or_default() += 1;
    });
    let mut shared: BTreeMap<String, Value> = BTreeMap::new();
    each_refusal(document, |status, response| {
        if counts.get(&response.to_string()).is_none_or(|count| *count < 2) {
            return;
        }
        let usual = NAMES.iter().find(|(known, _)| *known == status);
        let of_codes = name_of_codes(response);
        for name in usual.map(|(_, name)| (*name).to_owned()).into_iter().chain([of_codes]) {
            let common = shared.entry(name.clone()).or_insert_with(|| response.clone());
            if response == common {
                *response = json!({"$ref": format!("#/components/responses/{name}")});
                return;
            }
        }
    });
    document["components"]["responses"] = json!(shared);
}

/// Returns a name for a refusal by these codes, such as `LeadNotFound`.
fn name_of_codes(response: &Value) -> String {
    let codes = response["content"]["application/json"]["examples"].as_object();
    let name = |code: &String| -> String {
        let words = code.split('_').map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_ascii_uppercase() + rest
        });
        words.collect()
    };
    let names: Vec<String> = codes.into_iter().flat_map(Map::keys).map(name).collect();
    names.join("Or")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_headers_of_what_the_operation_takes() {
        let mut document = json!({"paths": {"/a": {
            "get": {"security": [{}], "parameters": [{"name": "Prefer"}], "responses": {"200": {}, "503": {}}},
            "post": {"security": [], "parameters": [{"name": "Idempotency-Key"}], "responses": {"201": {}, "404": {}, "422": {}}},
        }}, "components": {}});
        name_headers(&mut document);
        let names = |method: &str, status: &str| {
            let headers = document["paths"]["/a"][method]["responses"][status]["headers"].as_object();
            headers.unwrap().keys().cloned().collect::<Vec<_>>()
        };
        let limits = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
        let of_all = |last: &'static str| {
            ["X-Request-Id"]
                .into_iter()
                .chain(limits)
                .chain([last])
                .collect::<Vec<_>>()
        };
        assert_eq!(names("get", "200"), of_all("Preference-Applied"));
        assert_eq!(names("get", "503"), of_all("Retry-After"));
        assert_eq!(names("post", "201"), ["X-Request-Id", "X-Idempotent-Replay"]);
        assert_eq!(names("post", "422"), ["X-Request-Id", "X-Idempotent-Replay"]);
        assert_eq!(names("post", "404"), ["X-Request-Id"]);
        for name in of_all("Preference-Applied") {
            assert!(document["components"]["headers"].get(name).is_some(), "{name}");
        }
    }
}
