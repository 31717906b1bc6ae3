//! The requests of callers besides the fields of a lead: parsed, not yet checked against what storage holds.

use forecourt_kernel::{ContactId, Phone, Range, SiteId, StaffId, TextFilter, Timestamp, VehicleId};
use forecourt_reference::LeadChannel;

use crate::{LeadStatus, Rating};

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
