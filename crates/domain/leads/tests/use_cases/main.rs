//! The use cases, over a store in memory and at a fixed hour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what goes wrong in a test fails it")]

mod assessment;
mod assign;
mod conversation;
mod create;
mod delete;
mod enquiry_mail;
mod failures;
mod model;
mod read;
mod reopen;
mod status;
mod suggestion;
mod support;
mod update;
mod vehicles;
mod versions;
