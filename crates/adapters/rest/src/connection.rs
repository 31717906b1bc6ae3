//! A caller's connection, as HTTP sees it.
//!
//! actix-http answers a request that it cannot read (a head that is too long or malformed, or too many header lines) with a
//! bare status. Before it does, it holds up to 128 KiB of a head. [`Connection`] stands between it and the socket and follows
//! the bytes of each head. It refuses a head that is too long before the rest of it is read, and replaces the answers of
//! actix-http by the error envelope.

use std::{
    cell::{Cell, RefCell},
    io,
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use actix_web::{
    body::{BodySize, MessageBody},
    http::header::{self, HeaderMap},
    rt::net::TcpStream,
};
use bytes::Bytes;
use forecourt_kernel::bounds::{MAX_HEADER_BYTES, MAX_TARGET_BYTES};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use crate::code::Code;

/// The maximum length of a request line: a target with the method, the version and the spaces around it.
const MAX_LINE_BYTES: usize = MAX_TARGET_BYTES + 64;
/// The maximum length of a head that is read. It exceeds the documented limits, so that the pipeline answers most heads above
/// them, with the request's own name, and the connection stays open.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const _: () = assert!(MAX_HEAD_BYTES > MAX_LINE_BYTES + MAX_HEADER_BYTES);
/// The number of bytes that are read before actix-http sees them. Otherwise it reads 128 KiB first.
const READ_BYTES: usize = 8 * 1024;
/// The number of bytes of a refused request that are read and discarded, so that its sender can read the answer.
pub(crate) const DRAINED_BYTES: usize = 4 * 1024 * 1024;
/// The maximum time for reading and discarding them.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the full text of the answer to a request that never reached the pipeline.
pub(crate) type Refuse = Rc<dyn Fn(Refused) -> Bytes>;

/// A request that is refused before it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    pub(crate) code: Code,
    /// True for a HEAD request, whose answer has no body.
    pub(crate) head_only: bool,
    /// The time since its first byte arrived; `None` if nothing was sent at all.
    pub(crate) age: Option<Duration>,
    /// The peer's address: the caller's, or that of a proxy, whose header on the caller was not read.
    pub(crate) address: Option<IpAddr>,
}

/// The progress of a connection with its requests.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    begun: Cell<u64>,
    finished: Cell<u64>,
    /// True if the latest request has a body that has not been read to its end.
    unread: Cell<bool>,
    /// True if the last request line is longer than the limit. It includes the fragment, which HTTP does not pass on.
    long_line: Cell<bool>,
    /// True while incoming bytes are left in the system's buffer.
    is_held_back: Cell<bool>,
    /// Wakes the reader once it is false.
    reader: RefCell<Option<Waker>>,
}

impl Progress {
    /// Records that a request begins; it ends when the returned value is dropped.
    pub(crate) fn begin(self: &Rc<Self>, has_body: bool) -> Exchange {
        self.begun.set(self.begun.get() + 1);
        self.unread.set(has_body);
        Exchange(Rc::clone(self))
    }

    /// Returns true if the latest request line is too long. It is reported once.
    pub(crate) fn take_long_line(&self) -> bool {
        self.long_line.take()
    }

    /// Pauses reading until the returned value is dropped. For a request that waits, actix-http reads 128 KiB ahead, which
    /// takes twice as much memory: 200 uploads that waited took 55 MB, and take 15 MB with this.
    pub(crate) fn hold_back(self: &Rc<Self>) -> PausedReading {
        self.is_held_back.set(true);
        PausedReading(Rc::clone(self))
    }

    /// Records that the body of the latest request was read to its end.
    pub(crate) fn body_was_read(&self) {
        self.unread.set(false);
    }
}

/// Returns true if a body follows a head with these fields.
pub(crate) fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get(header::CONTENT_LENGTH)
            .is_some_and(|length| length.as_bytes() != b"0")
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Exchange(Rc<Progress>);

impl Exchange {
    /// Returns true if it is answered before its body was read: then the connection can serve no other request.
    pub(crate) fn leaves_body_unread(&self) -> bool {
        self.0.unread.get()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.finished.set(self.0.finished.get() + 1);
    }
}

/// A pause in reading from a connection.
#[derive(Debug)]
pub(crate) struct PausedReading(Rc<Progress>);

