//! Keeps the content of files: in a folder, or in a bucket that speaks S3.
//!
//! [`ObjectFileStore`] is the domain's [`FileStore`](forecourt_files::FileStore); a [`FileLocation`] says which of the two it
//! is. Both keep a file as `BUSINESS/SH/NAME`, where `SH` are the first two characters of the name: a folder stays small
//! enough to be listed at once, and the order of keys is the order of names. `.installation` says whose files these are, and
//! `.quarantine/BUSINESS/SH/NAME` is what nobody needs any more. What else is there is left alone.

mod bucket;
mod client;
mod folder;
mod key;
mod location;
mod store;

pub use location::{FileLocation, InvalidFileLocation};
pub use store::ObjectFileStore;
