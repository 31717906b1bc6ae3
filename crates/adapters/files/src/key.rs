//! The parts of the keys under which files are stored.

use forecourt_files::FileName;
use forecourt_kernel::BusinessId;

/// The number of leading characters of a name that select the shard.
const SHARD_CHARACTERS: usize = 2;

/// The key that records the installation that owns the files.
pub(crate) const INSTALLATION: &str = ".installation";
/// The prefix of files that are kept aside; below it they are stored by business and shard as elsewhere.
pub(crate) const QUARANTINE: &str = ".quarantine";

/// Returns the shard of its business's files that a file is in.
pub(crate) fn shard(name: &FileName) -> &str {
    name.as_str().get(..SHARD_CHARACTERS).unwrap_or_default()
}

/// Returns true if a shard of a business's files can have that name.
pub(crate) fn is_shard(text: &str) -> bool {
    let is_hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == SHARD_CHARACTERS && text.bytes().all(is_hexadecimal)
}

/// Returns the business whose files are under this part of a key; `None` if it is not in the form that this crate writes.
pub(crate) fn business(text: &str) -> Option<BusinessId> {
    let business: BusinessId = text.parse().ok()?;
    (business.to_string() == text).then_some(business)
}

/// Returns the file whose key ends with these parts.
pub(crate) fn file(shard: &str, name: &str) -> Option<FileName> {
    let file: FileName = name.parse().ok()?;
    (self::shard(&file) == shard).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_of_this_crate_are_read() {
        let name = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg";
        let file = file("a0", name).unwrap();
        assert_eq!((file.as_str(), shard(&file)), (name, "a0"));
        assert_eq!(super::file("a1", name), None);
        assert_eq!(super::file("a0", "notes.txt"), None);
        assert_eq!(business("17"), Some(BusinessId::new(17)));
        for text in ["017", "0", "-1", "", ".staging", "lost+found"] {
            assert_eq!(business(text), None, "{text}");
        }
        assert!(is_shard("0f") && !is_shard("0F") && !is_shard("0") && !is_shard(".."));
    }
}
