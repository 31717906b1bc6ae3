//! Vehicles: the stock of a dealership and the other vehicles on its premises.
//!
//! [`Vehicle`] is the record. Its [`Data`] consists of sections of typed fields. `sections` declares each field once, and its
//! reading, rules, representations, filters and schema follow from that declaration. The use cases are the functions of this
//! crate ([`create_vehicle`], [`update_vehicle`], [`set_channels`] …), each over the ports [`VehicleReader`] and
//! [`VehicleStore`]. Those that also write invoices ([`reserve_vehicle`], [`cancel_reservation`]) use [`VehicleProcessStore`].
//! The table [`MOVES`] lists the transitions between states. [`VehicleView`] is the representation in the API and in webhooks,
//! and [`VehiclePreview`] is the same representation, written in advance for lists. The rules are those of the contract's
//! sections "Vehicle", "States and transitions" and "Vehicles", and of decisions §7.
//!
//! [`read_data`] reads and checks a body before a transaction begins; a use case checks only what needs storage.
//! [`Vehicle::keys`] returns the values that filters compare, so storage knows no field by name.
//!
//! A team can use the crate alone, with storage of its own that passes the suite `testing::vehicle_store_contract`. The feature
//! `testing` also adds a store in memory, on which this example runs (`examples/publish_a_vehicle.rs`):
//!
//! ```
#![doc = include_str!("../examples/publish_a_vehicle.rs")]
//! ```

mod acquisition;
mod billed;
mod channels;
mod commands;
mod declare;
mod document;
mod drive;
mod error;
mod export;
mod finance;
mod forget;
mod mails;
mod media;
mod number;
mod offer;
mod placeholder;
mod preview;
mod registration;
mod reservation;
mod sale;
#[cfg(feature = "openapi")]
pub mod schema;
mod sections;
mod service;
mod slug;
mod status;
mod store;
mod tag;
#[cfg(feature = "testing")]
pub mod testing;
mod values;
mod vehicle;
mod view;
mod vin;

pub use acquisition::{AcquiredFrom, Acquisition, BilledCost};
pub use channels::{
    ChannelOptions, ChannelOptionsPatch, ChannelsView, PlatformA, PlatformAPatch, PlatformB, PlatformBPatch,
    PublishCheck, PublishLimit,
};
pub use commands::{
    AcceptOffer, AddDrivePhoto, AddMedium, AddVehicleDocument, FieldCondition, FieldFilter, MakeOffer, NewVehicle,
    OrderMedia, ReservationDate, ReserveVehicle, SellVehicle, SetChannels, SetTags, SignDrive, StartDrive,
    UpdateVehicle, UpdateVehicleDocument, VehicleFilter, field_filters, read_channel_options, read_data, validate_data,
};
pub use declare::{
    Access, Detail, FieldInfo, FieldValue, FilterInfo, FilterKind, Key, Part, Reader, Rules, ViewContext,
};
pub use document::{VehicleDocument, VehicleDocumentContent, VehicleDocumentId, VehicleDocumentView};
pub use drive::{
    DriveCode, DriveEmailView, DrivePhoto, DrivePhotoView, DriveSignature, DriveSummary, Driver, InvalidDriveCode,
    InvalidSignature, InvalidTimeOfDay, SignatureImage, TestDrive, TestDriveContent, TestDriveId, TestDriveView,
    TimeOfDay,
};
pub use error::VehicleError;
pub use export::{
    ContactReservation, ContactSale, ContactVehicleReader, contact_reservations, contact_sale, is_customer,
};
pub use finance::{FinanceExample, example};
pub use forecourt_files::FileAddresses;
pub use forget::{forget_person_in_document, forget_person_in_drive, forget_person_in_event, forget_person_in_vehicle};
pub use mails::MAILS;
pub use media::{
    InvalidYouTubeId, Media, MediaFile, MediaIds, Medium, MediumKind, MediumView, Upload, WrongFileKind, YouTubeId,
};
pub use number::{InvalidAmount, MAX_WHOLE, money};
pub use offer::{AppraisalOffer, AppraisalView, read_appraisal};
pub use preview::VehiclePreview;
pub use registration::{InvalidRegistration, Registration};
pub use reservation::{
    DepositInvoice, FormerReservation, Reservation, ReservationDetails, ReservationEnd, ReservationMaker,
    ReservationMethod, ReservationView, Reservations, carries_vat, read_reservation,
};
pub use sale::{Sale, SaleInvoice, SaleView, read_sale};
pub use sections::*;
pub use service::{
    InvoicedSale, accept_offer, acquire_vehicle, add_document, add_drive_photo, add_medium, bill_costs,
    cancel_reservation, check_publishing, create_vehicle, delete_document, delete_medium, delete_vehicle, end_drive,
    hand_over_vehicle, leave_channel, list_documents, list_drives, list_vehicles, live_sale_invoice, lock_vehicle,
    make_offer, order_media, preview_vehicles, read_active_drive, read_document, read_drive, read_medium, read_vehicle,
    reject_offer, request_offer, reservation_of, reserve_vehicle, sell_by_invoice, sell_vehicle, set_channels,
    set_vehicle_status, set_vehicle_tags, sign_drive, start_drive, summarize_drive, take_in_exchange, undo_acquisition,
    undo_sale, update_document, update_vehicle, validate_acquirable, validate_billable, validate_channels,
    validate_customer, validate_document, validate_drive, validate_driver, validate_offer, validate_references,
    validate_undo_acquisition,
};
pub use slug::slug;
pub use status::{MOVES, Move, StatusChoice, TransitionError, Trigger, VehicleStatus, next};
#[cfg(feature = "mock")]
pub use store::MockVehicleStore;
pub use store::{
    TestDriveReader, TestDriveStore, VehicleDeletionStore, VehicleDocumentReader, VehicleFileStore, VehicleFollower,
    VehicleMailStore, VehicleProcessStore, VehicleReader, VehicleStore,
};
pub use tag::{InvalidVehicleTag, VehicleTag};
pub use values::{
    BedroomLayouts, Bodies, Colours, ContactIdText, Drivetrains, EndLayouts, Figure, Figures, FreeObject, Fuels,
    Listed, LocationId, Options as OptionWords, Scalar, Text, Transmissions, WordOrEmpty, Year, YesNo,
};
pub use vehicle::{Vehicle, VehicleDraft};
#[cfg(feature = "openapi")]
pub use view::{
    ChannelOptionsChange, ChannelOptionsSchema, FullVehicle, NewVehicleData, SimpleVehicle, VehicleDataChange,
    add_advert_schemas, advert_data, example as example_vehicle,
};
pub use view::{StatusView, VehicleView, project, project_event};
pub use vin::{InvalidVin, Vin};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
