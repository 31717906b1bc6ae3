//! Strict handling: with `Prefer: handling=strict` (RFC 7240) an operation refuses the names that it does not know, instead of
//! ignoring them (decisions §3, "Strict handling, versions, browsers").
//!
//! The names are read from the operation's declaration, so the OpenAPI document and strict handling cannot disagree.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use forecourt_kernel::{ValidationErrors, bounds::MAX_FAULTS, quoted};
use serde_json::{Map, Value};
use utoipa::openapi::{RefOr, path::Operation, schema::Schema};

use crate::body;

/// The response header that names the preference that was honoured.
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Its value.
pub(crate) const STRICT: HeaderValue = HeaderValue::from_static("handling=strict");

pub(crate) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The number of characters of an unknown name that are compared with the known ones.
const MAX_COMPARED_CHARS: usize = 40;

/// Returns true if a request prefers strict handling. If a preference is repeated, only the first one counts.
pub(crate) fn is_preferred(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(PREFER);
    let texts = lines.map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned());
    let handling = texts
        .filter_map(|text| split_unquoted(&text, ',').find_map(handling_of))
        .next();
    handling.is_some_and(|value| value.eq_ignore_ascii_case("strict"))
}

/// Returns the value of the preference `handling`, if `preference` is that one. Its parameters are ignored.
fn handling_of(preference: &str) -> Option<String> {
    let (name, value) = split_unquoted(preference, ';').next()?.split_once('=')?;
    let value = value.trim();
    let value = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'))
        .unwrap_or(value);
    name.trim()
        .eq_ignore_ascii_case("handling")
        .then(|| value.replace('\\', ""))
}

/// Splits a header's text at separators outside of quoted strings.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => return character == separator && !quoted,
        }
        false
    })
}

/// The names that an operation knows.
#[derive(Debug)]
pub(crate) struct KnownNames {
    /// Query parameters, without the brackets of an array.
    query: BTreeSet<String>,
    /// The members of `data` in its answer, from which `fields` selects.
    shown: Members,
    /// The members of its body, if it takes one.
    body: Option<Members>,
}

/// The members that a value may have. An array has those of its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Members {
    /// Any member: the object is free-form.
    Any,
    /// These members; a value other than an object has none.
    Named(BTreeMap<String, Members>),
}

impl KnownNames {
    /// Reads the names from an operation's declaration, given with the schemas that it refers to.
    pub(crate) fn of(declaration: &Operation, schemas: &[(String, RefOr<Schema>)]) -> Self {
        // A declaration that cannot be written as JSON would have failed with the document.
        let declaration = serde_json::to_value(declaration).unwrap_or_default();
        let named = schemas
            .iter()
            .map(|(name, schema)| (name.as_str(), serde_json::to_value(schema).unwrap_or_default()));
        let schemas = Schemas(named.collect());
        let parameters = declaration["parameters"].as_array().into_iter().flatten();
        let query = parameters
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| parameter["name"].as_str())
            .map(|name| base_of(name).to_owned());
        let schema_of = |place: &Value| place.pointer("/content/application~1json/schema").cloned();
        let responses = &declaration["responses"];
        let shown = ["200", "201"]
            .iter()
            .find_map(|status| schema_of(&responses[status]))
            .map(|schema| schemas.members(&schema, &mut Vec::new()));
        let shown = match shown {
            Some(Members::Named(mut envelope)) => envelope.remove("data"),
            Some(Members::Any) | None => None,
        };
        Self {
            query: query.collect(),
            shown: shown.unwrap_or(Members::Any),
            body: schema_of(&declaration["requestBody"]).map(|schema| schemas.members(&schema, &mut Vec::new())),
        }
    }

    /// Returns true if the operation takes a body.
    pub(crate) const fn takes_body(&self) -> bool {
        self.body.is_some()
    }

    /// Returns the unknown names of a request, each with the nearest known one. Faults of the body as a whole are left to its
    /// reader.
    pub(crate) fn faults(&self, query: &str, body: &[u8]) -> ValidationErrors {
        let mut found = ValidationErrors::new();
        let mut seen = BTreeSet::new();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            if is_full(&found) {
                return found;
            }
            let name = base_of(&key);
            if !self.query.contains(name) {
                if seen.insert(key.clone().into_owned()) {
                    let nearest = nearest(name, self.query.iter().map(String::as_str));
                    found.add(key, unknown(nearest, "this operation has no query parameters"));
                }
            } else if name == "fields" {
                let paths = value.split(',').map(str::trim).filter(|path| !path.is_empty());
                let wrong = paths.filter_map(|path| Some((path, self.shown.nearest_path(path)?)));
                for (path, nearest) in wrong.take(MAX_FAULTS) {
                    let hint = unknown((!nearest.is_empty()).then_some(nearest), "there is nothing to select");
                    found.add("fields", format!("names {}, which {hint}", quoted(path)));
                }
            }
        }
        if let Ok(object) = body::object(body) {
            let none = Members::Named(BTreeMap::new());
            let root = self.body.as_ref().unwrap_or(&none);
            root.check(root, &object, "", &mut found);
        }
        found
    }
}

