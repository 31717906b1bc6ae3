//! Orders.

pub(super) mod people;

use async_trait::async_trait;
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use forecourt_billing::{BillStatus, DealId, InvoiceId, OrderId, OrderNumber, paid};
use forecourt_invoices::{Invoice, InvoiceKind};
use forecourt_kernel::{
    BusinessId, ContactId, Date, Page, PageRequest, SiteId, StaffId, StoreResult, Timestamp, VehicleId, Version, fold,
};
use forecourt_orders::{
    ContactOrderReader, Expired, Order, OrderContent, OrderFilter, OrderReader, OrderStatus, OrderStore, PaidDeposit,
};

use super::billing::{day, days, folded, former_parties, link_contacts, link_vehicles, retained};
use super::invoices::{InvoiceRow, invoices};
use super::owned::OwnedTable;
use super::selection::{RecordKind, Selection};
use super::session::{Mode, Read, Session, Write};
use super::{Db, contacts, list};
use crate::error::other;
use crate::schema::businesses;
use crate::statement::{Prepare as _, RunQueryDsl, for_no_key_update};

pub(super) const OWNED_TABLES: &[OwnedTable] = &[
    OwnedTable::new("order_vehicles", "vehicle, order_id", 500),
    OwnedTable::new("order_contacts", "contact, order_id", 500),
    OwnedTable::new("orders", "id", 100),
];

/// The counter of orders and their numbers.
const ORDERS: &str = "orders";

const KIND: RecordKind = RecordKind {
    table: "orders",
    rows: "orders",
    texts: None,
};

diesel::table! {
    orders (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        version -> BigInt,
        created -> BigInt,
        updated -> BigInt,
        number -> Nullable<BigInt>,
        customer -> Nullable<BigInt>,
        site -> BigInt,
        status -> Text,
        reference_folded -> Nullable<Text>,
        deal -> Nullable<BigInt>,
        invoice -> Nullable<BigInt>,
        salesperson -> Nullable<BigInt>,
        date -> BigInt,
        valid_until -> Nullable<BigInt>,
        retained -> Nullable<BigInt>,
        document -> Text,
    }
}

diesel::table! {
    order_vehicles (business_id, vehicle, order_id) {
        business_id -> BigInt,
        vehicle -> BigInt,
        order_id -> BigInt,
    }
}

