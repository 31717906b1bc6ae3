//! The documents of a job. They are a part of it: a change of them is a change of the job.

use forecourt_accounts::Caller;
use forecourt_files::{FileName, StoredFile, file_name, record_files};
use forecourt_kernel::{Clock, JobId, Line, Page, PageRequest, Position, Target, ValidationErrors, VehicleId};

use super::{lock, read_job, save};
use crate::{
    AddJobDocument, Job, JobContent, JobDocument, JobDocumentId, JobError, JobReader, JobStore, validate_document,
};

/// Returns a page of the documents of a job, newest first.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`]; [`JobError::Store`].
pub async fn list_documents(
    store: &mut dyn JobReader,
    by: &Caller,
    vehicle: VehicleId,
    id: JobId,
    page: &PageRequest,
) -> Result<Page<JobDocument>, JobError> {
    let job = read_job(store, by, vehicle, id).await?;
    let documents = job.content.documents;
    let total = page.offset().and(i64::try_from(documents.len()).ok());
    let skipped = usize::try_from(page.offset().unwrap_or_default()).unwrap_or(usize::MAX);
    let before = match &page.position {
        Position::After(cursor) => cursor.id(),
        Position::Number(_) => i64::MAX,
    };
    let wanted = usize::try_from(page.wanted()).unwrap_or(usize::MAX);
    let newest_first = documents
        .into_iter()
        .rev()
        .filter(|document| document.id.get() < before);
    let found = newest_first.skip(skipped).take(wanted).collect();
    Ok(Page::of(found, page, total, |document| document.id.get()))
}

/// Returns a document of a job, and the job.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], then [`JobError::DocumentNotFound`]; [`JobError::Store`].
pub async fn read_document(
    store: &mut dyn JobReader,
    by: &Caller,
    vehicle: VehicleId,
    id: JobId,
    document: JobDocumentId,
) -> Result<(Job, JobDocument), JobError> {
    let job = read_job(store, by, vehicle, id).await?;
    let found = job.content.documents.iter().find(|known| known.id == document);
    let found = found.ok_or(JobError::DocumentNotFound(document))?.clone();
    Ok((job, found))
}

/// Adds a document to a job. Its file is not public: it is read through the API only.
///
/// # Errors
/// [`JobError::Invalid`] by [`validate_document`]. Then [`JobError::VehicleNotFound`], then [`JobError::NotFound`], then
/// [`JobError::VersionMismatch`]. Then [`JobError::Invalid`] if the job has the maximum number of documents (`documents`), or the
/// business has no storage left for it (`file`); [`JobError::Store`].
pub async fn add_document(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    command: AddJobDocument,
) -> Result<(Job, JobDocument), JobError> {
    let AddJobDocument {
        filename,
        description,
        public,
        file,
    } = command;
    let mut errors = validate_document(&description, public, Some(file.kind));
    let name = file_name(filename.as_deref(), "document", file.kind).unwrap_or_else(|invalid| {
        errors.add("filename", invalid.to_string());
        Line::default()
    });
    errors.into_result(())?;

    let business = by.business_id();
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    precondition.check(stored.version)?;
    if stored.content.documents.len() >= JobContent::MAX_DOCUMENTS {
        let message = format!("a job may have at most {} documents", JobContent::MAX_DOCUMENTS);
        return Err(ValidationErrors::one("documents", message).into());
    }
    let file = StoredFile { public: false, ..file };
    let limit = by.business.settings.storage_limit();
    let faults = record_files(store, business, limit, std::slice::from_ref(&file)).await?;
    faults.into_result(())?;
    let now = clock.now();
    let mut content = stored.content.clone();
    let document = JobDocument {
        id: content.next_document_id(),
        name,
        description,
        public,
        uploaded: now,
        file,
    };
    content.documents.push(document.clone());
    let job = save(store, now, business, stored, content).await?;
    Ok((job, document))
}

/// Removes a document from a job. Returns the names of the files whose content must be deleted after the transaction has committed.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], [`JobError::DocumentNotFound`], then [`JobError::VersionMismatch`], of
/// the job; [`JobError::Store`].
pub async fn delete_document(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    document: JobDocumentId,
) -> Result<Vec<FileName>, JobError> {
    let business = by.business_id();
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    let known = stored.content.documents.iter();
    let index = known.clone().position(|known| known.id == document);
    let index = index.ok_or(JobError::DocumentNotFound(document))?;
    precondition.check(stored.version)?;
    let mut content = stored.content.clone();
    let JobDocument { file, .. } = content.documents.remove(index);
    save(store, clock.now(), business, stored, content).await?;
    Ok(store.remove_files(business, &file.name).await?)
}
