//! References to documents that are attached to a contact.

use forecourt_kernel::{FromJson, InvalidValue, NestedTooDeep, validate_nesting};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A reference to an attached document: a JSON object with members of the caller's choice, stored as it was sent (decisions §6).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DocumentReference(Map<String, Value>);

impl DocumentReference {
    /// Wraps a reference as it was sent.
    ///
    /// # Errors
    /// [`NestedTooDeep`] if its nesting is too deep.
    pub fn new(members: Map<String, Value>) -> Result<Self, NestedTooDeep> {
        validate_nesting(&members)?;
        Ok(Self(members))
    }
}

impl FromJson for DocumentReference {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let members = Map::from_json(value)?;
        Self::new(members).map_err(|error| InvalidValue::here(error.to_string()))
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for DocumentReference {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::Object)
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for DocumentReference {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_an_end() {
        let wrap = |inner, _| Map::from_iter([("a".to_owned(), Value::Object(inner))]);
        let nested = |depth| (1..depth).fold(Map::new(), wrap);
        assert_eq!(DocumentReference::new(nested(32)), Ok(DocumentReference(nested(32))));
        assert_eq!(DocumentReference::new(nested(33)), Err(NestedTooDeep));
    }
}
