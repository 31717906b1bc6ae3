//! The use cases. Each follows the wording of the contract. None begins, commits or retries a transaction.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_kernel::{
    BoxError, Clock, ContactId, EventName, Field, LeadId, Mail, NewEvent, Page, PageRequest, StoreError, Target,
    Timestamp, Valid, ValidationErrors, VehicleId,
};
use serde_json::{Map, Value};

pub(crate) mod assessment;
pub(crate) mod conversation;

use crate::{
    DataTooLarge, FullLead, Lead, LeadChanges, LeadDraft, LeadError, LeadFilter, LeadPreview, LeadReader, LeadStatus,
    LeadStore, LeadVehicle, SenderKeys, SetAssignment, StatusMove, StockVehicle, VehicleChoice, mails::LeadReceived,
    suggestion::suggest,
};

/// Returns a page of the caller's leads, newest first.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn list_leads(
    store: &mut dyn LeadReader,
    by: &Caller,
    filter: &LeadFilter,
    page: &PageRequest,
) -> Result<Page<Lead>, LeadError> {
    Ok(store.leads(by.business_id(), filter, page).await?)
}

/// Returns the same page in the simple view.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn preview_leads(
    store: &mut dyn LeadReader,
    by: &Caller,
    filter: &LeadFilter,
    page: &PageRequest,
) -> Result<Page<LeadPreview>, LeadError> {
    Ok(store.lead_previews(by.business_id(), filter, page).await?)
}

/// Returns one of the caller's leads.
///
/// # Errors
/// [`LeadError::NotFound`], [`LeadError::Store`].
pub async fn read_lead(store: &mut dyn LeadReader, by: &Caller, id: LeadId) -> Result<Lead, LeadError> {
    store.lead(by.business_id(), id).await?.ok_or(LeadError::NotFound(id))
}

/// Stores an enquiry as a new lead, and notifies the business unless `notify` is false. The changes are validated by
/// [`validate_lead`].
///
/// # Errors
/// [`LeadError::Invalid`] if it names a contact or a vehicle that the business lacks, or its data is too large;
/// [`LeadError::Store`].
pub async fn create_lead(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    changes: Valid<LeadChanges>,
) -> Result<Lead, LeadError> {
    let rules = Rules {
        business: &by.business,
        now: clock.now(),
    };
    let changes = changes.into_inner();
    let (vehicle, mut errors) = find_vehicle(store, by, changes.vehicle_choice().unwrap_or_default().as_ref()).await?;
    errors.extend(validate_lead_references(store, by, &changes).await?);
    let notify = changes.notify != Field::Value(false);
    let mut draft = LeadDraft::blank(&by.business.catalogue);
    errors.extend(overlay(&mut draft, changes, &rules));
    errors.into_result(())?;
    insert_new(store, clock, &by.business, draft, vehicle, notify).await
}

/// Stores a valid new lead, requests the reading of its conversation, and notifies the business if `notify` is set.
pub(crate) async fn insert_new(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    business: &Business,
    mut draft: LeadDraft,
    vehicle: Option<StockVehicle>,
    notify: bool,
) -> Result<Lead, LeadError> {
    let now = clock.now();
    draft.suggestion = suggest(store, business, &draft).await?;
    draft.answered = draft.is_answered();
    draft.vehicles = vehicle.iter().map(|vehicle| vehicle.id).collect();
    draft.mark_junk(None, now);
    let lead = store.insert_lead(business.id, draft, now).await?;
    if let Some(vehicle) = &vehicle {
        store.associate_vehicle(business.id, lead.id, vehicle.id, now).await?;
    }
    store.request_assessment(business.id, lead.id, now).await?;
    store
        .record(business.id, event(EventName::LeadCreated, &lead, business, now)?)
        .await?;
    if notify && !business.email.is_empty() {
        store
            .queue_mail(business.id, new_lead_mail(&lead, vehicle.as_ref(), business), now)
            .await?;
    }
    Ok(lead)
}

