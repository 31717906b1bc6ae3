//! What a list is narrowed by, as conditions on leads.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_kernel::{BusinessId, Range, TextFilter, Timestamp};
use forecourt_leads::LeadFilter;

use super::{Db, search};
use crate::literal::Literal;
use crate::models::name_key;
use crate::schema::{lead_vehicles, leads};

/// A condition on leads, to be joined to others.
pub(super) type Condition = Box<dyn BoxableExpression<leads::table, Db, SqlType = Bool>>;

/// How the leads are found that meet a condition which is scattered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Approach {
    /// By an index of what it asks for.
    Index,
    /// By looking at each lead, in the order of the list.
    Lead,
}

impl Approach {
    fn is_by_index_of(self, pattern: &str) -> bool {
        self == Self::Index && search::is_indexed(pattern)
    }
}

/// Whether the filter asks for something that no index holds in the order of the list.
pub(super) fn is_scattered(filter: &LeadFilter) -> bool {
    let searches = [&filter.name, &filter.email]
        .into_iter()
        .any(|text| matches!(text, Some(TextFilter::Wildcard(_))));
    searches || filter.updated.is_some()
}

/// Whether an index finds the leads that pass a filter which [`is_scattered`], or at least few beside them.
pub(super) fn is_searchable(filter: &LeadFilter) -> bool {
    let LeadFilter {
        site: _,
        status: _,
        channel: _,
        reference,
        name,
        email,
        phone,
        mobile,
        contact,
        vehicle,
        rating_min: _,
        created: _,
        updated,
    } = filter;
    let by_text = [name, email].into_iter().flatten().any(|text| match text {
        TextFilter::Exact(_) => true,
        TextFilter::Wildcard(pattern) => search::is_indexed(pattern),
    });
    let by_number = phone.is_some() || mobile.is_some() || reference.is_some();
    by_text || by_number || contact.is_some() || vehicle.is_some() || updated.is_some()
}

/// What a lead must meet to pass `filter`, but for `created`, which is a range of ids: see [`super::span`].
///
/// Each that is not scattered has an index that begins with the business and ends in the id. One that is scattered stands
/// there as it is if it is to be met by an index, and else in a form that no index has: as a sum, as a text joined to nothing.
pub(super) fn conditions(business: BusinessId, filter: &LeadFilter, approach: Approach) -> Vec<Condition> {
    let LeadFilter {
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
        created: _,
        updated,
    } = filter;
    let mut all: Vec<Condition> = Vec::new();
    if let Some(site) = site {
        all.push(Box::new(leads::site.eq(site.get())));
    }
    if let Some(status) = status {
        all.push(Box::new(leads::status.eq(i32::from(status.code()))));
    }
    if let Some(channel) = channel {
        all.push(Box::new(leads::channel.eq(channel.id())));
    }
    if let Some(reference) = reference {
        all.push(Box::new(leads::reference.eq(*reference)));
    }
    match name {
        Some(TextFilter::Exact(name)) => {
            all.push(Box::new(leads::name_key.eq(name_key(name))));
            all.push(Box::new(leads::name_folded.eq(name.clone())));
        }
        Some(TextFilter::Wildcard(pattern)) if approach.is_by_index_of(pattern) => {
            all.push(Box::new(leads::name_folded.like(like(pattern)).escape('\\')));
        }
        Some(TextFilter::Wildcard(pattern)) => {
            all.push(Box::new(leads::name_folded.concat("").like(like(pattern)).escape('\\')));
        }
        None => {}
    }
    match email {
        Some(TextFilter::Exact(email)) => all.push(Box::new(leads::email_folded.eq(email.clone()))),
        Some(TextFilter::Wildcard(pattern)) if approach.is_by_index_of(pattern) => {
            all.push(Box::new(leads::email_folded.like(like(pattern)).escape('\\')));
        }
        Some(TextFilter::Wildcard(pattern)) => {
            all.push(Box::new(
                leads::email_folded.concat("").like(like(pattern)).escape('\\'),
            ));
        }
        None => {}
    }
    if let Some(phone) = phone {
        all.push(Box::new(leads::phone.assume_not_null().eq(phone.as_str().to_owned())));
    }
    if let Some(mobile) = mobile {
        all.push(Box::new(leads::mobile.assume_not_null().eq(mobile.as_str().to_owned())));
    }
    if let Some(contact) = contact {
        all.push(Box::new(leads::contact.assume_not_null().eq(contact.get())));
    }
    if let Some(vehicle) = vehicle {
        let concerned = lead_vehicles::table
            .filter(lead_vehicles::business_id.eq(business.get()))
            .filter(lead_vehicles::vehicle_id.eq(vehicle.get()))
            .select(lead_vehicles::lead_id);
        all.push(Box::new(leads::id.eq_any(concerned)));
    }
    if let Some(least) = rating_min {
        all.push(Box::new(leads::rating.assume_not_null().ge(Literal(least.get()))));
    }
    if let Some(Range { from, to }) = updated {
        let (from, to) = (from.map(Timestamp::epoch_seconds), to.map(Timestamp::epoch_seconds));
        match (approach, from) {
            (_, None) => {}
            (Approach::Index, Some(from)) => all.push(Box::new(leads::updated.ge(from))),
            (Approach::Lead, Some(from)) => all.push(Box::new((leads::updated + 0).ge(from))),
        }
        match (approach, to) {
            (_, None) => {}
            (Approach::Index, Some(to)) => all.push(Box::new(leads::updated.le(to))),
            (Approach::Lead, Some(to)) => all.push(Box::new((leads::updated + 0).le(to))),
        }
    }
    all
}

/// A pattern as LIKE takes it: `%` is a wildcard, and nothing else is.
fn like(pattern: &str) -> String {
    pattern.replace('\\', r"\\").replace('_', r"\_")
}
