//! A store in memory, and the suite that every store of invoices must pass.

#![expect(clippy::expect_used, clippy::panic, reason = "this is for tests, which fail so")]

mod contract;

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_accounts::Business;
use forecourt_billing::{
    Agreement, BillLine, BilledContact, BilledVehicle, BillingReader, LineKind, Party, VatScheme, VatSplit,
};
use forecourt_kernel::testing::{HoldsEvents, MemoryEvents, page_of};
use forecourt_kernel::{
    BusinessId, ContactId, Country, Date, EventLog, Line, Money, Page, PageRequest, SiteId, StoreResult, Timestamp,
    VehicleId, Version, fold,
};

pub use self::contract::invoice_store_contract;

use crate::invoice::defaults;
use crate::{
    ContactInvoiceReader, CreditNumber, Invoice, InvoiceContent, InvoiceFilter, InvoiceId, InvoiceNumber,
    InvoiceReader, InvoiceStatus, InvoiceStore, Overdue, PaymentMethod, RaiseDeposit, StatusChoice, VatRate,
};

/// Invoices in memory by id, and the last number drawn for each business.
#[derive(Clone, Debug, Default)]
pub struct MemoryInvoices {
    invoices: BTreeMap<InvoiceId, (BusinessId, Invoice)>,
    invoice_numbers: BTreeMap<BusinessId, InvoiceNumber>,
    credit_numbers: BTreeMap<BusinessId, CreditNumber>,
}

impl MemoryInvoices {
    /// Returns the invoices of all businesses, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Invoice> {
        self.invoices.values().map(|(_, invoice)| invoice)
    }

    fn find(&self, business: BusinessId, is_it: impl Fn(&Invoice) -> bool) -> Option<Invoice> {
        let own = self.invoices.values().filter(|(owner, _)| *owner == business);
        own.map(|(_, invoice)| invoice).find(|invoice| is_it(invoice)).cloned()
    }
}

/// A store in memory that holds invoices, perhaps with other records. If it reads what documents name, it is an [`InvoiceReader`];
/// with an event log it is an [`InvoiceStore`].
pub trait HoldsInvoices: Send {
    /// The invoices.
    fn held_invoices(&mut self) -> &mut MemoryInvoices;
}

/// A complete store: invoices with their events, and the contacts and vehicles that they name.
#[derive(Clone, Debug, Default)]
pub struct MemoryInvoiceStore {
    /// The invoices.
    pub records: MemoryInvoices,
    /// The recorded events.
    pub events: MemoryEvents,
    /// The contacts of each business.
    pub contacts: Vec<(BusinessId, BilledContact)>,
    /// The vehicles of each business.
    pub vehicles: Vec<(BusinessId, BilledVehicle)>,
}

impl HoldsInvoices for MemoryInvoiceStore {
    fn held_invoices(&mut self) -> &mut MemoryInvoices {
        &mut self.records
    }
}

impl HoldsEvents for MemoryInvoiceStore {
    fn held_events(&mut self) -> &mut MemoryEvents {
        &mut self.events
    }
}

#[async_trait]
impl BillingReader for MemoryInvoiceStore {
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

/// Returns `true` if the invoice passes the filter.
fn passes(filter: &InvoiceFilter, invoice: &Invoice) -> bool {
    let InvoiceFilter {
        site,
        status,
        kind,
        number,
        reference,
        customer,
        vehicle,
        deal,
        order,
        parent,
        salesperson,
        credit_note,
        overdue,
        gross,
        date,
        due_date,
        created,
        updated,
    } = filter;
    let content = &invoice.content;
    let agreement = &content.agreement;
    let is_overdue =
        |&Overdue { today, .. }: &Overdue| content.status == InvoiceStatus::Issued && content.due_date < today;
    let has_reference = |wanted: &String| !wanted.is_empty() && fold(wanted) == fold(&agreement.reference);
    site.is_none_or(|site| agreement.site == site)
        && status.is_none_or(|StatusChoice(status)| content.status == status)
        && kind.is_none_or(|kind| content.kind == kind)
        && (number.is_none() || *number == invoice.number)
        && reference.as_ref().is_none_or(has_reference)
        && (customer.is_none() || *customer == agreement.customer)
        && vehicle.is_none_or(|vehicle| agreement.vehicles().contains(&vehicle))
        && (deal.is_none() || *deal == agreement.deal)
        && (order.is_none() || *order == content.order)
        && (parent.is_none() || *parent == content.parent)
        && (salesperson.is_none() || *salesperson == agreement.salesperson)
        && credit_note.is_none_or(|wanted| content.credit_notes.iter().any(|note| note.number == wanted))
        && overdue
            .as_ref()
            .is_none_or(|overdue| is_overdue(overdue) == overdue.is_overdue)
        && gross.is_none_or(|range| range.contains(&agreement.gross()))
        && date.is_none_or(|range| range.contains(&agreement.date))
        && due_date.is_none_or(|range| range.contains(&content.due_date))
        && created.is_none_or(|range| range.contains(&invoice.created))
        && updated.is_none_or(|range| range.contains(&invoice.updated))
}

#[async_trait]
impl<S: HoldsInvoices + BillingReader> InvoiceReader for S {
    async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
        Ok(self.held_invoices().find(business, |invoice| invoice.id == id))
    }

    async fn invoices(
        &mut self,
        business: BusinessId,
        filter: &InvoiceFilter,
        page: &PageRequest,
    ) -> StoreResult<Page<Invoice>> {
        let newest_first = self.held_invoices().invoices.values().rev();
        let passing = newest_first.filter(|(owner, invoice)| *owner == business && passes(filter, invoice));
        Ok(page_of(passing.map(|(_, invoice)| invoice), page, |invoice| {
            invoice.id.get()
        }))
    }

