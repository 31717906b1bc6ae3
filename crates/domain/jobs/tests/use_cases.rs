//! The rules of jobs, on the store in memory.
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_files::FileKind;
use forecourt_jobs::testing::{MemoryPurchase, MemoryStore, a_board, a_clock, a_file};
use forecourt_jobs::{self as jobs};
use forecourt_jobs::{
    AddJobDocument, ChangeJob, ChangeStage, Job, JobContent, JobDocumentId, JobError, JobStatus, LinkedPurchase,
    NewJob, NewJobChanges, NewStageChanges, PurchaseId, StageChanges, StageId,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{
    BusinessId, Clock as _, ContactId, JobId, LongText, Money, PageRequest, Person, PersonKeys, Precondition, Scope,
    ScopeSet, StaffId, Target, ValidationErrors, VehicleId,
};
use forecourt_reference::{JobBoard, StaffUser, StockType};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const VEHICLE: VehicleId = VehicleId::new(7);
const CONTACT: ContactId = ContactId::new(77);

struct Yard {
    store: MemoryStore,
    clock: FixedClock,
    by: Caller,
}

fn yard() -> Yard {
    let mut business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    let none = JobBoard {
        stages: Vec::new(),
        ..a_board(3)
    };
    let manual = JobBoard {
        apply: vec!["u".to_owned()],
        ..a_board(2)
    };
    business.catalogue.job_boards = vec![none, a_board(1), manual];
    business.catalogue.staff = vec![StaffUser {
        id: StaffId::new(4),
        name: "Sam Hill".to_owned(),
        role: Vec::new(),
        email: String::new(),
    }];
    let mut store = MemoryStore::default();
    store.jobs.add_vehicle(business.id, VEHICLE);
    store.jobs.add_contact(business.id, CONTACT);
    Yard {
        store,
        clock: a_clock(),
        by: Caller::of(business, ScopeSet::all()),
    }
}

fn new(board: i64) -> NewJob {
    NewJob {
        board,
        fields: ChangeJob::default(),
    }
}

impl Yard {
    async fn open(&mut self, board: i64) -> Result<Job, JobError> {
        jobs::create_job(&mut self.store, &self.clock, &self.by, VEHICLE, new(board)).await
    }

    async fn change(&mut self, job: &Job, stage: i64, change: Value) -> Result<Job, JobError> {
        let change = self.read(change, StageChanges::read).expect("it is valid");
        let stage = StageId::new(stage);
        jobs::change_stage(&mut self.store, &self.clock, &self.by, VEHICLE, job.id, stage, change).await
    }

    async fn add(&mut self, job: &Job, stage: Value) -> Result<Job, JobError> {
        let stage = self.read(stage, NewStageChanges::read).expect("it is valid");
        jobs::add_stage(&mut self.store, &self.clock, &self.by, VEHICLE, job.id, stage).await
    }

    fn read<B: DeserializeOwned, C>(
        &self,
        body: Value,
        read: impl FnOnce(B, &Rules<'_>) -> (C, ValidationErrors),
    ) -> Result<C, Vec<String>> {
        let rules = Rules {
            business: &self.by.business,
            now: self.clock.now(),
        };
        let (command, errors) = read(serde_json::from_value(body).expect("fields take any value"), &rules);
        let fields = errors.as_slice().iter().map(|fault| fault.field.clone());
        if errors.is_empty() {
            Ok(command)
        } else {
            Err(fields.collect())
        }
    }

    fn events(&mut self) -> Vec<(String, Value)> {
        let events = std::mem::take(&mut self.store.events).into_iter();
        events
            .map(|(_, event)| {
                let data = serde_json::from_str(&event.data).expect("it is JSON");
                (event.name.to_string(), data)
            })
            .collect()
    }
}

#[track_caller]
fn field_of(error: JobError) -> String {
    match error {
        JobError::Invalid(errors) => errors.as_slice()[0].field.clone(),
        other => panic!("{other}"),
    }
}

fn stages(job: &Job) -> Vec<&str> {
    job.content.stages.iter().map(|stage| stage.name.as_str()).collect()
}

#[tokio::test]
async fn a_board_is_copied() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let outline = job.summary().outline;
    assert_eq!((outline.progress.done, outline.progress.total), (0, 3));
    assert_eq!(
        (outline.status, outline.stage.as_deref()),
        (JobStatus::Open, Some("Mechanics"))
    );
    assert!(!outline.automatic);
    let [(name, data)] = &yard.events()[..] else {
        panic!("one event")
    };
    assert_eq!(name, "vehicle_job.created");
    let mut members: Vec<&str> = data.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members.pop(), Some("changed"));
    assert_eq!(data["changed"], json!(members));
    assert!(matches!(yard.open(1).await, Err(JobError::Duplicate(1))));
    assert_eq!(field_of(yard.open(9).await.unwrap_err()), "board");
    let empty = yard.open(3).await.unwrap();
    assert_eq!(empty.content.status(), JobStatus::Done);
    // What is done is no obstacle.
    yard.open(3).await.unwrap();
}

