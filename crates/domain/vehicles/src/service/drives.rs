//! Test drives (contract, "Test drive"; decisions §7). Changing them records no events and leaves the vehicle unchanged.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_files::FileKind;
use forecourt_kernel::bounds::MAX_LINE_CHARS;
use forecourt_kernel::{
    Clock, ContactId, Date, Line, Page, PageRequest, Random, Scope, Target, ValidationErrors, VehicleId, View,
};
use forecourt_reference::{LocationRef, StockType};

use super::documents::{read_name, record_files};
use super::{UNKNOWN_CONTACT, lock, read_vehicle};
use crate::drive::digests;
use crate::values::check_day;
use crate::{
    AddDrivePhoto, DriveCode, DrivePhoto, DriveSignature, DriveSummary, Driver, SignDrive, StartDrive, TestDrive,
    TestDriveContent, TestDriveReader, TestDriveStore, TransitionError, VehicleError, VehicleStatus,
};

/// Returns a page of the test drives of one of the caller's vehicles, newest first; in the simple view without signatures.
///
/// # Errors
/// [`VehicleError::NotFound`], [`VehicleError::Store`].
pub async fn list_drives(
    store: &mut dyn TestDriveReader,
    by: &Caller,
    vehicle: VehicleId,
    page: &PageRequest,
    view: View,
) -> Result<Page<TestDrive>, VehicleError> {
    read_vehicle(store, by, vehicle).await?;
    Ok(store.drives(by.business_id(), vehicle, page, view).await?)
}

/// Returns the active test drive of one of the caller's vehicles.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::DriveNotActive`]; [`VehicleError::Store`].
pub async fn read_active_drive(
    store: &mut dyn TestDriveReader,
    by: &Caller,
    vehicle: VehicleId,
) -> Result<TestDrive, VehicleError> {
    read_vehicle(store, by, vehicle).await?;
    let active = store.active_drive(by.business_id(), vehicle).await?;
    active.ok_or(VehicleError::DriveNotActive)
}

/// Returns the test drive with that code, of one of the caller's vehicles.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::DriveNotFound`]; [`VehicleError::Store`].
pub async fn read_drive(
    store: &mut dyn TestDriveReader,
    by: &Caller,
    vehicle: VehicleId,
    code: &DriveCode,
) -> Result<TestDrive, VehicleError> {
    read_vehicle(store, by, vehicle).await?;
    let drive = store.drive(by.business_id(), vehicle, code).await?;
    drive.ok_or(VehicleError::DriveNotFound)
}

/// Starts a test drive of a vehicle. The present data on the contact's licence and person is copied, if the caller may read
/// contacts.
///
/// # Errors
/// [`VehicleError::Invalid`] by [`validate_driver`] and [`validate_drive`]. Then [`VehicleError::NotFound`], then
/// [`VehicleError::VersionMismatch`]. Then [`VehicleError::Transition`] if vehicles of its type and status are not driven, then
/// [`VehicleError::DriveActive`]; [`VehicleError::Store`].
pub async fn start_drive(
    store: &mut dyn TestDriveStore,
    clock: &dyn Clock,
    random: &dyn Random,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: StartDrive,
) -> Result<TestDrive, VehicleError> {
    let now = clock.now();
    let StartDrive {
        contact,
        license_number,
        license_code,
        return_date,
        return_time,
        fuel,
        note,
        condition,
        location,
        consent,
    } = command;
    let driver = store.driver(by.business_id(), contact).await?;
    let mut errors = ValidationErrors::new();
    if driver.is_none() {
        errors.add("contact", UNKNOWN_CONTACT);
    }
    let rules = Rules {
        business: &by.business,
        now,
    };
    let fuel = validate_values(&rules, return_date, fuel, location.as_ref(), &mut errors);
    errors.into_result(())?;
    let location = location.and_then(|named| by.business.catalogue.location(&named));
    let Driver {
        name: _,
        email: _,
        license_number: number,
        license_code: code,
        license_checked,
        license_checked_by,
        ni,
        dob,
    } = driver.filter(|_| by.may(Scope::ContactsRead)).unwrap_or_default();

    let vehicle = lock(store, by, id).await?;
    if !can_be_driven(vehicle.content.kind, vehicle.content.status) {
        return Err(TransitionError::TransitionInvalid.into());
    }
    if store.active_drive(by.business_id(), vehicle.id).await?.is_some() {
        return Err(VehicleError::DriveActive);
    }
    let known = |text: String| Line::new(text).unwrap_or_default();
    let content = TestDriveContent {
        contact: Some(contact),
        gave_license_number: license_number.is_some(),
        gave_license_code: license_code.is_some(),
        license_number: license_number.unwrap_or_else(|| known(number)),
        license_code: license_code.unwrap_or_else(|| known(code)),
        ni: known(ni),
        dob,
        license_checked,
        license_checked_by,
        return_date,
        return_time,
        fuel,
        note,
        condition,
        location: location.map(|location| location.id.clone()),
        consent,
        photos: Vec::new(),
        esign: None,
        started: now,
        ended: None,
    };
    let code = DriveCode::random(random);
    Ok(store.insert_drive(by.business_id(), vehicle.id, code, content).await?)
}

