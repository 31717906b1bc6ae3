//! Sales and purchases: the use cases that span vehicles, orders, invoices, purchases and jobs (areas §10.2 to §10.5).
//!
//! Locks are taken in the order document, vehicles by id; the counters of numbers come last. None of the functions begins, commits
//! or retries a transaction.

mod acquisition;
mod error;
mod exchange;
mod issue;
mod orders;
mod purchases;
mod vehicles;

use forecourt_jobs::JobStore;
use forecourt_kernel::EventHold;
use forecourt_orders::OrderStore;
use forecourt_purchases::{PurchaseReader, PurchaseStore};
use forecourt_vehicles::{VehicleProcessStore, VehicleReader};

pub use acquisition::{AcquisitionView, acquire_vehicle, read_acquisition, undo_acquisition, validate_acquisition};
pub use error::SaleError;
pub use issue::{cancel_invoice, create_invoice, issue_invoice};
pub use orders::{Conversion, ConversionChanges, cancel_order, convert_order, issue_order};
pub use purchases::{create_purchase, credit_purchase, forget_former_supplier, issue_purchase, update_purchase};
pub use vehicles::{hand_over, sell_with_invoice, undo_sale};

/// Stores what a sale or a purchase changes: vehicles, invoices, orders, purchases and jobs.
pub trait SaleStore: VehicleProcessStore + OrderStore + PurchaseStore + JobStore + EventHold {}

impl<S: VehicleProcessStore + OrderStore + PurchaseStore + JobStore + EventHold + ?Sized> SaleStore for S {}

/// Reads what an acquisition shows: vehicles and purchases.
pub trait AcquisitionReader: VehicleReader + PurchaseReader {}

impl<S: VehicleReader + PurchaseReader + ?Sized> AcquisitionReader for S {}

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