impl Drop for PausedReading {
    fn drop(&mut self) {
        self.0.is_held_back.set(false);
        if let Some(reader) = self.0.reader.take() {
            reader.wake();
        }
    }
}

/// A body that ends its exchange when it has been written or given up.
pub(crate) struct Tracked<B> {
    body: B,
    _exchange: Option<Exchange>,
}

impl<B> Tracked<B> {
    pub(crate) const fn new(body: B, exchange: Option<Exchange>) -> Self {
        Self {
            body,
            _exchange: exchange,
        }
    }
}

impl<B: MessageBody + Unpin> MessageBody for Tracked<B> {
    type Error = B::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_next(cx)
    }
}

/// The state of a head while it arrives.
#[derive(Debug)]
struct Head {
    bytes: usize,
    /// Bytes of the request line so far.
    line: usize,
    line_ended: bool,
    /// True if the line that is arriving is still empty.
    blank: bool,
    ended: bool,
    /// The first bytes, which identify the method.
    start: [u8; 5],
}

impl Default for Head {
    fn default() -> Self {
        Self {
            bytes: 0,
            line: 0,
            line_ended: false,
            blank: true,
            ended: false,
            start: [0; 5],
        }
    }
}

impl Head {
    fn follow(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.ended {
                return;
            }
            match byte {
                b'\n' if self.blank => self.ended = self.line_ended,
                b'\n' => (self.line_ended, self.blank) = (true, true),
                b'\r' => {}
                _ => self.blank = false,
            }
            // Empty lines before a request are ignored.
            if self.line_ended || !self.blank {
                if let Some(start) = self.start.get_mut(self.bytes) {
                    *start = byte;
                }
                self.bytes += 1;
                self.line += usize::from(!self.line_ended);
            }
        }
    }

    /// Returns true if it is longer than the maximum that is read.
    const fn is_too_long(&self) -> bool {
        self.bytes > MAX_HEAD_BYTES
    }

    /// Returns the code for the part that makes it too long.
    const fn excess(&self) -> Code {
        if self.line > MAX_LINE_BYTES {
            Code::URI_TOO_LONG
        } else {
            Code::HEADERS_TOO_LARGE
        }
    }
}

/// A caller's connection.
pub(crate) struct Connection {
    /// `None` once the caller has received its last answer: from then on HTTP sees the connection as ended.
    stream: Option<TcpStream>,
    refuse: Refuse,
    progress: Rc<Progress>,
    /// The number of requests that have been answered completely.
    answered: u64,
    head: Head,
    /// The number of the request that `head` belongs to.
    head_of: u64,
    /// The time at which the first byte of `head` arrived.
    head_began: Option<Instant>,
    /// The number of bytes read since the socket was last empty, or since the last pause.
    read: usize,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, refuse: Refuse) -> Self {
        Self {
            stream: Some(stream),
            refuse,
            progress: Rc::default(),
            answered: 0,
            head: Head::default(),
            head_of: 0,
            head_began: None,
            read: 0,
        }
    }

    /// Returns the progress of its requests.
    pub(crate) fn progress(&self) -> Rc<Progress> {
        Rc::clone(&self.progress)
    }

    /// Returns true if no request is being read or answered, except one whose head is arriving.
    fn is_between_requests(&self) -> bool {
        self.answered == self.progress.begun.get()
    }

    /// Answers the request whose head is arriving, and ends the connection.
    fn refuse(&mut self, code: Code) {
        if let Some(stream) = self.stream.take() {
            let answer = (self.refuse)(Refused {
                code,
                head_only: self.head.start == *b"HEAD ",
                age: self.head_began.map(|began| began.elapsed()),
                address: stream.peer_addr().ok().map(|peer| peer.ip().to_canonical()),
            });
            actix_web::rt::spawn(part_from(stream, answer));
        }
    }

    /// Returns the code of a refusal by actix-http itself, if `bytes` begin with one.
    fn own_refusal(&self, bytes: &[u8]) -> Option<Code> {
        let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
        match status {
            // It treats a target that it has no room for as malformed.
            b"400" if self.head.line > MAX_LINE_BYTES => Some(Code::URI_TOO_LONG),
            b"400" => Some(Code::REQUEST_INVALID),
            b"408" => Some(Code::REQUEST_TIMEOUT),
            // It also sends this for more lines than it has room for.
            b"431" => Some(self.head.excess()),
            _ => None,
        }
    }
}

