//! Every query, written once and compiled twice: below [`crate::postgres`] and below [`crate::sqlite`].
//!
//! `super` is the engine. It supplies the connection type `Conn`, and the handle `Engine` with its `Reader` and `UnitOfWork`.
//! Everything that truly differs is in `dialect` and `deliveries`. The types check against each engine with no bound
//! anywhere.
//!
//! # The order of locks
//!
//! On PostgreSQL every transaction locks in this order, so that none waits for another that waits for it:
//!
//! 1. an entry of background work (`deletions`, a lease), which no transaction waits for;
//! 2. subscriptions (`webhooks`), by business and id;
//! 3. records that the request names or the erasure finds: contacts, calls, leads, vehicles, invoices, orders, purchases, test drives, other records,
//!    jobs; of one kind by id;
//! 4. the business's counters (`counters`), by the first of them;
//! 5. other rows of the business: those that refer to its records (`lead_vehicles`, `vehicle_facts`, `listings` and their like),
//!    articles, events;
//! 6. deliveries, by business and id;
//! 7. queues of deliveries, by business and webhook, as the last statement of a transaction.
//!
//! After a business's quota of mails (`mail_quotas`) a transaction locks nothing but the rows that the commit sends. The quotas
//! of several businesses are locked by business.
//!
//! The counters put the transactions of one business in sequence. So rows under 5 need no order of their own, provided that a
//! transaction which locks any of them has the counters ([`Session::lock_counters`](session::Session::lock_counters)). Transactions without
//! them, and those over all businesses, lock only free rows and leave the rest for the next time (`skip_locked`). A row that
//! refers to another one locks that too, with the weakest lock that the server has. A deleted row takes the rows along that refer
//! to it.

use super::{Conn, Db, Engine, Pipeline, Reader, UnitOfWork, deliveries, dialect};

mod accounts;
mod age;
mod appointments;
mod backlog;
mod billing;
mod blogs;
mod calls;
mod cell;
mod contacts;
mod deals;
mod deletion_queue;
mod deletions;
mod diagnosis;
mod events;
mod files;
mod followers;
mod idempotency;
mod invoices;
mod jobs;
mod keys;
mod leads;
mod list;
mod listings;
mod mails;
mod meta;
mod orders;
mod outgoing;
mod owned;
mod page;
pub(crate) mod people;
mod purchases;
mod records;
mod reviews;
mod selection;
mod servers;
mod session;
mod size;
mod stock_book;
mod vehicles;
mod webhooks;

pub(crate) use records::Records;

/// The tables that businesses own, by area. Rows come before the rows that they refer to.
const OWNED_TABLES: &[&[owned::OwnedTable]] = &[
    appointments::OWNED_TABLES,
    leads::OWNED_TABLES,
    jobs::OWNED_TABLES,
    vehicles::OWNED_TABLES,
    vehicles::documents::OWNED_TABLES,
    vehicles::drives::OWNED_TABLES,
    contacts::OWNED_TABLES,
    people::OWNED_TABLES,
    reviews::OWNED_TABLES,
    blogs::OWNED_TABLES,
    listings::OWNED_TABLES,
    invoices::OWNED_TABLES,
    orders::OWNED_TABLES,
    purchases::OWNED_TABLES,
    stock_book::OWNED_TABLES,
    calls::OWNED_TABLES,
    deals::OWNED_TABLES,
    files::OWNED_TABLES,
];
