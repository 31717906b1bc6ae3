//! A vehicle's pictures and videos (contract, "Vehicle": media; decisions §7).

use std::fmt;
use std::str::FromStr;

use forecourt_files::{FileAddresses, FileKind, FileName, StoredFile};
use forecourt_kernel::{BusinessId, Timestamp, bounds::MAX_ITEMS};
use forecourt_reference::UnknownValue;
use serde::{Deserialize, Serialize};

use crate::Vehicle;

/// The kind of a medium, as it is presented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MediaType))]
#[serde(rename_all = "lowercase")]
pub enum MediumKind {
    /// A photo.
    Photo,
    /// A video.
    Video,
    /// A video on YouTube.
    Youtube,
    /// A frame of a spin: photos from all sides, which are presented as one turning picture.
    Spin,
}

impl MediumKind {
    const NAMES: &[&str] = &["photo", "video", "youtube", "spin"];

    /// Returns the name, as it is read and written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Photo => "photo",
            Self::Video => "video",
            Self::Youtube => "youtube",
            Self::Spin => "spin",
        }
    }

    /// Returns the kind to keep a file as: the caller's choice, or by default a photo for a picture and a video for a video.
    ///
    /// # Errors
    /// [`WrongFileKind`] if files of this kind are no media, or do not match the caller's choice.
    pub fn of_file(said: Option<Self>, file: FileKind) -> Result<Self, WrongFileKind> {
        match (said, file.is_picture(), file.is_video()) {
            (None | Some(Self::Photo), true, _) => Ok(Self::Photo),
            (Some(Self::Spin), true, _) => Ok(Self::Spin),
            (None | Some(Self::Video), _, true) => Ok(Self::Video),
            (Some(Self::Photo | Self::Spin), ..) => Err(WrongFileKind("must be a JPEG, PNG or WEBP picture")),
            (Some(Self::Video), ..) => Err(WrongFileKind("must be an MP4 or MOV video")),
            (Some(Self::Youtube), ..) => Err(WrongFileKind("must be left out where the type is youtube")),
            (None, ..) => Err(WrongFileKind(
                "must be a JPEG, PNG or WEBP picture, or an MP4 or MOV video",
            )),
        }
    }
}

/// The error for a file of the wrong kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongFileKind(pub &'static str);

/// Reads the name, case-sensitively.
impl FromStr for MediumKind {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let mut all = [Self::Photo, Self::Video, Self::Youtube, Self::Spin].into_iter();
        all.find(|kind| kind.name() == text).ok_or(UnknownValue(Self::NAMES))
    }
}

/// The id of a video on YouTube.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct YouTubeId(String);

impl YouTubeId {
    /// Length of an id.
    pub const CHARS: usize = 11;

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address at which the video is watched.
    pub fn address(&self) -> String {
        format!("https://www.youtube.com/watch?v={}", self.0)
    }

    /// Returns the address of YouTube's preview picture.
    fn thumbnail_address(&self) -> String {
        format!("https://i.ytimg.com/vi/{}/hqdefault.jpg", self.0)
    }
}

impl FromStr for YouTubeId {
    type Err = InvalidYouTubeId;

    fn from_str(text: &str) -> Result<Self, InvalidYouTubeId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if text.len() == Self::CHARS && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidYouTubeId)
        }
    }
}

impl TryFrom<String> for YouTubeId {
    type Error = InvalidYouTubeId;

    fn try_from(text: String) -> Result<Self, InvalidYouTubeId> {
        text.parse()
    }
}

impl From<YouTubeId> for String {
    fn from(id: YouTubeId) -> Self {
        id.0
    }
}

impl fmt::Display for YouTubeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The error for a text that is not the id of a YouTube video.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be the id of a YouTube video: 11 letters, digits, hyphens or underscores")]
pub struct InvalidYouTubeId;