/// Sends a last answer and closes the connection. Further bytes from the caller are discarded for a while: closing at once
/// would reset the connection, and the caller could not read the answer.
async fn part_from(mut stream: TcpStream, answer: Bytes) {
    let parting = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        let mut sink = [0; 8 * 1024];
        let mut drained = 0;
        while drained < DRAINED_BYTES {
            match stream.read(&mut sink).await? {
                0 => break,
                length => drained += length,
            }
        }
        io::Result::Ok(())
    };
    // Any failure here ends the connection.
    drop(tokio::time::timeout(LINGER_TIMEOUT, parting).await);
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(stream) = &mut this.stream else {
            return Poll::Ready(Ok(()));
        };
        if this.progress.is_held_back.get() {
            this.progress.reader.replace(Some(cx.waker().clone()));
            return Poll::Pending;
        }
        if this.read >= READ_BYTES {
            this.read = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let Poll::Ready(read) = Pin::new(stream).poll_read(cx, buf) else {
            this.read = 0;
            return Poll::Pending;
        };
        read?;
        this.read += buf.filled().len() - before;
        if this.is_between_requests() {
            if this.head_of != this.answered {
                (this.head, this.head_of, this.head_began) = (Head::default(), this.answered, None);
            }
            this.head.follow(buf.filled().get(before..).unwrap_or_default());
            if this.head.bytes > 0 {
                this.head_began.get_or_insert_with(Instant::now);
            }
            this.progress.long_line.set(this.head.line > MAX_LINE_BYTES);
            if !this.head.ended && this.head.is_too_long() {
                buf.set_filled(before);
                this.refuse(this.head.excess());
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // Between requests only actix-http writes answers.
        if this.is_between_requests()
            && let Some(code) = this.own_refusal(bytes)
        {
            this.refuse(code);
        }
        match &mut this.stream {
            Some(stream) => Pin::new(stream).poll_write(cx, bytes),
            None => Poll::Ready(Ok(bytes.len())),
        }
    }

    /// Called when all pending bytes have been written.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let begun = this.progress.begun.get();
        if begun == this.progress.finished.get() {
            this.answered = begun;
            if this.progress.unread.get()
                && let Some(stream) = this.stream.take()
            {
                actix_web::rt::spawn(part_from(stream, Bytes::new()));
                // HTTP must look again, to find the connection ended.
                cx.waker().wake_by_ref();
            }
        }
        match &mut this.stream {
            Some(stream) => Pin::new(stream).poll_flush(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Some(stream) => Pin::new(stream).poll_shutdown(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(text: &str) -> Head {
        let mut head = Head::default();
        // The result does not depend on how the text is cut.
        for piece in text.as_bytes().chunks(7) {
            head.follow(piece);
        }
        head
    }

    #[test]
    fn a_head_ends_with_an_empty_line() {
        assert!(!followed("GET / HTTP/1.1\r\nhost: any\r\n").ended);
        assert!(followed("GET / HTTP/1.1\r\nhost: any\r\n\r\n").ended);
        assert!(followed("\r\n\r\nGET / HTTP/1.1\nhost: any\n\nbody").ended);
        assert!(!followed("\r\n\r\n").ended);
        assert_eq!(followed("\r\nHEAD / HTTP/1.1\r\n").start, *b"HEAD ");
    }

    #[test]
    fn a_long_line_is_distinguished_from_many_lines() {
        let line = |length| format!("GET /{} HTTP/1.1\r\n", "x".repeat(length));
        let long = followed(&line(MAX_HEAD_BYTES));
        assert!(long.is_too_long());
        assert_eq!(long.excess(), Code::URI_TOO_LONG);
        assert!(!followed(&line(MAX_TARGET_BYTES)).is_too_long());
        let headers = |length: usize| format!("{}a: {}\r\n\r\n", line(10), "x".repeat(length));
        assert!(!followed(&headers(MAX_HEADER_BYTES)).is_too_long());
        let long = followed(&headers(MAX_HEAD_BYTES));
        assert!(long.is_too_long());
        assert_eq!(long.excess(), Code::HEADERS_TOO_LARGE);
        let body = format!("{}\r\n{}", line(10), "x".repeat(200_000));
        assert!(!followed(&body).is_too_long(), "a body is no head");
    }
}
