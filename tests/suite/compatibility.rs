//! Tests that the API keeps the promises of docs/versioning.md within a version. The document of the last release,
//! docs/released/openapi.json, is compared with the current one: requests of a client of that release must still be accepted,
//! and the members that it reads must still be there.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

#[test]
fn nothing_that_was_released_is_broken() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let released = read(include_str!("../../docs/released/openapi.json"));
    let current = read(include_str!("../../docs/openapi.json"));
    let broken = Comparison::new(&released, &current).run();
    assert!(
        broken.is_empty(),
        "docs/versioning.md promises that these do not change:\n{}",
        broken.join("\n")
    );
}

/// The direction of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    /// The client sends it: every value that it may have sent must still be accepted.
    Sent,
    /// The client reads it: every value that it gets now must be one that it knew.
    Read,
}

struct Comparison<'a> {
    released: &'a Value,
    current: &'a Value,
    /// Pairs of named schemas that have been compared or are being compared, since schemas contain themselves.
    seen: HashSet<(String, String, Way)>,
    broken: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn new(released: &'a Value, current: &'a Value) -> Self {
        Self {
            released,
            current,
            seen: HashSet::new(),
            broken: Vec::new(),
        }
    }

    /// Returns the broken promises, one per line.
    fn run(mut self) -> Vec<String> {
        for (path, item) in members(&self.released["paths"]) {
            for (method, released) in members(item) {
                let name = format!("{} {path}", method.to_uppercase());
                match self.current["paths"].get(path).and_then(|item| item.get(method)) {
                    Some(current) => self.operation(&name, released, current),
                    None => self.breaks(&name, "is gone"),
                }
            }
        }
        for (event, item) in members(&self.released["webhooks"]) {
            match self.current["webhooks"].get(event) {
                // The receiver reads the requests that the server sends.
                Some(current) => self.contents(
                    event,
                    &item["post"]["requestBody"],
                    &current["post"]["requestBody"],
                    Way::Read,
                ),
                None => self.breaks(event, "is no longer sent"),
            }
        }
        self.broken
    }

    fn breaks(&mut self, place: &str, how: impl AsRef<str>) {
        self.broken.push(format!("{place} {}", how.as_ref()));
    }

    fn operation(&mut self, name: &str, released: &'a Value, current: &'a Value) {
        for (what, of) in [("its operationId", "operationId"), ("its scope", "security")] {
            if released[of] != current[of] {
                self.breaks(
                    name,
                    format!("has changed {what}: {} became {}", released[of], current[of]),
                );
            }
        }
        let parameters = |operation: &'a Value| -> BTreeMap<(&'a str, &'a str), &'a Value> {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            parameters
                .map(|one| ((text(&one["in"]), text(&one["name"])), one))
                .collect()
        };
        let (was, is) = (parameters(released), parameters(current));
        for (key, parameter) in &was {
            let place = format!("{name}: the parameter {}", key.1);
            match is.get(key) {
                Some(now) => self.schemas(&place, &parameter["schema"], &now["schema"], Way::Sent),
                None => self.breaks(&place, "is gone"),
            }
        }
        for (key, parameter) in &is {
            if parameter["required"] == true && was.get(key).is_none_or(|before| before["required"] != true) {
                self.breaks(name, format!("requires the parameter {}", key.1));
            }
        }
        let (was, is) = (&released["requestBody"], &current["requestBody"]);
        if is["required"] == true && was["required"] != true {
            self.breaks(name, "requires a body");
        }
        self.contents(&format!("{name}: the body"), was, is, Way::Sent);
        for (status, response) in members(&released["responses"]) {
            let place = format!("{name}: the answer {status}");
            let Some(now) = current["responses"].get(status) else {
                self.breaks(&place, "is gone");
                continue;
            };
            let (was, is) = (resolved(self.released, response), resolved(self.current, now));
            self.contents(&place, was, is, Way::Read);
            for (header, _) in members(&was["headers"]) {
                if is["headers"].get(header).is_none() {
                    self.breaks(&place, format!("lacks the header {header}"));
                }
            }
        }
    }

    /// Compares bodies by their media types.
    fn contents(&mut self, place: &str, released: &'a Value, current: &'a Value, way: Way) {
        for (media, was) in members(&released["content"]) {
            match current["content"].get(media) {
                Some(is) => self.schemas(place, &was["schema"], &is["schema"], way),
                None => self.breaks(place, format!("is no longer {media}")),
            }
        }
    }

    fn schemas(&mut self, place: &str, released: &'a Value, current: &'a Value, way: Way) {
        if let (Some(was), Some(is)) = (released["$ref"].as_str(), current["$ref"].as_str())
            && !self.seen.insert((was.to_owned(), is.to_owned(), way))
        {
            return;
        }
        let was = variants(self.released, released);
        let is = variants(self.current, current);
        if let ([was], [is]) = (was.as_slice(), is.as_slice()) {
            self.shapes(place, was, is, way);
            return;
        }
        // Each value that was sent is accepted by one of the current variants; each value that is read now is one of those that
        // were known.
        let (each, any) = match way {
            Way::Sent => (&was, &is),
            Way::Read => (&is, &was),
        };
        for one in each {
            let namesake = |other: &&Shape<'_>| one.name.is_some() && other.name == one.name;
            let mut others: Vec<&Shape<'_>> = match any.iter().find(namesake) {
                Some(namesake) => vec![namesake],
                None => any.iter().collect(),
            };
            // The comparison with a variant of the same kind is the most useful one.
            others.sort_by_key(|other| other.kinds != one.kinds);
            let mut nearest: Option<Vec<String>> = None;
            for other in others {
                let (was, is) = match way {
                    Way::Sent => (one, other),
                    Way::Read => (other, one),
                };
                let broken = self.tried(place, was, is, way);
                if nearest.as_ref().is_none_or(|known| broken.len() < known.len()) {
                    nearest = Some(broken);
                }
            }
            self.broken.extend(nearest.unwrap_or_default());
        }
    }

    /// Returns the promises that would be broken if `is` replaced `was`.
    fn tried(&self, place: &str, was: &Shape<'a>, is: &Shape<'a>, way: Way) -> Vec<String> {
        let mut attempt = Self {
            seen: self.seen.clone(),
            ..Self::new(self.released, self.current)
        };
        attempt.shapes(place, was, is, way);
        attempt.broken
    }

    fn shapes(&mut self, place: &str, was: &Shape<'a>, is: &Shape<'a>, way: Way) {
        let (given, taken) = match way {
            Way::Sent => (&was.kinds, &is.kinds),
            Way::Read => (&is.kinds, &was.kinds),
        };
        // No kinds mean any kind.
        let fits = |kind: &&str| taken.contains(kind) || *kind == "integer" && taken.contains("number");
        if !taken.is_empty() && (given.is_empty() || !given.iter().all(fits)) {
            self.breaks(place, format!("was {:?} and is {:?}", was.kinds, is.kinds));
            return;
        }
        for (name, schema) in &was.members {
            let place = format!("{place}.{name}");
            match is.members.get(name) {
                Some(now) => self.schemas(&place, schema, now, way),
                None if is.is_open && way == Way::Sent => {}
                None => self.breaks(&place, "is gone"),
            }
        }
        match way {
            Way::Sent => {
                for name in is.required.difference(&was.required) {
                    self.breaks(&format!("{place}.{name}"), "has become required");
                }
                self.bounds(place, was, is);
                if let Some(words) = &is.words {
                    let lost = was
                        .words
                        .as_ref()
                        .map(|before| before.difference(words).cloned().collect::<Vec<_>>());
                    match lost {
                        None => self.breaks(place, "takes a closed list of words alone"),
                        Some(lost) if !lost.is_empty() => self.breaks(place, format!("no longer takes {lost:?}")),
                        Some(_) => {}
                    }
                }
            }
            Way::Read => {
                for name in was.required.difference(&is.required) {
                    self.breaks(&format!("{place}.{name}"), "is no longer always there");
                }
            }
        }
        if let (Some(was), Some(is)) = (was.items, is.items) {
            self.schemas(&format!("{place}[]"), was, is, way);
        }
        if let (Some(was), Some(is)) = (was.values, is.values) {
            self.schemas(&format!("{place}.*"), was, is, way);
        }
    }

    /// Bounds on values that are sent may become wider, not stricter.
    fn bounds(&mut self, place: &str, was: &Shape<'a>, is: &Shape<'a>) {
        for (name, bound) in &is.bounds {
            let before = was.bounds.get(name);
            let stricter = match (before.and_then(|value| value.as_f64()), bound.as_f64()) {
                (Some(before), Some(now)) if name.starts_with("max") => now < before,
                (Some(before), Some(now)) => now > before,
                // Patterns cannot be compared, so they must not change.
                _ => before != Some(bound),
            };
            if stricter {
                let before = before.map_or_else(|| "none".to_owned(), ToString::to_string);
                self.breaks(
                    place,
                    format!("is bound more strictly: {name} was {before} and is {bound}"),
                );
            }
        }
    }
}

