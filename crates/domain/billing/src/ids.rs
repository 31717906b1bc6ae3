//! The identifiers of documents, which refer to one another across areas.

forecourt_kernel::ids! {
    /// Identifies an invoice, uniquely across businesses.
    InvoiceId;
    /// Identifies an order, uniquely across businesses.
    OrderId;
    /// Identifies a purchase, uniquely across businesses.
    PurchaseId;
    /// Identifies a deal, uniquely across businesses.
    DealId;
}
