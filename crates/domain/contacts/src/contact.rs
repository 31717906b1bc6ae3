//! The record of a customer, a supplier, or another party that the business deals with.

use std::str::FromStr;

use forecourt_accounts::Rules;
use forecourt_kernel::{
    BoundedList, Change, ContactId, ContactNoteId, Country, Date, Email, Field, FromJson, InvalidValue, Line, OrEmpty,
    Scope, ScopeSet, SiteId, StaffId, Timestamp, Version, View, Words, from_line, is_one_line,
};
use forecourt_reference::{Catalogue, RecordTags, TagChoice, TagChoices, TagResource, UnknownValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DocumentReference, PhoneText};

/// The relation of a contact to the business (decisions §6).
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
    /// All types, in the order of the decisions.
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

    /// The name in records.
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

/// Consent to advertising.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Marketing {
    /// The contact consented.
    Yes,
    /// The contact did not consent, or was not asked.
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

impl FromJson for Marketing {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_line(value)
    }
}

/// An email address, or the empty text.
pub type EmailText = OrEmpty<Email>;
/// A day, or the empty text.
pub type DateText = OrEmpty<Date>;
/// A country, or the empty text.
pub type CountryText = OrEmpty<Country>;
/// The types of a contact.
pub type ContactTypes = Words<ContactType>;
/// References to documents that are attached to a contact.
pub type References = BoundedList<DocumentReference>;

// The serialised forms of these types are also the stored form, one document: a new field needs `#[serde(default)]` before its
// stored type, and no field is ever renamed.
forecourt_kernel::fields! {
    /// A postal address. Unknown parts are empty.
    #[derive(Eq, Default, Serialize, Deserialize)]
    content Address;
    /// A postal address. No member is required.
    #[cfg_attr(feature = "openapi", schema(as = AddressBody))]
    changes AddressChanges, validated by Rules<'_>;

    /// First line.
    line1: Line => String;
    /// Second line.
    line2: Line => String;
    /// Third line.
    line3: Line => String;
    /// Town.
    city: Line => String;
    /// County, state or region.
    state: Line => String;
    /// Two-letter ISO code.
    country: CountryText => Option<Country>;
    /// Postcode.
    zip: Line => String;
}

impl Address {
    /// Reads an address that is not a field of a contact.
    ///
    /// # Errors
    /// The faults of the address.
    pub fn read(value: Value, rules: &Rules<'_>) -> Result<Self, InvalidValue> {
        let changes = AddressChanges::from_json(value)?;
        let faults = Change::<Self, Rules<'_>>::shape_faults(&changes);
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut address = Self::default();
        changes.apply(&mut address, &Self::default(), rules);
        Ok(address)
    }
}

forecourt_kernel::fields! {
    /// A driving licence. Unknown parts are empty.
    #[derive(Eq, Default, Serialize, Deserialize)]
    content License;
    /// A driving licence. No member is required.
    #[cfg_attr(feature = "openapi", schema(as = LicenseBody))]
    changes LicenseChanges, validated by Rules<'_>;

    /// Licence number.
    number: Line => String;
    /// The code by which a third party may look it up.
    code: Line => String;
    /// The day on which it was checked.
    checked: DateText => Option<Date>, rule has_happened;
    /// Staff user id of the checker.
    checked_by: i64 => Option<StaffId>;
}

forecourt_kernel::fields! {
    /// The accounts for a contact's invoices. Unknown codes are empty.
    #[derive(Eq, Default, Serialize, Deserialize)]
    content Nominal;
    /// Nominal codes. No member is required.
    #[cfg_attr(feature = "openapi", schema(as = NominalBody))]
    changes NominalChanges, validated by Rules<'_>;

    /// Code for sales to the contact.
    invoice: Line => String;
    /// Code for purchases from the contact.
    purchase: Line => String;
}

