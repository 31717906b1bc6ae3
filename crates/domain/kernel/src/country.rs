//! Countries, by their ISO 3166-1 alpha-2 codes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The officially assigned codes, in alphabetical order.
pub(crate) const CODES: &[u8] = b"ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCN\
COCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIOIQIR\
ISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONP\
NRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTTTVTW\
TZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSYEYTZAZMZW";

/// A country, written as its two-letter code in capitals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Country([u8; 2]);

impl Country {
    /// The United Kingdom.
    pub const GB: Self = Self(*b"GB");

    /// The two-letter code.
    pub fn code(&self) -> &str {
        // Always ASCII: the only constructor takes the bytes from the table above.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Country {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .max_length(Some(2))
            .pattern(Some("^[A-Za-z]{2}$"))
            .description(Some("Two-letter ISO code."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Country {}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl From<Country> for String {
    fn from(country: Country) -> Self {
        country.to_string()
    }
}

impl TryFrom<String> for Country {
    type Error = InvalidCountry;

    fn try_from(text: String) -> Result<Self, InvalidCountry> {
        text.parse()
    }
}

impl FromStr for Country {
    type Err = InvalidCountry;

    fn from_str(text: &str) -> Result<Self, InvalidCountry> {
        match text.to_ascii_uppercase().as_bytes() {
            &[first, second] if CODES.as_chunks::<2>().0.binary_search(&[first, second]).is_ok() => {
                Ok(Self([first, second]))
            }
            _ => Err(InvalidCountry),
        }
    }
}

/// The text is no ISO 3166-1 alpha-2 code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a two-letter ISO country code")]
pub struct InvalidCountry;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_complete() {
        let (codes, rest) = CODES.as_chunks::<2>();
        assert!(rest.is_empty() && codes.is_sorted());
        assert_eq!(codes.len(), 249);
    }

    #[test]
    fn a_code_is_read_in_either_case() {
        assert_eq!("gb".parse(), Ok(Country::GB));
        for text in ["", "G", "GBR", "XX", "UK", "é"] {
            assert_eq!(text.parse::<Country>(), Err(InvalidCountry), "{text:?}");
        }
    }
}
