//! Files in a bucket.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

mod support;

use bytes::Bytes;
use forecourt_file_store::ObjectFileStore;
use forecourt_files::{
    ByteRange, ContentStream, FileName, FileStore,
    testing::{file_store_contract, file_store_keeps_aside},
};
use forecourt_kernel::{BoxError, BusinessId, Timestamp};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use support::S3;

const OURS: BusinessId = BusinessId::new(7);
const THEIRS: BusinessId = BusinessId::new(12);
const MEGABYTE: usize = 1024 * 1024;

fn store(endpoint: &str, location: &str) -> ObjectFileStore {
    let variables = [
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("HOME", "/root"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    ObjectFileStore::open_with(&location.parse().unwrap(), variables).unwrap()
}

fn name(key: &str) -> FileName {
    format!("{key:a<32}.mp4").parse().unwrap()
}

/// Returns this number of megabytes, also split into odd parts.
fn megabytes(count: usize) -> (Vec<u8>, Vec<Result<Bytes, BoxError>>) {
    let whole: Vec<u8> = (0..count * MEGABYTE)
        .map(|at| at.to_le_bytes()[1] ^ at.to_le_bytes()[2])
        .collect();
    let parts = whole.chunks(MEGABYTE - 77).map(|part| Ok(Bytes::copy_from_slice(part)));
    let parts = parts.collect();
    (whole, parts)
}

async fn read(store: &ObjectFileStore, name: &FileName, range: Option<ByteRange>) -> Vec<u8> {
    let open = store.open(OURS, name, range).await.unwrap().unwrap();
    let parts: Vec<Bytes> = open.content.try_collect().await.unwrap();
    parts.concat()
}

#[tokio::test]
async fn it_keeps_the_contract() {
    let s3 = S3::start().await;
    file_store_contract(&store(&s3.endpoint, "s3://photos"), OURS, THEIRS).await;
}

#[tokio::test]
async fn it_keeps_files_aside() {
    // The time at which the server claims to have stored everything.
    let now = Timestamp::from_epoch_seconds(1_792_567_680);
    for location in ["s3://photos", "s3://photos/some/folder"] {
        let s3 = S3::start().await;
        file_store_keeps_aside(&store(&s3.endpoint, location), OURS, THEIRS, now).await;
    }
}

#[tokio::test]
async fn it_keeps_the_contract_below_a_prefix() {
    let s3 = S3::start().await;
    file_store_contract(&store(&s3.endpoint, "s3://photos/dealers/files"), OURS, THEIRS).await;
    let state = s3.state.lock().unwrap();
    assert!(!state.objects.is_empty());
    assert!(state.objects.keys().all(|key| key.starts_with("dealers/files/")));
}

/// The same on a server that is started separately: `FORECOURT_TEST_S3=http://127.0.0.1:5000`, with an empty bucket `photos`.
#[tokio::test]
#[ignore = "needs the server that FORECOURT_TEST_S3 names"]
async fn it_keeps_the_contract_on_another_server() {
    let endpoint = std::env::var("FORECOURT_TEST_S3").unwrap();
    let store = store(&endpoint, "s3://photos/a");
    file_store_contract(&store, OURS, THEIRS).await;
    let (whole, parts) = megabytes(12);
    let size = whole.len() as u64;
    store
        .put(OURS, &name("0f"), size, stream::iter(parts).boxed())
        .await
        .unwrap();
    assert_eq!(read(&store, &name("0f"), None).await, whole);
}

#[tokio::test]
async fn a_long_file_is_sent_in_parts() {
    let s3 = S3::start().await;
    let store = store(&s3.endpoint, "s3://photos");
    for megabytes_of_it in [5, 10, 12] {
        let (whole, parts) = megabytes(megabytes_of_it);
        let size = whole.len() as u64;
        store
            .put(OURS, &name("0f"), size, stream::iter(parts).boxed())
            .await
            .unwrap();
        assert_eq!(read(&store, &name("0f"), None).await, whole);
    }
    let range = ByteRange {
        start: 5_000_000,
        end: 5_000_003,
    };
    assert_eq!(read(&store, &name("0f"), Some(range)).await.len(), 3);
    let range = ByteRange { start: 3, end: 3 };
    assert!(read(&store, &name("0f"), Some(range)).await.is_empty());
    let state = s3.state.lock().unwrap();
    let count = |begins: &str| state.requests.iter().filter(|line| line.starts_with(begins)).count();
    assert!(state.uploads.is_empty());
    assert_eq!(count("PUT"), 1 + 2 + 3, "what fits into one request is sent in one");
}

#[tokio::test]
async fn a_long_file_that_is_not_what_it_should_be_leaves_nothing() {
    let s3 = S3::start().await;
    let store = store(&s3.endpoint, "s3://photos");
    for (announced, breaks_off) in [(11, false), (13, false), (12, true)] {
        let (_, mut parts) = megabytes(12);
        if breaks_off {
            *parts.last_mut().unwrap() = Err("it broke off".into());
        }
        let content: ContentStream = stream::iter(parts).boxed();
        let announced = (announced * MEGABYTE) as u64;
        assert!(store.put(OURS, &name("0f"), announced, content).await.is_err());
        let state = s3.state.lock().unwrap();
        assert!(state.uploads.is_empty() && state.objects.is_empty());
    }
}

#[tokio::test]
async fn a_put_that_is_given_up_is_aborted() {
    let s3 = S3::start().await;
    let store = store(&s3.endpoint, "s3://photos");
    let (_, parts) = megabytes(12);
    let content = stream::iter(parts).chain(stream::pending()).boxed();
    let file = name("0f");
    let uploads = || s3.state.lock().unwrap().uploads.len();
    {
        let put = store.put(OURS, &file, (13 * MEGABYTE) as u64, content);
        futures_util::pin_mut!(put);
        while uploads() == 0 {
            assert!(futures_util::poll!(put.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
        // The answer to the request that began it is still to be read.
        while !s3
            .state
            .lock()
            .unwrap()
            .requests
            .iter()
            .any(|line| line.starts_with("PUT"))
        {
            assert!(futures_util::poll!(put.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
    }
    while uploads() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let s3 = S3::start().await;
    let store = store(&s3.endpoint, "s3://photos/files");
    let file = name("0f");
    store.put(OURS, &file, 0, stream::empty().boxed()).await.unwrap();
    let strange = [
        "files/7/0f/notes.txt",
        "files/7/0e/",
        "files/7/notes.txt",
        "files/lost/x",
        "files/x",
        "filesystem",
    ];
    let other_shard = format!("files/7/00/{file}");
    let deeper = format!("files/7/0f/{file}/{file}");
    let keys = strange.into_iter().chain([other_shard.as_str(), deeper.as_str()]);
    s3.state
        .lock()
        .unwrap()
        .objects
        .extend(keys.map(|key| (key.to_owned(), Vec::new())));
    let listed = store.list(OURS, None, 10).await.unwrap();
    assert_eq!(listed.into_iter().map(|file| file.name).collect::<Vec<_>>(), [file]);
    assert_eq!(store.businesses().await.unwrap(), [OURS]);
}

#[tokio::test]
async fn a_page_reads_no_more_than_it_needs() {
    let s3 = S3::start().await;
    let store = store(&s3.endpoint, "s3://photos");
    let names: Vec<FileName> = (0..20).map(|number| name(&format!("{number:02}"))).collect();
    for name in &names {
        store.put(OURS, name, 0, stream::empty().boxed()).await.unwrap();
    }
    s3.state.lock().unwrap().requests.clear();
    let page = store.list(OURS, Some(&names[4]), 4).await.unwrap();
    assert_eq!(page.into_iter().map(|file| file.name).collect::<Vec<_>>(), names[5..9]);
    assert_eq!(s3.state.lock().unwrap().requests.len(), 2);
}

#[tokio::test]
async fn a_bucket_that_cannot_be_used_shows_at_a_ping() {
    let s3 = S3::start().await;
    store(&s3.endpoint, "s3://photos/files").ping().await.unwrap();
    let variables = [
        ("AWS_ENDPOINT", "http://127.0.0.1:9"),
        ("AWS_REGION", "x"),
        ("AWS_SKIP_SIGNATURE", "true"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let store = ObjectFileStore::open_with(&"s3://photos".parse().unwrap(), variables).unwrap();
    // Plain HTTP was not allowed, so no connection is tried.
    assert!(store.ping().await.is_err());
}
