//! The promises of every engine's stores, each test on a database of its own.
//!
//! A test is written once, over `dyn Database`, and listed in its module's `both_engines!`, which runs it on each engine.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy excepts a test, but not what several tests share"
)]

mod accounts;
mod appointments;
mod backlog;
mod blogs;
mod calls;
mod contacts;
mod crowd;
mod deals;
mod deliveries;
mod events;
mod fleet;
mod group_commit;
mod idempotency;
mod identity;
mod installation;
mod invoices;
mod jobs;
mod lead_conversation;
mod lead_vehicles;
mod leads;
mod listings;
mod lists;
mod locks;
mod mails;
mod orders;
mod outgoing;
mod people;
mod purchases;
mod reviews;
mod samples;
mod servers;
mod stock_book;
mod stored_forms;
mod totals;
mod transactions;
mod vehicle_files;
mod vehicles;
mod webhooks;
