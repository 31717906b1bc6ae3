//! Checks on text from callers.

/// Returns the text, unless it has a NUL, which not every database can store or accept in a comparison.
pub(crate) fn without_nul(text: &str) -> Result<&str, &'static str> {
    if text.contains('\0') {
        Err("must not contain the character NUL")
    } else {
        Ok(text)
    }
}
