//! The server accepts exactly the bodies and parameters that the OpenAPI document declares.
//!
//! For each member of a body, values at its bounds and beyond them are sent. Bounds that depend on the business or the clock
//! (names of tags, telephone numbers, days) are not declared, and are recognised by the message and skipped.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use harness::{Answer, Engine, Shop};
use serde_json::{Map, Value, json};

use crate::vehicle_media::png;

/// Messages of refusals for faults that no schema can declare.
const UNDECLARED: &[&str] = &[
    "names ",
    "no such",
    "is none of the options",
    "telephone number",
    "ISO country code",
    "must be a date",
    "must be a year",
    "must be the id of",
    "in the future",
    "today or later",
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

/// The pattern of a text that may be anything without the character NUL.
const FREE: &str = r"^[^\x00]*$";
/// The pattern of such a text that is not blank.
const SAID: &str = r"^[^\x00]*[^\s\x00][^\x00]*$";

/// A value of a member, and whether its schema allows it.
#[derive(Debug)]
struct Probe {
    path: String,
    body: Value,
    is_valid: bool,
}

/// Returns the schema that a reference leads to, with the parts of `allOf` merged.
fn resolved(document: &Value, schema: &Value) -> Value {
    let reference = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    let schema = reference.map_or(schema, |pointer| document.pointer(pointer).unwrap());
    let Some(parts) = schema["allOf"].as_array() else {
        return schema.clone();
    };
    let mut whole = schema.clone();
    for part in parts {
        for (key, value) in resolved(document, part).as_object().unwrap() {
            match (key.as_str(), whole.get_mut(key)) {
                ("properties", Some(Value::Object(properties))) => {
                    properties.extend(value.as_object().unwrap().clone());
                }
                ("description", _) => {}
                _ => whole[key] = value.clone(),
            }
        }
    }
    whole
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind],
        _ => Vec::new(),
    }
}

