//! The invoices and orders of the sample dealership: its sales billed, with one of each turn that a bill can take.

use forecourt_accounts::{Business, Caller};
use forecourt_contacts::ContactType;
use forecourt_dealership::Session;
use forecourt_invoices::{
    self as invoices, Credit, Invoice, InvoiceId, InvoiceKind, Issue, NewInvoice, NewPayment, PaymentMethod,
};
use forecourt_kernel::{Clock, ContactId, Date, Line, Money, ScopeSet, StoreResult, Timestamp, VehicleId};
use forecourt_orders::{self as orders, Order, OrderChanges, OrderIssue};
use forecourt_reference::StockType;
use forecourt_sales::{self as sales, Conversion, SaleError};
use forecourt_vehicles::{Vehicle, VehicleStatus};
use serde_json::{Value, json};

use super::{refused, stored_contacts, stored_vehicles};

/// The price of a vehicle that has none.
const UNPRICED: Money = Money::from_minor(899_500);
const DAY: i64 = 86_400;

/// Bills every sale, and raises drafts, a general invoice and orders in every status.
///
/// # Errors
/// If the store fails, or a use case refuses a record.
pub(super) async fn load(session: &mut dyn Session, business: &Business, clock: &dyn Clock) -> StoreResult<()> {
    let vehicles = stored_vehicles(session, business).await?;
    let contacts = stored_contacts(session, business).await?;
    let is_finance = |kind: &ContactType| *kind == ContactType::Finance;
    let lender = contacts
        .iter()
        .find(|contact| contact.content.types.iter().any(is_finance))
        .or(contacts.last());
    let customers: Vec<ContactId> = contacts.iter().map(|contact| contact.id).collect();
    let (Some(lender), false) = (lender.map(|contact| contact.id), customers.is_empty()) else {
        return Ok(());
    };
    let mut offered = vehicles.iter();
    let appraised = offered.find(|vehicle| vehicle.content.status == VehicleStatus::Appraised);
    let mut office = Office {
        session,
        clock,
        by: Caller::of(business.clone(), ScopeSet::all()),
        lender,
        customers,
        appraised: appraised.map(|vehicle| vehicle.id),
    };
    let is_stock = |vehicle: &&Vehicle| matches!(vehicle.content.kind, StockType::InStock | StockType::ToOrder);
    let of = |status: VehicleStatus| {
        let stock = vehicles.iter().filter(is_stock);
        stock.filter(move |vehicle| vehicle.content.status == status)
    };
    // Oldest first, as their numbers are.
    let mut sold: Vec<&Vehicle> = of(VehicleStatus::Sold).chain(of(VehicleStatus::Complete)).collect();
    sold.sort_by_key(|vehicle| (vehicle.content.sale.as_ref().map(|sale| sale.date), vehicle.id));
    for (vehicle, turn) in sold
        .into_iter()
        .zip(Turn::ALL.into_iter().chain(std::iter::repeat(Turn::Paid)))
    {
        // Their futures are long.
        Box::pin(office.bill(vehicle, turn)).await.map_err(refused)?;
    }
    let for_sale: Vec<&Vehicle> = of(VehicleStatus::ForSale).collect();
    // The oldest are one of each class, which are to stay for sale.
    Box::pin(office.raise_others(&for_sale)).await.map_err(refused)
}

/// The turn that the bill of a sale takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It is not paid in time.
    Overdue,
    /// A finance provider is billed for a part of it.
    Financed,
    /// The customer gave a car in part exchange on which finance was owed.
    PartExchanged,
    /// It was credited in full.
    Credited,
    /// A part of it is paid.
    PartPaid,
    Paid,
}

impl Turn {
    const ALL: [Self; 6] = [
        Self::Overdue,
        Self::Financed,
        Self::PartExchanged,
        Self::Credited,
        Self::PartPaid,
        Self::Paid,
    ];
}

/// Who raises the bills.
struct Office<'a> {
    session: &'a mut dyn Session,
    clock: &'a dyn Clock,
    by: Caller,
    lender: ContactId,
    customers: Vec<ContactId>,
    /// The vehicle that a customer gives in part exchange.
    appraised: Option<VehicleId>,
}

