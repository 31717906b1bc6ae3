use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;

/// A server that renews its row while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = crate::schema::servers, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct ServerRow {
    pub(crate) id: i64,
    pub(crate) host: String,
    pub(crate) pid: i64,
    pub(crate) version: String,
    pub(crate) started: i64,
    pub(crate) seen: i64,
    pub(crate) clock_offset: Option<i64>,
    pub(crate) report: String,
}
