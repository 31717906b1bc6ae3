//! The use cases. Each follows the wording of decisions §10.10. None begins, commits or retries a transaction.

use forecourt_accounts::{Business, Caller, Rules};
use forecourt_kernel::{
    BoxError, BusinessId, CallId, Clock, EventName, Field, LeadId, NewEvent, Page, PageRequest, Phone, Precondition,
    StoreError, Target, Timestamp, Valid, ValidationErrors, Version,
};
use forecourt_leads::{
    LeadChanges, LeadError, LeadReader, LeadStatus, LeadTypes, PhoneLine, SenderKeys, StatusChange, VehicleChoice,
    create_lead, set_lead_status, validate_lead,
};
use forecourt_reference::{LeadChannel, LeadType};
use serde_json::{Map, Value};

use crate::{
    Call, CallChanges, CallContent, CallDirection, CallError, CallEventView, CallFilter, CallOutcome, CallReader,
    CallStore, NewCall, view::looks_alike,
};

/// The age in seconds up to which a lead is matched to a call.
const LEADS_MATCHED: i64 = 90 * 86_400;

/// A call that a telephone system has reported.
#[derive(Clone, PartialEq, Debug)]
pub enum Reported {
    /// It is new.
    Created(Call),
    /// It was known, and may have changed.
    Known(Call),
}

/// Returns a page of the caller's calls, newest first.
///
/// # Errors
/// [`CallError::Store`].
pub async fn list_calls(
    store: &mut dyn CallReader,
    by: &Caller,
    filter: &CallFilter,
    page: &PageRequest,
) -> Result<Page<Call>, CallError> {
    Ok(store.calls(by.business_id(), filter, page).await?)
}

/// Returns one of the caller's calls.
///
/// # Errors
/// [`CallError::NotFound`], [`CallError::Store`].
pub async fn read_call(store: &mut dyn CallReader, by: &Caller, id: CallId) -> Result<Call, CallError> {
    store.call(by.business_id(), id).await?.ok_or(CallError::NotFound(id))
}

/// Creates a call, validated by [`NewCall::faults`], matches it to a contact and a lead, and moves that lead. If the telephone
/// system has reported the call before, that one is changed instead, if it is at a version that the caller accepts.
///
/// # Errors
/// [`CallError::Invalid`] if it names a contact, a lead or a vehicle that the business lacks; [`CallError::VersionMismatch`];
/// [`CallError::Store`], which is a conflict if the same call is being created by another transaction.
pub async fn report_call(
    store: &mut dyn CallStore,
    clock: &dyn Clock,
    by: &Caller,
    precondition: &Precondition,
    call: Valid<NewCall>,
) -> Result<Reported, CallError> {
    let NewCall(changes) = call.into_inner();
    validate_call_references(store, by, &changes).await?.into_result(())?;
    if let Some((provider, external_id)) = changes.reported_as()
        && let Some(id) = store.call_reported_as(by.business_id(), provider, external_id).await?
        && let Some(stored) = store.lock_call(by.business_id(), id).await?
    {
        precondition.check(stored.version)?;
        return Ok(Reported::Known(change(store, clock, by, stored, changes).await?));
    }
    Ok(Reported::Created(create(store, clock, by, changes).await?))
}

async fn create(
    store: &mut dyn CallStore,
    clock: &dyn Clock,
    by: &Caller,
    changes: CallChanges,
) -> Result<Call, CallError> {
    let now = clock.now();
    let makes_lead = changes.create_lead == Field::Value(true);
    let mut content = CallContent::blank();
    overlay(&mut content, changes, &by.business, now);
    match_contact(store, by.business_id(), &mut content).await?;
    match_lead(store, by.business_id(), &mut content, now).await?;
    if makes_lead && content.direction == CallDirection::In && content.lead.is_none() {
        content.lead = Some(lead_of_call(store, clock, by, &content).await?);
        content.lead_sent = true;
        content.lead_made = true;
    }
    let moved = lock_moved_lead(store, by, &mut content).await?;
    let call = store.insert_call(by.business_id(), content, now).await?;
    record(store, by.business_id(), EventName::CallCreated, &call, None, now).await?;
    move_lead(store, clock, by, moved).await?;
    Ok(call)
}

/// Changes the supplied fields of a call, validated by [`CallChanges::all_faults`].
///
/// # Errors
/// [`CallError::Invalid`] as for [`report_call`], then [`CallError::NotFound`], then [`CallError::VersionMismatch`], then
/// [`CallError::Invalid`] if the fields do not go together with the stored ones; [`CallError::Store`].
pub async fn update_call(
    store: &mut dyn CallStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<CallId>>,
    changes: Valid<CallChanges>,
) -> Result<Call, CallError> {
    let changes = changes.into_inner();
    validate_call_references(store, by, &changes).await?.into_result(())?;
    let stored = locked(store, by.business_id(), id.into()).await?;
    change(store, clock, by, stored, changes).await
}

