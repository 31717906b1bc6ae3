//! People's data in calls, and its erasure.

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use forecourt_accounts::Business;
use forecourt_calls::{CallError, CallReader as _, forget_person_in_call, forget_person_in_event};
use forecourt_kernel::{BusinessId, CallId, Person, PersonKeys, StoreResult};
use serde_json::Value;

use super::super::people::{CALL, CALL_OF_LEAD, OF_CALLS, PersonalArea, note_linked};
use super::super::session::{Session, Write};
use super::calls;
use crate::error::other;
use crate::personal::{
    Erasure::{Cleared, Derived, Redacted},
    PersonalTable, held, table,
};
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[table(
    "calls",
    &[
        // Number, recording and transcript of a call with them are cleared; every other text is redacted.
        held("document", "calls", Redacted),
        held("contact", "calls", Cleared),
        held("lead", "calls", Cleared),
        held("from_number", "calls", Derived),
        held("to_number", "calls", Derived),
        held("provider", "calls", Derived),
        held("external_id", "calls", Derived),
        held("tracking", "calls", Derived),
    ],
    &[
        "id",
        "business_id",
        "version",
        "created",
        "updated",
        "site",
        "direction",
        "outcome",
        "started",
        "staff",
        "vehicle",
    ],
)];

/// The calls that are linked to a contact, and those with text that is certainly about the person.
pub(in super::super) struct Calls;

/// The calls about a lead of the contact, whatever number they came from.
pub(in super::super) struct CallsAboutLeads;

/// Takes the person out of a call that is locked.
async fn clean(
    session: &mut Session<Write>,
    business: BusinessId,
    id: i64,
    person: &Person,
    is_theirs: bool,
) -> StoreResult<()> {
    let now = session.dependencies.clock.now();
    let Some(call) = session.call(business, CallId::new(id)).await? else {
        return Ok(());
    };
    let forgotten = forget_person_in_call(session, now, business, call, person, is_theirs).await;
    forgotten.map_err(|error| match error {
        CallError::Store(error) => error,
        error => other(error),
    })
}

fn forget_in_event(shown: &mut Value, person: &Person) -> bool {
    let call = shown.as_object_mut();
    call.is_some_and(|call| forget_person_in_event(call, person))
}

#[async_trait]
impl PersonalArea for Calls {
    fn kind(&self) -> i32 {
        CALL
    }

    fn answers(&self) -> Option<i32> {
        Some(CALL)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let linked = calls::contact.assume_not_null().eq(by);
        note_linked!(session, business, keys, CALL, calls, created, linked).map(drop)
    }

    fn table(&self) -> &'static str {
        "calls"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        clean(session, business.id, id, person, false).await
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_CALLS)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        forget_in_event(shown, person)
    }
}

#[async_trait]
impl PersonalArea for CallsAboutLeads {
    fn kind(&self) -> i32 {
        CALL_OF_LEAD
    }

    fn answers(&self) -> Option<i32> {
        Some(CALL)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        // A call with somebody else about their lead stays that person's.
        let about = sql::<Bool>(
            "calls.contact IS NULL AND calls.lead IN (SELECT leads.id FROM leads WHERE leads.business_id = ",
        )
        .bind::<BigInt, _>(business.get())
        .sql(" AND leads.contact = ")
        .bind::<BigInt, _>(by)
        .sql(")");
        note_linked!(session, business, keys, CALL_OF_LEAD, calls, created, about).map(drop)
    }

    fn table(&self) -> &'static str {
        "calls"
    }

    fn is_searched(&self) -> bool {
        false
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        clean(session, business.id, id, person, true).await
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_CALLS)
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        forget_in_event(shown, person)
    }
}
