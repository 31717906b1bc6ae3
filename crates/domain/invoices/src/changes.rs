//! The bodies of callers.

use forecourt_billing::PaymentChanges;
use forecourt_kernel::Date;

forecourt_billing::document_changes! {
    /// A new invoice. `customer` is required.
    #[cfg_attr(feature = "openapi", schema(as = NewInvoiceBody, example = json!({"customer": 12, "lines": [{"type": "product", "description": "Service", "gross": 180}]})))]
    NewInvoice and NewInvoiceOwn;

    /// Last day to pay; by default the day of the invoice and the business's `invoice_due_days`.
    due_date: #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))] Date;
    /// True to issue it at once.
    issue: #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))] bool;
    /// The payment at its issue; only with `issue`.
    payment: #[cfg_attr(feature = "openapi", schema(value_type = Option<PaymentChanges>))] PaymentChanges;
}

forecourt_billing::document_changes! {
    /// Changes to an invoice. No member is required; which can change depends on the status.
    #[cfg_attr(feature = "openapi", schema(as = InvoiceBody, example = json!({"reference": "PO 4711"})))]
    InvoiceChanges and InvoiceOwn;

    /// Last day to pay; null moves it with the day of the invoice.
    due_date: #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))] Date;
}
