//! The pipeline that every request passes through, in the order of decisions §3.

use std::{
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method, StatusCode,
        header::{self, HeaderName, HeaderValue, HttpDate},
    },
    web,
};
use bytes::{Bytes, BytesMut};
use forecourt_accounts::{Fingerprint, IdempotencyKey, KeyedRequest, RateLimitStatus};
use forecourt_kernel::bounds::{MAX_HEADER_BYTES, MAX_LINE_CHARS, MAX_TARGET_BYTES};
use forecourt_kernel::{Precondition, ValidationErrors};
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::ready,
    stream::{LocalBoxStream, empty, once, unfold},
};
use serde::Deserialize;

use crate::{
    address::{self, Client},
    admission::{Admission, Admitted, admit, admit_to_page},
    body::MAX_JSON_BYTES,
    call::{Call, Sender},
    code::Code,
    compression::{Codings, compressed},
    conditional::{self, EntityTags, MAX_TAGS_BYTES},
    connection::{DRAINED_BYTES, Progress, Refused},
    cors::{CorsOrigins, vary_by},
    deadline::{WORK_TIMEOUT, with_timeout},
    docs::Page,
    error::{ApiError, chain},
    media_type::{is_json, is_preferred_to_json, is_xml},
    metrics::Meter,
    operation::Operation,
    parsing::RawBody,
    reply::{Answer, Created, Reply},
    request_id,
    request_info::{RequestInfo, log, milliseconds, record_of},
    router::{Found, Router},
    strict::{self, PREFERENCE_APPLIED, STRICT},
    worker::{Shared, Worker},
};

const REQUEST_ID: HeaderName = HeaderName::from_static(request_id::HEADER);
const REPLAY: HeaderName = HeaderName::from_static("x-idempotent-replay");
const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// The maximum time for a body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// Everything that requests share before their handlers, on all workers.
pub(crate) struct Pipeline {
    pub(crate) router: Router,
    pub(crate) pages: Vec<Page>,
    /// The metrics of requests that match no route.
    pub(crate) unrouted: Meter,
    pub(crate) admission: Admission,
    pub(crate) cors: CorsOrigins,
}

/// Answers a request.
pub(crate) async fn handle(
    request: HttpRequest,
    payload: web::Payload,
    pipeline: web::ThinData<Arc<Pipeline>>,
    worker: web::ThinData<Rc<Worker>>,
) -> HttpResponse {
    let (web::ThinData(pipeline), web::ThinData(worker)) = (pipeline, worker);
    let started = Instant::now();
    let id = request_id::of(&request, worker.shared.random.as_ref());
    let mut info = RequestInfo::default();
    let (response, meter) = answer(&request, payload, &pipeline, &worker, &id, &mut info).await;
    meter.record(response.status(), started.elapsed());
    let client = address::client(&request, &pipeline.admission.trusted_proxies);
    log(&request, &info, client, response.status(), started, &id);
    let mut response = compressed(&request, response, &worker.shared.answers);
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    pipeline.cors.mark(request.headers(), headers);
    response
}

