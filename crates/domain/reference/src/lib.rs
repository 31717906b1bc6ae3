//! The lists of valid values: what the reference endpoints answer, and what other areas validate against.
//!
//! Some lists are the same for every business ([`LeadType`], [`LeadChannel`], [`deal_stages`] …); the others are the
//! business's own and make up its [`Catalogue`].
//!
//! ```
//! use forecourt_reference::{Catalogue, LeadType, TagResource};
//!
//! assert_eq!("test_drive".parse::<LeadType>()?.name(), "Test drive");
//! assert!(Catalogue::default().tag(TagResource::Lead, "Hot").is_none());
//! # Ok::<(), forecourt_reference::UnknownValue>(())
//! ```

mod catalogue;
mod lead_lists;
mod status_lists;
mod stock_type;
mod tag;

pub use catalogue::{
    BookingType, Catalogue, Channel, JobBoard, JobStage, Location, MediaBackground, Site, StaffUser, VehicleOptions,
};
pub use lead_lists::{LeadChannel, LeadType, Named};
pub use status_lists::{DealStage, DocumentKind, Status, deal_stages, document_statuses, vehicle_statuses};
pub use stock_type::{StockType, VehicleType};
pub use tag::{AppliedTag, Tag, TagChoice, TagResource};

/// A text names none of the values that a list has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of {}", .0.join(", "))]
pub struct UnknownValue(pub &'static [&'static str]);
