//! The documents that are kept with a vehicle (contract, "Vehicle document"; decisions §7).

use forecourt_files::{FileKind, StoredFile};
use forecourt_kernel::{Line, LongText, Timestamp, VehicleId, Version};
use serde::{Deserialize, Serialize, Serializer};

use crate::media::WrongFileKind;

forecourt_kernel::ids! {
    /// Identifies a document of a vehicle, uniquely across businesses.
    VehicleDocumentId;
}

/// What is kept of a document besides its identity and its stamps.
///
/// Its serialised form is what storage keeps: a new member needs `#[serde(default)]`, and none is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VehicleDocumentContent {
    /// What it is called.
    pub name: Line,
    /// What it is, in words; may be empty.
    pub description: LongText,
    /// Whether it may be shown to the public. Its content is read through the API alone, whatever this says.
    pub public: bool,
    /// The file.
    pub file: StoredFile,
}

/// A document that is kept with a vehicle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VehicleDocument {
    /// Its number, unique across businesses.
    pub id: VehicleDocumentId,
    /// The vehicle that it is kept with.
    pub vehicle: VehicleId,
    /// Which state of it this is.
    pub version: Version,
    /// When it was uploaded.
    pub uploaded: Timestamp,
    /// Everything else.
    pub content: VehicleDocumentContent,
}

impl VehicleDocument {
    /// How many a vehicle may have.
    pub const MAX_PER_VEHICLE: u32 = 500;

    /// Whether a file of that kind can be a document.
    ///
    /// # Errors
    /// [`WrongFileKind`] if not.
    pub const fn check_kind(kind: FileKind) -> Result<(), WrongFileKind> {
        match kind {
            FileKind::Pdf | FileKind::Jpeg | FileKind::Png => Ok(()),
            FileKind::Webp | FileKind::Mp4 | FileKind::Mov => {
                Err(WrongFileKind("must be a PDF document, or a JPEG or PNG picture"))
            }
        }
    }
}

/// What a file is called by a caller who sends it: the last part of a path, and `otherwise` if nothing is left of it.
pub(crate) fn last_part(filename: &str, otherwise: &str) -> String {
    let last = filename.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if last.trim_matches('.').is_empty() {
        otherwise.to_owned()
    } else {
        last.to_owned()
    }
}

/// A document, as it is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleDocument))]
pub struct VehicleDocumentView<'a> {
    /// Document id.
    #[serde(serialize_with = "in_text")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "17"))]
    id: VehicleDocumentId,
    /// What it is called.
    name: &'a str,
    /// What it is, in words; may be empty.
    description: &'a str,
    /// Whether it may be shown to the public.
    public: bool,
    /// The usual ending of the names of such files, without a dot.
    #[cfg_attr(feature = "openapi", schema(example = "pdf"))]
    extension: &'static str,
    /// The media type.
    #[cfg_attr(feature = "openapi", schema(example = "application/pdf"))]
    mime: &'static str,
    /// How long it is, in bytes.
    size: u64,
    /// The same to be read.
    #[cfg_attr(feature = "openapi", schema(example = "1.2 MB"))]
    size_label: String,
    /// What to show it as: `pdf` or `image`.
    #[cfg_attr(feature = "openapi", schema(example = "pdf"))]
    icon: &'static str,
    /// When it was uploaded, epoch seconds.
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
    /// How `document` is shown.
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

/// A number of bytes in the greatest unit of which there is one, with at most one decimal.
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
