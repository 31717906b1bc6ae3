//! The parts of a record that a caller asked for with `fields` (contract, "Common rules" 5).

use serde_json::{Map, Value};

/// A set of dot-paths. Paths go through arrays: `tag.name` is the name of each tag.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Projection(Vec<Node>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    name: String,
    /// Empty: the whole value.
    children: Projection,
}

impl Projection {
    /// Reads comma-separated dot-paths; `None` if there is none in `text`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut root = Self::default();
        for path in text.split(',').map(str::trim).filter(|path| !path.is_empty()) {
            root.insert(&path.split('.').collect::<Vec<_>>());
        }
        (!root.0.is_empty()).then_some(root)
    }

    fn insert(&mut self, path: &[&str]) {
        let Some((&name, rest)) = path.split_first() else {
            return;
        };
        match self.0.iter_mut().find(|node| node.name == name) {
            // The whole value is already wanted: a path into it adds nothing.
            Some(node) if node.children.0.is_empty() => {}
            Some(node) if rest.is_empty() => node.children = Self::default(),
            Some(node) => node.children.insert(rest),
            None => {
                let mut children = Self::default();
                children.insert(rest);
                self.0.push(Node {
                    name: name.to_owned(),
                    children,
                });
            }
        }
    }

    /// `value` without what no path names. A path that leads nowhere is ignored.
    pub fn apply(&self, value: Value) -> Value {
        match value {
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.apply(item)).collect()),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .filter_map(|(name, member)| self.member(&name, member).map(|kept| (name, kept)))
                    .collect::<Map<_, _>>(),
            ),
            scalar => scalar,
        }
    }

    fn member(&self, name: &str, value: Value) -> Option<Value> {
        let node = self.0.iter().find(|node| node.name == name)?;
        if node.children.0.is_empty() {
            return Some(value);
        }
        // A path into a scalar leads nowhere.
        (value.is_object() || value.is_array()).then(|| node.children.apply(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(fields: &str, value: Value) -> Value {
        Projection::parse(fields).unwrap().apply(value)
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
        assert_eq!(Projection::parse(""), None);
        assert_eq!(Projection::parse(" , "), None);
    }

    #[test]
    fn a_list_is_projected_item_by_item() {
        assert_eq!(
            project("id", json!([{"id": 1, "x": 2}, {"id": 3}])),
            json!([{"id": 1}, {"id": 3}])
        );
    }
}
