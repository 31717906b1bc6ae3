//! Requests of callers other than the fields of a contact: parsed, but not yet checked against the business's lists or stored
//! data.

use forecourt_kernel::{Phone, Range, StaffId, TextFilter, Timestamp, fold_email};

use crate::{Contact, keys::literal_key, keys::meaning};

/// `POST /2.0/contacts/{id}/notes`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewNote {
    /// The text; line breaks are part of it.
    pub note: String,
    /// The staff user who writes it.
    pub user: Option<StaffId>,
}

/// `PUT /2.0/contacts/{id}/follow-blocks`. A field that is `None` does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetFollowBlocks {
    /// True to block mails to the contact's address.
    pub email: Option<bool>,
    /// True to block text messages to the contact's number.
    pub sms: Option<bool>,
}

/// A filter for lists of contacts. A field that is `None` does not narrow the list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ContactFilter {
    /// Contacts with this email address.
    pub email: Option<TextFilter>,
    /// Contacts of this name.
    pub name: Option<WholeText>,
    /// Contacts of this company.
    pub company: Option<WholeText>,
    /// Contacts with this VAT registration number.
    pub vat: Option<WholeText>,
    /// Contacts with this postcode.
    pub zip: Option<WholeText>,
    /// Contacts with this landline.
    pub telephone: Option<Phone>,
    /// Contacts with this mobile.
    pub mobile: Option<Phone>,
    /// Contacts created in this range.
    pub created: Option<Range<Timestamp>>,
    /// Contacts last changed in this range.
    pub updated: Option<Range<Timestamp>>,
}

impl ContactFilter {
    /// Returns `true` if `contact` passes the filter. Storage must find the same contacts by its columns.
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

/// A filter by a whole text, compared without regard to case. `%` is an ordinary character in it (decisions §6).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WholeText {
    key: String,
    literal: String,
}

impl WholeText {
    /// A filter for this text.
    pub fn new(text: &str) -> Self {
        Self {
            key: meaning(text),
            literal: literal_key(text),
        }
    }

    /// The comparison key (see [`ContactKeys`](crate::ContactKeys)) of every text that passes, by which an index finds
    /// candidates. It is empty if the filter has no text.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The [`literal_key`] of every text that passes, by which candidates are checked.
    pub fn literal(&self) -> &str {
        &self.literal
    }

    /// Returns `true` if `text` passes.
    pub fn matches(&self, text: &str) -> bool {
        literal_key(text) == self.literal
    }
}
