//! Acquiring vehicles: the purchase, the vehicle and its number in the stock book in one step (areas §10.5).

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{
    BillLine, BilledContact, BilledVehicle, BillingReader, Credit, Issue, LineKind, NewPayment, Payment, PurchaseId,
    PurchaseNumber, VatRate, VatScheme, VatSplit, cut,
};
use forecourt_invoices as invoices;
use forecourt_kernel::{
    BusinessId, Clock, ContactId, Date, Line, Money, StoreResult, Target, ValidationErrors, VehicleId,
};
use forecourt_purchases::{
    self as purchases, NewAcquisition, NewPurchaseCredit, Purchase, PurchaseContent, PurchaseError, PurchaseKind,
    PurchaseOrigin,
};
use forecourt_vehicles::{self as vehicles, AcquiredFrom, Vehicle, VehicleError};
use serde::Serialize;

use crate::{AcquisitionReader, SaleError, SaleStore};

/// The acquisition of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleAcquisition))]
pub struct AcquisitionView {
    /// `true` while the vehicle is acquired.
    acquired: bool,
    /// Its number in the stock book.
    #[cfg_attr(feature = "openapi", schema(required, example = 17))]
    stock_number: Option<i64>,
    /// Id of the purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    purchase: Option<PurchaseId>,
    /// Number of the purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, example = "PUR-1"))]
    number: Option<PurchaseNumber>,
    /// Contact that it was bought from; null once the contact is deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    supplier: Option<ContactId>,
    /// Day of the purchase.
    #[cfg_attr(feature = "openapi", schema(required))]
    date: Option<Date>,
    /// Price with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "10000.00"))]
    price: Option<Money>,
    /// VAT scheme of the purchase.
    #[cfg_attr(feature = "openapi", schema(required))]
    vat_scheme: Option<VatScheme>,
}

/// Returns the acquisition of a vehicle; all of it is null without one.
///
/// # Errors
/// [`VehicleError::NotFound`]; [`VehicleError::Store`].
pub async fn read_acquisition(
    store: &mut dyn AcquisitionReader,
    business: BusinessId,
    id: VehicleId,
) -> Result<AcquisitionView, SaleError> {
    let vehicle = store.vehicle(business, id).await?.ok_or(VehicleError::NotFound(id))?;
    let Some(acquisition) = vehicle.content.acquisition else {
        return Ok(AcquisitionView::default());
    };
    let purchase = purchases::read_purchase(store, business, acquisition.purchase).await?;
    let line = purchase.content.lines.first();
    Ok(AcquisitionView {
        acquired: true,
        stock_number: vehicle.content.stock_number,
        purchase: Some(purchase.id),
        number: purchase.number,
        supplier: purchase.content.supplier,
        date: Some(purchase.content.date),
        price: line.map(|line| line.gross),
        vat_scheme: line.map(|line| line.vat_scheme),
    })
}

/// Returns the faults of an acquisition that only storage knows: the supplier must be a contact of the business.
///
/// # Errors
/// If the store fails.
pub async fn validate_acquisition(
    store: &mut dyn BillingReader,
    business: &Business,
    supplier: ContactId,
) -> StoreResult<ValidationErrors> {
    Ok(match billed_supplier(store, business, supplier).await? {
        Some(_) => ValidationErrors::new(),
        None => unknown_supplier(),
    })
}

fn unknown_supplier() -> ValidationErrors {
    ValidationErrors::one("supplier", "names no contact of this business")
}

pub(crate) async fn billed_supplier(
    store: &mut dyn BillingReader,
    business: &Business,
    supplier: ContactId,
) -> StoreResult<Option<BilledContact>> {
    let found = store.billed_contacts(business.id, &[supplier]).await?;
    Ok(found.into_iter().next())
}

/// Acquires a vehicle. The purchase of one line is issued at once. Records purchase.created, purchase.issued, purchase.paid if
/// nothing is due, and vehicle.updated.
///
/// # Errors
/// [`PurchaseError::Invalid`] (`supplier`), then [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then those of
/// [`vehicles::validate_acquirable`], then [`PurchaseError::Invalid`] (`payment.amount`).
pub async fn acquire_vehicle(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
    command: NewAcquisition,
) -> Result<Purchase, SaleError> {
    let business = &*by.business;
    let Target { id, precondition } = id.into();
    let supplier = billed_supplier(store, business, command.supplier).await?;
    let supplier = supplier.ok_or_else(|| PurchaseError::Invalid(unknown_supplier()))?;
    let vehicle = vehicles::lock_vehicle(store, business.id, id).await?;
    precondition.check(vehicle.version).map_err(VehicleError::from)?;
    vehicles::validate_acquirable(&vehicle)?;
    let acquired = Acquired {
        vehicle,
        supplier,
        origin: None,
        taken: Vec::new(),
    };
    acquire(store, clock, business, acquired, command).await
}

/// A vehicle, locked and acquirable, that is bought.
pub(crate) struct Acquired {
    pub(crate) vehicle: Vehicle,
    pub(crate) supplier: BilledContact,
    /// The part exchange by which it came.
    pub(crate) origin: Option<PurchaseOrigin>,
    /// The payments that are made already.
    pub(crate) taken: Vec<Payment>,
}

