//! The use cases. None of them begins, commits or retries a transaction. What an order does to vehicles and invoices is up to the
//! crate of sales.

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    Agreement, AgreementPatch, BillingReader, InvoiceId, Live, OrderId, VatScheme, merge, sum, validate_shown_size,
    validate_whole,
};
use forecourt_kernel::{
    BoxError, BusinessId, Clock, Date, EventName, Field, InvalidValue, Money, NewEvent, Page, PageRequest, StoreError,
    StoreResult, Target, Timestamp, ValidationErrors,
};
use serde_json::Value;

use crate::{
    FullOrder, Order, OrderChanges, OrderContent, OrderError, OrderFilter, OrderIssue, OrderOwn, OrderReader,
    OrderStatus, OrderStore, changes::day, order::defaults,
};

/// Returns a page of the caller's orders, newest first, each with what is live of it.
///
/// # Errors
/// [`OrderError::Store`].
pub async fn list_orders(
    store: &mut dyn OrderReader,
    by: &Caller,
    filter: &OrderFilter,
    page: &PageRequest,
) -> Result<Page<Order>, OrderError> {
    let page = store.orders(by.business_id(), filter, page).await?;
    let items = show_orders(store, &by.business, page.items).await?;
    Ok(Page { items, ..page })
}

/// Returns one of the business's orders as it is stored.
///
/// # Errors
/// [`OrderError::NotFound`], [`OrderError::Store`].
pub async fn read_order(store: &mut dyn OrderReader, business: BusinessId, id: OrderId) -> Result<Order, OrderError> {
    let order = store.order(business, id).await?;
    order.ok_or(OrderError::NotFound(id))
}

/// Returns an order with what is live of it, as it is shown.
///
/// # Errors
/// If the store fails.
pub async fn show_order(store: &mut dyn OrderReader, business: &Business, order: &Order) -> StoreResult<Order> {
    let shown = show_orders(store, business, vec![order.clone()]).await?;
    Ok(shown.into_iter().next().unwrap_or_else(|| order.clone()))
}

/// Returns orders with what is live of them, as they are shown.
///
/// # Errors
/// If the store fails.
pub async fn show_orders(
    store: &mut dyn OrderReader,
    business: &Business,
    orders: Vec<Order>,
) -> StoreResult<Vec<Order>> {
    let live = Live::read(store, business, orders.iter().map(|order| &order.content.agreement)).await?;
    let is_draft = |order: &&Order| order.content.agreement.bill_from.is_none();
    let customers: Vec<_> = orders
        .iter()
        .filter(is_draft)
        .filter(|order| order.content.agreement.sold_vehicles().next().is_some())
        .filter_map(|order| order.content.agreement.customer)
        .collect();
    let deposits = match customers.is_empty() {
        true => Vec::new(),
        false => store.paid_deposits(business.id, &customers).await?,
    };
    let shown = orders.into_iter().map(|order| {
        let mut shown = order;
        let agreement = &shown.content.agreement;
        if agreement.bill_from.is_some() {
            return shown;
        }
        let of_order = deposits.iter().filter(|deposit| {
            Some(deposit.customer) == agreement.customer
                && agreement.sold_vehicles().any(|vehicle| vehicle == deposit.vehicle)
        });
        let deposit = sum(of_order.map(|deposit| deposit.paid));
        shown.version = live.version_of(shown.version, agreement);
        if deposit != Money::ZERO {
            shown.version = shown.version.shown_with(deposit);
        }
        shown.content.deposit = deposit;
        shown.content.agreement = live.fill(&shown.content.agreement);
        shown
    });
    Ok(shown.collect())
}

/// Locks an order for a change.
///
/// # Errors
/// [`OrderError::NotFound`], then [`OrderError::VersionMismatch`]; [`OrderError::Store`].
pub async fn lock_order(
    store: &mut dyn OrderStore,
    business: BusinessId,
    id: impl Into<Target<OrderId>>,
) -> Result<Order, OrderError> {
    let Target { id, precondition } = id.into();
    let stored = store.lock_order(business, id).await?;
    let stored = stored.ok_or(OrderError::NotFound(id))?;
    precondition.check(stored.version)?;
    Ok(stored)
}