forecourt_kernel::fields! {
    /// The fields of a contact, without its identity, timestamps, notes and password.
    ///
    /// Fields by which lists are filtered or duplicates are found also have columns of their own:
    /// [`ContactKeys`](crate::ContactKeys).
    #[derive(Serialize, Deserialize)]
    content ContactDraft;
    /// Changes to a contact. No field is required.
    #[cfg_attr(feature = "openapi", schema(as = ContactBody, example = json!({"company": "Lee Ltd", "marketing": "No"})))]
    changes ContactChanges, validated by Rules<'_>;

    /// Site of the business; 0 means none.
    site: i64 => SiteId;
    /// Email address; also the login name.
    email: EmailText => String;
    /// Relation to the business; Customer by default.
    types as "type": ContactTypes => Vec<ContactType>;
    /// Full name; required of a new contact.
    name: #[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 255, pattern = "\\S"))] Line => String, rule is_said;
    /// Company.
    company: Line => String, rule is_one_line;
    /// VAT registration number.
    vat: Line => String;
    /// Postal address. Its members are merged; null clears it.
    address: AddressChanges => Address;
    /// Landline: in international format, or an object of country and number.
    telephone: PhoneText => String;
    /// Mobile: in international format, or an object of country and number.
    mobile: PhoneText => String;
    /// Date of birth.
    dob: DateText => Option<Date>, rule is_past;
    /// Driving licence. Its members are merged; null clears it.
    license: LicenseChanges => License;
    /// National insurance number.
    ni: Line => String;
    /// Marketing consent; No by default.
    marketing: Marketing => Marketing;
    /// Nominal codes. They are merged; null clears them.
    nominal: NominalChanges => Nominal;
    /// The full set of tags, each a name or {name, checked}; names must exist.
    tags as "tag": TagChoices => Vec<TagChoice>, rule are_known;
    /// The full set of attached references, stored as they are sent. The whole contact may have at most 64 KiB.
    documents as "document": References => Vec<DocumentReference>;
    /// True to enable customer login, which needs an email.
    login: bool => bool;
}

fn is_said(name: &Field<Line>, _: &Rules<'_>) -> InvalidValue {
    let broken = is_one_line(name, &());
    if broken != InvalidValue::default() {
        return broken;
    }
    let is_empty = match name {
        Field::Absent | Field::Wrong(_) => false,
        Field::Null => true,
        Field::Value(name) => name.trim().is_empty(),
    };
    if is_empty {
        InvalidValue::here("must not be empty")
    } else {
        InvalidValue::default()
    }
}

fn is_past(day: &Field<DateText>, rules: &Rules<'_>) -> InvalidValue {
    match day {
        Field::Value(OrEmpty(Some(day))) if *day > rules.now.date() => InvalidValue::here("must not be in the future"),
        _ => InvalidValue::default(),
    }
}

fn has_happened(day: &Field<DateText>, rules: &Rules<'_>) -> InvalidValue {
    let fault = match day {
        Field::Value(OrEmpty(Some(day))) => day.validate_past(rules.now).err(),
        _ => None,
    };
    fault.map(InvalidValue::here).unwrap_or_default()
}

fn are_known(tags: &Field<TagChoices>, rules: &Rules<'_>) -> InvalidValue {
    let faults = |choices: &TagChoices| rules.tag_faults(TagResource::Contact, choices);
    tags.value().map(faults).unwrap_or_default()
}

impl ContactDraft {
    /// The defaults of the fields.
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
    /// The contact's id, unique across businesses.
    pub id: ContactId,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change. Notes are records of their own and do not count.
    pub updated: Timestamp,
    /// The record's version.
    pub version: Version,
    /// The newest notes, newest first (id descending): at most [`MAX_NOTES_SHOWN`](forecourt_kernel::bounds::MAX_NOTES_SHOWN),
    /// and none if they were not requested.
    pub notes: Vec<ContactNote>,
    /// All other fields except the password, which is never shown.
    pub content: ContactDraft,
}

impl Contact {
    /// Returns the version of the representation in `view` for a caller with `scopes`. It differs from the record's, because
    /// notes are written without a change of the contact.
    pub fn version_shown(&self, view: View, scopes: ScopeSet) -> Version {
        if view == View::Simple || self.notes.is_empty() || !scopes.contains(Scope::ContactNotesRead) {
            return self.version;
        }
        let notes: Vec<_> = self.notes.iter().map(|note| note.id).collect();
        self.version.shown_with(notes)
    }

    /// Returns the tags of the contact, and the tags that are available to it.
    pub fn tags<'a>(&'a self, catalogue: &'a Catalogue) -> RecordTags<'a> {
        catalogue.record_tags(TagResource::Contact, &self.content.tags)
    }
}

/// A note on a contact, as it is stored and shown (contract, "Contact").
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ContactNote {
    /// Note id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub id: ContactNoteId,
    /// The contact's id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub contact: ContactId,
    /// Time of writing, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created: Timestamp,
    /// Staff user id of its author; null if none was named.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub user: Option<StaffId>,
    /// The text.
    pub note: String,
}
