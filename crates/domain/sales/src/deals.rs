//! Deals: what their stages do to vehicles, orders, invoices and leads, and what these do to deals (areas §10.12).

use std::collections::BTreeSet;

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    Agreement, LineChanges, LineFacts, LineSide, PaymentKind, SaleFinance, SentKind, products, read_lines,
    validate_whole, with_settlements,
};
use forecourt_deals::{
    self as deals, Deal, DealChanges, DealError, DealId, DealStage, Opened, StageMove, Step, lock_deal, step_deal,
};
use forecourt_invoices::{
    self as invoices, Invoice, InvoiceError, InvoiceId, InvoiceStatus, Issue, NewPayment, PaymentChanges, Reversal,
};
use forecourt_kernel::{
    BusinessId, Clock, ContactId, Field, InvalidValue, LeadId, Money, Precondition, StoreError, Target, Timestamp,
    ValidationErrors, VehicleId,
};
use forecourt_leads::{LeadError, LeadStatus, StatusChange, set_lead_status};
use forecourt_orders::{self as orders, Order, OrderError, OrderIssue, OrderStatus};
use forecourt_vehicles::{
    self as vehicles, ReservationMaker, ReservationMethod, ReserveVehicle, TransitionError, Vehicle, VehicleError,
    VehicleStatus,
};
use serde::Deserialize;

use crate::{SaleError, SaleStore, cancel_invoice, cancel_order, hand_over_locked, issue_invoice, issue_order};

/// Locks these deals in the order of their ids, and returns those that exist, with what they show of other records.
pub(crate) async fn lock_deals(
    store: &mut dyn SaleStore,
    business: BusinessId,
    ids: impl IntoIterator<Item = DealId>,
) -> Result<Vec<Deal>, SaleError> {
    let ids: BTreeSet<DealId> = ids.into_iter().collect();
    let mut locked = Vec::with_capacity(ids.len());
    for id in ids {
        locked.extend(store.lock_deal(business, id).await?);
    }
    Ok(deals::show_deals(store, business, locked).await?)
}

/// Locks the open deals about these vehicles, and `own`.
pub(crate) async fn lock_deals_of(
    store: &mut dyn SaleStore,
    business: BusinessId,
    vehicles: impl IntoIterator<Item = VehicleId>,
    own: Option<DealId>,
) -> Result<Vec<Deal>, SaleError> {
    let mut ids: BTreeSet<DealId> = own.into_iter().collect();
    for vehicle in vehicles {
        ids.extend(store.open_deals_of_vehicle(business, vehicle).await?);
    }
    lock_deals(store, business, ids).await
}

/// Locks the leads of these deals in the order of their ids.
pub(crate) async fn lock_leads<'a>(
    store: &mut dyn SaleStore,
    business: BusinessId,
    completed: impl IntoIterator<Item = &'a Deal>,
) -> Result<(), SaleError> {
    let leads: BTreeSet<LeadId> = completed.into_iter().filter_map(|deal| deal.content.lead).collect();
    for lead in leads {
        store.lock_lead(business, lead).await?;
    }
    Ok(())
}

/// Moves the locked deals about a vehicle that was sold to another contact than theirs, or deleted (no `buyer`), to fatal.
pub(crate) async fn lose_vehicle(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: BusinessId,
    locked: &[Deal],
    vehicle: VehicleId,
    buyer: Option<ContactId>,
) -> Result<(), SaleError> {
    let about = locked.iter().filter(|deal| deal.content.vehicle == Some(vehicle));
    let is_lost = |deal: &&Deal| match buyer {
        Some(buyer) => deal.content.contact.is_some_and(|contact| contact != buyer),
        None => true,
    };
    for deal in about.filter(is_lost) {
        step_deal(store, clock, business, deal, Step::VehicleLost).await?;
    }
    Ok(())
}

