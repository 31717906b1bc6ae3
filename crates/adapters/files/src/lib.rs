//! Keeps the content of files: in a folder, or in a bucket that speaks S3.
//!
//! [`ObjectFileStore`] is the domain's [`FileStore`](forecourt_files::FileStore); a [`FileLocation`] selects one of the two.
//! Both store a file as `BUSINESS/SH/NAME`, where `SH` are the first two characters of the name. So a folder stays small enough
//! to be listed at once, and the order of keys is the order of names. `.installation` names the installation that owns the
//! files, and `.quarantine/BUSINESS/SH/NAME` is a file that is no longer needed. Anything else is left unchanged.

mod bucket;
mod client;
mod folder;
mod key;
mod location;
mod store;

pub use location::{FileLocation, InvalidFileLocation};
pub use store::ObjectFileStore;
