//! Documents and test drives in memory, and the suites that every store of them must pass.

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_files::testing::HoldsFiles;
use forecourt_files::{FileKind, FileName, StoredFile};
use forecourt_kernel::{
    BusinessId, ContactId, Line, LongText, Page, PageRequest, Position, StaffId, StoreError, StoreResult, Timestamp,
    VehicleId, Version, View, testing::page_of,
};

use super::HoldsVehicles;
use crate::{
    ContactVehicleReader, DriveCode, DrivePhoto, DriveSignature, Driver, TestDrive, TestDriveContent, TestDriveId,
    TestDriveReader, TestDriveStore, Vehicle, VehicleDocument, VehicleDocumentContent, VehicleDocumentId,
    VehicleDocumentReader, VehicleFileStore, VehicleReader, VehicleStore, is_customer,
};

/// The documents and test drives of vehicles in memory, and the contacts that drive.
#[derive(Clone, Debug, Default)]
pub struct MemoryVehicleRecords {
    documents: BTreeMap<VehicleDocumentId, (BusinessId, VehicleDocument)>,
    drives: BTreeMap<TestDriveId, (BusinessId, TestDrive)>,
    /// The values that drives copy from the records of contacts.
    pub drivers: BTreeMap<ContactId, Driver>,
}

impl MemoryVehicleRecords {
    /// Returns all documents, oldest first.
    pub fn documents(&self) -> impl Iterator<Item = &VehicleDocument> {
        self.documents.values().map(|(_, document)| document)
    }

    /// Returns all test drives, oldest first.
    pub fn drives(&self) -> impl Iterator<Item = &TestDrive> {
        self.drives.values().map(|(_, drive)| drive)
    }
}

/// A store in memory that holds documents and test drives, with vehicles and the records of files. It is a [`VehicleFileStore`]
/// and a [`TestDriveStore`].
pub trait HoldsVehicleRecords: Send {
    /// The documents and test drives.
    fn held_vehicle_records(&mut self) -> &mut MemoryVehicleRecords;
}

#[async_trait]
impl<S: HoldsVehicleRecords + VehicleReader> VehicleDocumentReader for S {
    async fn vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<Option<VehicleDocument>> {
        let held = self.held_vehicle_records().documents.get(&id);
        let own = held.filter(|(owner, document)| *owner == business && document.vehicle == vehicle);
        Ok(own.map(|(_, document)| document.clone()))
    }

    async fn vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        page: &PageRequest,
    ) -> StoreResult<Page<VehicleDocument>> {
        let held = self.held_vehicle_records().documents.values();
        let own = held.filter(|(owner, document)| *owner == business && document.vehicle == vehicle);
        let newest_first = own.map(|(_, document)| document).rev();
        Ok(page_of(newest_first, page, |document| document.id.get()))
    }
}

#[async_trait]
impl<S: HoldsVehicleRecords + VehicleStore + HoldsFiles> VehicleFileStore for S {
    async fn count_vehicle_documents(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<u32> {
        let held = self.held_vehicle_records().documents.values();
        let own = held.filter(|(owner, document)| *owner == business && document.vehicle == vehicle);
        Ok(u32::try_from(own.count()).unwrap_or(u32::MAX))
    }

    async fn insert_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        content: VehicleDocumentContent,
        at: Timestamp,
    ) -> StoreResult<VehicleDocument> {
        let documents = &mut self.held_vehicle_records().documents;
        let last = documents.last_key_value().map_or(0, |(id, _)| id.get());
        let document = VehicleDocument {
            id: VehicleDocumentId::new(last + 1),
            vehicle,
            version: Version::FIRST,
            uploaded: at,
            content,
        };
        documents.insert(document.id, (business, document.clone()));
        Ok(document)
    }

    async fn save_vehicle_document(&mut self, business: BusinessId, document: &VehicleDocument) -> StoreResult<()> {
        let documents = &mut self.held_vehicle_records().documents;
        documents.insert(document.id, (business, document.clone()));
        Ok(())
    }

    async fn remove_vehicle_document(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        id: VehicleDocumentId,
    ) -> StoreResult<()> {
        if self.vehicle_document(business, vehicle, id).await?.is_some() {
            self.held_vehicle_records().documents.remove(&id);
        }
        Ok(())
    }

