//! The members of a record that a change touched, for its event (areas §10.0).

use serde_json::{Map, Value};

/// Adds `changed` to what an event shows: the names of the members that differ from `before`, or of all if there was no record
/// before.
///
/// ```
/// use forecourt_kernel::add_changed;
/// use serde_json::json;
///
/// let before = json!({"id": 1, "status": "draft"});
/// let mut after = json!({"id": 1, "status": "issued", "number": "INV-1"});
/// add_changed(Some(&before), &mut after);
/// assert_eq!(after["changed"], json!(["status", "number"]));
/// ```
pub fn add_changed(before: Option<&Value>, after: &mut Value) {
    let Some(members) = after.as_object_mut() else {
        return;
    };
    let before = before.and_then(Value::as_object);
    let differs = |name: &str, value: &Value| before.is_none_or(|before: &Map<_, _>| before.get(name) != Some(value));
    let changed = members.iter().filter(|(name, value)| differs(name, value));
    let changed = changed.map(|(name, _)| Value::String(name.clone())).collect();
    members.insert("changed".to_owned(), Value::Array(changed));
}
