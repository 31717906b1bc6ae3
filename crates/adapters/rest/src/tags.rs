//! Reading the tags that a record is to carry.

use forecourt_reference::TagChoice;
use serde_json::Value;
use utoipa::openapi::{
    RefOr, Schema,
    schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, SchemaType, Type},
};

use crate::body::Form;

/// What [`tag_choices`] reads.
pub(crate) fn tag_choices_schema(about: &str) -> RefOr<Schema> {
    let name = || ObjectBuilder::new().schema_type(Type::String);
    let checked = SchemaType::from_iter([Type::Boolean, Type::Null]);
    let choice = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("name", name())
        .property("checked", ObjectBuilder::new().schema_type(checked))
        .required("name");
    ArrayBuilder::new()
        .items(OneOfBuilder::new().item(name()).item(choice))
        .description(Some(about))
        .into()
}

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
