//! Schemas of what callers send, whose bounds are those of the types that read it.

use forecourt_kernel::{
    Cursor,
    bounds::{MAX_FIELDS_BYTES, MAX_ITEMS, MAX_LINE_CHARS},
};
use utoipa::openapi::schema::{ArrayBuilder, ArrayItems, ObjectBuilder, SchemaType, Type};

/// A line of text.
pub(crate) fn line() -> ObjectBuilder {
    text(MAX_LINE_CHARS)
}

/// Text of at most so many characters.
pub(crate) fn text(most: usize) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).max_length(Some(most))
}

/// A line of text, or null.
pub(crate) fn nullable_line() -> ObjectBuilder {
    line().schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

/// One of these words.
pub(crate) fn one_of<const N: usize>(words: [&'static str; N]) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}

/// At most as many elements as an array in a body may have.
pub(crate) fn array(items: impl Into<ArrayItems>) -> ArrayBuilder {
    ArrayBuilder::new().items(items).max_items(Some(MAX_ITEMS))
}

/// The parameter `view`.
pub(crate) fn view() -> ObjectBuilder {
    one_of(["simple", "full"])
}

/// The parameter `fields`.
pub(crate) fn fields() -> ObjectBuilder {
    text(MAX_FIELDS_BYTES)
}

/// The parameter `cursor`.
pub(crate) fn cursor() -> ObjectBuilder {
    text(Cursor::MAX_BYTES)
}
