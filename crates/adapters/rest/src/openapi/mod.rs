//! The OpenAPI document, put together from the operations' declarations.

mod bodies;
mod bounds;
mod examples;
mod finish;
mod refusals;
mod responses;
mod visit;
pub(crate) mod webhooks;

use forecourt_kernel::BoxError;
use serde_json::Value;
use utoipa::openapi::{
    Components, ContactBuilder, Content, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathItem, Paths, Ref,
    RefOr, ResponseBuilder, ServerBuilder,
    header::{Header, HeaderBuilder},
    path::{HttpMethod, Operation as Declaration, Parameter, ParameterBuilder, ParameterIn},
    schema::{AdditionalProperties, ArrayItems, ObjectBuilder, Schema, Type},
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    tag::TagBuilder,
};

use crate::{
    areas::{self, AREAS},
    code::Code,
    conditional::MAX_TAGS_BYTES,
    operation::{Description, Operation, SECURITY_SCHEME},
    reply::Created,
    schemas,
};

const DESCRIPTION: &str = "The API with which a car dealership manages its business data and connects other software to it. \
Every request carries a key as `Authorization: Bearer <key_id>.<secret>`; an operation needs the scope that it names.";

/// Returns the OpenAPI 3.1 document of the whole API, as JSON.
///
/// # Errors
/// If an operation lacks a required declaration.
pub fn openapi_json(public_url: &str) -> Result<String, BoxError> {
    let mut text = serde_json::to_string_pretty(&document(public_url)?)?;
    text.push('\n');
    Ok(text)
}

/// Returns the document of the whole API, served at `public_url`.
///
/// # Errors
/// If an operation lacks a required declaration.
pub(crate) fn document(public_url: &str) -> Result<Value, BoxError> {
    Ok(finish::finish(&declarations(&areas::operations()?, public_url))?)
}

/// Returns the declarations of these operations, completed by the parts that all have in common.
fn declarations(operations: &[Operation], public_url: &str) -> OpenApi {
    let mut components = Components::new();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A key of the business, `<key_id>.<secret>`: `forecourt serve --demo` prints one with every scope, and `forecourt key create` makes others. The scopes listed with an operation are those that the key must have."));
    components.add_security_scheme(SECURITY_SCHEME, SecurityScheme::Http(bearer.build()));
    components.schemas.insert("Error".into(), error_schema());
    components
        .schemas
        .insert("ErrorEnvelope".into(), error_envelope_schema());
    components.schemas.extend(webhooks::schemas());
    let mut paths = Paths::new();
    for operation in operations {
        let Description { declaration, schemas } = (operation.describe)();
        components.schemas.extend(schemas);
        let item = PathItem::new(http_method(operation), complete(operation, declaration));
        match paths.paths.get_mut(&operation.path) {
            Some(known) => known.merge_operations(item),
            None => {
                paths.paths.insert(operation.path.clone(), item);
            }
        }
    }
    paths.paths.insert(
        "/2.0/openapi.json".into(),
        PathItem::new(HttpMethod::Get, document_operation()),
    );
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Forecourt")
                .version("2.0")
                .description(Some(DESCRIPTION))
                .contact(Some(
                    ContactBuilder::new()
                        .name(Some("Forecourt"))
                        .url(Some(env!("CARGO_PKG_REPOSITORY")))
                        .build(),
                ))
                .license(Some(
                    LicenseBuilder::new()
                        .name("MIT OR Apache-2.0")
                        .identifier(Some("MIT OR Apache-2.0"))
                        .build(),
                ))
                .build(),
        )
        .servers(Some([ServerBuilder::new().url(public_url).build()]))
        .paths(paths)
        .webhooks(Some(webhooks::webhooks()))
        .components(Some(components))
        .tags(Some(AREAS.iter().map(|area| {
            TagBuilder::new().name(area.tag).description(Some(area.about)).build()
        })))
        .build()
}

