//! Currencies by their ISO 4217 codes, and the currency of each country.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Country;

/// The currency of each country, by the country's code. An entry has seven bytes; entries are in alphabetical order.
///
/// The source is table A.1 of ISO 4217 as of 2026, from the data set `country-codes` of datahub.io (public domain). Some
/// countries have several currencies or a unit of account there. The table has the one of everyday prices: the country's own in
/// BT, HT, LS, NA and PA, the US dollar in SV. The standard gives GS and PS none, so they have the currency that circulates
/// there. AQ has no currency.
const BY_COUNTRY: &[u8] = b"\
AD:EUR AE:AED AF:AFN AG:XCD AI:XCD AL:ALL AM:AMD AO:AOA AQ:XXX AR:ARS AS:USD AT:EUR AU:AUD AW:AWG AX:EUR AZ:AZN \
BA:BAM BB:BBD BD:BDT BE:EUR BF:XOF BG:EUR BH:BHD BI:BIF BJ:XOF BL:EUR BM:BMD BN:BND BO:BOB BQ:USD BR:BRL BS:BSD \
BT:BTN BV:NOK BW:BWP BY:BYN BZ:BZD CA:CAD CC:AUD CD:CDF CF:XAF CG:XAF CH:CHF CI:XOF CK:NZD CL:CLP CM:XAF CN:CNY \
CO:COP CR:CRC CU:CUP CV:CVE CW:XCG CX:AUD CY:EUR CZ:CZK DE:EUR DJ:DJF DK:DKK DM:XCD DO:DOP DZ:DZD EC:USD EE:EUR \
EG:EGP EH:MAD ER:ERN ES:EUR ET:ETB FI:EUR FJ:FJD FK:FKP FM:USD FO:DKK FR:EUR GA:XAF GB:GBP GD:XCD GE:GEL GF:EUR \
GG:GBP GH:GHS GI:GIP GL:DKK GM:GMD GN:GNF GP:EUR GQ:XAF GR:EUR GS:GBP GT:GTQ GU:USD GW:XOF GY:GYD HK:HKD HM:AUD \
HN:HNL HR:EUR HT:HTG HU:HUF ID:IDR IE:EUR IL:ILS IM:GBP IN:INR IO:USD IQ:IQD IR:IRR IS:ISK IT:EUR JE:GBP JM:JMD \
JO:JOD JP:JPY KE:KES KG:KGS KH:KHR KI:AUD KM:KMF KN:XCD KP:KPW KR:KRW KW:KWD KY:KYD KZ:KZT LA:LAK LB:LBP LC:XCD \
LI:CHF LK:LKR LR:LRD LS:LSL LT:EUR LU:EUR LV:EUR LY:LYD MA:MAD MC:EUR MD:MDL ME:EUR MF:EUR MG:MGA MH:USD MK:MKD \
ML:XOF MM:MMK MN:MNT MO:MOP MP:USD MQ:EUR MR:MRU MS:XCD MT:EUR MU:MUR MV:MVR MW:MWK MX:MXN MY:MYR MZ:MZN NA:NAD \
NC:XPF NE:XOF NF:AUD NG:NGN NI:NIO NL:EUR NO:NOK NP:NPR NR:AUD NU:NZD NZ:NZD OM:OMR PA:PAB PE:PEN PF:XPF PG:PGK \
PH:PHP PK:PKR PL:PLN PM:EUR PN:NZD PR:USD PS:ILS PT:EUR PW:USD PY:PYG QA:QAR RE:EUR RO:RON RS:RSD RU:RUB RW:RWF \
SA:SAR SB:SBD SC:SCR SD:SDG SE:SEK SG:SGD SH:SHP SI:EUR SJ:NOK SK:EUR SL:SLE SM:EUR SN:XOF SO:SOS SR:SRD SS:SSP \
ST:STN SV:USD SX:XCG SY:SYP SZ:SZL TC:USD TD:XAF TF:EUR TG:XOF TH:THB TJ:TJS TK:NZD TL:USD TM:TMT TN:TND TO:TOP \
TR:TRY TT:TTD TV:AUD TW:TWD TZ:TZS UA:UAH UG:UGX UM:USD US:USD UY:UYU UZ:UZS VA:EUR VC:XCD VE:VES VG:USD VI:USD \
VN:VND VU:VUV WF:XPF WS:WST YE:YER YT:EUR ZA:ZAR ZM:ZMW ZW:ZWG ";

/// The bytes of one country in [`BY_COUNTRY`].
const ENTRY: usize = "GB:GBP ".len();

