//! Files in a bucket that speaks S3.

use std::{mem, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_files::{
    Blob, BlobStore, ByteRange, ContentStream, FileName, FileStore, FileStoreError, ListedFile, OpenFile,
};
use forecourt_kernel::{BoxError, BusinessId, Timestamp};
use futures_util::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, Fuse},
};
use object_store::{
    BackoffConfig, Error, GetOptions, GetRange, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutPayload, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey},
    path::Path,
};
use tokio::{runtime::Handle, time::timeout};

use crate::{client::RingConnector, key};

/// The number of bytes sent at once: the minimum that S3 accepts as a part of an upload. As much is in memory for each upload.
const PART_BYTES: usize = 5 * 1024 * 1024;
/// The maximum pause of a server while it sends content.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of retries of a request, and the time for them. A person may be waiting for it.
const MAX_RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// The key prefix of the connection test. No file is ever stored below it.
const PING: &str = ".ping";

/// Keeps files in a bucket.
///
/// If a server dies during an upload, the parts already sent remain; a rule of the bucket's life cycle
/// (`AbortIncompleteMultipartUpload`) removes them.
#[derive(Debug)]
pub(crate) struct BucketStore {
    bucket: AmazonS3,
    prefix: Path,
}

impl BucketStore {
    pub(crate) fn open(
        name: &str,
        prefix: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, FileStoreError> {
        // Deleting many files at once is disabled: some servers do not support it, and nothing here uses it.
        let mut builder = AmazonS3Builder::new().with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
        for (name, value) in variables {
            if let Some(key) = aws_key(&name) {
                builder = builder.with_config(key, value);
            }
        }
        let bucket = builder
            .with_bucket_name(name)
            .with_http_connector(RingConnector)
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: MAX_RETRIES,
                retry_timeout: RETRY_TIMEOUT,
            })
            .build()
            .map_err(failed)?;
        let prefix = Path::parse(prefix).map_err(|error| failed(error.into()))?;
        Ok(Self { bucket, prefix })
    }

    fn business(&self, business: BusinessId) -> Path {
        self.prefix.clone().join(business.to_string())
    }

    fn path(&self, business: BusinessId, name: &FileName) -> Path {
        self.business(business).join(key::shard(name)).join(name.as_str())
    }

    /// Returns the file that an object of this business is; `None` if it is not one of ours.
    fn listed(&self, business: BusinessId, object: &ObjectMeta) -> Option<ListedFile> {
        let own = self.business(business);
        let mut parts = object.location.prefix_match(&own)?;
        let (shard, name, rest) = (parts.next()?, parts.next()?, parts.next());
        let name = key::file(shard.as_ref(), name.as_ref()).filter(|_| rest.is_none())?;
        Some(ListedFile {
            business,
            name,
            size: object.size,
            stored: Timestamp::from_epoch_seconds(object.last_modified.timestamp()),
        })
    }

    fn aside(&self) -> Path {
        self.prefix.clone().join(key::QUARANTINE)
    }

    async fn put_at(&self, path: &Path, size: u64, content: ContentStream) -> Result<(), FileStoreError> {
        let mut parts = Parts {
            content: content.fuse(),
            rest: Bytes::new(),
            missing: size,
        };
        let first = parts.next().await.map_err(FileStoreError)?;
        if size > PART_BYTES as u64 {
            return self.put_parts(path, first, parts).await.map_err(FileStoreError);
        }
        // The content has ended, or this is an error.
        parts.next().await.map_err(FileStoreError)?;
        self.bucket.put(path, first).await.map(drop).map_err(failed)
    }

    /// Returns the path of a key.
    fn at(&self, key: &str) -> Result<Path, FileStoreError> {
        let path = Path::parse(key).map_err(|error| failed(error.into()))?;
        Ok(path.parts().fold(self.prefix.clone(), |path, part| path.join(part)))
    }

    fn blob(&self, object: ObjectMeta) -> Option<Blob> {
        let parts = object.location.prefix_match(&self.prefix)?;
        let key: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
        Some(Blob {
            key: key.join("/"),
            size: object.size,
            stored: Timestamp::from_epoch_seconds(object.last_modified.timestamp()),
            etag: object.e_tag,
        })
    }

    /// Sends content that is too long for one request.
    async fn put_parts(&self, path: &Path, first: PutPayload, mut parts: Parts) -> Result<(), BoxError> {
        let mut upload = Unfinished(Some(self.bucket.put_multipart(path).await?));
        let sent = upload.send(first, &mut parts).await;
        if sent.is_ok() {
            upload.0 = None;
        } else {
            upload.abort().await;
        }
        sent
    }
}

