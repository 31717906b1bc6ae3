//! What the layer itself costs, in CPU time. Only a release build says something, and only alone:
//! `cargo test --release -p forecourt-storage --test engine -- --ignored --nocapture --test-threads 1 speed`.

use std::fs;
use std::path::Path;
use std::time::Instant;

use diesel::prelude::*;
use diesel_async::SimpleAsyncConnection as _;
use forecourt_kernel::BusinessId;
use forecourt_storage::RunQueryDsl;
use forecourt_storage::{Config, Durability, Effort, Storage, sqlite};
use futures_util::future::join_all;
use tempfile::TempDir;

use crate::support::{TABLES, notes, on_postgres};

/// CPU time of this process in microseconds, all threads together.
fn cpu() -> f64 {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds: u64 = threads
        .filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("schedstat")).ok())
        .map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    let microseconds = nanoseconds as f64 / 1000.0;
    microseconds
}

/// The best of several rounds: what else runs on the machine can only add to it.
async fn report(what: &str, per_round: u32, mut round: impl AsyncFnMut()) {
    let (mut best_cpu, mut best_wall) = (f64::MAX, f64::MAX);
    for _ in 0..7 {
        let (cpu_before, started) = (cpu(), Instant::now());
        round().await;
        best_cpu = best_cpu.min((cpu() - cpu_before) / f64::from(per_round));
        best_wall = best_wall.min(started.elapsed().as_secs_f64() * 1e6 / f64::from(per_round));
    }
    println!("{what:<58} {best_cpu:7.2} us CPU  {best_wall:8.2} us wall");
}

