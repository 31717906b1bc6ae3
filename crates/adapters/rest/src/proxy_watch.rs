//! Notices proxies that the settings do not list, for `forecourt doctor`.

use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use actix_web::HttpRequest;
use forecourt_kernel::Timestamp;
use ipnet::IpNet;

use crate::address::{contains, is_private};

/// The latest private peer that named whom it forwards for, and is not listed as a proxy.
#[derive(Debug, Default)]
pub struct ProxyWatch(Mutex<Option<(IpAddr, Timestamp)>>);

impl ProxyWatch {
    /// Returns its address, and the time of its latest request.
    pub fn latest(&self) -> Option<(IpAddr, Timestamp)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, request: &HttpRequest, trusted: &[IpNet], now: Timestamp) {
        let Some(peer) = request.peer_addr().map(|peer| peer.ip().to_canonical()) else {
            return;
        };
        if is_private(peer) && !contains(trusted, peer) && request.headers().contains_key("x-forwarded-for") {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((peer, now));
        }
    }
}