#[tokio::test]
async fn boards_are_applied_to_new_vehicles_of_their_type() {
    let mut yard = yard();
    let (business, at) = (yard.by.business.clone(), yard.clock.now());
    let store = &mut yard.store;
    jobs::apply_boards(store, &business, VEHICLE, StockType::InStock, at)
        .await
        .unwrap();
    jobs::apply_boards(store, &business, VEHICLE, StockType::Courtesy, at)
        .await
        .unwrap();
    let boards: Vec<_> = store
        .jobs
        .all()
        .map(|job| (job.content.board, job.content.automatic))
        .collect();
    assert_eq!(boards, [(3, true), (1, true)], "in the order of the file");
    assert_eq!(yard.events().len(), 2);
}

#[tokio::test]
async fn a_stage_is_done_by_its_tasks_or_its_status() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let job = yard
        .change(
            &job,
            1,
            json!({"tasks": [{"id": 1, "done": true}, {"id": 2, "done": true}]}),
        )
        .await
        .unwrap();
    let stage = &job.content.stages[0];
    assert_eq!((stage.status, stage.tasks[0].name.as_str()), (JobStatus::Done, "MOT"));
    assert_eq!(job.summary().outline.stage.as_deref(), Some("Photos"));
    // A task that was done keeps the time; the order is that of the list.
    yard.clock.advance(60);
    let change = json!({"tasks": [{"name": "Tyres"}, {"id": 2, "done": true, "name": "Full service"}, {"id": 1}]});
    let job = yard.change(&job, 1, change).await.unwrap();
    let tasks = &job.content.stages[0].tasks;
    let seen: Vec<_> = tasks.iter().map(|task| (task.id.get(), task.name.as_str())).collect();
    assert_eq!(seen, [(4, "Tyres"), (2, "Full service"), (1, "MOT")]);
    assert_eq!(tasks[1].done_at, Some(a_clock().now()));
    assert_eq!(tasks[0].done_at, None);
    assert_eq!(job.content.stages[0].status, JobStatus::Open);
    let job = yard.change(&job, 1, json!({"status": "done"})).await.unwrap();
    assert!(job.content.stages[0].tasks.iter().all(|task| task.done_at.is_some()));
    let job = yard.change(&job, 2, json!({"status": "done"})).await.unwrap();
    assert_eq!(job.content.status(), JobStatus::Done);
    let job = yard.change(&job, 1, json!({"status": "open"})).await.unwrap();
    assert!(job.content.stages[0].tasks.iter().all(|task| task.done_at.is_none()));
    // One without tasks has its status alone.
    let job = yard
        .change(&job, 1, json!({"tasks": [], "status": "done"}))
        .await
        .unwrap();
    assert_eq!(job.content.status(), JobStatus::Done);
    let last = yard.events().pop().unwrap();
    assert_eq!(last.0, "vehicle_job.updated");
    assert_eq!(
        last.1["changed"],
        json!(["status", "progress", "stage", "version", "stages"])
    );
    let before = job.version;
    let same = yard.change(&job, 1, json!({"status": "done"})).await.unwrap();
    assert_eq!((same.version, yard.events().len()), (before, 0), "nothing changed");
    let error = yard
        .change(&job, 2, json!({"tasks": [{"id": 3}, {"id": 1}]}))
        .await
        .unwrap_err();
    assert_eq!(field_of(error), "tasks.1.id");
}

