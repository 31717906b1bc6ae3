//! The client address of a request, and the blocking of addresses (decisions §1, §3).

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{
        Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use actix_web::HttpRequest;
use forecourt_kernel::Timestamp;
use ipnet::IpNet;

use crate::{code::Code, error::ApiError, metrics};

/// The time for which an address stays blocked after too many failed authentications.
const BLOCK_SECONDS: i64 = 5 * 60;
/// The maximum number of addresses counted in one minute, and of addresses blocked at the same time.
const MAX_ADDRESSES: usize = 16 * 1024;
/// The maximum number of requests that an address may make in a minute without a valid credential.
const MAX_REQUESTS: u32 = 600;
/// The maximum number of requests for feeds of appointments that an address may make in a minute.
const MAX_CALENDAR_REQUESTS: u32 = 60;
const MINUTE: i64 = 60;

/// The origin of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Client {
    address: IpAddr,
    /// True if the address is the caller's own. A proxy's address stands for all its callers, so blocking it would lock every
    /// business out.
    known: bool,
}

impl Client {
    pub(crate) const fn address(self) -> IpAddr {
        self.address
    }
}

/// Returns the origin of a request: the peer, or the address that trusted proxies say they forward for.
pub(crate) fn client(request: &HttpRequest, trusted: &[IpNet]) -> Option<Client> {
    let peer = request.peer_addr()?.ip().to_canonical();
    if trusted.is_empty() {
        return Some(forwarded_for(peer, &[], trusted));
    }
    let headers = request.headers().get_all("x-forwarded-for");
    let chain: Vec<&str> = headers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    Some(forwarded_for(peer, &chain, trusted))
}

/// Walks the chain from its end, where the nearest proxy wrote, to the first address that no trusted proxy vouches for.
fn forwarded_for(peer: IpAddr, chain: &[&str], trusted: &[IpNet]) -> Client {
    let mut address = peer;
    let mut forwarded = false;
    for hop in chain.iter().rev() {
        if !contains(trusted, address) {
            break;
        }
        match hop_address(hop.trim()) {
            Some(hop) => address = hop.to_canonical(),
            None => break,
        }
        forwarded = true;
    }
    // A trusted proxy that forwards no address is not the caller, and a private address does not identify one.
    let known = !is_private(address) && (forwarded || !contains(trusted, address));
    Client { address, known }
}

/// Parses an address as proxies write it: some add the port, and brackets around an IPv6 address.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let bare = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || Some(hop.parse::<SocketAddr>().ok()?.ip());
    hop.parse().ok().or_else(with_port).or_else(bare)
}

pub(crate) fn contains(ranges: &[IpNet], address: IpAddr) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

/// Returns true if the address belongs to this machine or to a private network, where proxies run.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
                // Carrier-grade NAT, which clouds use inside as well.
                || (first == 100 && second & 0b1100_0000 == 64)
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

/// Returns the block of addresses that one caller has: an IPv4 address, or an IPv6 network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// Refuses the addresses that the settings block, for a while those that guess tokens, and those that make too many requests
/// without a credential.
pub(crate) struct Gate {
    blocked: Vec<IpNet>,
    /// `None`: no address is blocked for failures.
    failures_per_minute: Option<u32>,
    failures: Mutex<Counts>,
    /// Requests without a valid credential.
    requests: Mutex<Counts>,
    /// Requests for feeds of appointments.
    calendar_requests: Mutex<Counts>,
    /// The number of entries in `blocks`. It is usually 0, and then the lock is not taken.
    blocking: AtomicUsize,
    blocks: RwLock<Blocks>,
    /// True once the log has reported that a proxy seems to be unconfigured.
    warned: AtomicBool,
}

/// The counts of one minute, by network.
#[derive(Default)]
struct Counts {
    minute: i64,
    counts: HashMap<IpAddr, u32>,
}

