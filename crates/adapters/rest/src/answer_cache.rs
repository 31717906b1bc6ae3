//! Answers that many callers request, cached in memory as they were sent, compressed or plain.
//!
//! Reading a page of adverts takes some five times as long as sending it, and compressing it some fifty times as long as
//! reading it. The websites and feeds of a business request the same pages again and again until an advert changes. A cached
//! answer is found by the revision that it shows, so it is never out of date: each request reads the revision first.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    http::header::ContentEncoding,
};
use bytes::Bytes;
use forecourt_kernel::BusinessId;
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter, sync::Cache};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of bytes that all cached answers hold together.
const KEPT_BYTES: u64 = 12 * 1024 * 1024;
/// The maximum length of an answer that is cached.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of answers that are recorded for the cache at the same time.
const RECORDED_AT_ONCE: usize = 2;
/// The approximate length of a compressed page.
const USUAL_BYTES: u64 = 16 * 1024;

/// The content of an answer and its audience: two answers with the same key are the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct AnswerKey {
    pub(crate) business: BusinessId,
    /// The resource that is read: a word for each operation.
    pub(crate) resource: &'static str,
    pub(crate) query: String,
    /// The revision of everything that the answer is made of.
    pub(crate) revision: String,
}

type CodedKey = (AnswerKey, &'static str);

#[derive(Clone)]
struct ByBytes;

impl Weighter<CodedKey, Bytes> for ByBytes {
    fn weight(&self, (key, _): &CodedKey, body: &Bytes) -> u64 {
        (key.query.len() + key.revision.len() + size_of::<CodedKey>() + body.len()) as u64
    }
}

/// The cached answers.
pub(crate) struct AnswerCache {
    answers: Cache<CodedKey, Bytes, ByBytes>,
    recordings: Arc<Semaphore>,
}

impl Default for AnswerCache {
    fn default() -> Self {
        let usual = usize::try_from(KEPT_BYTES / USUAL_BYTES).unwrap_or(usize::MAX);
        // One shard: with several, each would have a part of the room, and could not keep a longer answer.
        let options = OptionsBuilder::new()
            .weight_capacity(KEPT_BYTES)
            .estimated_items_capacity(usual)
            .shards(1)
            .build();
        let answers = match options {
            Ok(options) => Cache::with_options(options, ByBytes, DefaultHashBuilder::default(), Default::default()),
            Err(_) => Cache::with_weighter(usual, KEPT_BYTES, ByBytes),
        };
        Self {
            answers,
            recordings: Arc::new(Semaphore::new(RECORDED_AT_ONCE)),
        }
    }
}

impl AnswerCache {
    /// Returns the answer, if it is cached in this coding.
    pub(crate) fn get(&self, key: &AnswerKey, coding: ContentEncoding) -> Option<Bytes> {
        self.answers.get(&(key.clone(), coding.as_str()))
    }

    /// Returns the same body, and caches it unchanged if it is in memory as a whole.
    pub(crate) fn keep_plain(&self, key: AnswerKey, body: BoxBody) -> BoxBody {
        match body.try_into_bytes() {
            Ok(bytes) => {
                let coding = ContentEncoding::Identity.as_str();
                self.answers.insert((key, coding), bytes.clone());
                BoxBody::new(bytes)
            }
            Err(body) => body,
        }
    }

    /// Returns the same body, and caches it once all of it was sent, if it is not too long and few others are being recorded.
    pub(crate) fn keep(self: &Arc<Self>, key: AnswerKey, coding: ContentEncoding, body: BoxBody) -> BoxBody {
        let Ok(permit) = Arc::clone(&self.recordings).try_acquire_owned() else {
            return body;
        };
        let recording = Recording {
            cache: Arc::clone(self),
            key: (key, coding.as_str()),
            bytes: Vec::new(),
            _permit: permit,
        };
        BoxBody::new(RecordingBody {
            body,
            recording: Some(recording),
        })
    }
}

/// The part of an answer that was sent so far.
struct Recording {
    cache: Arc<AnswerCache>,
    key: CodedKey,
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

/// A body that is recorded while it is sent.
struct RecordingBody {
    body: BoxBody,
    recording: Option<Recording>,
}

impl MessageBody for RecordingBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.get_mut();
        let polled = this.body.as_pin_mut().poll_next(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(part))) => {
                if let Some(recording) = &mut this.recording {
                    if recording.bytes.len() + part.len() > MAX_ANSWER_BYTES {
                        this.recording = None;
                    } else {
                        recording.bytes.extend_from_slice(part);
                    }
                }
            }
            // The body broke off, so the recording is incomplete.
            Poll::Ready(Some(Err(_))) => this.recording = None,
            Poll::Ready(None) => {
                if let Some(Recording { cache, key, bytes, .. }) = this.recording.take() {
                    cache.answers.insert(key, bytes.into());
                }
            }
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use actix_web::body::{BodyStream, to_bytes};
    use futures_util::stream::iter;

    use super::*;

    const BR: ContentEncoding = ContentEncoding::Brotli;

    fn key(business: i64, query: &str, revision: &str) -> AnswerKey {
        AnswerKey {
            business: BusinessId::new(business),
            resource: "listings",
            query: query.to_owned(),
            revision: revision.to_owned(),
        }
    }

    fn body(parts: Vec<Result<Bytes, std::io::Error>>) -> BoxBody {
        BoxBody::new(BodyStream::new(iter(parts)))
    }

    async fn sent(cache: &Arc<AnswerCache>, key: &AnswerKey, parts: Vec<Result<Bytes, std::io::Error>>) {
        to_bytes(cache.keep(key.clone(), BR, body(parts))).await.ok();
    }

    #[tokio::test]
    async fn an_answer_is_cached_for_the_same_query_at_the_same_revision() {
        let cache = Arc::new(AnswerCache::default());
        let requested = key(1, "page=2", "7");
        sent(&cache, &requested, vec![Ok("one ".into()), Ok("two".into())]).await;
        assert_eq!(cache.get(&requested, BR).unwrap(), "one two");
        assert_eq!(cache.get(&requested, ContentEncoding::Gzip), None);
        for other in [key(2, "page=2", "7"), key(1, "page=3", "7"), key(1, "page=2", "8")] {
            assert_eq!(cache.get(&other, BR), None);
        }
    }

    #[tokio::test]
    async fn a_plain_answer_is_kept_if_it_is_in_memory() {
        let cache = AnswerCache::default();
        let requested = key(1, "", "7");
        let streamed = cache.keep_plain(requested.clone(), body(vec![Ok("one".into())]));
        assert_eq!(to_bytes(streamed).await.unwrap(), "one");
        assert_eq!(cache.get(&requested, ContentEncoding::Identity), None);
        let whole = cache.keep_plain(requested.clone(), BoxBody::new("one"));
        assert_eq!(to_bytes(whole).await.unwrap(), "one");
        assert_eq!(cache.get(&requested, ContentEncoding::Identity).unwrap(), "one");
        assert_eq!(cache.get(&requested, BR), None);
    }

    #[tokio::test]
    async fn what_broke_off_or_is_too_long_is_not_kept() {
        let cache = Arc::new(AnswerCache::default());
        let broken = key(1, "", "1");
        sent(
            &cache,
            &broken,
            vec![Ok("one".into()), Err(std::io::Error::other("gone"))],
        )
        .await;
        assert_eq!(cache.get(&broken, BR), None);
        let long = key(1, "", "2");
        let half = Bytes::from(vec![b'x'; MAX_ANSWER_BYTES / 2 + 1]);
        sent(&cache, &long, vec![Ok(half.clone()), Ok(half.clone())]).await;
        assert_eq!(cache.get(&long, BR), None);
        drop(cache.keep(long.clone(), BR, body(vec![Ok(half.clone())])));
        assert_eq!(cache.get(&long, BR), None, "an answer that was not read to its end");
    }

    #[tokio::test]
    async fn memory_is_bounded() {
        let cache = Arc::new(AnswerCache::default());
        let part = Bytes::from(vec![b'x'; MAX_ANSWER_BYTES]);
        for revision in 0..8 {
            sent(&cache, &key(1, "", &revision.to_string()), vec![Ok(part.clone())]).await;
        }
        assert!(cache.answers.weight() <= KEPT_BYTES, "{}", cache.answers.weight());
        assert!(cache.answers.len() >= 2);
        let open = body(Vec::new());
        let _recordings: Vec<_> = (0..RECORDED_AT_ONCE)
            .map(|_| cache.keep(key(1, "", "9"), BR, body(Vec::new())))
            .collect();
        to_bytes(cache.keep(key(1, "", "10"), BR, open)).await.unwrap();
        assert_eq!(cache.get(&key(1, "", "10"), BR), None);
    }
}
