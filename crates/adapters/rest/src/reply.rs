//! Answers, in the contract's envelopes ("Common rules" 2 and 4).
//!
//! A [`Reply`] is small and in memory as a whole. A list has no bound that matters, so it is an [`Answer`], which may be written
//! out as it is read: see [`page`].

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use actix_web::http::{StatusCode, header::ContentEncoding};
use bytes::Bytes;
use forecourt_accounts::{Shown, StoredResponse};
use forecourt_kernel::{BoxError, ContactId, Cursor, ListName, Page, PageRequest, Position, Projection, StoreError};
use futures_util::{
    Stream, StreamExt,
    future::ready,
    stream::{LocalBoxStream, once, try_unfold},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::yield_now;

use crate::{
    answer_cache::AnswerKey, call::Call, conditional::RecordState, error::ApiError, help::HelpPages, query::Rendering,
    worker::Shared,
};

/// How much room a body starts with: most single records fit.
const USUAL_BYTES: usize = 1024;
/// A list that is longer than this is not gathered before it is sent.
const WHOLE_BYTES: usize = 256 * 1024;
/// How many large records are held at once, while few such answers are under way.
const LARGE_AT_ONCE: u32 = 50;

/// What bodies are unless something else is said.
const JSON: &str = "application/json";

/// What a handler answers with.
pub(crate) enum Answer {
    /// All of it.
    Whole(Reply),
    /// 200, with a body that is written out as it is read.
    Parts(Parts),
}

/// A body that is written out as it is read. It breaks off where an error comes.
pub(crate) struct Parts {
    pub(crate) parts: LocalBoxStream<'static, Result<Bytes, ApiError>>,
    /// The entity tag of what it shows.
    etag: Option<String>,
    /// What it is kept under for other callers.
    key: Option<AnswerKey>,
    content_type: &'static str,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Whole(reply)
    }
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Whole(reply) => reply.status,
            Self::Parts(..) => StatusCode::OK,
        }
    }

    /// The same answer with an entity tag.
    pub(crate) fn tagged(self, etag: Option<String>) -> Self {
        match self {
            Self::Whole(reply) => Self::Whole(Reply { etag, ..reply }),
            Self::Parts(parts) => Self::Parts(Parts { etag, ..parts }),
        }
    }

    /// The same answer with a body that is something other than JSON.
    pub(crate) fn typed(self, content_type: &'static str) -> Self {
        match self {
            Self::Whole(reply) => Self::Whole(Reply { content_type, ..reply }),
            Self::Parts(parts) => Self::Parts(Parts { content_type, ..parts }),
        }
    }

    /// The same answer, to be kept under `key` for other callers.
    pub(crate) fn keyed(self, key: AnswerKey) -> Self {
        let key = Some(key);
        match self {
            Self::Whole(reply) => Self::Whole(Reply { key, ..reply }),
            Self::Parts(parts) => Self::Parts(Parts { key, ..parts }),
        }
    }

    /// What it is to be kept under.
    pub(crate) const fn key(&self) -> Option<&AnswerKey> {
        match self {
            Self::Whole(Reply { key, .. }) | Self::Parts(Parts { key, .. }) => key.as_ref(),
        }
    }

    /// How its body was compressed already.
    pub(crate) const fn coding(&self) -> Option<ContentEncoding> {
        match self {
            Self::Whole(reply) => reply.coding,
            Self::Parts(_) => None,
        }
    }

    /// What its body is.
    pub(crate) const fn content_type(&self) -> &'static str {
        match self {
            Self::Whole(Reply { content_type, .. }) | Self::Parts(Parts { content_type, .. }) => content_type,
        }
    }

    /// Its entity tag.
    pub(crate) fn etag(&self) -> Option<&str> {
        match self {
            Self::Whole(Reply { etag, .. }) | Self::Parts(Parts { etag, .. }) => etag.as_deref(),
        }
    }
}

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// Whether it was given before, to a request with the same idempotency key.
    pub(crate) replayed: bool,
    /// Whose personal data it shows, apart from what only reads.
    pub(crate) shows: Shown,
    /// The entity tag of the record that it shows.
    pub(crate) etag: Option<String>,
    /// What it is kept under for other callers.
    key: Option<AnswerKey>,
    /// How the body was compressed already.
    coding: Option<ContentEncoding>,
    content_type: &'static str,
}

impl Reply {
    fn new(status: StatusCode, body: Vec<u8>) -> Self {
        Self {
            status,
            body: body.into(),
            replayed: false,
            shows: Shown::default(),
            etag: None,
            key: None,
            coding: None,
            content_type: JSON,
        }
    }

