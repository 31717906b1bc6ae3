//! Purchases with costs on vehicles, which the vehicles show, and with jobs that show them (areas §10.4, §10.11).

use std::collections::BTreeMap;

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{BillLine, BillStatus, Issue, negative, sum};
use forecourt_jobs::{self as jobs, JobError, LinkedPurchase};
use forecourt_kernel::{Clock, Date, JobId, Money, StoreError, Target, VehicleId};
use forecourt_purchases::{self as purchases, NewPurchaseCredit, Purchase, PurchaseId, PurchaseKind, PurchasePatch};
use forecourt_vehicles::{self as vehicles, BilledCost};

use crate::{SaleError, SaleStore, issue::lock_vehicles};

/// Drafts a purchase, and issues it if the caller wants that.
///
/// # Errors
/// Those of [`purchases::draft_purchase`], then those of [`issue_purchase`].
pub async fn create_purchase(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    draft: &PurchasePatch,
) -> Result<Purchase, SaleError> {
    if draft.issue.is_some() {
        // Before the counters, which a new draft locks.
        lock_vehicles(store, &by.business, draft.vehicles()).await?;
    }
    let purchase = purchases::draft_purchase(store, clock, by, draft).await?;
    match &draft.issue {
        // It is long, and many purchases are only drafted.
        Some(issue) => Box::pin(issue_purchase(store, clock, by, purchase.id, issue)).await,
        None => Ok(purchase),
    }
}

/// Changes a purchase, and shows it so in its job.
///
/// # Errors
/// Those of [`purchases::update_purchase`].
pub async fn update_purchase(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    changes: &PurchasePatch,
) -> Result<Purchase, SaleError> {
    let purchase = purchases::update_purchase(store, clock, by, id, changes).await?;
    refresh_job(store, clock, &by.business, &purchase).await?;
    Ok(purchase)
}

/// Issues a draft. Its costs on vehicles are added to the vehicles: vehicle.updated of each follows the events of the purchase.
///
/// # Errors
/// [`PurchaseError::NotFound`](purchases::PurchaseError::NotFound), then
/// [`PurchaseError::VersionMismatch`](purchases::PurchaseError::VersionMismatch), then
/// [`PurchaseError::AcquisitionLinked`](purchases::PurchaseError::AcquisitionLinked), then those of
/// [`purchases::prepare_purchase_issue`] and [`purchases::complete_purchase_issue`]. Then
/// [`VehicleError::CostsFull`](vehicles::VehicleError::CostsFull) if a vehicle has no room for its costs.
pub async fn issue_purchase(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    issue: &Issue,
) -> Result<Purchase, SaleError> {
    let business = &*by.business;
    let stored = purchases::lock_purchase(store, business.id, id).await?;
    purchases::refuse_linked(&stored)?;
    let draft = purchases::prepare_purchase_issue(store, business, &stored, issue).await?;
    lock_vehicles(
        store,
        business,
        purchases::vehicle_costs(&draft).map(|(vehicle, _)| vehicle),
    )
    .await?;
    let (payment, none) = (issue.payment.as_ref(), Vec::new());
    let purchase = purchases::complete_purchase_issue(store, clock, business, (stored, draft), none, payment).await?;
    bill_costs(store, clock, business, &purchase).await?;
    refresh_job(store, clock, business, &purchase).await?;
    Ok(purchase)
}

/// Credits a purchase in part or in full. The costs that it billed to vehicles are lowered, or removed: vehicle.updated of each
/// follows the events of the purchase.
///
/// # Errors
/// [`PurchaseError::NotFound`](purchases::PurchaseError::NotFound), then
/// [`PurchaseError::VersionMismatch`](purchases::PurchaseError::VersionMismatch), then
/// [`PurchaseError::AcquisitionLinked`](purchases::PurchaseError::AcquisitionLinked), then those of
/// [`purchases::credit_purchase`].
pub async fn credit_purchase(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    by: &Caller,
    id: impl Into<Target<PurchaseId>>,
    command: NewPurchaseCredit,
) -> Result<Purchase, SaleError> {
    let business = &*by.business;
    let stored = purchases::lock_purchase(store, business.id, id).await?;
    purchases::refuse_linked(&stored)?;
    lock_vehicles(
        store,
        business,
        purchases::vehicle_costs(&stored).map(|(vehicle, _)| vehicle),
    )
    .await?;
    let purchase = purchases::credit_purchase(store, clock, business, stored, command).await?;
    bill_costs(store, clock, business, &purchase).await?;
    Ok(purchase)
}

