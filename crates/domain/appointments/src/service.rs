//! The use cases. Each follows the wording of the contract. None begins, commits or retries a transaction.

pub(crate) mod feeds;
pub(crate) mod leads;
pub(crate) mod notices;
pub(crate) mod times;

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_kernel::{
    AppointmentId, BoxError, BusinessId, Clock, ContactId, EventName, Field, LeadId, NewEvent, Page, PageRequest,
    StoreError, Target, Timestamp, Valid, ValidationErrors, VehicleId, add_changed,
};
use serde_json::{Value, json};

use crate::{
    Appointment, AppointmentChanges, AppointmentContent, AppointmentError, AppointmentFilter, AppointmentReader,
    AppointmentStatus, AppointmentStore, FullAppointment,
    conflicts::{conflicts, reach},
};
use notices::Occasion;

/// Returns a page of the caller's appointments, newest first.
///
/// # Errors
/// [`AppointmentError::Store`].
pub async fn list_appointments(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    filter: &AppointmentFilter,
    page: &PageRequest,
) -> Result<Page<Appointment>, AppointmentError> {
    Ok(store.appointments(by.business_id(), filter, page).await?)
}

/// Returns one of the caller's appointments.
///
/// # Errors
/// [`AppointmentError::NotFound`], [`AppointmentError::Store`].
pub async fn read_appointment(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    id: AppointmentId,
) -> Result<Appointment, AppointmentError> {
    store
        .appointment(by.business_id(), id)
        .await?
        .ok_or(AppointmentError::NotFound(id))
}

/// Checks that the lead and the vehicle in a body exist. The contact is checked last, since its absence has a code of its own.
///
/// # Errors
/// If storage fails. Faults are returned, not errors.
pub async fn validate_appointment_references(
    store: &mut dyn AppointmentReader,
    by: &Caller,
    changes: &AppointmentChanges,
) -> Result<ValidationErrors, StoreError> {
    let business = by.business_id();
    let mut faults = ValidationErrors::new();
    if let Some(lead) = changes.lead.value()
        && store.contact_of_lead(business, LeadId::new(*lead)).await?.is_none()
    {
        faults.add("lead", "names no lead of this business");
    }
    if let Some(vehicle) = changes.vehicle.value()
        && store.vehicle_title(business, VehicleId::new(*vehicle)).await?.is_none()
    {
        faults.add("vehicle", "names no vehicle of this business");
    }
    if let Some(Some(deal)) = changes.deal.value()
        && !store.is_deal_known(business, *deal).await?
    {
        faults.add("deal", "names no deal of this business");
    }
    Ok(faults)
}

/// Merges the supplied fields into the content, and lets the content follow from them: the contact from the lead, the visitor from
/// the contact.
async fn overlay(
    store: &mut dyn AppointmentStore,
    rules: &Rules<'_>,
    content: &mut AppointmentContent,
    changes: AppointmentChanges,
    is_new: bool,
) -> Result<ValidationErrors, AppointmentError> {
    let business = rules.business.id;
    let before = content.contact;
    let lead = changes.lead.value().copied().map(LeadId::new);
    let names_visitor = [
        !matches!(changes.name, Field::Absent),
        !matches!(changes.email, Field::Absent),
        !matches!(changes.phone, Field::Absent),
    ];
    let faults = content.overlay(changes, rules, is_new);
    if let (None, Some(lead)) = (content.contact, lead) {
        content.contact = store.contact_of_lead(business, lead).await?.flatten();
    }
    match content.contact {
        Some(contact) => {
            let visitor = store.visitor(business, contact).await?;
            if let Some(visitor) = &visitor {
                content.show_visitor(Some(visitor));
            } else if faults.is_empty() {
                return Err(AppointmentError::ContactNotFound(contact));
            }
        }
        // What was the contact's is not the new visitor's.
        None if before.is_some() => {
            let [name, email, phone] = names_visitor;
            for (is_named, text) in [
                (name, &mut content.name),
                (email, &mut content.email),
                (phone, &mut content.phone),
            ] {
                if !is_named {
                    text.clear();
                }
            }
        }
        None => {}
    }
    Ok(faults)
}