/// Completes the locked deals of the buyer of a vehicle that was handed over.
pub(crate) async fn complete_deals(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    locked: &[Deal],
    vehicle: &Vehicle,
) -> Result<(), SaleError> {
    let Some(buyer) = vehicle.content.sale.as_ref().and_then(|sale| sale.customer) else {
        return Ok(());
    };
    for deal in locked {
        let is_theirs = (deal.content.vehicle, deal.content.contact) == (Some(vehicle.id), Some(buyer));
        if is_theirs && Step::HandedOver.target(deal.content.stage).is_some() {
            close_lead(store, clock, by, deal).await?;
            step_deal(store, clock, by.business_id(), deal, Step::HandedOver).await?;
        }
    }
    Ok(())
}

/// Closes the lead of a deal that is complete, unless it is junk.
async fn close_lead(store: &mut dyn SaleStore, clock: &dyn Clock, by: &Caller, deal: &Deal) -> Result<(), SaleError> {
    let Some(lead) = deal.content.lead else { return Ok(()) };
    let stored = store.lock_lead(by.business_id(), lead).await?;
    if stored.is_none_or(|lead| matches!(lead.content.status, LeadStatus::Junk | LeadStatus::Closed)) {
        return Ok(());
    }
    let change = StatusChange {
        status: Some(LeadStatus::Closed),
        ..StatusChange::default()
    };
    match set_lead_status(store, clock, by, lead, change.validate()?).await {
        Ok(_) | Err(LeadError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a deal, as [`deals::open_deal`] does. A known deal that gets another contact or vehicle frees the vehicle that it has
/// reserved.
///
/// # Errors
/// Those of [`deals::open_deal`].
pub async fn open_deal(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    precondition: &Precondition,
    body: DealChanges,
) -> Result<Opened, SaleError> {
    let business = by.business_id();
    let known = match body.reported_as() {
        Some((provider, external_id)) => store.deal_reported_as(business, provider, external_id).await?,
        None => None,
    };
    let reserved = match known {
        Some(known) => lock_former(store, business, known, &body).await?,
        None => None,
    };
    let opened = deals::open_deal(store, clock, by, precondition, body).await?;
    if let Opened::Known(deal) = &opened {
        free_former(store, clock, by, deal, reserved).await?;
    }
    Ok(opened)
}

/// Changes a deal, as [`deals::update_deal`] does. A deal that gets another contact or vehicle frees the vehicle that it has
/// reserved: deal.updated, then vehicle.updated.
///
/// # Errors
/// Those of [`deals::update_deal`].
pub async fn update_deal(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<DealId>>,
    body: &DealChanges,
) -> Result<Deal, SaleError> {
    let target = id.into();
    let reserved = lock_former(store, by.business_id(), target.id, body).await?;
    let deal = deals::update_deal(store, clock, by, target, body).await?;
    free_former(store, clock, by, &deal, reserved).await?;
    Ok(deal)
}

/// Locks the vehicle that a deal has reserved, if the changes may give the deal another contact or vehicle.
async fn lock_former(
    store: &mut dyn SaleStore,
    business: BusinessId,
    deal: DealId,
    body: &DealChanges,
) -> Result<Option<(ContactId, VehicleId)>, SaleError> {
    let seen = match body.changes_parties() {
        true => store.deal(business, deal).await?,
        false => None,
    };
    let Some(Ok((contact, vehicle))) = seen.map(|deal| deal.content.parties()) else {
        return Ok(None);
    };
    let locked = store.lock_vehicle(business, vehicle).await?;
    let is_reserved = locked.is_some_and(|vehicle| is_reserved_by(&vehicle, deal));
    Ok(is_reserved.then_some((contact, vehicle)))
}

async fn free_former(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    deal: &Deal,
    reserved: Option<(ContactId, VehicleId)>,
) -> Result<(), SaleError> {
    if let Some((contact, vehicle)) = reserved
        && deal.content.parties() != Ok((contact, vehicle))
    {
        vehicles::cancel_reservation(store, clock, by, vehicle).await?;
    }
    Ok(())
}

/// Returns `true` if the deal made the vehicle's present reservation.
fn is_reserved_by(vehicle: &Vehicle, deal: DealId) -> bool {
    let current = vehicle.content.reservation.current.as_ref();
    current.is_some_and(|current| current.made_by == Some(ReservationMaker::Deal(deal)))
}

/// The error of work that others have changed while it waited for its locks: it is done again.
const fn changed_meanwhile() -> SaleError {
    SaleError::Deal(DealError::Store(StoreError::Conflict))
}

/// Moves a deal to a stage, with what that does. Records the events of that, then deal.stage_changed.
///
/// Confirming reserves the vehicle for the contact if it is for sale. Completing hands a sold vehicle over and closes the lead. A deal
/// that is declined or fatal frees the vehicle that it has reserved, and cancels its draft invoice and its order.
///
/// # Errors
/// [`DealError::NotFound`], then [`DealError::VersionMismatch`], then [`DealError::InvalidStage`] if no move leads there. Then what the
/// stage needs: [`DealError::Incomplete`], and [`VehicleError::AlreadyReserved`], [`VehicleError::Transition`],
/// [`VehicleError::ReserveInvalidStatus`], [`VehicleError::NotSold`] or [`VehicleError::SaleInvoiced`].
pub async fn move_deal(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<DealId>>,
    command: StageMove,
) -> Result<Deal, SaleError> {
    let business = by.business_id();
    let target = id.into();
    let StageMove { stage, reason } = command;
    let seen = deals::read_deal(store, business, target.id).await?.content;
    let has_failed = matches!(stage, DealStage::Declined | DealStage::Fatal);
    let mut invoice = None;
    if has_failed {
        if let Some(order) = seen.order {
            store.lock_order(business, order).await?;
        }
        if let Some(id) = seen.invoice {
            invoice = store.lock_invoice(business, id).await?;
        }
    }
    let vehicle = match seen.vehicle {
        Some(vehicle) => store.lock_vehicle(business, vehicle).await?,
        None => None,
    };
    let locked = match stage {
        DealStage::Complete => lock_deals_of(store, business, seen.vehicle, Some(target.id)).await?,
        _ => Vec::new(),
    };
    let stored = lock_deal(store, business, target).await?;
    let content = &stored.content;
    if (content.order, content.invoice, content.vehicle) != (seen.order, seen.invoice, seen.vehicle) {
        return Err(changed_meanwhile());
    }
    deals::check_move(&stored, stage)?;
    if content.stage == stage {
        return Ok(stored);
    }
    match stage {
        DealStage::Confirm if content.stage != DealStage::Handover => {
            let (contact, _) = content.parties().map_err(DealError::Incomplete)?;
            confirm(store, clock, by, &stored, contact, vehicle).await?;
        }
        DealStage::Complete => {
            let vehicle = vehicle.ok_or(VehicleError::NotSold)?;
            let others: Vec<Deal> = locked.into_iter().filter(|deal| deal.id != stored.id).collect();
            complete(store, clock, by, &stored, &others, vehicle).await?;
        }
        DealStage::Declined | DealStage::Fatal => {
            // It is long, and few moves need it.
            Box::pin(give_up(store, clock, by, &stored, invoice, vehicle)).await?;
        }
        _ => {}
    }
    Ok(deals::move_deal(store, clock, business, &stored, stage, reason).await?)
}

/// Makes sure that the locked vehicle of a deal is the contact's: reserves it, unless it is reserved for them or sold to them.
async fn confirm(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    deal: &Deal,
    contact: ContactId,
    vehicle: Option<Vehicle>,
) -> Result<(), SaleError> {
    let vehicle = vehicle.ok_or(VehicleError::ReserveInvalidStatus)?;
    let content = &vehicle.content;
    match content.status {
        VehicleStatus::ForSale => {
            let command = ReserveVehicle {
                customer: contact,
                method: ReservationMethod::NoPayment,
                deposit: None,
                date: None,
                transaction: forecourt_kernel::Line::default(),
                create_invoice: false,
                made_by: Some(ReservationMaker::Deal(deal.id)),
            };
            vehicles::reserve_vehicle(store, clock, by, vehicle.id, command).await?;
            Ok(())
        }
        VehicleStatus::Reserved => match &content.reservation.current {
            Some(current) if current.customer == Some(contact) => Ok(()),
            _ => Err(VehicleError::AlreadyReserved.into()),
        },
        VehicleStatus::Sold | VehicleStatus::Complete => match content.sale.as_ref().and_then(|sale| sale.customer) {
            Some(buyer) if buyer == contact => Ok(()),
            _ => Err(VehicleError::Transition(TransitionError::TransitionInvalid).into()),
        },
        _ => Err(VehicleError::ReserveInvalidStatus.into()),
    }
}

/// Hands the locked vehicle of a deal over, unless that was done, and closes the lead. `others` are the other open deals about it.
async fn complete(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    deal: &Deal,
    others: &[Deal],
    vehicle: Vehicle,
) -> Result<(), SaleError> {
    let is_handed_over = match vehicle.content.status {
        VehicleStatus::Sold => false,
        VehicleStatus::Complete => true,
        _ => return Err(VehicleError::NotSold.into()),
    };
    lock_leads(store, by.business_id(), others.iter().chain([deal])).await?;
    if !is_handed_over {
        let vehicle = hand_over_locked(store, clock, by, vehicle.id).await?;
        complete_deals(store, clock, by, others, &vehicle).await?;
    }
    close_lead(store, clock, by, deal).await
}

/// Takes back what a deal has made: its reservation, its draft invoice and its order.
async fn give_up(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    deal: &Deal,
    invoice: Option<Invoice>,
    vehicle: Option<Vehicle>,
) -> Result<(), SaleError> {
    if let Some(number) = invoice
        .as_ref()
        .filter(|invoice| invoice.content.is_live())
        .and_then(|invoice| invoice.number)
    {
        return Err(VehicleError::SaleInvoiced(number).into());
    }
    if let Some(vehicle) = vehicle.filter(|vehicle| is_reserved_by(vehicle, deal.id)) {
        vehicles::cancel_reservation(store, clock, by, vehicle.id).await?;
    }
    if let Some(invoice) = invoice.filter(|invoice| invoice.content.status == InvoiceStatus::Draft) {
        cancel_invoice(store, clock, by, invoice.id).await?;
    }
    // The cancelled invoice may have made it an issued one again.
    let order = match deal.content.order {
        Some(order) => store.order(by.business_id(), order).await?,
        None => None,
    };
    if let Some(order) = order.filter(|order| orders::check_cancel(order).is_ok()) {
        cancel_order(store, clock, by, order.id).await?;
    }
    Ok(())
}

/// The order of a deal, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealOrderBody, example = json!({"issue": true})))]
pub struct DealOrderChanges {
    /// True to issue the order at once.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub issue: Field<bool>,
    /// True to reserve the car for the customer at its issue; only with `issue`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub reserve: Field<bool>,
}

impl DealOrderChanges {
    /// Reads the order's issue; `None` if it stays a draft.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self) -> Result<Option<OrderIssue>, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let issue = invoices::take("issue", self.issue, &mut faults).unwrap_or_default();
        let reserve = invoices::take("reserve", self.reserve, &mut faults).unwrap_or_default();
        if reserve && !issue {
            faults.add_within("reserve", InvalidValue::here("needs issue"));
        }
        let command = issue.then_some(OrderIssue { date: None, reserve });
        ValidationErrors::from(faults).into_result(command)
    }
}

/// The invoice of a deal, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealInvoiceBody, example = json!({"issue": true, "payment": {"method": "Card"}})))]
pub struct DealInvoiceChanges {
    /// True to issue the invoice at once.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub issue: Field<bool>,
    /// The payment at its issue; only with `issue`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PaymentChanges>))]
    pub payment: Field<PaymentChanges>,
}

impl DealInvoiceChanges {
    /// Reads the invoice's issue; `None` if it stays a draft.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<Option<Issue>, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let issue = invoices::take("issue", self.issue, &mut faults).unwrap_or_default();
        let payment = invoices::nested_payment(self.payment, now, &mut faults);
        if payment.is_some() && !issue {
            faults.add_within("payment", InvalidValue::here("needs issue"));
        }
        let command = issue.then(|| Issue {
            payment,
            ..Issue::default()
        });
        ValidationErrors::from(faults).into_result(command)
    }
}

/// Makes a deal an order, and issues that if the caller wants it. Records order.created, deal.updated, then the events of its issue.
///
/// # Errors
/// [`DealError::NotFound`], then [`DealError::VersionMismatch`], then [`DealError::InvalidStage`] if the deal is declined or fatal, then
/// [`DealError::Incomplete`], then [`OrderError::InvalidStatus`] while its last order stands. Then those of [`issue_order`].
pub async fn order_deal(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<DealId>>,
    issue: Option<OrderIssue>,
) -> Result<Order, SaleError> {
    let business = &*by.business;
    let target = id.into();
    let seen = deals::read_deal(store, business.id, target.id).await?.content;
    let last = match seen.order {
        Some(order) => store.lock_order(business.id, order).await?,
        None => None,
    };
    if let Some(vehicle) = seen.vehicle {
        store.lock_vehicle(business.id, vehicle).await?;
    }
    let stored = lock_deal(store, business.id, target).await?;
    if (stored.content.order, stored.content.vehicle) != (seen.order, seen.vehicle) {
        return Err(changed_meanwhile());
    }
    check_paper(&stored)?;
    let status = last.map(|order| order.content.status);
    if let Some(status) = status.filter(|status| *status != OrderStatus::Cancelled) {
        return Err(OrderError::InvalidStatus(status).into());
    }
    let blank = orders::blank_agreement(business, clock.now().date());
    let agreement = agreement_of(store, business, &stored, blank).await?;
    let order = orders::draft_from_agreement(store, clock, business, agreement).await?;
    deals::note_order(store, clock, business.id, &stored, order.id).await?;
    match issue {
        Some(issue) => Box::pin(issue_order(store, clock, by, order.id, issue)).await,
        None => Ok(order),
    }
}

/// Makes a deal an invoice, and issues that if the caller wants it. Records invoice.created, deal.updated, then the events of its issue.
///
/// # Errors
/// [`DealError::NotFound`], then [`DealError::VersionMismatch`], then [`DealError::InvalidStage`] if the deal is declined or fatal, then
/// [`DealError::Incomplete`], then [`InvoiceError::Transition`] while its last invoice stands. Then those of [`issue_invoice`].
pub async fn invoice_deal(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<DealId>>,
    issue: Option<Issue>,
) -> Result<Invoice, SaleError> {
    let business = &*by.business;
    let target = id.into();
    let seen = deals::read_deal(store, business.id, target.id).await?.content;
    let last = match seen.invoice {
        Some(invoice) => store.lock_invoice(business.id, invoice).await?,
        None => None,
    };
    if let Some(vehicle) = seen.vehicle {
        store.lock_vehicle(business.id, vehicle).await?;
    }
    // Those of other contacts end with the sale, so they are locked before the counters too.
    lock_deals_of(store, business.id, seen.vehicle, Some(target.id)).await?;
    let stored = lock_deal(store, business.id, target).await?;
    if (stored.content.invoice, stored.content.vehicle) != (seen.invoice, seen.vehicle) {
        return Err(changed_meanwhile());
    }
    check_paper(&stored)?;
    let status = last.map(|invoice| invoice.content.status);
    if let Some(status) = status.filter(|status| stands(*status)) {
        return Err(InvoiceError::status(status).into());
    }
    let blank = invoices::blank_agreement(business, clock.now().date());
    let agreement = agreement_of(store, business, &stored, blank).await?;
    let invoice = invoices::draft_from_agreement(store, clock, business, agreement).await?;
    deals::note_invoice(store, clock, business.id, &stored, invoice.id).await?;
    match issue {
        Some(issue) => Box::pin(issue_invoice(store, clock, by, invoice.id, &issue)).await,
        None => Ok(invoice),
    }
}

/// Returns `true` unless an invoice is cancelled or credited.
const fn stands(status: InvoiceStatus) -> bool {
    !matches!(status, InvoiceStatus::Cancelled | InvoiceStatus::Credited)
}

/// Checks that a deal can become an order or an invoice.
fn check_paper(deal: &Deal) -> Result<(), SaleError> {
    let stage = deal.content.stage;
    if matches!(stage, DealStage::Declined | DealStage::Fatal) {
        return Err(DealError::InvalidStage(stage).into());
    }
    deal.content.parties().map_err(DealError::Incomplete)?;
    Ok(())
}

/// Returns what an order or an invoice takes over from a deal.
async fn agreement_of(
    store: &mut dyn SaleStore,
    business: &Business,
    deal: &Deal,
    blank: Agreement,
) -> Result<Agreement, SaleError> {
    let content = &deal.content;
    let (contact, vehicle) = content.parties().map_err(DealError::Incomplete)?;
    let known = store.billed_vehicles(business.id, &[vehicle]).await?;
    let known: std::collections::BTreeMap<_, _> = known.into_iter().map(|vehicle| (vehicle.id, vehicle)).collect();
    let has_price = content.price.is_some() || known.get(&vehicle).is_some_and(|vehicle| vehicle.price.is_some());
    if !has_price {
        return Err(DealError::Invalid(ValidationErrors::one("price", "is required: the vehicle has none")).into());
    }
    let customer = store.billed_contacts(business.id, &[contact]).await?.into_iter().next();
    let sold = LineChanges {
        kind: Field::Value(SentKind::Vehicle),
        vehicle: Field::Value(vehicle.get()),
        gross: content
            .price
            .map_or(Field::Absent, |price| Field::Value(forecourt_billing::Amount(price))),
        ..LineChanges::default()
    };
    let facts = LineFacts {
        side: LineSide::Sales,
        country: business.country,
        products: &products(business),
        vehicles: &known,
        nominal: customer.as_ref().map_or("", |customer| &customer.nominal_sales),
    };
    let mut lines = read_lines(vec![sold], facts).map_err(|wrong| {
        let mut faults = ValidationErrors::new();
        wrong.report("lines", &mut faults);
        DealError::Invalid(faults)
    })?;
    lines.extend(content.lines.iter().cloned());
    let agreement = Agreement {
        site: content.site,
        customer: Some(contact),
        vehicle: Some(vehicle),
        lines: with_settlements(lines, &content.part_exchanges),
        deal: Some(deal.id),
        part_exchanges: content.part_exchanges.clone(),
        finance: SaleFinance {
            provider: content.finance.provider,
            amount: content.finance.amount,
            invoice: None,
        },
        distance: content.distance,
        ..blank
    };
    Ok(validate_whole(&agreement)
        .into_result(agreement)
        .map_err(DealError::Invalid)?)
}

/// Notes that an invoice is that of its deal, unless the deal's last one stands, and keeps the deposit that the invoice will take over.
/// Records deal.updated if the deal changes. Returns the deal if the invoice is its own.
pub(crate) async fn adopt_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: BusinessId,
    deal: &Deal,
    invoice: InvoiceId,
) -> Result<Option<Deal>, SaleError> {
    let mut own = deal.clone();
    if own.content.invoice != Some(invoice) {
        let last = match own.content.invoice {
            Some(last) => store.invoice(business, last).await?,
            None => None,
        };
        if last.is_some_and(|last| stands(last.content.status)) {
            return Ok(None);
        }
        own = deals::note_invoice(store, clock, business, &own, invoice).await?;
    }
    Ok(Some(own))
}

