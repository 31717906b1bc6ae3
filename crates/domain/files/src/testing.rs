//! Stores in memory, and the suites that every other store can be tested with.
//!
//! The suites panic if a store breaks its contract.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::{BusinessId, StoreResult, Timestamp};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::{
    ByteRange, ContentStream, FileKind, FileName, FileReader, FileRegister, FileStore, FileStoreError, ListedFile,
    MadePicture, OpenFile, PictureError, PictureMaker, PictureSource, Renditions, StoredFile, THUMBNAIL_WIDTHS,
};

/// A [`FileStore`] in memory.
#[derive(Debug, Default)]
pub struct MemoryFileStore {
    files: Mutex<BTreeMap<(BusinessId, FileName), Bytes>>,
    /// The quarantined files, each with the time at which it was moved there.
    aside: Mutex<BTreeMap<(BusinessId, FileName), Timestamp>>,
    installation: Mutex<Option<String>>,
}

impl MemoryFileStore {
    fn files(&self) -> MutexGuard<'_, BTreeMap<(BusinessId, FileName), Bytes>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl FileStore for MemoryFileStore {
    async fn put(
        &self,
        business: BusinessId,
        name: &FileName,
        size: u64,
        content: ContentStream,
    ) -> Result<(), FileStoreError> {
        let parts: Vec<Bytes> = content.try_collect().await.map_err(FileStoreError)?;
        let content = parts.concat();
        if content.len() as u64 != size {
            return Err(FileStoreError("the content has another length".into()));
        }
        self.files().insert((business, name.clone()), content.into());
        Ok(())
    }

    async fn open(
        &self,
        business: BusinessId,
        name: &FileName,
        range: Option<ByteRange>,
    ) -> Result<Option<OpenFile>, FileStoreError> {
        let Some(content) = self.files().get(&(business, name.clone())).cloned() else {
            return Ok(None);
        };
        let size = content.len();
        let at = |place: u64| usize::try_from(place).unwrap_or(size).min(size);
        let part = range.map_or(0..size, |range| at(range.start)..at(range.end));
        Ok(Some(OpenFile {
            size: size as u64,
            content: stream::iter([Ok(content.slice(part))]).boxed(),
        }))
    }

    async fn delete(&self, business: BusinessId, name: &FileName) -> Result<(), FileStoreError> {
        self.files().remove(&(business, name.clone()));
        Ok(())
    }

    async fn list(
        &self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: usize,
    ) -> Result<Vec<ListedFile>, FileStoreError> {
        let files = self.files();
        let own = files
            .iter()
            .filter(|((owner, name), _)| *owner == business && after.is_none_or(|after| name > after));
        let listed = own.map(|((business, name), content)| ListedFile {
            business: *business,
            name: name.clone(),
            size: content.len() as u64,
            stored: Timestamp::from_epoch_seconds(0),
        });
        Ok(listed.take(limit).collect())
    }

    async fn businesses(&self) -> Result<Vec<BusinessId>, FileStoreError> {
        let mut businesses: Vec<_> = self.files().keys().map(|(business, _)| *business).collect();
        businesses.dedup();
        Ok(businesses)
    }

    async fn claim(&self, installation: &str) -> Result<String, FileStoreError> {
        let mut noted = self.installation.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(noted.get_or_insert_with(|| installation.to_owned()).clone())
    }

    async fn quarantine(&self, business: BusinessId, name: &FileName, now: Timestamp) -> Result<(), FileStoreError> {
        let file = (business, name.clone());
        if self.files().remove(&file).is_some() {
            let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
            aside.insert(file, now);
        }
        Ok(())
    }

    async fn empty_quarantine(&self, before: Timestamp) -> Result<usize, FileStoreError> {
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(aside.extract_if(.., |_, since| *since < before).count())
    }

    async fn ping(&self) -> Result<(), FileStoreError> {
        Ok(())
    }
}

/// A [`FileRegister`] in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFileRegister {
    files: BTreeMap<FileName, (BusinessId, StoredFile)>,
}

/// A store in memory that holds records of files, perhaps with other records; it is a [`FileRegister`].
pub trait HoldsFiles: Send {
    /// The records.
    fn held_files(&mut self) -> &mut MemoryFileRegister;
}

impl HoldsFiles for MemoryFileRegister {
    fn held_files(&mut self) -> &mut MemoryFileRegister {
        self
    }
}

