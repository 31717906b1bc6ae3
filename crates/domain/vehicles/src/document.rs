//! The documents of a vehicle (contract, "Vehicle document"; decisions §7).

use forecourt_files::{FileKind, StoredFile, size_label};
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
