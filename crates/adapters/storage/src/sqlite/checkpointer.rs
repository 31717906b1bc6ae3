//! The thread that checkpoints the write-ahead log: it copies the log's pages to the main file while others write.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use diesel::sql_types::BigInt;
use diesel::{QueryResult, QueryableByName, RunQueryDsl as _, sql_query};
use forecourt_kernel::BoxError;

use super::File;
use super::conn::{Link, Role};

/// The number of pages that a checkpoint waits for: a page that changes again and again is then copied once.
const PAGES: i64 = 2000;
/// The minimal size of such a log, with pages of 512 bytes.
const BYTES: u64 = 2000 * 512;

/// Checkpoints the log once it is long. A commit would otherwise do so from time to time, while all writers wait for it. It still
/// does where this thread cannot keep up.
pub(super) struct Checkpointer {
    /// The thread ends when this is dropped.
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(file: Arc<File>) -> io::Result<Self> {
        let (sender, requests) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("sqlite-log".to_owned())
            .spawn(move || run(&file, &requests))?;
        Ok(Self {
            requests: Some(sender),
            thread: Some(thread),
        })
    }

    /// Notes that the log has grown.
    pub(super) fn wake(&self) {
        if let Some(requests) = &self.requests {
            // A request that waits already is enough.
            let _ = requests.try_send(());
        }
    }
}

/// Waits for the connection to close.
impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.requests = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that checkpoints SQLite's log panicked");
        }
    }
}

fn run(file: &File, requests: &Receiver<()>) {
    // A connection takes some hundred kilobytes, which few installations ever need.
    let mut link = None;
    while requests.recv().is_ok() {
        if link.is_none() && file.identity.log_bytes() < BYTES {
            continue;
        }
        link = match checkpointed(file, link) {
            Ok(link) => Some(link),
            Err(error) => {
                // The next commit requests it again, or does it itself.
                tracing::warn!(%error, "the log of the database could not be checkpointed");
                None
            }
        };
    }
}

/// Checkpoints the log if it is long. Returns the connection, which is opened if there is none.
fn checkpointed(file: &File, link: Option<Link>) -> Result<Link, BoxError> {
    // Each time: reading a truncated file beyond its end would end the process.
    file.identity.verify()?;
    let mut link = match link {
        Some(link) => link,
        None => Link::open(file, Role::Reader)?,
    };
    link.here(|conn| {
        let state: Log = sql_query("PRAGMA wal_checkpoint(NOOP)").get_result(conn)?;
        if state.log - state.checkpointed > PAGES {
            // A passive checkpoint does not wait for readers: it leaves pages that are newer than a reader's view.
            let _: Log = sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result(conn)?;
        }
        QueryResult::Ok(())
    })?;
    Ok(link)
}

/// The number of the log's pages, and of those that are in the main file as well.
#[derive(QueryableByName)]
struct Log {
    #[diesel(sql_type = BigInt)]
    log: i64,
    #[diesel(sql_type = BigInt)]
    checkpointed: i64,
}