fn http_method(operation: &Operation) -> HttpMethod {
    match operation.method.as_str() {
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        "PATCH" => HttpMethod::Patch,
        "DELETE" => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

/// Completes an operation's declaration by the parts that all operations have in common.
fn complete(operation: &Operation, mut declaration: Declaration) -> Declaration {
    if let Some(parameters) = &mut declaration.parameters {
        declare_single_values(parameters);
    }
    let writes = operation.method != actix_web::http::Method::GET;
    // The text in a declaration of a refusal is its description; the envelope is the same for all.
    for (status, response) in &mut declaration.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with(['4', '5'])
        {
            *response = error_response(&[], &response.description);
        }
    }
    let mut add = |codes: &[Code], when: &str| add_refusal(&mut declaration, codes, when);
    if writes {
        add(
            &[Code::JSON_INVALID, Code::IDEMPOTENCY_KEY_INVALID],
            "The body is no JSON, or the idempotency key is malformed.",
        );
    }
    add(
        &[
            Code::AUTHENTICATION_REQUIRED,
            Code::AUTHENTICATION_INVALID,
            Code::AUTHENTICATION_EXPIRED,
            Code::AUTHENTICATION_REVOKED,
            Code::AUTHENTICATION_BLOCKED,
        ],
        "The key is missing or no good.",
    );
    add(
        &[
            Code::SCOPE_REQUIRED,
            Code::SCOPE_DENIED,
            Code::BUSINESS_REQUIRED,
            Code::BUSINESS_NOT_FOUND,
            Code::BUSINESS_UNVERIFIED,
            Code::ACCOUNT_FROZEN,
            Code::ACCOUNT_SUSPENDED,
            Code::ACCOUNT_DEMO,
            Code::ACCOUNT_READ_ONLY,
            Code::PLAN_UPGRADE_REQUIRED,
            Code::API_ACCESS_REQUIRED,
        ],
        "The key lacks the scope, or its account may not use the API.",
    );
    if writes {
        add(&[Code::REQUEST_TIMEOUT], "The request did not arrive in time.");
    }
    if operation.writes_record() {
        add(
            &[Code::PRECONDITION_FAILED],
            "The record is not at a version that `If-Match` names; `details.version` is the one that it is at.",
        );
    }
    add(&[Code::URI_TOO_LONG], "The path and the query together are too long.");
    let invalid = "A field or a parameter is not valid; `details` names it and all others.";
    if writes {
        add(&[Code::VALIDATION_FAILED, Code::IDEMPOTENCY_KEY_REUSED], invalid);
    } else {
        add(&[Code::VALIDATION_FAILED], invalid);
    }
    add(
        &[Code::RATE_LIMITED],
        "The business has made too many requests; `Retry-After` says how long to wait.",
    );
    add(
        &[Code::HEADERS_TOO_LARGE],
        "The header fields together are too long, or too many.",
    );
    add(&[Code::INTERNAL], "An unexpected error occurred.");
    add(
        &[Code::SERVICE_UNAVAILABLE],
        "The service is busy or its database cannot be reached; try again.",
    );
    // The scope is in `security` too, but many readers of the document do not show it there.
    let needs = format!("Needs the scope `{}`.", operation.scope);
    declaration.description = Some(match declaration.description.take() {
        Some(about) if !about.is_empty() => format!("{about}\n\n{needs}"),
        _ => needs,
    });
    let prefer = ParameterBuilder::new()
        .name("Prefer")
        .parameter_in(ParameterIn::Header)
        .description(Some("`handling=strict` refuses unknown query parameters, paths in `fields` and body members with 422 instead of ignoring them; the answer then carries `Preference-Applied`."))
        .schema(Some(schemas::line()))
        .example(Some("handling=strict".into()))
        .build();
    declaration.parameters.get_or_insert_default().push(prefer.into());
    if writes {
        let key = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .description(Some("1 to 255 letters, digits, hyphens or underscores. A retry with the same key replays the first answer for 24 hours."))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(255)).pattern(Some("^[A-Za-z0-9_-]+$")).build()))
            .build();
        declaration.parameters.get_or_insert_default().push(key.into());
    }
    if operation.writes_record() {
        let about = "`ETag` of a read of the record, or its `version` in quotes: the write happens only while the record is at that \
            version. Several with commas between, or `*` for any.";
        let header = header_parameter("If-Match", about, Some(ENTITY_TAGS));
        declaration.parameters.get_or_insert_default().push(header);
    }
    if operation.is_conditional {
        let about =
            "`ETag` of an earlier answer: if the record still shows the same, the answer is 304 without a body.";
        let header = header_parameter("If-None-Match", about, None);
        declaration.parameters.get_or_insert_default().push(header);
        let responses = &mut declaration.responses.responses;
        if let Some(RefOr::T(found)) = responses.get_mut("200") {
            found.headers.insert("ETag".into(), entity_tag().into());
        }
        let known = ResponseBuilder::new()
            .description("The record still shows what the caller has.")
            .header("ETag", entity_tag());
        responses.insert("304".into(), known.build().into());
    }
    if operation.alternative.is_some()
        && let Some(RefOr::T(found)) = declaration.responses.responses.get_mut("200")
    {
        let about = "The name of the file, where the answer is one.";
        found
            .headers
            .insert("Content-Disposition".into(), text_header(about).into());
    }
    if operation.created != Created::Unreadable
        && let Some(RefOr::T(created)) = declaration.responses.responses.get_mut("201")
    {
        let about = "The path of what was created";
        created.headers.insert("Location".into(), text_header(about).into());
    }
    declaration
}

