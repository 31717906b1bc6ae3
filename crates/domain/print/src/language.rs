//! Languages that documents are printed in.

use crate::texts::{DE, EN, FR, Texts};

/// The language of a document.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// German.
    De,
    /// French.
    Fr,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 3] = [Self::En, Self::De, Self::Fr];

    /// Returns the language of a tag such as `de`, `DE` or `de-AT`. Any other language is printed in English.
    ///
    /// ```
    /// use forecourt_print::Language;
    ///
    /// assert_eq!(Language::of("de-AT"), Language::De);
    /// assert_eq!(Language::of("pt"), Language::En);
    /// ```
    pub fn of(tag: &str) -> Self {
        let primary = tag.split(['-', '_']).next().unwrap_or_default().trim();
        let mut all = Self::ALL.into_iter();
        all.find(|language| language.code().eq_ignore_ascii_case(primary))
            .unwrap_or_default()
    }

    /// Returns the code of ISO 639-1.
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Fr => "fr",
        }
    }

    /// Returns the number of a page and of all pages, such as `Page 1 of 3`.
    pub fn page_number(self, page: usize, pages: usize) -> String {
        let Texts { page: word, of, .. } = self.texts();
        format!("{word} {page} {of} {pages}")
    }

    pub(crate) const fn texts(self) -> &'static Texts {
        match self {
            Self::En => &EN,
            Self::De => &DE,
            Self::Fr => &FR,
        }
    }
}