/// Changes the supplied fields of a lead, validated by [`validate_lead`].
///
/// # Errors
/// [`LeadError::Invalid`] as for [`create_lead`], then [`LeadError::NotFound`], then [`LeadError::VersionMismatch`];
/// [`LeadError::Store`].
pub async fn update_lead(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<LeadId>>,
    changes: Valid<LeadChanges>,
) -> Result<Lead, LeadError> {
    let Target { id, precondition } = id.into();
    let rules = Rules {
        business: &by.business,
        now: clock.now(),
    };
    let changes = changes.into_inner();
    let mut errors = validate_lead_references(store, by, &changes).await?;
    let stored = store.lock_lead(by.business_id(), id).await?;
    // A fault of the fields takes precedence over a missing lead, so the fields are checked even without a lead.
    let mut content = stored
        .as_ref()
        .map_or_else(|| LeadDraft::blank(&by.business.catalogue), |lead| lead.content.clone());
    errors.extend(overlay(&mut content, changes, &rules));
    errors.into_result(())?;
    let stored = stored.ok_or(LeadError::NotFound(id))?;
    precondition.check(stored.version)?;
    let knows_as_before =
        content.contact == stored.content.contact && SenderKeys::of(&content) == SenderKeys::of(&stored.content);
    if !knows_as_before {
        content.suggestion = suggest(store, &by.business, &content).await?;
    }
    save_if_changed(store, clock.now(), &by.business, stored, content).await
}

/// Moves a lead through its workflow.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::VersionMismatch`]; [`LeadError::Store`].
pub async fn set_lead_status(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<LeadId>>,
    command: StatusMove,
) -> Result<Lead, LeadError> {
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.reopen = command.reopen(content.reopen);
    content.status = command.target(content.status);
    content.stat = command.stat.unwrap_or(content.stat);
    save_if_changed(store, clock.now(), &by.business, stored, content).await
}

/// Replaces the staff users who handle a lead.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::VersionMismatch`]; [`LeadError::Store`].
pub async fn assign_lead(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<LeadId>>,
    command: SetAssignment,
) -> Result<Lead, LeadError> {
    let stored = lock(store, by, id).await?;
    let content = LeadDraft {
        assign: command.assign,
        ..stored.content.clone()
    };
    save_if_changed(store, clock.now(), &by.business, stored, content).await
}

/// Deletes a lead.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::VersionMismatch`]; [`LeadError::Store`].
pub async fn delete_lead(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<LeadId>>,
) -> Result<(), LeadError> {
    let id = lock(store, by, id).await?.id;
    store.delete_lead(by.business_id(), id).await?;
    // A deletion's payload is the id alone (contract, "Delivery request").
    let data = format!(r#"{{"id":{id}}}"#);
    let event = NewEvent {
        name: EventName::LeadDeleted,
        record: id.get(),
        data,
        at: clock.now(),
    };
    Ok(store.record(by.business_id(), event).await?)
}

/// Reopens a closed lead on its day: its status becomes `new_message`. A lead that has changed its status meanwhile is not
/// changed.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn reopen_lead(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    business: &Business,
    id: LeadId,
) -> Result<(), LeadError> {
    let now = clock.now();
    let Some(stored) = store.lock_lead(business.id, id).await? else {
        return Ok(());
    };
    let LeadDraft { status, reopen, .. } = &stored.content;
    if *status == LeadStatus::Closed && reopen.is_some_and(|day| day.midnight() <= now) {
        let content = LeadDraft {
            status: LeadStatus::NewMessage,
            reopen: None,
            ..stored.content.clone()
        };
        save_if_changed(store, now, business, stored, content).await?;
    }
    Ok(())
}

/// Returns a page of the vehicles that a lead concerns, newest first.
///
/// # Errors
/// [`LeadError::NotFound`], [`LeadError::Store`].
pub async fn list_lead_vehicles(
    store: &mut dyn LeadReader,
    by: &Caller,
    lead: LeadId,
    page: &PageRequest,
) -> Result<Page<LeadVehicle>, LeadError> {
    let vehicles = store.lead_vehicles(by.business_id(), lead, page).await?;
    vehicles.ok_or(LeadError::NotFound(lead))
}

