//! The use cases. None of them begins, commits or retries a transaction.

mod acquire;
mod appraise;
mod documents;
mod drives;
mod exchange;
mod invoice;
mod media;
mod reserve;
mod sell;

use forecourt_accounts::{Business, Caller};
use forecourt_files::FileName;
use forecourt_kernel::bounds::MAX_VEHICLE_DATA_BYTES;
use forecourt_kernel::{
    BoxError, Clock, ContactId, Cursor, Date, EventName, Money, NewEvent, Page, PageRequest, Position, StaffId,
    StoreError, Target, Timestamp, ValidationErrors, VehicleId, quoted,
};
use forecourt_reference::{StockType, TagChoice};

pub use self::{
    acquire::{acquire_vehicle, bill_costs, undo_acquisition, validate_acquirable, validate_undo_acquisition},
    appraise::{accept_offer, make_offer, reject_offer, request_offer, validate_offer},
    documents::{add_document, delete_document, list_documents, read_document, update_document, validate_document},
    drives::{
        add_drive_photo, end_drive, list_drives, read_active_drive, read_drive, sign_drive, start_drive,
        summarize_drive, validate_drive, validate_driver,
    },
    exchange::take_in_exchange,
    invoice::{InvoicedSale, lock_vehicle, reservation_of, sell_by_invoice, validate_billable},
    media::{add_medium, delete_medium, order_media, read_medium},
    reserve::{cancel_reservation, reserve_vehicle},
    sell::{hand_over_vehicle, live_sale_invoice, sell_vehicle, undo_sale},
};

use crate::channels::missing_for_publishing;
use crate::declare::FieldValue;
use crate::sections::ChangedWords;
use crate::status::next;
use crate::values::check_day;
use crate::{
    AppraisalOffer, ChannelOptions, CostRows, Data, DataPatch, Features, Media, Medium, NewVehicle, Reservations,
    SetChannels, SetTags, StatusChoice, TransitionError, Trigger, UpdateVehicle, Vehicle, VehicleDeletionStore,
    VehicleDraft, VehicleError, VehicleFilter, VehiclePreview, VehicleReader, VehicleStatus, VehicleStore, VehicleView,
};

/// Returns a page of the caller's vehicles, newest first.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn list_vehicles(
    store: &mut dyn VehicleReader,
    by: &Caller,
    filter: &VehicleFilter,
    page: &PageRequest,
) -> Result<Page<Vehicle>, VehicleError> {
    Ok(store.vehicles(by.business_id(), filter, page).await?)
}

/// Returns the same page of the caller's vehicles in the simple view.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn preview_vehicles(
    store: &mut dyn VehicleReader,
    by: &Caller,
    filter: &VehicleFilter,
    page: &PageRequest,
) -> Result<Page<VehiclePreview>, VehicleError> {
    Ok(store.vehicle_previews(by.business_id(), filter, page).await?)
}

/// Returns one of the caller's vehicles.
///
/// # Errors
/// [`VehicleError::NotFound`], [`VehicleError::Store`].
pub async fn read_vehicle(store: &mut dyn VehicleReader, by: &Caller, id: VehicleId) -> Result<Vehicle, VehicleError> {
    let vehicle = store.vehicle(by.business_id(), id).await?;
    vehicle.ok_or(VehicleError::NotFound(id))
}

/// Returns one of the caller's vehicles and the number of them that are for sale or reserved, for [`crate::PublishCheck`].
///
/// # Errors
/// [`VehicleError::NotFound`], [`VehicleError::Store`].
pub async fn check_publishing(
    store: &mut dyn VehicleReader,
    by: &Caller,
    id: VehicleId,
) -> Result<(Vehicle, u32), VehicleError> {
    let vehicle = read_vehicle(store, by, id).await?;
    let for_sale = store.vehicles_for_sale(by.business_id()).await?;
    Ok((vehicle, for_sale))
}

