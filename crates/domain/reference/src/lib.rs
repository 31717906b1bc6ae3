//! The lists of valid values, which the reference endpoints return and other areas validate against.
//!
//! Some lists are the same for every business ([`LeadType`], [`LeadChannel`], [`deal_stages`] …). The others are the business's
//! own and make up its [`Catalogue`]. The names and features of vehicles ([`Taxonomy`], [`OptionList`], [`feature_groups`]) are
//! plain text in the folder `data`, which is embedded unchanged and parsed on first use. It has a quarter of a megabyte, which leads
//! and contacts do not need, so it comes with the feature `data`.
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

mod calendar;
mod catalogue;
#[cfg(feature = "data")]
mod features;
mod lead_lists;
mod opening_hours;
mod option_list;
#[cfg(feature = "data")]
mod option_values;
#[cfg(feature = "data")]
mod outline;
mod product;
mod status_lists;
mod stock_type;
mod tag;
#[cfg(feature = "data")]
mod taxonomy;
mod vehicle_class;

pub use calendar::Calendar;
pub use catalogue::{
    BookingType, Catalogue, Channel, JobBoard, JobStage, Location, LocationRef, MediaBackground, Site, StaffUser,
    VehicleOptions,
};
#[cfg(feature = "data")]
pub use features::{Feature, FeatureGroup, feature, feature_groups};
pub use lead_lists::{LeadChannel, LeadType, Named};
pub use opening_hours::{InvalidTimeOfDay, OpenSpan, OpeningHours, TimeOfDay, Weekday};
pub use option_list::OptionList;
#[cfg(feature = "data")]
pub use option_values::OptionValue;
pub use product::{InvalidPercent, Percent, Product, ProductVat};
pub use status_lists::{DealStageEntry, DocumentKind, Status, deal_stages, document_statuses, vehicle_statuses};
pub use stock_type::{StockType, VehicleType};
pub use tag::{AppliedTag, RecordTags, Tag, TagChoice, TagChoices, TagResource, TagSet, TagView};
#[cfg(feature = "data")]
pub use taxonomy::{Generation, Make, Model, Taxonomy};
pub use vehicle_class::VehicleClass;

/// The text is not one of a list's values.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be one of {}", .0.join(", "))]
pub struct UnknownValue(pub &'static [&'static str]);

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
