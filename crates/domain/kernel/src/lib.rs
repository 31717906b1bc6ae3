//! The types that every area of Forecourt shares.
//!
//! Identifiers, time, money, paging, filters, scopes and events are defined once here, so that an area's own crate contains
//! nothing but leads or vehicles. Neither this crate nor any domain crate reads a clock, draws a random number, or touches a disk
//! or a socket. A rule gets what it needs from outside through a port ([`Clock`], [`Random`], a store).
//!
//! ```
//! use forecourt_kernel::{Date, Timestamp};
//!
//! let enquiry = Timestamp::from_epoch_seconds(1_767_225_600);
//! assert_eq!(enquiry.date().to_string(), "2026-01-01");
//! assert_eq!("2026-01-01".parse::<Date>()?.midnight(), enquiry);
//! # Ok::<(), forecourt_kernel::InvalidDate>(())
//! ```

pub mod bounds;
mod changed;
mod country;
mod currency;
mod email;
mod epoch;
mod event;
mod filter;
mod id;
mod input;
mod layout;
mod mail;
mod money;
mod nesting;
mod number;
mod page;
mod person;
mod phone;
mod phone_text;
mod projection;
mod random;
mod scope;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod time_zone;
mod validation;
mod version;
mod viewed;

pub use bounds::{BoundedList, BoundedText, InvalidText, Line, LongText, TooManyItems, UrlText};
pub use changed::add_changed;
pub use country::{Country, InvalidCountry};
pub use currency::{Currency, InvalidCurrency};
pub use email::{Email, InvalidEmail, fold_email};
pub use epoch::{Epoch, EpochMark};
pub use event::{Event, EventHold, EventLog, EventName, EventSequence, NewEvent, UnknownEvent};
pub use filter::{InvalidFilter, Range, TextFilter, fold};
pub use id::{
    AppointmentId, BusinessId, CallId, ContactId, ContactNoteId, DeliveryId, InvoiceId, JobId, LeadId, LeadMessageId,
    LeadNoteId, NotAnId, OrderId, SiteId, StaffId, VehicleId, WebhookId,
};
pub use input::{Change, Field, FromJson, InvalidValue, OrEmpty, Words, from_line, from_object, is_one_line};
pub use layout::layout_mark;
pub use mail::{Attachment, AttachmentsTooLarge, Mail, MailError, MailOutbox, Mailer, PendingMail};
pub use money::{InvalidMoney, Money};
pub use nesting::{JsonExtent, NestedTooDeep, validate_nesting};
pub use number::integer;
pub use page::{Cursor, InvalidCursor, ListName, Page, PageRequest, Position, View};
pub use person::{Person, PersonKeys};
pub use phone::{InvalidPhone, Phone, PhoneParts};
pub use projection::{InvalidFields, Projection};
pub use random::Random;
pub use scope::{Scope, ScopeSet, UnknownScope};
pub use store::{BoxError, StoreError, StoreResult, WritesRefused};
pub use time::{Clock, Date, InvalidDate, Moment, Timestamp};
pub use time_zone::{InvalidTimeZone, TimeZone};
pub use validation::{FieldError, Valid, ValidationErrors, quoted};
pub use version::{Precondition, Target, Version, VersionMismatch};
pub use viewed::Viewed;

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
