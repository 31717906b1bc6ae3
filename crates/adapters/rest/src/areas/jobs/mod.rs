//! Jobs on vehicles over HTTP (areas §10.11).

mod documents;
mod id;
mod purchases;
mod stages;

use std::cell::RefCell;

use forecourt_accounts::{Caller, Shown, ShownRecord};
use forecourt_dealership::Session;
use forecourt_jobs::{
    self as jobs, FullJob, Job, JobChanges, JobError, JobFilter, JobStatus, JobView, NewJobChanges, SimpleJob,
};
use forecourt_kernel::{ContactId, Date, ListName, Scope, StaffId, Target, Timestamp, VehicleId, View};

use self::id::{IdParameter, JobIdParameter, job_of};
use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{ListRequest, PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, PageParameters, RenderingParameters, Truth, filters},
    query::Query,
    record::Personal,
    reply::{Answer, Deleted, Envelope, Reply},
    schemas::{DayRange, MomentRange},
};

pub(super) const AREA: Area = Area {
    tag: "jobs",
    about: "What is to be done on vehicles, by the plans of the business's boards",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "vehicle_job",
        schema: "VehicleJob",
        example: jobs::example_job,
    }],
};

const LIST: ListName = ListName::new("jobs");

codes! {
    CODES;
    VEHICLE_JOB_NOT_FOUND = NOT_FOUND, "vehicle_job_not_found" {
        meaning: "The vehicle has no such job.",
        cause: "The id is wrong, the job was deleted, or it is on another vehicle.",
        remedy: "List the jobs with `GET /2.0/vehicles/{id}/jobs`, and forget ids that answer 404.",
    }
    VEHICLE_JOB_STAGE_NOT_FOUND = NOT_FOUND, "vehicle_job_stage_not_found" {
        meaning: "The job has no such stage.",
        cause: "The id is wrong, the stage was removed, or it belongs to another job.",
        remedy: "Read the job with `GET /2.0/vehicles/{id}/jobs/{job_id}`, which shows its stages.",
    }
    VEHICLE_JOB_DOCUMENT_NOT_FOUND = NOT_FOUND, "vehicle_job_document_not_found" {
        meaning: "The job has no such document.",
        cause: "The id is wrong, the document was deleted, or it belongs to another job.",
        remedy: "List the documents with `GET /2.0/vehicles/{id}/jobs/{job_id}/documents`.",
    }
    VEHICLE_JOB_PURCHASE_NOT_FOUND = NOT_FOUND, "vehicle_job_purchase_not_found" {
        meaning: "The purchase is not linked to the job.",
        cause: "The id is wrong, the link was removed, or the purchase is linked to another job.",
        remedy: "Read the job with `GET /2.0/vehicles/{id}/jobs/{job_id}`, which shows its purchases.",
    }
    VEHICLE_JOB_DUPLICATE = CONFLICT, "vehicle_job_duplicate" {
        meaning: "A job of this board is open on the vehicle already.",
        cause: "A board is open once on a vehicle: it was applied before, perhaps automatically, or a finished job would be open again beside another.",
        remedy: "Find the open job with `GET /2.0/jobs?vehicle=…&board=…&status=open`, and go on with it or delete it.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    let mut operations = operations![
        self::<__path_list_jobs> list_jobs,
        self::<__path_list_vehicle_jobs> list_vehicle_jobs,
        self::<__path_create_vehicle_job> create_vehicle_job,
        self::<__path_read_vehicle_job> read_vehicle_job,
        self::<__path_update_vehicle_job> update_vehicle_job,
        self::<__path_delete_vehicle_job> delete_vehicle_job,
    ];
    operations.append(&mut stages::operations()?);
    operations.append(&mut documents::operations()?);
    operations.append(&mut purchases::operations()?);
    Ok(operations)
}

