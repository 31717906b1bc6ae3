//! The use cases. None begins, commits or retries a transaction.
//!
//! A write of a job locks its vehicle first, so that its jobs are counted and compared one after another. The vehicle itself does
//! not change.

mod boards;
mod documents;
mod purchases;
mod stages;

use forecourt_accounts::Caller;
use forecourt_files::FileName;
use forecourt_kernel::{
    BoxError, BusinessId, Clock, ContactId, EventName, JobId, NewEvent, Page, PageRequest, Precondition, ScopeSet,
    StoreError, Target, Timestamp, ValidationErrors, VehicleId,
};
use serde_json::Value;

pub use self::{
    boards::{apply_boards, remove_jobs},
    documents::{add_document, delete_document, list_documents, read_document},
    purchases::{link_purchase, refresh_purchase, unlink_purchase},
    stages::{add_stage, change_stage, delete_stage},
};
use crate::{
    ChangeJob, FullJob, Job, JobContent, JobError, JobFilter, JobReader, JobStatus, JobStore, JobSummary, NewJob,
};

/// Returns a page of the caller's jobs, newest first.
///
/// # Errors
/// [`JobError::Store`].
pub async fn list_jobs(
    store: &mut dyn JobReader,
    by: &Caller,
    filter: &JobFilter,
    page: &PageRequest,
) -> Result<Page<Job>, JobError> {
    Ok(store.jobs(by.business_id(), filter, page).await?)
}

/// Returns the same page of jobs as lists show them.
///
/// # Errors
/// [`JobError::Store`].
pub async fn summarize_jobs(
    store: &mut dyn JobReader,
    by: &Caller,
    filter: &JobFilter,
    page: &PageRequest,
) -> Result<Page<JobSummary>, JobError> {
    Ok(store.job_summaries(by.business_id(), filter, page).await?)
}

/// Checks that the caller's business has a vehicle.
///
/// # Errors
/// [`JobError::VehicleNotFound`], [`JobError::Store`].
pub async fn check_vehicle(store: &mut dyn JobReader, by: &Caller, vehicle: VehicleId) -> Result<(), JobError> {
    match store.job_vehicle(by.business_id(), vehicle).await? {
        Some(_) => Ok(()),
        None => Err(JobError::VehicleNotFound(vehicle)),
    }
}

/// Returns a job on one of the caller's vehicles.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`]; [`JobError::Store`].
pub async fn read_job(store: &mut dyn JobReader, by: &Caller, vehicle: VehicleId, id: JobId) -> Result<Job, JobError> {
    check_vehicle(store, by, vehicle).await?;
    let job = store.job(by.business_id(), id).await?;
    on_vehicle(job, vehicle, id)
}

/// Opens a job on a vehicle, by a board of the business.
///
/// # Errors
/// [`JobError::Invalid`] if the business lacks the board. Then [`JobError::VehicleNotFound`], then [`JobError::VersionMismatch`], of the
/// vehicle. Then [`JobError::Invalid`] if the vehicle has the maximum number of jobs (`jobs`), then [`JobError::Duplicate`];
/// [`JobError::Store`].
pub async fn create_job(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: impl Into<Target<VehicleId>>,
    command: NewJob,
) -> Result<Job, JobError> {
    let business = by.business_id();
    let NewJob { board, fields } = command;
    let boards = &by.business.catalogue.job_boards;
    let plan = boards.iter().find(|known| known.id == board);
    let plan = plan.ok_or_else(|| ValidationErrors::one("board", "names no job board of this business"))?;
    let Target { id, precondition } = vehicle.into();
    let version = store.lock_job_vehicle(business, id).await?;
    precondition.check(version.ok_or(JobError::VehicleNotFound(id))?)?;
    if store.count_jobs(business, id).await? >= Job::MAX_PER_VEHICLE {
        let message = format!("a vehicle may have at most {} jobs", Job::MAX_PER_VEHICLE);
        return Err(ValidationErrors::one("jobs", message).into());
    }
    if store.open_job(business, id, board, None).await?.is_some() {
        return Err(JobError::Duplicate(board));
    }
    let mut content = JobContent::by_board(plan, id);
    fields.apply(&mut content);
    Ok(open(store, business, content, clock.now()).await?)
}

/// Changes the given fields of a job.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], then [`JobError::VersionMismatch`]; [`JobError::Store`].
pub async fn change_job(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    command: ChangeJob,
) -> Result<Job, JobError> {
    let (stored, precondition) = lock(store, by.business_id(), vehicle, id).await?;
    precondition.check(stored.version)?;
    let mut content = stored.content.clone();
    command.apply(&mut content);
    save(store, clock.now(), by.business_id(), stored, content).await
}

impl ChangeJob {
    fn apply(self, content: &mut JobContent) {
        let Self { due, staff, notes } = self;
        content.due = due.unwrap_or(content.due);
        content.staff = staff.unwrap_or(content.staff);
        if let Some(notes) = notes {
            content.notes = notes;
        }
    }
}