#[async_trait]
impl<S: HoldsFiles> FileReader for S {
    async fn file(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Option<StoredFile>> {
        let entry = self.held_files().files.get(name);
        Ok(entry
            .filter(|(owner, _)| *owner == business)
            .map(|(_, file)| file.clone()))
    }

    async fn file_bytes(&mut self, business: BusinessId) -> StoreResult<u64> {
        let files = self.held_files().files.values();
        Ok(files
            .filter(|(owner, _)| *owner == business)
            .map(|(_, file)| file.size)
            .sum())
    }

    async fn files_after(
        &mut self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>> {
        let files = &self.held_files().files;
        let own = files
            .values()
            .filter(|(owner, file)| *owner == business && after.is_none_or(|after| file.name > *after));
        Ok(own.take(limit as usize).map(|(_, file)| file.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsFiles> FileRegister for S {
    async fn insert_files(&mut self, business: BusinessId, files: &[StoredFile]) -> StoreResult<()> {
        let register = &mut self.held_files().files;
        for file in files {
            register.insert(file.name.clone(), (business, file.clone()));
        }
        Ok(())
    }

    async fn remove_files(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Vec<FileName>> {
        let register = &mut self.held_files().files;
        let own = |(owner, file): &(BusinessId, StoredFile)| *owner == business && file.name.key() == name.key();
        let gone: Vec<_> = register
            .values()
            .filter(|entry| own(entry))
            .map(|(_, file)| file.name.clone())
            .collect();
        for name in &gone {
            register.remove(name);
        }
        Ok(gone)
    }
}

/// A picture maker that returns every picture unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyingPictureMaker;

#[async_trait]
impl PictureMaker for CopyingPictureMaker {
    async fn make(&self, kind: FileKind, mut source: Box<dyn PictureSource>) -> Result<Renditions, PictureError> {
        let mut content = Vec::new();
        let read = source.read_to_end(&mut content);
        read.map_err(|error| PictureError::Failed(error.into()))?;
        let content = Bytes::from(content);
        let picture = |kind| MadePicture {
            kind,
            content: content.clone(),
            width: THUMBNAIL_WIDTHS[0],
            height: THUMBNAIL_WIDTHS[0],
        };
        let thumbnails = [FileKind::Jpeg, FileKind::Webp].map(|kind| (THUMBNAIL_WIDTHS[0], picture(kind)));
        Ok(Renditions {
            picture: picture(kind),
            thumbnails: thumbnails.into(),
        })
    }

    async fn check(&self, _: FileKind, _: Box<dyn PictureSource>) -> Result<(), PictureError> {
        Ok(())
    }
}

fn name(digit: u8, kind: FileKind) -> FileName {
    struct Same(u8);
    impl forecourt_kernel::Random for Same {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }
    FileName::random(&Same(digit), kind)
}

fn content(parts: &[&'static [u8]]) -> ContentStream {
    // Like the content of a file, the stream must not be polled after its end: it panics.
    let parts: VecDeque<&'static [u8]> = parts.iter().copied().collect();
    stream::unfold(parts, async |mut parts| {
        let part = parts.pop_front()?;
        Some((Ok(Bytes::from_static(part)), parts))
    })
    .boxed()
}

async fn read(
    store: &dyn FileStore,
    business: BusinessId,
    name: &FileName,
    range: Option<ByteRange>,
) -> Option<Vec<u8>> {
    let open = succeeded(store.open(business, name, range).await)?;
    let parts: Vec<Bytes> = succeeded(open.content.try_collect().await.map_err(FileStoreError));
    Some(parts.concat())
}

#[track_caller]
#[expect(clippy::panic, reason = "a suite fails by panicking")]
fn succeeded<T, E: std::error::Error>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("the store failed: {error}"))
}

/// Checks what every [`FileStore`] promises. The store must be empty.
///
/// # Panics
/// If the store breaks its contract.
pub async fn file_store_contract(store: &dyn FileStore, ours: BusinessId, theirs: BusinessId) {
    let (first, second) = (name(1, FileKind::Pdf), name(2, FileKind::Mp4));
    succeeded(store.ping().await);
    assert!(succeeded(store.businesses().await).is_empty());
    assert_eq!(read(store, ours, &first, None).await, None);
    succeeded(store.put(ours, &first, 10, content(&[b"01234", b"", b"56789"])).await);
    succeeded(store.put(ours, &second, 0, content(&[])).await);
    assert_eq!(
        read(store, ours, &first, None).await.as_deref(),
        Some(&b"0123456789"[..])
    );
    assert_eq!(read(store, ours, &second, None).await.as_deref(), Some(&b""[..]));
    let range = Some(ByteRange { start: 3, end: 7 });
    assert_eq!(read(store, ours, &first, range).await.as_deref(), Some(&b"3456"[..]));
    let size = succeeded(store.open(ours, &first, range).await).map(|open| open.size);
    assert_eq!(size, Some(10), "the size is that of the whole file");
    assert_eq!(
        read(store, theirs, &first, None).await,
        None,
        "each business has its own"
    );

    let cut_short = stream::iter([Ok(Bytes::from_static(b"012")), Err("it broke off".into())]).boxed();
    let third = name(3, FileKind::Png);
    assert!(store.put(ours, &third, 10, cut_short).await.is_err());
    assert!(store.put(ours, &third, 10, content(&[b"012"])).await.is_err());
    assert_eq!(
        read(store, ours, &third, None).await,
        None,
        "a file is there whole or not at all"
    );

    succeeded(store.put(theirs, &third, 3, content(&[b"abc"])).await);
    let names = |listed: Vec<ListedFile>| {
        listed
            .into_iter()
            .map(|file| (file.name, file.size))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(succeeded(store.list(ours, None, 10).await)),
        [(first.clone(), 10), (second.clone(), 0)]
    );
    assert_eq!(names(succeeded(store.list(ours, None, 1).await)), [(first.clone(), 10)]);
    assert_eq!(
        names(succeeded(store.list(ours, Some(&first), 10).await)),
        [(second.clone(), 0)]
    );
    let mut businesses = succeeded(store.businesses().await);
    businesses.sort();
    assert_eq!(businesses, [ours.min(theirs), ours.max(theirs)]);

    succeeded(store.delete(ours, &first).await);
    succeeded(store.delete(ours, &first).await);
    assert_eq!(read(store, ours, &first, None).await, None);
    assert_eq!(names(succeeded(store.list(ours, None, 10).await)), [(second, 0)]);
}

/// Checks what every [`FileStore`] promises about quarantine and about the installation that its files belong to. The store must
/// be empty, and `now` must be the time by its own clock.
///
/// # Panics
/// If the store breaks its contract.
pub async fn file_store_keeps_aside(store: &dyn FileStore, ours: BusinessId, theirs: BusinessId, now: Timestamp) {
    assert_eq!(succeeded(store.claim("first").await), "first");
    assert_eq!(succeeded(store.claim("second").await), "first", "it is noted once");
    assert_eq!(succeeded(store.empty_quarantine(now).await), 0);
    let file = name(1, FileKind::Pdf);
    for business in [ours, theirs] {
        succeeded(store.put(business, &file, 3, content(&[b"abc"])).await);
    }
    succeeded(store.quarantine(ours, &file, now).await);
    succeeded(store.quarantine(ours, &file, now).await);
    assert_eq!(read(store, ours, &file, None).await, None);
    assert_eq!(read(store, theirs, &file, None).await.as_deref(), Some(&b"abc"[..]));
    assert_eq!(
        succeeded(store.businesses().await),
        [theirs],
        "what is kept aside is no business's"
    );
    assert!(succeeded(store.list(ours, None, 10).await).is_empty());
    assert_eq!(succeeded(store.empty_quarantine(now).await), 0, "it stays for a while");
    succeeded(store.quarantine(theirs, &file, now).await);
    assert_eq!(succeeded(store.empty_quarantine(now.plus_seconds(1)).await), 2);
    assert_eq!(succeeded(store.empty_quarantine(now.plus_seconds(1)).await), 0);
}

/// Checks what every [`FileRegister`] promises. The register must be empty.
///
/// # Panics
/// If the store breaks its contract.
pub async fn file_register_contract(store: &mut dyn FileRegister, ours: BusinessId, theirs: BusinessId) {
    let stored = |name: FileName, kind, public| StoredFile {
        sha256: "ab".repeat(32),
        stored: Timestamp::from_epoch_seconds(1_700_000_000),
        size: 1_234,
        name,
        kind,
        public,
    };
    let photo = stored(name(1, FileKind::Jpeg), FileKind::Jpeg, true);
    let small = stored(photo.name.thumbnail(320, FileKind::Webp), FileKind::Webp, true);
    let document = stored(name(2, FileKind::Pdf), FileKind::Pdf, false);
    let other = stored(name(3, FileKind::Pdf), FileKind::Pdf, false);
    assert_eq!(succeeded(store.file(ours, &photo.name).await), None);
    let all = [photo.clone(), small.clone(), document.clone()];
    succeeded(store.insert_files(ours, &all).await);
    succeeded(store.insert_files(theirs, std::slice::from_ref(&other)).await);
    for (business, file) in [(ours, &photo), (ours, &small), (ours, &document), (theirs, &other)] {
        assert_eq!(succeeded(store.file(business, &file.name).await), Some(file.clone()));
    }

    assert_eq!(succeeded(store.file(theirs, &photo.name).await), None);
    let bytes = [ours, theirs, BusinessId::new(i64::MAX)].map(|business| (business, photo.size));
    for ((business, size), count) in bytes.into_iter().zip([3, 1, 0]) {
        assert_eq!(succeeded(store.file_bytes(business).await), count * size);
    }

    let mut names: Vec<FileName> = all.iter().map(|file| file.name.clone()).collect();
    names.sort();
    let mut listed = Vec::new();
    while let [file] = succeeded(store.files_after(ours, listed.last(), 1).await).as_slice() {
        listed.push(file.name.clone());
    }
    assert_eq!(listed, names);

    assert!(succeeded(store.remove_files(theirs, &photo.name).await).is_empty());
    let mut gone = succeeded(store.remove_files(ours, &photo.name).await);
    gone.sort();
    let mut both = vec![photo.name.clone(), small.name];
    both.sort();
    assert_eq!(gone, both, "a picture goes with its copies");
    assert_eq!(succeeded(store.file(ours, &photo.name).await), None);
    assert_eq!(succeeded(store.file_bytes(ours).await), document.size);
    assert_eq!(succeeded(store.files_after(ours, None, 10).await), [document]);
}
