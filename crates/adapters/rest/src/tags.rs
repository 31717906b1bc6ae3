//! Reading the tags that a record is to carry.

use forecourt_kernel::Line;
use forecourt_reference::TagChoice;
use serde_json::Value;
use utoipa::openapi::{
    RefOr, Schema,
    schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type},
};

use crate::{body::Form, schemas};

/// What [`tag_choices`] reads.
pub(crate) fn tag_choices_schema(about: &str) -> RefOr<Schema> {
    let checked = SchemaType::from_iter([Type::Boolean, Type::Null]);
    let choice = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("name", schemas::line())
        .property("checked", ObjectBuilder::new().schema_type(checked))
        .required("name");
    schemas::array(OneOfBuilder::new().item(schemas::line()).item(choice))
        .description(Some(about))
        .into()
}

/// Reads the array `field`, which is of names or `{name, checked}`.
pub(crate) fn tag_choices(
    form: &mut Form,
    field: &str,
    items: Option<impl IntoIterator<Item = Value>>,
) -> Option<Vec<TagChoice>> {
    let items = items?.into_iter().enumerate();
    let choices = items.filter_map(|(at, item)| tag_choice(form, &format!("{field}.{at}"), item));
    Some(choices.collect())
}

fn tag_choice(form: &mut Form, path: &str, item: Value) -> Option<TagChoice> {
    let members = match item {
        Value::String(name) => {
            let name = form.validated(path, Some(name), Line::new)?.into_string();
            return Some(TagChoice { name, checked: true });
        }
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
    let path = format!("{path}.name");
    let Some(Value::String(name)) = members.get("name") else {
        form.fault(&path, "must be the name of a tag");
        return None;
    };
    let name = form.validated(&path, Some(name.as_str()), Line::new)?.into_string();
    Some(TagChoice { name, checked })
}
