//! The connections that only read.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forecourt_kernel::{BusinessId, StoreError, StoreResult};
use scopeguard::ScopeGuard;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::File;
use super::conn::{Conn, Link, Role};
use crate::error::{other, unavailable};
use crate::pool::{MAX_QUEUE, PoolStatus};
use crate::shares::{OWN_TURNS, Permit, TenantLimiter};

/// The time that the statements of a reader are expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Microseconds: a look-up by key, one page of a list. They run on the calling thread.
    Light,
    /// Anything that may scan: exports, counts, histories. They run on a thread that may block.
    Heavy,
}

/// The maximum number of heavy readers at once. It leaves cores and memory to the light ones.
const HEAVY: usize = 4;

/// Opens connections as needed, keeps them, and lends them out, the most recently used one first.
pub(super) struct Readers {
    file: Arc<File>,
    idle: Mutex<Vec<Link>>,
    /// The generation of new connections. Older connections are closed once they are idle.
    generation: AtomicUsize,
    /// Connections that exist, lent or idle.
    open: AtomicUsize,
    light: Semaphore,
    heavy: Semaphore,
    /// Gives one business at most half of the heavy checkouts.
    heavy_shares: TenantLimiter,
    waiting: AtomicUsize,
}

impl Readers {
    pub(super) fn new(file: Arc<File>, first: Link, light: usize) -> Self {
        Self {
            file,
            idle: Mutex::new(vec![first]),
            generation: AtomicUsize::new(0),
            open: AtomicUsize::new(1),
            light: Semaphore::new(light.max(1)),
            heavy: Semaphore::new(HEAVY),
            heavy_shares: TenantLimiter::new(HEAVY / 2),
            waiting: AtomicUsize::new(0),
        }
    }

    async fn take(this: &Arc<Self>, business: Option<BusinessId>, effort: Effort) -> StoreResult<Held> {
        this.file.identity.verify_readable()?;
        let place = match effort {
            Effort::Light => None,
            Effort::Heavy => {
                let deadline = Instant::now() + OWN_TURNS * this.file.wait;
                this.heavy_shares.take(business, deadline).await?
            }
        };
        let deadline = Instant::now() + this.file.wait;
        let permits = this.permits(effort);
        let permit = match permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => {
                if this.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_QUEUE {
                    this.waiting.fetch_sub(1, Ordering::Relaxed);
                    return Err(unavailable("too many requests wait to read the SQLite file"));
                }
                let _waiting = scopeguard::guard((), |()| {
                    this.waiting.fetch_sub(1, Ordering::Relaxed);
                });
                timeout_at(deadline, permits.acquire())
                    .await
                    .map_err(|_| unavailable("no reader of the SQLite file came free in time"))?
                    .map_err(other)?
            }
        };
        // Before a connection is taken: one that is opened after it has changed is closed too early rather than too late.
        let generation = this.generation.load(Ordering::Acquire);
        let idle = this.idle().pop();
        let link = match idle {
            Some(link) => link,
            None => this.open_another().await?,
        };
        link.set_effort(effort);
        // The lease gives it back.
        permit.forget();
        let lease = Lease {
            link,
            readers: Arc::clone(this),
            generation,
            effort,
            place,
        };
        Ok(scopeguard::guard(lease, Lease::end))
    }

    /// Lends a connection, for light statements at first.
    pub(super) async fn lend(this: &Arc<Self>, business: Option<BusinessId>) -> StoreResult<Reader> {
        let loan = Loan {
            held: Some(Self::take(this, business, Effort::Light).await?),
            readers: Arc::clone(this),
            business,
        };
        Ok(Reader(Conn::lent(loan)))
    }

    pub(super) fn status(&self) -> PoolStatus {
        let size = self.open.load(Ordering::Relaxed);
        PoolStatus {
            size,
            in_use: size.saturating_sub(self.idle().len()),
            waiting: self.waiting.load(Ordering::Relaxed) + self.heavy_shares.waiting(),
        }
    }

    /// Replaces all open connections: the idle ones at once, the others when they come back.
    pub(super) async fn renew(&self) -> StoreResult<()> {
        // First: if no connection can be opened, the present ones go on.
        let link = self.open_another().await?;
        let idle = {
            let mut idle = self.idle();
            self.generation.fetch_add(1, Ordering::Release);
            mem::replace(&mut *idle, vec![link])
        };
        self.open.fetch_sub(idle.len(), Ordering::Relaxed);
        Ok(())
    }

    async fn open_another(&self) -> StoreResult<Link> {
        // A file that has replaced the open one holds other records.
        self.file.identity.verify()?;
        let file = Arc::clone(&self.file);
        let opened = spawn_blocking(move || Link::open(&file, Role::Reader)).await;
        let link = opened
            .map_err(|failure| StoreError::Unavailable(failure.into()))?
            .map_err(StoreError::Unavailable)?;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(link)
    }

    fn permits(&self, effort: Effort) -> &Semaphore {
        match effort {
            Effort::Light => &self.light,
            Effort::Heavy => &self.heavy,
        }
    }

    /// No code that can panic runs under this lock.
    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is held; it goes back when dropped.
type Held = ScopeGuard<Lease, fn(Lease)>;

/// The right to a connection of a reader.
pub(super) struct Loan {
    readers: Arc<Readers>,
    business: Option<BusinessId>,
    /// `None` only while another one is waited for.
    held: Option<Held>,
}

impl Loan {
    /// Returns the connection, with a place among the heavy readers from the first heavy statement on.
    pub(super) async fn link(&mut self, effort: Effort) -> StoreResult<&mut Link> {
        let known = self.held.take();
        let known = known.filter(|held| held.effort == Effort::Heavy || effort == Effort::Light);
        // Given back first: a caller that waits holds nothing that others want.
        let held = match known {
            Some(held) => held,
            None => Readers::take(&self.readers, self.business, effort).await?,
        };
        Ok(&mut self.held.insert(held).link)
    }
}

struct Lease {
    link: Link,
    readers: Arc<Readers>,
    /// The generation of the readers when this was lent.
    generation: usize,
    effort: Effort,
    place: Option<Permit>,
}

impl Lease {
    fn end(mut self) {
        if self.link.is_running() {
            // The caller went away amid a heavy statement. It keeps its connection, and its place among the heavy ones, until
            // it is through; were there no runtime, the process would be about to end.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn_blocking(move || {
                    self.link.wait_until_idle();
                    self.give_back();
                });
            }
        } else {
            self.give_back();
        }
    }

    fn give_back(self) {
        let Self {
            link,
            readers,
            generation,
            effort,
            place,
        } = self;
        {
            let mut idle = readers.idle();
            if generation == readers.generation.load(Ordering::Acquire) {
                idle.push(link);
            } else {
                readers.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        readers.permits(effort).add_permits(1);
        drop(place);
    }
}

/// A connection to read with; it goes back when dropped.
pub struct Reader(Conn);

impl Deref for Reader {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}
