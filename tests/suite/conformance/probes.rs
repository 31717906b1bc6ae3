//! Values at the bounds of a schema, and beyond them.

use serde_json::{Map, Value, json};

/// The pattern of a text that may be anything without the character NUL.
const FREE: &str = r"^[^\x00]*$";
/// The pattern of such a text that is not blank.
const SAID: &str = r"^[^\x00]*[^\s\x00][^\x00]*$";

/// A value of a member, and whether its schema allows it.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) path: String,
    pub(super) body: Value,
    pub(super) is_valid: bool,
}

/// Returns the schema that a reference leads to, with the parts of `allOf` merged.
pub(super) fn resolved(document: &Value, schema: &Value) -> Value {
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
pub(super) fn probes(document: &Value, schema: &Value) -> Vec<(Value, bool)> {
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
                if *kind == "integer" && !kinds.contains(&"number") {
                    found.extend([(json!(1.5), false), (json!(1e300), false), (json!(u64::MAX), false)]);
                }
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
    let is_number = kinds.contains(&"integer") || kinds.contains(&"number");
    for (kind, value) in [
        ("string", json!("~")),
        ("array", json!([])),
        ("object", json!({})),
        ("boolean", json!(true)),
        ("number", json!(7)),
    ] {
        let is_allowed = kinds.contains(&kind) || kind == "number" && is_number;
        if !kinds.is_empty() && !is_allowed {
            found.push((value, false));
        }
    }
    found
}

/// Returns every member of a body with its probes, in a body that is otherwise valid.
pub(super) fn bodies(document: &Value, schema: &Value) -> Vec<Probe> {
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
