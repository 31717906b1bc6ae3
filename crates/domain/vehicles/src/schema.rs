//! Schemas of declared fields, for an OpenAPI document.

use forecourt_kernel::bounds::{MAX_ITEMS, MAX_LINE_CHARS};
use serde_json::Value as Json;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayItems, Object, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Array, ArrayBuilder, KnownFormat, RefOr, SchemaFormat};

use crate::declare::{Access, FieldInfo, FieldValue, MAX_FIELD_NAME_BYTES};

/// The pattern of the part of a name after its declared prefix.
const FIELD_NAME: &str = "[a-z0-9_]+";

/// The direction in which a value is sent, and its extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// From the server, in the full view.
    Read,
    /// From the server, in the simple view.
    ReadSimple,
    /// From the server, in the advert.
    ReadAdvert,
    /// To the server, in a change.
    Write,
    /// To the server, in a creation.
    Create,
}

impl Side {
    /// Returns `true` if values are read from the server.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadSimple | Self::ReadAdvert)
    }

    /// Returns the side on which a field's own fields are described; `None` if the field is left out.
    fn onto(self, field: &FieldInfo) -> Option<Self> {
        use crate::declare::Part;
        if self == Self::ReadAdvert {
            return match field.advert {
                Part::None => None,
                Part::Some => Some(self),
                Part::Whole => Some(Self::Read),
            };
        }
        match (self, field.access, field.simple) {
            (Self::Read, access, _) if access != Access::WriteOnly => Some(self),
            (Self::ReadSimple, _, Part::Some) => Some(self),
            (Self::ReadSimple, _, Part::Whole) => Some(Self::Read),
            (Self::Write, Access::ReadWrite | Access::WriteOnly, _) => Some(self),
            (Self::Create, Access::ReadWrite | Access::WriteOnly | Access::OnCreate, _) => Some(self),
            _ => None,
        }
    }
}

/// Builds the schema of a group of fields.
pub(crate) struct Group {
    side: Side,
    object: ObjectBuilder,
    /// The pattern of each name.
    names: Vec<String>,
    is_open: bool,
}

impl Group {
    pub(crate) fn new(side: Side) -> Self {
        Self {
            side,
            object: ObjectBuilder::new().schema_type(Type::Object),
            names: Vec::new(),
            is_open: false,
        }
    }

    pub(crate) fn add(&mut self, field: &FieldInfo, schema: fn(Side) -> Schema) {
        let Some(side) = self.side.onto(field) else {
            return;
        };
        let mut schema = schema(side);
        self.names.push(field.name.replace('*', FIELD_NAME));
        if field.name.ends_with('*') {
            self.is_open = true;
            let object = std::mem::take(&mut self.object);
            self.object = object.additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(schema))));
            return;
        }
        let mut description = field.description.to_owned();
        if field.pricing && side.is_read() {
            description.push_str(" Requires the scope vehicle-pricing:read.");
        }
        describe(&mut schema, description);
        let mut object = std::mem::take(&mut self.object).property(field.name, schema);
        if side.is_read() && !field.pricing {
            object = object.required(field.name);
        }
        self.object = object;
    }

    pub(crate) fn build(self) -> Schema {
        // Unknown members are refused at any depth.
        let object = match (self.side.is_read(), self.is_open) {
            (true, _) => self.object,
            (false, true) => {
                let names = ObjectBuilder::new()
                    .schema_type(Type::String)
                    .max_length(Some(MAX_FIELD_NAME_BYTES))
                    .pattern(Some(format!("^({})$", self.names.join("|"))));
                self.object.property_names(Some(names))
            }
            (false, false) => self
                .object
                .additional_properties(Some(AdditionalProperties::FreeForm(false))),
        };
        Schema::Object(object.build())
    }
}

fn describe(schema: &mut Schema, description: String) {
    match schema {
        Schema::Object(object) => object.description = Some(description),
        Schema::Array(array) => array.description = Some(description),
        Schema::AnyOf(choice) => choice.description = Some(description),
        _ => {}
    }
}

/// Returns a schema of one JSON type, and null if `nullable`.
pub(crate) fn plain(kind: Type, nullable: bool) -> ObjectBuilder {
    let kind = if nullable {
        SchemaType::from_iter([kind, Type::Null])
    } else {
        SchemaType::new(kind)
    };
    ObjectBuilder::new().schema_type(kind)
}

/// Returns the schema of a text of at most `max_chars` characters on write, which null clears. A stored text may be longer.
pub(crate) fn text(side: Side, max_chars: usize) -> ObjectBuilder {
    let text = plain(Type::String, !side.is_read());
    if side.is_read() {
        text
    } else {
        text.max_length(Some(max_chars))
    }
}

