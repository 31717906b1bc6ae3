//! The ports to the storage of orders.

use async_trait::async_trait;
use forecourt_billing::{BillingReader, DealId, InvoiceId, OrderId, OrderNumber};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, Money, Page, PageRequest, Range, SiteId, StaffId, StoreResult, Timestamp,
    VehicleId,
};

use crate::{Order, OrderContent, OrderStatusChoice};

/// The filters of a list of orders (areas §10.3); an absent one lets every order pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrderFilter {
    /// Of this site.
    pub site: Option<SiteId>,
    /// In this state.
    pub status: Option<OrderStatusChoice>,
    /// With this number.
    pub number: Option<OrderNumber>,
    /// With this reference of the customer, ignoring case.
    pub reference: Option<String>,
    /// Of this customer.
    pub customer: Option<ContactId>,
    /// With a line for this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Of this deal.
    pub deal: Option<DealId>,
    /// That became this invoice.
    pub invoice: Option<InvoiceId>,
    /// Of this salesperson.
    pub salesperson: Option<StaffId>,
    /// Issued and valid until a day before today, or not.
    pub expired: Option<Expired>,
    /// Of a day within this range.
    pub date: Option<Range<Date>>,
    /// Valid until a day within this range.
    pub valid_until: Option<Range<Date>>,
    /// Created within this range.
    pub created: Option<Range<Timestamp>>,
    /// Last changed within this range.
    pub updated: Option<Range<Timestamp>>,
}

/// The condition that an issued order was valid until a day before `today`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expired {
    /// `true` for orders that are expired, `false` for all others.
    pub is_expired: bool,
    /// The current day in UTC.
    pub today: Date,
}

/// A deposit that a customer has paid for a vehicle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaidDeposit {
    /// The customer.
    pub customer: ContactId,
    /// The vehicle.
    pub vehicle: VehicleId,
    /// The amount, less refunds.
    pub paid: Money,
}

/// Reads orders.
#[async_trait]
pub trait OrderReader: BillingReader {
    /// Returns the order, or `None` if the business has none of that id.
    async fn order(&mut self, business: BusinessId, id: OrderId) -> StoreResult<Option<Order>>;

    /// Returns a page of the orders that pass `filter`, newest first.
    async fn orders(
        &mut self,
        business: BusinessId,
        filter: &OrderFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Order>>;

    /// Returns what these customers have paid on deposits that stand.
    async fn paid_deposits(&mut self, business: BusinessId, customers: &[ContactId]) -> StoreResult<Vec<PaidDeposit>>;
}

/// Reads the orders of a contact, for its export.
#[async_trait]
pub trait ContactOrderReader: Send {
    /// Returns the first orders of the contact after `after`, in the order of their ids. The number of them is up to the store;
    /// it is 0 only if there are no more.
    async fn contact_orders(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: OrderId,
    ) -> StoreResult<Vec<Order>>;
}

/// Stores orders. All operations through one store commit together or not at all.
#[async_trait]
pub trait OrderStore: OrderReader + EventLog {
    /// Locks the order against other writers until the transaction ends, and returns it.
    async fn lock_order(&mut self, business: BusinessId, id: OrderId) -> StoreResult<Option<Order>>;

    /// Stores a new order without a number, under an id that no business has used.
    async fn insert_order(&mut self, business: BusinessId, content: OrderContent, at: Timestamp) -> StoreResult<Order>;

    /// Stores a changed order, including its number.
    async fn save_order(&mut self, business: BusinessId, order: &Order) -> StoreResult<()>;

    /// Returns some of the issued orders of deleted contacts that still show a party and are dated before `before`, of any
    /// business, oldest first.
    async fn orders_with_former_parties(&mut self, before: Date, limit: u32)
    -> StoreResult<Vec<(BusinessId, OrderId)>>;

    /// Draws the business's next order number: 1, 2, 3 …
    ///
    /// Locks the business's counter until the transaction ends. So a transaction that is rolled back returns its number and
    /// leaves no gap.
    async fn next_order_number(&mut self, business: BusinessId) -> StoreResult<OrderNumber>;
}
