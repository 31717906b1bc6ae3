//! Calls: reports of the telephone system, matched to people and to their enquiries.
//!
//! [`Call`] is the record. The use cases are the functions of this crate ([`report_call`], [`update_call`] …), each over the ports
//! [`CallReader`] and [`CallStore`]. A call makes and moves leads through the use cases of `forecourt_leads`. [`FullCall`] and
//! [`SimpleCall`] are the representations in the API, [`CallEventView`] is that in webhooks. The rules are those of decisions
//! §10.10.
//!
//! With the feature `testing` the crate has a store in memory:
//!
//! ```
//! use forecourt_accounts::{Business, Caller};
//! use forecourt_calls::{CallOutcome, NewCall, Reported, report_call, testing::MemoryStore};
//! use forecourt_kernel::testing::FixedClock;
//! use forecourt_kernel::{BusinessId, Precondition, ScopeSet, Timestamp, Valid, ValidationErrors};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let by = Caller::of(Business::new(BusinessId::new(1), "acme", "Acme Cars"), ScopeSet::all());
//! let clock = FixedClock::at(Timestamp::from_epoch_seconds(1_767_225_600));
//! let mut store = MemoryStore::default();
//!
//! let reported: NewCall = serde_json::from_str(r#"{"direction": "in", "started": 1767225000, "from": "+447700900123"}"#)?;
//! let reported = Valid::new(reported, |_| ValidationErrors::new())?;
//! let call = report_call(&mut store, &clock, &by, &Precondition::default(), reported).await?;
//! assert!(matches!(call, Reported::Created(call) if call.content.actual_outcome() == CallOutcome::Missed));
//! assert_eq!(store.events[0].1.name.as_str(), "call.created");
//! # Ok(())
//! # }
//! ```
//!
//! and the contract suite for every store, `testing::call_store_contract`.

mod call;
mod error;
mod forget;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod view;

pub use call::{
    Call, CallChanges, CallContent, CallDirection, CallMoment, CallOutcome, NewCall, TalkSeconds, UnknownCallDirection,
    UnknownCallOutcome,
};
pub use error::CallError;
pub use forecourt_kernel::CallId;
pub use forget::{forget_person_in_call, forget_person_in_event};
pub use service::{
    Reported, delete_call, list_calls, load_call, read_call, report_call, update_call, validate_call_references,
};
pub use store::{CallFilter, CallReader, CallStore, ContactCallReader};
#[cfg(feature = "openapi")]
pub use view::example_call;
pub use view::{CallEventView, CallView, FullCall, SimpleCall};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
