//! Sales: the use cases that span vehicles, orders and invoices (areas §10.2, §10.3).
//!
//! Locks are taken in the order document, vehicles by id; the counters of numbers come last. None of the functions begins, commits
//! or retries a transaction.

mod error;
mod issue;
mod orders;
mod vehicles;

use forecourt_orders::OrderStore;
use forecourt_vehicles::VehicleProcessStore;

pub use error::SaleError;
pub use issue::{cancel_invoice, create_invoice, issue_invoice};
pub use orders::{Conversion, ConversionChanges, cancel_order, convert_order, issue_order};
pub use vehicles::{hand_over, sell_with_invoice, undo_sale};

/// Stores what a sale changes: vehicles, invoices and orders.
pub trait SaleStore: VehicleProcessStore + OrderStore {}

impl<S: VehicleProcessStore + OrderStore + ?Sized> SaleStore for S {}

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
