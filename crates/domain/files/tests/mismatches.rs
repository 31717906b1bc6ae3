//! Content without a record and records without content are found page by page.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use bytes::Bytes;
use forecourt_files::testing::{MemoryFileRegister, MemoryFileStore};
use forecourt_files::{
    FileKind, FileName, FileRegister as _, FileStore as _, STRAY_SECONDS, StoredFile, StoredMismatches, find_mismatches,
};
use forecourt_kernel::{BusinessId, Timestamp};
use futures_util::stream::{self, StreamExt as _};

const BUSINESS: BusinessId = BusinessId::new(1);

fn name(number: u8) -> FileName {
    format!("{number:032x}.pdf").parse().unwrap()
}

/// Returns the mismatches at `now` between the files `recorded` and the files `stored`, collected over all pages.
async fn found(recorded: &[u8], stored: &[u8], limit: u32, now: i64) -> StoredMismatches {
    let (store, mut register) = (MemoryFileStore::default(), MemoryFileRegister::default());
    for &number in stored {
        let content = stream::iter([Ok(Bytes::from_static(b"x"))]).boxed();
        store.put(BUSINESS, &name(number), 1, content).await.unwrap();
    }
    for &number in recorded {
        let file = StoredFile {
            name: name(number),
            kind: FileKind::Pdf,
            size: 1,
            sha256: String::new(),
            stored: Timestamp::from_epoch_seconds(0),
            public: false,
        };
        register.insert_files(BUSINESS, &[file]).await.unwrap();
    }
    let mut all = StoredMismatches::default();
    loop {
        let now = Timestamp::from_epoch_seconds(now);
        let page = find_mismatches(&store, &mut register, BUSINESS, all.next.as_ref(), limit, now).await;
        let page = page.unwrap();
        all.orphans.extend(page.orphans);
        all.missing.extend(page.missing);
        all.compared += page.compared;
        all.stored += page.stored;
        all.next = page.next;
        if all.next.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn each_mismatch_is_found_once_whatever_the_page() {
    let (recorded, stored) = ([1, 2, 4, 6, 7, 8], [2, 3, 4, 5, 8, 9, 10]);
    for limit in 1..12 {
        let mismatches = found(&recorded, &stored, limit, STRAY_SECONDS).await;
        let orphans: Vec<_> = mismatches.orphans.into_iter().map(|file| file.name).collect();
        assert_eq!(orphans, [3, 5, 9, 10].map(name), "{limit}");
        assert_eq!(mismatches.missing, [1, 6, 7].map(name), "{limit}");
        assert_eq!((mismatches.compared, mismatches.stored), (10, 7), "{limit}");
    }
}

#[tokio::test]
async fn what_is_being_uploaded_is_no_orphan() {
    assert!(found(&[], &[1], 10, STRAY_SECONDS - 1).await.orphans.is_empty());
    assert_eq!(found(&[], &[1], 10, STRAY_SECONDS).await.orphans.len(), 1);
}
