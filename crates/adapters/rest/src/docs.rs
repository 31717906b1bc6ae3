//! Pages that need no credential and are not operations: the OpenAPI document, the documentation page, and health.

use std::sync::OnceLock;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method, StatusCode,
        header::{self, HeaderValue},
    },
};
use bytes::Bytes;
use forecourt_kernel::BoxError;
use sha2::{Digest as _, Sha256};

use crate::{
    admission::{Admission, limit_calendars},
    areas, calendars,
    code::Code,
    conditional::EntityTags,
    error::ApiError,
    files, guides, health,
    help::{self, HelpPages},
    openapi,
    page::{json, refused},
    request_info::RequestInfo,
    worker::Worker,
};

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

/// The content security policy of the documentation's page: it may run its own files and call this server. Its styles are
/// written into elements, and its pictures into its style sheet.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A public page.
pub(crate) struct Page {
    /// Its path; documentation pages also serve paths below it.
    pub(crate) path: &'static str,
    content: Content,
}

/// Returns the pages of a server of the `installation` that is reached at `public_url`.
pub(crate) fn pages(public_url: String, installation: &str) -> Vec<Page> {
    let page = |path, content| Page { path, content };
    let health = serde_json::json!({"status": "ok", "installation": installation}).to_string();
    vec![
        page("/2.0/openapi.json", Content::OpenApi(Document::new(public_url))),
        page("/healthz", Content::Health(health.into())),
        page("/readyz", Content::Readiness),
        page("/", Content::Root),
        page(files::FOLDER, Content::Files),
        page(calendars::FOLDER, Content::Calendars),
        // Before the page whose path is a prefix of this one.
        page("/docs/errors", Content::Errors),
        page("/docs/guides", Content::Guides),
        page("/docs", Content::Documentation),
    ]
}

/// The content of a page.
enum Content {
    /// The OpenAPI document.
    OpenApi(Document),
    /// The interactive documentation with its files, all of them in the binary.
    Documentation,
    /// The guides beside it.
    Guides,
    /// The meanings of the error codes.
    Errors,
    /// A redirect to the documentation.
    Root,
    /// The liveness of the process.
    Health(Bytes),
    /// The readiness of the process for work.
    Readiness,
    /// Photos and videos, some of them only for callers who may see them.
    Files,
    /// Feeds of appointments, which their addresses alone open.
    Calendars,
}

/// The OpenAPI document, which is built on first request.
struct Document {
    public_url: String,
    text: OnceLock<(Bytes, HeaderValue)>,
}

impl Document {
    /// Makes the document of a server that is reached at `public_url`.
    const fn new(public_url: String) -> Self {
        Self {
            public_url,
            text: OnceLock::new(),
        }
    }

    /// Returns its text and its ETag.
    fn text(&self) -> Result<(Bytes, HeaderValue), BoxError> {
        if let Some(text) = self.text.get() {
            return Ok(text.clone());
        }
        let text = serde_json::to_vec(&openapi::document(&self.public_url)?)?;
        let tag = etag(&digest(&text));
        Ok(self.text.get_or_init(|| (text.into(), tag)).clone())
    }
}

impl Page {
    /// Returns true if a request for `path` is for this page.
    pub(crate) fn serves(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(self.path) else {
            return false;
        };
        rest.is_empty()
            || (matches!(
                self.content,
                Content::Documentation | Content::Guides | Content::Errors | Content::Files | Content::Calendars
            ) && rest.starts_with('/'))
    }

    /// Returns true if rate limits and blocks apply to it. Monitoring of the server is let in from everywhere.
    pub(crate) const fn is_limited(&self) -> bool {
        !matches!(self.content, Content::Health(_) | Content::Readiness)
    }

    /// Returns true if it can be requested with this method.
    pub(crate) fn takes(method: &Method) -> bool {
        method == Method::GET || method == Method::HEAD
    }

    /// Answers a request for this page.
    ///
    /// # Errors
    /// If it is a file that cannot be served to this request.
    pub(crate) async fn answer(
        &self,
        request: &HttpRequest,
        admission: &Admission,
        worker: &Worker,
        info: &mut RequestInfo,
    ) -> Result<HttpResponse, ApiError> {
        let help = &worker.shared.help;
        if matches!(self.content, Content::Calendars) {
            limit_calendars(admission, worker, request, info)?;
        }
        if !Self::takes(request.method()) {
            let message = "this path has no such method; see the header Allow";
            let mut response = refused(ApiError::new(Code::METHOD_NOT_ALLOWED, message), help);
            let headers = response.headers_mut();
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Ok(response);
        }
        Ok(match &self.content {
            Content::OpenApi(document) => match document.text() {
                Ok((text, tag)) => revalidated(request, tag, || json(text)),
                Err(_) => refused(ApiError::new(Code::INTERNAL, "an unexpected error occurred"), help),
            },
            Content::Documentation => for_browsers(documentation(request, self.path, help)),
            Content::Guides => for_browsers(guide(request, self.path, help)),
            Content::Errors => for_browsers(error_page(request, self.path, help)),
            // Relative, so that it also works behind a proxy that serves the API below a path.
            Content::Root => redirect(StatusCode::FOUND, "./docs"),
            Content::Health(answer) => json(answer.clone()),
            Content::Files => files::serve(request, admission, worker, info).await?,
            Content::Calendars => calendars::serve(request, worker).await?,
            Content::Readiness => health::readiness(worker).await,
        })
    }
}

