//! Answers, in the contract's envelopes ("Common rules" 2 and 4).

use actix_web::http::StatusCode;
use bytes::Bytes;
use forecourt_accounts::{Shown, ShownRecord, StoredResponse};
use forecourt_kernel::{BoxError, ContactId, ListName, Page, PageRequest, Position, Projection, StoreError};
use serde::Serialize;
use serde_json::Value;

use crate::error::ApiError;

/// How much room a body starts with: most single records fit.
const USUAL_BYTES: usize = 1024;

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// Whether it was given before, to a request with the same idempotency key.
    pub(crate) replayed: bool,
    /// Whose personal data it shows, apart from what only reads.
    pub(crate) shows: Shown,
}

impl Reply {
    fn new(status: StatusCode, body: Vec<u8>) -> Self {
        Self {
            status,
            body: body.into(),
            replayed: false,
            shows: Shown::default(),
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

    /// 201 with the record that was made.
    pub(crate) fn created(data: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::new(StatusCode::CREATED, enveloped(data)?))
    }

    /// 200 with `{id, deleted: true}`.
    pub(crate) fn deleted(id: i64) -> Result<Self, ApiError> {
        Self::ok(&Deleted { id, deleted: true })
    }

    /// 200 with a page of a list, each record shown by `show`.
    pub(crate) fn page<'a, T, V: Serialize>(
        list: ListName,
        request: &PageRequest,
        page: &'a Page<T>,
        fields: Option<&Projection>,
        show: impl Fn(&'a T) -> V,
    ) -> Result<Self, ApiError> {
        let pagination = Pagination::new(list, request, page);
        Self::part(page.items.iter().map(show), &PageMeta { pagination }, fields)
    }

    /// 200 with some records, and what is to be said of them.
    pub(crate) fn part<V: Serialize>(
        records: impl ExactSizeIterator<Item = V>,
        meta: &impl Serialize,
        fields: Option<&Projection>,
    ) -> Result<Self, ApiError> {
        written(records, meta, |record, body| match fields {
            None => write(body, &record),
            Some(fields) => write(body, &fields.apply(value(&record)?)),
        })
    }

    /// 200 with a page of a list whose records are JSON already, each of which `show` appends.
    pub(crate) fn previews<T>(
        list: ListName,
        request: &PageRequest,
        page: &Page<T>,
        show: impl Fn(&T, &mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<Self, ApiError> {
        let pagination = Pagination::new(list, request, page);
        written(page.items.iter(), &PageMeta { pagination }, |item, body| {
            show(item, body).map_err(unwritable)
        })
    }

    /// An answer that was stored for a retry.
    pub(crate) fn replay(stored: StoredResponse) -> Self {
        let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
        Self {
            status,
            body: stored.body.into(),
            replayed: true,
            shows: Shown::default(),
        }
    }

    /// The same answer, known to show the personal data of that contact: once it is erased, a retry shows it no more.
    pub(crate) fn showing(self, contact: impl Into<Option<ContactId>>) -> Self {
        let contact = contact.into();
        Self {
            shows: Shown { contact, ..self.shows },
            ..self
        }
    }

    /// The same answer, known to show that record: once the contact is erased that the record is linked to by then, a retry shows
    /// neither.
    pub(crate) fn about(self, record: ShownRecord) -> Self {
        let record = Some(record);
        Self {
            shows: Shown { record, ..self.shows },
            ..self
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
    pub(crate) fn refusal(error: ApiError) -> Self {
        let refusal = error.into_refusal();
        Self::new(refusal.code.status(), refusal.to_json().to_string().into_bytes())
    }
}

/// A success of a single thing.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Envelope<T> {
    /// Always true.
    success: bool,
    /// What was asked for.
    data: T,
}

/// A success of a list: the shape that [`Reply::page`] writes record by record.
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

/// Where a page lies in its list. Behind a cursor only `per_page` and `next_cursor` are told.
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
    fn new<T>(list: ListName, request: &PageRequest, page: &Page<T>) -> Self {
        let number = match request.position {
            Position::Number(number) => Some(number),
            Position::After(_) => None,
        };
        let total = page.total.filter(|_| number.is_some());
        let per_page = i64::from(request.per_page);
        Self {
            page: number,
            per_page: request.per_page,
            total,
            total_pages: total.map(|total| (total + per_page - 1) / per_page),
            next_cursor: page.next.as_ref().map(|cursor| cursor.encode(list)),
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

/// An answer of some records, each of which `show` appends.
fn written<T>(
    records: impl ExactSizeIterator<Item = T>,
    meta: &impl Serialize,
    show: impl Fn(T, &mut Vec<u8>) -> Result<(), ApiError>,
) -> Result<Reply, ApiError> {
    let mut body = Vec::with_capacity(USUAL_BYTES * (records.len() + 1));
    body.extend_from_slice(br#"{"success":true,"data":["#);
    for (at, record) in records.enumerate() {
        if at > 0 {
            body.push(b',');
        }
        show(record, &mut body)?;
    }
    body.extend_from_slice(br#"],"meta":"#);
    write(&mut body, meta)?;
    body.push(b'}');
    Ok(Reply::new(StatusCode::OK, body))
}

fn enveloped(data: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    write(&mut body, &Envelope { success: true, data })?;
    Ok(body)
}

fn write(body: &mut Vec<u8>, data: &impl Serialize) -> Result<(), ApiError> {
    serde_json::to_writer(body, data).map_err(unwritable)
}

fn value(data: &impl Serialize) -> Result<Value, ApiError> {
    serde_json::to_value(data).map_err(unwritable)
}

/// What is shown was stored, and what was stored can be written; so this is a fault of ours, to be logged as one.
fn unwritable(error: serde_json::Error) -> ApiError {
    ApiError::Store(StoreError::Other(BoxError::from(error)))
}
