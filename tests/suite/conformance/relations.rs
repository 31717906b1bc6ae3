//! The members of a body require of each other what the OpenAPI document declares.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use harness::{Engine, Shop};
use serde_json::{Map, Value, json};

use crate::vehicle_media::png;

/// Returns true if `value` matches the keywords of `schema` on the relations between members.
fn fits(schema: &Value, value: &Value) -> bool {
    let is_kind = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "object" => value.is_object(),
        "integer" => value.is_i64(),
        kind => panic!("{kind} is not expected"),
    };
    let all = |keyword: &str| schema[keyword].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_short = |least: u64| value.as_str().is_some_and(|text| (text.len() as u64) < least);
    let is_said = |pattern: &str| {
        assert_eq!(pattern, r"\S");
        value.as_str().is_some_and(|text| !text.trim().is_empty())
    };
    let branch = match schema.get("if") {
        Some(condition) if fits(condition, value) => &schema["then"],
        Some(_) => &schema["else"],
        None => &Value::Null,
    };
    *schema != false
        && schema["type"].as_str().is_none_or(is_kind)
        && (schema.get("enum").is_none() || all("enum").contains(value))
        && schema.get("const").is_none_or(|word| word == value)
        && !schema["minLength"].as_u64().is_some_and(is_short)
        && schema["pattern"].as_str().is_none_or(is_said)
        && all("required")
            .iter()
            .all(|name| value.get(name.as_str().unwrap()).is_some())
        && schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .all(|(name, member)| value.get(name).is_none_or(|value| fits(member, value)))
        && (branch.is_null() || fits(branch, value))
}

/// Returns the bodies in which each member is left out or has one of its values.
fn combined(members: &Value) -> Vec<Map<String, Value>> {
    let mut bodies = vec![Map::new()];
    for (name, values) in members.as_object().unwrap() {
        let mut others = Vec::new();
        for value in values.as_array().unwrap() {
            others.extend(bodies.iter().cloned().map(|mut body| {
                body.insert(name.clone(), value.clone());
                body
            }));
        }
        bodies.extend(others);
    }
    bodies
}

#[tokio::test]
async fn members_require_of_each_other_what_is_declared() {
    let shop = Shop::open(Engine::Sqlite).await;
    let document = shop.api.get("/2.0/openapi.json").await.json();
    let picture = BASE64_STANDARD.encode(png(1, 1));
    let members = json!({
        "DocumentBody": {"file": [picture], "description": [null, " ", "Service history"], "public": [null, true]},
        "DuplicateBody": {"type": ["email", "address"], "value": ["ann@example.com", {"line1": "1 High Street"}]},
        "LeadVehicleBody": {"vehicle": [null, 1], "vehicle_tag": [null, "", "ABCDE"]},
        "MediaBody": {"file": [null, picture], "youtube": [null, "dQw4w9WgXcQ"], "type": [null, "photo", "spin", "youtube"]},
        "StatusBody": {"status": [null, "read"], "junk": [null, true], "closed": [null, false]},
        "VehicleChangesBody": {
            "registration": [null, "AB12 CDE"], "country": ["GB"], "owner": [null], "parent": [null], "data": [{}],
        },
    });
    let (mut seen, mut wrong) = (Vec::new(), Vec::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let reference = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let name = reference
                .as_str()
                .and_then(|reference| reference.rsplit('/').next())
                .unwrap_or_default();
            let schema = &document["components"]["schemas"][name];
            if schema.get("if").is_none() {
                continue;
            }
            seen.push(name.to_owned());
            for body in combined(&members[name]) {
                let body = Value::from(body);
                let path = path.replace("{id}", "987654").replace("{job_id}", "987654");
                let request = shop.api.request(&method.to_uppercase(), &path);
                let answer = request.json(&body).send().await;
                let faults = answer.json()["error"]["details"]["errors"].take();
                let mut faults = faults.as_array().into_iter().flatten();
                let is_refused = faults.any(|fault| !fault["message"].as_str().unwrap().contains("names "));
                let parts = json!({"required": schema["required"], "if": schema["if"], "then": schema["then"], "else": schema["else"]});
                if fits(&parts, &body) == is_refused {
                    wrong.push(format!("{method} {path}: {body} {}", answer.text()));
                }
            }
        }
    }
    seen.sort_unstable();
    // Documents of vehicles and of jobs are sent alike.
    seen.dedup();
    let known: Vec<_> = members.as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, known);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
