//! Limits on the data that one caller may send or keep, in bytes, characters, elements and depth (decisions §3, "Bounds").
//!
//! The bounds are constants, and the types that hold a caller's input, [`BoundedText`] and [`BoundedList`], cannot exceed them.
//! The OpenAPI document and the table in `docs/security.md` are generated from the same constants.

use std::{fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize};

/// A bound as the documentation lists it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The subject of the bound.
    pub what: &'static str,
    /// The greatest value that is accepted.
    pub limit: usize,
    /// The unit of the limit.
    pub unit: &'static str,
}

macro_rules! bounds {
    ($($(#[$doc:meta])+ $name:ident = $limit:expr, $unit:literal, $what:literal;)+) => {
        $($(#[$doc])+ pub const $name: usize = $limit;)+

        /// Every bound, in the order of the documentation.
        pub const BOUNDS: &[Bound] = &[$(Bound { what: $what, limit: $name, unit: $unit },)+];
    };
}

bounds! {
    /// Bytes of a request target: path and query. A longer one is answered 414.
    MAX_TARGET_BYTES = 16 * 1024, "bytes", "request target (path and query)";
    /// Bytes of all header fields of a request together. More are answered 431.
    MAX_HEADER_BYTES = 32 * 1024, "bytes", "header fields of a request together";
    /// Bytes of a JSON body.
    MAX_BODY_BYTES = 1024 * 1024, "bytes", "JSON body";
    /// Nesting depth of objects and arrays in a JSON body, counting the outermost.
    MAX_BODY_DEPTH = 32, "levels", "nesting of a JSON body";
    /// Values in a JSON body: every member, element, object and array. No body within the other bounds has as many. The bound
    /// exists because a value takes many times the memory of its text.
    MAX_BODY_VALUES = 80_000, "values", "JSON body";
    /// Bytes of the parameter `fields`.
    MAX_FIELDS_BYTES = 2 * 1024, "bytes", "`fields`";
    /// Paths of the parameter `fields`.
    MAX_FIELDS_PATHS = 100, "paths", "`fields`";
    /// Parts of one path of the parameter `fields`.
    MAX_FIELDS_DEPTH = 8, "parts", "one path of `fields`";
    /// Characters of a filter with wildcards.
    MAX_PATTERN_CHARS = 100, "characters", "filter with `%`";
    /// Wildcards of a filter.
    MAX_PATTERN_WILDCARDS = 4, "`%`", "filter with `%`";
    /// Characters of a line of text: a name, a company, a reference, a make, an address line, a subject.
    MAX_LINE_CHARS = 255, "characters", "line of text";
    /// Characters of a URL.
    MAX_URL_CHARS = 2048, "characters", "URL";
    /// Characters of a longer text: a note, a description, an advert, a review, a message body.
    MAX_TEXT_CHARS = 20_000, "characters", "longer text";
    /// Characters of a blog article's content.
    MAX_ARTICLE_CHARS = 200_000, "characters", "content of a blog article";
    /// Characters of the place where a review was written.
    MAX_REVIEW_SOURCE_CHARS = 32, "characters", "source of a review";
    /// Elements of an array in a body.
    MAX_ITEMS = 500, "elements", "array in a body";
    /// Bytes of a lead's `data` as JSON.
    MAX_LEAD_DATA_BYTES = 64 * 1024, "bytes", "data of a lead";
    /// Bytes of a vehicle's `data` as JSON.
    MAX_VEHICLE_DATA_BYTES = 128 * 1024, "bytes", "data of a vehicle";
    /// Bytes of a contact as JSON, without its notes.
    MAX_CONTACT_BYTES = 64 * 1024, "bytes", "contact without its notes";
    /// Faults that one answer lists.
    MAX_FAULTS = 100, "faults", "faults listed in one answer";
    /// Notes of one contact or lead.
    MAX_NOTES = 1000, "notes", "notes of a contact or lead";
    /// Bytes of an enquiry in the Auto-lead Data Format.
    MAX_ADF_BYTES = 256 * 1024, "bytes", "ADF document";
    /// Nesting depth of elements in an ADF document, counting the outermost.
    MAX_ADF_DEPTH = 32, "levels", "nesting of an ADF document";
    /// Elements of an ADF document.
    MAX_ADF_ELEMENTS = 5_000, "elements", "ADF document";
    /// Attributes of one element of an ADF document.
    MAX_ADF_ATTRIBUTES = 64, "attributes", "element of an ADF document";
    /// Namespace declarations of an ADF document.
    MAX_ADF_NAMESPACES = 16, "declarations", "namespaces of an ADF document";
    /// Parts of a form.
    MAX_FORM_PARTS = 100, "parts", "multipart form";
    /// Bytes of the name of a part of a form, and of its file name.
    MAX_FORM_NAME_BYTES = 255, "bytes", "name and file name of a part of a form";
    /// Bytes of the head of a part of a form.
    MAX_PART_HEAD_BYTES = 4 * 1024, "bytes", "head of a part of a form";
    /// Pixels of a WebP picture. The decoder needs much time and memory for each.
    MAX_WEBP_PIXELS = 8_000_000, "pixels", "WebP picture";
    /// Bytes of the file of a mail that is imported.
    MAX_MAIL_BYTES = 25 * 1024 * 1024, "bytes", "file of a mail that is imported";
    /// Parts of a mail that is imported, including parts that contain others.
    MAX_MAIL_PARTS = 500, "parts", "mail that is imported";
    /// Nesting depth of parts in a mail that is imported, counting the mail itself.
    MAX_MAIL_DEPTH = 8, "levels", "nesting of a mail that is imported";
    /// The newest notes that a record and its events show.
    MAX_NOTES_SHOWN = 50, "notes", "notes shown in a record and its events";
    /// Characters of the URL of a webhook.
    MAX_WEBHOOK_URL_CHARS = 512, "characters", "URL of a webhook";
    /// Characters of the description of a webhook.
    MAX_WEBHOOK_DESCRIPTION_CHARS = 128, "characters", "description of a webhook";
    /// Webhooks of one business.
    MAX_WEBHOOKS = 50, "webhooks", "webhooks of a business";
}

/// Text of at most `MAX` characters, without the character NUL, which not every database can hold.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct BoundedText<const MAX: usize>(String);

/// A line of text: a name, a company, a reference, an address line.
pub type Line = BoundedText<MAX_LINE_CHARS>;
/// A longer text: a note, a description, a message body.
pub type LongText = BoundedText<MAX_TEXT_CHARS>;
/// The text of a URL.
pub type UrlText = BoundedText<MAX_URL_CHARS>;

impl<const MAX: usize> BoundedText<MAX> {
    /// Takes `text` if it keeps within the bound.
    ///
    /// # Errors
    /// [`InvalidText`] if it is too long or contains NUL.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidText> {
        let text = text.into();
        Self::check(&text)?;
        Ok(Self(text))
    }

    /// Checks that `text` is within the bound.
    ///
    /// # Errors
    /// As [`BoundedText::new`].
    pub fn check(text: &str) -> Result<(), InvalidText> {
        // Each character has at least one byte, so most texts are never counted.
        if text.len() > MAX && text.chars().nth(MAX).is_some() {
            return Err(InvalidText::TooLong(MAX));
        }
        if text.contains('\0') {
            return Err(InvalidText::Nul);
        }
        Ok(())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MAX: usize> TryFrom<String> for BoundedText<MAX> {
    type Error = InvalidText;

    fn try_from(text: String) -> Result<Self, InvalidText> {
        Self::new(text)
    }
}

impl<const MAX: usize> From<BoundedText<MAX>> for String {
    fn from(text: BoundedText<MAX>) -> Self {
        text.0
    }
}

impl<const MAX: usize> Deref for BoundedText<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for BoundedText<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for BoundedText<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl<const MAX: usize> utoipa::PartialSchema for BoundedText<MAX> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .max_length(Some(MAX))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl<const MAX: usize> utoipa::ToSchema for BoundedText<MAX> {
    fn name() -> std::borrow::Cow<'static, str> {
        match MAX {
            MAX_LINE_CHARS => "Line".into(),
            MAX_URL_CHARS => "Url".into(),
            MAX_TEXT_CHARS => "LongText".into(),
            _ => format!("Text{MAX}").into(),
        }
    }
}

/// Returns `true` if `character` starts a new line where text is shown.
pub const fn is_line_break(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns `true` if `text` contains an ASCII line break, which names and subjects may not contain.
pub fn has_line_break(text: &str) -> bool {
    text.contains(|character| matches!(character, '\n'..='\r'))
}

/// The reason for refusing a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidText {
    /// It has more characters than this.
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// It has a character that not every database can hold.
    #[error("must not contain the character NUL")]
    Nul,
}

/// A list of at most `MAX` elements.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(transparent)]
pub struct BoundedList<T, const MAX: usize = MAX_ITEMS>(Vec<T>);

impl<T, const MAX: usize> BoundedList<T, MAX> {
    /// Takes `items` if they are not too many.
    ///
    /// # Errors
    /// [`TooManyItems`] if they are.
    pub fn new(items: Vec<T>) -> Result<Self, TooManyItems> {
        if items.len() > MAX {
            return Err(TooManyItems(MAX));
        }
        Ok(Self(items))
    }

    /// The elements, owned.
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const MAX: usize> Default for BoundedList<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> Deref for BoundedList<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> IntoIterator for BoundedList<T, MAX> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedList<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::PartialSchema, const MAX: usize> utoipa::PartialSchema for BoundedList<T, MAX> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ArrayBuilder::new()
            .items(T::schema())
            .max_items(Some(MAX))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::ToSchema, const MAX: usize> utoipa::ToSchema for BoundedList<T, MAX> {
    fn name() -> std::borrow::Cow<'static, str> {
        match MAX {
            MAX_ITEMS => format!("{}List", T::name()).into(),
            _ => format!("{}List{MAX}", T::name()).into(),
        }
    }
}

/// An array has too many elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must have at most {0} elements")]
pub struct TooManyItems(pub usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_in_characters() {
        assert!(BoundedText::<3>::new("ä€𝄞").is_ok());
        assert_eq!(BoundedText::<3>::new("abcd"), Err(InvalidText::TooLong(3)));
        assert_eq!(BoundedText::<3>::new("a\0"), Err(InvalidText::Nul));
        assert!(serde_json::from_str::<BoundedText<3>>(r#""abcd""#).is_err());
    }

    #[test]
    fn a_list_is_bounded_in_elements() {
        assert!(BoundedList::<_, 2>::new(vec![1, 2]).is_ok());
        assert_eq!(BoundedList::<_, 2>::new(vec![1, 2, 3]), Err(TooManyItems(2)));
        assert!(serde_json::from_str::<BoundedList<i64, 2>>("[1, 2, 3]").is_err());
    }
}
