//! People's data in jobs, and its erasure. A stage is linked to the contact who does it.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_accounts::Business;
use forecourt_jobs::{JobError, JobReader as _, forget_person_in_event, forget_person_in_job};
use forecourt_kernel::{BusinessId, JobId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::super::people::{JOB, OF_VEHICLE_JOBS, PersonalArea};
use super::super::session::{Session, Write};
use super::job_suppliers;
use crate::error::other;
use crate::personal::{
    Erasure::{Cleared, Derived, Redacted},
    PersonalTable, table, withheld,
};
use crate::statement::RunQueryDsl;

/// The reason why no export shows jobs: areas §10.0 lists what it has.
const NOT_EXPORTED: &str = "work on a vehicle of the dealership";

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "jobs",
        &[
            // The suppliers of stages are cleared; notes, names of stages and tasks, and documents' names and descriptions are
            // redacted.
            withheld("document", NOT_EXPORTED, Redacted),
            withheld("outline", NOT_EXPORTED, Derived),
            withheld("stage", NOT_EXPORTED, Derived),
        ],
        &[
            "id",
            "business_id",
            "version",
            "created",
            "updated",
            "vehicle",
            "board",
            "status",
            "automatic",
            "due",
            "due_by",
        ],
    ),
    table("job_staff", &[], &["business_id", "staff", "job"]),
    table(
        "job_suppliers",
        &[withheld("contact", NOT_EXPORTED, Cleared)],
        &["business_id", "job"],
    ),
];

/// The jobs of which a contact does a stage.
pub(in super::super) struct Jobs;

#[async_trait]
impl PersonalArea for Jobs {
    fn kind(&self) -> i32 {
        JOB
    }

    fn answers(&self) -> Option<i32> {
        Some(JOB)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let ids: Vec<i64> = job_suppliers::table
            .filter(job_suppliers::business_id.eq(business.get()))
            .filter(job_suppliers::contact.eq(keys.contact().get()))
            .select(job_suppliers::job)
            .load(session.conn().await?)
            .await?;
        for id in ids {
            // Only leads need the time of a record's creation.
            session.note_record(business, keys.contact(), JOB, (id, 0)).await?;
        }
        Ok(())
    }

    fn table(&self) -> &'static str {
        "jobs"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        if let Some(job) = session.job(business.id, JobId::new(id)).await? {
            let forgotten = forget_person_in_job(session, now, business.id, job, person).await;
            forgotten.map_err(|error| match error {
                JobError::Store(error) => error,
                error => other(error),
            })?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_VEHICLE_JOBS)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        forget_person_in_event(shown, person)
    }
}
