//! The thread that commits for all sessions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tokio::sync::Mutex;

use super::File;
use super::checkpointer::Checkpointer;
use super::queue::WriteQueue;
use super::writer::Writer;

/// Commits the shared transaction once a session has left work in it.
///
/// It queues for the writer like every session ([`WriteQueue`]). The fsync blocks this thread and no other.
pub(super) struct Flusher {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    pub(super) fn start(writer: Arc<Mutex<Writer>>, queue: Arc<WriteQueue>, file: Arc<File>) -> io::Result<Self> {
        let checkpointer = Checkpointer::start(file)?;
        let ending = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("sqlite-commit".to_owned()).spawn({
            let ending = Arc::clone(&ending);
            move || run(&writer, &queue, &checkpointer, &ending)
        })?;
        Ok(Self {
            ending,
            thread: Some(thread),
        })
    }

    /// Requests a commit soon. It costs next to nothing if one is requested already.
    pub(super) fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// Waits for the last commit, and so for the connection to close. After an orderly end the file is complete without its log.
impl Drop for Flusher {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("the thread that commits to SQLite panicked");
            }
        }
    }
}

fn run(writer: &Mutex<Writer>, queue: &Arc<WriteQueue>, checkpointer: &Checkpointer, ending: &AtomicBool) {
    loop {
        // A wake-up before this is kept.
        thread::park();
        // Read first: work that was left before the end was requested is in this commit.
        let last = ending.load(Ordering::Acquire);
        let turn = queue.enter_to_commit();
        let mut writer = writer.blocking_lock();
        let (waiting, verdict) = writer.flush();
        // The next writer need not wait until all answers are given.
        drop(writer);
        drop(turn);
        for waiter in waiting {
            // A waiter that went away needs no notification.
            let _ = waiter.send(verdict.clone());
        }
        if last {
            return;
        }
        checkpointer.wake();
    }
}