#[tokio::test]
async fn a_job_is_not_reopened_beside_another() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    for stage in [1, 2] {
        yard.change(&job, stage, json!({"status": "done"})).await.unwrap();
    }
    let other = yard.open(1).await.unwrap();
    let error = yard.change(&job, 1, json!({"status": "open"})).await.unwrap_err();
    assert!(matches!(error, JobError::Duplicate(1)));
    assert!(matches!(
        yard.add(&job, json!({"name": "Valet"})).await,
        Err(JobError::Duplicate(1))
    ));
    jobs::delete_job(&mut yard.store, &yard.clock, &yard.by, VEHICLE, other.id)
        .await
        .unwrap();
    yard.change(&job, 1, json!({"status": "open"})).await.unwrap();
}

#[tokio::test]
async fn stages_are_added_moved_and_removed() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let job = yard
        .add(
            &job,
            json!({"name": "Body", "position": 1, "tasks": [{"name": "Dent", "done": true}]}),
        )
        .await
        .unwrap();
    assert_eq!(stages(&job), ["Body", "Mechanics", "Photos"]);
    assert_eq!(job.content.stages[0].status, JobStatus::Done);
    let job = yard
        .add(&job, json!({"name": "Valet", "supplier": 77, "due": "2026-10-01"}))
        .await
        .unwrap();
    let job = yard
        .add(&job, json!({"name": "Handover", "position": 99}))
        .await
        .unwrap();
    assert_eq!(stages(&job), ["Body", "Mechanics", "Photos", "Valet", "Handover"]);
    let job = yard.change(&job, 3, json!({"position": 3})).await.unwrap();
    assert_eq!(stages(&job), ["Mechanics", "Photos", "Body", "Valet", "Handover"]);
    let (by, clock) = (yard.by.clone(), yard.clock.clone());
    let gone = StageId::new(1);
    let job = jobs::delete_stage(&mut yard.store, &clock, &by, VEHICLE, job.id, gone)
        .await
        .unwrap();
    assert_eq!(stages(&job), ["Photos", "Body", "Valet", "Handover"]);
    assert_eq!(job.content.suppliers(), [CONTACT]);
    let error = yard.change(&job, 1, json!({"notes": "x"})).await.unwrap_err();
    assert!(matches!(error, JobError::StageNotFound(_)));
    let unknown = ChangeStage {
        supplier: Some(Some(ContactId::new(5))),
        ..ChangeStage::default()
    };
    let error = jobs::add_stage(&mut yard.store, &clock, &by, VEHICLE, job.id, unknown)
        .await
        .unwrap_err();
    assert_eq!(field_of(error), "supplier");
    for number in 4..50 {
        yard.add(&job, json!({"name": format!("Stage {number}")}))
            .await
            .unwrap();
    }
    assert_eq!(
        field_of(yard.add(&job, json!({"name": "More"})).await.unwrap_err()),
        "stages"
    );
}

#[tokio::test]
async fn a_vehicle_has_at_most_fifty_jobs() {
    let mut yard = yard();
    for _ in 0..50 {
        yard.open(3).await.unwrap();
    }
    assert_eq!(field_of(yard.open(3).await.unwrap_err()), "jobs");
}