/// Changes a call that is locked.
async fn change(
    store: &mut dyn CallStore,
    clock: &dyn Clock,
    by: &Caller,
    stored: Call,
    changes: CallChanges,
) -> Result<Call, CallError> {
    let (business, now) = (by.business_id(), clock.now());
    let resets_contact = changes.contact == Field::Null;
    let resets_lead = changes.lead == Field::Null;
    let mut content = stored.content.clone();
    overlay(&mut content, changes, &by.business, now);
    let mut errors = content.order_faults();
    if let Some((provider, external_id)) = content.reported_as()
        && content.reported_as() != stored.content.reported_as()
        && store.call_reported_as(business, provider, external_id).await?.is_some()
    {
        errors.add("external_id", "is that of another call of this provider");
    }
    errors.into_result(())?;
    let is_of_another = content.other_party() != stored.content.other_party();
    if is_of_another || resets_contact {
        match_contact(store, business, &mut content).await?;
    }
    if is_of_another || resets_lead {
        match_lead(store, business, &mut content, now).await?;
    }
    let moved = lock_moved_lead(store, by, &mut content).await?;
    if content == stored.content {
        return Ok(stored);
    }
    let call = Call {
        content,
        ..stored.clone()
    };
    if looks_alike(&call, &stored).map_err(unwritable)? {
        // Only the reason for a value has changed, such as a contact that was matched and is now chosen.
        store.save_call(business, &call).await?;
        move_lead(store, clock, by, moved).await?;
        return Ok(call);
    }
    let call = Call {
        version: stored.version.next(),
        updated: now.max(stored.created),
        ..call
    };
    store.save_call(business, &call).await?;
    record(store, business, EventName::CallUpdated, &call, Some(&stored), now).await?;
    move_lead(store, clock, by, moved).await?;
    Ok(call)
}

/// Deletes a call.
///
/// # Errors
/// [`CallError::NotFound`], then [`CallError::VersionMismatch`]; [`CallError::Store`].
pub async fn delete_call(
    store: &mut dyn CallStore,
    by: &Caller,
    id: impl Into<Target<CallId>>,
) -> Result<(), CallError> {
    let call = locked(store, by.business_id(), id.into()).await?;
    Ok(store.delete_call(by.business_id(), call.id).await?)
}

/// Adds a past call to a dealership that is being filled with examples: it is matched, but moves no lead and causes no event.
///
/// # Errors
/// [`CallError::Store`].
pub async fn load_call(
    store: &mut dyn CallStore,
    business: &Business,
    call: Valid<NewCall>,
    at: Timestamp,
) -> Result<Call, CallError> {
    let NewCall(changes) = call.into_inner();
    let mut content = CallContent::blank();
    overlay(&mut content, changes, business, at);
    match_contact(store, business.id, &mut content).await?;
    match_lead(store, business.id, &mut content, at).await?;
    Ok(store.insert_call(business.id, content, at).await?)
}

/// Returns the call, locked until the transaction ends, if it is at a version that the caller accepts.
async fn locked(
    store: &mut dyn CallStore,
    business: BusinessId,
    Target { id, precondition }: Target<CallId>,
) -> Result<Call, CallError> {
    let call = store.lock_call(business, id).await?;
    let call = call.ok_or(CallError::NotFound(id))?;
    precondition.check(call.version)?;
    Ok(call)
}

/// Checks that the contact, the lead and the vehicle in a change of a call exist.
///
/// # Errors
/// If storage fails. Faults are returned, not errors.
pub async fn validate_call_references(
    store: &mut dyn LeadReader,
    by: &Caller,
    changes: &CallChanges,
) -> Result<ValidationErrors, StoreError> {
    let business = by.business_id();
    let mut errors = ValidationErrors::new();
    if let Field::Value(contact) = changes.contact
        && !store
            .contact_exists(business, forecourt_kernel::ContactId::new(contact))
            .await?
    {
        errors.add("contact", "names no contact of this business");
    }
    if let Field::Value(lead) = changes.lead
        && store.lead(business, LeadId::new(lead)).await?.is_none()
    {
        errors.add("lead", "names no lead of this business");
    }
    if let Field::Value(vehicle) = changes.vehicle {
        let choice = VehicleChoice::Id(forecourt_kernel::VehicleId::new(vehicle));
        if store.stock_vehicle(business, &choice).await?.is_none() {
            errors.add("vehicle", "names no vehicle of this business");
        }
    }
    Ok(errors)
}

/// Merges the supplied fields into a call's content, and notes which of contact and lead the caller has chosen.
fn overlay(content: &mut CallContent, changes: CallChanges, business: &Business, now: Timestamp) {
    match changes.contact {
        Field::Value(_) => content.contact_sent = true,
        Field::Null => content.contact_sent = false,
        Field::Absent | Field::Wrong(_) => {}
    }
    match changes.lead {
        Field::Value(lead) => {
            content.lead_sent = true;
            content.lead_made &= content.lead == Some(LeadId::new(lead));
        }
        Field::Null => {
            content.lead_sent = false;
            content.lead_made = false;
        }
        Field::Absent | Field::Wrong(_) => {}
    }
    changes.apply(content, &CallContent::blank(), &Rules { business, now });
}

