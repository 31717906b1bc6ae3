//! Removes a person from vehicles, their documents and test drives when the person's contact is deleted.

use forecourt_accounts::Business;
use forecourt_files::FileName;
use forecourt_kernel::{BusinessId, Line, LongText, Person, Timestamp};
use serde_json::Value;

use crate::{
    AppraisalDetails, Data, TestDrive, TestDriveContent, TestDriveStore, Vehicle, VehicleDocument, VehicleDraft,
    VehicleError, VehicleFileStore, VehicleStatus, VehicleStore, service::save,
};

/// Removes a person from a vehicle that they have offered, funded, supplied, reserved or bought. If the vehicle changes, its
/// version and its time of change do too, and an event is recorded. For a deleted vehicle only the version changes, without an
/// event.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn forget_person_in_vehicle(
    store: &mut dyn VehicleStore,
    now: Timestamp,
    business: &Business,
    stored: Vehicle,
    person: &Person,
) -> Result<(), VehicleError> {
    let mut content = stored.content.clone();
    forget_person(&mut content, person);
    if content.status == VehicleStatus::Deleted {
        let vehicle = Vehicle {
            content,
            version: stored.version.next(),
            ..stored
        };
        return Ok(store.save_vehicle(business.id, &vehicle).await?);
    }
    save(store, now, business, stored, content).await?;
    Ok(())
}

fn forget_person(vehicle: &mut VehicleDraft, person: &Person) {
    let data = &mut vehicle.data;
    if data
        .appraisal
        .details
        .customer_id
        .0
        .is_some_and(|id| id.0 == person.contact())
    {
        data.appraisal.details = AppraisalDetails::default();
    }
    for reservation in vehicle.reservation.all_mut() {
        if reservation.customer == Some(person.contact()) {
            reservation.customer = None;
            // The text may identify the payer's card or account.
            reservation.transaction = Line::default();
        }
    }
    if let Some(sale) = &mut vehicle.sale
        && sale.customer == Some(person.contact())
    {
        sale.customer = None;
    }
    // Names that stand alone are emptied, before they would be redacted within the texts.
    let stock = &mut data.stock;
    for (id, name) in [
        (&mut stock.funding_provider_id, &mut stock.funding_provider),
        (&mut stock.purchase_supplier_id, &mut stock.purchase_supplier),
    ] {
        if *id == Some(person.contact()) {
            *id = None;
        }
        if id.is_none() && person.is_named(name) {
            name.clear();
        }
    }
    // The costs that its purchases bill name their supplier.
    for row in &mut data.stock.purchase_cost_data.0 {
        if person.is_named(&row.supplier) {
            row.supplier.clear();
        }
    }
    redact_texts(data, person);
    let mut comments = vehicle.offer.comments.as_str().to_owned();
    if person.redact(&mut comments) {
        vehicle.offer.comments = LongText::new(comments).unwrap_or_default();
    }
}

/// Sections whose words come from lists and registers.
const IMPERSONAL_SECTIONS: [&str; 2] = ["vehicle", "lookup"];

/// Removes the person from texts that staff wrote on a vehicle.
fn redact_texts(data: &mut Data, person: &Person) {
    let Ok(Value::Object(mut shown)) = serde_json::to_value(&*data) else {
        return;
    };
    let mut changed = false;
    for (section, value) in &mut shown {
        if !IMPERSONAL_SECTIONS.contains(&section.as_str()) {
            changed |= person.redact_certain_value(value);
        }
    }
    if changed && let Ok(redacted) = serde_json::from_value(Value::Object(shown)) {
        *data = redacted;
    }
}

/// Removes a person from the name and the description of a vehicle's document. The content belongs to the vehicle and stays.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn forget_person_in_document(
    store: &mut dyn VehicleFileStore,
    business: BusinessId,
    stored: VehicleDocument,
    person: &Person,
) -> Result<(), VehicleError> {
    let mut document = stored.clone();
    let content = &mut document.content;
    let mut name = content.name.as_str().to_owned();
    if person.redact(&mut name) {
        content.name = Line::new(name).unwrap_or_default();
    }
    let mut description = content.description.as_str().to_owned();
    if person.redact(&mut description) {
        content.description = LongText::new(description).unwrap_or_default();
    }
    if document != stored {
        document.version = stored.version.next();
        store.save_vehicle_document(business, &document).await?;
    }
    Ok(())
}

