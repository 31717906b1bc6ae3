//! Filters that lists share.

/// Text as it is compared: without regard to case.
pub fn fold(text: &str) -> String {
    text.to_lowercase()
}

/// A range with inclusive bounds, either of them open (contract, "Common rules" 6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range<T> {
    /// The least value wanted; `None` is open.
    pub from: Option<T>,
    /// The greatest value wanted; `None` is open.
    pub to: Option<T>,
}

impl<T: Copy> Range<T> {
    /// Just this value.
    pub const fn exactly(value: T) -> Self {
        Self {
            from: Some(value),
            to: Some(value),
        }
    }
}

/// A filter on text that may hold wildcards (contract, "Common rules" 7).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TextFilter {
    /// The whole text, compared without regard to case; held folded.
    Exact(String),
    /// A pattern in which `%` stands for any run of characters and all else for itself; held folded.
    Wildcard(String),
}

impl TextFilter {
    /// The fewest characters besides `%` that a pattern needs.
    pub const MIN_PATTERN_CHARS: usize = 3;

    /// Whether `text` asks for a wildcard search, which needs the scope `search:wildcard`.
    pub fn is_wildcard(text: &str) -> bool {
        text.contains('%')
    }

    /// Reads a filter as a caller wrote it.
    ///
    /// # Errors
    /// [`TooShortPattern`] if it has a `%` and fewer than three other characters.
    pub fn parse(text: &str) -> Result<Self, TooShortPattern> {
        if !Self::is_wildcard(text) {
            return Ok(Self::Exact(fold(text)));
        }
        if text.chars().filter(|&character| character != '%').count() < Self::MIN_PATTERN_CHARS {
            return Err(TooShortPattern);
        }
        Ok(Self::Wildcard(fold(text)))
    }

    /// Whether `text` passes.
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

/// A wildcard pattern has too few characters to search by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("needs at least 3 characters besides %")]
pub struct TooShortPattern;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_needs_three_characters() {
        assert_eq!(TextFilter::parse("%ab%"), Err(TooShortPattern));
        assert_eq!(TextFilter::parse("%"), Err(TooShortPattern));
        assert_eq!(TextFilter::parse("a%b%C"), Ok(TextFilter::Wildcard("a%b%c".into())));
        assert_eq!(TextFilter::parse("É"), Ok(TextFilter::Exact("é".into())));
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