/// A schema with the schemas that it refers to and is composed of.
#[derive(Default)]
struct Shape<'a> {
    /// Its name, if it has one, which distinguishes the simple and the full form of a record.
    name: Option<&'a str>,
    /// The JSON types; empty for any.
    kinds: BTreeSet<&'a str>,
    members: BTreeMap<&'a str, &'a Value>,
    required: BTreeSet<&'a str>,
    /// The values of an enumeration, as JSON.
    words: Option<BTreeSet<String>>,
    bounds: BTreeMap<&'a str, &'a Value>,
    items: Option<&'a Value>,
    /// The schema of members that it does not name.
    values: Option<&'a Value>,
    /// True if it accepts members with any name.
    is_open: bool,
}

const BOUNDS: [&str; 9] = [
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "pattern",
];

impl<'a> Shape<'a> {
    fn take_in(&mut self, document: &'a Value, schema: &'a Value) {
        let schema = resolved(document, schema);
        match &schema["type"] {
            Value::String(kind) => {
                self.kinds.insert(kind);
            }
            Value::Array(kinds) => self.kinds.extend(kinds.iter().map(text)),
            _ => {}
        }
        self.members
            .extend(members(&schema["properties"]).map(|(name, schema)| (name.as_str(), schema)));
        self.required
            .extend(schema["required"].as_array().into_iter().flatten().map(text));
        if let Some(words) = schema["enum"].as_array() {
            self.words = Some(words.iter().map(ToString::to_string).collect());
        }
        if let Some(word) = schema.get("const") {
            self.words = Some([word.to_string()].into());
        }
        self.bounds
            .extend(BOUNDS.iter().filter_map(|name| Some((*name, schema.get(*name)?))));
        self.items = schema.get("items").or(self.items);
        let values = schema.get("additionalProperties");
        self.is_open |= values.is_some_and(|values| *values != false);
        self.values = values.filter(|values| values.is_object()).or(self.values);
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.take_in(document, part);
        }
    }
}

