//! The use cases. None of them begins, commits or retries a transaction. What a purchase does to vehicles is up to the crate of
//! sales.

use std::collections::{BTreeMap, BTreeSet};

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    BillLine, BillStatus, BilledVehicle, BillingReader, Issue, LineFacts, LineKind, LineSide, NewPayment, NoteLine,
    Payment, PaymentKind, PurchaseId, Reversal, Trigger, add_payment, check_day, credit_lines, legal_party, merge,
    negative, next, payment_of, products, read_lines, reversal, sum, validate_shown_size,
};
use forecourt_kernel::{
    BoxError, BusinessId, Clock, ContactId, Date, EventName, Field, InvalidValue, Money, NewEvent, Page, PageRequest,
    SiteId, StoreError, StoreResult, Target, Timestamp, ValidationErrors, VehicleId,
};
use serde_json::Value;

use crate::{
    FullPurchase, LinkedJob, NewPurchase, NewPurchaseCredit, Purchase, PurchaseChanges, PurchaseContent,
    PurchaseCredit, PurchaseError, PurchaseFilter, PurchaseKind, PurchaseReader, PurchaseStore, supplier_invoice_key,
};

/// Returns a page of the caller's purchases, newest first. In the full view each is shown with what is live of it.
///
/// # Errors
/// [`PurchaseError::Store`].
pub async fn list_purchases(
    store: &mut dyn PurchaseReader,
    by: &Caller,
    filter: &PurchaseFilter,
    page: &PageRequest,
    is_full: bool,
) -> Result<Page<Purchase>, PurchaseError> {
    let page = store.purchases(by.business_id(), filter, page).await?;
    if !is_full {
        return Ok(page);
    }
    let items = show_purchases(store, &by.business, page.items).await?;
    Ok(Page { items, ..page })
}

/// Returns one of the business's purchases as it is stored.
///
/// # Errors
/// [`PurchaseError::NotFound`], [`PurchaseError::Store`].
pub async fn read_purchase(
    store: &mut dyn PurchaseReader,
    business: BusinessId,
    id: PurchaseId,
) -> Result<Purchase, PurchaseError> {
    let purchase = store.purchase(business, id).await?;
    purchase.ok_or(PurchaseError::NotFound(id))
}

/// Returns a purchase with what is live of it, as it is shown.
///
/// # Errors
/// If the store fails.
pub async fn show_purchase(
    store: &mut dyn BillingReader,
    business: &Business,
    purchase: &Purchase,
) -> StoreResult<Purchase> {
    let shown = show_purchases(store, business, vec![purchase.clone()]).await?;
    Ok(shown.into_iter().next().unwrap_or_else(|| purchase.clone()))
}

/// Returns purchases with what is live of them, as they are shown.
///
/// # Errors
/// If the store fails.
pub async fn show_purchases(
    store: &mut dyn BillingReader,
    business: &Business,
    purchases: Vec<Purchase>,
) -> StoreResult<Vec<Purchase>> {
    let drafts = || purchases.iter().filter(|purchase| purchase.content.bill_to.is_none());
    let suppliers: BTreeSet<ContactId> = drafts().filter_map(|draft| draft.content.supplier).collect();
    let vehicles: BTreeSet<VehicleId> = drafts()
        .flat_map(|draft| draft.content.lines.iter().filter_map(|line| line.vehicle))
        .collect();
    let suppliers: Vec<_> = suppliers.into_iter().collect();
    let contacts = match suppliers.is_empty() {
        true => Vec::new(),
        false => store.billed_contacts(business.id, &suppliers).await?,
    };
    let vehicles: Vec<_> = vehicles.into_iter().collect();
    let vehicles = match vehicles.is_empty() {
        true => Vec::new(),
        false => store.billed_vehicles(business.id, &vehicles).await?,
    };
    let shown = purchases.into_iter().map(|purchase| {
        let mut shown = purchase;
        let content = &mut shown.content;
        if content.bill_to.is_some() {
            return shown;
        }
        let supplier = contacts.iter().find(|contact| Some(contact.id) == content.supplier);
        content.bill_from = supplier.map(|supplier| supplier.party.clone());
        content.bill_to = Some(legal_party(business));
        for line in &mut content.lines {
            let vehicle = vehicles.iter().find(|vehicle| Some(vehicle.id) == line.vehicle);
            line.stock_number = vehicle.and_then(|vehicle| vehicle.stock_number);
        }
        let numbers: Vec<_> = content.lines.iter().map(|line| line.stock_number).collect();
        shown.version = shown
            .version
            .shown_with((&content.bill_from, &content.bill_to, numbers));
        shown
    });
    Ok(shown.collect())
}

