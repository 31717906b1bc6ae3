//! Media types of bodies, as `Content-Type` has them.

use actix_web::{
    HttpRequest,
    http::header::{Accept, Header as _, HeaderValue, Quality},
};

/// The type of printed documents.
pub(crate) const PDF: &str = "application/pdf";

/// Returns true if the caller prefers the type `offered` to JSON (RFC 9110, section 12.5.1). A caller that accepts both alike
/// gets JSON, unless it names only the other by its full name.
pub(crate) fn is_preferred_to_json(request: &HttpRequest, offered: &str) -> bool {
    let Ok(Accept(accepted)) = Accept::parse(request) else {
        return false;
    };
    let wanted = |media_type: &str| {
        let (kind, subtype) = media_type.split_once('/').unwrap_or_default();
        // The most specific range that a type is in has its quality.
        let ranges = accepted.iter().filter_map(|range| {
            let specific = match (range.item.type_().as_str(), range.item.subtype().as_str()) {
                ("*", "*") => 0,
                (known, "*") if known == kind => 1,
                (known, other) if known == kind && other == subtype => 2,
                _ => return None,
            };
            Some((specific, range.quality))
        });
        ranges
            .max()
            .map_or((Quality::ZERO, 0), |(specific, quality)| (quality, specific))
    };
    let (offered, json) = (wanted(offered), wanted("application/json"));
    let is_named_alone = offered.1 == 2 && json.1 < 2;
    offered.0 > json.0 || offered.0 == json.0 && offered.0 > Quality::ZERO && is_named_alone
}

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

#[cfg(test)]
mod tests {
    use actix_web::{http::header, test::TestRequest};

    use super::*;

    #[test]
    fn the_type_that_is_liked_best_is_sent() {
        for (accepted, is_preferred) in [
            ("", false),
            ("*/*", false),
            ("application/*", false),
            ("application/json", false),
            ("text/html, */*;q=0.8", false),
            ("application/pdf", true),
            ("Application/PDF", true),
            ("application/pdf;q=0.1", true),
            ("application/pdf;q=0", false),
            ("application/pdf, */*", true),
            ("application/pdf, application/json", false),
            ("application/json;q=0.5, application/pdf", true),
            ("application/json, application/pdf;q=0.5", false),
            ("application/*, application/json;q=0.5", true),
            ("*/*, application/pdf;q=0.5", false),
            ("application/pdf;q=0, */*", false),
            ("nonsense, application/pdf", true),
            ("nonsense", false),
        ] {
            let request = TestRequest::get()
                .insert_header((header::ACCEPT, accepted))
                .to_http_request();
            assert_eq!(is_preferred_to_json(&request, PDF), is_preferred, "{accepted}");
        }
        assert!(!is_preferred_to_json(&TestRequest::get().to_http_request(), PDF));
        let lines = TestRequest::get()
            .append_header((header::ACCEPT, "application/json;q=0.5"))
            .append_header((header::ACCEPT, "application/pdf"));
        assert!(is_preferred_to_json(&lines.to_http_request(), PDF));
    }
}
