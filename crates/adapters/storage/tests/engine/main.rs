//! The engines, each on a database of the test's own.
//!
//! The promises of both are in `contract.rs`, which is compiled once per engine like the queries themselves.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy excepts a test, but not what several tests share"
)]

mod postgres;
mod sqlite;
mod support;
