//! Reading the tags that a record is to carry.

use forecourt_reference::TagChoice;
use serde_json::Value;

use crate::body::{Field, Form};

/// Reads `tag`: an array of names or `{name, checked}`.
pub(crate) fn tag_choices(form: &mut Form, field: Field<Vec<Value>>) -> Option<Vec<TagChoice>> {
    let items = form.optional("tag", field)?.into_iter().enumerate();
    Some(items.filter_map(|(at, item)| tag_choice(form, at, item)).collect())
}

fn tag_choice(form: &mut Form, at: usize, item: Value) -> Option<TagChoice> {
    let members = match item {
        Value::String(name) => return Some(TagChoice { name, checked: true }),
        Value::Object(members) => members,
        _ => {
            form.fault(&format!("tag.{at}"), "must be a name or an object with a name");
            return None;
        }
    };
    let checked = match members.get("checked") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(checked)) => *checked,
        Some(_) => {
            form.fault(&format!("tag.{at}.checked"), "must be true or false");
            return None;
        }
    };
    let Some(Value::String(name)) = members.get("name") else {
        form.fault(&format!("tag.{at}.name"), "must be the name of a tag");
        return None;
    };
    Some(TagChoice {
        name: name.clone(),
        checked,
    })
}