async fn open(folder: &Path, durability: Durability) -> sqlite::Engine {
    let config = Config {
        durability,
        ..Config::new(format!("sqlite://{}", folder.join("speed.db").display()))
    };
    let Storage::Sqlite(engine) = Storage::open(&config).await.unwrap() else {
        panic!("not SQLite")
    };
    let mut session = engine.begin().await.unwrap();
    session.batch_execute(TABLES).await.unwrap();
    for id in 0..1000_i64 {
        let note = (notes::id.eq(id), notes::body.eq(format!("note {id}")));
        diesel::insert_into(notes::table)
            .values(note)
            .execute(&mut *session)
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    engine
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "a measurement"]
async fn sqlite_reading() {
    const TIMES: u32 = 20_000;
    let folder = TempDir::new().unwrap();
    let engine = open(folder.path(), Durability::PowerLoss).await;

    report("checkout of a reader alone", TIMES, async || {
        for _ in 0..TIMES {
            drop(engine.read(Effort::Light).await.unwrap());
        }
    })
    .await;
    report("checkout and one row by key", TIMES, async || {
        for id in 0..TIMES {
            let mut reader = engine.read(Effort::Light).await.unwrap();
            let found: (i64, String) = notes::table
                .find(i64::from(id % 1000))
                .get_result(&mut *reader)
                .await
                .unwrap();
            assert_eq!(found.0, i64::from(id % 1000));
        }
    })
    .await;
    report("checkout and 50 rows", TIMES / 20, async || {
        for id in 0..TIMES / 20 {
            let mut reader = engine.read(Effort::Light).await.unwrap();
            let found: Vec<(i64, String)> = notes::table
                .filter(notes::id.gt(i64::from(id % 900)))
                .order(notes::id)
                .limit(50)
                .load(&mut *reader)
                .await
                .unwrap();
            assert_eq!(found.len(), 50);
        }
    })
    .await;
    let mut plain = SqliteConnection::establish(folder.path().join("speed.db").to_str().unwrap()).unwrap();
    report("  diesel alone, one row by key", TIMES, async || {
        for id in 0..TIMES {
            let query = notes::table.find(i64::from(id % 1000));
            let found: (i64, String) = diesel::RunQueryDsl::get_result(query, &mut plain).unwrap();
            assert_eq!(found.0, i64::from(id % 1000));
        }
    })
    .await;
    report("  diesel alone, 50 rows", TIMES / 20, async || {
        for id in 0..TIMES / 20 {
            let query = notes::table
                .filter(notes::id.gt(i64::from(id % 900)))
                .order(notes::id)
                .limit(50);
            let found: Vec<(i64, String)> = diesel::RunQueryDsl::load(query, &mut plain).unwrap();
            assert_eq!(found.len(), 50);
        }
    })
    .await;
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "a measurement"]
async fn sqlite_sessions() {
    const TIMES: u32 = 5_000;
    let folder = TempDir::new().unwrap();
    let engine = open(folder.path(), Durability::ProcessCrash).await;
    report("session alone, begun and given up", TIMES, async || {
        for _ in 0..TIMES {
            engine.begin().await.unwrap().rollback().await.unwrap();
        }
    })
    .await;
    report("empty sessions, 100 at once, committed together", TIMES, async || {
        for _ in 0..TIMES / 100 {
            join_all((0..100).map(async |_| engine.begin().await.unwrap().commit().await.unwrap())).await;
        }
    })
    .await;
    report("savepoint and release", TIMES, async || {
        let mut session = engine.begin().await.unwrap();
        for _ in 0..TIMES {
            session.savepoint().await.unwrap();
            session.release_savepoint().await.unwrap();
        }
        session.commit().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn sqlite_writing() {
    for (writers, each, durability) in [
        (32, 300, Durability::PowerLoss),
        (32, 300, Durability::ProcessCrash),
        (1, 300, Durability::PowerLoss),
        (1, 300, Durability::ProcessCrash),
    ] {
        let folder = TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let engine = open(folder.path(), durability).await;
        let before = engine.write_stats();
        let mut next = 1_000_000;
        let what = format!("one row written, {writers} at once, {durability:?}");
        report(&what, u32::try_from(writers * each).unwrap(), async || {
            next += writers * each;
            join_all((0..writers).map(|writer| {
                let (engine, first) = (engine.clone(), next + writer * each);
                tokio::spawn(async move {
                    for id in first..first + each {
                        let mut session = engine.begin().await.unwrap();
                        let note = (notes::id.eq(id), notes::body.eq(format!("note {id}")));
                        diesel::insert_into(notes::table)
                            .values(note)
                            .execute(&mut *session)
                            .await
                            .unwrap();
                        session.commit().await.unwrap();
                    }
                })
            }))
            .await
            .into_iter()
            .for_each(|writer| writer.unwrap());
        })
        .await;
        let after = engine.write_stats();
        println!(
            "  {} sessions in {} commits",
            after.sessions - before.sessions,
            after.commits - before.commits
        );
    }
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "a measurement"]
async fn postgres() {
    const TIMES: u32 = 2_000;
    on_postgres(async |url| {
        let Storage::Postgres(engine) = Storage::open(&Config::new(url)).await.unwrap() else {
            panic!("not PostgreSQL")
        };
        let mut session = engine.begin().await.unwrap();
        session.batch_execute(TABLES).await.unwrap();
        session
            .batch_execute("INSERT INTO notes SELECT n, 'note ' || n FROM generate_series(0, 999) n")
            .await
            .unwrap();
        session.commit().await.unwrap();
        report("PostgreSQL: checkout alone", TIMES, async || {
            for _ in 0..TIMES {
                drop(engine.read(Effort::Light).await.unwrap());
            }
        })
        .await;
        report("PostgreSQL: checkout and one row by key", TIMES, async || {
            for id in 0..TIMES {
                let mut reader = engine.read(Effort::Light).await.unwrap();
                let found: (i64, String) = notes::table
                    .find(i64::from(id % 1000))
                    .get_result(&mut *reader)
                    .await
                    .unwrap();
                assert_eq!(found.0, i64::from(id % 1000));
            }
        })
        .await;
        report("PostgreSQL: empty session", TIMES, async || {
            for _ in 0..TIMES {
                engine.begin().await.unwrap().commit().await.unwrap();
            }
        })
        .await;
    })
    .await;
}

/// Writers of one business, who all need one row, with and without a queue of their own in this process; and how long
/// another business's look-up takes meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn postgres_writers_of_one_business() {
    const WRITERS: i64 = 32;
    const EACH: i64 = 100;
    on_postgres(async |url| {
        let Storage::Postgres(engine) = Storage::open(&Config::new(url)).await.unwrap() else {
            panic!("not PostgreSQL")
        };
        let mut session = engine.begin().await.unwrap();
        session.batch_execute(TABLES).await.unwrap();
        session
            .batch_execute("INSERT INTO notes VALUES (0, 'counter')")
            .await
            .unwrap();
        session.commit().await.unwrap();
        let mut next = 1;
        for business in [None, Some(BusinessId::new(1)), None, Some(BusinessId::new(1))] {
            let started = Instant::now();
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (engine, first) = (engine.clone(), next + writer * EACH);
                    tokio::spawn(async move {
                        for id in first..first + EACH {
                            let mut session = engine.begin_for(business).await.unwrap();
                            diesel::update(notes::table.find(0))
                                .set(notes::body.eq(format!("counter {id}")))
                                .execute(&mut *session)
                                .await
                                .unwrap();
                            diesel::insert_into(notes::table)
                                .values((notes::id.eq(id), notes::body.eq(format!("note {id}"))))
                                .execute(&mut *session)
                                .await
                                .unwrap();
                            session.commit().await.unwrap();
                        }
                    })
                })
                .collect();
            next += WRITERS * EACH;
            let mut waits = Vec::new();
            while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
                let asked = Instant::now();
                let mut reader = engine.read_for(Some(BusinessId::new(2)), Effort::Light).await.unwrap();
                let _: (i64, String) = notes::table.find(0).get_result(&mut *reader).await.unwrap();
                waits.push(asked.elapsed());
            }
            let elapsed = started.elapsed();
            waits.sort_unstable();
            println!(
                "{business:?}: {:?} a session, another's look-up p50 {:?} p99 {:?}",
                elapsed / u32::try_from(WRITERS * EACH).unwrap(),
                waits[waits.len() / 2],
                waits[waits.len() * 99 / 100]
            );
        }
    })
    .await;
}
