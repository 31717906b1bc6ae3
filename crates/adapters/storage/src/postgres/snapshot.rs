//! Copies of a whole database, from PostgreSQL into a SQLite file and back.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;

use forecourt_kernel::{BoxError, StoreResult};
use futures_util::StreamExt as _;
use tokio::runtime::Handle;
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutRow, BinaryCopyOutStream};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};

use super::link::Link;
use crate::error::{other, store_error};
use crate::snapshot::{Loading, PROGRESS_ROWS, RESTORE, Snapshot, Table, TableDigest, TableHasher, Value, quoted};

/// The number of rows that are handed over at once.
const CHUNK: usize = 256;

/// A connection for copying. Its methods block, on a thread that may.
pub(crate) struct Copier {
    pub(super) link: Link,
    pub(super) runtime: Handle,
}

impl Copier {
    fn batch(&self, statements: &str) -> StoreResult<()> {
        self.runtime.block_on(self.link.batch(statements)).map_err(store_error)
    }

    fn texts(&self, query: &str) -> StoreResult<Vec<String>> {
        self.runtime.block_on(self.link.texts(query)).map_err(store_error)
    }

    /// Returns the types of all columns, by table and column.
    fn columns(&self) -> StoreResult<BTreeMap<String, BTreeMap<String, Type>>> {
        let described = self.texts(&format!(
            "SELECT table_name || E'\\t' || column_name || E'\\t' || udt_name
             FROM information_schema.columns JOIN pg_tables ON schemaname = table_schema AND tablename = table_name
             WHERE table_schema = current_schema() AND table_name NOT IN ('__diesel_schema_migrations', '{RESTORE}')"
        ))?;
        let mut tables = BTreeMap::<_, BTreeMap<_, _>>::new();
        for line in described {
            let mut parts = line.splitn(3, '\t').map(str::to_owned);
            let (Some(table), Some(column), Some(of)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let of = match of.as_str() {
                "int8" => Type::INT8,
                "int4" => Type::INT4,
                "bool" => Type::BOOL,
                "text" => Type::TEXT,
                "bytea" => Type::BYTEA,
                _ => {
                    return Err(other(format!(
                        "the column {column} of {table} has the type {of}, which no copy knows"
                    )));
                }
            };
            tables.entry(table).or_default().insert(column, of);
        }
        Ok(tables)
    }

    /// Writes all rows, as of one moment, into a new file with the schema of a migration.
    pub(crate) fn dump(&self, to: &Path, schema: &str, mut progress: impl FnMut(u64)) -> StoreResult<Snapshot> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let mut loading = Loading::begin(to, schema)?;
        let columns = self.columns()?;
        let tables = loading.tables().to_vec();
        check_same(&tables, &columns)?;
        let mut done = 0;
        for table in &tables {
            let into = Loading::insert_into(table);
            self.each_row(table, &columns, |row| {
                loading.insert(&into, &row)?;
                done += 1;
                if done % PROGRESS_ROWS == 0 {
                    progress(done);
                }
                Ok(())
            })?;
        }
        let last_ids = self.last_ids()?;
        self.batch("COMMIT")?;
        progress(done);
        loading.finish(&last_ids)
    }