/// Returns the response to a request, and the meter that counts it.
async fn answer<'p>(
    request: &HttpRequest,
    payload: web::Payload,
    pipeline: &'p Pipeline,
    worker: &Rc<Worker>,
    id: &HeaderValue,
    info: &mut RequestInfo,
) -> (HttpResponse, &'p Meter) {
    let Pipeline {
        router,
        pages,
        unrouted,
        cors,
        admission,
    } = pipeline;
    let help = &worker.shared.help;
    let head_only = request.method() == Method::HEAD;
    if let Some(error) = oversized(request) {
        let reply = Reply::refusal(error, help);
        return (respond(reply.into(), head_only, info, id), unrouted);
    }
    let found = router.find(request.method(), request.path());
    let page = match found {
        Found::Nothing => pages.iter().find(|page| page.serves(request.path())),
        _ => None,
    };
    let now = worker.shared.clock.now();
    let client = address::client(request, &admission.trusted_proxies);
    worker.shared.proxies.note(request, &admission.trusted_proxies, now);
    if cors.is_preflight(request) {
        let is_known = page.map_or(!matches!(found, Found::Nothing), Page::is_limited);
        if is_known && let Err(blocked) = admission.gate.check(client, now) {
            let reply = Reply::refusal(blocked, help);
            return (respond(reply.into(), head_only, info, id), unrouted);
        }
        let mut response = HttpResponse::NoContent().finish();
        CorsOrigins::answer_preflight(request.headers(), response.headers_mut());
        return (response, unrouted);
    }
    if let Some(page) = page {
        info.route = Some(page.path.to_owned());
        if page.is_limited()
            && Page::takes(request.method())
            && let Err(error) = admit_to_page(admission, worker, request, client, info).await
        {
            let reply = Reply::refusal(error, help);
            return (respond(reply.into(), head_only, info, id), unrouted);
        }
        let response = match page.answer(request, admission, worker, info).await {
            Ok(response) => response,
            Err(error) => {
                log_failure(&error, id);
                respond(Reply::refusal(error, help).into(), head_only, info, id)
            }
        };
        return (response, unrouted);
    }
    let meter = match &found {
        Found::Route(route, _) => &route.meter,
        Found::OtherMethods(_) | Found::Nothing => unrouted,
    };
    info.strict = strict::is_preferred(request.headers());
    let work = AssertUnwindSafe(authorize(pipeline, worker, request, payload, found, info)).catch_unwind();
    let answer = match work.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            log_failure(&error, id);
            Reply::refusal(error, help).into()
        }
        // The panic hook has logged the panic's message and place.
        Err(_) => {
            let error = ApiError::new(Code::INTERNAL, "an unexpected error occurred");
            Reply::refusal(error, help).into()
        }
    };
    (respond(answer, head_only, info, id), meter)
}

/// Returns the fault in the length of a request's head, if there is one.
fn oversized(request: &HttpRequest) -> Option<ApiError> {
    let uri = request.uri();
    let target = uri.path_and_query().map_or(0, |target| target.as_str().len());
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let progress = request.conn_data::<Rc<Progress>>();
    if target + authority > MAX_TARGET_BYTES || progress.is_some_and(|progress| progress.take_long_line()) {
        return Some(ApiError::of_head(Code::URI_TOO_LONG));
    }
    // Each counts with its colon, space and line end.
    let length = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + 4;
    let headers: usize = request.headers().iter().map(length).sum();
    (headers > MAX_HEADER_BYTES).then(|| ApiError::of_head(Code::HEADERS_TOO_LARGE))
}

/// Answers a request that did not get here: returns the full text of the answer, after which the connection ends.
pub(crate) fn refuse(pipeline: &Pipeline, shared: &Shared, refused: Refused) -> Bytes {
    let id = request_id::made(shared.random.as_ref());
    let Reply { status, body, .. } = Reply::refusal(ApiError::of_head(refused.code), &shared.help);
    // A connection on which nothing was ever sent does not count as a request.
    if let Some(age) = refused.age {
        // The time depends on the caller, so it is not recorded as a latency of the server.
        pipeline.unrouted.record(status, Duration::ZERO);
        tracing::info!(
            target: "forecourt::request",
            method = "-",
            route = "-",
            status = status.as_u16(),
            code = refused.code.as_str(),
            milliseconds = milliseconds(age),
            address = refused.address.map(tracing::field::display),
            request = id.to_str().unwrap_or("-"),
            "request",
        );
    }
    let now = u64::try_from(shared.clock.now().epoch_seconds()).unwrap_or(0);
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(now));
    let mut answer = format!(
        "HTTP/1.1 {status}\r\n\
         content-length: {length}\r\n\
         connection: close\r\n\
         content-type: application/json\r\n\
         cache-control: private, no-store\r\n\
         x-content-type-options: nosniff\r\n\
         x-request-id: {id}\r\n\
         date: {date}\r\n\r\n",
        length = body.len(),
        id = id.to_str().unwrap_or("-"),
    )
    .into_bytes();
    if !refused.head_only {
        answer.extend_from_slice(&body);
    }
    answer.into()
}

