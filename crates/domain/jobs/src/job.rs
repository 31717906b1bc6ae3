//! The record of a job, and its parts.
//!
//! Storage keeps the serialised form of [`JobContent`] and [`JobOutline`]: a new member needs `#[serde(default)]`, and no member is
//! ever renamed.

use std::str::FromStr;

use forecourt_files::StoredFile;
use forecourt_kernel::{
    ContactId, Date, FromJson, InvalidValue, JobId, Line, LongText, Money, StaffId, Timestamp, VehicleId, Version,
};
use forecourt_reference::JobBoard;
use serde::{Deserialize, Serialize};
use serde_json::Value;

forecourt_kernel::ids! {
    /// Identifies a stage within its job.
    StageId;
    /// Identifies a task within its job.
    TaskId;
    /// Identifies a document within its job.
    JobDocumentId;
    /// Identifies a purchase.
    PurchaseId;
}

/// The state of a job, or of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// Something is still to be done.
    #[default]
    Open,
    /// Everything is done.
    Done,
}

impl JobStatus {
    /// The name in the API and in storage.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
        }
    }

    const fn of(is_done: bool) -> Self {
        if is_done { Self::Done } else { Self::Open }
    }
}

/// The text is not the name of a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be open or done")]
pub struct UnknownJobStatus;

impl FromStr for JobStatus {
    type Err = UnknownJobStatus;

    fn from_str(text: &str) -> Result<Self, UnknownJobStatus> {
        [Self::Open, Self::Done]
            .into_iter()
            .find(|status| status.name() == text)
            .ok_or(UnknownJobStatus)
    }
}

impl FromJson for JobStatus {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let name = value.as_str().ok_or(InvalidValue::here("must be a string"))?;
        name.parse()
            .map_err(|error: UnknownJobStatus| InvalidValue::here(error.to_string()))
    }
}

/// A task of a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Its id within the job.
    pub id: TaskId,
    /// Its name.
    pub name: String,
    /// The time at which it was ticked; `None` while it is to be done.
    pub done_at: Option<Timestamp>,
}

/// A stage of a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stage {
    /// Its id within the job.
    pub id: StageId,
    /// Its name.
    pub name: String,
    /// Its state. A stage with tasks is done exactly when all of them are.
    pub status: JobStatus,
    /// The staff user who sees to it.
    pub staff: Option<StaffId>,
    /// The contact who does it for the business.
    pub supplier: Option<ContactId>,
    /// The day by which it is to be done.
    pub due: Option<Date>,
    /// Notes; may be empty.
    pub notes: LongText,
    /// Its tasks, in order.
    pub tasks: Vec<Task>,
}

impl Stage {
    /// Maximum number of tasks of a stage.
    pub const MAX_TASKS: usize = 200;

    /// Ticks all tasks at the moment `now`, or unticks them.
    pub(crate) fn set_status(&mut self, status: JobStatus, now: Timestamp) {
        self.status = status;
        for task in &mut self.tasks {
            task.done_at = match status {
                JobStatus::Open => None,
                JobStatus::Done => task.done_at.or(Some(now)),
            };
        }
    }

    /// Makes the state follow from the tasks, if there are any.
    pub(crate) fn derive_status(&mut self) {
        if !self.tasks.is_empty() {
            self.status = JobStatus::of(self.tasks.iter().all(|task| task.done_at.is_some()));
        }
    }
}

/// A document that is kept with a job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JobDocument {
    /// Its id within the job.
    pub id: JobDocumentId,
    /// Its file name.
    pub name: Line,
    /// A description; may be empty.
    pub description: LongText,
    /// `true` if it may be shown to the public. In either case its content is read through the API only.
    pub public: bool,
    /// The time of the upload.
    pub uploaded: Timestamp,
    /// The file.
    pub file: StoredFile,
}

/// A purchase whose cost the job caused, with what it costs for the job's vehicle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkedPurchase {
    /// The purchase.
    pub id: PurchaseId,
    /// Its number; `None` while it has none.
    pub number: Option<String>,
    /// The category of its first line for the vehicle; may be empty.
    pub category: String,
    /// The net amount of its lines for the vehicle.
    pub net: Money,
}

/// The content of a job: everything except its id, its version and its times.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JobContent {
    /// The vehicle on which it is done.
    pub vehicle: VehicleId,
    /// The board that it was copied from.
    pub board: i64,
    /// The board's name when it was applied.
    pub name: String,
    /// The board's description when it was applied.
    pub description: String,
    /// `true` if it was opened with the vehicle, by the board's `apply`.
    pub automatic: bool,
    /// The day by which it is to be done.
    pub due: Option<Date>,
    /// The staff user who sees to it.
    pub staff: Option<StaffId>,
    /// Notes; may be empty.
    pub notes: LongText,
    /// Its stages, in order.
    pub stages: Vec<Stage>,
    /// Its documents, in the order of their ids.
    pub documents: Vec<JobDocument>,
    /// The purchases that are linked to it, in the order in which they were.
    pub purchases: Vec<LinkedPurchase>,
    /// The latest id that a stage was given.
    pub last_stage: i64,
    /// The latest id that a task was given.
    pub last_task: i64,
    /// The latest id that a document was given.
    pub last_document: i64,
}

impl JobContent {
    /// Maximum number of stages of a job.
    pub const MAX_STAGES: usize = 50;
    /// Maximum number of documents of a job.
    pub const MAX_DOCUMENTS: usize = 100;

