//! The documents of a vehicle (contract, "Vehicle document"; decisions §7).

use forecourt_files::{FileKind, StoredFile};
use forecourt_kernel::{Line, LongText, Timestamp, VehicleId, Version};
use serde::{Deserialize, Serialize, Serializer};

use crate::media::WrongFileKind;

forecourt_kernel::ids! {
    /// Identifies a document of a vehicle, uniquely across businesses.
    VehicleDocumentId;
}

/// The content of a document: everything except its id, its vehicle, its version and its time of upload.
///
/// Storage keeps its serialised form: a new member needs `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VehicleDocumentContent {
    /// Its file name.
    pub name: Line,
    /// A description; may be empty.
    pub description: LongText,
    /// `true` if it may be shown to the public. In either case its content is read through the API only.
    pub public: bool,
    /// The file.
    pub file: StoredFile,
}

/// A document of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VehicleDocument {
    /// Its id, unique across businesses.
    pub id: VehicleDocumentId,
    /// The vehicle that it belongs to.
    pub vehicle: VehicleId,
    /// The version, raised with each change.
    pub version: Version,
    /// The time of the upload.
    pub uploaded: Timestamp,
    /// Everything else.
    pub content: VehicleDocumentContent,
}

impl VehicleDocument {
    /// Maximum number of documents of a vehicle.
    pub const MAX_PER_VEHICLE: u32 = 500;

    /// Checks that a file of this kind can be a document.
    ///
    /// # Errors
    /// [`WrongFileKind`] if it cannot.
    pub const fn check_kind(kind: FileKind) -> Result<(), WrongFileKind> {
        match kind {
            FileKind::Pdf | FileKind::Jpeg | FileKind::Png => Ok(()),
            FileKind::Webp | FileKind::Mp4 | FileKind::Mov => {
                Err(WrongFileKind("must be a PDF document, or a JPEG or PNG picture"))
            }
        }
    }
}

/// Returns the last part of the path that a caller gives as a file name, or `otherwise` if nothing is left of it.
pub(crate) fn last_part(filename: &str, otherwise: &str) -> String {
    let last = filename.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if last.trim_matches('.').is_empty() {
        otherwise.to_owned()
    } else {
        last.to_owned()
    }
}

/// A document of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleDocument))]
pub struct VehicleDocumentView<'a> {
    /// Document id.
    #[serde(serialize_with = "in_text")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "17"))]
    id: VehicleDocumentId,
    /// File name.
    name: &'a str,
    /// Description; may be empty.
    description: &'a str,
    /// `true` if it may be shown to the public.
    public: bool,
    /// Usual extension of files of this kind, without a dot.
    #[cfg_attr(feature = "openapi", schema(example = "pdf"))]
    extension: &'static str,
    /// Media type.
    #[cfg_attr(feature = "openapi", schema(example = "application/pdf"))]
    mime: &'static str,
    /// Length in bytes.
    size: u64,
    /// Length as text with a unit.
    #[cfg_attr(feature = "openapi", schema(example = "1.2 MB"))]
    size_label: String,
    /// Icon to show for it: `pdf` or `image`.
    #[cfg_attr(feature = "openapi", schema(example = "pdf"))]
    icon: &'static str,
    /// Time of the upload, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    uploaded: Timestamp,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn in_text<S: Serializer>(id: &VehicleDocumentId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

impl<'a> VehicleDocumentView<'a> {
    /// Returns the representation of `document`.
    pub fn new(document: &'a VehicleDocument) -> Self {
        let VehicleDocument {
            id,
            vehicle: _,
            version,
            uploaded,
            content,
        } = document;
        let VehicleDocumentContent {
            name,
            description,
            public,
            file,
        } = content;
        Self {
            id: *id,
            name: name.as_str(),
            description: description.as_str(),
            public: *public,
            extension: file.kind.extension(),
            mime: file.kind.mime(),
            size: file.size,
            size_label: size_label(file.size),
            icon: if file.kind.is_picture() { "image" } else { "pdf" },
            uploaded: *uploaded,
            version: *version,
        }
    }
}

/// Formats a number of bytes in the largest unit of which there is at least one, with at most one decimal.
fn size_label(bytes: u64) -> String {
    const UNIT: u64 = 1024;
    if bytes < UNIT {
        return format!("{bytes} B");
    }
    let mut unit = UNIT;
    let mut names = ["KB", "MB", "GB"].into_iter();
    let mut name = names.next().unwrap_or_default();
    let tenths = |unit: u64| (bytes.saturating_mul(10) + unit / 2) / unit;
    while tenths(unit) >= 10 * UNIT
        && let Some(next) = names.next()
    {
        unit *= UNIT;
        name = next;
    }
    match (tenths(unit) / 10, tenths(unit) % 10) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenth) => format!("{whole}.{tenth} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, label) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1 KB"),
            (1_536, "1.5 KB"),
            (1_048_575, "1 MB"),
            (1_258_291, "1.2 MB"),
            (26_214_400, "25 MB"),
            (5 << 30, "5 GB"),
        ] {
            assert_eq!(size_label(bytes), label);
        }
    }

    #[test]
    fn a_path_is_cut_to_its_last_part() {
        for (sent, name) in [
            ("v5.pdf", "v5.pdf"),
            ("/tmp/ v5.pdf ", "v5.pdf"),
            ("C:\\scans\\v5.pdf", "v5.pdf"),
            ("scans/", "document"),
            ("../..", "document"),
            ("", "document"),
        ] {
            assert_eq!(last_part(sent, "document"), name, "{sent}");
        }
    }
}
