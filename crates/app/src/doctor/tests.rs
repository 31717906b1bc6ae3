//! Each check is provoked once. What it prints as a remedy, applied, makes it well again.

use std::collections::BTreeSet;

use forecourt_kernel::Timestamp;
use forecourt_redis::RedisFacts;
use forecourt_storage::{Migrations, OldTransactions, RunningServer, ServerReport, TroubledWebhook};

use super::{database, machine, services, settings, work, *};
use crate::{
    report::{Report, TaskState},
    settings::Sources,
};

const MIB: u64 = 1024 * 1024;
const NOW: i64 = 1_800_000_000;

fn settings_of(variables: &[(&str, &str)]) -> Settings {
    let environment = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    Settings::load(Sources {
        environment,
        ..Sources::default()
    })
    .unwrap()
}

fn server(version: &str, started: i64, clock_offset: Option<i64>, report: &Report) -> RunningServer {
    RunningServer {
        server: ServerReport {
            id: 1,
            host: "one".to_owned(),
            pid: 7,
            version: version.to_owned(),
            started: Timestamp::from_epoch_seconds(started),
            report: serde_json::to_string(report).unwrap(),
        },
        seen: Timestamp::from_epoch_seconds(NOW),
        clock_offset,
    }
}

fn task(last_round: i64, lag: i64) -> Report {
    let task = TaskState {
        name: "mail".to_owned(),
        interval: 10,
        last_round,
        lag,
    };
    Report {
        tasks: vec![task],
        ..Report::default()
    }
}

fn webhook() -> TroubledWebhook {
    TroubledWebhook {
        business: "acme".to_owned(),
        id: 12,
        url: "https://user:secret@crm.example/hook?token=secret".to_owned(),
        error: "answered 500".to_owned(),
        waiting: 3,
    }
}

/// A check's id, its finding when something is wrong, with the status and the words that the remedy must have, and its finding
/// once that is applied.
type Provocation = (&'static str, Finding, Status, &'static str, Finding);

