//! What pictures are made into.

use std::io::{BufRead, Seek};

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::BoxError;

use crate::FileKind;

/// How wide the smaller copies of a picture are, in pixels: as websites use them.
pub const THUMBNAIL_WIDTHS: [u32; 3] = [320, 800, 1600];

/// A picture that is fit to be shown.
#[derive(Clone, Debug)]
pub struct MadePicture {
    /// What it is.
    pub kind: FileKind,
    /// The file.
    pub content: Bytes,
    /// How wide it is, in pixels.
    pub width: u32,
    /// How high it is, in pixels.
    pub height: u32,
}

/// A picture with smaller copies of it.
#[derive(Clone, Debug)]
pub struct Renditions {
    /// The picture itself: upright, without metadata, of the kind that it was.
    pub picture: MadePicture,
    /// For each of [`THUMBNAIL_WIDTHS`] that the picture is wider than, and for the least of them in any case, a copy that is at
    /// most so wide, as JPEG and as WebP; with the width that it stands for.
    pub thumbnails: Vec<(u32, MadePicture)>,
}

/// Where the content of a picture is read from, by a decoder that holds no more of it than it needs.
pub trait PictureSource: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> PictureSource for T {}

/// Makes pictures fit to be shown. What it needs at once is bounded, whatever it is given.
#[async_trait]
pub trait PictureMaker: Send + Sync {
    /// Turns a picture of that kind upright, removes its metadata, and makes smaller copies.
    ///
    /// # Errors
    /// [`PictureError::Unreadable`] and [`PictureError::TooLarge`] are the picture's fault, [`PictureError::Failed`] is not.
    async fn make(&self, kind: FileKind, content: Box<dyn PictureSource>) -> Result<Renditions, PictureError>;

    /// Whether it is a picture of that kind that can be shown: all of it is read, nothing is made of it.
    ///
    /// # Errors
    /// As for [`PictureMaker::make`].
    async fn check(&self, kind: FileKind, content: Box<dyn PictureSource>) -> Result<(), PictureError>;
}

/// Why no picture was made.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// It is damaged, or is no picture of the kind that it begins as.
    #[error("the picture cannot be read")]
    Unreadable(#[source] BoxError),
    /// It has more pixels than are read.
    #[error("the picture may have at most {0} pixels")]
    TooLarge(u64),
    /// Something else went wrong.
    #[error("the picture could not be made")]
    Failed(#[source] BoxError),
}
