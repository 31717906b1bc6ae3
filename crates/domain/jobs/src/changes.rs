//! The bodies that callers send about jobs, and the commands that they become (areas §10.11).

use std::collections::HashSet;

use forecourt_accounts::Rules;
use forecourt_files::{FileKind, StoredFile};
use forecourt_kernel::{
    BoundedList, ContactId, Date, Field, FromJson, InvalidValue, Line, LongText, StaffId, Timestamp, ValidationErrors,
    from_object,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{JobStatus, PurchaseId, Stage, TaskId};

/// The first year of a day, as of a vehicle's (decisions §7).
const FIRST_YEAR: i32 = 1885;
/// The number of years that a day may lie ahead.
const MAX_YEARS_AHEAD: u32 = 10;

/// A new job.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewJobBody, example = json!({"board": 1, "due": "2026-12-18", "notes": "Second key is at the workshop."})))]
pub struct NewJobChanges {
    /// Id of the board whose plan is copied.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = i64, required))]
    pub board: Field<i64>,
    /// Day by which it is to be done.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub due: Field<Date>,
    /// Id of the staff user who sees to it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub staff: Field<i64>,
    /// Notes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

/// Changes of a job.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobBody, example = json!({"due": "2026-12-21", "notes": "Waits for tyres."})))]
pub struct JobChanges {
    /// Day by which it is to be done.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub due: Field<Date>,
    /// Id of the staff user who sees to it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub staff: Field<i64>,
    /// Notes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

/// A new stage.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewStageBody, example = json!({"name": "Bodywork", "position": 2, "tasks": [{"name": "Smooth the dent"}], "due": "2026-12-16"})))]
pub struct NewStageChanges {
    /// Name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Line, required, pattern = "\\S"))]
    pub name: Field<Line>,
    /// Place among the stages, from 1; the last one by default, and if there are fewer.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 1))]
    pub position: Field<i64>,
    /// Tasks, in order; at most 200.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<NewTaskChanges>>, max_items = 200))]
    pub tasks: Field<BoundedList<NewTaskChanges, { Stage::MAX_TASKS }>>,
    /// Id of the staff user who sees to it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub staff: Field<i64>,
    /// Id of the contact who does it for the business.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub supplier: Field<i64>,
    /// Day by which it is to be done.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub due: Field<Date>,
    /// Notes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

/// Changes of a stage.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StageBody, example = json!({"status": "done", "notes": "Both front tyres are new."})))]
pub struct StageChanges {
    /// Name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Line, pattern = "\\S"))]
    pub name: Field<Line>,
    /// Place among the stages, from 1; the last one if there are fewer.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 1))]
    pub position: Field<i64>,
    /// done ticks all tasks, open unticks them.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<JobStatus>))]
    pub status: Field<JobStatus>,
    /// The full list of tasks, in order; at most 200. Those that are left out are removed.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<TaskChanges>>, max_items = 200))]
    pub tasks: Field<BoundedList<TaskChanges, { Stage::MAX_TASKS }>>,
    /// Id of the staff user who sees to it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub staff: Field<i64>,
    /// Id of the contact who does it for the business.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub supplier: Field<i64>,
    /// Day by which it is to be done.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub due: Field<Date>,
    /// Notes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

/// A task of a new stage.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewTaskBody))]
pub struct NewTaskChanges {
    /// Name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Line, required, pattern = "\\S"))]
    pub name: Field<Line>,
    /// True if it is done; false by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub done: Field<bool>,
}

/// A task in the full list of a stage's tasks.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TaskBody))]
pub struct TaskChanges {
    /// Id of a task of the stage. It keeps what is left out; without an id the task is new.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub id: Field<i64>,
    /// Name; required for a new task.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Line, pattern = "\\S"))]
    pub name: Field<Line>,
    /// True if it is done; false by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub done: Field<bool>,
}

impl FromJson for NewTaskChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

impl FromJson for TaskChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// A link of a purchase to a job.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobPurchaseBody, example = json!({"purchase": 91})))]
pub struct PurchaseChanges {
    /// Id of a purchase with a line for the job's vehicle.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = i64, required))]
    pub purchase: Field<i64>,
}

/// The fields of a job that callers write. A field that is `None` stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeJob {
    /// The day by which it is to be done.
    pub due: Option<Option<Date>>,
    /// The staff user who sees to it.
    pub staff: Option<Option<StaffId>>,
    /// Notes.
    pub notes: Option<LongText>,
}

/// A new job by a board of the business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewJob {
    /// The board.
    pub board: i64,
    /// The other fields.
    pub fields: ChangeJob,
}

/// A stage's new place: from 1, and at most the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StagePosition(usize);

impl StagePosition {
    const LAST: Self = Self(usize::MAX);

    /// Returns the index of the place among `others`, the number of the other stages.
    pub(crate) fn index(self, others: usize) -> usize {
        self.0.saturating_sub(1).min(others)
    }
}

/// The fields of a stage that callers write. A field that is `None` stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeStage {
    /// The name; a new stage has one.
    pub name: Option<Line>,
    /// The place among the stages.
    pub position: Option<StagePosition>,
    /// The state, which ticks or unticks all tasks.
    pub status: Option<JobStatus>,
    /// The full list of tasks.
    pub tasks: Option<Vec<ChangeTask>>,
    /// The staff user who sees to it.
    pub staff: Option<Option<StaffId>>,
    /// The contact who does it for the business.
    pub supplier: Option<Option<ContactId>>,
    /// The day by which it is to be done.
    pub due: Option<Option<Date>>,
    /// Notes.
    pub notes: Option<LongText>,
}

/// A task in the full list of a stage's tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeTask {
    /// The task, if it is not new.
    pub id: Option<TaskId>,
    /// The name; a new task has one.
    pub name: Option<Line>,
    /// `true` if it is done.
    pub done: Option<bool>,
}

/// A document to be kept with a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddJobDocument {
    /// The name that the caller gives its file.
    pub filename: Option<String>,
    /// A description; may be empty.
    pub description: LongText,
    /// `true` if it may be shown to the public.
    pub public: bool,
    /// The file, whose content is stored.
    pub file: StoredFile,
}