/// An uploaded and stored file, with the copies made from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upload {
    /// The file.
    pub file: StoredFile,
    /// The smaller copies of a picture, with the widths that they stand for: for each width one as JPEG and one as WebP.
    pub thumbnails: Vec<(u32, StoredFile)>,
    /// Width and height of a picture in pixels; `None` for a video.
    pub dimensions: Option<(u32, u32)>,
}

impl Upload {
    /// Returns all its stored files, marked as `public` or not. Anyone who knows the name of a public file can read it.
    pub(crate) fn files(self, public: bool) -> Vec<StoredFile> {
        let thumbnails = self.thumbnails.into_iter().map(|(_, thumbnail)| thumbnail);
        let files = std::iter::once(self.file).chain(thumbnails);
        files.map(|file| StoredFile { public, ..file }).collect()
    }

    /// Returns the widths of the smaller copies, in ascending order.
    pub(crate) fn widths(&self) -> Vec<u32> {
        let mut widths: Vec<u32> = self.thumbnails.iter().map(|(width, _)| *width).collect();
        widths.sort_unstable();
        widths.dedup();
        widths
    }
}

/// A stored picture or video. Its serialised form is part of the vehicle's document: a new member needs `#[serde(default)]`, and
/// no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MediaFile {
    /// The name of the file.
    pub file: FileName,
    /// Its kind.
    pub kind: FileKind,
    /// Its length in bytes.
    pub size: u64,
    /// Its width in pixels; unknown for a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Its height in pixels; unknown for a video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// The widths of its smaller copies, in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thumbnails: Vec<u32>,
    /// The time at which it was added.
    pub uploaded: Timestamp,
}

impl MediaFile {
    pub(crate) fn new(upload: &Upload, at: Timestamp) -> Self {
        let (width, height) = upload.dimensions.unzip();
        Self {
            file: upload.file.name.clone(),
            kind: upload.file.kind,
            size: upload.file.size,
            width,
            height,
            thumbnails: upload.widths(),
            uploaded: at,
        }
    }
}

/// A picture or video of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Medium {
    /// A photo.
    Photo(MediaFile),
    /// A video.
    Video(MediaFile),
    /// A video on YouTube.
    Youtube {
        /// Its id there.
        id: YouTubeId,
        /// The time at which it was added.
        uploaded: Timestamp,
    },
    /// A frame of a spin.
    Spin(MediaFile),
}

impl Medium {
    /// Returns its kind.
    pub const fn kind(&self) -> MediumKind {
        match self {
            Self::Photo(_) => MediumKind::Photo,
            Self::Video(_) => MediumKind::Video,
            Self::Youtube { .. } => MediumKind::Youtube,
            Self::Spin(_) => MediumKind::Spin,
        }
    }

    /// Returns its file; `None` if it is stored elsewhere.
    pub const fn file(&self) -> Option<&MediaFile> {
        match self {
            Self::Photo(file) | Self::Video(file) | Self::Spin(file) => Some(file),
            Self::Youtube { .. } => None,
        }
    }

    /// Returns its id, unique within the vehicle: the random part of a file's name, or the id of a video on YouTube.
    pub fn id(&self) -> &str {
        match self {
            Self::Photo(file) | Self::Video(file) | Self::Spin(file) => file.file.key(),
            Self::Youtube { id, .. } => id.as_str(),
        }
    }

    /// Returns its public address.
    pub fn address(&self, business: BusinessId, addresses: &FileAddresses) -> String {
        match self {
            Self::Photo(file) | Self::Video(file) | Self::Spin(file) => addresses.of(business, &file.file),
            Self::Youtube { id, .. } => id.address(),
        }
    }
}

/// A vehicle's pictures and videos, in the order of display: at most [`Media::MAX`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Media(Vec<Medium>);

impl Media {
    /// Maximum number of media of a vehicle. It keeps the document within bounds: as JSON, so many are shorter than
    /// [`MAX_VEHICLE_DATA_BYTES`](forecourt_kernel::bounds::MAX_VEHICLE_DATA_BYTES).
    pub const MAX: usize = MAX_ITEMS;

