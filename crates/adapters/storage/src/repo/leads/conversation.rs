//! The messages and notes of leads, and the conversations that wait to be read.
//!
//! A lead is locked before its messages, its notes and its place among the waiting conversations are written.

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use forecourt_kernel::{
    BusinessId, LeadId, LeadMessageId, LeadNoteId, Page, PageRequest, StaffId, StoreResult, Timestamp,
};
use forecourt_leads::{
    ConversationReader, ConversationStore, DueAssessment, LeadMessage, LeadNote, NewLeadNote, NewMessage,
};
use forecourt_reference::LeadChannel;

use super::super::page::page_of;
use super::super::session::{Mode, Session, Write};
use super::{Conn, Db};
use crate::error::other;
use crate::models::{LeadMessageRow, LeadNoteRow, NewLeadMessageRow, NewLeadNoteRow};
use crate::schema::{businesses, lead_assessments, lead_mails, lead_messages, lead_notes, leads};
use crate::statement::{RunQueryDsl, skip_locked};

/// Returns a page of a table of rows that belong to a lead.
macro_rules! page_of_lead {
    ($table:ident, $row:ty, $conn:expr, $business:expr, $lead:expr, $request:expr) => {{
        let all = || {
            $table::table
                .filter($table::business_id.eq($business.get()))
                .filter($table::lead_id.eq($lead.get()))
                .into_boxed::<Db>()
        };
        let order = ($table::lead_id.desc(), $table::id.desc());
        page_of!($conn, $request, $row, all, $table::id, order, false)
    }};
}