/// Buys a vehicle.
///
/// # Errors
/// [`PurchaseError::Invalid`] (`payment.amount`); if the store fails.
pub(crate) async fn acquire(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    acquired: Acquired,
    command: NewAcquisition,
) -> Result<Purchase, SaleError> {
    let Acquired {
        vehicle,
        supplier,
        origin,
        taken,
    } = acquired;
    let (content, payment) = draft_of(business, &vehicle, &supplier, command);
    let content = PurchaseContent { origin, ..content };
    let draft = purchases::insert(store, business, clock.now(), content).await?;
    let stock_number = match vehicle.content.stock_number {
        Some(number) => number,
        None => store.next_stock_number(business.id).await?,
    };
    let issue = Issue {
        payment,
        ..Issue::default()
    };
    let mut prepared = purchases::prepare_purchase_issue(store, business, &draft, &issue).await?;
    for line in &mut prepared.content.lines {
        line.stock_number = Some(stock_number);
    }
    let steps = (draft, prepared);
    let payment = issue.payment.as_ref();
    let purchase = purchases::complete_purchase_issue(store, clock, business, steps, taken, payment).await?;
    if let (Some(number), Some(line)) = (purchase.number, purchase.content.lines.first()) {
        let from = AcquiredFrom {
            purchase: purchase.id,
            number,
            stock_number,
            date: purchase.content.date,
            supplier: (supplier.id, supplier.party.name),
            supplier_invoice: purchase.content.supplier_invoice.to_string(),
            net: line.net,
            vat: line.vat,
            gross: line.gross,
        };
        vehicles::acquire_vehicle(store, clock, business, vehicle, &from).await?;
    }
    Ok(purchase)
}

/// Returns the draft of a purchase of a vehicle, and the payment at its issue.
fn draft_of(
    business: &Business,
    vehicle: &Vehicle,
    supplier: &BilledContact,
    command: NewAcquisition,
) -> (PurchaseContent, Option<NewPayment>) {
    let NewAcquisition {
        supplier: _,
        price,
        vat_scheme,
        vat_rate,
        date,
        supplier_invoice,
        due_date,
        payment,
        notes,
    } = command;
    let vat_rate = match vat_scheme {
        VatScheme::Standard => vat_rate.unwrap_or_else(|| VatRate::standard(business.country)),
        _ => VatRate::ZERO,
    };
    let VatSplit { net, vat } = vat_rate.split(price);
    let line = BillLine {
        id: 1,
        kind: LineKind::Vehicle,
        product: None,
        vehicle: Some(vehicle.id),
        stock_number: None,
        description: cut(&BilledVehicle::from(vehicle).description),
        category: None,
        quantity: 1,
        net,
        vat_scheme,
        vat_rate,
        vat,
        gross: price,
        credited: Money::ZERO,
        nominal: cut(&supplier.nominal_purchases),
    };
    let content = PurchaseContent {
        kind: PurchaseKind::Acquisition,
        supplier: Some(supplier.id),
        supplier_invoice,
        date,
        due_date: due_date.unwrap_or(date),
        is_due_date_chosen: due_date.is_some(),
        lines: vec![line],
        notes,
        ..PurchaseContent::blank(business, date)
    };
    (content, payment)
}

/// Undoes the acquisition of a vehicle: its purchase is credited in full, and the vehicle shows nothing of it any more. Records
/// purchase.credited, then invoice.updated if it came in part exchange, whose payment is reversed, then vehicle.updated.
///
/// # Errors
/// [`VehicleError::NotFound`], then [`VehicleError::VersionMismatch`], then those of [`vehicles::validate_undo_acquisition`].
pub async fn undo_acquisition(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<VehicleId>>,
) -> Result<Vehicle, SaleError> {
    let business = &*by.business;
    let Target { id, precondition } = id.into();
    // The purchase is locked before the vehicle. A vehicle that is acquired anew in the meantime has another version.
    let found = store.vehicle(business.id, id).await?;
    let known = found.and_then(|vehicle| vehicle.content.acquisition);
    let purchase = match known {
        Some(known) => store.lock_purchase(business.id, known.purchase).await?,
        None => None,
    };
    let origin = purchase.as_ref().and_then(|purchase| purchase.content.origin);
    if let Some(origin) = origin {
        store.lock_invoice(business.id, origin.invoice).await?;
    }
    let vehicle = vehicles::lock_vehicle(store, business.id, id).await?;
    precondition.check(vehicle.version).map_err(VehicleError::from)?;
    let acquisition = vehicles::validate_undo_acquisition(&vehicle)?;
    let purchase = match purchase {
        Some(purchase) if purchase.id == acquisition.purchase => purchase,
        _ => purchases::lock_purchase(store, business.id, acquisition.purchase).await?,
    };
    if purchase.content.is_live() {
        let credit = NewPurchaseCredit {
            credit: Credit {
                reason: Line::new("Acquisition undone").unwrap_or_default(),
                ..Credit::default()
            },
            supplier_reference: Line::default(),
        };
        let origin = purchase.content.origin;
        purchases::credit_purchase(store, clock, business, purchase, credit).await?;
        if let Some(PurchaseOrigin { invoice, part_exchange }) = origin {
            invoices::reverse_part_exchange(store, clock, business, invoice, part_exchange).await?;
        }
    }
    let vehicle = vehicles::undo_acquisition(store, clock, business, vehicle).await?;
    forecourt_stock_book::keep_entry(store, business, id).await?;
    Ok(vehicle)
}
