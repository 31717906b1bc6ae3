use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const TOLERANCE_SECONDS: u64 = 300;

/// Whether `header`, the value of `X-Service-Signature`, signs the raw `body` with `secret`, and did so not long ago.
pub(crate) fn verify(secret: &str, header: &str, body: &[u8]) -> bool {
    let part = |name: &str| {
        let mut parts = header.split(',').filter_map(|part| part.trim().split_once('='));
        parts.find_map(|(key, value)| (key == name).then_some(value))
    };
    let (Some(t), Some(v1)) = (part("t"), part("v1")) else {
        return false;
    };
    let (Ok(signed_at), Some(v1)) = (t.parse::<u64>(), bytes(v1)) else {
        return false;
    };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return false;
    };
    mac.update(t.as_bytes());
    mac.update(b".");
    mac.update(body);
    let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else {
        return false;
    };
    // Compares in constant time.
    mac.verify_slice(&v1).is_ok() && now.as_secs().abs_diff(signed_at) <= TOLERANCE_SECONDS
}

/// The bytes that lowercase hexadecimal text stands for.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    rest.is_empty().then_some(())?;
    pairs
        .iter()
        .map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect()
}