/// Changes to an order whose faults are known.
#[derive(Clone, Debug)]
pub struct OrderPatch {
    patch: AgreementPatch,
    valid_until: Field<Date>,
}

/// Reads a new order (`is_new`) or changes to one, and looks up what they name.
///
/// # Errors
/// [`OrderError::Invalid`]; [`OrderError::Store`].
pub async fn validate_order(
    store: &mut dyn BillingReader,
    business: &Business,
    now: Timestamp,
    body: OrderChanges,
    is_new: bool,
) -> Result<OrderPatch, OrderError> {
    let (common, own) = body.split();
    let is_customer_missing = is_new && matches!(common.customer, Field::Absent);
    let (patch, mut errors) = common.look_up(store, business, now).await?;
    if is_customer_missing {
        errors.add("customer", "is required");
    }
    let OrderOwn { valid_until } = own;
    let mut faults = InvalidValue::default();
    day("valid_until", &valid_until, now, &mut faults);
    errors.extend(faults.into());
    errors
        .into_result(OrderPatch { patch, valid_until })
        .map_err(Into::into)
}

/// Drafts an order. Records order.created.
///
/// # Errors
/// [`OrderError::Invalid`]; [`OrderError::Store`].
pub async fn draft_order(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    by: &Caller,
    draft: &OrderPatch,
) -> Result<Order, OrderError> {
    let business = &*by.business;
    let now = clock.now();
    let defaults = defaults(business, now.date());
    let blank = Agreement::blank(business, &defaults);
    let mut content = OrderContent::draft(draft.patch.apply(&blank, business, &defaults, "")?);
    merge(&draft.valid_until, &mut content.valid_until, None, |&day| Some(day));
    let order = store.insert_order(business.id, content, now).await?;
    let shown = show(store, business, &order).await?;
    validate_shown_size("an order", &shown)?;
    record(store, business.id, EventName::OrderCreated, None, &order, shown, now).await?;
    Ok(order)
}

/// Returns an agreement without lines or customer, with the business's defaults for orders.
pub fn blank_agreement(business: &Business, today: Date) -> Agreement {
    Agreement::blank(business, &defaults(business, today))
}

/// Drafts the order of an agreement that was made elsewhere. Records order.created.
///
/// # Errors
/// [`OrderError::Invalid`]; [`OrderError::Store`].
pub async fn draft_from_agreement(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    business: &Business,
    agreement: Agreement,
) -> Result<Order, OrderError> {
    let now = clock.now();
    let order = store
        .insert_order(business.id, OrderContent::draft(agreement), now)
        .await?;
    let shown = show(store, business, &order).await?;
    validate_shown_size("an order", &shown)?;
    record(store, business.id, EventName::OrderCreated, None, &order, shown, now).await?;
    Ok(order)
}

/// Changes an order: a draft in everything, an issued one in its notes, reference, last day and salesperson. Records order.updated
/// if anything changed.
///
/// # Errors
/// [`OrderError::NotFound`], then [`OrderError::VersionMismatch`], then [`OrderError::InvalidStatus`] if its state keeps a member
/// from changing, then [`OrderError::Invalid`]; [`OrderError::Store`].
pub async fn update_order(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<OrderId>>,
    changes: &OrderPatch,
) -> Result<Order, OrderError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_order(store, business.id, id).await?;
    let status = stored.content.status;
    let nominal = match stored
        .content
        .agreement
        .customer
        .filter(|_| changes.patch.changes_lines())
    {
        Some(customer) => {
            let found = store.billed_contacts(business.id, &[customer]).await?;
            found
                .into_iter()
                .next()
                .map(|contact| contact.nominal_sales)
                .unwrap_or_default()
        }
        None => String::new(),
    };
    let defaults = defaults(business, stored.created.date());
    let applied = changes
        .patch
        .apply(&stored.content.agreement, business, &defaults, &nominal);
    let agreement = match applied {
        Err(_) if status != OrderStatus::Draft => return Err(OrderError::InvalidStatus(status)),
        applied => applied?,
    };
    let mut content = OrderContent {
        agreement,
        ..stored.content.clone()
    };
    merge(&changes.valid_until, &mut content.valid_until, None, |&day| Some(day));
    if status != OrderStatus::Draft && !only_allowed_changed(&stored.content, &content) {
        return Err(OrderError::InvalidStatus(status));
    }
    if content == stored.content {
        return Ok(stored);
    }
    let order = Order {
        content,
        ..stored.clone()
    };
    let shown = show(store, business, &order).await?;
    validate_shown_size("an order", &shown)?;
    save(store, business, EventName::OrderUpdated, &stored, order, now).await
}

