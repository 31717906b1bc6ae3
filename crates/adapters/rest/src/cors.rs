//! Cross-origin requests of browsers (the Fetch standard's CORS protocol), allowed for the origins that the operator names.
//!
//! Credentials mode is never allowed: a page sends its key in the header `Authorization`, so there is nothing that a browser
//! would add by itself.

use actix_web::{
    HttpRequest,
    http::{
        Method,
        header::{self, HeaderMap, HeaderValue},
    },
};

/// The origins whose pages may read answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CorsOrigins {
    /// All origins.
    Any,
    /// These origins, as browsers write them: `https://shop.example`. None by default.
    These(Vec<String>),
}

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, if-match, if-none-match, prefer, x-request-id",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ETag, Location, Retry-After, \
     X-Idempotent-Replay, Preference-Applied",
);
const ANY: HeaderValue = HeaderValue::from_static("*");
/// The time in seconds for which a browser may cache a preflight's answer: the longest that any browser supports.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

impl CorsOrigins {
    /// Returns true if no origin is allowed.
    const fn is_off(&self) -> bool {
        matches!(self, Self::These(origins) if origins.is_empty())
    }

    /// Returns the value of the header `Access-Control-Allow-Origin` for the page that sent a request.
    fn allowed(&self, request: &HeaderMap) -> Option<HeaderValue> {
        let origin = request.get(header::ORIGIN)?;
        match self {
            Self::Any => Some(ANY),
            Self::These(origins) => origins
                .iter()
                .any(|known| known.as_bytes() == origin.as_bytes())
                .then(|| origin.clone()),
        }
    }

    /// Returns true for a preflight request of a browser on behalf of a page of an allowed origin.
    pub(crate) fn is_preflight(&self, request: &HttpRequest) -> bool {
        !self.is_off()
            && request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
            && self.allowed(request.headers()).is_some()
    }

    /// Sets the headers that answer a preflight, beside those of every answer. All methods are allowed here; the request itself
    /// learns which of them its path has, from an answer that its page can read.
    pub(crate) fn answer_preflight(request: &HeaderMap, response: &mut HeaderMap) {
        let headers = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        response.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
        response.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, headers.unwrap_or(ALLOWED_HEADERS));
        response.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }

    /// Sets the headers that show the browser whether the page that sent a request may read its answer.
    pub(crate) fn mark(&self, request: &HeaderMap, response: &mut HeaderMap) {
        if self.is_off() {
            return;
        }
        if let Some(origin) = self.allowed(request) {
            response.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            response.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
        vary_by(response, "Origin");
    }
}

/// Adds a header of the request on which the answer depends to `Vary`, in one line with the others.
pub(crate) fn vary_by(response: &mut HeaderMap, name: &str) {
    let known: Vec<_> = response
        .get_all(header::VARY)
        .filter_map(|line| line.to_str().ok())
        .map(str::to_owned)
        .collect();
    let names = known.iter().flat_map(|line| line.split(','));
    if names.map(str::trim).any(|known| known.eq_ignore_ascii_case(name)) {
        return;
    }
    let line = known
        .iter()
        .map(String::as_str)
        .chain([name])
        .collect::<Vec<_>>()
        .join(", ");
    if let Ok(line) = HeaderValue::try_from(line) {
        response.insert(header::VARY, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_varies_by_each_header_once() {
        let mut response = HeaderMap::new();
        vary_by(&mut response, "Accept-Encoding");
        vary_by(&mut response, "Origin");
        vary_by(&mut response, "Origin");
        let lines: Vec<_> = response.get_all(header::VARY).collect();
        assert_eq!(lines, ["Accept-Encoding, Origin"]);
    }

    #[test]
    fn origins_are_compared_exactly() {
        let shop = CorsOrigins::These(vec!["https://shop.example".to_owned()]);
        for (origin, allowed) in [
            ("https://shop.example", true),
            ("https://shop.example:8443", false),
            ("https://shop.example.evil.example", false),
            ("http://shop.example", false),
            ("null", false),
        ] {
            let mut request = HeaderMap::new();
            request.insert(header::ORIGIN, HeaderValue::from_static(origin));
            assert_eq!(shop.allowed(&request).is_some(), allowed, "{origin}");
            assert_eq!(CorsOrigins::Any.allowed(&request), Some(ANY));
        }
        assert_eq!(CorsOrigins::Any.allowed(&HeaderMap::new()), None);
    }
}
