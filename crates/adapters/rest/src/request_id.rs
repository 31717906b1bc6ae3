//! The name of a request, by which a caller and the log refer to the same one.

use actix_web::{HttpRequest, http::header::HeaderValue};
use forecourt_kernel::Random;

/// The header that carries it, both ways.
pub(crate) const HEADER: &str = "x-request-id";

/// Returns a request's name: the client's own if it sent a valid one, else 32 hexadecimal characters.
pub(crate) fn of(request: &HttpRequest, random: &dyn Random) -> HeaderValue {
    match request.headers().get(HEADER) {
        Some(sent) if is_valid(sent.as_bytes()) => sent.clone(),
        _ => made(random),
    }
}

/// Checks for 1 to 128 characters that are safe in a log line.
fn is_valid(id: &[u8]) -> bool {
    (1..=128).contains(&id.len())
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte))
}

/// Makes a name for a request whose own is not known.
pub(crate) fn made(random: &dyn Random) -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    let mut text = [0; 32];
    for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
    HeaderValue::from_bytes(&text).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_safe_in_a_log_is_kept() {
        assert!(is_valid(b"7b6d1f3e-2f0a-4a7e-9d59-0d4a1c8a2b11") && is_valid(b"req_1"));
        for id in [&b""[..], b"two words", b"a\"b", "é".as_bytes(), &[b'x'; 129]] {
            assert!(!is_valid(id));
        }
    }
}
