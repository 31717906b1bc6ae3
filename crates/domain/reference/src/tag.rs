//! Tags: the business's taxonomy, and the tags of a record.

use std::{
    collections::{HashMap, hash_map::Entry},
    ops::Deref,
    str::FromStr,
};

use forecourt_kernel::{BoundedList, Change, FromJson, InvalidValue, Line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{StockType, UnknownValue};

/// The kinds of record that can be tagged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TagResource {
    /// Contacts.
    Contact,
    /// Leads.
    Lead,
    /// Vehicles. Each stock type has its own tags.
    Vehicle,
}

impl TagResource {
    /// The singular name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contact => "contact",
            Self::Lead => "lead",
            Self::Vehicle => "vehicle",
        }
    }
}

/// Reads the singular or the plural.
impl FromStr for TagResource {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "contact" | "contacts" => Ok(Self::Contact),
            "lead" | "leads" => Ok(Self::Lead),
            "vehicle" | "vehicles" => Ok(Self::Vehicle),
            _ => Err(UnknownValue(&[
                "contacts", "contact", "leads", "lead", "vehicles", "vehicle",
            ])),
        }
    }
}

/// The tags that are available to some records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TagSet {
    /// The kind of record.
    pub resource: TagResource,
    /// The stock type of vehicles; `None` for all tags of the resource.
    pub kind: Option<StockType>,
}

impl TagSet {
    /// Returns `true` if `tag` belongs to the set.
    pub fn has(self, tag: &Tag) -> bool {
        tag.resource == self.resource && self.kind.is_none_or(|kind| tag.kind == kind.key())
    }
}

impl From<TagResource> for TagSet {
    fn from(resource: TagResource) -> Self {
        Self { resource, kind: None }
    }
}

/// The tags of vehicles of the stock type.
impl From<StockType> for TagSet {
    fn from(kind: StockType) -> Self {
        Self {
            resource: TagResource::Vehicle,
            kind: Some(kind),
        }
    }
}

/// A tag that a business has made available.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    /// The kind of record that it can be applied to.
    pub resource: TagResource,
    /// Its name, unique among the tags of a resource and type.
    pub name: String,
    /// A CSS colour.
    #[serde(default)]
    pub colour: String,
    /// For vehicles the key of the stock type; otherwise free text.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// True if a new record starts with it.
    #[serde(default)]
    pub defaulted: bool,
}

/// A caller's choice of a tag.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TagChoice {
    /// The tag's name.
    pub name: String,
    /// True if it is ticked.
    pub checked: bool,
}

impl TagChoice {
    /// Removes repeated tags. Each keeps its first place and its last choice.
    pub fn distinct(choices: Vec<Self>) -> Vec<Self> {
        let mut places: HashMap<String, usize> = HashMap::with_capacity(choices.len());
        let mut distinct: Vec<Self> = Vec::with_capacity(choices.len());
        for choice in choices {
            match places.entry(choice.name.clone()) {
                Entry::Occupied(place) => distinct[*place.get()] = choice,
                Entry::Vacant(place) => {
                    place.insert(distinct.len());
                    distinct.push(choice);
                }
            }
        }
        distinct
    }
}

/// Reads a name, or an object with the name and `checked`.
impl FromJson for TagChoice {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let mut members = match value {
            Value::String(_) => {
                let name = Line::from_json(value)?.into_string();
                return Ok(Self { name, checked: true });
            }
            Value::Object(members) => members,
            _ => return Err(InvalidValue::here("must be a name or an object with a name")),
        };
        let checked = match members.remove("checked") {
            None | Some(Value::Null) => Ok(true),
            Some(checked) => bool::from_json(checked),
        };
        let name = match members.remove("name") {
            Some(name @ Value::String(_)) => Line::from_json(name),
            _ => Err(InvalidValue::here("must be the name of a tag")),
        };
        match (name, checked) {
            (Ok(name), Ok(checked)) => Ok(Self {
                name: name.into_string(),
                checked,
            }),
            (name, checked) => {
                let mut faults = InvalidValue::default();
                faults.add_within("name", name.err().unwrap_or_default());
                faults.add_within("checked", checked.err().unwrap_or_default());
                Err(faults)
            }
        }
    }
}

/// The full set of a record's tags, as callers write it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TagChoices(BoundedList<TagChoice>);

impl TagChoices {
    /// The choices, in the order in which they were written.
    pub fn into_vec(self) -> Vec<TagChoice> {
        self.0.into_vec()
    }
}

impl Deref for TagChoices {
    type Target = [TagChoice];

    fn deref(&self) -> &[TagChoice] {
        &self.0
    }
}

impl FromJson for TagChoices {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        BoundedList::from_json(value).map(Self)
    }
}

impl<R: ?Sized> Change<Vec<TagChoice>, R> for TagChoices {
    fn apply(self, stored: &mut Vec<TagChoice>, _: &Vec<TagChoice>, _: &R) {
        *stored = TagChoice::distinct(self.into_vec());
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for TagChoices {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, SchemaType, Type};
        let checked = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::Boolean, Type::Null]));
        let choice = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("name", Line::schema())
            .property("checked", checked)
            .required("name");
        ArrayBuilder::new()
            .items(OneOfBuilder::new().item(Line::schema()).item(choice))
            .max_items(Some(forecourt_kernel::bounds::MAX_ITEMS))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for TagChoices {}

/// A tag of a record: the choice, with the colour and type that the business's taxonomy has now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppliedTag<'a> {
    /// The tag's name.
    pub name: &'a str,
    /// True if it is ticked.
    pub checked: bool,
    /// A CSS colour; empty if the taxonomy no longer has the tag.
    pub colour: &'a str,
    /// The tag's type; empty if it has none.
    #[serde(rename = "type")]
    pub kind: &'a str,
}

/// A tag of the business's taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tag))]
pub struct TagView<'a> {
    /// Its name.
    pub name: &'a str,
    /// A CSS colour.
    pub colour: &'a str,
    /// For vehicles the stock type's key; empty if it has none.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// True if a new record starts with it.
    pub defaulted: bool,
}

impl<'a> From<&'a Tag> for TagView<'a> {
    fn from(tag: &'a Tag) -> Self {
        let Tag {
            resource: _,
            name,
            colour,
            kind,
            defaulted,
        } = tag;
        Self {
            name,
            colour,
            kind,
            defaulted: *defaulted,
        }
    }
}

/// The tags of a record, and the tags that are available to it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordTags<'a> {
    /// Applied tags.
    pub applied: Vec<AppliedTag<'a>>,
    /// The business's tags for such records.
    pub available: Vec<TagView<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_choices_of_a_tag_the_last_counts() {
        let choice = |name: &str, checked| TagChoice {
            name: name.into(),
            checked,
        };
        let choices = vec![choice("Hot", true), choice("Cold", true), choice("Hot", false)];
        assert_eq!(
            TagChoice::distinct(choices),
            [choice("Hot", false), choice("Cold", true)]
        );
    }
}
