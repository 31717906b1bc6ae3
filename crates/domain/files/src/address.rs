//! The addresses of files: fixed for public files, signed and short-lived for private ones.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use forecourt_kernel::{BusinessId, Timestamp};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::FileName;

/// Lifetime of a signed address, in seconds (decisions, *Safe*).
pub const SIGNED_SECONDS: i64 = 15 * 60;

/// The addresses of public files: `<base>/files/<business>/<name>`, where the base is the server's public URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileAddresses {
    base: Arc<str>,
}

impl FileAddresses {
    /// Creates the addresses below a server's public URL.
    pub fn new(public_url: &str) -> Self {
        let base = public_url.trim_end_matches('/').into();
        Self { base }
    }

    /// Returns the address of a file of the business.
    pub fn of(&self, business: BusinessId, name: &FileName) -> String {
        format!("{}/files/{business}/{name}", self.base)
    }
}

/// The key that signs addresses of private files. All servers of an installation derive the same one from their secret key.
#[derive(Clone)]
pub struct AddressKey(Hmac<Sha256>);

impl fmt::Debug for AddressKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AddressKey(…)")
    }
}

impl AddressKey {
    /// Derives the key from the installation's secret key, which itself signs no address.
    pub fn derive(secret: &[u8; 32]) -> Self {
        let mut derived = mac(secret);
        derived.update(b"forecourt: addresses of private files");
        Self(mac(&derived.finalize().into_bytes()))
    }

    /// Returns the query of an address that is valid until `expires`, in epoch seconds.
    fn query(&self, business: BusinessId, name: &FileName, expires: i64) -> String {
        let mut query = format!("expires={expires}&signature=");
        for byte in self.of(business, name, expires).finalize().into_bytes() {
            // Writing to a string does not fail.
            let _ = write!(query, "{byte:02x}");
        }
        query
    }

    fn of(&self, business: BusinessId, name: &FileName, expires: i64) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(format!("{business}/{name}?{expires}").as_bytes());
        mac
    }

    /// Verifies the query of a file's address: its signature must match the file, and its time must not have passed.
    pub fn admits(&self, business: BusinessId, name: &FileName, query: &str, now: Timestamp) -> bool {
        let value = |wanted: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
        };
        let expires = value("expires").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let expires: Option<i64> = expires.and_then(|digits| digits.parse().ok());
        let (Some(expires), Some(signature)) = (expires, value("signature").and_then(bytes)) else {
            return false;
        };
        // Compared in constant time, so that the duration does not show where the signatures differ.
        now.epoch_seconds() < expires && self.of(business, name, expires).verify_slice(&signature).is_ok()
    }
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "an HMAC takes keys of any length")]
    Hmac::new_from_slice(key).expect("a key of any length")
}

/// Decodes hexadecimal digits, in lower case.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// The addresses of private files, for one response.
#[derive(Clone, Debug)]
pub struct SignedAddresses {
    addresses: FileAddresses,
    key: AddressKey,
    expires: i64,
}

impl SignedAddresses {
    /// Creates addresses that expire [`SIGNED_SECONDS`] after the beginning of the minute of `now`, so all responses of one
    /// minute show the same address.
    pub fn new(addresses: FileAddresses, key: AddressKey, now: Timestamp) -> Self {
        let expires = now.epoch_seconds().saturating_add(SIGNED_SECONDS);
        Self {
            addresses,
            key,
            expires: expires - expires.rem_euclid(60),
        }
    }

    /// Returns the address of a file of the business.
    pub fn of(&self, business: BusinessId, name: &FileName) -> String {
        let query = self.key.query(business, name, self.expires);
        format!("{}?{query}", self.addresses.of(business, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSINESS: BusinessId = BusinessId::new(7);
    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_790_000_040);

    fn name() -> FileName {
        "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf-320.webp".parse().unwrap()
    }

    fn key() -> AddressKey {
        AddressKey::derive(&[7; 32])
    }

    #[test]
    fn an_address_names_the_business_and_the_file() {
        for base in ["https://api.example/dealer", "https://api.example/dealer/"] {
            let address = FileAddresses::new(base).of(BUSINESS, &name());
            assert_eq!(
                address,
                "https://api.example/dealer/files/7/a0a1a2a3a4a5a6a7a8a9aaabacadaeaf-320.webp"
            );
        }
    }

    #[test]
    fn a_signed_address_is_good_for_a_quarter_of_an_hour() {
        let addresses = SignedAddresses::new(FileAddresses::new("https://api.example"), key(), NOW);
        let address = addresses.of(BUSINESS, &name());
        let (path, query) = address.split_once('?').unwrap();
        assert_eq!(path, FileAddresses::new("https://api.example").of(BUSINESS, &name()));
        let same = SignedAddresses::new(FileAddresses::new("https://api.example"), key(), NOW.plus_seconds(59));
        assert_eq!(same.of(BUSINESS, &name()), address, "for a minute it is the same");
        for (later, admitted) in [(0, true), (SIGNED_SECONDS - 1, true), (SIGNED_SECONDS, false)] {
            let now = NOW.plus_seconds(later);
            assert_eq!(key().admits(BUSINESS, &name(), query, now), admitted, "{later}");
        }
        assert!(key().admits(BUSINESS, &name(), &format!("utm=1&{query}&x"), NOW));
    }

    #[test]
    fn what_was_tampered_with_is_not_admitted() {
        let query = key().query(BUSINESS, &name(), NOW.epoch_seconds() + 60);
        assert!(key().admits(BUSINESS, &name(), &query, NOW));
        let other: FileName = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.webp".parse().unwrap();
        assert!(!key().admits(BusinessId::new(8), &name(), &query, NOW));
        assert!(!key().admits(BUSINESS, &other, &query, NOW));
        assert!(!AddressKey::derive(&[8; 32]).admits(BUSINESS, &name(), &query, NOW));
        let later = query.replacen("expires=179", "expires=180", 1);
        let (expires, signature) = query.split_once("&signature=").unwrap();
        for query in [
            String::new(),
            later,
            expires.to_owned(),
            format!("{expires}&signature="),
            format!("{expires}&signature={}", &signature[2..]),
            format!("{expires}&signature={}", &signature[1..]),
            format!("{expires}&signature={signature}00"),
            format!("{expires}&signature={}", signature.to_uppercase() + "A"),
            format!("expires=+{}&signature={signature}", NOW.epoch_seconds() + 60),
            format!("expires={}&signature={signature}", "9".repeat(40)),
            format!("signature={signature}"),
        ] {
            assert!(!key().admits(BUSINESS, &name(), &query, NOW), "{query}");
        }
    }

    #[test]
    fn a_key_does_not_show_itself() {
        assert_eq!(format!("{:?}", key()), "AddressKey(…)");
    }
}
