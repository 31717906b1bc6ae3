//! What a list is narrowed by, and a duplicate is found by, as conditions on contacts.

use diesel::prelude::*;
use diesel::sql_types::Bool;
use forecourt_contacts::{AddressKeys, ContactFilter, WholeText};
use forecourt_kernel::TextFilter;

use super::Db;
use crate::schema::contacts;

/// A condition on contacts, to be joined to others.
pub(super) type Condition = Box<dyn BoxableExpression<contacts::table, Db, SqlType = Bool>>;

/// Whether the filter asks for something that no index holds in the order of the list.
pub(super) const fn is_scattered(filter: &ContactFilter) -> bool {
    matches!(filter.email, Some(TextFilter::Wildcard(_)))
}

/// What a contact must meet to pass `filter`. Each that is not scattered has an index that begins with the business and ends
/// in the id.
pub(super) fn conditions(filter: &ContactFilter) -> Vec<Condition> {
    let ContactFilter {
        email,
        name,
        company,
        vat,
        zip,
        telephone,
        mobile,
    } = filter;
    let mut all: Vec<Condition> = Vec::new();
    match email {
        Some(TextFilter::Exact(email)) => all.push(Box::new(contacts::email_folded.eq(email.clone()))),
        Some(TextFilter::Wildcard(pattern)) => {
            all.push(Box::new(contacts::email_folded.like(like(pattern)).escape('\\')));
        }
        None => {}
    }
    // The key finds the candidates, and the whole text decides among them.
    macro_rules! whole {
        ($wanted:expr, $key:ident, $folded:ident) => {
            if let Some(wanted) = $wanted {
                all.push(Box::new(contacts::$key.eq(WholeText::key(wanted).to_owned())));
                all.push(Box::new(contacts::$folded.eq(wanted.folded().to_owned())));
            }
        };
    }
    whole!(name, name_key, name_folded);
    whole!(company, company_key, company_folded);
    whole!(vat, vat_key, vat_folded);
    whole!(zip, postcode_key, postcode_folded);
    if let Some(telephone) = telephone {
        let wanted = telephone.as_str().to_owned();
        all.push(Box::new(contacts::telephone.assume_not_null().eq(wanted)));
    }
    if let Some(mobile) = mobile {
        let wanted = mobile.as_str().to_owned();
        all.push(Box::new(contacts::mobile.assume_not_null().eq(wanted)));
    }
    all
}

/// What the address of a contact must meet to be the one that is asked for: see
/// [`DuplicateProbe`](forecourt_contacts::DuplicateProbe).
pub(super) fn address(asked: &AddressKeys) -> Vec<Condition> {
    let AddressKeys {
        lines,
        city,
        state,
        postcode,
        country,
    } = asked;
    let mut all: Vec<Condition> = Vec::new();
    // What is not known there contradicts nothing; what is not asked for is left out.
    macro_rules! agrees {
        ($asked:expr, $known:ident) => {
            if !$asked.is_empty() {
                all.push(Box::new(contacts::$known.eq_any([String::new(), $asked.clone()])));
            }
        };
    }
    if lines.is_empty() {
        all.push(Box::new(contacts::postcode_key.eq(postcode.clone())));
    } else {
        all.push(Box::new(contacts::address_key.eq(lines.clone())));
        agrees!(postcode, postcode_key);
    }
    agrees!(city, city_key);
    agrees!(state, state_key);
    agrees!(country, country);
    all
}

/// A pattern as LIKE takes it: `%` is a wildcard, and nothing else is.
fn like(pattern: &str) -> String {
    pattern.replace('\\', r"\\").replace('_', r"\_")
}
