//! Jobs on vehicles. A vehicle is locked while its jobs are written.

pub(super) mod people;

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_jobs::{Job, JobContent, JobFilter, JobReader, JobStatus, JobStore, JobSummary};
use forecourt_kernel::{
    BusinessId, ContactId, Date, JobId, Page, PageRequest, Range, StaffId, StoreError, StoreResult, Timestamp,
    VehicleId, Version,
};

use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Session, Write};
use super::{Db, contacts, dialect, list};
use crate::error::other;
use crate::schema::vehicles;
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("job_staff", "staff, job", 500),
    OwnedTable::new("job_suppliers", "contact, job", 500),
    OwnedTable::new("jobs", "id", 20),
];

const KIND: &str = "jobs";

const JOBS: RecordKind = RecordKind {
    table: "jobs",
    rows: "jobs",
    texts: None,
};

/// The characters of a stage's name that lists compare. A filter has no more; a board's name may.
const STAGE_CHARS: usize = 255;

/// The day of a job that is never overdue.
const NEVER: i64 = i64::MAX;

diesel::table! {
    jobs (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        vehicle -> BigInt,
        board -> BigInt,
        status -> Text,
        stage -> Nullable<Text>,
        automatic -> BigInt,
        due -> Nullable<BigInt>,
        due_by -> BigInt,
        outline -> Text,
        document -> Text,
    }
}

diesel::table! {
    job_staff (business_id, staff, job) {
        business_id -> BigInt,
        staff -> BigInt,
        job -> BigInt,
    }
}

diesel::table! {
    job_suppliers (business_id, contact, job) {
        business_id -> BigInt,
        contact -> BigInt,
        job -> BigInt,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = jobs, check_for_backend(Db))]
struct JobRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    document: String,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = jobs, check_for_backend(Db))]
struct SummaryRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    outline: String,
}

/// The columns of a job that are written, first and at each change: its document, and beside it what lists show and filter by.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = jobs, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct JobValues {
    version: i64,
    updated: i64,
    vehicle: i64,
    board: i64,
    status: &'static str,
    stage: Option<String>,
    automatic: i64,
    due: Option<i64>,
    due_by: i64,
    outline: String,
    document: String,
}

