//! The requests of callers besides the fields of a contact: parsed, not yet checked against the business's lists or what storage
//! holds.

use forecourt_kernel::{Phone, Range, StaffId, TextFilter, Timestamp, fold_email};

use crate::{Contact, keys::literal_key, keys::meaning};

/// `POST /2.0/contacts/{id}/notes`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewNote {
    /// The text; line breaks are part of it.
    pub note: String,
    /// Who of the staff writes it.
    pub user: Option<StaffId>,
}

/// `PUT /2.0/contacts/{id}/follow-blocks`. What is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetFollowBlocks {
    /// Whether their address is to be left alone.
    pub email: Option<bool>,
    /// Whether their number is to be left alone.
    pub sms: Option<bool>,
}

/// Which contacts a list is of. What is `None` does not narrow it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ContactFilter {
    /// With this address.
    pub email: Option<TextFilter>,
    /// Of this name.
    pub name: Option<WholeText>,
    /// Of this company.
    pub company: Option<WholeText>,
    /// With this VAT registration number.
    pub vat: Option<WholeText>,
    /// With this postcode.
    pub zip: Option<WholeText>,
    /// With this landline.
    pub telephone: Option<Phone>,
    /// With this mobile.
    pub mobile: Option<Phone>,
    /// Made then.
    pub created: Option<Range<Timestamp>>,
    /// Last changed then.
    pub updated: Option<Range<Timestamp>>,
}

impl ContactFilter {
    /// Whether `contact` passes. What storage finds by its columns is what passes here.
    pub fn matches(&self, contact: &Contact) -> bool {
        let Self {
            email,
            name,
            company,
            vat,
            zip,
            telephone,
            mobile,
            created,
            updated,
        } = self;
        let content = &contact.content;
        let is = |wanted: &Option<WholeText>, text: &str| wanted.as_ref().is_none_or(|wanted| wanted.matches(text));
        let has = |wanted: &Option<Phone>, number: &str| wanted.as_ref().is_none_or(|wanted| wanted.as_str() == number);
        email
            .as_ref()
            .is_none_or(|wanted| wanted.matches(&fold_email(&content.email)))
            && is(name, &content.name)
            && is(company, &content.company)
            && is(vat, &content.vat)
            && is(zip, &content.address.zip)
            && has(telephone, &content.telephone)
            && has(mobile, &content.mobile)
            && created.is_none_or(|range| range.contains(&contact.created))
            && updated.is_none_or(|range| range.contains(&contact.updated))
    }
}

/// A filter by a whole text, compared without regard to case; `%` is an ordinary character in it (decisions §6).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WholeText {
    key: String,
    literal: String,
}

impl WholeText {
    /// Wants this text.
    pub fn new(text: &str) -> Self {
        Self {
            key: meaning(text),
            literal: literal_key(text),
        }
    }

    /// The comparison key (see [`ContactKeys`](crate::ContactKeys)) that every text that passes has, and what to find
    /// candidates by in an index. It is empty if what is wanted is no text.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The [`literal_key`] of a text that passes, and what to check candidates by.
    pub fn literal(&self) -> &str {
        &self.literal
    }

    /// Whether `text` passes.
    pub fn matches(&self, text: &str) -> bool {
        literal_key(text) == self.literal
    }
}
