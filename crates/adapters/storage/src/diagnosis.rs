//! Looks at the database for those who run it. Nothing here changes anything.

use forecourt_kernel::{StoreError, StoreResult};
use serde::de::DeserializeOwned;

use crate::Storage;
use crate::error::other;
use crate::secrets::{Keyring, SecretKey, Unlocked};

/// A table with fewer rows is planned well without statistics.
const ROWS_WITHOUT_STATISTICS: i64 = 10_000;
/// The number of a webhook's latest deliveries that are looked at.
const LATEST: usize = 10;

/// The migrations that a database and this program do not have in common.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Migrations {
    /// The versions that the database lacks.
    pub pending: Vec<String>,
    /// The versions that this program does not know.
    pub newer: Vec<String>,
}

/// The age of what keeps PostgreSQL from forgetting old transactions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OldTransactions {
    /// The number of transactions since the oldest that is not frozen.
    pub age: i64,
    /// The seconds since the oldest open transaction began.
    pub oldest_open: i64,
    /// Replication slots that nothing has read from for an hour.
    pub idle_slots: Vec<String>,
}

/// A webhook that needs its owner's attention.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TroubledWebhook {
    /// The tag of its business.
    pub business: String,
    /// Its id.
    pub id: i64,
    /// Its URL.
    pub url: String,
    /// The error, or the status, of its latest attempt.
    pub error: String,
    /// The number of deliveries that wait.
    pub waiting: i64,
}

impl Storage {
    /// Returns the version of the engine as it calls itself, and as a number to compare.
    ///
    /// # Errors
    /// `Unavailable` if the database cannot be reached, as for all methods here.
    pub async fn engine_version(&self) -> StoreResult<(String, i64)> {
        let found = self.first_column(
            "SELECT json_array('SQLite ' || sqlite_version(), 0)",
            "SELECT json_build_array('PostgreSQL ' || current_setting('server_version'), \
             current_setting('server_version_num')::int)::text",
        );
        one(&found.await?)
    }