    async fn remove_vehicle_documents(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
    ) -> StoreResult<Vec<FileName>> {
        let documents = &mut self.held_vehicle_records().documents;
        let own = |(owner, document): &(BusinessId, VehicleDocument)| *owner == business && document.vehicle == vehicle;
        let gone = documents.extract_if(.., |_, entry| own(entry));
        Ok(gone.map(|(_, (_, document))| document.content.file.name).collect())
    }
}

#[async_trait]
impl<S: HoldsVehicleRecords + VehicleReader> TestDriveReader for S {
    async fn active_drive(&mut self, business: BusinessId, vehicle: VehicleId) -> StoreResult<Option<TestDrive>> {
        let mut held = self.held_vehicle_records().drives.values();
        let active = held.find(|(owner, drive)| *owner == business && drive.vehicle == vehicle && drive.is_active());
        Ok(active.map(|(_, drive)| drive.clone()))
    }

    async fn drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: &DriveCode,
    ) -> StoreResult<Option<TestDrive>> {
        let mut held = self.held_vehicle_records().drives.values();
        let own = held.find(|(owner, drive)| *owner == business && drive.vehicle == vehicle && drive.code == *code);
        Ok(own.map(|(_, drive)| drive.clone()))
    }

    async fn drives(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        page: &PageRequest,
        view: View,
    ) -> StoreResult<Page<TestDrive>> {
        let held = self.held_vehicle_records().drives.values();
        let own = held.filter(|(owner, drive)| *owner == business && drive.vehicle == vehicle);
        let mut own: Vec<TestDrive> = own.map(|(_, drive)| drive.clone()).collect();
        if view == View::Simple {
            for esign in own.iter_mut().filter_map(|drive| drive.content.esign.as_mut()) {
                esign.signature = None;
            }
        }
        own.reverse();
        Ok(page_of(&own, page, |drive| drive.id.get()))
    }

    async fn driver(&mut self, _: BusinessId, contact: ContactId) -> StoreResult<Option<Driver>> {
        Ok(self.held_vehicle_records().drivers.get(&contact).cloned())
    }
}

#[async_trait]
impl<S: HoldsVehicleRecords + HoldsVehicles> ContactVehicleReader for S {
    async fn contact_vehicles(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: VehicleId,
    ) -> StoreResult<Vec<Vehicle>> {
        let own = self.held_vehicles().owned(business);
        let named = own.filter(|vehicle| vehicle.id > after && names(vehicle, contact));
        Ok(named.cloned().collect())
    }

    async fn contact_drives(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: TestDriveId,
    ) -> StoreResult<Vec<TestDrive>> {
        let held = self.held_vehicle_records().drives.values();
        let own = held.filter(|(owner, drive)| *owner == business && drive.content.contact == Some(contact));
        let later = own.filter(|(_, drive)| drive.id > after);
        Ok(later.map(|(_, drive)| drive.clone()).collect())
    }
}

/// Returns `true` if the vehicle names the contact.
fn names(vehicle: &Vehicle, contact: ContactId) -> bool {
    let stock = &vehicle.content.data.stock;
    is_customer(vehicle, contact)
        || stock.funding_provider_id == Some(contact)
        || stock.purchase_supplier_id == Some(contact)
}

#[async_trait]
impl<S: HoldsVehicleRecords + VehicleStore + HoldsFiles> TestDriveStore for S {
    async fn insert_drive(
        &mut self,
        business: BusinessId,
        vehicle: VehicleId,
        code: DriveCode,
        content: TestDriveContent,
    ) -> StoreResult<TestDrive> {
        let drives = &mut self.held_vehicle_records().drives;
        let mut own = drives.values().filter(|(owner, _)| *owner == business);
        let drive = TestDrive {
            id: TestDriveId::new(drives.last_key_value().map_or(0, |(id, _)| id.get()) + 1),
            vehicle,
            code,
            content,
        };
        let clashes = |(_, other): &(BusinessId, TestDrive)| {
            other.code == drive.code || (other.vehicle == vehicle && other.is_active() && drive.is_active())
        };
        if own.any(clashes) {
            return Err(StoreError::Duplicate("vehicle_drives".into()));
        }
        drives.insert(drive.id, (business, drive.clone()));
        Ok(drive)
    }