#[tokio::test]
async fn what_does_not_exist_comes_before_its_version() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let (by, clock) = (yard.by.clone(), yard.clock.clone());
    let at = |id| Target {
        id,
        precondition: Precondition::one_of(vec![9]),
    };
    let store = &mut yard.store;
    let change = ChangeJob::default();
    let other = VehicleId::new(8);
    let error = jobs::change_job(store, &clock, &by, other, at(job.id), change.clone())
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::VehicleNotFound(_)));
    let error = jobs::change_job(store, &clock, &by, VEHICLE, at(JobId::new(99)), change.clone())
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::NotFound(_)));
    let error = jobs::change_job(store, &clock, &by, VEHICLE, at(job.id), change)
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::VersionMismatch(_)));
    let none = JobDocumentId::new(4);
    let error = jobs::delete_document(store, &clock, &by, VEHICLE, at(job.id), none)
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::DocumentNotFound(_)));
    let error = jobs::unlink_purchase(store, &clock, &by, VEHICLE, at(job.id), PurchaseId::new(4))
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::PurchaseNotFound(_)));
    let vehicle = Target {
        id: VEHICLE,
        precondition: Precondition::one_of(vec![9]),
    };
    let error = jobs::create_job(store, &clock, &by, vehicle, new(3)).await.unwrap_err();
    assert!(matches!(error, JobError::VersionMismatch(_)), "of the vehicle");
    yard.store.jobs.add_vehicle(by.business_id(), other);
    let error = jobs::read_job(&mut yard.store, &by, other, job.id).await.unwrap_err();
    assert!(matches!(error, JobError::NotFound(_)), "it is on another vehicle");
}

#[tokio::test]
async fn documents_belong_to_their_job() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let (by, clock) = (yard.by.clone(), yard.clock.clone());
    let add = |byte| AddJobDocument {
        filename: Some("/scans/report".to_owned()),
        description: LongText::default(),
        public: false,
        file: a_file(byte, FileKind::Pdf),
    };
    let store = &mut yard.store;
    let (job, document) = jobs::add_document(store, &clock, &by, VEHICLE, job.id, add(0))
        .await
        .unwrap();
    assert_eq!((document.name.as_str(), job.version.number()), ("report.pdf", 2));
    for byte in 1..100 {
        jobs::add_document(store, &clock, &by, VEHICLE, job.id, add(byte))
            .await
            .unwrap();
    }
    let error = jobs::add_document(store, &clock, &by, VEHICLE, job.id, add(100))
        .await
        .unwrap_err();
    assert_eq!(field_of(error), "documents");
    let page = jobs::list_documents(store, &by, VEHICLE, job.id, &PageRequest::first())
        .await
        .unwrap();
    assert_eq!(
        (page.items[0].id.get(), page.total, page.next.is_some()),
        (100, Some(100), true)
    );
    let files = jobs::delete_document(store, &clock, &by, VEHICLE, job.id, document.id)
        .await
        .unwrap();
    assert_eq!(files, [a_file(0, FileKind::Pdf).name]);
    let error = jobs::read_document(store, &by, VEHICLE, job.id, document.id)
        .await
        .unwrap_err();
    assert!(matches!(error, JobError::DocumentNotFound(_)));
    let public = AddJobDocument {
        public: true,
        ..add(101)
    };
    let error = jobs::add_document(store, &clock, &by, VEHICLE, job.id, public)
        .await
        .unwrap_err();
    assert_eq!(field_of(error), "description");
    // Whatever remains goes with the vehicle, without events.
    yard.events();
    let at = clock.now();
    let files = jobs::remove_jobs(&mut yard.store, by.business_id(), VEHICLE, at)
        .await
        .unwrap();
    assert_eq!(
        (files.len(), yard.events().len(), yard.store.jobs.all().count()),
        (99, 0, 0)
    );
}