/// Locks a purchase for a change.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`]; [`PurchaseError::Store`].
pub async fn lock_purchase(
    store: &mut dyn PurchaseStore,
    business: BusinessId,
    id: impl Into<Target<PurchaseId>>,
) -> Result<Purchase, PurchaseError> {
    let Target { id, precondition } = id.into();
    let stored = store.lock_purchase(business, id).await?;
    let stored = stored.ok_or(PurchaseError::NotFound(id))?;
    precondition.check(stored.version)?;
    Ok(stored)
}

/// Changes to a purchase whose faults are known, with what other areas know of the records that it names.
#[derive(Clone, Debug)]
pub struct PurchasePatch {
    changes: PurchaseChanges,
    supplier_nominal: Option<String>,
    vehicles: BTreeMap<VehicleId, BilledVehicle>,
    /// The issue, if a new purchase is issued at once.
    pub issue: Option<Issue>,
}

/// Reads a new purchase, and looks up what it names.
///
/// # Errors
/// [`PurchaseError::Invalid`]; [`PurchaseError::Store`].
pub async fn validate_new_purchase(
    store: &mut dyn BillingReader,
    business: &Business,
    now: Timestamp,
    body: NewPurchase,
) -> Result<PurchasePatch, PurchaseError> {
    let (changes, issue, payment) = body.split();
    let is_supplier_missing = matches!(changes.supplier, Field::Absent);
    let (mut patch, mut errors) = look_up(store, business, now, changes).await?;
    if is_supplier_missing {
        errors.add("supplier", "is required");
    }
    let mut faults = InvalidValue::default();
    let is_issued = forecourt_billing::take("issue", issue, &mut faults).unwrap_or_default();
    let payment = forecourt_billing::nested_payment(payment, now, &mut faults);
    if payment.is_some() && !is_issued {
        faults.add_within("payment", InvalidValue::here("needs issue"));
    }
    errors.extend(faults.into());
    patch.issue = is_issued.then_some(Issue {
        payment,
        ..Issue::default()
    });
    errors.into_result(patch).map_err(Into::into)
}

/// Reads changes, and looks up what they name.
///
/// # Errors
/// [`PurchaseError::Invalid`]; [`PurchaseError::Store`].
pub async fn validate_purchase_changes(
    store: &mut dyn BillingReader,
    business: &Business,
    now: Timestamp,
    body: PurchaseChanges,
) -> Result<PurchasePatch, PurchaseError> {
    let (patch, errors) = look_up(store, business, now, body).await?;
    errors.into_result(patch).map_err(Into::into)
}