/// Creates a vehicle.
///
/// # Errors
/// [`VehicleError::Invalid`] if it names a staff user, a vehicle or a contact that the business lacks. Then
/// [`VehicleError::CostsFull`], then [`VehicleError::Invalid`] if its data is too large; [`VehicleError::Store`].
pub async fn create_vehicle(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    command: NewVehicle,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let NewVehicle {
        kind,
        registration,
        country,
        owner,
        parent,
        data: patch,
    } = command;
    let mut errors = validate_owner_and_parent(store, by, owner, parent).await?;
    let offered_by = validate_contacts(store, business, &patch, &mut errors).await?;
    errors.into_result(())?;
    validate_costs(&patch)?;
    if let Some(rows) = sent_costs(&patch) {
        rows.validate_billed(&CostRows::default()).into_result(())?;
    }
    let mut data = Box::<Data>::default();
    overlay(&mut data, *patch, business).into_result(())?;
    data.appraisal.details.customer = offered_by.unwrap_or_default();
    validate_size(&mut data)?;
    data.derive_values();

    let draft = VehicleDraft {
        country: country.unwrap_or(business.country),
        registration,
        owner,
        parent,
        ..draft_of(kind, data, business)
    };
    insert(store, clock.now(), business, draft).await
}

/// Returns a new vehicle with only its stock type and its data.
fn draft_of(kind: StockType, data: Box<Data>, business: &Business) -> VehicleDraft {
    VehicleDraft {
        kind,
        status: VehicleStatus::initial(kind),
        country: business.country,
        registration: None,
        owner: None,
        parent: None,
        tags: business.catalogue.defaulted_tags(kind),
        channels: Vec::new(),
        channel_options: ChannelOptions::default(),
        data,
        media: Media::default(),
        reservation: Reservations::default(),
        sale: None,
        offer: AppraisalOffer::default(),
        acquisition: None,
        stock_number: None,
    }
}

/// Stores a new vehicle, records its event, and adds what it begins with.
async fn insert(
    store: &mut dyn VehicleStore,
    now: Timestamp,
    business: &Business,
    draft: VehicleDraft,
) -> Result<Vehicle, VehicleError> {
    let vehicle = store.insert_vehicle(business.id, draft, now).await?;
    store.vehicle_changed(business, &vehicle, now).await?;
    let created = event(EventName::VehicleCreated, &vehicle, business, now)?;
    store.record(business.id, created).await?;
    store.vehicle_created(business, &vehicle, now).await?;
    Ok(vehicle)
}

/// Changes the given fields of a vehicle.
///
/// # Errors
/// [`VehicleError::Invalid`] if it names a staff user, a vehicle or a contact that the business lacks. Then
/// [`VehicleError::CostsFull`], then [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`]. Then
/// [`VehicleError::Invalid`] if a value is not allowed for vehicles of its class or its data would be too large. Then
/// [`VehicleError::PublishIncomplete`] if it is for sale or reserved and would lose fields that publishing needs;
/// [`VehicleError::Store`].
pub async fn update_vehicle(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: UpdateVehicle,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let target = id.into();
    let UpdateVehicle {
        registration,
        country,
        owner,
        parent,
        data: patch,
    } = command;
    let mut errors = validate_owner_and_parent(store, by, owner.flatten(), parent.flatten()).await?;
    if parent.flatten() == Some(target.id) {
        errors.add("parent", "must be another vehicle");
    }
    validate_contacts(store, business, &patch, &mut errors).await?;
    errors.into_result(())?;
    validate_costs(&patch)?;

    let stored = lock(store, by, target).await?;
    let mut content = stored.content.clone();
    content.registration = registration.unwrap_or(content.registration);
    content.country = country.map_or(content.country, |country| country.unwrap_or(business.country));
    content.owner = owner.unwrap_or(content.owner);
    content.parent = parent.unwrap_or(content.parent);
    let costs = sent_costs(&patch).cloned();
    overlay(&mut content.data, *patch, business).into_result(())?;
    if let Some(sent) = costs {
        let known = &stored.content.data.stock.purchase_cost_data;
        sent.validate_billed(known).into_result(())?;
        content.data.stock.purchase_cost_data = sent.with_billed(known);
        if content.data.stock.purchase_cost_data.0.len() > CostRows::MAX {
            return Err(VehicleError::CostsFull);
        }
    }
    validate_size(&mut content.data)?;
    content.data.derive_values();
    if content.status.counts_as_for_sale() {
        let missing = missing_for_publishing(&content);
        // A vehicle that an earlier release published incomplete may still change in other fields.
        let before = missing_for_publishing(&stored.content);
        if missing.iter().any(|field| !before.contains(field)) {
            return Err(VehicleError::PublishIncomplete(missing));
        }
    }
    save(store, clock.now(), business, stored, content).await
}

