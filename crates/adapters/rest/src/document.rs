//! The finish of the OpenAPI document: what it says in many places is named once and referred to, so that generated clients
//! have one type for each thing.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use crate::examples;

const SCHEMAS: &str = "/components/schemas";
/// Where schemas begin in the document.
const ROOTS: [&str; 3] = ["/paths", "/webhooks", SCHEMAS];

/// The document as it is published.
///
/// # Errors
/// If it has no JSON form.
pub(crate) fn finished(document: &OpenApi) -> serde_json::Result<Value> {
    let mut document = serde_json::to_value(document)?;
    let named = Named::of(&document);
    for root in ROOTS {
        if let Some(place) = document.pointer_mut(root) {
            named.share(place, root == SCHEMAS);
        }
    }
    each_object(&mut document, &mut |object| {
        say_free_form(object);
        say_success(object);
    });
    name_headers(&mut document);
    share_responses(&mut document);
    say_unsecured(&mut document);
    examples::add(&mut document)?;
    Ok(document)
}

/// The named schemas, found by what they say.
struct Named(HashMap<String, String>);

impl Named {
    fn of(document: &Value) -> Self {
        let schemas = document.pointer(SCHEMAS).and_then(Value::as_object);
        let mut named = HashMap::new();
        for (name, schema) in schemas.into_iter().flatten() {
            // A plain type is identified by its name alone: nothing shows that another one means the same.
            if ["properties", "enum", "oneOf", "anyOf", "allOf"]
                .iter()
                .any(|keyword| schema.get(keyword).is_some())
            {
                named.entry(content(schema)).or_insert_with(|| name.clone());
            }
        }
        Self(named)
    }

    /// Puts references in the place of copies. In the components, the members of `value` are not copies but the things themselves.
    fn share(&self, value: &mut Value, are_components: bool) {
        let children: Vec<&mut Value> = match value {
            Value::Object(members) => members.values_mut().collect(),
            Value::Array(items) => items.iter_mut().collect(),
            _ => return,
        };
        for child in children {
            let name = if are_components || !child.is_object() {
                None
            } else {
                self.0.get(&content(child))
            };
            match name {
                Some(name) => {
                    let description = child.get("description").cloned();
                    *child = json!({"$ref": format!("#{SCHEMAS}/{name}")});
                    if let Some(description) = description {
                        child["description"] = description;
                    }
                }
                None => self.share(child, false),
            }
        }
    }
}

/// What a schema says, apart from its description, which a place may have of its own.
fn content(schema: &Value) -> String {
    match schema {
        Value::Object(members) if members.contains_key("description") => {
            let mut members = members.clone();
            members.shift_remove("description");
            Value::Object(members).to_string()
        }
        schema => schema.to_string(),
    }
}

pub(crate) fn each_object(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
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

/// Says of an object without declared members that it may have any: many generators take it for one that has none.
fn say_free_form(schema: &mut Map<String, Value>) {
    let is_object = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => false,
    };
    if is_object
        && !["properties", "additionalProperties", "allOf"]
            .iter()
            .any(|keyword| schema.contains_key(*keyword))
    {
        schema.insert("additionalProperties".to_owned(), true.into());
    }
}

/// Says which value `success` has: true beside `data`, false beside `error`.
fn say_success(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let refused = properties.contains_key("error");
    if !refused && !properties.contains_key("data") {
        return;
    }
    if let Some(Value::Object(success)) = properties.get_mut("success")
        && success.get("type").is_some_and(|kind| kind == "boolean")
    {
        success.insert("const".to_owned(), (!refused).into());
    }
}

/// Calls `visit` with each operation of the API.
pub(crate) fn each_operation(document: &mut Value, mut visit: impl FnMut(&mut Value)) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, item) in paths {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            visit(operation);
        }
    }
}

/// Declares the headers that answers have in common, beside those that an operation declares itself.
fn name_headers(document: &mut Value) {
    let header = |kind: &str, about: &str| json!({"description": about, "schema": {"type": kind}});
    document["components"]["headers"] = json!({
        "X-Request-Id": header("string", "The name of the request, for support."),
        "X-RateLimit-Limit": header("integer", "How many requests the window with the least left allows."),
        "X-RateLimit-Remaining": header("integer", "How many of them are left."),
        "X-RateLimit-Reset": header("integer", "When the window ends, as a Unix timestamp."),
        "Retry-After": header("integer", "How many seconds to wait."),
        "WWW-Authenticate": header("string", "Bearer."),
    });
    each_operation(document, |operation| {
        let limited = operation["security"]
            .as_array()
            .is_some_and(|security| !security.is_empty());
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
            for name in names {
                response["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
            }
        }
    });
}

/// Says of what we send that it needs no credential of the receiver's: it is signed.
fn say_unsecured(document: &mut Value) {
    let webhooks = document["webhooks"].as_object_mut().into_iter().flatten();
    for (_, item) in webhooks {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            operation["security"] = json!([]);
        }
    }
}

/// Names the refusals that operations have in common, by their status.
fn share_responses(document: &mut Value) {
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
    let mut shared: BTreeMap<&str, Value> = BTreeMap::new();
    each_operation(document, |operation| {
        for (status, name) in NAMES {
            let Some(response) = operation["responses"].get_mut(status) else {
                continue;
            };
            let common = shared.entry(name).or_insert_with(|| response.clone());
            if response == common {
                *response = json!({"$ref": format!("#/components/responses/{name}")});
            }
        }
    });
    document["components"]["responses"] = json!(shared);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_becomes_a_reference_with_its_own_description() {
        let lead = json!({"type": "object", "description": "A lead.", "properties": {"id": {"type": "integer"}}});
        let copy = json!({"type": "object", "description": "The lead.", "properties": {"id": {"type": "integer"}}});
        let mut document = json!({
            "paths": {"/a": {"get": {"responses": {"200": {"schema": {"items": lead}}}}}},
            "components": {"schemas": {"Lead": lead, "Envelope": {"type": "object", "properties": {"data": copy}}}},
        });
        let named = Named::of(&document);
        named.share(document.pointer_mut("/paths").unwrap(), false);
        named.share(document.pointer_mut(SCHEMAS).unwrap(), true);
        let reference = "#/components/schemas/Lead";
        assert_eq!(
            document["paths"]["/a"]["get"]["responses"]["200"]["schema"]["items"],
            json!({"$ref": reference, "description": "A lead."})
        );
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Lead"], lead);
        assert_eq!(
            schemas["Envelope"]["properties"]["data"],
            json!({"$ref": reference, "description": "The lead."})
        );
    }

    #[test]
    fn what_is_free_form_says_so() {
        let mut document = json!({"a": {"type": ["object", "null"]}, "b": {"type": "object", "properties": {}}});
        each_object(&mut document, &mut say_free_form);
        assert_eq!(document["a"]["additionalProperties"], true);
        assert_eq!(document["b"].get("additionalProperties"), None);
    }

    #[test]
    fn success_has_one_value() {
        let envelope = |other: &str| json!({"properties": {"success": {"type": "boolean"}, other: {}}});
        for (other, success) in [("data", json!(true)), ("error", json!(false))] {
            let mut schema = envelope(other);
            each_object(&mut schema, &mut say_success);
            assert_eq!(schema["properties"]["success"]["const"], success);
        }
    }
}