/// Returns true if there is no room for another fault, so that the search can stop.
fn is_full(found: &ValidationErrors) -> bool {
    found.as_slice().len() >= MAX_FAULTS
}

/// Merges `unknown` with the other faults. A field that is in both is reported with the nearest known name.
pub(crate) fn together(unknown: &ValidationErrors, others: &ValidationErrors) -> ValidationErrors {
    let mut all = unknown.clone();
    let known = |field: &str| unknown.as_slice().iter().any(|error| error.field == field);
    for error in others.as_slice().iter().filter(|error| !known(&error.field)) {
        all.add(error.field.as_str(), error.message.as_str());
    }
    all
}

/// Returns the name of a query parameter without the brackets of an array.
fn base_of(key: &str) -> &str {
    key.split_once('[').map_or(key, |(name, _)| name)
}

fn unknown(nearest: Option<String>, otherwise: &str) -> String {
    match nearest {
        Some(nearest) => format!("is unknown; did you mean {}?", quoted(&nearest)),
        None => format!("is unknown: {otherwise}"),
    }
}

/// Returns the known name that is most like this one; the first of several.
fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    let name: String = name.to_lowercase().chars().take(MAX_COMPARED_CHARS).collect();
    let likeness = |known: &str| strsim::jaro_winkler(&name, known);
    let compared = known.map(|known| (likeness(known), known));
    let best = compared.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, known)| known.to_owned())
}

impl Members {
    /// Collects the unknown members of `object`; `root` is the whole of which these are a part.
    fn check(&self, root: &Self, object: &Map<String, Value>, path: &str, found: &mut ValidationErrors) {
        let Self::Named(known) = self else { return };
        for (name, value) in object {
            if is_full(found) {
                return;
            }
            let path = joined(path, name);
            match known.get(name) {
                Some(members) => members.check_value(root, value, &path, found),
                None => found.add(
                    path.as_str(),
                    unknown(self.nearest_member(root, &path), "this operation takes no body"),
                ),
            }
        }
    }

    fn check_value(&self, root: &Self, value: &Value, path: &str, found: &mut ValidationErrors) {
        match (self, value) {
            // The body's reader checks whether an object is allowed here at all.
            (Self::Named(known), Value::Object(object)) if !known.is_empty() => self.check(root, object, path, found),
            (Self::Named(known), Value::Array(items)) if !known.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    self.check_value(root, item, &joined(path, &at.to_string()), found);
                }
            }
            _ => {}
        }
    }

    /// Returns the path that is nearest to an unknown one; `None` for a known path.
    fn nearest_path(&self, path: &str) -> Option<String> {
        let mut place = self;
        let mut way = String::new();
        for name in path.split('.') {
            let Self::Named(known) = place else { return None };
            match known.get(name) {
                Some(members) => {
                    way = joined(&way, name);
                    place = members;
                }
                // A path into a value without members leads to that value, without the rest.
                None if known.is_empty() => return Some(way),
                None => return place.nearest_member(self, &joined(&way, name)),
            }
        }
        None
    }

    /// Returns the known member that is nearest to the one at the end of `path`: one of the same name elsewhere in `root`, or
    /// else one beside it.
    fn nearest_member(&self, root: &Self, path: &str) -> Option<String> {
        let Self::Named(known) = self else { return None };
        let (place, name) = path.rsplit_once('.').unwrap_or(("", path));
        let beside = || nearest(name, known.keys().map(String::as_str)).map(|name| joined(place, &name));
        root.path_of(name).or_else(beside)
    }

    /// Returns the shortest path to a member with that name.
    fn path_of(&self, name: &str) -> Option<String> {
        let mut places = VecDeque::from([(String::new(), self)]);
        while let Some((place, members)) = places.pop_front() {
            let Self::Named(members) = members else { continue };
            if let Some(known) = members.keys().find(|known| known.eq_ignore_ascii_case(name)) {
                return Some(joined(&place, known));
            }
            places.extend(members.iter().map(|(name, members)| (joined(&place, name), members)));
        }
        None
    }

    /// Returns the members that one or the other may have.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (Self::Named(mut members), Self::Named(others)) => {
                for (name, other) in others {
                    let member = match members.remove(&name) {
                        Some(member) => member.or(other),
                        None => other,
                    };
                    members.insert(name, member);
                }
                Self::Named(members)
            }
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// The schemas that a declaration refers to.
struct Schemas<'a>(BTreeMap<&'a str, Value>);

