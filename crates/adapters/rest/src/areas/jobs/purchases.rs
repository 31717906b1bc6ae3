//! The purchases whose cost jobs caused, over HTTP. Each answer is the job.

use forecourt_dealership::Session;
use forecourt_jobs::{self as jobs, FullJob, PurchaseChanges};

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
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_create_vehicle_job_purchase> create_vehicle_job_purchase,
        self::<__path_delete_vehicle_job_purchase> delete_vehicle_job_purchase,
    ])
}

/// Link a purchase to a job
///
/// The purchase needs a line for the job's vehicle. Its net amount is shown with scope purchases:read alone.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/jobs/{job_id}/purchases", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:write"])), params(IdParameter, JobIdParameter), request_body = PurchaseChanges,
    responses((status = 200, description = "The job", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`")))]
async fn create_vehicle_job_purchase(call: Call) -> Result<Reply, ApiError> {
    let command = call.read_body(|body: PurchaseChanges, _| {
        let (command, errors) = body.read();
        Ok(errors.into_result(command)?)
    });
    write_job(&call, command.await, async |session: &mut dyn Session, purchase| {
        let (vehicle, job) = job_of(&call, session).await?;
        let job = jobs::link_purchase(session, call.clock().as_ref(), &call.caller, vehicle, job, purchase).await?;
        call.ok(&job)
    })
    .await
}

/// Remove the link of a purchase to a job
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/jobs/{job_id}/purchases/{purchase_id}", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:write"])), params(IdParameter, JobIdParameter, PurchaseIdParameter),
    responses((status = 200, description = "The job", body = Envelope<FullJob<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`, `vehicle_job_purchase_not_found`")))]
async fn delete_vehicle_job_purchase(call: Call) -> Result<Reply, ApiError> {
    write_job(&call, Ok(()), async |session: &mut dyn Session, ()| {
        let (vehicle, job, purchase) = part_of(&call, session, Code::VEHICLE_JOB_PURCHASE_NOT_FOUND).await?;
        let clock = call.clock().as_ref();
        let job = jobs::unlink_purchase(session, clock, &call.caller, vehicle, job, purchase).await?;
        call.ok(&job)
    })
    .await
}

parameters! {
    path PurchaseIdParameter;

    /// Purchase id.
    purchase_id: i64;
}
