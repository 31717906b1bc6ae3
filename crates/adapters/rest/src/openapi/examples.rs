//! Examples of answers, put together from the schemas: a record's own example where its area has one, and otherwise the
//! examples of its members.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::visit::{allows_type, each_operation, referred};
use crate::areas::AREAS;

/// The examples of members, by the name of the schema that they are in, or [`EVERYWHERE`].
const VALUES: &str = include_str!("examples.json");
/// In place of a schema's name: the value used if no other one is given.
const EVERYWHERE: &str = "*";
/// The prefix of the schema of a simple view; the name of the full record's schema follows.
const SIMPLE: &str = "Simple";

/// The name of the example of this document, which has no schema of its own.
const DOCUMENT: &str = "Document";

/// The schemas whose examples are complete values: not all of their members are shown at once.
const WHOLE: [&str; 2] = [DOCUMENT, "VehicleTaxonomy"];

/// Adds to each JSON answer its examples: one, or one for each view.
///
/// # Errors
/// If the examples of schemas and members are not JSON.
pub(super) fn add(document: &mut Value) -> serde_json::Result<()> {
    let schemas = document["components"]["schemas"].take();
    let examples = Examples::of(&schemas)?;
    let mut shared = BTreeMap::new();
    each_operation(document, |operation| {
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let Some(content) = response.pointer_mut("/content/application~1json") else {
                continue;
            };
            let answers = examples.answers(&content["schema"]);
            content["examples"] = answers.keys().map(|name| (name.clone(), reference(name))).collect();
            shared.extend(answers);
        }
    });
    for (name, value) in shared {
        document["components"]["examples"][name] = json!({"value": value});
    }
    document["components"]["schemas"] = schemas;
    Ok(())
}

fn reference(example: &str) -> Value {
    json!({"$ref": format!("#/components/examples/{example}")})
}

/// Returns the JSON type of a value, as schemas name it.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The position of a schema in the one that is being traversed.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The name of the schema around it.
    within: &'a str,
    /// The name of the member.
    member: &'a str,
}

struct Examples<'a> {
    schemas: &'a Value,
    /// The examples of records, by the names of their schemas.
    records: BTreeMap<&'static str, Value>,
    /// The examples of members.
    values: Value,
}

impl<'a> Examples<'a> {
    fn of(schemas: &'a Value) -> serde_json::Result<Self> {
        let records = AREAS.iter().flat_map(|area| area.records).map(|record| {
            let mut example = (record.example)();
            // Only events have it.
            if let Some(members) = example.as_object_mut() {
                members.shift_remove("changed");
            }
            (record.schema, example)
        });
        Ok(Self {
            schemas,
            records: records.collect(),
            values: serde_json::from_str(VALUES)?,
        })
    }

    /// Returns the examples of answers with this schema, by their names.
    fn answers(&self, envelope: &Value) -> BTreeMap<String, Value> {
        let name = referred(envelope).unwrap_or(DOCUMENT);
        let example = self.named(name);
        let members = &self.resolved(envelope)["properties"];
        let data = &members["data"];
        let (record, suffix) = match referred(&data["items"]) {
            // A whole list has no page.
            Some(record) if members["meta"].is_null() => (record, "All"),
            Some(record) => (record, "List"),
            None => (referred(data).unwrap_or(name), ""),
        };
        let views = self.schemas[record]["anyOf"].as_array().into_iter().flatten();
        let views: Vec<&str> = views.filter_map(referred).collect();
        if views.is_empty() {
            // Two lists of the same records may differ in their other members.
            let own = if suffix.is_empty() || name.contains(record) {
                format!("{record}{suffix}")
            } else {
                name.to_owned()
            };
            return BTreeMap::from([(own, example)]);
        }
        let of_view = |view: &str| {
            let data = self.named(view);
            let mut example = example.clone();
            example["data"] = if suffix.is_empty() { data } else { json!([data]) };
            (format!("{view}{suffix}"), example)
        };
        views.into_iter().map(of_view).collect()
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        referred(schema).map_or(schema, |name| &self.schemas[name])
    }

    /// Returns an example of the schema with this name.
    fn named(&self, name: &str) -> Value {
        if let Some(record) = self.records.get(name) {
            return record.clone();
        }
        if WHOLE.contains(&name) {
            return self.values[name].clone();
        }
        let schema = &self.schemas[name];
        if let Some(full) = name.strip_prefix(SIMPLE).and_then(|full| self.records.get(full)) {
            return self.narrowed(schema, full);
        }
        self.one(
            schema,
            Place {
                within: name,
                member: "",
            },
        )
    }

