//! What a list is narrowed by, as conditions on leads.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Text};
use forecourt_kernel::{BusinessId, Range, TextFilter, Timestamp};
use forecourt_leads::LeadFilter;

use super::{Db, search};
use crate::literal::Literal;
use crate::models::name_key;
use crate::schema::{lead_vehicles, leads};
use crate::settled::{Planning, Value};

/// A condition on leads, to be joined to others.
pub(super) type Condition = Box<dyn BoxableExpression<leads::table, Db, SqlType = Bool>>;

/// How the leads are found that meet a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Approach {
    /// By an index of what it asks for.
    Index,
    /// By the one index that serves whatever its values are: see [`is_settled`].
    Settled,
    /// By looking at each lead, in the order of the list, if it is scattered.
    Lead,
}

impl Approach {
    fn is_by_index_of(self, pattern: &str) -> bool {
        self != Self::Lead && search::is_indexed(pattern)
    }

    /// How often a statement is planned that goes about it so.
    pub(super) fn planning(self) -> Planning {
        match self {
            Self::Index | Self::Lead => Planning::ByValues,
            Self::Settled => Planning::Once,
        }
    }
}

/// Whether the filter asks for something that no index holds in the order of the list.
pub(super) fn is_scattered(filter: &LeadFilter) -> bool {
    let searches = [&filter.name, &filter.email]
        .into_iter()
        .any(|text| matches!(text, Some(TextFilter::Wildcard(_))));
    searches || filter.updated.is_some()
}

/// Whether one index holds what the filter asks for in the order of the list, so that there is nothing to choose: it asks for
/// one thing at most. Which of two is the rarer depends on their values.
pub(super) fn is_settled(filter: &LeadFilter) -> bool {
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
        // A range of ids, in which every such index ends.
        created: _,
        updated: _,
    } = filter;
    let asked = [
        site.is_some(),
        status.is_some(),
        channel.is_some(),
        reference.is_some(),
        name.is_some(),
        email.is_some(),
        phone.is_some(),
        mobile.is_some(),
        contact.is_some(),
        rating_min.is_some(),
    ];
    let at_most_one = asked.into_iter().filter(|asked| *asked).count() <= 1;
    at_most_one && vehicle.is_none() && !is_scattered(filter)
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
    let planning = approach.planning();
    let mut all: Vec<Condition> = Vec::new();
    if let Some(site) = site {
        all.push(Box::new(leads::site.eq(Value::new::<BigInt, _>(site.get(), planning))));
    }
    if let Some(status) = status {
        let code = i32::from(status.code());
        all.push(Box::new(leads::status.eq(Value::new::<Integer, _>(code, planning))));
    }
    if let Some(channel) = channel {
        all.push(Box::new(
            leads::channel.eq(Value::new::<Text, _>(channel.id(), planning)),
        ));
    }
    if let Some(reference) = reference {
        all.push(Box::new(
            leads::reference.eq(Value::new::<BigInt, _>(*reference, planning)),
        ));
    }
    match name {
        Some(TextFilter::Exact(name)) => {
            all.push(Box::new(
                leads::name_key.eq(Value::new::<Text, _>(name_key(name), planning)),
            ));
            all.push(Box::new(
                leads::name_folded.eq(Value::new::<Text, _>(name.clone(), planning)),
            ));
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
        Some(TextFilter::Exact(email)) => {
            all.push(Box::new(
                leads::email_folded.eq(Value::new::<Text, _>(email.clone(), planning)),
            ));
        }
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
        let phone = Value::new::<Text, _>(phone.as_str().to_owned(), planning);
        all.push(Box::new(leads::phone.assume_not_null().eq(phone)));
    }
    if let Some(mobile) = mobile {
        let mobile = Value::new::<Text, _>(mobile.as_str().to_owned(), planning);
        all.push(Box::new(leads::mobile.assume_not_null().eq(mobile)));
    }
    if let Some(contact) = contact {
        let contact = Value::new::<BigInt, _>(contact.get(), planning);
        all.push(Box::new(leads::contact.assume_not_null().eq(contact)));
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
            (Approach::Index | Approach::Settled, Some(from)) => all.push(Box::new(leads::updated.ge(from))),
            (Approach::Lead, Some(from)) => all.push(Box::new((leads::updated + 0).ge(from))),
        }
        match (approach, to) {
            (_, None) => {}
            (Approach::Index | Approach::Settled, Some(to)) => all.push(Box::new(leads::updated.le(to))),
            (Approach::Lead, Some(to)) => all.push(Box::new((leads::updated + 0).le(to))),
        }
    }
    all
}

/// A pattern as LIKE takes it: `%` is a wildcard, and nothing else is.
fn like(pattern: &str) -> String {
    pattern.replace('\\', r"\\").replace('_', r"\_")
}
