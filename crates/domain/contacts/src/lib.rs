//! Contacts: customers, suppliers and other parties that the business deals with, their privacy and their login.
//!
//! [`Contact`] is the record. The use cases are the functions of this crate ([`create_contact`], [`update_contact`] …), each over
//! the ports [`ContactReader`] and [`ContactStore`]. [`ContactView`] is the representation in the API and webhooks. Contacts are
//! found and compared by their [`ContactKeys`]. The rules are those of the contract's sections "Contact" and "Contacts", and of
//! decisions §6.
//!
//! A login's password is made by [`make_password`] before a transaction begins, because hashing is slow on purpose. The mail that
//! carries it is sent between [`begin_login_email`] and [`finish_login_email`], outside of both their transactions. So its
//! failure can be reported, and no transaction waits for it. A lease prevents two mails to a contact at once, even on two
//! servers.
//!
//! The crate can be used alone, with a team's own storage, which the suite `testing::contact_store_contract` tests. With the
//! feature `testing` it also has a store in memory, on which this example runs (`examples/file_a_contact.rs`):
//!
//! ```
#![doc = include_str!("../examples/file_a_contact.rs")]
//! ```

mod billed;
mod commands;
mod contact;
mod document;
mod error;
mod follow;
mod keys;
mod mails;
mod password;
mod phone_text;
mod service;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod validate;
mod view;

pub use commands::{ContactFilter, NewNote, SetFollowBlocks, WholeText};
pub use contact::{
    Address, AddressChanges, Contact, ContactChanges, ContactDraft, ContactNote, ContactType, ContactTypes,
    CountryText, DateText, EmailText, License, LicenseChanges, Marketing, Nominal, NominalChanges, References,
};
pub use document::DocumentReference;
pub use error::ContactError;
pub use follow::{BlockKey, FollowBlock, FollowBlocks};
pub use keys::{AddressKeys, ContactKeys, DuplicateKind, DuplicateProbe, literal_key, name_key};
pub use mails::MAILS;
#[cfg(feature = "argon2")]
pub use password::Argon2idHasher;
#[cfg(feature = "mock")]
pub use password::MockPasswordHasher;
pub use password::{NotRandom, Password, PasswordHash, PasswordHasher, make_password};
pub use phone_text::PhoneText;
pub use service::{
    LOGIN_MAIL_LEASE_SECONDS, LoginInvitation, abandon_login_email, add_note, begin_login_email, check_duplicate,
    create_contact, delete_contact, delete_note, export_contact, export_events, export_leads, finish_login_email,
    list_contacts, list_notes, read_contact, read_follow_blocks, read_note, reset_password, set_follow_blocks,
    update_contact,
};
#[cfg(feature = "mock")]
pub use store::MockContactStore;
pub use store::{ContactMailReader, ContactReader, ContactStore, LOGIN_EMAIL_RULE, LinkedLead, PastEvent, WaitingMail};
pub use validate::{validate_contact_change, validate_new_contact, validate_note};
pub use view::{
    ContactExport, ContactView, DuplicateAnswer, ExportedEvent, FullContact, LoginEmailed, PasswordReset,
    SimpleContact, project,
};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