/// Declares that an operation may be refused with these codes of one status, beside those of this status that it declares
/// itself.
fn add_refusal(declaration: &mut Declaration, codes: &[Code], when: &str) {
    let Some(status) = codes.first().map(|code| code.status().as_str().to_owned()) else {
        return;
    };
    match declaration.responses.responses.get_mut(&status) {
        Some(RefOr::T(response)) => {
            let others = codes.iter().map(|code| format!("`{}`", code.as_str()));
            let others = others.filter(|code| !response.description.contains(code.as_str()));
            let others: String = others.map(|code| format!(", {code}")).collect();
            response.description.push_str(&others);
        }
        _ => {
            let response = error_response(codes, when);
            declaration.responses.responses.insert(status, response.into());
        }
    }
}

/// Declares the single value before each range, as `created` before `created[]`: the code only declares the range.
fn declare_single_values(parameters: &mut Vec<RefOr<Parameter>>) {
    let mut at = 0;
    while let Some(parameter) = parameters.get(at) {
        at += 1;
        if let RefOr::T(range) = parameter
            && let Some(single) = single_value(range)
        {
            parameters.insert(at - 1, single.into());
            at += 1;
        }
    }
}

fn single_value(range: &Parameter) -> Option<Parameter> {
    let name = range.name.strip_suffix("[]")?;
    let Some(RefOr::T(Schema::Array(bounds))) = &range.schema else {
        return None;
    };
    let ArrayItems::RefOrSchema(bound) = &bounds.items else {
        return None;
    };
    let RefOr::T(Schema::AnyOf(bound)) = bound.as_ref() else {
        return None;
    };
    let single = ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .description(Some(format!("Just this value; `{}` takes two bounds.", range.name)))
        .schema(Some(bound.items.first()?.clone()));
    Some(single.build())
}

/// `*`, or entity tags separated by commas.
const ENTITY_TAGS: &str = r#"^(\*|(W/)?"[^\s"]*"(\s*,\s*(W/)?"[^\s"]*")*)$"#;

fn header_parameter(name: &str, about: &str, pattern: Option<&str>) -> RefOr<Parameter> {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(MAX_TAGS_BYTES))
        .pattern(pattern);
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .description(Some(about))
        .schema(Some(schema.build()))
        .build()
        .into()
}

fn entity_tag() -> Header {
    text_header(
        "The record's version in quotes, `\"3\"`, or `\"3-simple\"` in the simple view; a digest follows where something that the \
         version does not cover is shown otherwise. A printed document has a digest. None with `fields`.",
    )
}

fn text_header(about: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(schemas::line().build()))
        .description(Some(about))
        .build()
}

fn error_response(codes: &[Code], when: &str) -> utoipa::openapi::Response {
    let names: Vec<_> = codes.iter().map(|code| format!("`{}`", code.as_str())).collect();
    let description = if names.is_empty() {
        when.to_owned()
    } else {
        format!("{when}\n\n{}", names.join(", "))
    };
    ResponseBuilder::new()
        .description(description)
        .content(
            "application/json",
            Content::new(Some(Ref::from_schema_name("ErrorEnvelope"))),
        )
        .build()
}

