//! The changes that make a copy a database of its own.

use forecourt_kernel::{Epoch, Random, StoreResult, Timestamp};

use super::file::{Snapshot, quoted};
use crate::error::other;
use crate::outgoing::Outgoing;
use crate::state::random_uuid;

/// The distance from the highest id to the first one that is given out after a restore. Others may know ids that were given out
/// after the backup.
const ID_GAP: i64 = 10_000;

/// Tables whose rows are true of the running servers of one database alone.
const OF_SERVERS: [&str; 3] = ["servers", "console_sessions", "leases"];

/// A copy's new identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The epoch that begins with the restore.
    pub epoch: Epoch,
    /// The installation: the former one, or a new one for a copy beside it.
    pub installation: String,
    /// The number of keys that were revoked, of webhooks that were disabled, and of mails that were dropped.
    pub disarmed: Option<[u64; 3]>,
}

impl Snapshot {
    /// Makes the file a restored database: in a new epoch, with outgoing held, and with ids that were never given out. For a copy
    /// beside the original, keys, webhooks and waiting mails are disarmed too.
    ///
    /// # Errors
    /// The file cannot be written, or is not one of Forecourt's.
    pub fn renew(&mut self, now: Timestamp, copy: Option<&dyn Random>) -> StoreResult<Renewal> {
        self.leave_behind()?;
        let former = self
            .meta("epoch")?
            .map_or(Ok(0), |epoch| epoch.parse())
            .map_err(other)?;
        let epoch = Epoch::new(former).raised(now);
        self.set_meta("epoch", &epoch.number().to_string())?;
        let held = Outgoing {
            is_held: true,
            since: Some(now),
        };
        self.set_meta("outgoing", &held.stored())?;
        let tables = self.tables()?;
        let has = |name: &str| tables.iter().any(|table| table.name == name);
        for table in OF_SERVERS.into_iter().filter(|table| has(table)) {
            self.batch(&format!("DELETE FROM {}", quoted(table)))?;
        }
        // Servers reclaim what was leased and is overdue.
        self.batch("UPDATE webhook_deliveries SET lease = 0 WHERE lease IS NOT NULL")?;
        self.batch("UPDATE sqlite_sequence SET seq = 0 WHERE seq IS NULL")?;
        for (table, last) in self.last_ids()? {
            let highest = self.integers::<1>(&format!("SELECT max(id) FROM {}", quoted(&table)))?;
            let highest = highest.first().map_or(0, |[id]| *id).max(last);
            self.set_last_ids(&[(table, highest + ID_GAP - 1)])?;
        }
        let disarmed = copy.map(|random| self.disarm(now, random)).transpose()?;
        Ok(Renewal {
            epoch,
            installation: self.meta("installation")?.unwrap_or_default(),
            disarmed,
        })
    }

    fn disarm(&mut self, now: Timestamp, random: &dyn Random) -> StoreResult<[u64; 3]> {
        let mut counts = [0; 3];
        let queries = [
            "SELECT count(*) FROM api_keys WHERE revoked IS NULL",
            "SELECT count(*) FROM webhooks WHERE active AND deleted IS NULL",
            "SELECT count(*) FROM mails",
        ];
        for (count, query) in counts.iter_mut().zip(queries) {
            *count = self
                .integers::<1>(query)?
                .first()
                .map_or(0, |[rows]| rows.unsigned_abs());
        }
        let now = now.epoch_seconds();
        self.batch(&format!(
            "UPDATE api_keys SET revoked = {now} WHERE revoked IS NULL;
             UPDATE webhooks SET active = 0, updated = {now}, version = version + 1 WHERE active;
             UPDATE webhook_queues SET active = 0;
             UPDATE counters SET number = 0 WHERE kind = 'subscribers';
             DELETE FROM mails"
        ))?;
        self.set_meta("installation", &random_uuid(random))?;
        Ok(counts)
    }
}