/// Sets the contact, unless a caller has chosen it: the only one with the number of the other party.
async fn match_contact(
    store: &mut dyn CallStore,
    business: BusinessId,
    content: &mut CallContent,
) -> Result<(), StoreError> {
    if content.contact_sent {
        return Ok(());
    }
    let keys = SenderKeys {
        phone: content.other_party().to_owned(),
        ..SenderKeys::default()
    };
    let found = if keys.is_empty() {
        Vec::new()
    } else {
        store.contacts_like(business, &keys).await?
    };
    content.contact = match *found {
        [only] => Some(only.contact),
        _ => None,
    };
    Ok(())
}

/// Sets the lead, unless a caller has chosen it: the newest open one of the contact or with the number of the other party.
async fn match_lead(
    store: &mut dyn CallStore,
    business: BusinessId,
    content: &mut CallContent,
    now: Timestamp,
) -> Result<(), StoreError> {
    if content.lead_sent {
        return Ok(());
    }
    let (contact, number) = (content.contact, content.other_party());
    content.lead = if contact.is_none() && number.is_empty() {
        None
    } else {
        let since = now.plus_seconds(-LEADS_MATCHED);
        store.lead_of_party(business, contact, number, since).await?
    };
    Ok(())
}

/// Makes the lead of an incoming call, and returns its id.
async fn lead_of_call(
    store: &mut dyn CallStore,
    clock: &dyn Clock,
    by: &Caller,
    content: &CallContent,
) -> Result<LeadId, CallError> {
    let name = match content.contact {
        Some(contact) => store.contact_name(by.business_id(), contact).await?,
        None => None,
    };
    let business = &by.business;
    let rules = Rules {
        business,
        now: clock.now(),
    };
    let kind = match content.actual_outcome() {
        CallOutcome::Missed | CallOutcome::Voicemail => LeadType::Callback,
        _ => LeadType::Phone,
    };
    let number = Phone::parse(&content.from, business.country).ok();
    let source = Some(content.tracking.as_str()).filter(|tracking| !tracking.is_empty());
    let source = source.map(|tracking| ("source".to_owned(), Value::from(tracking)));
    let known = |id: Option<i64>| id.map_or(Field::Absent, Field::Value);
    let changes = LeadChanges {
        site: known(Some(content.site.get()).filter(|site| *site != 0)),
        channel: LeadChannel::Phone.into(),
        name: name
            .and_then(|name| name.try_into().ok())
            .map_or(Field::Absent, Field::Value),
        phone: number.map_or(Field::Absent, |number| PhoneLine::from(number).into()),
        contact: known(content.contact.map(|contact| contact.get())),
        types: LeadTypes::from(vec![kind]).into(),
        vehicle: known(content.vehicle.map(|vehicle| vehicle.get())),
        data: Map::from_iter(source).into(),
        ..LeadChanges::default()
    };
    let changes = Valid::new(changes, |changes| validate_lead(changes, &rules))?;
    Ok(create_lead(store, clock, by, changes).await?.id)
}

/// Locks the lead that the call moves, and notes in the call that it has; `None` if it moves none. Each outcome of a call moves
/// a lead once, and a lead that the call has made stays new.
async fn lock_moved_lead(
    store: &mut dyn CallStore,
    by: &Caller,
    content: &mut CallContent,
) -> Result<Option<(LeadId, LeadStatus)>, StoreError> {
    let outcome = content.actual_outcome();
    let (Some(lead), Some(status)) = (content.lead, content.lead_status()) else {
        return Ok(None);
    };
    if content.lead_made || content.moved.contains(&outcome) {
        return Ok(None);
    }
    // Before the call is stored, because that locks the counters of the business, which come after leads.
    if store.lock_lead(by.business_id(), lead).await?.is_none() {
        return Ok(None);
    }
    content.moved.push(outcome);
    Ok(Some((lead, status)))
}

async fn move_lead(
    store: &mut dyn CallStore,
    clock: &dyn Clock,
    by: &Caller,
    moved: Option<(LeadId, LeadStatus)>,
) -> Result<(), CallError> {
    let Some((lead, status)) = moved else {
        return Ok(());
    };
    let change = StatusChange {
        status: Some(status),
        ..StatusChange::default()
    };
    match set_lead_status(store, clock, by, lead, change.validate()?).await {
        Ok(_) | Err(LeadError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Other(BoxError::from(error))
}

/// Records an event of `call`, which was `before` until now.
pub(crate) async fn record(
    store: &mut dyn CallStore,
    business: BusinessId,
    name: EventName,
    call: &Call,
    before: Option<&Call>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let view = CallEventView::new(call, before).map_err(unwritable)?;
    let data = serde_json::to_string(&view).map_err(unwritable)?;
    let record = call.id.get();
    store.record(business, NewEvent { name, record, data, at }).await
}

/// Returns the version of a call that is changed at `now`, with its time of change.
pub(crate) fn changed_at(stored: &Call, now: Timestamp) -> (Version, Timestamp) {
    (stored.version.next(), now.max(stored.created))
}