/// Deletes a vehicle: it keeps its row and answers 404 from then on (decisions §7). A reservation is cancelled first, with its
/// events, so the vehicle's version rises by two. Its documents, its media and what other areas keep with it are removed. Returns the names of their files, whose
/// content must be deleted after the transaction has committed.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`]; [`VehicleError::Store`].
pub async fn delete_vehicle(
    store: &mut dyn VehicleDeletionStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vec<FileName>, VehicleError> {
    let mut vehicle = lock(store, by, id).await?;
    if vehicle.content.reservation.current.is_some() {
        vehicle = reserve::cancel(store, clock, &by.business, vehicle).await?;
    }
    let id = vehicle.id;
    let now = clock.now();
    vehicle.content.status = next(vehicle.content.kind, vehicle.content.status, Trigger::Delete)?;
    let media = std::mem::take(&mut vehicle.content.media);
    let media = media.as_slice().iter().filter_map(Medium::file);
    let mut names: Vec<FileName> = media.map(|file| file.file.clone()).collect();
    names.extend(store.remove_vehicle_documents(by.business_id(), id).await?);
    let mut files = Vec::new();
    for name in &names {
        files.extend(store.remove_files(by.business_id(), name).await?);
    }
    files.extend(store.vehicle_deleted(&by.business, id, now).await?);
    vehicle.updated = now;
    vehicle.version = vehicle.version.next();
    store.save_vehicle(by.business_id(), &vehicle).await?;
    store.vehicle_changed(&by.business, &vehicle, now).await?;
    store.vehicle_lost(&by.business, &vehicle, now).await?;
    // The payload of a deletion is only the id (contract, "Delivery request").
    let deleted = NewEvent {
        name: EventName::VehicleDeleted,
        record: id.get(),
        data: format!(r#"{{"id":{id}}}"#),
        at: now,
    };
    store.record(by.business_id(), deleted).await?;
    Ok(files)
}

/// Sets the state of a vehicle, unless a process owns that state.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`]. Then [`VehicleError::Invalid`] if vehicles of its stock
/// type have no such state, then [`VehicleError::Transition`]; [`VehicleError::Store`].
pub async fn set_vehicle_status(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    choice: StatusChoice,
) -> Result<Vehicle, VehicleError> {
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    let wanted = choice
        .resolve(content.kind)
        .ok_or_else(|| ValidationErrors::one("status", "is no status of vehicles of this stock type"))?;
    content.status = next(content.kind, content.status, Trigger::Set(wanted))?;
    if content.status == VehicleStatus::Draft {
        content.channels.clear();
    }
    save(store, clock.now(), &by.business, stored, content).await
}

/// Replaces the tags of a vehicle.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`]. Then [`VehicleError::Invalid`] if a name is not available
/// for its stock type; [`VehicleError::Store`].
pub async fn set_vehicle_tags(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: SetTags,
) -> Result<Vehicle, VehicleError> {
    let SetTags { tags: choices } = command;
    let stored = lock(store, by, id).await?;
    let catalogue = &by.business.catalogue;
    let mut errors = ValidationErrors::new();
    for (at, choice) in choices.iter().enumerate() {
        if catalogue.tag(stored.content.kind, &choice.name).is_none() {
            errors.add(
                format!("tags.{at}"),
                format!(
                    "names {}, which is no tag of vehicles of this stock type",
                    quoted(&choice.name)
                ),
            );
        }
    }
    errors.into_result(())?;
    let mut content = stored.content.clone();
    content.tags = TagChoice::distinct(choices);
    save(store, clock.now(), &by.business, stored, content).await
}

/// Sets the channels that a vehicle is published on. Publishing a draft puts it up for sale (contract, "States and transitions").
///
/// # Errors
/// [`VehicleError::Invalid`] if the business has no such channel. Then [`VehicleError::NotFound`], then
/// [`VehicleError::VersionMismatch`]. If it is published on a further channel, then [`VehicleError::Transition`] if its stock
/// type or its state does not allow that, then [`VehicleError::PublishIncomplete`], and for a draft
/// [`VehicleError::PublishLimitReached`]; [`VehicleError::Store`].
pub async fn set_channels(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: SetChannels,
) -> Result<Vehicle, VehicleError> {
    let SetChannels { channels, options } = command;
    let business = &*by.business;
    let known = &business.catalogue.channels;
    validate_channels(channels.as_deref().unwrap_or_default(), business).into_result(())?;

    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.channel_options.apply(options);
    if let Some(channels) = channels {
        let wanted = known
            .iter()
            .map(|channel| &channel.id)
            .filter(|id| channels.contains(id));
        content.channels = wanted.cloned().collect();
    }
    if content.channels.iter().any(|id| !stored.content.channels.contains(id)) {
        content.status = status_when_published(&content)?;
        let missing = missing_for_publishing(&content);
        if !missing.is_empty() {
            return Err(VehicleError::PublishIncomplete(missing));
        }
        if !stored.content.status.counts_as_for_sale() {
            validate_publish_limit(store, business).await?;
        }
    }
    save(store, clock.now(), business, stored, content).await
}

/// Checks that one more vehicle may be for sale. The count is locked, so the result holds until the transaction ends.
async fn validate_publish_limit(store: &mut dyn VehicleStore, business: &Business) -> Result<(), VehicleError> {
    if let Some(limit) = business.settings.publish_limit
        && store.lock_vehicles_for_sale(business.id).await? >= limit
    {
        return Err(VehicleError::PublishLimitReached(limit));
    }
    Ok(())
}

/// Removes some of the vehicles of a business from a channel that it no longer has, as a request would (decisions §3). Returns
/// `true` if it found any there; then there may be more.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn leave_channel(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    business: &Business,
    channel: &str,
) -> Result<bool, VehicleError> {
    const AT_ONCE: u32 = 50;
    let published = VehicleFilter {
        channel: Some(channel.to_owned()),
        ..VehicleFilter::default()
    };
    let newest = PageRequest {
        position: Position::After(Cursor::at([i64::MAX])),
        per_page: AT_ONCE,
    };
    let found = store.vehicles(business.id, &published, &newest).await?.items;
    for vehicle in &found {
        let Some(stored) = store.lock_vehicle(business.id, vehicle.id).await? else {
            continue;
        };
        let mut content = stored.content.clone();
        content.channels.retain(|id| id != channel);
        save(store, clock.now(), business, stored, content).await?;
    }
    Ok(!found.is_empty())
}

/// Validates the channels that a body names. [`set_channels`] checks the same; this function reports their faults together with
/// the body's others.
pub fn validate_channels(channels: &[String], business: &Business) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    for (at, wanted) in channels.iter().enumerate() {
        if !business.catalogue.channels.iter().any(|channel| channel.id == *wanted) {
            errors.add(format!("channels.{at}"), "names no channel of this business");
        }
    }
    errors
}

