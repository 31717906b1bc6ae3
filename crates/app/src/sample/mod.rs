//! Made-up data that looks like a dealership's own, the same for the same seed.

mod customers;
mod data;
mod generator;
mod known;
mod loader;
mod people;
mod pick;
mod stock;
mod texts;

pub(crate) use customers::Customers;
pub(crate) use generator::{Generator, Period};
pub(crate) use known::ExistingRecords;
pub(crate) use loader::{LoadReport, existing, load_contacts, load_leads, load_vehicles};
pub(crate) use stock::Stock;

#[cfg(test)]
pub(crate) mod testing;
