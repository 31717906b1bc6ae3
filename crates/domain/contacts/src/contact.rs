//! The record of a customer, a supplier, or another party that the business deals with.

use std::str::FromStr;

use forecourt_kernel::{
    ContactId, ContactNoteId, Country, Date, Scope, ScopeSet, SiteId, StaffId, Timestamp, Version, View,
};
use forecourt_reference::{Catalogue, RecordTags, TagChoice, TagResource, UnknownValue};
use serde::{Deserialize, Serialize};

use crate::{AddressPatch, DocumentReference, LicensePatch, NominalPatch};

/// What a contact is to the business (decisions §6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ContactType {
    /// Buys from it.
    Customer,
    /// Sells to it.
    Supplier,
    /// Another dealer.
    Trade,
    /// A provider of finance.
    Finance,
    /// A provider of warranties.
    Warranty,
    /// A provider of insurance.
    Insurance,
    /// Works for it.
    Staff,
    /// None of these.
    Other,
}

impl ContactType {
    /// Every type, in the order of the decisions.
    pub const ALL: &[Self] = &[
        Self::Customer,
        Self::Supplier,
        Self::Trade,
        Self::Finance,
        Self::Warranty,
        Self::Insurance,
        Self::Staff,
        Self::Other,
    ];
    const NAMES: &[&str] = &[
        "Customer",
        "Supplier",
        "Trade",
        "Finance",
        "Warranty",
        "Insurance",
        "Staff",
        "Other",
    ];

    /// The name, as records carry it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "Customer",
            Self::Supplier => "Supplier",
            Self::Trade => "Trade",
            Self::Finance => "Finance",
            Self::Warranty => "Warranty",
            Self::Insurance => "Insurance",
            Self::Staff => "Staff",
            Self::Other => "Other",
        }
    }
}

impl FromStr for ContactType {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        let found = Self::ALL.iter().find(|kind| kind.name() == text);
        found.copied().ok_or(UnknownValue(Self::NAMES))
    }
}

/// Whether a contact agreed to be sent advertising.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Marketing {
    /// They did.
    Yes,
    /// They did not, or were not asked.
    #[default]
    No,
}

impl FromStr for Marketing {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "Yes" => Ok(Self::Yes),
            "No" => Ok(Self::No),
            _ => Err(UnknownValue(&["Yes", "No"])),
        }
    }
}

/// A postal address. What is unknown is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Address {
    /// The first line: as a rule the house and the street.
    pub line1: String,
    /// The second line.
    pub line2: String,
    /// The third line.
    pub line3: String,
    /// The town.
    pub city: String,
    /// The county, state or region.
    pub state: String,
    /// The country.
    pub country: Option<Country>,
    /// The postcode, as it was written.
    pub zip: String,
}

impl Address {
    /// The address with the supplied members laid over it; `None` stands for a null, which clears them all.
    #[must_use]
    pub fn merged(self, patch: Option<AddressPatch>) -> Self {
        let Some(patch) = patch else {
            return Self::default();
        };
        let AddressPatch {
            line1,
            line2,
            line3,
            city,
            state,
            country,
            zip,
        } = patch;
        Self {
            line1: line1.unwrap_or(self.line1),
            line2: line2.unwrap_or(self.line2),
            line3: line3.unwrap_or(self.line3),
            city: city.unwrap_or(self.city),
            state: state.unwrap_or(self.state),
            country: country.unwrap_or(self.country),
            zip: zip.unwrap_or(self.zip),
        }
    }
}

/// A driving licence. What is unknown is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct License {
    /// Its number.
    pub number: String,
    /// The code by which a third party may look it up.
    pub code: String,
    /// The day on which it was checked.
    pub checked: Option<Date>,
    /// Who of the staff checked it.
    pub checked_by: Option<StaffId>,
}

impl License {
    /// The licence with the supplied members laid over it; `None` stands for a null, which clears them all.
    #[must_use]
    pub fn merged(self, patch: Option<LicensePatch>) -> Self {
        let Some(patch) = patch else {
            return Self::default();
        };
        let LicensePatch {
            number,
            code,
            checked,
            checked_by,
        } = patch;
        Self {
            number: number.unwrap_or(self.number),
            code: code.unwrap_or(self.code),
            checked: checked.unwrap_or(self.checked),
            checked_by: checked_by.unwrap_or(self.checked_by),
        }
    }
}

/// The accounts that invoices of and to a contact are booked to. What is unknown is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Nominal {
    /// The nominal code of what they buy.
    pub invoice: String,
    /// The nominal code of what they sell.
    pub purchase: String,
}

