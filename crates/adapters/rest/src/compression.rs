//! Compression of answers for callers that accept it (decisions §3, "Strict handling, versions, browsers").
//!
//! Small answers are left alone: they would gain nothing. Long ones are compressed as they are written, chunk by chunk on
//! threads that no other request waits for, so that memory does not grow with them.

use std::sync::Arc;

use actix_http::encoding::Encoder;
use actix_web::{
    HttpRequest, HttpResponse,
    body::{BodySize, BodyStream, MessageBody},
    http::{
        Method,
        header::{self, AcceptEncoding, ContentEncoding, Encoding, Header as _, HeaderValue, Preference, Quality},
    },
};
use bytes::Bytes;
use futures_util::stream::empty;

use crate::{
    answer_cache::{AnswerCache, AnswerKey},
    cors::vary_by,
};

/// The length in bytes up to which answers are sent uncompressed.
const SMALL_BYTES: u64 = 1024;

/// The codings that a caller prefers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Codings {
    /// The coding for an answer that is in memory as a whole.
    whole: Option<ContentEncoding>,
    /// The coding for an answer that is written as it is read.
    streamed: Option<ContentEncoding>,
}

impl Codings {
    /// Negotiates the codings. On a tie, Brotli makes the shorter answer, and gzip takes little memory for a long one.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        use ContentEncoding::{Brotli, Gzip, Identity};
        if !request.headers().contains_key(header::ACCEPT_ENCODING) {
            return Self::default();
        }
        let Ok(AcceptEncoding(accepted)) = AcceptEncoding::parse(request) else {
            return Self::default();
        };
        let named = |coding: ContentEncoding| {
            let named = Preference::Specific(Encoding::Known(coding));
            accepted.iter().find(|item| item.item == named)
        };
        let any = || accepted.iter().find(|item| item.item == Preference::Any);
        let quality = |coding| named(coding).or_else(any).map_or(Quality::ZERO, |item| item.quality);
        let plain = named(Identity).map_or(Quality::ZERO, |item| item.quality);
        let (brotli, gzip) = (quality(Brotli), quality(Gzip));
        let best = brotli.max(gzip);
        let is_taken = best > Quality::ZERO && best >= plain;
        Self {
            whole: is_taken.then_some(if gzip > brotli { Gzip } else { Brotli }),
            streamed: is_taken.then_some(if brotli > gzip { Brotli } else { Gzip }),
        }
    }

    /// Returns the codings in the order in which an answer may be cached in them; identity, if the caller prefers plain
    /// answers.
    pub(crate) fn iter(self) -> impl Iterator<Item = ContentEncoding> {
        let plain = (self.whole.is_none() && self.streamed.is_none()).then_some(ContentEncoding::Identity);
        self.whole.into_iter().chain(self.streamed).chain(plain)
    }
}

/// Returns the same answer, compressed if it is long and its caller accepts that. An answer with a cache key is stored for
/// other callers.
pub(crate) fn compressed(request: &HttpRequest, mut response: HttpResponse, cache: &Arc<AnswerCache>) -> HttpResponse {
    let key = response.extensions_mut().remove::<AnswerKey>();
    // It was compressed before, for another caller.
    if response.headers().contains_key(header::CONTENT_ENCODING) {
        vary_by(response.headers_mut(), "Accept-Encoding");
        return response;
    }
    let streamed = match response.body().size() {
        BodySize::None | BodySize::Sized(..=SMALL_BYTES) => return response,
        BodySize::Sized(_) => false,
        BodySize::Stream => true,
    };
    // An answer that can be read in ranges, or has a name, is a file, in a compressed format of its own.
    let is_file = |name: &_| response.headers().contains_key(name);
    if [header::ACCEPT_RANGES, header::CONTENT_DISPOSITION].iter().any(is_file) {
        return response;
    }
    vary_by(response.headers_mut(), "Accept-Encoding");
    let codings = Codings::of(request);
    let Some(encoding) = (if streamed { codings.streamed } else { codings.whole }) else {
        return match key {
            Some(key) => response.map_body(|_, body| cache.keep_plain(key, body)),
            None => response,
        };
    };
    if request.method() == Method::HEAD {
        // HEAD has the header fields of the answer to GET, but its body is not made.
        let value = HeaderValue::from_static(encoding.as_str());
        response.headers_mut().insert(header::CONTENT_ENCODING, value);
        let nothing = BodyStream::new(empty::<Result<Bytes, std::convert::Infallible>>());
        return response.set_body(nothing).map_into_boxed_body();
    }
    let vary = response.headers().get(header::VARY).cloned();
    let mut response = response.map_body(|head, body| Encoder::response(encoding, head, body));
    // The encoder adds a line of its own.
    if let Some(vary) = vary {
        response.headers_mut().insert(header::VARY, vary);
    }
    let response = response.map_into_boxed_body();
    match key {
        Some(key) => response.map_body(|_, body| cache.keep(key, encoding, body)),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn the_coding_that_is_liked_best_is_taken() {
        use ContentEncoding::{Brotli, Gzip};
        for (accepted, whole, streamed) in [
            ("", None, None),
            ("identity", None, None),
            ("deflate, zstd", None, None),
            ("gzip", Some(Gzip), Some(Gzip)),
            ("br", Some(Brotli), Some(Brotli)),
            ("gzip, deflate, br, zstd", Some(Brotli), Some(Gzip)),
            ("GZIP;q=0.8, br;q=0.5", Some(Gzip), Some(Gzip)),
            ("gzip;q=0, br;q=0.001", Some(Brotli), Some(Brotli)),
            ("gzip;q=0, *", Some(Brotli), Some(Brotli)),
            ("*", Some(Brotli), Some(Gzip)),
            ("*;q=0", None, None),
            ("gzip;q=0.5, identity;q=0.9", None, None),
            ("gzip;q=1.5", None, None),
        ] {
            let request = TestRequest::get()
                .insert_header((header::ACCEPT_ENCODING, accepted))
                .to_http_request();
            assert_eq!(Codings::of(&request), Codings { whole, streamed }, "{accepted}");
        }
        assert_eq!(Codings::of(&TestRequest::get().to_http_request()), Codings::default());
    }
}
