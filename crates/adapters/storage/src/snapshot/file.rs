//! A SQLite file with the tables of a whole database, and the rows in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use diesel::connection::{LoadConnection, SimpleConnection as _};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::row::{Field as _, Row as _};
use diesel::sql_types::{BigInt, Binary, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection, SqliteType};
use forecourt_kernel::{StoreError, StoreResult};

use super::digest::{TableDigest, TableHasher, Value};
use crate::error::{other, store_error};

/// The table that notes which migrations were run. Each engine writes it in its own way, so it is none of the contents.
const MIGRATIONS: &str = "__diesel_schema_migrations";

/// A table of a database, the same on both engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The names of the columns, in the order of their bytes.
    pub(crate) columns: Vec<String>,
}

impl Table {
    /// Returns the columns, quoted and separated by commas.
    pub(crate) fn column_list(&self) -> String {
        let quoted: Vec<String> = self.columns.iter().map(|column| quoted(column)).collect();
        quoted.join(", ")
    }
}

/// Returns a name as SQL quotes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A SQLite file with a whole database that no server uses: a copy, or the database of a stopped installation.
///
/// Its methods block.
pub struct Snapshot {
    pub(super) conn: SqliteConnection,
    path: PathBuf,
}

/// Settings for a scratch file: no other process has it open, and it is worthless if the machine stops meanwhile.
const SETTINGS: &str =
    "PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;";

impl Snapshot {
    /// Opens a file.
    ///
    /// # Errors
    /// It does not exist, or is no database.
    pub fn open(path: &Path) -> StoreResult<Self> {
        if !path.is_file() {
            return Err(other(format!("there is no file {}", path.display())));
        }
        let mut snapshot = Self::connect(path)?;
        snapshot.texts("SELECT name FROM sqlite_schema LIMIT 1")?;
        Ok(snapshot)
    }

    /// Opens a file, or makes an empty one.
    pub(crate) fn connect(path: &Path) -> StoreResult<Self> {
        let location = std::path::absolute(path).map_err(other)?;
        let location = location
            .to_str()
            .ok_or_else(|| other("the path of a database must be UTF-8"))?;
        let mut conn = SqliteConnection::establish(location).map_err(other)?;
        conn.batch_execute(SETTINGS).map_err(store_error)?;
        Ok(Self {
            conn,
            path: path.to_owned(),
        })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the first column of a query's rows, as texts.
    pub(crate) fn texts(&mut self, query: &str) -> StoreResult<Vec<String>> {
        let mut texts = Vec::new();
        self.each_row(query, |row| {
            texts.push(match row.into_iter().next() {
                Some(Value::Text(text)) => text,
                Some(Value::Integer(number)) => number.to_string(),
                _ => String::new(),
            });
            Ok(())
        })?;
        Ok(texts)
    }

    /// Returns the integers of a query's rows.
    pub(crate) fn integers<const COLUMNS: usize>(&mut self, query: &str) -> StoreResult<Vec<[i64; COLUMNS]>> {
        let mut rows = Vec::new();
        self.each_row(query, |row| {
            let mut numbers = [0; COLUMNS];
            for (number, value) in numbers.iter_mut().zip(row) {
                if let Value::Integer(value) = value {
                    *number = value;
                }
            }
            rows.push(numbers);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs statements.
    pub(crate) fn batch(&mut self, statements: &str) -> StoreResult<()> {
        self.conn.batch_execute(statements).map_err(store_error)
    }

    /// Calls `each` with every row of a query.
    pub(crate) fn each_row(
        &mut self,
        query: &str,
        mut each: impl FnMut(Vec<Value>) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let rows = LoadConnection::load(&mut self.conn, diesel::sql_query(query)).map_err(store_error)?;
        for row in rows {
            let row = row.map_err(store_error)?;
            let mut values = Vec::with_capacity(row.field_count());
            for index in 0..row.field_count() {
                let field = row.get(index).ok_or_else(|| other("a row has too few columns"))?;
                let Some(mut value) = field.value() else {
                    values.push(Value::Null);
                    continue;
                };
                values.push(match value.value_type() {
                    None => Value::Null,
                    Some(SqliteType::Text) => Value::Text(value.read_text().to_owned()),
                    Some(SqliteType::Binary) => Value::Binary(value.read_blob().to_vec()),
                    Some(SqliteType::Integer | SqliteType::SmallInt | SqliteType::Long) => {
                        Value::Integer(value.read_long())
                    }
                    Some(SqliteType::Float | SqliteType::Double) => {
                        return Err(other(
                            "a column has a number that is not whole, which no table of Forecourt has",
                        ));
                    }
                });
            }
            each(values)?;
        }
        Ok(())
    }

    /// Returns the tables whose rows are the database's content, in the order in which they were made. Search indexes and their
    /// state are not among them: they follow from the rest.
    pub(crate) fn tables(&mut self) -> StoreResult<Vec<Table>> {
        let names = self.texts(&format!(
            "SELECT listed.name FROM pragma_table_list AS listed
                JOIN sqlite_schema AS made ON made.type = 'table' AND made.name = listed.name
             WHERE listed.schema = 'main' AND listed.type = 'table' AND substr(listed.name, 1, 7) <> 'sqlite_'
                AND listed.name NOT IN ('{MIGRATIONS}', '{RESTORE}')
                AND listed.name NOT IN (SELECT name || '_state' FROM pragma_table_list WHERE type = 'virtual')
             ORDER BY made.rowid"
        ))?;
        let mut tables = Vec::new();
        for name in names {
            let quoted_name = name.replace('\'', "''");
            let mut columns = self.texts(&format!("SELECT name FROM pragma_table_info('{quoted_name}')"))?;
            columns.sort_unstable_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
            tables.push(Table { name, columns });
        }
        Ok(tables)
    }

    /// Calls `each` with every row of a table, its values in the order of the columns' names.
    pub(crate) fn each_row_of(
        &mut self,
        table: &Table,
        each: impl FnMut(Vec<Value>) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let query = format!("SELECT {} FROM {}", table.column_list(), quoted(&table.name));
        self.each_row(&query, each)
    }

    /// Returns the digests of all tables. `progress` is called with the number of rows read so far.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn digests(&mut self, mut progress: impl FnMut(u64)) -> StoreResult<BTreeMap<String, TableDigest>> {
        let mut digests = BTreeMap::new();
        let mut done = 0;
        for table in self.tables()? {
            let mut hasher = TableHasher::default();
            self.each_row_of(&table, |row| {
                hasher.add(&table.columns, &row);
                done += 1;
                if done % PROGRESS_ROWS == 0 {
                    progress(done);
                }
                Ok(())
            })?;
            digests.insert(table.name, hasher.finish());
        }
        progress(done);
        Ok(digests)
    }

    /// Returns the number of rows of each table.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rows(&mut self) -> StoreResult<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for table in self.tables()? {
            let counted = self.integers::<1>(&format!("SELECT count(*) FROM {}", quoted(&table.name)))?;
            let count = counted.first().map_or(0, |[count]| count.unsigned_abs());
            counts.insert(table.name, count);
        }
        Ok(counts)
    }

    /// Returns the faults that SQLite itself finds in the file's structure: all of them, or those that are found quickly.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn structural_faults(&mut self, thorough: bool) -> StoreResult<Vec<String>> {
        let check = if thorough {
            "SELECT * FROM pragma_integrity_check"
        } else {
            "SELECT * FROM pragma_quick_check"
        };
        let mut faults = self.texts(check)?;
        faults.retain(|fault| fault != "ok");
        Ok(faults)
    }

