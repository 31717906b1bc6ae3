//! Rows: the columns that are read, written and filtered by, once for both engines.
//!
//! An insert names every column of its row, `treat_none_as_default_value = false`: so its text is always the same, and is put
//! together once. `None` is written as NULL, whatever default the column has.

mod accounts;
mod changes;
pub(super) mod contacts;
mod counters;
mod events;
mod idempotency;
mod lead_conversation;
pub(super) mod leads;
mod mails;
mod meta;
mod servers;
pub(super) mod vehicles;
mod webhooks;

/// The kind of a deletion that erases a contact.
pub(crate) const ERASURE: i32 = 1;

pub(crate) use accounts::{ApiKeyRow, BusinessRow, BusinessValues};
pub(crate) use contacts::{ContactRow, ContactValues, NewContactRow, NewNoteRow, NoteRow};
pub(crate) use counters::{Counter, CounterRow};
pub(crate) use events::{EventRow, LoggedRow};
pub(crate) use idempotency::AnswerRow;
pub(crate) use lead_conversation::{AssessmentRow, LeadMessageRow, LeadNoteRow, NewLeadMessageRow, NewLeadNoteRow};
pub(crate) use leads::{LeadRow, LeadValues, NewLeadRow, name_key};
pub(crate) use mails::{MailRow, NewMailRow};
pub(crate) use meta::MetaRow;
pub(crate) use servers::ServerRow;
pub(crate) use vehicles::{FactsValues, NewFactsRow, NewVehicleRow, VehicleRow, VehicleValues, key_of};
pub(crate) use webhooks::{
    AttemptRow, AttemptValues, DeliveryRow, DueAdvance, DueRow, EndpointRow, Merge, NewDeliveryRow, NewWebhookRow,
    WebhookRow, WebhookValues, status_code,
};