/// Processes a request from its route to its handler's answer.
async fn authorize(
    pipeline: &Pipeline,
    worker: &Rc<Worker>,
    request: &HttpRequest,
    payload: web::Payload,
    found: Found<'_>,
    info: &mut RequestInfo,
) -> Result<Answer, ApiError> {
    let (route, path) = match found {
        Found::Route(route, path) => (route, path),
        Found::OtherMethods(allow) => {
            info.allow = Some(allow);
            return Err(ApiError::new(
                Code::METHOD_NOT_ALLOWED,
                "this path has no such method; see the header Allow",
            ));
        }
        Found::Nothing => return Err(ApiError::new(Code::ROUTE_NOT_FOUND, "no endpoint matches this path")),
    };
    let operation = &route.operation;
    info.route = Some(operation.path.clone());
    info.record = record_of(&path);
    info.is_negotiated = operation.alternative.is_some();
    let Admitted { token, caller, client } = admit(&pipeline.admission, worker, request, operation.scope, info).await?;

    let query = request.query_string().to_owned();
    let writes = operation.method != Method::GET;
    let key = if writes { idempotency_key(request)? } else { None };
    check_header(request, &strict::PREFER, "Prefer", MAX_LINE_CHARS)?;
    let precondition = if operation.writes_record() {
        check_header(request, &header::IF_MATCH, "If-Match", MAX_TAGS_BYTES)?;
        conditional::precondition(request.headers())?
    } else {
        Precondition::default()
    };
    let if_none_match = if operation.is_conditional {
        check_header(request, &header::IF_NONE_MATCH, "If-None-Match", MAX_TAGS_BYTES)?;
        EntityTags::if_none_match(request.headers())
    } else {
        EntityTags::default()
    };
    let Shared { uploads, parsing, .. } = worker.shared.as_ref();
    let business = caller.business_id();
    let (body, upload) = match operation.upload {
        Some(upload) => {
            let received = uploads.receive(upload, business, parsing, request, payload).await?;
            (received.members.clone(), Some(received))
        }
        None if writes => (read_body(request, payload, operation).await?.into(), None),
        None => (RawBody::default(), None),
    };
    if writes && let Some(progress) = request.conn_data::<Rc<Progress>>() {
        progress.body_was_read();
    }
    let retry = key.map(|key| {
        let (method, path) = (operation.method.as_str(), request.path());
        let fingerprint = match &upload {
            // A body that is too long to be kept is identified by its digest.
            Some(received) => Fingerprint::of(method, path, &query, &received.digest),
            None => body.fingerprint(method, path, &query),
        };
        KeyedRequest { fingerprint, key }
    });
    let unknown = if info.strict {
        let (known, query) = (Arc::clone(route.known()), query.clone());
        let compared = body.parse_apart(parsing, business, move |sent| Ok(known.faults(&query, sent)));
        with_timeout(WORK_TIMEOUT, compared).await?
    } else {
        ValidationErrors::new()
    };
    let takes_no_body = writes && !unknown.is_empty() && !route.known().takes_body();
    let call = Call {
        unknown,
        worker: Rc::clone(worker),
        epoch: worker.database.epoch(),
        token,
        address: client.map(Client::address),
        caller,
        path,
        query,
        body,
        upload,
        sender: if writes {
            Sender::of(request, client)
        } else {
            Sender::default()
        },
        retry,
        precondition,
        if_none_match,
        wants_alternative: operation
            .alternative
            .is_some_and(|offered| is_preferred_to_json(request, offered)),
        codings: if operation.caches_answers {
            Codings::of(request)
        } else {
            Codings::default()
        },
    };
    if takes_no_body {
        // Such a request can have no other fault, and its handler may act before it writes.
        let refused = call.unknown.clone().into();
        return with_timeout(WORK_TIMEOUT, call.refuse(refused)).await.map(Answer::from);
    }
    let answer = with_timeout(WORK_TIMEOUT + operation.max_wait, (operation.handler)(call)).await?;
    if answer.reply.status == StatusCode::CREATED {
        let path = |name: &str| match operation.created {
            Created::IdIn(collection) => format!("{collection}/{name}"),
            _ => route.location(request.path(), name),
        };
        info.location = answer.reply.location(operation.created, path);
    }
    Ok(answer)
}

