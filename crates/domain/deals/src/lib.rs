//! Deals: one customer, one car, on the way from interest to keys (areas §10.12).
//!
//! [`Deal`] is the record. The use cases are the functions of this crate, each over the ports [`DealReader`] and [`DealStore`]. A deal
//! knows neither vehicles nor orders nor invoices: what its stages do to them is up to the crate of sales.
//!
//! ```
//! use forecourt_deals::{DealStage, Step};
//!
//! assert_eq!(DealStage::Confirm.allowed()[..2], [DealStage::Payment, DealStage::Handover]);
//! assert_eq!(Step::Issued.target(DealStage::Summary), Some(DealStage::Payment));
//! ```
//!
//! The feature `testing` adds a store in memory, and the suite that every store must pass, `testing::deal_store_contract`.

mod changes;
mod deal;
mod error;
mod forget;
mod service;
mod stage;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use changes::{DealChanges, DealFinanceChanges, DeliveryChanges, StageChanges, StageMove, Term};
pub use deal::{
    Deal, DealContent, DealFinance, DealTotals, DealWarning, Delivery, DeliveryMethod, FinanceStatus, FinanceType,
    HistoryEntry, MAX_HISTORY, Surroundings, UnknownDealWarning, UnknownDeliveryMethod, UnknownFinanceStatus,
    UnknownFinanceType,
};
pub use error::DealError;
pub use forecourt_billing::DealId;
pub use forget::{forget_person_in_deal, forget_person_in_event};
pub use service::{
    Opened, check_move, freeze_deposit, list_deals, load_deal, lock_deal, move_deal, note_invoice, note_order,
    open_deal, read_deal, show_deal, show_deals, step_deal, update_deal,
};
pub use stage::{
    DealReason, DealStage, DealStageView, FirstStage, MovedBy, ReasonCode, Step, UnknownDealStage, UnknownMovedBy,
    UnknownReasonCode,
};
pub use store::{ContactDealReader, DealDeposit, DealFilter, DealReader, DealStore, DealSurroundings};
#[cfg(feature = "openapi")]
pub use view::example_deal;
pub use view::{DealFinanceView, DealView, FullDeal, SimpleDeal};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