/// Returns the state of a vehicle after it is published on a further channel.
fn status_when_published(content: &VehicleDraft) -> Result<VehicleStatus, TransitionError> {
    if content.status.counts_as_for_sale() {
        return Ok(content.status);
    }
    next(content.kind, content.status, Trigger::Publish)
}

/// Applies a write to the data of a vehicle.
fn overlay(data: &mut Data, patch: DataPatch, business: &Business) -> ValidationErrors {
    let identity = patch.vehicle.as_ref();
    let names = identity.is_some_and(|said| said.make.is_some() || said.model.is_some() || said.class.is_some());
    let words = identity.map(ChangedWords::of).unwrap_or_default();
    data.apply(patch);
    if names {
        data.vehicle.match_names();
    }
    data.vehicle.validate_words(words, &business.catalogue.vehicle_options)
}

/// Validates the staff user, the vehicle and the contacts that a body names. The use cases check the same; this function reports
/// their faults together with the body's others.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn validate_references(
    store: &mut dyn VehicleReader,
    by: &Caller,
    owner: Option<StaffId>,
    parent: Option<VehicleId>,
    patch: &DataPatch,
) -> Result<ValidationErrors, VehicleError> {
    let mut errors = validate_owner_and_parent(store, by, owner, parent).await?;
    validate_contacts(store, &by.business, patch, &mut errors).await?;
    Ok(errors)
}