/// Returns `true` if two contents of an order that is no draft differ only in what its state lets change.
fn only_allowed_changed(stored: &OrderContent, changed: &OrderContent) -> bool {
    let mut allowed = changed.clone();
    if stored.status == OrderStatus::Issued {
        allowed.agreement.notes = stored.agreement.notes.clone();
        allowed.agreement.reference = stored.agreement.reference.clone();
        allowed.agreement.salesperson = stored.agreement.salesperson;
        allowed.valid_until = stored.valid_until;
    }
    for (line, stored) in allowed.agreement.lines.iter_mut().zip(&stored.agreement.lines) {
        line.stock_number = stored.stock_number;
    }
    allowed == *stored
}

/// Locks a draft and checks that it can be issued, apart from its vehicles. Returns it as it is stored, and as it will be issued.
///
/// # Errors
/// [`OrderError::NotFound`], then [`OrderError::VersionMismatch`], then [`OrderError::InvalidStatus`] unless it is a draft, then
/// [`OrderError::Invalid`] for its customer and its lines; [`OrderError::Store`].
pub async fn prepare_order_issue(
    store: &mut dyn OrderStore,
    business: &Business,
    id: impl Into<Target<OrderId>>,
    issue: OrderIssue,
) -> Result<(Order, Order), OrderError> {
    let stored = lock_order(store, business.id, id).await?;
    if stored.content.status != OrderStatus::Draft {
        return Err(OrderError::InvalidStatus(stored.content.status));
    }
    let mut draft = stored.clone();
    if let Some(date) = issue.date {
        draft.content.agreement.date = date;
    }
    let mut faults = ValidationErrors::new();
    if draft.content.agreement.lines.is_empty() {
        faults.add("lines", "must not be empty");
    }
    let vehicles: Vec<_> = draft.content.agreement.vehicles().into_iter().collect();
    if !vehicles.is_empty() {
        let known = store.billed_vehicles(business.id, &vehicles).await?;
        for (at, line) in draft.content.agreement.lines.iter().enumerate() {
            let vehicle = known.iter().find(|vehicle| Some(vehicle.id) == line.vehicle);
            if line.vat_scheme == VatScheme::Margin && vehicle.is_some_and(|vehicle| vehicle.was_bought_with_vat) {
                let message = "must not be margin: the vehicle was bought with VAT shown";
                faults.add(format!("lines.{at}.vat_scheme"), message);
            }
        }
    }
    faults.extend(validate_whole(&draft.content.agreement));
    let mut draft = show_order(store, business, &draft).await?;
    draft.version = stored.version;
    if draft.content.agreement.bill_to.is_none() {
        faults.add("customer", "names no contact of this business");
    }
    faults.into_result((stored, draft)).map_err(Into::into)
}

/// Issues a prepared draft. Records order.issued.
///
/// # Errors
/// [`OrderError::Store`].
pub async fn complete_order_issue(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    business: &Business,
    (stored, draft): (Order, Order),
) -> Result<Order, OrderError> {
    let now = clock.now();
    let mut order = draft;
    order.number = Some(store.next_order_number(business.id).await?);
    order.content.status = OrderStatus::Issued;
    order.content.issued = Some(now);
    save(store, business, EventName::OrderIssued, &stored, order, now).await
}

