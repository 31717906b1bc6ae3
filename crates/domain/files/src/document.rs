//! The common part of the documents that areas keep with their records: names, sizes as text, and the storage limit.

use forecourt_kernel::{BusinessId, InvalidText, Line, StoreResult, ValidationErrors};

use crate::{FileKind, FileRegister, StoredFile};

/// Returns the name of an uploaded file: the last part of the path that a caller gives, or `otherwise` if nothing is left of it,
/// with the extension of the file's kind.
///
/// # Errors
/// [`InvalidText`] if it is too long for a line, or has characters that no line has.
pub fn file_name(filename: Option<&str>, otherwise: &str, kind: FileKind) -> Result<Line, InvalidText> {
    Line::new(kind.named(&last_part(filename.unwrap_or_default(), otherwise)))
}

/// Returns the last part of the path that a caller gives as a file name, or `otherwise` if nothing is left of it.
fn last_part(filename: &str, otherwise: &str) -> String {
    let last = filename.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if last.trim_matches('.').is_empty() {
        otherwise.to_owned()
    } else {
        last.to_owned()
    }
}

/// Records files whose content is already stored. Returns the fault of `file` if they do not fit in the business's storage `limit`,
/// in bytes; then the transaction must not commit.
///
/// # Errors
/// The errors of the store.
pub async fn record_files<S: FileRegister + ?Sized>(
    store: &mut S,
    business: BusinessId,
    limit: Option<u64>,
    files: &[StoredFile],
) -> StoreResult<ValidationErrors> {
    // Other transactions that record files wait from here on, so that no two use the same remaining storage.
    store.insert_files(business, files).await?;
    let Some(limit) = limit else {
        return Ok(ValidationErrors::new());
    };
    let all = store.file_bytes(business).await?;
    if all <= limit {
        return Ok(ValidationErrors::new());
    }
    let new: u64 = files.iter().map(|file| file.size).sum();
    let message = format!(
        "is too long for the room that is left: of {} MB for all files of the business {} MB are taken",
        megabytes(limit),
        megabytes(all.saturating_sub(new)),
    );
    Ok(ValidationErrors::one("file", message))
}

/// Formats a number of bytes in MB, with at most one decimal.
fn megabytes(bytes: u64) -> String {
    const MEGABYTE: u64 = 1024 * 1024;
    match (bytes / MEGABYTE, bytes % MEGABYTE * 10 / MEGABYTE) {
        (whole, 0) => whole.to_string(),
        (whole, tenth) => format!("{whole}.{tenth}"),
    }
}

/// Formats a number of bytes in the largest unit of which there is at least one, with at most one decimal.
pub fn size_label(bytes: u64) -> String {
    const UNIT: u64 = 1024;
    if bytes < UNIT {
        return format!("{bytes} B");
    }
    let mut unit = UNIT;
    let mut names = ["KB", "MB", "GB"].into_iter();
    let mut name = names.next().unwrap_or_default();
    let tenths = |unit: u64| (bytes.saturating_mul(10) + unit / 2) / unit;
    while tenths(unit) >= 10 * UNIT
        && let Some(next) = names.next()
    {
        unit *= UNIT;
        name = next;
    }
    match (tenths(unit) / 10, tenths(unit) % 10) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenth) => format!("{whole}.{tenth} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, label) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1 KB"),
            (1_536, "1.5 KB"),
            (1_048_575, "1 MB"),
            (1_258_291, "1.2 MB"),
            (26_214_400, "25 MB"),
            (5 << 30, "5 GB"),
        ] {
            assert_eq!(size_label(bytes), label);
        }
    }

    #[test]
    fn a_path_is_cut_to_its_last_part() {
        for (sent, name) in [
            ("v5.pdf", "v5.pdf"),
            ("/tmp/ v5.pdf ", "v5.pdf"),
            ("C:\\scans\\v5.pdf", "v5.pdf"),
            ("scans/", "document"),
            ("../..", "document"),
            ("", "document"),
        ] {
            assert_eq!(last_part(sent, "document"), name, "{sent}");
        }
    }
}