async fn validate_owner_and_parent(
    store: &mut dyn VehicleReader,
    by: &Caller,
    owner: Option<StaffId>,
    parent: Option<VehicleId>,
) -> Result<ValidationErrors, VehicleError> {
    let mut errors = ValidationErrors::new();
    if owner.is_some_and(|owner| !by.business.catalogue.has_staff(owner)) {
        errors.add("owner", "names no staff user of this business");
    }
    if let Some(parent) = parent
        && store.vehicle(by.business_id(), parent).await?.is_none()
    {
        errors.add("parent", "names no vehicle of this business");
    }
    Ok(errors)
}

/// Validates the contacts that a write names, and returns the name of the one who offers the vehicle.
async fn validate_contacts(
    store: &mut dyn VehicleReader,
    business: &Business,
    patch: &DataPatch,
    errors: &mut ValidationErrors,
) -> Result<Option<String>, VehicleError> {
    let provider = patch.stock.as_ref().and_then(|stock| stock.funding_provider_id);
    if let Some(provider) = provider.flatten()
        && store.contact_name(business.id, provider).await?.is_none()
    {
        errors.add("data.stock.funding_provider_id", UNKNOWN_CONTACT);
    }
    let details = patch
        .appraisal
        .as_ref()
        .and_then(|appraisal| appraisal.details.as_ref());
    let customer = details.and_then(|details| details.customer_id.as_ref());
    let Some(customer) = customer.and_then(|customer| customer.0) else {
        return Ok(None);
    };
    let name = store.contact_name(business.id, customer.0).await?;
    if name.is_none() {
        errors.add("data.appraisal.details.customer_id", UNKNOWN_CONTACT);
    }
    Ok(name)
}

const UNKNOWN_CONTACT: &str = "names no contact of this business";

/// Validates the contact that a vehicle is reserved for or sold to. The use cases check the same; this function reports its fault
/// together with the body's others.
///
/// # Errors
/// [`VehicleError::Store`].
pub async fn validate_customer(
    store: &mut dyn VehicleReader,
    business: &Business,
    customer: Option<ContactId>,
) -> Result<ValidationErrors, VehicleError> {
    match customer {
        Some(customer) if store.contact_name(business.id, customer).await?.is_none() => {
            Ok(ValidationErrors::one("customer", UNKNOWN_CONTACT))
        }
        _ => Ok(ValidationErrors::new()),
    }
}

