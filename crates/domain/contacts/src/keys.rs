//! Keys by which contacts are compared. Values with the same meaning have the same key.

use std::str::FromStr;

use forecourt_kernel::{Country, Email, Phone, fold, fold_email};
use forecourt_reference::UnknownValue;
use serde::Serialize;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use crate::{Address, ContactDraft};

/// The maximum length of a key of free text, in bytes: short enough for every index.
const MAX_KEY_BYTES: usize = 128;

/// The number of bytes that the key of a longer text keeps of its beginning. The rest of the key is a digest.
const KEPT_BYTES: usize = 63;

/// The values by which a contact is found, each for an indexed column. An unknown value has the empty key, by which nothing is
/// ever searched.
///
/// Texts have the same key if they differ in nothing but case, punctuation, spacing and their Unicode form. So texts that differ
/// in case alone have the same key, and a filter can find its candidates by it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ContactKeys {
    /// The email, folded.
    pub email: String,
    /// The landline in E.164.
    pub telephone: String,
    /// The mobile in E.164.
    pub mobile: String,
    /// The name.
    pub name: String,
    /// The company.
    pub company: String,
    /// The VAT registration number.
    pub vat: String,
    /// The address.
    pub address: AddressKeys,
}

impl ContactKeys {
    /// The keys of a contact with this content.
    pub fn new(content: &ContactDraft) -> Self {
        Self {
            email: fold_email(&content.email),
            telephone: content.telephone.clone(),
            mobile: content.mobile.clone(),
            name: meaning(&content.name),
            company: meaning(&content.company),
            vat: meaning(&content.vat),
            address: AddressKeys::new(&content.address),
        }
    }
}

/// The parts of an address in the form in which they are compared.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AddressKeys {
    /// All lines together, since line breaks differ from one person to the next.
    pub lines: String,
    /// The town.
    pub city: String,
    /// The county, state or region.
    pub state: String,
    /// The postcode.
    pub postcode: String,
    /// The country's code.
    pub country: String,
}

impl AddressKeys {
    /// The keys of `address`.
    pub fn new(address: &Address) -> Self {
        let Address {
            line1,
            line2,
            line3,
            city,
            state,
            country,
            zip,
        } = address;
        Self {
            lines: bounded(letters_and_digits(&format!("{line1} {line2} {line3}"), Numbers::Apart)),
            city: meaning(city),
            state: meaning(state),
            postcode: meaning(zip),
            country: country.map_or_else(String::new, |country| country.to_string()),
        }
    }

    /// Returns `true` if `other` is the address searched for: its lines are the same, and no part that both have differs. If
    /// there are no lines to search for, the postcodes must be the same instead.
    fn found_in(&self, other: &Self) -> bool {
        let agree = |asked: &str, known: &str| asked.is_empty() || known.is_empty() || asked == known;
        let decisive = if self.lines.is_empty() {
            self.postcode == other.postcode
        } else {
            self.lines == other.lines && agree(&self.postcode, &other.postcode)
        };
        decisive
            && agree(&self.city, &other.city)
            && agree(&self.state, &other.state)
            && agree(&self.country, &other.country)
    }
}

/// Returns the key by which names are compared.
pub fn name_key(name: &str) -> String {
    meaning(name)
}

/// Returns the key of a free text.
pub(crate) fn meaning(text: &str) -> String {
    bounded(letters_and_digits(text, Numbers::Joined))
}

/// Returns the key of a free text for exact comparison that ignores case. Texts with the same literal key also have the same
/// [key](ContactKeys).
pub fn literal_key(text: &str) -> String {
    bounded(fold(text))
}

/// The treatment of characters between two numbers: "Flat 1, 2 High Street" is not "Flat 12 High Street".
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Apart,
    Joined,
}

fn letters_and_digits(text: &str, numbers: Numbers) -> String {
    // Folded twice, because the normal form of some characters has capitals.
    let folded = fold(&fold(text).nfkc().collect::<String>());
    let mut kept = String::with_capacity(folded.len());
    let mut gap = false;
    for character in folded.chars() {
        if !character.is_alphanumeric() {
            gap = true;
            continue;
        }
        let between_numbers = gap && character.is_numeric() && kept.ends_with(char::is_numeric);
        if between_numbers && numbers == Numbers::Apart {
            kept.push(' ');
        }
        kept.push(character);
        gap = false;
    }
    if kept.is_empty() {
        // A text with nothing but punctuation keeps it.
        return folded.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    kept
}

/// Returns `key` itself, or if it is too long for an index, its beginning and a digest of the whole.
fn bounded(key: String) -> String {
    if key.len() <= MAX_KEY_BYTES {
        return key;
    }
    let mut short = key[..key.floor_char_boundary(KEPT_BYTES)].to_owned();
    short.push('#');
    for byte in Sha256::digest(key.as_bytes()) {
        short.push_str(&format!("{byte:02x}"));
    }
    short
}

/// The field by which duplicates of a contact are searched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum DuplicateKind {
    /// The email.
    Email,
    /// The landline or the mobile.
    Phone,
    /// The name.
    Name,
    /// The company.
    Company,
    /// The VAT registration number.
    Vat,
    /// The address.
    Address,
}