diesel::table! {
    order_contacts (business_id, contact, order_id) {
        business_id -> BigInt,
        contact -> BigInt,
        order_id -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(orders, businesses);

#[derive(Queryable, Selectable)]
#[diesel(table_name = orders, check_for_backend(Db))]
struct OrderRow {
    id: i64,
    version: i64,
    created: i64,
    updated: i64,
    number: Option<i64>,
    document: String,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = orders, check_for_backend(Db), treat_none_as_null = true, treat_none_as_default_value = false)]
struct OrderValues {
    version: i64,
    updated: i64,
    number: Option<i64>,
    customer: Option<i64>,
    site: i64,
    status: &'static str,
    reference_folded: Option<String>,
    deal: Option<i64>,
    invoice: Option<i64>,
    salesperson: Option<i64>,
    date: i64,
    valid_until: Option<i64>,
    retained: Option<i64>,
    document: String,
}

impl OrderValues {
    fn new(order: &Order) -> StoreResult<Self> {
        let content = &order.content;
        let agreement = &content.agreement;
        Ok(Self {
            version: order.version.number(),
            updated: order.updated.epoch_seconds(),
            number: order.number.map(OrderNumber::get),
            customer: agreement.customer.map(ContactId::get),
            site: agreement.site.get(),
            status: content.status.name(),
            reference_folded: folded(&agreement.reference),
            deal: agreement.deal.map(DealId::get),
            invoice: content.invoice.map(InvoiceId::get),
            salesperson: agreement.salesperson.map(StaffId::get),
            date: day(agreement.date),
            valid_until: content.valid_until.map(day),
            retained: retained(agreement),
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

impl TryFrom<OrderRow> for Order {
    type Error = forecourt_kernel::StoreError;

    fn try_from(row: OrderRow) -> StoreResult<Self> {
        let unreadable = |failure| other(format!("order {} cannot be read: {failure}", row.id));
        Ok(Self {
            id: OrderId::new(row.id),
            number: row.number.map(OrderNumber::new),
            version: Version::new(row.version),
            created: Timestamp::from_epoch_seconds(row.created),
            updated: Timestamp::from_epoch_seconds(row.updated),
            content: serde_json::from_str(&row.document).map_err(unreadable)?,
        })
    }
}

/// Selects the orders that pass `filter`.
fn selection(business: BusinessId, filter: &OrderFilter) -> Selection {
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
    let mut list = Selection::all(KIND, business);
    list.is("site", site.map(SiteId::get));
    list.is("status", status.map(|status| status.0.name()));
    list.is("number", number.map(OrderNumber::get));
    list.is("reference_folded", reference.as_deref().map(fold));
    list.is("customer", customer.map(ContactId::get));
    list.linked("order_vehicles", "order_id", "vehicle", vehicle.map(VehicleId::get));
    list.is("deal", deal.map(DealId::get));
    list.is("invoice", invoice.map(InvoiceId::get));
    list.is("salesperson", salesperson.map(StaffId::get));
    if let Some(Expired { is_expired, today }) = expired {
        list.overdue(
            "status",
            OrderStatus::Issued.name(),
            "valid_until",
            day(*today),
            *is_expired,
        );
    }
    list.within("date", days(*date));
    list.within("valid_until", days(*valid_until));
    list.during("created", *created);
    list.during("updated", *updated);
    list
}

#[async_trait]
impl<M: Mode> OrderReader for Session<M> {
    async fn order(&mut self, business: BusinessId, id: OrderId) -> StoreResult<Option<Order>> {
        let row: Option<OrderRow> = orders::table
            .find((business.get(), id.get()))
            .select(OrderRow::as_select())
            .get_optional(self.conn().await?)
            .await?;
        row.map(Order::try_from).transpose()
    }

    async fn orders(
        &mut self,
        business: BusinessId,
        filter: &OrderFilter,
        request: &PageRequest,
    ) -> StoreResult<Page<Order>> {
        // Orders are still linked to a contact while it is erased.
        if contacts::is_being_erased(self.conn().await?, business, filter.customer).await? {
            return Ok(Page::of(Vec::new(), request, request.offset().map(|_| 0), |_| 0));
        }
        let selection = selection(business, filter);
        let page = list::page(self, &selection, request, OrderRow::as_select(), |row: &OrderRow| {
            row.id
        })
        .await?;
        page.try_map(Order::try_from)
    }

    async fn paid_deposits(&mut self, business: BusinessId, customers: &[ContactId]) -> StoreResult<Vec<PaidDeposit>> {
        let rows: Vec<InvoiceRow> = invoices::table
            .filter(invoices::business_id.eq(business.get()))
            .filter(
                invoices::customer
                    .assume_not_null()
                    .eq_any(customers.iter().map(|customer| customer.get())),
            )
            .filter(invoices::kind.eq(InvoiceKind::Deposit.name()))
            .filter(invoices::status.eq_any([BillStatus::Issued.name(), BillStatus::Paid.name()]))
            .select(InvoiceRow::as_select())
            .load(self.conn().await?)
            .await?;
        let mut deposits = Vec::with_capacity(rows.len());
        for row in rows {
            let content = Invoice::try_from(row)?.content;
            if let (Some(customer), Some(vehicle)) = (content.agreement.customer, content.agreement.vehicle) {
                deposits.push(PaidDeposit {
                    customer,
                    vehicle,
                    paid: paid(&content.payments),
                });
            }
        }
        Ok(deposits)
    }
}

/// The number of a contact's orders that are read at once.
const OF_CONTACT_AT_ONCE: i64 = 25;

#[async_trait]
impl ContactOrderReader for Session<Read> {
    async fn contact_orders(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: OrderId,
    ) -> StoreResult<Vec<Order>> {
        let rows: Vec<OrderRow> = orders::table
            .filter(orders::business_id.eq(business.get()))
            .filter(orders::customer.assume_not_null().eq(contact.get()))
            .filter(orders::id.gt(after.get()))
            // Not the id alone: otherwise the planner might read all orders in its order.
            .order((orders::customer, orders::id))
            .limit(OF_CONTACT_AT_ONCE)
            .select(OrderRow::as_select())
            .load(self.conn().await?)
            .await?;
        rows.into_iter().map(Order::try_from).collect()
    }
}

impl Session<Write> {
    /// Stores what lists find an order by beside its own columns.
    async fn link_order(&mut self, business: BusinessId, order: &Order) -> StoreResult<()> {
        // Only a draft's lines change.
        if order.content.status == OrderStatus::Draft {
            let vehicles = order.content.agreement.vehicles();
            link_vehicles!(self, business, order_vehicles, order_id = order.id.get(), vehicles);
            link_contacts!(
                self,
                business,
                order_contacts,
                order_id = order.id.get(),
                order.content.agreement
            );
        }
        Ok(())
    }
}

#[async_trait]
impl OrderStore for Session<Write> {
    async fn lock_order(&mut self, business: BusinessId, id: OrderId) -> StoreResult<Option<Order>> {
        let query = orders::table.find((business.get(), id.get()));
        let row: Option<OrderRow> = for_no_key_update(query.select(OrderRow::as_select()))
            .get_optional(self.conn().await?)
            .await?;
        row.map(Order::try_from).transpose()
    }

    async fn insert_order(&mut self, business: BusinessId, content: OrderContent, at: Timestamp) -> StoreResult<Order> {
        let mut order = Order {
            id: OrderId::new(0),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        let id = diesel::insert_into(orders::table)
            .values((
                orders::business_id.eq(business.get()),
                orders::created.eq(at.epoch_seconds()),
                OrderValues::new(&order)?,
            ))
            .returning(orders::id)
            .get_result(self.conn().await?)
            .await?;
        order.id = OrderId::new(id);
        self.count_later(business, ORDERS, 1).await?;
        self.link_order(business, &order).await?;
        Ok(order)
    }

    async fn save_order(&mut self, business: BusinessId, order: &Order) -> StoreResult<()> {
        diesel::update(orders::table.find((business.get(), order.id.get())))
            .set(OrderValues::new(order)?)
            .prepared()
            .execute(self.conn().await?)
            .await?;
        self.count_later(business, ORDERS, 0).await?;
        self.link_order(business, order).await
    }

    async fn orders_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, OrderId)>> {
        former_parties!(self, orders, before, limit, OrderId)
    }

    async fn next_order_number(&mut self, business: BusinessId) -> StoreResult<OrderNumber> {
        self.next_number(business, ORDERS).await.map(OrderNumber::new)
    }
}
