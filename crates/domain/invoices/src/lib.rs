//! Invoices: what a dealership bills its customers, what they paid of it, and what it credited.
//!
//! [`Invoice`] is the record; the use cases are the functions of this crate ([`raise_deposit`], [`credit_in_full`]), each over
//! the ports [`InvoiceReader`] and [`InvoiceStore`]; [`InvoiceView`] is what webhooks show. The states are the table [`MOVES`],
//! and value added tax is reckoned by [`VatRate`]. The rules are those of decisions §7 ("Reservation methods") and §8
//! ("Invoice", "Invoice statuses").
//!
//! Amounts are [`Money`](forecourt_kernel::Money): hundredths of the currency of the business's country, whatever its minor
//! unit is.
//!
//! With the feature `testing` the crate has a store in memory, and a suite that any other store can be held to:
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # async fn prove(store: &mut dyn forecourt_invoices::InvoiceStore, ours: forecourt_kernel::BusinessId, theirs: forecourt_kernel::BusinessId) {
//! forecourt_invoices::testing::invoice_store_contract(store, ours, theirs).await;
//! # }
//! ```

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
pub use status::{Immovable, InvoiceStatus, MOVES, Move, Trigger, next};
pub use store::{InvoiceReader, InvoiceStore};
#[cfg(feature = "mock")]
pub use store::{MockInvoiceReader, MockInvoiceStore};
pub use vat::{InvalidVatRate, VatRate, VatSplit};
#[cfg(feature = "openapi")]
pub use view::example_invoice;
pub use view::{InvoiceView, StatusView};