/// Moves a locked deal whose invoice was issued. `payment` is the amount that was paid at the issue, if any was.
pub(crate) async fn step_issued(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: BusinessId,
    deal: &Deal,
    invoice: &Invoice,
    payment: Option<Money>,
) -> Result<(), SaleError> {
    let due = invoice.content.totals().due;
    let before = forecourt_billing::sum([due].into_iter().chain(payment));
    let mut deal = deal.clone();
    if before > Money::ZERO {
        deal = step_deal(store, clock, business, &deal, Step::Issued).await?;
    }
    if due <= Money::ZERO {
        step_deal(store, clock, business, &deal, Step::Paid).await?;
    } else if payment.is_some() {
        step_deal(store, clock, business, &deal, Step::PaidInPart).await?;
    }
    Ok(())
}

/// The invoices that a payment concerns, locked, with their deals: the invoice itself, and that of the customer of which it is the
/// finance.
struct Paid {
    invoices: Vec<Invoice>,
    deals: Vec<Deal>,
}

impl Paid {
    async fn lock(store: &mut dyn SaleStore, business: BusinessId, id: InvoiceId) -> Result<Self, SaleError> {
        let seen = store.invoice(business, id).await?;
        let parent = seen.as_ref().and_then(|invoice| invoice.content.parent);
        let mut invoices = Vec::new();
        for id in parent.into_iter().chain([id]) {
            invoices.extend(store.lock_invoice(business, id).await?);
        }
        let named = invoices.iter().filter_map(|invoice| invoice.content.agreement.deal);
        let named: Vec<DealId> = named.collect();
        let deals = lock_deals(store, business, named).await?;
        Ok(Self { invoices, deals })
    }