impl JobValues {
    fn new(job: &Job) -> StoreResult<Self> {
        let content = &job.content;
        let outline = content.outline();
        let stage = outline.stage.as_ref();
        Ok(Self {
            version: job.version.number(),
            updated: job.updated.epoch_seconds(),
            vehicle: content.vehicle.get(),
            board: content.board,
            status: outline.status.name(),
            stage: stage.map(|name| name.chars().take(STAGE_CHARS).collect()),
            automatic: content.automatic.into(),
            due: content.due.map(first_second),
            due_by: content.due_by().map_or(NEVER, first_second),
            outline: serde_json::to_string(&outline).map_err(other)?,
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

fn first_second(day: Date) -> i64 {
    day.midnight().epoch_seconds()
}

impl TryFrom<JobRow> for Job {
    type Error = StoreError;

    fn try_from(row: JobRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("job {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: JobId::new(row.id),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

impl TryFrom<SummaryRow> for JobSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("the outline of job {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: JobId::new(row.id),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            outline: serde_json::from_str(&row.outline).map_err(unreadable)?,
        })
    }
}

/// Selects the jobs that pass `filter`.
fn selection(business: BusinessId, filter: &JobFilter) -> Selection {
    let JobFilter {
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
    } = filter;
    let mut list = Selection::all(JOBS, business);
    list.is("board", *board);
    list.is("status", status.map(JobStatus::name));
    list.is("stage", stage.as_deref());
    list.is("vehicle", vehicle.map(VehicleId::get));
    list.tagged("job_staff", "job", "staff", staff.map(StaffId::get));
    list.linked("job_suppliers", "job", "contact", supplier.map(ContactId::get));
    list.is("automatic", automatic.map(i64::from));
    if let Some(is_overdue) = overdue {
        list.forget_total();
        let today = first_second(*today);
        let (from, to) = if *is_overdue {
            (None, Some(today - 1))
        } else {
            (Some(today), None)
        };
        list.within("due_by", Some(Range { from, to }));
    }
    let seconds = |Range { from, to }: Range<Date>| Range {
        from: from.map(first_second),
        to: to.map(first_second),
    };
    list.within("due", due.map(seconds));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

#[async_trait]
impl<M: Mode> JobReader for Session<M> {
    async fn job(&mut self, business: BusinessId, id: JobId) -> StoreResult<Option<Job>> {
        let query = jobs::table.find((business.get(), id.get()));
        let row: Option<JobRow> = query
            .select(JobRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Job::try_from).transpose()
    }

    async fn jobs(
        &mut self,
        business: BusinessId,
        filter: &JobFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Job>> {
        let selection = selection(business, filter);
        let columns = JobRow::as_select();
        let page = list::page(self, &selection, request, columns, |row: &JobRow| row.id).await?;
        page.try_map(Job::try_from)
    }

    async fn job_summaries(
        &mut self,
        business: BusinessId,
        filter: &JobFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<JobSummary>> {
        let selection = selection(business, filter);
        let columns = SummaryRow::as_select();
        let page = list::page(self, &selection, request, columns, |row: &SummaryRow| row.id).await?;
        page.try_map(JobSummary::try_from)
    }

    async fn job_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Version>> {
        let query = vehicles::table
            .find((business.get(), id.get()))
            .filter(vehicles::deleted.eq(false));
        let version: Option<i64> = query.select(vehicles::version).get_optional(self.conn().await?).await?;
        Ok(version.map(Version::new))
    }

    async fn has_supplier(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        let contact = contacts::content::<M::KeyShare>(self.conn().await?, business, id).await?;
        Ok(contact.is_some())
    }
}

#[async_trait]
impl JobStore for Session<Write> {
    async fn lock_job_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Version>> {
        let query = vehicles::table
            .find((business.get(), id.get()))
            .filter(vehicles::deleted.eq(false));
        let version: Option<i64> = for_no_key_update(query.select(vehicles::version))
            .get_optional(self.conn().await?)
            .await?;
        Ok(version.map(Version::new))
    }

    async fn lock_job(&mut self, business: BusinessId, id: JobId) -> StoreResult<Option<Job>> {
        let query = jobs::table.find((business.get(), id.get()));
        let row: Option<JobRow> = for_no_key_update(query.select(JobRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Job::try_from).transpose()
    }

    async fn count_jobs(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32> {
        let count: i64 = jobs::table
            .filter(jobs::business_id.eq(business.get()))
            .filter(jobs::vehicle.eq(vehicle.get()))
            .count()
            .get_result(self.conn().await?)
            .await?;
        u32::try_from(count).map_err(other)
    }

    async fn open_job(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        board: i64,
        except: Option<JobId>,
    ) -> StoreResult<Option<JobId>> {
        let open: Option<i64> = jobs::table
            .filter(jobs::business_id.eq(business.get()))
            .filter(jobs::vehicle.eq(vehicle.get()))
            .filter(jobs::board.eq(board))
            .filter(jobs::status.eq(JobStatus::Open.name()))
            .filter(jobs::id.ne(except.map_or(0, JobId::get)))
            // Not the id alone: otherwise the planner might read all jobs in its order.
            .order((jobs::vehicle, jobs::id))
            .limit(1)
            .select(jobs::id)
            .get_optional(self.conn().await?)
            .await?;
        Ok(open.map(JobId::new))
    }

    async fn any_job(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<Job>> {
        let row: Option<JobRow> = jobs::table
            .filter(jobs::business_id.eq(business.get()))
            .filter(jobs::vehicle.eq(vehicle.get()))
            .order((jobs::vehicle, jobs::id))
            .limit(1)
            .select(JobRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Job::try_from).transpose()
    }

    async fn insert_job(&mut self, business: BusinessId, content: JobContent, at: Timestamp) -> StoreResult<Job> {
        self.counter(business, KIND).await?.write(1);
        let mut job = Job {
            id: JobId::new(0),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        let id = diesel::insert_into(jobs::table)
            .values((
                jobs::business_id.eq(business.get()),
                jobs::created.eq(at.epoch_seconds()),
                JobValues::new(&job)?,
            ))
            .returning(jobs::id)
            .get_result(self.conn().await?)
            .await?;
        job.id = JobId::new(id);
        self.link(business, &job).await?;
        Ok(job)
    }

    async fn save_job(&mut self, business: BusinessId, job: &Job) -> StoreResult<()> {
        self.counter(business, KIND).await?.write(0);
        diesel::update(jobs::table.find((business.get(), job.id.get())))
            .set(JobValues::new(job)?)
            .prepared()
            .execute(self.conn().await?)
            .await?;
        let staff = job_staff::table
            .filter(job_staff::business_id.eq(business.get()))
            .filter(job_staff::job.eq(job.id.get()));
        diesel::delete(staff).execute(self.conn().await?).await?;
        let suppliers = job_suppliers::table
            .filter(job_suppliers::business_id.eq(business.get()))
            .filter(job_suppliers::job.eq(job.id.get()));
        diesel::delete(suppliers).execute(self.conn().await?).await?;
        self.link(business, job).await
    }

    async fn delete_job(&mut self, business: BusinessId, id: JobId) -> StoreResult<()> {
        let gone = diesel::delete(jobs::table.find((business.get(), id.get())))
            .execute(self.conn().await?)
            .await?;
        if gone > 0 {
            self.counter(business, KIND).await?.write(-1);
        }
        Ok(())
    }
}

impl Session<Write> {
    /// Stores who sees to a job, for the filters of lists.
    async fn link(&mut self, business: BusinessId, job: &Job) -> StoreResult<()> {
        let (business, id) = (business.get(), job.id.get());
        let staff = job.content.all_staff().into_iter().map(|staff| {
            (
                job_staff::business_id.eq(business),
                job_staff::staff.eq(staff.get()),
                job_staff::job.eq(id),
            )
        });
        let staff: Vec<_> = staff.collect();
        let suppliers = job.content.suppliers().into_iter().map(|contact| {
            (
                job_suppliers::business_id.eq(business),
                job_suppliers::contact.eq(contact.get()),
                job_suppliers::job.eq(id),
            )
        });
        let suppliers: Vec<_> = suppliers.collect();
        dialect::insert_many!(self.conn().await?, job_staff::table, staff)?;
        dialect::insert_many!(self.conn().await?, job_suppliers::table, suppliers)?;
        Ok(())
    }
}
