//! Cancellation of work that no caller waits for any longer.

use std::{
    io::{self, BufRead, Read, Seek, SeekFrom, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use forecourt_files::{PictureError, PictureSource};

use crate::read::unreadable;

/// Notifies work that its caller has gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// # Errors
    /// If the caller has gone.
    pub(crate) fn check(&self) -> Result<(), PictureError> {
        self.interrupt().map_err(unreadable)
    }

    fn interrupt(&self) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(io::Error::other("the caller has gone")),
            false => Ok(()),
        }
    }

    /// Returns the same content, which can no longer be read once the caller has gone.
    pub(crate) fn watch(&self, content: Box<dyn PictureSource>) -> Box<dyn PictureSource> {
        Box::new(Watched {
            content,
            abandoned: self.clone(),
        })
    }

    /// Returns a writer to `output` that fails once the caller has gone.
    pub(crate) fn watch_output<'a>(&'a self, output: &'a mut Vec<u8>) -> impl Write + 'a {
        WatchedOutput {
            output,
            abandoned: self,
        }
    }

    /// Returns a value that, when dropped, reports that the caller has gone.
    pub(crate) fn set_on_drop(&self) -> SetOnDrop {
        SetOnDrop(self.clone())
    }
}

pub(crate) struct SetOnDrop(Abandoned);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

struct Watched {
    content: Box<dyn PictureSource>,
    abandoned: Abandoned,
}

struct WatchedOutput<'a> {
    output: &'a mut Vec<u8>,
    abandoned: &'a Abandoned,
}

impl Write for WatchedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.abandoned.interrupt()?;
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.abandoned.interrupt()?;
        self.content.read(buffer)
    }
}

impl BufRead for Watched {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.abandoned.interrupt()?;
        self.content.fill_buf()
    }

    fn consume(&mut self, read: usize) {
        self.content.consume(read);
    }
}

impl Seek for Watched {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.content.seek(to)
    }

    // The bytes that are already buffered are kept: a picture of many small parts is skipped in small steps.
    fn seek_relative(&mut self, offset: i64) -> io::Result<()> {
        self.content.seek_relative(offset)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        self.content.stream_position()
    }
}