    async fn save_drive(&mut self, business: BusinessId, drive: &TestDrive) -> StoreResult<()> {
        let mut drive = drive.clone();
        let drives = &mut self.held_vehicle_records().drives;
        let kept = drives.get(&drive.id).and_then(|(_, kept)| kept.content.esign.as_ref());
        let kept = kept.and_then(|esign| esign.signature.clone());
        if let Some(esign) = &mut drive.content.esign {
            esign.signature = esign.signature.take().or(kept);
        }
        drives.insert(drive.id, (business, drive));
        Ok(())
    }
}

/// Returns the record of a stored file whose name consists of this byte.
pub fn a_file(byte: u8, kind: FileKind) -> StoredFile {
    struct Same(u8);
    impl forecourt_kernel::Random for Same {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(self.0);
        }
    }
    StoredFile {
        name: FileName::random(&Same(byte), kind),
        kind,
        size: 1_234_567,
        sha256: format!("{byte:02x}").repeat(32),
        stored: Timestamp::from_epoch_seconds(1_790_000_000),
        public: false,
    }
}

fn line(text: &str) -> Line {
    Line::new(text).expect("it is short")
}

fn long_text(text: impl Into<String>) -> LongText {
    LongText::new(text).expect("it is within the bound")
}

fn first(per_page: u32) -> PageRequest {
    PageRequest {
        position: Position::Number(1),
        per_page,
    }
}

/// Checks what every [`VehicleFileStore`] promises about documents. The two businesses must have no documents in it.
///
/// # Panics
/// If the store breaks its contract.
pub async fn vehicle_document_store_contract(store: &mut dyn VehicleFileStore, ours: BusinessId, theirs: BusinessId) {
    let at = Timestamp::from_epoch_seconds(1_790_000_000);
    let (car, van) = (VehicleId::new(21), VehicleId::new(22));
    let content = |byte| VehicleDocumentContent {
        name: line("V5C \"log book\" ä.pdf"),
        description: long_text("ü".repeat(20_000)),
        public: byte % 2 == 0,
        file: a_file(byte, FileKind::Pdf),
    };
    let mut kept = Vec::new();
    for byte in 1..=3 {
        let document = store
            .insert_vehicle_document(ours, car, content(byte), at)
            .await
            .expect("it is stored");
        let expected = VehicleDocument {
            id: document.id,
            vehicle: car,
            version: Version::FIRST,
            uploaded: at,
            content: content(byte),
        };
        assert_eq!(document, expected);
        kept.insert(0, document);
    }
    let other = store
        .insert_vehicle_document(ours, van, content(4), at)
        .await
        .expect("it is stored");
    let foreign = store
        .insert_vehicle_document(theirs, car, content(5), at)
        .await
        .expect("it is stored");
    assert!(foreign.id != other.id, "ids are unique across businesses");

    for (business, vehicle, document, is_there) in [
        (ours, car, &kept[0], true),
        (ours, van, &kept[0], false),
        (theirs, car, &kept[0], false),
        (ours, van, &other, true),
        (theirs, car, &foreign, true),
    ] {
        let found = store.vehicle_document(business, vehicle, document.id).await;
        let found = found.expect("it is read");
        assert_eq!(
            found.as_ref(),
            is_there.then_some(document),
            "vehicles and businesses are apart"
        );
    }
    let counted = store
        .count_vehicle_documents(ours, car)
        .await
        .expect("they are counted");
    assert_eq!(counted, 3);

    let page = store
        .vehicle_documents(ours, car, &first(2))
        .await
        .expect("they are listed");
    assert_eq!(
        (page.items.as_slice(), page.total),
        (&kept[..2], Some(3)),
        "newest first"
    );
    let rest = PageRequest {
        position: Position::After(page.next.expect("there are more")),
        per_page: 2,
    };
    let page = store
        .vehicle_documents(ours, car, &rest)
        .await
        .expect("they are listed");
    assert_eq!((page.items.as_slice(), page.next, page.total), (&kept[2..], None, None));

    let mut changed = kept[1].clone();
    changed.version = changed.version.next();
    changed.content.description = LongText::default();
    changed.content.public = true;
    store.save_vehicle_document(ours, &changed).await.expect("it is saved");
    let found = store.vehicle_document(ours, car, changed.id).await.expect("it is read");
    assert_eq!(found, Some(changed));

    store
        .remove_vehicle_document(theirs, car, kept[2].id)
        .await
        .expect("nothing is removed");
    store
        .remove_vehicle_document(ours, car, kept[0].id)
        .await
        .expect("it is removed");
    let found = store.vehicle_document(ours, car, kept[0].id).await.expect("it is read");
    assert_eq!(found, None);
    let mut names = store
        .remove_vehicle_documents(ours, car)
        .await
        .expect("they are removed");
    names.sort();
    assert_eq!(names, [2, 1].map(|at| kept[at].content.file.name.clone()));
    let counted = store
        .count_vehicle_documents(ours, car)
        .await
        .expect("they are counted");
    assert_eq!(counted, 0);
    for (business, vehicle, document) in [(ours, van, other), (theirs, car, foreign)] {
        let found = store
            .vehicle_document(business, vehicle, document.id)
            .await
            .expect("it is read");
        assert_eq!(found, Some(document), "others' documents stay");
    }
}

