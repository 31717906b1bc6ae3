//! The location of files, as a setting describes it.

use std::{fmt, path::PathBuf, str::FromStr};

const FOLDER: &str = "file://";
const BUCKET: &str = "s3://";

/// The location of files.
///
/// `file:///var/lib/forecourt` is an absolute folder, `file://data/files` one below the server's working directory; both are
/// used literally, without percent-decoding. `s3://bucket/prefix` is a bucket with the prefix of the keys in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileLocation {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket that speaks S3.
    Bucket {
        /// Its name.
        name: String,
        /// The prefix of keys, without slashes around it; may be empty.
        prefix: String,
    },
}

/// The text is not a location of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}; expected file:///FOLDER, file://RELATIVE/FOLDER or s3://BUCKET[/PREFIX]")]
pub struct InvalidFileLocation(&'static str);

impl FromStr for FileLocation {
    type Err = InvalidFileLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix(FOLDER) {
            return match path {
                "" => Err(InvalidFileLocation("names no folder")),
                path if path.contains('\0') => Err(InvalidFileLocation("names a folder that cannot be")),
                path => Ok(Self::Folder(path.into())),
            };
        }
        let Some(rest) = text.strip_prefix(BUCKET) else {
            return Err(InvalidFileLocation("must begin with file:// or s3://"));
        };
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        if !is_bucket(name) {
            return Err(InvalidFileLocation("names no bucket"));
        }
        if !prefix.is_empty() && !prefix.split('/').all(is_segment) {
            return Err(InvalidFileLocation(
                "may have letters, digits, '.', '-' and '_' in its prefix",
            ));
        }
        Ok(Self::Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

/// Returns true if a bucket can have this name, by the rules of AWS, of old buckets and of other servers.
fn is_bucket(text: &str) -> bool {
    (3..=255).contains(&text.len()) && is_segment(text)
}

/// Returns true if it is a part of a key that needs no escape anywhere.
fn is_segment(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !matches!(text, "" | "." | "..") && text.bytes().all(is_plain)
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{FOLDER}{}", path.display()),
            Self::Bucket { name, prefix } if prefix.is_empty() => write!(f, "{BUCKET}{name}"),
            Self::Bucket { name, prefix } => write!(f, "{BUCKET}{name}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_folder_or_a_bucket() {
        let bucket = |name: &str, prefix: &str| FileLocation::Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        };
        let table = [
            ("file:///var/lib/x", FileLocation::Folder("/var/lib/x".into())),
            ("file://data/a b%20", FileLocation::Folder("data/a b%20".into())),
            ("s3://photos", bucket("photos", "")),
            ("s3://photos/", bucket("photos", "")),
            ("s3://my.photos-1/a/b_c/", bucket("my.photos-1", "a/b_c")),
        ];
        for (text, location) in table {
            assert_eq!(text.parse(), Ok(location.clone()), "{text}");
            assert_eq!(location.to_string().parse(), Ok(location), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_in_one_line() {
        for text in [
            "",
            "/var/lib",
            "file:/var/lib",
            "file://",
            "file://a\0b",
            "http://bucket",
            "s3:bucket",
            "s3://",
            "s3:///prefix",
            "s3://user:secret@bucket",
            "s3://bucket/a//b",
            "s3://bucket/../b",
            "s3://bucket/a?b",
            "s3://bucket/ä",
        ] {
            let refusal = text.parse::<FileLocation>().unwrap_err().to_string();
            assert!(!refusal.contains('\n') && !refusal.contains("secret"), "{text}");
        }
    }
}