/// Refuses a header that has more bytes in all of its lines than the document allows.
///
/// # Errors
/// 422, which names it.
fn check_header(request: &HttpRequest, header: &HeaderName, name: &str, most: usize) -> Result<(), ApiError> {
    let bytes: usize = request.headers().get_all(header).map(HeaderValue::len).sum();
    if bytes > most {
        return Err(ApiError::field(name, format!("must have at most {most} bytes")));
    }
    Ok(())
}

fn idempotency_key(request: &HttpRequest) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut sent = request.headers().get_all(IDEMPOTENCY_KEY);
    let Some(header) = sent.next() else { return Ok(None) };
    // With two keys it is unclear which one is meant.
    let key = header
        .to_str()
        .ok()
        .filter(|_| sent.next().is_none())
        .and_then(|text| text.parse().ok());
    let invalid = || {
        ApiError::new(
            Code::IDEMPOTENCY_KEY_INVALID,
            forecourt_accounts::InvalidIdempotencyKey.to_string(),
        )
    };
    key.map(Some).ok_or_else(invalid)
}

/// Reads a whole body of JSON or XML. An operation that takes no body ignores the length and the type of what is sent as one.
///
/// # Errors
/// 422 (`body`) if it is too long, 400 if its declared type differs, 408 if it does not arrive in time.
async fn read_body(request: &HttpRequest, payload: web::Payload, operation: &Operation) -> Result<Bytes, ApiError> {
    let Operation {
        takes_body, takes_xml, ..
    } = *operation;
    let read = tokio::time::timeout(BODY_TIMEOUT, collect(payload));
    let body = read
        .await
        .map_err(|_| ApiError::new(Code::REQUEST_TIMEOUT, "the body did not arrive in time"))??;
    if !takes_body {
        return Ok(body.unwrap_or_default());
    }
    let body = body.ok_or_else(|| ApiError::field("body", "must have at most 1 MiB"))?;
    let content_type = request.headers().get(header::CONTENT_TYPE);
    match content_type.filter(|_| !body.is_empty()) {
        Some(content_type) if takes_xml && !is_xml(content_type) => {
            Err(ApiError::new(Code::JSON_INVALID, "send the body as application/xml"))
        }
        Some(content_type) if !takes_xml && !is_json(content_type) => {
            Err(ApiError::new(Code::JSON_INVALID, "send the body as application/json"))
        }
        _ => Ok(body),
    }
}

/// Receives a body; returns `None` if it is longer than [`MAX_JSON_BYTES`].
async fn collect(mut payload: web::Payload) -> Result<Option<Bytes>, ApiError> {
    let mut body = BytesMut::new();
    let mut length = 0;
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| ApiError::new(Code::JSON_INVALID, "the body broke off"))?;
        length += chunk.len();
        if length <= MAX_JSON_BYTES {
            body.extend_from_slice(&chunk);
        } else if length > DRAINED_BYTES {
            break;
        }
    }
    Ok((length <= MAX_JSON_BYTES).then(|| body.freeze()))
}

