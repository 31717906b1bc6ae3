//! The lists of files, documents and test drives, and the background's searches in them.

use forecourt_files::FileKind;
use forecourt_kernel::{ContactId, PageRequest, VehicleId, View};
use forecourt_storage::Storage;
use forecourt_vehicles::DriveCode;
use forecourt_vehicles::testing::{a_drive, a_file};

use super::{explain, in_order, listening, no_scan, overheard, positions};
use crate::installation::{Installation, both_engines};
use crate::samples::{a_contact, at};

both_engines!(
    files_documents_and_drives_are_found_by_indexes,
    drives_of_a_deleted_contact_are_found_by_an_index,
);

async fn files_documents_and_drives_are_found_by_indexes(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let vehicle = VehicleId::new(1);
    let mut session = installation.begin().await;
    overheard();
    for position in positions() {
        let page = PageRequest { position, per_page: 20 };
        session.vehicle_documents(business, vehicle, &page).await.unwrap();
        for view in [View::Simple, View::Full] {
            session.drives(business, vehicle, &page, view).await.unwrap();
        }
    }
    let name = a_file(1, FileKind::Jpeg).name;
    session.files_after(business, None, 20).await.unwrap();
    session.files_after(business, Some(&name), 20).await.unwrap();
    session.file(business, &name).await.unwrap();
    session.remove_files(business, &name).await.unwrap();
    session.count_vehicle_documents(business, vehicle).await.unwrap();
    session.remove_vehicle_documents(business, vehicle).await.unwrap();
    session.active_drive(business, vehicle).await.unwrap();
    session.commit().await.unwrap();
    in_order(&installation, overheard()).await;
}

async fn drives_of_a_deleted_contact_are_found_by_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    let contact = session.insert_contact(business, a_contact(), at(0)).await.unwrap();
    for number in 0..9 {
        let mut content = a_drive();
        content.contact = Some(if number == 3 { contact.id } else { ContactId::new(77) });
        let code = DriveCode::stored(format!("AAAA222{number}"));
        session
            .insert_drive(business, VehicleId::new(number), code, content)
            .await
            .unwrap();
    }
    overheard();
    session.erase_contact(business, &contact).await.unwrap();
    session.commit().await.unwrap();
    let mut named = String::new();
    let looks = overheard().into_iter().filter(|statement| {
        let verbs = ["SELECT", "UPDATE", "DELETE", "INSERT"];
        statement.contains("vehicle_drives") && verbs.iter().any(|verb| statement.starts_with(verb))
    });
    for statement in looks {
        let plan = explain(&installation, &statement).await;
        no_scan(&statement, &plan);
        named += &plan;
    }
    if let Storage::Sqlite(_) = installation.storage {
        assert!(named.contains("vehicle_drives_contact"), "{named}");
    }
}
