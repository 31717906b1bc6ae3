//! Schemas of what callers send, whose bounds are those of the types that read it.

use forecourt_kernel::{
    Cursor,
    bounds::{MAX_FIELDS_BYTES, MAX_ITEMS, MAX_LINE_CHARS},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{AnyOfBuilder, ArrayBuilder, ArrayItems, ObjectBuilder, Schema, Type},
    },
};

/// A line of text.
pub(crate) fn line() -> ObjectBuilder {
    text(MAX_LINE_CHARS)
}

/// Text of at most so many characters.
pub(crate) fn text(most: usize) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).max_length(Some(most))
}

/// At most as many elements as an array in a body may have.
pub(crate) fn array(items: impl Into<ArrayItems>) -> ArrayBuilder {
    ArrayBuilder::new().items(items).max_items(Some(MAX_ITEMS))
}

/// The two bounds of a range, of which an empty one is open.
pub(crate) fn range(bound: Type) -> ArrayBuilder {
    let open = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([""]));
    let bound = ObjectBuilder::new().schema_type(bound);
    ArrayBuilder::new()
        .items(AnyOfBuilder::new().item(bound).item(open))
        .min_items(Some(1))
        .max_items(Some(2))
}

/// Types that stand for parameters whose text has a bound of its own.
macro_rules! parameters {
    ($($(#[$doc:meta])+ $name:ident = $schema:expr;)+) => {$(
        $(#[$doc])+
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

parameters! {
    /// The parameter `view`.
    ViewParameter = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["simple", "full"]));
    /// The parameter `fields`.
    Fields = text(MAX_FIELDS_BYTES);
    /// A range of moments, as `created[]` gives it.
    MomentRange = range(Type::Integer);
    /// A range of whole numbers, as `year[]` gives it.
    NumberRange = range(Type::Integer);
    /// A range of amounts of money, as `price[]` gives it.
    MoneyRange = range(Type::Number);
    /// The parameter `cursor`.
    CursorParameter = text(Cursor::MAX_BYTES);
}
