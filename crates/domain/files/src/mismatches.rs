//! Compares the store with the records: content without a record, and records without content.

use std::collections::BTreeSet;

use forecourt_kernel::{BusinessId, StoreError, Timestamp};

use crate::{FileName, FileReader, FileStore, FileStoreError, ListedFile};

/// Grace period for content without a record, in seconds. The content of an upload is stored before its record, and a clock may
/// be wrong.
pub const STRAY_SECONDS: i64 = 24 * 60 * 60;

/// The mismatches in one page of a business's files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredMismatches {
    /// Content that no record names, too old for an upload in progress to record it still.
    pub orphans: Vec<ListedFile>,
    /// Number of compared files whose content is stored.
    pub stored: usize,
    /// Recorded files whose content is missing.
    pub missing: Vec<FileName>,
    /// Number of files that were compared.
    pub compared: usize,
    /// The name after which the next page begins, or `None` after the last page.
    pub next: Option<FileName>,
}

/// The reasons why mismatches could not be determined.
#[derive(Debug, thiserror::Error)]
pub enum MismatchError {
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] StoreError),
    /// The content cannot be listed.
    #[error(transparent)]
    Content(#[from] FileStoreError),
}

/// Compares the records and the stored content of a business, at most `limit` of each after `after`.
///
/// # Errors
/// [`MismatchError`].
pub async fn find_mismatches(
    store: &dyn FileStore,
    records: &mut dyn FileReader,
    business: BusinessId,
    after: Option<&FileName>,
    limit: u32,
    now: Timestamp,
) -> Result<StoredMismatches, MismatchError> {
    // The order matters: content that is recorded by now is stored by the time of the listing.
    let recorded = records.files_after(business, after, limit).await?;
    let recorded: Vec<FileName> = recorded.into_iter().map(|file| file.name).collect();
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let stored = store.list(business, after, page).await?;
    // A full page says nothing about the names after its end.
    let ends = [
        (recorded.len() >= page).then(|| recorded.last().cloned()).flatten(),
        (stored.len() >= page)
            .then(|| stored.last().map(|file| file.name.clone()))
            .flatten(),
    ];
    let next = ends.into_iter().flatten().min();
    let is_compared = |name: &FileName| next.as_ref().is_none_or(|end| name <= end);
    let recorded: BTreeSet<FileName> = recorded.into_iter().filter(is_compared).collect();
    let stored: Vec<ListedFile> = stored.into_iter().filter(|file| is_compared(&file.name)).collect();
    let names: BTreeSet<&FileName> = stored.iter().map(|file| &file.name).collect();
    let missing: Vec<FileName> = recorded.iter().filter(|name| !names.contains(name)).cloned().collect();
    let compared = recorded.union(&names.into_iter().cloned().collect()).count();
    let stored_count = stored.len();
    let is_orphan = |file: &ListedFile| {
        let is_old = file.stored.plus_seconds(STRAY_SECONDS) <= now;
        is_old && !recorded.contains(&file.name)
    };
    Ok(StoredMismatches {
        orphans: stored.into_iter().filter(is_orphan).collect(),
        stored: stored_count,
        missing,
        compared,
        next,
    })
}