/// Returns the schema of a line of text.
pub(crate) fn line(nullable: bool) -> ObjectBuilder {
    plain(Type::String, nullable).max_length(Some(MAX_LINE_CHARS))
}

/// Returns the schema of a calendar day.
pub(crate) fn day(nullable: bool) -> ObjectBuilder {
    plain(Type::String, nullable).format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
}

/// Returns the schema of one of these words.
pub(crate) fn words<'a>(words: impl IntoIterator<Item = &'a str>, nullable: bool) -> ObjectBuilder {
    let words = words.into_iter().map(Json::from);
    // An enum refuses what it does not name, even if the type allows it.
    let null = nullable.then_some(Json::Null);
    plain(Type::String, nullable).enum_values(Some(words.chain(null)))
}

/// Extends a schema of text by the empty text.
pub(crate) fn or_empty(schema: ObjectBuilder) -> Object {
    let mut schema = schema.build();
    schema.format = None;
    if let Some(words) = &mut schema.enum_values {
        words.insert(0, "".into());
    }
    if let Some(pattern) = &mut schema.pattern {
        *pattern = format!("^$|{pattern}");
    }
    schema
}

/// Returns the schema for writing a value of that schema: the empty text clears it, as null does.
pub(crate) fn or_cleared(schema: ObjectBuilder) -> Schema {
    let schema = schema.build();
    if schema.format.is_none() {
        return or_empty(ObjectBuilder::from(schema)).into();
    }
    // The format stays with the value, because client libraries have types for it.
    let empty = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([""]));
    AnyOfBuilder::new().item(schema).item(empty).build().into()
}

/// Returns the schema of an array of `items`, which null empties. On write its length is bounded.
pub(crate) fn array(items: Schema, side: Side) -> Array {
    let mut array = ArrayBuilder::new()
        .items(ArrayItems::RefOrSchema(Box::new(RefOr::T(items))))
        .build();
    if !side.is_read() {
        array.max_items = Some(MAX_ITEMS);
        array.schema_type = SchemaType::from_iter([Type::Array, Type::Null]);
    }
    array
}

/// Returns the schema of a group.
pub fn of<T: FieldValue>(side: Side) -> Schema {
    T::schema(side)
}

/// Returns the schema of an object with any members, which null empties.
pub(crate) fn any_object(side: Side) -> Object {
    plain(Type::Object, !side.is_read())
        .additional_properties(Some(AdditionalProperties::FreeForm(true)))
        .build()
}

/// Returns the schema for writing a vehicle's data. Null clears a field or a group in a section, but no whole section.
pub(crate) fn of_sent<T: FieldValue>(side: Side) -> Schema {
    let mut schema = serde_json::to_value(T::schema(side)).unwrap_or_default();
    let sections = schema.get_mut("properties").and_then(Json::as_object_mut);
    for (_, section) in sections.into_iter().flatten() {
        let_groups_be_null(section);
    }
    serde_json::from_value(schema).unwrap_or_default()
}

/// Returns the schema for writing groups in which unknown members are ignored. Null resets a field or a group.
pub(crate) fn of_merged<T: FieldValue>() -> Schema {
    let mut schema = serde_json::to_value(T::schema(Side::Write)).unwrap_or_default();
    let_groups_be_null(&mut schema);
    open(&mut schema);
    serde_json::from_value(schema).unwrap_or_default()
}

fn open(schema: &mut Json) {
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("additionalProperties");
    }
    let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
    for (_, property) in properties.into_iter().flatten() {
        open(property);
    }
}

fn let_groups_be_null(schema: &mut Json) {
    let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
    for (_, property) in properties.into_iter().flatten() {
        if property["type"] == "object" {
            property["type"] = serde_json::json!(["object", "null"]);
        }
        let_groups_be_null(property);
    }
}

/// Returns the schema of a group in an advert, in which an empty text is null.
pub(crate) fn of_advert<T: FieldValue>() -> Schema {
    let mut schema = serde_json::to_value(T::schema(Side::ReadAdvert)).unwrap_or_default();
    let_texts_be_null(&mut schema);
    serde_json::from_value(schema).unwrap_or_default()
}

fn let_texts_be_null(schema: &mut Json) {
    let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) else {
        return;
    };
    for property in properties.values_mut() {
        if property["type"] == "string" {
            property["type"] = serde_json::json!(["string", "null"]);
            if let Some(words) = property.get_mut("enum").and_then(Json::as_array_mut) {
                words.retain(|word| word != "");
                words.push(Json::Null);
            }
        }
        let_texts_be_null(property);
    }
}