/// Returns `true` if vehicles of this type and status may be driven: stock and courtesy vehicles that are neither drafts nor
/// sold or closed.
const fn can_be_driven(kind: StockType, status: VehicleStatus) -> bool {
    let is_driven = matches!(kind, StockType::InStock | StockType::ToOrder | StockType::Courtesy);
    is_driven
        && !matches!(
            status,
            VehicleStatus::Draft
                | VehicleStatus::Sold
                | VehicleStatus::Complete
                | VehicleStatus::Closed
                | VehicleStatus::Deleted
        )
}

/// Validates the contact of a new test drive. [`start_drive`] checks the same; this function reports its fault together with the
/// body's others.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn validate_driver(
    store: &mut dyn TestDriveReader,
    business: &Business,
    contact: ContactId,
) -> Result<ValidationErrors, VehicleError> {
    Ok(match store.driver(business.id, contact).await? {
        Some(_) => ValidationErrors::new(),
        None => ValidationErrors::one("contact", UNKNOWN_CONTACT),
    })
}

/// Validates the values of a new test drive: the day of return (`return_date`), the fuel (`fuel`) and the location (`location`).
/// [`start_drive`] checks the same.
pub fn validate_drive(
    rules: &Rules<'_>,
    return_date: Option<Date>,
    fuel: Option<i64>,
    location: Option<&LocationRef>,
) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    validate_values(rules, return_date, fuel, location, &mut errors);
    errors
}

/// Validates the values that need no storage, and returns the fuel level.
fn validate_values(
    rules: &Rules<'_>,
    return_date: Option<Date>,
    fuel: Option<i64>,
    location: Option<&LocationRef>,
    errors: &mut ValidationErrors,
) -> Option<u8> {
    let Rules { business, now } = *rules;
    if let Some(Err(message)) = return_date.map(|day| check_day(day, now)) {
        errors.add("return_date", message);
    }
    let percent = fuel.and_then(|fuel| u8::try_from(fuel).ok().filter(|fuel| *fuel <= 100));
    if fuel.is_some() && percent.is_none() {
        errors.add("fuel", "must be a percentage from 0 to 100");
    }
    if location.is_some_and(|named| business.catalogue.location(named).is_none()) {
        errors.add("location", "names no location of this business");
    }
    percent
}

