//! Stored files: `GET /files/{business}/{name}`. A public file needs no credential, since its name cannot be guessed. Any other
//! file needs a key that may read test drives, or an address that was signed within the last quarter of an hour.

use actix_web::{
    HttpRequest, HttpResponse,
    body::SizedStream,
    http::{
        Method, StatusCode,
        header::{self, ContentRange, ContentRangeSpec, Header as _, HeaderValue, Range},
    },
};
use bytes::Bytes;
use forecourt_files::{ByteRange, FileName, FileStoreError, StoredFile};
use forecourt_kernel::{BoxError, BusinessId, Scope, StoreError};
use futures_util::{StreamExt as _, stream::empty};

use crate::{
    admission::{Admission, Admitted, admit},
    code::Code,
    conditional::EntityTags,
    error::ApiError,
    request_info::RequestInfo,
    worker::Worker,
};

/// The path below which files are served.
pub(crate) const FOLDER: &str = "/files";

/// For public files: a name always stands for the same content.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// For private files: no cache may store one.
const NEVER: HeaderValue = HeaderValue::from_static("private, no-store");
/// For a file that is opened by itself: it may run nothing and embed nothing.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

fn nothing() -> ApiError {
    ApiError::new(Code::ROUTE_NOT_FOUND, "there is no such file")
}

/// Returns true if the request may have a file that is not public.
///
/// # Errors
/// If it has a credential that is refused.
async fn may_read(
    request: &HttpRequest,
    admission: &Admission,
    worker: &Worker,
    info: &mut RequestInfo,
    business: BusinessId,
    name: &FileName,
) -> Result<bool, ApiError> {
    let now = worker.shared.clock.now();
    let key = &worker.shared.address_key;
    if key.admits(business, name, request.query_string(), now) {
        return Ok(true);
    }
    if !request.headers().contains_key(header::AUTHORIZATION) {
        return Ok(false);
    }
    let Admitted { caller, .. } = admit(admission, worker, request, Scope::VehicleDrivesRead, info).await?;
    Ok(caller.business_id() == business)
}

/// Answers a request for a file.
///
/// # Errors
/// 404 if there is none that the request may have, or the refusal of its credential, if it has one.
pub(crate) async fn serve(
    request: &HttpRequest,
    admission: &Admission,
    worker: &Worker,
    info: &mut RequestInfo,
) -> Result<HttpResponse, ApiError> {
    let path = request.path().strip_prefix(FOLDER).unwrap_or_default();
    let (business, name) = path.trim_start_matches('/').split_once('/').ok_or_else(nothing)?;
    let business = business.parse().map(BusinessId::new).map_err(|_| nothing())?;
    let name: FileName = name.parse().map_err(|_| nothing())?;
    let mut session = worker.database.read_for(Some(business)).await?;
    let file = session.file(business, &name).await?;
    drop(session);
    let file = file.ok_or_else(nothing)?;
    if !file.public && !may_read(request, admission, worker, info, business, &name).await? {
        return Err(nothing());
    }
    let tag = format!("\"{}\"", file.sha256);
    if EntityTags::if_none_match(request.headers()).contain(&tag) {
        return Ok(described(HttpResponse::NotModified().finish(), &file, &tag));
    }
    let range = match wanted(request, &file, &tag) {
        RequestedRange::All => None,
        RequestedRange::Part(range) => Some(range),
        RequestedRange::Nothing => {
            let mut response = HttpResponse::RangeNotSatisfiable();
            response.insert_header(content_range(None, file.size));
            return Ok(described(response.finish(), &file, &tag));
        }
    };
    let mut response = HttpResponse::build(range.map_or(StatusCode::OK, |_| StatusCode::PARTIAL_CONTENT));
    if range.is_some() {
        response.insert_header(content_range(range, file.size));
    }
    response.insert_header((header::CONTENT_TYPE, file.kind.mime()));
    let length = range.map_or(file.size, |range| range.end - range.start);
    if request.method() == Method::HEAD {
        let response = response.body(SizedStream::new(length, empty::<Result<Bytes, Broken>>()));
        return Ok(described(response, &file, &tag));
    }
    let opened = worker.shared.files.open(business, &name, range).await;
    let opened = opened.map_err(|FileStoreError(error)| StoreError::Unavailable(error))?;
    let Some(opened) = opened else {
        tracing::error!(business = business.get(), file = %name, "the content of a file is missing");
        return Err(nothing());
    };
    let response = response.body(SizedStream::new(
        length,
        opened.content.map(|part| part.map_err(Broken)),
    ));
    Ok(described(response, &file, &tag))
}

/// The content of a file broke off.
#[derive(Debug, thiserror::Error)]
#[error("the file cannot be read")]
struct Broken(#[source] BoxError);

/// The range of bytes that a request wants.
enum RequestedRange {
    All,
    Part(ByteRange),
    /// A range beyond the file's end.
    Nothing,
}

/// Parses the requested range. Several ranges at once, and anything that is not a range of bytes, get the whole file, as RFC
/// 9110 (section 14.2) lets a server do.
fn wanted(request: &HttpRequest, file: &StoredFile, tag: &str) -> RequestedRange {
    let unchanged = request
        .headers()
        .get(header::IF_RANGE)
        .is_none_or(|known| known.as_bytes() == tag.as_bytes());
    if !unchanged || !request.headers().contains_key(header::RANGE) {
        return RequestedRange::All;
    }
    let Ok(Range::Bytes(ranges)) = Range::parse(request) else {
        return RequestedRange::All;
    };
    let [range] = ranges.as_slice() else {
        return RequestedRange::All;
    };
    match range.to_satisfiable_range(file.size) {
        Some((first, last)) => RequestedRange::Part(ByteRange {
            start: first,
            end: last + 1,
        }),
        None => RequestedRange::Nothing,
    }
}

fn content_range(range: Option<ByteRange>, size: u64) -> ContentRange {
    ContentRange(ContentRangeSpec::Bytes {
        range: range.map(|range| (range.start, range.end - 1)),
        instance_length: Some(size),
    })
}

fn described(mut response: HttpResponse, file: &StoredFile, tag: &str) -> HttpResponse {
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    if let Ok(disposition) = HeaderValue::try_from(format!("inline; filename=\"{}\"", file.name)) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, if file.public { FOR_EVER } else { NEVER });
    if !file.public {
        headers.insert(
            header::HeaderName::from_static("x-robots-tag"),
            HeaderValue::from_static("noindex"),
        );
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(
        header::HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    response
}
