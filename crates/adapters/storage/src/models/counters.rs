use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;

/// What a business's leads and events are numbered by, and how many leads there are.
#[derive(Clone, Debug, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = crate::schema::business_counters, check_for_backend(Pg, Sqlite))]
pub(crate) struct Numbers {
    pub(crate) leads: i64,
    pub(crate) lead_writes: i64,
    /// The latest lead's.
    pub(crate) lead_reference: i64,
    pub(crate) lead_created: i64,
    /// The latest event's.
    pub(crate) event_sequence: i64,
    pub(crate) event_created: i64,
}
