//! Stores in memory, and the suites that every store of vehicles, of their documents and of their test drives must pass.
//!
//! [`MemoryStore`] is a complete store of all of these.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod contract;
mod memory;
mod records;
mod samples;

pub use contract::{VehicleBook, all_filters, vehicle_reader_contract, vehicle_store_contract};
pub use memory::{HoldsVehicles, MemoryStore, MemoryVehicles};
pub use records::{
    HoldsVehicleRecords, MemoryVehicleRecords, a_clashing_drive_is_refused, a_drive, a_file, test_drive_store_contract,
    vehicle_document_store_contract,
};
pub use samples::{a_full_vehicle, a_vehicle};
