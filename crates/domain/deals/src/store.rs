//! The ports to the storage of deals.

use async_trait::async_trait;
use forecourt_billing::{BillingReader, DealId, InvoiceId, OrderId};
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, LeadId, Money, Page, PageRequest, Range, SiteId, StaffId, StoreResult, Timestamp,
    VehicleId,
};
use forecourt_reference::LeadChannel;

use crate::{Deal, DealContent, DealStage};

/// The filters of a list of deals (areas §10.12); an absent one lets every deal pass.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DealFilter {
    /// Of this site.
    pub site: Option<SiteId>,
    /// With this number.
    pub reference: Option<i64>,
    /// In this stage.
    pub stage: Option<DealStage>,
    /// Not ended, or ended.
    pub open: Option<bool>,
    /// Of this contact.
    pub contact: Option<ContactId>,
    /// Of this lead.
    pub lead: Option<LeadId>,
    /// About this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Of this staff user.
    pub staff: Option<StaffId>,
    /// That came by this channel.
    pub source: Option<LeadChannel>,
    /// Known to this system.
    pub provider: Option<String>,
    /// With this id of another system.
    pub external_id: Option<String>,
    /// That became this order.
    pub order: Option<OrderId>,
    /// That became this invoice.
    pub invoice: Option<InvoiceId>,
    /// Created within this range.
    pub created: Option<Range<Timestamp>>,
    /// Last changed within this range.
    pub updated: Option<Range<Timestamp>>,
}

impl DealFilter {
    /// Returns `true` if `deal` passes the filter.
    pub fn matches(&self, deal: &Deal) -> bool {
        let Self {
            site,
            reference,
            stage,
            open,
            contact,
            lead,
            vehicle,
            staff,
            source,
            provider,
            external_id,
            order,
            invoice,
            created,
            updated,
        } = self;
        let content = &deal.content;
        site.is_none_or(|site| site == content.site)
            && reference.is_none_or(|reference| reference == deal.reference)
            && stage.is_none_or(|stage| stage == content.stage)
            && open.is_none_or(|open| open == content.stage.is_open())
            && contact.is_none_or(|contact| Some(contact) == content.contact)
            && lead.is_none_or(|lead| Some(lead) == content.lead)
            && vehicle.is_none_or(|vehicle| Some(vehicle) == content.vehicle)
            && staff.is_none_or(|staff| Some(staff) == content.staff)
            && source.is_none_or(|source| source == content.source)
            && provider.as_ref().is_none_or(|provider| *provider == *content.provider)
            && external_id.as_ref().is_none_or(|id| *id == *content.external_id)
            && order.is_none_or(|order| Some(order) == content.order)
            && invoice.is_none_or(|invoice| Some(invoice) == content.invoice)
            && created.is_none_or(|range| range.contains(&deal.created))
            && updated.is_none_or(|range| range.contains(&deal.updated))
    }
}

/// A deposit that a contact has paid for a vehicle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DealDeposit {
    /// The contact.
    pub contact: ContactId,
    /// The vehicle.
    pub vehicle: VehicleId,
    /// The amount, less refunds.
    pub paid: Money,
}

/// Reads what deals show of other records.
#[async_trait]
pub trait DealSurroundings: Send {
    /// Returns what these contacts have paid on deposits that stand.
    async fn deposits_paid(&mut self, business: BusinessId, contacts: &[ContactId]) -> StoreResult<Vec<DealDeposit>>;

    /// Returns those of the vehicles that a deal has reserved, with the deal.
    async fn reserved_by_deals(
        &mut self,
        business: BusinessId,
        vehicles: &[VehicleId],
    ) -> StoreResult<Vec<(VehicleId, DealId)>>;

    /// Returns `true` if the business has the lead.
    async fn is_lead_known(&mut self, business: BusinessId, lead: LeadId) -> StoreResult<bool>;
}

/// Reads deals. They come with blank [surroundings](crate::Surroundings).
#[async_trait]
pub trait DealReader: BillingReader + DealSurroundings {
    /// Returns the deal, or `None` if the business has none of that id.
    async fn deal(&mut self, business: BusinessId, id: DealId) -> StoreResult<Option<Deal>>;

    /// Returns a page of the deals that pass `filter`, newest first.
    async fn deals(&mut self, business: BusinessId, filter: &DealFilter, page: &PageRequest)
    -> StoreResult<Page<Deal>>;
}

/// Reads the deals of a contact, for its export.
#[async_trait]
pub trait ContactDealReader: Send {
    /// Returns the first deals of the contact after `after`, in the order of their ids. The number of them is up to the store; it
    /// is 0 only if there are no more.
    async fn contact_deals(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: DealId,
    ) -> StoreResult<Vec<Deal>>;
}

/// Stores deals. All operations through one store commit together or not at all.
#[async_trait]
pub trait DealStore: DealReader + EventLog {
    /// Locks the deal against other writers until the transaction ends, and returns it.
    async fn lock_deal(&mut self, business: BusinessId, id: DealId) -> StoreResult<Option<Deal>>;

    /// Returns the deal that another system knows under this id, if the business has it.
    async fn deal_reported_as(
        &mut self,
        business: BusinessId,
        provider: &str,
        external_id: &str,
    ) -> StoreResult<Option<DealId>>;

    /// Returns the deals about a vehicle that have not ended, in the order of their ids.
    async fn open_deals_of_vehicle(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Vec<DealId>>;

    /// Stores a new deal under an id that no business has used, and under the business's next reference: 1, 2, 3 …
    ///
    /// # Errors
    /// [`StoreError::Conflict`](forecourt_kernel::StoreError::Conflict) if another transaction has just stored a deal that the
    /// same system knows under the same id.
    async fn insert_deal(&mut self, business: BusinessId, content: DealContent, at: Timestamp) -> StoreResult<Deal>;

    /// Stores a changed deal.
    ///
    /// # Errors
    /// As [`DealStore::insert_deal`].
    async fn save_deal(&mut self, business: BusinessId, deal: &Deal) -> StoreResult<()>;
}
