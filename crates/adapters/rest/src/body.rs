//! Reads a JSON body: first its syntax, then every field of it, so that all faults are reported at once.

use std::{collections::BTreeMap, convert::Infallible, ops::Deref};

use forecourt_kernel::{
    BoundedText, Field, InvalidValue, JsonExtent, NestedTooDeep, ValidationErrors,
    bounds::{MAX_BODY_BYTES, MAX_BODY_DEPTH, MAX_BODY_VALUES, MAX_ITEMS},
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value, value::RawValue};

use crate::{code::Code, error::ApiError};

/// The maximum length of a JSON body, in bytes (decisions §3).
pub(crate) const MAX_JSON_BYTES: usize = MAX_BODY_BYTES;

/// Reads a body as an object. An empty body counts as `{}`; of members with the same name the last one counts.
///
/// # Errors
/// 400 if it is not JSON, 422 (`body`) if it is nested too deep or not an object, 422 (the member) if it has too many values.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    // The fields of a body are `Field`s, which accept any value, so a failure here is our own mistake.
    T::deserialize(Value::Object(object(body)?)).map_err(|error| ApiError::field("body", error.to_string()))
}

/// Returns the members of a body, as [`parse`] reads it.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    // Values are built and dropped by recursion, and take up to a hundred times the memory of their text. So the text is
    // measured before any is built.
    let JsonExtent { depth, values } = JsonExtent::of(body);
    if depth > MAX_BODY_DEPTH {
        check_syntax(body)?;
        return Err(ApiError::field("body", NestedTooDeep.to_string()));
    }
    if values > MAX_BODY_VALUES {
        check_syntax(body)?;
        return Err(too_many_values(body));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(ApiError::field("body", "must be a JSON object")),
        Err(error) => Err(no_json(&error)),
    }
}

/// Checks that `body` is JSON, of any depth: ignored values are read without recursion.
fn check_syntax(body: &[u8]) -> Result<(), ApiError> {
    let text = str::from_utf8(body).map_err(|error| no_json(&error))?;
    let ignored: Result<IgnoredAny, _> = serde_json::from_str(text);
    ignored.map(drop).map_err(|error| no_json(&error))
}

/// Returns a refusal that names the members with the most values.
fn too_many_values(body: &[u8]) -> ApiError {
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(body).unwrap_or_default();
    let large = |value: &RawValue| JsonExtent::of(value.get().as_bytes()).values > MAX_ITEMS;
    let mut faults = ValidationErrors::default();
    for (name, _) in members.iter().filter(|(_, value)| large(value)) {
        faults.add(
            name,
            format!("has too many values: a body may have at most {MAX_BODY_VALUES}"),
        );
    }
    if faults.is_empty() {
        faults.add(
            "body",
            format!("must be a JSON object with at most {MAX_BODY_VALUES} values"),
        );
    }
    faults.into()
}

fn no_json(error: &impl std::fmt::Display) -> ApiError {
    ApiError::new(Code::JSON_INVALID, format!("the body is not valid JSON: {error}"))
}

/// Collects the values of a body's fields, and the faults.
#[derive(Debug, Default)]
pub(crate) struct Form {
    errors: ValidationErrors,
}

impl Form {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Records that `field` is wrong.
    pub(crate) fn fault(&mut self, field: &str, message: impl Into<String>) {
        self.errors.add(field, message);
    }

    /// Returns true if a fault was found.
    pub(crate) const fn has_faults(&self) -> bool {
        !self.errors.is_empty()
    }

    /// Returns the value of a field that may be left out; null counts as left out. That suits creation, where both mean the
    /// default.
    pub(crate) fn optional<T>(&mut self, name: &str, field: Field<T>) -> Option<T> {
        self.nullable(name, field).flatten()
    }

    /// Returns the value of a field that null clears: `Some(None)`.
    pub(crate) fn nullable<T>(&mut self, name: &str, field: Field<T>) -> Option<Option<T>> {
        match field {
            Field::Absent => None,
            Field::Null => Some(None),
            Field::Value(value) => Some(Some(value)),
            Field::Wrong(wrong) => {
                wrong.report(name, &mut self.errors);
                None
            }
        }
    }

    /// Returns the value of a field that null resets to `default`.
    pub(crate) fn or_default<T>(&mut self, name: &str, field: Field<T>, default: T) -> Option<T> {
        self.parsed_or_default(name, field, default, Ok::<_, Infallible>)
    }

