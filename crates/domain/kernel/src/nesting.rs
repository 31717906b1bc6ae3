//! How deep a JSON object of a caller's own making may be.

use serde_json::{Map, Value};

/// A record that holds the object must still be readable for every JSON parser that guards its stack.
const MAX_DEPTH: usize = crate::bounds::MAX_BODY_DEPTH;

/// Judges how deep objects and arrays lie within each other.
///
/// # Errors
/// [`NestedTooDeep`] if there are more than 32 levels, the object itself included.
pub fn judge_nesting(object: &Map<String, Value>) -> Result<(), NestedTooDeep> {
    let within = object.values().all(|member| lies_within(member, MAX_DEPTH - 1));
    within.then_some(()).ok_or(NestedTooDeep)
}

fn lies_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| lies_within(item, depth - 1)),
        Value::Object(members) => depth > 0 && members.values().all(|member| lies_within(member, depth - 1)),
        _ => true,
    }
}

/// An object has objects or arrays within each other beyond all use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must not be nested more than 32 levels deep")]
pub struct NestedTooDeep;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nesting_has_an_end() {
        let wraps: [fn(Value) -> Value; 2] = [|inner| json!([inner]), |inner| json!({"a": inner})];
        for wrap in wraps {
            let nested =
                |depth| Map::from_iter([("a".to_owned(), (1..depth).fold(Value::Null, |inner, _| wrap(inner)))]);
            assert_eq!(judge_nesting(&nested(MAX_DEPTH)), Ok(()));
            assert_eq!(judge_nesting(&nested(MAX_DEPTH + 1)), Err(NestedTooDeep));
        }
    }
}
