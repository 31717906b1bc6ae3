//! Limits on the depth of a caller's JSON.

use serde_json::{Map, Value};

/// The limit of [`validate_nesting`]. JSON parsers that guard their stack must still be able to read a record that holds the
/// object.
const MAX_DEPTH: usize = crate::bounds::MAX_BODY_DEPTH;

/// The size of a JSON value in memory, apart from the bytes of its texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonExtent {
    /// The nesting depth of objects and arrays, counting the outermost.
    pub depth: usize,
    /// An upper bound of the number of values: the value itself, members, elements, objects and arrays.
    pub values: usize,
}

impl JsonExtent {
    /// Measures a text without building its value. The result is meaningless for a text that is not JSON.
    pub fn of(text: &[u8]) -> Self {
        let (mut depth, mut deepest, mut values) = (0_usize, 0, 1);
        let mut bytes = text.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'[' | b'{' => {
                    values += 1;
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' => values += 1,
                b'"' => skip_string(&mut bytes),
                _ => {}
            }
        }
        Self { depth: deepest, values }
    }
}

/// Skips the rest of a string, including its closing quote.
fn skip_string<'a>(bytes: &mut impl Iterator<Item = &'a u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// Checks the nesting depth of objects and arrays.
///
/// # Errors
/// [`NestedTooDeep`] if there are more than 32 levels, the object itself included.
pub fn validate_nesting(object: &Map<String, Value>) -> Result<(), NestedTooDeep> {
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

/// An object nests objects or arrays too deeply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must not be nested more than {MAX_DEPTH} levels deep")]
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
            assert_eq!(validate_nesting(&nested(MAX_DEPTH)), Ok(()));
            assert_eq!(validate_nesting(&nested(MAX_DEPTH + 1)), Err(NestedTooDeep));
        }
    }

    #[test]
    fn the_extent_of_a_text_is_counted_outside_its_strings() {
        for (text, depth, values) in [
            ("", 0, 1),
            ("5", 0, 1),
            ("{}", 1, 2),
            ("[[],{}]", 2, 5),
            ("[1,2,3]", 1, 4),
            (r#"{"a":{"b":[1]}}"#, 3, 4),
            (r#"["[[[,,"]"#, 1, 2),
            (r#"["\"[[",[]]"#, 2, 4),
            (r#"["\\",[[]]]"#, 3, 5),
            ("]]]][", 1, 2),
            (r#"["never closed [["#, 1, 2),
            (r#"["\"#, 1, 2),
        ] {
            assert_eq!(JsonExtent::of(text.as_bytes()), JsonExtent { depth, values }, "{text}");
        }
        assert_eq!(JsonExtent::of(&b"[".repeat(1_000_000)).depth, 1_000_000);
    }
}
