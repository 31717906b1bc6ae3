//! What the database knows of itself.

use diesel::prelude::*;
use forecourt_kernel::{BusinessId, StoreResult};

use super::{Conn, Engine, Session, dialect};
use crate::error::store_error;
use crate::models::MetaRow;
use crate::pool::Effort;
use crate::schema::forecourt_meta;
use crate::statement::RunQueryDsl;
use crate::{SchemaInfo, VERSION};

const SCHEMA: &str = "schema";
const MIGRATED_BY: &str = "migrated_by";
const SECRET_PROOF: &str = "secret_proof";
/// As [`version_check`](crate::version_check) asks for it.
const LEAST_VERSION: &str = "least_version";

impl Engine {
    /// How new the schema is, and who made it so.
    ///
    /// # Errors
    /// `Other` on a database that was never migrated, `Unavailable` if it cannot be reached.
    pub async fn schema(&self) -> StoreResult<SchemaInfo> {
        let mut conn = self.read(Effort::Light).await?;
        Ok(SchemaInfo {
            version: find(&mut conn, SCHEMA).await?,
            migrated_by: find(&mut conn, MIGRATED_BY).await?,
        })
    }

    /// Begins a transaction for a session of the stores, unless the schema has become too new for this version to write to it.
    pub(super) async fn begin_writing(&self, business: Option<BusinessId>) -> StoreResult<Session> {
        let mut session = self.begin_for(business).await?;
        let check = self.version_check();
        if check.is_due() {
            check.note(find(&mut session, LEAST_VERSION).await?);
        }
        check.verdict()?;
        Ok(session)
    }

    /// What proves the secret key that this database is used with: `proof` from now on, if there was nothing yet.
    pub(crate) async fn secret_proof(&self, proof: String) -> StoreResult<String> {
        if let Some(stored) = find(&mut *self.read(Effort::Light).await?, SECRET_PROOF).await? {
            return Ok(stored);
        }
        let mut session = self.begin().await?;
        let row = MetaRow {
            key: SECRET_PROOF.to_owned(),
            value: proof.clone(),
        };
        diesel::insert_into(forecourt_meta::table)
            .values(row)
            .on_conflict_do_nothing()
            .execute(&mut *session)
            .await
            .map_err(store_error)?;
        // Another server may have been first.
        let stored = find(&mut session, SECRET_PROOF).await?;
        session.commit().await?;
        Ok(stored.unwrap_or(proof))
    }

    /// Notes that this server brought the schema to `version`.
    pub(crate) async fn record_schema(&self, version: &str) -> StoreResult<()> {
        let facts = [(SCHEMA, version), (MIGRATED_BY, VERSION)];
        let mut session = self.begin().await?;
        put(
            &mut session,
            facts
                .map(|(key, value)| MetaRow {
                    key: key.to_owned(),
                    value: value.to_owned(),
                })
                .to_vec(),
        )
        .await?;
        session.commit().await
    }
}

/// The fact called `key`, or none if it was never written.
async fn find(conn: &mut Conn, key: &str) -> StoreResult<Option<String>> {
    forecourt_meta::table
        .find(key)
        .select(forecourt_meta::value)
        .get_result(conn)
        .await
        .optional()
        .map_err(store_error)
}

/// Writes facts, each in the place of the one with its key.
async fn put(conn: &mut Conn, facts: Vec<MetaRow>) -> StoreResult<()> {
    let keys: Vec<&str> = facts.iter().map(|fact| fact.key.as_str()).collect();
    diesel::delete(forecourt_meta::table.filter(forecourt_meta::key.eq_any(keys)))
        .execute(conn)
        .await
        .map_err(store_error)?;
    dialect::insert_many!(conn, forecourt_meta::table, facts).map_err(store_error)?;
    Ok(())
}
