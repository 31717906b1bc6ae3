//! What the fields of records are validated by beyond their types, where that is the same for all areas.

use forecourt_kernel::{Change, ContactId, InvalidValue, SiteId, StaffId, Timestamp, quoted};
use forecourt_reference::{TagChoice, TagResource};

use crate::Business;

/// What a write is validated by.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The business whose record is written: its lists and its country.
    pub business: &'a Business,
    /// The current moment.
    pub now: Timestamp,
}

impl Rules<'_> {
    /// What is wrong with the tags that a record is to carry: each that the business does not have for `resource` is a fault.
    pub fn tag_faults(&self, resource: TagResource, choices: &[TagChoice]) -> InvalidValue {
        let mut faults = InvalidValue::default();
        for TagChoice { name, .. } in choices {
            if self.business.catalogue.tag(resource, name).is_none() {
                let name = quoted(name);
                faults.add(format!("names {name}, which is no tag of {}s", resource.as_str()));
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

/// A contact. Whether the business has it, only storage knows.
impl Change<Option<ContactId>, Rules<'_>> for i64 {
    fn apply(self, stored: &mut Option<ContactId>, _: &Option<ContactId>, _: &Rules<'_>) {
        *stored = Some(ContactId::new(self));
    }
}
