//! A store in memory, and the suite that every store of invoices must pass.

#![expect(clippy::expect_used, reason = "this is for tests, which fail so")]

use std::collections::BTreeMap;

use async_trait::async_trait;
use forecourt_kernel::testing::WithEvents;
use forecourt_kernel::{
    BusinessId, ContactId, Country, EventLog, Line, LongText, Money, SiteId, StoreResult, Timestamp, VehicleId, Version,
};

use crate::{
    ContactInvoiceReader, CreditNote, CreditNumber, Invoice, InvoiceContent, InvoiceId, InvoiceNumber, InvoiceReader,
    InvoiceStatus, InvoiceStore, Payment, PaymentMethod, RaiseDeposit, VatRate,
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

/// A store in memory that holds invoices, perhaps with other records; it is an [`InvoiceStore`].
pub trait HoldsInvoices: Send {
    /// The invoices.
    fn held_invoices(&mut self) -> &mut MemoryInvoices;
}

impl HoldsInvoices for WithEvents<MemoryInvoices> {
    fn held_invoices(&mut self) -> &mut MemoryInvoices {
        &mut self.records
    }
}

#[async_trait]
impl<S: HoldsInvoices> InvoiceReader for S {
    async fn invoice(&mut self, business: BusinessId, id: InvoiceId) -> StoreResult<Option<Invoice>> {
        Ok(self.held_invoices().find(business, |invoice| invoice.id == id))
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
        let own = held.filter(|(owner, invoice)| *owner == business && invoice.content.customer == Some(contact));
        let later = own.filter(|(_, invoice)| invoice.id > after);
        Ok(later.map(|(_, invoice)| invoice.clone()).collect())
    }
}

#[async_trait]
impl<S: HoldsInvoices + EventLog> InvoiceStore for S {
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
        date: Timestamp::from_epoch_seconds(1_790_000_000).date(),
    }
}

fn line(text: &str) -> Line {
    Line::new(text).expect("it is short")
}

/// Checks what every [`InvoiceStore`] promises. The two businesses must have no invoices in it, and must have drawn no numbers.
///
/// # Panics
/// If the store breaks its contract.
pub async fn invoice_store_contract(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    keeps_every_field(store, ours, theirs).await;
    draws_numbers_without_gaps(store, ours, theirs).await;
}

async fn keeps_every_field(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    let at = Timestamp::from_epoch_seconds(1_790_000_000);
    let standard = VatRate::standard(Country::GB);
    let draft = InvoiceContent::deposit(&a_deposit(50_000), Country::GB.currency(), standard);
    let invoice = store
        .insert_invoice(ours, draft.clone(), at)
        .await
        .expect("it is stored");
    let expected = Invoice {
        id: invoice.id,
        number: None,
        version: Version::FIRST,
        created: at,
        updated: at,
        content: draft,
    };
    assert_eq!(invoice, expected);
    finds(store, ours, theirs, &expected).await;

    let number = InvoiceNumber::new(9_000_000_000);
    let unnumbered = store.invoice_by_number(ours, number).await.expect("there is none");
    assert_eq!(unnumbered, None, "a draft has no number");
    let content = InvoiceContent {
        site: SiteId::new(3),
        status: InvoiceStatus::Credited,
        customer: None,
        vehicle: None,
        due_date: at.plus_seconds(30 * 86_400).date(),
        currency: "EUR".parse().expect("it is a currency"),
        payments: vec![Payment {
            id: 1,
            date: at.date(),
            method: PaymentMethod::BankTransfer,
            amount: Money::from_minor(50_000),
            reference: line("Überweisung \u{1f697}"),
        }],
        credit_notes: vec![CreditNote {
            number: CreditNumber::new(9_000_000_001),
            date: at.date(),
            reason: line("Changed \"their\" mind\n"),
            gross: Money::from_minor(50_000),
        }],
        notes: LongText::new("ä".repeat(20_000)).expect("it is within the bound"),
        ..invoice.content
    };
    let changed = Invoice {
        number: Some(number),
        version: invoice.version.next(),
        updated: at.plus_seconds(9),
        content,
        ..invoice
    };
    store.save_invoice(ours, &changed).await.expect("it is saved");
    finds(store, ours, theirs, &changed).await;
    for (business, expected) in [(ours, Some(&changed)), (theirs, None)] {
        let found = store.invoice_by_number(business, number).await.expect("it is read");
        assert_eq!(found.as_ref(), expected, "numbers are the business's own");
    }

    // Another business can have the same number.
    let other = store
        .insert_invoice(theirs, changed.content.clone(), at)
        .await
        .expect("it is stored");
    assert_ne!(other.id, changed.id, "ids are unique across businesses");
    let other = Invoice {
        number: Some(number),
        version: other.version.next(),
        ..other
    };
    store.save_invoice(theirs, &other).await.expect("it is saved");
    for (business, expected) in [(ours, &changed), (theirs, &other)] {
        let found = store.invoice_by_number(business, number).await.expect("it is read");
        assert_eq!(found.as_ref(), Some(expected), "businesses are apart");
    }
}

async fn finds(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId, invoice: &Invoice) {
    for (business, expected) in [(ours, Some(invoice)), (theirs, None)] {
        for found in [
            store.invoice(business, invoice.id).await,
            store.lock_invoice(business, invoice.id).await,
        ] {
            assert_eq!(found.expect("it is read").as_ref(), expected, "businesses are apart");
        }
    }
}

async fn draws_numbers_without_gaps(store: &mut dyn InvoiceStore, ours: BusinessId, theirs: BusinessId) {
    for running in 1..=20 {
        let number = store.next_invoice_number(ours).await.expect("it is drawn");
        assert_eq!(number, InvoiceNumber::new(running));
        if running % 2 == 0 {
            let number = store.next_credit_number(ours).await.expect("it is drawn");
            assert_eq!(
                number,
                CreditNumber::new(running / 2),
                "credit notes count by themselves"
            );
        }
        if running % 5 == 0 {
            let number = store.next_invoice_number(theirs).await.expect("it is drawn");
            assert_eq!(
                number,
                InvoiceNumber::new(running / 5),
                "businesses count by themselves"
            );
        }
    }
    let number = store.next_credit_number(theirs).await.expect("it is drawn");
    assert_eq!(number, CreditNumber::FIRST);
}
