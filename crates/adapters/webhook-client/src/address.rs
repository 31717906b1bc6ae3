//! The addresses to which webhooks are sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Ranges of IPv4 in which no endpoint can be: IANA's special-purpose registry (RFC 6890) without globally reachable ranges.
const NOT_PUBLIC_V4: [Ipv4Net; 16] = [
    // "This network", including the unspecified address.
    v4([0, 0, 0, 0], 8),
    // Private.
    v4([10, 0, 0, 0], 8),
    // Shared for the network address translators of carriers; clouds use it for services of their own.
    v4([100, 64, 0, 0], 10),
    // Loopback.
    v4([127, 0, 0, 0], 8),
    // Azure's channel from a machine to its platform, at an address that looks public.
    v4([168, 63, 129, 16], 32),
    // Link-local, including the metadata services of clouds.
    v4([169, 254, 0, 0], 16),
    // Private.
    v4([172, 16, 0, 0], 12),
    // Protocol assignments.
    v4([192, 0, 0, 0], 24),
    // Documentation.
    v4([192, 0, 2, 0], 24),
    // Relays to 6to4, withdrawn.
    v4([192, 88, 99, 0], 24),
    // Private.
    v4([192, 168, 0, 0], 16),
    // Benchmarks.
    v4([198, 18, 0, 0], 15),
    // Documentation.
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    // Multicast.
    v4([224, 0, 0, 0], 4),
    // Reserved, and broadcast.
    v4([240, 0, 0, 0], 4),
];

/// The range of IPv6 that is assigned as global unicast. Loopback, local and multicast addresses are outside, and so are those
/// that contain an IPv4 address: mapped, compatible, translated (NAT64).
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0], 3);

/// Ranges within [`GLOBAL_UNICAST`] in which no endpoint can be.
const NOT_PUBLIC_V6: [Ipv6Net; 4] = [
    // Protocol assignments: Teredo, which contains IPv4 addresses, benchmarks, ORCHID.
    v6([0x2001, 0, 0], 23),
    // Documentation.
    v6([0x2001, 0x0db8, 0], 32),
    v6([0x3fff, 0, 0], 20),
    // 6to4, which contains IPv4 addresses.
    v6([0x2002, 0, 0], 16),
];

/// Returns true if an address is public, so that webhooks may be sent to it (decisions §9). An IPv6 address that contains an
/// IPv4 address never is, whatever the IPv4 address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST.contains(&address) && !NOT_PUBLIC_V6.iter().any(|net| net.contains(&address))
        }
    }
}

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6([a, b, c]: [u16; 3], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}