/// Returns the setting for this environment variable.
fn aws_key(variable: &str) -> Option<AmazonS3ConfigKey> {
    let key = variable.starts_with("AWS_").then(|| variable.to_ascii_lowercase())?;
    key.parse().ok()
}

#[async_trait]
impl FileStore for BucketStore {
    async fn put(
        &self,
        business: BusinessId,
        name: &FileName,
        size: u64,
        content: ContentStream,
    ) -> Result<(), FileStoreError> {
        self.put_at(&self.path(business, name), size, content).await
    }

    async fn open(
        &self,
        business: BusinessId,
        name: &FileName,
        range: Option<ByteRange>,
    ) -> Result<Option<OpenFile>, FileStoreError> {
        // HTTP cannot express a range without bytes.
        let is_empty = range.is_some_and(|range| range.end <= range.start);
        let options = GetOptions {
            range: range
                .filter(|_| !is_empty)
                .map(|range| GetRange::Bounded(range.start..range.end)),
            head: is_empty,
            ..GetOptions::default()
        };
        match self.bucket.get_opts(&self.path(business, name), options).await {
            Ok(found) => Ok(Some(OpenFile {
                size: found.meta.size,
                content: if is_empty {
                    stream::empty().boxed()
                } else {
                    patient(found.into_stream().map_err(BoxError::from).boxed())
                },
            })),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn delete(&self, business: BusinessId, name: &FileName) -> Result<(), FileStoreError> {
        match self.bucket.delete(&self.path(business, name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    async fn list(
        &self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, FileStoreError> {
        let own = self.business(business);
        let objects = match after {
            Some(after) => self.bucket.list_with_offset(Some(&own), &self.path(business, after)),
            None => self.bucket.list(Some(&own)),
        };
        let files = objects.try_filter_map(async |object| Ok(self.listed(business, &object)));
        files.take(limit).try_collect().await.map_err(failed)
    }

    async fn businesses(&self) -> Result<Vec<BusinessId>, FileStoreError> {
        let root = (!self.prefix.is_root()).then_some(&self.prefix);
        let found = self.bucket.list_with_delimiter(root).await.map_err(failed)?;
        let last = |path: &Path| key::business(path.filename()?);
        Ok(found.common_prefixes.iter().filter_map(last).collect())
    }

    async fn claim(&self, installation: &str) -> Result<String, FileStoreError> {
        let path = self.prefix.clone().join(key::INSTALLATION);
        loop {
            match self.bucket.get(&path).await {
                Ok(found) => {
                    let noted = found.bytes().await.map_err(failed)?;
                    return Ok(String::from_utf8_lossy(&noted).trim().to_owned());
                }
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
            let payload = || PutPayload::from(installation.as_bytes().to_vec());
            let put = self.bucket.put_opts(&path, payload(), PutMode::Create.into()).await;
            match put {
                // The stored value is read: another server may have been first.
                Ok(_) | Err(Error::AlreadyExists { .. }) => {}
                // The server does not support conditions.
                Err(Error::NotImplemented { .. }) => {
                    self.bucket.put(&path, payload()).await.map(drop).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Copies the object aside. The bucket records the time by itself: a copy is new.
    async fn quarantine(&self, business: BusinessId, name: &FileName, _: Timestamp) -> Result<(), FileStoreError> {
        let aside = self.aside().join(business.to_string());
        let aside = aside.join(key::shard(name)).join(name.as_str());
        let path = self.path(business, name);
        match self.bucket.copy(&path, &aside).await {
            Ok(()) => FileStore::delete(self, business, name).await,
            Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    async fn empty_quarantine(&self, before: Timestamp) -> Result<usize, FileStoreError> {
        let aside = self.aside();
        let mut found = self.bucket.list(Some(&aside));
        let mut deleted = 0;
        while let Some(object) = found.try_next().await.map_err(failed)? {
            if object.last_modified.timestamp() < before.epoch_seconds() && is_aside(&object.location, &aside) {
                match self.bucket.delete(&object.location).await {
                    Ok(()) => deleted += 1,
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        Ok(deleted)
    }

    /// Lists a prefix that is always empty. This proves the address, the bucket and the credentials at the lowest cost.
    async fn ping(&self) -> Result<(), FileStoreError> {
        let nothing = self.prefix.clone().join(PING);
        let found = self.bucket.list(Some(&nothing)).try_next().await;
        found.map(drop).map_err(failed)
    }
}

/// Content under keys that follow the prefix.
#[async_trait]
impl BlobStore for BucketStore {
    async fn put(&self, key: &str, size: u64, content: ContentStream) -> Result<(), FileStoreError> {
        self.put_at(&self.at(key)?, size, content).await
    }

    async fn get(&self, key: &str) -> Result<Option<OpenFile>, FileStoreError> {
        match self.bucket.get(&self.at(key)?).await {
            Ok(found) => Ok(Some(OpenFile {
                size: found.meta.size,
                content: patient(found.into_stream().map_err(BoxError::from).boxed()),
            })),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn stat(&self, key: &str) -> Result<Option<Blob>, FileStoreError> {
        match self.bucket.head(&self.at(key)?).await {
            Ok(object) => Ok(self.blob(object)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn list(&self, folder: &str) -> Result<Vec<Blob>, FileStoreError> {
        let folder = self.at(folder)?;
        let objects = self.bucket.list(Some(&folder));
        let blobs = objects.try_filter_map(async |object| Ok(self.blob(object)));
        blobs.try_collect().await.map_err(failed)
    }

    async fn folders(&self) -> Result<Vec<String>, FileStoreError> {
        let root = (!self.prefix.is_root()).then_some(&self.prefix);
        let found = self.bucket.list_with_delimiter(root).await.map_err(failed)?;
        let names = found.common_prefixes.iter().filter_map(Path::filename);
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }

    async fn delete(&self, key: &str) -> Result<(), FileStoreError> {
        match self.bucket.delete(&self.at(key)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Returns true if an object is a file that is kept aside.
fn is_aside(object: &Path, aside: &Path) -> bool {
    let Some(mut parts) = object.prefix_match(aside) else {
        return false;
    };
    let (Some(business), Some(shard), Some(name), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    key::business(business.as_ref()).is_some() && key::file(shard.as_ref(), name.as_ref()).is_some()
}

/// Content in parts of the size that S3 accepts.
struct Parts {
    /// The content. It is fused, since it is polled again after its end.
    content: Fuse<ContentStream>,
    /// The rest of the chunk from which the previous part was filled.
    rest: Bytes,
    /// The number of bytes that are still to come.
    missing: u64,
}

impl Parts {
    /// Returns the next [`PART_BYTES`], or fewer at the end and none after it.
    async fn next(&mut self) -> Result<PutPayload, BoxError> {
        let (mut part, mut room) = (Vec::new(), PART_BYTES);
        while room > 0 {
            if self.rest.is_empty() {
                match self.content.next().await.transpose()? {
                    Some(more) => {
                        let missing = self.missing.checked_sub(more.len() as u64);
                        self.missing = missing.ok_or("the content is longer than announced")?;
                        self.rest = more;
                    }
                    None if self.missing > 0 => return Err("the content is shorter than announced".into()),
                    None => break,
                }
            }
            let taken = self.rest.split_to(room.min(self.rest.len()));
            room -= taken.len();
            if !taken.is_empty() {
                part.push(taken);
            }
        }
        Ok(part.into_iter().collect())
    }
}

/// An upload that is aborted on drop unless it was completed.
struct Unfinished(Option<Box<dyn MultipartUpload>>);

impl Unfinished {
    async fn send(&mut self, first: PutPayload, parts: &mut Parts) -> Result<(), BoxError> {
        let Some(upload) = &mut self.0 else {
            return Ok(());
        };
        let mut part = first;
        while part.content_length() > 0 {
            upload.put_part(mem::take(&mut part)).await?;
            part = parts.next().await?;
        }
        upload.complete().await?;
        Ok(())
    }

    async fn abort(&mut self) {
        if let Some(mut upload) = self.0.take() {
            // If it cannot be removed now, the rule of the bucket's life cycle removes it.
            let _ = upload.abort().await;
        }
    }
}

impl Drop for Unfinished {
    /// Aborts the upload if the caller has gone while content was sent.
    fn drop(&mut self) {
        if let (Some(upload), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { Self(Some(upload)).abort().await });
        }
    }
}

/// Returns the same content, which fails if the server pauses for too long.
fn patient(content: ContentStream) -> ContentStream {
    stream::try_unfold(content, |mut content| async move {
        let next = timeout(READ_TIMEOUT, content.try_next()).await??;
        Ok(next.map(|part| (part, content)))
    })
    .boxed()
}

fn failed(error: Error) -> FileStoreError {
    FileStoreError(error.into())
}