    /// Returns the value of a field, parsed by `parse`, that null resets to `default`.
    pub(crate) fn parsed_or_default<T, U, E: ToString>(
        &mut self,
        name: &str,
        field: Field<T>,
        default: U,
        parse: impl FnOnce(T) -> Result<U, E>,
    ) -> Option<U> {
        match self.nullable(name, field)? {
            None => Some(default),
            value => self.validated(name, value, parse),
        }
    }

    /// Returns the value of a required field.
    pub(crate) fn required<T>(&mut self, name: &str, field: Field<T>) -> Option<T> {
        let missing = matches!(field, Field::Absent | Field::Null);
        if missing {
            self.fault(name, "is required");
        }
        self.optional(name, field)
    }

    /// Returns the value of a field that may be left out, but not null.
    pub(crate) fn present<T>(&mut self, name: &str, field: Field<T>) -> Option<T> {
        if matches!(field, Field::Null) {
            self.fault(name, "must not be null");
        }
        self.optional(name, field)
    }

    /// Returns a text that null clears: `Some(None)`.
    pub(crate) fn text<const MAX: usize>(
        &mut self,
        name: &str,
        field: Field<BoundedText<MAX>>,
    ) -> Option<Option<String>> {
        let text = self.nullable(name, field)?;
        Some(text.map(BoundedText::into_string))
    }

    /// Returns a parsed text, which null and the empty text clear.
    pub(crate) fn meaning<T, E: ToString>(
        &mut self,
        name: &str,
        field: Field<impl Deref<Target = str>>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<Option<T>> {
        let text = self.nullable(name, field)?.filter(|text| !text.trim().is_empty());
        match text.map(|text| parse(&text)).transpose() {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault(name, error.to_string());
                None
            }
        }
    }

    /// Returns the outcome of `parse` on `value`, or records its fault.
    pub(crate) fn validated<T, U, E: ToString>(
        &mut self,
        name: &str,
        value: Option<T>,
        parse: impl FnOnce(T) -> Result<U, E>,
    ) -> Option<U> {
        parse(value?).map_err(|error| self.fault(name, error.to_string())).ok()
    }

    /// Returns `value` if it could be read; otherwise records its faults under the field `name`.
    pub(crate) fn within<T>(&mut self, name: &str, value: Result<T, InvalidValue>) -> Option<T> {
        value.map_err(|wrong| wrong.report(name, &mut self.errors)).ok()
    }

    /// Returns a value that a domain validated, if there is no other fault; otherwise all faults together.
    pub(crate) fn finish_validated<T>(mut self, validated: Result<T, ValidationErrors>) -> Result<T, ValidationErrors> {
        match validated {
            Ok(value) => self.finish(value),
            Err(others) => {
                self.errors.extend(others);
                Err(self.errors)
            }
        }
    }

    /// Returns `value`, if neither the form nor `validate` found a fault.
    pub(crate) fn finish_by<T>(
        self,
        value: T,
        validate: impl FnOnce(&T, ValidationErrors) -> ValidationErrors,
    ) -> Result<T, ValidationErrors> {
        validate(&value, self.errors).into_result(value)
    }

    /// Returns the value, which is present unless a fault was found.
    pub(crate) fn finish_found<T>(self, value: Option<T>) -> Result<T, ValidationErrors> {
        value.filter(|_| self.errors.is_empty()).ok_or(self.errors)
    }

    /// Returns `value`, if no fault was found.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, ValidationErrors> {
        self.errors.into_result(value)
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{BoundedList, Words};
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Body {
        number: Field<i64>,
        list: Field<BoundedList<i64, 3>>,
        text: Field<BoundedText<5>>,
        words: Field<Words<String>>,
    }

