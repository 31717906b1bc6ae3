//! A store in memory, and the contract suite for stores of contacts.
//!
//! [`MemoryStore`] is a complete [`ContactStore`](crate::ContactStore). [`contact_store_contract`] and [`login_email_contract`]
//! test any store against the contract of the ports.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod contract;
mod memory;
mod samples;

pub use contract::{
    ContactBook, any_contact, contact_reader_contract, contact_store_contract, filters_of_each_kind, joined_filter,
    login_email_contract,
};
pub use memory::{HoldsContacts, MemoryContacts, MemoryStore};
pub use samples::{a_contact, a_full_contact};
