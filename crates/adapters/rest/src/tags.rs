//! Reading the tags that a record is to carry.

use forecourt_reference::TagChoice;
use serde_json::Value;

use crate::body::Form;

/// Reads the array `field`, which is of names or `{name, checked}`.
pub(crate) fn tag_choices(form: &mut Form, field: &str, items: Option<Vec<Value>>) -> Option<Vec<TagChoice>> {
    let items = items?.into_iter().enumerate();
    let choices = items.filter_map(|(at, item)| tag_choice(form, &format!("{field}.{at}"), item));
    Some(choices.collect())
}

fn tag_choice(form: &mut Form, path: &str, item: Value) -> Option<TagChoice> {
    let members = match item {
        Value::String(name) => return Some(TagChoice { name, checked: true }),
        Value::Object(members) => members,
        _ => {
            form.fault(path, "must be a name or an object with a name");
            return None;
        }
    };
    let checked = match members.get("checked") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(checked)) => *checked,
        Some(_) => {
            form.fault(&format!("{path}.checked"), "must be true or false");
            return None;
        }
    };
    let Some(Value::String(name)) = members.get("name") else {
        form.fault(&format!("{path}.name"), "must be the name of a tag");
        return None;
    };
    Some(TagChoice {
        name: name.clone(),
        checked,
    })
}
