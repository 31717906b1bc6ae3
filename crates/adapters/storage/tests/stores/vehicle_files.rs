//! The stores of files, of vehicles' documents and of test drives: the contract suites of their domains. After the erasure of a
//! contact and the deletion of a business, it checks what remains.

use forecourt_contacts::{ContactDraft, License};
use forecourt_files::FileKind;
use forecourt_files::testing::file_register_contract;
use forecourt_kernel::{BusinessId, ContactId, LongText, PageRequest, Position, StaffId, VehicleId, View};
use forecourt_vehicles::testing::{
    a_clashing_drive_is_refused, a_drive, a_file, test_drive_store_contract, vehicle_document_store_contract,
};
use forecourt_vehicles::{DriveCode, DriveSignature, Driver, TestDrive, TestDriveContent, VehicleDocumentContent};

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_contact, at};

both_engines!(
    files_are_kept_as_their_domain_asks,
    documents_are_kept_as_their_domain_asks,
    drives_are_kept_as_their_domain_asks,
    clashing_drives_are_refused,
    a_drive_takes_what_is_known_of_its_driver,
    a_page_of_drives_is_no_longer_than_can_be_shown,
    drives_forget_an_erased_person,
    a_deleted_business_leaves_no_files_documents_and_drives,
);

async fn two_businesses(installation: &Installation) -> (BusinessId, BusinessId) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    session.commit().await.unwrap();
    (ours, theirs)
}