/// Checks what every [`TestDriveStore`] promises, except [`TestDriveReader::driver`], which is about contacts. The two businesses
/// must have no test drives in it.
///
/// # Panics
/// If the store breaks its contract.
pub async fn test_drive_store_contract(store: &mut dyn TestDriveStore, ours: BusinessId, theirs: BusinessId) {
    let (car, van) = (VehicleId::new(31), VehicleId::new(32));
    let code = |text: &str| DriveCode::stored(text.to_owned());
    let found = store.active_drive(ours, car).await.expect("it is read");
    assert_eq!(found, None);
    let drive = store
        .insert_drive(ours, car, code("AAAA2222"), a_drive())
        .await
        .expect("it is stored");
    let expected = TestDrive {
        id: drive.id,
        vehicle: car,
        code: code("AAAA2222"),
        content: a_drive(),
    };
    assert_eq!(drive, expected);
    let foreign = store
        .insert_drive(theirs, car, code("AAAA2222"), a_drive())
        .await
        .expect("another business has its own codes and drives");
    let other = store
        .insert_drive(ours, van, code("BBBB3333"), a_drive())
        .await
        .expect("another vehicle has its own drive");
    for (business, vehicle, expected) in [
        (ours, car, Some(&drive)),
        (ours, van, Some(&other)),
        (theirs, car, Some(&foreign)),
        (theirs, van, None),
    ] {
        let found = store.active_drive(business, vehicle).await.expect("it is read");
        assert_eq!(found.as_ref(), expected, "vehicles and businesses are apart");
    }

    for (business, vehicle, text, expected) in [
        (ours, car, "AAAA2222", Some(&drive)),
        (ours, van, "BBBB3333", Some(&other)),
        (theirs, car, "AAAA2222", Some(&foreign)),
        (ours, van, "AAAA2222", None),
        (theirs, van, "BBBB3333", None),
        (ours, car, "CCCC4444", None),
    ] {
        let found = store.drive(business, vehicle, &code(text)).await.expect("it is read");
        assert_eq!(found.as_ref(), expected, "a code is looked up in one vehicle");
    }

    let signed = signed(drive.clone());
    store.save_drive(ours, &signed).await.expect("it is saved");
    let found = store.active_drive(ours, car).await.expect("it is read");
    assert_eq!(found.as_ref(), Some(&signed), "every field is kept, the signature too");

    let mut unread = signed.clone();
    unread.content.note = long_text("later");
    if let Some(esign) = &mut unread.content.esign {
        esign.signature = None;
    }
    store.save_drive(ours, &unread).await.expect("it is saved");
    let mut ended = signed;
    ended.content.note = long_text("later");
    let found = store.active_drive(ours, car).await.expect("it is read");
    assert_eq!(found.as_ref(), Some(&ended), "a signature that was not read stays");

    ended.content.ended = Some(ended.content.started.plus_seconds(60));
    store.save_drive(ours, &ended).await.expect("it is saved");
    let found = store.active_drive(ours, car).await.expect("it is read");
    assert_eq!(found, None);
    let found = store.drive(ours, car, &code("AAAA2222")).await.expect("it is read");
    assert_eq!(found.as_ref(), Some(&ended), "one that has ended is read by its code");
    let second = store
        .insert_drive(ours, car, code("CCCC4444"), a_drive())
        .await
        .expect("the other one has ended");

    let page = store
        .drives(ours, car, &first(1), View::Full)
        .await
        .expect("they are listed");
    assert_eq!(
        (page.items.as_slice(), page.total),
        (&[second][..], Some(2)),
        "newest first"
    );
    let rest = PageRequest {
        position: Position::After(page.next.expect("there are more")),
        per_page: 5,
    };
    for (view, expected) in [
        (View::Full, &ended),
        (View::Simple, &{
            let mut unread = ended.clone();
            if let Some(esign) = &mut unread.content.esign {
                esign.signature = None;
            }
            unread
        }),
    ] {
        let page = store.drives(ours, car, &rest, view).await.expect("they are listed");
        assert_eq!(page.items.as_slice(), std::slice::from_ref(expected));
        assert_eq!(page.next, None);
    }

    let mut forgotten = ended;
    forgotten.content.contact = None;
    if let Some(esign) = &mut forgotten.content.esign {
        esign.signature = Some(String::new());
    }
    store.save_drive(ours, &forgotten).await.expect("it is saved");
    let page = store
        .drives(ours, car, &rest, View::Full)
        .await
        .expect("they are listed");
    assert_eq!(page.items, [forgotten], "an emptied signature is gone");
}

