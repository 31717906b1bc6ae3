//! References to what is attached to a contact.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A reference to an attached document: a JSON object of a caller's own making, kept as it was sent (decisions §6).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DocumentReference(Map<String, Value>);

impl DocumentReference {
    /// How deep objects and arrays may lie within each other, the reference itself included. A record that holds it must
    /// still be readable for every JSON parser that guards its stack.
    pub const MAX_DEPTH: usize = 32;

    /// Takes a reference as it was sent.
    ///
    /// # Errors
    /// [`NestedTooDeep`] beyond [`Self::MAX_DEPTH`].
    pub fn new(members: Map<String, Value>) -> Result<Self, NestedTooDeep> {
        if members.values().all(|member| lies_within(member, Self::MAX_DEPTH - 1)) {
            Ok(Self(members))
        } else {
            Err(NestedTooDeep)
        }
    }
}

fn lies_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| lies_within(item, depth - 1)),
        Value::Object(members) => depth > 0 && members.values().all(|member| lies_within(member, depth - 1)),
        _ => true,
    }
}

/// The reference has objects within objects beyond all use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must not be nested more than 32 levels deep")]
pub struct NestedTooDeep;

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> Map<String, Value> {
        (1..depth).fold(Map::new(), |inner, _| {
            Map::from_iter([("a".to_owned(), Value::Object(inner))])
        })
    }

    #[test]
    fn a_reference_has_an_end() {
        let deepest = nested(DocumentReference::MAX_DEPTH);
        assert_eq!(DocumentReference::new(deepest.clone()), Ok(DocumentReference(deepest)));
        assert_eq!(
            DocumentReference::new(nested(DocumentReference::MAX_DEPTH + 1)),
            Err(NestedTooDeep)
        );
    }
}