    /// 200 with a body that was sent before, in that coding.
    pub(crate) fn kept(body: Bytes, coding: ContentEncoding) -> Self {
        Self {
            body,
            coding: (coding != ContentEncoding::Identity).then_some(coding),
            ..Self::new(StatusCode::OK, Vec::new())
        }
    }

    /// 200 with `data`.
    pub(crate) fn ok(data: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::new(StatusCode::OK, enveloped(data)?))
    }

    /// 200 with as much of `data` as `fields` names.
    pub(crate) fn projected(data: &impl Serialize, fields: Option<&Projection>) -> Result<Self, ApiError> {
        match fields {
            None => Self::ok(data),
            Some(fields) => Self::ok(&fields.apply(value(data)?)),
        }
    }

    /// 200 with a record that is in `state`, in that `rendering`; 304 if the caller has it already.
    pub(crate) fn record(
        call: &Call,
        state: RecordState,
        rendering: &Rendering,
        data: &impl Serialize,
    ) -> Result<Self, ApiError> {
        let Rendering { view, fields } = rendering;
        if fields.is_some() {
            return Self::projected(data, fields.as_ref());
        }
        let etag = state.entity_tag(*view, &call.caller.business);
        if call.known.contain(&etag) {
            return Ok(Self::not_modified(etag));
        }
        Ok(Self::ok(data)?.tagged(etag))
    }

    /// 304: the caller has what `etag` names.
    pub(crate) fn not_modified(etag: String) -> Self {
        Self::new(StatusCode::NOT_MODIFIED, Vec::new()).tagged(etag)
    }

    /// The same answer with an entity tag.
    pub(crate) fn tagged(self, etag: String) -> Self {
        Self {
            etag: Some(etag),
            ..self
        }
    }

    /// 201 with the record that was made.
    pub(crate) fn created(data: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::new(StatusCode::CREATED, enveloped(data)?))
    }

    /// 200 with `{id, deleted: true}`.
    pub(crate) fn deleted(id: i64) -> Result<Self, ApiError> {
        Self::ok(&Deleted { id, deleted: true })
    }

    /// An answer that was stored for a retry.
    pub(crate) fn replay(stored: StoredResponse) -> Self {
        let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
        Self {
            replayed: true,
            ..Self::new(status, stored.body)
        }
    }

    /// The same answer, with something taken out of the record that it shows.
    pub(crate) fn withholding(self, withhold: impl FnOnce(&mut Value)) -> Result<Self, ApiError> {
        let mut envelope: Value = serde_json::from_slice(&self.body).map_err(unwritable)?;
        if let Some(record) = envelope.get_mut("data") {
            withhold(record);
        }
        Ok(Self {
            body: envelope.to_string().into(),
            ..self
        })
    }

    /// The path of the record that it shows: what `path` makes of its id, or where it is seen.
    pub(crate) fn location(&self, path: impl FnOnce(&str) -> String) -> Option<String> {
        #[derive(Deserialize)]
        struct Record {
            data: Located,
        }
        #[derive(Deserialize)]
        struct Located {
            id: Option<Value>,
            url: Option<String>,
        }
        let Record { data } = serde_json::from_slice(&self.body).ok()?;
        match data.id {
            Some(Value::String(id)) => Some(path(&id)),
            Some(Value::Number(id)) => Some(path(&id.to_string())),
            _ => data.url,
        }
    }

    /// The answer as it is stored for a retry.
    pub(crate) fn to_stored(&self) -> StoredResponse {
        StoredResponse {
            status: self.status.as_u16(),
            body: self.body.to_vec(),
        }
    }

    /// The answer to a request that was refused.
    pub(crate) fn refusal(error: ApiError, help: &HelpPages) -> Self {
        let refusal = error.into_refusal();
        let mut envelope = refusal.to_json();
        envelope["error"]["details"]["help"] = help.of(refusal.code).into();
        Self::new(refusal.code.status(), envelope.to_string().into_bytes())
    }
}

/// What may show personal data, as writes answer with it. Once the person is erased, the answer to a retry shows it no more; so
/// replies are made of the record itself, which knows whose data its representation shows.
pub(crate) trait Personal {
    /// Its representation.
    type View<'a>: Serialize
    where
        Self: 'a;

    /// How it is shown.
    fn view<'a>(&'a self, call: &'a Call) -> Self::View<'a>;

    /// The contact that this shows or is linked to, and the record that it shows.
    fn shown(&self) -> Shown;
}

