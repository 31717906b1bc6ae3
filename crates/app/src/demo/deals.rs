//! The deals of the sample dealership: two in each stage.

use std::collections::BTreeSet;

use forecourt_accounts::Business;
use forecourt_dealership::Session;
use forecourt_deals::{self as deals, DealChanges, DealReason, DealStage, ReasonCode};
use forecourt_invoices::InvoiceFilter;
use forecourt_kernel::{Clock, ContactId, LongText, StoreResult, VehicleId};
use forecourt_orders::OrderFilter;
use forecourt_reference::StockType;
use forecourt_vehicles::{Vehicle, VehicleStatus};
use serde_json::json;

use super::{everything, refused, stored_contacts, stored_vehicles};

const HOUR: i64 = 3_600;

/// Opens the deals, each about a car of its own once its stage needs one.
///
/// # Errors
/// If the store fails, or a use case refuses a record.
pub(super) async fn load(session: &mut dyn Session, business: &Business, clock: &dyn Clock) -> StoreResult<()> {
    let vehicles = stored_vehicles(session, business).await?;
    let contacts = stored_contacts(session, business).await?;
    let invoices = session
        .invoices(business.id, &InvoiceFilter::default(), &everything())
        .await?;
    let orders = session
        .orders(business.id, &OrderFilter::default(), &everything())
        .await?;
    // Cars that a document names are another customer's.
    let mut taken: BTreeSet<VehicleId> = BTreeSet::new();
    for invoice in &invoices.items {
        if invoice.content.issued.is_none() {
            taken.extend(invoice.content.agreement.sold_vehicles());
        }
    }
    for order in &orders.items {
        taken.extend(order.content.agreement.sold_vehicles());
    }
    let mut customers = contacts.iter().map(|contact| contact.id).cycle();
    let stages = DealStage::ALL.iter().chain(DealStage::ALL);
    for (at, &stage) in (0..).zip(stages) {
        let needed = match stage {
            DealStage::Pending | DealStage::Begin => None,
            DealStage::Confirm => Some(VehicleStatus::Reserved),
            DealStage::Handover => Some(VehicleStatus::Sold),
            DealStage::Complete => Some(VehicleStatus::Complete),
            _ => Some(VehicleStatus::ForSale),
        };
        let suits = |vehicle: &&Vehicle| {
            Some(vehicle.content.status) == needed
                && matches!(vehicle.content.kind, StockType::InStock | StockType::ToOrder)
                && !taken.contains(&vehicle.id)
        };
        let vehicle = vehicles.iter().rev().find(suits);
        taken.extend(vehicle.map(|vehicle| vehicle.id));
        let contact = vehicle.and_then(customer_of).or_else(|| customers.next());
        let mut body = json!({
            "contact": contact, "vehicle": vehicle.map(|vehicle| vehicle.id), "staff": 2 + at % 3, "source": "website",
            "lines": [{"type": "product", "product": "delivery"}],
        });
        if stage == DealStage::Finance {
            body["finance"] = json!({"type": "hp", "amount": 5000, "term": 48, "apr": 9.9, "status": "quoted"});
        }
        let body: DealChanges = serde_json::from_value(body).map_err(refused)?;
        let reason = matches!(stage, DealStage::Declined | DealStage::Fatal).then(|| DealReason {
            code: ReasonCode::WentElsewhere,
            note: LongText::default(),
        });
        let opened = clock.now().plus_seconds(-(30 - at) * 5 * HOUR);
        let loaded = deals::load_deal(session, business, body, stage, reason, opened).await;
        loaded.map_err(refused)?;
    }
    Ok(())
}

/// Returns the customer who has reserved or bought a vehicle.
fn customer_of(vehicle: &Vehicle) -> Option<ContactId> {
    let content = &vehicle.content;
    let reservation = content.reservation.current.as_ref();
    let bought = content.sale.as_ref().and_then(|sale| sale.customer);
    bought.or_else(|| reservation.and_then(|reservation| reservation.customer))
}
