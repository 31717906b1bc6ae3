//! The finish of the OpenAPI document: what it says in many places is named once and referred to, so that generated clients
//! have one type for each thing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use forecourt_files::MAX_FILE_BYTES;
use forecourt_kernel::bounds::{MAX_ARTICLE_CHARS, MAX_LINE_CHARS, MAX_TEXT_CHARS};
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::{
    examples, refusals,
    visit::{each_object, each_operation, each_refusal, references, referred},
};
use crate::schemas::NOT_BLANK;

const SCHEMAS: &str = "/components/schemas";
/// How many characters HTML may have in an answer. What is sent is bounded; a quotation mark in it may become `&quot;`.
const MAX_SHOWN_HTML_CHARS: usize = 6 * MAX_ARTICLE_CHARS;
/// Where schemas begin in the document.
const ROOTS: [&str; 3] = ["/paths", "/webhooks", SCHEMAS];

/// The document as it is published.
///
/// # Errors
/// If it has no JSON form.
pub(super) fn finish(document: &OpenApi) -> serde_json::Result<Value> {
    let mut document = serde_json::to_value(document)?;
    declare_member_rules(&mut document);
    declare_forms(&mut document);
    let named = SchemaNames::of(&document);
    for root in ROOTS {
        if let Some(place) = document.pointer_mut(root) {
            named.share(place, root == SCHEMAS);
        }
    }
    each_object(&mut document, &mut |object| {
        declare_free_form(object);
        declare_success(object);
        separate_types(object);
    });
    let sent = sent_schemas(&mut document);
    bound_answers(&mut document, &sent);
    exclude_nul(&mut document, &sent);
    make_bodies_optional(&mut document);
    name_headers(&mut document);
    refusals::explain(&mut document);
    name_responses(&mut document);
    declare_unsecured(&mut document);
    examples::add(&mut document)?;
    Ok(document)
}

