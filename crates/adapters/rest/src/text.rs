//! Text that callers send.

/// The text, unless it has the one character that not every database can hold, or takes in a comparison.
pub(crate) fn without_nul(text: &str) -> Result<&str, &'static str> {
    if text.contains('\0') {
        Err("must not contain the character NUL")
    } else {
        Ok(text)
    }
}
