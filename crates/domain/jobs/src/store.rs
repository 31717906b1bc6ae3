//! The ports for the storage of jobs, and to what they need of vehicles, contacts and purchases.

use async_trait::async_trait;
use forecourt_files::FileRegister;
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, JobId, Page, PageRequest, Range, StaffId, StoreResult, Timestamp, VehicleId,
    Version,
};

use crate::{Job, JobContent, JobStatus, JobSummary, LinkedPurchase, PurchaseId};

/// A filter for lists of jobs. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JobFilter {
    /// Jobs of this board.
    pub board: Option<i64>,
    /// Jobs in this status.
    pub status: Option<JobStatus>,
    /// Jobs whose first open stage has this name.
    pub stage: Option<String>,
    /// Jobs on this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Jobs that this staff user sees to, or a stage of them.
    pub staff: Option<StaffId>,
    /// Jobs of which this contact does a stage.
    pub supplier: Option<ContactId>,
    /// Jobs that were, or were not, opened with their vehicle.
    pub automatic: Option<bool>,
    /// Jobs that are, or are not, overdue on the day `today`.
    pub overdue: Option<bool>,
    /// Jobs that are to be done by a day in this range.
    pub due: Option<Range<Date>>,
    /// Jobs created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Jobs last changed in this range.
    pub updated: Option<Range<Timestamp>>,
    /// The current day, on which `overdue` depends.
    pub today: Date,
}

/// The filter that every job passes, before the current day is known.
impl Default for JobFilter {
    fn default() -> Self {
        Self::all(Timestamp::from_epoch_seconds(0).date())
    }
}

impl JobFilter {
    /// The filter that every job passes. It counts as overdue what is on `today`.
    pub const fn all(today: Date) -> Self {
        Self {
            board: None,
            status: None,
            stage: None,
            vehicle: None,
            staff: None,
            supplier: None,
            automatic: None,
            overdue: None,
            due: None,
            created: None,
            updated: None,
            today,
        }
    }

    /// Returns `true` if `job` passes the filter.
    pub fn matches(&self, job: &Job) -> bool {
        let Self {
            board,
            status,
            stage,
            vehicle,
            staff,
            supplier,
            automatic,
            overdue,
            due,
            created,
            updated,
            today,
        } = self;
        let content = &job.content;
        let is_overdue = content.due_by().is_some_and(|due_by| due_by < *today);
        board.is_none_or(|board| board == content.board)
            && status.is_none_or(|status| status == content.status())
            && (stage.is_none() || *stage == content.outline().stage)
            && vehicle.is_none_or(|vehicle| vehicle == content.vehicle)
            && staff.is_none_or(|staff| content.all_staff().contains(&staff))
            && supplier.is_none_or(|supplier| content.suppliers().contains(&supplier))
            && automatic.is_none_or(|automatic| automatic == content.automatic)
            && overdue.is_none_or(|overdue| overdue == is_overdue)
            && due.is_none_or(|range| content.due.is_some_and(|due| range.contains(&due)))
            && created.is_none_or(|range| range.contains(&job.created))
            && updated.is_none_or(|range| range.contains(&job.updated))
    }
}

/// Reads jobs, and what they need of other areas.
#[async_trait]
pub trait JobReader: Send {
    /// Returns the job, or `None` if the business has none with that id.
    async fn job(&mut self, business: BusinessId, id: JobId) -> StoreResult<Option<Job>>;

    /// Returns a page of the business's jobs that pass `filter`, newest first.
    async fn jobs(&mut self, business: BusinessId, filter: &JobFilter, page: &PageRequest) -> StoreResult<Page<Job>>;

    /// Returns the same page of jobs as lists show them.
    async fn job_summaries(
        &mut self,
        business: BusinessId,
        filter: &JobFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<JobSummary>>;

    /// Returns the version of a vehicle, or `None` if the business has none with that id.
    async fn job_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Version>>;

    /// Returns `true` if the business has this contact. In a writing transaction, the contact cannot be deleted until the
    /// transaction ends.
    async fn has_supplier(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;
}

/// Reads the purchases whose cost jobs cause.
#[async_trait]
pub trait JobPurchases: Send {
    /// Returns what a purchase costs for a vehicle, or `None` if the business has no such purchase, or it has no line for the vehicle.
    /// In a writing transaction, the purchase does not change until the transaction ends.
    async fn purchase_lines(
        &mut self,
        business: BusinessId,
        purchase: PurchaseId,
        vehicle: VehicleId,
    ) -> StoreResult<Option<LinkedPurchase>>;

    /// Notes in a purchase that it is linked to a job, or to none. The purchase was returned by [`JobPurchases::purchase_lines`] in this
    /// transaction, or was linked to that job.
    async fn set_purchase_job(
        &mut self,
        business: BusinessId,
        purchase: PurchaseId,
        job: Option<(VehicleId, JobId)>,
        at: Timestamp,
    ) -> StoreResult<()>;
}

/// Stores jobs. All changes through one value commit together or not at all.
#[async_trait]
pub trait JobStore: JobReader + JobPurchases + FileRegister + EventLog {
    /// Locks the vehicle against other writers until the transaction ends, and returns its version. A writer of a job has locked
    /// its vehicle before.
    async fn lock_job_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Version>>;

    /// Locks the job against other writers until the transaction ends, and returns it.
    async fn lock_job(&mut self, business: BusinessId, id: JobId) -> StoreResult<Option<Job>>;

    /// Counts the jobs of the vehicle.
    async fn count_jobs(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32>;

    /// Returns an open job of the vehicle by this board, other than `except`.
    async fn open_job(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        board: i64,
        except: Option<JobId>,
    ) -> StoreResult<Option<JobId>>;

    /// Returns a job of the vehicle, if it has any.
    async fn any_job(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<Job>>;

    /// Stores a new job.
    async fn insert_job(&mut self, business: BusinessId, content: JobContent, at: Timestamp) -> StoreResult<Job>;

    /// Stores a changed job.
    async fn save_job(&mut self, business: BusinessId, job: &Job) -> StoreResult<()>;

    /// Deletes a job, but not the records of its documents' files.
    async fn delete_job(&mut self, business: BusinessId, id: JobId) -> StoreResult<()>;
}