    /// Returns the value of a setting of PostgreSQL as sessions begin with it; `None` on SQLite, and for one that there is not.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn server_setting(&self, name: &'static str) -> StoreResult<Option<String>> {
        let query = format!("SELECT reset_val FROM pg_settings WHERE name = '{name}'");
        Ok(self.first_column("", &query).await?.into_iter().next())
    }

    /// Returns the value of SQLite's `synchronous`; `None` on PostgreSQL.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn synchronous(&self) -> StoreResult<Option<i64>> {
        let found = self
            .first_column("SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous", "")
            .await?;
        found.first().map(|text| text.parse().map_err(other)).transpose()
    }

    /// Compares the database's migrations with this program's.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn migrations(&self) -> StoreResult<Migrations> {
        let exists = self.first_column(
            "SELECT name FROM sqlite_schema WHERE name = '__diesel_schema_migrations'",
            "SELECT 'there' WHERE to_regclass('__diesel_schema_migrations') IS NOT NULL",
        );
        let applied = if exists.await?.is_empty() {
            Vec::new()
        } else {
            let query = "SELECT CAST(version AS TEXT) FROM __diesel_schema_migrations ORDER BY version";
            self.first_column(query, query).await?
        };
        let own = match self {
            Self::Sqlite(_) => crate::sqlite::migration_versions(),
            Self::Postgres(_) => crate::postgres::migration_versions(),
        };
        let own = own.map_err(other)?;
        let without = |all: &[String], others: &[String]| {
            let missing = all.iter().filter(|version| !others.contains(version));
            missing.cloned().collect()
        };
        Ok(Migrations {
            pending: without(&own, &applied),
            newer: without(&applied, &own),
        })
    }

    /// Tries keys, as [`Storage::unlock`] does, on a database that may not have been used with any: then returns `None`.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn try_keys(&self, key: SecretKey, previous: Option<SecretKey>) -> StoreResult<Option<Unlocked>> {
        let stored = match self {
            Self::Sqlite(engine) => engine.stored_keys(None).await?,
            Self::Postgres(engine) => engine.stored_keys(None).await?,
        };
        if stored.proof.is_none() {
            return Ok(None);
        }
        Keyring::unlock(key, previous, &stored).map(Some)
    }

    /// Returns the version of the collation that PostgreSQL's indexes were built with, and that of the system, where they differ.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn collation_change(&self) -> StoreResult<Option<(String, String)>> {
        let found = self.first_column(
            "",
            "SELECT json_build_array(datcollversion, pg_database_collation_actual_version(oid))::text FROM pg_database \
             WHERE datname = current_database() AND datcollversion <> pg_database_collation_actual_version(oid)",
        );
        found.await?.first().map(|text| read(text)).transpose()
    }

    /// Returns `true` if texts can be searched by their trigrams.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn has_trigrams(&self) -> StoreResult<bool> {
        let found = self.first_column(
            "SELECT 'built in'",
            "SELECT extname::text FROM pg_extension WHERE extname = 'pg_trgm'",
        );
        Ok(!found.await?.is_empty())
    }

    /// Returns the tables of many rows of which no statistics were ever gathered.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn tables_without_statistics(&self) -> StoreResult<Vec<String>> {
        let postgres = format!(
            "SELECT relname::text FROM pg_stat_user_tables WHERE n_live_tup > {ROWS_WITHOUT_STATISTICS} \
             AND last_analyze IS NULL AND last_autoanalyze IS NULL ORDER BY relname"
        );
        let found = self.first_column(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '__diesel_schema_migrations' \
             AND sql NOT LIKE '%WITHOUT ROWID%' AND sql NOT LIKE 'CREATE VIRTUAL%' \
             AND NOT EXISTS (SELECT 1 FROM sqlite_schema AS parent WHERE parent.sql LIKE 'CREATE VIRTUAL%' \
             AND sqlite_schema.name LIKE parent.name || '\\_%' ESCAPE '\\') ORDER BY name",
            &postgres,
        );
        let found = found.await?;
        if matches!(self, Self::Postgres(_)) {
            return Ok(found);
        }
        let has_statistics = "SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat1'";
        let known = if self.first_column(has_statistics, "").await?.is_empty() {
            Vec::new()
        } else {
            self.first_column("SELECT DISTINCT tbl FROM sqlite_stat1", "").await?
        };
        let mut without = Vec::new();
        for table in found.into_iter().filter(|table| !known.contains(table)) {
            // Counting would read every row.
            let query = format!("SELECT CAST(coalesce(max(rowid) - min(rowid), 0) AS TEXT) FROM \"{table}\"");
            let rows: i64 = one(&self.first_column(&query, "").await?)?;
            if rows > ROWS_WITHOUT_STATISTICS {
                without.push(table);
            }
        }
        Ok(without)
    }

    /// Returns the age of old transactions; `None` on SQLite.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn old_transactions(&self) -> StoreResult<Option<OldTransactions>> {
        let ages = self.first_column(
            "",
            "SELECT json_build_array((SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()), \
             (SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint FROM pg_stat_activity))::text",
        );
        let Some(ages) = ages.await?.into_iter().next() else {
            return Ok(None);
        };
        let (age, oldest_open) = read(&ages)?;
        // PostgreSQL notes that time since version 17.
        let idle_slots = self.first_column(
            "",
            "SELECT slot_name::text FROM pg_replication_slots AS slot WHERE NOT active \
             AND (to_jsonb(slot) ->> 'inactive_since')::timestamptz < now() - interval '1 hour' ORDER BY slot_name",
        );
        Ok(Some(OldTransactions {
            age,
            oldest_open,
            idle_slots: idle_slots.await?,
        }))
    }

    /// Returns the bytes of the log that replication slots keep PostgreSQL from removing; 0 on SQLite.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn kept_log(&self) -> StoreResult<i64> {
        let found = self.first_column(
            "SELECT '0'",
            "SELECT coalesce(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
             ELSE pg_current_wal_lsn() END, restart_lsn)), 0)::bigint::text FROM pg_replication_slots",
        );
        one(&found.await?)
    }

    /// Returns the faults that SQLite's own check finds.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn integrity_faults(&self) -> StoreResult<Vec<String>> {
        let found = self
            .first_column("SELECT quick_check FROM pragma_quick_check LIMIT 10", "")
            .await?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

    /// Returns the name of PostgreSQL's database.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn database_name(&self) -> StoreResult<String> {
        Ok(self
            .first_column("", "SELECT current_database()::text")
            .await?
            .into_iter()
            .next()
            .unwrap_or_default())
    }

    /// Returns the time, in epoch seconds, since which the oldest waiting mail is queued.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn oldest_mail(&self) -> StoreResult<Option<i64>> {
        let query = "SELECT CAST(min(coalesce(queued, due)) AS TEXT) FROM mails HAVING count(*) > 0";
        let found = self.first_column(query, query).await?;
        found.first().map(|text| text.parse().map_err(other)).transpose()
    }

    /// Returns the URLs of active webhooks.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn webhook_urls(&self) -> StoreResult<Vec<String>> {
        let (yes, no) = ("active", "deleted IS NULL");
        let query = format!("SELECT DISTINCT url FROM webhooks WHERE {yes} AND {no} ORDER BY url LIMIT 1000");
        self.first_column(&query, &query).await
    }

    /// Returns active webhooks whose last ten attempts failed.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn failing_webhooks(&self) -> StoreResult<Vec<TroubledWebhook>> {
        let latest = format!(
            "SELECT attempts, delivered_at FROM webhook_deliveries AS delivery WHERE delivery.business_id = webhook.business_id \
             AND delivery.webhook_id = webhook.id AND delivery.attempts > 0 ORDER BY delivery.id DESC LIMIT {LATEST}"
        );
        let condition = format!(
            "webhook.active AND (SELECT coalesce(sum(attempts), 0) >= {LATEST} AND count(delivered_at) = 0 \
             FROM ({latest}) AS latest)"
        );
        self.troubled(&condition).await
    }

    /// Returns disabled webhooks for which deliveries wait.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn stopped_webhooks(&self) -> StoreResult<Vec<TroubledWebhook>> {
        let waiting = "SELECT 1 FROM webhook_deliveries AS delivery WHERE delivery.business_id = webhook.business_id \
                       AND delivery.webhook_id = webhook.id AND delivery.due IS NOT NULL";
        self.troubled(&format!("NOT webhook.active AND EXISTS ({waiting})"))
            .await
    }

    async fn troubled(&self, condition: &str) -> StoreResult<Vec<TroubledWebhook>> {
        let of = "delivery.business_id = webhook.business_id AND delivery.webhook_id = webhook.id";
        let query = |array: &str, text: &str| {
            format!(
                "SELECT {array}(business.tag, webhook.id, webhook.url, \
                 coalesce((SELECT coalesce(delivery.error, 'answered ' || delivery.response_code) FROM webhook_deliveries AS delivery \
                 WHERE {of} AND delivery.attempts > 0 ORDER BY delivery.id DESC LIMIT 1), 'nothing was sent'), \
                 (SELECT count(*) FROM webhook_deliveries AS delivery WHERE {of} AND delivery.due IS NOT NULL)){text} \
                 FROM webhooks AS webhook JOIN businesses AS business ON business.id = webhook.business_id \
                 WHERE webhook.deleted IS NULL AND business.deleted IS NULL AND {condition} \
                 ORDER BY webhook.business_id, webhook.id LIMIT 100"
            )
        };
        let found = self
            .first_column(&query("json_array", ""), &query("json_build_array", "::text"))
            .await?;
        let webhook = |text: &String| {
            let (business, id, url, error, waiting) = read(text)?;
            Ok(TroubledWebhook {
                business,
                id,
                url,
                error,
                waiting,
            })
        };
        found.iter().map(webhook).collect()
    }

    /// Returns the rows of a query of one text column, on the engine that it is for; of an empty one none.
    async fn first_column(&self, sqlite: &str, postgres: &str) -> StoreResult<Vec<String>> {
        match self {
            Self::Sqlite(_) if sqlite.is_empty() => Ok(Vec::new()),
            Self::Postgres(_) if postgres.is_empty() => Ok(Vec::new()),
            Self::Sqlite(engine) => engine.first_column(sqlite).await,
            Self::Postgres(engine) => engine.first_column(postgres).await,
        }
    }
}

fn read<T: DeserializeOwned>(text: &str) -> StoreResult<T> {
    serde_json::from_str(text).map_err(other)
}

fn one<T: DeserializeOwned>(rows: &[String]) -> StoreResult<T> {
    let row = rows
        .first()
        .ok_or_else(|| StoreError::Other("the database answered nothing".into()))?;
    read(row)
}