impl<'a> Shape<'a> {
    /// Returns the part of it that applies to values of this kind.
    fn of_kind(&self, kind: &'a str) -> Self {
        let of_texts = |name: &str| name.ends_with("Length") || name == "pattern";
        let of_arrays = |name: &str| name.ends_with("Items");
        let bounds = self.bounds.iter().filter(|(name, _)| match kind {
            "string" => of_texts(name),
            "array" => of_arrays(name),
            "integer" | "number" => !of_texts(name) && !of_arrays(name),
            _ => false,
        });
        let shape = Self {
            kinds: [kind].into(),
            bounds: bounds.map(|(name, bound)| (*name, *bound)).collect(),
            ..Self::default()
        };
        let mut words = self.words.clone();
        if let Some(words) = &mut words {
            words.remove("null");
        }
        match kind {
            "null" | "boolean" => shape,
            "object" => Self {
                name: self.name,
                members: self.members.clone(),
                required: self.required.clone(),
                values: self.values,
                is_open: self.is_open,
                ..shape
            },
            _ => Self {
                name: self.name,
                words,
                items: self.items,
                ..shape
            },
        }
    }
}

/// Returns the variants of a schema; only the schema itself if it is not a choice.
fn variants<'a>(document: &'a Value, schema: &'a Value) -> Vec<Shape<'a>> {
    let name = schema["$ref"].as_str();
    let schema = resolved(document, schema);
    for choice in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[choice].as_array() {
            return choices.iter().flat_map(|choice| variants(document, choice)).collect();
        }
    }
    let mut shape = Shape {
        name,
        ..Shape::default()
    };
    shape.take_in(document, schema);
    if shape.kinds.len() < 2 {
        return vec![shape];
    }
    // Kinds may be those of one schema or choices beside each other: both have the same meaning.
    let kinds = std::mem::take(&mut shape.kinds);
    kinds.into_iter().map(|kind| shape.of_kind(kind)).collect()
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    match reference {
        Some(pointer) => document.pointer(pointer).unwrap_or(&Value::Null),
        None => value,
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns a document with one operation, which accepts and returns these.
fn document(sent: &Value, read: &Value) -> Value {
    json!({
        "paths": {"/a": {"post": {
            "operationId": "create_a",
            "security": [{"bearer": ["a:write"]}],
            "parameters": [{"name": "view", "in": "query", "schema": {"type": "string", "enum": ["simple", "full"]}}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Sent"}}}},
            "responses": {"200": {
                "headers": {"ETag": {}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Read"}}},
            }},
        }}},
        "components": {"schemas": {"Sent": sent, "Read": read}},
    })
}

fn broken(released: &Value, current: &Value) -> Vec<String> {
    Comparison::new(released, current).run()
}

fn record(name: &Value) -> Value {
    json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "name": name}})
}

