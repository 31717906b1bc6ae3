//! The stages of a job, and their tasks.

use forecourt_accounts::Caller;
use forecourt_kernel::{Clock, JobId, LongText, Target, Timestamp, ValidationErrors, VehicleId};

use super::{lock, save, validate_supplier};
use crate::{ChangeStage, ChangeTask, Job, JobContent, JobError, JobStatus, JobStore, Stage, StageId, Task};

/// Adds a stage to a job.
///
/// # Errors
/// [`JobError::Invalid`] if it names a contact that the business lacks, or no name. Then [`JobError::VehicleNotFound`], then
/// [`JobError::NotFound`], then [`JobError::VersionMismatch`]. Then [`JobError::Invalid`] if the job has the maximum number of stages
/// (`stages`), then [`JobError::Duplicate`] if that opens the job while another of its board is open; [`JobError::Store`].
pub async fn add_stage(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    command: ChangeStage,
) -> Result<Job, JobError> {
    let supplier = command.supplier.flatten();
    validate_supplier(store, by, supplier).await?.into_result(())?;
    let business = by.business_id();
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    precondition.check(stored.version)?;
    if stored.content.stages.len() >= JobContent::MAX_STAGES {
        let message = format!("a job may have at most {} stages", JobContent::MAX_STAGES);
        return Err(ValidationErrors::one("stages", message).into());
    }
    let now = clock.now();
    let mut content = stored.content.clone();
    let stage = Stage {
        id: content.next_stage_id(),
        name: String::new(),
        status: JobStatus::Open,
        staff: None,
        supplier: None,
        due: None,
        notes: LongText::default(),
        tasks: Vec::new(),
    };
    let position = command.position;
    let stage = command.apply(&mut content, stage, now)?;
    let last = content.stages.len();
    let index = position.map_or(last, |position| position.index(last));
    content.stages.insert(index, stage);
    save(store, now, business, stored, content).await
}

/// Changes the given fields of a stage.
///
/// # Errors
/// [`JobError::Invalid`] if it names a contact that the business lacks. Then [`JobError::VehicleNotFound`], [`JobError::NotFound`],
/// [`JobError::StageNotFound`], then [`JobError::VersionMismatch`], of the job. Then [`JobError::Invalid`] if a task is not one of the
/// stage, then [`JobError::Duplicate`] if that opens the job while another of its board is open; [`JobError::Store`].
pub async fn change_stage(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    stage: StageId,
    command: ChangeStage,
) -> Result<Job, JobError> {
    let supplier = command.supplier.flatten();
    validate_supplier(store, by, supplier).await?.into_result(())?;
    let business = by.business_id();
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    let index = index_of(&stored.content, stage)?;
    precondition.check(stored.version)?;
    let now = clock.now();
    let mut content = stored.content.clone();
    let position = command.position;
    let before = content.stages.remove(index);
    let after = command.apply(&mut content, before, now)?;
    let others = content.stages.len();
    let index = position.map_or(index, |position| position.index(others));
    content.stages.insert(index, after);
    save(store, now, business, stored, content).await
}

/// Removes a stage from a job.
///
/// # Errors
/// [`JobError::VehicleNotFound`], then [`JobError::NotFound`], [`JobError::StageNotFound`], then [`JobError::VersionMismatch`], of the
/// job; [`JobError::Store`].
pub async fn delete_stage(
    store: &mut dyn JobStore,
    clock: &dyn Clock,
    by: &Caller,
    vehicle: VehicleId,
    id: impl Into<Target<JobId>>,
    stage: StageId,
) -> Result<Job, JobError> {
    let business = by.business_id();
    let (stored, precondition) = lock(store, business, vehicle, id).await?;
    let index = index_of(&stored.content, stage)?;
    precondition.check(stored.version)?;
    let mut content = stored.content.clone();
    content.stages.remove(index);
    save(store, clock.now(), business, stored, content).await
}

fn index_of(content: &JobContent, stage: StageId) -> Result<usize, JobError> {
    let index = content.stages.iter().position(|known| known.id == stage);
    index.ok_or(JobError::StageNotFound(stage))
}

impl ChangeStage {
    /// Returns the stage after the change. New tasks get ids of the job.
    fn apply(self, job: &mut JobContent, mut stage: Stage, now: Timestamp) -> Result<Stage, ValidationErrors> {
        let Self {
            name,
            position: _,
            status,
            tasks,
            staff,
            supplier,
            due,
            notes,
        } = self;
        if let Some(name) = name {
            stage.name = name.into_string();
        }
        stage.staff = staff.unwrap_or(stage.staff);
        stage.supplier = supplier.unwrap_or(stage.supplier);
        stage.due = due.unwrap_or(stage.due);
        if let Some(notes) = notes {
            stage.notes = notes;
        }
        if let Some(tasks) = tasks {
            stage.tasks = changed_tasks(job, &stage.tasks, tasks, now)?;
        }
        match status {
            Some(status) => stage.set_status(status, now),
            None => stage.derive_status(),
        }
        Ok(stage)
    }
}

/// Returns the tasks of a full list. A task that was done before keeps the time.
fn changed_tasks(
    job: &mut JobContent,
    known: &[Task],
    tasks: Vec<ChangeTask>,
    now: Timestamp,
) -> Result<Vec<Task>, ValidationErrors> {
    let mut errors = ValidationErrors::new();
    if tasks.len() > Stage::MAX_TASKS {
        errors.add("tasks", format!("must have at most {} elements", Stage::MAX_TASKS));
    }
    let mut changed = Vec::with_capacity(tasks.len());
    for (at, ChangeTask { id, name, done }) in tasks.into_iter().enumerate() {
        let task = match id {
            None => {
                let name = name.unwrap_or_default().into_string();
                job.new_task(name, done.unwrap_or_default().then_some(now))
            }
            Some(id) => match known.iter().find(|task| task.id == id) {
                None => {
                    errors.add(format!("tasks.{at}.id"), "names no task of the stage");
                    continue;
                }
                Some(task) => Task {
                    id,
                    name: name.map_or_else(|| task.name.clone(), |name| name.into_string()),
                    done_at: match done {
                        None => task.done_at,
                        Some(true) => task.done_at.or(Some(now)),
                        Some(false) => None,
                    },
                },
            },
        };
        changed.push(task);
    }
    errors.into_result(changed)
}