/// Removes a person from a test drive: the link to the contact with all data copied from it, the signature, photos and videos,
/// and the person's traces in the texts of staff. The drive itself, its times, its vehicle and its terms stay. No event is
/// recorded. Returns the files whose content must be deleted.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn forget_person_in_drive(
    store: &mut dyn TestDriveStore,
    business: BusinessId,
    stored: TestDrive,
    person: &Person,
) -> Result<Vec<FileName>, VehicleError> {
    let mut drive = stored.clone();
    let mut removed = Vec::new();
    if drive.content.contact == Some(person.contact()) {
        for photo in drive.content.photos.drain(..) {
            removed.extend(store.remove_files(business, &photo.file).await?);
        }
    }
    forget_driver(&mut drive.content, person);
    if drive != stored {
        store.save_drive(business, &drive).await?;
    }
    Ok(removed)
}

fn forget_driver(drive: &mut TestDriveContent, person: &Person) {
    for text in [&mut drive.note, &mut drive.condition] {
        let mut left = text.as_str().to_owned();
        if person.redact(&mut left) {
            *text = LongText::new(left).unwrap_or_default();
        }
    }
    for photo in &mut drive.photos {
        let mut left = photo.filename.as_str().to_owned();
        if person.redact(&mut left) {
            photo.filename = Line::new(left).unwrap_or_default();
        }
    }
    if drive.contact != Some(person.contact()) {
        return;
    }
    drive.contact = None;
    for text in [&mut drive.license_number, &mut drive.license_code, &mut drive.ni] {
        *text = Line::default();
    }
    drive.dob = None;
    drive.license_checked = None;
    drive.license_checked_by = None;
    if let Some(esign) = &mut drive.esign {
        esign.name = Line::default();
        esign.signature = Some(String::new());
        esign.ip.clear();
        esign.browser = Line::default();
    }
}

/// Removes a person from a vehicle's representation in an event. Returns `false` if nothing of them was in it.
pub fn forget_person_in_event(vehicle: &mut Value, person: &Person) -> bool {
    let mut changed = false;
    for (section, id, name, none) in [
        ("/data/appraisal/details", "customer_id", "customer", Value::from("")),
        ("/data/stock", "funding_provider_id", "funding_provider", Value::Null),
        ("/data/stock", "purchase_supplier_id", "purchase_supplier", Value::Null),
    ] {
        let Some(section) = vehicle.pointer_mut(section).and_then(Value::as_object_mut) else {
            continue;
        };
        // The person who offers a vehicle always has the name of the contact.
        let always = none.is_string();
        let shown = match section.get(id) {
            Some(Value::String(id)) => id.parse().ok(),
            Some(id) => id.as_i64(),
            None => None,
        };
        let linked = shown == Some(person.contact().get());
        if linked {
            section.insert(id.to_owned(), none);
            changed = true;
        }
        if let Some(Value::String(name)) = section.get_mut(name)
            && ((linked && always) || ((linked || shown.is_none()) && person.is_named(name)))
        {
            name.clear();
            changed = true;
        }
    }
    let costs = vehicle
        .pointer_mut("/data/stock/purchase_cost_data")
        .and_then(Value::as_array_mut);
    for row in costs.into_iter().flatten() {
        if let Some(Value::String(supplier)) = row.get_mut("supplier")
            && person.is_named(supplier)
        {
            supplier.clear();
            changed = true;
        }
    }
    // The sale that vehicle.sold shows.
    if let Some(customer) = vehicle.pointer_mut("/sale/customer")
        && customer.as_i64() == Some(person.contact().get())
    {
        *customer = Value::Null;
        changed = true;
    }
    let sections = vehicle.pointer_mut("/data").and_then(Value::as_object_mut);
    for (section, value) in sections.into_iter().flatten() {
        if !IMPERSONAL_SECTIONS.contains(&section.as_str()) {
            changed |= person.redact_certain_value(value);
        }
    }
    changed
}
