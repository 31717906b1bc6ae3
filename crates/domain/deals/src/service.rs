//! The use cases of a deal alone. None of them begins, commits or retries a transaction. What a deal does to vehicles, orders,
//! invoices and leads is up to the crate of sales.

use std::collections::{BTreeMap, BTreeSet};

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{DealId, InvoiceId, OrderId, sum, validate_shown_size};
use forecourt_kernel::{
    BoxError, BusinessId, Clock, ContactId, EventName, NewEvent, Page, PageRequest, Precondition, StoreError,
    StoreResult, Target, Timestamp, ValidationErrors, VehicleId,
};
use serde_json::Value;

use crate::{
    Deal, DealChanges, DealContent, DealError, DealFilter, DealReader, DealReason, DealStage, DealStore, FullDeal,
    MovedBy, Step, Surroundings,
};

/// A deal that was opened.
#[derive(Clone, PartialEq, Debug)]
pub enum Opened {
    /// It is new.
    Created(Deal),
    /// Another system knows it, and it may have changed.
    Known(Deal),
}

/// Returns a page of the caller's deals, newest first, each with its surroundings.
///
/// # Errors
/// [`DealError::Store`].
pub async fn list_deals(
    store: &mut dyn DealReader,
    by: &Caller,
    filter: &DealFilter,
    page: &PageRequest,
) -> Result<Page<Deal>, DealError> {
    let page = store.deals(by.business_id(), filter, page).await?;
    let items = show_deals(store, by.business_id(), page.items).await?;
    Ok(Page { items, ..page })
}

/// Returns one of the business's deals, with its surroundings.
///
/// # Errors
/// [`DealError::NotFound`], [`DealError::Store`].
pub async fn read_deal(store: &mut dyn DealReader, business: BusinessId, id: DealId) -> Result<Deal, DealError> {
    let deal = store.deal(business, id).await?.ok_or(DealError::NotFound(id))?;
    Ok(show_deal(store, business, deal).await?)
}

/// Returns a deal with its surroundings.
///
/// # Errors
/// If the store fails.
pub async fn show_deal(store: &mut dyn DealReader, business: BusinessId, deal: Deal) -> StoreResult<Deal> {
    let shown = show_deals(store, business, vec![deal.clone()]).await?;
    Ok(shown.into_iter().next().unwrap_or(deal))
}

/// Returns deals with their surroundings, in at most two queries.
///
/// # Errors
/// If the store fails.
pub async fn show_deals(store: &mut dyn DealReader, business: BusinessId, deals: Vec<Deal>) -> StoreResult<Vec<Deal>> {
    let live = deals.iter().map(|deal| &deal.content);
    let vehicles: BTreeSet<VehicleId> = live.clone().filter_map(|content| content.vehicle).collect();
    let contacts: BTreeSet<ContactId> = live
        .filter(|content| content.deposit.is_none() && content.vehicle.is_some())
        .filter_map(|content| content.contact)
        .collect();
    let contacts: Vec<_> = contacts.into_iter().collect();
    let vehicles: Vec<_> = vehicles.into_iter().collect();
    let deposits = match contacts.is_empty() {
        true => Vec::new(),
        false => store.deposits_paid(business, &contacts).await?,
    };
    let reserved: BTreeMap<VehicleId, DealId> = match vehicles.is_empty() {
        true => BTreeMap::new(),
        false => store
            .reserved_by_deals(business, &vehicles)
            .await?
            .into_iter()
            .collect(),
    };
    let shown = deals.into_iter().map(|deal| {
        let DealContent {
            contact,
            vehicle,
            deposit,
            ..
        } = deal.content;
        let own = deposits
            .iter()
            .filter(|paid| deposit.is_none() && Some(paid.contact) == contact && Some(paid.vehicle) == vehicle);
        let around = Surroundings {
            deposit: sum(own.map(|paid| paid.paid)),
            is_reserved: vehicle.is_some_and(|vehicle| reserved.get(&vehicle) == Some(&deal.id)),
        };
        Deal { around, ..deal }
    });
    Ok(shown.collect())
}

/// Locks a deal for a change, and returns it with its surroundings.
///
/// # Errors
/// [`DealError::NotFound`], then [`DealError::VersionMismatch`]; [`DealError::Store`].
pub async fn lock_deal(
    store: &mut dyn DealStore,
    business: BusinessId,
    id: impl Into<Target<DealId>>,
) -> Result<Deal, DealError> {
    let Target { id, precondition } = id.into();
    let stored = store.lock_deal(business, id).await?.ok_or(DealError::NotFound(id))?;
    let shown = show_deal(store, business, stored).await?;
    precondition.check(shown.shown_version())?;
    Ok(shown)
}