/// Returns `response` with headers that restrict what a browser may do with it.
fn for_browsers(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

fn redirect(status: StatusCode, to: &'static str) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::LOCATION, to))
        .finish()
}

/// Returns the page of an error code, or of all of them.
fn error_page(request: &HttpRequest, folder: &'static str, help: &HelpPages) -> HttpResponse {
    let path = request.path().strip_prefix(folder).unwrap_or_default();
    let html = match path.strip_prefix('/') {
        None => help::index(areas::codes()),
        // With a trailing slash, everything that the page refers to would be looked up one level too deep.
        Some("") => return redirect(StatusCode::PERMANENT_REDIRECT, "../errors"),
        Some(name) => match areas::codes().find(|code| code.as_str() == name) {
            Some(code) => help::page(code),
            None => {
                return refused(
                    ApiError::new(Code::ROUTE_NOT_FOUND, "there is no such error code"),
                    help,
                );
            }
        },
    };
    html_page(request, html)
}

/// Returns the page of a guide.
fn guide(request: &HttpRequest, folder: &'static str, help: &HelpPages) -> HttpResponse {
    let path = request.path().strip_prefix(folder).unwrap_or_default();
    match path.strip_prefix('/').and_then(guides::find) {
        Some(guide) => html_page(request, guide.html()),
        None => refused(ApiError::new(Code::ROUTE_NOT_FOUND, "there is no such guide"), help),
    }
}

fn html_page(request: &HttpRequest, html: impl Into<String> + AsRef<[u8]>) -> HttpResponse {
    revalidated(request, etag(&digest(html.as_ref())), || {
        HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
            .body(html.into())
    })
}

/// Returns a digest that identifies a text.
fn digest(text: &[u8]) -> String {
    let hash = Sha256::digest(text);
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn etag(text: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{text}\"")).unwrap_or_else(|_| HeaderValue::from_static("\"-\""))
}

/// Returns `page`, which callers may cache if they revalidate it by `tag` each time; 304 if it is unchanged.
fn revalidated(request: &HttpRequest, tag: HeaderValue, page: impl FnOnce() -> HttpResponse) -> HttpResponse {
    let known = EntityTags::if_none_match(request.headers());
    let mut response = if tag.to_str().is_ok_and(|tag| known.contain(tag)) {
        HttpResponse::NotModified().finish()
    } else {
        page()
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A file of Swagger UI, which the build script unpacked from its archive.
macro_rules! swagger_ui {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// Returns the interactive reference: our page, and the files of Swagger UI that it loads.
fn documentation(request: &HttpRequest, folder: &'static str, help: &HelpPages) -> HttpResponse {
    let path = request.path().strip_prefix(folder).unwrap_or_default();
    match path {
        "" => html_page(request, include_str!("docs/page.html")),
        // With a trailing slash, everything that the page refers to would be looked up one level too deep.
        "/" => redirect(StatusCode::PERMANENT_REDIRECT, "../docs"),
        "/page.js" => text_file(request, JAVASCRIPT, include_str!("docs/page.js")),
        "/page.css" => text_file(request, CSS, include_str!("docs/page.css")),
        "/swagger-ui-bundle.js" => swagger_file(request, JAVASCRIPT, swagger_ui!("swagger-ui-bundle.js")),
        "/swagger-ui.css" => swagger_file(request, CSS, swagger_ui!("swagger-ui.css")),
        "/favicon-32x32.png" => swagger_file(request, "image/png", swagger_ui!("favicon-32x32.png")),
        _ => refused(
            ApiError::new(Code::ROUTE_NOT_FOUND, "no endpoint matches this path"),
            help,
        ),
    }
}

fn text_file(request: &HttpRequest, kind: &'static str, text: &'static str) -> HttpResponse {
    revalidated(request, etag(&digest(text.as_bytes())), || {
        HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, kind))
            .body(Bytes::from_static(text.as_bytes()))
    })
}

/// Returns a file of Swagger UI, unchanged.
fn swagger_file(request: &HttpRequest, kind: &'static str, content: &'static [u8]) -> HttpResponse {
    // The files are part of the program, so its version and their length identify them.
    let tag = etag(&format!("{}-{}", env!("CARGO_PKG_VERSION"), content.len()));
    revalidated(request, tag, || {
        HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, kind))
            .body(Bytes::from_static(content))
    })
}
