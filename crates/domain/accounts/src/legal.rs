//! The company behind a business, as its invoices, orders and purchases state it.

use forecourt_kernel::{
    Country, Phone, ValidationErrors,
    bounds::{InvalidText, Line},
};
use serde::{Deserialize, Serialize};

use crate::Business;

/// The maximum number of characters of a number in a register.
const MAX_NUMBER_CHARS: usize = 32;

/// The maximum number of characters of a number for value added tax.
const MAX_VAT_NUMBER_CHARS: usize = 20;

/// The company behind a business. The empty text stands for what it has not declared.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Legal {
    /// Its registered name.
    pub name: String,
    /// Its registered address.
    pub address: LegalAddress,
    /// Its telephone number in E.164.
    pub phone: String,
    /// Its number in the register of companies.
    pub company_number: String,
    /// Its number for value added tax, without spaces.
    pub vat_number: String,
    /// Its number at the Financial Conduct Authority.
    pub fca_number: String,
    /// The account to which its customers pay.
    pub bank: BankAccount,
}

/// The registered address of a company.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the members are those of an address in the API")]
pub struct LegalAddress {
    pub line1: String,
    pub line2: String,
    pub line3: String,
    pub city: String,
    pub state: String,
    pub zip: String,
    /// `None` stands for the country of the business.
    pub country: Option<Country>,
}

/// An account to which customers pay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BankAccount {
    /// The name of its holder.
    pub account_name: String,
    /// The number of the branch, in the United Kingdom.
    pub sort_code: String,
    /// Its national number.
    pub account_number: String,
    /// Its international number, without spaces.
    pub iban: String,
    /// The code of the bank.
    pub bic: String,
}

impl Legal {
    /// Returns `true` if nothing is declared.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Brings numbers into the form in which they are kept. A telephone number without a country code is one of `country`.
    fn normalize(&mut self, country: Country) {
        for spaced in [&mut self.vat_number, &mut self.bank.iban, &mut self.bank.bic] {
            spaced.retain(|character| !character.is_whitespace());
        }
        if let Ok(phone) = Phone::parse(&self.phone, country) {
            self.phone = phone.into_string();
        }
    }

    /// Adds the faults, each with its path in the business's file.
    pub(crate) fn validate(&self, country: Country, errors: &mut ValidationErrors) {
        let Self {
            name,
            address:
                LegalAddress {
                    line1,
                    line2,
                    line3,
                    city,
                    state,
                    zip,
                    country: _,
                },
            phone,
            company_number,
            vat_number,
            fca_number,
            bank:
                BankAccount {
                    account_name,
                    sort_code,
                    account_number,
                    iban,
                    bic,
                },
        } = self;
        for (field, text) in [
            ("legal.name", name),
            ("legal.address.line1", line1),
            ("legal.address.line2", line2),
            ("legal.address.line3", line3),
            ("legal.address.city", city),
            ("legal.address.state", state),
            ("legal.address.zip", zip),
            ("legal.bank.account_name", account_name),
        ] {
            if let Some(fault) = line_fault(text) {
                errors.add(field, fault);
            }
        }
        for (field, number) in [
            ("legal.company_number", company_number),
            ("legal.fca_number", fca_number),
            ("legal.bank.account_number", account_number),
        ] {
            let fault = match number.chars().count() {
                0..=MAX_NUMBER_CHARS => line_fault(number),
                _ => Some(InvalidText::TooLong(MAX_NUMBER_CHARS).to_string()),
            };
            if let Some(fault) = fault {
                errors.add(field, fault);
            }
        }
        if !phone.is_empty() && Phone::parse(phone, country).is_err() {
            errors.add("legal.phone", "must be a telephone number");
        }
        // Irish numbers of the old form have a plus or an asterisk.
        let in_vat_number = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'*');
        if vat_number.len() > MAX_VAT_NUMBER_CHARS || !vat_number.bytes().all(in_vat_number) {
            let message = format!("must have at most {MAX_VAT_NUMBER_CHARS} letters and digits");
            errors.add("legal.vat_number", message);
        }
        let digits = sort_code.bytes().filter(u8::is_ascii_digit).count();
        let in_sort_code = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b' ');
        if !sort_code.is_empty() && (digits != 6 || sort_code.len() > 8 || !sort_code.bytes().all(in_sort_code)) {
            errors.add("legal.bank.sort_code", "must have six digits, such as 12-34-56");
        }
        if !iban.is_empty() && !is_iban(iban) {
            errors.add("legal.bank.iban", "must be an IBAN");
        }
        if !bic.is_empty() && !is_bic(bic) {
            errors.add("legal.bank.bic", "must be a BIC of 8 or 11 letters and digits");
        }
    }
}