impl Counts {
    /// Adds one and returns the new count. A network for which there is no room is not counted.
    fn count(&mut self, network: IpAddr, now: Timestamp) -> u32 {
        let minute = now.epoch_seconds().div_euclid(MINUTE);
        if self.minute != minute {
            *self = Self {
                minute,
                counts: HashMap::new(),
            };
        }
        if self.counts.len() >= MAX_ADDRESSES && !self.counts.contains_key(&network) {
            return 0;
        }
        let count = self.counts.entry(network).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

/// The networks that are blocked for a while, with the end of each block.
#[derive(Default)]
struct Blocks {
    until: HashMap<IpAddr, Timestamp>,
    /// The same blocks, in the order in which they began and so end.
    order: VecDeque<(Timestamp, IpAddr)>,
}

impl Blocks {
    /// Blocks `network` and drops blocks that have ended; if there are too many, the oldest as well. Returns true if it was not
    /// blocked yet.
    fn block(&mut self, network: IpAddr, now: Timestamp) -> bool {
        while let Some((end, oldest)) = self.order.front().copied()
            && (end <= now || self.order.len() >= MAX_ADDRESSES)
        {
            self.order.pop_front();
            self.until.remove(&oldest);
        }
        if self.until.contains_key(&network) {
            return false;
        }
        let end = now.plus_seconds(BLOCK_SECONDS);
        self.until.insert(network, end);
        self.order.push_back((end, network));
        true
    }
}

impl Gate {
    pub(crate) fn new(blocked: Vec<IpNet>, failures_per_minute: Option<u32>) -> Self {
        Self {
            blocked,
            failures_per_minute,
            failures: Mutex::default(),
            requests: Mutex::default(),
            calendar_requests: Mutex::default(),
            blocking: AtomicUsize::new(0),
            blocks: RwLock::default(),
            warned: AtomicBool::new(false),
        }
    }

    /// Refuses a client that is blocked.
    ///
    /// # Errors
    /// `authentication_blocked`.
    pub(crate) fn check(&self, client: Option<Client>, now: Timestamp) -> Result<(), ApiError> {
        if client.is_none_or(|client| self.admits(client, now)) {
            return Ok(());
        }
        metrics::count_authentication_failure(Code::AUTHENTICATION_BLOCKED);
        Err(ApiError::new(
            Code::AUTHENTICATION_BLOCKED,
            "requests from this address are blocked",
        ))
    }

    /// Counts a request without a valid credential. Returns the seconds until `client` may make the next one, if it has made
    /// too many.
    pub(crate) fn count_request(&self, client: Client, now: Timestamp) -> Option<i64> {
        self.count_in(&self.requests, MAX_REQUESTS, client, now)
    }

    /// Counts a request for a feed of appointments; otherwise like [`Gate::count_request`].
    pub(crate) fn count_calendar_request(&self, client: Client, now: Timestamp) -> Option<i64> {
        self.count_in(&self.calendar_requests, MAX_CALENDAR_REQUESTS, client, now)
    }

    fn count_in(&self, requests: &Mutex<Counts>, limit: u32, client: Client, now: Timestamp) -> Option<i64> {
        let count = {
            let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.count(network(client.address), now)
        };
        if count <= limit {
            return None;
        }
        if !client.known {
            self.warn_of_proxy(client.address);
            return None;
        }
        Some(MINUTE - now.epoch_seconds().rem_euclid(MINUTE))
    }

    /// Returns true if `client` is let in.
    fn admits(&self, client: Client, now: Timestamp) -> bool {
        if contains(&self.blocked, client.address) {
            return false;
        }
        if !client.known || self.blocking.load(Ordering::Relaxed) == 0 {
            return true;
        }
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        blocks
            .until
            .get(&network(client.address))
            .is_none_or(|until| *until <= now)
    }

    /// Records that `client` presented an invalid credential.
    pub(crate) fn note_failure(&self, client: Client, now: Timestamp) {
        let Some(limit) = self.failures_per_minute else { return };
        let network = network(client.address);
        let count = {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.count(network, now)
        };
        if count < limit {
            return;
        }
        if !client.known {
            self.warn_of_proxy(client.address);
            return;
        }
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let begins = blocks.block(network, now);
        self.blocking.store(blocks.until.len(), Ordering::Relaxed);
        drop(blocks);
        if begins {
            tracing::warn!(
                address = %client.address,
                failures = count,
                seconds = BLOCK_SECONDS,
                "an address is blocked after too many failed authentications",
            );
        }
    }

    fn warn_of_proxy(&self, address: IpAddr) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %address,
                "too many failed authentications, or requests without a credential, come from an address that is not known to be \
                 the caller's own, so it is not blocked; if a proxy forwards them, name it in FORECOURT_TRUSTED_PROXIES and let it send X-Forwarded-For",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn caller(text: &str) -> Client {
        forwarded_for(ip(text).to_canonical(), &[], &[])
    }

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_epoch_seconds(seconds)
    }

    /// Lets `client` fail `times` times, and returns whether it may continue.
    fn fail(gate: &Gate, client: Client, times: usize, now: Timestamp) -> bool {
        for _ in 0..times {
            gate.note_failure(client, now);
        }
        gate.admits(client, now)
    }

    #[test]
    fn a_forwarded_address_is_believed_only_from_a_trusted_proxy() {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "198.51.100.0/24".parse().unwrap()];
        let client = |peer, chain: &[&str]| {
            let client = forwarded_for(ip(peer), chain, &trusted);
            (client.address.to_string(), client.known)
        };
        let known = |address: &str| (address.to_owned(), true);
        let unknown = |address: &str| (address.to_owned(), false);
        assert_eq!(client("10.0.0.1", &["203.0.113.9"]), known("203.0.113.9"));
        assert_eq!(
            client("10.0.0.1", &["1.1.1.1", " 203.0.113.9", "10.0.0.2"]),
            known("203.0.113.9")
        );
        assert_eq!(client("192.0.2.1", &["203.0.113.9"]), known("192.0.2.1"));
        assert_eq!(client("10.0.0.1", &["[2001:db8::1]:443"]), known("2001:db8::1"));
        assert_eq!(client("10.0.0.1", &["nonsense"]), unknown("10.0.0.1"));
        assert_eq!(client("198.51.100.1", &[]), unknown("198.51.100.1"));
        assert_eq!(client("10.0.0.1", &["192.168.1.1"]), unknown("192.168.1.1"));
        assert_eq!(client("10.0.0.1", &["::ffff:127.0.0.1"]), unknown("127.0.0.1"));
    }

