//! Where in a TOML text a fault is.

/// The line, counted from 1, at which `text` turned out to be faulty.
pub(crate) fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    before.matches('\n').count() + 1
}