    /// Returns the members of `full` that a simple view shows.
    fn narrowed(&self, schema: &Value, full: &Value) -> Value {
        let schema = self.resolved(schema);
        if let Some(parts) = schema["allOf"].as_array() {
            let shown = parts.iter().map(|part| self.narrowed(part, full));
            let shown = shown.filter_map(|part| {
                if let Value::Object(members) = part {
                    Some(members)
                } else {
                    None
                }
            });
            return shown.flatten().collect();
        }
        match (&schema["properties"], full) {
            (Value::Object(properties), Value::Object(full)) => {
                let shown = properties.iter().filter_map(|(name, schema)| {
                    let value = full.get(name)?;
                    Some((name.clone(), self.narrowed(schema, value)))
                });
                shown.collect()
            }
            _ => full.clone(),
        }
    }

    /// Returns an example of `schema`.
    fn one(&self, schema: &Value, place: Place<'_>) -> Value {
        if let Some(value) = self.of_member(schema, place) {
            return value;
        }
        if let Some(name) = referred(schema) {
            let named = &self.schemas[name];
            let is_plain = named.get("type").is_some() && !allows_type(named.get("type"), "object");
            return if is_plain {
                self.one(named, place)
            } else {
                self.named(name)
            };
        }
        for keyword in ["const", "example", "default"] {
            if let Some(value) = schema.get(keyword) {
                return value.clone();
            }
        }
        for keyword in ["examples", "enum"] {
            if let Some(value) = schema[keyword].get(0) {
                return value.clone();
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[keyword].as_array() {
                let chosen = choices.iter().find(|choice| choice["type"] != "null");
                return chosen.map_or(Value::Null, |choice| self.one(choice, place));
            }
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut whole = Map::new();
            for part in parts {
                if let Value::Object(members) = self.one(part, place) {
                    whole.extend(members);
                }
            }
            return whole.into();
        }
        if let Some(properties) = schema["properties"].as_object() {
            let members = properties.iter().map(|(member, schema)| {
                let place = Place { member, ..place };
                (member.clone(), self.one(schema, place))
            });
            return members.collect();
        }
        if allows_type(schema.get("type"), "array") {
            let items = schema.get("items").filter(|items| items.is_object());
            return items.map(|items| self.one(items, place)).into_iter().collect();
        }
        plain(schema)
    }

    /// Returns the member's own example.
    fn of_member(&self, schema: &Value, Place { within, member }: Place<'_>) -> Option<Value> {
        // A member of many types does not share the values of members with the same name elsewhere.
        if schema["type"].as_array().is_some_and(|kinds| kinds.len() > 2) {
            return None;
        }
        if let Some(its_own) = self.values[within].get(member) {
            return Some(its_own.clone());
        }
        let everywhere = self.values[EVERYWHERE].get(member)?;
        allows_type(self.resolved(schema).get("type"), kind(everywhere)).then(|| everywhere.clone())
    }
}

/// Returns the plainest value that fits.
fn plain(schema: &Value) -> Value {
    if allows_type(schema.get("type"), "null") {
        Value::Null
    } else if allows_type(schema.get("type"), "object") {
        json!({})
    } else if allows_type(schema.get("type"), "boolean") {
        false.into()
    } else if allows_type(schema.get("type"), "integer") || allows_type(schema.get("type"), "number") {
        1.into()
    } else if schema["format"] == "date" {
        "2026-01-01".into()
    } else {
        "".into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::openapi::{document, visit::each_object};

    /// Returns the document with the schema and the examples of each JSON answer, by operation and status.
    fn answers() -> (Value, Vec<(String, Value, Value)>) {
        let document = document("https://example.com").unwrap();
        let mut answers = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let content = &response["content"]["application/json"];
                    if status.starts_with('2') && content.is_object() {
                        let name = format!("{method} {path} {status}");
                        answers.push((name, content["schema"].clone(), content["examples"].clone()));
                    }
                }
            }
        }
        (document, answers)
    }

    #[test]
    fn every_answer_has_examples_that_fit() {
        let (document, answers) = answers();
        assert!(answers.len() > 100, "the test reads the document: {}", answers.len());
        let mut faults = Vec::new();
        for (name, schema, examples) in answers {
            let examples = examples.as_object().unwrap();
            assert!(!examples.is_empty(), "{name} has no example");
            for (example, reference) in examples {
                let place = reference["$ref"].as_str().unwrap().trim_start_matches('#');
                let value = &document.pointer(place).unwrap()["value"];
                faults.extend(misfits(&document, &schema, value, &format!("{name}, {example}: ")));
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }

    /// Returns where `value` does not match `schema`, by the keywords that the document uses. Texts are compared with their
    /// length and their enumerated values only.
    fn misfits(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = document.pointer(reference.trim_start_matches('#')).unwrap();
            return misfits(document, target, value, at);
        }
        let mut faults = Vec::new();
        let mut check = |fits: bool, keyword: &str| {
            if !fits {
                faults.push(format!("{at}: {keyword} does not allow {value}"));
            }
        };
        let kind = kind(value);
        let is_number = kind == "integer" && allows_type(schema.get("type"), "number");
        check(
            schema.get("type").is_none() || allows_type(schema.get("type"), kind) || is_number,
            "type",
        );
        check(schema.get("const").is_none_or(|only| only == value), "const");
        check(
            schema["enum"].as_array().is_none_or(|words| words.contains(value)),
            "enum",
        );
        let bound = |keyword: &str| schema[keyword].as_f64();
        if let Some(number) = value.as_f64() {
            check(bound("minimum").is_none_or(|least| number >= least), "minimum");
            check(bound("maximum").is_none_or(|most| number <= most), "maximum");
        }
        let size = value.as_str().map(|text| ("Length", text.chars().count()));
        if let Some((of, size)) = size.or_else(|| value.as_array().map(|items| ("Items", items.len()))) {
            let bound = |which: &str| {
                schema[format!("{which}{of}")]
                    .as_u64()
                    .map(|bound| usize::try_from(bound).unwrap())
            };
            check(bound("min").is_none_or(|least| size >= least), "the least size");
            check(bound("max").is_none_or(|most| size <= most), "the greatest size");
        }
        for keyword in ["anyOf", "oneOf"] {
            let choices = schema[keyword].as_array();
            let fits = |choice: &Value| misfits(document, choice, value, at).is_empty();
            check(choices.is_none_or(|choices| choices.iter().any(fits)), keyword);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            faults.extend(misfits(document, part, value, at));
        }
        if let Some(members) = value.as_object() {
            let required = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            faults.extend(
                required
                    .filter(|name| !members.contains_key(*name))
                    .map(|name| format!("{at}.{name} is missing")),
            );
            for (name, member) in members {
                match schema["properties"].get(name) {
                    Some(schema) => faults.extend(misfits(document, schema, member, &format!("{at}.{name}"))),
                    None if schema["additionalProperties"] == false => faults.push(format!("{at}.{name} is unknown")),
                    None => {}
                }
            }
        }
        for item in value.as_array().into_iter().flatten() {
            if schema["items"].is_object() {
                faults.extend(misfits(document, &schema["items"], item, &format!("{at}[]")));
            }
        }
        faults
    }

    #[test]
    fn a_value_that_does_not_fit_is_found() {
        let schema = json!({
            "type": "object",
            "required": ["id"],
            "properties": {
                "name": {"type": ["string", "null"], "maxLength": 3},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
                "rating": {"oneOf": [{"type": "number", "maximum": 5}, {"type": "null"}]},
            },
        });
        let found = |value: Value| misfits(&Value::Null, &schema, &value, "").len();
        assert_eq!(found(json!({"id": 1, "name": "Ann", "tags": ["a"], "rating": 4.5})), 0);
        assert_eq!(found(json!({"id": 1, "name": null, "rating": 4})), 0);
        assert_eq!(found(json!({"name": "Anna", "tags": ["c"], "rating": 6})), 4);
        assert_eq!(found(json!([])), 1);
    }

    #[test]
    fn every_value_is_of_a_schema_or_a_member() {
        let (document, _) = answers();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut members = BTreeSet::new();
        for (name, schema) in schemas {
            each_object(&mut schema.clone(), &mut |object| {
                let properties = object.get("properties").and_then(Value::as_object);
                for (member, _) in properties.into_iter().flatten() {
                    members.insert(format!("{name}.{member}"));
                    members.insert(format!("{EVERYWHERE}.{member}"));
                }
            });
        }
        let values: Value = serde_json::from_str(VALUES).unwrap();
        let values = values.as_object().unwrap().iter().filter(|(name, _)| *name != DOCUMENT);
        let unused: Vec<_> = values
            .flat_map(|(name, values)| {
                values
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(move |member| format!("{name}.{member}"))
            })
            .filter(|name| !members.contains(name))
            .collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}