/// Deletes a job with its documents. Returns the names of their files, whose content must be deleted after the transaction has
/// committed.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], then [`JobError::VersionMismatch`]; [`JobError::Store`].
pub async fn delete_job(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
) -> Result<Vec<FileName>, JobError> {
    let business = by.business_id();
    let (job, precondition) = lock(store, business, vehicle, id).await?;
    precondition.check(job.version)?;
    let now = clock.now();
    let files = remove(store, business, &job, now).await?;
    let deleted = NewEvent {
        name: EventName::VehicleJobDeleted,
        record: job.id.get(),
        data: format!(r#"{{"id":{}}}"#, job.id),
        at: now,
    };
    store.record(business, deleted).await?;
    Ok(files)
}

/// Validates the contact that a stage names as its supplier. The use cases check the same; this function reports its fault together
/// with the body's others.
///
/// # Errors
/// [`JobError::Store`].
pub async fn validate_supplier(
    store: &mut dyn JobReader,
    by: &Caller,
    supplier: Option<ContactId>,
) -> Result<ValidationErrors, JobError> {
    match supplier {
        Some(supplier) if !store.has_supplier(by.business_id(), supplier).await? => {
            Ok(ValidationErrors::one("supplier", "names no contact of this business"))
        }
        _ => Ok(ValidationErrors::new()),
    }
}

fn on_vehicle(job: Option<Job>, vehicle: VehicleId, id: JobId) -> Result<Job, JobError> {
    let job = job.filter(|job| job.content.vehicle == vehicle);
    job.ok_or(JobError::NotFound(id))
}

/// Locks the vehicle and the job, and returns the job with the condition on its version.
async fn lock(
    store: &mut dyn JobStore,
    business: BusinessId,
    vehicle: VehicleId,
    target: impl Into<Target<JobId>>,
) -> Result<(Job, Precondition), JobError> {
    let Target { id, precondition } = target.into();
    if store.lock_job_vehicle(business, vehicle).await?.is_none() {
        return Err(JobError::VehicleNotFound(vehicle));
    }
    let job = store.lock_job(business, id).await?;
    Ok((on_vehicle(job, vehicle, id)?, precondition))
}

/// Stores a new job and records its event.
async fn open(
    store: &mut dyn JobStore,
    business: BusinessId,
    content: JobContent,
    at: Timestamp,
) -> Result<Job, StoreError> {
    let job = store.insert_job(business, content, at).await?;
    record(store, business, EventName::VehicleJobCreated, None, &job, at).await?;
    Ok(job)
}

/// Stores a job and records vehicle_job.updated, if anything changed.
pub(crate) async fn save(
    store: &mut dyn JobStore,
    now: Timestamp,
    business: BusinessId,
    stored: Job,
    content: JobContent,
) -> Result<Job, JobError> {
    if content == stored.content {
        return Ok(stored);
    }
    if (stored.content.status(), content.status()) == (JobStatus::Done, JobStatus::Open)
        && store
            .open_job(business, content.vehicle, content.board, Some(stored.id))
            .await?
            .is_some()
    {
        return Err(JobError::Duplicate(content.board));
    }
    let job = Job {
        id: stored.id,
        version: stored.version.next(),
        created: stored.created,
        // If the clock was set back to before the creation, the change gets the time of the creation.
        updated: now.max(stored.created),
        content,
    };
    store.save_job(business, &job).await?;
    record(store, business, EventName::VehicleJobUpdated, Some(&stored), &job, now).await?;
    Ok(job)
}

/// Deletes a job with the records of its files, and returns their names.
async fn remove(
    store: &mut dyn JobStore,
    business: BusinessId,
    job: &Job,
    at: Timestamp,
) -> Result<Vec<FileName>, StoreError> {
    for purchase in &job.content.purchases {
        store.set_purchase_job(business, purchase.id, None, at).await?;
    }
    store.delete_job(business, job.id).await?;
    let mut files = Vec::new();
    for document in &job.content.documents {
        files.extend(store.remove_files(business, &document.file.name).await?);
    }
    Ok(files)
}

/// Records an event with the complete job, and the names of the members that differ from before.
async fn record(
    store: &mut dyn JobStore,
    business: BusinessId,
    name: EventName,
    before: Option<&Job>,
    job: &Job,
    at: Timestamp,
) -> Result<(), StoreError> {
    let unwritable = |failure| StoreError::Other(BoxError::from(failure));
    let before = before.map(shown).transpose().map_err(unwritable)?;
    let shown = shown(job).map_err(unwritable)?;
    let event = NewEvent::of_change(name, job.id.get(), before.as_ref(), shown, at);
    store.record(business, event).await
}

/// Returns the whole job as events keep it; what a receiver may not see is removed when it is sent.
fn shown(job: &Job) -> Result<Value, serde_json::Error> {
    serde_json::to_value(FullJob::new(job, ScopeSet::all()))
}
