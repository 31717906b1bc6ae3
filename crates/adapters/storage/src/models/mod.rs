//! Row structs, once for both engines.

mod accounts;
mod events;
mod leads;
mod mails;
mod meta;

pub(crate) use accounts::{ApiKeyRow, BusinessRow, BusinessValues};
pub(crate) use events::EventRow;
pub(crate) use leads::{LeadRow, LeadValues, NewLeadRow, name_key};
pub(crate) use mails::{MailRow, NewMailRow};
pub(crate) use meta::MetaRow;
