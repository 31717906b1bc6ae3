//! A store in memory, and the contract suite for stores of jobs.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use forecourt_files::testing::{HoldsFiles, MemoryFileRegister};
use forecourt_files::{FileKind, FileName, StoredFile};
use forecourt_kernel::testing::{FixedClock, HoldsEvents, MemoryEvents, assert_pages, page_of};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, JobId, Line, LongText, Money, Page, PageRequest, Random, Range, StaffId,
    StoreResult, Timestamp, VehicleId, Version,
};
use forecourt_reference::{JobBoard, JobStage};

use crate::{
    Job, JobContent, JobDocument, JobDocumentId, JobFilter, JobPurchases, JobReader, JobStatus, JobStore, JobSummary,
    LinkedPurchase, PurchaseId,
};

/// A purchase in memory: its lines for vehicles, and the job that it is linked to.
#[derive(Clone, Debug)]
pub struct MemoryPurchase {
    /// The costs for each vehicle.
    pub lines: BTreeMap<VehicleId, LinkedPurchase>,
    /// The job that it is linked to.
    pub job: Option<(VehicleId, JobId)>,
}

/// Jobs in memory, with what they know of other records.
#[derive(Clone, Debug, Default)]
pub struct MemoryJobs {
    jobs: BTreeMap<JobId, (BusinessId, Job)>,
    last: i64,
    vehicles: BTreeMap<(BusinessId, VehicleId), Version>,
    contacts: BTreeSet<(BusinessId, ContactId)>,
    /// The purchases of all businesses.
    pub purchases: BTreeMap<(BusinessId, PurchaseId), MemoryPurchase>,
}

impl MemoryJobs {
    /// The jobs of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values().map(|(_, job)| job)
    }

    /// Makes a vehicle known.
    pub fn add_vehicle(&mut self, business: BusinessId, vehicle: VehicleId) {
        self.set_vehicle(business, vehicle, Some(Version::FIRST));
    }

    /// Follows a change of a vehicle: `None` if it is deleted.
    pub fn set_vehicle(&mut self, business: BusinessId, vehicle: VehicleId, version: Option<Version>) {
        match version {
            Some(version) => self.vehicles.insert((business, vehicle), version),
            None => self.vehicles.remove(&(business, vehicle)),
        };
    }

    /// Makes a contact known.
    pub fn add_contact(&mut self, business: BusinessId, contact: ContactId) {
        self.contacts.insert((business, contact));
    }

    fn of(&self, business: BusinessId) -> impl DoubleEndedIterator<Item = &Job> {
        let own = self.jobs.values().filter(move |(owner, _)| *owner == business);
        own.map(|(_, job)| job)
    }
}

/// A type that keeps jobs in memory, perhaps with other records, and so implements [`JobStore`].
pub trait HoldsJobs: Send {
    /// The jobs.
    fn held_jobs(&mut self) -> &mut MemoryJobs;
}

/// Jobs in memory, with the records of files and the events.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    /// The jobs.
    pub jobs: MemoryJobs,
    /// The records of files.
    pub files: MemoryFileRegister,
    /// The recorded events.
    pub events: MemoryEvents,
}

impl HoldsJobs for MemoryStore {
    fn held_jobs(&mut self) -> &mut MemoryJobs {
        &mut self.jobs
    }
}

impl HoldsFiles for MemoryStore {
    fn held_files(&mut self) -> &mut MemoryFileRegister {
        &mut self.files
    }
}

impl HoldsEvents for MemoryStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