/// A currency, written as its three-letter code in capitals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Currency([u8; 3]);

impl Currency {
    /// The pound sterling.
    pub const GBP: Self = Self(*b"GBP");
    /// The euro.
    pub const EUR: Self = Self(*b"EUR");
    /// The code of ISO 4217 for "no currency".
    pub const NONE: Self = Self(*b"XXX");

    /// The three-letter code.
    pub fn code(&self) -> &str {
        // Always ASCII: the constructors take the bytes from the table above.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Country {
    /// The currency of prices in the country. Only Antarctica has none ([`Currency::NONE`]).
    ///
    /// ```
    /// use forecourt_kernel::{Country, Currency};
    ///
    /// assert_eq!(Country::GB.currency(), Currency::GBP);
    /// assert_eq!("IE".parse::<Country>()?.currency().code(), "EUR");
    /// # Ok::<(), forecourt_kernel::InvalidCountry>(())
    /// ```
    pub fn currency(self) -> Currency {
        let (entries, _) = BY_COUNTRY.as_chunks::<ENTRY>();
        let place = entries.binary_search_by(|entry| entry[..2].cmp(self.code().as_bytes()));
        place.map_or(Currency::NONE, |place| currency_of(&entries[place]))
    }
}

const fn currency_of(&[_, _, _, first, second, third, _]: &[u8; ENTRY]) -> Currency {
    Currency([first, second, third])
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Currency {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .min_length(Some(3))
            .max_length(Some(3))
            .examples(["GBP"])
            .description(Some("Three-letter ISO 4217 code."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Currency {}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.to_string()
    }
}

impl TryFrom<String> for Currency {
    type Error = InvalidCurrency;

    fn try_from(text: String) -> Result<Self, InvalidCurrency> {
        text.parse()
    }
}

/// Reads the code of a currency, in capitals. It must be the currency of a country.
impl FromStr for Currency {
    type Err = InvalidCurrency;

    fn from_str(text: &str) -> Result<Self, InvalidCurrency> {
        let (entries, _) = BY_COUNTRY.as_chunks::<ENTRY>();
        let mut all = entries.iter().map(currency_of);
        all.find(|currency| currency.code() == text).ok_or(InvalidCurrency)
    }
}

/// The text is no ISO 4217 code of a country's currency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a three-letter ISO currency code")]
pub struct InvalidCurrency;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::country::CODES;

    #[test]
    fn every_country_has_one_entry() {
        let (entries, rest) = BY_COUNTRY.as_chunks::<ENTRY>();
        assert!(rest.is_empty());
        let countries: Vec<&[u8]> = entries.iter().map(|entry| &entry[..2]).collect();
        let known: Vec<&[u8]> = CODES.as_chunks::<2>().0.iter().map(|code| &code[..]).collect();
        assert_eq!(countries, known);
        for entry in entries {
            assert!((entry[2], entry[6]) == (b':', b' ') && entry[3..6].iter().all(u8::is_ascii_uppercase));
        }
    }

    #[test]
    fn a_country_has_its_currency() {
        for (country, currency) in [
            ("AD", "EUR"),
            ("BG", "EUR"),
            ("CH", "CHF"),
            ("CW", "XCG"),
            ("GB", "GBP"),
            ("HR", "EUR"),
            ("IE", "EUR"),
            ("IM", "GBP"),
            ("LI", "CHF"),
            ("NO", "NOK"),
            ("NZ", "NZD"),
            ("PL", "PLN"),
            ("TR", "TRY"),
            ("US", "USD"),
            ("ZW", "ZWG"),
            ("AQ", "XXX"),
        ] {
            let country: Country = country.parse().unwrap();
            assert_eq!(country.currency().code(), currency, "{country}");
        }
    }

    #[test]
    fn the_euro_area_has_its_members() {
        let members = "AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK";
        for country in members.split(' ') {
            assert_eq!(
                country.parse::<Country>().unwrap().currency(),
                Currency::EUR,
                "{country}"
            );
        }
    }

    #[test]
    fn a_currency_reads_back() {
        for country in CODES.as_chunks::<2>().0 {
            let country: Country = std::str::from_utf8(country).unwrap().parse().unwrap();
            let currency = country.currency();
            assert_eq!(currency.to_string().parse(), Ok(currency));
        }
        for text in ["", "gbp", "GB", "GBPX", "ABC", "é€"] {
            assert_eq!(text.parse::<Currency>(), Err(InvalidCurrency), "{text:?}");
        }
    }
}