/// A command, with the faults of the body that it was read from.
pub type ReadCommand<C> = (C, ValidationErrors);

impl NewJobChanges {
    /// Reads the command.
    pub fn read(self, rules: &Rules<'_>) -> ReadCommand<NewJob> {
        let Self {
            board,
            due,
            staff,
            notes,
        } = self;
        let mut faults = InvalidValue::default();
        let board = required("board", board, &mut faults);
        if let Some(board) = board
            && !rules
                .business
                .catalogue
                .job_boards
                .iter()
                .any(|known| known.id == board)
        {
            faults.add_within("board", InvalidValue::here("names no job board of this business"));
        }
        let fields = ChangeJob {
            due: day(due, rules.now, &mut faults),
            staff: staff_user(staff, rules, &mut faults),
            notes: or_default("notes", notes, &mut faults),
        };
        let board = board.unwrap_or_default();
        (NewJob { board, fields }, faults.into())
    }
}

impl JobChanges {
    /// Reads the command.
    pub fn read(self, rules: &Rules<'_>) -> ReadCommand<ChangeJob> {
        let Self { due, staff, notes } = self;
        let mut faults = InvalidValue::default();
        let command = ChangeJob {
            due: day(due, rules.now, &mut faults),
            staff: staff_user(staff, rules, &mut faults),
            notes: or_default("notes", notes, &mut faults),
        };
        (command, faults.into())
    }
}

impl NewStageChanges {
    /// Reads the command.
    pub fn read(self, rules: &Rules<'_>) -> ReadCommand<ChangeStage> {
        let Self {
            name,
            position,
            tasks,
            staff,
            supplier,
            due,
            notes,
        } = self;
        let mut faults = InvalidValue::default();
        let tasks = nullable("tasks", tasks, &mut faults).map(|tasks| {
            let tasks = tasks.into_iter().flat_map(BoundedList::into_iter).enumerate();
            let read = |(at, NewTaskChanges { name, done }): (usize, NewTaskChanges)| {
                let mut wrong = InvalidValue::default();
                let task = ChangeTask {
                    id: None,
                    name: required_name(name, &mut wrong),
                    done: or_default("done", done, &mut wrong),
                };
                add_of_task(&mut faults, at, wrong);
                task
            };
            tasks.map(read).collect()
        });
        let command = ChangeStage {
            name: required_name(name, &mut faults),
            position: place(position, &mut faults),
            status: None,
            tasks,
            staff: staff_user(staff, rules, &mut faults),
            supplier: nullable("supplier", supplier, &mut faults).map(|supplier| supplier.map(ContactId::new)),
            due: day(due, rules.now, &mut faults),
            notes: or_default("notes", notes, &mut faults),
        };
        (command, faults.into())
    }
}

impl StageChanges {
    /// Reads the command.
    pub fn read(self, rules: &Rules<'_>) -> ReadCommand<ChangeStage> {
        let Self {
            name,
            position,
            status,
            tasks,
            staff,
            supplier,
            due,
            notes,
        } = self;
        let mut faults = InvalidValue::default();
        let mut known = HashSet::new();
        let tasks = nullable("tasks", tasks, &mut faults).map(|tasks| {
            let tasks = tasks.into_iter().flat_map(BoundedList::into_iter).enumerate();
            let read = |(at, TaskChanges { id, name, done }): (usize, TaskChanges)| {
                let mut wrong = InvalidValue::default();
                let id = nullable("id", id, &mut wrong).flatten().map(TaskId::new);
                if id.is_some_and(|id| !known.insert(id)) {
                    wrong.add_within("id", InvalidValue::here("names a task that the list already has"));
                }
                let name = match id {
                    None => required_name(name, &mut wrong),
                    Some(_) => kept_name(name, &mut wrong),
                };
                let done = or_default("done", done, &mut wrong);
                add_of_task(&mut faults, at, wrong);
                ChangeTask { id, name, done }
            };
            tasks.map(read).collect()
        });
        let command = ChangeStage {
            name: kept_name(name, &mut faults),
            position: place(position, &mut faults),
            status: or_default("status", status, &mut faults),
            tasks,
            staff: staff_user(staff, rules, &mut faults),
            supplier: nullable("supplier", supplier, &mut faults).map(|supplier| supplier.map(ContactId::new)),
            due: day(due, rules.now, &mut faults),
            notes: or_default("notes", notes, &mut faults),
        };
        (command, faults.into())
    }
}

