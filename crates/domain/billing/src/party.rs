//! The parties of a document: who bills, and who is billed (areas §10.1, "Parties").

use forecourt_kernel::Country;
use serde::{Deserialize, Serialize};

/// A postal address. Unknown parts are empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PartyAddress))]
pub struct PartyAddress {
    /// First line.
    pub line1: String,
    /// Second line.
    pub line2: String,
    /// Third line.
    pub line3: String,
    /// Town.
    pub city: String,
    /// County, state or region.
    pub state: String,
    /// Two-letter ISO code; null if unknown.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    #[serde(with = "code_or_empty")]
    pub country: Option<Country>,
    /// Postcode.
    pub zip: String,
}

/// A country as its code; the empty text for none, as in a contact's address.
mod code_or_empty {
    use forecourt_kernel::Country;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(country: &Option<Country>, serializer: S) -> Result<S::Ok, S::Error> {
        match country {
            Some(country) => serializer.collect_str(country),
            None => serializer.serialize_str(""),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Country>, D::Error> {
        let code = String::deserialize(deserializer)?;
        if code.is_empty() {
            return Ok(None);
        }
        code.parse().map(Some).map_err(D::Error::custom)
    }
}

/// The contact of a document. It is live while the document is a draft, and frozen when it is issued.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BillingParty))]
pub struct Party {
    /// Full name.
    pub name: String,
    /// Company; may be empty.
    pub company: String,
    /// Postal address.
    pub address: PartyAddress,
    /// VAT registration number; may be empty.
    pub vat: String,
}

/// A bank account to pay to. Unknown parts are empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BankAccount))]
pub struct BankAccount {
    /// Holder of the account.
    pub account_name: String,
    /// Sort code.
    pub sort_code: String,
    /// Account number.
    pub account_number: String,
    /// IBAN.
    pub iban: String,
    /// BIC.
    pub bic: String,
}

/// The business itself, as its file's `legal` describes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BillingBusiness))]
pub struct LegalParty {
    /// Legal name.
    pub name: String,
    /// Registered address.
    pub address: PartyAddress,
    /// VAT registration number; may be empty.
    pub vat: String,
    /// Telephone number; may be empty.
    pub phone: String,
    /// Company registration number; may be empty.
    pub company_number: String,
    /// Number of the financial regulator's register; may be empty.
    pub fca_number: String,
    /// Bank account to pay to.
    pub bank: BankAccount,
}
