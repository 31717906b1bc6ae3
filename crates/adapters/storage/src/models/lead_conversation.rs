use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use forecourt_kernel::{LeadId, LeadMessageId, LeadNoteId, StaffId, StoreError, StoreResult, Timestamp};
use forecourt_leads::{LeadMessage, LeadNote};

use crate::error::other;

/// A message as it is read.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::lead_messages, check_for_backend(Pg, Sqlite))]
pub(crate) struct LeadMessageRow {
    pub(crate) id: i64,
    pub(crate) lead_id: i64,
    pub(crate) created: i64,
    pub(crate) direction: String,
    pub(crate) channel: String,
    pub(crate) user_id: Option<i64>,
    pub(crate) subject: String,
    pub(crate) body: String,
}

/// A new message, but for the id that the database gives it.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::lead_messages, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewLeadMessageRow<'a> {
    pub(crate) business_id: i64,
    pub(crate) lead_id: i64,
    pub(crate) created: i64,
    pub(crate) direction: &'static str,
    pub(crate) channel: &'static str,
    pub(crate) user_id: Option<i64>,
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
}

impl TryFrom<LeadMessageRow> for LeadMessage {
    type Error = StoreError;

    fn try_from(row: LeadMessageRow) -> StoreResult<Self> {
        let LeadMessageRow {
            id,
            lead_id,
            created,
            direction,
            channel,
            user_id,
            subject,
            body,
        } = row;
        Ok(Self {
            id: LeadMessageId::new(id),
            lead: LeadId::new(lead_id),
            created: Timestamp::from_epoch_seconds(created),
            direction: direction.parse().map_err(other)?,
            channel: channel.parse().map_err(other)?,
            subject,
            body,
            user: user_id.map(StaffId::new),
        })
    }
}

/// A note as it is read.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::lead_notes, check_for_backend(Pg, Sqlite))]
pub(crate) struct LeadNoteRow {
    pub(crate) id: i64,
    pub(crate) lead_id: i64,
    pub(crate) created: i64,
    pub(crate) user_id: Option<i64>,
    pub(crate) note: String,
}

/// A new note, but for the id that the database gives it.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::lead_notes, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewLeadNoteRow<'a> {
    pub(crate) business_id: i64,
    pub(crate) lead_id: i64,
    pub(crate) created: i64,
    pub(crate) user_id: Option<i64>,
    pub(crate) note: &'a str,
}

impl From<LeadNoteRow> for LeadNote {
    fn from(row: LeadNoteRow) -> Self {
        let LeadNoteRow {
            id,
            lead_id,
            created,
            user_id,
            note,
        } = row;
        Self {
            id: LeadNoteId::new(id),
            lead: LeadId::new(lead_id),
            created: Timestamp::from_epoch_seconds(created),
            user: user_id.map(StaffId::new),
            note,
        }
    }
}

/// A conversation that is to be read.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::lead_assessments, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct AssessmentRow {
    pub(crate) business_id: i64,
    pub(crate) lead_id: i64,
    pub(crate) due: i64,
    pub(crate) attempts: i32,
}
