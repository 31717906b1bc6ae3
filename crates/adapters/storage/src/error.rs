//! The layer's errors, and the one place that translates a database's errors into the words of the domain.

use std::path::PathBuf;

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error as QueryError};
use forecourt_kernel::{BoxError, StoreError};

/// The reason why a database cannot be opened with the settings given.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names neither engine. It is not repeated here: it may hold a password.
    #[error("the database address must begin with sqlite://, postgres:// or postgresql://")]
    UnknownEngine,
    /// The address names a database that lives in memory, which a server would lose at its end.
    #[error("sqlite://:memory: keeps nothing and cannot be shared by connections; name a file instead")]
    InMemory,
    /// The address says `sqlite://` and then names no file.
    #[error("sqlite:// must be followed by the path of a file")]
    NoPath,
    /// The address has a `?`, but a SQLite database has no options there.
    #[error("the address of a SQLite database takes no options after a ?")]
    SqliteOptions,
    /// The PostgreSQL address does not parse.
    #[error("the PostgreSQL address is not valid")]
    PostgresUrl(#[source] BoxError),
    /// TLS cannot be set up.
    #[error("TLS for PostgreSQL cannot be set up")]
    Tls(#[source] BoxError),
    /// The pool of connections refuses its settings.
    #[error("the pool of connections cannot be set up")]
    Pool(#[source] BoxError),
    /// The folder of the SQLite file cannot be made.
    #[error("the folder {folder} cannot be created")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The SQLite file is not whole.
    #[error(
        "the database file {path} is damaged ({what}): put a complete copy in its place, made by SQLite's .backup or, while no \
         server ran, of the file and its -wal together"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// The SQLite file cannot be opened, or cannot be used as this server needs it.
    #[error("the database file {path} cannot be opened")]
    File {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        #[source]
        source: BoxError,
    },
}

/// The reason why the schema cannot be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The database has another program's migrations; nothing was changed.
    #[error("this database belongs to another program: it has the schema version {0}, but not Forecourt's first one")]
    NotOurs(String),
    /// The schema is of a later version, and this one can no longer write to it; nothing was changed.
    #[error("this database needs Forecourt {least} or later; this is {}", env!("CARGO_PKG_VERSION"))]
    TooOld {
        /// The oldest version that can write to it.
        least: String,
    },
    /// Other connections held a lock that a migration needs. It was rolled back; the ones before it were kept.
    #[error("the migration {0} could not lock what it changes: a long transaction holds it")]
    Locked(String),
    /// The database cannot be reached; nothing was changed.
    #[error("the database cannot be reached")]
    Unreachable(#[source] StoreError),
    /// A migration failed. It was rolled back; the ones before it may have been kept.
    #[error("a migration failed")]
    Failed(#[source] BoxError),
}

impl From<QueryError> for MigrateError {
    fn from(error: QueryError) -> Self {
        match store_error(error) {
            unreachable @ StoreError::Unavailable(_) => Self::Unreachable(unreachable),
            failure => Self::Failed(failure.into()),
        }
    }
}

/// Translates the failure of one statement.
///
/// | what happened | becomes |
/// | --- | --- |
/// | a unique index or primary key refused the row | [`Duplicate`](StoreError::Duplicate) with the constraint's name |
/// | serialisation failure, deadlock (on PostgreSQL by its SQLSTATE, as all that follows) | [`Conflict`](StoreError::Conflict) |
/// | connection lost, server shutting down or full, file locked, statement cancelled, disk full or failing, database read-only | [`Unavailable`](StoreError::Unavailable) |
/// | everything else | [`Other`](StoreError::Other) |
///
/// A constraint has one name on both engines. SQLite reports only the columns, so the name is put together as PostgreSQL does by
/// default, `table_column_column_key`. An index over expressions keeps its own name on both.
#[must_use]
pub fn store_error(error: QueryError) -> StoreError {
    let (kind, info) = match &error {
        QueryError::DatabaseError(kind, info) => (kind, info),
        QueryError::QueryBuilderError(_) => return unwrapped(error),
        _ => return StoreError::Other(error.into()),
    };
    match kind {
        DatabaseErrorKind::UniqueViolation => StoreError::Duplicate(constraint(info.as_ref())),
        DatabaseErrorKind::SerializationFailure => StoreError::Conflict,
        DatabaseErrorKind::ClosedConnection
        | DatabaseErrorKind::UnableToSendCommand
        | DatabaseErrorKind::ReadOnlyTransaction => StoreError::Unavailable(error.into()),
        DatabaseErrorKind::Unknown if is_outage(info.message()) => StoreError::Unavailable(error.into()),
        _ => StoreError::Other(error.into()),
    }
}

/// Wraps a failure to get a connection for a statement, so that [`store_error`] returns it as it is.
pub(crate) fn refused(error: StoreError) -> QueryError {
    QueryError::QueryBuilderError(error.into())
}

fn unwrapped(error: QueryError) -> StoreError {
    match error {
        QueryError::QueryBuilderError(source) => match source.downcast::<StoreError>() {
            Ok(refusal) => *refusal,
            Err(source) => StoreError::Other(QueryError::QueryBuilderError(source).into()),
        },
        error => StoreError::Other(error.into()),
    }
}

/// A failure to reach the database before any statement ran, as [`StoreError::Unavailable`].
pub(crate) fn unavailable(why: &'static str) -> StoreError {
    StoreError::Unavailable(why.into())
}

/// A failure that should not happen, such as one of writing a record as JSON or reading it back, as [`StoreError::Other`].
pub(crate) fn other(failure: impl Into<BoxError>) -> StoreError {
    StoreError::Other(failure.into())
}

/// Returns `true` if another connection holds the lock that a SQLite statement needs.
pub(crate) fn is_busy(error: &QueryError) -> bool {
    matches!(error, QueryError::DatabaseError(_, info) if info.message().starts_with(SQLITE_BUSY))
}

const SQLITE_BUSY: &str = "database is locked";

/// Compares with SQLite's own sentences, whole. The driver passes them on without their code, and they are in no other language.
/// PostgreSQL's messages may be in any, so its failures have their kind from the SQLSTATE (`postgres::link`).
fn is_outage(message: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        SQLITE_BUSY,
        "database table is locked",
        "locking protocol",
        "unable to open database file",
        "out of memory",
    ];
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning)) || refuses_writes(message)
}

