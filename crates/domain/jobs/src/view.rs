//! The representation of a job in the API and in webhooks (areas §10.11).

use std::borrow::Cow;

use forecourt_files::{StoredFile, size_label};
use forecourt_kernel::{
    ContactId, Date, JobId, Money, Scope, ScopeSet, StaffId, Timestamp, VehicleId, Version, Viewed,
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    Job, JobContent, JobDocument, JobDocumentId, JobOutline, JobStatus, JobSummary, LinkedPurchase, Progress,
    PurchaseId, Stage, StageId, Task, TaskId,
};

/// A job in one of its views.
pub type JobView<'a> = Viewed<SimpleJob<'a>, FullJob<'a>>;

/// A job in the simple view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleJob))]
pub struct SimpleJob<'a> {
    /// Job id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: JobId,
    /// Id of the vehicle on which it is done.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    vehicle: VehicleId,
    /// Id of the board that it was copied from.
    board: i64,
    /// The board's name when it was applied.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    name: Cow<'a, str>,
    /// The board's description when it was applied.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    description: Cow<'a, str>,
    /// State: done when all stages are.
    status: JobStatus,
    /// Day by which it is to be done.
    #[cfg_attr(feature = "openapi", schema(required))]
    due: Option<Date>,
    /// Id of the staff user who sees to it.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<i64>))]
    staff: Option<StaffId>,
    /// True if it was opened with the vehicle, because its board applies to vehicles of that type.
    automatic: bool,
    /// Number of its tasks.
    progress: Progress,
    /// Name of its first open stage; null if there is none.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    stage: Option<Cow<'a, str>>,
    /// Time of its creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of its last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
}

/// A job in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleJob))]
pub struct FullJob<'a> {
    #[serde(flatten)]
    simple: SimpleJob<'a>,
    /// Notes; may be empty.
    notes: &'a str,
    /// Stages, in order.
    stages: Vec<StageView<'a>>,
    /// Documents that are kept with it.
    documents: Vec<DocumentEntry<'a>>,
    /// Purchases whose cost it caused.
    purchases: Vec<PurchaseView<'a>>,
}

/// A stage of a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobStageState))]
pub struct StageView<'a> {
    /// Stage id, unique within the job.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: StageId,
    /// Name.
    name: &'a str,
    /// State: with tasks, done when all of them are.
    status: JobStatus,
    /// Id of the staff user who sees to it.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<i64>))]
    staff: Option<StaffId>,
    /// Id of the contact who does it for the business.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<i64>))]
    supplier: Option<ContactId>,
    /// Day by which it is to be done.
    #[cfg_attr(feature = "openapi", schema(required))]
    due: Option<Date>,
    /// Notes; may be empty.
    notes: &'a str,
    /// Tasks, in order.
    tasks: Vec<TaskView<'a>>,
}

/// A task of a stage.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobTask))]
pub struct TaskView<'a> {
    /// Task id, unique within the job.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: TaskId,
    /// Name.
    name: &'a str,
    /// True if it is done.
    done: bool,
    /// Time at which it was ticked, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<i64>))]
    done_at: Option<Timestamp>,
}

/// A document in the view of its job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobDocumentEntry))]
pub struct DocumentEntry<'a> {
    /// Document id, unique within the job.
    #[serde(serialize_with = "in_text")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2"))]
    id: JobDocumentId,
    /// File name.
    name: &'a str,
    /// Media type.
    #[cfg_attr(feature = "openapi", schema(example = "application/pdf"))]
    mime: &'static str,
    /// Length in bytes.
    size: u64,
    /// Time of the upload, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    uploaded: Timestamp,
}