    /// Returns the rows that refer to rows that are not there, by table and number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn dangling_references(&mut self) -> StoreResult<Vec<(String, String)>> {
        let mut dangling = Vec::new();
        let query = "SELECT \"table\", count(*) || ' rows refer to ' || parent FROM pragma_foreign_key_check GROUP BY 1, parent";
        self.each_row(query, |row| {
            if let [Value::Text(table), Value::Text(found)] = row.as_slice() {
                dangling.push((table.clone(), found.clone()));
            }
            Ok(())
        })?;
        Ok(dangling)
    }

    /// Returns a fact of the database about itself.
    ///
    /// # Errors
    /// The file cannot be read, or is not one of Forecourt's.
    pub fn meta(&mut self, key: &str) -> StoreResult<Option<String>> {
        let key = key.replace('\'', "''");
        let found = self.texts(&format!("SELECT value FROM forecourt_meta WHERE key = '{key}'"))?;
        Ok(found.into_iter().next())
    }

    /// Writes a fact of the database about itself.
    pub(crate) fn set_meta(&mut self, key: &str, value: &str) -> StoreResult<()> {
        let row = [Value::Text(key.to_owned()), Value::Text(value.to_owned())];
        let into = "INSERT OR REPLACE INTO forecourt_meta (key, value) VALUES";
        Insert { into, row: &row }
            .execute(&mut self.conn)
            .map_err(store_error)?;
        Ok(())
    }

    /// Adds a row.
    pub(crate) fn insert(&mut self, into: &str, row: &[Value]) -> StoreResult<()> {
        Insert { into, row }.execute(&mut self.conn).map_err(store_error)?;
        Ok(())
    }

    /// Ends the work on the file: everything is in it, and durable.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn close(mut self) -> StoreResult<()> {
        self.batch("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE")?;
        let path = self.path;
        drop(self.conn);
        let synced = std::fs::File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|error| StoreError::Unavailable(error.into()))
    }
}

/// The number of rows after which progress is reported.
pub(crate) const PROGRESS_ROWS: u64 = 1_000;

/// The table that an unfinished restore leaves: it names the backup.
pub(crate) const RESTORE: &str = "forecourt_restore";

/// An insert of one row, whose statement stays prepared.
struct Insert<'a> {
    /// The statement up to the values.
    into: &'a str,
    row: &'a [Value],
}

impl QueryFragment<Sqlite> for Insert<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(self.into);
        for (index, value) in self.row.iter().enumerate() {
            out.push_sql(if index == 0 { " (" } else { ", " });
            match value {
                Value::Null => out.push_bind_param::<Nullable<BigInt>, Option<i64>>(&None)?,
                Value::Integer(number) => out.push_bind_param::<BigInt, _>(number)?,
                Value::Text(text) => out.push_bind_param::<Text, _>(text)?,
                Value::Binary(bytes) => out.push_bind_param::<Binary, _>(bytes)?,
            }
        }
        out.push_sql(")");
        Ok(())
    }
}

impl QueryId for Insert<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl RunQueryDsl<SqliteConnection> for Insert<'_> {}
