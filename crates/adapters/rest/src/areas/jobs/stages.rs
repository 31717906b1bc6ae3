//! The stages of jobs over HTTP, with their tasks. Each answer is the job.

use forecourt_dealership::Session;
use forecourt_jobs::{self as jobs, FullJob, NewStageChanges, StageChanges};

use super::{
    id::{IdParameter, JobIdParameter, job_of, part_of},
    write_job,
};
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::parameters,
    reply::{Envelope, Reply},
    validated::ParsedBody,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_create_vehicle_job_stage> create_vehicle_job_stage,
        self::<__path_update_vehicle_job_stage> update_vehicle_job_stage,
        self::<__path_delete_vehicle_job_stage> delete_vehicle_job_stage,
    ])
}

/// Add a stage to a job
///
/// A job has at most 50. A finished job is open again, unless the stage is done.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/jobs/{job_id}/stages", tag = "jobs", security(("bearer" = ["vehicle-jobs:write"])),
    params(IdParameter, JobIdParameter), request_body = NewStageChanges,
    responses((status = 200, description = "The job", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`"),
        (status = 409, description = "`vehicle_job_duplicate`")))]
async fn create_vehicle_job_stage(call: Call) -> Result<Reply, ApiError> {
    let read = call.read_body(|body: NewStageChanges, rules| {
        let (command, errors) = body.read(rules);
        Ok(ParsedBody::new(command, errors))
    });
    let command = call.validated(read.await, async |session, command| {
        Ok(jobs::validate_supplier(session, &call.caller, command.supplier.flatten()).await?)
    });
    write_job(&call, command.await, async |session: &mut dyn Session, command| {
        let command = command.into_inner();
        // A wrong body is reported before a missing record.
        let faults = jobs::validate_supplier(session, &call.caller, command.supplier.flatten()).await?;
        faults.into_result(())?;
        let (vehicle, job) = job_of(&call, session).await?;
        let job = jobs::add_stage(session, call.clock().as_ref(), &call.caller, vehicle, job, command).await?;
        call.ok(&job)
    })
    .await
}

/// Change a stage of a job
///
/// Only the supplied fields change, and null clears them. A stage is done when all its tasks are; its `status` ticks or unticks them
/// all.
#[utoipa::path(patch, path = "/2.0/vehicles/{id}/jobs/{job_id}/stages/{stage_id}", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:write"])), params(IdParameter, JobIdParameter, StageIdParameter),
    request_body = StageChanges,
    responses((status = 200, description = "The job", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`, `vehicle_job_stage_not_found`"),
        (status = 409, description = "`vehicle_job_duplicate`")))]
async fn update_vehicle_job_stage(call: Call) -> Result<Reply, ApiError> {
    let read = call.read_body(|body: StageChanges, rules| {
        let (command, errors) = body.read(rules);
        Ok(ParsedBody::new(command, errors))
    });
    let command = call.validated(read.await, async |session, command| {
        Ok(jobs::validate_supplier(session, &call.caller, command.supplier.flatten()).await?)
    });
    write_job(&call, command.await, async |session: &mut dyn Session, command| {
        let command = command.into_inner();
        // A wrong body is reported before a missing record.
        let faults = jobs::validate_supplier(session, &call.caller, command.supplier.flatten()).await?;
        faults.into_result(())?;
        let (vehicle, job, stage) = part_of(&call, session, Code::VEHICLE_JOB_STAGE_NOT_FOUND).await?;
        let clock = call.clock().as_ref();
        let job = jobs::change_stage(session, clock, &call.caller, vehicle, job, stage, command).await?;
        call.ok(&job)
    })
    .await
}

/// Remove a stage from a job
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/jobs/{job_id}/stages/{stage_id}", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:write"])), params(IdParameter, JobIdParameter, StageIdParameter),
    responses((status = 200, description = "The job", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`, `vehicle_job_stage_not_found`")))]
async fn delete_vehicle_job_stage(call: Call) -> Result<Reply, ApiError> {
    write_job(&call, Ok(()), async |session: &mut dyn Session, ()| {
        let (vehicle, job, stage) = part_of(&call, session, Code::VEHICLE_JOB_STAGE_NOT_FOUND).await?;
        let job = jobs::delete_stage(session, call.clock().as_ref(), &call.caller, vehicle, job, stage).await?;
        call.ok(&job)
    })
    .await
}

parameters! {
    path StageIdParameter;

    /// Stage id.
    stage_id: i64;
}
