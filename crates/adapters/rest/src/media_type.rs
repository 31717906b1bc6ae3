//! Media types of bodies, as `Content-Type` has them.

use actix_web::http::header::HeaderValue;

/// Returns true for JSON, or a format that is based on it.
pub(crate) fn is_json(content_type: &HeaderValue) -> bool {
    let essence = essence(content_type);
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Returns true for XML.
pub(crate) fn is_xml(content_type: &HeaderValue) -> bool {
    matches!(essence(content_type).as_str(), "application/xml" | "text/xml")
}

/// Returns true for a form that may hold files.
pub(crate) fn is_form(content_type: &HeaderValue) -> bool {
    essence(content_type) == "multipart/form-data"
}

/// Returns the media type without its parameters.
fn essence(content_type: &HeaderValue) -> String {
    let text = content_type.to_str().unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
