//! Files in a folder.

use std::{
    fs::File,
    io::{self, ErrorKind, SeekFrom},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::BytesMut;
use forecourt_durable::{create_file, make_folder, new_draft, sync_folder};
use forecourt_files::{
    Blob, BlobStore, ByteRange, ContentStream, FileName, FileStore, FileStoreError, ListedFile, OpenFile,
};
use forecourt_kernel::{BoxError, BusinessId, Timestamp};
use futures_util::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

use crate::key;

/// The folder of files that are being written. It is beside those of the businesses, so that a finished file is only renamed.
const STAGING: &str = ".staging";
/// The age from which a file in that folder is abandoned: a server died while it wrote it.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of bytes of a file that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Numbers the files that this process writes at the same time.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Keeps files in a folder. Only the account that the server runs under can read them.
#[derive(Debug)]
pub(crate) struct FolderStore {
    root: PathBuf,
}

impl FolderStore {
    /// The store in a folder that is made when something is stored.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn open(root: &Path) -> Result<Self, FileStoreError> {
        let store = Self { root: root.to_owned() };
        store.prepare().map_err(failed)?;
        Ok(store)
    }

    /// Makes the folders, and removes unfinished files of servers that died.
    fn prepare(&self) -> io::Result<()> {
        let staging = self.root.join(STAGING);
        make_folder(&self.root)?;
        make_folder(&staging)?;
        // The time is that of the file system, by which it dates files.
        let now = probe(&staging)?;
        for entry in std::fs::read_dir(&staging)?.flatten() {
            let age = entry.metadata().and_then(|metadata| metadata.modified());
            let age = age.map(|modified| now.duration_since(modified).unwrap_or_default());
            if age.is_ok_and(|age| age > ABANDONED_AFTER) {
                // Another server may have removed it first; a leftover only takes up space.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn business(&self, business: BusinessId) -> PathBuf {
        self.root.join(business.to_string())
    }

    fn path(&self, business: BusinessId, name: &FileName) -> PathBuf {
        self.business(business).join(key::shard(name)).join(name.as_str())
    }

    /// Gives a finished file its name, durably.
    fn publish(&self, staged: Staged, business: BusinessId, name: &FileName) -> io::Result<()> {
        self.publish_at(staged, &self.path(business, name))
    }

    fn publish_at(&self, mut staged: Staged, path: &Path) -> io::Result<()> {
        let folders = path.ancestors().skip(1);
        let folders: Vec<&Path> = folders.take_while(|folder| folder.starts_with(&self.root)).collect();
        if let Some(folder) = folders.first() {
            make_folder(folder)?;
        }
        std::fs::rename(&staged.path, path)?;
        staged.is_published = true;
        // A name is durable only with its folder, which another writer may have made a moment ago.
        for folder in folders {
            sync_folder(folder)?;
        }
        Ok(())
    }

    /// Lists the files of a business, reading one shard at a time.
    fn listed(&self, business: BusinessId, after: Option<&FileName>, limit: usize) -> io::Result<Vec<ListedFile>> {
        let folder = self.business(business);
        let first_shard = after.map_or("", key::shard);
        let mut shards = entries(&folder)?;
        shards.retain(|shard| key::is_shard(shard) && shard.as_str() >= first_shard);
        let mut listed = Vec::new();
        for shard in shards {
            let names = entries(&folder.join(&shard))?;
            let files = names.iter().filter_map(|name| key::file(&shard, name));
            for name in files.filter(|name| after.is_none_or(|after| name > after)) {
                if listed.len() >= limit {
                    return Ok(listed);
                }
                match std::fs::metadata(folder.join(&shard).join(name.as_str())) {
                    Ok(metadata) if metadata.is_file() => listed.push(ListedFile {
                        business,
                        name,
                        size: metadata.len(),
                        stored: timestamp(metadata.modified()?),
                    }),
                    Ok(_) => {}
                    // The folder was deleted meanwhile.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(listed)
    }

    /// Returns the recorded installation, or records `installation` if there is none.
    fn claimed(&self, installation: &str) -> io::Result<String> {
        let draft = format!("{STAGING}/{}", unique("installation"));
        match create_file(&self.root, key::INSTALLATION, &draft, installation.as_bytes()) {
            // Another server was first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => created?,
        }
        let path = self.root.join(key::INSTALLATION);
        Ok(std::fs::read_to_string(path)?.trim().to_owned())
    }

    /// Moves a file to those that are kept aside. Its time of change is the time of the move.
    fn set_aside(&self, business: BusinessId, name: &FileName, now: Timestamp) -> io::Result<()> {
        let path = self.path(business, name);
        let shard = self.aside().join(business.to_string()).join(key::shard(name));
        let seconds = u64::try_from(now.epoch_seconds()).unwrap_or_default();
        // The time is set before the move: if a server dies in between, the file is young, and not one that was kept aside for
        // long.
        match File::open(&path)
            .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
        {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            dated => dated?,
        }
        make_folder(&shard)?;
        std::fs::rename(path, shard.join(name.as_str()))
    }

    fn aside(&self) -> PathBuf {
        self.root.join(key::QUARANTINE)
    }

    fn delete_aside(&self, before: Timestamp) -> io::Result<usize> {
        let mut deleted = 0;
        for business in entries(&self.aside())?.iter().filter_map(|name| key::business(name)) {
            let own = self.aside().join(business.to_string());
            for shard in entries(&own)?.iter().filter(|shard| key::is_shard(shard)) {
                let folder = own.join(shard);
                let names = entries(&folder)?;
                for name in names.iter().filter_map(|name| key::file(shard, name)) {
                    let path = folder.join(name.as_str());
                    let gone = std::fs::metadata(&path).and_then(|metadata| {
                        let is_due = timestamp(metadata.modified()?) < before;
                        if is_due {
                            std::fs::remove_file(&path)?;
                        }
                        Ok(is_due)
                    });
                    match gone {
                        Ok(gone) => deleted += usize::from(gone),
                        // Another server was first, or people restored it.
                        Err(error) if error.kind() == ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(deleted)
    }

    /// Runs work that waits for the disk on a thread of its own.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Result<T, FileStoreError> {
        let store = Self {
            root: self.root.clone(),
        };
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(io::Error::other).flatten().map_err(failed)
    }
}

#[async_trait]
impl FileStore for FolderStore {
    async fn put(
        &self,
        business: BusinessId,
        name: &FileName,
        size: u64,
        content: ContentStream,
    ) -> Result<(), FileStoreError> {
        let staged = Staged::new(&self.root.join(STAGING), name);
        write(&staged.path, size, content).await.map_err(FileStoreError)?;
        let name = name.clone();
        self.blocking(move |store| store.publish(staged, business, &name)).await
    }

    async fn open(
        &self,
        business: BusinessId,
        name: &FileName,
        range: Option<ByteRange>,
    ) -> Result<Option<OpenFile>, FileStoreError> {
        let mut file = match tokio::fs::File::open(self.path(business, name)).await {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let size = file.metadata().await.map_err(failed)?.len();
        let range = range.unwrap_or(ByteRange { start: 0, end: size });
        let start = range.start.min(size);
        file.seek(SeekFrom::Start(start)).await.map_err(failed)?;
        Ok(Some(OpenFile {
            size,
            content: read(file, range.end.min(size).saturating_sub(start)),
        }))
    }

    async fn delete(&self, business: BusinessId, name: &FileName) -> Result<(), FileStoreError> {
        match tokio::fs::remove_file(self.path(business, name)).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    async fn list(
        &self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, FileStoreError> {
        let after = after.cloned();
        self.blocking(move |store| store.listed(business, after.as_ref(), limit))
            .await
    }

    async fn businesses(&self) -> Result<Vec<BusinessId>, FileStoreError> {
        self.blocking(|store| {
            let mut businesses = Vec::new();
            for business in entries(&store.root)?.iter().filter_map(|name| key::business(name)) {
                // The folders of a business remain after its files are deleted.
                if !store.listed(business, None, 1)?.is_empty() {
                    businesses.push(business);
                }
            }
            Ok(businesses)
        })
        .await
    }

    async fn claim(&self, installation: &str) -> Result<String, FileStoreError> {
        let installation = installation.to_owned();
        self.blocking(move |store| store.claimed(&installation)).await
    }

    async fn quarantine(&self, business: BusinessId, name: &FileName, now: Timestamp) -> Result<(), FileStoreError> {
        let name = name.clone();
        self.blocking(move |store| store.set_aside(business, &name, now)).await
    }

    async fn empty_quarantine(&self, before: Timestamp) -> Result<usize, FileStoreError> {
        self.blocking(move |store| store.delete_aside(before)).await
    }

    async fn ping(&self) -> Result<(), FileStoreError> {
        self.blocking(|store| probe(&store.root.join(STAGING)).map(drop)).await
    }
}

/// Content under keys that are paths below the folder.
#[async_trait]
impl BlobStore for FolderStore {
    async fn put(&self, key: &str, size: u64, content: ContentStream) -> Result<(), FileStoreError> {
        let path = self.root.join(key);
        self.blocking(|store| make_folder(&store.root.join(STAGING))).await?;
        let staged = Staged {
            path: self.root.join(STAGING).join(unique("content")),
            is_published: false,
        };
        write(&staged.path, size, content).await.map_err(FileStoreError)?;
        self.blocking(move |store| store.publish_at(staged, &path)).await
    }

    async fn get(&self, key: &str) -> Result<Option<OpenFile>, FileStoreError> {
        let file = match tokio::fs::File::open(self.root.join(key)).await {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let size = file.metadata().await.map_err(failed)?.len();
        Ok(Some(OpenFile {
            size,
            content: read(file, size),
        }))
    }

    async fn stat(&self, key: &str) -> Result<Option<Blob>, FileStoreError> {
        let key = key.to_owned();
        self.blocking(move |store| match std::fs::metadata(store.root.join(&key)) {
            Ok(metadata) if metadata.is_file() => Ok(Some(blob(key, &metadata)?)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn list(&self, folder: &str) -> Result<Vec<Blob>, FileStoreError> {
        let mut folders = vec![folder.to_owned()];
        self.blocking(move |store| {
            let mut found = Vec::new();
            while let Some(folder) = folders.pop() {
                for name in entries(&store.root.join(&folder))? {
                    let key = format!("{folder}/{name}");
                    match std::fs::metadata(store.root.join(&key)) {
                        Ok(metadata) if metadata.is_dir() => folders.push(key),
                        Ok(metadata) => found.push(blob(key, &metadata)?),
                        Err(error) if error.kind() == ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok(found)
        })
        .await
    }

    async fn folders(&self) -> Result<Vec<String>, FileStoreError> {
        self.blocking(|store| {
            let mut names = entries(&store.root)?;
            names.retain(|name| store.root.join(name).is_dir());
            Ok(names)
        })
        .await
    }

    /// Removes a file, and the folders that it leaves empty.
    async fn delete(&self, key: &str) -> Result<(), FileStoreError> {
        let path = self.root.join(key);
        self.blocking(move |store| {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let folders = path.ancestors().skip(1);
            for folder in folders.take_while(|folder| *folder != store.root && folder.starts_with(&store.root)) {
                // One that is not empty stays.
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            Ok(())
        })
        .await
    }
}

fn blob(key: String, metadata: &std::fs::Metadata) -> io::Result<Blob> {
    Ok(Blob {
        key,
        size: metadata.len(),
        stored: timestamp(metadata.modified()?),
        etag: None,
    })
}

/// A file that is being written; it is removed on drop unless it is published.
struct Staged {
    path: PathBuf,
    is_published: bool,
}

impl Staged {
    fn new(folder: &Path, name: &FileName) -> Self {
        Self {
            path: folder.join(unique(name.as_str())),
            is_published: false,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_published {
            // There may be no file yet; one that remains is removed when a server starts.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns a name that no other writer uses.
fn unique(name: &str) -> String {
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    format!("{name}.{}.{number}", process::id())
}

/// Writes content of that length durably; only the file's name is not durable yet.
async fn write(path: &Path, size: u64, mut content: ContentStream) -> Result<(), BoxError> {
    let mut options = tokio::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).await?;
    let mut missing = size;
    while let Some(part) = content.next().await {
        let part = part?;
        missing = missing
            .checked_sub(part.len() as u64)
            .ok_or("the content is longer than announced")?;
        file.write_all(&part).await?;
    }
    if missing > 0 {
        return Err("the content is shorter than announced".into());
    }
    file.flush().await?;
    file.sync_all().await?;
    Ok(())
}

/// Returns the next `length` bytes of a file.
fn read(file: tokio::fs::File, length: u64) -> ContentStream {
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

/// Returns the names in a folder, in order; none if the folder does not exist. Our files never have names that are not UTF-8.
fn entries(folder: &Path) -> io::Result<Vec<String>> {
    let found = match std::fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in found {
        names.extend(entry?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// Writes and removes a file, and returns the file system's time of the write.
fn probe(folder: &Path) -> io::Result<SystemTime> {
    let path = folder.join(unique("probe"));
    let mut file = new_draft(&path)?;
    let written = io::Write::write_all(&mut file, b"x").and_then(|()| file.metadata()?.modified());
    std::fs::remove_file(&path)?;
    written
}

fn timestamp(moment: SystemTime) -> Timestamp {
    let since_epoch = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_epoch_seconds(i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX))
}

fn failed(error: io::Error) -> FileStoreError {
    FileStoreError(error.into())
}