async fn look_up(
    store: &mut dyn BillingReader,
    business: &Business,
    now: Timestamp,
    changes: PurchaseChanges,
) -> StoreResult<(PurchasePatch, ValidationErrors)> {
    let mut faults = InvalidValue::default();
    let supplier = match &changes.supplier {
        Field::Value(id) => {
            let found = store.billed_contacts(business.id, &[ContactId::new(*id)]).await?;
            if found.is_empty() {
                faults.add_within("supplier", InvalidValue::here("names no contact of this business"));
            }
            found.into_iter().next()
        }
        Field::Null => {
            faults.add_within("supplier", InvalidValue::here("must not be null"));
            None
        }
        Field::Absent => None,
        Field::Wrong(wrong) => {
            faults.add_within("supplier", wrong.clone());
            None
        }
    };
    match &changes.site {
        Field::Value(site) if !business.catalogue.has_site(SiteId::new(*site)) => {
            faults.add_within("site", InvalidValue::here("names no site of this business"));
        }
        Field::Wrong(wrong) => faults.add_within("site", wrong.clone()),
        _ => {}
    }
    for (name, date) in [("date", &changes.date), ("due_date", &changes.due_date)] {
        match date {
            Field::Value(date) => {
                if let Err(message) = check_day(*date, now) {
                    faults.add_within(name, InvalidValue::here(message));
                }
            }
            Field::Wrong(wrong) => faults.add_within(name, wrong.clone()),
            _ => {}
        }
    }
    if let Field::Wrong(wrong) = &changes.supplier_invoice {
        faults.add_within("supplier_invoice", wrong.clone());
    }
    if let Field::Wrong(wrong) = &changes.lines {
        faults.add_within("lines", wrong.clone());
    }
    if let Field::Wrong(wrong) = &changes.notes {
        faults.add_within("notes", wrong.clone());
    }
    if let Field::Wrong(wrong) = &changes.force {
        faults.add_within("force", wrong.clone());
    }
    let named: BTreeSet<VehicleId> = changes
        .lines
        .value()
        .into_iter()
        .flat_map(|lines| lines.iter())
        .filter_map(|line| line.vehicle.value().copied().map(VehicleId::new))
        .collect();
    let named: Vec<_> = named.into_iter().collect();
    let vehicles = match named.is_empty() {
        true => Vec::new(),
        false => store.billed_vehicles(business.id, &named).await?,
    };
    let patch = PurchasePatch {
        supplier_nominal: supplier.map(|supplier| supplier.nominal_purchases),
        vehicles: vehicles.into_iter().map(|vehicle| (vehicle.id, vehicle)).collect(),
        changes,
        issue: None,
    };
    if let Some(Err(wrong)) = patch.lines(business, "") {
        faults.add_within("lines", wrong);
    }
    Ok((patch, faults.into()))
}

impl PurchasePatch {
    /// Returns the vehicles that its lines name, by id.
    pub fn vehicles(&self) -> impl Iterator<Item = VehicleId> + '_ {
        self.vehicles.keys().copied()
    }

    fn lines(&self, business: &Business, nominal: &str) -> Option<Result<Vec<BillLine>, InvalidValue>> {
        let sent = self.changes.lines.value()?.iter().cloned().collect();
        let facts = LineFacts {
            side: LineSide::Purchases,
            country: business.country,
            products: &products(business),
            vehicles: &self.vehicles,
            nominal,
        };
        Some(read_lines(sent, facts))
    }

    /// Returns `stored` with the changes.
    fn apply(
        &self,
        stored: &PurchaseContent,
        business: &Business,
        blank: &PurchaseContent,
        nominal: &str,
    ) -> Result<PurchaseContent, ValidationErrors> {
        let mut content = stored.clone();
        let changes = &self.changes;
        merge(&changes.supplier, &mut content.supplier, None, |&id| {
            Some(ContactId::new(id))
        });
        merge(&changes.site, &mut content.site, blank.site, |&id| SiteId::new(id));
        merge(&changes.date, &mut content.date, blank.date, |&date| date);
        merge(
            &changes.supplier_invoice,
            &mut content.supplier_invoice,
            blank.supplier_invoice.clone(),
            Clone::clone,
        );
        merge(&changes.notes, &mut content.notes, blank.notes.clone(), Clone::clone);
        merge(&changes.due_date, &mut content.is_due_date_chosen, false, |_| true);
        if let Field::Value(due_date) = changes.due_date {
            content.due_date = due_date;
        } else if !content.is_due_date_chosen {
            content.due_date = content.date;
        }
        let nominal = self.supplier_nominal.as_deref().unwrap_or(nominal);
        match &changes.lines {
            Field::Null => content.lines = Vec::new(),
            _ => {
                if let Some(lines) = self.lines(business, nominal) {
                    content.lines = lines.map_err(|wrong| {
                        let mut errors = ValidationErrors::new();
                        wrong.report("lines", &mut errors);
                        errors
                    })?;
                }
            }
        }
        Ok(content)
    }
}

