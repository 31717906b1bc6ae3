//! The operations, one module for each area of the contract.

mod contacts;
mod events;
mod lead_vehicles;
mod leads;
mod meta;
mod reference;
mod vehicles;
mod webhooks;

use crate::{openapi::Declared, operation::Operation};

/// The areas, as the documentation groups its operations.
pub(crate) const TAGS: [(&str, &str); 7] = [
    (
        "leads",
        "Enquiries with a status workflow, staff assignment, AI rating and summary",
    ),
    (
        "contacts",
        "Customers, suppliers and others: their record, their privacy and their login",
    ),
    (
        "vehicles",
        "The stock and what else stands in the yard: records, tags, and where they are advertised",
    ),
    (
        "webhooks",
        "Subscriptions to events, and the history of their deliveries",
    ),
    (
        "events",
        "The log of what happened, for those without a public endpoint",
    ),
    ("reference", "Lists of valid values"),
    ("meta", "What the API is and what a key may use"),
];

/// Every operation that the API has.
pub(crate) fn operations() -> Declared<Vec<Operation>> {
    let mut operations = leads::operations()?;
    operations.extend(lead_vehicles::operations()?);
    operations.extend(contacts::operations()?);
    operations.extend(vehicles::operations()?);
    operations.extend(webhooks::operations()?);
    operations.extend(events::operations()?);
    operations.extend(reference::operations()?);
    operations.extend(meta::operations()?);
    Ok(operations)
}