fn validate_amount(field: &str, amount: Option<Money>, errors: &mut ValidationErrors) {
    if amount.is_some_and(|amount| amount < Money::ZERO) {
        errors.add(field, "must not be negative");
    }
}

/// Validates the `date` of a reservation or a sale: a date of a vehicle that has come.
fn validate_day(date: Date, now: Timestamp, errors: &mut ValidationErrors) {
    if let Err(message) = check_day(date, now).and_then(|()| date.validate_past(now)) {
        errors.add("date", message);
    }
}

/// Returns the rows that a write replaces the costs with.
fn sent_costs(patch: &DataPatch) -> Option<&CostRows> {
    patch.stock.as_ref().and_then(|stock| stock.purchase_cost_data.as_ref())
}

fn validate_costs(patch: &DataPatch) -> Result<(), VehicleError> {
    if sent_costs(patch).is_some_and(|rows| rows.0.len() > CostRows::MAX) {
        return Err(VehicleError::CostsFull);
    }
    Ok(())
}

/// Checks that the data of a vehicle is within the maximum size of a record. Derived values do not count: they are removed here,
/// and [`Data::derive_values`] computes them again.
fn validate_size(data: &mut Data) -> Result<(), VehicleError> {
    data.option.feature = Features::default();
    let json = serde_json::to_vec(data).map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    if json.len() > MAX_VEHICLE_DATA_BYTES {
        let message = format!("must have at most {MAX_VEHICLE_DATA_BYTES} bytes as JSON");
        return Err(ValidationErrors::one("data", message).into());
    }
    Ok(())
}

/// Locks and returns the vehicle, if its version meets the precondition.
async fn lock(
    store: &mut dyn VehicleStore,
    by: &Caller,
    target: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, VehicleError> {
    let Target { id, precondition } = target.into();
    let vehicle = store.lock_vehicle(by.business_id(), id).await?;
    let vehicle = vehicle.ok_or(VehicleError::NotFound(id))?;
    precondition.check(vehicle.version)?;
    Ok(vehicle)
}

/// Stores a vehicle and records vehicle.updated, if anything changed.
pub(crate) async fn save(
    store: &mut dyn VehicleStore,
    now: Timestamp,
    business: &Business,
    stored: Vehicle,
    content: VehicleDraft,
) -> Result<Vehicle, VehicleError> {
    save_as(EventName::VehicleUpdated, store, now, business, stored, content).await
}

/// Stores a vehicle and records the event of that name, if anything changed.
async fn save_as(
    name: EventName,
    store: &mut dyn VehicleStore,
    now: Timestamp,
    business: &Business,
    stored: Vehicle,
    content: VehicleDraft,
) -> Result<Vehicle, VehicleError> {
    if content == stored.content {
        return Ok(stored);
    }
    let vehicle = Vehicle {
        content,
        // If the clock was set back to before the creation, the change gets the time of the creation.
        updated: now.max(stored.created),
        version: stored.version.next(),
        ..stored
    };
    store.save_vehicle(business.id, &vehicle).await?;
    store.vehicle_changed(business, &vehicle, now).await?;
    if name == EventName::VehicleSold {
        store.vehicle_lost(business, &vehicle, now).await?;
    }
    let changed = event(name, &vehicle, business, now)?;
    store.record(business.id, changed).await?;
    Ok(vehicle)
}

/// Creates an event with the complete vehicle; fields that a receiver may not see are removed when it is sent.
fn event(name: EventName, vehicle: &Vehicle, business: &Business, at: Timestamp) -> Result<NewEvent, VehicleError> {
    let view = VehicleView::whole(vehicle, business);
    let data = match name {
        EventName::VehicleSold => serde_json::to_string(&view.with_sale()),
        _ => serde_json::to_string(&view),
    };
    let data = data.map_err(|failure| StoreError::Other(BoxError::from(failure)))?;
    Ok(NewEvent {
        name,
        record: vehicle.id.get(),
        data,
        at,
    })
}