fn provocations() -> Vec<Provocation> {
    use Status::{Fail, Warn};
    let room = |free: u64, all: u64| machine::Room {
        free: free * MIB,
        all: all * MIB,
    };
    let inodes = |free, all| machine::Room { free, all };
    let redis = |is_read_only| {
        Ok(RedisFacts {
            version: "7.2.1".to_owned(),
            is_read_only,
        })
    };
    let migrations = |pending: &[&str], newer: &[&str]| Migrations {
        pending: pending.iter().copied().map(str::to_owned).collect(),
        newer: newer.iter().copied().map(str::to_owned).collect(),
    };
    let old = OldTransactions::default;
    let versions = [
        server("1.0.0", NOW - 9_999, None, &Report::default()),
        server("1.1.0", NOW - 3_601, None, &Report::default()),
    ];
    let clocks = [
        server("1.0.0", NOW, Some(-1_500), &Report::default()),
        server("1.0.0", NOW, Some(1_500), &Report::default()),
    ];
    let fine = migrations(&[], &[]);
    let secure = [("FORECOURT_PUBLIC_URL", "https://api.example")];
    let reached = |host: &str, fault: Option<&str>| vec![(host.to_owned(), fault.map(str::to_owned))];
    vec![
        (
            "settings.unused",
            settings::judge_unused(&["FORECOURT_PORT_8080_TCP".to_owned(), "FORECOURT_BIND".to_owned()]),
            Warn,
            "unset FORECOURT_PORT_8080_TCP",
            settings::judge_unused(&["FORECOURT_BIND".to_owned()]),
        ),
        (
            "settings.insecure",
            settings::judge_insecure(&settings_of(&[
                ("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "true"),
                secure[0],
            ])),
            Warn,
            "FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS=false",
            settings::judge_insecure(&settings_of(&[
                ("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", "false"),
                secure[0],
            ])),
        ),
        (
            "settings.insecure",
            settings::judge_insecure(&settings_of(&[
                ("FORECOURT_CORS_ORIGINS", "*"),
                ("FORECOURT_RATE_LIMIT_PER_DAY", "0"),
            ])),
            Warn,
            "FORECOURT_PUBLIC_URL=https://your.host",
            settings::judge_insecure(&settings_of(&secure)),
        ),
        (
            "proxy.trusted",
            settings::judge_proxies(&settings_of(&[]), &["10.0.0.7".to_owned()]),
            Warn,
            "FORECOURT_TRUSTED_PROXIES=10.0.0.7",
            settings::judge_proxies(&settings_of(&[("FORECOURT_TRUSTED_PROXIES", "10.0.0.7/32")]), &[]),
        ),
        (
            "proxy.trusted",
            settings::judge_proxies(&settings_of(&[("FORECOURT_TRUSTED_PROXIES", "0.0.0.0/0")]), &[]),
            Warn,
            "FORECOURT_TRUSTED_PROXIES=",
            settings::judge_proxies(&settings_of(&[]), &[]),
        ),
        (
            "database.version",
            database::judge_version("PostgreSQL 14.9", 140_009),
            Warn,
            "pg_upgrade",
            database::judge_version("PostgreSQL 15.0", 150_000),
        ),
        (
            "database.schema",
            database::judge_schema(&migrations(&[], &["2099"]), &[], NOW),
            Fail,
            "forecourt servers",
            database::judge_schema(&fine, &[], NOW),
        ),
        (
            "database.schema",
            database::judge_schema(&migrations(&["2026"], &[]), &[], NOW),
            Warn,
            "forecourt migrate",
            database::judge_schema(&fine, &[], NOW),
        ),
        (
            "database.schema",
            database::judge_schema(&fine, &versions, NOW),
            Warn,
            "stop the servers of the older version",
            database::judge_schema(&fine, &versions[1..], NOW),
        ),
        (
            "database.durability",
            database::judge_settings_off(&["fsync"]),
            Fail,
            "ALTER SYSTEM SET fsync = on",
            database::judge_settings_off(&[]),
        ),
        (
            "database.durability",
            database::judge_file(2, 0x6969),
            Fail,
            "move the file to a local disk",
            database::judge_file(2, 0xEF53),
        ),
        (
            "database.durability",
            database::judge_file(1, 0xEF53),
            Fail,
            "PRAGMA synchronous = FULL",
            database::judge_file(2, 0xEF53),
        ),
        (
            "database.connections",
            database::judge_connections(81, 2, 4),
            Warn,
            "max_connections = 90",
            database::judge_connections(90, 2, 4),
        ),
        (
            "database.wraparound",
            database::judge_age(&OldTransactions {
                age: 1_000_000_001,
                ..old()
            }),
            Warn,
            "VACUUM (FREEZE)",
            database::judge_age(&old()),
        ),
        (
            "database.wraparound",
            database::judge_age(&OldTransactions {
                oldest_open: 3_601,
                ..old()
            }),
            Warn,
            "pg_terminate_backend",
            database::judge_age(&old()),
        ),
        (
            "database.wraparound",
            database::judge_age(&OldTransactions {
                idle_slots: vec!["standby".to_owned()],
                ..old()
            }),
            Warn,
            "pg_drop_replication_slot('standby')",
            database::judge_age(&old()),
        ),
        (
            "database.log",
            database::judge_log(65 * MIB, 64 * MIB),
            Warn,
            "restart the server",
            database::judge_log(64 * MIB, 64 * MIB),
        ),
        (
            "database.log",
            database::judge_kept_log(11 * 1024 * 1024 * 1024),
            Warn,
            "pg_drop_replication_slot",
            database::judge_kept_log(0),
        ),
        (
            "disk",
            machine::judge_disk("database", room(199, 100_000), inodes(1, 1)),
            Fail,
            "free some room",
            machine::judge_disk("database", room(50_000, 100_000), inodes(1, 1)),
        ),
        (
            "disk",
            machine::judge_disk("database", room(50_000, 100_000), inodes(9, 100)),
            Warn,
            "free some room",
            machine::judge_disk("database", room(50_000, 100_000), inodes(0, 0)),
        ),
        (
            "files.sweep",
            machine::judge_strays(1_001),
            Warn,
            "forecourt files check",
            machine::judge_strays(1_000),
        ),
        (
            "redis",
            services::judge_redis(Some(&Err("connection refused".to_owned()))),
            Fail,
            "FORECOURT_REDIS_URL",
            services::judge_redis(Some(&redis(false))),
        ),
        (
            "redis",
            services::judge_redis(Some(&redis(true))),
            Fail,
            "FORECOURT_REDIS_URL=redis://",
            services::judge_redis(None),
        ),
        (
            "redis.version",
            services::judge_redis_version("6.2.14"),
            Warn,
            "upgrade Redis",
            services::judge_redis_version("7.0.0"),
        ),
        (
            "mail.sender",
            services::judge_sender("acme.example", 0, false),
            Warn,
            "FORECOURT_MAIL_FROM=",
            services::judge_sender("acme.example", 1, true),
        ),
        (
            "mail.sender",
            services::judge_sender("acme.example", 1, false),
            Warn,
            "acme.example. TXT \"v=spf1",
            services::judge_sender("acme.example", 1, true),
        ),
        (
            "lead-ai",
            services::judge_model(Ok(401)),
            Warn,
            "FORECOURT_LEAD_AI=rules",
            services::judge_model(Ok(200)),
        ),
        (
            "clock",
            machine::judge_clock(Some(-2_001), &[], None),
            Fail,
            "timedatectl",
            machine::judge_clock(Some(1_999), &[], None),
        ),
        (
            "clock",
            machine::judge_clock(None, &clocks, None),
            Fail,
            "timedatectl",
            machine::judge_clock(None, &clocks[1..], None),
        ),
        (
            "clock",
            machine::judge_clock(None, &[], Some(-6)),
            Fail,
            "timedatectl",
            machine::judge_clock(None, &[], Some(5)),
        ),
        (
            "public-url",
            services::judge_public_url(Some("0123abcd"), Ok("ffffffff".to_owned())),
            Warn,
            "FORECOURT_PUBLIC_URL=",
            services::judge_public_url(Some("0123abcd"), Ok("0123abcd".to_owned())),
        ),
        (
            "outbound",
            services::judge_hosts(&reached("crm.example:443", Some("no answer within 3 seconds"))),
            Warn,
            "firewall",
            services::judge_hosts(&reached("crm.example:443", None)),
        ),
        (
            "webhooks.failing",
            work::judge_webhooks(&[webhook()], "failing", "fine"),
            Warn,
            "PATCH /2.0/webhooks/12",
            work::judge_webhooks(&[], "failing", "fine"),
        ),
        (
            "background",
            work::judge_background(&[server("1.0.0", NOW, None, &task(NOW - 101, 0))], NOW),
            Warn,
            "restart that server",
            work::judge_background(&[server("1.0.0", NOW, None, &task(NOW - 9, 0))], NOW),
        ),
        (
            "background",
            work::judge_background(&[server("1.0.0", NOW, None, &task(NOW, 61))], NOW),
            Warn,
            "restart that server",
            work::judge_background(&[server("1.0.0", NOW, None, &task(NOW, 60))], NOW),
        ),
        (
            "mails",
            work::judge_mails(Some(NOW - 3_601), NOW),
            Warn,
            "forecourt doctor --only smtp",
            work::judge_mails(None, NOW),
        ),
        (
            "limits",
            machine::judge_limits(Some(1_024), None, false),
            Warn,
            "ulimit -n 8192",
            machine::judge_limits(Some(8_192), None, false),
        ),
        (
            "limits",
            machine::judge_limits(None, Some(255 * MIB), false),
            Warn,
            "MemoryMax=512M",
            machine::judge_limits(None, Some(512 * MIB), false),
        ),
        (
            "limits",
            machine::judge_limits(None, None, true),
            Warn,
            "mount a volume",
            machine::judge_limits(None, None, false),
        ),
    ]
}

#[test]
fn each_fault_is_found_and_its_remedy_makes_it_well() {
    for (id, bad, status, remedy, well) in provocations() {
        assert!(CHECKS.iter().any(|check| check.id == id), "{id}");
        assert_eq!(bad.status, status, "{id}: {bad:?}");
        assert!(
            bad.remedy.as_ref().is_some_and(|text| text.contains(remedy)),
            "{id}: {bad:?}"
        );
        assert!(matches!(well.status, Status::Ok), "{id}: {well:?}");
        assert_eq!(well.remedy, None);
    }
}

#[test]
fn no_secret_of_a_url_is_shown() {
    let finding = work::judge_webhooks(&[webhook()], "failing", "fine");
    let shown = format!("{finding:?}");
    assert!(shown.contains("crm.example") && !shown.contains("secret"), "{shown}");
}

#[test]
fn checks_have_stable_names_and_say_why_they_matter() {
    let ids: BTreeSet<_> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), CHECKS.len());
    assert!(CHECKS.iter().all(|check| check.why.ends_with('.')));
    let daily: Vec<_> = CHECKS
        .iter()
        .filter(|check| check.is_daily)
        .map(|check| check.id)
        .collect();
    assert_eq!(daily.len(), 14, "{daily:?}");
    let choice = |only: &[&str]| Choice {
        only: only.iter().copied().map(str::to_owned).collect(),
        skip: Vec::new(),
    };
    assert_eq!(choice(&["disk", "dusk"]).unknown(), Some("dusk"));
    assert_eq!(choice(&["disk"]).unknown(), None);
}
