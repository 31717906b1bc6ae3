//! The part of an article's address that identifies it among the business's articles.

use std::{fmt, ops::Deref};

use forecourt_kernel::{FromJson, InvalidValue, bounds::MAX_LINE_CHARS};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum length of a slug that is made from a title. It leaves room for a number after it.
const MAX_STEM_CHARS: usize = 200;

/// Words of lowercase letters and digits, joined by hyphens (contract, "Blog article"). Empty only in an article that has no slug
/// yet.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slug(String);

/// The text is not a slug.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be lowercase letters and digits with single hyphens between them, at most 255 characters")]
pub struct InvalidSlug;

impl Slug {
    /// Takes `text` if it is a slug.
    ///
    /// # Errors
    /// [`InvalidSlug`] if it is not.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidSlug> {
        let text = text.into();
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.len() <= MAX_LINE_CHARS && text.split('-').all(is_word) {
            Ok(Self(text))
        } else {
            Err(InvalidSlug)
        }
    }

    /// Makes a slug from a title in any script, in Latin letters; `None` if no letter can be transcribed.
    pub(crate) fn of_title(title: &str) -> Option<Self> {
        let whole = slug::slugify(title);
        let short = match whole.get(..MAX_STEM_CHARS) {
            // The slug ends with the last word that fits.
            Some(start) => start.rsplit_once('-').map_or(start, |(words, _)| words),
            None => whole.as_str(),
        };
        Self::new(short).ok()
    }

    /// Makes a slug from the number of an article, if nothing else can name it.
    pub(crate) fn of_number(number: i64) -> Self {
        Self(number.to_string())
    }

    /// Returns the slug with a number after it.
    pub(crate) fn numbered(&self, number: usize) -> Self {
        Self(format!("{}-{number}", self.0))
    }
}

impl Deref for Slug {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromJson for Slug {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match value {
            Value::String(text) => Self::new(text).map_err(|error| InvalidValue::here(error.to_string())),
            _ => Err(InvalidValue::here("must be a string")),
        }
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Slug {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{ObjectBuilder, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[a-z0-9]+(-[a-z0-9]+)*$"))
            .min_length(Some(1))
            .max_length(Some(MAX_LINE_CHARS))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Slug {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_words_between_hyphens() {
        for text in ["a", "7", "mot-checks-2026", &"a".repeat(255)] {
            assert_eq!(&*Slug::new(text).unwrap(), text);
        }
        for text in [
            "",
            "-",
            "a-",
            "-a",
            "a--b",
            "A",
            "a b",
            "a_b",
            "ä",
            "a/b",
            "a.b",
            &"a".repeat(256),
        ] {
            assert_eq!(Slug::new(text), Err(InvalidSlug), "{text:?}");
        }
    }

    #[test]
    fn titles_of_any_script_can_be_read() {
        for (title, slug) in [
            (
                "Five things to check  before an MOT!",
                "five-things-to-check-before-an-mot",
            ),
            ("Ärger mit Öl? Große Prüfung", "arger-mit-ol-grosse-prufung"),
            ("Новые автомобили", "novye-avtomobili"),
            ("Νέα αυτοκίνητα", "nea-autokineta"),
            ("上海车展", "shang-hai-che-zhan"),
            ("سيارات جديدة", "syrt-jdyd"),
        ] {
            assert_eq!(Slug::of_title(title).as_deref(), Some(slug), "{title}");
        }
        for title in ["?!", "---", " ", "\u{e000}\u{e001}"] {
            assert_eq!(Slug::of_title(title), None, "{title:?}");
        }
    }

    #[test]
    fn a_long_title_ends_with_a_whole_word() {
        let slug = Slug::of_title(&"seventeen words ".repeat(30)).unwrap();
        assert!(slug.len() <= MAX_STEM_CHARS && slug.ends_with("words") | slug.ends_with("seventeen"));
        assert_eq!(Slug::of_title(&"x".repeat(255)).unwrap().len(), MAX_STEM_CHARS);
        assert!(Slug::new(slug.numbered(usize::MAX).to_string()).is_ok());
    }
}