/// Books an appointment, whose body was validated by [`AppointmentChanges::faults_of_new`], and mails the visitor unless `notify`
/// is false. `host` is the public host of the server, which makes ids of calendar entries unique.
///
/// # Errors
/// [`AppointmentError::Invalid`], then [`AppointmentError::ContactNotFound`], then [`AppointmentError::Conflict`];
/// [`AppointmentError::Store`].
pub async fn create_appointment(
    store: &mut dyn AppointmentStore,
    clock: &dyn Clock,
    by: &Caller,
    host: &str,
    changes: Valid<AppointmentChanges>,
) -> Result<Appointment, AppointmentError> {
    let business = &*by.business;
    let now = clock.now();
    let rules = Rules { business, now };
    let mut changes = changes.into_inner();
    // An appointment begins as booked.
    changes.status = Field::Absent;
    let mut faults = validate_appointment_references(store, by, &changes).await?;
    let (notifies, forces) = (changes.notifies(), changes.forces());
    let mut content = AppointmentContent::new(business);
    faults.extend(overlay(store, &rules, &mut content, changes, true).await?);
    faults.into_result(())?;
    // The lead is locked before the calendars.
    if let Some(lead) = content.lead {
        store.lead_version(business.id, lead).await?;
    }
    store.lock_calendars(business.id).await?;
    if !forces {
        refuse_conflicts(store, business, &content, AppointmentId::new(0)).await?;
    }
    let remind_at = content.reminder_at().filter(|at| *at >= now);
    let lead = content.lead;
    let appointment = store.insert_appointment(business.id, content, remind_at, now).await?;
    if let Some(lead) = lead {
        store
            .add_lead_appointment(business.id, lead, appointment.id, now)
            .await?;
    }
    record(
        store,
        business.id,
        EventName::AppointmentCreated,
        None,
        &appointment,
        now,
    )
    .await?;
    if notifies {
        notices::notify(store, business, host, &appointment, Occasion::Booked, now).await?;
    }
    Ok(appointment)
}

/// Refuses a booking that is in conflict with others.
async fn refuse_conflicts(
    store: &mut dyn AppointmentStore,
    business: &Business,
    content: &AppointmentContent,
    id: AppointmentId,
) -> Result<(), AppointmentError> {
    let wanted = content.occupied(id);
    let reach = reach(business, wanted.span());
    let from = Timestamp::from_epoch_seconds(reach.start);
    let to = Timestamp::from_epoch_seconds(reach.end);
    let others = store.occupied(business.id, from, to).await?;
    let conflicts = conflicts(business, &wanted, &others);
    if conflicts.is_empty() {
        Ok(())
    } else {
        Err(AppointmentError::Conflict(conflicts))
    }
}

/// Returns `true` if conflicts are judged again after a change: it touches the times, staff, vehicle or calendar, or occupies time
/// that was free.
fn may_conflict(before: &AppointmentContent, after: &AppointmentContent) -> bool {
    let of = |content: &AppointmentContent| {
        (
            content.start,
            content.end,
            content.staff.clone(),
            content.vehicle,
            content.calendar.clone(),
        )
    };
    after.status.takes_up() && (!before.status.takes_up() || of(before) != of(after))
}

/// Changes the supplied fields of an appointment, validated by [`AppointmentChanges::faults`].
///
/// # Errors
/// [`AppointmentError::Invalid`], then [`AppointmentError::ContactNotFound`], then [`AppointmentError::NotFound`], then
/// [`AppointmentError::VersionMismatch`], then [`AppointmentError::InvalidStatus`], then [`AppointmentError::Conflict`];
/// [`AppointmentError::Store`].
pub async fn update_appointment(
    store: &mut dyn AppointmentStore,
    clock: &dyn Clock,
    by: &Caller,
    host: &str,
    id: impl Into<Target<AppointmentId>>,
    changes: Valid<AppointmentChanges>,
) -> Result<Appointment, AppointmentError> {
    let Target { id, precondition } = id.into();
    let business = &*by.business;
    let now = clock.now();
    let rules = Rules { business, now };
    let changes = changes.into_inner();
    let mut faults = validate_appointment_references(store, by, &changes).await?;
    let (notifies, forces) = (changes.notifies(), changes.forces());
    let named_lead = changes.lead.value().copied().map(LeadId::new);
    let named_contact = changes.contact.value().copied().map(ContactId::new);
    let stored = store.lock_appointment(business.id, id).await?;
    let Some(stored) = stored else {
        // Faults take precedence over a missing appointment.
        if let (true, Some(contact)) = (faults.is_empty(), named_contact)
            && store.visitor(business.id, contact).await?.is_none()
        {
            return Err(AppointmentError::ContactNotFound(contact));
        }
        return faults
            .into_result(())
            .map_err(Into::into)
            .and(Err(AppointmentError::NotFound(id)));
    };
    let mut content = stored.content.clone();
    faults.extend(overlay(store, &rules, &mut content, changes, false).await?);
    faults.into_result(())?;
    precondition.check(stored.version)?;
    let before = &stored.content;
    if !is_allowed(before, &content) {
        return Err(AppointmentError::InvalidStatus(before.status));
    }
    if let Some(lead) = named_lead {
        store.lead_version(business.id, lead).await?;
    }
    if content == stored.content {
        if let Some(lead) = named_lead {
            store.add_lead_appointment(business.id, lead, id, now).await?;
        }
        return Ok(stored);
    }
    let judges = may_conflict(before, &content) && !forces;
    if judges {
        store.lock_calendars(business.id).await?;
        refuse_conflicts(store, business, &content, id).await?;
    }
    let occasion = Occasion::of_change(before, &content).filter(|_| notifies);
    let appointment = save(store, business.id, EventName::AppointmentUpdated, stored, content, now).await?;
    if let Some(lead) = named_lead {
        store.add_lead_appointment(business.id, lead, id, now).await?;
    }
    if let Some(occasion) = occasion {
        notices::notify(store, business, host, &appointment, occasion, now).await?;
    }
    Ok(appointment)
}