/// Cancels a locked order. Records order.cancelled.
///
/// # Errors
/// [`OrderError::InvalidStatus`] unless it is a draft or issued; [`OrderError::Store`].
pub async fn cancel_order(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Order,
) -> Result<Order, OrderError> {
    check_cancel(&stored)?;
    let mut order = stored.clone();
    order.content.status = OrderStatus::Cancelled;
    save(store, business, EventName::OrderCancelled, &stored, order, clock.now()).await
}

/// Checks that an order can be cancelled.
///
/// # Errors
/// [`OrderError::InvalidStatus`] unless it is a draft or issued.
pub const fn check_cancel(order: &Order) -> Result<(), OrderError> {
    match order.content.status {
        OrderStatus::Draft | OrderStatus::Issued => Ok(()),
        status => Err(OrderError::InvalidStatus(status)),
    }
}

/// Notes that a locked order became an invoice. Records order.converted.
///
/// # Errors
/// [`OrderError::Store`].
pub async fn convert_order(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Order,
    invoice: InvoiceId,
) -> Result<Order, OrderError> {
    let mut order = stored.clone();
    order.content.status = OrderStatus::Converted;
    order.content.invoice = Some(invoice);
    save(store, business, EventName::OrderConverted, &stored, order, clock.now()).await
}

/// Makes a converted order an issued one again, because the draft invoice that it became was cancelled. Records order.updated.
///
/// # Errors
/// [`OrderError::Store`].
pub async fn reopen_order(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    business: &Business,
    id: OrderId,
    invoice: InvoiceId,
) -> Result<(), OrderError> {
    let Some(stored) = store.lock_order(business.id, id).await? else {
        return Ok(());
    };
    if stored.content.invoice != Some(invoice) {
        return Ok(());
    }
    let mut order = stored.clone();
    order.content.status = OrderStatus::Issued;
    order.content.invoice = None;
    save(store, business, EventName::OrderUpdated, &stored, order, clock.now()).await?;
    Ok(())
}

/// Blanks the party of an issued order whose contact was deleted, once it is kept no longer (areas §10.0, "People"). The version
/// rises; no event is recorded.
///
/// # Errors
/// [`OrderError::Store`].
pub async fn forget_former_party(
    store: &mut dyn OrderStore,
    clock: &dyn Clock,
    business: &Business,
    id: OrderId,
    before: Date,
) -> Result<(), OrderError> {
    let Some(mut order) = store.lock_order(business.id, id).await? else {
        return Ok(());
    };
    let agreement = &mut order.content.agreement;
    if agreement.customer.is_some() || agreement.date >= before {
        return Ok(());
    }
    agreement.bill_to = None;
    store.save_order(business.id, &order.changed_at(clock.now())).await?;
    Ok(())
}

/// Stores an order that differs from `before`, and records the event.
async fn save(
    store: &mut dyn OrderStore,
    business: &Business,
    event: EventName,
    before: &Order,
    changed: Order,
    now: Timestamp,
) -> Result<Order, OrderError> {
    let order = changed.changed_at(now);
    store.save_order(business.id, &order).await?;
    let shown_before = show(store, business, before).await?;
    let shown = show(store, business, &order).await?;
    record(store, business.id, event, Some(&shown_before), &order, shown, now).await?;
    Ok(order)
}

/// Returns the order as callers see it.
async fn show(store: &mut dyn OrderStore, business: &Business, order: &Order) -> StoreResult<Value> {
    let order = show_order(store, business, order).await?;
    let shown = serde_json::to_value(FullOrder::from(&order));
    shown.map_err(|failure| StoreError::Other(BoxError::from(failure)))
}

async fn record(
    store: &mut dyn OrderStore,
    business: BusinessId,
    name: EventName,
    before: Option<&Value>,
    order: &Order,
    shown: Value,
    at: Timestamp,
) -> StoreResult<()> {
    let event = NewEvent::of_change(name, order.id.get(), before, shown, at);
    store.record(business, event).await
}