/// Drafts a purchase. Records purchase.created.
///
/// # Errors
/// [`PurchaseError::Invalid`], then [`PurchaseError::Duplicate`]; [`PurchaseError::Store`].
pub async fn draft_purchase(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    by: &Caller,
    draft: &PurchasePatch,
) -> Result<Purchase, PurchaseError> {
    let business = &*by.business;
    let now = clock.now();
    let blank = PurchaseContent::blank(business, now.date());
    let content = draft.apply(&blank, business, &blank, "")?;
    validate_due_date(&content)?;
    refuse_duplicate(
        store,
        business.id,
        &content,
        None,
        draft.changes.force == Field::Value(true),
    )
    .await?;
    insert(store, business, now, content).await
}

/// Stores a new draft and records purchase.created.
///
/// # Errors
/// [`PurchaseError::Invalid`] (`body`) if it is too large; [`PurchaseError::Store`].
pub async fn insert(
    store: &mut dyn PurchaseStore,
    business: &Business,
    now: Timestamp,
    content: PurchaseContent,
) -> Result<Purchase, PurchaseError> {
    let purchase = store.insert_purchase(business.id, content, now).await?;
    let shown = show(store, business, &purchase).await?;
    validate_shown_size("a purchase", &shown)?;
    record(
        store,
        business.id,
        EventName::PurchaseCreated,
        None,
        &purchase,
        shown,
        now,
    )
    .await?;
    Ok(purchase)
}

async fn refuse_duplicate(
    store: &mut dyn PurchaseStore,
    business: BusinessId,
    content: &PurchaseContent,
    except: Option<PurchaseId>,
    force: bool,
) -> Result<(), PurchaseError> {
    let key = supplier_invoice_key(&content.supplier_invoice);
    let Some(supplier) = content.supplier.filter(|_| !force && !key.is_empty()) else {
        return Ok(());
    };
    match store
        .purchase_of_supplier_invoice(business, supplier, &key, except)
        .await?
    {
        Some(other) => Err(PurchaseError::Duplicate(other.number)),
        None => Ok(()),
    }
}

/// Changes a purchase: a draft in everything, an issued one in its notes and last day to pay, any other in its notes. Records
/// purchase.updated if anything changed.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`]. Then [`PurchaseError::AcquisitionLinked`] or
/// [`PurchaseError::InvalidStatus`] if a member cannot change, then [`PurchaseError::Invalid`], then [`PurchaseError::Duplicate`];
/// [`PurchaseError::Store`].
pub async fn update_purchase(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    changes: &PurchasePatch,
) -> Result<Purchase, PurchaseError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_purchase(store, business.id, id).await?;
    let status = stored.content.status;
    let is_linked = stored.content.kind == PurchaseKind::Acquisition;
    let refusal = || match is_linked {
        true => PurchaseError::AcquisitionLinked,
        false => PurchaseError::InvalidStatus(status),
    };
    let nominal = match stored
        .content
        .supplier
        .filter(|_| changes.changes.lines.value().is_some())
    {
        Some(supplier) => {
            let found = store.billed_contacts(business.id, &[supplier]).await?;
            found
                .into_iter()
                .next()
                .map(|contact| contact.nominal_purchases)
                .unwrap_or_default()
        }
        None => String::new(),
    };
    let blank = PurchaseContent::blank(business, stored.created.date());
    let content = match changes.apply(&stored.content, business, &blank, &nominal) {
        Err(_) if is_linked || status != BillStatus::Draft => return Err(refusal()),
        content => content?,
    };
    if (is_linked || status != BillStatus::Draft) && !only_allowed_changed(&stored.content, &content) {
        return Err(refusal());
    }
    if content == stored.content {
        return Ok(stored);
    }
    validate_due_date(&content)?;
    if (content.supplier, supplier_invoice_key(&content.supplier_invoice))
        != (
            stored.content.supplier,
            supplier_invoice_key(&stored.content.supplier_invoice),
        )
    {
        let force = changes.changes.force == Field::Value(true);
        refuse_duplicate(store, business.id, &content, Some(stored.id), force).await?;
    }
    let purchase = Purchase {
        content,
        ..stored.clone()
    };
    let shown = show(store, business, &purchase).await?;
    validate_shown_size("a purchase", &shown)?;
    save(store, business, EventName::PurchaseUpdated, &stored, purchase, now).await
}

