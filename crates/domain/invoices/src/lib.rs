//! Invoices: the bills of a dealership to its customers, their payments, and the credit notes.
//!
//! [`Invoice`] is the record, and [`InvoiceView`] its representation in webhooks. The use cases are the functions of this crate
//! ([`raise_deposit`], [`credit_in_full`]), each over the ports [`InvoiceReader`] and [`InvoiceStore`]. The table [`MOVES`] lists
//! the transitions between states, and [`VatRate`] computes value added tax. The rules are those of decisions §7 ("Reservation
//! methods") and §8 ("Invoice", "Invoice statuses").
//!
//! Amounts are [`Money`](forecourt_kernel::Money): hundredths of the currency of the business's country, whatever its minor unit
//! is.
//!
//! The feature `testing` adds a store in memory:
//!
//! ```
//! use forecourt_accounts::Business;
//! use forecourt_invoices::{InvoiceStatus, raise_deposit, testing::{MemoryInvoiceStore, a_deposit}};
//! use forecourt_kernel::testing::FixedClock;
//! use forecourt_kernel::{BusinessId, Money, Timestamp};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let acme = Business::new(BusinessId::new(1), "acme", "Acme Cars");
//! let clock = FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600));
//! let mut store = MemoryInvoiceStore::default();
//!
//! let invoice = raise_deposit(&mut store, &clock, &acme, a_deposit(50_000)).await?;
//! assert_eq!(invoice.content.status, InvoiceStatus::Paid);
//! assert_eq!(invoice.content.totals().vat, Money::from_minor(8_333));
//! # Ok(())
//! # }
//! ```
//!
//! and the suite that every store must pass, `testing::invoice_store_contract`.

mod changes;
mod commands;
mod error;
mod forget;
mod invoice;
mod printed;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use changes::{InvoiceChanges, InvoiceOwn, NewInvoice, NewInvoiceOwn};
pub use commands::RaiseDeposit;
pub use error::InvoiceError;
pub use forecourt_billing::{
    BillStatus as InvoiceStatus, Credit, CreditChanges, CreditNumber, InvoiceId, InvoiceNumber, Issue, IssueChanges,
    MOVES, Move, NewPayment, NotANumber, Payment, PaymentChanges, PaymentMethod, Reversal, ReversalChanges,
    StatusChoice, Totals, TransitionError, Trigger, UnknownBillStatus as UnknownInvoiceStatus, UnknownPaymentMethod,
    VatRate, day, nested_payment, next, take,
};
pub use forget::{forget_person_in_event, forget_person_in_invoice};
pub(crate) use invoice::due_days;
pub use invoice::{CreditNote, Invoice, InvoiceContent, InvoiceKind, ParentPayment, UnknownInvoiceKind};
pub use printed::{bill_of_credit_note, bill_of_invoice};
pub use service::*;
#[cfg(feature = "mock")]
pub use store::MockInvoiceStore;
pub use store::{ContactInvoiceReader, InvoiceFilter, InvoiceReader, InvoiceStore, Overdue};
#[cfg(feature = "openapi")]
pub use view::example_invoice;
pub use view::{FullInvoice, InvoiceView, SimpleInvoice, StatusView};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
