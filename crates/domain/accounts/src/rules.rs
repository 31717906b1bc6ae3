//! Rules for the fields of records that go beyond their types and are the same for all areas.

use forecourt_kernel::{Change, ContactId, InvalidValue, LeadId, SiteId, StaffId, Timestamp, VehicleId, quoted};
use forecourt_reference::{TagChoice, TagResource};

use crate::Business;

/// The data that a write is validated against.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The business whose record is written, with its lists and its country.
    pub business: &'a Business,
    /// The current moment.
    pub now: Timestamp,
}

impl Rules<'_> {
    /// Returns the faults in a record's tags: each tag that the business does not have for `resource`.
    pub fn tag_faults(&self, resource: TagResource, choices: &[TagChoice]) -> InvalidValue {
        let mut faults = InvalidValue::default();
        for (index, TagChoice { name, .. }) in choices.iter().enumerate() {
            if self.business.catalogue.tag(resource, name).is_none() {
                let message = format!("names {}, which is no tag of {}s", quoted(name), resource.as_str());
                faults.add_within(&index.to_string(), InvalidValue::here(message));
            }
        }
        faults
    }
}

/// The site that a record is filed under.
impl Change<SiteId, Rules<'_>> for i64 {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        if rules.business.catalogue.has_site(SiteId::new(*self)) {
            InvalidValue::default()
        } else {
            InvalidValue::here("names no site of this business")
        }
    }

    fn apply(self, stored: &mut SiteId, _: &SiteId, _: &Rules<'_>) {
        *stored = SiteId::new(self);
    }
}

/// A staff user.
impl Change<Option<StaffId>, Rules<'_>> for i64 {
    fn rule_faults(&self, rules: &Rules<'_>) -> InvalidValue {
        if rules.business.catalogue.has_staff(StaffId::new(*self)) {
            InvalidValue::default()
        } else {
            InvalidValue::here(format!("names {self}, who is no staff user of this business"))
        }
    }

    fn apply(self, stored: &mut Option<StaffId>, _: &Option<StaffId>, _: &Rules<'_>) {
        *stored = Some(StaffId::new(self));
    }
}

/// A contact. Only storage can tell if it belongs to the business.
impl Change<Option<ContactId>, Rules<'_>> for i64 {
    fn apply(self, stored: &mut Option<ContactId>, _: &Option<ContactId>, _: &Rules<'_>) {
        *stored = Some(ContactId::new(self));
    }
}

/// A lead. Only storage can tell if it belongs to the business.
impl Change<Option<LeadId>, Rules<'_>> for i64 {
    fn apply(self, stored: &mut Option<LeadId>, _: &Option<LeadId>, _: &Rules<'_>) {
        *stored = Some(LeadId::new(self));
    }
}

/// A vehicle. Only storage can tell if it belongs to the business.
impl Change<Option<VehicleId>, Rules<'_>> for i64 {
    fn apply(self, stored: &mut Option<VehicleId>, _: &Option<VehicleId>, _: &Rules<'_>) {
        *stored = Some(VehicleId::new(self));
    }
}
