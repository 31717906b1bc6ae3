//! The parts of a record that a caller requests with `fields` (contract, "Common rules" 5).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::bounds::{MAX_FIELDS_BYTES, MAX_FIELDS_DEPTH, MAX_FIELDS_PATHS};

/// A set of dot-paths, bounded in number and depth. Paths go through arrays: `tag.name` is the name of each tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Projection(Members);

/// The requested members of an object. A map, because each member of a record is looked up by its name.
type Members = BTreeMap<String, FieldTree>;

#[derive(Clone, PartialEq, Eq, Debug)]
enum FieldTree {
    Whole,
    Part(Members),
}

impl Projection {
    /// Reads comma-separated dot-paths; `None` if `text` has none.
    ///
    /// # Errors
    /// [`InvalidFields`] beyond the bounds of [`bounds`](crate::bounds).
    pub fn parse(text: &str) -> Result<Option<Self>, InvalidFields> {
        if text.len() > MAX_FIELDS_BYTES {
            return Err(InvalidFields::TooLong);
        }
        let mut root = Members::new();
        let paths = text.split(',').map(str::trim).filter(|path| !path.is_empty());
        for (at, path) in paths.enumerate() {
            if at >= MAX_FIELDS_PATHS {
                return Err(InvalidFields::TooManyPaths);
            }
            if path.split('.').count() > MAX_FIELDS_DEPTH {
                return Err(InvalidFields::TooManyParts);
            }
            insert(&mut root, path);
        }
        Ok((!root.is_empty()).then_some(Self(root)))
    }

    /// Removes everything from `value` that no path names. A path that leads nowhere is ignored.
    pub fn apply(&self, value: Value) -> Value {
        apply(&self.0, value)
    }
}

fn insert(members: &mut Members, path: &str) {
    match path.split_once('.') {
        None => {
            members.insert(path.to_owned(), FieldTree::Whole);
        }
        Some((name, rest)) => {
            let wanted = members.entry(name.to_owned());
            // The whole value is already requested, so a path into it adds nothing.
            if let FieldTree::Part(members) = wanted.or_insert_with(|| FieldTree::Part(Members::new())) {
                insert(members, rest);
            }
        }
    }
}

fn apply(wanted: &Members, value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(|item| apply(wanted, item)).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter_map(|(name, member)| part(wanted.get(&name)?, member).map(|shown| (name, shown)))
                .collect::<Map<_, _>>(),
        ),
        scalar => scalar,
    }
}

fn part(wanted: &FieldTree, value: Value) -> Option<Value> {
    match wanted {
        FieldTree::Whole => Some(value),
        // A path into a scalar leads nowhere.
        FieldTree::Part(members) => (value.is_object() || value.is_array()).then(|| apply(members, value)),
    }
}

/// The reason for refusing a selection of fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidFields {
    /// The text is too long.
    #[error("must have at most {MAX_FIELDS_BYTES} bytes")]
    TooLong,
    /// There are too many paths.
    #[error("must have at most {MAX_FIELDS_PATHS} paths")]
    TooManyPaths,
    /// A path has too many parts.
    #[error("must have paths of at most {MAX_FIELDS_DEPTH} parts")]
    TooManyParts,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(fields: &str, value: Value) -> Value {
        Projection::parse(fields).unwrap().unwrap().apply(value)
    }

    #[test]
    fn only_what_is_named_remains() {
        let lead = json!({"id": 1, "status": {"id": 0, "name": "new"}, "tag": [{"name": "Hot", "checked": true}], "rating": null});
        assert_eq!(
            project("id,status.name", lead.clone()),
            json!({"id": 1, "status": {"name": "new"}})
        );
        assert_eq!(
            project("tag.name, rating", lead.clone()),
            json!({"tag": [{"name": "Hot"}], "rating": null})
        );
        assert_eq!(
            project("status.name,status", lead.clone()),
            json!({"status": {"id": 0, "name": "new"}})
        );
        assert_eq!(
            project("status,status.name", lead.clone()),
            json!({"status": {"id": 0, "name": "new"}})
        );
        assert_eq!(project("nothing,id.deeper,rating.deeper", lead), json!({}));
    }

    #[test]
    fn no_path_is_no_projection() {
        assert_eq!(Projection::parse(""), Ok(None));
        assert_eq!(Projection::parse(" , "), Ok(None));
    }

    #[test]
    fn a_list_is_projected_item_by_item() {
        assert_eq!(
            project("id", json!([{"id": 1, "x": 2}, {"id": 3}])),
            json!([{"id": 1}, {"id": 3}])
        );
    }

    #[test]
    fn a_selection_is_bounded_in_bytes_paths_and_depth() {
        let parse = |text: &str| Projection::parse(text).map(|projection| projection.is_some());
        let longest = format!("{},{}", "a".repeat(MAX_FIELDS_BYTES - 2), "b");
        assert_eq!(parse(&longest), Ok(true));
        assert_eq!(parse(&format!("{longest},")), Err(InvalidFields::TooLong));
        assert_eq!(parse(&",".repeat(MAX_FIELDS_BYTES)), Ok(false));
        assert_eq!(parse(&vec!["id"; MAX_FIELDS_PATHS].join(",")), Ok(true));
        assert_eq!(
            parse(&vec!["id"; MAX_FIELDS_PATHS + 1].join(",")),
            Err(InvalidFields::TooManyPaths)
        );
        assert_eq!(parse(&["a"; MAX_FIELDS_DEPTH].join(".")), Ok(true));
        assert_eq!(
            parse(&["a"; MAX_FIELDS_DEPTH + 1].join(".")),
            Err(InvalidFields::TooManyParts)
        );
        assert_eq!(parse(&".".repeat(MAX_FIELDS_DEPTH)), Err(InvalidFields::TooManyParts));
    }
}
