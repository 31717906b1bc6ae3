//! Tests of what callers do with invoices: draft and change them, issue them, take payments and give them back, credit them, and
//! invoice a finance provider.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy excepts a test, but not what several tests share"
)]

mod credits;
mod drafts;
mod finance;
mod payments;
mod retention;

use forecourt_accounts::{Business, Caller};
use forecourt_invoices::testing::{MemoryInvoiceStore, a_billed_contact, a_billed_vehicle};
use forecourt_invoices::{
    Invoice, InvoiceError, InvoiceId, InvoiceReader as _, InvoiceStatus, InvoiceStore as _, Issue, NewPayment,
    PaymentMethod, Settlement, complete_issue, draft_invoice, pay_invoice, prepare_issue, update_invoice,
    validate_changes, validate_new,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{BusinessId, EventName, Line, Money, ScopeSet, Timestamp, ValidationErrors};
use serde_json::{Value, json};

/// 2026-03-01T23:59:59Z.
const NOW: Timestamp = Timestamp::from_epoch_seconds(1_772_409_599);

/// Contacts and a vehicle of the business.
const JANE: i64 = 7;
const LENDER: i64 = 8;
const FOCUS: i64 = 21;

type Store = MemoryInvoiceStore;

fn clock() -> FixedClock {
    FixedClock::at(NOW)
}

fn by() -> Caller {
    Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all())
}

fn store() -> Store {
    let ours = by().business_id();
    let mut store = Store::default();
    let mut jane = a_billed_contact(JANE, "Jane Doe");
    jane.nominal_sales = "4000".to_owned();
    store.contacts = vec![(ours, jane), (ours, a_billed_contact(LENDER, "Credit Bank"))];
    store.vehicles = vec![(ours, a_billed_vehicle(FOCUS, 1_299_500))];
    store
}

fn money(minor: i64) -> Money {
    Money::from_minor(minor)
}

fn line(text: &str) -> Line {
    Line::new(text).unwrap()
}

/// A service for 120.00 with tax.
fn a_service() -> Value {
    json!({"customer": JANE, "lines": [{"type": "product", "description": "Service", "gross": 120}]})
}

/// A car under the margin scheme, of which 8,000.00 is financed.
fn a_financed_sale() -> Value {
    json!({
        "customer": JANE, "lines": [{"type": "vehicle", "vehicle": FOCUS}],
        "finance": {"provider": LENDER, "amount": 8000},
    })
}

async fn drafted(store: &mut Store, body: Value) -> Result<Invoice, InvoiceError> {
    let by = by();
    let body = serde_json::from_value(body).unwrap();
    let draft = validate_new(store, &by.business, NOW, body).await?;
    draft_invoice(store, &clock(), &by, &draft).await
}

async fn changed(store: &mut Store, id: InvoiceId, body: Value) -> Result<Invoice, InvoiceError> {
    let by = by();
    let body = serde_json::from_value(body).unwrap();
    let changes = validate_changes(store, &by.business, NOW, body).await?;
    update_invoice(store, &clock(), &by, id, &changes).await
}

/// Issues a draft as the crate of sales does, without vehicles.
async fn issue(store: &mut Store, id: InvoiceId, issue: &Issue) -> Result<Invoice, InvoiceError> {
    let by = by();
    let prepared = prepare_issue(store, &by.business, id, issue).await?;
    let number = store.next_invoice_number(by.business_id()).await?;
    complete_issue(
        store,
        &clock(),
        &by.business,
        prepared,
        number,
        Settlement::default(),
        issue,
    )
    .await
}

async fn issued(store: &mut Store, body: Value) -> Invoice {
    let draft = drafted(store, body).await.unwrap();
    issue(store, draft.id, &Issue::default()).await.unwrap()
}

fn by_card(minor: Option<i64>) -> NewPayment {
    NewPayment {
        method: PaymentMethod::Card,
        amount: minor.map(money),
        date: None,
        reference: line("T-1"),
    }
}

async fn pay(store: &mut Store, id: InvoiceId, minor: Option<i64>) -> Result<Invoice, InvoiceError> {
    pay_invoice(store, &clock(), &by(), id, &by_card(minor)).await
}

/// Stores the invoice in another state, however it may have come there.
async fn in_status(store: &mut Store, invoice: &Invoice, status: InvoiceStatus) -> InvoiceId {
    let mut stored = invoice.clone();
    stored.content.status = status;
    store.save_invoice(by().business_id(), &stored).await.unwrap();
    stored.id
}

async fn read(store: &mut Store, id: InvoiceId) -> Invoice {
    store.invoice(by().business_id(), id).await.unwrap().unwrap()
}

/// Returns the names of the events since the last call, each with its record and `changed`.
fn happened(store: &mut Store) -> Vec<(EventName, i64, Vec<String>)> {
    let events = std::mem::take(&mut store.events);
    let each = |(_, event): (BusinessId, forecourt_kernel::NewEvent)| {
        let data: Value = serde_json::from_str(&event.data).unwrap();
        let changed = serde_json::from_value(data["changed"].clone()).unwrap();
        (event.name, event.record, changed)
    };
    events.into_iter().map(each).collect()
}

/// Returns the names of the events since the last call.
fn names(store: &mut Store) -> Vec<EventName> {
    happened(store).into_iter().map(|(name, ..)| name).collect()
}

/// Returns the fields of the faults for which a request was refused.
#[track_caller]
fn faults<T: std::fmt::Debug>(refused: Result<T, InvoiceError>) -> Vec<String> {
    let Err(InvoiceError::Invalid(errors)) = refused else {
        panic!("{refused:?}")
    };
    fields(&errors)
}

fn fields(errors: &ValidationErrors) -> Vec<String> {
    errors.as_slice().iter().map(|error| error.field.clone()).collect()
}

/// Asserts that a request is refused by an error of this form, and that it leaves no trace.
macro_rules! refuses {
    ($store:expr, $call:expr, $error:pat) => {{
        $store.events.clear();
        let before: Vec<_> = $store.records.all().cloned().collect();
        let refused = $call;
        assert!(matches!(refused, Err($error)), "{refused:?}");
        let after: Vec<_> = $store.records.all().cloned().collect();
        assert_eq!((after, $store.events.len()), (before, 0), "it leaves no trace");
    }};
}

use refuses;
