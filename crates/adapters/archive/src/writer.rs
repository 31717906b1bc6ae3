//! Writing a backup.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use forecourt_files::{BlobStore, ContentStream};
use futures_util::TryStreamExt as _;

use crate::backup::{content_of, section};
use crate::error::ArchiveError;
use crate::manifest::Manifest;
use crate::stamp::Stamp;
use crate::tarball::TarWriter;
use crate::{DATABASE, FILES, FOLDER, MANIFEST};

/// A backup that is being written: the database first, then files, the list of these, and at last the manifest.
pub struct BackupWriter {
    target: Target,
    written: Written,
}

enum Target {
    Archive(TarWriter<Box<dyn Write + Send>>),
    Stored { store: Arc<dyn BlobStore>, stamp: Stamp },
}

/// The extent of a backup that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// The number of bytes that were written.
    pub bytes: u64,
    /// The number of files that were written; a repository has the others already.
    pub new_files: u64,
}

impl BackupWriter {
    /// Writes an archive to `target`.
    #[must_use]
    pub fn archive(target: Box<dyn Write + Send>, stamp: Stamp) -> Self {
        let modified = u64::try_from(stamp.time().epoch_seconds()).unwrap_or_default();
        Self::new(Target::Archive(TarWriter::new(target, modified)))
    }

    pub(crate) fn stored(store: Arc<dyn BlobStore>, stamp: Stamp) -> Self {
        Self::new(Target::Stored { store, stamp })
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            written: Written::default(),
        }
    }

    /// Writes the packed database, which is a file of this machine.
    ///
    /// # Errors
    /// [`ArchiveError`] if one of the two cannot be used.
    pub async fn database(&mut self, path: &Path) -> Result<(), ArchiveError> {
        let file = tokio::fs::File::open(path).await.map_err(ArchiveError::file(path))?;
        let bytes = file.metadata().await.map_err(ArchiveError::file(path))?.len();
        self.member(DATABASE, bytes, section(file, bytes)).await
    }

    /// Writes a file, unless the repository has it already: a name's content never changes.
    ///
    /// # Errors
    /// [`ArchiveError`] if it cannot be read or written.
    pub async fn file(&mut self, path: &str, bytes: u64, content: ContentStream) -> Result<(), ArchiveError> {
        let key = format!("{FOLDER}/{path}");
        match &mut self.target {
            Target::Archive(_) => self.member(&key, bytes, content).await?,
            Target::Stored { store, .. } => {
                if store.stat(&key).await?.is_some_and(|blob| blob.size == bytes) {
                    return Ok(());
                }
                store.put(&key, bytes, content).await?;
                self.written.bytes += bytes;
            }
        }
        self.written.new_files += 1;
        Ok(())
    }

    /// Writes the list of files, and ends the backup with its manifest.
    ///
    /// # Errors
    /// [`ArchiveError`] if it cannot be written.
    pub async fn finish(mut self, files: Vec<u8>, manifest: &Manifest) -> Result<Written, ArchiveError> {
        for (name, content) in [(FILES, files), (MANIFEST, manifest.to_bytes()?)] {
            self.member(name, content.len() as u64, content_of(content)).await?;
        }
        if let Target::Archive(writer) = self.target {
            writer.finish().map_err(unwritable)?;
        }
        Ok(self.written)
    }

    async fn member(&mut self, name: &str, bytes: u64, mut content: ContentStream) -> Result<(), ArchiveError> {
        match &mut self.target {
            Target::Archive(writer) => {
                writer.begin(name, bytes).map_err(unwritable)?;
                while let Some(part) = content.try_next().await.map_err(forecourt_files::FileStoreError)? {
                    writer.write(&part).map_err(unwritable)?;
                }
                writer.end().map_err(unwritable)?;
            }
            Target::Stored { store, stamp } => store.put(&format!("{stamp}/{name}"), bytes, content).await?,
        }
        self.written.bytes += bytes;
        Ok(())
    }
}

fn unwritable(error: io::Error) -> ArchiveError {
    ArchiveError::File("the archive cannot be written".to_owned(), error)
}