/// Returns `true` if two contents of a purchase differ only in what its state lets change.
fn only_allowed_changed(stored: &PurchaseContent, changed: &PurchaseContent) -> bool {
    let mut allowed = changed.clone();
    allowed.notes = stored.notes.clone();
    if stored.is_live() && stored.kind != PurchaseKind::Acquisition {
        allowed.due_date = stored.due_date;
        allowed.is_due_date_chosen = stored.is_due_date_chosen;
    }
    for (line, stored) in allowed.lines.iter_mut().zip(&stored.lines) {
        line.credited = stored.credited;
        line.stock_number = stored.stock_number;
    }
    allowed == *stored
}

fn validate_due_date(content: &PurchaseContent) -> Result<(), PurchaseError> {
    if content.due_date < content.date {
        let message = "must not be before the day of the purchase";
        return Err(ValidationErrors::one("due_date", message).into());
    }
    Ok(())
}

/// Cancels a draft. Records purchase.cancelled.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`], then [`PurchaseError::AcquisitionLinked`], then
/// [`PurchaseError::InvalidStatus`] unless it is a draft; [`PurchaseError::Store`].
pub async fn cancel_purchase(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
) -> Result<Purchase, PurchaseError> {
    let business = &*by.business;
    let stored = lock_purchase(store, business.id, id).await?;
    refuse_linked(&stored)?;
    let mut purchase = stored.clone();
    purchase.content.status = moved(&stored, Trigger::Cancel)?;
    save(
        store,
        business,
        EventName::PurchaseCancelled,
        &stored,
        purchase,
        clock.now(),
    )
    .await
}

/// Refuses to change a purchase that belongs to the acquisition of a vehicle.
///
/// # Errors
/// [`PurchaseError::AcquisitionLinked`].
pub fn refuse_linked(purchase: &Purchase) -> Result<(), PurchaseError> {
    match purchase.content.kind {
        PurchaseKind::Acquisition => Err(PurchaseError::AcquisitionLinked),
        _ => Ok(()),
    }
}

fn moved(purchase: &Purchase, trigger: Trigger) -> Result<BillStatus, PurchaseError> {
    let status = purchase.content.status;
    next(status, trigger).map_err(|error| PurchaseError::transition(&error, status))
}

/// Checks that a locked draft can be issued, and returns it as it will be, but for its number.
///
/// # Errors
/// [`PurchaseError::InvalidStatus`] unless it is a draft, then [`PurchaseError::Invalid`] for its supplier, its lines and its days;
/// [`PurchaseError::Store`].
pub async fn prepare_purchase_issue(
    store: &mut dyn PurchaseStore,
    business: &Business,
    stored: &Purchase,
    issue: &Issue,
) -> Result<Purchase, PurchaseError> {
    let status = moved(stored, Trigger::Issue)?;
    let mut draft = stored.clone();
    let content = &mut draft.content;
    content.status = status;
    if let Some(date) = issue.date {
        content.date = date;
    }
    if let Some(due_date) = issue.due_date {
        content.due_date = due_date;
        content.is_due_date_chosen = true;
    } else if !content.is_due_date_chosen {
        content.due_date = content.date;
    }
    validate_due_date(content)?;
    let mut faults = ValidationErrors::new();
    if content.lines.is_empty() {
        faults.add("lines", "must not be empty");
    }
    let mut filled = show_purchase(store, business, &draft).await?;
    filled.version = stored.version;
    if filled.content.bill_from.is_none() {
        faults.add("supplier", "names no contact of this business");
    }
    faults.into_result(filled).map_err(Into::into)
}

