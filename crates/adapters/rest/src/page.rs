//! What pages that are no operations answer with.

use actix_web::{HttpResponse, http::header};
use bytes::Bytes;

use crate::{error::ApiError, help::HelpPages, reply::Reply};

/// JSON that is true for the moment.
pub(crate) fn json(body: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}

/// An error.
pub(crate) fn refused(error: ApiError, help: &HelpPages) -> HttpResponse {
    let Reply { status, body, .. } = Reply::refusal(error, help);
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}
