//! The ports for the storage of calls.

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, CallId, ContactId, LeadId, Page, PageRequest, Phone, Range, SiteId, StaffId, StoreResult, Timestamp,
    VehicleId,
};
use forecourt_leads::LeadStore;

use crate::{Call, CallContent, CallDirection, CallOutcome};

/// A filter for lists of calls. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CallFilter {
    /// Calls of this site.
    pub site: Option<SiteId>,
    /// Calls in this direction.
    pub direction: Option<CallDirection>,
    /// Calls with this outcome.
    pub outcome: Option<CallOutcome>,
    /// Calls with this contact.
    pub contact: Option<ContactId>,
    /// Calls about this lead.
    pub lead: Option<LeadId>,
    /// Calls about this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Calls of this staff user.
    pub staff: Option<StaffId>,
    /// Calls from this number.
    pub from: Option<Phone>,
    /// Calls to this number.
    pub to: Option<Phone>,
    /// Calls from or to this number.
    pub number: Option<Phone>,
    /// Calls that this telephone system reports.
    pub provider: Option<String>,
    /// Calls with this id of a telephone system.
    pub external_id: Option<String>,
    /// Calls of this number or campaign.
    pub tracking: Option<String>,
    /// Calls that began in this range.
    pub started: Option<Range<Timestamp>>,
    /// Calls created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Calls last changed in this range.
    pub updated: Option<Range<Timestamp>>,
}

impl CallFilter {
    /// Returns `true` if `call` passes the filter.
    pub fn matches(&self, call: &Call) -> bool {
        let Self {
            site,
            direction,
            outcome,
            contact,
            lead,
            vehicle,
            staff,
            from,
            to,
            number,
            provider,
            external_id,
            tracking,
            started,
            created,
            updated,
        } = self;
        let content = &call.content;
        let is = |wanted: &Option<Phone>, number: &str| wanted.as_ref().is_none_or(|wanted| wanted.as_str() == number);
        site.is_none_or(|site| site == content.site)
            && direction.is_none_or(|direction| direction == content.direction)
            && outcome.is_none_or(|outcome| outcome == content.actual_outcome())
            && contact.is_none_or(|contact| Some(contact) == content.contact)
            && lead.is_none_or(|lead| Some(lead) == content.lead)
            && vehicle.is_none_or(|vehicle| Some(vehicle) == content.vehicle)
            && staff.is_none_or(|staff| Some(staff) == content.staff)
            && is(from, &content.from)
            && is(to, &content.to)
            && (is(number, &content.from) || is(number, &content.to))
            && provider.as_ref().is_none_or(|provider| *provider == content.provider)
            && external_id.as_ref().is_none_or(|id| *id == content.external_id)
            && tracking.as_ref().is_none_or(|tracking| *tracking == content.tracking)
            && started.is_none_or(|range| range.contains(&content.started))
            && created.is_none_or(|range| range.contains(&call.created))
            && updated.is_none_or(|range| range.contains(&call.updated))
    }
}

/// Reads calls.
#[async_trait]
pub trait CallReader: Send {
    /// Returns the call, or `None` if the business has none with that id.
    async fn call(&mut self, business: BusinessId, id: CallId) -> StoreResult<Option<Call>>;

    /// Returns a page of the business's calls that pass `filter`, newest first (id descending).
    async fn calls(&mut self, business: BusinessId, filter: &CallFilter, page: &PageRequest)
    -> StoreResult<Page<Call>>;
}

/// Reads the calls of a contact, for its export.
#[async_trait]
pub trait ContactCallReader: Send {
    /// Returns the first calls of the contact after `after`, in the order of their ids. The number of them is up to the store;
    /// it is 0 only if there are no more.
    async fn contact_calls(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: CallId,
    ) -> StoreResult<Vec<Call>>;
}

/// Stores calls, and finds the contacts and leads that they match. All changes through one value commit together or not at all.
///
/// Locks are taken in the order call, lead.
#[async_trait]
pub trait CallStore: CallReader + LeadStore {
    /// Locks the call against other writers until the transaction ends, and returns it.
    async fn lock_call(&mut self, business: BusinessId, id: CallId) -> StoreResult<Option<Call>>;

    /// Returns the call that a telephone system reports under this id, if the business has it.
    async fn call_reported_as(
        &mut self,
        business: BusinessId,
        provider: &str,
        external_id: &str,
    ) -> StoreResult<Option<CallId>>;

    /// Stores a new call under an id that no business has used.
    ///
    /// # Errors
    /// [`StoreError::Conflict`](forecourt_kernel::StoreError::Conflict) if another transaction has just stored a call that the
    /// same telephone system reports under the same id.
    async fn insert_call(&mut self, business: BusinessId, content: CallContent, at: Timestamp) -> StoreResult<Call>;

    /// Stores a changed call.
    ///
    /// # Errors
    /// As [`CallStore::insert_call`].
    async fn save_call(&mut self, business: BusinessId, call: &Call) -> StoreResult<()>;

    /// Deletes a call.
    async fn delete_call(&mut self, business: BusinessId, id: CallId) -> StoreResult<()>;

    /// Returns the name of the contact; `None` if the business has no such contact.
    async fn contact_name(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<String>>;

    /// Returns the newest lead, neither closed nor junk, that was created at `since` or later and either is linked to the
    /// contact or has the number as its phone or mobile. An empty number matches none.
    async fn lead_of_party(
        &mut self,
        business: BusinessId,
        contact: Option<ContactId>,
        number: &str,
        since: Timestamp,
    ) -> StoreResult<Option<LeadId>>;

    /// Returns the largest number of calls that one purge of calls which began before `before` may delete: those that began at
    /// `since` or later, or a tenth of the business's calls if that is more; 0 if none is that old.
    async fn call_purge_quota(&mut self, business: BusinessId, before: Timestamp, since: Timestamp)
    -> StoreResult<u32>;

    /// Deletes at most `limit` of the business's calls that began before `before`, those with the lowest ids first. Returns the number deleted.
    async fn purge_calls(&mut self, business: BusinessId, before: Timestamp, limit: u32) -> StoreResult<u32>;
}
