//! People's data in leads, and its erasure.

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_accounts::Business;
use forecourt_dealership::DeletionKind;
use forecourt_kernel::{BusinessId, LeadId, Person, PersonKeys, StoreError, StoreResult, Timestamp};
use forecourt_leads::{
    Lead, LeadError, LeadMessage, LeadNote, forget_person_in_event, forget_person_in_lead, forget_person_in_lead_note,
    forget_person_in_message, forget_suggestion_in_event, forget_suggestion_in_lead,
};
use serde_json::Value;

use super::super::people::{
    Budget, LEAD, OF_CHANGED_LEADS, PersonalArea, PersonalTexts, READ_AT_ONCE, SUGGESTED, next_texts, note_linked,
};
use super::super::session::{Session, Write};
use super::super::size::octet_length;
use crate::error::other;
use crate::models::{LeadMessageRow, LeadNoteRow, LeadRow};
use crate::personal::{
    Erasure::{Cleared, Deleted, Derived, Keyed, Redacted},
    PersonalTable, held, table, withheld,
};
use crate::schema::{events, lead_mails, lead_messages, lead_notes, leads, mails};
use crate::secrets::Keyring;
use crate::statement::RunQueryDsl;

pub(in super::super) const TABLES: &[PersonalTable] = &[
    table(
        "leads",
        &[
            // name, email, phone and mobile are cleared; data, summary and ai are redacted.
            held("document", "leads", Redacted),
            held("preview", "leads", Derived),
            held("contact", "leads", Cleared),
            held("suggested", "leads", Cleared),
            held("name_key", "leads", Derived),
            held("name_folded", "leads", Derived),
            held("email_folded", "leads", Derived),
            held("phone", "leads", Derived),
            held("mobile", "leads", Derived),
        ],
        &[
            "id",
            "business_id",
            "reference",
            "site",
            "channel",
            "status",
            "rating",
            "reopens",
            "created",
            "updated",
            "version",
        ],
    ),
    table(
        "lead_messages",
        &[
            held("subject", "leads.messages", Redacted),
            held("body", "leads.messages", Redacted),
        ],
        &[
            "id",
            "business_id",
            "lead_id",
            "created",
            "direction",
            "channel",
            "user_id",
        ],
    ),
    table(
        "lead_notes",
        &[held("note", "leads.notes", Redacted)],
        &["id", "business_id", "lead_id", "created", "user_id"],
    ),
    table(
        "lead_mails",
        &[withheld("message_id", "a digest", Keyed)],
        &["business_id"],
    ),
    table(
        "lead_vehicles",
        &[],
        &["business_id", "vehicle_id", "lead_id", "created"],
    ),
    table("lead_assessments", &[], &["business_id", "lead_id", "due", "attempts"]),
    table("lead_search", &[withheld("text", "an index", Deleted)], &[]),
    table("lead_search_state", &[], &["latest"]),
];

/// The size of an emptied event. An event that has more than a lead's id is longer.
const EMPTIED_BYTES: i32 = 32;

/// The leads that are linked to a contact, and those with text that is certainly about the person.
pub(in super::super) struct Leads;

/// Returns a lead as it is stored, not as it is shown during an erasure.
async fn stored(session: &mut Session<Write>, business: BusinessId, id: i64) -> StoreResult<Option<Lead>> {
    let row: Option<LeadRow> = leads::table
        .find((business.get(), id))
        .select(LeadRow::as_select())
        .get_optional(session.conn().await?)
        .await?;
    row.map(|row| Lead::try_from(LeadRow { unlinked: false, ..row }))
        .transpose()
}

fn failed(error: LeadError) -> StoreError {
    match error {
        LeadError::Store(error) => error,
        error => other(error),
    }
}

#[async_trait]
impl PersonalArea for Leads {
    fn kind(&self) -> i32 {
        LEAD
    }

    fn answers(&self) -> Option<i32> {
        Some(LEAD)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let linked = leads::contact.assume_not_null().eq(by);
        note_linked!(session, business, keys, LEAD, leads, created, linked).map(drop)
    }

