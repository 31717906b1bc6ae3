//! The lists of valid values: what the reference endpoints answer, and what other areas validate against.
//!
//! Some lists are the same for every business ([`LeadType`], [`LeadChannel`], [`deal_stages`] …); the others are the business's
//! own and make up its [`Catalogue`]. What vehicles are called and made with ([`Taxonomy`], [`OptionList`], [`feature_groups`])
//! is plain text in the folder `data`, embedded as it is and read on first use. That is a quarter of a megabyte which leads and
//! contacts do not need: it comes with the feature `data`.
//!
//! ```
//! use forecourt_reference::{Catalogue, LeadType, OptionList, TagResource, Taxonomy, VehicleClass, VehicleOptions};
//!
//! assert_eq!("test_drive".parse::<LeadType>()?.name(), "Test drive");
//! assert!(Catalogue::default().tag(TagResource::Lead, "Hot").is_none());
//!
//! assert_eq!(OptionList::Fuel.find("diesel", None, &VehicleOptions::new()), Some("Diesel"));
//! let ford = Taxonomy::built_in().make(Some(VehicleClass::Van), "ford");
//! assert!(ford.is_some_and(|ford| ford.model("Transit Custom").is_some()));
//! # Ok::<(), forecourt_reference::UnknownValue>(())
//! ```

mod catalogue;
#[cfg(feature = "data")]
mod features;
mod lead_lists;
mod option_list;
#[cfg(feature = "data")]
mod option_values;
#[cfg(feature = "data")]
mod outline;
mod status_lists;
mod stock_type;
mod tag;
#[cfg(feature = "data")]
mod taxonomy;
mod vehicle_class;

pub use catalogue::{
    BookingType, Catalogue, Channel, JobBoard, JobStage, Location, LocationRef, MediaBackground, Site, StaffUser,
    VehicleOptions,
};
#[cfg(feature = "data")]
pub use features::{Feature, FeatureGroup, feature, feature_groups};
pub use lead_lists::{LeadChannel, LeadType, Named};
pub use option_list::OptionList;
#[cfg(feature = "data")]
pub use option_values::OptionValue;
pub use status_lists::{DealStage, DocumentKind, Status, deal_stages, document_statuses, vehicle_statuses};
pub use stock_type::{StockType, VehicleType};
pub use tag::{AppliedTag, RecordTags, Tag, TagChoice, TagChoices, TagResource, TagSet, TagView};
#[cfg(feature = "data")]
pub use taxonomy::{Generation, Make, Model, Taxonomy};
pub use vehicle_class::VehicleClass;

/// A text names none of the values that a list has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of {}", .0.join(", "))]
pub struct UnknownValue(pub &'static [&'static str]);

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