/// List jobs
///
/// Of all vehicles, newest first.
#[utoipa::path(get, path = "/2.0/jobs", tag = "jobs", security(("bearer" = ["vehicle-jobs:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of jobs", body = PageEnvelope<JobView<'static>>)))]
async fn list_jobs(call: Call) -> Result<Answer, ApiError> {
    let (mut filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    filter.today = call.clock().now().date();
    answer(call, list, filter, None).await
}

/// List a vehicle's jobs
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/jobs", tag = "jobs", security(("bearer" = ["vehicle-jobs:read"])),
    params(IdParameter, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of jobs", body = PageEnvelope<JobView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn list_vehicle_jobs(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within("vehicle-jobs"), View::Simple)?;
    let vehicle: VehicleId = call.id(Code::VEHICLE_NOT_FOUND)?;
    let filter = JobFilter {
        vehicle: Some(vehicle),
        ..JobFilter::default()
    };
    answer(call, list, filter, Some(vehicle)).await
}

/// Returns a page of the jobs that pass `filter`, if the vehicle exists whose jobs they are.
async fn answer(
    call: Call,
    list: ListRequest,
    filter: JobFilter,
    vehicle: Option<VehicleId>,
) -> Result<Answer, ApiError> {
    match list.view {
        View::Simple => {
            list.answer(
                call,
                RecordSize::Small,
                async move |session, call, page| {
                    if let Some(vehicle) = vehicle {
                        jobs::check_vehicle(session, &call.caller, vehicle).await?;
                    }
                    jobs::summarize_jobs(session, &call.caller, &filter, page).await
                },
                |item, job| item.show(&SimpleJob::from(job)),
            )
            .await
        }
        View::Full => {
            list.answer(
                call,
                RecordSize::Large,
                async move |session, call, page| {
                    if let Some(vehicle) = vehicle {
                        jobs::check_vehicle(session, &call.caller, vehicle).await?;
                    }
                    jobs::list_jobs(session, &call.caller, &filter, page).await
                },
                |item, job| item.show(&FullJob::new(job, item.call.caller.scopes)),
            )
            .await
        }
    }
}

/// Open a job on a vehicle
///
/// The board's stages and tasks are copied: a later change of the board leaves the job as it is. A vehicle has at most 50 jobs.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/jobs", tag = "jobs", security(("bearer" = ["vehicle-jobs:write"])),
    params(IdParameter), request_body = NewJobChanges,
    responses((status = 201, description = "The job that was opened", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_job_duplicate`")))]
async fn create_vehicle_job(call: Call) -> Result<Reply, ApiError> {
    let command = call.read_body(|body: NewJobChanges, rules| {
        let (command, errors) = body.read(rules);
        Ok(errors.into_result(command)?)
    });
    write_job(&call, command.await, async |session: &mut dyn Session, command| {
        let vehicle: Target<VehicleId> = call.target(Code::VEHICLE_NOT_FOUND)?;
        let job = jobs::create_job(session, call.clock().as_ref(), &call.caller, vehicle, command).await?;
        call.created(&job)
    })
    .await
}

/// Read a job
#[utoipa::path(get, path = "/2.0/vehicles/{id}/jobs/{job_id}", tag = "jobs", security(("bearer" = ["vehicle-jobs:read"])),
    params(IdParameter, JobIdParameter, RenderingParameters),
    responses((status = 200, description = "The job", body = Envelope<JobView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`")))]
async fn read_vehicle_job(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let mut session = call.read().await?;
    let (vehicle, job) = job_of(&call, session.as_mut()).await?;
    let job = jobs::read_job(session.as_mut(), &call.caller, vehicle, job.id).await?;
    let shown = match rendering.view {
        View::Full => JobView::Full(FullJob::new(&job, call.caller.scopes)),
        View::Simple => JobView::Simple(FullJob::new(&job, call.caller.scopes).into_simple()),
    };
    call.record(state_of(&job), &rendering, &shown)
}

/// Change a job
///
/// Only the supplied fields change, and null clears them.
#[utoipa::path(patch, path = "/2.0/vehicles/{id}/jobs/{job_id}", tag = "jobs", security(("bearer" = ["vehicle-jobs:write"])),
    params(IdParameter, JobIdParameter), request_body = JobChanges,
    responses((status = 200, description = "The job", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`")))]
async fn update_vehicle_job(call: Call) -> Result<Reply, ApiError> {
    let command = call.read_body(|body: JobChanges, rules| {
        let (command, errors) = body.read(rules);
        Ok(errors.into_result(command)?)
    });
    write_job(&call, command.await, async |session: &mut dyn Session, command| {
        let (vehicle, job) = job_of(&call, session).await?;
        let job = jobs::change_job(session, call.clock().as_ref(), &call.caller, vehicle, job, command).await?;
        call.ok(&job)
    })
    .await
}

/// Delete a job
///
/// Its documents and their files are deleted too; purchases lose the link.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/jobs/{job_id}", tag = "jobs", security(("bearer" = ["vehicle-jobs:delete"])),
    params(IdParameter, JobIdParameter),
    responses((status = 200, description = "The job is gone", body = Envelope<Deleted>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`")))]
async fn delete_vehicle_job(call: Call) -> Result<Reply, ApiError> {
    let gone = RefCell::new(Vec::new());
    let reply = call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let (vehicle, job) = job_of(&call, session).await?;
        let id = job.id;
        let files = jobs::delete_job(session, call.clock().as_ref(), &call.caller, vehicle, job).await?;
        gone.replace(files);
        Reply::deleted(id.get())
    });
    let reply = reply.await?;
    call.discard(&gone.into_inner()).await;
    Ok(reply)
}

/// Runs a write that answers with a job. The answer to a retry may have been made for another key of the business, so everything that
/// this key may not see is removed.
async fn write_job<C: Clone>(
    call: &Call,
    command: Result<C, ApiError>,
    work: impl AsyncFn(&mut dyn Session, C) -> Result<Reply, ApiError>,
) -> Result<Reply, ApiError> {
    let reply = call.write(command, work).await?;
    if reply.replayed && !call.caller.may(Scope::PurchasesRead) {
        return reply.withholding(|job| jobs::project(job, call.caller.scopes));
    }
    Ok(reply)
}

const fn state_of(job: &Job) -> RecordState {
    RecordState {
        version: job.version,
        // The answer shows nothing from the business's file.
        updated: Timestamp::from_epoch_seconds(i64::MAX),
    }
}

/// Returns what an answer shows that names a job.
fn shown(job: &Job) -> Shown {
    Shown {
        contact: job.content.suppliers().first().copied(),
        record: Some(ShownRecord::Job(job.id)),
    }
}

impl Personal for Job {
    type View<'a> = FullJob<'a>;

    fn view<'a>(&'a self, call: &'a Call) -> FullJob<'a> {
        FullJob::new(self, call.caller.scopes)
    }

    fn shown(&self) -> Shown {
        shown(self)
    }
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::VehicleNotFound(_) => Self::new(Code::VEHICLE_NOT_FOUND, "this business has no such vehicle"),
            JobError::NotFound(_) => Self::new(Code::VEHICLE_JOB_NOT_FOUND, "this vehicle has no such job"),
            JobError::StageNotFound(_) => Self::new(Code::VEHICLE_JOB_STAGE_NOT_FOUND, "this job has no such stage"),
            JobError::DocumentNotFound(_) => {
                Self::new(Code::VEHICLE_JOB_DOCUMENT_NOT_FOUND, "this job has no such document")
            }
            JobError::PurchaseNotFound(_) => Self::new(
                Code::VEHICLE_JOB_PURCHASE_NOT_FOUND,
                "this purchase is not linked to the job",
            ),
            JobError::Duplicate(_) => Self::new(
                Code::VEHICLE_JOB_DUPLICATE,
                "a job of this board is open on the vehicle already",
            ),
            JobError::Invalid(errors) => errors.into(),
            JobError::VersionMismatch(mismatch) => mismatch.into(),
            JobError::Store(error) => error.into(),
        }
    }
}

filters! {
    FilterParameters => JobFilter, today by no_day;

    /// Copied from this board.
    board: i64;
    /// In this state.
    status: JobStatus;
    /// Whose first open stage has exactly this name.
    stage: String;
    /// On this vehicle.
    vehicle: VehicleId;
    /// Of this staff user, who sees to the job or to a stage of it.
    staff: StaffId;
    /// Of which this contact does a stage.
    supplier: ContactId;
    /// true: opened with the vehicle by its board; false: by hand.
    automatic: Truth;
    /// true: open, and its day or that of an open stage is before today; false: not so.
    overdue: Truth;
    /// To be done by a day between these two, both included; an empty one leaves that end open. `due=…` is just this day.
    due: DayRange;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}

/// The day that a filter has before its handler adds the current one.
fn no_day(_: &mut Query<'_>, _: &Caller) -> Date {
    JobFilter::default().today
}
