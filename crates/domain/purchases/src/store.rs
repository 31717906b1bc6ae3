//! The ports to the storage of purchases.

use async_trait::async_trait;
use forecourt_billing::{BillingReader, PurchaseCreditNumber, PurchaseId, PurchaseNumber, StatusChoice};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, Money, Page, PageRequest, Range, SiteId, StoreResult, Timestamp, VehicleId,
};

use crate::{Purchase, PurchaseContent, PurchaseKind};

/// The filters of a list of purchases (areas §10.4); an absent one lets every purchase pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PurchaseFilter {
    /// Of this site.
    pub site: Option<SiteId>,
    /// In this state.
    pub status: Option<StatusChoice>,
    /// Of this purpose.
    pub kind: Option<PurchaseKind>,
    /// With this number.
    pub number: Option<PurchaseNumber>,
    /// From this supplier.
    pub supplier: Option<ContactId>,
    /// With this number of the supplier's, compared by [`supplier_invoice_key`](crate::supplier_invoice_key).
    pub supplier_invoice: Option<String>,
    /// With a line for this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Linked to this job.
    pub job: Option<i64>,
    /// Issued and due before a day, or not.
    pub overdue: Option<OverduePurchase>,
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

/// The condition that an issued purchase is due before `today`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverduePurchase {
    /// `true` for purchases that are overdue, `false` for all others.
    pub is_overdue: bool,
    /// The current day in UTC.
    pub today: Date,
}

/// Reads purchases.
#[async_trait]
pub trait PurchaseReader: BillingReader {
    /// Returns the purchase, or `None` if the business has none of that id.
    async fn purchase(&mut self, business: BusinessId, id: PurchaseId) -> StoreResult<Option<Purchase>>;

    /// Returns a page of the purchases that pass `filter`, newest first.
    async fn purchases(
        &mut self,
        business: BusinessId,
        filter: &PurchaseFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Purchase>>;
}

/// Reads the purchases from a contact, for its export.
#[async_trait]
pub trait ContactPurchaseReader: Send {
    /// Returns the first purchases from the contact after `after`, in the order of their ids. The number of them is up to the
    /// store; it is 0 only if there are no more.
    async fn contact_purchases(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: PurchaseId,
    ) -> StoreResult<Vec<Purchase>>;
}

/// Stores purchases. All operations through one store commit together or not at all.
#[async_trait]
pub trait PurchaseStore: PurchaseReader + EventLog {
    /// Locks the purchase against other writers until the transaction ends, and returns it.
    async fn lock_purchase(&mut self, business: BusinessId, id: PurchaseId) -> StoreResult<Option<Purchase>>;

    /// Returns a purchase of type cost, neither cancelled nor credited, from the supplier with this number of the supplier's,
    /// compared by its key. Locks the business's purchases against a second one until the transaction ends.
    async fn purchase_of_supplier_invoice(
        &mut self,
        business: BusinessId,
        supplier: ContactId,
        key: &str,
        except: Option<PurchaseId>,
    ) -> StoreResult<Option<Purchase>>;

    /// Stores a new purchase without a number, under an id that no business has used.
    async fn insert_purchase(
        &mut self,
        business: BusinessId,
        content: PurchaseContent,
        at: Timestamp,
    ) -> StoreResult<Purchase>;

    /// Stores a changed purchase, including its number.
    async fn save_purchase(&mut self, business: BusinessId, purchase: &Purchase) -> StoreResult<()>;

    /// Returns some of the issued purchases of deleted contacts that still show a party and are dated before `before`, of any
    /// business, oldest first.
    async fn purchases_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, PurchaseId)>>;

    /// Draws the business's next purchase number: 1, 2, 3 …
    ///
    /// Locks the business's counter until the transaction ends. So a transaction that is rolled back returns its number and
    /// leaves no gap.
    async fn next_purchase_number(&mut self, business: BusinessId) -> StoreResult<PurchaseNumber>;

    /// Draws the business's next number in the stock book, in the same way as [`PurchaseStore::next_purchase_number`].
    async fn next_stock_number(&mut self, business: BusinessId) -> StoreResult<i64>;

    /// Draws the business's next number of a credit, in the same way as [`PurchaseStore::next_purchase_number`].
    async fn next_purchase_credit_number(&mut self, business: BusinessId) -> StoreResult<PurchaseCreditNumber>;
}