/// Opens a deal. If another system knows one under the same name, that one is changed instead, if it is at a version that the caller
/// accepts. Records deal.created or deal.updated.
///
/// # Errors
/// [`DealError::Invalid`]; for a known deal then those of [`update_deal`]. [`DealError::Store`], which is a conflict if the same deal is
/// being opened by another transaction.
pub async fn open_deal(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    by: &Caller,
    precondition: &Precondition,
    body: DealChanges,
) -> Result<Opened, DealError> {
    let (business, now) = (&*by.business, clock.now());
    body.all_faults(store, business, now, true).await?.into_result(())?;
    if let Some((provider, external_id)) = body.reported_as()
        && let Some(id) = store.deal_reported_as(business.id, provider, external_id).await?
        && let Some(stored) = store.lock_deal(business.id, id).await?
    {
        let stored = show_deal(store, business.id, stored).await?;
        precondition.check(stored.shown_version())?;
        return Ok(Opened::Known(change(store, clock, by, stored, &body).await?));
    }
    let stage = body.stage.value().map_or(DealStage::Begin, |stage| stage.0);
    let facts = body.facts(store, business, None).await?;
    let mut content = body.apply(&DealContent::blank(stage), business, &facts)?;
    content.enter(stage, now, MovedBy::Api, None);
    let deal = store.insert_deal(business.id, content, now).await?;
    let deal = show_deal(store, business.id, deal).await?;
    let shown = shown(&deal)?;
    validate_shown_size("a deal", &shown)?;
    record(store, business.id, EventName::DealCreated, None, &deal, shown, now).await?;
    Ok(Opened::Created(deal))
}

/// Changes the supplied members of a deal. Records deal.updated if anything changed.
///
/// # Errors
/// [`DealError::Invalid`], then [`DealError::NotFound`], then [`DealError::VersionMismatch`], then [`DealError::InvalidStage`] if more
/// than the notes of an ended deal would change, or contact or vehicle while they stand still; then [`DealError::Invalid`] for the deal as
/// a whole; [`DealError::Store`].
pub async fn update_deal(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<DealId>>,
    body: &DealChanges,
) -> Result<Deal, DealError> {
    let (business, now) = (&*by.business, clock.now());
    body.all_faults(store, business, now, false).await?.into_result(())?;
    let stored = lock_deal(store, business.id, id).await?;
    change(store, clock, by, stored, body).await
}

/// Changes a deal that is locked.
async fn change(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    by: &Caller,
    stored: Deal,
    body: &DealChanges,
) -> Result<Deal, DealError> {
    let business = &*by.business;
    let stage = stored.content.stage;
    let facts = body.facts(store, business, Some(&stored.content)).await?;
    let applied = body.apply(&stored.content, business, &facts);
    let content = match applied {
        Err(_) if !stage.is_open() => return Err(DealError::InvalidStage(stage)),
        applied => applied?,
    };
    if !stage.is_open() {
        let mut without_notes = content.clone();
        without_notes.notes = stored.content.notes.clone();
        if without_notes != stored.content {
            return Err(DealError::InvalidStage(stage));
        }
    }
    let parties = |content: &DealContent| (content.contact, content.vehicle);
    if stage.is_confirmed() && parties(&content) != parties(&stored.content) {
        return Err(DealError::InvalidStage(stage));
    }
    if let Some((provider, external_id)) = content.reported_as()
        && content.reported_as() != stored.content.reported_as()
        && store
            .deal_reported_as(business.id, provider, external_id)
            .await?
            .is_some()
    {
        let message = "is that of another deal of this provider";
        return Err(ValidationErrors::one("external_id", message).into());
    }
    if content == stored.content {
        return Ok(stored);
    }
    let deal = show_deal(
        store,
        business.id,
        Deal {
            content,
            ..stored.clone()
        },
    )
    .await?;
    if shown(&deal)? == shown(&stored)? {
        // Only the reason for a value has changed: a price that was the car's is now chosen.
        store.save_deal(business.id, &deal).await?;
        return Ok(deal);
    }
    validate_shown_size("a deal", &shown(&deal)?)?;
    save(
        store,
        business.id,
        EventName::DealUpdated,
        &stored,
        deal.content,
        clock.now(),
    )
    .await
}

/// Notes the order that a locked deal became. Records deal.updated.
///
/// # Errors
/// [`DealError::Store`].
pub async fn note_order(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    business: BusinessId,
    stored: &Deal,
    order: OrderId,
) -> Result<Deal, DealError> {
    let content = DealContent {
        order: Some(order),
        ..stored.content.clone()
    };
    save(store, business, EventName::DealUpdated, stored, content, clock.now()).await
}

/// Notes the invoice that a locked deal became. Records deal.updated.
///
/// # Errors
/// [`DealError::Store`].
pub async fn note_invoice(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    business: BusinessId,
    stored: &Deal,
    invoice: InvoiceId,
) -> Result<Deal, DealError> {
    let content = DealContent {
        invoice: Some(invoice),
        ..stored.content.clone()
    };
    save(store, business, EventName::DealUpdated, stored, content, clock.now()).await
}

