//! The thread that moves what the log holds to the main file, beside those who write.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use diesel::sql_types::BigInt;
use diesel::{QueryResult, QueryableByName, RunQueryDsl as _, sql_query};
use forecourt_kernel::BoxError;

use super::File;
use super::conn::{Link, Role};

/// So many pages are left in the log: what changes again and again is moved only once.
const LEFT_PAGES: i64 = 2000;
/// How many bytes they have at least.
const LEFT_BYTES: u64 = 2000 * 512;

/// Moves the pages of the log to the main file once there are many. A commit would otherwise do so now and then, while all who
/// write wait for it; it still does where this thread does not keep up.
pub(super) struct Checkpointer {
    /// The thread ends when it is dropped.
    bell: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(file: Arc<File>) -> io::Result<Self> {
        let (bell, rung) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("sqlite-log".to_owned())
            .spawn(move || run(&file, &rung))?;
        Ok(Self {
            bell: Some(bell),
            thread: Some(thread),
        })
    }

    /// Says that the log has grown.
    pub(super) fn wake(&self) {
        if let Some(bell) = &self.bell {
            // Where it was rung already, the thread will look.
            let _ = bell.try_send(());
        }
    }
}

/// Waits for the connection to close.
impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.bell = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that empties the log of SQLite panicked");
        }
    }
}

fn run(file: &File, rung: &Receiver<()>) {
    // A connection has some hundred kilobytes, which few installations ever need.
    let mut link = None;
    while rung.recv().is_ok() {
        if link.is_none() && file.identity.log_bytes() < LEFT_BYTES {
            continue;
        }
        link = match link.map_or_else(|| open(file), Ok).and_then(moved) {
            Ok(link) => Some(link),
            Err(error) => {
                // The next commit tries again, or does it itself.
                tracing::warn!(%error, "the log of the database could not be moved to its file");
                None
            }
        };
    }
}

fn open(file: &File) -> Result<Link, BoxError> {
    file.identity.verify()?;
    Link::open(file, Role::Reader)
}

/// Moves the pages of the log, if they are many.
fn moved(mut link: Link) -> Result<Link, BoxError> {
    link.here(|conn| {
        let state: Log = sql_query("PRAGMA wal_checkpoint(NOOP)").get_result(conn)?;
        if state.log - state.checkpointed > LEFT_PAGES {
            // It waits for nobody: what somebody still reads stays.
            let _: Log = sql_query("PRAGMA wal_checkpoint(PASSIVE)").get_result(conn)?;
        }
        QueryResult::Ok(())
    })?;
    Ok(link)
}

/// How many pages the log has, and how many of them are in the main file as well.
#[derive(QueryableByName)]
struct Log {
    #[diesel(sql_type = BigInt)]
    log: i64,
    #[diesel(sql_type = BigInt)]
    checkpointed: i64,
}