/// Issues a prepared draft. Records purchase.issued, then purchase.paid if nothing is due.
///
/// # Errors
/// [`PurchaseError::Invalid`] (`payment.amount`) if the payment is above what is due; [`PurchaseError::Store`].
pub async fn complete_purchase_issue(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    business: &Business,
    (stored, draft): (Purchase, Purchase),
    taken: Vec<Payment>,
    payment: Option<&NewPayment>,
) -> Result<Purchase, PurchaseError> {
    let now = clock.now();
    let mut purchase = draft;
    let content = &mut purchase.content;
    content.issued = Some(now);
    for payment in taken {
        add_payment(&mut content.payments, payment)?;
    }
    if let Some(payment) = payment {
        let due = content.totals().due;
        let payment = payment_of(payment, due, now).map_err(|error| match error {
            Some(message) => PurchaseError::Invalid(ValidationErrors::one("payment.amount", message)),
            None => PurchaseError::InvalidStatus(content.status),
        })?;
        add_payment(&mut content.payments, payment)?;
    }
    purchase.number = Some(store.next_purchase_number(business.id).await?);
    let issued = save(store, business, EventName::PurchaseIssued, &stored, purchase, now).await?;
    if issued.content.totals().due > Money::ZERO {
        return Ok(issued);
    }
    let mut paid = issued.clone();
    paid.content.status = moved(&issued, Trigger::Pay)?;
    save(store, business, EventName::PurchasePaid, &issued, paid, now).await
}

/// Records a payment. Records purchase.updated, or purchase.paid if nothing is left.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`], then [`PurchaseError::InvalidStatus`] unless something is
/// due. Then [`PurchaseError::Invalid`] (`amount`, `payments`); [`PurchaseError::Store`].
pub async fn pay_purchase(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    payment: &NewPayment,
) -> Result<Purchase, PurchaseError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_purchase(store, business.id, id).await?;
    let due = stored.content.totals().due;
    if !stored.content.is_live() || due <= Money::ZERO {
        return Err(PurchaseError::InvalidStatus(stored.content.status));
    }
    let payment = amount_of(payment, due, &stored, now)?;
    let mut purchase = stored.clone();
    add_payment(&mut purchase.content.payments, payment)?;
    if purchase.content.totals().due > Money::ZERO || purchase.content.status != BillStatus::Issued {
        return save(store, business, EventName::PurchaseUpdated, &stored, purchase, now).await;
    }
    purchase.content.status = moved(&stored, Trigger::Pay)?;
    save(store, business, EventName::PurchasePaid, &stored, purchase, now).await
}

fn amount_of(payment: &NewPayment, most: Money, stored: &Purchase, now: Timestamp) -> Result<Payment, PurchaseError> {
    payment_of(payment, most, now).map_err(|error| match error {
        Some(message) => PurchaseError::Invalid(ValidationErrors::one("amount", message)),
        None => PurchaseError::InvalidStatus(stored.content.status),
    })
}

/// Takes a payment or a refund back. Records purchase.updated.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`], then [`PurchaseError::InvalidStatus`] if it is not issued.
/// Then [`PurchaseError::PaymentNotFound`], then [`PurchaseError::PaymentReversed`], then [`PurchaseError::InvalidStatus`];
/// [`PurchaseError::Store`].
pub async fn reverse_purchase_payment(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    payment: i64,
    command: &Reversal,
) -> Result<Purchase, PurchaseError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_purchase(store, business.id, id).await?;
    let status = stored.content.status;
    if matches!(status, BillStatus::Draft | BillStatus::Cancelled) {
        return Err(PurchaseError::InvalidStatus(status));
    }
    let date = command.date.unwrap_or_else(|| now.date());
    let reversed = reversal(&stored.content.payments, payment, date, command.reference.clone());
    let reversed = reversed.map_err(|error| PurchaseError::reversal(error, payment, status))?;
    let mut purchase = stored.clone();
    add_payment(&mut purchase.content.payments, reversed)?;
    if status == BillStatus::Paid && purchase.content.totals().due > Money::ZERO {
        purchase.content.status = moved(&stored, Trigger::Reopen)?;
    }
    save(store, business, EventName::PurchaseUpdated, &stored, purchase, now).await
}