/// Ends the test drive of a vehicle.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::DriveNotActive`];
/// [`VehicleError::Store`].
pub async fn end_drive(
    store: &mut dyn TestDriveStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<TestDrive, VehicleError> {
    let mut drive = lock_active(store, by, id).await?;
    // If the clock was set back to before the start of the drive, it ends at its start.
    drive.content.ended = Some(clock.now().max(drive.content.started));
    store.save_drive(by.business_id(), &drive).await?;
    Ok(drive)
}

/// Records the signature of the terms of a vehicle's test drive.
///
/// # Errors
/// [`VehicleError::Invalid`] if the name is blank (`name`). Then [`VehicleError::NotFound`], then
/// [`VehicleError::VersionMismatch`], then [`VehicleError::DriveNotActive`], then [`VehicleError::DriveSigned`];
/// [`VehicleError::Store`].
pub async fn sign_drive(
    store: &mut dyn TestDriveStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: SignDrive,
) -> Result<TestDrive, VehicleError> {
    let SignDrive {
        name,
        signature,
        ip,
        browser,
    } = command;
    if name.as_str().trim().is_empty() {
        return Err(ValidationErrors::one("name", "must not be empty").into());
    }
    let mut drive = lock_active(store, by, id).await?;
    if drive.content.esign.is_some() {
        return Err(VehicleError::DriveSigned);
    }
    let terms = by.business.settings.test_drive_terms.as_deref().unwrap_or_default();
    let (terms_md5, terms_sha1) = digests(terms);
    let browser: String = browser
        .chars()
        .filter(|character| *character != '\0')
        .take(MAX_LINE_CHARS)
        .collect();
    drive.content.esign = Some(DriveSignature {
        name,
        signed: clock.now(),
        ip,
        browser: Line::new(browser).unwrap_or_default(),
        terms_md5,
        terms_sha1,
        signature: Some(signature.as_str().to_owned()),
    });
    store.save_drive(by.business_id(), &drive).await?;
    Ok(drive)
}

/// Adds a photo or video to a vehicle's test drive. Returns the drive and the photo or video, which is the drive's last one.
///
/// # Errors
/// [`VehicleError::Invalid`] if the file is neither (`file`), or its name is too long (`filename`). Then
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::DriveNotActive`]. Then
/// [`VehicleError::Invalid`] if the drive has the maximum number of them, or the business has no storage left for it (`file`);
/// [`VehicleError::Store`].
pub async fn add_drive_photo(
    store: &mut dyn TestDriveStore,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: AddDrivePhoto,
) -> Result<(TestDrive, DrivePhoto), VehicleError> {
    let AddDrivePhoto { filename, upload } = command;
    let kind = upload.file.kind;
    let mut errors = ValidationErrors::new();
    if !kind.is_picture() && !kind.is_video() {
        errors.add("file", "must be a JPEG, PNG or WEBP picture, or an MP4 or MOV video");
    }
    let otherwise = if kind.is_video() { "video" } else { "photo" };
    let name = read_name(filename.as_deref(), otherwise, kind, &mut errors);
    errors.into_result(())?;

    let mut drive = lock_active(store, by, id).await?;
    if drive.content.photos.len() >= TestDrive::MAX_PHOTOS {
        let message = format!(
            "a test drive may have at most {} photos and videos",
            TestDrive::MAX_PHOTOS
        );
        return Err(ValidationErrors::one("file", message).into());
    }
    let least = upload.widths().first().copied();
    let photo = DrivePhoto {
        filename: name,
        video: kind.is_video(),
        thumbnail: least.map(|width| upload.file.name.thumbnail(width, FileKind::Jpeg)),
        file: upload.file.name.clone(),
    };
    record_files(store, &by.business, &upload.files(false)).await?;
    drive.content.photos.push(photo.clone());
    store.save_drive(by.business_id(), &drive).await?;
    Ok((drive, photo))
}

/// Composes the mail with a summary of a vehicle's test drive and its terms, for the contact that drives. The caller must send
/// it.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::DriveNotActive`]. Then
/// [`VehicleError::Invalid`] if the contact is deleted or has no e-mail address (`contact`); [`VehicleError::Store`].
pub async fn summarize_drive(
    store: &mut dyn TestDriveReader,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<DriveSummary, VehicleError> {
    let Target { id, precondition } = id.into();
    let vehicle = read_vehicle(store, by, id).await?;
    precondition.check(vehicle.version)?;
    let business = &*by.business;
    let drive = store.active_drive(business.id, id).await?;
    let drive = drive.ok_or(VehicleError::DriveNotActive)?;
    let contact = drive.content.contact;
    let driver = match contact {
        Some(contact) => store.driver(business.id, contact).await?,
        None => None,
    };
    match contact.zip(driver) {
        Some((contact, driver)) if !driver.email.is_empty() => {
            Ok(DriveSummary::new(&drive, contact, &driver, &vehicle, business))
        }
        Some(_) => Err(ValidationErrors::one("contact", "has no email address").into()),
        None => Err(ValidationErrors::one("contact", "is deleted").into()),
    }
}

/// Locks the vehicle, and with it its test drives, and returns the active drive.
async fn lock_active(
    store: &mut dyn TestDriveStore,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<TestDrive, VehicleError> {
    let vehicle = lock(store, by, id).await?;
    let active = store.active_drive(by.business_id(), vehicle.id).await?;
    active.ok_or(VehicleError::DriveNotActive)
}
