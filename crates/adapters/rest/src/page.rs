//! Responses of pages that are not operations.

use actix_web::{HttpResponse, http::header};
use bytes::Bytes;

use crate::{error::ApiError, help::HelpPages, reply::Reply};

/// Returns JSON that must not be cached.
pub(crate) fn json(body: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}

/// Returns an error.
pub(crate) fn refused(error: ApiError, help: &HelpPages) -> HttpResponse {
    let Reply { status, body, .. } = Reply::refusal(error, help);
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}
