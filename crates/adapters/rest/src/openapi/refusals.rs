//! Refusals in the OpenAPI document: the condition of each code, and an example of it.

use std::{collections::BTreeMap, mem};

use serde_json::{Map, Value, json};

use super::visit::each_refusal;
use crate::{areas, code::Code, help::HelpPages};

/// The server of the examples: they are the same on every server.
const SERVER: &str = "https://api.dealer.example";

/// Completes the refusals of each operation by the codes that their descriptions name between backticks.
pub(super) fn explain(document: &mut Value) {
    let help = HelpPages::new(SERVER);
    let codes: BTreeMap<&str, Code> = areas::codes().map(|code| (code.as_str(), code)).collect();
    let mut used = BTreeMap::new();
    each_refusal(document, |_, response| {
        let said = match &mut response["description"] {
            Value::String(said) => mem::take(said),
            _ => String::new(),
        };
        let named = said.split('`').skip(1).step_by(2);
        let named: Vec<Code> = named.filter_map(|name| codes.get(name).copied()).collect();
        response["description"] = description(&said, &named).into();
        let content = &mut response["content"]["application/json"];
        content["examples"] = named
            .iter()
            .map(|code| (code.as_str().to_owned(), reference(*code)))
            .collect();
        used.extend(named.into_iter().map(|code| (code.as_str(), code)));
    });
    let examples: Map<String, Value> = used
        .into_values()
        .map(|code| {
            (
                code.as_str().to_owned(),
                json!({"summary": code.help().meaning, "value": example(code, &help)}),
            )
        })
        .collect();
    document["components"]["examples"] = examples.into();
}

fn reference(code: Code) -> Value {
    json!({"$ref": format!("#/components/examples/{}", code.as_str())})
}

/// Returns the declared text, unless it was only the names, and the condition of each code.
fn description(said: &str, codes: &[Code]) -> String {
    let mut words = said.split('`').step_by(2);
    let first = said.lines().next().unwrap_or_default();
    let says_more = words.any(|text| text.contains(char::is_alphabetic));
    let about = if says_more {
        format!("{first}\n\n")
    } else {
        String::new()
    };
    let conditions: Vec<String> = codes
        .iter()
        .map(|code| format!("- `{}`: {}", code.as_str(), code.help().cause))
        .collect();
    format!("{about}{}", conditions.join("\n")).trim_end().to_owned()
}

/// Returns the answer with a code.
fn example(code: Code, help: &HelpPages) -> Value {
    let mut details = if code == Code::VALIDATION_FAILED {
        json!({"field": "email", "errors": [{"field": "email", "message": "must be an email address"}]})
    } else if code == Code::SCOPE_REQUIRED || code == Code::SCOPE_DENIED {
        json!({"scope": "leads:read"})
    } else if code == Code::PRECONDITION_FAILED {
        json!({"version": 3})
    } else {
        json!({})
    };
    details["help"] = help.of(code).into();
    json!({
        "success": false,
        "error": {"code": code.as_str(), "message": code.help().meaning, "details": details},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::document;

    #[test]
    fn every_refusal_names_its_codes_with_examples() {
        let document = document("https://example.com").unwrap();
        let mut seen = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    if !status.starts_with(['4', '5']) {
                        continue;
                    }
                    let shared = response["$ref"]
                        .as_str()
                        .map(|place| document.pointer(&place[1..]).unwrap());
                    let response = shared.unwrap_or(response);
                    let examples = response["content"]["application/json"]["examples"].as_object().unwrap();
                    assert!(!examples.is_empty(), "{method} {path} {status}");
                    for (name, reference) in examples {
                        let place = reference["$ref"].as_str().unwrap();
                        let example = &document.pointer(&place[1..]).unwrap()["value"];
                        assert_eq!(example["error"]["code"], **name);
                        let code = areas::codes().find(|code| code.as_str() == name).unwrap();
                        assert_eq!(code.status().as_str(), status, "{method} {path} {name}");
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    #[test]
    fn a_description_says_more_than_names() {
        let codes = [Code::RATE_LIMITED];
        let condition = format!("- `rate_limited`: {}", Code::RATE_LIMITED.help().cause);
        assert_eq!(description("`rate_limited`", &codes), condition);
        assert_eq!(
            description("Too many.\n\n`rate_limited`", &codes),
            format!("Too many.\n\n{condition}")
        );
        assert_eq!(
            description("`rate_limited`, for now", &codes),
            format!("`rate_limited`, for now\n\n{condition}")
        );
    }
}
