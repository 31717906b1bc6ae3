//! What a list is narrowed by, and a duplicate is found by, as conditions on contacts.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use forecourt_contacts::{AddressKeys, ContactFilter, WholeText};
use forecourt_kernel::TextFilter;

use super::{Db, contact_search};
use crate::schema::contacts;

/// A condition on contacts, to be joined to others.
pub(super) type Condition = Box<dyn BoxableExpression<contacts::table, Db, SqlType = Bool>>;

/// How the contacts are found whose email matches a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Approach {
    /// By an index.
    Index,
    /// By looking at each contact that something else finds.
    Contact,
}

/// Whether the filter asks for something that no index holds in the order of the list, and for nothing that finds few.
pub(super) fn is_scattered(filter: &ContactFilter) -> bool {
    matches!(filter.email, Some(TextFilter::Wildcard(_))) && narrowing(filter) == 0
}

/// By how many values the filter asks of which a contact has one for itself, or shares it with some.
pub(super) fn narrowing(filter: &ContactFilter) -> usize {
    let ContactFilter {
        email,
        name,
        company,
        vat,
        zip,
        telephone,
        mobile,
    } = filter;
    let is_exact = matches!(email, Some(TextFilter::Exact(email)) if !email.is_empty());
    // To have none is nothing particular.
    let texts = [name, company, vat, zip].into_iter().flatten();
    let telling = texts.filter(|text| !text.key().is_empty()).count();
    usize::from(is_exact) + telling + usize::from(telephone.is_some()) + usize::from(mobile.is_some())
}

/// What a contact must meet to pass `filter`. Each that is not a pattern has an index that begins with the business and ends in
/// the id. A pattern stands there in a form that none has, for a text joined to nothing; what an index is to be asked for it
/// stands beside.
pub(super) fn conditions(filter: &ContactFilter, approach: Approach) -> Vec<Condition> {
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
            let searched = contact_search::searched(pattern).filter(|_| approach == Approach::Index);
            let is_enough = searched.as_ref() == Some(pattern);
            if let Some(searched) = searched {
                // Written out like this it is planned anew each time, for what is searched: much depends on how common that is.
                let searched = sql::<Bool>("contacts.email_folded LIKE ").bind::<Text, _>(like(&searched));
                all.push(Box::new(searched.sql(r" ESCAPE '\'")));
            }
            if !is_enough {
                let email = contacts::email_folded.concat("");
                all.push(Box::new(email.like(like(pattern)).escape('\\')));
            }
        }
        None => {}
    }
    // The key finds the candidates, and the literal decides among them.
    macro_rules! whole {
        ($wanted:expr, $key:ident, $literal:ident) => {
            if let Some(wanted) = $wanted {
                all.push(Box::new(contacts::$key.eq(WholeText::key(wanted).to_owned())));
                all.push(Box::new(contacts::$literal.eq(wanted.literal().to_owned())));
            }
        };
    }
    whole!(name, name_key, name_literal);
    whole!(company, company_key, company_literal);
    whole!(vat, vat_key, vat_literal);
    whole!(zip, postcode_key, postcode_literal);
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
