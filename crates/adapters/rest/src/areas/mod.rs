//! The operations, one module for each area of the contract.

mod appointments;
mod blogs;
mod calls;
mod contacts;
mod deals;
mod events;
mod invoices;
mod jobs;
mod leads;
mod listings;
mod meta;
mod orders;
pub(crate) mod papers;
mod purchases;
mod reference;
mod reviews;
mod stock_book;
mod vehicles;
mod webhooks;

pub use appointments::host_of;
use forecourt_kernel::BoxError;
use serde_json::Value;

use crate::{
    code::Code,
    operation::{Declared, Operation},
    summary::OperationSummary,
};

/// An area of the contract. Its module declares here everything that the rest of the adapter knows of it.
pub(crate) struct Area {
    /// Its name, by which the documentation groups operations.
    pub(crate) tag: &'static str,
    /// Its subject.
    pub(crate) about: &'static str,
    /// Its operations.
    pub(crate) operations: fn() -> Declared<Vec<Operation>>,
    /// The error codes that are its own.
    pub(crate) codes: &'static [Code],
    /// The records that events describe.
    pub(crate) records: &'static [EventRecord],
}

/// A record as events show it.
pub(crate) struct EventRecord {
    /// The first part of the events' names.
    pub(crate) resource: &'static str,
    /// Its schema in the document.
    pub(crate) schema: &'static str,
    /// Returns an example of it.
    pub(crate) example: fn() -> Value,
}

/// All areas, in the order of the documentation.
pub(crate) const AREAS: &[Area] = &[
    leads::AREA,
    contacts::AREA,
    vehicles::AREA,
    invoices::AREA,
    orders::AREA,
    purchases::AREA,
    deals::AREA,
    stock_book::AREA,
    jobs::AREA,
    listings::AREA,
    calls::AREA,
    blogs::AREA,
    reviews::AREA,
    appointments::AREA,
    webhooks::AREA,
    events::AREA,
    reference::AREA,
    meta::AREA,
];

/// Returns every operation of the API.
pub(crate) fn operations() -> Declared<Vec<Operation>> {
    let mut operations = Vec::new();
    for area in AREAS {
        operations.append(&mut (area.operations)()?);
    }
    Ok(operations)
}

/// Returns a summary of every operation.
///
/// # Errors
/// If an operation lacks a required declaration.
pub fn summaries() -> Result<Vec<OperationSummary>, BoxError> {
    Ok(operations()?.iter().map(Operation::summary).collect())
}

/// Returns every error code, in the order of the documentation.
pub(crate) fn codes() -> impl Iterator<Item = Code> {
    let of_areas = AREAS.iter().flat_map(|area| area.codes);
    Code::COMMON.iter().chain(of_areas).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_name_of_a_code_is_declared_once() {
        let mut names = HashSet::new();
        for code in codes() {
            assert!(names.insert(code.as_str()), "{code:?}");
        }
    }
}
