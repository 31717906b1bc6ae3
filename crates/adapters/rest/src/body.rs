//! Reading a JSON body: first its syntax, then every field of it, so that all faults are told at once.

use forecourt_kernel::ValidationErrors;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    error::{ApiError, Code},
    text::without_nul,
};

/// How long a JSON body may be, in bytes (decisions §3).
pub(crate) const MAX_JSON_BYTES: usize = 1024 * 1024;

/// Reads a body as an object. An empty one counts as `{}`; of members of the same name the last one counts.
///
/// # Errors
/// 400 if it is no JSON, 422 (`body`) if it is no object.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let object = if body.iter().all(u8::is_ascii_whitespace) {
        Map::new()
    } else {
        match serde_json::from_slice(body) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err(ApiError::field("body", "must be a JSON object")),
            Err(error) => {
                return Err(ApiError::new(
                    Code::JsonInvalid,
                    format!("the body is not valid JSON: {error}"),
                ));
            }
        }
    };
    // The fields of a body are `Field`s, which take any value; so what is left to fail here is our own mistake.
    T::deserialize(Value::Object(object)).map_err(|error| ApiError::field("body", error.to_string()))
}

/// A member of a body. Reading it never fails: a value of the wrong type is kept as the fault that it is.
#[derive(Clone, Debug, Default)]
pub(crate) enum Field<T> {
    /// The member is not there.
    #[default]
    Absent,
    /// It is null.
    Null,
    /// It has a value of the right type.
    Value(T),
    /// It has not; the path leads to the fault, from the member on.
    Wrong { path: String, message: String },
}

/// A type that a field can be of.
pub(crate) trait Shape: DeserializeOwned {
    /// What a caller is told whose value is of another type.
    const MUST: &'static str;
}

impl Shape for i64 {
    const MUST: &'static str = "must be a whole number";
}

impl Shape for bool {
    const MUST: &'static str = "must be true or false";
}

impl Shape for String {
    const MUST: &'static str = "must be text";
}

impl Shape for Map<String, Value> {
    const MUST: &'static str = "must be an object";
}

impl<T: Shape> Shape for Vec<T> {
    const MUST: &'static str = "must be an array";
}

/// Of whichever type; the reader tells them apart.
impl Shape for Value {
    const MUST: &'static str = "must be JSON";
}

impl<'de, T: Shape> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::Null);
        }
        Ok(serde_path_to_error::deserialize(value).map_or_else(
            |error| match error.path().to_string() {
                path if path == "." => Self::Wrong {
                    path: String::new(),
                    message: T::MUST.into(),
                },
                path => {
                    let path = path.replace('[', ".").replace(']', "");
                    Self::Wrong {
                        path,
                        message: error.inner().to_string(),
                    }
                }
            },
            Self::Value,
        ))
    }
}

/// Gathers the values of a body's fields, and the faults.
#[derive(Debug, Default)]
pub(crate) struct Form {
    errors: ValidationErrors,
}

impl Form {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Notes that `field` is wrong.
    pub(crate) fn fault(&mut self, field: &str, message: impl Into<String>) {
        self.errors.add(field, message);
    }

    /// The value of a field that may be left out; null counts as left out.
    pub(crate) fn optional<T>(&mut self, name: &str, field: Field<T>) -> Option<T> {
        self.nullable(name, field).flatten()
    }

    /// The value of a field that null clears: `Some(None)`.
    pub(crate) fn nullable<T>(&mut self, name: &str, field: Field<T>) -> Option<Option<T>> {
        match field {
            Field::Absent => None,
            Field::Null => Some(None),
            Field::Value(value) => Some(Some(value)),
            Field::Wrong { path, message } => {
                let path = if path.is_empty() || path.starts_with('.') {
                    format!("{name}{path}")
                } else {
                    format!("{name}.{path}")
                };
                self.fault(&path, message);
                None
            }
        }
    }

    /// The value of a field that must be there.
    pub(crate) fn required<T>(&mut self, name: &str, field: Field<T>) -> Option<T> {
        let missing = matches!(field, Field::Absent | Field::Null);
        if missing {
            self.fault(name, "is required");
        }
        self.optional(name, field)
    }

    /// The value of a field that may be left out, but not be null.
    pub(crate) fn present<T>(&mut self, name: &str, field: Field<T>) -> Option<T> {
        if matches!(field, Field::Null) {
            self.fault(name, "must not be null");
        }
        self.optional(name, field)
    }

    /// Text that can be kept.
    pub(crate) fn text(&mut self, name: &str, field: Field<String>) -> Option<Option<String>> {
        let text = self.nullable(name, field)?;
        if let Some(Err(message)) = text.as_deref().map(without_nul) {
            self.fault(name, message);
            return None;
        }
        Some(text)
    }

    /// Text that means something: null and the empty text clear it.
    pub(crate) fn meaning<T, E: ToString>(
        &mut self,
        name: &str,
        field: Field<String>,
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

    /// `value` if `parse` accepts it.
    pub(crate) fn judged<T, U, E: ToString>(
        &mut self,
        name: &str,
        value: Option<T>,
        parse: impl FnOnce(T) -> Result<U, E>,
    ) -> Option<U> {
        parse(value?).map_err(|error| self.fault(name, error.to_string())).ok()
    }

    /// What a domain judged good, if nothing else was found wrong; else all faults together.
    pub(crate) fn finish_judged<T>(mut self, judged: Result<T, ValidationErrors>) -> Result<T, ValidationErrors> {
        match judged {
            Ok(value) => self.finish(value),
            Err(others) => {
                self.errors.extend(others);
                Err(self.errors)
            }
        }
    }

    /// What was read, if `judge` adds nothing to what was found wrong, and nothing was.
    pub(crate) fn finish_by<T>(
        self,
        value: T,
        judge: impl FnOnce(&T, ValidationErrors) -> ValidationErrors,
    ) -> Result<T, ValidationErrors> {
        judge(&value, self.errors).into_result(value)
    }

    /// What was read, which is there unless something was found wrong.
    pub(crate) fn finish_found<T>(self, value: Option<T>) -> Result<T, ValidationErrors> {
        value.filter(|_| self.errors.is_empty()).ok_or(self.errors)
    }

    /// What was read, if nothing was found wrong.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, ValidationErrors> {
        self.errors.into_result(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Body {
        number: Field<i64>,
        list: Field<Vec<i64>>,
        text: Field<String>,
    }

    fn faults(json: &str) -> Vec<String> {
        let body: Body = parse(json.as_bytes()).unwrap();
        let mut form = Form::new();
        form.required("number", body.number);
        form.optional("list", body.list);
        form.text("text", body.text);
        form.errors.as_slice().iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn every_fault_is_told_with_its_path() {
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
    fn what_a_domain_finds_wrong_is_told_beside_it() {
        let fields = |judged, faulty| {
            let mut form = Form::new();
            if faulty {
                form.fault("shape", "is odd");
            }
            let finished: Result<(), _> = form.finish_judged(judged);
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
    fn syntax_goes_before_shape() {
        let code = |json: &str| {
            parse::<Body>(json.as_bytes())
                .err()
                .map(|error| error.into_refusal().code)
        };
        assert_eq!(code("{"), Some(Code::JsonInvalid));
        assert_eq!(code("\u{feff}{}"), Some(Code::JsonInvalid));
        assert_eq!(code("[]"), Some(Code::ValidationFailed));
        assert_eq!(code("null"), Some(Code::ValidationFailed));
        assert_eq!((code(""), code(" \n")), (None, None));
        assert_eq!(code(&"[".repeat(100_000)), Some(Code::JsonInvalid));
    }
}
