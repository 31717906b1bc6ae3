//! Leads: enquiries, and the workflow from new to closed.
//!
//! [`Lead`] is the record and [`LeadStatus`] its state. The use cases are the functions of this crate ([`create_lead`],
//! [`update_lead`] …), each over the ports [`LeadReader`] and [`LeadStore`]. [`LeadView`] is the representation in the API and
//! webhooks. The rules are those of the contract's sections "Lead", "Leads" and "States and transitions", and of decisions §5.
//!
//! The crate can be used alone, with a team's own storage, which the suite `testing::lead_store_contract` tests. With the feature
//! `testing` it also has a store in memory, on which this example runs (`examples/take_in_an_enquiry.rs`):
//!
//! ```
#![doc = include_str!("../examples/take_in_an_enquiry.rs")]
//! ```

mod adf;
mod analyst;
mod commands;
mod conversation;
mod data;
mod enquiry_mail;
mod error;
mod forget;
mod lead;
mod mails;
mod message;
mod service;
mod status;
mod store;
mod suggestion;
#[cfg(feature = "testing")]
pub mod testing;
mod vehicles;
mod view;
mod xml_extent;

pub use adf::{AdfProspect, create_lead_from_adf, read_adf};
pub use analyst::{Analyst, AnalystError, Assessment, Conversation, MAX_SUMMARY_WORDS, Utterance};
pub use commands::{LeadFilter, SetAssignment};
pub use conversation::{MAX_CHARS_READ, MAX_MESSAGES_READ, conversation};
pub use data::{DataTooLarge, LeadData};
pub use enquiry_mail::{EnquiryMail, create_lead_from_mail};
pub use error::LeadError;
pub use forecourt_kernel::{Email, InvalidEmail, InvalidPhone, Phone};
pub use forget::{
    forget_person_in_event, forget_person_in_lead, forget_person_in_lead_note, forget_person_in_message,
    forget_suggestion_in_event, forget_suggestion_in_lead,
};
pub use lead::{
    AiRead, EmailText, JunkConfidence, JunkMark, JunkedBy, Lead, LeadChanges, LeadDraft, LeadTypes, PhoneLine, Rating,
};
pub use mails::MAILS;
pub use message::{Direction, LeadMessage, LeadNote, NewLeadNote, NewMessage, validate_lead_note, validate_message};
pub use service::assessment::{Applied, apply_assessment, begin_assessment};
pub use service::conversation::{
    add_lead_note, add_message, delete_lead_note, list_lead_notes, list_messages, outgoing_mail, read_lead_note,
    read_message,
};
pub use service::{
    add_lead_vehicle, assign_lead, create_lead, delete_lead, list_lead_vehicles, list_leads, preview_leads, read_lead,
    remove_lead_vehicle, reopen_lead, set_lead_status, update_lead, validate_lead, validate_lead_references,
    validate_new_lead_references, validate_vehicle,
};
pub use status::{LeadStatus, StatusChange, StatusMove};
#[cfg(feature = "mock")]
pub use store::MockLeadStore;
pub use store::{ConversationReader, ConversationStore, DueAssessment, DueReopening, LeadReader, LeadStore};
pub use suggestion::{ContactSuggestion, SenderKeys, SuggestedBy};
pub use vehicles::{LeadVehicle, LeadVehicleView, NamedTwice, StockVehicle, VehicleChoice, VehicleClue};
#[cfg(feature = "openapi")]
pub use view::example_lead;
pub use view::{FullLead, LeadPreview, LeadView, SimpleLead};

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
