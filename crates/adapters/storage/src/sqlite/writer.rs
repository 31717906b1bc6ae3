//! The one connection that writes, and the transaction that its users share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;
use std::{fmt, io, mem};

use diesel::result::Error as QueryError;
use forecourt_kernel::{BoxError, BusinessId, StoreError, StoreResult};
use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::File;
use super::conn::{Command, Conn, Link, Role};
use super::flusher::Flusher;
use super::queue::WriteQueue;
use super::unit::UnitOfWork;
use crate::error::{hinders_writing, is_busy, store_error};
use crate::pool::WriteStats;
use crate::readiness::ReadinessCache;

const BEGIN: Command = Command("BEGIN IMMEDIATE");
const COMMIT: Command = Command("COMMIT");
const ROLLBACK: Command = Command("ROLLBACK");
const ENTER: Command = Command("SAVEPOINT session");
const LEAVE: Command = Command("RELEASE session");
/// Writes to the file's first page the value that is there already.
const WRITE_SOMETHING: Command = Command("PRAGMA user_version = 0");
const UNDO: Command = Command("ROLLBACK TO session");

/// The time that another process may hold the file before a session is refused.
const OTHER_PROCESS: Duration = Duration::from_secs(5);
/// The interval at which that is tried again. Another process's lock is free only for a moment between two of its transactions,
/// which longer intervals would miss.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The time for which a commit proves that the file can be written to.
const PROOF: Duration = Duration::from_secs(2);

/// The writer, and the queue for it.
pub(super) struct WriterHandle {
    writer: Arc<Mutex<Writer>>,
    queue: Arc<WriteQueue>,
    file: Arc<File>,
    flusher: Flusher,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    sessions: AtomicU64,
    commits: AtomicU64,
    /// The time of the latest commit, unless a later failure prevents every write.
    proof: StdMutex<Option<Instant>>,
}

impl Counts {
    fn prove(&self, at: Option<Instant>) {
        *self.proof.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    fn is_proved(&self) -> bool {
        let proof = *self.proof.lock().unwrap_or_else(PoisonError::into_inner);
        proof.is_some_and(|at| at.elapsed() < PROOF)
    }
}

impl WriterHandle {
    /// Starts the thread that commits.
    pub(super) fn new(link: Link, file: Arc<File>, readiness: Arc<ReadinessCache>) -> io::Result<Self> {
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            conn: Conn::own(link),
            open: false,
            occupied: false,
            broken: false,
            released: Vec::new(),
            counts: Arc::clone(&counts),
            file: Arc::clone(&file),
            readiness,
        };
        let writer = Arc::new(Mutex::new(writer));
        let queue = Arc::<WriteQueue>::default();
        let flusher = Flusher::start(Arc::clone(&writer), Arc::clone(&queue), Arc::clone(&file))?;
        Ok(Self {
            writer,
            queue,
            file,
            flusher,
            counts,
        })
    }

    pub(super) async fn begin(this: &Arc<Self>, business: Option<BusinessId>) -> StoreResult<UnitOfWork> {
        let done = || this.counts.sessions.load(Ordering::Relaxed);
        let turn = this.queue.enter(business, this.file.wait, done).await?;
        // The session with the turn does not wait.
        let writer = Arc::clone(&this.writer).lock_owned().await;
        let mut session = UnitOfWork::new(writer, turn, Arc::clone(this));
        session.enter().await?;
        Ok(session)
    }

    /// Proves that the file can be written to, by writing if nothing was written lately.
    ///
    /// # Errors
    /// `Unavailable` if it cannot.
    pub(super) async fn try_out(this: &Arc<Self>) -> StoreResult<()> {
        if this.counts.is_proved() {
            return Ok(());
        }
        let mut session = Self::begin(this, None).await?;
        session.run(WRITE_SOMETHING)?;
        session.commit().await
    }

    pub(super) fn flusher(&self) -> &Flusher {
        &self.flusher
    }

    /// The number of sessions that wait for their turn.
    pub(super) fn waiting(&self) -> usize {
        self.queue.waiting()
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
    pub(super) conn: Conn,
    /// A transaction is open.
    open: bool,
    /// A session is in it, and has neither kept nor undone its work yet.
    occupied: bool,
    /// The connection failed in a way that it may not recover from.
    broken: bool,
    /// The sessions that are done, and wait until it is on the disk.
    released: Vec<oneshot::Sender<Outcome>>,
    counts: Arc<Counts>,
    file: Arc<File>,
    readiness: Arc<ReadinessCache>,
}

/// The outcome of a shared transaction.
pub(super) type Outcome = Result<(), CommitFailure>;

impl Writer {
    /// Joins the shared transaction, or opens it for the first session. May be cancelled at any point.
    pub(super) async fn enter(&mut self) -> StoreResult<()> {
        if !self.open {
            // Sessions that join learn it from the commit.
            self.file.identity.verify().inspect_err(|_| self.readiness.forget())?;
        }
        if self.broken {
            let file = Arc::clone(&self.file);
            let opened = spawn_blocking(move || Link::open(&file, Role::Writer)).await;
            let link = opened
                .map_err(|failure| StoreError::Unavailable(failure.into()))?
                .map_err(StoreError::Unavailable)?;
            self.conn = Conn::own(link);
            self.broken = false;
        }
        self.evict();
        if !self.open {
            self.begin().await?;
        }
        self.conn.run(ENTER).map_err(store_error)?;
        self.occupied = true;
        Ok(())
    }

