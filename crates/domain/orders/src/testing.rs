//! A store in memory, and the suite that every store of orders must pass.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod contract;

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_billing::{
    Agreement, BillLine, BilledContact, BilledVehicle, BillingReader, LineKind, Party, VatRate, VatScheme,
};
use forecourt_kernel::testing::{HoldsEvents, MemoryEvents, page_of};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, Line, Money, Page, PageRequest, StoreResult, Timestamp, VehicleId, Version,
    fold,
};

pub use self::contract::order_store_contract;

use crate::order::defaults;
use crate::{
    ContactOrderReader, Expired, Order, OrderContent, OrderFilter, OrderId, OrderNumber, OrderReader, OrderStatus,
    OrderStatusChoice, OrderStore, PaidDeposit,
};

/// Orders in memory by id, and the last number drawn for each business.
#[derive(Clone, Debug, Default)]
pub struct MemoryOrders {
    orders: BTreeMap<OrderId, (BusinessId, Order)>,
    numbers: BTreeMap<BusinessId, OrderNumber>,
    /// The deposits that customers of each business have paid.
    pub deposits: Vec<(BusinessId, PaidDeposit)>,
}

impl MemoryOrders {
    /// Returns the orders of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Order> {
        self.orders.values().map(|(_, order)| order)
    }
}

/// A store in memory that holds orders, perhaps with other records. If it reads what documents name, it is an [`OrderReader`]; with
/// an event log it is an [`OrderStore`].
pub trait HoldsOrders: Send {
    /// The orders.
    fn held_orders(&mut self) -> &mut MemoryOrders;
}

/// A complete store: orders with their events, and the contacts and vehicles that they name.
#[derive(Clone, Debug, Default)]
pub struct MemoryOrderStore {
    /// The orders.
    pub records: MemoryOrders,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The contacts of each business.
    pub contacts: Vec<(BusinessId, BilledContact)>,
    /// The vehicles of each business.
    pub vehicles: Vec<(BusinessId, BilledVehicle)>,
}

impl HoldsOrders for MemoryOrderStore {
    fn held_orders(&mut self) -> &mut MemoryOrders {
        &mut self.records
    }
}

impl HoldsEvents for MemoryOrderStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

#[async_trait]
impl BillingReader for MemoryOrderStore {
    async fn billed_contacts(&mut self, business: BusinessId, ids: &[ContactId]) -> StoreResult<Vec<BilledContact>> {
        let own = self.contacts.iter().filter(|(owner, _)| *owner == business);
        let named = own.filter(|(_, contact)| ids.contains(&contact.id));
        Ok(named.map(|(_, contact)| contact.clone()).collect())
    }

    async fn billed_vehicles(&mut self, business: BusinessId, ids: &[VehicleId]) -> StoreResult<Vec<BilledVehicle>> {
        let own = self.vehicles.iter().filter(|(owner, _)| *owner == business);
        let named = own.filter(|(_, vehicle)| ids.contains(&vehicle.id));
        Ok(named.map(|(_, vehicle)| vehicle.clone()).collect())
    }
}

/// Returns `true` if the order passes the filter.
fn passes(filter: &OrderFilter, order: &Order) -> bool {
    let OrderFilter {
        site,
        status,
        number,
        reference,
        customer,
        vehicle,
        deal,
        invoice,
        salesperson,
        expired,
        date,
        valid_until,
        created,
        updated,
    } = filter;
    let content = &order.content;
    let agreement = &content.agreement;
    let is_expired = |&Expired { today, .. }: &Expired| {
        content.status == OrderStatus::Issued && content.valid_until.is_some_and(|last| last < today)
    };
    let has_reference = |wanted: &String| !wanted.is_empty() && fold(wanted) == fold(&agreement.reference);
    site.is_none_or(|site| agreement.site == site)
        && status.is_none_or(|OrderStatusChoice(status)| content.status == status)
        && (number.is_none() || *number == order.number)
        && reference.as_ref().is_none_or(has_reference)
        && (customer.is_none() || *customer == agreement.customer)
        && vehicle.is_none_or(|vehicle| agreement.vehicles().contains(&vehicle))
        && (deal.is_none() || *deal == agreement.deal)
        && (invoice.is_none() || *invoice == content.invoice)
        && (salesperson.is_none() || *salesperson == agreement.salesperson)
        && expired
            .as_ref()
            .is_none_or(|expired| is_expired(expired) == expired.is_expired)
        && date.is_none_or(|range| range.contains(&agreement.date))
        && valid_until.is_none_or(|range| content.valid_until.is_some_and(|last| range.contains(&last)))
        && created.is_none_or(|range| range.contains(&order.created))
        && updated.is_none_or(|range| range.contains(&order.updated))
}

#[async_trait]
impl<S: HoldsOrders + BillingReader> OrderReader for S {
    async fn order(&mut self, business: BusinessId, id: OrderId) -> StoreResult<Option<Order>> {
        let stored = self
            .held_orders()
            .orders
            .get(&id)
            .filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, order)| order.clone()))
    }

    async fn orders(
        &mut self,
        business: BusinessId,
        filter: &OrderFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Order>> {
        let newest_first = self.held_orders().orders.values().rev();
        let passing = newest_first.filter(|(owner, order)| *owner == business && passes(filter, order));
        Ok(page_of(passing.map(|(_, order)| order), page, |order| order.id.get()))
    }

    async fn paid_deposits(&mut self, business: BusinessId, customers: &[ContactId]) -> StoreResult<Vec<PaidDeposit>> {
        let held = self.held_orders().deposits.iter();
        let theirs = held.filter(|(owner, deposit)| *owner == business && customers.contains(&deposit.customer));
        Ok(theirs.map(|(_, deposit)| *deposit).collect())
    }
}