/// Checks that a store refuses a drive that clashes with another one: a second active one of a vehicle, or one whose code the
/// business has used. The store's transaction is unusable afterwards.
///
/// # Panics
/// If the store accepts it.
pub async fn a_clashing_drive_is_refused(
    store: &mut dyn TestDriveStore,
    business: BusinessId,
    (vehicle, first_code): (VehicleId, &str),
    (other_vehicle, other_code): (VehicleId, &str),
) {
    let code = |text: &str| DriveCode::stored(text.to_owned());
    store
        .insert_drive(business, vehicle, code(first_code), a_drive())
        .await
        .expect("it is stored");
    let outcome = store
        .insert_drive(business, other_vehicle, code(other_code), a_drive())
        .await;
    assert!(matches!(outcome, Err(StoreError::Duplicate(_))), "{outcome:?}");
}

fn signed(mut drive: TestDrive) -> TestDrive {
    drive.content.photos.push(DrivePhoto {
        filename: line("damage \"left\".jpg"),
        video: false,
        file: a_file(9, FileKind::Jpeg).name,
        thumbnail: Some(a_file(9, FileKind::Jpeg).name.thumbnail(320, FileKind::Jpeg)),
    });
    drive.content.esign = Some(DriveSignature {
        name: line("Ann Lee"),
        signed: drive.content.started.plus_seconds(30),
        ip: "2001:db8::1".to_owned(),
        browser: line("Mozilla/5.0"),
        terms_md5: "0a".repeat(16),
        terms_sha1: "0b".repeat(20),
        signature: Some(format!("data:image/png;base64,{}", "iVBORw0K".repeat(10_000))),
    });
    drive
}

/// A test drive with everything except photos and a signature.
pub fn a_drive() -> TestDriveContent {
    TestDriveContent {
        contact: Some(ContactId::new(501)),
        license_number: line("LEE99 \"Ä\""),
        license_code: line("X7"),
        gave_license_number: true,
        gave_license_code: false,
        ni: line("QQ123456C"),
        dob: "1990-02-28".parse().ok(),
        license_checked: "2026-01-02".parse().ok(),
        license_checked_by: Some(StaffId::new(3)),
        return_date: "2026-10-01".parse().ok(),
        return_time: "16:30".parse().ok(),
        fuel: Some(75),
        note: long_text("line\nline"),
        condition: long_text("good"),
        location: Some("1".to_owned()),
        consent: true,
        photos: Vec::new(),
        esign: None,
        started: Timestamp::from_epoch_seconds(1_790_000_000),
        ended: None,
    }
}
