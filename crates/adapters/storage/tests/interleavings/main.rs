//! The queues of sessions and the turns of the group commit, under a scheduler that tries one interleaving after another.
//!
//! They are compiled here by themselves, with locks at which the scheduler may choose another task. It notices a task that waits
//! for ever.
#![expect(
    dead_code,
    unreachable_pub,
    reason = "the rest of the library is what uses these parts, and exports some of them"
)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy excepts a test, but not what several tests share"
)]

#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/pool.rs"]
mod pool;
#[path = "../../src/sqlite/queue.rs"]
mod queue;
mod repo;
#[path = "../../src/shares.rs"]
mod shares;
mod sync;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use forecourt_kernel::BusinessId;
use futures_util::FutureExt as _;
use shuttle::future::{block_on, spawn, yield_now};
use shuttle::rand::{Rng as _, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, Runner};
use tokio::sync::Notify;
use tokio::time::Instant;

use queue::WriteQueue;
use repo::{Group, Outcome};
use shares::TenantLimiter;

/// The time for which interleavings are tried in the suite.
const TIME: Duration = Duration::from_secs(2);
/// Longer than any interleaving: no time passes in them.
const NEVER: Duration = Duration::from_secs(3600);

/// Runs the scenario in one interleaving after another. Fails if it fails in one, or waits for ever.
fn in_all_orders(scenario: impl Fn() + Send + Sync + 'static) -> usize {
    // Deadlines need a clock, which then stands still.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    sync::be_scheduled();
    let seconds = env::var("FORECOURT_PROVE_SECONDS").ok();
    let time = seconds.map_or(TIME, |seconds| {
        Duration::from_secs(seconds.parse().expect("a number of seconds"))
    });
    let mut config = Config::new();
    config.max_time = Some(time);
    config.stack_size = 256 * 1024;
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(RandomScheduler::new(usize::MAX), config).run(scenario)
}

#[expect(clippy::print_stdout, reason = "`cargo xtask prove` shows what a proof found")]
fn report(what: &str, interleavings: usize) {
    println!("{what}: {interleavings} interleavings, no fault");
}

fn business(id: i64) -> Option<BusinessId> {
    Some(BusinessId::new(id))
}

fn later() -> Instant {
    Instant::now() + NEVER
}

/// Counts the tasks in a section, and fails if there are too many.
#[derive(Default)]
struct Section {
    inside: AtomicUsize,
    passed: AtomicUsize,
}

impl Section {
    async fn pass(&self, at_most: usize) {
        let before = self.inside.fetch_add(1, Ordering::SeqCst);
        assert!(before < at_most, "more than {at_most} at once");
        for _ in 0..thread_rng().gen_range(0..3) {
            yield_now().await;
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.passed.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn prove_fair_shares() {
    let tried = in_all_orders(|| {
        let shares = TenantLimiter::new(2);
        let sections = Arc::new([Section::default(), Section::default()]);
        let mut tasks = Vec::new();
        for number in 0..8 {
            let (shares, sections) = (shares.clone(), Arc::clone(&sections));
            tasks.push(spawn(async move {
                let own = usize::from(number % 3 == 0);
                let of = business(i64::try_from(own).unwrap());
                if number == 5 {
                    // One that gives up, perhaps while its place is on its way.
                    let mut taking = Box::pin(shares.take(of, later()));
                    drop((&mut taking).now_or_never());
                    yield_now().await;
                    return;
                }
                let place = shares.take(of, later()).await.unwrap().unwrap();
                sections[own].pass(2).await;
                if number == 4 {
                    let place = place.requeue().await.unwrap();
                    sections[own].pass(2).await;
                    drop(place);
                }
            }));
        }
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(shares.waiting(), 0);
        assert_eq!(
            sections.each_ref().map(|section| section.passed.load(Ordering::SeqCst)),
            [5, 3]
        );
    });
    report("fair shares", tried);
}

#[test]
fn prove_turns_to_write() {
    let tried = in_all_orders(|| {
        let queue = Arc::<WriteQueue>::default();
        let section = Arc::<Section>::default();
        let mut tasks = Vec::new();
        for number in 0..7 {
            let (queue, section) = (Arc::clone(&queue), Arc::clone(&section));
            tasks.push(spawn(async move {
                let of = business(number % 3);
                if number == 5 {
                    let mut entering = Box::pin(queue.enter(of, NEVER, || 0));
                    drop((&mut entering).now_or_never());
                    yield_now().await;
                    return;
                }
                let turn = queue.enter(of, NEVER, || 0).await.unwrap();
                section.pass(1).await;
                drop(turn);
            }));
        }
        let (committing, committed) = (Arc::clone(&queue), Arc::clone(&section));
        tasks.push(spawn(async move {
            for _ in 0..2 {
                let turn = match committing.join_to_commit() {
                    Ok(turn) => turn,
                    Err(turn) => turn.await.expect("the committer is never forgotten"),
                };
                committed.pass(1).await;
                drop(turn);
            }
        }));
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(section.passed.load(Ordering::SeqCst), 8);
        assert_eq!(queue.waiting(), 0);
        let free = queue.enter(business(1), NEVER, || 0).now_or_never();
        assert!(free.is_some(), "the turn is free");
    });
    report("turns to write", tried);
}

#[test]
fn prove_group_commit() {
    let tried = in_all_orders(|| {
        let group = Group::new();
        let mut tasks = Vec::new();
        for number in 0..7 {
            let group = group.clone();
            let outcome = match number {
                2 => Outcome::GivesUp,
                5 => Outcome::GoesAway,
                _ => Outcome::Commits,
            };
            let of = BusinessId::new(i64::from(number == 6));
            tasks.push(spawn(async move { group.session(of, number, outcome).await }));
        }
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
            group.rest().await;
        });
        let mut committed = group.committed();
        committed.sort_unstable();
        // One that goes away once it has joined is committed with the others.
        committed.retain(|number| *number != 5);
        assert_eq!(committed, [0, 1, 3, 4, 6], "each once");
    });
    report("group commit", tried);
}

/// A scheduler that finds nothing proves nothing. It has to find a lock that looks before it takes, and one that forgets a
/// waiter.
#[test]
fn faulty_locks_are_found_out() {
    let is_found = |scenario: fn()| catch_unwind(AssertUnwindSafe(|| in_all_orders(scenario))).is_err();
    assert!(is_found(|| {
        let (taken, section) = (Arc::new(sync::Mutex::new(false)), Arc::<Section>::default());
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let (taken, section) = (Arc::clone(&taken), Arc::clone(&section));
                spawn(async move {
                    while *taken.lock().unwrap() {
                        yield_now().await;
                    }
                    *taken.lock().unwrap() = true;
                    section.pass(1).await;
                    *taken.lock().unwrap() = false;
                })
            })
            .collect();
        block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    }));
    assert!(is_found(|| {
        let (free, here) = (Arc::new(sync::Mutex::new(false)), Arc::new(Notify::new()));
        let waiting = {
            let (free, here) = (Arc::clone(&free), Arc::clone(&here));
            spawn(async move {
                if !*free.lock().unwrap() {
                    yield_now().await;
                    here.notified().await;
                }
            })
        };
        *free.lock().unwrap() = true;
        here.notify_waiters();
        block_on(waiting).unwrap();
    }));
}