/// A document of a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobDocument))]
pub struct JobDocumentView<'a> {
    /// Document id, unique within the job.
    #[serde(serialize_with = "in_text")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2"))]
    id: JobDocumentId,
    /// File name.
    name: &'a str,
    /// Description; may be empty.
    description: &'a str,
    /// `true` if it may be shown to the public.
    public: bool,
    /// Usual extension of files of this kind, without a dot.
    #[cfg_attr(feature = "openapi", schema(example = "pdf"))]
    extension: &'static str,
    /// Media type.
    #[cfg_attr(feature = "openapi", schema(example = "application/pdf"))]
    mime: &'static str,
    /// Length in bytes.
    size: u64,
    /// Length as text with a unit.
    #[cfg_attr(feature = "openapi", schema(example = "1.2 MB"))]
    size_label: String,
    /// Icon to show for it: `pdf` or `image`.
    #[cfg_attr(feature = "openapi", schema(example = "pdf"))]
    icon: &'static str,
    /// Time of the upload, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    uploaded: Timestamp,
}

/// A purchase whose cost a job caused.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobPurchase))]
pub struct PurchaseView<'a> {
    /// Purchase id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: PurchaseId,
    /// Number of the purchase; null while it has none.
    #[cfg_attr(feature = "openapi", schema(required))]
    number: Option<&'a str>,
    /// Category of its first line for the vehicle; may be empty.
    category: &'a str,
    /// Net amount of its lines for the vehicle. Only with scope purchases:read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "120.00"))]
    net: Option<Money>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn in_text<S: Serializer>(id: &JobDocumentId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

impl<'a> From<&'a JobSummary> for SimpleJob<'a> {
    fn from(summary: &'a JobSummary) -> Self {
        let JobSummary {
            id,
            version,
            created,
            updated,
            outline,
        } = summary;
        let JobOutline {
            vehicle,
            board,
            name,
            description,
            status,
            due,
            staff,
            automatic,
            progress,
            stage,
        } = outline;
        Self {
            id: *id,
            vehicle: *vehicle,
            board: *board,
            name: Cow::Borrowed(name),
            description: Cow::Borrowed(description),
            status: *status,
            due: *due,
            staff: *staff,
            automatic: *automatic,
            progress: *progress,
            stage: stage.as_deref().map(Cow::Borrowed),
            created: *created,
            updated: *updated,
            version: *version,
        }
    }
}

impl SimpleJob<'_> {
    /// Returns the same, independent of what it was made of.
    fn into_owned(self) -> SimpleJob<'static> {
        SimpleJob {
            name: Cow::Owned(self.name.into_owned()),
            description: Cow::Owned(self.description.into_owned()),
            stage: self.stage.map(|stage| Cow::Owned(stage.into_owned())),
            id: self.id,
            vehicle: self.vehicle,
            board: self.board,
            status: self.status,
            due: self.due,
            staff: self.staff,
            automatic: self.automatic,
            progress: self.progress,
            created: self.created,
            updated: self.updated,
            version: self.version,
        }
    }
}

impl<'a> FullJob<'a> {
    /// Returns the same job in the simple view.
    pub fn into_simple(self) -> SimpleJob<'a> {
        self.simple
    }

    /// Returns the representation of `job` to a reader with these scopes.
    pub fn new(job: &'a Job, scopes: ScopeSet) -> Self {
        let JobContent {
            vehicle: _,
            board: _,
            name: _,
            description: _,
            automatic: _,
            due: _,
            staff: _,
            notes,
            stages,
            documents,
            purchases,
            last_stage: _,
            last_task: _,
            last_document: _,
        } = &job.content;
        let shows_net = scopes.contains(Scope::PurchasesRead);
        Self {
            simple: SimpleJob::from(&job.summary()).into_owned(),
            notes,
            stages: stages.iter().map(StageView::from).collect(),
            documents: documents.iter().map(DocumentEntry::from).collect(),
            purchases: purchases
                .iter()
                .map(|purchase| PurchaseView::new(purchase, shows_net))
                .collect(),
        }
    }
}

