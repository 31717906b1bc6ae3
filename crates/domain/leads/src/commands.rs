//! Requests of callers other than the fields of a lead: parsed, but not yet checked against stored data.

use forecourt_kernel::{ContactId, Phone, Range, SiteId, StaffId, TextFilter, Timestamp, VehicleId, fold_email};
use forecourt_reference::LeadChannel;

use crate::{Lead, LeadStatus, Rating};

/// `PATCH /2.0/leads/{id}/assign`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAssignment {
    /// The staff users who handle the lead from now on.
    pub assign: Vec<StaffId>,
}

/// A filter for lists of leads. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeadFilter {
    /// Leads of this site.
    pub site: Option<SiteId>,
    /// Leads in this status.
    pub status: Option<LeadStatus>,
    /// Leads of this channel.
    pub channel: Option<LeadChannel>,
    /// The lead with this reference within the business.
    pub reference: Option<i64>,
    /// Leads whose sender has this name.
    pub name: Option<TextFilter>,
    /// Leads from this email address.
    pub email: Option<TextFilter>,
    /// Leads from this landline, in E.164.
    pub phone: Option<Phone>,
    /// Leads from this mobile, in E.164.
    pub mobile: Option<Phone>,
    /// Leads linked to this contact.
    pub contact: Option<ContactId>,
    /// Leads associated with this vehicle.
    pub vehicle: Option<VehicleId>,
    /// Leads with at least this rating; unrated leads are left out.
    pub rating_min: Option<Rating>,
    /// Leads created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Leads last changed in this range.
    pub updated: Option<Range<Timestamp>>,
}

impl LeadFilter {
    /// Returns `true` if `lead` passes the filter. `concerns` tells which vehicles the lead concerns.
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
