//! The history of the sample dealership's vehicles: listings, deposits, test drives, documents and jobs.

use bytes::Bytes;
use forecourt_accounts::Business;
use forecourt_dealership::Session;
use forecourt_files::{FileKind, FileName};
use forecourt_invoices::{RaiseDeposit, raise_deposit};
use forecourt_jobs::JobContent;
use forecourt_kernel::{Clock, ContactId, Line, LongText, Money, SiteId, StoreResult, Timestamp};
use forecourt_listings::follow;
use forecourt_vehicles::{
    DepositInvoice, DriveCode, ReservationMethod, TestDriveContent, Vehicle, VehicleDocumentContent, VehicleStatus,
    carries_vat,
};

use super::{Gallery, refused, stored_contacts, stored_vehicles};

const HOUR: i64 = 3600;
const DEPOSIT: Money = Money::from_minor(9_900);
/// A document of one page, as small as PDF can be.
const DOCUMENT: &[u8] = include_bytes!("inspection.pdf");

/// Lists advertised vehicles, pays deposits for reservations, sends customers on test drives, and stores a document with two
/// vehicles.
pub(super) async fn load(
    session: &mut dyn Session,
    gallery: &Gallery<'_>,
    business: &Business,
    clock: &dyn Clock,
) -> StoreResult<()> {
    let contacts = stored_contacts(session, business).await?;
    let (mut reserved, mut for_sale, mut drafts) = (Vec::new(), Vec::new(), Vec::new());
    for vehicle in stored_vehicles(session, business).await? {
        // Loaded vehicles are listed by a background job; here the first request must show them.
        follow(session, business, &vehicle, clock.now()).await?;
        match vehicle.content.status {
            VehicleStatus::Reserved => reserved.push(vehicle),
            VehicleStatus::ForSale => for_sale.push(vehicle),
            VehicleStatus::Draft => drafts.push(vehicle),
            _ => {}
        }
    }
    // Oldest first, so that later jobs are on newer vehicles.
    let prepared = for_sale.iter().step_by(3).rev().chain(drafts.iter().rev());
    for (at, vehicle) in prepared.enumerate() {
        prepare(session, business, vehicle, at, clock.now()).await?;
    }
    for vehicle in reserved {
        pay_deposit(session, business, vehicle, clock).await?;
    }
    for (at, vehicle) in for_sale.iter().take(2).enumerate() {
        keep_document(session, gallery, business, vehicle, clock.now()).await?;
        // Both have been on a drive; the second still is.
        let customer = contacts.get(at).map(|contact| contact.id);
        let yesterday = clock.now().plus_seconds(-26 * HOUR);
        let content = drive(customer, yesterday, Some(yesterday.plus_seconds(HOUR)));
        let code = DriveCode::random(gallery.random);
        session.insert_drive(business.id, vehicle.id, code, content).await?;
        if at == 1 {
            let content = drive(customer, clock.now().plus_seconds(-HOUR / 2), None);
            let code = DriveCode::random(gallery.random);
            session.insert_drive(business.id, vehicle.id, code, content).await?;
        }
    }
    Ok(())
}

/// Opens the preparation of a vehicle, at one stage or another. The first one is overdue.
async fn prepare(
    session: &mut dyn Session,
    business: &Business,
    vehicle: &Vehicle,
    at: usize,
    now: Timestamp,
) -> StoreResult<()> {
    let Some(board) = business.catalogue.job_boards.first() else {
        return Ok(());
    };
    let mut job = JobContent::by_board(board, vehicle.id);
    job.automatic = board.apply.iter().any(|key| key == vehicle.content.kind.key());
    job.complete_stages(at % job.stages.len().max(1), now.plus_seconds(-HOUR));
    let days = if at == 0 { -1 } else { 3 };
    job.due = Some(now.plus_seconds(days * 24 * HOUR).date());
    job.staff = business.catalogue.staff.first().map(|user| user.id);
    session.insert_job(business.id, job, now).await?;
    Ok(())
}

/// Pays a deposit by card for the customer who reserved a vehicle.
async fn pay_deposit(
    session: &mut dyn Session,
    business: &Business,
    mut vehicle: Vehicle,
    clock: &dyn Clock,
) -> StoreResult<()> {
    let vehicle_description = vehicle.description();
    let vat_included = carries_vat(&vehicle.content.data.stock);
    let Some(reservation) = &mut vehicle.content.reservation.current else {
        return Ok(());
    };
    let Some(customer) = reservation.customer else {
        return Ok(());
    };
    reservation.method = ReservationMethod::Card;
    reservation.deposit = DEPOSIT;
    reservation.vat = vat_included;
    let deposit = RaiseDeposit {
        site: SiteId::new(0),
        customer,
        vehicle: vehicle.id,
        vehicle_description,
        gross: DEPOSIT,
        vat_included,
        method: reservation.method.payment(),
        reference: reservation.transaction.clone(),
        date: reservation.date.date(),
    };
    let raised = raise_deposit(session, clock, business, deposit).await;
    let raised = raised.map_err(refused)?;
    reservation.invoice = raised.number.map(|number| DepositInvoice { id: raised.id, number });
    session.save_vehicle(business.id, &vehicle).await
}

fn drive(contact: Option<ContactId>, started: Timestamp, ended: Option<Timestamp>) -> TestDriveContent {
    TestDriveContent {
        contact,
        license_number: line("SMITH806152A99AB"),
        license_code: Line::default(),
        gave_license_number: true,
        gave_license_code: false,
        ni: Line::default(),
        dob: None,
        license_checked: Some(started.date()),
        license_checked_by: None,
        return_date: Some(started.date()),
        return_time: None,
        fuel: Some(60),
        note: LongText::default(),
        condition: LongText::default(),
        location: None,
        consent: true,
        photos: Vec::new(),
        esign: None,
        started,
        ended,
    }
}

async fn keep_document(
    session: &mut dyn Session,
    gallery: &Gallery<'_>,
    business: &Business,
    vehicle: &Vehicle,
    now: Timestamp,
) -> StoreResult<()> {
    let name = FileName::random(gallery.random, FileKind::Pdf);
    let file = gallery
        .store(
            business.id,
            name,
            (FileKind::Pdf, Bytes::from_static(DOCUMENT)),
            false,
            now,
        )
        .await?;
    session.insert_files(business.id, std::slice::from_ref(&file)).await?;
    let content = VehicleDocumentContent {
        name: line("Inspection.pdf"),
        description: LongText::default(),
        public: false,
        file,
    };
    session
        .insert_vehicle_document(business.id, vehicle.id, content, now)
        .await?;
    Ok(())
}

fn line(text: &str) -> Line {
    Line::new(text.to_owned()).unwrap_or_default()
}
