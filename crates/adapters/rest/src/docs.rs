//! Pages that need no credential and are no operations: the OpenAPI document, the documentation page, and health.

use std::sync::{Arc, OnceLock};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{self, HeaderValue},
    },
};
use bytes::Bytes;

use crate::{
    error::{ApiError, Code},
    health, openapi,
    operation::Router,
    pipeline::Worker,
    reply::Reply,
};

/// A public page.
pub(crate) struct Page {
    /// Where it is; for [`Content::Documentation`] also what lies below.
    pub(crate) path: &'static str,
    pub(crate) content: Content,
}

/// What a page shows.
pub(crate) enum Content {
    /// The OpenAPI document.
    OpenApi(Document),
    /// The interactive documentation with its files, all of them in the binary.
    Documentation(Arc<utoipa_swagger_ui::Config<'static>>),
    /// Whether the process lives.
    Health,
    /// Whether the process can do its work.
    Readiness,
}

/// The OpenAPI document, which is put together when somebody first asks for it.
pub(crate) struct Document {
    public_url: String,
    text: OnceLock<Bytes>,
}

impl Document {
    /// The document of a server that is reached at `public_url`.
    pub(crate) const fn new(public_url: String) -> Self {
        Self {
            public_url,
            text: OnceLock::new(),
        }
    }

    fn text(&self, router: &Router) -> serde_json::Result<Bytes> {
        if let Some(text) = self.text.get() {
            return Ok(text.clone());
        }
        let text = serde_json::to_vec(&openapi::document(router.operations(), &self.public_url))?;
        Ok(self.text.get_or_init(|| text.into()).clone())
    }
}

impl Page {
    /// Whether a request for `path` is for this page.
    pub(crate) fn serves(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(self.path) else {
            return false;
        };
        rest.is_empty() || (matches!(self.content, Content::Documentation(_)) && rest.starts_with('/'))
    }

    /// Answers a request for this page.
    pub(crate) async fn answer(&self, request: &HttpRequest, worker: &Worker) -> HttpResponse {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let message = "this path has no such method; see the header Allow";
            let mut response = refused(ApiError::new(Code::MethodNotAllowed, message));
            response
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match &self.content {
            Content::OpenApi(document) => match document.text(&worker.shared.router) {
                Ok(text) => json(text),
                Err(_) => refused(ApiError::new(Code::Internal, "an unexpected error occurred")),
            },
            Content::Documentation(config) => {
                documentation(config, request.path().strip_prefix(self.path).unwrap_or_default())
            }
            Content::Health => json(Bytes::from_static(br#"{"status":"ok"}"#)),
            Content::Readiness => health::readiness(worker).await,
        }
    }
}

pub(crate) fn json(body: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .body(body)
}

pub(crate) fn refused(error: ApiError) -> HttpResponse {
    let Reply { status, body, .. } = Reply::refusal(error);
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .body(body)
}

fn documentation(config: &Arc<utoipa_swagger_ui::Config<'static>>, path: &str) -> HttpResponse {
    if path == "/" {
        // With the slash, everything that the page refers to would be looked for one level too deep.
        return HttpResponse::PermanentRedirect()
            .insert_header((header::LOCATION, "../docs"))
            .finish();
    }
    let name = path.trim_start_matches('/');
    match utoipa_swagger_ui::serve(name, Arc::clone(config)) {
        Ok(Some(file)) => {
            let mut response = HttpResponse::Ok();
            response.insert_header((header::CONTENT_TYPE, file.content_type.clone()));
            if file.gzpipped {
                response.insert_header((header::CONTENT_ENCODING, "gzip"));
            }
            // The page's own links are relative to a folder; it answers without the slash at its end as well.
            if path.is_empty() && !file.gzpipped {
                let page = String::from_utf8_lossy(&file.bytes)
                    .replace("\"./", "\"docs/")
                    .replace("href=\"index.css", "href=\"docs/index.css");
                return response.body(page);
            }
            response.body(file.bytes.into_owned())
        }
        Ok(None) => refused(ApiError::new(Code::RouteNotFound, "no endpoint matches this path")),
        Err(_) => refused(ApiError::new(Code::Internal, "an unexpected error occurred")),
    }
}