/// Something that belongs to a contact, as long as that is not erased, and shows who that is.
pub(crate) struct OfContact<T> {
    pub(crate) contact: Option<ContactId>,
    pub(crate) view: T,
}

impl<T: Serialize> Personal for OfContact<T> {
    type View<'a>
        = &'a T
    where
        Self: 'a;

    fn view<'a>(&'a self, _: &'a Call) -> &'a T {
        &self.view
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.contact,
            record: None,
        }
    }
}

impl Call {
    /// 200 with a record.
    pub(crate) fn ok(&self, record: &impl Personal) -> Result<Reply, ApiError> {
        Ok(Reply {
            shows: record.shown(),
            ..Reply::ok(&record.view(self))?
        })
    }

    /// 201 with a record.
    pub(crate) fn created(&self, record: &impl Personal) -> Result<Reply, ApiError> {
        Ok(Reply {
            shows: record.shown(),
            ..Reply::created(&record.view(self))?
        })
    }
}

/// A success of a single thing.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Envelope<T> {
    /// Always true.
    success: bool,
    /// The requested data.
    data: T,
}

/// A page of a list.
// The shape that `page` writes record by record.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct PageEnvelope<T> {
    /// Always true.
    success: bool,
    /// The records of the page.
    data: Vec<T>,
    /// Where the page lies.
    meta: PageMeta,
}

#[derive(Serialize, utoipa::ToSchema)]
struct PageMeta {
    pagination: Pagination,
}

/// Where a page lies in its list. Behind a cursor only `per_page` and `next_cursor` are shown.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Pagination {
    /// The page's number, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u64>,
    /// How many records a page has at most.
    per_page: u32,
    /// How many records the list has.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// How many pages the list has.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_pages: Option<i64>,
    /// What to send as `cursor` for the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

impl Pagination {
    fn new(list: ListName, request: &PageRequest, total: Option<i64>, next: Option<&Cursor>) -> Self {
        let number = match request.position {
            Position::Number(number) => Some(number),
            Position::After(_) => None,
        };
        let total = total.filter(|_| number.is_some());
        let per_page = i64::from(request.per_page);
        Self {
            page: number,
            per_page: request.per_page,
            total,
            total_pages: total.map(|total| (total + per_page - 1) / per_page),
            next_cursor: next.map(|cursor| cursor.encode(list)),
        }
    }
}

/// The answer to a deletion.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Deleted {
    /// The id of the record that is gone.
    id: i64,
    /// Always true.
    deleted: bool,
}

/// How many records are read at once at most, however small they are.
const MOST_AT_ONCE: u32 = 250;
/// About how many bytes of records are read at once, where those before them were so small that it is more than a few. Large answers
/// that are under way share them.
const BYTES_AT_ONCE: usize = 1024 * 1024;
/// The share of each, however many there are.
const LEAST_BYTES_AT_ONCE: usize = 128 * 1024;

/// How many answers with large records are under way.
#[derive(Default)]
pub(crate) struct LargeAnswers(AtomicUsize);

impl LargeAnswers {
    /// At least 1, so that the answer that asks can go on.
    fn under_way(&self) -> usize {
        self.0.load(Ordering::Relaxed).max(1)
    }

    /// How many records each of them may hold, so that all together hold no more than a few dozen.
    fn each(&self) -> u32 {
        let under_way = u32::try_from(self.under_way()).unwrap_or(u32::MAX);
        (LARGE_AT_ONCE / under_way).max(1)
    }

    /// How many bytes an answer reads at once, when it knows how large its records are.
    fn bytes_each(&self) -> usize {
        (BYTES_AT_ONCE / self.under_way()).max(LEAST_BYTES_AT_ONCE)
    }
}

/// One of them, until it is dropped.
struct LargeAnswer(Arc<Shared>);