    /// Moves the deals of the invoices of which more or less is paid than before.
    async fn step(
        self,
        store: &mut dyn SaleStore,
        clock: &dyn Clock,
        business: BusinessId,
        step: impl Fn(&Invoice) -> Option<Step>,
    ) -> Result<(), SaleError> {
        for before in &self.invoices {
            let own = self.deals.iter().find(|deal| deal.content.invoice == Some(before.id));
            let (Some(deal), Some(after)) = (own, store.invoice(business, before.id).await?) else {
                continue;
            };
            if after.content.payments.len() != before.content.payments.len()
                && let Some(step) = step(&after)
            {
                step_deal(store, clock, business, deal, step).await?;
            }
        }
        Ok(())
    }
}

/// Records a payment of an invoice, as [`invoices::pay_invoice`] does, and moves the invoice's deal.
///
/// # Errors
/// Those of [`invoices::pay_invoice`].
pub async fn pay_invoice(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    payment: &NewPayment,
) -> Result<Invoice, SaleError> {
    let business = by.business_id();
    let target = id.into();
    let locked = Paid::lock(store, business, target.id).await?;
    let paid = invoices::pay_invoice(store, clock, by, target, payment).await?;
    let step = |invoice: &Invoice| match invoice.content.totals().due {
        Money::ZERO => Some(Step::Paid),
        _ => Some(Step::PaidInPart),
    };
    locked.step(store, clock, business, step).await?;
    Ok(paid)
}

/// Takes a payment of an invoice back, as [`invoices::reverse_payment`] does, and moves the invoice's deal.
///
/// # Errors
/// Those of [`invoices::reverse_payment`].
pub async fn reverse_payment(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<InvoiceId>>,
    payment: i64,
    reversal: &Reversal,
) -> Result<Invoice, SaleError> {
    let business = by.business_id();
    let target = id.into();
    let locked = Paid::lock(store, business, target.id).await?;
    let reversed = invoices::reverse_payment(store, clock, by, target, payment, reversal).await?;
    let step = |invoice: &Invoice| {
        let payments = &invoice.content.payments;
        let is_reversed = |id| payments.iter().any(|payment| payment.reverses == Some(id));
        let has_paid = payments
            .iter()
            .any(|payment| payment.kind == PaymentKind::Payment && !is_reversed(payment.id));
        (invoice.content.totals().due > Money::ZERO).then_some(Step::Reversed(has_paid))
    };
    locked.step(store, clock, business, step).await?;
    Ok(reversed)
}