impl FromStr for DuplicateKind {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match text {
            "email" => Ok(Self::Email),
            "phone" => Ok(Self::Phone),
            "name" => Ok(Self::Name),
            "company" => Ok(Self::Company),
            "vat" => Ok(Self::Vat),
            "address" => Ok(Self::Address),
            _ => Err(UnknownValue(&["email", "phone", "name", "company", "vat", "address"])),
        }
    }
}

/// `POST /2.0/contacts/duplicate-check`: the value that a duplicate must have. Texts are held as their keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DuplicateProbe {
    /// This email.
    Email(String),
    /// This landline or this mobile.
    Phone(Phone),
    /// This name.
    Name(String),
    /// This company.
    Company(String),
    /// This VAT registration number.
    Vat(String),
    /// This address.
    Address(AddressKeys),
}

impl DuplicateProbe {
    /// Reads a value that is a text. A telephone number without a country code is read as a number of `country`.
    ///
    /// # Errors
    /// The requirement that the value does not meet.
    pub fn text(kind: DuplicateKind, value: &str, country: Country) -> Result<Self, String> {
        let key = meaning(value);
        if key.is_empty() {
            return Err("must not be empty".into());
        }
        match kind {
            DuplicateKind::Email => match value.parse::<Email>() {
                Ok(email) => Ok(Self::Email(fold_email(&email.into_string()))),
                Err(error) => Err(error.to_string()),
            },
            DuplicateKind::Phone => Phone::parse(value, country)
                .map(Self::Phone)
                .map_err(|error| error.to_string()),
            DuplicateKind::Name => Ok(Self::Name(key)),
            DuplicateKind::Company => Ok(Self::Company(key)),
            DuplicateKind::Vat => Ok(Self::Vat(key)),
            DuplicateKind::Address => Err("must be an address object".into()),
        }
    }

    /// Reads a value that is an address.
    ///
    /// # Errors
    /// The requirement, if the address has neither lines nor a postcode. A town alone is not enough.
    pub fn address(address: &Address) -> Result<Self, &'static str> {
        let keys = AddressKeys::new(address);
        if keys.lines.is_empty() && keys.postcode.is_empty() {
            return Err("must have a line or a zip");
        }
        Ok(Self::Address(keys))
    }

    /// The field of the search.
    pub const fn kind(&self) -> DuplicateKind {
        match self {
            Self::Email(_) => DuplicateKind::Email,
            Self::Phone(_) => DuplicateKind::Phone,
            Self::Name(_) => DuplicateKind::Name,
            Self::Company(_) => DuplicateKind::Company,
            Self::Vat(_) => DuplicateKind::Vat,
            Self::Address(_) => DuplicateKind::Address,
        }
    }

    /// Returns `true` if a contact with these keys is a match. Storage must find the same contacts by its columns.
    pub fn matches(&self, keys: &ContactKeys) -> bool {
        match self {
            Self::Email(email) => *email == keys.email,
            Self::Phone(phone) => phone.as_str() == keys.telephone || phone.as_str() == keys.mobile,
            Self::Name(name) => *name == keys.name,
            Self::Company(company) => *company == keys.company,
            Self::Vat(vat) => *vat == keys.vat,
            Self::Address(address) => address.found_in(&keys.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_distinguishes_long_texts() {
        let long = |end: &str| meaning(&format!("{}{end}", "é".repeat(500)));
        assert_eq!(long("a"), long("A"));
        assert_ne!(long("a"), long("b"));
        assert!(long("a").len() <= MAX_KEY_BYTES);
        let just = "a".repeat(MAX_KEY_BYTES);
        assert_eq!(meaning(&just), just);
    }

    #[test]
    fn a_literal_key_is_short_and_minds_everything_but_case() {
        let long = |end: &str| literal_key(&format!("{}{end}", "é-".repeat(500)));
        assert_eq!(long("a"), long("A"));
        assert_ne!(long("a"), long("a "));
        assert!(long("a").len() <= MAX_KEY_BYTES);
        assert_eq!(literal_key("Lee & SONS"), "lee & sons");
        assert_ne!(literal_key(" Lee"), literal_key("lee"));
    }

    #[test]
    fn nothing_but_punctuation_is_not_nothing() {
        assert_eq!((meaning(" \t "), meaning(" -  - ")), (String::new(), "- -".into()));
        assert_ne!(meaning("???"), meaning("!!!"));
    }

    #[test]
    fn every_way_to_spell_a_letter_is_one_letter() {
        assert_eq!(meaning("Jose\u{301}"), meaning("JOSÉ"));
        assert_eq!(meaning("Ａcme ™"), meaning("acme tm"));
        assert_ne!(meaning("José"), meaning("Jose"));
    }
}
