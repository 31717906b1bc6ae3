//! A store in memory, and what every store of leads must do.
//!
//! [`MemoryStore`] is a whole [`LeadStore`](crate::LeadStore) and [`ConversationStore`](crate::ConversationStore).
//! [`lead_store_contract`] and [`conversation_store_contract`] hold any store to what the ports promise:
//! `examples/own_storage.rs` shows how a team runs them on its own.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod conversation_contract;
mod lead_contract;
mod memory;
mod samples;

pub use conversation_contract::conversation_store_contract;
pub use lead_contract::{LeadBook, Surroundings, lead_reader_contract, lead_store_contract};
pub use memory::{HoldsLeads, KnownContact, KnownVehicle, MemoryLeads, MemoryStore};
pub use samples::a_full_lead;
