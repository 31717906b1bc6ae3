//! Every query, written once and compiled twice: below [`crate::postgres`] and below [`crate::sqlite`].
//!
//! `super` is the engine. It supplies the connection type `Conn`, the handle `Engine` with its `Reader` and `Session`, and
//! what truly differs in `dialect`, `deliveries` and `search`; the types check against each engine with no bound anywhere.

use super::{Conn, Db, Engine, Flight, Reader, Session, deliveries, dialect, search};

mod accounts;
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
    reviews::OWNED_TABLES,
    blogs::OWNED_TABLES,
    listings::OWNED_TABLES,
    invoices::OWNED_TABLES,
    files::OWNED_TABLES,
];
