//! Sales and purchases: the use cases that span vehicles, orders, invoices, purchases, deals, leads, jobs and the stock book (areas
//! §10.2 to §10.6, §10.12).
//!
//! Locks are taken in the order document, vehicles by id, deals by id, lead; the counters of numbers come last. None of the functions
//! begins, commits or retries a transaction.

mod acquisition;
mod book;
mod deals;
mod error;
mod exchange;
mod issue;
mod orders;
mod purchases;
mod vehicles;

use forecourt_deals::DealStore;
use forecourt_jobs::JobStore;
use forecourt_kernel::EventHold;
use forecourt_leads::LeadStore;
use forecourt_orders::OrderStore;
use forecourt_purchases::{PurchaseReader, PurchaseStore};
use forecourt_stock_book::StockBookStore;
use forecourt_vehicles::{VehicleDeletionStore, VehicleProcessStore, VehicleReader};

pub use acquisition::{AcquisitionView, acquire_vehicle, read_acquisition, undo_acquisition, validate_acquisition};
pub use book::{credit_invoice, forget_former_party};
pub use deals::{
    DealInvoiceChanges, DealOrderChanges, invoice_deal, move_deal, open_deal, order_deal, pay_invoice, reverse_payment,
    update_deal,
};
pub use error::SaleError;
pub use issue::{cancel_invoice, create_invoice, issue_invoice};
pub use orders::{Conversion, ConversionChanges, cancel_order, convert_order, issue_order};
pub use purchases::{create_purchase, credit_purchase, forget_former_supplier, issue_purchase, update_purchase};
pub(crate) use vehicles::hand_over_locked;
pub use vehicles::{delete_vehicle, hand_over, sell_vehicle, sell_with_invoice, undo_sale};

/// Stores what a sale or a purchase changes: vehicles, invoices, orders, purchases, jobs, deals, leads and the stock book.
pub trait SaleStore:
    VehicleProcessStore + OrderStore + PurchaseStore + JobStore + StockBookStore + DealStore + LeadStore + EventHold
{
}

impl<S> SaleStore for S where
    S: VehicleProcessStore
        + OrderStore
        + PurchaseStore
        + JobStore
        + StockBookStore
        + DealStore
        + LeadStore
        + EventHold
        + ?Sized
{
}

/// Reads what an acquisition shows: vehicles and purchases.
pub trait AcquisitionReader: VehicleReader + PurchaseReader {}

impl<S: VehicleReader + PurchaseReader + ?Sized> AcquisitionReader for S {}

/// Deletes vehicles, and ends the deals about them.
pub trait SaleDeletionStore: SaleStore + VehicleDeletionStore {}

impl<S: SaleStore + VehicleDeletionStore + ?Sized> SaleDeletionStore for S {}

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
