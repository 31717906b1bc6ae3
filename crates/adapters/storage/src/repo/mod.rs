//! Every query, written once and compiled twice: below [`crate::postgres`] and below [`crate::sqlite`].
//!
//! `super` is the engine. It supplies the connection type `Conn`, the handle `Engine` with its `Reader` and `Session`, and
//! what truly differs in `dialect`, `deliveries` and `search`; the types check against each engine with no bound anywhere.
//!
//! # The order of locks
//!
//! On PostgreSQL every transaction locks in this order, so that none waits for another that waits for it:
//!
//! 1. an entry of background work (`deletions`, a lease), which nobody waits for;
//! 2. subscriptions (`webhooks`), by business and id;
//! 3. records that the request names or the erasure finds: contacts, leads, vehicles, invoices, test drives, other records; of one kind by id;
//! 4. the business's counters (`business_counters`), then those of a kind of record;
//! 5. whatever else is the business's: what refers to its records (`lead_vehicles`, `vehicle_facts` and what goes with them), events;
//! 6. deliveries, by business and id;
//! 7. queues of deliveries, by business and webhook, as the last that a transaction does.
//!
//! Nothing but what the commit sends is locked behind a business's quota of mails (`mail_quotas`); those of several are locked by business.
//!
//! Two transactions of one business that come as far as its counters go on one after the other: so what stands under 5 needs no order of
//! its own, provided that a transaction which locks any of it has the counters ([`Writing::lock_counters`](session::Writing)). Those who
//! have not, and those who go through all businesses, lock what is free and leave the rest for the next time (`skip_locked!`). A row
//! that refers to another one locks that too, as little as the server can, and a row that goes takes those along that refer to it.

use super::{Conn, Db, Engine, Pipeline, Reader, Session, deliveries, dialect, search};

mod accounts;
mod age;
mod backlog;
mod blogs;
mod contacts;
mod deletion_queue;
mod deletions;
mod events;
mod files;
mod group_commit;
mod idempotency;
mod invoices;
mod leads;
mod list;
mod listings;
mod mails;
mod meta;
mod owned;
pub(crate) mod people;
mod records;
mod reviews;
mod session;
mod size;
mod transaction;
mod vehicles;
mod webhooks;
mod write_buffer;

pub(crate) use records::Records;

/// What businesses own, area by area. Rows come before what they refer to.
const OWNED_TABLES: &[&[owned::OwnedTable]] = &[
    leads::OWNED_TABLES,
    vehicles::OWNED_TABLES,
    vehicles::documents::OWNED_TABLES,
    vehicles::drives::OWNED_TABLES,
    contacts::OWNED_TABLES,
    people::OWNED_TABLES,
    reviews::OWNED_TABLES,
    blogs::OWNED_TABLES,
    listings::OWNED_TABLES,
    invoices::OWNED_TABLES,
    files::OWNED_TABLES,
];
