//! Bounds on texts in the OpenAPI document: their maximum lengths, and that those in requests have no NUL.

use std::collections::BTreeSet;

use forecourt_kernel::bounds::{MAX_ARTICLE_CHARS, MAX_TEXT_CHARS};
use serde_json::{Map, Value};

use super::visit::{allows_type, each_object, each_operation, references};
use crate::schemas::NOT_BLANK;

/// The maximum number of characters of HTML in an answer. Requests are bounded; a quotation mark in them may become `&quot;`.
const MAX_SHOWN_HTML_CHARS: usize = 6 * MAX_ARTICLE_CHARS;

/// Returns the names of the schemas that requests are made of.
pub(super) fn sent_schemas(document: &mut Value) -> BTreeSet<String> {
    let mut sent = BTreeSet::new();
    each_operation(document, |operation| {
        for part in ["parameters", "requestBody"] {
            references(&operation[part], &mut sent);
        }
    });
    let schemas = &document["components"]["schemas"];
    // The schemas that a body refers to belong to it.
    let mut seen = 0;
    while seen < sent.len() {
        seen = sent.len();
        for name in sent.clone() {
            references(&schemas[name], &mut sent);
        }
    }
    sent
}

/// Declares that the texts in requests have no NUL, which no text may have (decisions §3). Only `fields` may: a path with one
/// matches nothing.
pub(super) fn exclude_nul(document: &mut Value, sent: &BTreeSet<String>) {
    let mut visit = |schema: &mut Map<String, Value>| {
        // Conditions have no bounds, and are left unchanged.
        if !allows_type(schema.get("type"), "string")
            || !schema.contains_key("maxLength")
            || ["enum", "const", "format", "contentEncoding"]
                .iter()
                .any(|keyword| schema.contains_key(*keyword))
        {
            return;
        }
        // The escape is one that regular expressions of every language know.
        let pattern = match schema.get("pattern").and_then(Value::as_str) {
            None => r"^[^\x00]*$",
            Some(NOT_BLANK) => r"^[^\x00]*[^\s\x00][^\x00]*$",
            Some(_) => return,
        };
        schema.insert("pattern".to_owned(), pattern.into());
    };
    each_operation(document, |operation| {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            if parameter["in"] == "query" && parameter["name"] != "fields" {
                each_object(parameter, &mut visit);
            }
        }
    });
    for name in sent {
        if let Some(schema) = document["components"]["schemas"].get_mut(name) {
            each_object(schema, &mut visit);
        }
    }
}

/// Declares the maximum length of texts in answers whose declarations have none: that of the longest text that is accepted.
pub(super) fn bound_answers(document: &mut Value, sent: &BTreeSet<String>) {
    let mut schemas = document["components"]["schemas"].take();
    let answers = schemas.as_object_mut().into_iter().flatten();
    for (_, schema) in answers.filter(|(name, _)| !sent.contains(*name)) {
        each_object(schema, &mut |schema| {
            if !allows_type(schema.get("type"), "string") || schema.contains_key("enum") || schema.contains_key("const")
            {
                return;
            }
            if schema.get("contentMediaType").is_some_and(|kind| kind == "text/html") {
                schema.insert("maxLength".to_owned(), MAX_SHOWN_HTML_CHARS.into());
            } else if !schema.contains_key("maxLength") && !schema.contains_key("format") {
                schema.insert("maxLength".to_owned(), MAX_TEXT_CHARS.into());
            }
        });
    }
    document["components"]["schemas"] = schemas;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::visit::SCHEMAS;

    #[test]
    fn texts_of_requests_have_no_nul() {
        let text = json!({"type": ["string", "null"], "maxLength": 9});
        let query = |name: &str| json!({"in": "query", "name": name, "schema": {"type": "string", "maxLength": 9}});
        let mut document = json!({
            "paths": {"/a": {"post": {
                "parameters": [query("name"), query("fields"), {"in": "header", "name": "a", "schema": {"type": "string"}}],
                "requestBody": {"schema": {"$ref": format!("#{SCHEMAS}/Body")}},
            }}},
            "components": {"schemas": {
                "Body": {"properties": {
                    "text": text,
                    "said": {"type": "string", "maxLength": 9, "pattern": NOT_BLANK},
                    "code": {"type": "string", "maxLength": 9, "pattern": "^[a-z]$"},
                    "word": {"type": "string", "enum": ["a"]},
                    "file": {"type": "string", "maxLength": 9, "contentEncoding": "base64"},
                    "other": {"if": {"properties": {"text": {"type": "string"}}}},
                }},
                "Shown": {"properties": {"text": text}},
            }},
        });
        let sent = sent_schemas(&mut document);
        exclude_nul(&mut document, &sent);
        let pattern = |pointer: &str| document.pointer(pointer).and_then(|schema| schema["pattern"].as_str());
        let parameter = |at: usize| pattern(&format!("/paths/~1a/post/parameters/{at}/schema"));
        assert_eq!(
            [parameter(0), parameter(1), parameter(2)],
            [Some(r"^[^\x00]*$"), None, None]
        );
        let member = |name: &str| pattern(&format!("{SCHEMAS}/Body/properties/{name}"));
        assert_eq!(member("text"), Some(r"^[^\x00]*$"));
        assert_eq!(member("said"), Some(r"^[^\x00]*[^\s\x00][^\x00]*$"));
        assert_eq!(member("code"), Some("^[a-z]$"));
        let condition = member("other/if/properties/text");
        assert_eq!([member("word"), member("file"), condition], [None, None, None]);
        assert_eq!(pattern(&format!("{SCHEMAS}/Shown/properties/text")), None);
    }

    #[test]
    fn texts_of_answers_are_bounded() {
        let text = json!({"type": ["string", "null"]});
        let html = json!({"type": "string", "contentMediaType": "text/html", "maxLength": 10});
        let body = json!({"$ref": "#/components/schemas/Body"});
        let mut document = json!({
            "paths": {"/a": {"post": {"requestBody": {"schema": body}}}},
            "components": {"schemas": {
                "Body": {"properties": {"part": {"$ref": "#/components/schemas/Part"}}},
                "Part": {"properties": {"text": text}},
                "Shown": {"properties": {"text": text, "html": html, "day": {"type": "string", "format": "date"}}},
            }},
        });
        let sent = sent_schemas(&mut document);
        bound_answers(&mut document, &sent);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Part"]["properties"]["text"], text);
        let shown = &schemas["Shown"]["properties"];
        assert_eq!(shown["text"]["maxLength"], MAX_TEXT_CHARS);
        assert_eq!(shown["html"]["maxLength"], MAX_SHOWN_HTML_CHARS);
        assert_eq!(shown["day"], json!({"type": "string", "format": "date"}));
    }
}