/// Writes the costs of an issued purchase to its vehicles, as they are now. A vehicle that was deleted has none.
async fn bill_costs(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    purchase: &Purchase,
) -> Result<(), SaleError> {
    let Some(number) = purchase.number else {
        return Ok(());
    };
    let content = &purchase.content;
    let supplier = content
        .bill_from
        .as_ref()
        .map(|party| party.name.clone())
        .unwrap_or_default();
    let mut billed: BTreeMap<VehicleId, Vec<BilledCost>> = BTreeMap::new();
    for (vehicle, line) in purchases::vehicle_costs(purchase) {
        let (net, vat) = remaining(purchase, line);
        billed.entry(vehicle).or_default().push(BilledCost {
            purchase: number,
            line: line.id,
            category: line.category.as_ref().map(ToString::to_string).unwrap_or_default(),
            supplier: supplier.clone(),
            net,
            vat,
            supplier_invoice: content.supplier_invoice.to_string(),
            date: content.date,
            is_credited: content.status == BillStatus::Credited
                || (line.gross != Money::ZERO && line.creditable() == Money::ZERO),
        });
    }
    for (vehicle, costs) in billed {
        if let Some(stored) = store.lock_vehicle(business.id, vehicle).await? {
            vehicles::bill_costs(store, clock, business, stored, costs).await?;
        }
    }
    Ok(())
}

/// Returns the net amount and the tax of a line that are not credited.
fn remaining(purchase: &Purchase, line: &BillLine) -> (Money, Money) {
    let notes = purchase.content.credit_notes.iter().flat_map(|note| &note.lines);
    let credited = notes.filter(|noted| noted.line == line.id);
    let net = sum(credited.clone().map(|noted| noted.net));
    let vat = sum(credited.map(|noted| noted.vat));
    (sum([line.net, negative(net)]), sum([line.vat, negative(vat)]))
}

/// Shows a purchase in the job that it is linked to as it is now.
async fn refresh_job(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    purchase: &Purchase,
) -> Result<(), SaleError> {
    let Some(linked) = purchase.content.vehicle_job else {
        return Ok(());
    };
    let cost = purchases::vehicle_cost(purchase, linked.vehicle);
    let shown = LinkedPurchase {
        id: jobs::PurchaseId::new(purchase.id.get()),
        number: purchase.number.map(|number| number.to_string()),
        category: cost.as_ref().map(|cost| cost.category.clone()).unwrap_or_default(),
        net: cost.map_or(Money::ZERO, |cost| cost.net),
    };
    let job = (linked.vehicle, JobId::new(linked.job));
    match jobs::refresh_purchase(store, clock.now(), business.id, job, shown).await {
        Ok(()) => Ok(()),
        Err(JobError::Store(error)) => Err(error.into()),
        // The job has it already, so that nothing of it can be refused.
        Err(error) => Err(StoreError::Other(error.into()).into()),
    }
}

/// Blanks the supplier of an issued purchase whose contact was deleted, once it is kept no longer. The purchase of a vehicle is kept
/// as long as the vehicle is in stock, and then as if it were of the day on which the vehicle was sold (areas §10.0, "Retention").
///
/// # Errors
/// If the store fails.
pub async fn forget_former_supplier(
    store: &mut dyn SaleStore,
    clock: &dyn Clock,
    business: &Business,
    id: PurchaseId,
    before: Date,
) -> Result<(), SaleError> {
    let Some(purchase) = store.purchase(business.id, id).await? else {
        return Ok(());
    };
    if purchase.content.kind == PurchaseKind::Acquisition && purchase.content.is_live() {
        let vehicle = purchase.content.lines.first().and_then(|line| line.vehicle);
        let vehicle = match vehicle {
            Some(vehicle) => store.vehicle(business.id, vehicle).await?,
            None => None,
        };
        // A vehicle that was deleted has left the stock; nothing says when.
        if let Some(vehicle) = vehicle {
            let left = vehicle.content.sale.map(|sale| sale.date);
            if left.is_none_or(|left| left >= before) {
                return Ok(());
            }
        }
    }
    purchases::forget_former_supplier(store, clock, business, id, before).await?;
    if let Some(purchase) = store.purchase(business.id, id).await? {
        forecourt_stock_book::forget_supplier(store, business.id, &purchase).await?;
    }
    Ok(())
}