/// Returns the answer with its headers.
fn respond(answer: Answer, head_only: bool, info: &mut RequestInfo, id: &HeaderValue) -> HttpResponse {
    let Answer { reply, rest } = answer;
    info.code = code_of(&reply);
    let RequestInfo {
        rate_limit,
        allow,
        strict,
        retry_after,
        location,
        is_negotiated,
        ..
    } = info;
    let Reply {
        status,
        body,
        replayed,
        shows: _,
        etag,
        key,
        coding,
        content_type,
        filename,
    } = reply;
    let mut response = HttpResponse::build(status);
    let mut response = match rest {
        None if status == StatusCode::NOT_MODIFIED => response.finish(),
        None => response.body(body),
        // A body that will not be sent is not read either.
        Some(_) if head_only => response.streaming(empty::<Result<Bytes, CutShort>>()),
        Some(rest) => response.streaming(once(ready(Ok(body))).chain(watched(rest, id.clone()))),
    };
    if let Some(key) = key {
        response.extensions_mut().insert(key);
    }
    let headers = response.headers_mut();
    if status != StatusCode::NOT_MODIFIED {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    // The name has no character that would have to be escaped.
    let disposition = filename.map(|name| HeaderValue::try_from(format!("inline; filename=\"{name}\"")));
    if let Some(Ok(disposition)) = disposition {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    }
    if let Some(Ok(etag)) = etag.map(HeaderValue::try_from) {
        headers.insert(header::ETAG, etag);
        // The fields of a record that are shown depend on the key's scopes.
        headers.append(header::VARY, HeaderValue::from_static("Authorization"));
    }
    if *is_negotiated {
        vary_by(headers, "Accept");
    }
    if let Some(Ok(location)) = location.as_deref().map(HeaderValue::from_str) {
        headers.insert(header::LOCATION, location);
    }
    // An answer to a credential must not be cached by others. With an ETag the caller may cache it, and revalidates it.
    let caching = if headers.contains_key(header::ETAG) {
        HeaderValue::from_static("private, no-cache")
    } else {
        HeaderValue::from_static("private, no-store")
    };
    headers.insert(header::CACHE_CONTROL, caching);
    if *strict {
        headers.insert(PREFERENCE_APPLIED, STRICT);
    }
    if replayed {
        headers.insert(REPLAY, HeaderValue::from_static("true"));
    }
    if let Some(RateLimitStatus {
        limit,
        remaining,
        reset,
        ..
    }) = rate_limit
    {
        headers.insert(RATE_LIMIT, (*limit).into());
        headers.insert(RATE_REMAINING, (*remaining).into());
        headers.insert(RATE_RESET, reset.epoch_seconds().into());
    }
    if let Some(Ok(allow)) = allow.as_deref().map(HeaderValue::from_str) {
        headers.insert(header::ALLOW, allow);
    }
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, (*seconds).into());
    }
    response
}

/// An answer that broke off: the connection is closed before its end, so that no client takes it for complete.
#[derive(Debug, thiserror::Error)]
#[error("the answer was cut short")]
struct CutShort;

/// Returns the parts of a body, each of which must be read in time. A failure is logged, and ends the body.
fn watched(
    parts: LocalBoxStream<'static, Result<Bytes, ApiError>>,
    id: HeaderValue,
) -> impl Stream<Item = Result<Bytes, CutShort>> {
    unfold(Some((parts, id)), async |state| {
        let (mut parts, id) = state?;
        let next = async { parts.next().await.transpose() };
        match with_timeout(WORK_TIMEOUT, next).await {
            Ok(part) => Some((Ok(part?), Some((parts, id)))),
            Err(error) => {
                match &error {
                    ApiError::Refused(refusal) => tracing::warn!(
                        target: "forecourt::request",
                        request = id.to_str().unwrap_or("-"),
                        code = refusal.code.as_str(),
                        "answer cut short",
                    ),
                    _ => log_failure(&error, &id),
                }
                Some((Err(CutShort), None))
            }
        }
    })
}

/// Returns the code in the envelope of a refusal, even if it is a replay.
fn code_of(reply: &Reply) -> Option<String> {
    #[derive(Deserialize)]
    struct Envelope {
        error: Coded,
    }
    #[derive(Deserialize)]
    struct Coded {
        code: String,
    }
    let refused = reply.status.is_client_error() || reply.status.is_server_error();
    let envelope: Option<Envelope> = refused.then(|| serde_json::from_slice(&reply.body).ok())?;
    envelope.map(|envelope| envelope.error.code)
}

/// Logs a failure with its whole chain; the caller sees a fixed sentence.
fn log_failure(error: &ApiError, id: &HeaderValue) {
    let failure: &dyn std::error::Error = match error {
        ApiError::Refused(_) | ApiError::Invalid(_) => return,
        ApiError::Store(failure) => failure,
        ApiError::Failed { cause, .. } => cause.as_ref(),
    };
    let error = chain(failure);
    tracing::error!(target: "forecourt::request", request = id.to_str().unwrap_or("-"), error, "request failed");
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream::iter};

    use super::*;

    #[tokio::test]
    async fn a_body_ends_with_its_first_failure() {
        let parts = vec![
            Ok(Bytes::from("[1")),
            Err(ApiError::new(Code::CONTACT_NOT_FOUND, "gone")),
            Ok(Bytes::from("]")),
        ];
        let sent: Vec<_> = watched(iter(parts).boxed_local(), HeaderValue::from_static("id"))
            .collect()
            .await;
        assert!(matches!(&*sent, [Ok(part), Err(CutShort)] if part == "[1"));
    }
}
