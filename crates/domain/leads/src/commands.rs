//! The requests of callers: parsed, not yet checked against what storage holds.

use forecourt_kernel::{ContactId, Email, Phone, Range, SiteId, StaffId, TextFilter, Timestamp, VehicleId};
use forecourt_reference::{LeadChannel, LeadType, TagChoice};
use serde_json::{Map, Value};

use crate::{LeadStatus, Rating, VehicleChoice};

/// `POST /2.0/leads`. What is `None` takes its default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CreateLead {
    /// What the record says from the start.
    pub fields: UpdateLead,
    /// Whether to notify the business; true by default.
    pub notify: Option<bool>,
    /// The stock vehicle that the enquiry concerns.
    pub vehicle: Option<VehicleChoice>,
}

/// `PATCH /2.0/leads/{id}`. What is `None` stays as it is; an inner `None` clears.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateLead {
    /// The site to file it under.
    pub site: Option<SiteId>,
    /// The way it came in.
    pub channel: Option<LeadChannel>,
    /// The channel's own reference, such as a thread's id; kept and read as `data.channel_id`.
    pub channel_id: Option<Option<String>>,
    /// The sender's name.
    pub name: Option<String>,
    /// Their address.
    pub email: Option<Option<Email>>,
    /// Their landline.
    pub phone: Option<Option<Phone>>,
    /// Their mobile.
    pub mobile: Option<Option<Phone>>,
    /// The contact to link.
    pub contact: Option<Option<ContactId>>,
    /// What it is about.
    pub types: Option<Vec<LeadType>>,
    /// Members to lay over the free-form detail.
    pub data: Option<Option<Map<String, Value>>>,
    /// Where it stands.
    pub status: Option<LeadStatus>,
    /// The full set of tags.
    pub tags: Option<Vec<TagChoice>>,
}

/// `PATCH /2.0/leads/{id}/assign`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAssignment {
    /// The staff users who deal with it from now on.
    pub assign: Vec<StaffId>,
}

/// Which leads a list is of. What is `None` does not narrow it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeadFilter {
    /// Filed under this site.
    pub site: Option<SiteId>,
    /// In this state.
    pub status: Option<LeadStatus>,
    /// Came in this way.
    pub channel: Option<LeadChannel>,
    /// With this number within the business.
    pub reference: Option<i64>,
    /// With this sender's name.
    pub name: Option<TextFilter>,
    /// From this address.
    pub email: Option<TextFilter>,
    /// From this landline, in E.164.
    pub phone: Option<Phone>,
    /// From this mobile, in E.164.
    pub mobile: Option<Phone>,
    /// Linked to this contact.
    pub contact: Option<ContactId>,
    /// Associated with this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Rated at least so; unrated leads are left out.
    pub rating_min: Option<Rating>,
    /// Came in within this range.
    pub created: Option<Range<Timestamp>>,
    /// Last changed within this range.
    pub updated: Option<Range<Timestamp>>,
}
