//! The list of a backup's files.

use std::fmt;
use std::str::FromStr;

use forecourt_files::FileName;
use forecourt_kernel::BusinessId;
use serde::{Deserialize, Serialize};

use crate::error::ArchiveError;
use crate::pack::{compress, decompress};

/// The way in which files are in a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileMode {
    /// Not at all.
    None,
    /// By their names, lengths and entity tags.
    Reference,
    /// With their content.
    All,
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Reference => "reference",
            Self::All => "all",
        })
    }
}

/// A line of the list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileLine {
    /// The path in a store: business, shard and name.
    pub name: String,
    /// The length.
    pub bytes: u64,
    /// The SHA-256 of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The bucket's entity tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// True if the file was deleted while the backup was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// The path of a file in a store: `BUSINESS/SH/NAME`, where `SH` are the first two characters of the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePath {
    /// The business that owns it.
    pub business: BusinessId,
    /// Its name.
    pub name: FileName,
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_str();
        write!(f, "{}/{}/{name}", self.business, name.get(..2).unwrap_or_default())
    }
}

impl FromStr for FilePath {
    type Err = ArchiveError;

    /// Accepts the written form alone, so that no path of a damaged list leads elsewhere.
    fn from_str(text: &str) -> Result<Self, ArchiveError> {
        let refusal = || {
            ArchiveError::Damaged(format!(
                "{FILES} names {text:?}, which is no file's path",
                FILES = crate::FILES
            ))
        };
        let (business, rest) = text.split_once('/').ok_or_else(refusal)?;
        let (_, name) = rest.split_once('/').ok_or_else(refusal)?;
        let path = Self {
            business: business.parse().map_err(|_| refusal())?,
            name: name.parse().map_err(|_| refusal())?,
        };
        if path.to_string() == text {
            Ok(path)
        } else {
            Err(refusal())
        }
    }
}

/// The longest list that is read, in bytes: millions of files.
const MAX_LIST_BYTES: u64 = 2 << 30;

/// Writes the list.
///
/// # Errors
/// None known.
pub fn write_file_lines(lines: &[FileLine]) -> Result<Vec<u8>, ArchiveError> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
        text.push(b'\n');
    }
    compress(&text)
}

/// Reads the list.
///
/// # Errors
/// [`ArchiveError::Damaged`].
pub fn read_file_lines(packed: &[u8]) -> Result<Vec<FileLine>, ArchiveError> {
    let damaged = |what: String| ArchiveError::Damaged(format!("{} {what}", crate::FILES));
    let text = decompress(packed, MAX_LIST_BYTES).map_err(|error| damaged(format!("cannot be unpacked: {error}")))?;
    let text = String::from_utf8(text).map_err(|_| damaged("is not UTF-8".to_owned()))?;
    let lines = text.lines().map(|line| {
        let line: FileLine =
            serde_json::from_str(line).map_err(|error| damaged(format!("has a line that is none: {error}")))?;
        line.name.parse::<FilePath>()?;
        Ok(line)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_files_are_read() {
        let path = "17/a0/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg";
        assert_eq!(path.parse::<FilePath>().unwrap().to_string(), path);
        for text in [
            "",
            "17/a1/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg",
            "../a0/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg",
            "17/a0/../../etc/passwd",
            "/17/a0/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg",
        ] {
            assert!(text.parse::<FilePath>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_reads_back() {
        let line = |sha256: Option<&str>, gone| FileLine {
            name: "17/a0/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.jpg".to_owned(),
            bytes: 5,
            sha256: sha256.map(str::to_owned),
            etag: None,
            gone,
        };
        let lines = [line(Some("00"), false), line(None, true)];
        let packed = write_file_lines(&lines).unwrap();
        assert_eq!(read_file_lines(&packed).unwrap(), lines);
        assert_eq!(read_file_lines(&write_file_lines(&[]).unwrap()).unwrap(), []);
        assert!(read_file_lines(&packed[..packed.len() - 1]).is_err());
        let text = String::from_utf8(decompress(&packed, 1000).unwrap()).unwrap();
        assert!(text.ends_with("\"bytes\":5,\"gone\":true}\n"), "{text}");
    }
}
