//! The records that businesses own, and their removal with a business.

use diesel::prelude::*;
use forecourt_kernel::{BusinessId, StoreResult};

use super::OWNED_TABLES;
use super::session::{Session, Write};
use crate::schema::businesses;
use crate::statement::RunQueryDsl;

/// The number of a business's rows that one transaction removes.
const ROWS_AT_ONCE: usize = 500;

/// A table whose rows belong to businesses.
pub(super) struct OwnedTable {
    table: &'static str,
    /// The key that distinguishes its rows within one business.
    key: &'static str,
    /// The number of rows that are deleted at once: few where a row may be long.
    at_once: usize,
}

impl OwnedTable {
    pub(super) const fn new(table: &'static str, key: &'static str, at_once: usize) -> Self {
        Self { table, key, at_once }
    }
}

/// The tables that background work acts on. They are emptied before those of the areas.
const FIRST: &[OwnedTable] = &[
    OwnedTable::new("mails", "id", 100),
    OwnedTable::new("mail_quotas", "business_id", 1),
    OwnedTable::new("webhook_deliveries", "id", 500),
    OwnedTable::new("webhook_queues", "webhook_id", 500),
    OwnedTable::new("idempotency_keys", "key", 100),
    OwnedTable::new("webhooks", "id", 500),
    OwnedTable::new("events", "sequence", 100),
];

/// All tables, in the order in which they are emptied.
fn owned_tables() -> Vec<&'static OwnedTable> {
    FIRST.iter().chain(OWNED_TABLES.iter().copied().flatten()).collect()
}

impl Session<Write> {
    /// Removes some of a business's rows, and at last the business. Returns `false` if nothing is left.
    pub(super) async fn remove_owned(&mut self, business: BusinessId) -> StoreResult<bool> {
        let mut removed = 0;
        for OwnedTable { table, key, at_once } in owned_tables() {
            let statement = format!(
                "DELETE FROM {table} WHERE business_id = {business} AND ({key}) IN \
                 (SELECT {key} FROM {table} WHERE business_id = {business} LIMIT {at_once})"
            );
            let gone = diesel::sql_query(statement).execute(self.conn().await?).await?;
            removed += gone;
            if gone == *at_once || removed >= ROWS_AT_ONCE {
                return Ok(true);
            }
        }
        // The remaining rows refer to it, and go with it: its counters, and rows that were written since.
        diesel::delete(businesses::table.find(business.get()))
            .execute(self.conn().await?)
            .await?;
        Ok(false)
    }
}