    /// Returns a job by the plan of `board`, on which nothing is done yet.
    pub fn by_board(board: &JobBoard, vehicle: VehicleId) -> Self {
        let mut job = Self {
            vehicle,
            board: board.id,
            name: board.name.clone(),
            description: board.description.clone(),
            automatic: false,
            due: None,
            staff: None,
            notes: LongText::default(),
            stages: Vec::with_capacity(board.stages.len()),
            documents: Vec::new(),
            purchases: Vec::new(),
            last_stage: 0,
            last_task: 0,
            last_document: 0,
        };
        for plan in &board.stages {
            let tasks = plan.tasks.iter().map(|name| job.new_task(name.clone(), None)).collect();
            let stage = Stage {
                id: job.next_stage_id(),
                name: plan.name.clone(),
                status: JobStatus::Open,
                staff: None,
                supplier: None,
                due: None,
                notes: LongText::default(),
                tasks,
            };
            job.stages.push(stage);
        }
        job
    }

    /// Ticks all tasks of the first `count` stages at the moment `at`.
    pub fn complete_stages(&mut self, count: usize, at: Timestamp) {
        for stage in self.stages.iter_mut().take(count) {
            stage.set_status(JobStatus::Done, at);
        }
    }

    /// Returns a task with an id that the job has not used.
    pub(crate) fn new_task(&mut self, name: String, done_at: Option<Timestamp>) -> Task {
        self.last_task += 1;
        Task {
            id: TaskId::new(self.last_task),
            name,
            done_at,
        }
    }

    /// Returns an id that no stage of the job has had.
    pub(crate) const fn next_stage_id(&mut self) -> StageId {
        self.last_stage += 1;
        StageId::new(self.last_stage)
    }

    /// Returns an id that no document of the job has had.
    pub(crate) const fn next_document_id(&mut self) -> JobDocumentId {
        self.last_document += 1;
        JobDocumentId::new(self.last_document)
    }

    /// Returns the state: done when all stages are.
    pub fn status(&self) -> JobStatus {
        JobStatus::of(self.open_stages().next().is_none())
    }

    fn open_stages(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|stage| stage.status == JobStatus::Open)
    }

    /// Returns the day from whose end on the job is overdue: the earliest of its own and those of its open stages. `None` if it is
    /// done, or nothing of it is due on a day.
    pub fn due_by(&self) -> Option<Date> {
        let of_stages = self.open_stages().filter_map(|stage| stage.due);
        match self.status() {
            JobStatus::Done => None,
            JobStatus::Open => of_stages.chain(self.due).min(),
        }
    }

    /// Returns the staff users who see to the job or to a stage of it, each once.
    pub fn all_staff(&self) -> Vec<StaffId> {
        let of_stages = self.stages.iter().filter_map(|stage| stage.staff);
        let mut all: Vec<StaffId> = of_stages.chain(self.staff).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the contacts who do a stage of the job, each once.
    pub fn suppliers(&self) -> Vec<ContactId> {
        let mut all: Vec<ContactId> = self.stages.iter().filter_map(|stage| stage.supplier).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the part of the content that lists show.
    pub fn outline(&self) -> JobOutline {
        let tasks = || self.stages.iter().flat_map(|stage| &stage.tasks);
        JobOutline {
            vehicle: self.vehicle,
            board: self.board,
            name: self.name.clone(),
            description: self.description.clone(),
            status: self.status(),
            due: self.due,
            staff: self.staff,
            automatic: self.automatic,
            progress: Progress {
                done: tasks().filter(|task| task.done_at.is_some()).count(),
                total: tasks().count(),
            },
            stage: self.open_stages().next().map(|stage| stage.name.clone()),
        }
    }
}

/// The number of a job's tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobProgress))]
pub struct Progress {
    /// The number of tasks that are done.
    pub done: usize,
    /// The number of all tasks.
    pub total: usize,
}

/// The part of a job's content that lists show. It follows from the content, and is stored beside it, since that may be long.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JobOutline {
    /// The vehicle on which it is done.
    pub vehicle: VehicleId,
    /// The board that it was copied from.
    pub board: i64,
    /// The board's name when it was applied.
    pub name: String,
    /// The board's description when it was applied.
    pub description: String,
    /// The state.
    pub status: JobStatus,
    /// The day by which it is to be done.
    pub due: Option<Date>,
    /// The staff user who sees to it.
    pub staff: Option<StaffId>,
    /// `true` if it was opened with the vehicle.
    pub automatic: bool,
    /// The number of its tasks.
    pub progress: Progress,
    /// The name of its first open stage; `None` if there is none.
    pub stage: Option<String>,
}

/// A job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// The job's id, unique across businesses.
    pub id: JobId,
    /// The record's version.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// Everything else.
    pub content: JobContent,
}

impl Job {
    /// Maximum number of jobs of a vehicle.
    pub const MAX_PER_VEHICLE: u32 = 50;

    /// Returns the part of the job that lists show.
    pub fn summary(&self) -> JobSummary {
        let Self {
            id,
            version,
            created,
            updated,
            content,
        } = self;
        JobSummary {
            id: *id,
            version: *version,
            created: *created,
            updated: *updated,
            outline: content.outline(),
        }
    }
}

/// A job as lists show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobSummary {
    /// The job's id, unique across businesses.
    pub id: JobId,
    /// The record's version.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The content.
    pub outline: JobOutline,
}
