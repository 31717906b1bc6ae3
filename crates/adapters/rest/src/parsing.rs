//! Work on untrusted input: everything that parses, decodes, sanitizes or prints a caller's data runs here, off the threads that
//! serve requests (decisions, "Safe").
//!
//! Nothing else sees the bytes of a body: [`RawBody`] and the files of uploads pass them to closures that [`ParsePool`] runs.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
};

use bytes::Bytes;
use forecourt_accounts::Fingerprint;
use forecourt_kernel::{BusinessId, StoreError};
use tokio::task::spawn_blocking;

use crate::{error::ApiError, fair_semaphore::FairSemaphore};

/// The minimum and the maximum number of threads that parse. While one business keeps all but one of them busy, the last serves
/// the others.
const MIN_THREADS: usize = 2;
const MAX_THREADS: usize = 4;
/// The maximum length of a body that is parsed on the calling thread. A short body without markup takes less time than the way
/// to another thread and back.
const MAX_INLINE_BYTES: usize = 8 * 1024;

/// Runs work on untrusted input on a few threads, which businesses share in rotation.
pub(crate) struct ParsePool {
    permits: FairSemaphore,
}

impl ParsePool {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(MIN_THREADS, usize::from);
        let threads = cores.clamp(MIN_THREADS, MAX_THREADS);
        Self {
            permits: FairSemaphore::new(threads, threads - 1),
        }
    }

    /// Runs `work` when it is the turn of `business`. When the caller disconnects, waiting work is dropped, and running work is
    /// notified through [`Abandoned`], which long work checks.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        business: BusinessId,
        work: impl FnOnce(&Abandoned) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = self.permits.acquire(business).await;
        let abandoned = Abandoned::default();
        let _caller = SetOnDrop(abandoned.clone());
        let done = spawn_blocking(move || {
            let outcome = work(&abandoned);
            drop(permit);
            outcome
        });
        done.await.map_err(|failure| StoreError::Other(failure.into()))?
    }
}

/// Notifies work that no caller waits for its outcome any longer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// # Errors
    /// If no caller waits any longer.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(io::Error::other("nobody waits for the outcome any more")),
            false => Ok(()),
        }
    }

    #[cfg(test)]
    pub(crate) fn set(&self) {
        drop(SetOnDrop(self.clone()));
    }

    /// Returns the same content, which ends with an error when no caller waits any longer.
    pub(crate) fn watch<R>(&self, content: R) -> Watched<R> {
        Watched {
            content,
            abandoned: self.clone(),
        }
    }
}

struct SetOnDrop(Abandoned);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Content that can be read as long as a caller waits for the result.
pub(crate) struct Watched<R> {
    content: R,
    abandoned: Abandoned,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.abandoned.check()?;
        self.content.read(buffer)
    }
}

/// The body of a request as it was sent. Only the code that [`RawBody::parse`] runs sees its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawBody(Bytes);

impl From<Bytes> for RawBody {
    fn from(body: Bytes) -> Self {
        Self(body)
    }
}

impl RawBody {
    /// Runs work on the body: on a thread of the pool, unless moving it there takes longer than the work itself.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        pool: &ParsePool,
        business: BusinessId,
        work: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        match self.is_light() {
            true => work(&self.0),
            false => self.parse_apart(pool, business, work).await,
        }
    }

    /// Runs work on the body on a thread of the pool, for work that takes longer than its length suggests.
    pub(crate) async fn parse_apart<T: Send + 'static>(
        &self,
        pool: &ParsePool,
        business: BusinessId,
        work: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let body = self.0.clone();
        pool.run(business, move |_| work(&body)).await
    }

    /// Returns true if the body is short, and has neither markup nor escapes that may hide some: a little markup may be much
    /// work.
    fn is_light(&self) -> bool {
        self.0.len() <= MAX_INLINE_BYTES && !self.0.iter().any(|byte| matches!(byte, b'<' | b'\\'))
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.to_vec()).unwrap()
    }

    /// Returns the fingerprint by which a request with this body is recognised.
    pub(crate) fn fingerprint(&self, method: &str, path: &str, query: &str) -> Fingerprint {
        Fingerprint::of(method, path, query, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::channel,
        thread::{current, sleep},
        time::Duration,
    };

    use tokio::time::timeout;

    use super::*;

    const A: BusinessId = BusinessId::new(1);
    const B: BusinessId = BusinessId::new(2);
    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Returns the thread that a body is parsed on.
    async fn parsed_on(body: &str) -> std::thread::ThreadId {
        let body = RawBody::from(Bytes::from(body.to_owned()));
        let pool = ParsePool::new();
        let parsed = body.parse(&pool, A, |_| Ok(current().id()));
        parsed.await.unwrap()
    }

    #[tokio::test]
    async fn what_may_be_much_work_leaves_the_thread_that_serves() {
        let own = current().id();
        assert_eq!(parsed_on("").await, own);
        assert_eq!(parsed_on(r#"{"name": "Ann Lee"}"#).await, own);
        for heavy in [
            "<adf/>".to_owned(),
            r#"{"content": "<b>"}"#.to_owned(),
            r#"{"content": "\u003cb>"}"#.to_owned(),
            format!(r#"{{"note": "{}"}}"#, "x".repeat(MAX_INLINE_BYTES)),
        ] {
            assert_ne!(parsed_on(&heavy).await, own, "{heavy:.40}");
        }
    }

    #[tokio::test]
    async fn a_busy_business_leaves_a_thread_to_the_others() {
        let pool = Arc::new(ParsePool::new());
        let (started, has_started) = channel();
        let mut busy = Vec::new();
        for _ in 0..2 * MAX_THREADS {
            let (started, pool) = (started.clone(), Arc::clone(&pool));
            busy.push(tokio::spawn(async move {
                pool.run(A, move |abandoned| {
                    started.send(()).map_err(|failure| StoreError::Other(failure.into()))?;
                    while abandoned.check().is_ok() {
                        sleep(Duration::from_millis(1));
                    }
                    Ok(())
                })
                .await
            }));
        }
        drop(started);
        tokio::task::yield_now().await;
        timeout(TIMEOUT, pool.run(B, |_| Ok(()))).await.unwrap().unwrap();
        // The work of callers who disconnect is dropped.
        for caller in &busy {
            caller.abort();
        }
        for caller in busy {
            assert!(caller.await.unwrap_err().is_cancelled());
        }
        timeout(TIMEOUT, pool.run(A, |_| Ok(()))).await.unwrap().unwrap();
        assert!(has_started.iter().count() < MAX_THREADS, "what waited was never begun");
    }

    #[test]
    fn content_ends_with_the_interest_in_it() {
        let abandoned = Abandoned::default();
        let mut content = abandoned.watch(&b"abc"[..]);
        let mut byte = [0];
        content.read_exact(&mut byte).unwrap();
        drop(SetOnDrop(abandoned));
        assert!(content.read_exact(&mut byte).is_err());
    }
}