/// Returns values of `schema` at its bounds, with true, and beyond them, with false.
fn probes(document: &Value, schema: &Value) -> Vec<(Value, bool)> {
    let schema = resolved(document, schema);
    let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(choices) = choices {
        // A value that one choice refuses may be valid for another, unless each has a kind of its own.
        let is_alone = |kind: &str| choices.iter().filter(|choice| choice["type"] == kind).count() == 1;
        let are_apart = choices
            .iter()
            .all(|choice| choice["type"].as_str().is_some_and(is_alone));
        let probed = choices.iter().flat_map(|choice| {
            let is_own = move |value: &Value| match choice["type"].as_str() {
                Some("string") => value.is_string(),
                Some("integer" | "number") => value.is_number(),
                _ => false,
            };
            let probed = probes(document, choice).into_iter();
            probed.filter(move |(value, is_valid)| *is_valid || are_apart && is_own(value))
        });
        return probed.collect();
    }
    let mut found = Vec::new();
    if let Some(words) = schema["enum"].as_array() {
        found.extend(words.iter().map(|word| (word.clone(), true)));
        found.push((json!("no such word"), false));
        if !words.contains(&json!("")) {
            found.push((json!(""), false));
        }
        return found;
    }
    let kinds = kinds(&schema);
    for kind in &kinds {
        match *kind {
            "null" => found.push((Value::Null, true)),
            "boolean" => found.extend([(json!(true), true), (json!("true"), kinds.contains(&"string"))]),
            "integer" | "number" => {
                for (bound, way) in [("minimum", -1), ("maximum", 1)] {
                    if let Some(bound) = schema[bound].as_i64() {
                        found.extend([(json!(bound), true), (json!(bound + way), false)]);
                    }
                }
                if let Some(bound) = schema["exclusiveMinimum"].as_i64() {
                    found.extend([(json!(bound), false), (json!(bound + 1), true)]);
                }
                found.push((json!(1), true));
            }
            "string" => {
                let pattern = schema["pattern"].as_str();
                let is_plain = schema["format"].is_null() && pattern.is_none_or(|pattern| pattern == FREE);
                if let Some(most) = schema["maxLength"].as_u64().filter(|most| *most <= 200_000) {
                    let most = usize::try_from(most).unwrap();
                    found.push((json!("a".repeat(most + 1)), false));
                    if is_plain {
                        found.push((json!("a".repeat(most)), true));
                    }
                }
                if let Some(least) = schema["minLength"].as_u64().filter(|least| *least > 0) {
                    let least = usize::try_from(least).unwrap();
                    found.push((json!("a".repeat(least - 1)), false));
                }
                match pattern {
                    Some(FREE) => found.push((json!("a\0b"), false)),
                    Some(SAID) => found.extend([(json!(" \n"), false), (json!("a\0b"), false), (json!("x"), true)]),
                    Some(pattern) if pattern.starts_with('^') && pattern.ends_with('$') => {
                        found.push((json!("no\u{1}thing ~ \u{e9}\" of the kind, is it?"), false));
                    }
                    _ => {}
                }
            }
            "array" => {
                let items = probes(document, &schema["items"]);
                if let Some(most) = schema["maxItems"].as_u64() {
                    let item = items.iter().find(|(_, is_valid)| *is_valid);
                    let item = item.map_or_else(|| json!({}), |(item, _)| item.clone());
                    found.push((Value::from(vec![item; usize::try_from(most).unwrap() + 1]), false));
                }
                if schema["minItems"].as_u64().is_some_and(|least| least > 0) {
                    found.push((json!([]), false));
                }
                found.extend(items.into_iter().map(|(item, is_valid)| (json!([item]), is_valid)));
            }
            "object" => {
                let properties = &schema["properties"];
                let required = schema["required"].as_array().into_iter().flatten();
                let required = required.filter_map(Value::as_str).filter_map(|name| {
                    let probed = probes(document, &properties[name]).into_iter();
                    let value = probed
                        .filter(|(_, is_valid)| *is_valid)
                        .map(|(value, _)| value)
                        .next_back()?;
                    Some((name.to_owned(), value))
                });
                let base: Map<String, Value> = required.collect();
                for (name, member) in properties.as_object().into_iter().flatten() {
                    for (value, is_valid) in probes(document, member) {
                        let mut object = base.clone();
                        object.insert(name.clone(), value);
                        found.push((object.into(), is_valid));
                    }
                }
            }
            _ => {}
        }
    }
    for (kind, value) in [("string", json!("~")), ("array", json!([])), ("object", json!({}))] {
        if !kinds.is_empty() && !kinds.contains(&kind) {
            found.push((value, false));
        }
    }
    found
}

/// Returns every member of a body with its probes, in a body that is otherwise valid.
fn bodies(document: &Value, schema: &Value) -> Vec<Probe> {
    let schema = resolved(document, schema);
    let example = &schema["example"];
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.map(|name| name.as_str().unwrap()).collect();
    let base: Map<String, Value> = required
        .iter()
        .map(|name| ((*name).to_owned(), example[name].clone()))
        .collect();
    let mut found = Vec::new();
    for name in &required {
        let mut body = base.clone();
        body.remove(*name);
        found.push(Probe {
            path: (*name).to_owned(),
            body: body.into(),
            is_valid: false,
        });
    }
    for (name, member) in schema["properties"].as_object().unwrap() {
        for (value, is_valid) in probes(document, member) {
            let mut body = base.clone();
            body.insert(name.clone(), value);
            found.push(Probe {
                path: name.clone(),
                body: body.into(),
                is_valid,
            });
        }
    }
    found
}

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
                let request = shop
                    .api
                    .request(&method.to_uppercase(), &path.replace("{id}", "987654"));
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
    let known: Vec<_> = members.as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, known);
    assert!(wrong.is_empty(), "{wrong:#?}");
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
                let is_free =
                    matches!(base, "cursor" | "record") || faults.iter().any(|fault| fault.contains("telephone"));
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