/// Associates a vehicle with a lead, which is a change of the lead (decisions §5).
///
/// # Errors
/// [`LeadError::Invalid`] if the business lacks the vehicle, then [`LeadError::NotFound`], then
/// [`LeadError::VersionMismatch`], then [`LeadError::VehicleDuplicate`]; [`LeadError::Store`].
pub async fn add_lead_vehicle(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    choice: VehicleChoice,
) -> Result<LeadVehicle, LeadError> {
    let business = by.business_id();
    let vehicle = store.stock_vehicle(business, &choice).await?;
    let vehicle = vehicle.ok_or_else(|| choice.unknown())?;
    let stored = lock(store, by, lead).await?;
    let (lead, created) = (stored.id, clock.now());
    if !store.associate_vehicle(business, lead, vehicle.id, created).await? {
        return Err(LeadError::VehicleDuplicate(vehicle.id));
    }
    let mut content = stored.content.clone();
    content.vehicles.push(vehicle.id);
    save(store, created, &by.business, stored, content).await?;
    Ok(LeadVehicle { lead, vehicle, created })
}

/// Removes a vehicle from a lead, which is a change of the lead.
///
/// # Errors
/// [`LeadError::NotFound`], then [`LeadError::VehicleNotFound`], then [`LeadError::VersionMismatch`]; [`LeadError::Store`].
pub async fn remove_lead_vehicle(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    lead: impl Into<Target<LeadId>>,
    vehicle: VehicleId,
) -> Result<(), LeadError> {
    let Target { id, precondition } = lead.into();
    let stored = lock(store, by, id).await?;
    if !store.dissociate_vehicle(by.business_id(), id, vehicle).await? {
        return Err(LeadError::VehicleNotFound(vehicle));
    }
    // Checked after the removal, because a missing vehicle takes precedence. The transaction undoes the removal.
    precondition.check(stored.version)?;
    let mut content = stored.content.clone();
    content.vehicles.retain(|known| *known != vehicle);
    save(store, clock.now(), &by.business, stored, content).await?;
    Ok(())
}

/// Returns the lead, locked, if it is at a version that the caller accepts.
async fn lock(store: &mut dyn LeadStore, by: &Caller, target: impl Into<Target<LeadId>>) -> Result<Lead, LeadError> {
    let Target { id, precondition } = target.into();
    let lead = store.lock_lead(by.business_id(), id).await?;
    let lead = lead.ok_or(LeadError::NotFound(id))?;
    precondition.check(lead.version)?;
    Ok(lead)
}

/// Validates the fields of a lead, apart from the contact and the vehicle that they name.
pub fn validate_lead(changes: &LeadChanges, rules: &Rules<'_>) -> ValidationErrors {
    let mut errors = changes.faults(rules);
    if let Err(twice) = changes.vehicle_choice() {
        errors.add("vehicle_tag", twice.to_string());
    }
    errors
}

/// Merges the supplied fields into a lead's content.
fn overlay(content: &mut LeadDraft, mut changes: LeadChanges, rules: &Rules<'_>) -> ValidationErrors {
    let before = content.data.as_str().to_owned();
    // The channel's reference is a member of the free-form data, and can be written under either name.
    let channel_id = match &changes.channel_id {
        Field::Absent | Field::Wrong(_) => None,
        Field::Null => Some(Value::Null),
        Field::Value(id) => Some(Value::from(id.as_str())),
    };
    if let Field::Value(data) = &mut changes.data {
        content.data.leave_out_shown(data, content.vehicles.first().copied());
    }
    changes.apply(content, &LeadDraft::blank(&rules.business.catalogue), rules);
    if let Some(channel_id) = channel_id {
        content
            .data
            .merge(Map::from_iter([("channel_id".to_owned(), channel_id)]));
    }
    // Only a closed lead has a day to reopen on.
    content.reopen = content.reopen.filter(|_| content.status == LeadStatus::Closed);
    // It may have become too large before, when a replacement for a person's name was longer than the name.
    if content.data.as_str() != before && content.data.is_too_large() {
        return ValidationErrors::one("data", DataTooLarge.to_string());
    }
    ValidationErrors::new()
}

/// Checks that the contact and the vehicle of a new lead exist.
///
/// # Errors
/// If storage fails. Faults are returned, not errors.
pub async fn validate_new_lead_references(
    store: &mut dyn LeadReader,
    by: &Caller,
    changes: &LeadChanges,
) -> Result<ValidationErrors, StoreError> {
    let choice = changes.vehicle_choice().unwrap_or_default();
    let mut errors = validate_vehicle(store, by, choice.as_ref()).await?;
    errors.extend(validate_lead_references(store, by, changes).await?);
    Ok(errors)
}