/// Keeps the deposit that a locked deal shows, because its invoice takes it over. Callers see no difference, so there is no event.
///
/// # Errors
/// [`DealError::Store`].
pub async fn freeze_deposit(store: &mut dyn DealStore, business: BusinessId, stored: Deal) -> Result<Deal, DealError> {
    let deposit = stored.around.deposit;
    if deposit == forecourt_kernel::Money::ZERO || stored.content.deposit.is_some() {
        return Ok(stored);
    }
    let mut deal = stored;
    deal.content.deposit = Some(deposit);
    deal.around.deposit = forecourt_kernel::Money::ZERO;
    store.save_deal(business, &deal).await?;
    Ok(deal)
}

/// Moves a locked deal to a stage for a caller, unless it is there. Records deal.stage_changed.
///
/// # Errors
/// [`DealError::InvalidStage`] if no move leads there; [`DealError::Store`].
pub async fn move_deal(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    business: BusinessId,
    stored: &Deal,
    stage: DealStage,
    reason: Option<DealReason>,
) -> Result<Deal, DealError> {
    check_move(stored, stage)?;
    enter(store, clock.now(), business, stored, stage, MovedBy::Api, reason).await
}

/// Checks that a caller can move a deal to a stage.
///
/// # Errors
/// [`DealError::InvalidStage`] if no move leads there.
pub fn check_move(deal: &Deal, stage: DealStage) -> Result<(), DealError> {
    let from = deal.content.stage;
    if from == stage || from.allowed().contains(&stage) {
        Ok(())
    } else {
        Err(DealError::InvalidStage(from))
    }
}

/// Moves a locked deal by itself, if the cause leads anywhere. Records deal.stage_changed.
///
/// # Errors
/// [`DealError::Store`].
pub async fn step_deal(
    store: &mut dyn DealStore,
    clock: &dyn Clock,
    business: BusinessId,
    stored: &Deal,
    step: Step,
) -> Result<Deal, DealError> {
    let Some(stage) = step.target(stored.content.stage) else {
        return Ok(stored.clone());
    };
    let reason = (step == Step::VehicleLost).then(|| DealReason {
        code: crate::ReasonCode::NotAvailable,
        note: forecourt_kernel::LongText::default(),
    });
    enter(store, clock.now(), business, stored, stage, MovedBy::System, reason).await
}

async fn enter(
    store: &mut dyn DealStore,
    now: Timestamp,
    business: BusinessId,
    stored: &Deal,
    stage: DealStage,
    by: MovedBy,
    reason: Option<DealReason>,
) -> Result<Deal, DealError> {
    if stored.content.stage == stage {
        return Ok(stored.clone());
    }
    let mut content = stored.content.clone();
    content.enter(stage, now, by, reason);
    save(store, business, EventName::DealStageChanged, stored, content, now).await
}

/// Adds a deal to a dealership that is being filled with examples. It may be in any stage, and causes no event.
///
/// # Errors
/// [`DealError::Invalid`]; [`DealError::Store`].
pub async fn load_deal(
    store: &mut dyn DealStore,
    business: &Business,
    body: DealChanges,
    stage: DealStage,
    reason: Option<DealReason>,
    at: Timestamp,
) -> Result<Deal, DealError> {
    body.all_faults(store, business, at, true).await?.into_result(())?;
    let facts = body.facts(store, business, None).await?;
    let mut content = body.apply(&DealContent::blank(DealStage::Begin), business, &facts)?;
    content.enter(DealStage::Begin, at, MovedBy::Api, None);
    if stage != DealStage::Begin {
        content.enter(stage, at, MovedBy::Api, reason);
    }
    Ok(store.insert_deal(business.id, content, at).await?)
}

/// Stores a deal that differs from `before`, and records the event.
pub(crate) async fn save(
    store: &mut dyn DealStore,
    business: BusinessId,
    event: EventName,
    before: &Deal,
    content: DealContent,
    now: Timestamp,
) -> Result<Deal, DealError> {
    let deal = Deal {
        content,
        ..before.clone()
    };
    let deal = deal.changed_at(now);
    store.save_deal(business, &deal).await?;
    let deal = show_deal(store, business, deal).await?;
    record(store, business, event, Some(&shown(before)?), &deal, shown(&deal)?, now).await?;
    Ok(deal)
}

/// Returns the deal as callers see it.
fn shown(deal: &Deal) -> StoreResult<Value> {
    serde_json::to_value(FullDeal::from(deal)).map_err(|failure| StoreError::Other(BoxError::from(failure)))
}

async fn record(
    store: &mut dyn DealStore,
    business: BusinessId,
    name: EventName,
    before: Option<&Value>,
    deal: &Deal,
    shown: Value,
    at: Timestamp,
) -> StoreResult<()> {
    // Version and time of change always differ (areas §10.0), even within a second.
    let before = before.cloned().map(|mut before| {
        if let Some(members) = before.as_object_mut() {
            members.remove("updated");
        }
        before
    });
    let event = NewEvent::of_change(name, deal.id.get(), before.as_ref(), shown, at);
    store.record(business, event).await
}
