use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;

/// One fact that the database knows of itself.
///
/// `product` is `forecourt`, written by the first migration; `migrated_by` is the version of the server that applied the
/// latest one; `installation`, `epoch`, `timeline` and `least_version` are what [`DatabaseFacts`](crate::DatabaseFacts) says.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = crate::schema::forecourt_meta, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct MetaRow {
    pub(crate) key: String,
    pub(crate) value: String,
}