#[async_trait]
impl<S: HoldsJobs> JobReader for S {
    async fn job(&mut self, business: BusinessId, id: JobId) -> StoreResult<Option<Job>> {
        let stored = self.held_jobs().jobs.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, job)| job.clone()))
    }

    async fn jobs(&mut self, business: BusinessId, filter: &JobFilter, page: &PageRequest) -> StoreResult<Page<Job>> {
        let newest_first = self.held_jobs().of(business).rev();
        Ok(page_of(newest_first.filter(|job| filter.matches(job)), page, |job| {
            job.id.get()
        }))
    }

    async fn job_summaries(
        &mut self,
        business: BusinessId,
        filter: &JobFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<JobSummary>> {
        let Page { items, next, total } = self.jobs(business, filter, page).await?;
        let items = items.iter().map(Job::summary).collect();
        Ok(Page { items, next, total })
    }

    async fn job_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Version>> {
        Ok(self.held_jobs().vehicles.get(&(business, id)).copied())
    }

    async fn has_supplier(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool> {
        Ok(self.held_jobs().contacts.contains(&(business, id)))
    }
}

#[async_trait]
impl<S: HoldsJobs> JobPurchases for S {
    async fn purchase_lines(
        &mut self,
        business: BusinessId,
        purchase: PurchaseId,
        vehicle: VehicleId,
    ) -> StoreResult<Option<LinkedPurchase>> {
        let purchase = self.held_jobs().purchases.get(&(business, purchase));
        Ok(purchase.and_then(|purchase| purchase.lines.get(&vehicle).cloned()))
    }

    async fn set_purchase_job(
        &mut self,
        business: BusinessId,
        purchase: PurchaseId,
        job: Option<(VehicleId, JobId)>,
        _: Timestamp,
    ) -> StoreResult<()> {
        if let Some(purchase) = self.held_jobs().purchases.get_mut(&(business, purchase)) {
            purchase.job = job;
        }
        Ok(())
    }
}

#[async_trait]
impl<S: HoldsJobs + HoldsFiles + EventLog> JobStore for S {
    async fn lock_job_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Version>> {
        self.job_vehicle(business, id).await
    }

    async fn lock_job(&mut self, business: BusinessId, id: JobId) -> StoreResult<Option<Job>> {
        self.job(business, id).await
    }

    async fn count_jobs(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32> {
        let own = self.held_jobs().of(business);
        let count = own.filter(|job| job.content.vehicle == vehicle).count();
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    async fn open_job(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        board: i64,
        except: Option<JobId>,
    ) -> StoreResult<Option<JobId>> {
        let mut others = self.held_jobs().of(business).filter(|job| Some(job.id) != except);
        let open = others.find(|job| {
            let content = &job.content;
            (content.vehicle, content.board, content.status()) == (vehicle, board, JobStatus::Open)
        });
        Ok(open.map(|job| job.id))
    }

    async fn any_job(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<Job>> {
        let mut own = self.held_jobs().of(business);
        Ok(own.find(|job| job.content.vehicle == vehicle).cloned())
    }

    async fn insert_job(&mut self, business: BusinessId, content: JobContent, at: Timestamp) -> StoreResult<Job> {
        let held = self.held_jobs();
        held.last += 1;
        let job = Job {
            id: JobId::new(held.last),
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        held.jobs.insert(job.id, (business, job.clone()));
        Ok(job)
    }

    async fn save_job(&mut self, business: BusinessId, job: &Job) -> StoreResult<()> {
        self.held_jobs().jobs.insert(job.id, (business, job.clone()));
        Ok(())
    }

    async fn delete_job(&mut self, business: BusinessId, id: JobId) -> StoreResult<()> {
        let jobs = &mut self.held_jobs().jobs;
        if jobs.get(&id).is_some_and(|(owner, _)| *owner == business) {
            jobs.remove(&id);
        }
        Ok(())
    }
}

const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

/// A clock that stands at the time of the samples.
pub fn a_clock() -> FixedClock {
    FixedClock::at(NOW)
}

/// A board of two stages with three tasks, that applies to vehicles in stock.
pub fn a_board(id: i64) -> JobBoard {
    let stage = |name: &str, tasks: &[&str]| JobStage {
        name: name.to_owned(),
        tasks: tasks.iter().map(|&task| task.to_owned()).collect(),
    };
    JobBoard {
        id,
        tag: format!("board-{id}"),
        name: format!("Preparation {id}"),
        description: "Before sale".to_owned(),
        apply: vec!["s".to_owned()],
        stages: vec![stage("Mechanics", &["MOT", "Service"]), stage("Photos", &["Take 20"])],
    }
}

/// A file of the kind; its name is made of the byte.
pub fn a_file(byte: u8, kind: FileKind) -> StoredFile {
    struct Same(u8);
    impl Random for Same {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }
    StoredFile {
        name: FileName::random(&Same(byte), kind),
        kind,
        size: 1_234_567,
        sha256: format!("{byte:02x}").repeat(32),
        stored: NOW,
        public: false,
    }
}

/// A job with a value in every field.
pub fn a_job(vehicle: VehicleId, contact: ContactId) -> JobContent {
    let mut job = JobContent::by_board(&a_board(7), vehicle);
    job.automatic = true;
    job.due = day("2026-10-01");
    job.staff = Some(StaffId::new(2));
    job.notes = text("Second key is at the \"workshop\".\n\u{1f697}");
    let stage = &mut job.stages[0];
    stage.staff = Some(StaffId::new(4));
    stage.supplier = Some(contact);
    stage.due = day("2026-09-24");
    stage.notes = text("Tyres too");
    stage.tasks[0].done_at = Some(NOW);
    job.documents.push(JobDocument {
        id: JobDocumentId::new(1),
        name: Line::new("Inspection.pdf").expect("it is short"),
        description: text("Before the service"),
        public: true,
        uploaded: NOW,
        file: a_file(1, FileKind::Pdf),
    });
    job.last_document = 1;
    job.purchases.push(LinkedPurchase {
        id: PurchaseId::new(91),
        number: Some("PUR-91".to_owned()),
        category: "Parts".to_owned(),
        net: Money::from_minor(12_050),
    });
    job
}

fn day(text: &str) -> Option<Date> {
    text.parse().ok()
}

fn text(text: &str) -> LongText {
    LongText::new(text).expect("it is short")
}

/// Tests that `store` meets the contract of a store of jobs. The two businesses must have no jobs; `vehicle` and `contact` are records
/// of `ours`.
///
/// # Panics
/// If the store violates the contract.
pub async fn job_store_contract(
    store: &mut dyn JobStore,
    (ours, theirs): (BusinessId, BusinessId),
    vehicle: VehicleId,
    contact: ContactId,
) {
    knows_other_records(store, (ours, theirs), vehicle, contact).await;
    keeps_every_field(store, (ours, theirs), vehicle, contact).await;
    finds_the_jobs_of_a_vehicle(store, (ours, theirs)).await;
    lists_what_passes(store, (ours, theirs)).await;
}

async fn knows_other_records(
    store: &mut dyn JobStore,
    (ours, theirs): (BusinessId, BusinessId),
    vehicle: VehicleId,
    contact: ContactId,
) {
    let version = store.job_vehicle(ours, vehicle).await.expect("it is read");
    assert_eq!(version.map(Version::number), Some(1));
    let locked = store.lock_job_vehicle(ours, vehicle).await.expect("it is locked");
    assert_eq!(locked.map(Version::number), Some(1));
    assert!(store.has_supplier(ours, contact).await.expect("it is read"));
    let nothing = VehicleId::new(987_654_321);
    for (business, vehicle) in [(theirs, vehicle), (ours, nothing)] {
        assert_eq!(store.job_vehicle(business, vehicle).await.expect("it is read"), None);
        assert_eq!(
            store.lock_job_vehicle(business, vehicle).await.expect("it is read"),
            None
        );
    }
    for (business, contact) in [(theirs, contact), (ours, ContactId::new(987_654_321))] {
        assert!(!store.has_supplier(business, contact).await.expect("it is read"));
    }
    let unknown = store.purchase_lines(ours, PurchaseId::new(987_654_321), vehicle).await;
    assert_eq!(unknown.expect("it is read"), None);
}

async fn keeps_every_field(
    store: &mut dyn JobStore,
    (ours, theirs): (BusinessId, BusinessId),
    vehicle: VehicleId,
    contact: ContactId,
) {
    let content = a_job(vehicle, contact);
    let job = store
        .insert_job(ours, content.clone(), NOW)
        .await
        .expect("it is stored");
    let expected = Job {
        id: job.id,
        version: Version::FIRST,
        created: NOW,
        updated: NOW,
        content,
    };
    assert_eq!(job, expected);
    assert_eq!(
        store.job(ours, job.id).await.expect("it is read"),
        Some(expected.clone())
    );
    assert_eq!(store.lock_job(ours, job.id).await.expect("it is read"), Some(expected));
    for nothing in [store.job(theirs, job.id).await, store.lock_job(theirs, job.id).await] {
        assert_eq!(nothing.expect("there is none"), None, "businesses are apart");
    }
    let changed = Job {
        version: job.version.next(),
        updated: NOW.plus_seconds(9),
        content: JobContent::by_board(&a_board(8), vehicle),
        ..job
    };
    store.save_job(ours, &changed).await.expect("it is saved");
    assert_eq!(
        store.job(ours, changed.id).await.expect("it is read"),
        Some(changed.clone())
    );
    for filter in [
        JobFilter {
            staff: Some(StaffId::new(2)),
            ..JobFilter::all(NOW.date())
        },
        JobFilter {
            supplier: Some(contact),
            ..JobFilter::all(NOW.date())
        },
    ] {
        let page = store
            .jobs(ours, &filter, &PageRequest::first())
            .await
            .expect("it is read");
        assert_eq!(page.items, [], "those of before are gone: {filter:?}");
    }
    store.delete_job(theirs, changed.id).await.expect("nothing is deleted");
    assert!(store.job(ours, changed.id).await.expect("it is read").is_some());
    store.delete_job(ours, changed.id).await.expect("it is deleted");
    assert_eq!(store.job(ours, changed.id).await.expect("it is gone"), None);
}

async fn finds_the_jobs_of_a_vehicle(store: &mut dyn JobStore, (ours, theirs): (BusinessId, BusinessId)) {
    let (one, other) = (VehicleId::new(901), VehicleId::new(902));
    let by_board = |board, vehicle| JobContent::by_board(&a_board(board), vehicle);
    let open = store
        .insert_job(ours, by_board(1, one), NOW)
        .await
        .expect("it is stored");
    let mut content = by_board(2, one);
    content.stages.clear();
    let done = store.insert_job(ours, content, NOW).await.expect("it is stored");
    store
        .insert_job(theirs, by_board(1, other), NOW)
        .await
        .expect("it is stored");

    for (business, vehicle, count) in [(ours, one, 2), (ours, other, 0), (theirs, one, 0), (theirs, other, 1)] {
        let counted = store.count_jobs(business, vehicle).await.expect("they are counted");
        assert_eq!(counted, count, "{vehicle}");
        let any = store.any_job(business, vehicle).await.expect("it is read");
        assert_eq!(any.is_some(), count > 0, "{vehicle}");
    }
    for (vehicle, board, except, found) in [
        (one, 1, None, Some(open.id)),
        (one, 1, Some(done.id), Some(open.id)),
        (one, 1, Some(open.id), None),
        (one, 2, None, None),
        (other, 1, None, None),
    ] {
        let job = store.open_job(ours, vehicle, board, except).await.expect("it is read");
        assert_eq!(job, found, "board {board}");
    }
    for job in [open, done] {
        store.delete_job(ours, job.id).await.expect("it is deleted");
    }
    assert_eq!(store.any_job(ours, one).await.expect("it is read"), None);
    let left = store
        .any_job(theirs, other)
        .await
        .expect("it is read")
        .expect("it is theirs");
    store.delete_job(theirs, left.id).await.expect("it is deleted");
}

/// Returns six jobs that differ in every value that lists filter by.
fn different_jobs() -> Vec<JobContent> {
    let (vehicle, other) = (VehicleId::new(903), VehicleId::new(904));
    let job = |board, vehicle| JobContent::by_board(&a_board(board), vehicle);
    let mut with_staff = job(1, vehicle);
    with_staff.staff = Some(StaffId::new(2));
    with_staff.stages[1].staff = Some(StaffId::new(4));
    with_staff.due = day("2026-09-20");
    let mut begun = job(2, vehicle);
    begun.stages[0].set_status(JobStatus::Done, NOW);
    begun.stages[0].supplier = Some(ContactId::new(77));
    begun.stages[0].due = day("2026-01-01");
    let mut late = job(3, vehicle);
    late.stages[1].due = day("2026-09-19");
    late.stages[1].supplier = Some(ContactId::new(78));
    late.due = day("2026-12-24");
    let mut done = job(1, other);
    done.due = day("2026-01-31");
    for stage in &mut done.stages {
        stage.set_status(JobStatus::Done, NOW);
        stage.staff = Some(StaffId::new(2));
    }
    let mut automatic = job(1, other);
    automatic.automatic = true;
    automatic.due = day("2026-09-21");
    vec![with_staff, begun, late, done, automatic, job(4, other)]
}

async fn lists_what_passes(store: &mut dyn JobStore, (ours, theirs): (BusinessId, BusinessId)) {
    let mut stored = Vec::new();
    for (number, content) in (0..).zip(different_jobs()) {
        let at = NOW.plus_seconds(number);
        stored.push(store.insert_job(ours, content, at).await.expect("it is stored"));
    }
    let foreign = JobContent::by_board(&a_board(1), VehicleId::new(903));
    store.insert_job(theirs, foreign, NOW).await.expect("it is stored");

    // 2026-09-21 in UTC.
    let all = JobFilter::all(NOW.date());
    let lately = Some(Range {
        from: Some(NOW.plus_seconds(2)),
        to: Some(NOW.plus_seconds(3)),
    });
    let days = |from, to| {
        Some(Range {
            from: day(from),
            to: day(to),
        })
    };
    macro_rules! by {
        ($($field:ident: $value:expr),*) => {
            JobFilter { $($field: Some($value),)* ..all.clone() }
        };
    }
    let cases = [
        (all.clone(), vec![5, 4, 3, 2, 1, 0]),
        (by!(board: 1), vec![4, 3, 0]),
        (by!(status: JobStatus::Done), vec![3]),
        (by!(status: JobStatus::Open, board: 1), vec![4, 0]),
        (by!(stage: "Photos".to_owned()), vec![1]),
        (by!(stage: "Mechanics".to_owned()), vec![5, 4, 2, 0]),
        (by!(stage: "mechanics".to_owned()), vec![]),
        (by!(vehicle: VehicleId::new(903)), vec![2, 1, 0]),
        (by!(staff: StaffId::new(2)), vec![3, 0]),
        (by!(staff: StaffId::new(4)), vec![0]),
        (by!(supplier: ContactId::new(77)), vec![1]),
        (by!(supplier: ContactId::new(78), staff: StaffId::new(2)), vec![]),
        (by!(automatic: true), vec![4]),
        (by!(automatic: false, vehicle: VehicleId::new(904)), vec![5, 3]),
        (by!(overdue: true), vec![2, 0]),
        (by!(overdue: false), vec![5, 4, 3, 1]),
        (
            JobFilter {
                due: days("2026-09-20", "2026-09-21"),
                ..all.clone()
            },
            vec![4, 0],
        ),
        (
            JobFilter {
                due: days("2026-09-21", ""),
                ..all.clone()
            },
            vec![4, 2],
        ),
        (
            JobFilter {
                created: lately,
                ..all.clone()
            },
            vec![3, 2],
        ),
        (
            JobFilter {
                updated: lately,
                ..all.clone()
            },
            vec![3, 2],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<Job> = expected
            .into_iter()
            .map(|number: usize| stored[number].clone())
            .collect();
        let passing: Vec<usize> = (0..stored.len()).filter(|at| filter.matches(&stored[*at])).collect();
        assert_eq!(passing.len(), expected.len(), "{filter:?}");
        assert_pages(
            &expected,
            |job| job.id.get(),
            async |request| {
                let page = store.jobs(ours, &filter, &request).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
        let summaries: Vec<JobSummary> = expected.iter().map(Job::summary).collect();
        assert_pages(
            &summaries,
            |job| job.id.get(),
            async |request| {
                let page = store.job_summaries(ours, &filter, &request).await;
                page.unwrap_or_else(|failure| panic!("{filter:?}: {failure}"))
            },
        )
        .await;
    }
}
