//! The store of jobs: the contract suite of its domain, and what follows a vehicle.

use forecourt_files::FileKind;
use forecourt_jobs::JobFilter;
use forecourt_jobs::testing::{a_board, a_file, a_job, job_store_contract};
use forecourt_kernel::{ContactId, PageRequest, VehicleId};

use crate::fleet::a_vehicle;
use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_contact, at};

both_engines!(
    jobs_are_kept_as_their_domain_asks,
    a_vehicle_begins_and_ends_with_its_jobs,
    jobs_forget_an_erased_supplier,
);

async fn jobs_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    let vehicle = session.insert_vehicle(ours, a_vehicle(), at(0)).await.unwrap();
    let contact = session.insert_contact(ours, a_contact(), at(0)).await.unwrap();
    job_store_contract(session.as_mut(), (ours, theirs), vehicle.id, contact.id).await;
    session.commit().await.unwrap();
}

async fn a_vehicle_begins_and_ends_with_its_jobs(installation: Installation) {
    let mut session = installation.begin().await;
    let mut business = a_business("ours");
    business.catalogue.job_boards = vec![a_board(2), a_board(1)];
    business.id = session.insert_business(&business).await.unwrap();
    let vehicle = session.insert_vehicle(business.id, a_vehicle(), at(0)).await.unwrap();
    session.vehicle_created(&business, &vehicle, at(1)).await.unwrap();
    let filter = JobFilter {
        vehicle: Some(vehicle.id),
        ..JobFilter::default()
    };
    let jobs = session.jobs(business.id, &filter, &PageRequest::first()).await.unwrap();
    let boards: Vec<i64> = jobs.items.iter().map(|job| job.content.board).collect();
    assert_eq!(boards, [1, 2], "newest first: in the order of the file");
    assert!(jobs.items.iter().all(|job| job.content.automatic));

    let file = a_file(1, FileKind::Pdf);
    session
        .insert_files(business.id, std::slice::from_ref(&file))
        .await
        .unwrap();
    let mut job = jobs.items[0].clone();
    job.content.documents = a_job(vehicle.id, ContactId::new(7)).documents;
    session.save_job(business.id, &job).await.unwrap();
    let other = session
        .insert_job(business.id, a_job(VehicleId::new(99), ContactId::new(7)), at(2))
        .await
        .unwrap();
    let files = session.vehicle_deleted(&business, vehicle.id, at(3)).await.unwrap();
    assert_eq!(files, std::slice::from_ref(&file.name));
    assert_eq!(session.file(business.id, &file.name).await.unwrap(), None);
    let left = session
        .jobs(business.id, &JobFilter::default(), &PageRequest::first())
        .await;
    let left: Vec<_> = left.unwrap().items.iter().map(|job| job.id).collect();
    assert_eq!(left, [other.id]);
    session.commit().await.unwrap();
}

async fn jobs_forget_an_erased_supplier(installation: Installation) {
    let mut session = installation.begin().await;
    let business = session.insert_business(&a_business("ours")).await.unwrap();
    let contact = session.insert_contact(business, a_contact(), at(0)).await.unwrap();
    let content = a_job(VehicleId::new(99), contact.id);
    let job = session.insert_job(business, content, at(0)).await.unwrap();
    session.commit().await.unwrap();
    installation.erase(business, &contact).await;
    let mut reader = installation.read().await;
    let after = reader.job(business, job.id).await.unwrap().unwrap();
    assert_eq!(
        (after.content.suppliers(), after.version),
        (Vec::new(), job.version.next())
    );
}
