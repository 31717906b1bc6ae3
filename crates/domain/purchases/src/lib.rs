//! Purchases: what a dealership is billed for vehicles, costs on vehicles and overheads (areas §10.4).
//!
//! [`Purchase`] is the record. The use cases are the functions of this crate, each over the ports [`PurchaseReader`] and
//! [`PurchaseStore`]. A purchase knows neither vehicles nor invoices: acquiring vehicles, and writing costs to them, are use cases of
//! the crate of sales.
//!
//! The feature `testing` adds a store in memory, and the suite that every store must pass, `testing::purchase_store_contract`.

mod changes;
mod error;
mod forget;
mod printed;
mod purchase;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use changes::{
    AcquisitionChanges, NewAcquisition, NewPurchase, NewPurchaseCredit, PurchaseChanges, PurchaseCreditChanges,
};
pub use error::PurchaseError;
pub use forecourt_billing::{PurchaseCreditNumber, PurchaseId, PurchaseNumber};
pub use forget::{forget_person_in_purchase, forget_person_in_purchase_event};
pub use printed::{bill_of_purchase, bill_of_purchase_credit, prepare_purchase_mail};
pub use purchase::{
    LinkedJob, Purchase, PurchaseContent, PurchaseCredit, PurchaseKind, PurchaseOrigin, UnknownPurchaseKind,
    supplier_invoice_key,
};
pub use service::*;
pub use store::{ContactPurchaseReader, OverduePurchase, PurchaseFilter, PurchaseReader, PurchaseStore};
#[cfg(feature = "openapi")]
pub use view::example_purchase;
pub use view::{FullPurchase, PurchaseStatusView, PurchaseView, SimplePurchase};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
