//! Answers, in the contract's envelopes ("Common rules" 2 and 4).

use actix_web::http::{StatusCode, header::ContentEncoding};
use bytes::Bytes;
use forecourt_accounts::{Shown, StoredResponse};
use forecourt_kernel::{BoxError, Projection, StoreError};
use futures_util::{Stream, StreamExt, stream::LocalBoxStream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{answer_cache::AnswerKey, error::ApiError, help::HelpPages, schemas};

/// The initial capacity of a body: most single records fit.
const USUAL_BYTES: usize = 1024;
/// The maximum length of a body that is collected before it is sent.
const WHOLE_BYTES: usize = 256 * 1024;

/// The content type of bodies that declare no other.
const JSON: &str = "application/json";

/// The answer of a handler.
pub(crate) struct Answer {
    /// The whole body, or its beginning.
    pub(crate) reply: Reply,
    /// The rest of a body that is written as it is read. It breaks off at an error.
    pub(crate) rest: Option<LocalBoxStream<'static, Result<Bytes, ApiError>>>,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, rest: None }
    }
}

impl Answer {
    /// Returns the same answer with an entity tag.
    pub(crate) fn tagged(mut self, etag: Option<String>) -> Self {
        self.reply.etag = etag;
        self
    }

    /// Returns the same answer with a body that is not JSON.
    pub(crate) fn typed(mut self, content_type: &'static str) -> Self {
        self.reply.content_type = content_type;
        self
    }

    /// Returns the same answer as a file of that name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.reply.filename = Some(name.into());
        self
    }

    /// Returns the same answer, to be cached under `key` for other callers.
    pub(crate) fn cached_under(mut self, key: AnswerKey) -> Self {
        self.reply.key = Some(key);
        self
    }
}

/// An answer that is in memory as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// True if it was given before, to a request with the same idempotency key.
    pub(crate) replayed: bool,
    /// The contact and the record whose personal data it may show; not set for answers to reads.
    pub(crate) shows: Shown,
    /// The entity tag of its content.
    pub(crate) etag: Option<String>,
    /// The key under which it is cached for other callers.
    pub(crate) key: Option<AnswerKey>,
    /// The coding in which the body is already compressed.
    pub(crate) coding: Option<ContentEncoding>,
    pub(crate) content_type: &'static str,
    /// The name of the file that the body is.
    pub(crate) filename: Option<Box<str>>,
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
            filename: None,
        }
    }

    /// Returns 200 with a body from the cache, in this coding.
    pub(crate) fn cached(body: Bytes, coding: ContentEncoding) -> Self {
        Self {
            body,
            coding: (coding != ContentEncoding::Identity).then_some(coding),
            ..Self::new(StatusCode::OK, Vec::new())
        }
    }

    /// Returns 200 with `data`.
    pub(crate) fn ok(data: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::new(StatusCode::OK, enveloped(data)?))
    }

    /// Returns 200 with the part of `data` that `fields` names.
    pub(crate) fn projected(data: &impl Serialize, fields: Option<&Projection>) -> Result<Self, ApiError> {
        match fields {
            None => Self::ok(data),
            Some(fields) => Self::ok(&fields.apply(value(data)?)),
        }
    }

    /// Returns 200 with a file. Its name is of letters, digits, dots and hyphens.
    pub(crate) fn file(content: Vec<u8>, content_type: &'static str, name: String) -> Self {
        Self {
            content_type,
            filename: Some(name.into()),
            ..Self::new(StatusCode::OK, content)
        }
    }

    /// Returns 304: the caller has the version that `etag` names.
    pub(crate) fn not_modified(etag: String) -> Self {
        Self::new(StatusCode::NOT_MODIFIED, Vec::new()).tagged(etag)
    }

    /// Returns the same answer with an entity tag.
    pub(crate) fn tagged(self, etag: String) -> Self {
        Self {
            etag: Some(etag),
            ..self
        }
    }

    /// Returns 201 with the record that was created.
    pub(crate) fn created(data: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::new(StatusCode::CREATED, enveloped(data)?))
    }

    /// Returns 200 with `{id, deleted: true}`.
    pub(crate) fn deleted(id: i64) -> Result<Self, ApiError> {
        Self::ok(&Deleted { id, deleted: true })
    }

    /// Returns an answer that was stored for a retry.
    pub(crate) fn replay(stored: StoredResponse) -> Self {
        let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
        Self {
            replayed: true,
            ..Self::new(status, stored.body)
        }
    }

    /// Returns the same answer, with members removed from the record that it shows.
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

    /// Returns the path of the record that it shows: the outcome of `path` on its id or its code.
    pub(crate) fn location(&self, created: Created, path: impl FnOnce(&str) -> String) -> Option<String> {
        #[derive(Deserialize)]
        struct Record {
            data: Located,
        }
        #[derive(Deserialize)]
        struct Located {
            id: Option<Value>,
            code: Option<Value>,
        }
        if created == Created::Unreadable {
            return None;
        }
        let Record { data } = serde_json::from_slice(&self.body).ok()?;
        let name = if created == Created::Code { data.code } else { data.id };
        match name? {
            Value::String(id) => Some(path(&id)),
            Value::Number(id) => Some(path(&id.to_string())),
            _ => None,
        }
    }

    /// Returns the answer in the form that is stored for a retry.
    pub(crate) fn to_stored(&self) -> StoredResponse {
        StoredResponse {
            status: self.status.as_u16(),
            body: self.body.to_vec(),
        }
    }

    /// Returns the answer to a request that was refused.
    pub(crate) fn refusal(error: ApiError, help: &HelpPages) -> Self {
        let refusal = error.into_refusal();
        let mut envelope = refusal.to_json();
        envelope["error"]["details"]["help"] = help.of(refusal.code).into();
        Self::new(refusal.code.status(), envelope.to_string().into_bytes())
    }
}

