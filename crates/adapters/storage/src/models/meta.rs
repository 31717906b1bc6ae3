use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sqlite::Sqlite;

/// One fact of the database about itself.
///
/// `product` is `forecourt`, written by the first migration, and `least_version` the oldest version that may write to the schema
/// ([`VersionCheck`](crate::version_check::VersionCheck)). `installation`, `epoch`, `timeline` and `outgoing` are the
/// members of
/// [`DatabaseFacts`](crate::DatabaseFacts). `moved` says that the database is being moved or was moved, and where to.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = crate::schema::forecourt_meta, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct MetaRow {
    pub(crate) key: String,
    pub(crate) value: String,
}
