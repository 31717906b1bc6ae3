//! The ids of a vehicle and of its job in a path.

use forecourt_jobs::{self as jobs, JobReader};
use forecourt_kernel::{JobId, Target, VehicleId};

use crate::{call::Call, code::Code, error::ApiError, parameters::parameters};

parameters! {
    pub(super) path IdParameter;

    /// Vehicle id.
    id: i64;
}

parameters! {
    pub(super) path JobIdParameter;

    /// Job id.
    job_id: i64;
}

/// Returns the vehicle and the job that the path names. A missing vehicle is reported before a missing job.
pub(super) async fn job_of(call: &Call, session: &mut dyn JobReader) -> Result<(VehicleId, Target<JobId>), ApiError> {
    let Target { id, precondition } = call.target(Code::VEHICLE_NOT_FOUND)?;
    match call.second_id(Code::VEHICLE_JOB_NOT_FOUND) {
        Ok(job) => Ok((id, Target { id: job, precondition })),
        Err(absent) => {
            jobs::check_vehicle(session, &call.caller, id).await?;
            Err(absent)
        }
    }
}

/// Returns the vehicle, the job and the part of it that the path names. What is missing is reported in this order.
pub(super) async fn part_of<T: std::str::FromStr>(
    call: &Call,
    session: &mut dyn JobReader,
    absent: Code,
) -> Result<(VehicleId, Target<JobId>, T), ApiError> {
    let (vehicle, job) = job_of(call, session).await?;
    match call.third_id(absent) {
        Ok(part) => Ok((vehicle, job, part)),
        Err(absent) => {
            jobs::read_job(session, &call.caller, vehicle, job.id).await?;
            Err(absent)
        }
    }
}
