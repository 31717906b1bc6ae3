//! The purchases of the sample dealership: its stock, and ten costs.

use forecourt_accounts::{Business, Caller};
use forecourt_billing::{Credit, Issue, NewPayment, PaymentMethod, VatScheme};
use forecourt_contacts::ContactType;
use forecourt_dealership::Session;
use forecourt_kernel::{Clock, ContactId, Line, LongText, Money, ScopeSet, StoreResult, Timestamp};
use forecourt_purchases::{self as purchases, NewAcquisition, NewPurchase, NewPurchaseCredit};
use forecourt_reference::StockType;
use forecourt_sales::{self as sales, SaleError};
use forecourt_vehicles::{Vehicle, VehicleStatus, carries_vat};
use serde_json::json;

use super::{refused, stored_contacts, stored_vehicles};

const DAY: i64 = 86_400;
/// The price of a vehicle that has none.
const UNPRICED: Money = Money::from_minor(650_000);
/// The costs beside vehicles: a category, and its price without tax.
const COSTS: [(&str, i64); 10] = [
    ("Valet", 65),
    ("MOT", 55),
    ("Parts", 240),
    ("Tyres", 310),
    ("Bodywork", 420),
    ("Valet", 65),
    ("Delivery", 180),
    ("Inspection", 95),
    ("Advertising", 600),
    ("Rent", 2_400),
];

/// Acquires every vehicle in stock, oldest first, and buys what prepares some of them.
///
/// # Errors
/// If the store fails, or a use case refuses a record.
pub(super) async fn load(session: &mut dyn Session, business: &Business, clock: &dyn Clock) -> StoreResult<()> {
    let vehicles = stored_vehicles(session, business).await?;
    let contacts = stored_contacts(session, business).await?;
    let sells = |kind: &ContactType| matches!(kind, ContactType::Supplier | ContactType::Trade);
    let suppliers: Vec<ContactId> = contacts
        .iter()
        .filter(|contact| contact.content.types.iter().any(sells))
        .map(|contact| contact.id)
        .collect();
    let known = contacts.first().map(|contact| contact.id);
    let Some(fallback) = suppliers.first().copied().or(known) else {
        return Ok(());
    };
    let by = Caller::of(business.clone(), ScopeSet::all());
    let mut suppliers = suppliers.iter().copied().cycle();
    let is_stock = |vehicle: &&Vehicle| {
        matches!(
            vehicle.content.kind,
            StockType::InStock | StockType::ToOrder | StockType::Courtesy
        )
    };
    let stock: Vec<&Vehicle> = vehicles.iter().rev().filter(is_stock).collect();
    for (vehicle, at) in stock.iter().zip(0..) {
        let supplier = suppliers.next().unwrap_or(fallback);
        // Few are not paid for yet.
        let is_paid = at % 8 != 7;
        let bought = acquisition(vehicle, supplier, is_paid, clock.now());
        let acquired = sales::acquire_vehicle(session, clock, &by, vehicle.id, bought).await;
        acquired.map_err(refused)?;
    }
    let advertised = stock
        .into_iter()
        .filter(|vehicle| vehicle.content.status == VehicleStatus::ForSale);
    let prepared: Vec<&Vehicle> = advertised.collect();
    for at in 0..COSTS.len() {
        let supplier = suppliers.next().unwrap_or(fallback);
        let vehicle = prepared.get(at).copied();
        buy(session, clock, &by, at, supplier, vehicle).await.map_err(refused)?;
    }
    Ok(())
}

fn acquisition(vehicle: &Vehicle, supplier: ContactId, is_paid: bool, now: Timestamp) -> NewAcquisition {
    let stock = &vehicle.content.data.stock;
    let asked = stock.price_website.filter(|price| *price > Money::ZERO);
    // Whole pounds, at about six sevenths of what is asked.
    let price = asked.map_or(UNPRICED, |asked| Money::from_minor(asked.minor() / 700 * 600));
    let date = vehicle.created.min(now).date();
    let payment = is_paid.then(|| NewPayment {
        method: PaymentMethod::BankTransfer,
        amount: None,
        date: Some(date),
        reference: Line::default(),
    });
    NewAcquisition {
        supplier,
        price,
        vat_scheme: if carries_vat(stock) {
            VatScheme::Standard
        } else {
            VatScheme::Margin
        },
        vat_rate: None,
        date,
        supplier_invoice: Line::new(format!("A-{}", vehicle.id)).unwrap_or_default(),
        due_date: None,
        payment: payment.filter(|_| price > Money::ZERO),
        notes: LongText::default(),
    }
}

/// Buys the cost at this place of the list: a draft, a cancelled, a credited and an open one are among them.
async fn buy(
    session: &mut dyn Session,
    clock: &dyn Clock,
    by: &Caller,
    at: usize,
    supplier: ContactId,
    vehicle: Option<&Vehicle>,
) -> Result<(), SaleError> {
    let Some((category, net)) = COSTS.get(at) else {
        return Ok(());
    };
    let mut line = json!({"type": "cost", "category": category, "description": category, "net": net});
    if let Some(vehicle) = vehicle.filter(|_| !matches!(*category, "Advertising" | "Rent")) {
        line["vehicle"] = json!(vehicle.id);
    }
    let days = i64::try_from(at).unwrap_or_default();
    let date = clock.now().plus_seconds(-days * DAY).date();
    let body = json!({
        "supplier": supplier, "supplier_invoice": format!("R-{}", 4_100 + at), "date": date, "lines": [line],
    });
    let body: NewPurchase = serde_json::from_value(body).map_err(refused)?;
    let draft = purchases::validate_new_purchase(session, &by.business, clock.now(), body).await?;
    let purchase = sales::create_purchase(session, clock, by, &draft).await?.id;
    match at {
        0 => return Ok(()),
        1 => {
            purchases::cancel_purchase(session, clock, by, purchase).await?;
            return Ok(());
        }
        _ => {}
    }
    sales::issue_purchase(session, clock, by, purchase, &Issue::default()).await?;
    match at {
        2 => {
            let credit = NewPurchaseCredit {
                credit: Credit {
                    reason: Line::new("Wrong part").unwrap_or_default(),
                    ..Credit::default()
                },
                supplier_reference: Line::default(),
            };
            sales::credit_purchase(session, clock, by, purchase, credit).await?;
        }
        3 | 4 => {}
        _ => {
            let payment = NewPayment {
                method: PaymentMethod::BankTransfer,
                amount: None,
                date: Some(date),
                reference: Line::default(),
            };
            purchases::pay_purchase(session, clock, by, purchase, &payment).await?;
        }
    }
    Ok(())
}
