//! Lines collected in memory and written together, since a system call for each would cost more than everything else.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// The maximum time for which a line waits.
const TIMEOUT: Duration = Duration::from_millis(100);
/// The number of waiting bytes from which a thread that adds to them has to write them itself.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// Lines on their way to an output.
pub(super) struct LineBuffer {
    waiting: Mutex<Waiting>,
    /// Wakes the flusher when lines wait, or when it must end.
    stirred: Condvar,
    output: Mutex<Output>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    ended: bool,
}

struct Output {
    to: Box<dyn Write + Send>,
    /// Replaces the buffer of the waiting lines, so that both allocations are reused.
    spare: Vec<u8>,
}

impl LineBuffer {
    /// Makes a buffer for `output`.
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self {
            waiting: Mutex::default(),
            stirred: Condvar::new(),
            output: Mutex::new(Output {
                to: Box::new(output),
                spare: Vec::new(),
            }),
        }
    }

    fn add(&self, line: &[u8], urgent: bool) {
        let mut waiting = self.waiting();
        if waiting.lines.is_empty() {
            self.stirred.notify_one();
        }
        waiting.lines.extend_from_slice(line);
        let full = waiting.lines.len() >= MAX_WAITING_BYTES;
        drop(waiting);
        if urgent || full {
            self.flush();
        }
    }

    /// Writes all waiting lines. When this returns, every line added before has left the process.
    pub(super) fn flush(&self) {
        // The output is locked first: the thread that takes lines is the next to write them, so they stay in order.
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = mem::take(&mut output.spare);
        let mut lines = mem::replace(&mut self.waiting().lines, spare);
        // If the log cannot be written, the failure cannot be reported anywhere.
        let _ = output.to.write_all(&lines).and_then(|()| output.to.flush());
        lines.clear();
        output.spare = lines;
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until there are lines; then for as long as they may wait. Returns true if more are expected.
    fn wait(&self) -> bool {
        let idle = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.ended;
        let waiting = self
            .stirred
            .wait_while(self.waiting(), idle)
            .unwrap_or_else(PoisonError::into_inner);
        let (waiting, _) = self
            .stirred
            .wait_timeout_while(waiting, TIMEOUT, |waiting| !waiting.ended)
            .unwrap_or_else(PoisonError::into_inner);
        !waiting.ended
    }
}

/// The thread that writes lines in time. Dropping it ends it.
pub(super) struct Flusher {
    buffer: Arc<LineBuffer>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts to write the lines of `buffer`.
    pub(super) fn start(buffer: Arc<LineBuffer>) -> io::Result<Self> {
        let lines = Arc::clone(&buffer);
        let write = move || {
            while lines.wait() {
                lines.flush();
            }
            lines.flush();
        };
        let thread = thread::Builder::new().name("log".into()).spawn(write)?;
        Ok(Self {
            buffer,
            thread: Some(thread),
        })
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.buffer.waiting().ended = true;
        self.buffer.stirred.notify_all();
        if let Some(thread) = self.thread.take() {
            // Its last action is to write the waiting lines; if it panicked, the buffer's owner does so.
            let _ = thread.join();
        }
    }
}

/// Gives the subscriber a writer for each line.
#[derive(Clone)]
pub(super) struct LineWriter(pub(super) Arc<LineBuffer>);

impl<'a> MakeWriter<'a> for LineWriter {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            buffer: &self.0,
            urgent: true,
        }
    }

    fn make_writer_for(&'a self, of: &Metadata<'_>) -> Line<'a> {
        Line {
            buffer: &self.0,
            // A warning or an error is written at once: its cause may end the process.
            urgent: *of.level() <= Level::WARN,
        }
    }
}

/// Takes one line, which the subscriber passes whole.
pub(super) struct Line<'a> {
    buffer: &'a LineBuffer,
    urgent: bool,
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.buffer.add(line, self.urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// An output whose content can be read.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u8>>>);

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn buffer() -> (Arc<LineBuffer>, Seen) {
        let seen = Seen::default();
        (Arc::new(LineBuffer::new(seen.clone())), seen)
    }

    #[test]
    fn a_line_waits_and_an_urgent_one_takes_those_before_it_along() {
        let (buffer, seen) = buffer();
        buffer.add(b"one\n", false);
        assert_eq!(seen.text(), "");
        buffer.add(b"two\n", true);
        assert_eq!(seen.text(), "one\ntwo\n");
    }

    #[test]
    fn no_line_waits_for_long() {
        let (buffer, seen) = buffer();
        let _flusher = Flusher::start(Arc::clone(&buffer)).unwrap();
        buffer.add(b"one\n", false);
        let asked = Instant::now();
        while seen.text().is_empty() {
            assert!(asked.elapsed() < Duration::from_secs(10), "nothing was written");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_end_writes_what_waits() {
        let (buffer, seen) = buffer();
        let flusher = Flusher::start(Arc::clone(&buffer)).unwrap();
        buffer.add(b"one\n", false);
        drop(flusher);
        assert_eq!(seen.text(), "one\n");
    }

    #[test]
    fn a_full_buffer_is_written_by_the_thread_that_fills_it() {
        let (buffer, seen) = buffer();
        let line = vec![b'x'; MAX_WAITING_BYTES];
        buffer.add(&line, false);
        assert_eq!(seen.text().len(), line.len());
    }

    #[test]
    fn lines_of_many_threads_stay_whole_and_none_is_lost() {
        const THREADS: usize = 4;
        const LINES: usize = 10_000;
        let (buffer, seen) = buffer();
        let flusher = Flusher::start(Arc::clone(&buffer)).unwrap();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let buffer = &buffer;
                scope.spawn(move || {
                    for at in 0..LINES {
                        buffer.add(format!("{thread} {at}\n").as_bytes(), at % 1_000 == 0);
                    }
                });
            }
        });
        drop(flusher);
        let text = seen.text();
        for thread in 0..THREADS {
            let own = text.lines().filter_map(|line| line.strip_prefix(&format!("{thread} ")));
            assert!(own.eq((0..LINES).map(|at| at.to_string())), "lines of thread {thread}");
        }
    }
}
