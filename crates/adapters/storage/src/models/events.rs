use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use forecourt_kernel::{BusinessId, Event, EventSequence, NewEvent, StoreError, StoreResult, Timestamp};

use crate::error::other;

/// An event. `data` is JSON.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::events, treat_none_as_default_value = false)]
pub(crate) struct EventRow<'a> {
    pub(crate) business_id: i64,
    pub(crate) sequence: i64,
    pub(crate) id: &'a str,
    pub(crate) name: &'static str,
    pub(crate) record: i64,
    pub(crate) data: &'a str,
    pub(crate) created: i64,
}

impl<'a> EventRow<'a> {
    pub(crate) fn new(business: BusinessId, event: &'a Event) -> Self {
        Self {
            business_id: business.get(),
            sequence: event.sequence.0,
            id: &event.id,
            name: event.what.name.as_str(),
            record: event.what.record,
            data: &event.what.data,
            created: event.what.at.epoch_seconds(),
        }
    }
}

/// An event as it is read.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::events, check_for_backend(Pg, Sqlite))]
pub(crate) struct LoggedRow {
    pub(crate) sequence: i64,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) record: i64,
    pub(crate) data: String,
    pub(crate) created: i64,
}

impl TryFrom<LoggedRow> for Event {
    type Error = StoreError;

    fn try_from(row: LoggedRow) -> StoreResult<Self> {
        let LoggedRow {
            sequence,
            id,
            name,
            record,
            data,
            created,
        } = row;
        let what = NewEvent {
            name: name.parse().map_err(other)?,
            record,
            data,
            at: Timestamp::from_epoch_seconds(created),
        };
        Ok(Self {
            sequence: EventSequence(sequence),
            id,
            what,
        })
    }
}