    /// Returns the digests of all tables, as of one moment.
    pub(crate) fn digests(&self, mut progress: impl FnMut(u64)) -> StoreResult<BTreeMap<String, TableDigest>> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let columns = self.columns()?;
        let mut digests = BTreeMap::new();
        let mut done = 0;
        for name in columns.keys() {
            let table = Table {
                name: name.clone(),
                columns: columns
                    .get(name)
                    .into_iter()
                    .flat_map(BTreeMap::keys)
                    .cloned()
                    .collect(),
            };
            let mut hasher = TableHasher::default();
            self.each_row(&table, &columns, |row| {
                hasher.add(&table.columns, &row);
                done += 1;
                if done % PROGRESS_ROWS == 0 {
                    progress(done);
                }
                Ok(())
            })?;
            digests.insert(table.name, hasher.finish());
        }
        self.batch("COMMIT")?;
        Ok(digests)
    }

    /// Calls `each` with every row of a table: in the order of their ids if they have any, by which search indexes are made.
    fn each_row(
        &self,
        table: &Table,
        columns: &BTreeMap<String, BTreeMap<String, Type>>,
        mut each: impl FnMut(Vec<Value>) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let known = columns.get(&table.name);
        let types: Option<Vec<Type>> = table.columns.iter().map(|column| known?.get(column).cloned()).collect();
        let types = types.ok_or_else(|| other(format!("the table {} has other columns", table.name)))?;
        let is_numbered = known.and_then(|known| known.get("id")) == Some(&Type::INT8);
        let order = if is_numbered { " ORDER BY id" } else { "" };
        let query = format!(
            "COPY (SELECT {} FROM {}{order}) TO STDOUT (FORMAT binary)",
            table.column_list(),
            quoted(&table.name)
        );
        let rows = self.runtime.block_on(self.link.client().copy_out(&query));
        let rows = rows.map_err(|error| store_error(self.link.failure(&error)))?;
        let mut chunks = pin!(BinaryCopyOutStream::new(rows, &types).ready_chunks(CHUNK));
        while let Some(chunk) = self.runtime.block_on(chunks.next()) {
            for row in chunk {
                let row = row.map_err(|error| store_error(self.link.failure(&error)))?;
                let values = types.iter().enumerate().map(|(index, of)| value(&row, index, of));
                each(values.collect::<Result<_, _>>().map_err(other)?)?;
            }
        }
        Ok(())
    }

    /// Returns the tables that number their rows, with the number given out last.
    fn last_ids(&self) -> StoreResult<Vec<(String, i64)>> {
        let mut last = Vec::new();
        for (table, sequence) in self.sequences()? {
            let found = self.texts(&format!(
                "SELECT (CASE WHEN is_called THEN last_value ELSE last_value - 1 END)::text FROM {sequence}"
            ))?;
            let number = found.first().map_or("0", String::as_str).parse().map_err(other)?;
            last.push((table, number));
        }
        Ok(last)
    }

    /// Returns the sequences that number rows, by table.
    fn sequences(&self) -> StoreResult<Vec<(String, String)>> {
        let found = self.texts(
            "SELECT table_name || E'\\t' || pg_get_serial_sequence(quote_ident(table_name), column_name)
             FROM information_schema.columns
             WHERE table_schema = current_schema() AND is_identity = 'YES' ORDER BY 1",
        )?;
        let split =
            |line: &String| Some(line.split_once('\t')?).map(|(table, name)| (table.to_owned(), name.to_owned()));
        Ok(found.iter().filter_map(split).collect())
    }

    /// Fills the tables, which have no rows but those that migrations wrote, from a file. All of it is one transaction, in which
    /// indexes and references are made at the end. Returns the number of rows.
    pub(crate) fn load(
        &self,
        from: &mut Snapshot,
        skipped: &[&str],
        mut progress: impl FnMut(u64),
    ) -> StoreResult<u64> {
        let (columns, tables) = (self.columns()?, from.tables()?);
        check_same(&tables, &columns)?;
        self.batch("BEGIN; SET LOCAL maintenance_work_mem = '256MB'; SET LOCAL synchronous_commit = on")?;
        let suspended = self.suspend()?;
        let mut done = 0;
        for table in &tables {
            self.batch(&format!("DELETE FROM {}", quoted(&table.name)))?;
        }
        for table in &tables {
            self.load_table(from, table, &columns, || {
                done += 1;
                if done % PROGRESS_ROWS == 0 {
                    progress(done);
                }
            })?;
        }
        for key in skipped {
            self.batch(&format!("DELETE FROM forecourt_meta WHERE key = '{key}'"))?;
        }
        let last_ids: BTreeMap<String, i64> = from.last_ids()?.into_iter().collect();
        for (table, sequence) in self.sequences()? {
            let last = last_ids.get(&table).copied().unwrap_or_default();
            if last > 0 {
                self.texts(&format!(
                    "SELECT setval('{}', {last}, true)::text",
                    sequence.replace('\'', "''")
                ))?;
            }
        }
        for statement in suspended {
            self.batch(&statement)?;
        }
        self.batch("COMMIT")?;
        progress(done);
        self.batch("VACUUM (ANALYZE)")?;
        Ok(done)
    }

    /// Drops indexes and references, and turns triggers off; returns the statements that undo this.
    fn suspend(&self) -> StoreResult<Vec<String>> {
        const REFERENCES: &str =
            "FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace";
        const INDEXES: &str = "FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE relnamespace = current_schema()::regnamespace
                AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)";
        const TRIGGERS: &str = "FROM pg_tables WHERE schemaname = current_schema()";
        let mut undo = self.texts(&format!(
            "SELECT pg_get_indexdef(indexrelid) {INDEXES} ORDER BY relname"
        ))?;
        undo.extend(self.texts(&format!(
            "SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) {REFERENCES}"
        ))?);
        undo.extend(self.texts(&format!(
            "SELECT format('ALTER TABLE %I ENABLE TRIGGER USER', tablename) {TRIGGERS}"
        ))?);
        // All are found before any is dropped: a reference may need an index.
        let mut drops = Vec::new();
        for query in [
            format!("SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) {REFERENCES}"),
            format!("SELECT format('DROP INDEX %s', indexrelid::regclass) {INDEXES}"),
            format!("SELECT format('ALTER TABLE %I DISABLE TRIGGER USER', tablename) {TRIGGERS}"),
        ] {
            drops.extend(self.texts(&query)?);
        }
        for statement in drops {
            self.batch(&statement)?;
        }
        Ok(undo)
    }

    fn load_table(
        &self,
        from: &mut Snapshot,
        table: &Table,
        columns: &BTreeMap<String, BTreeMap<String, Type>>,
        mut progress: impl FnMut(),
    ) -> StoreResult<()> {
        let failed = |error: tokio_postgres::Error| store_error(self.link.failure(&error));
        let known = columns.get(&table.name);
        let types: Option<Vec<Type>> = table.columns.iter().map(|column| known?.get(column).cloned()).collect();
        let types = types.ok_or_else(|| other(format!("the table {} has other columns", table.name)))?;
        let statement = format!(
            "COPY {} ({}) FROM STDIN (FORMAT binary)",
            quoted(&table.name),
            table.column_list()
        );
        let sink = self
            .runtime
            .block_on(self.link.client().copy_in(&statement))
            .map_err(failed)?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        let mut chunk: Vec<Vec<Value>> = Vec::with_capacity(CHUNK);
        let mut send = |chunk: &mut Vec<Vec<Value>>| {
            self.runtime.block_on(async {
                for row in chunk.drain(..) {
                    let cells: Vec<Cell> = row.into_iter().map(Cell).collect();
                    let cells: Vec<&(dyn ToSql + Sync)> = cells.iter().map(|cell| cell as _).collect();
                    writer.as_mut().write(&cells).await?;
                }
                Ok(())
            })
        };
        from.each_row_of(table, |row| {
            chunk.push(row);
            progress();
            if chunk.len() < CHUNK {
                return Ok(());
            }
            send(&mut chunk).map_err(failed)
        })?;
        send(&mut chunk).map_err(failed)?;
        self.runtime.block_on(writer.finish()).map_err(failed)?;
        Ok(())
    }

    /// Drops the tables and functions of the schema, but for those of extensions.
    pub(crate) fn empty(&self) -> StoreResult<()> {
        self.batch(
            "DO $$ DECLARE it text; BEGIN
                 FOR it IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema() LOOP
                     EXECUTE 'DROP TABLE IF EXISTS ' || it || ' CASCADE';
                 END LOOP;
                 FOR it IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
                     AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e') LOOP
                     EXECUTE 'DROP FUNCTION IF EXISTS ' || it || ' CASCADE';
                 END LOOP;
             END $$",
        )
    }
}

