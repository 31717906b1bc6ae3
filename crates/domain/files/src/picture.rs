//! The port that makes pictures fit to be shown.

use std::io::{BufRead, Seek};

use async_trait::async_trait;
use bytes::Bytes;
use forecourt_kernel::BoxError;

use crate::FileKind;

/// Widths of the smaller copies of a picture, in pixels, chosen for websites.
pub const THUMBNAIL_WIDTHS: [u32; 3] = [320, 800, 1600];

/// A picture that is fit to be shown.
#[derive(Clone, Debug)]
pub struct MadePicture {
    /// Its kind.
    pub kind: FileKind,
    /// The file's content.
    pub content: Bytes,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// A picture with its smaller copies.
#[derive(Clone, Debug)]
pub struct Renditions {
    /// The picture itself: upright, without metadata, of its original kind.
    pub picture: MadePicture,
    /// The smaller copies, each with the entry of [`THUMBNAIL_WIDTHS`] that it stands for. There is a JPEG and a WebP for each
    /// width that the picture exceeds, and always for the smallest; a copy may be narrower than its entry.
    pub thumbnails: Vec<(u32, MadePicture)>,
}

/// The source of a picture's bytes, for a decoder that holds no more of them than it needs.
pub trait PictureSource: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> PictureSource for T {}

/// Makes pictures fit to be shown. Its memory is bounded for any input.
#[async_trait]
pub trait PictureMaker: Send + Sync {
    /// Turns a picture of the given kind upright, removes its metadata, and makes smaller copies.
    ///
    /// # Errors
    /// [`PictureError::Unreadable`] and [`PictureError::TooLarge`] are the picture's fault, [`PictureError::Failed`] is not.
    async fn make(&self, kind: FileKind, content: Box<dyn PictureSource>) -> Result<Renditions, PictureError>;

    /// Checks that a picture of the given kind can be shown. It reads the whole picture and makes no copies.
    ///
    /// # Errors
    /// As for [`PictureMaker::make`].
    async fn check(&self, kind: FileKind, content: Box<dyn PictureSource>) -> Result<(), PictureError>;
}

/// The reasons why no picture was made.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The picture is damaged, or is not of the kind that its first bytes claim.
    #[error("the picture cannot be read")]
    Unreadable(#[source] BoxError),
    /// The picture has more pixels than the limit.
    #[error("the picture may have at most {0} pixels")]
    TooLarge(u64),
    /// Another failure.
    #[error("the picture could not be made")]
    Failed(#[source] BoxError),
}