/// The member in the answer to a creation that ends the path of the new record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Created {
    /// Its id.
    Id,
    /// Its id, in this collection, which is not that of the request.
    IdIn(&'static str),
    /// Its code.
    Code,
    /// None: it cannot be read by itself.
    Unreadable,
}

/// A successful answer with a single value.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Envelope<T> {
    /// Always true.
    #[schema(schema_with = schemas::success)]
    success: bool,
    /// The requested data.
    data: T,
}

/// The answer to a deletion.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Deleted {
    /// The id of the deleted record.
    id: i64,
    /// Always true.
    deleted: bool,
}

/// Returns 200 with a body of these parts, which is sent in one piece if it is short.
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
    Ok(Answer {
        reply: Reply::new(StatusCode::OK, body),
        rest: Some(parts.map(|part| part.map(Bytes::from)).boxed_local()),
    })
}

/// Writes the envelope of an array around its elements, which may come in several parts of a body.
#[derive(Default)]
pub(crate) struct EnvelopeWriter {
    /// True once an element was written.
    pub(crate) has_begun: bool,
}

impl EnvelopeWriter {
    const HEAD: &[u8] = br#"{"success":true,"data":["#;

    /// Writes the text before the next element.
    pub(crate) fn element(&mut self, body: &mut Vec<u8>) {
        body.extend_from_slice(if self.has_begun { b"," } else { Self::HEAD });
        self.has_begun = true;
    }

    /// Writes the text after the last element.
    pub(crate) fn end(&self, meta: &impl Serialize, body: &mut Vec<u8>) -> Result<(), ApiError> {
        if !self.has_begun {
            body.extend_from_slice(Self::HEAD);
        }
        body.extend_from_slice(br#"],"meta":"#);
        append(meta, None, body)?;
        body.push(b'}');
        Ok(())
    }
}

/// Appends a record to a body, or the part of it that `fields` names.
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

/// Returns the failure of writing a record. It was stored, and stored records can be read and written, so this is a fault of
/// ours, to be logged as one.
pub(crate) fn unwritable(error: serde_json::Error) -> ApiError {
    ApiError::Store(StoreError::Other(BoxError::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_whole_with_any_number_of_elements() {
        let written = |count: usize| {
            let (mut envelope, mut body) = (EnvelopeWriter::default(), Vec::new());
            for _ in 0..count {
                envelope.element(&mut body);
                body.push(b'1');
            }
            envelope.end(&count, &mut body).unwrap();
            String::from_utf8(body).unwrap()
        };
        assert_eq!(written(0), r#"{"success":true,"data":[],"meta":0}"#);
        assert_eq!(written(1), r#"{"success":true,"data":[1],"meta":1}"#);
        assert_eq!(written(2), r#"{"success":true,"data":[1,1],"meta":2}"#);
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
        assert!(matches!(whole, Ok(Answer { reply, rest: None }) if reply.body == "[1,2]"));
        let refused = answer(vec![Ok(b"[1".to_vec()), Err(broken())]).await;
        assert!(matches!(refused, Err(ApiError::Store(_))));
    }

    #[tokio::test]
    async fn a_long_answer_is_sent_in_parts_and_breaks_off_at_an_error() {
        let long = vec![b'x'; WHOLE_BYTES];
        let parts = vec![Ok(b"[".to_vec()), Ok(long.clone()), Ok(b"]".to_vec()), Err(broken())];
        let Ok(Answer {
            reply,
            rest: Some(mut rest),
        }) = answer(parts).await
        else {
            panic!("it is long")
        };
        assert_eq!(reply.body.len(), 1 + long.len());
        assert_eq!(rest.next().await.unwrap().unwrap(), "]");
        assert!(rest.next().await.unwrap().is_err());
    }
}
