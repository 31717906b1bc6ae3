//! Maps errors to texts for the integrator.
//!
//! These texts contain nothing that a peer wrote, and no address or path of this machine.

use std::{error::Error, io, net::IpAddr};

use forecourt_webhooks::DeliveryError;
use rustls::CertificateError;

/// The error numbers for a lack of file descriptors (of this process, of the machine) and of memory, the same on every system.
const EXHAUSTION_ERRNOS: [i32; 3] = [24, 23, 12];

/// Returns true if this machine lacks a resource for a connection, which does not depend on the endpoint.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
        || error
            .raw_os_error()
            .is_some_and(|code| EXHAUSTION_ERRNOS.contains(&code))
}

/// Returns true if this machine lacks a resource for a connection to that address. All ports may be in use; for IPv6 the same
/// error means that there is no route to the address.
pub(crate) fn is_shortage_at(error: &io::Error, address: IpAddr) -> bool {
    is_shortage(error) || address.is_ipv4() && error.kind() == io::ErrorKind::AddrNotAvailable
}

/// Returns the reason why a name has no address.
pub(crate) fn of_look_up(error: &io::Error) -> DeliveryError {
    if is_shortage(error) {
        DeliveryError::Shortage
    } else {
        DeliveryError::UnknownHost
    }
}

/// Returns the reason why a TCP connection failed.
pub(crate) fn of_connecting(error: &io::Error) -> DeliveryError {
    DeliveryError::Connection(error.kind().to_string())
}

/// Returns the reason why a TLS session failed.
pub(crate) fn of_tls(error: &io::Error) -> DeliveryError {
    let text = match tls_error(error) {
        Some(error) => in_words(error).into(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "the endpoint hung up during the handshake".into(),
        None => error.kind().to_string(),
    };
    DeliveryError::Tls(text)
}

/// The report of an answer whose head is too long.
pub(crate) const HEAD_TOO_LONG: &str = "the head of the answer is longer than 16 KiB";

/// Returns the reason why a request had no answer.
pub(crate) fn of_exchange(error: &hyper::Error) -> DeliveryError {
    let io_error = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    // A server of TLS 1.3 may refuse a client after the handshake.
    if let Some(error) = io_error.and_then(tls_error) {
        return DeliveryError::Tls(in_words(error).into());
    }
    DeliveryError::Exchange(if error.is_parse() {
        "what the endpoint answered is not HTTP/1.1".into()
    } else if let Some(error) = io_error {
        error.kind().to_string()
    } else {
        "the endpoint hung up before it answered".into()
    })
}

/// Returns true if the connection was lost before an answer came.
pub(crate) fn is_loss(error: &hyper::Error) -> bool {
    let lost = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof
        )
    };
    error.is_incomplete_message()
        || error.is_canceled()
        || error.is_closed()
        || causes(error).any(|cause| cause.downcast_ref().is_some_and(lost))
}

fn causes(error: &hyper::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn in_words(error: &rustls::Error) -> &'static str {
    use CertificateError as Flaw;
    match error {
        rustls::Error::InvalidCertificate(flaw) => match flaw {
            Flaw::Expired | Flaw::ExpiredContext { .. } => "the certificate has expired",
            Flaw::NotValidYet | Flaw::NotValidYetContext { .. } => "the certificate is not valid yet",
            Flaw::UnknownIssuer => {
                "the certificate is not signed by a known authority, or an intermediate certificate is missing"
            }
            Flaw::NotValidForName | Flaw::NotValidForNameContext { .. } => "the certificate is for another name",
            Flaw::Revoked => "the certificate is revoked",
            _ => "the certificate is not valid",
        },
        rustls::Error::NoCertificatesPresented => "the endpoint showed no certificate",
        rustls::Error::AlertReceived(_) => "the endpoint broke off the TLS session",
        rustls::Error::PeerIncompatible(_) => "the endpoint shares no version or cipher of TLS 1.2 or 1.3",
        rustls::Error::InvalidMessage(_) => "the endpoint does not speak TLS",
        _ => "the endpoint does not keep to the protocol",
    }
}