#[tokio::test]
async fn a_purchase_is_linked_and_shows_its_net_with_its_scope_alone() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let (by, clock) = (yard.by.clone(), yard.clock.clone());
    let id = PurchaseId::new(91);
    let error = jobs::link_purchase(&mut yard.store, &clock, &by, VEHICLE, job.id, id)
        .await
        .unwrap_err();
    assert_eq!(field_of(error), "purchase");
    let linked = LinkedPurchase {
        id,
        number: None,
        category: "Parts".to_owned(),
        net: Money::from_minor(12_000),
    };
    let purchase = MemoryPurchase {
        lines: [(VEHICLE, linked.clone())].into(),
        job: None,
    };
    yard.store.jobs.purchases.insert((by.business_id(), id), purchase);
    let job = jobs::link_purchase(&mut yard.store, &clock, &by, VEHICLE, job.id, id)
        .await
        .unwrap();
    let again = jobs::link_purchase(&mut yard.store, &clock, &by, VEHICLE, job.id, id)
        .await
        .unwrap();
    assert_eq!(again, job);
    let key = (by.business_id(), id);
    assert_eq!(yard.store.jobs.purchases[&key].job, Some((VEHICLE, job.id)));
    let mut shown = yard.events().pop().unwrap().1;
    assert_eq!(
        shown["purchases"],
        json!([{"id": 91, "number": null, "category": "Parts", "net": "120.00"}])
    );
    jobs::project(&mut shown, ScopeSet::all().without(Scope::PurchasesRead));
    assert_eq!(
        shown["purchases"],
        json!([{"id": 91, "number": null, "category": "Parts"}])
    );
    let issued = LinkedPurchase {
        number: Some("PUR-7".to_owned()),
        ..linked
    };
    let place = (VEHICLE, job.id);
    jobs::refresh_purchase(&mut yard.store, clock.now(), by.business_id(), place, issued)
        .await
        .unwrap();
    assert_eq!(yard.events().pop().unwrap().1["purchases"][0]["number"], "PUR-7");
    let job = jobs::unlink_purchase(&mut yard.store, &clock, &by, VEHICLE, job.id, id)
        .await
        .unwrap();
    assert_eq!(
        (job.content.purchases.len(), yard.store.jobs.purchases[&key].job),
        (0, None)
    );
}

#[test]
fn every_fault_of_a_body_is_named() {
    let yard = yard();
    let job = |body| yard.read(body, NewJobChanges::read).err().unwrap_or_default();
    assert_eq!(job(json!({})), ["board"]);
    assert_eq!(
        job(json!({"board": 9, "due": "1884-12-31", "staff": 5, "notes": 1})),
        ["board", "due", "staff", "notes"]
    );
    assert_eq!(job(json!({"board": 1, "due": "2036-09-22"})), ["due"]);
    assert!(job(json!({"board": 1, "due": "2036-09-21", "staff": 4, "notes": null})).is_empty());
    let stage = |body| yard.read(body, NewStageChanges::read).err().unwrap_or_default();
    assert_eq!(
        stage(json!({"name": " ", "position": 0, "tasks": [{"done": 1}]})),
        ["tasks.0.name", "tasks.0.done", "name", "position"]
    );
    let many = vec![json!({"name": "x"}); 201];
    assert_eq!(stage(json!({"name": "x", "tasks": many})), ["tasks"]);
    let change = |body| yard.read(body, StageChanges::read).err().unwrap_or_default();
    assert_eq!(change(json!({"name": null, "status": "closed"})), ["name", "status"]);
    assert_eq!(
        change(json!({"tasks": [{"id": 1}, {"id": 1}, {}, {"id": 2, "name": ""}]})),
        ["tasks.1.id", "tasks.2.name", "tasks.3.name"]
    );
    assert!(change(json!({"tasks": null, "position": null, "status": null})).is_empty());
}

#[tokio::test]
async fn an_erased_supplier_is_forgotten() {
    let mut yard = yard();
    let job = yard.open(1).await.unwrap();
    let change = json!({"supplier": 77, "notes": "Ask Zoe Walker", "tasks": [{"name": "Ring Zoe Walker"}]});
    let job = yard.change(&job, 1, change).await.unwrap();
    let mut keys = PersonKeys::new(CONTACT);
    keys.add_name("Zoe Walker");
    let person = Person::new(&keys).unwrap();
    let mut shown = yard.events().pop().unwrap().1;
    let (business, now) = (yard.by.business_id(), yard.clock.now());
    jobs::forget_person_in_job(&mut yard.store, now, business, job.clone(), &person)
        .await
        .unwrap();
    let after = yard.events().pop().unwrap().1;
    assert_eq!(after["stages"][0]["supplier"], Value::Null);
    assert_eq!(
        (&after["stages"][0]["notes"], &after["changed"]),
        (&json!("Ask …"), &json!(["version", "stages"]))
    );
    assert!(jobs::forget_person_in_event(&mut shown, &person));
    assert_eq!(shown["stages"], after["stages"]);
    assert!(!jobs::forget_person_in_event(&mut shown, &person));
    let content: &JobContent = &yard.store.jobs.all().next().unwrap().content;
    assert_eq!(content.stages[0].tasks[0].name, "Ring …");
}