/// Returns `true` if the status before a change allows it.
fn is_allowed(before: &AppointmentContent, after: &AppointmentContent) -> bool {
    if !before.status.may_become(after.status) {
        return false;
    }
    if before.status != AppointmentStatus::Cancelled {
        return true;
    }
    let but_notes = AppointmentContent {
        notes: before.notes.clone(),
        ..after.clone()
    };
    but_notes == *before
}

/// Cancels an appointment, and mails the visitor if `notifies` is set.
///
/// # Errors
/// [`AppointmentError::NotFound`], then [`AppointmentError::VersionMismatch`], then [`AppointmentError::InvalidStatus`];
/// [`AppointmentError::Store`].
pub async fn cancel_appointment(
    store: &mut dyn AppointmentStore,
    clock: &dyn Clock,
    by: &Caller,
    host: &str,
    id: impl Into<Target<AppointmentId>>,
    reason: String,
    notifies: bool,
) -> Result<Appointment, AppointmentError> {
    let business = &*by.business;
    let stored = locked(store, business.id, id.into()).await?;
    if !stored.content.status.takes_up() {
        return Err(AppointmentError::InvalidStatus(stored.content.status));
    }
    let now = clock.now();
    let content = AppointmentContent {
        status: AppointmentStatus::Cancelled,
        cancel_reason: reason,
        ..stored.content.clone()
    };
    let appointment = save(
        store,
        business.id,
        EventName::AppointmentCancelled,
        stored,
        content,
        now,
    )
    .await?;
    if notifies {
        notices::notify(store, business, host, &appointment, Occasion::Cancelled, now).await?;
    }
    Ok(appointment)
}

/// Returns the appointment, locked until the transaction ends, if it is at a version that the caller accepts.
pub(crate) async fn locked(
    store: &mut dyn AppointmentStore,
    business: BusinessId,
    Target { id, precondition }: Target<AppointmentId>,
) -> Result<Appointment, AppointmentError> {
    let appointment = store.lock_appointment(business, id).await?;
    let appointment = appointment.ok_or(AppointmentError::NotFound(id))?;
    precondition.check(appointment.version)?;
    Ok(appointment)
}

/// Stores `content` as the appointment's, lets the reminder follow it, and records the event.
pub(crate) async fn save(
    store: &mut dyn AppointmentStore,
    business: BusinessId,
    name: EventName,
    stored: Appointment,
    content: AppointmentContent,
    now: Timestamp,
) -> Result<Appointment, StoreError> {
    let before = shown(&stored)?;
    let is_moved = content.start != stored.content.start;
    let is_reset =
        is_moved || content.reminder_minutes != stored.content.reminder_minutes || !stored.content.status.is_awaited();
    let reminded = stored.reminded.filter(|_| !is_moved);
    let remind_at = match content.reminder_at() {
        // It goes once for each start, and not at all if that moment has passed.
        Some(at) if is_reset => Some(at).filter(|at| reminded.is_none() && *at >= now),
        Some(_) => stored.remind_at,
        None => None,
    };
    let appointment = Appointment {
        version: stored.version.next(),
        updated: now.max(stored.created),
        reminded,
        remind_at,
        content,
        ..stored
    };
    store.save_appointment(business, &appointment).await?;
    record(store, business, name, Some(&before), &appointment, now).await?;
    Ok(appointment)
}

fn shown(appointment: &Appointment) -> Result<Value, StoreError> {
    serde_json::to_value(FullAppointment::from(appointment))
        .map_err(|failure| StoreError::Other(BoxError::from(failure)))
}

/// Records an event of an appointment. That of a cancellation shows the id alone (contract).
async fn record(
    store: &mut dyn AppointmentStore,
    business: BusinessId,
    name: EventName,
    before: Option<&Value>,
    appointment: &Appointment,
    at: Timestamp,
) -> Result<(), StoreError> {
    let data = if name == EventName::AppointmentCancelled {
        json!({"id": appointment.id})
    } else {
        let mut data = shown(appointment)?;
        add_changed(before, &mut data);
        // The time of a change always counts as changed, even within the second of the one before.
        if let Some(changed) = data["changed"].as_array_mut()
            && !changed.iter().any(|name| name == "updated")
        {
            changed.push("updated".into());
        }
        data
    };
    let record = appointment.id.get();
    let data = data.to_string();
    store.record(business, NewEvent { name, record, data, at }).await
}