    fn table(&self) -> &'static str {
        "leads"
    }

    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: &Business,
        id: i64,
        person: &Person,
    ) -> StoreResult<()> {
        let now = session.dependencies.clock.now();
        if let Some(lead) = stored(session, business.id, id).await? {
            let forgotten = forget_person_in_lead(session, now, business, lead, person).await;
            forgotten.map_err(failed)?;
        }
        Ok(())
    }

    fn attached(&self) -> &'static [&'static dyn PersonalTexts] {
        &[&Messages, &Notes]
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_CHANGED_LEADS)
    }

    async fn creation(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        record: i64,
        created: i64,
    ) -> StoreResult<Option<(i64, i32)>> {
        let created = Timestamp::from_epoch_seconds(created);
        session.lead_creation(business, LeadId::new(record), created).await
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let lead = shown.as_object_mut();
        lead.is_some_and(|lead| forget_person_in_event(lead, person))
    }
}

/// The leads that are linked to no contact but have one suggested.
pub(in super::super) struct SuggestedLeads;

#[async_trait]
impl PersonalArea for SuggestedLeads {
    fn kind(&self) -> i32 {
        SUGGESTED
    }

    fn answers(&self) -> Option<i32> {
        Some(LEAD)
    }

    async fn note(&self, session: &mut Session<Write>, business: BusinessId, keys: &mut PersonKeys) -> StoreResult<()> {
        let by = keys.contact().get();
        let suggested = leads::suggested.assume_not_null().eq(by);
        note_linked!(session, business, keys, SUGGESTED, leads, created, suggested).map(drop)
    }

    fn table(&self) -> &'static str {
        "leads"
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
        let now = session.dependencies.clock.now();
        if let Some(lead) = stored(session, business.id, id).await? {
            let forgotten = forget_suggestion_in_lead(session, now, business, lead, person.contact()).await;
            forgotten.map_err(failed)?;
        }
        Ok(())
    }

    fn event_condition(&self) -> Option<&'static str> {
        Some(OF_CHANGED_LEADS)
    }

    async fn creation(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        record: i64,
        created: i64,
    ) -> StoreResult<Option<(i64, i32)>> {
        Leads.creation(session, business, record, created).await
    }

    fn forget_in_event(&self, shown: &mut Value, person: &Person) -> bool {
        let lead = shown.as_object_mut();
        lead.is_some_and(|lead| forget_suggestion_in_event(lead, person.contact()))
    }
}

/// The messages of leads.
pub(in super::super) struct Messages;

/// Takes the person out of messages, by every name and number that they are known by, or only by those that are certain.
async fn clean_messages(
    session: &mut Session<Write>,
    business: BusinessId,
    affordable: Vec<i64>,
    person: &Person,
    is_theirs: bool,
) -> StoreResult<()> {
    let rows: Vec<LeadMessageRow> = lead_messages::table
        .filter(lead_messages::business_id.eq(business.get()))
        .filter(lead_messages::id.eq_any(affordable))
        .select(LeadMessageRow::as_select())
        .load(session.conn().await?)
        .await?;
    for row in rows {
        let mut message = LeadMessage::try_from(row)?;
        let changed = if is_theirs {
            forget_person_in_message(&mut message, person)
        } else {
            person.redact_certain(&mut message.subject) | person.redact_certain(&mut message.body)
        };
        if !changed {
            continue;
        }
        diesel::update(lead_messages::table.find((business.get(), message.id.get())))
            .set((
                lead_messages::subject.eq(message.subject),
                lead_messages::body.eq(message.body),
            ))
            .execute(session.conn().await?)
            .await?;
    }
    Ok(())
}

#[async_trait]
impl PersonalTexts for Messages {
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        of: Option<i64>,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let with = of.map(|lead| ("lead_id", lead));
        let next = next_texts(session, business, "lead_messages", "body", with, after).await?;
        let affordable = budget.afford(&next);
        let last = affordable.last().copied();
        clean_messages(session, business, affordable, person, of.is_some()).await?;
        Ok(last)
    }
}

/// The notes on leads.
pub(in super::super) struct Notes;

/// Takes the person out of notes, by every name and number that they are known by, or only by those that are certain.
async fn clean_notes(
    session: &mut Session<Write>,
    business: BusinessId,
    affordable: Vec<i64>,
    person: &Person,
    is_theirs: bool,
) -> StoreResult<()> {
    let rows: Vec<LeadNoteRow> = lead_notes::table
        .filter(lead_notes::business_id.eq(business.get()))
        .filter(lead_notes::id.eq_any(affordable))
        .select(LeadNoteRow::as_select())
        .load(session.conn().await?)
        .await?;
    for row in rows {
        let mut note = LeadNote::from(row);
        let changed = if is_theirs {
            forget_person_in_lead_note(&mut note, person)
        } else {
            person.redact_certain(&mut note.note)
        };
        if !changed {
            continue;
        }
        diesel::update(lead_notes::table.find((business.get(), note.id.get())))
            .set(lead_notes::note.eq(note.note))
            .execute(session.conn().await?)
            .await?;
    }
    Ok(())
}

