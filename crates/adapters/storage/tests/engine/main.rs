//! The engines, each on a database of the test's own.
//!
//! What both promise is in `contract.rs`, which is compiled once per engine like the queries themselves.

mod postgres;
mod speed;
mod sqlite;
mod support;