impl LargeAnswer {
    fn begin(call: &Call) -> Self {
        let shared = Arc::clone(&call.worker.shared);
        shared.large_answers.0.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for LargeAnswer {
    fn drop(&mut self) {
        self.0.large_answers.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How large the records of a list are, and so how many of them are read at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordSize {
    /// Some hundred bytes, at most a few thousand.
    Small,
    /// Up to what a caller may store in one record.
    Large,
}

impl RecordSize {
    fn at_once(self, large: &LargeAnswers) -> u32 {
        match self {
            Self::Small => MOST_AT_ONCE,
            Self::Large => large.each(),
        }
    }
}

/// 200 with a page of a list. It is read part by part, each with `read` in a session of its own, which ends before the part
/// is sent: a slow reader holds no connection, and memory does not grow with the page. `show` appends a record to the body.
///
/// `read` may return fewer records than requested where these are large; its cursor then shows where to go on.
pub(crate) async fn page<T: 'static>(
    call: Call,
    list: ListName,
    request: PageRequest,
    size: RecordSize,
    read: impl AsyncFn(&Call, PageRequest) -> Result<Page<T>, ApiError> + 'static,
    show: impl Fn(&Call, &T, &mut Vec<u8>) -> Result<(), ApiError> + 'static,
) -> Result<Answer, ApiError> {
    let large = (size == RecordSize::Large).then(|| LargeAnswer::begin(&call));
    let pages = Pages {
        list,
        left: request.per_page,
        next: first_part(&request, size.at_once(&call.worker.shared.large_answers)),
        call,
        request,
        size,
        _large: large,
        total: None,
        shown: false,
        read,
        show,
    };
    let parts = try_unfold(Some(pages), async |pages| match pages {
        None => Ok(None),
        Some(mut pages) => {
            let (body, more) = pages.part().await?;
            Ok(Some((body, more.then_some(pages))))
        }
    });
    in_parts(parts).await
}

/// 200 with a body of these parts, which is sent in one piece if it is short.
pub(crate) async fn in_parts(
    parts: impl Stream<Item = Result<Vec<u8>, ApiError>> + 'static,
) -> Result<Answer, ApiError> {
    let mut parts = parts.boxed_local();
    let mut body = Vec::new();
    while body.len() < WHOLE_BYTES {
        match parts.next().await.transpose()? {
            None => return Ok(Reply::new(StatusCode::OK, body).into()),
            Some(part) if body.is_empty() => body = part,
            Some(part) => body.extend_from_slice(&part),
        }
    }
    let gathered = once(ready(Ok(body.into())));
    let rest = parts.map(|part| part.map(Bytes::from));
    Ok(Answer::Parts(Parts {
        parts: gathered.chain(rest).boxed_local(),
        etag: None,
        key: None,
        content_type: JSON,
    }))
}

/// The beginning of a page. One that is found by its number is found by another number too, if the size of the part divides
/// that of the page; what follows it is found by cursor.
fn first_part(request: &PageRequest, at_once: u32) -> PageRequest {
    let PageRequest { position, per_page } = request;
    let at_once = at_once.min(*per_page);
    match position {
        Position::Number(number @ 2..) => {
            let fitting = (1..=at_once).rev().find(|part| per_page.is_multiple_of(*part));
            let part = fitting.unwrap_or(1);
            let before = (number - 1).saturating_mul(u64::from(per_page / part));
            PageRequest {
                position: Position::Number(before.saturating_add(1)),
                per_page: part,
            }
        }
        Position::Number(_) | Position::After(_) => PageRequest {
            position: position.clone(),
            per_page: at_once,
        },
    }
}

/// A page that is being written.
struct Pages<R, S> {
    call: Call,
    list: ListName,
    request: PageRequest,
    size: RecordSize,
    _large: Option<LargeAnswer>,
    /// How many records may still be shown.
    left: u32,
    /// What is read next.
    next: PageRequest,
    /// How many records the list has.
    total: Option<i64>,
    /// Whether a record was shown.
    shown: bool,
    read: R,
    show: S,
}

impl<R, S> Pages<R, S> {
    /// The next part of the body, and whether another one follows.
    async fn part<T>(&mut self) -> Result<(Vec<u8>, bool), ApiError>
    where
        R: AsyncFn(&Call, PageRequest) -> Result<Page<T>, ApiError>,
        S: Fn(&Call, &T, &mut Vec<u8>) -> Result<(), ApiError>,
    {
        let begins = self.left == self.request.per_page && !self.shown;
        if !begins {
            // A read that need not wait does not let others run.
            yield_now().await;
        }
        let found = (self.read)(&self.call, self.next.clone()).await?;
        let mut body = Vec::with_capacity(USUAL_BYTES * (found.items.len() + 1));
        if begins {
            self.total = found.total;
            body.extend_from_slice(br#"{"success":true,"data":["#);
        }
        for (index, record) in found.items.iter().enumerate() {
            if index == 1 {
                body.reserve(body.len() * (found.items.len() - 1));
            }
            if self.shown {
                body.push(b',');
            }
            self.shown = true;
            (self.show)(&self.call, record, &mut body)?;
        }
        let count = u32::try_from(found.items.len()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(count);
        // Most large records are not that large: by the first ones is known how many more may be read at once.
        let mean = body.len() / found.items.len().max(1);
        let large = &self.call.worker.shared.large_answers;
        let affordable = u32::try_from(large.bytes_each() / mean.max(1)).unwrap_or(u32::MAX);
        if let Some(cursor) = found.next.as_ref().filter(|_| self.left > 0) {
            let at_once = self.size.at_once(large);
            self.next = PageRequest {
                position: Position::After(cursor.clone()),
                per_page: self.left.min(at_once.max(affordable.min(MOST_AT_ONCE))),
            };
            return Ok((body, true));
        }
        let pagination = Pagination::new(self.list, &self.request, self.total, found.next.as_ref());
        body.extend_from_slice(br#"],"meta":"#);
        append(&PageMeta { pagination }, None, &mut body)?;
        body.push(b'}');
        Ok((body, false))
    }
}

/// Appends a record to a body, or as much of it as `fields` names.
pub(crate) fn append(record: &impl Serialize, fields: Option<&Projection>, body: &mut Vec<u8>) -> Result<(), ApiError> {
    match fields {
        None => write(body, record),
        Some(fields) => write(body, &fields.apply(value(record)?)),
    }
}

fn enveloped(data: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    write(&mut body, &Envelope { success: true, data })?;
    Ok(body)
}

fn write(body: &mut Vec<u8>, data: &impl Serialize) -> Result<(), ApiError> {
    serde_json::to_writer(body, data).map_err(unwritable)
}

pub(crate) fn value(data: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(data).map_err(unwritable)
}

/// What is shown was stored, and what was stored can be read and written; so this is a fault of ours, to be logged as one.
pub(crate) fn unwritable(error: serde_json::Error) -> ApiError {
    ApiError::Store(StoreError::Other(BoxError::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(number: u64, per_page: u32, at_once: u32) -> (Option<i64>, u32) {
        let request = PageRequest {
            position: Position::Number(number),
            per_page,
        };
        let part = first_part(&request, at_once);
        assert_eq!(part.offset(), request.offset(), "{request:?}");
        (part.offset(), part.per_page)
    }

    #[test]
    fn a_page_begins_where_its_number_says_in_whatever_parts_it_is_read() {
        assert_eq!(first(1, 499, 25), (Some(0), 25));
        assert_eq!(first(3, 500, 25), (Some(1000), 25));
        assert_eq!(first(2, 499, 25), (Some(499), 1));
        assert_eq!(first(2, 50, 250), (Some(50), 50));
        assert_eq!(first(u64::MAX, 500, 25).0, Some(i64::MAX));
    }

    #[test]
    fn a_page_behind_a_cursor_begins_there() {
        let request = PageRequest {
            position: Position::After(Cursor::at([7])),
            per_page: 500,
        };
        let part = first_part(&request, 25);
        assert_eq!((part.position, part.per_page), (request.position, 25));
    }

    #[test]
    fn all_large_answers_hold_few_records_together() {
        let large = LargeAnswers::default();
        for (under_way, each) in [(1, 50), (2, 25), (20, 2), (1_000, 1)] {
            large.0.store(under_way, Ordering::Relaxed);
            assert_eq!(RecordSize::Large.at_once(&large), each);
            assert_eq!(RecordSize::Small.at_once(&large), 250);
        }
    }

    async fn answer(parts: Vec<Result<Vec<u8>, ApiError>>) -> Result<Answer, ApiError> {
        in_parts(futures_util::stream::iter(parts)).await
    }

    fn broken() -> ApiError {
        StoreError::Unavailable("gone".into()).into()
    }

    #[tokio::test]
    async fn a_short_answer_is_sent_in_one_piece_or_refused_as_a_whole() {
        let whole = answer(vec![Ok(b"[1".to_vec()), Ok(b",2]".to_vec())]).await;
        assert!(matches!(whole, Ok(Answer::Whole(reply)) if reply.body == "[1,2]"));
        let refused = answer(vec![Ok(b"[1".to_vec()), Err(broken())]).await;
        assert!(matches!(refused, Err(ApiError::Store(_))));
    }

    #[tokio::test]
    async fn a_long_answer_is_sent_in_parts_and_breaks_off_at_an_error() {
        let long = vec![b'x'; WHOLE_BYTES];
        let parts = vec![Ok(b"[".to_vec()), Ok(long.clone()), Ok(b"]".to_vec()), Err(broken())];
        let Ok(Answer::Parts(Parts { mut parts, .. })) = answer(parts).await else {
            panic!("it is long")
        };
        assert_eq!(parts.next().await.unwrap().unwrap().len(), 1 + long.len());
        assert_eq!(parts.next().await.unwrap().unwrap(), "]");
        assert!(parts.next().await.unwrap().is_err());
    }
}
