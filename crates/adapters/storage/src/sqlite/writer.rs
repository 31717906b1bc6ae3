//! The one connection that writes, and the transaction that its users share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, io, mem};

use diesel::result::{DatabaseErrorKind, Error as QueryError};
use forecourt_kernel::{BoxError, StoreError, StoreResult};
use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::File;
use super::conn::{Command, Link, Role};
use super::flusher::Flusher;
use super::session::Session;
use crate::error::{is_busy, store_error, unavailable};
use crate::pool::WriteStats;

const BEGIN: Command = Command("BEGIN IMMEDIATE");
const COMMIT: Command = Command("COMMIT");
const ROLLBACK: Command = Command("ROLLBACK");
const ENTER: Command = Command("SAVEPOINT session");
const LEAVE: Command = Command("RELEASE session");
const UNDO: Command = Command("ROLLBACK TO session");

/// How long another process may hold the file before a session is refused.
const OTHER_PROCESS: Duration = Duration::from_secs(5);
/// Between two looks whether it still does. Its lock is free only for a moment between two of its transactions, so
/// that rare looks would never meet one.
const LOOK: Duration = Duration::from_millis(1);

/// Where writers queue, first come, first served.
pub(super) struct WriterDesk {
    writer: Arc<Mutex<Writer>>,
    file: Arc<File>,
    flusher: Flusher,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    sessions: AtomicU64,
    commits: AtomicU64,
}

impl WriterDesk {
    /// Starts the thread that commits.
    pub(super) fn new(link: Link, file: Arc<File>) -> io::Result<Self> {
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            link,
            open: false,
            occupied: false,
            broken: false,
            released: Vec::new(),
            counts: Arc::clone(&counts),
        };
        let writer = Arc::new(Mutex::new(writer));
        let flusher = Flusher::start(Arc::clone(&writer))?;
        Ok(Self {
            writer,
            file,
            flusher,
            counts,
        })
    }

    pub(super) async fn begin(this: &Arc<Self>) -> StoreResult<Session> {
        let writer = match Arc::clone(&this.writer).try_lock_owned() {
            Ok(writer) => writer,
            Err(_) => timeout(this.file.wait, Arc::clone(&this.writer).lock_owned())
                .await
                .map_err(|_| unavailable("the turn to write to the SQLite file did not come in time"))?,
        };
        let mut session = Session::new(writer, Arc::clone(this));
        session.enter().await?;
        Ok(session)
    }

    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    pub(super) fn flusher(&self) -> &Flusher {
        &self.flusher
    }

    pub(super) fn stats(&self) -> WriteStats {
        WriteStats {
            sessions: self.counts.sessions.load(Ordering::Relaxed),
            commits: self.counts.commits.load(Ordering::Relaxed),
        }
    }
}

/// The connection, and the transaction that is shared by those who wrote since the last commit.
pub(super) struct Writer {
    pub(super) link: Link,
    /// A transaction is open.
    open: bool,
    /// A session is in it, and has not said yet whether its work is to be kept.
    occupied: bool,
    /// The connection failed in a way that it may not recover from.
    broken: bool,
    /// Those who are done, and wait to hear that it is on the disk.
    released: Vec<oneshot::Sender<Verdict>>,
    counts: Arc<Counts>,
}

/// What became of a shared transaction.
pub(super) type Verdict = Result<(), CommitFailure>;

impl Writer {
    /// Joins the shared transaction, and opens it for the first who comes. May be cancelled at any point.
    pub(super) async fn enter(&mut self, file: &Arc<File>) -> StoreResult<()> {
        if self.broken {
            let file = Arc::clone(file);
            let opened = spawn_blocking(move || Link::open(&file, Role::Writer)).await;
            self.link = opened
                .map_err(|failure| StoreError::Unavailable(failure.into()))?
                .map_err(StoreError::Unavailable)?;
            self.broken = false;
        }
        self.evict();
        if !self.open {
            self.begin().await?;
        }
        self.link.run(ENTER).map_err(store_error)?;
        self.occupied = true;
        Ok(())
    }

