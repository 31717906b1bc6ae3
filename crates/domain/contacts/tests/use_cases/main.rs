//! The use cases, over a store in memory and at a fixed hour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod create;
mod delete;
mod duplicates;
mod failures;
mod follow_blocks;
mod login;
mod model;
mod notes;
mod read;
mod support;
mod update;