/// Records that the supplier gave back what was paid too much. Records purchase.updated.
///
/// # Errors
/// [`PurchaseError::NotFound`], then [`PurchaseError::VersionMismatch`], then [`PurchaseError::InvalidStatus`] unless something is
/// to be given back. Then [`PurchaseError::Invalid`] (`amount`, `payments`); [`PurchaseError::Store`].
pub async fn refund_purchase(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    payment: &NewPayment,
) -> Result<Purchase, PurchaseError> {
    let business = &*by.business;
    let now = clock.now();
    let stored = lock_purchase(store, business.id, id).await?;
    let status = stored.content.status;
    let refund_due = stored.content.totals().refund_due;
    if matches!(status, BillStatus::Draft | BillStatus::Cancelled) || refund_due <= Money::ZERO {
        return Err(PurchaseError::InvalidStatus(status));
    }
    let refund = amount_of(payment, refund_due, &stored, now)?;
    let mut purchase = stored.clone();
    let refund = Payment {
        kind: PaymentKind::Refund,
        amount: negative(refund.amount),
        ..refund
    };
    add_payment(&mut purchase.content.payments, refund)?;
    save(store, business, EventName::PurchaseUpdated, &stored, purchase, now).await
}

/// Credits a part of a locked purchase, or all that remains of it. Records purchase.credited, then purchase.paid if a credit in
/// part left nothing due.
///
/// # Errors
/// [`PurchaseError::InvalidStatus`] if it is not issued, or credited. Then [`PurchaseError::Invalid`], then
/// [`PurchaseError::CapExceeded`]; [`PurchaseError::Store`].
pub async fn credit_purchase(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    business: &Business,
    stored: Purchase,
    command: NewPurchaseCredit,
) -> Result<Purchase, PurchaseError> {
    if !stored.content.is_live() {
        return Err(PurchaseError::InvalidStatus(stored.content.status));
    }
    let now = clock.now();
    let NewPurchaseCredit {
        credit,
        supplier_reference,
    } = command;
    let mut purchase = stored.clone();
    let content = &mut purchase.content;
    let noted: Vec<&NoteLine> = stored
        .content
        .credit_notes
        .iter()
        .flat_map(|note| &note.lines)
        .collect();
    let lines = credit_lines(&mut content.lines, &noted, credit.lines.as_deref())?;
    let is_whole = content.creditable() == Money::ZERO
        && (content.totals().gross != Money::ZERO || content.lines.iter().all(|line| line.creditable() == Money::ZERO));
    if is_whole {
        content.status = moved(&stored, Trigger::Credit)?;
    }
    let number = store.next_purchase_credit_number(business.id).await?;
    let date = credit.date.unwrap_or_else(|| now.date());
    let note = PurchaseCredit::new(number, supplier_reference, date, credit.reason, lines);
    purchase.content.credit_notes.push(note);
    let credited = save(store, business, EventName::PurchaseCredited, &stored, purchase, now).await?;
    if !is_whole && credited.content.status == BillStatus::Issued && credited.content.totals().due <= Money::ZERO {
        let mut paid = credited.clone();
        paid.content.status = moved(&credited, Trigger::Pay)?;
        return save(store, business, EventName::PurchasePaid, &credited, paid, now).await;
    }
    Ok(credited)
}