    async fn begin(&mut self) -> StoreResult<()> {
        let deadline = Instant::now() + OTHER_PROCESS;
        loop {
            match self.link.run(BEGIN) {
                Ok(()) => {
                    self.open = true;
                    return Ok(());
                }
                Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(LOOK).await,
                Err(error) => {
                    self.broken = !is_busy(&error);
                    return Err(store_error(error));
                }
            }
        }
    }

    /// Keeps what a session wrote for the next commit, whose outcome the receiver tells.
    pub(super) fn leave(&mut self) -> StoreResult<oneshot::Receiver<Verdict>> {
        self.occupied = false;
        if let Err(error) = self.link.run(LEAVE) {
            return Err(self.fail(error).into());
        }
        self.counts.sessions.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.released.push(sender);
        Ok(receiver)
    }

    /// Takes back what a session wrote, and nothing else. `true` if others wait for a commit.
    pub(super) fn undo(&mut self) -> bool {
        let entered = mem::take(&mut self.occupied);
        if self.released.is_empty() {
            // Alone in the transaction: it ends here, and nobody has to be woken for it.
            if self.open {
                self.roll_back();
            }
            return false;
        }
        if entered && let Err(error) = self.link.run(UNDO).and_then(|()| self.link.run(LEAVE)) {
            self.fail(error);
        }
        !self.released.is_empty()
    }

    /// Undoes a session that vanished without a word, as one does whose runtime is shut down in the midst of a heavy
    /// statement.
    fn evict(&mut self) {
        if self.occupied {
            self.undo();
        }
    }

    /// Makes everything that was released durable: the fsync is here. Answers who is to be told, and what.
    pub(super) fn flush(&mut self) -> (Vec<oneshot::Sender<Verdict>>, Verdict) {
        self.evict();
        if !self.open {
            return (Vec::new(), Ok(()));
        }
        match self.link.run(COMMIT) {
            Ok(()) => {
                self.open = false;
                self.counts.commits.fetch_add(1, Ordering::Relaxed);
                (mem::take(&mut self.released), Ok(()))
            }
            Err(error) => {
                self.roll_back();
                (mem::take(&mut self.released), Err(CommitFailure::new(error)))
            }
        }
    }

    /// Gives up the shared transaction and tells everybody who relied on it.
    fn fail(&mut self, error: QueryError) -> CommitFailure {
        let failure = CommitFailure::new(error);
        self.roll_back();
        for waiter in self.released.drain(..) {
            // One that went away needs no telling.
            let _ = waiter.send(Err(failure.clone()));
        }
        failure
    }

    fn roll_back(&mut self) {
        self.open = false;
        if let Err(error) = self.link.run(ROLLBACK) {
            // SQLite rolls back by itself after some failures (a full disk, say). That is no failure of its own, but a
            // fresh connection is cheap, and rare enough here.
            tracing::warn!(error = %error, "the SQLite writer is opened anew after a failed rollback");
            self.broken = true;
        }
    }
}

/// Why a shared transaction was lost, for each who took part.
#[derive(Clone, Debug)]
pub(super) struct CommitFailure(Arc<QueryError>);

impl CommitFailure {
    fn new(error: QueryError) -> Self {
        tracing::error!(error = %error, "a shared SQLite transaction was rolled back");
        Self(Arc::new(error))
    }
}

impl From<CommitFailure> for StoreError {
    fn from(failure: CommitFailure) -> Self {
        let temporary = is_busy(&failure.0)
            || matches!(
                *failure.0,
                QueryError::DatabaseError(DatabaseErrorKind::ClosedConnection, _)
            );
        let source = BoxError::from(failure);
        if temporary {
            Self::Unavailable(source)
        } else {
            Self::Other(source)
        }
    }
}

impl fmt::Display for CommitFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the transaction that several writers shared was rolled back")
    }
}

impl std::error::Error for CommitFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
