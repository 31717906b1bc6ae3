//! A store of files in a folder or a bucket.

use std::sync::Arc;

use async_trait::async_trait;
use forecourt_files::{BlobStore, ByteRange, ContentStream, FileName, FileStore, FileStoreError, ListedFile, OpenFile};
use forecourt_kernel::{BusinessId, Timestamp};

use crate::{FileLocation, bucket::BucketStore, folder::FolderStore};

/// Keeps files in a folder or in a bucket.
#[derive(Debug)]
pub struct ObjectFileStore(Place);

#[derive(Debug)]
enum Place {
    Folder(FolderStore),
    Bucket(BucketStore),
}

impl ObjectFileStore {
    /// Opens the store at that location.
    ///
    /// A missing folder is created, with access for this account only. The other settings of a bucket come from the usual
    /// environment variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, for servers other than Amazon's
    /// `AWS_ENDPOINT`, and `AWS_ALLOW_HTTP=true` for those without TLS. The bucket is contacted only by the first
    /// [`ping`](FileStore::ping).
    ///
    /// # Errors
    /// If the folder cannot be created or written, or the variables are invalid.
    pub fn open(location: &FileLocation) -> Result<Self, FileStoreError> {
        Self::open_with(location, variables())
    }

    /// Opens a store with these variables instead of those of the environment.
    ///
    /// # Errors
    /// As for [`ObjectFileStore::open`].
    pub fn open_with(
        location: &FileLocation,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, FileStoreError> {
        let place = match location {
            FileLocation::Folder(path) => FolderStore::open(path).map(Place::Folder)?,
            FileLocation::Bucket { name, prefix } => BucketStore::open(name, prefix, variables).map(Place::Bucket)?,
        };
        Ok(Self(place))
    }

    /// Opens a location for content under keys of any form. A folder is made when something is stored in it.
    ///
    /// # Errors
    /// If the environment's variables for buckets are invalid.
    pub fn blobs(location: &FileLocation) -> Result<Arc<dyn BlobStore>, FileStoreError> {
        Ok(match location {
            FileLocation::Folder(path) => Arc::new(FolderStore::at(path)),
            FileLocation::Bucket { name, prefix } => Arc::new(BucketStore::open(name, prefix, variables())?),
        })
    }

    fn place(&self) -> &dyn FileStore {
        match &self.0 {
            Place::Folder(folder) => folder,
            Place::Bucket(bucket) => bucket,
        }
    }
}

/// Returns the environment's variables.
fn variables() -> impl Iterator<Item = (String, String)> {
    let variables = std::env::vars_os();
    variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[async_trait]
impl FileStore for ObjectFileStore {
    async fn put(
        &self,
        business: BusinessId,
        name: &FileName,
        size: u64,
        content: ContentStream,
    ) -> Result<(), FileStoreError> {
        self.place().put(business, name, size, content).await
    }

    async fn open(
        &self,
        business: BusinessId,
        name: &FileName,
        range: Option<ByteRange>,
    ) -> Result<Option<OpenFile>, FileStoreError> {
        self.place().open(business, name, range).await
    }

    async fn delete(&self, business: BusinessId, name: &FileName) -> Result<(), FileStoreError> {
        self.place().delete(business, name).await
    }

    async fn list(
        &self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, FileStoreError> {
        self.place().list(business, after, limit).await
    }

    async fn businesses(&self) -> Result<Vec<BusinessId>, FileStoreError> {
        self.place().businesses().await
    }

    async fn claim(&self, installation: &str) -> Result<String, FileStoreError> {
        self.place().claim(installation).await
    }

    async fn quarantine(&self, business: BusinessId, name: &FileName, now: Timestamp) -> Result<(), FileStoreError> {
        self.place().quarantine(business, name, now).await
    }

    async fn empty_quarantine(&self, before: Timestamp) -> Result<usize, FileStoreError> {
        self.place().empty_quarantine(before).await
    }

    async fn ping(&self) -> Result<(), FileStoreError> {
        self.place().ping().await
    }
}
