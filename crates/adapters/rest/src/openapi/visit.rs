//! Traversal of the OpenAPI document.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The path of the named schemas.
pub(super) const SCHEMAS: &str = "/components/schemas";

/// Calls `visit` with each operation of the API.
pub(super) fn each_operation(document: &mut Value, mut visit: impl FnMut(&mut Value)) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, item) in paths {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            visit(operation);
        }
    }
}

/// Calls `visit` with the status and the response of each refusal.
pub(super) fn each_refusal(document: &mut Value, mut visit: impl FnMut(&str, &mut Value)) {
    each_operation(document, |operation| {
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (status, response) in responses.filter(|(status, _)| status.starts_with(['4', '5'])) {
            visit(status, response);
        }
    });
}

/// Calls `visit` with `value` and all objects in it.
pub(super) fn each_object(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            for (_, member) in members.iter_mut() {
                each_object(member, visit);
            }
        }
        Value::Array(items) => {
            for item in items {
                each_object(item, visit);
            }
        }
        _ => {}
    }
}

/// Returns the name of the schema that `schema` refers to.
pub(super) fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Collects the names of the schemas that `value` and its parts refer to.
pub(super) fn references(value: &Value, found: &mut BTreeSet<String>) {
    found.extend(referred(value).map(str::to_owned));
    match value {
        Value::Object(members) => members.values().for_each(|member| references(member, found)),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Returns true if the keyword `type` of a schema, if it has one, allows values of the JSON type `kind`.
pub(super) fn allows_type(types: Option<&Value>, kind: &str) -> bool {
    match types {
        Some(Value::Array(kinds)) => kinds.iter().any(|known| known == kind),
        known => known.is_some_and(|known| known == kind),
    }
}