    async fn begin(&mut self) -> StoreResult<()> {
        let deadline = Instant::now() + OTHER_PROCESS;
        loop {
            match self.conn.run(BEGIN) {
                Ok(()) => {
                    self.open = true;
                    return Ok(());
                }
                Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(POLL_INTERVAL).await,
                Err(error) => {
                    self.broken = !is_busy(&error);
                    self.note(&error);
                    return Err(store_error(error));
                }
            }
        }
    }

    /// Keeps a session's writes for the next commit. The receiver gets the outcome.
    pub(super) fn leave(&mut self) -> StoreResult<oneshot::Receiver<Outcome>> {
        self.occupied = false;
        if let Err(error) = self.conn.run(LEAVE) {
            return Err(self.fail(error).into());
        }
        self.counts.sessions.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.released.push(sender);
        Ok(receiver)
    }

    /// Undoes a session's writes, and nothing else. The receiver gets the outcome of the commit that others wait for, on whose
    /// changes the session may have relied.
    ///
    /// # Errors
    /// All their writes are lost.
    pub(super) fn undo_and_wait(&mut self) -> Result<Option<oneshot::Receiver<Outcome>>, CommitFailure> {
        let others_wait = self.undo()?;
        Ok(others_wait.then(|| {
            let (sender, receiver) = oneshot::channel();
            self.released.push(sender);
            receiver
        }))
    }

    /// Undoes a session's writes, and nothing else. Returns `true` if others wait for a commit.
    ///
    /// # Errors
    /// All writes of the others are lost with it; they are notified.
    pub(super) fn undo(&mut self) -> Result<bool, CommitFailure> {
        let entered = mem::take(&mut self.occupied);
        if self.released.is_empty() {
            // Alone in the transaction: it ends here, and no waiter has to be woken for it.
            if self.open {
                self.roll_back();
            }
            return Ok(false);
        }
        if entered && let Err(error) = self.conn.run(UNDO).and_then(|()| self.conn.run(LEAVE)) {
            return Err(self.fail(error));
        }
        Ok(true)
    }

    /// Undoes a session that disappeared, as happens if its runtime is shut down during a heavy statement.
    fn evict(&mut self) {
        if self.occupied {
            // The sessions that wait for the commit are notified of a failure.
            let _ = self.undo();
        }
    }

    /// Makes everything that was released durable: the fsync is here. Returns the waiters to notify, and the outcome.
    pub(super) fn flush(&mut self) -> (Vec<oneshot::Sender<Outcome>>, Outcome) {
        self.evict();
        if !self.open {
            return (Vec::new(), Ok(()));
        }
        match self.conn.run(COMMIT) {
            Ok(()) => {
                self.open = false;
                self.counts.commits.fetch_add(1, Ordering::Relaxed);
                // No write to a file that cannot be found again is acknowledged.
                let outcome = self.file.identity.verify_written().map_err(CommitFailure::misplaced);
                self.counts.prove(outcome.is_ok().then(Instant::now));
                if outcome.is_err() {
                    self.readiness.forget();
                }
                (mem::take(&mut self.released), outcome)
            }
            Err(error) => {
                self.note(&error);
                self.roll_back();
                (mem::take(&mut self.released), Err(CommitFailure::new(error)))
            }
        }
    }

    /// Gives up the shared transaction and notifies all sessions that relied on it.
    ///
    /// A session's own savepoint is missing only if SQLite has undone everything by itself. It does so if the disk is full or
    /// fails during a statement.
    fn fail(&mut self, error: QueryError) -> CommitFailure {
        self.counts.prove(None);
        self.readiness.forget();
        let failure = CommitFailure::undone(error);
        self.roll_back();
        for waiter in self.released.drain(..) {
            // A waiter that went away needs no notification.
            let _ = waiter.send(Err(failure.clone()));
        }
        failure
    }

    /// Remembers a failure after which other writes would fail too.
    fn note(&self, error: &QueryError) {
        if hinders_writing(error) {
            self.counts.prove(None);
            self.readiness.forget();
        }
    }

    fn roll_back(&mut self) {
        self.open = false;
        if let Err(error) = self.conn.run(ROLLBACK) {
            // SQLite rolls back by itself after some failures (a full disk, say). That is no failure of its own, but a
            // fresh connection is cheap, and rare enough here.
            tracing::warn!(error = %error, "the SQLite writer is opened anew after a failed rollback");
            self.broken = true;
            self.counts.prove(None);
            self.readiness.forget();
        }
    }
}

/// The reason why a shared transaction was lost, for each session in it.
#[derive(Clone, Debug)]
pub(super) struct CommitFailure {
    cause: Arc<BoxError>,
    /// Running the work again may succeed.
    temporary: bool,
}

impl CommitFailure {
    /// The commit was refused.
    fn new(error: QueryError) -> Self {
        let failure = store_error(error);
        let temporary = matches!(failure, StoreError::Unavailable(_));
        Self::logged(failure.into(), temporary)
    }

    /// Some statement made SQLite undo everything.
    fn undone(error: QueryError) -> Self {
        Self::logged(error.into(), true)
    }

    /// It was committed to a file that is no longer at its path.
    fn misplaced(error: StoreError) -> Self {
        Self {
            cause: Arc::new(error.into()),
            temporary: true,
        }
    }

    fn logged(cause: BoxError, temporary: bool) -> Self {
        let source = cause.source().map(ToString::to_string);
        tracing::error!(error = %cause, source, "a shared SQLite transaction was rolled back");
        Self {
            cause: Arc::new(cause),
            temporary,
        }
    }
}

impl From<CommitFailure> for StoreError {
    fn from(failure: CommitFailure) -> Self {
        let temporary = failure.temporary;
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
        Some(self.cause.as_ref().as_ref())
    }
}
