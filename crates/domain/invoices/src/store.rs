//! The ports to the storage of invoices.

use async_trait::async_trait;
use forecourt_billing::{BillingReader, CreditNumber, DealId, InvoiceId, InvoiceNumber, OrderId};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, Money, Page, PageRequest, Range, SiteId, StaffId, StoreResult, Timestamp,
    VehicleId,
};

use crate::{Invoice, InvoiceContent, InvoiceKind, StatusChoice};

/// The filters of a list of invoices (areas §10.2); an absent one lets every invoice pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InvoiceFilter {
    /// Of this site.
    pub site: Option<SiteId>,
    /// In this state.
    pub status: Option<StatusChoice>,
    /// Of this purpose.
    pub kind: Option<InvoiceKind>,
    /// With this number.
    pub number: Option<InvoiceNumber>,
    /// With this reference of the customer, ignoring case.
    pub reference: Option<String>,
    /// Of this customer.
    pub customer: Option<ContactId>,
    /// With a line for this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Of this deal.
    pub deal: Option<DealId>,
    /// Made of this order.
    pub order: Option<OrderId>,
    /// The finance invoices of this invoice.
    pub parent: Option<InvoiceId>,
    /// Of this salesperson.
    pub salesperson: Option<StaffId>,
    /// With this credit note.
    pub credit_note: Option<CreditNumber>,
    /// Issued and due before a day, or not.
    pub overdue: Option<Overdue>,
    /// With a gross within this range.
    pub gross: Option<Range<Money>>,
    /// Of a day within this range.
    pub date: Option<Range<Date>>,
    /// Due within this range.
    pub due_date: Option<Range<Date>>,
    /// Created within this range.
    pub created: Option<Range<Timestamp>>,
    /// Last changed within this range.
    pub updated: Option<Range<Timestamp>>,
}

/// The condition that an issued invoice is due before `today`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overdue {
    /// `true` for invoices that are overdue, `false` for all others.
    pub is_overdue: bool,
    /// The current day in UTC.
    pub today: Date,
}

/// Reads invoices.
#[async_trait]
pub trait InvoiceReader: BillingReader {
    /// Returns the invoice, or `None` if the business has none of that id.
    async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;

    /// Returns a page of the invoices that pass `filter`, newest first.
    async fn invoices(
        &mut self,
        business: BusinessId,
        filter: &InvoiceFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Invoice>>;

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

    /// Returns some of the issued invoices of deleted contacts that still show a party and are dated before `before`, of any
    /// business, oldest first.
    async fn invoices_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, InvoiceId)>>;

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
    use forecourt_billing::{BilledContact, BilledVehicle};
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
        impl BillingReader for InvoiceStore {
            async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>>;
            async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>>;
        }

        #[async_trait]
        impl InvoiceReader for InvoiceStore {
            async fn invoices(&mut self, business: BusinessId, filter: &InvoiceFilter, page: &PageRequest) -> StoreResult<Page<Invoice>>;
            async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;
            async fn invoice_by_number(&mut self, business: BusinessId, number: InvoiceNumber) -> StoreResult<Option<Invoice>>;
        }

        #[async_trait]
        impl InvoiceStore for InvoiceStore {
            async fn lock_invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>>;
            async fn insert_invoice(&mut self, business: BusinessId, content: InvoiceContent, at: Timestamp) -> StoreResult<Invoice>;
            async fn save_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()>;
            async fn invoices_with_former_parties(&mut self, before: Date, limit: u32) -> StoreResult<Vec<(BusinessId, InvoiceId)>>;
            async fn next_invoice_number(&mut self, business: BusinessId) -> StoreResult<InvoiceNumber>;
            async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber>;
        }
    }
}

#[cfg(feature = "mock")]
pub use mocks::MockInvoiceStore;
