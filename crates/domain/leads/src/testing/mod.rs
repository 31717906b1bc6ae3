//! A store in memory, and the contract suites for stores of leads.
//!
//! [`MemoryStore`] is a complete [`LeadStore`](crate::LeadStore) and [`ConversationStore`](crate::ConversationStore).
//! [`lead_store_contract`] and [`conversation_store_contract`] test any store against the contract of the ports. The example
//! `own_storage` of the crate for reviews shows how a team runs such a suite on its own storage.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod conversation_contract;
mod lead_contract;
mod memory;
mod samples;

pub use conversation_contract::conversation_store_contract;
pub use lead_contract::{LeadBook, Surroundings, lead_reader_contract, lead_store_contract};
pub use memory::{HoldsLeads, KnownContact, KnownVehicle, MemoryLeads, MemoryStore};
pub use samples::a_full_lead;
