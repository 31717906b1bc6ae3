//! Jobs: what is to be done on a vehicle, by the plan of a board.
//!
//! [`Job`] is the record: a copy of a board's stages with their tasks, and the documents and purchases that belong to it. The use
//! cases are the functions of this crate ([`create_job`], [`change_stage`] …), each over the ports [`JobReader`] and [`JobStore`].
//! [`FullJob`] and [`SimpleJob`] are the representations in the API and webhooks. The rules are those of areas §10.11.
//!
//! The crate knows neither vehicles nor purchases. The transaction that creates a vehicle calls [`apply_boards`], and the
//! one that deletes it [`remove_jobs`]; what a purchase costs comes through [`JobPurchases`].
//!
//! With the feature `testing` the crate has a store in memory:
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_jobs::{ChangeJob, ChangeStage, JobStatus, NewJob, StageId, change_stage, create_job, testing};
//! use forecourt_kernel::{BusinessId, ScopeSet, VehicleId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
//! business.catalogue.job_boards = vec![testing::a_board(1)];
//! let by = Caller::of(business, ScopeSet::all());
//! let (mut store, clock) = (testing::MemoryStore::default(), testing::a_clock());
//! let vehicle = VehicleId::new(7);
//! store.jobs.add_vehicle(by.business_id(), vehicle);
//!
//! let new = NewJob { board: 1, fields: ChangeJob::default() };
//! let job = create_job(&mut store, &clock, &by, vehicle, new).await?;
//! let done = ChangeStage { status: Some(JobStatus::Done), ..ChangeStage::default() };
//! let job = change_stage(&mut store, &clock, &by, vehicle, job.id, StageId::new(1), done).await?;
//! assert_eq!(job.summary().outline.progress.done, 2);
//! assert_eq!(store.events[1].1.name.as_str(), "vehicle_job.updated");
//! # Ok(())
//! # }
//! ```
//!
//! and the contract suite for every store, `testing::job_store_contract`.

mod changes;
mod error;
mod forget;
mod job;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use changes::{
    AddJobDocument, ChangeJob, ChangeStage, ChangeTask, JobChanges, NewJob, NewJobChanges, NewStageChanges,
    NewTaskChanges, PurchaseChanges, ReadCommand, StageChanges, StagePosition, TaskChanges, validate_document,
};
pub use error::JobError;
pub use forecourt_kernel::JobId;
pub use forget::{forget_person_in_event, forget_person_in_job};
pub use job::{
    Job, JobContent, JobDocument, JobDocumentId, JobOutline, JobStatus, JobSummary, LinkedPurchase, Progress,
    PurchaseId, Stage, StageId, Task, TaskId, UnknownJobStatus,
};
pub use service::{
    add_document, add_stage, apply_boards, change_job, change_stage, check_vehicle, create_job, delete_document,
    delete_job, delete_stage, link_purchase, list_documents, list_jobs, read_document, read_job, refresh_purchase,
    remove_jobs, summarize_jobs, unlink_purchase, validate_supplier,
};
pub use store::{JobFilter, JobPurchases, JobReader, JobStore};
#[cfg(feature = "openapi")]
pub use view::example_job;
pub use view::{
    DocumentEntry, FullJob, JobDocumentView, JobView, PurchaseView, SimpleJob, StageView, TaskView, project,
};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
