//! Checks of the database.

use std::{path::PathBuf, thread};

use forecourt_kernel::Clock as _;
use forecourt_storage::{Config, Migrations, OldTransactions, RunningServer, Storage};
use rustix::fs::statfs;

use super::{Checked, Context, Finding, Unchecked};
use crate::{output::chain, settings::Settings, system::SystemClock};

/// The oldest version of PostgreSQL that the tests run on.
const OLDEST_POSTGRES: i64 = 150_000;
const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;
/// A file that is longer is not read from end to end.
const MAX_CHECKED: u64 = GIB;
/// The bytes of the log that replication slots may keep.
const MAX_KEPT_LOG: i64 = 10 * 1024 * 1024 * 1024;
/// The number of transactions at which PostgreSQL should have frozen old rows long ago.
const MAX_AGE: i64 = 1_000_000_000;
/// The seconds for which a transaction may be open, and for which servers of two versions may run together.
const HOUR: i64 = 3_600;

/// Opens the database of the settings; a file is not made.
pub(super) async fn open(settings: &Settings) -> Result<Storage, String> {
    if let Some(file) = file(settings)
        && !file.exists()
    {
        return Err(format!("there is no file {}", file.display()));
    }
    let storage = Storage::open(&Config::new(settings.database_url.reveal())).await;
    let storage = storage.map_err(|error| chain(&error))?;
    storage.engine_version().await.map_err(|error| chain(&error))?;
    Ok(storage)
}

/// Returns the file of an embedded database.
pub(super) fn file(settings: &Settings) -> Option<PathBuf> {
    settings
        .database_url
        .reveal()
        .strip_prefix("sqlite://")
        .map(PathBuf::from)
}

pub(super) async fn reach(context: &Context) -> Checked {
    let shown = context.settings()?.database_url.shown();
    Ok(match &context.storage {
        Ok(storage) => {
            let (version, _) = storage.engine_version().await?;
            Finding::ok(format!("{version} at {shown}"))
        }
        Err(fault) => Finding::fail(
            format!("{shown}: {fault}"),
            "forecourt migrate makes a new database; else correct DATABASE_URL, or start its server",
        ),
    })
}

pub(super) async fn version(context: &Context) -> Checked {
    let (name, number) = context.storage()?.engine_version().await?;
    Ok(judge_version(&name, number))
}

pub(super) fn judge_version(name: &str, number: i64) -> Finding {
    if number == 0 || number >= OLDEST_POSTGRES {
        Finding::ok(name)
    } else {
        Finding::warn(
            format!("{name} is older than 15"),
            "upgrade PostgreSQL to 15 or later with pg_upgrade",
        )
    }
}

pub(super) async fn schema(context: &Context) -> Checked {
    let migrations = context.storage()?.migrations().await?;
    Ok(judge_schema(
        &migrations,
        &context.servers,
        SystemClock.now().epoch_seconds(),
    ))
}