    #[test]
    fn too_many_failures_within_a_minute_block_for_five() {
        let gate = Gate::new(Vec::new(), Some(3));
        let (guesser, neighbour) = (caller("203.0.113.9"), caller("203.0.113.10"));
        gate.note_failure(guesser, at(59));
        gate.note_failure(guesser, at(60));
        gate.note_failure(guesser, at(61));
        assert!(gate.admits(guesser, at(61)), "the first failure was in another minute");
        gate.note_failure(guesser, at(62));
        assert!(!gate.admits(guesser, at(62)) && gate.admits(neighbour, at(62)));
        assert!(!gate.admits(guesser, at(361)) && gate.admits(guesser, at(362)));
        assert!(!fail(&gate, guesser, 3, at(400)), "and again");
    }

    #[test]
    fn a_possible_proxy_is_never_blocked_for_failures() {
        let gate = Gate::new(Vec::new(), Some(3));
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(fail(&gate, caller(address), 10, at(0)), "{address}");
        }
        for address in [
            "100.128.0.1",
            "172.32.0.1",
            "192.0.2.1",
            "2001:db8::1",
            "::ffff:203.0.113.1",
        ] {
            assert!(!fail(&gate, caller(address), 10, at(0)), "{address}");
        }
    }

    #[test]
    fn a_caller_has_an_ipv6_network_of_64_bits() {
        let gate = Gate::new(Vec::new(), Some(3));
        for address in ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:ffff::"] {
            gate.note_failure(caller(address), at(0));
        }
        assert!(!gate.admits(caller("2001:db8:0:1:2:3:4:5"), at(0)));
        assert!(gate.admits(caller("2001:db8:0:2::1"), at(0)));
    }

    #[test]
    fn too_many_requests_in_a_minute_wait_for_the_next() {
        let gate = Gate::new(Vec::new(), None);
        let count = |client: &str, times: u32, now| {
            let counts: Vec<_> = (0..times)
                .map(|_| gate.count_request(caller(client), at(now)))
                .collect();
            counts.last().copied().flatten()
        };
        assert_eq!(count("2001:db8::1", MAX_REQUESTS, 75), None);
        assert_eq!(count("2001:db8::2", 1, 76), Some(44), "of the same network");
        assert_eq!(count("2001:db8:0:1::1", 1, 76), None);
        assert_eq!(count("2001:db8::1", 1, 119), Some(1));
        assert_eq!(count("2001:db8::1", 1, 120), None);
        assert_eq!(count("10.0.0.1", 2 * MAX_REQUESTS, 75), None, "perhaps a proxy");
        assert!(gate.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let gate = Gate::new(Vec::new(), Some(1));
        let nth = |n: usize| Client {
            address: IpAddr::V4(Ipv4Addr::from_bits(0x0800_0000 + u32::try_from(n).unwrap())),
            known: true,
        };
        for second in 0..4_i64 {
            for n in 0..MAX_ADDRESSES {
                gate.note_failure(
                    nth(n + MAX_ADDRESSES * usize::try_from(second).unwrap()),
                    at(second * 60),
                );
            }
        }
        assert_eq!(gate.blocks.read().unwrap().until.len(), MAX_ADDRESSES);
        assert_eq!(gate.blocks.read().unwrap().order.len(), MAX_ADDRESSES);
        assert_eq!(gate.failures.lock().unwrap().counts.len(), MAX_ADDRESSES);
        for n in 0..=MAX_ADDRESSES {
            gate.count_request(nth(n), at(0));
        }
        assert_eq!(gate.requests.lock().unwrap().counts.len(), MAX_ADDRESSES);
        assert!(!gate.admits(nth(4 * MAX_ADDRESSES - 1), at(180)));
    }

    #[test]
    fn what_a_setting_blocks_is_blocked() {
        let gate = Gate::new(
            vec!["203.0.113.0/24".parse().unwrap(), "10.0.0.0/8".parse().unwrap()],
            None,
        );
        assert!(!gate.admits(caller("203.0.113.9"), at(0)) && gate.admits(caller("127.0.0.1"), at(0)));
        assert!(!gate.admits(caller("10.0.0.1"), at(0)), "private addresses too");
    }
}