impl PurchaseChanges {
    /// Reads the purchase.
    pub fn read(self) -> ReadCommand<PurchaseId> {
        let mut faults = InvalidValue::default();
        let purchase = required("purchase", self.purchase, &mut faults).unwrap_or_default();
        (PurchaseId::new(purchase), faults.into())
    }
}

/// Validates the description and the kind of a document. The use case checks the same; this function reports its faults together with
/// the body's others.
pub fn validate_document(description: &str, public: bool, kind: Option<FileKind>) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    if public && description.trim().is_empty() {
        errors.add("description", "is required for a public document");
    }
    let is_document = |kind| matches!(kind, FileKind::Pdf | FileKind::Jpeg | FileKind::Png);
    if kind.is_some_and(|kind| !is_document(kind)) {
        errors.add("file", "must be a PDF document, or a JPEG or PNG picture");
    }
    errors
}

fn add_of_task(faults: &mut InvalidValue, at: usize, wrong: InvalidValue) {
    let mut of_tasks = InvalidValue::default();
    of_tasks.add_within(&at.to_string(), wrong);
    faults.add_within("tasks", of_tasks);
}

/// Returns the value of a field that null clears: `Some(None)`.
fn nullable<T>(name: &str, field: Field<T>, faults: &mut InvalidValue) -> Option<Option<T>> {
    match field {
        Field::Absent => None,
        Field::Null => Some(None),
        Field::Value(value) => Some(Some(value)),
        Field::Wrong(wrong) => {
            faults.add_within(name, wrong);
            None
        }
    }
}

/// Returns the value of a field that null resets to its default.
fn or_default<T: Default>(name: &str, field: Field<T>, faults: &mut InvalidValue) -> Option<T> {
    nullable(name, field, faults).map(Option::unwrap_or_default)
}

fn required<T>(name: &str, field: Field<T>, faults: &mut InvalidValue) -> Option<T> {
    if matches!(field, Field::Absent | Field::Null) {
        faults.add_within(name, InvalidValue::here("is required"));
    }
    nullable(name, field, faults).flatten()
}

fn required_name(field: Field<Line>, faults: &mut InvalidValue) -> Option<Line> {
    let name = required("name", field, faults);
    filled(name, faults)
}

/// Returns the name of what has one, which null does not clear.
fn kept_name(field: Field<Line>, faults: &mut InvalidValue) -> Option<Line> {
    if matches!(field, Field::Null) {
        faults.add_within("name", InvalidValue::here("must not be null"));
    }
    let name = nullable("name", field, faults).flatten();
    filled(name, faults)
}

fn filled(name: Option<Line>, faults: &mut InvalidValue) -> Option<Line> {
    if name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        faults.add_within("name", InvalidValue::here("must not be empty"));
    }
    name
}

fn place(field: Field<i64>, faults: &mut InvalidValue) -> Option<StagePosition> {
    match nullable("position", field, faults)? {
        None => Some(StagePosition::LAST),
        Some(place @ 1..) => Some(StagePosition(usize::try_from(place).unwrap_or(usize::MAX))),
        Some(_) => {
            faults.add_within("position", InvalidValue::here("must be 1 or above"));
            None
        }
    }
}

fn staff_user(field: Field<i64>, rules: &Rules<'_>, faults: &mut InvalidValue) -> Option<Option<StaffId>> {
    let staff = nullable("staff", field, faults)?.map(StaffId::new);
    if staff.is_some_and(|staff| !rules.business.catalogue.has_staff(staff)) {
        faults.add_within("staff", InvalidValue::here("names no staff user of this business"));
    }
    Some(staff)
}

fn day(field: Field<Date>, now: Timestamp, faults: &mut InvalidValue) -> Option<Option<Date>> {
    let date = nullable("due", field, faults)?;
    let last = now.date().years_later(MAX_YEARS_AHEAD);
    if date.is_some_and(|date| date.year() < FIRST_YEAR || date > last) {
        let message = format!("must be a date from {FIRST_YEAR}-01-01 to {last}");
        faults.add_within("due", InvalidValue::here(message));
    }
    Some(date)
}
