//! Who is at the other end of the connection, and whether they are blocked (decisions §1, §3).

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use actix_web::HttpRequest;
use forecourt_kernel::Timestamp;
use ipnet::IpNet;

/// How long an address stays blocked after too many failed authentications.
const BLOCK_SECONDS: i64 = 5 * 60;
/// How many addresses are remembered before those that no longer matter are forgotten.
const REMEMBERED: usize = 10_000;

/// The address that a request comes from: the peer's, or the one that trusted proxies say they forward for.
pub(crate) fn client_address(request: &HttpRequest, trusted: &[IpNet]) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip().to_canonical();
    if trusted.is_empty() {
        return Some(peer);
    }
    let headers = request.headers().get_all("x-forwarded-for");
    let chain: Vec<&str> = headers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    Some(forwarded_for(peer, &chain, trusted))
}

/// Walks the chain from its end, where the nearest proxy wrote, to the first address that no trusted proxy vouches for.
fn forwarded_for(peer: IpAddr, chain: &[&str], trusted: &[IpNet]) -> IpAddr {
    let mut client = peer;
    for hop in chain.iter().rev() {
        if !contains(trusted, client) {
            break;
        }
        match hop_address(hop.trim()) {
            Some(address) => client = address.to_canonical(),
            None => break,
        }
    }
    client
}

/// An address as proxies write it: some add the port, and brackets around an IPv6 address.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let bare = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || Some(hop.parse::<SocketAddr>().ok()?.ip());
    hop.parse().ok().or_else(with_port).or_else(bare)
}

fn contains(ranges: &[IpNet], address: IpAddr) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

/// Keeps out the addresses that are blocked by setting, and for a while those that guess at tokens.
pub(crate) struct Gate {
    blocked: Vec<IpNet>,
    /// `None`: nobody is blocked for failures.
    failures_per_minute: Option<u32>,
    /// How many addresses have failed lately; most of the time none has, and the lock is left alone.
    failing: AtomicUsize,
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

struct Failures {
    minute: i64,
    count: u32,
    blocked_until: Option<Timestamp>,
}

impl Failures {
    fn matters(&self, now: Timestamp) -> bool {
        self.blocked_until
            .map_or(self.minute == minute(now), |until| now < until)
    }
}

const fn minute(now: Timestamp) -> i64 {
    now.epoch_seconds().div_euclid(60)
}

impl Gate {
    pub(crate) fn new(blocked: Vec<IpNet>, failures_per_minute: Option<u32>) -> Self {
        Self {
            blocked,
            failures_per_minute,
            failing: AtomicUsize::new(0),
            failures: Mutex::default(),
        }
    }

    /// Whether `address` may present a credential.
    pub(crate) fn admits(&self, address: IpAddr, now: Timestamp) -> bool {
        if contains(&self.blocked, address) {
            return false;
        }
        if self.failing.load(Ordering::Relaxed) == 0 {
            return true;
        }
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures
            .get(&address)
            .and_then(|failures| failures.blocked_until)
            .is_none_or(|until| until <= now)
    }

    /// Notes that a credential which `address` presented was no good.
    pub(crate) fn note_failure(&self, address: IpAddr, now: Timestamp) {
        let Some(limit) = self.failures_per_minute else { return };
        let mut all = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.retain(|_, failures| failures.matters(now));
        }
        let failures = all.entry(address).or_insert(Failures {
            minute: 0,
            count: 0,
            blocked_until: None,
        });
        if !failures.matters(now) {
            *failures = Failures {
                minute: minute(now),
                count: 0,
                blocked_until: None,
            };
        }
        failures.count = failures.count.saturating_add(1);
        if failures.count >= limit {
            failures.blocked_until = Some(now.plus_seconds(BLOCK_SECONDS));
        }
        self.failing.store(all.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_epoch_seconds(seconds)
    }

    #[test]
    fn a_forwarded_address_is_believed_only_from_a_trusted_proxy() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        assert_eq!(
            forwarded_for(ip("10.0.0.1"), &["203.0.113.9"], &trusted),
            ip("203.0.113.9")
        );
        assert_eq!(
            forwarded_for(ip("10.0.0.1"), &["1.1.1.1", " 203.0.113.9", "10.0.0.2"], &trusted),
            ip("203.0.113.9")
        );
        assert_eq!(
            forwarded_for(ip("198.51.100.1"), &["203.0.113.9"], &trusted),
            ip("198.51.100.1")
        );
        assert_eq!(forwarded_for(ip("10.0.0.1"), &["nonsense"], &trusted), ip("10.0.0.1"));
    }

    #[test]
    fn too_many_failures_within_a_minute_block_for_five() {
        let gate = Gate::new(Vec::new(), Some(3));
        let (guesser, neighbour) = (ip("203.0.113.9"), ip("203.0.113.10"));
        gate.note_failure(guesser, at(59));
        gate.note_failure(guesser, at(60));
        gate.note_failure(guesser, at(61));
        assert!(gate.admits(guesser, at(61)), "the first failure was in another minute");
        gate.note_failure(guesser, at(62));
        assert!(!gate.admits(guesser, at(62)) && gate.admits(neighbour, at(62)));
        assert!(!gate.admits(guesser, at(361)) && gate.admits(guesser, at(362)));
    }

    #[test]
    fn what_a_setting_blocks_is_blocked() {
        let gate = Gate::new(vec!["203.0.113.0/24".parse().unwrap()], None);
        assert!(!gate.admits(ip("203.0.113.9"), at(0)) && gate.admits(ip("127.0.0.1"), at(0)));
    }
}