pub(super) fn judge_schema(migrations: &Migrations, servers: &[RunningServer], now: i64) -> Finding {
    if !migrations.newer.is_empty() {
        return Finding::fail(
            format!("this program does not know {}", migrations.newer.join(", ")),
            "use the version of Forecourt that changed the schema (`forecourt servers` shows those that run)",
        );
    }
    if !migrations.pending.is_empty() {
        return Finding::warn(
            format!("{} migrations are pending", migrations.pending.len()),
            "forecourt migrate",
        );
    }
    let mut versions: Vec<&str> = servers.iter().map(|running| running.server.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    let newest = versions.iter().filter_map(|version| {
        let own = servers.iter().filter(|running| running.server.version == *version);
        own.map(|running| running.server.started.epoch_seconds()).min()
    });
    if versions.len() > 1 && newest.max().is_some_and(|since| now - since > HOUR) {
        return Finding::warn(
            format!(
                "servers of the versions {} have run together for over an hour",
                versions.join(", ")
            ),
            "stop the servers of the older version (`forecourt servers` lists them)",
        );
    }
    Finding::ok("it is that of this version")
}

pub(super) async fn durability(context: &Context) -> Checked {
    let storage = context.storage()?;
    if let Some(synchronous) = storage.synchronous().await? {
        let file = file(context.settings()?).unwrap_or_default();
        let kind = statfs(file.as_path()).map(|found| found.f_type).unwrap_or_default();
        return Ok(judge_file(synchronous, kind));
    }
    let mut off = Vec::new();
    for name in ["fsync", "full_page_writes", "synchronous_commit"] {
        if storage.server_setting(name).await?.as_deref() == Some("off") {
            off.push(name);
        }
    }
    Ok(judge_settings_off(&off))
}

pub(super) fn judge_settings_off(off: &[&str]) -> Finding {
    if off.is_empty() {
        return Finding::ok("what is confirmed survives a power cut");
    }
    let on: Vec<String> = off
        .iter()
        .map(|name| format!("ALTER SYSTEM SET {name} = on;"))
        .collect();
    Finding::fail(
        format!("{} is off", off.join(", ")),
        format!("psql -c '{}' -c 'SELECT pg_reload_conf()'", on.join("' -c '")),
    )
}

/// The kinds of network file systems, by the numbers in Linux's `magic.h`.
const NETWORK_FILE_SYSTEMS: [(i64, &str); 7] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0x0102_1997, "9p"),
    (0x5346_414F, "AFS"),
    (0x00C3_6400, "Ceph"),
];

pub(super) fn judge_file(synchronous: i64, file_system: i64) -> Finding {
    let network = NETWORK_FILE_SYSTEMS.iter().find(|(number, _)| *number == file_system);
    if let Some((_, name)) = network {
        return Finding::fail(
            format!("the file is on {name}, whose locks and syncs SQLite cannot rely on"),
            "move the file to a local disk, or use PostgreSQL: DATABASE_URL=postgres://…",
        );
    }
    // 2 is FULL, 3 EXTRA.
    if synchronous < 2 {
        return Finding::fail(format!("synchronous is {synchronous}"), "PRAGMA synchronous = FULL");
    }
    Finding::ok("what is confirmed survives a power cut")
}

pub(super) async fn connections(context: &Context) -> Checked {
    let Some(most) = context.storage()?.server_setting("max_connections").await? else {
        return Ok(Finding::ok("SQLite has no limit"));
    };
    let most = most.parse::<usize>()?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Ok(judge_connections(most, context.servers.len().max(1), cores))
}

pub(super) fn judge_connections(most: usize, servers: usize, cores: usize) -> Finding {
    let needed = servers * (8 * cores + 8) + 10;
    if most >= needed {
        Finding::ok(format!("max_connections is {most}; {servers} servers need {needed}"))
    } else {
        Finding::warn(
            format!("max_connections is {most}; {servers} servers of {cores} cores need {needed}"),
            format!("psql -c 'ALTER SYSTEM SET max_connections = {needed}' (then restart PostgreSQL)"),
        )
    }
}

pub(super) async fn isolation(context: &Context) -> Checked {
    let storage = context.storage()?;
    let Some(level) = storage.server_setting("default_transaction_isolation").await? else {
        return Ok(Finding::ok("SQLite's only one"));
    };
    if level == "read committed" {
        return Ok(Finding::ok(level));
    }
    let name = storage.database_name().await?;
    Ok(Finding::warn(
        format!("the default is {level}"),
        format!("psql -c 'ALTER DATABASE \"{name}\" SET default_transaction_isolation = \"read committed\"'"),
    ))
}

pub(super) async fn collation(context: &Context) -> Checked {
    let storage = context.storage()?;
    let Some((built, present)) = storage.collation_change().await? else {
        return Ok(Finding::ok("it has not changed"));
    };
    let name = storage.database_name().await?;
    Ok(Finding::warn(
        format!("indexes were built with version {built}, and the system has {present}"),
        format!("psql -c 'REINDEX DATABASE \"{name}\"' -c 'ALTER DATABASE \"{name}\" REFRESH COLLATION VERSION'"),
    ))
}

pub(super) async fn extension(context: &Context) -> Checked {
    Ok(if context.storage()?.has_trigrams().await? {
        Finding::ok("texts are searched by trigrams")
    } else {
        Finding::warn("pg_trgm is missing", "psql -c 'CREATE EXTENSION pg_trgm'")
    })
}