/// Checks that both engines have the same tables and columns: no copy leaves one out.
fn check_same(tables: &[Table], columns: &BTreeMap<String, BTreeMap<String, Type>>) -> StoreResult<()> {
    let ours: BTreeMap<&str, Vec<&str>> = tables
        .iter()
        .map(|table| (table.name.as_str(), table.columns.iter().map(String::as_str).collect()))
        .collect();
    let theirs: BTreeMap<&str, Vec<&str>> = columns
        .iter()
        .map(|(table, columns)| (table.as_str(), columns.keys().map(String::as_str).collect()))
        .collect();
    let differing = ours
        .keys()
        .chain(theirs.keys())
        .find(|table| ours.get(*table) != theirs.get(*table));
    match differing {
        Some(table) => Err(other(format!(
            "the table {table} is not the same on SQLite and PostgreSQL"
        ))),
        None => Ok(()),
    }
}

fn value(row: &BinaryCopyOutRow, index: usize, of: &Type) -> Result<Value, tokio_postgres::Error> {
    Ok(match *of {
        Type::INT8 => row.try_get::<Option<i64>>(index)?.map_or(Value::Null, Value::Integer),
        Type::INT4 => integer(row.try_get::<Option<i32>>(index)?),
        Type::BOOL => integer(row.try_get::<Option<bool>>(index)?),
        Type::BYTEA => row
            .try_get::<Option<Vec<u8>>>(index)?
            .map_or(Value::Null, Value::Binary),
        _ => row.try_get::<Option<String>>(index)?.map_or(Value::Null, Value::Text),
    })
}

fn integer(number: Option<impl Into<i64>>) -> Value {
    number.map_or(Value::Null, |number| Value::Integer(number.into()))
}

/// A value on its way into a column.
#[derive(Debug)]
struct Cell(Value);

impl ToSql for Cell {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => match *of {
                Type::INT8 => number.to_sql(of, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(of, out),
                Type::BOOL => (*number != 0).to_sql(of, out),
                _ => Err("a number cannot be stored in that column".into()),
            },
            Value::Text(text) if *of == Type::TEXT => text.to_sql(of, out),
            Value::Binary(bytes) if *of == Type::BYTEA => bytes.to_sql(of, out),
            Value::Text(_) | Value::Binary(_) => Err("a text cannot be stored in that column".into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, BoxError> {
        self.to_sql(of, out)
    }
}
