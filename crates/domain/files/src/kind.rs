//! The kinds of files, recognised by their bytes.

use serde::{Deserialize, Serialize};

/// The kinds of files that the server accepts (decisions §7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A PDF document.
    Pdf,
    /// A photo.
    Jpeg,
    /// A picture with lossless compression.
    Png,
    /// A picture in the format made for browsers.
    Webp,
    /// An MPEG-4 video.
    Mp4,
    /// A QuickTime video.
    Mov,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Pdf, Self::Jpeg, Self::Png, Self::Webp, Self::Mp4, Self::Mov];

    /// Number of bytes at the start of a file that determine its kind.
    pub const HEAD_BYTES: usize = 64;

    /// Returns the kind of a file by its first bytes; its name is ignored. `head` holds at least [`FileKind::HEAD_BYTES`], or the
    /// whole file if it is shorter. `None` if the kind is unknown.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => Self::of_brand(brand.first_chunk()?),
            // QuickTime files from before brands existed.
            [_, _, _, _, b'm', b'o', b'o', b'v', ..] | [_, _, _, _, b'w', b'i', b'd', b'e', ..] => Some(Self::Mov),
            _ => None,
        }
    }

    /// Returns the kind of an ISO base media file by its major brand.
    fn of_brand(brand: &[u8; 4]) -> Option<Self> {
        match brand {
            b"qt  " => Some(Self::Mov),
            b"isom" | b"iso2" | b"iso3" | b"iso4" | b"iso5" | b"iso6" | b"iso7" | b"iso8" | b"iso9" | b"mp41"
            | b"mp42" | b"mp71" | b"avc1" | b"dash" | b"mmp4" | b"MSNV" | b"M4V " | b"M4VH" | b"M4VP" | b"F4V "
            | b"f4v " => Some(Self::Mp4),
            _ => None,
        }
    }

    /// Returns the usual extension of file names of this kind, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Webp => "webp",
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
        }
    }

    /// Returns the kind that a file name's extension stands for.
    fn of_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        match &*extension {
            "jpeg" | "jpe" | "jfif" => Some(Self::Jpeg),
            "m4v" => Some(Self::Mp4),
            "qt" => Some(Self::Mov),
            extension => Self::ALL.into_iter().find(|kind| kind.extension() == extension),
        }
    }

    /// Returns the file name with this kind's extension. A name that has it is unchanged; the extension of another kind is
    /// replaced; otherwise the extension is appended.
    pub fn named(self, name: &str) -> String {
        match name.rsplit_once('.') {
            Some((_, extension)) if Self::of_extension(extension) == Some(self) => name.to_owned(),
            Some((stem, extension)) if Self::of_extension(extension).is_some() && !stem.is_empty() => {
                format!("{stem}.{}", self.extension())
            }
            _ => format!("{}.{}", name.trim_end_matches('.'), self.extension()),
        }
    }

    /// Returns the media type, for `Content-Type`.
    pub const fn mime(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Mp4 => "video/mp4",
            Self::Mov => "video/quicktime",
        }
    }

    /// Returns `true` for a picture.
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Jpeg | Self::Png | Self::Webp)
    }

    /// Returns `true` for a video.
    pub const fn is_video(self) -> bool {
        matches!(self, Self::Mp4 | Self::Mov)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_say_what_a_file_is() {
        let cases: [(&[u8], Option<FileKind>); 13] = [
            (b"%PDF-1.7\n", Some(FileKind::Pdf)),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some(FileKind::Jpeg)),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Some(FileKind::Png)),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some(FileKind::Webp)),
            (b"\0\0\0\x18ftypmp42\0\0\0\0", Some(FileKind::Mp4)),
            (b"\0\0\0\x14ftypqt  \0\0\0\0", Some(FileKind::Mov)),
            (b"\0\0\0\x18ftypheic\0\0\0\0", None),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"GIF89a", None),
            (b"<html>%PDF-", None),
            (b"MZ\x90\0", None),
            (b"\0\0\0\x18ftyp", None),
            (b"", None),
        ];
        for (head, kind) in cases {
            assert_eq!(FileKind::of(head), kind, "{head:?}");
        }
    }

    #[test]
    fn a_name_has_the_extension_of_what_the_file_is() {
        for (name, kind, expected) in [
            ("V5", FileKind::Pdf, "V5.pdf"),
            ("V5.pdf", FileKind::Pdf, "V5.pdf"),
            ("V5.PDF", FileKind::Pdf, "V5.PDF"),
            ("front.jpeg", FileKind::Jpeg, "front.jpeg"),
            ("front.jpg", FileKind::Png, "front.png"),
            ("scan.pdf", FileKind::Jpeg, "scan.jpg"),
            ("service 2026.05", FileKind::Pdf, "service 2026.05.pdf"),
            ("setup.exe", FileKind::Pdf, "setup.exe.pdf"),
            ("walk round.", FileKind::Mov, "walk round.mov"),
            ("walk.m4v", FileKind::Mp4, "walk.m4v"),
            (".jpg", FileKind::Png, ".jpg.png"),
        ] {
            assert_eq!(kind.named(name), expected);
        }
    }

    #[test]
    fn a_kind_reads_back_what_it_writes() {
        for kind in FileKind::ALL {
            assert!(!(kind.is_picture() && kind.is_video()));
            assert!(!kind.extension().is_empty() && kind.mime().contains('/'));
        }
    }
}