fn document_operation() -> Declaration {
    let tag =
        || text_header("A digest of the document: with it in `If-None-Match` the answer is 304 while it is the same.");
    let response = ResponseBuilder::new()
        .description("The OpenAPI document")
        .header("ETag", tag())
        .content(
            "application/json",
            Content::new(Some(ObjectBuilder::new().schema_type(Type::Object).build())),
        )
        .build();
    let known = ResponseBuilder::new()
        .description("The caller has this document already.")
        .header("ETag", tag())
        .build();
    let mut declaration = Declaration::new();
    declaration.summary = Some("Read this document".into());
    declaration.description = Some("Needs no key.".into());
    declaration.operation_id = Some("read_openapi".into());
    declaration.tags = Some(vec!["meta".into()]);
    declaration.security = Some(Vec::new());
    let about = "`ETag` of an earlier answer: if the document is still the same, the answer is 304 without a body.";
    declaration.parameters = Some(vec![header_parameter("If-None-Match", about, None)]);
    declaration.responses.responses.insert("200".into(), response.into());
    declaration.responses.responses.insert("304".into(), known.into());
    for (status, code) in [("414", Code::URI_TOO_LONG), ("431", Code::HEADERS_TOO_LARGE)] {
        let response = error_response(&[code], "The head of the request is too long.");
        declaration.responses.responses.insert(status.into(), response.into());
    }
    declaration
}

/// Returns the schema of the reason why a request was refused.
fn error_schema() -> RefOr<Schema> {
    let text = |about: &str| {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(about))
            .build()
    };
    let details = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("help", text("The address of the page on this code: its meaning, cause and remedy"))
        .required("help")
        .additional_properties(Some(AdditionalProperties::FreeForm(true)))
        .description(Some(
            "Specific to the code. For validation_failed: `field`, the first field found wrong, and `errors`, all of them.",
        ));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("Why a request was refused."))
        .property("code", text("Stable within a major version"))
        .property("message", text("For people; may change"))
        .property("details", details.build())
        .required("code")
        .required("message")
        .required("details")
        .into()
}