impl Nominal {
    /// The codes with the supplied ones laid over them; `None` stands for a null, which clears them all.
    #[must_use]
    pub fn merged(self, patch: Option<NominalPatch>) -> Self {
        let Some(NominalPatch { invoice, purchase }) = patch else {
            return Self::default();
        };
        Self {
            invoice: invoice.unwrap_or(self.invoice),
            purchase: purchase.unwrap_or(self.purchase),
        }
    }
}

/// What is kept of a contact besides its identity, its stamps, its notes and its password.
///
/// Its serialised form is what storage keeps as one document: a new member needs `#[serde(default)]`, and none is ever
/// renamed. What lists are filtered by, and duplicates found by, also has a column of its own:
/// [`ContactKeys`](crate::ContactKeys).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ContactDraft {
    /// The site that it is filed under; 0 is none.
    pub site: SiteId,
    /// Their address, and the name that they log in with; empty if unknown.
    pub email: String,
    /// What they are to the business.
    #[serde(rename = "type")]
    pub types: Vec<ContactType>,
    /// Their full name.
    pub name: String,
    /// The company that they stand for; empty if there is none.
    pub company: String,
    /// Its VAT registration number; empty if unknown.
    pub vat: String,
    /// Where they live.
    pub address: Address,
    /// Their landline in E.164; empty if unknown.
    pub telephone: String,
    /// Their mobile in E.164; empty if unknown.
    pub mobile: String,
    /// The day on which they were born.
    pub dob: Option<Date>,
    /// Their driving licence.
    pub license: License,
    /// Their national insurance number; empty if unknown.
    pub ni: String,
    /// Whether they agreed to be sent advertising.
    pub marketing: Marketing,
    /// The accounts that their invoices are booked to.
    pub nominal: Nominal,
    /// The tags that they carry.
    #[serde(rename = "tag")]
    pub tags: Vec<TagChoice>,
    /// What is attached to them.
    #[serde(rename = "document")]
    pub documents: Vec<DocumentReference>,
    /// Whether they may log in as a customer. A contact without an email may not.
    pub login: bool,
}

impl ContactDraft {
    /// What a contact says of which nothing is known: the defaults of its fields.
    pub fn blank(catalogue: &Catalogue) -> Self {
        Self {
            site: SiteId::new(0),
            email: String::new(),
            types: vec![ContactType::Customer],
            name: String::new(),
            company: String::new(),
            vat: String::new(),
            address: Address::default(),
            telephone: String::new(),
            mobile: String::new(),
            dob: None,
            license: License::default(),
            ni: String::new(),
            marketing: Marketing::default(),
            nominal: Nominal::default(),
            tags: catalogue.defaulted_tags(TagResource::Contact),
            documents: Vec::new(),
            login: false,
        }
    }
}

/// A contact.
#[derive(Clone, PartialEq, Debug)]
pub struct Contact {
    /// Its number, unique across businesses.
    pub id: ContactId,
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed. Notes are records of their own: they do not count.
    pub updated: Timestamp,
    /// Which state of it this is.
    pub version: Version,
    /// The newest notes on it, newest first (id descending): at most
    /// [`MAX_NOTES_SHOWN`](forecourt_kernel::bounds::MAX_NOTES_SHOWN), and none where they were not requested.
    pub notes: Vec<ContactNote>,
    /// Everything else but the password, which is never shown.
    pub content: ContactDraft,
}

impl Contact {
    /// Which state of it `view` shows to a caller with `scopes`: notes are written without a change of the contact.
    pub fn version_shown(&self, view: View, scopes: ScopeSet) -> Version {
        if view == View::Simple || self.notes.is_empty() || !scopes.contains(Scope::ContactNotesRead) {
            return self.version;
        }
        let notes: Vec<_> = self.notes.iter().map(|note| note.id).collect();
        self.version.shown_with(notes)
    }

    /// The tags that they carry, and those that they could.
    pub fn tags<'a>(&'a self, catalogue: &'a Catalogue) -> RecordTags<'a> {
        catalogue.record_tags(TagResource::Contact, &self.content.tags)
    }
}

/// A note on a contact, as it is kept and as it is shown (contract, "Contact").
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContactNote {
    /// Note id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: ContactNoteId,
    /// The contact that it is on.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub contact: ContactId,
    /// When it was written, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created: Timestamp,
    /// Staff user id of its author; null if none was named.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub user: Option<StaffId>,
    /// The text.
    pub note: String,
}
