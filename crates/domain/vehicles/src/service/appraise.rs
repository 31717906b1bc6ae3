//! Offers for a customer's vehicle, and its acceptance into stock (decisions §7, "Appraisals").

use forecourt_accounts::{Business, Caller};
use forecourt_kernel::{Clock, Date, Money, StaffId, Target, Timestamp, ValidationErrors, VehicleId};
use forecourt_reference::StockType;

use super::{draft_of, insert, lock, save};
use crate::channels::missing_of_identity;
use crate::mails::OfferRequested;
use crate::status::next;
use crate::values::{WordOrEmpty, check_day};
use crate::{
    AcceptOffer, Appraisal, AppraisalOffer, Data, MakeOffer, Trigger, Vehicle, VehicleDraft, VehicleError,
    VehicleMailStore, VehicleReader, VehicleStatus, VehicleStore,
};

/// Requests an offer for an appraisal, and mails the request to the business. A second request changes nothing. Records
/// vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::NotAppraisal`]. Then
/// [`VehicleError::AppraisalInvalidStatus`] if there is already an offer; [`VehicleError::Store`].
pub async fn request_offer(
    store: &mut dyn VehicleMailStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock(store, by, id).await?;
    // A request does not change the state, but needs one in which an offer can be made.
    advance(&stored.content, Trigger::Offer)?;
    let mut content = stored.content.clone();
    if content.offer.requested.is_some() {
        return Ok(stored);
    }
    content.offer.requested = Some(now);
    if !business.email.is_empty() {
        let mail = OfferRequested {
            business: &business.name,
            vehicle: &stored.description(),
            number: &stored.id.to_string(),
            tag: stored.tag.as_str(),
            requested: &business.time_zone().show(now),
        };
        let mail = business.mail(&business.email, &mail);
        store.queue_mail(business.id, mail, now).await?;
    }
    save(store, now, business, stored, content).await
}

/// Makes an offer for an appraisal. Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::Invalid`] if the offer is not above 0 (`offer`), the maximum is below it (`max_offer`), its last day is past
/// or too far ahead (`expiry`), or the staff user is unknown (`appraised_by`). Then [`VehicleError::NotFound`], then
/// [`VehicleError::VersionMismatch`], then [`VehicleError::NotAppraisal`]. Then [`VehicleError::AppraisalInvalidStatus`] if there
/// is already an offer; [`VehicleError::Store`].
pub async fn make_offer(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: MakeOffer,
) -> Result<Vehicle, VehicleError> {
    let business = &*by.business;
    let now = clock.now();
    let MakeOffer {
        offer,
        max_offer,
        expiry,
        appraised_by,
        comments,
    } = command;
    validate_offer(Some(offer), max_offer, Some(expiry), Some(appraised_by), business, now).into_result(())?;

    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.status = advance(&content, Trigger::Offer)?;
    content.offer = AppraisalOffer {
        requested: content.offer.requested,
        max_offer,
        appraised_by: Some(appraised_by),
        comments,
    };
    let appraisal = &mut content.data.appraisal;
    appraisal.calculation.offer = WordOrEmpty(Some(offer));
    appraisal.confirm.offer = WordOrEmpty(Some(offer));
    appraisal.confirm.expiry = WordOrEmpty(Some(expiry));
    appraisal.confirm.appraised_at = Some(now);
    save(store, now, business, stored, content).await
}

