//! The identifiers of documents, which refer to one another across areas.

pub use forecourt_kernel::{InvoiceId, OrderId};

forecourt_kernel::ids! {
    /// Identifies a purchase, uniquely across businesses.
    PurchaseId;
    /// Identifies a deal, uniquely across businesses.
    DealId;
}
