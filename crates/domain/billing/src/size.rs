//! The bound on documents (areas §10.1).

use forecourt_kernel::ValidationErrors;
use serde_json::Value;

/// The maximum size of a document as it is shown in full, in bytes.
const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// Checks that a document is not too large as it is shown in full. `kind` names it, with its article.
///
/// # Errors
/// The fault of `body`.
pub fn validate_shown_size(kind: &str, shown: &Value) -> Result<(), ValidationErrors> {
    if shown.to_string().len() > MAX_SHOWN_BYTES {
        let message = format!("is too large: {kind} may have at most {MAX_SHOWN_BYTES} bytes");
        return Err(ValidationErrors::one("body", message));
    }
    Ok(())
}