/// Accepts the offer for an appraisal: creates a draft stock vehicle from it, which the appraisal names from then on. Returns the
/// appraisal and the stock vehicle. Staff may accept the offer even after its last day. Records vehicle.created of the stock
/// vehicle, then vehicle.updated of the appraisal.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::NotAppraisal`]. Then
/// [`VehicleError::AppraisalInvalidStatus`] unless there is an undecided offer. Then [`VehicleError::Invalid`] (`agreed_amount`)
/// if the agreed amount is above the maximum offer. Then [`VehicleError::AppraisalIncomplete`] without class, make or model;
/// [`VehicleError::Store`].
pub async fn accept_offer(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: AcceptOffer,
) -> Result<(Vehicle, Vehicle), VehicleError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.status = advance(&content, Trigger::Accept)?;
    let AcceptOffer { agreed_amount } = command;
    let offer = content.data.appraisal.confirm.offer.0;
    let most = content.offer.max_offer.or(offer);
    if agreed_amount.zip(most).is_some_and(|(agreed, most)| agreed > most) {
        return Err(ValidationErrors::one("agreed_amount", "must not be above what may be offered").into());
    }
    let missing = missing_of_identity(&content.data);
    if !missing.is_empty() {
        return Err(VehicleError::AppraisalIncomplete(missing));
    }

    let data = stock_data(store, business, &content.data).await?;
    let draft = VehicleDraft {
        country: content.country,
        registration: content.registration.clone(),
        owner: content.owner,
        ..draft_of(StockType::InStock, data, business)
    };
    let stock = insert(store, now, business, draft).await?;
    let confirm = &mut content.data.appraisal.confirm;
    confirm.agreed_amount = WordOrEmpty(agreed_amount.or(offer));
    confirm.stock_id = stock.id.to_string();
    confirm.stock_tag = stock.tag.to_string();
    decide(&mut content, "accepted", now);
    let appraisal = save(store, now, business, stored, content).await?;
    Ok((appraisal, stock))
}

/// Rejects the offer for an appraisal. Records vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then [`VehicleError::NotAppraisal`]. Then
/// [`VehicleError::AppraisalInvalidStatus`] unless there is an undecided offer; [`VehicleError::Store`].
pub async fn reject_offer(
    store: &mut dyn VehicleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, VehicleError> {
    let now = clock.now();
    let stored = lock(store, by, id).await?;
    let mut content = stored.content.clone();
    content.status = advance(&content, Trigger::Reject)?;
    decide(&mut content, "rejected", now);
    save(store, now, &by.business, stored, content).await
}

/// Returns the state after a step of an appraisal's process.
fn advance(content: &VehicleDraft, step: Trigger) -> Result<VehicleStatus, VehicleError> {
    if content.kind != StockType::Appraisal {
        return Err(VehicleError::NotAppraisal);
    }
    next(content.kind, content.status, step).map_err(|_| VehicleError::AppraisalInvalidStatus)
}

fn decide(content: &mut VehicleDraft, decision: &str, now: Timestamp) {
    let confirm = &mut content.data.appraisal.confirm;
    confirm.decision = decision.to_owned();
    confirm.decision_at = Some(now);
}

/// Validates the parts of an offer that could be read. [`make_offer`] checks the same; this function reports its faults together
/// with the body's others.
pub fn validate_offer(
    offer: Option<Money>,
    max_offer: Option<Money>,
    expiry: Option<Date>,
    appraised_by: Option<StaffId>,
    business: &Business,
    now: Timestamp,
) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    if offer.is_some_and(|offer| offer <= Money::ZERO) {
        errors.add("offer", "must be above 0");
    }
    if max_offer.zip(offer).is_some_and(|(max_offer, offer)| max_offer < offer) {
        errors.add("max_offer", "must not be below the offer");
    }
    if let Some(expiry) = expiry {
        if expiry < now.date() {
            errors.add("expiry", "must be today or later");
        } else if let Err(message) = check_day(expiry, now) {
            errors.add("expiry", message);
        }
    }
    if appraised_by.is_some_and(|appraised_by| !business.catalogue.has_staff(appraised_by)) {
        errors.add("appraised_by", "names no staff user of this business");
    }
    errors
}

/// Returns the data of the stock vehicle for an appraisal. The name of a deleted contact is not copied.
pub(super) async fn stock_data(
    store: &mut dyn VehicleReader,
    business: &Business,
    appraised: &Data,
) -> Result<Box<Data>, VehicleError> {
    let mut data = Box::new(appraised.clone());
    data.appraisal = Appraisal::default();
    let stock = &mut data.stock;
    for (id, name) in [
        (&mut stock.funding_provider_id, &mut stock.funding_provider),
        (&mut stock.purchase_supplier_id, &mut stock.purchase_supplier),
    ] {
        if let Some(contact) = *id
            && store.contact_name(business.id, contact).await?.is_none()
        {
            *id = None;
            name.clear();
        }
    }
    Ok(data)
}