/// Checks that the contact in a change of a lead exists.
///
/// # Errors
/// If storage fails. Faults are returned, not errors.
pub async fn validate_lead_references(
    store: &mut dyn LeadReader,
    by: &Caller,
    changes: &LeadChanges,
) -> Result<ValidationErrors, StoreError> {
    match changes.contact.value().copied().map(ContactId::new) {
        Some(contact) if !store.contact_exists(by.business_id(), contact).await? => {
            Ok(ValidationErrors::one("contact", "names no contact of this business"))
        }
        _ => Ok(ValidationErrors::new()),
    }
}

/// Checks that the caller's business has the vehicle that a new lead concerns.
///
/// # Errors
/// If storage fails. Faults are returned, not errors.
pub async fn validate_vehicle(
    store: &mut dyn LeadReader,
    by: &Caller,
    choice: Option<&VehicleChoice>,
) -> Result<ValidationErrors, StoreError> {
    let (_, errors) = find_vehicle(store, by, choice).await?;
    Ok(errors)
}

/// Returns the chosen vehicle, or the faults of the choice.
async fn find_vehicle(
    store: &mut dyn LeadReader,
    by: &Caller,
    choice: Option<&VehicleChoice>,
) -> Result<(Option<StockVehicle>, ValidationErrors), StoreError> {
    let Some(choice) = choice else {
        return Ok((None, ValidationErrors::new()));
    };
    let vehicle = store.stock_vehicle(by.business_id(), choice).await?;
    let errors = match vehicle {
        Some(_) => ValidationErrors::new(),
        None => choice.unknown(),
    };
    Ok((vehicle, errors))
}

/// Stores `content` as the lead's and records the event, unless nothing changes.
pub(crate) async fn save_if_changed(
    store: &mut dyn LeadStore,
    now: Timestamp,
    business: &Business,
    stored: Lead,
    content: LeadDraft,
) -> Result<Lead, LeadError> {
    if content == stored.content {
        return Ok(stored);
    }
    save(store, now, business, stored, content).await
}

/// Stores `content` as the lead's, and records the event.
async fn save(
    store: &mut dyn LeadStore,
    now: Timestamp,
    business: &Business,
    stored: Lead,
    mut content: LeadDraft,
) -> Result<Lead, LeadError> {
    content.answered = content.is_answered() || stored.content.is_answered();
    content.mark_junk(Some(&stored.content), now);
    let lead = Lead {
        content,
        // If the clock went back to before the lead's creation, the change gets the time of the creation.
        updated: now.max(stored.created),
        version: stored.version.next(),
        ..stored
    };
    store.save_lead(business.id, &lead).await?;
    store
        .record(business.id, event(EventName::LeadUpdated, &lead, business, now)?)
        .await?;
    Ok(lead)
}

fn event(name: EventName, lead: &Lead, business: &Business, at: Timestamp) -> Result<NewEvent, StoreError> {
    let view = FullLead::new(lead, &business.catalogue);
    let data = serde_json::to_string(&view).map_err(|error| StoreError::Other(BoxError::from(error)))?;
    Ok(NewEvent {
        name,
        record: lead.id.get(),
        data,
        at,
    })
}

fn new_lead_mail(lead: &Lead, vehicle: Option<&StockVehicle>, business: &Business) -> Mail {
    let LeadDraft {
        name,
        email,
        phone,
        mobile,
        types,
        channel,
        data,
        ..
    } = &lead.content;
    let kinds: Vec<_> = types.iter().map(|kind| kind.name()).collect();
    let vehicle = vehicle.map(StockVehicle::title).unwrap_or_default();
    let message = serde_json::from_str::<Value>(data.as_str()).unwrap_or_default();
    let content = LeadReceived {
        business: &business.name,
        number: &lead.reference.to_string(),
        name,
        email,
        phone,
        mobile,
        about: &kinds.join(", "),
        vehicle: &vehicle,
        channel: channel.name(),
        subject: message["subject"].as_str().unwrap_or_default(),
        message: message["message"].as_str().unwrap_or_default(),
    };
    Mail {
        lead: Some(lead.id),
        ..business.mail(&business.email, &content)
    }
}
