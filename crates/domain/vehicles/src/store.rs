//! What this area needs from storage.

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_invoices::InvoiceStore;
use forecourt_kernel::{BusinessId, ContactId, EventLog, Page, PageRequest, StoreResult, Timestamp, VehicleId};

use crate::{Vehicle, VehicleDraft, VehicleFilter, VehiclePreview};

/// Reads vehicles. A deleted one is none.
#[async_trait]
pub trait VehicleReader: Send {
    /// The vehicle, or `None` if the business has none of that id.
    async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;

    /// A page of the vehicles that pass `filter`, newest first (id descending).
    async fn vehicles(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Vehicle>>;

    /// The same page in the simple view. Storage that keeps [`VehiclePreview::written`] beside each vehicle need not read the
    /// vehicles themselves, as is done here.
    async fn vehicle_previews(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<VehiclePreview>> {
        let Page { items, next, total } = self.vehicles(business, filter, page).await?;
        let items = items.into_iter().map(VehiclePreview::from).collect();
        Ok(Page { items, next, total })
    }

    /// How many vehicles of the business are for sale or reserved.
    async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;

    /// The name of a contact; `None` if the business has none of that id. Within a writing transaction, the contact stays
    /// for as long as the transaction lasts.
    async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>>;
}

/// What follows each vehicle that changes, within the transaction that changes it: the read models of other areas.
#[async_trait]
pub trait VehicleFollower: Send {
    /// Takes note of what a vehicle of `business` has become. One whose status is deleted is none from then on.
    async fn vehicle_changed(&mut self, _business: &Business, _vehicle: &Vehicle, _at: Timestamp) -> StoreResult<()> {
        Ok(())
    }
}

/// Writes vehicles. One value of it is one transaction.
#[async_trait]
pub trait VehicleStore: VehicleReader + VehicleFollower + EventLog {
    /// The vehicle, locked against other writers until the transaction ends.
    async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;

    /// How many vehicles of the business are for sale or reserved. No other transaction gets this count until this one ends.
    async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;

    /// Stores a new vehicle under an id that no business has used, and a tag that the business has not
    /// ([`VehicleTag::nth`](crate::VehicleTag::nth) of its running number).
    async fn insert_vehicle(
        &mut self,
        business: BusinessId,
        draft: VehicleDraft,
        at: Timestamp,
    ) -> StoreResult<Vehicle>;

    /// Stores a vehicle that has changed. One whose status is deleted is none from then on.
    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()>;
}

/// Writes vehicles, and the invoices of the deposits that reservations take. Every store of both is one.
pub trait VehicleProcessStore: VehicleStore + InvoiceStore {}

impl<S: VehicleStore + InvoiceStore + ?Sized> VehicleProcessStore for S {}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::NewEvent;
    use mockall::mock;

    use super::*;

    mock! {
        /// A scripted [`VehicleReader`].
        pub VehicleReader {}

        #[async_trait]
        impl VehicleReader for VehicleReader {
            async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;
            async fn vehicles(&mut self, business: BusinessId, filter: &VehicleFilter, page: &PageRequest) -> StoreResult<Page<Vehicle>>;
            async fn vehicle_previews(&mut self, business: BusinessId, filter: &VehicleFilter, page: &PageRequest) -> StoreResult<Page<VehiclePreview>>;
            async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;
            async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>>;
        }
    }

    mock! {
        /// A scripted [`VehicleStore`].
        pub VehicleStore {}

        #[async_trait]
        impl EventLog for VehicleStore {
            async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()>;
        }

        #[async_trait]
        impl VehicleReader for VehicleStore {
            async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;
            async fn vehicles(&mut self, business: BusinessId, filter: &VehicleFilter, page: &PageRequest) -> StoreResult<Page<Vehicle>>;
            async fn vehicle_previews(&mut self, business: BusinessId, filter: &VehicleFilter, page: &PageRequest) -> StoreResult<Page<VehiclePreview>>;
            async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;
            async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>>;
        }

        #[async_trait]
        impl VehicleStore for VehicleStore {
            async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;
            async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;
            async fn insert_vehicle(&mut self, business: BusinessId, draft: VehicleDraft, at: Timestamp) -> StoreResult<Vehicle>;
            async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()>;
        }
    }

    impl VehicleFollower for MockVehicleStore {}
}

#[cfg(feature = "mock")]
pub use mocks::{MockVehicleReader, MockVehicleStore};
