//! The ports to the storage of invoices.

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, ContactId, EventLog, StoreResult, Timestamp};

use crate::{CreditNumber, Invoice, InvoiceContent, InvoiceId, InvoiceNumber};

/// Reads invoices.
#[async_trait]
pub trait InvoiceReader: Send {
    /// Returns the invoice, or `None` if the business has none of that id.
    async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;

    /// Returns the invoice, or `None` if the business has none of that number.
    async fn invoice_by_number(&mut self, business: BusinessId, number: InvoiceNumber) -> StoreResult<Option<Invoice>>;
}

/// Reads the invoices of a contact, for its export.
#[async_trait]
pub trait ContactInvoiceReader: Send {
    /// Returns the first invoices of the contact after `after`, in the order of their ids. The number of them is up to the store;
    /// it is 0 only if there are no more.
    async fn contact_invoices(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: InvoiceId,
    ) -> StoreResult<Vec<Invoice>>;
}

/// Stores invoices. All operations through one store commit together or not at all.
#[async_trait]
pub trait InvoiceStore: InvoiceReader + EventLog {
    /// Locks the invoice against other writers until the transaction ends, and returns it.
    async fn lock_invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;

    /// Stores a new invoice without a number, under an id that no business has used.
    async fn insert_invoice(
        &mut self,
        business: BusinessId,
        content: InvoiceContent,
        at: Timestamp,
    ) -> StoreResult<Invoice>;

    /// Stores a changed invoice, including its number.
    async fn save_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()>;

    /// Draws the business's next invoice number: 1, 2, 3 …
    ///
    /// Locks the business's counter until the transaction ends. So a transaction that is rolled back returns its number and
    /// leaves no gap.
    async fn next_invoice_number(&mut self, business: BusinessId) -> StoreResult<InvoiceNumber>;

    /// Draws the business's next credit note number, in the same way as [`InvoiceStore::next_invoice_number`].
    async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::NewEvent;
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`InvoiceStore`].
        pub InvoiceStore {}

        #[async_trait]
        impl EventLog for InvoiceStore {
            async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()>;
        }

        #[async_trait]
        impl InvoiceReader for InvoiceStore {
            async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;
            async fn invoice_by_number(&mut self, business: BusinessId, number: InvoiceNumber) -> StoreResult<Option<Invoice>>;
        }

        #[async_trait]
        impl InvoiceStore for InvoiceStore {
            async fn lock_invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;
            async fn insert_invoice(&mut self, business: BusinessId, content: InvoiceContent, at: Timestamp) -> StoreResult<Invoice>;
            async fn save_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()>;
            async fn next_invoice_number(&mut self, business: BusinessId) -> StoreResult<InvoiceNumber>;
            async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber>;
        }
    }
}

#[cfg(feature = "mock")]
pub use mocks::MockInvoiceStore;