/// Returns `true` if a failure on SQLite prevents every write: the disk is full or failing, or the file is read-only.
pub(crate) fn hinders_writing(error: &QueryError) -> bool {
    matches!(error, QueryError::DatabaseError(DatabaseErrorKind::Unknown, info) if refuses_writes(info.message()))
}

fn refuses_writes(message: &str) -> bool {
    [
        "database or disk is full",
        "disk I/O error",
        "attempt to write a readonly database",
        "database disk image is malformed",
        "file is not a database",
    ]
    .iter()
    .any(|part| message.contains(part))
}

fn constraint(info: &dyn DatabaseErrorInformation) -> String {
    match info.constraint_name() {
        Some(name) => name.to_owned(),
        None => sqlite_constraint(info.message()),
    }
}

/// Returns the name of the constraint. `UNIQUE constraint failed: leads.business_id, leads.email` becomes
/// `leads_business_id_email_key`, and `UNIQUE constraint failed: index 'leads_open'` becomes `leads_open`.
fn sqlite_constraint(message: &str) -> String {
    let what = message.split_once(": ").map_or(message, |(_, what)| what);
    if let Some(index) = what.strip_prefix("index '").and_then(|rest| rest.strip_suffix('\'')) {
        return index.to_owned();
    }
    let mut name = String::new();
    for column in what.split(", ") {
        let (table, column) = column.split_once('.').unwrap_or(("", column));
        if name.is_empty() {
            name.push_str(table);
        }
        name.push('_');
        name.push_str(column);
    }
    name.push_str("_key");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: DatabaseErrorKind, message: &str) -> StoreError {
        store_error(QueryError::DatabaseError(kind, Box::new(message.to_owned())))
    }

    #[test]
    fn a_constraint_of_sqlite_is_named_as_postgres_would() {
        for (message, name) in [
            ("UNIQUE constraint failed: tags.name", "tags_name_key"),
            (
                "UNIQUE constraint failed: leads.business_id, leads.email",
                "leads_business_id_email_key",
            ),
            ("UNIQUE constraint failed: index 'leads_open_email'", "leads_open_email"),
        ] {
            let StoreError::Duplicate(found) = failure(DatabaseErrorKind::UniqueViolation, message) else {
                panic!("{message} is not a duplicate");
            };
            assert_eq!(found, name);
        }
    }

    #[test]
    fn what_may_succeed_later_is_distinguished_from_what_will_not() {
        use DatabaseErrorKind::{CheckViolation, ClosedConnection, SerializationFailure, Unknown};
        assert!(matches!(
            failure(SerializationFailure, "could not serialize access"),
            StoreError::Conflict
        ));
        for message in [
            "database is locked",
            "database or disk is full",
            "disk I/O error",
            "attempt to write a readonly database",
            "unable to open database file",
            "out of memory",
        ] {
            assert!(
                matches!(failure(Unknown, message), StoreError::Unavailable(_)),
                "{message}"
            );
        }
        assert!(matches!(
            failure(ClosedConnection, "connection closed"),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(
            failure(DatabaseErrorKind::ReadOnlyTransaction, "cannot execute INSERT"),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(
            failure(Unknown, "value too long for type character varying(10)"),
            StoreError::Other(_)
        ));
        assert!(matches!(
            failure(CheckViolation, "CHECK constraint failed"),
            StoreError::Other(_)
        ));
        assert!(matches!(store_error(QueryError::NotFound), StoreError::Other(_)));
    }
}
