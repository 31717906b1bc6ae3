//! Filters that lists share.

use crate::{
    bounds::{MAX_LINE_CHARS, MAX_PATTERN_CHARS, MAX_PATTERN_WILDCARDS},
    fold_email,
};

/// Folds `text` for comparisons that ignore case.
pub fn fold(text: &str) -> String {
    text.to_lowercase()
}

/// A range with inclusive bounds, either of which may be open (contract, "Common rules" 6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range<T> {
    /// The lower bound; `None` if open.
    pub from: Option<T>,
    /// The upper bound; `None` if open.
    pub to: Option<T>,
}

impl<T: Copy> Range<T> {
    /// The range of this one value.
    pub const fn exactly(value: T) -> Self {
        Self {
            from: Some(value),
            to: Some(value),
        }
    }
}

impl<T: PartialOrd> Range<T> {
    /// Returns `true` if `value` lies in the range, including its ends.
    pub fn contains(&self, value: &T) -> bool {
        self.from.as_ref().is_none_or(|from| from <= value) && self.to.as_ref().is_none_or(|to| value <= to)
    }
}

/// A filter on text that may hold wildcards (contract, "Common rules" 7).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TextFilter {
    /// The whole text, compared without regard to case; held folded.
    Exact(String),
    /// A pattern in which `%` stands for any run of characters and every other character for itself; held folded.
    Wildcard(String),
}

impl TextFilter {
    /// The minimum number of characters in a pattern, not counting `%`.
    pub const MIN_PATTERN_CHARS: usize = 3;

    /// Returns `true` if `text` is a wildcard search, which needs the scope `search:wildcard`.
    pub fn is_wildcard(text: &str) -> bool {
        text.contains('%')
    }

    /// Reads a filter as a caller wrote it.
    ///
    /// # Errors
    /// [`InvalidFilter`] if the filter is too long or has too many `%`, or has a `%` and fewer than three other characters.
    pub fn parse(text: &str) -> Result<Self, InvalidFilter> {
        let (characters, wildcards) = (text.chars().count(), text.matches('%').count());
        if wildcards == 0 {
            return if characters > MAX_LINE_CHARS {
                Err(InvalidFilter::TooLong(MAX_LINE_CHARS))
            } else {
                Ok(Self::Exact(fold(text)))
            };
        }
        if characters > MAX_PATTERN_CHARS {
            return Err(InvalidFilter::TooLong(MAX_PATTERN_CHARS));
        }
        if wildcards > MAX_PATTERN_WILDCARDS {
            return Err(InvalidFilter::TooManyWildcards);
        }
        if characters - wildcards < Self::MIN_PATTERN_CHARS {
            return Err(InvalidFilter::TooShort);
        }
        Ok(Self::Wildcard(fold(text)))
    }

    /// Converts the filter to one for email addresses, which are compared in the form of [`fold_email`].
    #[must_use]
    pub fn for_email(self) -> Self {
        match self {
            Self::Exact(text) => Self::Exact(fold_email(&text)),
            pattern @ Self::Wildcard(_) => pattern,
        }
    }

    /// Returns `true` if `text` passes the filter.
    pub fn matches(&self, text: &str) -> bool {
        let text = fold(text);
        match self {
            Self::Exact(wanted) => text == *wanted,
            Self::Wildcard(pattern) => {
                let mut pieces = pattern.split('%');
                let first = pieces.next().unwrap_or_default();
                let Some(mut rest) = text.strip_prefix(first) else {
                    return false;
                };
                let Some(last) = pieces.next_back() else {
                    return rest.is_empty();
                };
                for piece in pieces {
                    match rest.find(piece) {
                        Some(at) => rest = &rest[at + piece.len()..],
                        None => return false,
                    }
                }
                rest.ends_with(last)
            }
        }
    }
}

/// The reason for refusing a filter on text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidFilter {
    /// It has more characters than this.
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// It has more wildcards than a search accepts.
    #[error("must have at most {MAX_PATTERN_WILDCARDS} %")]
    TooManyWildcards,
    /// It has a wildcard and too few other characters.
    #[error("needs at least {} characters besides %", TextFilter::MIN_PATTERN_CHARS)]
    TooShort,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_ends_and_may_be_open() {
        let of = |from, to| Range { from, to };
        let found = |range: Range<i64>| (1..=5).filter(|value| range.contains(value)).collect::<Vec<_>>();
        assert_eq!(found(of(Some(2), Some(4))), [2, 3, 4]);
        assert_eq!(found(of(None, Some(2))), [1, 2]);
        assert_eq!(found(of(Some(4), None)), [4, 5]);
        assert_eq!(found(Range::exactly(3)), [3]);
        assert_eq!(found(of(Some(4), Some(2))), [0; 0]);
    }

    #[test]
    fn a_pattern_needs_three_characters() {
        assert_eq!(TextFilter::parse("%ab%"), Err(InvalidFilter::TooShort));
        assert_eq!(TextFilter::parse("%"), Err(InvalidFilter::TooShort));
        assert_eq!(TextFilter::parse("a%b%C"), Ok(TextFilter::Wildcard("a%b%c".into())));
        assert_eq!(TextFilter::parse("É"), Ok(TextFilter::Exact("é".into())));
    }

    #[test]
    fn a_filter_is_bounded_in_characters_and_wildcards() {
        let parse = |text: String| TextFilter::parse(&text).map(|_| ());
        assert_eq!(parse("é".repeat(255)), Ok(()));
        assert_eq!(parse("é".repeat(256)), Err(InvalidFilter::TooLong(255)));
        assert_eq!(parse(format!("%{}", "é".repeat(99))), Ok(()));
        assert_eq!(parse(format!("%{}", "é".repeat(100))), Err(InvalidFilter::TooLong(100)));
        assert_eq!(parse("%a%b%c%".into()), Ok(()));
        assert_eq!(parse("%a%b%c%%".into()), Err(InvalidFilter::TooManyWildcards));
    }

    #[test]
    fn a_pattern_matches_as_like_does() {
        let matches = |pattern: &str, text: &str| TextFilter::parse(pattern).unwrap().matches(text);
        assert!(matches("%EXAMPLE.com", "ann@example.com"));
        assert!(matches("ann%com", "ann@example.com"));
        assert!(matches("a%n@%ple%", "ann@example.com"));
        assert!(!matches("ann%org", "ann@example.com"));
        assert!(!matches("a_n%com", "ann@example.com"));
        assert!(!matches("abc%abc", "abc"), "the pieces may not overlap");
        assert!(matches("ann", "ANN") && !matches("ann", "anne"));
    }
}
