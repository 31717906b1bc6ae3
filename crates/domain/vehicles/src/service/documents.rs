//! The documents of a vehicle (contract, "Vehicles"; decisions §7). Changing them records no events and leaves the vehicle
//! unchanged.

use forecourt_accounts::{Business, Caller};
use forecourt_files::{FileKind, FileName, FileRegister, StoredFile, file_name};
use forecourt_kernel::{Clock, Line, Page, PageRequest, Target, ValidationErrors, VehicleId};

use super::{lock, read_vehicle};
use crate::{
    AddVehicleDocument, UpdateVehicleDocument, VehicleDocument, VehicleDocumentContent, VehicleDocumentId,
    VehicleDocumentReader, VehicleError, VehicleFileStore,
};

/// Returns a page of the documents of one of the caller's vehicles, newest first.
///
/// # Errors
/// [`VehicleError::NotFound`], [`VehicleError::Store`].
pub async fn list_documents(
    store: &mut dyn VehicleDocumentReader,
    by: &Caller,
    vehicle: VehicleId,
    page: &PageRequest,
) -> Result<Page<VehicleDocument>, VehicleError> {
    read_vehicle(store, by, vehicle).await?;
    Ok(store.vehicle_documents(by.business_id(), vehicle, page).await?)
}

/// Returns a document of one of the caller's vehicles.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::DocumentNotFound`]; [`VehicleError::Store`].
pub async fn read_document(
    store: &mut dyn VehicleDocumentReader,
    by: &Caller,
    vehicle: VehicleId,
    id: VehicleDocumentId,
) -> Result<VehicleDocument, VehicleError> {
    read_vehicle(store, by, vehicle).await?;
    let document = store.vehicle_document(by.business_id(), vehicle, id).await?;
    document.ok_or(VehicleError::DocumentNotFound(id))
}

/// Adds a document to a vehicle. Its file is not public: it is read through the API only.
///
/// # Errors
/// [`VehicleError::Invalid`] by [`validate_document`]. Then [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`].
/// Then [`VehicleError::Invalid`] if the vehicle has the maximum number of documents, or the business has no storage left for it
/// (`file`); [`VehicleError::Store`].
pub async fn add_document(
    store: &mut dyn VehicleFileStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: impl Into<Target<VehicleId>>,
    command: AddVehicleDocument,
) -> Result<VehicleDocument, VehicleError> {
    let AddVehicleDocument {
        filename,
        description,
        public,
        file,
    } = command;
    let mut errors = validate_document(description.as_str(), public, Some(file.kind));
    let name = read_name(filename.as_deref(), "document", file.kind, &mut errors);
    errors.into_result(())?;

    let vehicle = lock(store, by, vehicle).await?;
    let business = by.business_id();
    if store.count_vehicle_documents(business, vehicle.id).await? >= VehicleDocument::MAX_PER_VEHICLE {
        let message = format!(
            "a vehicle may have at most {} documents",
            VehicleDocument::MAX_PER_VEHICLE
        );
        return Err(ValidationErrors::one("file", message).into());
    }
    let file = StoredFile { public: false, ..file };
    record_files(store, &by.business, std::slice::from_ref(&file)).await?;
    let content = VehicleDocumentContent {
        name,
        description,
        public,
        file,
    };
    Ok(store
        .insert_vehicle_document(business, vehicle.id, content, clock.now())
        .await?)
}

/// Changes the given fields of a document.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::DocumentNotFound`], then [`VehicleError::VersionMismatch`]. Then
/// [`VehicleError::Invalid`] if it would be public without a description; [`VehicleError::Store`].
pub async fn update_document(
    store: &mut dyn VehicleFileStore,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<VehicleDocumentId>>,
    command: UpdateVehicleDocument,
) -> Result<VehicleDocument, VehicleError> {
    let UpdateVehicleDocument { description, public } = command;
    let stored = lock_document(store, by, vehicle, id).await?;
    let mut content = stored.content.clone();
    content.description = description.unwrap_or(content.description);
    content.public = public.unwrap_or(content.public);
    validate_document(content.description.as_str(), content.public, None).into_result(())?;
    if content == stored.content {
        return Ok(stored);
    }
    let document = VehicleDocument {
        content,
        version: stored.version.next(),
        ..stored
    };
    store.save_vehicle_document(by.business_id(), &document).await?;
    Ok(document)
}

/// Removes a document from a vehicle. Returns the names of the files whose content must be deleted after the transaction has
/// committed.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::DocumentNotFound`], then [`VehicleError::VersionMismatch`];
/// [`VehicleError::Store`].
pub async fn delete_document(
    store: &mut dyn VehicleFileStore,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<VehicleDocumentId>>,
) -> Result<Vec<FileName>, VehicleError> {
    let business = by.business_id();
    let document = lock_document(store, by, vehicle, id).await?;
    store.remove_vehicle_document(business, vehicle, document.id).await?;
    Ok(store.remove_files(business, &document.content.file.name).await?)
}

/// Validates the description and the kind of a document. The use cases check the same; this function reports its faults together
/// with the body's others.
pub fn validate_document(description: &str, public: bool, kind: Option<FileKind>) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    if public && description.trim().is_empty() {
        errors.add("description", "is required for a public document");
    }
    if let Some(Err(unfit)) = kind.map(VehicleDocument::check_kind) {
        errors.add("file", unfit.to_string());
    }
    errors
}

/// Records files whose content is already stored, if they are within the storage limit of the business.
///
/// # Errors
/// [`VehicleError::Invalid`] if they are not (`file`); [`VehicleError::Store`].
pub(super) async fn record_files(
    store: &mut dyn FileRegister,
    business: &Business,
    files: &[StoredFile],
) -> Result<(), VehicleError> {
    let limit = business.settings.storage_limit();
    let faults = forecourt_files::record_files(store, business.id, limit, files).await?;
    Ok(faults.into_result(())?)
}

/// Reads the file name that a caller sends, and gives it the extension of the file's kind.
pub(super) fn read_name(
    filename: Option<&str>,
    otherwise: &str,
    kind: FileKind,
    errors: &mut ValidationErrors,
) -> Line {
    match file_name(filename, otherwise, kind) {
        Ok(name) => name,
        Err(invalid) => {
            errors.add("filename", invalid.to_string());
            Line::default()
        }
    }
}

/// Returns the document, if its version meets the precondition. Its vehicle is locked, and with it all documents of the vehicle.
async fn lock_document(
    store: &mut dyn VehicleFileStore,
    by: &Caller,
    vehicle: VehicleId,
    target: impl Into<Target<VehicleDocumentId>>,
) -> Result<VehicleDocument, VehicleError> {
    let Target { id, precondition } = target.into();
    lock(store, by, vehicle).await?;
    let document = store.vehicle_document(by.business_id(), vehicle, id).await?;
    let document = document.ok_or(VehicleError::DocumentNotFound(id))?;
    precondition.check(document.version)?;
    Ok(document)
}