    async fn invoice_by_number(&mut self, business: BusinessId, number: InvoiceNumber) -> StoreResult<Option<Invoice>> {
        let held = self.held_invoices();
        Ok(held.find(business, |invoice| invoice.number == Some(number)))
    }
}

#[async_trait]
impl<S: HoldsInvoices> ContactInvoiceReader for S {
    async fn contact_invoices(
        &mut self,
        business: BusinessId,
        contact: ContactId,
        after: InvoiceId,
    ) -> StoreResult<Vec<Invoice>> {
        let held = self.held_invoices().invoices.values();
        let is_theirs = |invoice: &Invoice| invoice.content.agreement.customer == Some(contact);
        let own = held.filter(|(owner, invoice)| *owner == business && is_theirs(invoice));
        let later = own.filter(|(_, invoice)| invoice.id > after);
        Ok(later.map(|(_, invoice)| invoice.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsInvoices + BillingReader + EventLog> InvoiceStore for S {
    async fn lock_invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
        self.invoice(business, id).await
    }

    async fn insert_invoice(
        &mut self,
        business: BusinessId,
        content: InvoiceContent,
        at: Timestamp,
    ) -> StoreResult<Invoice> {
        let invoices = &mut self.held_invoices().invoices;
        let last = invoices.last_key_value().map_or(0, |(id, _)| id.get());
        let invoice = Invoice {
            id: InvoiceId::new(last + 1),
            number: None,
            version: Version::FIRST,
            created: at,
            updated: at,
            content,
        };
        invoices.insert(invoice.id, (business, invoice.clone()));
        Ok(invoice)
    }

    async fn save_invoice(&mut self, business: BusinessId, invoice: &Invoice) -> StoreResult<()> {
        let invoices = &mut self.held_invoices().invoices;
        invoices.insert(invoice.id, (business, invoice.clone()));
        Ok(())
    }

    async fn invoices_with_former_parties(
        &mut self,
        before: Date,
        limit: u32,
    ) -> StoreResult<Vec<(BusinessId, InvoiceId)>> {
        let held = self.held_invoices().invoices.values();
        let mut found: Vec<_> = held
            .filter(|(_, invoice)| {
                let agreement = &invoice.content.agreement;
                agreement.customer.is_none() && agreement.bill_to.is_some() && agreement.date < before
            })
            .map(|(owner, invoice)| (invoice.content.agreement.date, *owner, invoice.id))
            .collect();
        found.sort_unstable();
        let first = found.into_iter().take(limit as usize);
        Ok(first.map(|(_, owner, id)| (owner, id)).collect())
    }

    async fn next_invoice_number(&mut self, business: BusinessId) -> StoreResult<InvoiceNumber> {
        let numbers = &mut self.held_invoices().invoice_numbers;
        let number = numbers.get(&business).map_or(InvoiceNumber::FIRST, |last| last.next());
        numbers.insert(business, number);
        Ok(number)
    }

    async fn next_credit_number(&mut self, business: BusinessId) -> StoreResult<CreditNumber> {
        let numbers = &mut self.held_invoices().credit_numbers;
        let number = numbers.get(&business).map_or(CreditNumber::FIRST, |last| last.next());
        numbers.insert(business, number);
        Ok(number)
    }
}

/// A deposit of `gross` minor units including tax, paid by card.
pub fn a_deposit(gross: i64) -> RaiseDeposit {
    RaiseDeposit {
        site: SiteId::new(0),
        customer: ContactId::new(7),
        vehicle: VehicleId::new(21),
        vehicle_description: "2019 Citroën Ë-C4 \"Shine\" AB19 CDE".into(),
        gross: Money::from_minor(gross),
        vat_included: true,
        method: Some(PaymentMethod::Card),
        reference: line("T-4711"),
        date: AT.date(),
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

fn line(text: &str) -> Line {
    Line::new(text).expect("it is short")
}

/// The day of the first invoice of the suite.
const AT: Timestamp = Timestamp::from_epoch_seconds(1_790_000_000);

fn a_blank() -> Agreement {
    let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
    Agreement::blank(&business, &defaults(&business, AT.date()))
}

/// A line of this gross, for a vehicle if one is given.
fn a_line(id: i64, kind: LineKind, vehicle: Option<i64>, gross: i64) -> BillLine {
    let rate = VatRate::standard(Country::GB);
    let VatSplit { net, vat } = rate.split(Money::from_minor(gross));
    BillLine {
        id,
        kind,
        product: None,
        vehicle: vehicle.map(VehicleId::new),
        stock_number: None,
        description: line("A line"),
        category: None,
        quantity: 1,
        net,
        vat_scheme: VatScheme::Standard,
        vat_rate: rate,
        vat,
        gross: Money::from_minor(gross),
        credited: Money::ZERO,
        nominal: line(""),
    }
}

/// A draft to this customer, `days` after the first of them, of these lines.
fn a_draft(customer: Option<i64>, days: u32, lines: Vec<BillLine>) -> InvoiceContent {
    let date = AT.date().days_later(days);
    let agreement = Agreement {
        customer: customer.map(ContactId::new),
        date,
        lines,
        ..a_blank()
    };
    InvoiceContent::draft(agreement, 5)
}

/// A draft by which this customer is billed for a vehicle.
pub fn a_draft_sale(customer: ContactId, vehicle: VehicleId) -> InvoiceContent {
    let sold = a_line(1, LineKind::Vehicle, Some(vehicle.get()), 1_299_500);
    a_draft(Some(customer.get()), 0, vec![sold])
}
