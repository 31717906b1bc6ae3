//! The records of files.

use async_trait::async_trait;
use diesel::prelude::*;
use forecourt_files::{FileKind, FileName, FileReader, FileRegister, StoredFile};
use forecourt_kernel::{BusinessId, StoreError, StoreResult, Timestamp};

use super::owned::OwnedTable;
use super::session::{Mode, Session, Write};
use super::{Conn, Db, dialect};
use crate::error::other;
use crate::statement::RunQueryDsl;

pub(super) const OWNED_TABLES: &[OwnedTable] = &[OwnedTable::new("files", "name", 500)];

diesel::table! {
    files (business_id, name) {
        business_id -> BigInt,
        name -> Text,
        kind -> Text,
        size -> BigInt,
        sha256 -> Text,
        stored -> BigInt,
        public -> Bool,
    }
}

diesel::table! {
    // Kept by triggers.
    file_totals (business_id) {
        business_id -> BigInt,
        bytes -> BigInt,
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = files, check_for_backend(Db), treat_none_as_default_value = false)]
struct FileRow {
    business_id: i64,
    name: String,
    kind: String,
    size: i64,
    sha256: String,
    stored: i64,
    public: bool,
}

impl FileRow {
    fn new(business: BusinessId, file: &StoredFile) -> StoreResult<Self> {
        Ok(Self {
            business_id: business.get(),
            name: file.name.to_string(),
            kind: file.kind.extension().to_owned(),
            size: i64::try_from(file.size).map_err(other)?,
            sha256: file.sha256.clone(),
            stored: file.stored.epoch_seconds(),
            public: file.public,
        })
    }
}

impl TryFrom<FileRow> for StoredFile {
    type Error = StoreError;

    fn try_from(row: FileRow) -> StoreResult<Self> {
        let mut kinds = FileKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.extension() == row.kind);
        Ok(Self {
            kind: kind.ok_or_else(|| other(format!("file {} is of no kind that is known", row.name)))?,
            name: row.name.parse().map_err(other)?,
            size: u64::try_from(row.size).map_err(other)?,
            sha256: row.sha256,
            stored: Timestamp::from_epoch_seconds(row.stored),
            public: row.public,
        })
    }
}

pub(super) async fn file_bytes(conn: &mut Conn, business: BusinessId) -> StoreResult<u64> {
    let bytes: Option<i64> = file_totals::table
        .find(business.get())
        .select(file_totals::bytes)
        .get_optional(conn)
        .await?;
    u64::try_from(bytes.unwrap_or_default()).map_err(other)
}

#[async_trait]
impl<M: Mode> FileReader for Session<M> {
    async fn file(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Option<StoredFile>> {
        let row: Option<FileRow> = files::table
            .find((business.get(), name.as_str()))
            .select(FileRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(StoredFile::try_from).transpose()
    }

    async fn file_bytes(&mut self, business: BusinessId) -> StoreResult<u64> {
        file_bytes(self.conn().await?, business).await
    }

    async fn files_after(
        &mut self,
        business: BusinessId,
        after: Option<&FileName>,
        limit: u32,
    ) -> StoreResult<Vec<StoredFile>> {
        let rows: Vec<FileRow> = files::table
            .filter(files::business_id.eq(business.get()))
            // No name comes before the empty one.
            .filter(files::name.gt(after.map_or("", FileName::as_str)))
            .order(files::name)
            .limit(limit.into())
            .select(FileRow::as_select())
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(StoredFile::try_from).collect()
    }
}

#[async_trait]
impl FileRegister for Session<Write> {
    async fn insert_files(&mut self, business: BusinessId, files: &[StoredFile]) -> StoreResult<()> {
        let rows = files.iter().map(|file| FileRow::new(business, file));
        let rows = rows.collect::<StoreResult<Vec<FileRow>>>()?;
        dialect::insert_many!(self.conn().await?, files::table, rows).map(drop)
    }

    async fn remove_files(&mut self, business: BusinessId, name: &FileName) -> StoreResult<Vec<FileName>> {
        // After the key comes a hyphen or a full stop; the bound is the next character of the alphabet.
        let sharing = files::table
            .filter(files::business_id.eq(business.get()))
            .filter(files::name.ge(format!("{}-", name.key())))
            .filter(files::name.lt(format!("{}/", name.key())));
        let gone: Vec<String> = diesel::delete(sharing)
            .returning(files::name)
            .load(self.conn().await?)
            .await?;
        gone.iter().map(|name| name.parse().map_err(other)).collect()
    }
}