pub(super) async fn statistics(context: &Context) -> Checked {
    let storage = context.storage()?;
    if storage.server_setting("autovacuum").await?.as_deref() == Some("off") {
        return Ok(Finding::warn(
            "autovacuum is off",
            "psql -c 'ALTER SYSTEM SET autovacuum = on' -c 'SELECT pg_reload_conf()'",
        ));
    }
    let without = storage.tables_without_statistics().await?;
    if without.is_empty() {
        return Ok(Finding::ok("every large table has some"));
    }
    let remedy = match file(context.settings()?) {
        Some(file) => format!("sqlite3 {} ANALYZE", file.display()),
        None => "psql -c ANALYZE".to_owned(),
    };
    Ok(Finding::warn(format!("none of {}", without.join(", ")), remedy))
}

pub(super) async fn wraparound(context: &Context) -> Checked {
    let found = context.storage()?.old_transactions().await?;
    Ok(found.map_or_else(|| Finding::ok("SQLite has no such numbers"), |found| judge_age(&found)))
}

pub(super) fn judge_age(found: &OldTransactions) -> Finding {
    let OldTransactions {
        age,
        oldest_open,
        idle_slots,
    } = found;
    if *age > MAX_AGE {
        return Finding::warn(
            format!("the oldest transaction that is not frozen is {age} back"),
            "psql -c 'VACUUM (FREEZE)'",
        );
    }
    if *oldest_open > HOUR {
        return Finding::warn(
            format!("a transaction has been open for {} minutes", oldest_open / 60),
            "psql -c \"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE xact_start < now() - interval '1 hour'\"",
        );
    }
    if let Some(slot) = idle_slots.first() {
        return Finding::warn(
            format!(
                "nothing has read from the replication slots {} for an hour",
                idle_slots.join(", ")
            ),
            format!("psql -c \"SELECT pg_drop_replication_slot('{slot}')\" (or start what reads from it)"),
        );
    }
    Finding::ok(format!("the oldest transaction is {age} back"))
}

pub(super) async fn log(context: &Context) -> Checked {
    let Some(file) = file(context.settings()?) else {
        return Ok(judge_kept_log(context.storage()?.kept_log().await?));
    };
    let mut log = file.clone().into_os_string();
    log.push("-wal");
    let length = |path: PathBuf| path.metadata().map_or(0, |found| found.len());
    Ok(judge_log(length(log.into()), length(file)))
}

pub(super) fn judge_kept_log(bytes: i64) -> Finding {
    if bytes > MAX_KEPT_LOG {
        Finding::warn(
            format!("replication slots keep {} GiB of the log", bytes / 1024 / 1024 / 1024),
            "psql -c 'SELECT slot_name, restart_lsn FROM pg_replication_slots', then pg_drop_replication_slot of those not read",
        )
    } else {
        Finding::ok("replication slots keep little of the log")
    }
}

pub(super) fn judge_log(log: u64, file: u64) -> Finding {
    if log > 256 * MIB || log > 64 * MIB && log > file {
        Finding::warn(
            format!("the log beside the file has {} MiB", log / MIB),
            "restart the server; a long reader, such as a backup tool, keeps it from shrinking",
        )
    } else {
        Finding::ok(format!("the log beside the file has {} MiB", log / MIB))
    }
}

pub(super) async fn integrity(context: &Context) -> Checked {
    let Some(file) = file(context.settings()?) else {
        return Ok(Finding::skip(
            "PostgreSQL checks its pages itself, where data_checksums is on",
        ));
    };
    if file.metadata()?.len() > MAX_CHECKED {
        return Err(Unchecked(
            "the file is larger than 1 GiB: sqlite3 FILE 'PRAGMA quick_check'".to_owned(),
        ));
    }
    let faults = context.storage()?.integrity_faults().await?;
    Ok(match faults.first() {
        None => Finding::ok("the file is sound"),
        Some(fault) => Finding::fail(
            format!("{} faults, the first: {fault}", faults.len()),
            "stop the server and restore the latest backup",
        ),
    })
}