#[test]
fn what_may_come_with_any_release_breaks_nothing() {
    let line = json!({"type": "string", "maxLength": 10});
    let nullable = json!({"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]});
    let released = document(&record(&line), &record(&nullable));
    assert_eq!(broken(&released, &released), [""; 0]);
    let longer = json!({"type": ["string", "null"], "maxLength": 20});
    let mut apart = document(&record(&longer), &record(&nullable));
    apart["components"]["schemas"]["Choice"] = json!({"oneOf": [{"type": "string"}, {"type": "integer"}]});
    let choice = json!({"oneOf": [{"$ref": "#/components/schemas/Choice"}, {"type": "null"}]});
    apart["components"]["schemas"]["Sent"] = record(&choice);
    assert_eq!(broken(&document(&record(&longer), &record(&nullable)), &apart), [""; 0]);
    let several = record(&json!({"type": ["number", "string", "null"], "minimum": 0, "maxLength": 9}));
    let choices = [
        json!({"type": "number", "minimum": 0}),
        json!({"type": "string", "maxLength": 9}),
        json!({"type": "null"}),
    ];
    let choices = record(&json!({"anyOf": choices}));
    for (was, is) in [(&several, &choices), (&choices, &several)] {
        assert_eq!(broken(&document(was, was), &document(is, is)), [""; 0]);
    }
    let mut sent = record(&longer);
    sent["properties"]["more"] = json!({"type": "boolean"});
    let mut read = record(&json!({"type": "string", "enum": ["a", "b"]}));
    read["properties"]["more"] = json!({"type": "boolean"});
    let mut current = document(
        &sent,
        &json!({"allOf": [read, {"type": "object", "required": ["name"]}]}),
    );
    current["paths"]["/b"] = json!({"get": {}});
    let operation = &mut current["paths"]["/a"]["post"];
    operation["parameters"][0]["schema"]["enum"] = json!(["simple", "full", "all"]);
    operation["responses"]["409"] = json!({});
    assert_eq!(broken(&released, &current), [""; 0]);
}

#[test]
fn what_a_client_relies_on_is_missed() {
    let line = json!({"type": "string", "maxLength": 10});
    let choice = json!({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]});
    let released = document(&record(&line), &record(&choice));
    let post = "/paths/~1a/post";
    let (sent, read) = ("/components/schemas/Sent", "/components/schemas/Read");
    for (pointer, value, expected) in [
        ("/paths".to_owned(), json!({}), "POST /a is gone"),
        (
            format!("{post}/security"),
            json!([{"bearer": ["b:write"]}]),
            "its scope",
        ),
        (format!("{post}/parameters"), json!([]), "the parameter view is gone"),
        (
            format!("{post}/parameters/0/required"),
            json!(true),
            "requires the parameter view",
        ),
        (
            format!("{post}/parameters/0/schema/enum"),
            json!(["full"]),
            r#"no longer takes ["\"simple\""]"#,
        ),
        (format!("{post}/requestBody/required"), json!(true), "requires a body"),
        (
            format!("{post}/responses"),
            json!({"201": {}}),
            "the answer 200 is gone",
        ),
        (
            format!("{post}/responses/200/headers"),
            json!({}),
            "lacks the header ETag",
        ),
        (
            format!("{sent}/required"),
            json!(["id", "name"]),
            "the body.name has become required",
        ),
        (
            format!("{sent}/properties/name/maxLength"),
            json!(9),
            "maxLength was 10 and is 9",
        ),
        (
            format!("{sent}/properties/name/pattern"),
            json!("^a"),
            "pattern was none",
        ),
        (
            format!("{sent}/properties/name/enum"),
            json!(["a"]),
            "a closed list of words alone",
        ),
        (
            format!("{sent}/properties/name/type"),
            json!("integer"),
            "was {\"string\"} and is {\"integer\"}",
        ),
        (
            format!("{read}/required"),
            json!([]),
            "the answer 200.id is no longer always there",
        ),
        (
            format!("{read}/properties"),
            json!({"id": {"type": "integer"}}),
            "the answer 200.name is gone",
        ),
        (
            format!("{read}/properties/id/type"),
            json!(["integer", "null"]),
            "the answer 200.id was",
        ),
        (
            format!("{read}/properties/name/oneOf/1/items/type"),
            json!("integer"),
            "the answer 200.name[] was",
        ),
        (
            format!("{read}/properties/name/oneOf"),
            json!([{"type": "integer"}, {"type": "string"}]),
            "the answer 200.name was",
        ),
    ] {
        let mut current = released.clone();
        // A member that is not there yet is inserted beside its siblings.
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        match current.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
            parent => parent[name] = value,
        }
        let found = broken(&released, &current);
        assert!(
            matches!(found.as_slice(), [one] if one.contains(expected)),
            "{pointer}: {found:?}"
        );
    }
}