impl<'a> From<&'a Stage> for StageView<'a> {
    fn from(stage: &'a Stage) -> Self {
        let Stage {
            id,
            name,
            status,
            staff,
            supplier,
            due,
            notes,
            tasks,
        } = stage;
        Self {
            id: *id,
            name,
            status: *status,
            staff: *staff,
            supplier: *supplier,
            due: *due,
            notes,
            tasks: tasks.iter().map(TaskView::from).collect(),
        }
    }
}

impl<'a> From<&'a Task> for TaskView<'a> {
    fn from(task: &'a Task) -> Self {
        let Task { id, name, done_at } = task;
        Self {
            id: *id,
            name,
            done: done_at.is_some(),
            done_at: *done_at,
        }
    }
}

impl<'a> From<&'a JobDocument> for DocumentEntry<'a> {
    fn from(document: &'a JobDocument) -> Self {
        let JobDocument {
            id,
            name,
            description: _,
            public: _,
            uploaded,
            file,
        } = document;
        Self {
            id: *id,
            name,
            mime: file.kind.mime(),
            size: file.size,
            uploaded: *uploaded,
        }
    }
}

impl<'a> From<&'a JobDocument> for JobDocumentView<'a> {
    fn from(document: &'a JobDocument) -> Self {
        let JobDocument {
            id,
            name,
            description,
            public,
            uploaded,
            file,
        } = document;
        let StoredFile { kind, size, .. } = file;
        Self {
            id: *id,
            name,
            description,
            public: *public,
            extension: kind.extension(),
            mime: kind.mime(),
            size: *size,
            size_label: size_label(*size),
            icon: if kind.is_picture() { "image" } else { "pdf" },
            uploaded: *uploaded,
        }
    }
}

impl<'a> PurchaseView<'a> {
    fn new(purchase: &'a LinkedPurchase, shows_net: bool) -> Self {
        let LinkedPurchase {
            id,
            number,
            category,
            net,
        } = purchase;
        Self {
            id: *id,
            number: number.as_deref(),
            category,
            net: shows_net.then_some(*net),
        }
    }
}

/// Removes from a job in the full view what a reader with these scopes may not see: the amounts of purchases.
pub fn project(shown: &mut Value, scopes: ScopeSet) {
    if scopes.contains(Scope::PurchasesRead) {
        return;
    }
    let purchases = shown.get_mut("purchases").and_then(Value::as_array_mut);
    for purchase in purchases.into_iter().flatten().filter_map(Value::as_object_mut) {
        purchase.shift_remove("net");
    }
}

/// An example of a job in an event, for the documentation.
#[cfg(feature = "openapi")]
pub fn example_job() -> Value {
    serde_json::json!({
        "id": 311,
        "vehicle": 4021,
        "board": 1,
        "name": "Preparation",
        "description": "What is done before a vehicle goes on sale",
        "status": "open",
        "due": "2026-01-09",
        "staff": 2,
        "automatic": true,
        "progress": {"done": 1, "total": 3},
        "stage": "Workshop",
        "created": 1_767_225_600,
        "updated": 1_767_312_000,
        "version": 3,
        "notes": "Second key is at the workshop.",
        "stages": [
            {
                "id": 1, "name": "Inspection", "status": "done", "staff": null, "supplier": null, "due": null, "notes": "",
                "tasks": [{"id": 1, "name": "Check tyres and brakes", "done": true, "done_at": 1_767_312_000}]
            },
            {
                "id": 2, "name": "Workshop", "status": "open", "staff": null, "supplier": 77, "due": "2026-01-07", "notes": "",
                "tasks": [
                    {"id": 2, "name": "Service", "done": false, "done_at": null},
                    {"id": 3, "name": "MOT", "done": false, "done_at": null}
                ]
            }
        ],
        "documents": [
            {"id": "1", "name": "Inspection.pdf", "mime": "application/pdf", "size": 48_213, "uploaded": 1_767_312_000}
        ],
        "purchases": [{"id": 91, "number": "PUR-91", "category": "Parts"}]
    })
}
