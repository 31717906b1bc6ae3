//! Feeds of appointments: `GET /calendars/<token>.ics`, without a credential, since their addresses cannot be guessed.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
};
use forecourt_accounts::authorize_account;
use forecourt_appointments::{self as appointments, CALENDAR_MEDIA_TYPE, FeedToken};
use sha2::{Digest as _, Sha256};

use crate::{
    areas::host_of, code::Code, conditional::EntityTags, error::ApiError, extraction::in_hexadecimal, worker::Worker,
};

/// The path below which feeds are served.
pub(crate) const FOLDER: &str = "/calendars";

/// Calendars may keep a feed for five minutes; no one else may.
const CACHING: HeaderValue = HeaderValue::from_static("private, max-age=300");

/// Returns the address of the feed with this token.
pub(crate) fn address(public_url: &str, token: &str) -> String {
    format!("{}{FOLDER}/{token}.ics", public_url.trim_end_matches('/'))
}

fn nothing() -> ApiError {
    ApiError::new(Code::ROUTE_NOT_FOUND, "there is no such calendar")
}

/// Answers a request for a feed.
///
/// # Errors
/// 404 if there is none with this address, or its business may not use its account.
pub(crate) async fn serve(request: &HttpRequest, worker: &Worker) -> Result<HttpResponse, ApiError> {
    let path = request.path().strip_prefix(FOLDER).unwrap_or_default();
    let token = path.strip_prefix('/').and_then(|name| name.strip_suffix(".ics"));
    let digest = token.and_then(FeedToken::digest_of).ok_or_else(nothing)?;
    let found = worker.database.read().await?.feed_of_token(&digest).await?;
    let (business, feed) = found.ok_or_else(nothing)?;
    let mut session = worker.database.read_for(Some(business)).await?;
    let business = session.business(business).await?.ok_or_else(nothing)?;
    // An account that may not use the API publishes nothing either.
    authorize_account(&business).map_err(|_| nothing())?;
    let host = host_of(&worker.shared.public_url);
    let now = worker.shared.clock.now();
    let calendar = appointments::write_feed(session.as_mut(), now, &business, host, &feed).await?;
    drop(session);
    let digest = Sha256::digest(calendar.as_bytes());
    let tag = format!("\"{}\"", in_hexadecimal(&digest[..16]));
    let mut response = if EntityTags::if_none_match(request.headers()).contain(&tag) {
        HttpResponse::NotModified().finish()
    } else {
        HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, CALENDAR_MEDIA_TYPE))
            .body(calendar)
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, CACHING);
    headers.insert(
        header::HeaderName::from_static("x-robots-tag"),
        HeaderValue::from_static("noindex"),
    );
    Ok(response)
}