#[async_trait]
impl PersonalTexts for Notes {
    async fn clean(
        &self,
        session: &mut Session<Write>,
        business: BusinessId,
        of: Option<i64>,
        after: i64,
        person: &Person,
        budget: &mut Budget,
    ) -> StoreResult<Option<i64>> {
        let with = of.map(|lead| ("lead_id", lead));
        let next = next_texts(session, business, "lead_notes", "note", with, after).await?;
        let affordable = budget.afford(&next);
        let last = affordable.last().copied();
        clean_notes(session, business, affordable, person, of.is_some()).await?;
        Ok(last)
    }
}

impl Session<Write> {
    /// Empties the events of a deleted lead but for its id. It also drops the endpoints' answers to these events, and the mails
    /// about the lead that wait to be sent. If there are many events, the background does the rest. Answers that are stored for
    /// retries stay: they are encrypted, and go within a day.
    pub(super) async fn forget_lead(
        &mut self,
        business: BusinessId,
        id: LeadId,
        created: Timestamp,
    ) -> StoreResult<()> {
        let waiting = mails::table
            .filter(mails::business_id.eq(business.get()))
            .filter(mails::lead_id.eq(id.get()));
        diesel::delete(waiting).execute(self.conn().await?).await?;
        if let Some((sequence, _)) = self.lead_creation(business, id, created).await? {
            self.empty_events(business, id.get(), vec![sequence]).await?;
            self.forget_answers(business, &[sequence]).await?;
        }
        if self.forget_more_of_lead(business, id).await? {
            self.continue_later(business, DeletionKind::Lead, id.get(), Vec::new())
                .await?;
        }
        Ok(())
    }

    /// Continues that; returns `false` if nothing is left to do.
    pub(in super::super) async fn forget_more_of_lead(
        &mut self,
        business: BusinessId,
        id: LeadId,
    ) -> StoreResult<bool> {
        let shown: Vec<i64> = events::table
            .filter(events::business_id.eq(business.get()))
            .filter(events::record.eq(id.get()))
            .filter(sql::<Bool>(OF_CHANGED_LEADS))
            .filter(octet_length(events::data).gt(EMPTIED_BYTES))
            .order(events::sequence)
            .limit(READ_AT_ONCE)
            .select(events::sequence)
            .load(self.conn().await?)
            .await?;
        let is_full = i64::try_from(shown.len()).is_ok_and(|shown| shown >= READ_AT_ONCE);
        self.empty_events(business, id.get(), shown.clone()).await?;
        self.forget_answers(business, &shown).await?;
        Ok(is_full)
    }
}

/// The prefix of a keyed digest, which no id of a mail has.
const KEYED: &str = "hmac-sha256:";

/// Returns the digest by which a mail that became a lead is remembered: its id may hold its sender's name.
pub(super) fn mail_digest(cipher: &Keyring, message_id: &str) -> String {
    let digest = cipher.digest("enquiry-mail", message_id.as_bytes());
    digest
        .iter()
        .fold(KEYED.to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

impl Session<Write> {
    /// Replaces some of the ids that an earlier version stored as they are; returns their number.
    pub(in super::super) async fn key_enquiry_mails(&mut self) -> StoreResult<usize> {
        let bare: Vec<(i64, String)> = lead_mails::table
            .filter(lead_mails::message_id.not_like(format!("{KEYED}%")))
            .limit(READ_AT_ONCE)
            .select((lead_mails::business_id, lead_mails::message_id))
            .load(self.conn().await?)
            .await?;
        for (business, id) in &bare {
            let digest = mail_digest(self.dependencies.cipher()?, id);
            diesel::insert_into(lead_mails::table)
                .values((lead_mails::business_id.eq(business), lead_mails::message_id.eq(digest)))
                .on_conflict_do_nothing()
                .execute(self.conn().await?)
                .await?;
            diesel::delete(lead_mails::table.find((business, id)))
                .execute(self.conn().await?)
                .await?;
        }
        Ok(bare.len())
    }
}