/// Returns the schema of a refusal. Its name differs from that of its content: generators that name a variable after a schema
/// would have two with one name.
fn error_envelope_schema() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("A refusal."))
        .property("success", schemas::always(false).build())
        .property("error", Ref::from_schema_name("Error"))
        .required("success")
        .required("error")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats in which every text has the same length.
    const FIXED_FORMATS: &[&str] = &["date", "uuid"];

    /// Records the parts of `schema` that a caller may send without bound. Schemas that contain themselves are visited once.
    fn unbounded(document: &Value, schema: &Value, at: &str, seen: &mut Vec<String>, found: &mut Vec<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            if !seen.iter().any(|known| known == reference) {
                seen.push(reference.to_owned());
                let pointer = reference.trim_start_matches('#');
                let target = document
                    .pointer(pointer)
                    .unwrap_or_else(|| panic!("{reference} leads nowhere"));
                unbounded(document, target, at, seen, found);
                seen.pop();
            }
            return;
        }
        let is = |kind: &str| match &schema["type"] {
            Value::Array(kinds) => kinds.iter().any(|known| known == kind),
            known => known == kind,
        };
        let has = |keyword: &str| schema.get(keyword).is_some();
        let fixed = schema["format"]
            .as_str()
            .is_some_and(|format| FIXED_FORMATS.contains(&format));
        if is("string") && !(has("maxLength") || has("enum") || has("const") || fixed) {
            found.push(format!("{at}: text without maxLength"));
        }
        if is("array") && !has("maxItems") {
            found.push(format!("{at}: array without maxItems"));
        }
        for keyword in ["allOf", "oneOf", "anyOf", "prefixItems"] {
            for part in schema[keyword].as_array().into_iter().flatten() {
                unbounded(document, part, at, seen, found);
            }
        }
        for keyword in ["items", "additionalProperties"] {
            if let Some(part) = schema.get(keyword) {
                unbounded(document, part, &format!("{at}[]"), seen, found);
            }
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            unbounded(document, member, &format!("{at}.{name}"), seen, found);
        }
    }

    #[test]
    fn everything_that_a_caller_sends_is_bounded() {
        let document: Value = serde_json::from_str(&openapi_json("https://example.com").unwrap()).unwrap();
        let mut found = Vec::new();
        let mut operations = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                operations += 1;
                let mut look = |schema: &Value, what: &str| {
                    let at = format!("{method} {path} {what}");
                    unbounded(&document, schema, &at, &mut Vec::new(), &mut found);
                };
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    look(&parameter["schema"], parameter["name"].as_str().unwrap());
                }
                for content in operation["requestBody"]["content"].as_object().into_iter().flatten() {
                    look(&content.1["schema"], "body");
                }
            }
        }
        assert!(operations > 40, "the test reads the document: {operations}");
        assert!(found.is_empty(), "{found:#?}");
    }

    /// Records the schemas in `part` of the document that have no type.
    fn untyped(part: &Value, at: &str, found: &mut Vec<String>) {
        const SAYS: [&str; 7] = ["type", "$ref", "allOf", "anyOf", "oneOf", "enum", "const"];
        let is_example = |name: &str| ["example", "examples", "default"].contains(&name);
        let mut check = |schema: &Value, at: String| {
            if !SAYS.iter().any(|keyword| schema.get(keyword).is_some()) {
                found.push(at);
            }
        };
        for keyword in ["schema", "items"] {
            if let Some(schema @ Value::Object(_)) = part.get(keyword) {
                check(schema, format!("{at}/{keyword}"));
            }
        }
        for (name, member) in part["properties"].as_object().into_iter().flatten() {
            // A member that must be absent is false, and has no type.
            if *member != false {
                check(member, format!("{at}/{name}"));
            }
        }
        match part {
            Value::Object(members) => {
                for (name, member) in members.iter().filter(|(name, _)| !is_example(name)) {
                    untyped(member, &format!("{at}/{name}"), found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| untyped(item, at, found)),
            _ => {}
        }
    }

    #[test]
    fn everything_has_a_type() {
        let document: Value = serde_json::from_str(&openapi_json("https://example.com").unwrap()).unwrap();
        let mut found = Vec::new();
        untyped(&document, "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
        let open = serde_json::json!({"schema": {"type": "object", "properties": {"id": {"description": "Its id."}}}, "items": {}});
        untyped(&open, "", &mut found);
        assert_eq!(found, ["/items", "/schema/id"]);
    }

    /// Records the texts in `part` of the document that have no bound. Content other than JSON may be as long as the stock is
    /// large, and conditions do not repeat the bounds of the members that they name.
    fn endless(part: &Value, at: &str, found: &mut Vec<String>) {
        match part {
            Value::Object(members) => {
                let is_text = match &part["type"] {
                    Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
                    kind => kind == "string",
                };
                let is_bounded = ["maxLength", "enum", "const", "format"];
                if is_text && !is_bounded.iter().any(|keyword| members.contains_key(*keyword)) {
                    found.push(at.to_owned());
                }
                for (name, member) in members {
                    if ![
                        "example",
                        "examples",
                        "default",
                        "if",
                        "then",
                        "else",
                        "text/csv",
                        "text/tab-separated-values",
                        "text/calendar",
                    ]
                    .contains(&name.as_str())
                    {
                        endless(member, &format!("{at}/{name}"), found);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| endless(item, at, found)),
            _ => {}
        }
    }

    #[test]
    fn every_text_has_a_bound() {
        let document: Value = serde_json::from_str(&openapi_json("https://example.com").unwrap()).unwrap();
        let mut found = Vec::new();
        endless(&document, "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
        let open = serde_json::json!({"schema": {"type": ["string", "null"], "pattern": "a"}, "const": {"type": "string", "const": "b"}});
        endless(&open, "", &mut found);
        assert_eq!(found, ["/schema"]);
    }

    #[test]
    fn a_text_or_an_array_without_bound_is_found() {
        let document = serde_json::json!({"components": {"schemas": {
            "Body": {"allOf": [{"properties": {
                "text": {"type": ["string", "null"]},
                "line": {"type": "string", "maxLength": 255},
                "day": {"type": "string", "format": "date"},
                "mail": {"type": "string", "format": "email"},
                "words": {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
                "self": {"$ref": "#/components/schemas/Body"},
            }}]},
        }}});
        let mut found = Vec::new();
        let body = serde_json::json!({"$ref": "#/components/schemas/Body"});
        unbounded(&document, &body, "body", &mut Vec::new(), &mut found);
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "body.mail: text without maxLength",
                "body.text: text without maxLength",
                "body.words: array without maxItems",
                "body.words[]: text without maxLength",
            ]
        );
    }
}
