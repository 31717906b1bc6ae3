//! The requests of callers besides the fields of a lead: parsed, not yet checked against what storage holds.

use forecourt_kernel::{ContactId, Phone, Range, SiteId, StaffId, TextFilter, Timestamp, VehicleId, fold_email};
use forecourt_reference::LeadChannel;

use crate::{Lead, LeadStatus, Rating};

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

impl LeadFilter {
    /// Whether `lead` passes, which concerns the vehicles of which `concerns` says so.
    pub fn matches(&self, lead: &Lead, concerns: impl Fn(VehicleId) -> bool) -> bool {
        let Self {
            site,
            status,
            channel,
            reference,
            name,
            email,
            phone,
            mobile,
            contact,
            vehicle,
            rating_min,
            created,
            updated,
        } = self;
        let content = &lead.content;
        site.is_none_or(|site| site == content.site)
            && status.is_none_or(|status| status == content.status)
            && channel.is_none_or(|channel| channel == content.channel)
            && reference.is_none_or(|reference| reference == lead.reference)
            && name.as_ref().is_none_or(|name| name.matches(&content.name))
            && email
                .as_ref()
                .is_none_or(|email| email.matches(&fold_email(&content.email)))
            && phone.as_ref().is_none_or(|phone| phone.as_str() == content.phone)
            && mobile.as_ref().is_none_or(|mobile| mobile.as_str() == content.mobile)
            && contact.is_none_or(|contact| Some(contact) == content.contact)
            && vehicle.is_none_or(concerns)
            && rating_min.is_none_or(|least| content.rating.is_some_and(|rating| rating >= least))
            && created.is_none_or(|range| range.contains(&lead.created))
            && updated.is_none_or(|range| range.contains(&lead.updated))
    }
}
