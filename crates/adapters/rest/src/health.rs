//! The readiness check of the server.

use actix_web::HttpResponse;
use bytes::Bytes;

use crate::{
    page::{json, refused},
    worker::Worker,
};

/// Returns 200 if the database would accept a write, else 503.
pub(crate) async fn readiness(worker: &Worker) -> HttpResponse {
    match worker.database.ping().await {
        Ok(()) => json(Bytes::from_static(br#"{"status":"ready"}"#)),
        Err(error) => {
            let mut response = refused(error.into(), &worker.shared.help);
            let seconds = actix_web::http::header::HeaderValue::from_static("1");
            response
                .headers_mut()
                .insert(actix_web::http::header::RETRY_AFTER, seconds);
            response
        }
    }
}
