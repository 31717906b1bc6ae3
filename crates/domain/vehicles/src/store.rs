//! The ports to the storage of vehicles.

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

/// Reads vehicles. A deleted vehicle is never returned.
#[async_trait]
pub trait VehicleReader: Send {
    /// Returns the vehicle, or `None` if the business has none of that id.
    async fn vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;

    /// Returns a page of the vehicles that pass `filter`, newest first (id descending).
    async fn vehicles(
        &mut self,
        business: BusinessId,
        filter: &VehicleFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Vehicle>>;

    /// Returns the same page in the simple view. Storage that keeps [`VehiclePreview::written`] with each vehicle need not read
    /// the vehicles themselves, as this default does.
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

    /// Counts the vehicles of the business that are for sale or reserved.
    async fn vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;

    /// Returns the name of a contact, or `None` if the business has none of that id. In a writing transaction, the contact cannot
    /// be deleted until the transaction ends.
    async fn contact_name(&mut self, business: BusinessId, id: ContactId) -> StoreResult<Option<String>>;
}

/// Follows every change of a vehicle, in the transaction of the change: the read models of other crates, and the records that other
/// crates keep with it.
#[async_trait]
pub trait VehicleFollower: Send {
    /// Records a change of a vehicle of `business`. A vehicle whose status is deleted no longer exists.
    async fn vehicle_changed(&mut self, _business: &Business, _vehicle: &Vehicle, _at: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    /// Adds what a new vehicle begins with. An operation has created it, and vehicle.created is recorded.
    async fn vehicle_created(&mut self, _business: &Business, _vehicle: &Vehicle, _at: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    /// Removes what other crates keep with a vehicle that is about to be deleted, and is locked. Returns the names of the files whose
    /// content must be deleted after the transaction has committed; their records are removed.
    async fn vehicle_deleted(
        &mut self,
        _business: &Business,
        _vehicle: VehicleId,
        _at: Timestamp,
    ) -> StoreResult<Vec<FileName>> {
        Ok(Vec::new())
    }

    /// Records that a vehicle of `business` was sold or deleted, once for each sale.
    async fn vehicle_lost(&mut self, _business: &Business, _vehicle: &Vehicle, _at: Timestamp) -> StoreResult<()> {
        Ok(())
    }
}

/// Writes vehicles. One value is one transaction.
#[async_trait]
pub trait VehicleStore: VehicleReader + VehicleFollower + EventLog {
    /// Locks the vehicle against other writers until the transaction ends, and returns it.
    async fn lock_vehicle(&mut self, business: BusinessId, id: VehicleId) -> StoreResult<Option<Vehicle>>;

    /// Counts the vehicles of the business that are for sale or reserved. No other transaction gets this count until this one
    /// ends.
    async fn lock_vehicles_for_sale(&mut self, business: BusinessId) -> StoreResult<u32>;

    /// Stores a new vehicle under an id that no business has used, and a tag that the business has not used
    /// ([`VehicleTag::nth`](crate::VehicleTag::nth) of its running number).
    async fn insert_vehicle(
        &mut self,
        business: BusinessId,
        draft: VehicleDraft,
        at: Timestamp,
    ) -> StoreResult<Vehicle>;

    /// Stores a changed vehicle. A vehicle whose status is deleted is not returned any longer.
    async fn save_vehicle(&mut self, business: BusinessId, vehicle: &Vehicle) -> StoreResult<()>;
}

/// Writes vehicles, and the invoices of reservation deposits. Every store of both implements it.
pub trait VehicleProcessStore: VehicleStore + InvoiceStore {}

impl<S: VehicleStore + InvoiceStore + ?Sized> VehicleProcessStore for S {}

/// Writes vehicles, and queues mails about them. Every store of both implements it.
pub trait VehicleMailStore: VehicleStore + MailOutbox {}

impl<S: VehicleStore + MailOutbox + ?Sized> VehicleMailStore for S {}

/// Deletes vehicles with everything that belongs to them. Every store of that implements it.
pub trait VehicleDeletionStore: VehicleFileStore + VehicleProcessStore {}

impl<S: VehicleFileStore + VehicleProcessStore + ?Sized> VehicleDeletionStore for S {}

/// Reads the documents of vehicles.
#[async_trait]
pub trait VehicleDocumentReader: VehicleReader {
    /// Returns the document, or `None` if the vehicle has none of that id.
    async fn vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<Option<VehicleDocument>>;

    /// Returns a page of the vehicle's documents, newest first (id descending).
    async fn vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        page: &PageRequest,
    ) -> StoreResult<Page<VehicleDocument>>;
}

/// Writes vehicles, and their documents and media. The caller must have locked the vehicle.
#[async_trait]
pub trait VehicleFileStore: VehicleDocumentReader + VehicleStore + FileRegister {
    /// Counts the documents of the vehicle.
    async fn count_vehicle_documents(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32>;

    /// Stores a new document under an id that no business has used.
    async fn insert_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        content: VehicleDocumentContent,
        at: Timestamp,
    ) -> StoreResult<VehicleDocument>;

    /// Stores a changed document.
    async fn save_vehicle_document(&mut self, business: BusinessId, document: &VehicleDocument) -> StoreResult<()>;

    /// Removes a document, but not the record of its file.
    async fn remove_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<()>;

    /// Removes all documents of a vehicle, but not the records of their files, and returns the names of these files.
    async fn remove_vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
    ) -> StoreResult<Vec<FileName>>;
}

/// Reads test drives.
#[async_trait]
pub trait TestDriveReader: VehicleReader {
    /// Returns the active test drive of the vehicle, with its signature. In a writing transaction, no other one changes the drive
    /// until the transaction ends.
    async fn active_drive(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<TestDrive>>;

    /// Returns the vehicle's test drive with that code, with its signature.
    async fn drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: &DriveCode,
    ) -> StoreResult<Option<TestDrive>>;

    /// Returns a page of the vehicle's test drives, newest first (id descending). In the simple view they have no signature. A
    /// page of long drives may be shorter than requested: its cursor marks its end.
    async fn drives(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<TestDrive>>;

    /// Returns the values that a drive copies from the record of a contact, or `None` if the business has none of that id. In a
    /// writing transaction, the contact cannot be deleted until the transaction ends.
    async fn driver(&mut self, business: BusinessId, contact: ContactId) -> StoreResult<Option<Driver>>;
}

/// Writes test drives. The caller must have locked the drive's vehicle, or be erasing a contact.
#[async_trait]
pub trait TestDriveStore: TestDriveReader + VehicleStore + FileRegister {
    /// Stores a new test drive under an id that no business has used. The business must not have used its code, and no other
    /// drive of the vehicle may be active.
    async fn insert_drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: DriveCode,
        content: TestDriveContent,
    ) -> StoreResult<TestDrive>;

    /// Stores a changed test drive. If it was read without its signature image, the stored image stays.
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
