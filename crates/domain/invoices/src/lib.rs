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
//! use forecourt_invoices::{InvoiceStatus, raise_deposit, testing::{MemoryInvoices, a_deposit}};
//! use forecourt_kernel::testing::{FixedClock, WithEvents};
//! use forecourt_kernel::{BusinessId, Money, Timestamp};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let acme = Business::new(BusinessId::new(1), "acme", "Acme Cars");
//! let clock = FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600));
//! let mut store = WithEvents::<MemoryInvoices>::default();
//!
//! let invoice = raise_deposit(&mut store, &clock, &acme, a_deposit(50_000)).await?;
//! assert_eq!(invoice.content.status, InvoiceStatus::Paid);
//! assert_eq!(invoice.content.totals().vat, Money::from_minor(8_333));
//! # Ok(())
//! # }
//! ```
//!
//! and the suite that every store must pass, `testing::invoice_store_contract`.

mod commands;
mod error;
mod forget;
mod invoice;
mod number;
mod service;
mod status;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod vat;
mod view;

pub use commands::RaiseDeposit;
pub use error::InvoiceError;
pub use forget::{forget_person_in_event, forget_person_in_invoice};
pub use invoice::{
    CreditNote, Invoice, InvoiceContent, InvoiceId, InvoiceKind, InvoiceLine, LineKind, Payment, PaymentMethod, Totals,
    UnknownPaymentMethod,
};
pub use number::{CreditNumber, InvoiceNumber, NotANumber};
pub use service::{credit_in_full, raise_deposit, read_invoice};
pub use status::{InvoiceStatus, MOVES, Move, TransitionError, Trigger, next};
#[cfg(feature = "mock")]
pub use store::MockInvoiceStore;
pub use store::{ContactInvoiceReader, InvoiceReader, InvoiceStore};
pub use vat::{InvalidVatRate, VatRate, VatSplit};
#[cfg(feature = "openapi")]
pub use view::example_invoice;
pub use view::{InvoiceView, StatusView};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