#[async_trait]
impl<S: HoldsOrders> ContactOrderReader for S {
    async fn contact_orders(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: OrderId,
    ) -> StoreResult<Vec<Order>> {
        let held = self.held_orders().orders.values();
        let is_theirs = |order: &Order| order.content.agreement.customer == Some(contact);
        let own = held.filter(|(owner, order)| *owner == business && is_theirs(order));
        let later = own.filter(|(_, order)| order.id > after);
        Ok(later.map(|(_, order)| order.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsOrders + BillingReader + EventLog> OrderStore for S {
    async fn lock_order(&mut self, business: BusinessId, id: OrderId) -> StoreResult<Option<Order>> {
        self.order(business, id).await
    }

    async fn insert_order(&mut self, business: BusinessId, content: OrderContent, at: Timestamp) -> StoreResult<Order> {
        let orders = &mut self.held_orders().orders;
        let last = orders.last_key_value().map_or(0, |(id, _)| id.get());
        let order = Order {
            id: OrderId::new(last + 1),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        orders.insert(order.id, (business, order.clone()));
        Ok(order)
    }

    async fn save_order(&mut self, business: BusinessId, order: &Order) -> StoreResult<()> {
        self.held_orders().orders.insert(order.id, (business, order.clone()));
        Ok(())
    }

    async fn orders_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, OrderId)>> {
        let held = self.held_orders().orders.values();
        let mut found: Vec<_> = held
            .filter(|(_, order)| {
                let agreement = &order.content.agreement;
                agreement.customer.is_none() && agreement.bill_to.is_some() && agreement.date < before
            })
            .map(|(owner, order)| (order.content.agreement.date, *owner, order.id))
            .collect();
        found.sort_unstable();
        let first = found.into_iter().take(limit as usize);
        Ok(first.map(|(_, owner, id)| (owner, id)).collect())
    }

    async fn next_order_number(&mut self, business: BusinessId) -> StoreResult<OrderNumber> {
        let numbers = &mut self.held_orders().numbers;
        let number = numbers.get(&business).map_or(OrderNumber::FIRST, |last| last.next());
        numbers.insert(business, number);
        Ok(number)
    }
}

/// A contact of this id and name.
pub fn a_billed_contact(id: i64, name: &str) -> BilledContact {
    BilledContact {
        id: ContactId::new(id),
        party: Party {
            name: name.to_owned(),
            ..Party::default()
        },
        email: String::new(),
        nominal_sales: String::new(),
        nominal_purchases: String::new(),
    }
}

/// A car that was bought under the margin scheme, advertised for this price in minor units.
pub fn a_billed_vehicle(id: i64, price: i64) -> BilledVehicle {
    BilledVehicle {
        id: VehicleId::new(id),
        description: "2019 Ford Focus ST-Line, AB19 CDE, 41000 miles".to_owned(),
        registration: "AB19 CDE".to_owned(),
        vin: String::new(),
        make: "Ford".to_owned(),
        model: "Focus".to_owned(),
        mileage: Some(41_000),
        price: Some(Money::from_minor(price)),
        is_price_net: false,
        carries_vat: false,
        stock_number: None,
        was_bought_with_vat: false,
        is_exchangeable: false,
    }
}

/// The day of the first order of the suite.
const AT: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

fn line(text: &str) -> Line {
    Line::new(text).expect("it is short")
}

fn a_blank() -> Agreement {
    let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    Agreement::blank(&business, &defaults(&business, AT.date()))
}

/// A line under the margin scheme, for a vehicle if one is given.
fn a_line(id: i64, kind: LineKind, vehicle: Option<i64>, gross: i64) -> BillLine {
    BillLine {
        id,
        kind,
        product: None,
        vehicle: vehicle.map(VehicleId::new),
        stock_number: None,
        description: line("A line"),
        category: None,
        quantity: 1,
        net: Money::from_minor(gross),
        vat_scheme: VatScheme::Margin,
        vat_rate: VatRate::ZERO,
        vat: Money::ZERO,
        gross: Money::from_minor(gross),
        credited: Money::ZERO,
        nominal: line(""),
    }
}

/// An order of this customer, `days` after the first of them, of these lines.
fn an_order(status: OrderStatus, customer: Option<i64>, days: u32, lines: Vec<BillLine>) -> OrderContent {
    let agreement = Agreement {
        customer: customer.map(ContactId::new),
        date: AT.date().days_later(days),
        lines,
        ..a_blank()
    };
    OrderContent {
        status,
        ..OrderContent::draft(agreement)
    }
}

/// A draft by which this customer buys a vehicle.
pub fn a_draft_order(customer: ContactId, vehicle: VehicleId) -> OrderContent {
    let sold = a_line(1, LineKind::Vehicle, Some(vehicle.get()), 1_299_500);
    an_order(OrderStatus::Draft, Some(customer.get()), 0, vec![sold])
}