async fn files_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = two_businesses(&installation).await;
    let mut session = installation.begin().await;
    file_register_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn documents_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = two_businesses(&installation).await;
    let mut session = installation.begin().await;
    vehicle_document_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn drives_are_kept_as_their_domain_asks(installation: Installation) {
    let (ours, theirs) = two_businesses(&installation).await;
    let mut session = installation.begin().await;
    test_drive_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

async fn clashing_drives_are_refused(installation: Installation) {
    let (ours, _) = two_businesses(&installation).await;
    let (car, van) = (VehicleId::new(1), VehicleId::new(2));
    for (first, second) in [
        ((car, "AAAA2222"), (car, "BBBB3333")),
        ((car, "AAAA2222"), (van, "AAAA2222")),
    ] {
        let mut session = installation.begin().await;
        a_clashing_drive_is_refused(session.as_mut(), ours, first, second).await;
    }
}

fn ann() -> ContactDraft {
    ContactDraft {
        name: "Ann Lee".into(),
        email: "ann@example.com".into(),
        license: License {
            number: "LEE99".into(),
            code: "X7".into(),
            checked: "2026-01-02".parse().ok(),
            checked_by: Some(StaffId::new(3)),
        },
        ni: "QQ123456C".into(),
        dob: "1990-02-28".parse().ok(),
        ..a_contact()
    }
}

async fn a_drive_takes_what_is_known_of_its_driver(installation: Installation) {
    let (ours, theirs) = two_businesses(&installation).await;
    let contact = installation.contact(ours, ann(), 0).await;
    let driver = Driver {
        name: "Ann Lee".into(),
        email: "ann@example.com".into(),
        license_number: "LEE99".into(),
        license_code: "X7".into(),
        license_checked: "2026-01-02".parse().ok(),
        license_checked_by: Some(StaffId::new(3)),
        ni: "QQ123456C".into(),
        dob: "1990-02-28".parse().ok(),
    };
    let mut session = installation.begin().await;
    let mut reader = installation.read().await;
    for (business, id, expected) in [
        (ours, contact.id, Some(&driver)),
        (theirs, contact.id, None),
        (ours, ContactId::new(contact.id.get() + 1), None),
    ] {
        assert_eq!(session.driver(business, id).await.unwrap().as_ref(), expected);
        assert_eq!(reader.driver(business, id).await.unwrap().as_ref(), expected);
    }
}

/// A drive that has ended, with a signature of this number of characters.
fn a_former_drive(signature: usize) -> TestDriveContent {
    let content = a_drive();
    TestDriveContent {
        esign: Some(DriveSignature {
            name: "Ann Lee".parse_line(),
            signed: content.started,
            ip: "192.0.2.7".into(),
            browser: "Mozilla/5.0".parse_line(),
            terms_md5: String::new(),
            terms_sha1: String::new(),
            signature: Some("s".repeat(signature)),
        }),
        ended: Some(content.started.plus_seconds(60)),
        ..content
    }
}

trait ParseLine {
    fn parse_line(&self) -> forecourt_kernel::Line;
}

impl ParseLine for str {
    fn parse_line(&self) -> forecourt_kernel::Line {
        forecourt_kernel::Line::new(self).unwrap()
    }
}

async fn insert(installation: &Installation, business: BusinessId, code: &str, content: TestDriveContent) -> TestDrive {
    let mut session = installation.begin().await;
    let drive = session
        .insert_drive(business, VehicleId::new(1), DriveCode::stored(code.to_owned()), content)
        .await
        .unwrap();
    session.commit().await.unwrap();
    drive
}

async fn a_page_of_drives_is_no_longer_than_can_be_shown(installation: Installation) {
    let (ours, _) = two_businesses(&installation).await;
    let mut drives = Vec::new();
    for number in 0..5 {
        let content = a_former_drive(400 * 1024);
        drives.insert(
            0,
            insert(&installation, ours, &format!("AAAA222{number}"), content).await,
        );
    }
    let mut page = PageRequest {
        position: Position::Number(1),
        per_page: 4,
    };
    let mut reader = installation.read().await;
    let mut lengths = Vec::new();
    let mut listed = Vec::new();
    loop {
        let found = reader.drives(ours, VehicleId::new(1), &page, View::Full).await.unwrap();
        lengths.push(found.items.len());
        assert_eq!(found.total, (lengths.len() == 1).then_some(5));
        listed.extend(found.items);
        let Some(next) = found.next else { break };
        page.position = Position::After(next);
    }
    assert_eq!(listed, drives);
    assert_eq!(lengths, [2, 2, 1]);

    page.position = Position::Number(1);
    let simple = reader
        .drives(ours, VehicleId::new(1), &page, View::Simple)
        .await
        .unwrap();
    assert_eq!(simple.items.len(), 4, "without signatures all fit");
    assert!(simple.next.is_some());
    page.position = Position::Number(9);
    let behind = reader
        .drives(ours, VehicleId::new(1), &page, View::Simple)
        .await
        .unwrap();
    assert_eq!((behind.items.len(), behind.next, behind.total), (0, None, Some(5)));
}

async fn drives_forget_an_erased_person(installation: Installation) {
    let (ours, _) = two_businesses(&installation).await;
    let contact = installation.contact(ours, ann(), 0).await;
    let bystander = installation.contact(ours, a_contact(), 0).await;
    let by = |contact: ContactId| TestDriveContent {
        contact: Some(contact),
        note: LongText::new("Ann Lee was in a hurry").unwrap(),
        ..a_former_drive(64)
    };
    let other = insert(&installation, ours, "BBBB2222", by(bystander.id)).await;
    // More than one transaction cleans.
    for number in 0..130 {
        insert(&installation, ours, &format!("C{number:07}"), by(contact.id)).await;
    }
    let mut session = installation.begin().await;
    session.erase_contact(ours, &contact).await.unwrap();
    session.commit().await.unwrap();
    installation.finish_deletions().await;

    let page = PageRequest {
        position: Position::Number(1),
        per_page: 500,
    };
    let mut reader = installation.read().await;
    let found = reader.drives(ours, VehicleId::new(1), &page, View::Full).await.unwrap();
    assert_eq!(found.items.len(), 131);
    for drive in found.items {
        if drive.id == other.id {
            let mut left = other.clone();
            left.content.note = LongText::new("… was in a hurry").unwrap();
            assert_eq!(drive, left);
            continue;
        }
        let content = drive.content;
        let esign = content.esign.unwrap();
        assert_eq!(
            (content.contact, content.dob, content.license_checked_by),
            (None, None, None)
        );
        assert_eq!(content.note.as_str(), "… was in a hurry");
        let texts = [&content.license_number, &content.license_code, &content.ni, &esign.name];
        assert!(texts.iter().all(|text| text.as_str().is_empty()), "{texts:?}");
        assert_eq!((esign.signature.as_deref(), &*esign.ip), (Some(""), ""));
    }
    let linked = installation
        .number("SELECT count(*) FROM vehicle_drives WHERE contact IS NOT NULL")
        .await;
    assert_eq!(linked, 1);
    let noted = installation.number("SELECT count(*) FROM erasure_records").await;
    assert_eq!(noted, 0);
}

async fn a_deleted_business_leaves_no_files_documents_and_drives(installation: Installation) {
    let (ours, theirs) = two_businesses(&installation).await;
    let mut session = installation.begin().await;
    for (business, byte) in [(ours, 1), (theirs, 2)] {
        let file = a_file(byte, FileKind::Pdf);
        session
            .insert_files(business, std::slice::from_ref(&file))
            .await
            .unwrap();
        let content = VehicleDocumentContent {
            name: "V5C".parse_line(),
            description: LongText::default(),
            public: false,
            file,
        };
        session
            .insert_vehicle_document(business, VehicleId::new(1), content, at(0))
            .await
            .unwrap();
        session
            .insert_drive(
                business,
                VehicleId::new(1),
                DriveCode::stored("AAAA2222".into()),
                a_drive(),
            )
            .await
            .unwrap();
    }
    session.delete_business(ours).await.unwrap();
    session.commit().await.unwrap();
    installation.finish_deletions().await;
    for table in ["files", "vehicle_documents", "vehicle_drives"] {
        let left = installation.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(left, 1, "{table}");
        let theirs = installation
            .number(&format!("SELECT count(*) FROM {table} WHERE business_id = {theirs}"))
            .await;
        assert_eq!(theirs, 1, "{table}");
    }
}