    /// Returns all of them, in order.
    pub fn as_slice(&self) -> &[Medium] {
        &self.0
    }

    /// Returns `true` if there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the ids of the media of a kind, in order.
    pub fn ids(&self, kind: MediumKind) -> Vec<&str> {
        let own = self.0.iter().filter(|medium| medium.kind() == kind);
        own.map(Medium::id).collect()
    }

    /// Returns the medium with this id, and its position, from 1.
    pub fn find(&self, id: &str) -> Option<(usize, &Medium)> {
        (1..).zip(&self.0).find(|(_, medium)| medium.id() == id)
    }

    pub(crate) fn push(&mut self, medium: Medium) {
        self.0.push(medium);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Medium> {
        let at = self.0.iter().position(|medium| medium.id() == id)?;
        Some(self.0.remove(at))
    }

    /// Moves the media with these ids to the front, in this order. The others follow in their present order.
    pub(crate) fn bring_forward(&mut self, ids: &[String]) {
        let rank = |medium: &Medium| ids.iter().position(|id| id == medium.id()).unwrap_or(ids.len());
        self.0.sort_by_cached_key(rank);
    }
}

/// Takes the first [`Media::MAX`] of them.
impl FromIterator<Medium> for Media {
    fn from_iter<I: IntoIterator<Item = Medium>>(media: I) -> Self {
        Self(media.into_iter().take(Self::MAX).collect())
    }
}

/// The ids of a vehicle's pictures and videos, by kind (contract, "Vehicle").
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleMedia))]
pub struct MediaIds<'a> {
    /// Photos.
    photo: Vec<&'a str>,
    /// Videos.
    video: Vec<&'a str>,
    /// Videos on YouTube.
    youtube: Vec<&'a str>,
    /// Frames of a spin.
    photo_spin: Vec<&'a str>,
}

impl<'a> MediaIds<'a> {
    /// Collects the ids of `media`.
    pub fn new(media: &'a Media) -> Self {
        Self {
            photo: media.ids(MediumKind::Photo),
            video: media.ids(MediumKind::Video),
            youtube: media.ids(MediumKind::Youtube),
            photo_spin: media.ids(MediumKind::Spin),
        }
    }
}

/// A picture or video of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MediaItem))]
pub struct MediumView<'a> {
    /// Id, as in the vehicle's `media`.
    id: &'a str,
    /// Kind of the medium.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(rename = "type"))]
    kind: MediumKind,
    /// Position among all media of the vehicle, from 1.
    position: usize,
    /// Public address.
    url: String,
    /// Smaller copies, the smallest first.
    thumbnails: Vec<ThumbnailView>,
    /// Address of the smallest copy, or of YouTube's preview picture; null if there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    thumbnail_url: Option<String>,
    /// Width in pixels; null if unknown.
    #[cfg_attr(feature = "openapi", schema(required))]
    width: Option<u32>,
    /// Height in pixels; null if unknown.
    #[cfg_attr(feature = "openapi", schema(required))]
    height: Option<u32>,
    /// Length of the file in bytes; null if it is stored elsewhere.
    #[cfg_attr(feature = "openapi", schema(required))]
    size: Option<u64>,
    /// Media type of the file; null if it is stored elsewhere.
    #[cfg_attr(feature = "openapi", schema(required))]
    mime: Option<&'static str>,
    /// Time at which it was added, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    uploaded: Timestamp,
}

/// A smaller copy of a picture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MediaThumbnail))]
struct ThumbnailView {
    /// Maximum width in pixels.
    width: u32,
    /// Address of the JPEG.
    url: String,
    /// Address of the WebP.
    webp_url: String,
}

impl<'a> MediumView<'a> {
    /// Returns the representations of all media of a vehicle of that business, in order.
    pub fn all(vehicle: &'a Vehicle, business: BusinessId, addresses: &FileAddresses) -> Vec<Self> {
        let media = (1..).zip(vehicle.content.media.as_slice());
        media
            .map(|(position, medium)| Self::new(medium, position, business, addresses))
            .collect()
    }

