//! The requests of callers: parsed, not yet checked against the business's lists or what storage holds.

use forecourt_kernel::{Country, Date, Email, Phone, SiteId, StaffId, TextFilter, fold_email};
use forecourt_reference::TagChoice;

use crate::{Contact, ContactType, DocumentReference, Marketing, keys::literal_key, keys::meaning};

/// `POST /2.0/contacts` and `PATCH /2.0/contacts/{id}`. What is `None` takes its default or stays as it is; an inner
/// `None` clears.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ContactFields {
    /// The site to file it under.
    pub site: Option<SiteId>,
    /// Their address.
    pub email: Option<Option<Email>>,
    /// What they are to the business; none at all counts as the default.
    pub types: Option<Vec<ContactType>>,
    /// Their full name; a new contact needs one, and none can be left without.
    pub name: Option<String>,
    /// The company that they stand for.
    pub company: Option<String>,
    /// Its VAT registration number.
    pub vat: Option<String>,
    /// Members to lay over the address.
    pub address: Option<Option<AddressPatch>>,
    /// Their landline.
    pub telephone: Option<Option<Phone>>,
    /// Their mobile.
    pub mobile: Option<Option<Phone>>,
    /// The day on which they were born.
    pub dob: Option<Option<Date>>,
    /// Members to lay over the driving licence.
    pub license: Option<Option<LicensePatch>>,
    /// Their national insurance number.
    pub ni: Option<String>,
    /// Whether they agreed to be sent advertising.
    pub marketing: Option<Marketing>,
    /// Members to lay over the nominal codes.
    pub nominal: Option<Option<NominalPatch>>,
    /// The full set of tags; of several choices of one tag the last counts.
    pub tags: Option<Vec<TagChoice>>,
    /// The full set of attached references.
    pub documents: Option<Vec<DocumentReference>>,
    /// Whether they may log in.
    pub login: Option<bool>,
}

/// What to change of an address. What is `None` stays as it is; the empty text and an inner `None` clear.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddressPatch {
    /// The first line.
    pub line1: Option<String>,
    /// The second line.
    pub line2: Option<String>,
    /// The third line.
    pub line3: Option<String>,
    /// The town.
    pub city: Option<String>,
    /// The county, state or region.
    pub state: Option<String>,
    /// The country.
    pub country: Option<Option<Country>>,
    /// The postcode.
    pub zip: Option<String>,
}

/// What to change of a driving licence. What is `None` stays as it is; the empty text and an inner `None` clear.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LicensePatch {
    /// Its number.
    pub number: Option<String>,
    /// The code by which a third party may look it up.
    pub code: Option<String>,
    /// The day on which it was checked.
    pub checked: Option<Option<Date>>,
    /// Who of the staff checked it.
    pub checked_by: Option<Option<StaffId>>,
}

/// Which nominal codes to change. What is `None` stays as it is; the empty text clears.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NominalPatch {
    /// The code of what they buy.
    pub invoice: Option<String>,
    /// The code of what they sell.
    pub purchase: Option<String>,
}

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
