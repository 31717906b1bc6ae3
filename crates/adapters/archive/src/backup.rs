//! Reading a backup.

use std::collections::HashMap;
use std::io::SeekFrom;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use forecourt_files::{BlobStore, ContentStream, OpenFile};
use forecourt_kernel::BoxError;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

use crate::error::ArchiveError;
use crate::files::{FileLine, read_file_lines};
use crate::manifest::Manifest;
use crate::pack::hexadecimal;
use crate::stamp::Stamp;
use crate::tarball::{Member, members};
use crate::{FILES, FOLDER, MANIFEST};

/// The number of bytes that are read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// A backup to read.
#[derive(Clone)]
pub struct Backup {
    place: Place,
    manifest: Manifest,
}

#[derive(Clone)]
enum Place {
    Archive {
        path: PathBuf,
        members: Arc<HashMap<String, Member>>,
    },
    Stored {
        store: Arc<dyn BlobStore>,
        stamp: Stamp,
    },
}

/// The length and digest of content that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// The length.
    pub bytes: u64,
    /// The SHA-256.
    pub sha256: String,
}

impl Backup {
    /// Opens an archive.
    ///
    /// # Errors
    /// [`ArchiveError`] if it is none.
    pub async fn open_archive(path: &Path) -> Result<Self, ArchiveError> {
        let owned = path.to_owned();
        let found = tokio::task::spawn_blocking(move || members(&owned)).await;
        let found = found.map_err(|error| ArchiveError::Damaged(error.to_string()))??;
        let by_name: HashMap<String, Member> = found.into_iter().map(|member| (member.name.clone(), member)).collect();
        let place = Place::Archive {
            path: path.to_owned(),
            members: Arc::new(by_name),
        };
        Self::open(place).await
    }

    /// Opens a backup of a repository.
    ///
    /// # Errors
    /// [`ArchiveError`] if there is no finished one of that stamp.
    pub(crate) async fn open_stored(store: Arc<dyn BlobStore>, stamp: Stamp) -> Result<Self, ArchiveError> {
        Self::open(Place::Stored { store, stamp }).await
    }

    async fn open(place: Place) -> Result<Self, ArchiveError> {
        let manifest = place.open(MANIFEST).await?;
        let manifest = manifest.ok_or_else(|| {
            ArchiveError::NotFound(format!(
                "{} is not there: the backup is not finished",
                place.named(MANIFEST)
            ))
        })?;
        let manifest = Manifest::read(&all(manifest.content).await?)?;
        Ok(Self { place, manifest })
    }

    /// Its manifest.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its name, which is the second at which it was begun.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        match &self.place {
            Place::Archive { .. } => Stamp::new(self.manifest.time()),
            Place::Stored { stamp, .. } => *stamp,
        }
    }

    /// Opens a member of the backup itself; `None` if it is not there.
    ///
    /// # Errors
    /// [`ArchiveError`] if it cannot be read.
    pub async fn member(&self, name: &str) -> Result<Option<OpenFile>, ArchiveError> {
        self.place.open(name).await
    }

    /// Opens a file, by its path in a store; `None` if it is not there.
    ///
    /// # Errors
    /// [`ArchiveError`] if it cannot be read.
    pub async fn file(&self, path: &str) -> Result<Option<OpenFile>, ArchiveError> {
        let key = format!("{FOLDER}/{path}");
        match &self.place {
            Place::Archive { .. } => self.place.open(&key).await,
            Place::Stored { store, .. } => Ok(store.get(&key).await?),
        }
    }

    /// Returns the list of files.
    ///
    /// # Errors
    /// [`ArchiveError`] if it is damaged, or not there.
    pub async fn files(&self) -> Result<Vec<FileLine>, ArchiveError> {
        let list = self.member(FILES).await?;
        let list = list.ok_or_else(|| ArchiveError::Damaged(format!("{} is not there", self.place.named(FILES))))?;
        read_file_lines(&all(list.content).await?)
    }

    /// Copies a member into a new file of this machine.
    ///
    /// # Errors
    /// [`ArchiveError`] if it is not there, or cannot be read or written.
    pub async fn fetch(&self, name: &str, to: &Path) -> Result<Fetched, ArchiveError> {
        let member = self.member(name).await?;
        let member = member.ok_or_else(|| ArchiveError::Damaged(format!("{} is not there", self.place.named(name))))?;
        let mut target = tokio::fs::File::create_new(to).await.map_err(ArchiveError::file(to))?;
        let mut content = member.content;
        let (mut bytes, mut hasher) = (0, Sha256::new());
        while let Some(part) = content.try_next().await.map_err(unreadable)? {
            bytes += part.len() as u64;
            hasher.update(&part);
            target.write_all(&part).await.map_err(ArchiveError::file(to))?;
        }
        target.flush().await.map_err(ArchiveError::file(to))?;
        Ok(Fetched {
            bytes,
            sha256: hexadecimal(&hasher.finalize()),
        })
    }
}

impl Fetched {
    /// Reads content to its end.
    ///
    /// # Errors
    /// [`ArchiveError`] if it cannot be read.
    pub async fn of(mut content: ContentStream) -> Result<Self, ArchiveError> {
        let (mut bytes, mut hasher) = (0, Sha256::new());
        while let Some(part) = content.try_next().await.map_err(unreadable)? {
            bytes += part.len() as u64;
            hasher.update(&part);
        }
        Ok(Self {
            bytes,
            sha256: hexadecimal(&hasher.finalize()),
        })
    }
}

impl Place {
    fn named(&self, member: &str) -> String {
        match self {
            Self::Archive { path, .. } => format!("{member} of {}", path.display()),
            Self::Stored { stamp, .. } => format!("{stamp}/{member}"),
        }
    }

    async fn open(&self, name: &str) -> Result<Option<OpenFile>, ArchiveError> {
        match self {
            Self::Archive { path, members } => {
                let Some(member) = members.get(name) else {
                    return Ok(None);
                };
                let mut file = tokio::fs::File::open(path).await.map_err(ArchiveError::file(path))?;
                file.seek(SeekFrom::Start(member.offset))
                    .await
                    .map_err(ArchiveError::file(path))?;
                Ok(Some(OpenFile {
                    size: member.bytes,
                    content: section(file, member.bytes),
                }))
            }
            Self::Stored { store, stamp } => Ok(store.get(&format!("{stamp}/{name}")).await?),
        }
    }
}

fn unreadable(error: BoxError) -> ArchiveError {
    ArchiveError::Store(forecourt_files::FileStoreError(error))
}

/// Returns the next `length` bytes of a file.
pub(crate) fn section(file: tokio::fs::File, length: u64) -> ContentStream {
    stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let room = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        let mut chunk = BytesMut::with_capacity(room);
        // The capacity may be larger than what was requested.
        let count = (&mut file).take(room as u64).read_buf(&mut chunk).await?;
        if count == 0 {
            return Err(BoxError::from("the file is shorter than it was"));
        }
        Ok(Some((chunk.freeze(), (file, left - count as u64))))
    })
    .boxed()
}

/// Returns content that is at hand.
pub(crate) fn content_of(bytes: Vec<u8>) -> ContentStream {
    stream::iter([Ok(Bytes::from(bytes))]).boxed()
}

pub(crate) async fn all(mut content: ContentStream) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    while let Some(part) = content.try_next().await.map_err(unreadable)? {
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}
