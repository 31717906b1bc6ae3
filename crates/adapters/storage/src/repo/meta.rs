//! What the database knows of itself.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use forecourt_kernel::StoreResult;

use super::{Conn, dialect};
use crate::error::store_error;
use crate::models::MetaRow;
use crate::schema::forecourt_meta;

/// The fact called `key`, or none if it was never written.
pub(crate) async fn find(conn: &mut Conn, key: &str) -> StoreResult<Option<String>> {
    forecourt_meta::table
        .find(key)
        .select(forecourt_meta::value)
        .get_result(conn)
        .await
        .optional()
        .map_err(store_error)
}

/// Writes facts, each in the place of the one with its key.
pub(crate) async fn put(conn: &mut Conn, facts: Vec<MetaRow>) -> StoreResult<()> {
    let keys = facts.iter().map(|fact| fact.key.as_str());
    diesel::delete(forecourt_meta::table.filter(forecourt_meta::key.eq_any(keys)))
        .execute(conn)
        .await
        .map_err(store_error)?;
    dialect::insert_many!(conn, forecourt_meta::table, facts).map_err(store_error)?;
    Ok(())
}
