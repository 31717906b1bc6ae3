//! Files: their kinds, their names, the port to their content and the port to their records.
//!
//! The content of a file is in a [`FileStore`], under a [`FileName`] that cannot be guessed. The file's record is in a
//! [`FileRegister`] and is a record like any other. The content is stored before the record that names it commits, so no record
//! lacks its content. If a transaction fails, or a server dies between the two steps, the content that is left over is an orphan;
//! a sweep moves it to quarantine. A [`PictureMaker`] turns uploaded pictures into the copies that are shown.
//!
//! ```
//! use forecourt_files::{FileKind, FileName};
//! use forecourt_kernel::Random;
//!
//! /// This example needs a name that is known; a server draws names that cannot be guessed.
//! struct Sevens;
//!
//! impl Random for Sevens {
//!     fn fill(&self, buffer: &mut [u8]) {
//!         buffer.fill(7);
//!     }
//! }
//!
//! let kind = FileKind::of(b"%PDF-1.7").ok_or("the bytes are of no known kind")?;
//! assert_eq!(FileName::random(&Sevens, kind).as_str(), "07070707070707070707070707070707.pdf");
//! # Ok::<(), &str>(())
//! ```
//!
//! The feature `testing` adds stores in memory, and the suites that every store must pass: `testing::file_store_contract` and
//! `testing::file_register_contract`.
//!
//! The rules are those of decisions §7 ("Files are recognised by their bytes") and of the contract's *Limits* ("File size").

mod address;
mod blobs;
mod document;
mod kind;
mod mismatches;
mod name;
mod picture;
mod register;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod video;

pub use address::{AddressKey, FileAddresses, SIGNED_SECONDS, SignedAddresses};
pub use blobs::{Blob, BlobStore};
pub use document::{file_name, record_files, size_label};
pub use kind::FileKind;
pub use mismatches::{MismatchError, STRAY_SECONDS, StoredMismatches, find_mismatches};
pub use name::{FileName, NotAFileName};
pub use picture::{MadePicture, PictureError, PictureMaker, PictureSource, Renditions, THUMBNAIL_WIDTHS};
pub use register::{FileReader, FileRegister, StoredFile};
pub use store::{ByteRange, ContentStream, FileStore, FileStoreError, ListedFile, OpenFile};
pub use video::{VideoError, forget_places};

/// Maximum length of a file, in bytes (contract, *Limits*: 25 MB).
pub const MAX_FILE_BYTES: u64 = 25 * 1024 * 1024;

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
