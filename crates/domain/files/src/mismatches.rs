//! Content without a record, and records without content.

use std::collections::BTreeSet;

use forecourt_kernel::{BusinessId, StoreError, Timestamp};

use crate::{FileName, FileReader, FileStore, FileStoreError, ListedFile};

/// For how long content may be without a record, in seconds: an upload that is under way is stored before its record is, and a
/// clock may be wrong.
pub const STRAY_SECONDS: i64 = 24 * 60 * 60;

/// What is stray among some files of a business.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredMismatches {
    /// Content that no record names, and no upload under way can name any more.
    pub orphans: Vec<ListedFile>,
    /// How many of the files that were compared are stored.
    pub stored: usize,
    /// Recorded files whose content is missing.
    pub missing: Vec<FileName>,
    /// How many files were compared.
    pub compared: usize,
    /// What to go on after; `None` if these were the last.
    pub next: Option<FileName>,
}

/// Why mismatches could not be looked for.
#[derive(Debug, thiserror::Error)]
pub enum MismatchError {
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] StoreError),
    /// The content cannot be listed.
    #[error(transparent)]
    Content(#[from] FileStoreError),
}

/// Compares what is recorded and what is stored of a business, at most `limit` of each behind `after`.
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
    // In this order: the content of what is recorded by now is stored by then.
    let recorded = records.files_after(business, after, limit).await?;
    let recorded: Vec<FileName> = recorded.into_iter().map(|file| file.name).collect();
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let stored = store.list(business, after, page).await?;
    // A full page says nothing of what lies behind its end.
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
