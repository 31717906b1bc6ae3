//! What this area needs from storage.

use async_trait::async_trait;
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, LeadId, MailOutbox, Page, PageRequest, StoreError, StoreResult, Timestamp,
    VehicleId,
};

use crate::{Lead, LeadDraft, LeadFilter, LeadPreview, LeadVehicle, StockVehicle, VehicleChoice};

/// A closed lead whose day to reopen has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DueReopening {
    /// Whose lead it is.
    pub business: BusinessId,
    /// Which lead.
    pub lead: LeadId,
}

/// Reads leads.
#[async_trait]
pub trait LeadReader: Send {
    /// The lead, or `None` if the business has none of that id.
    async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;

    /// A page of the leads that pass `filter`, newest first (id descending).
    async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest)
    -> StoreResult<Page<Lead>>;

    /// The same page in the simple view. Storage that keeps [`LeadPreview::written`] beside each lead need not read the leads
    /// themselves, as is done here.
    async fn lead_previews(
        &mut self,
        business: BusinessId,
        filter: &LeadFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<LeadPreview>> {
        let page = self.leads(business, filter, page).await?;
        page.try_map(|lead| LeadPreview::of(&lead).map_err(|failure| StoreError::Other(failure.into())))
    }

    /// Whether the business has that contact.
    async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;

    /// The vehicle, or `None` if the business has no such vehicle or it was deleted.
    async fn stock_vehicle(
        &mut self,
        business: BusinessId,
        choice: &VehicleChoice,
    ) -> StoreResult<Option<StockVehicle>>;

    /// A page of the vehicles that the lead concerns, newest first (vehicle id descending), or `None` if the business has no
    /// such lead. Vehicles that were deleted are not among them.
    async fn lead_vehicles(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        page: &PageRequest,
    ) -> StoreResult<Option<Page<LeadVehicle>>>;
}

/// Writes leads, and looks up what else the rules need. One value of it is one transaction.
#[async_trait]
pub trait LeadStore: LeadReader + EventLog + MailOutbox {
    /// The lead, locked against other writers until the transaction ends.
    async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;

    /// Stores a new lead under an id that no business has used and under the business's next reference number.
    async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead>;

    /// Stores a lead that has changed.
    async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()>;

    /// Removes the lead and all that belongs to it, its associations with vehicles for one.
    async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()>;

    /// Notes that the lead concerns the vehicle, both of which the business has; `false` if that was known before.
    async fn associate_vehicle(
        &mut self,
        business: BusinessId,
        lead: LeadId,
        vehicle: VehicleId,
        at: Timestamp,
    ) -> StoreResult<bool>;

    /// Forgets that the lead concerns the vehicle; `false` if [`LeadReader::lead_vehicles`] does not have it.
    async fn dissociate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId)
    -> StoreResult<bool>;

    /// At most `limit` closed leads of any business whose day to reopen has begun at `now`.
    async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::{Mail, NewEvent};
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`LeadReader`].
        pub LeadReader {}

        #[async_trait]
        impl LeadReader for LeadReader {
            async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;
            async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<Lead>>;
            async fn lead_previews(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<LeadPreview>>;
            async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;
            async fn stock_vehicle(&mut self, business: BusinessId, choice: &VehicleChoice) -> StoreResult<Option<StockVehicle>>;
            async fn lead_vehicles(&mut self, business: BusinessId, lead: LeadId, page: &PageRequest) -> StoreResult<Option<Page<LeadVehicle>>>;
        }
    }

    mock! {
        /// A scripted [`LeadStore`].
        pub LeadStore {}

        #[async_trait]
        impl EventLog for LeadStore {
            async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()>;
        }

        #[async_trait]
        impl MailOutbox for LeadStore {
            async fn queue_mail(&mut self, business: BusinessId, mail: Mail, at: Timestamp) -> StoreResult<()>;
        }

        #[async_trait]
        impl LeadReader for LeadStore {
            async fn lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;
            async fn leads(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<Lead>>;
            async fn lead_previews(&mut self, business: BusinessId, filter: &LeadFilter, page: &PageRequest) -> StoreResult<Page<LeadPreview>>;
            async fn contact_exists(&mut self, business: BusinessId, id: ContactId) -> StoreResult<bool>;
            async fn stock_vehicle(&mut self, business: BusinessId, choice: &VehicleChoice) -> StoreResult<Option<StockVehicle>>;
            async fn lead_vehicles(&mut self, business: BusinessId, lead: LeadId, page: &PageRequest) -> StoreResult<Option<Page<LeadVehicle>>>;
        }

        #[async_trait]
        impl LeadStore for LeadStore {
            async fn lock_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<Option<Lead>>;
            async fn insert_lead(&mut self, business: BusinessId, draft: LeadDraft, at: Timestamp) -> StoreResult<Lead>;
            async fn save_lead(&mut self, business: BusinessId, lead: &Lead) -> StoreResult<()>;
            async fn delete_lead(&mut self, business: BusinessId, id: LeadId) -> StoreResult<()>;
            async fn associate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId, at: Timestamp) -> StoreResult<bool>;
            async fn dissociate_vehicle(&mut self, business: BusinessId, lead: LeadId, vehicle: VehicleId) -> StoreResult<bool>;
            async fn due_reopenings(&mut self, now: Timestamp, limit: u32) -> StoreResult<Vec<DueReopening>>;
        }
    }
}

#[cfg(feature = "mock")]
pub use mocks::{MockLeadReader, MockLeadStore};