    fn faults(json: &str) -> Vec<String> {
        let body: Body = parse(json.as_bytes()).unwrap();
        let mut form = Form::new();
        form.required("number", body.number);
        form.optional("list", body.list);
        form.text("text", body.text);
        form.optional("words", body.words);
        form.errors.as_slice().iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn every_fault_is_reported_with_its_path() {
        assert_eq!(
            faults(r#"{"number": "x", "list": [1, "x"], "text": 5}"#),
            ["number", "list.1", "text"]
        );
        assert_eq!(
            faults(r#"{"list": {}, "text": "a\u0000b"}"#),
            ["number", "list", "text"]
        );
        assert!(faults(r#"{"number": 1, "list": null, "unknown": 1}"#).is_empty());
        assert!(
            faults(r#"{"number": "x", "number": 1}"#).is_empty(),
            "the last one counts"
        );
    }

    #[test]
    fn every_value_is_bounded_by_its_type() {
        assert!(faults(r#"{"number": 1, "list": [1, 2, 3], "text": "ééééé", "words": "a, b"}"#).is_empty());
        assert_eq!(
            faults(r#"{"number": 9223372036854775808, "list": [1, 2, 3, "x"], "text": "éééééé", "words": ["a", 5]}"#),
            ["number", "list", "text", "words.1"]
        );
        let line = "a".repeat(256);
        assert_eq!(faults(&format!(r#"{{"number": 1, "words": "{line}"}}"#)), ["words"]);
        assert_eq!(faults(&format!(r#"{{"number": 1, "words": ["{line}"]}}"#)), ["words.0"]);
        let many = vec!["\"a\""; 501].join(",");
        assert_eq!(faults(&format!(r#"{{"number": 1, "words": [{many}]}}"#)), ["words"]);
    }

    #[test]
    fn what_a_domain_finds_wrong_is_reported_beside_it() {
        let fields = |validated, faulty| {
            let mut form = Form::new();
            if faulty {
                form.fault("shape", "is odd");
            }
            let finished: Result<(), _> = form.finish_validated(validated);
            let errors = finished.err().unwrap_or_default();
            errors
                .as_slice()
                .iter()
                .map(|error| error.field.clone())
                .collect::<Vec<_>>()
        };
        let wrong = || Err(ValidationErrors::one("meaning", "is odd"));
        assert_eq!(fields(wrong(), true), ["shape", "meaning"]);
        assert_eq!(fields(wrong(), false), ["meaning"]);
        assert_eq!(fields(Ok(()), true), ["shape"]);
        assert_eq!(fields(Ok(()), false), Vec::<String>::new());
    }

    #[test]
    fn syntax_is_checked_before_shape() {
        let code = |json: &str| {
            parse::<Body>(json.as_bytes())
                .err()
                .map(|error| error.into_refusal().code)
        };
        assert_eq!(code("{"), Some(Code::JSON_INVALID));
        assert_eq!(code("\u{feff}{}"), Some(Code::JSON_INVALID));
        assert_eq!(code("[]"), Some(Code::VALIDATION_FAILED));
        assert_eq!(code("null"), Some(Code::VALIDATION_FAILED));
        assert_eq!((code(""), code(" \n")), (None, None));
        assert_eq!(code(&"[".repeat(100_000)), Some(Code::JSON_INVALID));
    }

    #[test]
    fn what_has_too_many_values_is_named() {
        let refusal = |json: &str| parse::<Body>(json.as_bytes()).err().unwrap().into_refusal();
        let first = |json: &str| refusal(json).to_json()["error"]["details"]["field"].clone();
        let many = "0,".repeat(MAX_BODY_VALUES);
        assert_eq!(first(&format!(r#"{{"number":1,"list":[{many}0]}}"#)), "list");
        assert_eq!(first(&format!("[{many}0]")), "body");
        let members: String = (0..MAX_BODY_VALUES).map(|number| format!("\"{number}\":0,")).collect();
        assert_eq!(first(&format!(r#"{{{members}"list":[]}}"#)), "body");
        assert_eq!(refusal(&format!(r#"{{"list":[{many}]}}"#)).code, Code::JSON_INVALID);
        let text = format!(r#"{{"text":"{many}"}}"#);
        assert!(parse::<Body>(text.as_bytes()).is_ok(), "what a text holds is no value");
    }

    #[test]
    fn depth_is_checked_before_shape_and_after_syntax() {
        let outcome = |json: &[u8]| match parse::<Body>(json) {
            Ok(_) => None,
            Err(error) => Some(error.into_refusal().code),
        };
        let nested = |levels: usize, inner: &str| {
            let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
            format!(r#"{{"unknown":{open}{inner}{close}}}"#).into_bytes()
        };
        assert_eq!(outcome(&nested(32, "1")), None);
        for levels in [33, 129, 200, 100_000] {
            assert_eq!(outcome(&nested(levels, "1")), Some(Code::VALIDATION_FAILED), "{levels}");
            assert_eq!(outcome(&nested(levels, "x")), Some(Code::JSON_INVALID), "{levels}");
            assert_eq!(outcome(&nested(levels, "")[1..]), Some(Code::JSON_INVALID), "{levels}");
        }
        assert_eq!(
            outcome(br#"{"unknown":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}"#),
            None
        );
        let mut no_text = nested(40, "\"?\"");
        let mark = no_text.iter().position(|byte| *byte == b'?').unwrap();
        no_text[mark] = 0xff;
        assert_eq!(outcome(&no_text), Some(Code::JSON_INVALID));
    }
}
