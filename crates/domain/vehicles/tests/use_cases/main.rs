//! The use cases, over a store in memory and at a fixed hour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod appraise;
mod channels;
mod costs;
mod create;
#[path = "../support/mod.rs"]
mod dealership;
mod delete;
mod documents;
mod drives;
mod failures;
mod media;
mod model;
mod processes;
mod read;
mod reserve;
mod sell;
mod status;
mod support;
mod tags;
mod update;
