//! Files in a folder.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

use bytes::Bytes;
use forecourt_file_store::{FileLocation, ObjectFileStore};
use forecourt_files::{
    ByteRange, ContentStream, FileName, FileStore,
    testing::{file_store_contract, file_store_keeps_aside},
};
use forecourt_kernel::{BoxError, BusinessId, Timestamp};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

const OURS: BusinessId = BusinessId::new(7);
const THEIRS: BusinessId = BusinessId::new(12);

fn store(folder: &Path) -> ObjectFileStore {
    ObjectFileStore::open(&FileLocation::Folder(folder.to_owned())).unwrap()
}

fn name(key: &str) -> FileName {
    format!("{key:a<32}.jpg").parse().unwrap()
}

fn content(text: &'static str) -> ContentStream {
    stream::iter([Ok(Bytes::from_static(text.as_bytes()))]).boxed()
}

/// Returns the number of files that are being written.
fn staged(folder: &Path) -> usize {
    fs::read_dir(folder.join(".staging")).unwrap().count()
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    file_store_contract(&store(folder.path()), OURS, THEIRS).await;
    assert_eq!(staged(folder.path()), 0, "nothing unfinished stays");
}

#[tokio::test]
async fn it_keeps_files_aside() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::from_epoch_seconds(1_790_000_000);
    file_store_keeps_aside(&store(folder.path()), OURS, THEIRS, now).await;
    assert_eq!(staged(folder.path()), 0);
    assert_eq!(
        fs::read_to_string(folder.path().join(".installation")).unwrap(),
        "first"
    );
    let aside = folder.path().join(".quarantine/7");
    fs::create_dir_all(aside.join("0f")).unwrap();
    fs::write(aside.join("0f/notes.txt"), "strange").unwrap();
    let later = Timestamp::from_epoch_seconds(9_000_000_000);
    assert_eq!(
        store(folder.path()).empty_quarantine(later).await.unwrap(),
        0,
        "what is not ours stays"
    );
    // One server writes it and another reads it.
    assert_eq!(store(folder.path()).claim("third").await.unwrap(), "first");
}

#[tokio::test]
async fn only_the_account_of_the_server_can_read_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data/files");
    let store = store(&folder);
    store.put(OURS, &name("0f"), 3, content("abc")).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("7/0f").join(name("0f").as_str())), 0o600);
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let file = name("0f");
    store.put(OURS, &file, 3, content("abc")).await.unwrap();
    let shard = folder.path().join("7/0f");
    let bytes = |bytes: &'static [u8]| Path::new(std::ffi::OsStr::from_bytes(bytes)).to_owned();
    for strange in [
        folder.path().join("README"),
        folder.path().join("8"),
        folder.path().join("7/notes.txt"),
        folder.path().join("7/0e"),
        shard.join("notes.txt"),
        shard.join(name("1f").as_str()),
        shard.join(bytes(b"\xff\n#1")),
    ] {
        fs::write(strange, "strange").unwrap();
    }
    for strange in ["lost+found", "007", "7/0F", "9/0f"] {
        fs::create_dir_all(folder.path().join(strange)).unwrap();
    }
    fs::create_dir(shard.join(name("0fb").as_str())).unwrap();
    let listed = store.list(OURS, None, 10).await.unwrap();
    assert_eq!(listed.into_iter().map(|file| file.name).collect::<Vec<_>>(), [file]);
    assert_eq!(store.businesses().await.unwrap(), [OURS]);
}

#[tokio::test]
async fn pages_follow_each_other_across_shards() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut names: Vec<FileName> = (0..40)
        .map(|number| name(&format!("{:02x}{number:02}", number % 5)))
        .collect();
    for name in &names {
        store.put(OURS, name, 1, content("x")).await.unwrap();
    }
    names.sort();
    let mut listed: Vec<FileName> = Vec::new();
    loop {
        let page = store.list(OURS, listed.last(), 7).await.unwrap();
        if page.is_empty() {
            break;
        }
        listed.extend(page.into_iter().map(|file| file.name));
    }
    assert_eq!(listed, names);
}

#[tokio::test]
async fn a_long_file_is_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let whole: Vec<u8> = (0..300_000_u32)
        .map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1])
        .collect();
    let parts: Vec<_> = whole
        .chunks(70_000)
        .map(|part| Ok(Bytes::copy_from_slice(part)))
        .collect();
    store
        .put(OURS, &name("0f"), 300_000, stream::iter(parts).boxed())
        .await
        .unwrap();
    for (start, end) in [(0, 300_000), (65_535, 131_073), (299_999, 300_000), (10, 10)] {
        let range = ByteRange { start, end };
        let open = store.open(OURS, &name("0f"), Some(range)).await.unwrap().unwrap();
        let parts: Vec<Bytes> = open.content.try_collect().await.unwrap();
        assert!(parts.iter().all(|part| part.len() <= 64 * 1024));
        let (start, end) = (usize::try_from(start).unwrap(), usize::try_from(end).unwrap());
        assert_eq!(parts.concat(), &whole[start..end]);
    }
}

#[tokio::test]
async fn a_put_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let begun: [Result<Bytes, BoxError>; 1] = [Ok(Bytes::from_static(b"abc"))];
    let endless = stream::iter(begun).chain(stream::pending()).boxed();
    let file = name("0f");
    {
        let put = store.put(OURS, &file, 10, endless);
        futures_util::pin_mut!(put);
        while staged(folder.path()) == 0 {
            assert!(futures_util::poll!(put.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(staged(folder.path()), 0);
    assert!(store.list(OURS, None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn files_that_a_dead_server_left_are_removed_after_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let staging = folder.path().join(".staging");
    fs::create_dir(&staging).unwrap();
    let (old, new) = (staging.join("old"), staging.join("new"));
    let now = fs::File::create(&new).unwrap().metadata().unwrap().modified().unwrap();
    let day = std::time::Duration::from_secs(25 * 60 * 60);
    fs::File::create(&old).unwrap().set_modified(now - day).unwrap();
    store(folder.path());
    assert!(!old.exists() && new.exists());
}

#[tokio::test]
async fn a_place_that_is_no_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(ObjectFileStore::open(&FileLocation::Folder(file)).is_err());
    let store = store(&folder.path().join("files"));
    store.ping().await.unwrap();
    fs::remove_dir_all(folder.path().join("files")).unwrap();
    assert!(store.ping().await.is_err());
    assert!(store.put(OURS, &name("0f"), 3, content("abc")).await.is_err());
}
