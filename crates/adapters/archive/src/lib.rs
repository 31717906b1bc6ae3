//! The form of backups: archives to carry about, and repositories that keep many.
//!
//! A backup is a SQLite file (`database.sqlite.zst`), files under the paths that they have in their store (`files/…`), the list of
//! these (`files.jsonl.zst`), and at the end the [`Manifest`]. An archive is a tar of them; a repository has the first, the third
//! and the last in a folder for each backup, and all files in one folder, each once. This crate does not know what is in a
//! database.

mod backup;
mod error;
mod files;
mod keep;
mod manifest;
mod pack;
mod repository;
mod stamp;
mod tarball;
mod writer;

pub use backup::{Backup, Fetched};
pub use error::ArchiveError;
pub use files::{FileLine, FileMode, FilePath, read_file_lines, write_file_lines};
pub use keep::{InvalidKeepRules, KeepRules};
pub use manifest::{BusinessEntry, DatabaseEntry, FORMAT, FilesEntry, Manifest, TableEntry};
pub use pack::{Packed, compress_file, decompress_file, sha256_of};
pub use repository::{Listed, Pruned, Repository, Verification, VerifyLevel};
pub use stamp::{InvalidStamp, Stamp};
pub use writer::{BackupWriter, Written};

/// The member with the database.
pub const DATABASE: &str = "database.sqlite.zst";
/// The member with the list of files.
pub const FILES: &str = "files.jsonl.zst";
/// The member that is written last.
pub const MANIFEST: &str = "manifest.json";
/// The folder of files.
pub const FOLDER: &str = "files";