/// Returns the fault in a text that is shown on one line.
pub(crate) fn line_fault(text: &str) -> Option<String> {
    if text.contains(char::is_control) {
        return Some("must be one line, without control characters".to_owned());
    }
    Line::check(text).err().map(|error| error.to_string())
}

/// Returns `true` if the text has the form of a BIC (ISO 9362).
fn is_bic(text: &str) -> bool {
    matches!(text.len(), 8 | 11) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns `true` if the text has the form of an IBAN, and its check digits are right (ISO 13616).
fn is_iban(text: &str) -> bool {
    if !(15..=34).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    let (head, account) = text.split_at(4);
    let is_head = |(at, byte): (usize, u8)| match at {
        0 | 1 => byte.is_ascii_alphabetic(),
        _ => byte.is_ascii_digit(),
    };
    // A letter counts as two digits: A is 10, Z is 35.
    let remainder = account.chars().chain(head.chars()).try_fold(0, |remainder, character| {
        let value = character.to_digit(36)?;
        let shift = if value < 10 { 10 } else { 100 };
        Some((remainder * shift + value) % 97)
    });
    head.bytes().enumerate().all(is_head) && remainder == Some(1)
}

impl Business {
    /// The company behind the business. Its name defaults to that of the business, and the country of its address to its
    /// country.
    pub fn legal(&self) -> Legal {
        let mut legal = self.legal_details.clone();
        if legal.name.trim().is_empty() {
            legal.name.clone_from(&self.name);
        }
        legal.address.country.get_or_insert(self.country);
        legal
    }
}

/// The company in a business file. An omitted member keeps its stored value, and null removes it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the members are those of Legal")]
pub struct LegalFile {
    #[serde(deserialize_with = "crate::file::given")]
    pub name: Option<Option<String>>,
    #[serde(deserialize_with = "crate::file::given")]
    pub address: Option<Option<LegalAddress>>,
    #[serde(deserialize_with = "crate::file::given")]
    pub phone: Option<Option<String>>,
    #[serde(deserialize_with = "crate::file::given")]
    pub company_number: Option<Option<String>>,
    #[serde(deserialize_with = "crate::file::given")]
    pub vat_number: Option<Option<String>>,
    #[serde(deserialize_with = "crate::file::given")]
    pub fca_number: Option<Option<String>>,
    #[serde(deserialize_with = "crate::file::given")]
    pub bank: Option<Option<BankAccount>>,
}

impl LegalFile {
    pub(crate) fn apply(self, stored: &mut Legal, country: Country) {
        let Self {
            name,
            address,
            phone,
            company_number,
            vat_number,
            fca_number,
            bank,
        } = self;
        overlay(&mut stored.name, name);
        overlay(&mut stored.address, address);
        overlay(&mut stored.phone, phone);
        overlay(&mut stored.company_number, company_number);
        overlay(&mut stored.vat_number, vat_number);
        overlay(&mut stored.fca_number, fca_number);
        overlay(&mut stored.bank, bank);
        stored.normalize(country);
    }
}

fn overlay<T: Default>(stored: &mut T, declared: Option<Option<T>>) {
    if let Some(declared) = declared {
        *stored = declared.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{BusinessId, Timestamp};
    use serde_json::{Value, json};

    use super::*;
    use crate::{BusinessFile, InvalidBusinessFile};

    fn apply(stored: Option<&Business>, legal: &Value) -> Result<Business, Vec<String>> {
        let file = json!({"tag": "acme", "name": "Acme Cars", "legal": legal});
        let file: BusinessFile = serde_json::from_value(file).unwrap();
        let applied = file.apply(stored, &[], Timestamp::from_epoch_seconds(1_000));
        applied.map_err(|InvalidBusinessFile(errors)| {
            let fields = errors.as_slice().iter();
            fields.map(|error| error.field.clone()).collect()
        })
    }

    #[test]
    fn a_company_is_called_as_the_business_is() {
        let mut business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
        business.country = "FR".parse().unwrap();
        let legal = business.legal();
        assert_eq!(
            (legal.name.as_str(), legal.address.country),
            ("Acme Cars", Some(business.country))
        );
        business.legal_details.name = "Acme SARL".into();
        business.legal_details.address.country = Some(Country::GB);
        let legal = business.legal();
        assert_eq!(
            (legal.name.as_str(), legal.address.country),
            ("Acme SARL", Some(Country::GB))
        );
    }

    #[test]
    fn what_a_file_omits_stays_and_null_removes() {
        let first = json!({"name": "Acme Ltd", "vat_number": " GB 123 4567 89", "phone": "020 7946 0000",
            "address": {"line1": "1 Mill Lane", "line2": "Harbour"}, "bank": {"iban": "GB82 WEST 1234 5698 7654 32"}});
        let stored = apply(None, &first).unwrap();
        let details = &stored.legal_details;
        assert_eq!(details.vat_number, "GB123456789");
        assert_eq!(
            (details.phone.as_str(), details.bank.iban.as_str()),
            ("+442079460000", "GB82WEST12345698765432")
        );
        let changed = apply(Some(&stored), &json!({"name": null, "address": {"line1": "2 Quay"}})).unwrap();
        let details = &changed.legal_details;
        assert_eq!(
            (details.name.as_str(), details.vat_number.as_str()),
            ("", "GB123456789")
        );
        assert_eq!(
            (details.address.line1.as_str(), details.address.line2.as_str()),
            ("2 Quay", "")
        );
        assert_eq!(apply(Some(&changed), &Value::Null).unwrap(), changed);
    }

    #[test]
    fn every_fault_is_reported_by_its_path() {
        let faulty = json!({
            "name": "Acme\nLtd", "phone": "12", "vat_number": "GB-123", "company_number": "1".repeat(33),
            "address": {"city": "x".repeat(256)},
            "bank": {"sort_code": "12-34-5", "iban": "GB82WEST12345698765433", "bic": "WEST"},
        });
        let expected = [
            "legal.name",
            "legal.address.city",
            "legal.company_number",
            "legal.phone",
            "legal.vat_number",
            "legal.bank.sort_code",
            "legal.bank.iban",
            "legal.bank.bic",
        ];
        assert_eq!(apply(None, &faulty).unwrap_err(), expected);
        let unknown = json!({"tag": "acme", "name": "Acme", "legal": {"vat": "GB1"}});
        assert!(serde_json::from_value::<BusinessFile>(unknown).is_err());
    }

    #[test]
    fn an_iban_is_checked_by_its_digits() {
        for iban in [
            "GB82WEST12345698765432",
            "DE89370400440532013000",
            "NO9386011117947",
            "MT84MALT011000012345MTLCAST001S",
        ] {
            assert!(is_iban(iban), "{iban}");
        }
        for iban in [
            "GB82WEST12345698765423",
            "8282WEST12345698765432",
            "GB",
            "GB82WEST1234569876543é",
        ] {
            assert!(!is_iban(iban), "{iban}");
        }
    }
}
