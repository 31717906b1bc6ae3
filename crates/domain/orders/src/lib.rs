//! Orders: what a customer agrees to before it is invoiced (areas §10.3).
//!
//! [`Order`] is the record. The use cases are the functions of this crate, each over the ports [`OrderReader`] and [`OrderStore`].
//! An order knows neither vehicles nor invoices: reserving and converting are use cases of the crate of sales.
//!
//! The feature `testing` adds a store in memory, and the suite that every store must pass, `testing::order_store_contract`.

mod changes;
mod error;
mod forget;
mod order;
mod printed;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use changes::{OrderChanges, OrderIssue, OrderIssueChanges, OrderOwn};
pub use error::OrderError;
pub use forecourt_billing::{OrderId, OrderNumber};
pub use forget::{forget_person_in_order, forget_person_in_order_event};
pub use order::{Order, OrderContent, OrderStatus, OrderStatusChoice, OrderTotals, UnknownOrderStatus};
pub use printed::{bill_of_order, prepare_order_mail};
pub use service::*;
pub use store::{ContactOrderReader, Expired, OrderFilter, OrderReader, OrderStore, PaidDeposit};
#[cfg(feature = "openapi")]
pub use view::example_order;
pub use view::{FullOrder, OrderLine, OrderStatusView, OrderView, SimpleOrder};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
