//! Finishes the OpenAPI document: a schema that occurs in many places is named once and referred to, so that generated clients
//! have one type for each thing.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::{
    bodies::{declare_forms, declare_member_rules, make_bodies_optional},
    bounds::{bound_answers, exclude_nul, sent_schemas},
    examples, refusals,
    responses::{name_headers, name_responses},
    visit::{SCHEMAS, allows_type, each_object},
};

/// The places in the document where schemas begin.
const ROOTS: [&str; 3] = ["/paths", "/webhooks", SCHEMAS];

/// Returns the document as it is published.
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
        separate_types(object);
    });
    let sent = sent_schemas(&mut document);
    bound_answers(&mut document, &sent);
    exclude_nul(&mut document, &sent);
    make_bodies_optional(&mut document);
    name_headers(&mut document);
    refusals::explain(&mut document);
    name_responses(&mut document);
    examples::add(&mut document)?;
    Ok(document)
}

/// The names of the named schemas, by their content.
struct SchemaNames(HashMap<String, String>);

impl SchemaNames {
    fn of(document: &Value) -> Self {
        let schemas = document.pointer(SCHEMAS).and_then(Value::as_object);
        let mut named = HashMap::new();
        for (name, schema) in schemas.into_iter().flatten() {
            // A plain type is identified only by its name: nothing shows that another one means the same.
            if ["properties", "enum", "oneOf", "anyOf", "allOf"]
                .iter()
                .any(|keyword| schema.get(keyword).is_some())
            {
                named.entry(content(schema)).or_insert_with(|| name.clone());
            }
        }
        Self(named)
    }

    /// Replaces copies by references. In the components, the members of `value` are not copies but the definitions themselves.
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

/// Returns the content of a schema, apart from its description, which may differ from place to place.
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

/// Declares that an object without declared members may have any: many generators assume that it has none.
fn declare_free_form(schema: &mut Map<String, Value>) {
    if allows_type(schema.get("type"), "object")
        && !["properties", "additionalProperties", "allOf"]
            .iter()
            .any(|keyword| schema.contains_key(*keyword))
    {
        schema.insert("additionalProperties".to_owned(), true.into());
    }
}

/// Turns a value of several types into a choice, each type with its own bounds: many generators put all bounds on the first.
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
    // Null beside one other type is common, and understood. A member `type` of an example is not a list of types.
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
}
