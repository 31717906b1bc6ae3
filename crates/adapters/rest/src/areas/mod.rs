//! The operations, one module for each area of the contract.

mod leads;
mod meta;
mod reference;

use crate::{openapi::Declared, operation::Operation};

/// The areas, as the documentation groups its operations.
pub(crate) const TAGS: [(&str, &str); 3] = [
    (
        "leads",
        "Enquiries with a status workflow, staff assignment, AI rating and summary",
    ),
    ("reference", "Lists of valid values"),
    ("meta", "What the API is and what a key may use"),
];

/// Every operation that the API has.
pub(crate) fn operations() -> Declared<Vec<Operation>> {
    let mut operations = leads::operations()?;
    operations.extend(reference::operations()?);
    operations.extend(meta::operations()?);
    Ok(operations)
}