#[async_trait]
impl<M: Mode> ConversationReader for Session<M> {
    async fn lead_messages(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadMessage>>> {
        let conn = self.flushed_conn().await?;
        if !exists_lead(conn, business, lead).await? {
            return Ok(None);
        }
        let rows = page_of_lead!(lead_messages, LeadMessageRow, conn, business, lead, page);
        rows.try_map(LeadMessage::try_from).map(Some)
    }

    async fn lead_notes(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadNote>>> {
        let conn = self.flushed_conn().await?;
        if !exists_lead(conn, business, lead).await? {
            return Ok(None);
        }
        let rows = page_of_lead!(lead_notes, LeadNoteRow, conn, business, lead, page);
        rows.try_map(|row| Ok(LeadNote::from(row))).map(Some)
    }
}

async fn exists_lead(conn: &mut Conn, business: BusinessId, lead: LeadId) -> StoreResult<bool> {
    let known = leads::table.find((business.get(), lead.get())).select(leads::id);
    let known: Option<i64> = known.get_optional(conn).await?;
    Ok(known.is_some())
}

/// The entry of a waiting conversation, while this lease of it is in force.
macro_rules! leased {
    ($due:expr) => {
        lead_assessments::table
            .find(($due.business.get(), $due.lead.get()))
            .filter(lead_assessments::due.eq($due.lease.epoch_seconds()))
    };
}

#[async_trait]
impl ConversationStore for Session<Write> {
    async fn insert_lead_message(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        message: NewMessage,
        channel: LeadChannel,
        at: Timestamp,
    ) -> StoreResult<LeadMessage> {
        let NewMessage {
            direction,
            channel: own,
            subject,
            body,
        } = message;
        let channel = own.unwrap_or(channel);
        let row = NewLeadMessageRow {
            business_id: business.get(),
            lead_id: lead.get(),
            created: at.epoch_seconds(),
            direction: direction.name(),
            channel: channel.id(),
            user_id: None,
            subject: &subject,
            body: &body,
        };
        let inserted = diesel::insert_into(lead_messages::table)
            .values(row)
            .returning(lead_messages::id);
        let id: i64 = inserted.get_result(self.flushed_conn().await?).await?;
        Ok(LeadMessage {
            id: LeadMessageId::new(id),
            lead,
            created: at,
            direction,
            channel,
            subject,
            body,
            user: None,
        })
    }

    async fn count_lead_notes(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<usize> {
        let count: i64 = lead_notes::table
            .filter(lead_notes::business_id.eq(business.get()))
            .filter(lead_notes::lead_id.eq(lead.get()))
            .count()
            .get_result(self.conn().await?)
            .await?;
        usize::try_from(count).map_err(other)
    }

    async fn insert_lead_note(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        note: NewLeadNote,
        at: Timestamp,
    ) -> StoreResult<LeadNote> {
        let NewLeadNote { note, user } = note;
        let row = NewLeadNoteRow {
            business_id: business.get(),
            lead_id: lead.get(),
            created: at.epoch_seconds(),
            user_id: user.map(StaffId::get),
            note: &note,
        };
        let inserted = diesel::insert_into(lead_notes::table)
            .values(row)
            .returning(lead_notes::id);
        let id: i64 = inserted.get_result(self.flushed_conn().await?).await?;
        Ok(LeadNote {
            id: LeadNoteId::new(id),
            lead,
            created: at,
            user,
            note,
        })
    }

    async fn delete_lead_note(&mut self, business: BusinessId, lead: LeadId, note: LeadNoteId) -> StoreResult<bool> {
        let row = lead_notes::table.find((business.get(), note.get()));
        let deleted = diesel::delete(row.filter(lead_notes::lead_id.eq(lead.get())))
            .execute(self.conn().await?)
            .await?;
        Ok(deleted > 0)
    }

    async fn note_enquiry_mail(&mut self, business: BusinessId, message_id: &str) -> StoreResult<bool> {
        let bare = lead_mails::table.find((business.get(), message_id));
        let bare: Option<i64> = bare
            .select(lead_mails::business_id)
            .get_optional(self.conn().await?)
            .await?;
        if bare.is_some() {
            return Ok(false);
        }
        let digest = super::people::mail_digest(self.dependencies.cipher()?, message_id);
        // If another transaction stores the same one, this waits for it.
        let noted = diesel::insert_into(lead_mails::table)
            .values((
                lead_mails::business_id.eq(business.get()),
                lead_mails::message_id.eq(digest),
            ))
            .on_conflict_do_nothing()
            .execute(self.conn().await?)
            .await?;
        Ok(noted > 0)
    }

    async fn take_assessments(
        &mut self,
        after: BusinessId,
        now: Timestamp,
        lease: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueAssessment>> {
        let limit = limit as usize;
        let businesses = self.businesses_waiting(after, now, limit).await?;
        let share = limit.checked_div(businesses.len()).unwrap_or_default().max(1);
        let mut taken = Vec::new();
        for business in businesses {
            let share = i64::try_from(share.min(limit - taken.len())).map_err(other)?;
            let due = lead_assessments::table
                .filter(lead_assessments::business_id.eq(business))
                .filter(lead_assessments::due.le(now.epoch_seconds()))
                .order((lead_assessments::due, lead_assessments::lead_id))
                .limit(share)
                .select((lead_assessments::lead_id, lead_assessments::attempts));
            let rows: Vec<(i64, i32)> = skip_locked(due).load(self.conn().await?).await?;
            let ids: Vec<i64> = rows.iter().map(|(lead, _)| *lead).collect();
            let leased = lead_assessments::table
                .filter(lead_assessments::business_id.eq(business))
                .filter(lead_assessments::lead_id.eq_any(ids));
            diesel::update(leased)
                .set(lead_assessments::due.eq(lease.epoch_seconds()))
                .execute(self.conn().await?)
                .await?;
            taken.extend(rows.into_iter().map(|(lead, attempts)| DueAssessment {
                business: BusinessId::new(business),
                lead: LeadId::new(lead),
                lease,
                attempts: u32::try_from(attempts).unwrap_or_default(),
            }));
        }
        Ok(taken)
    }

    async fn finish_assessment(&mut self, due: &DueAssessment) -> StoreResult<bool> {
        let finished = diesel::delete(leased!(due)).execute(self.flushed_conn().await?).await?;
        Ok(finished > 0)
    }

    async fn postpone_assessment(&mut self, due: &DueAssessment, at: Timestamp) -> StoreResult<()> {
        diesel::update(leased!(due))
            .set((
                lead_assessments::due.eq(at.epoch_seconds()),
                lead_assessments::attempts.eq(lead_assessments::attempts + 1),
            ))
            .execute(self.flushed_conn().await?)
            .await
            .map(drop)
    }

    async fn drop_assessments(&mut self, limit: u32) -> StoreResult<u32> {
        let some = lead_assessments::table
            .limit(limit.into())
            .select((lead_assessments::business_id, lead_assessments::lead_id));
        let some: Vec<(i64, i64)> = skip_locked(some).load(self.flushed_conn().await?).await?;
        let mut dropped = 0;
        for of_business in some.chunk_by(|one, next| one.0 == next.0) {
            let Some(&(business, _)) = of_business.first() else {
                continue;
            };
            let ids: Vec<i64> = of_business.iter().map(|(_, lead)| *lead).collect();
            let rows = lead_assessments::table
                .filter(lead_assessments::business_id.eq(business))
                .filter(lead_assessments::lead_id.eq_any(ids));
            dropped += diesel::delete(rows).execute(self.conn().await?).await?;
        }
        u32::try_from(dropped).map_err(other)
    }
}

impl Session<Write> {
    /// Returns up to `limit` businesses with a waiting conversation, from the one after `after` on and then from the beginning.
    async fn businesses_waiting(&mut self, after: BusinessId, now: Timestamp, limit: usize) -> StoreResult<Vec<i64>> {
        let mut found = Vec::new();
        let (mut behind, mut is_round) = (after.get(), false);
        while found.len() < limit {
            let next: Option<i64> = lead_assessments::table
                .filter(lead_assessments::business_id.gt(behind))
                .filter(lead_assessments::due.le(now.epoch_seconds()))
                .filter(not(exists(
                    businesses::table
                        .filter(businesses::id.eq(lead_assessments::business_id))
                        .filter(businesses::deleted.is_not_null()),
                )))
                .order(lead_assessments::business_id)
                .limit(1)
                .select(lead_assessments::business_id)
                .get_optional(self.flushed_conn().await?)
                .await?;
            match next {
                Some(business) if is_round && business > after.get() => break,
                Some(business) => {
                    found.push(business);
                    behind = business;
                }
                None if is_round => break,
                None => (behind, is_round) = (0, true),
            }
        }
        Ok(found)
    }
}
