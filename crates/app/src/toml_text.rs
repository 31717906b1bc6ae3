//! The place of a fault in a TOML text.

/// Returns the line of a fault in `text`, counted from 1.
pub(crate) fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    before.matches('\n').count() + 1
}