impl Office<'_> {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn days_ago(&self, days: i64) -> Date {
        self.now().plus_seconds(-days * DAY).date()
    }

    fn customer(&self, vehicle: &Vehicle) -> ContactId {
        let place = usize::try_from(vehicle.id.get()).unwrap_or_default() % self.customers.len();
        let buyer = vehicle.content.sale.as_ref().and_then(|sale| sale.customer);
        buyer.unwrap_or(self.customers[place])
    }

    /// Issues the bill of a vehicle that was sold.
    async fn bill(&mut self, vehicle: &Vehicle, turn: Turn) -> Result<(), SaleError> {
        let sale = vehicle.content.sale.as_ref();
        let sold_on = sale.map_or_else(|| self.days_ago(3), |sale| sale.date);
        let date = match turn {
            Turn::Overdue => self.days_ago(21),
            _ => sold_on,
        };
        let mut lines = vec![
            car(vehicle, sale.and_then(|sale| sale.price)),
            json!({"type": "product", "product": "delivery"}),
        ];
        if turn == Turn::PartExchanged {
            lines.push(json!({"type": "product", "product": "warranty-12"}));
        }
        let mut body = json!({
            "customer": self.customer(vehicle), "date": date, "lines": lines,
            "salesperson": 2, "reference": format!("HL-{}", vehicle.id),
        });
        if turn == Turn::Financed {
            body["finance"] = json!({"provider": self.lender, "amount": 5000});
        }
        if turn == Turn::PartExchanged {
            body["part_exchanges"] = json!([{
                "vehicle": self.appraised, "allowance": 2500, "settlement": 800, "lender": self.lender,
            }]);
        }
        let draft = self.draft(body).await?;
        let invoice = sales::issue_invoice(self.session, self.clock, &self.by, draft.id, &Issue::default()).await?;
        let due = invoice.content.totals().due;
        match turn {
            Turn::Overdue => {}
            Turn::Financed => {
                let provider = invoices::create_finance_invoice(self.session, self.clock, &self.by, invoice.id).await?;
                self.pay(provider.id, PaymentMethod::BankTransfer, None, date).await?;
                self.pay(invoice.id, PaymentMethod::Card, None, date).await?;
            }
            Turn::PartPaid => {
                let half = Money::from_minor(due.minor() / 2);
                self.pay(invoice.id, PaymentMethod::Card, Some(half), date).await?;
            }
            Turn::Credited => {
                let credit = Credit {
                    reason: Line::new("Returned within 14 days").unwrap_or_default(),
                    ..Credit::default()
                };
                sales::credit_invoice(self.session, self.clock, &self.by, invoice.id, credit).await?;
            }
            Turn::PartExchanged | Turn::Paid if due > Money::ZERO => {
                self.pay(invoice.id, PaymentMethod::BankTransfer, None, date).await?;
            }
            Turn::PartExchanged | Turn::Paid => {}
        }
        Ok(())
    }

    /// Raises two drafts, a cancelled one, an invoice of a product alone, and orders, for customers of these vehicles.
    async fn raise_others(&mut self, vehicles: &[&Vehicle]) -> Result<(), SaleError> {
        let mut vehicles = vehicles.iter();
        let mut next = || vehicles.next().copied();
        for _ in 0..2 {
            let Some(vehicle) = next() else { return Ok(()) };
            let body = json!({"customer": self.customer(vehicle), "lines": [car(vehicle, None)]});
            self.draft(body).await?;
        }
        let Some(vehicle) = next() else { return Ok(()) };
        let customer = self.customer(vehicle);
        let cancelled = self
            .draft(json!({"customer": customer, "lines": [car(vehicle, None)]}))
            .await?;
        sales::cancel_invoice(self.session, self.clock, &self.by, cancelled.id).await?;
        let general = json!({"customer": customer, "lines": [{"type": "product", "product": "warranty-12"}]});
        let general = self.draft(general).await?;
        debug_assert!(general.content.kind == InvoiceKind::General);
        sales::issue_invoice(self.session, self.clock, &self.by, general.id, &Issue::default()).await?;
        self.pay(general.id, PaymentMethod::Card, None, self.days_ago(0))
            .await?;

        // A draft, an issued one that reserves its car, a converted one, and a cancelled one.
        let Some(vehicle) = next() else { return Ok(()) };
        self.order(vehicle).await?;
        let Some(vehicle) = next() else { return Ok(()) };
        let issued = self.order(vehicle).await?;
        let reserving = OrderIssue {
            reserve: true,
            ..OrderIssue::default()
        };
        sales::issue_order(self.session, self.clock, &self.by, issued.id, reserving).await?;
        let Some(vehicle) = next() else { return Ok(()) };
        let converted = self.order(vehicle).await?;
        sales::issue_order(self.session, self.clock, &self.by, converted.id, OrderIssue::default()).await?;
        sales::convert_order(self.session, self.clock, &self.by, converted.id, Conversion::default()).await?;
        let Some(vehicle) = next() else { return Ok(()) };
        let cancelled = self.order(vehicle).await?;
        sales::issue_order(self.session, self.clock, &self.by, cancelled.id, OrderIssue::default()).await?;
        sales::cancel_order(self.session, self.clock, &self.by, cancelled.id).await?;
        Ok(())
    }

    async fn draft(&mut self, body: Value) -> Result<Invoice, SaleError> {
        let body: NewInvoice = serde_json::from_value(body).map_err(malformed)?;
        let now = self.now();
        let draft = invoices::validate_new(self.session, &self.by.business, now, body).await?;
        Ok(invoices::draft_invoice(self.session, self.clock, &self.by, &draft).await?)
    }

    async fn order(&mut self, vehicle: &Vehicle) -> Result<Order, SaleError> {
        let valid_until = self.now().plus_seconds(14 * DAY).date();
        let body = json!({
            "customer": self.customer(vehicle), "lines": [car(vehicle, None)],
            "salesperson": 4, "valid_until": valid_until,
        });
        let body: OrderChanges = serde_json::from_value(body).map_err(malformed)?;
        let now = self.now();
        let draft = orders::validate_order(self.session, &self.by.business, now, body, true).await?;
        Ok(orders::draft_order(self.session, self.clock, &self.by, &draft).await?)
    }

    async fn pay(
        &mut self,
        invoice: InvoiceId,
        method: PaymentMethod,
        amount: Option<Money>,
        date: Date,
    ) -> Result<(), SaleError> {
        let payment = NewPayment {
            method,
            amount,
            date: Some(date),
            reference: Line::default(),
        };
        invoices::pay_invoice(self.session, self.clock, &self.by, invoice, &payment).await?;
        Ok(())
    }
}

/// Returns the line of a vehicle, at its price, or at one of its own if it has none.
fn car(vehicle: &Vehicle, price: Option<Money>) -> Value {
    let asked = vehicle.content.data.stock.price_website;
    let gross = price.or(asked).filter(|price| *price > Money::ZERO).unwrap_or(UNPRICED);
    json!({"type": "vehicle", "vehicle": vehicle.id, "gross": gross.minor() / 100})
}

fn malformed(error: serde_json::Error) -> SaleError {
    refused(error).into()
}