    /// Returns the representation of a medium at that position of its vehicle, from 1.
    pub fn new(medium: &'a Medium, position: usize, business: BusinessId, addresses: &FileAddresses) -> Self {
        let url = medium.address(business, addresses);
        let (thumbnails, uploaded) = match medium {
            Medium::Photo(file) | Medium::Video(file) | Medium::Spin(file) => {
                let address = |width, kind| addresses.of(business, &file.file.thumbnail(width, kind));
                let thumbnail = |&width: &u32| ThumbnailView {
                    width,
                    url: address(width, FileKind::Jpeg),
                    webp_url: address(width, FileKind::Webp),
                };
                (file.thumbnails.iter().map(thumbnail).collect(), file.uploaded)
            }
            Medium::Youtube { uploaded, .. } => (Vec::new(), *uploaded),
        };
        let thumbnail_url = match medium {
            Medium::Youtube { id, .. } => Some(id.thumbnail_address()),
            _ => thumbnails.first().map(|least: &ThumbnailView| least.url.clone()),
        };
        let file = medium.file();
        Self {
            id: medium.id(),
            kind: medium.kind(),
            position,
            url,
            thumbnails,
            thumbnail_url,
            width: file.and_then(|file| file.width),
            height: file.and_then(|file| file.height),
            size: file.map(|file| file.size),
            mime: file.map(|file| file.kind.mime()),
            uploaded,
        }
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::bounds::MAX_VEHICLE_DATA_BYTES;

    use super::*;

    #[test]
    fn the_most_media_are_within_the_bounds_of_a_record() {
        let longest = Medium::Youtube {
            id: "abcdefghi-_".parse().unwrap(),
            uploaded: Timestamp::from_epoch_seconds(1_790_000_000),
        };
        let photo = Medium::Photo(MediaFile {
            file: format!("{}.webp", "0a".repeat(16)).parse().unwrap(),
            kind: FileKind::Webp,
            size: forecourt_files::MAX_FILE_BYTES,
            width: Some(65_535),
            height: Some(65_535),
            thumbnails: forecourt_files::THUMBNAIL_WIDTHS.to_vec(),
            uploaded: Timestamp::from_epoch_seconds(17_900_000_000),
        });
        for medium in [longest, photo] {
            let media = Media(vec![medium; Media::MAX]);
            let json = serde_json::to_string(&media).unwrap();
            assert!(json.len() < MAX_VEHICLE_DATA_BYTES, "{}", json.len());
            assert_eq!(serde_json::from_str::<Media>(&json).unwrap(), media);
        }
    }

    #[test]
    fn ids_of_youtube_are_eleven_characters() {
        assert!("dQw4w9WgXcQ".parse::<YouTubeId>().is_ok());
        for text in ["", "dQw4w9WgXc", "dQw4w9WgXcQ0", "dQw4w9WgXc/", "dQw4w9WgXé"] {
            assert_eq!(text.parse::<YouTubeId>(), Err(InvalidYouTubeId), "{text}");
        }
    }

    #[test]
    fn a_file_is_kept_as_what_it_can_be() {
        use FileKind as F;
        use MediumKind as M;
        for (said, file, kind) in [
            (None, F::Jpeg, Some(M::Photo)),
            (None, F::Mov, Some(M::Video)),
            (None, F::Pdf, None),
            (Some(M::Photo), F::Webp, Some(M::Photo)),
            (Some(M::Photo), F::Mp4, None),
            (Some(M::Spin), F::Png, Some(M::Spin)),
            (Some(M::Spin), F::Mov, None),
            (Some(M::Video), F::Mp4, Some(M::Video)),
            (Some(M::Video), F::Jpeg, None),
            (Some(M::Youtube), F::Mp4, None),
        ] {
            assert_eq!(MediumKind::of_file(said, file).ok(), kind, "{said:?} {file:?}");
        }
    }
}