/// Blanks the party of an issued purchase whose contact was deleted, once it is kept no longer (areas §10.0, "People"). The version
/// rises; no event is recorded.
///
/// # Errors
/// [`PurchaseError::Store`].
pub async fn forget_former_supplier(
    store: &mut dyn PurchaseStore,
    clock: &dyn Clock,
    business: &Business,
    id: PurchaseId,
    before: Date,
) -> Result<(), PurchaseError> {
    let Some(mut purchase) = store.lock_purchase(business.id, id).await? else {
        return Ok(());
    };
    if purchase.content.supplier.is_some() || purchase.content.date >= before {
        return Ok(());
    }
    purchase.content.bill_from = None;
    store
        .save_purchase(business.id, &purchase.changed_at(clock.now()))
        .await?;
    Ok(())
}

/// The lines of a purchase that are costs on vehicles.
pub fn vehicle_costs(purchase: &Purchase) -> impl Iterator<Item = (VehicleId, &BillLine)> {
    let costs = purchase.content.lines.iter().filter(|line| line.kind == LineKind::Cost);
    costs.filter_map(|line| Some((line.vehicle?, line)))
}

/// The cost of a purchase for one vehicle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VehicleCost {
    /// The category of its first line for the vehicle; may be empty.
    pub category: String,
    /// The net amount of its lines for the vehicle.
    pub net: Money,
}

/// Returns the cost of a purchase for a vehicle; `None` if it has no line for it.
pub fn vehicle_cost(purchase: &Purchase, vehicle: VehicleId) -> Option<VehicleCost> {
    let lines = purchase
        .content
        .lines
        .iter()
        .filter(|line| line.vehicle == Some(vehicle));
    let first = lines.clone().next()?;
    Some(VehicleCost {
        category: first.category.as_ref().map(ToString::to_string).unwrap_or_default(),
        net: sum(lines.map(|line| line.net)),
    })
}

/// Notes in a purchase that it is linked to a job, or to none. Records purchase.updated if that changes it.
///
/// # Errors
/// If the store fails.
pub async fn set_vehicle_job(
    store: &mut dyn PurchaseStore,
    business: &Business,
    id: PurchaseId,
    job: Option<LinkedJob>,
    at: Timestamp,
) -> StoreResult<()> {
    let Some(stored) = store.lock_purchase(business.id, id).await? else {
        return Ok(());
    };
    if stored.content.vehicle_job == job {
        return Ok(());
    }
    let mut purchase = stored.clone();
    purchase.content.vehicle_job = job;
    store_changed(store, business, EventName::PurchaseUpdated, &stored, purchase, at).await?;
    Ok(())
}

/// Stores a purchase that differs from `before`, and records the event.
///
/// # Errors
/// [`PurchaseError::Store`].
pub async fn save(
    store: &mut dyn PurchaseStore,
    business: &Business,
    event: EventName,
    before: &Purchase,
    changed: Purchase,
    now: Timestamp,
) -> Result<Purchase, PurchaseError> {
    Ok(store_changed(store, business, event, before, changed, now).await?)
}

async fn store_changed(
    store: &mut dyn PurchaseStore,
    business: &Business,
    event: EventName,
    before: &Purchase,
    changed: Purchase,
    now: Timestamp,
) -> StoreResult<Purchase> {
    let purchase = changed.changed_at(now);
    store.save_purchase(business.id, &purchase).await?;
    let shown_before = show(store, business, before).await?;
    let shown = show(store, business, &purchase).await?;
    record(store, business.id, event, Some(&shown_before), &purchase, shown, now).await?;
    Ok(purchase)
}

/// Returns the purchase as callers see it.
async fn show(store: &mut dyn PurchaseStore, business: &Business, purchase: &Purchase) -> StoreResult<Value> {
    let purchase = show_purchase(store, business, purchase).await?;
    let shown = serde_json::to_value(FullPurchase::from(&purchase));
    shown.map_err(|failure| StoreError::Other(BoxError::from(failure)))
}

async fn record(
    store: &mut dyn PurchaseStore,
    business: BusinessId,
    name: EventName,
    before: Option<&Value>,
    purchase: &Purchase,
    shown: Value,
    at: Timestamp,
) -> StoreResult<()> {
    let event = NewEvent::of_change(name, purchase.id.get(), before, shown, at);
    store.record(business, event).await
}
