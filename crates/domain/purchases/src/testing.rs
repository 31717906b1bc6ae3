//! A store in memory, and the suite that every store of purchases must pass.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod contract;

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_billing::{
    BillLine, BillStatus, BilledContact, BilledVehicle, BillingReader, LineKind, PurchaseCreditNumber, PurchaseId,
    PurchaseNumber, StatusChoice, VatRate, VatScheme, sum,
};
use forecourt_kernel::testing::{HoldsEvents, MemoryEvents, page_of};
use forecourt_kernel::{
    BusinessId, ContactId, Date, EventLog, Line, Money, Page, PageRequest, StoreResult, Timestamp, VehicleId, Version,
};

pub use self::contract::purchase_store_contract;

use crate::{
    ContactPurchaseReader, OverduePurchase, Purchase, PurchaseContent, PurchaseFilter, PurchaseKind, PurchaseReader,
    PurchaseStore, supplier_invoice_key,
};

/// Purchases in memory by id, and the last numbers drawn for each business.
#[derive(Clone, Debug, Default)]
pub struct MemoryPurchases {
    purchases: BTreeMap<PurchaseId, (BusinessId, Purchase)>,
    numbers: BTreeMap<BusinessId, PurchaseNumber>,
    credit_numbers: BTreeMap<BusinessId, PurchaseCreditNumber>,
    stock_numbers: BTreeMap<BusinessId, i64>,
}

impl MemoryPurchases {
    /// Returns the purchases of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Purchase> {
        self.purchases.values().map(|(_, purchase)| purchase)
    }
}

/// A store in memory that holds purchases, perhaps with other records. If it reads what documents name, it is a [`PurchaseReader`];
/// with an event log it is a [`PurchaseStore`].
pub trait HoldsPurchases: Send {
    /// The purchases.
    fn held_purchases(&mut self) -> &mut MemoryPurchases;
}

/// A complete store: purchases with their events, and the contacts and vehicles that they name.
#[derive(Clone, Debug, Default)]
pub struct MemoryPurchaseStore {
    /// The purchases.
    pub records: MemoryPurchases,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The contacts of each business.
    pub contacts: Vec<(BusinessId, BilledContact)>,
    /// The vehicles of each business.
    pub vehicles: Vec<(BusinessId, BilledVehicle)>,
}

impl HoldsPurchases for MemoryPurchaseStore {
    fn held_purchases(&mut self) -> &mut MemoryPurchases {
        &mut self.records
    }
}

impl HoldsEvents for MemoryPurchaseStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

#[async_trait]
impl BillingReader for MemoryPurchaseStore {
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

/// Returns `true` if the purchase passes the filter.
fn passes(filter: &PurchaseFilter, purchase: &Purchase) -> bool {
    let PurchaseFilter {
        site,
        status,
        kind,
        number,
        supplier,
        supplier_invoice,
        vehicle,
        job,
        overdue,
        gross,
        date,
        due_date,
        created,
        updated,
    } = filter;
    let content = &purchase.content;
    let is_overdue = |today: Date| content.status == BillStatus::Issued && content.due_date < today;
    let is_overdue = |&OverduePurchase {
                          is_overdue: wanted,
                          today,
                      }: &OverduePurchase| is_overdue(today) == wanted;
    let has_number = |wanted: &String| {
        let wanted = supplier_invoice_key(wanted);
        !wanted.is_empty() && wanted == supplier_invoice_key(&content.supplier_invoice)
    };
    site.is_none_or(|site| content.site == site)
        && status.is_none_or(|StatusChoice(status)| content.status == status)
        && kind.is_none_or(|kind| content.kind == kind)
        && (number.is_none() || *number == purchase.number)
        && (supplier.is_none() || *supplier == content.supplier)
        && supplier_invoice.as_ref().is_none_or(has_number)
        && vehicle.is_none_or(|vehicle| content.lines.iter().any(|line| line.vehicle == Some(vehicle)))
        && job.is_none_or(|job| content.vehicle_job.is_some_and(|linked| linked.job == job))
        && overdue.as_ref().is_none_or(is_overdue)
        && gross.is_none_or(|range| range.contains(&sum(content.lines.iter().map(|line| line.gross))))
        && date.is_none_or(|range| range.contains(&content.date))
        && due_date.is_none_or(|range| range.contains(&content.due_date))
        && created.is_none_or(|range| range.contains(&purchase.created))
        && updated.is_none_or(|range| range.contains(&purchase.updated))
}

#[async_trait]
impl<S: HoldsPurchases + BillingReader> PurchaseReader for S {
    async fn purchase(&mut self, business: BusinessId, id: PurchaseId) -> StoreResult<Option<Purchase>> {
        let held = &self.held_purchases().purchases;
        let stored = held.get(&id).filter(|(owner, _)| *owner == business);
        Ok(stored.map(|(_, purchase)| purchase.clone()))
    }