impl Schemas<'_> {
    /// Returns the members of a value of `schema`; `within` are the names of the schemas that it is a part of.
    fn members(&self, schema: &Value, within: &mut Vec<String>) -> Members {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            return match self.0.get(name) {
                // A schema that contains itself is entered only once.
                Some(schema) if within.iter().all(|outer| outer != name) => {
                    within.push(name.to_owned());
                    let members = self.members(schema, within);
                    within.pop();
                    members
                }
                _ => Members::Any,
            };
        }
        let is_object = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
            kind => kind == "object",
        };
        let others = &schema["additionalProperties"];
        let properties = schema["properties"].as_object();
        if others.is_object() || *others == true || (is_object && properties.is_none() && *others != false) {
            return Members::Any;
        }
        let mut all = Members::Named(BTreeMap::new());
        if let Some(properties) = properties {
            let members = properties
                .iter()
                .map(|(name, schema)| (name.clone(), self.members(schema, within)));
            all = Members::Named(members.collect());
        }
        let alternatives = ["allOf", "anyOf", "oneOf"];
        let alternatives = alternatives.iter().filter_map(|keyword| schema[keyword].as_array());
        for part in alternatives.flatten().chain(schema.get("items")) {
            all = all.or(self.members(part, within));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderMap;

    use super::*;
    use crate::{areas, operation::Description};

    fn preferred(lines: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(PREFER, HeaderValue::from_str(line).unwrap());
        }
        is_preferred(&headers)
    }

    #[test]
    fn the_preference_is_read_as_rfc_7240_says() {
        for lines in [
            &["handling=strict"][..],
            &["Handling=Strict"],
            &["respond-async, handling=strict"],
            &["handling = \"strict\""],
            &["handling=\"str\\ict\""],
            &["handling=strict; foo=bar"],
            &["wait=10", "handling=strict;x"],
            &["note=\"a, handling=lenient\", handling=strict"],
            &["handling=strict, handling=lenient"],
        ] {
            assert!(preferred(lines), "{lines:?}");
        }
        for lines in [
            &[][..],
            &[""],
            &["strict"],
            &["handling"],
            &["handling=lenient"],
            &["handling=stricter"],
            &["handling=lenient, handling=strict"],
            &["handling=lenient", "handling=strict"],
            &["note=\"a, handling=strict\""],
            &["note=\"\\\", handling=strict\""],
            &["return=minimal; handling=strict"],
        ] {
            assert!(!preferred(lines), "{lines:?}");
        }
    }

    fn known(id: &str) -> KnownNames {
        let operations = areas::operations().unwrap();
        let mut descriptions = operations.iter().map(|operation| (operation.describe)());
        let of = |description: &Description| description.declaration.operation_id.as_deref() == Some(id);
        let Description { declaration, schemas } = descriptions.find(of).unwrap();
        KnownNames::of(&declaration, &schemas)
    }

    fn pairs(found: &ValidationErrors) -> Vec<(String, String)> {
        let faults = found.as_slice().iter();
        faults
            .map(|error| (error.field.clone(), error.message.clone()))
            .collect()
    }

    #[test]
    fn an_unknown_parameter_is_reported_with_the_nearest_one() {
        let leads = known("list_leads");
        assert!(
            leads
                .faults("status=new&created[]=1&created[1]=2&cursor=", b"")
                .is_empty()
        );
        assert_eq!(
            pairs(&leads.faults("stauts=new&stauts=read&Created[]=1", b"")),
            [
                ("stauts".to_owned(), r#"is unknown; did you mean "status"?"#.to_owned()),
                (
                    "Created[]".to_owned(),
                    r#"is unknown; did you mean "created"?"#.to_owned()
                ),
            ]
        );
        let ping = known("ping_webhook");
        assert_eq!(ping.faults("a=1", b"").as_slice().len(), 1);
        assert_eq!(pairs(&ping.faults("", br#"{"a": 1}"#))[0].0, "a");
        assert!(!ping.takes_body());
    }

    #[test]
    fn an_unknown_path_is_reported_with_the_nearest_one() {
        let lead = known("read_lead");
        let fine = "fields=id,status.name,tag.name,data.whatever.it.is,ai.rating_reason,%20type%20,";
        assert!(lead.faults(fine, b"").is_empty());
        let faults = pairs(&lead.faults("fields=nmae,status.nam,id.deeper,tag.checkd", b""));
        let named = ["name", "status.name", "id", "tag.checked"];
        assert_eq!(faults.len(), named.len(), "{faults:?}");
        for ((field, message), nearest) in faults.iter().zip(named) {
            assert_eq!(field, "fields");
            assert!(message.contains(&format!("did you mean {nearest:?}?")), "{message}");
        }
    }

    #[test]
    fn an_unknown_member_is_reported_with_its_path() {
        let contact = known("create_contact");
        let body = br#"{"nmae": "Ann", "address": {"line": "x", "city": "y"}, "telephone": {"numbr": "1"},
            "tag": [{"name": "a", "chekced": true}], "document": [{"any": {"thing": 1}}], "email": {"x": 1}}"#;
        let faults = pairs(&contact.faults("", body));
        let expected = [
            ("nmae", "name"),
            ("address.line", "address.line1"),
            ("telephone.numbr", "telephone.number"),
            ("tag.0.chekced", "tag.0.checked"),
        ];
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        for ((field, message), (path, nearest)) in faults.iter().zip(expected) {
            assert_eq!(field, path);
            assert!(message.contains(&format!("did you mean {nearest:?}?")), "{message}");
        }
    }

    #[test]
    fn a_misplaced_member_is_reported_with_its_place() {
        let vehicle = known("update_vehicle");
        let found = vehicle.faults("", br#"{"make": "Ford", "data": {"stock": {"price_webste": 1}}}"#);
        assert_eq!(
            pairs(&found),
            [
                (
                    "make".to_owned(),
                    r#"is unknown; did you mean "data.vehicle.make"?"#.to_owned()
                ),
                (
                    "data.stock.price_webste".to_owned(),
                    r#"is unknown; did you mean "data.stock.price_website"?"#.to_owned()
                ),
            ]
        );
    }

    #[test]
    fn what_is_reported_is_bounded() {
        let members: Vec<_> = (0..5_000).map(|at| format!("\"{at}{}\": 1", "x".repeat(100))).collect();
        let body = format!("{{{}}}", members.join(","));
        let found = known("create_lead").faults("", body.as_bytes());
        assert_eq!(found.as_slice().len(), MAX_FAULTS);
        assert!(
            known("create_lead").faults("", b"[1").is_empty(),
            "is reported elsewhere"
        );
    }

    #[test]
    fn faults_of_both_kinds_are_reported_once() {
        let unknown = ValidationErrors::one("data.x", "is unknown; did you mean \"data.y\"?");
        let mut others = ValidationErrors::one("data.x", "is no field");
        others.add("site", "must be an integer");
        let all = together(&unknown, &others);
        assert_eq!(all.as_slice()[0], unknown.as_slice()[0]);
        assert_eq!((all.as_slice().len(), all.as_slice()[1].field.as_str()), (2, "site"));
    }
}
