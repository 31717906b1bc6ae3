//! What this area needs from storage.

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_files::{FileName, FileRegister};
use forecourt_invoices::InvoiceStore;
use forecourt_kernel::{
    BusinessId, ContactId, EventLog, MailOutbox, Page, PageRequest, StoreResult, Timestamp, VehicleId, View,
};

use crate::{
    DriveCode, Driver, TestDrive, TestDriveContent, Vehicle, VehicleDocument, VehicleDocumentContent,
    VehicleDocumentId, VehicleDraft, VehicleFilter, VehiclePreview,
};

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

/// Writes vehicles, and queues mails about them. Every store of both is one.
pub trait VehicleMailStore: VehicleStore + MailOutbox {}

impl<S: VehicleStore + MailOutbox + ?Sized> VehicleMailStore for S {}

/// Deletes vehicles with all that belongs to them. Every store of that is one.
pub trait VehicleDeletionStore: VehicleFileStore + VehicleProcessStore {}

impl<S: VehicleFileStore + VehicleProcessStore + ?Sized> VehicleDeletionStore for S {}

/// Reads the documents that are kept with vehicles.
#[async_trait]
pub trait VehicleDocumentReader: VehicleReader {
    /// The document, or `None` if the vehicle has none of that id.
    async fn vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<Option<VehicleDocument>>;

    /// A page of the vehicle's documents, newest first (id descending).
    async fn vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        page: &PageRequest,
    ) -> StoreResult<Page<VehicleDocument>>;
}

/// Writes vehicles, and the documents and media that are kept with them. The caller that writes these has locked the vehicle.
#[async_trait]
pub trait VehicleFileStore: VehicleDocumentReader + VehicleStore + FileRegister {
    /// How many documents the vehicle has.
    async fn count_vehicle_documents(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32>;

    /// Stores a new document under an id that no business has used.
    async fn insert_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        content: VehicleDocumentContent,
        at: Timestamp,
    ) -> StoreResult<VehicleDocument>;

    /// Stores what a document has become.
    async fn save_vehicle_document(&mut self, business: BusinessId, document: &VehicleDocument) -> StoreResult<()>;

    /// Removes a document, but not the record of its file.
    async fn remove_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<()>;

    /// Removes all documents of a vehicle, but not the records of their files, and answers the names of these.
    async fn remove_vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
    ) -> StoreResult<Vec<FileName>>;
}

/// Reads test drives.
#[async_trait]
pub trait TestDriveReader: VehicleReader {
    /// The test drive of the vehicle that has not ended, with its signature. Within a writing transaction, no other one changes
    /// the drive until the transaction ends.
    async fn active_drive(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<TestDrive>>;

    /// The vehicle's test drive of that code, with its signature.
    async fn drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: &DriveCode,
    ) -> StoreResult<Option<TestDrive>>;

    /// A page of the vehicle's test drives, newest first (id descending), in the simple view without their signatures. A page
    /// whose drives are long may be shorter than requested: its cursor marks where it ends.
    async fn drives(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<TestDrive>>;

    /// What a drive takes from the record of a contact; `None` if the business has none of that id. Within a writing
    /// transaction, the contact stays for as long as the transaction lasts.
    async fn driver(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<Driver>>;
}

/// Writes test drives. The caller that writes one has locked its vehicle, or erases a
/// contact.
#[async_trait]
pub trait TestDriveStore: TestDriveReader + VehicleStore + FileRegister {
    /// Stores a new test drive under an id that no business has used. Its code must be one that the business has not used, and
    /// no other drive of the vehicle may be active.
    async fn insert_drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: DriveCode,
        content: TestDriveContent,
    ) -> StoreResult<TestDrive>;

    /// Stores what a test drive has become; of one that was read without its signature, this stays as it is.
    async fn save_drive(&mut self, business: BusinessId, drive: &TestDrive) -> StoreResult<()>;
}

#[cfg(feature = "mock")]
mod mocks {
    use forecourt_kernel::NewEvent;
    use mockall::mock;

    use super::*;

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
pub use mocks::MockVehicleStore;
