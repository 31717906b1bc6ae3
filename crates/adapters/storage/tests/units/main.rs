//! The parts of the library that need no database, with the tests in their files.
//!
//! They are compiled here by themselves. As the library's own tests they would have all of it compiled a second time, with every
//! query for both engines. That takes longer than anything else in the workspace.
#![expect(
    dead_code,
    unreachable_pub,
    reason = "the rest of the library is what uses these parts, and exports some of them"
)]

const VERSION: &str = env!("CARGO_PKG_VERSION");

mod add_a_query;
#[path = "../../src/cell.rs"]
mod cell;
#[path = "../../src/config.rs"]
mod config;
#[path = "../../src/snapshot/digest.rs"]
mod digest;
#[path = "../../src/erasure_state.rs"]
mod erasure_state;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/snapshot/gaps.rs"]
mod gaps;
#[path = "../../src/migration.rs"]
mod migration;
#[path = "../../src/outgoing.rs"]
mod outgoing;
#[path = "../../src/pool.rs"]
mod pool;
#[path = "../../src/sqlite/queue.rs"]
mod queue;
#[path = "../../src/secrets.rs"]
mod secrets;
#[path = "../../src/servers.rs"]
mod servers;
#[path = "../../src/shares.rs"]
mod shares;
#[path = "../../src/repo/size.rs"]
mod size;
#[path = "../../src/state.rs"]
mod state;
#[path = "../../src/statement.rs"]
mod statement;
#[path = "../../src/sync.rs"]
mod sync;
#[path = "../../src/postgres/tls.rs"]
mod tls;
#[path = "../../src/totals.rs"]
mod totals;
#[path = "../../src/trigrams.rs"]
mod trigrams;
