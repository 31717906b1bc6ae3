//! `forecourt health`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::CommandError;
use crate::{cli::ServerUrl, output, settings::Settings, wiring};

/// Asks a server if it is ready: the one at `url`, or the one of the settings.
///
/// # Errors
/// [`CommandError::NotReady`].
pub(super) async fn check(settings: &Settings, url: Option<ServerUrl>) -> Result<(), CommandError> {
    let ServerUrl(url) = url.unwrap_or_else(|| ServerUrl(format!("http://{}", reached(settings.bind))));
    let answered = wiring::readiness(&url)?.get("/readyz").await;
    match answered {
        Ok(answer) if answer.status == 200 => Ok(output::line("ready")?),
        Ok(answer) => Err(CommandError::NotReady(format!("/readyz answers {}", answer.status))),
        Err(error) => Err(CommandError::NotReady(output::chain(&error))),
    }
}

/// Returns the address at which a server that listens on `bind` is reached from this machine.
fn reached(bind: SocketAddr) -> SocketAddr {
    let loopback = match bind.ip() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    SocketAddr::new(loopback, bind.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_on_loopback() {
        for (bind, expected) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reached(bind.parse().unwrap()), expected.parse().unwrap());
        }
    }
}
