//! Completes the bodies in the OpenAPI document: the rules between their members, the forms that are read as JSON is, and the
//! bodies that may be left out.

use std::collections::{BTreeMap, BTreeSet};

use forecourt_files::MAX_FILE_BYTES;
use serde_json::{Value, json};

use super::visit::{SCHEMAS, each_operation, references, referred};

/// Declares the rules between members of a body. The attributes of a body's declaration cannot express them, so those of the
/// operation name the keywords in an extension.
pub(super) fn declare_member_rules(document: &mut Value) {
    let mut rules = BTreeMap::new();
    each_operation(document, |operation| {
        let Some(Value::Object(body)) = operation.get_mut("requestBody") else {
            return;
        };
        if let Some(Value::Object(keywords)) = body.shift_remove("x-rules") {
            let mut names = BTreeSet::new();
            references(&body["content"], &mut names);
            rules.extend(names.into_iter().map(|name| (name, keywords.clone())));
        }
    });
    for (name, keywords) in rules {
        if let Some(Value::Object(schema)) = document["components"]["schemas"].get_mut(name) {
            schema.extend(keywords);
        }
    }
}

/// Declares the forms that are read as the JSON beside them is. In a form the file is sent as raw bytes, and nothing is null.
pub(super) fn declare_forms(document: &mut Value) {
    let mut forms = BTreeMap::new();
    each_operation(document, |operation| {
        let form = operation.pointer_mut("/requestBody/content/multipart~1form-data/schema/$ref");
        let Some(Value::String(reference)) = form else { return };
        let body = reference.rsplit('/').next().unwrap_or_default().to_owned();
        let form = format!("{}Form", body.strip_suffix("Body").unwrap_or(&body));
        *reference = format!("#{SCHEMAS}/{form}");
        forms.insert(form, body);
    });
    for (form, body) in forms {
        let mut schema = document["components"]["schemas"][body].clone();
        let properties = schema["properties"].as_object_mut().into_iter().flatten();
        for (name, property) in properties {
            match name.as_str() {
                "file" => {
                    *property = json!({
                        "type": "string", "format": "binary", "maxLength": MAX_FILE_BYTES, "description": "The file.",
                    });
                }
                _ => exclude_null(property),
            }
        }
        if let Some(schema) = schema.as_object_mut() {
            schema.shift_remove("example");
        }
        document["components"]["schemas"][form] = schema;
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.sort_keys();
    }
}

/// Removes null from the types that a schema allows.
fn exclude_null(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            schema["type"] = kind.clone();
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(choice)] = choices.as_slice() {
            let choice = choice.clone();
            schema.shift_remove("oneOf");
            for (keyword, value) in choice {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
}

/// Declares that a body may be left out if it needs no member: a missing body counts as an empty object.
pub(super) fn make_bodies_optional(document: &mut Value) {
    let schemas = document["components"]["schemas"].take();
    each_operation(document, |operation| {
        let Some(body) = operation.get_mut("requestBody") else {
            return;
        };
        let media = body["content"].as_object().into_iter().flatten();
        if media.clone().all(|(name, _)| name == "application/json")
            && !media
                .into_iter()
                .any(|(_, media)| requires_member(&schemas, &media["schema"]))
        {
            body["required"] = false.into();
        }
    });
    document["components"]["schemas"] = schemas;
}

/// Returns true if an empty object lacks a member that the schema requires.
fn requires_member(schemas: &Value, schema: &Value) -> bool {
    if let Some(name) = referred(schema) {
        return requires_member(schemas, &schemas[name]);
    }
    let all = |keyword: &str| schema[keyword].as_array().map(Vec::as_slice).unwrap_or_default();
    let each = |keyword: &str| all(keyword).iter().map(|part| requires_member(schemas, part));
    let lacks = !all("required").is_empty()
        || each("allOf").any(|requires| requires)
        || ["anyOf", "oneOf"]
            .iter()
            .any(|keyword| !all(keyword).is_empty() && each(keyword).all(|requires| requires));
    if lacks || schema.get("if").is_none() {
        return lacks;
    }
    let outcome = if requires_member(schemas, &schema["if"]) {
        "else"
    } else {
        "then"
    };
    requires_member(schemas, &schema[outcome])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_may_be_left_out_if_it_requires_nothing() {
        let operation = |name: &str| {
            let schema = json!({"$ref": format!("#/components/schemas/{name}")});
            json!({"requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}})
        };
        let mut document = json!({
            "paths": {"/a": {"post": operation("New"), "patch": operation("Change")}},
            "components": {"schemas": {
                "Change": {"properties": {"name": {"type": "string"}}},
                "New": {"allOf": [{"$ref": "#/components/schemas/Change"}, {"required": ["name"]}]},
            }},
        });
        make_bodies_optional(&mut document);
        assert_eq!(document["paths"]["/a"]["post"]["requestBody"]["required"], true);
        assert_eq!(document["paths"]["/a"]["patch"]["requestBody"]["required"], false);
    }

    #[test]
    fn what_members_require_of_each_other_decides_whether_a_body_may_be_left_out() {
        let rules = |rules: Value| {
            let content = json!({"application/json": {"schema": {"$ref": format!("#{SCHEMAS}/Body")}}});
            let mut document = json!({
                "paths": {"/a": {"post": {"requestBody": {"content": content, "required": true, "x-rules": rules}}}},
                "components": {"schemas": {"Body": {"properties": {}}}},
            });
            declare_member_rules(&mut document);
            assert_eq!(document["components"]["schemas"]["Body"]["if"], rules["if"]);
            make_bodies_optional(&mut document);
            let body = document["paths"]["/a"]["post"]["requestBody"].take();
            assert_eq!(body.get("x-rules"), None);
            body["required"] == true
        };
        let absent = json!({"properties": {"a": {"type": "null"}}});
        assert!(rules(json!({"if": absent, "then": {"required": ["b"]}})));
        assert!(!rules(json!({"if": absent, "else": {"required": ["b"]}})));
        let sent = json!({"required": ["a"]});
        assert!(rules(json!({"if": sent, "else": {"required": ["c"]}})));
        assert!(!rules(json!({"if": sent, "then": {"required": ["c"]}})));
    }

    #[test]
    fn a_form_is_declared_by_the_body_that_it_is_read_as() {
        let content = |name: &str| json!({"schema": {"$ref": format!("#{SCHEMAS}/{name}")}});
        let body = json!({
            "required": ["file"],
            "properties": {
                "file": {"type": "string", "contentEncoding": "base64"},
                "name": {"type": ["string", "null"], "maxLength": 9},
                "kind": {"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "What it is."},
                "end": {"type": ["string", "null"], "enum": ["x", null]},
            },
            "example": {"file": "AAAA"},
        });
        let mut document = json!({
            "paths": {"/a": {"post": {"requestBody": {"content": {
                "application/json": content("PhotoBody"), "multipart/form-data": content("PhotoBody"),
            }}}}},
            "components": {"schemas": {"PhotoBody": body}},
        });
        declare_forms(&mut document);
        let sent = &document["paths"]["/a"]["post"]["requestBody"]["content"];
        assert_eq!(sent["application/json"], content("PhotoBody"));
        assert_eq!(sent["multipart/form-data"], content("PhotoForm"));
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["PhotoBody"], body);
        assert_eq!(
            schemas["PhotoForm"],
            json!({
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "maxLength": MAX_FILE_BYTES, "description": "The file."},
                    "name": {"type": "string", "maxLength": 9},
                    "kind": {"description": "What it is.", "type": "string", "enum": ["a"]},
                    "end": {"type": "string", "enum": ["x"]},
                },
            })
        );
    }
}
