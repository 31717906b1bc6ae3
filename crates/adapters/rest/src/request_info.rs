//! The facts of a request that are collected while it is served, and its line in the log.

use std::time::{Duration, Instant};

use actix_web::{
    HttpRequest,
    http::{StatusCode, header::HeaderValue},
};
use forecourt_accounts::RateLimitStatus;

use crate::address::Client;

/// Facts that are collected while a request is served, for the headers of its answer and its log line.
#[derive(Default)]
pub(crate) struct RequestInfo {
    pub(crate) route: Option<String>,
    /// The ids in the path.
    pub(crate) record: Option<String>,
    /// The code of a refusal.
    pub(crate) code: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) business: Option<i64>,
    pub(crate) rate_limit: Option<RateLimitStatus>,
    pub(crate) allow: Option<String>,
    pub(crate) strict: bool,
    pub(crate) retry_after: Option<i64>,
    pub(crate) location: Option<String>,
    /// True if the operation offers another media type beside JSON.
    pub(crate) is_negotiated: bool,
}

/// Returns the ids among the values of a path's parameters. Any other value may be personal data.
pub(crate) fn record_of(path: &[String]) -> Option<String> {
    let ids = path.iter().filter(|value| value.parse::<i64>().is_ok());
    ids.map(String::clone).reduce(|ids, id| format!("{ids}/{id}"))
}

/// Writes one line per request. It has no query and no header, since they may hold personal data and secrets.
pub(crate) fn log(
    request: &HttpRequest,
    info: &RequestInfo,
    client: Option<Client>,
    status: StatusCode,
    started: Instant,
    id: &HeaderValue,
) {
    tracing::info!(
        target: "forecourt::request",
        method = request.method().as_str(),
        route = info.route.as_deref().unwrap_or("-"),
        record = info.record.as_deref(),
        status = status.as_u16(),
        code = info.code.as_deref(),
        milliseconds = milliseconds(started.elapsed()),
        address = client.map(|client| tracing::field::display(client.address())),
        business = info.business,
        key = info.key.as_deref(),
        request = id.to_str().unwrap_or("-"),
        "request",
    );
}

/// Formats a duration for the log, to the microsecond.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