/// Declares what members of a body require of each other. The attributes of a body's declaration have no words for it, so those of the
/// operation name the keywords, in an extension.
fn declare_member_rules(document: &mut Value) {
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

/// Declares the forms that are read as the JSON beside them is. In a form the file stands as it is, and nothing is null.
fn declare_forms(document: &mut Value) {
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

/// Takes null from what a schema allows.
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

/// The named schemas, found by what they say.
struct SchemaNames(HashMap<String, String>);

impl SchemaNames {
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

/// Says of an object without declared members that it may have any: many generators take it for one that has none.
fn declare_free_form(schema: &mut Map<String, Value>) {
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

/// Makes a choice of a value of several types, each with the bounds that are its own: many generators put all bounds on the first.
fn separate_types(schema: &mut Map<String, Value>) {
    const TEXT_BOUNDS: &[&str] = &["minLength", "maxLength", "pattern", "format"];
    const NUMBER_BOUNDS: &[&str] = &["minimum", "maximum"];

    fn bounds_of(kind: &str) -> Option<&'static [&'static str]> {
        match kind {
            "string" => Some(TEXT_BOUNDS),
            "integer" | "number" => Some(NUMBER_BOUNDS),
            "boolean" | "null" => Some(&[]),
            _ => None,
        }
    }

    let Some(Value::Array(kinds)) = schema.get("type") else {
        return;
    };
    let kinds: Option<Vec<_>> = kinds
        .iter()
        .map(|kind| Some((kind.clone(), bounds_of(kind.as_str()?)?)))
        .collect();
    // Null beside one other type is common, and understood. A member `type` of an example is no list of types.
    let Some(kinds) = kinds.filter(|kinds| kinds.iter().filter(|(kind, _)| kind != "null").count() > 1) else {
        return;
    };
    let choices: Vec<Value> = kinds
        .into_iter()
        .map(|(kind, bounds)| {
            let bounds = bounds
                .iter()
                .filter_map(|bound| Some(((*bound).to_owned(), schema.get(*bound)?.clone())));
            let mut choice: Map<_, _> = bounds.collect();
            if kind == "integer" {
                choice.insert("format".to_owned(), "int64".into());
            }
            choice.shift_insert(0, "type".to_owned(), kind);
            choice.into()
        })
        .collect();
    schema.retain(|member, _| {
        let member = member.as_str();
        member != "type" && !TEXT_BOUNDS.contains(&member) && !NUMBER_BOUNDS.contains(&member)
    });
    schema.insert("anyOf".to_owned(), choices.into());
}

/// Says which value `success` has: true beside `data`, false beside `error`.
fn declare_success(schema: &mut Map<String, Value>) {
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

/// Says that a body may be left out if it need not have any member: no body counts as an empty object.
fn make_bodies_optional(document: &mut Value) {
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

/// Whether an empty object lacks a member that the schema requires.
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

/// Whether a value of the schema may be a text.
fn is_text(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        kind => kind.is_some_and(|kind| kind == "string"),
    }
}

/// The names of the schemas that requests are made of.
fn sent_schemas(document: &mut Value) -> BTreeSet<String> {
    let mut sent = BTreeSet::new();
    each_operation(document, |operation| {
        for part in ["parameters", "requestBody"] {
            references(&operation[part], &mut sent);
        }
    });
    let schemas = &document["components"]["schemas"];
    // What a body is made of belongs to it.
    let mut seen = 0;
    while seen < sent.len() {
        seen = sent.len();
        for name in sent.clone() {
            references(&schemas[name], &mut sent);
        }
    }
    sent
}

/// Says of the texts in requests that they have no NUL, which no text may have (decisions §3). `fields` alone may: a path with one
/// leads nowhere.
fn exclude_nul(document: &mut Value, sent: &BTreeSet<String>) {
    let mut visit = |schema: &mut Map<String, Value>| {
        // Conditions have no bounds, and are left as they are.
        if !is_text(schema)
            || !schema.contains_key("maxLength")
            || ["enum", "const", "format", "contentEncoding"]
                .iter()
                .any(|keyword| schema.contains_key(*keyword))
        {
            return;
        }
        // The escape that regular expressions of every language know.
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

/// Says how long a text in an answer may be, where its declaration does not: no longer than the longest text that is taken.
fn bound_answers(document: &mut Value, sent: &BTreeSet<String>) {
    let mut schemas = document["components"]["schemas"].take();
    let answers = schemas.as_object_mut().into_iter().flatten();
    for (_, schema) in answers.filter(|(name, _)| !sent.contains(*name)) {
        each_object(schema, &mut |schema| {
            if !is_text(schema) || schema.contains_key("enum") || schema.contains_key("const") {
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

/// Declares the headers that answers have in common, beside those that an operation declares itself.
fn name_headers(document: &mut Value) {
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
            // What was not found is said alike of reads and writes, and left alone.
            if has_key && ["200", "201", "409", "412", "422"].contains(&status.as_str()) {
                names.push("X-Idempotent-Replay");
            }
            for name in names {
                response["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
            }
        }
    });
}

/// Says of what we send that it needs no credential of the receiver's: it is signed.
fn declare_unsecured(document: &mut Value) {
    let webhooks = document["webhooks"].as_object_mut().into_iter().flatten();
    for (_, item) in webhooks {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            operation["security"] = json!([]);
        }
    }
}

/// Names the refusals that operations have in common: by their status the first of each, and the others by their codes.
fn name_responses(document: &mut Value) {
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

/// A name for a refusal by these codes, such as `LeadNotFound`.
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
    fn a_copy_becomes_a_reference_with_its_own_description() {
        let lead = json!({"type": "object", "description": "A lead.", "properties": {"id": {"type": "integer"}}});
        let copy = json!({"type": "object", "description": "The lead.", "properties": {"id": {"type": "integer"}}});
        let mut document = json!({
            "paths": {"/a": {"get": {"responses": {"200": {"schema": {"items": lead}}}}}},
            "components": {"schemas": {"Lead": lead, "Envelope": {"type": "object", "properties": {"data": copy}}}},
        });
        let named = SchemaNames::of(&document);
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
        each_object(&mut document, &mut declare_free_form);
        assert_eq!(document["a"]["additionalProperties"], true);
        assert_eq!(document["b"].get("additionalProperties"), None);
    }

    #[test]
    fn a_bound_is_with_the_type_that_it_bounds() {
        let mut document = json!({
            "figure": {"type": ["number", "string", "null"], "minimum": 0, "maxLength": 9, "description": "A figure."},
            "id": {"type": ["integer", "string"], "minimum": 1, "pattern": "a"},
            "text": {"type": ["string", "null"], "maxLength": 9},
            "example": {"type": ["Customer", "Supplier"]},
        });
        let [text, example] = ["text", "example"].map(|name| document[name].clone());
        each_object(&mut document, &mut separate_types);
        let figure = json!({
            "description": "A figure.",
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "maxLength": 9}, {"type": "null"}],
        });
        let id = json!({"anyOf": [{"type": "integer", "minimum": 1, "format": "int64"}, {"type": "string", "pattern": "a"}]});
        assert_eq!(
            document,
            json!({"figure": figure, "id": id, "text": text, "example": example})
        );
    }

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

    #[test]
    fn success_has_one_value() {
        let envelope = |other: &str| json!({"properties": {"success": {"type": "boolean"}, other: {}}});
        for (other, success) in [("data", json!(true)), ("error", json!(false))] {
            let mut schema = envelope(other);
            each_object(&mut schema, &mut declare_success);
            assert_eq!(schema["properties"]["success"]["const"], success);
        }
    }
}