    async fn purchases(
        &mut self,
        business: BusinessId,
        filter: &PurchaseFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Purchase>> {
        let newest_first = self.held_purchases().purchases.values().rev();
        let passing = newest_first.filter(|(owner, purchase)| *owner == business && passes(filter, purchase));
        let passing = passing.map(|(_, purchase)| purchase);
        Ok(page_of(passing, page, |purchase| purchase.id.get()))
    }
}

#[async_trait]
impl<S: HoldsPurchases> ContactPurchaseReader for S {
    async fn contact_purchases(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: PurchaseId,
    ) -> StoreResult<Vec<Purchase>> {
        let held = self.held_purchases().purchases.values();
        let theirs = held.filter(|(owner, purchase)| {
            *owner == business && purchase.content.supplier == Some(contact) && purchase.id > after
        });
        Ok(theirs.map(|(_, purchase)| purchase.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsPurchases + BillingReader + EventLog> PurchaseStore for S {
    async fn lock_purchase(&mut self, business: BusinessId, id: PurchaseId) -> StoreResult<Option<Purchase>> {
        self.purchase(business, id).await
    }

    async fn purchase_of_supplier_invoice(
        &mut self,
        business: BusinessId,
        supplier: ContactId,
        key: &str,
        except: Option<PurchaseId>,
    ) -> StoreResult<Option<Purchase>> {
        let held = self.held_purchases().purchases.values();
        let is_such = |purchase: &Purchase| {
            let content = &purchase.content;
            content.supplier == Some(supplier)
                && content.kind == PurchaseKind::Cost
                && !matches!(content.status, BillStatus::Cancelled | BillStatus::Credited)
                && supplier_invoice_key(&content.supplier_invoice) == key
                && Some(purchase.id) != except
        };
        let mut found = held.filter(|(owner, purchase)| *owner == business && is_such(purchase));
        Ok(found.next().map(|(_, purchase)| purchase.clone()))
    }

    async fn insert_purchase(
        &mut self,
        business: BusinessId,
        content: PurchaseContent,
        at: Timestamp,
    ) -> StoreResult<Purchase> {
        let purchases = &mut self.held_purchases().purchases;
        let last = purchases.last_key_value().map_or(0, |(id, _)| id.get());
        let purchase = Purchase {
            id: PurchaseId::new(last + 1),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        purchases.insert(purchase.id, (business, purchase.clone()));
        Ok(purchase)
    }

    async fn save_purchase(&mut self, business: BusinessId, purchase: &Purchase) -> StoreResult<()> {
        let purchases = &mut self.held_purchases().purchases;
        purchases.insert(purchase.id, (business, purchase.clone()));
        Ok(())
    }

    async fn purchases_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, PurchaseId)>> {
        let held = self.held_purchases().purchases.values();
        let mut found: Vec<_> = held
            .filter(|(_, purchase)| {
                let content = &purchase.content;
                content.supplier.is_none() && content.bill_from.is_some() && content.date < before
            })
            .map(|(owner, purchase)| (purchase.content.date, *owner, purchase.id))
            .collect();
        found.sort_unstable();
        let first = found.into_iter().take(limit as usize);
        Ok(first.map(|(_, owner, id)| (owner, id)).collect())
    }

    async fn next_purchase_number(&mut self, business: BusinessId) -> StoreResult<PurchaseNumber> {
        let numbers = &mut self.held_purchases().numbers;
        let number = numbers.get(&business).map_or(PurchaseNumber::FIRST, |last| last.next());
        numbers.insert(business, number);
        Ok(number)
    }

    async fn next_stock_number(&mut self, business: BusinessId) -> StoreResult<i64> {
        let last = self.held_purchases().stock_numbers.entry(business).or_default();
        *last += 1;
        Ok(*last)
    }

    async fn next_purchase_credit_number(&mut self, business: BusinessId) -> StoreResult<PurchaseCreditNumber> {
        let numbers = &mut self.held_purchases().credit_numbers;
        let number = numbers
            .get(&business)
            .map_or(PurchaseCreditNumber::FIRST, |last| last.next());
        numbers.insert(business, number);
        Ok(number)
    }
}

/// The day of the first purchase of the suite.
const AT: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

fn line(text: &str) -> Line {
    Line::new(text).expect("it is short")
}

fn a_blank() -> PurchaseContent {
    let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    PurchaseContent::blank(&business, AT.date())
}

/// A cost without tax, on a vehicle if one is given.
fn a_cost(id: i64, vehicle: Option<i64>, gross: i64) -> BillLine {
    BillLine {
        id,
        kind: LineKind::Cost,
        product: None,
        vehicle: vehicle.map(VehicleId::new),
        stock_number: None,
        description: line("Full valet"),
        category: Some(line("Valet")),
        quantity: 1,
        net: Money::from_minor(gross),
        vat_scheme: VatScheme::Outside,
        vat_rate: VatRate::ZERO,
        vat: Money::ZERO,
        gross: Money::from_minor(gross),
        credited: Money::ZERO,
        nominal: line(""),
    }
}

/// A purchase from this supplier, `days` after the first of them, of these lines.
fn a_purchase(status: BillStatus, supplier: Option<i64>, days: u32, lines: Vec<BillLine>) -> PurchaseContent {
    let date = AT.date().days_later(days);
    PurchaseContent {
        status,
        supplier: supplier.map(ContactId::new),
        date,
        due_date: date,
        lines,
        ..a_blank()
    }
}

/// A draft by which this supplier bills a cost on a vehicle.
pub fn a_draft_purchase(supplier: ContactId, vehicle: VehicleId) -> PurchaseContent {
    let cost = a_cost(1, Some(vehicle.get()), 6_000);
    a_purchase(BillStatus::Draft, Some(supplier.get()), 0, vec![cost])
}
