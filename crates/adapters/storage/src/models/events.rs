use diesel::prelude::*;

/// An event. `data` is JSON.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = crate::schema::events)]
pub(crate) struct EventRow {
    pub(crate) business_id: i64,
    pub(crate) sequence: i64,
    pub(crate) id: String,
    pub(crate) name: &'static str,
    pub(crate) record: i64,
    pub(crate) data: String,
    pub(crate) created: i64,
}
